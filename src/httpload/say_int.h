/* Private to src/httpload: messages on standard error, and text from outside as a terminal may see it. */
#ifndef PL_HTTPLOAD_SAY_INT_H
#define PL_HTTPLOAD_SAY_INT_H

#include <stdbool.h>
#include <stdio.h>

#include "base/arena.h"
#include "base/err.h"

/* "plimsoll http: TEXT". false, so that `return httpload_say(...)` reads well. */
bool httpload_say(const char *fmt, ...) PL_PRINTF(1, 2);

/* An error of the libraries: "plimsoll http: FILE:LINE:COL: what", its hint on lines of its own below. false. */
bool httpload_say_err(const struct pl_err *err);

/* A copy that a terminal may see: control characters (line feeds too, unless keeps_lines) and bytes that are no UTF-8 are
 * "\xNN"; what is longer than `most` bytes is cut at a character and ends in "...". */
const char *httpload_clean(struct pl_arena *arena, const char *text, size_t most, bool keeps_lines);

#endif
