/* `plimsoll pgbench`: pgbench's command line, reports, logs and exit codes over the load engine. */
#ifndef PL_PGBENCH_PGBENCH_H
#define PL_PGBENCH_PGBENCH_H

/* argv[0] is any name ("pgbench"); messages begin with "pgbench: " as pgbench's do. Returns the exit code: 0 good; 1 wrong
 * usage, or it could not start; 2 clients ended early, or no transaction was carried out: the report says what its figures
 * cover; 130 interrupted, after a report of what was measured. Prints to standard output and error. */
int pgbench_main(int argc, char **argv);

#endif
