/* What the tests of this room share: command lines, and what a call prints. */
#ifndef PL_TESTS_PGBENCH_TEST_H
#define PL_TESTS_PGBENCH_TEST_H

#include "printed.h"

#include "pgbench/options_int.h"

/* Parses a command line; false: `printed` has what was said on standard error, *ret_exit the exit code. */
static inline bool line_parse(const char *line, struct pl_arena *arena, struct pgbench_options *options,
                              struct printed *printed, int *ret_exit)
{
    char *buf = pl_alloc(arena, strlen(line) + 2, 1);
    char **words = pl_alloc(arena, WORDS_MAX + 1, sizeof *words);
    int count = words_split(line, buf, strlen(line) + 2, words);
    printed_begin(printed, stderr);
    bool is_good = pgbench_options_parse(count, words, arena, options, ret_exit);
    printed_end(printed, stderr);
    return is_good;
}

#endif
