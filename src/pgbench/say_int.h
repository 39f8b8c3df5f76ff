/* Private to src/pgbench: messages on standard error, in the form that PostgreSQL's programs give them. */
#ifndef PL_PGBENCH_SAY_INT_H
#define PL_PGBENCH_SAY_INT_H

#include "base/err.h"

enum pgbench_level { SAY_ERROR, SAY_WARNING, SAY_INFO, SAY_DETAIL, SAY_HINT };

/* "pgbench: error: TEXT"; SAY_INFO has no word of its own: "pgbench: TEXT". A line feed at the end of the text is taken
 * off. */
void pgbench_say(enum pgbench_level level, const char *fmt, ...) PL_PRINTF(2, 3);

/* An error of the libraries: "pgbench: error: FILE:LINE: what", its hint on lines of its own below. */
void pgbench_say_err(const struct pl_err *err);

#endif
