/* Private to src/pgbench: the lines that tell how far the rows of `pgbench -i` are. */
#ifndef PL_PGBENCH_INIT_INT_H
#define PL_PGBENCH_INIT_INT_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

struct pgbench_init_lines {
    FILE *out;
    bool is_terminal; /* one line that is written over, at most ten times a second, so that the terminal is never the limit
                       */
    bool quiet;       /* one line each 5 s */
    int64_t next_ns;  /* since the beginning of the table: from here on a line may be due again */
    int width;        /* of the line that stands on the terminal and would be written over; 0: none */
};

void pgbench_init_lines_begin(struct pgbench_init_lines *lines, FILE *out, bool is_terminal, bool quiet);

/* As dataset_watch.rows says it. A table's last line is always printed. */
void pgbench_init_lines_rows(struct pgbench_init_lines *lines, const char *table, int64_t done, int64_t total,
                             int64_t elapsed_ns);

/* Before anything else is printed: ends a line that is only half written. */
void pgbench_init_lines_break(struct pgbench_init_lines *lines);

#endif
