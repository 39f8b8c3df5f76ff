/* pgbench_main, and a run from the first connection to the exit code. */
#include "pgbench/run_int.h"

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/limits.h"
#include "base/stop.h"
#include "pgbench/output_int.h"
#include "pgbench/pgbench.h"
#include "pgbench/say_int.h"

#include "base/ban.h"

enum { EXIT_GOOD = 0, EXIT_BAD = 1, EXIT_INCOMPLETE = 2, EXIT_INTERRUPTED = 130 };

enum { OPERATIONS_AT_ONCE = 256 };
#define GRACE_NS (5 * PL_NS_PER_S) /* for what is under way when a signal comes; what takes longer is unfinished */

struct run {
    struct pgbench_options options;
    struct pl_arena *arena;
    int script[PL_MAX_SCRIPTS]; /* the engine's scripts among options.scripts */
    bool is_script_same;        /* the two count alike */
    struct pgbench_total total;
    struct load *load;
    struct pgbench_log *log;
    struct pgbench_progress *progress;
    struct pgbench_study *study;
    struct pl_err output_err; /* the first thing that could not be written: the load is stopped, and reported */
    bool was_aborted;         /* exit_on_abort, */
    int aborted_thread;       /* by a client of this one */
};

/* ---- where what the load records goes ---- */

/* The store's advice is for those who carry plans out. */
static void study_advice_drop(struct pl_err *err)
{
    err->hint[0] = '\0';
}

static enum pl_code take_slice(void *ctx, const struct slice *slice, struct pl_err *err)
{
    struct run *run = ctx;
    struct slice ours = *slice;
    ours.script = run->script[slice->script];
    pgbench_total_add(&run->total, &ours);
    if (run->progress != NULL)
        pgbench_progress_slice(run->progress, &ours);
    struct sink *study = run->study == NULL ? NULL : pgbench_study_sink(run->study);
    if (study != NULL && run->output_err.code == PL_OK && study->slice(study->ctx, &ours, &run->output_err) != PL_OK)
        study_advice_drop(&run->output_err);
    return err->code;
}

static enum pl_code take_fault(void *ctx, const struct fault *fault, struct pl_err *err)
{
    struct run *run = ctx;
    struct sink *study = run->study == NULL ? NULL : pgbench_study_sink(run->study);
    if (study != NULL && run->output_err.code == PL_OK && study->fault(study->ctx, fault, &run->output_err) != PL_OK)
        study_advice_drop(&run->output_err);
    return err->code;
}

static enum pl_code take_operations(void *ctx, int worker, const struct operation *operations, size_t count,
                                    struct pl_err *err)
{
    struct run *run = ctx;
    struct operation ours[OPERATIONS_AT_ONCE];
    while (count > 0 && run->output_err.code == PL_OK) {
        size_t taken = run->is_script_same || count < OPERATIONS_AT_ONCE ? count : OPERATIONS_AT_ONCE;
        const struct operation *part = operations;
        if (!run->is_script_same) {
            memcpy(ours, operations, taken * sizeof ours[0]);
            for (size_t i = 0; i < taken; i++)
                ours[i].script = (int16_t)run->script[ours[i].script];
            part = ours;
        }
        /* the error stays in output_err, and the load is stopped for it */
        if (pgbench_log_operations(run->log, worker, part, taken, &run->output_err) != PL_OK)
            break;
        operations += taken;
        count -= taken;
    }
    return err->code;
}

/* ---- the run ---- */

static bool outputs_open(struct run *run, PGconn *conn, int argc, char **argv)
{
    const struct pgbench_options *options = &run->options;
    struct pl_err err = {0};
    if (!pgbench_setup_can_write(options->json_path) || !pgbench_setup_can_write(options->hgrm_path))
        return false;
    if (options->study_path != NULL && pgbench_study_open(options, conn, argc, argv, &run->study, &err) != PL_OK) {
        if (err.code != PL_USAGE)
            study_advice_drop(&err);
        pgbench_say_err(&err);
        return false;
    }
    if (options->log && pgbench_log_open(options, (int)options->threads, (int)getpid(), &run->log, &err) != PL_OK) {
        pgbench_say_err(&err);
        return false;
    }
    if (options->progress_s > 0)
        run->progress = pgbench_progress_new(options, (int)options->threads, stderr);
    return true;
}

static void say_debug(const struct pgbench_options *options, PGconn *conn)
{
    pgbench_say(SAY_INFO, "pghost: %s pgport: %s nclients: %lld %s: %lld dbName: %s", PQhost(conn), PQport(conn),
                (long long)options->clients, options->duration_s > 0 ? "duration" : "nxacts",
                (long long)(options->duration_s > 0 ? options->duration_s : options->transactions), PQdb(conn));
}

/* Everything up to an engine that waits for its start. */
static int run_prepare(struct run *run, int argc, char **argv)
{
    struct pl_err err = {0};
    PGconn *conn = pgbench_connect(&run->options, run->arena, "setup", pl_stop_flag());
    if (conn == NULL)
        return pl_stop_is_requested() ? EXIT_INTERRUPTED : EXIT_BAD;
    if (run->options.debug)
        say_debug(&run->options, conn);
    pgbench_setup_header(conn);
    const char *version = PQparameterStatus(conn, "server_version");
    run->total.server_version = pl_strdup(run->arena, version != NULL ? version : "");
    bool is_good = pgbench_setup_look(conn, &run->options, pl_stop_flag(), &run->total.data) &&
                   outputs_open(run, conn, argc, argv) && pgbench_setup_vacuum(conn, &run->options, pl_stop_flag());
    PQfinish(conn);
    if (!is_good || pl_stop_is_requested())
        return pl_stop_is_requested() ? EXIT_INTERRUPTED : EXIT_BAD;
    struct load_spec spec = pgbench_setup_spec(&run->options, &run->total.data, run->arena, run->script);
    run->is_script_same = spec.script_count == run->options.script_count;
    if (load_new(&spec, &run->load, &err) != PL_OK || load_connect(run->load, pl_stop_flag(), &err) != PL_OK) {
        if (err.code == PL_INTERRUPTED)
            return EXIT_INTERRUPTED;
        if (err.code == PL_LIMIT && !spec.no_steps)
            pl_err_hint(&err, "Without %s there is no limit.",
                        !run->options.report_per_command  ? "--study"
                        : run->options.study_path != NULL ? "--report-per-command and --study"
                                                          : "--report-per-command");
        pgbench_say_err(&err);
        return EXIT_BAD;
    }
    return EXIT_GOOD;
}

static void take_notices(struct run *run)
{
    struct load_notice notice;
    while (load_next_notice(run->load, &notice)) {
        notice.script = run->script[notice.script];
        if (notice.kind == LOAD_CLIENT_ENDED) {
            pgbench_total_client_ended(&run->total, notice.at_ns);
            if (run->options.exit_on_abort && !run->was_aborted) {
                run->was_aborted = true;
                run->aborted_thread = notice.worker;
            }
        }
        pgbench_notice_say(&run->options, &notice);
    }
}

/* Looks often at the beginning, for runs that are over in no time, and often all the while when a log is kept. */
static int64_t look_again_ns(const struct run *run, int64_t waited_ns)
{
    int64_t most_ns = run->log != NULL ? 2 * PL_NS_PER_MS : 20 * PL_NS_PER_MS;
    return waited_ns < most_ns ? waited_ns : most_ns;
}

/* Starts the load and takes what it records until it has ended. */
static enum pl_code run_load(struct run *run, struct sink *sink, struct pl_err *err)
{
    int64_t start_ns = pl_clock_ns() + PL_NS_PER_MS, unix_minus_monotonic_ns = pl_clock_unix_ns() - pl_clock_ns();
    run->total.start_unix_ns = start_ns + unix_minus_monotonic_ns;
    if (run->log != NULL)
        pgbench_log_start(run->log, start_ns, unix_minus_monotonic_ns);
    if (run->progress != NULL)
        pgbench_progress_start(run->progress, start_ns, unix_minus_monotonic_ns);
    load_start(run->load, start_ns);
    struct load_glance glance = {0};
    bool was_stopped = false;
    while (!glance.ended) {
        enum pl_code code = load_poll(run->load, 0, sink, &glance, err);
        take_notices(run);
        if (!was_stopped && (pl_stop_is_requested() || code != PL_OK || run->output_err.code != PL_OK)) {
            run->total.was_interrupted = pl_stop_is_requested();
            load_stop(run->load);
            was_stopped = true;
        }
        bool is_impatient = pl_stop_is_requested() && pl_clock_ns() - pl_stop_requested_ns() > GRACE_NS;
        if (run->was_aborted || is_impatient)
            load_abandon(run->load);
        if (!glance.ended) {
            int64_t now_ns = pl_clock_ns();
            pl_clock_sleep_until(now_ns + look_again_ns(run, (now_ns - start_ns) / 4 + PL_NS_PER_MS / 4));
        }
    }
    enum pl_code code = load_finish(run->load, 0, sink, &run->total.result, err);
    take_notices(run);
    return code;
}

/* Everything but the report. */
static void outputs_close(struct run *run)
{
    const struct load_result *result = &run->total.result;
    int64_t end_ns = result->drain_end_ns > result->measure_end_ns ? result->drain_end_ns : result->measure_end_ns;
    pgbench_progress_free(run->progress);
    run->progress = NULL;
    struct pl_err err = {0};
    if (pgbench_log_close(run->log, end_ns, &err) != PL_OK && run->output_err.code == PL_OK)
        run->output_err = err;
    run->log = NULL;
}

static void say_if(enum pl_code code, const struct pl_err *err, int *exit_code)
{
    if (code == PL_OK)
        return;
    pgbench_say_err(err);
    *exit_code = EXIT_BAD;
}

/* Files are written, and the study is closed, whatever went wrong before. */
static int files_write(struct run *run)
{
    int exit_code = EXIT_GOOD;
    struct pl_err json_err = {0}, hgrm_err = {0}, study_err = {0};
    if (run->options.json_path != NULL)
        say_if(pgbench_json_write(run->options.json_path, &run->total, &json_err), &json_err, &exit_code);
    if (run->options.hgrm_path != NULL)
        say_if(pgbench_hgrm_write(run->options.hgrm_path, &run->total, &hgrm_err), &hgrm_err, &exit_code);
    if (pgbench_study_close(run->study, &run->total, &study_err) != PL_OK)
        study_advice_drop(&study_err);
    say_if(study_err.code, &study_err, &exit_code);
    run->study = NULL;
    return exit_code;
}

static int run_report(struct run *run, enum pl_code load_code, const struct pl_err *load_err)
{
    int exit_code = EXIT_GOOD;
    char why[300];
    pgbench_report(stdout, &run->total);
    bool is_printed = fflush(stdout) == 0 && ferror(stdout) == 0;
    if (!is_printed && errno != EPIPE) { /* a reader that has seen enough is no error */
        pgbench_say(SAY_ERROR, "could not write to standard output: %s", strerror_r(errno, why, sizeof why));
        exit_code = EXIT_BAD;
    }
    if (run->total.result.clients_ended_early > 0) {
        pgbench_say(SAY_ERROR, "Run was aborted; the above results are incomplete.");
        exit_code = exit_code == EXIT_GOOD ? EXIT_INCOMPLETE : exit_code;
    }
    if (run->total.whole.ledger.completed == 0) {
        pgbench_say(SAY_ERROR, "no transaction was completed: %s", pgbench_why_nothing(&run->total, why, sizeof why));
        exit_code = exit_code == EXIT_GOOD ? EXIT_INCOMPLETE : exit_code;
    }
    say_if(load_code, load_err, &exit_code);
    say_if(run->output_err.code, &run->output_err, &exit_code);
    if (files_write(run) != EXIT_GOOD)
        exit_code = EXIT_BAD;
    return run->total.was_interrupted && exit_code != EXIT_BAD ? EXIT_INTERRUPTED : exit_code;
}

static void run_release(struct run *run)
{
    struct pl_err ignored = {0};
    pgbench_progress_free(run->progress);
    if (pgbench_log_close(run->log, 0, &ignored) != PL_OK ||
        pgbench_study_close(run->study, &run->total, &ignored) != PL_OK)
        pgbench_say_err(&ignored);
    load_free(run->load);
    pgbench_total_release(&run->total);
}

static int run_benchmark(struct run *run, int argc, char **argv)
{
    pl_stop_catch(EXIT_INTERRUPTED);
    program_on_debug(pgbench_debug_say, &run->options);
    pgbench_total_init(&run->total, &run->options);
    int exit_code = run_prepare(run, argc, argv);
    if (exit_code == EXIT_INTERRUPTED)
        pgbench_say(SAY_ERROR, "interrupted before the run began");
    if (exit_code == EXIT_GOOD) {
        struct pl_err err = {0};
        struct sink sink = {
            .ctx = run, .slice = take_slice, .fault = take_fault, .operations = run->log != NULL ? take_operations : NULL};
        enum pl_code code = run_load(run, &sink, &err);
        outputs_close(run);
        if (!run->was_aborted) {
            exit_code = run_report(run, code, &err);
        } else {
            pgbench_say(SAY_ERROR, "Run was aborted due to an error in thread %d", run->aborted_thread);
            exit_code = EXIT_INCOMPLETE;
        }
    }
    run_release(run);
    program_on_debug(NULL, NULL);
    return exit_code;
}

static int run_initialization(struct run *run)
{
    return pgbench_init_run(&run->options);
}

int pgbench_main(int argc, char **argv)
{
    signal(SIGPIPE, SIG_IGN); /* a peer that goes away is an error of the write, not the end of the program */
    struct run run = {.arena = pl_arena_new()};
    int exit_code = EXIT_BAD;
    if (pgbench_options_parse(argc, argv, run.arena, &run.options, &exit_code))
        exit_code = run.options.initialize ? run_initialization(&run) : run_benchmark(&run, argc, argv);
    pl_arena_free(run.arena);
    return exit_code;
}
