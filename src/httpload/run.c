/* httpload_main, and a run from the command line to the exit code. */
#include "httpload/run_int.h"

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/file.h"
#include "base/stop.h"
#include "httpload/httpload.h"
#include "httpload/output_int.h"
#include "httpload/say_int.h"

#include "base/ban.h"

#define GRACE_NS (5 * PL_NS_PER_S) /* for what is under way when a signal comes; what takes longer is unfinished */
#define LOOK_NS (20 * PL_NS_PER_MS)

struct run {
    struct httpload_options options;
    struct pl_arena *arena;
    struct httpload_total total; /* of the load under way, and the last one; of a search, the one of the answer */
    struct httpload_find find;
    struct httpload_hlog *hlog;
    struct httpload_log *log;
    struct pl_err output_err; /* the first thing that could not be written: the load is stopped, and reported */
    bool is_find;
};

/* ---- where what the load records goes ---- */

static enum pl_code take_slice(void *ctx, const struct slice *slice, struct pl_err *err)
{
    struct run *run = ctx;
    httpload_total_add(&run->total, slice);
    /* the error stays in output_err, and the load is stopped for it */
    if (run->hlog != NULL && run->output_err.code == PL_OK &&
        httpload_hlog_slice(run->hlog, slice, &run->output_err) != PL_OK)
        return err->code;
    return err->code;
}

static enum pl_code take_fault(void *ctx, const struct fault *fault, struct pl_err *err)
{
    struct run *run = ctx;
    httpload_total_fault(&run->total, fault);
    return err->code;
}

static enum pl_code take_operations(void *ctx, int worker, const struct operation *operations, size_t count,
                                    struct pl_err *err)
{
    struct run *run = ctx;
    (void)worker;
    if (run->output_err.code == PL_OK && httpload_log_operations(run->log, operations, count, &run->output_err) != PL_OK)
        return err->code;
    return err->code;
}

/* ---- one load ---- */

static void live_begin(struct httpload_live *live, const struct httpload_options *options, int64_t start_ns)
{
    bool is_terminal = isatty(STDERR_FILENO) == 1;
    bool is_wanted = !options->quiet && (options->progress || (is_terminal && options->find_text == NULL));
    httpload_live_begin(live, is_wanted ? stderr : NULL, is_terminal && !options->progress, start_ns);
}

/* What cannot be written stops the load at its first look. */
static void outputs_start(struct run *run)
{
    const struct httpload_total *total = &run->total;
    if (run->log != NULL)
        httpload_log_start(run->log, total->start_unix_ns - total->start_ns);
    if (run->hlog != NULL &&
        httpload_hlog_start(run->hlog, total->start_ns, total->start_unix_ns, &run->output_err) != PL_OK)
        return;
}

/* Takes what the load records until it has ended. */
static enum pl_code load_attend(struct run *run, struct sink *sink, struct pl_err *err)
{
    struct load *load = run->total.load;
    struct httpload_live live;
    struct load_glance glance = {0};
    bool was_stopped = false;
    live_begin(&live, &run->options, run->total.start_ns);
    while (!glance.ended) {
        enum pl_code code = load_poll(load, 0, sink, &glance, err);
        int64_t now_ns = pl_clock_ns();
        if (!was_stopped && (pl_stop_is_requested() || code != PL_OK || run->output_err.code != PL_OK)) {
            run->total.was_interrupted = pl_stop_is_requested();
            load_stop(load);
            was_stopped = true;
        }
        if (pl_stop_is_requested() && now_ns - pl_stop_requested_ns() > GRACE_NS)
            load_abandon(load);
        httpload_live_look(&live, &glance, now_ns);
        if (!glance.ended) {
            int64_t waited_ns = (now_ns - run->total.start_ns) / 4 + PL_NS_PER_MS / 4;
            pl_clock_sleep_until(now_ns + (waited_ns < LOOK_NS ? waited_ns : LOOK_NS));
        }
    }
    httpload_live_end(&live);
    return load_finish(load, 0, sink, &run->total.result, err);
}

/* A load from its connections to the end of its drain, into run->total. */
static enum pl_code load_carry_out(struct run *run, double rate_per_s, struct pl_err *err)
{
    struct sink sink = {
        .ctx = run, .slice = take_slice, .fault = take_fault, .operations = run->log != NULL ? take_operations : NULL};
    struct load_spec spec = httpload_spec(&run->options, rate_per_s, run->arena);
    httpload_total_release(&run->total);
    httpload_total_init(&run->total, &run->options, rate_per_s);
    /* one that many trials shared would make the same crowds in all of them, and their votes one vote */
    run->total.seed += run->find.trial_count;
    spec.seed = run->total.seed;
    enum pl_code code = load_new(&spec, &run->total.load, err);
    if (code == PL_OK)
        code = load_connect(run->total.load, pl_stop_flag(), err);
    if (code != PL_OK)
        return code;
    run->total.start_ns = pl_clock_ns() + PL_NS_PER_MS;
    run->total.start_unix_ns = run->total.start_ns + pl_clock_unix_ns() - pl_clock_ns();
    outputs_start(run);
    load_start(run->total.load, run->total.start_ns);
    code = load_attend(run, &sink, err);
    httpload_total_end(&run->total);
    return code;
}

/* ---- the search ---- */

/* Trials that passed, of different rates: one of them will be the answer's, and be reported. */
enum { KEPT_MOST = 4 };
struct search_state {
    struct run *run;
    struct httpload_total kept[KEPT_MOST]; /* the last one of its rate; in the order in which they passed */
    size_t kept_count;
};

static void kept_remove(struct search_state *state, size_t at)
{
    httpload_total_release(&state->kept[at]);
    state->kept_count--;
    memmove(&state->kept[at], &state->kept[at + 1], (state->kept_count - at) * sizeof state->kept[0]);
}

/* Takes the total. */
static void kept_add(struct search_state *state, struct httpload_total *total)
{
    for (size_t i = 0; i < state->kept_count; i++)
        if (state->kept[i].rate_per_s == total->rate_per_s) {
            kept_remove(state, i);
            break;
        }
    if (state->kept_count == KEPT_MOST)
        kept_remove(state, 0);
    state->kept[state->kept_count++] = *total;
    *total = (struct httpload_total){0};
}

static enum pl_code try_rate(void *context, double rate_per_s, struct httpload_trial *ret_trial, struct pl_err *err)
{
    struct search_state *state = context;
    struct run *run = state->run;
    enum pl_code code = load_carry_out(run, rate_per_s, err);
    if (code != PL_OK)
        return code;
    if (run->total.was_interrupted)
        return pl_err_set(err, PL_INTERRUPTED, "the search was interrupted");
    *ret_trial = httpload_find_trial(&run->total);
    if (ret_trial->verdict == SEARCH_PASS)
        kept_add(state, &run->total);
    return PL_OK;
}

static void say_trial(const struct httpload_find *find)
{
    httpload_find_put_trial(stderr, find);
}

static void say_no_trial(const struct httpload_find *find)
{
    (void)find;
}

static enum pl_code find_carry_out(struct run *run, struct pl_err *err)
{
    struct search_state state = {.run = run};
    const struct search_spec spec = httpload_find_spec(&run->options);
    enum pl_code code = httpload_find_run(&run->find, &spec, run->arena, try_rate, &state,
                                          run->options.quiet ? say_no_trial : say_trial, err);
    /* the answer's own trial; else the last one */
    size_t chosen = state.kept_count;
    for (size_t i = 0; i < state.kept_count; i++)
        if (state.kept[i].rate_per_s == run->find.search.last_pass)
            chosen = i;
    if (chosen == state.kept_count && run->total.options == NULL && state.kept_count > 0)
        chosen = state.kept_count - 1;
    if (chosen < state.kept_count) {
        bool was_interrupted = run->total.was_interrupted;
        httpload_total_release(&run->total);
        run->total = state.kept[chosen];
        run->total.was_interrupted = was_interrupted;
        state.kept[chosen] = (struct httpload_total){0};
    }
    while (state.kept_count > 0)
        kept_remove(&state, state.kept_count - 1);
    return code;
}

/* ---- before and after ---- */

static bool outputs_open(struct run *run)
{
    const struct httpload_options *options = &run->options;
    const char *const paths[] = {options->json_path, options->hgrm_path, options->hlog_path, options->log_path};
    struct pl_err err = {0};
    for (size_t i = 0; i < sizeof paths / sizeof paths[0]; i++) {
        int os_errno = paths[i] != NULL ? pl_file_write_errno(paths[i]) : 0;
        char reason[128];
        if (os_errno != 0)
            return httpload_say("cannot write \"%s\": %s", paths[i], strerror_r(os_errno, reason, sizeof reason));
    }
    if (options->hlog_path != NULL && httpload_hlog_open(options, &run->hlog, &err) != PL_OK)
        return httpload_say_err(&err);
    if (options->log_path != NULL && httpload_log_open(options, &run->log, &err) != PL_OK)
        return httpload_say_err(&err);
    return true;
}

static bool is_possible(struct run *run)
{
    const struct http_need need = httpload_need(&run->options);
    const char *refusal = http_need_refusal(&need, run->arena);
    return refusal == NULL || httpload_say("%s", refusal);
}

static enum httpload_exit say_if(enum pl_code code, const struct pl_err *err, enum httpload_exit exit_code)
{
    if (code == PL_OK || code == PL_INTERRUPTED)
        return exit_code;
    httpload_say_err(err);
    bool is_wrong = code == PL_INPUT || code == PL_LIMIT || code == PL_USAGE || code == PL_NOT_FOUND;
    return httpload_exit_worse(exit_code, is_wrong ? HTTPLOAD_WRONG : HTTPLOAD_FAILED);
}

static enum httpload_exit outputs_close(struct run *run, enum httpload_exit exit_code)
{
    struct pl_err hlog_err = {0}, log_err = {0};
    exit_code = say_if(run->output_err.code, &run->output_err, exit_code);
    enum pl_code hlog_code = httpload_hlog_close(run->hlog, &hlog_err), log_code = httpload_log_close(run->log, &log_err);
    run->hlog = NULL;
    run->log = NULL;
    if (run->output_err.code != PL_OK) /* that has been said */
        return exit_code;
    exit_code = say_if(hlog_code, &hlog_err, exit_code);
    return say_if(log_code, &log_err, exit_code);
}

static enum httpload_exit exit_of(const struct run *run)
{
    if (!run->is_find)
        return httpload_exit_of(&run->total);
    /* faults beyond the answer are what was looked for */
    enum httpload_exit code = httpload_find_exit(&run->find);
    if (run->total.was_interrupted || pl_stop_is_requested())
        code = httpload_exit_worse(code, HTTPLOAD_INTERRUPTED);
    for (size_t i = 0; i < run->options.objective_count; i++) {
        enum objective_verdict verdict = httpload_judge(&run->total, &run->options.objectives[i]);
        code = httpload_exit_worse(code, verdict == OBJECTIVE_HOLDS   ? HTTPLOAD_GOOD
                                         : verdict == OBJECTIVE_FAILS ? HTTPLOAD_MISSED
                                                                      : HTTPLOAD_NO_DATA);
    }
    return code;
}

/* The document and the report never share a stream. */
static FILE *report_stream(const struct run *run)
{
    return run->options.json && run->options.json_path == NULL ? stderr : stdout;
}

/* Everything but the last line. */
static void report(struct run *run, const struct httpload_find *find)
{
    FILE *out = report_stream(run);
    if (!run->options.quiet) {
        if (find != NULL) {
            bool is_answer = find->search.last_pass > 0 && run->total.rate_per_s == find->search.last_pass;
            httpload_find_put_answer(out, find, &run->options.find,
                                     httpload_clean(run->arena, run->options.find_text, 400, false));
            if (find->trial_count > 0)
                fputs(is_answer ? "\nThe trial of the answer:\n" : "\nThe last trial:\n", out);
        }
        httpload_report(out, &run->total);
        fputc('\n', out);
    }
    fflush(out);
}

static enum httpload_exit files_write(struct run *run, const struct httpload_find *find, enum httpload_exit exit_code)
{
    struct pl_err json_err = {0}, hgrm_err = {0};
    enum pl_code json_code = PL_OK, hgrm_code = PL_OK;
    if (run->options.hgrm_path != NULL)
        hgrm_code = httpload_hgrm_write(run->options.hgrm_path, &run->total, &hgrm_err);
    if (run->options.json)
        json_code = httpload_json_write(run->options.json_path, &run->total, find, exit_code, &json_err);
    exit_code = say_if(hgrm_code, &hgrm_err, exit_code);
    return say_if(json_code, &json_err, exit_code);
}

static bool stdout_arrived(void)
{
    char reason[128];
    if ((fflush(stdout) == 0 && ferror(stdout) == 0) || errno == EPIPE) /* a reader that has seen enough is no error */
        return true;
    return httpload_say("cannot write to standard output: %s", strerror_r(errno, reason, sizeof reason));
}

static enum httpload_exit run_all(struct run *run)
{
    struct pl_err err = {0};
    if (!httpload_scripts_load(&run->options, run->arena) || !outputs_open(run) || !is_possible(run))
        return HTTPLOAD_WRONG;
    run->is_find = run->options.find_text != NULL;
    const struct httpload_find *find = run->is_find ? &run->find : NULL;
    enum pl_code code = run->is_find ? find_carry_out(run, &err) : load_carry_out(run, run->options.rate_per_s, &err);
    if (run->total.start_ns == 0) { /* nothing was measured */
        enum httpload_exit exit_code = outputs_close(run, HTTPLOAD_GOOD);
        if (code == PL_INTERRUPTED || pl_stop_is_requested()) {
            httpload_say("interrupted before the run began");
            return HTTPLOAD_INTERRUPTED;
        }
        return say_if(code, &err, exit_code);
    }
    enum httpload_exit exit_code = outputs_close(run, exit_of(run));
    exit_code = say_if(code, &err, exit_code);
    report(run, find);
    exit_code = files_write(run, find, exit_code); /* the last line says how it ended: with these */
    httpload_report_last(report_stream(run), &run->total, find, exit_code);
    return stdout_arrived() ? exit_code : httpload_exit_worse(exit_code, HTTPLOAD_FAILED);
}

static void run_release(struct run *run)
{
    struct pl_err ignored = {0};
    if (httpload_hlog_close(run->hlog, &ignored) != PL_OK || httpload_log_close(run->log, &ignored) != PL_OK)
        httpload_say_err(&ignored);
    httpload_total_release(&run->total);
    pl_arena_free(run->arena);
}

int httpload_main(int argc, char **argv)
{
    signal(SIGPIPE, SIG_IGN); /* a peer that goes away is an error of the write, not the end of the program */
    struct run run = {.arena = pl_arena_new()};
    int exit_code = HTTPLOAD_WRONG;
    if (httpload_options_parse(argc, argv, run.arena, &run.options, &exit_code)) {
        pl_stop_catch(HTTPLOAD_INTERRUPTED);
        exit_code = (int)run_all(&run);
    }
    run_release(&run);
    return exit_code;
}
