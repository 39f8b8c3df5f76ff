/* The bytes of a plan before libyaml sees them, and what libyaml says about them in words for people. */
#ifndef PL_PLAN_YAML_INT_H
#define PL_PLAN_YAML_INT_H

#include <stddef.h>

#include "base/err.h"

/* A place in a text as people count: 1-based, columns in characters. */
struct place {
    int line, col;
};

/* The bytes are UTF-8 without characters that YAML forbids; else PL_INPUT at the first bad one. */
PL_MUST_CHECK enum pl_code plan_text_check(const char *path, const char *text, size_t length, struct pl_err *err);

struct place plan_text_place(const char *text, size_t length, size_t offset);

/* The place of the first tab in the indentation of that line; line 0: there is none. */
struct place plan_text_indent_tab(const char *text, size_t length, int line);

/* libyaml's problem in plain words with a hint. problem: its text; context: "while parsing a flow mapping" or NULL. opened:
 * where the thing that it was reading began; line 0: unknown. */
enum pl_code plan_yaml_problem(const char *path, struct place at, const char *problem, const char *context,
                               struct place opened, struct pl_err *err);

#endif
