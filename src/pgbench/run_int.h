/* Private to src/pgbench: what a run does before the load, and what it says while the load runs. */
#ifndef PL_PGBENCH_RUN_INT_H
#define PL_PGBENCH_RUN_INT_H

#include <libpq-fe.h>

#include "load/load.h"
#include "pgbench/options_int.h"

/* ---- before ---- */

/* Connects; a password that the server wants is asked for on the terminal and put into options->conninfo. NULL: it could
 * not, which has been said, or *stop has become non-zero. purpose: "setup", "initialization". */
PGconn *pgbench_connect(struct pgbench_options *options, struct pl_arena *arena, const char *purpose,
                        const volatile int *stop);

/* The line that names this program and the server, on standard output. */
void pgbench_setup_header(PGconn *conn);

/* Scale and partitions: as found when a builtin script runs, else as given. false: it has been said why, or *stop (may be
 * NULL) has become non-zero. */
bool pgbench_setup_look(PGconn *conn, const struct pgbench_options *options, const volatile int *stop,
                        struct dataset_found *ret_found);

/* The vacuum before a run, unless it is not wanted. false: the connection is gone, which has been said. *stop: a signal
 * came. */
bool pgbench_setup_vacuum(PGconn *conn, const struct pgbench_options *options, const volatile int *stop);

/* Whether a file can be written there later; what would not work after the run is said before it. NULL is fine. */
bool pgbench_setup_can_write(const char *path);

/* What the engine is to do: `options` as its spec. Scripts of weight 0 are left out; ret_script[i] is the place among
 * options->scripts of the engine's script i. In the arena. */
struct load_spec pgbench_setup_spec(const struct pgbench_options *options, const struct dataset_found *found,
                                    struct pl_arena *arena, int *ret_script);

/* init.c: `pgbench -i`. Returns the exit code. */
int pgbench_init_run(const struct pgbench_options *options);

/* ---- while it runs ---- */

/* Says a notice in pgbench's words; its script counts among options->scripts. */
void pgbench_notice_say(const struct pgbench_options *options, const struct load_notice *notice);

/* What debug() prints, by one write, for program_on_debug; context: the struct pgbench_options. Any thread. */
void pgbench_debug_say(void *context, const struct program *program, const struct step *step, const struct value *value);

#endif
