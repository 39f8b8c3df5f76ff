/* `pgbench -i`: carries the steps out and tells about it on standard error. */
#include "pgbench/init_int.h"

#include <string.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/clock.h"
#include "base/stop.h"
#include "pgbench/run_int.h"
#include "pgbench/say_int.h"

#include "base/ban.h"

enum { EXIT_GOOD = 0, EXIT_BAD = 1, EXIT_INTERRUPTED = 130 };
enum { ROWS_PER_LINE = 100000, SUMMARY_BYTES = 16 * 1024 };

#define TERMINAL_PERIOD_NS (PL_NS_PER_S / 10)
#define QUIET_PERIOD_NS (5 * PL_NS_PER_S)

static const struct {
    char letter;
    const char *doing; /* before it */
    const char *name;  /* in the summary */
} step_words[] = {
    {'d', "dropping old tables...", "drop tables"},
    {'t', "creating tables...", "create tables"},
    {'g', "generating data (client-side)...", "client-side generate"},
    {'G', "generating data (server-side)...", "server-side generate"},
    {'v', "vacuuming...", "vacuum"},
    {'p', "creating primary keys...", "primary keys"},
    {'f', "creating foreign keys...", "foreign keys"},
};

struct init {
    struct pgbench_init_lines lines;
    struct pl_buf summary; /* "drop tables 0.00 s, create tables 0.01 s" */
    bool refused;          /* the server's refusal has been told */
};

static double seconds(int64_t ns)
{
    return (double)ns / (double)PL_NS_PER_S;
}

/* ---- lines ---- */

static int64_t first_line_ns(const struct pgbench_init_lines *lines)
{
    return lines->quiet ? QUIET_PERIOD_NS : 0;
}

static int64_t line_after_ns(const struct pgbench_init_lines *lines, int64_t elapsed_ns)
{
    if (lines->quiet)
        return (elapsed_ns / QUIET_PERIOD_NS + 1) * QUIET_PERIOD_NS;
    return lines->is_terminal ? elapsed_ns + TERMINAL_PERIOD_NS : 0;
}

void pgbench_init_lines_begin(struct pgbench_init_lines *lines, FILE *out, bool is_terminal, bool quiet)
{
    *lines = (struct pgbench_init_lines){.out = out, .is_terminal = is_terminal, .quiet = quiet};
    lines->next_ns = first_line_ns(lines);
}

void pgbench_init_lines_rows(struct pgbench_init_lines *lines, const char *table, int64_t done, int64_t total,
                             int64_t elapsed_ns)
{
    if (done % ROWS_PER_LINE != 0) /* the end of a small table */
        return;
    if (done == total || elapsed_ns >= lines->next_ns) {
        char text[256];
        int length = snprintf(text, sizeof text, "%lld of %lld tuples (%d%%) of %s done (elapsed %.2f s, remaining %.2f s)",
                              (long long)done, (long long)total, (int)(done * 100 / total), table, seconds(elapsed_ns),
                              seconds(elapsed_ns) * (double)(total - done) / (double)done);
        /* blanks over what is longer in the line before */
        fprintf(lines->out, "%-*s%c", lines->width > length ? lines->width : length, text,
                lines->is_terminal ? '\r' : '\n');
        lines->width = lines->is_terminal ? length : 0;
        lines->next_ns = line_after_ns(lines, elapsed_ns);
    }
    if (done < total)
        return;
    if (lines->width > 0)
        fprintf(lines->out, "%*s\r", lines->width, "");
    lines->width = 0;
    lines->next_ns = first_line_ns(lines);
}

void pgbench_init_lines_break(struct pgbench_init_lines *lines)
{
    if (lines->width > 0)
        fputc('\n', lines->out);
    lines->width = 0;
}

/* ---- what dataset_build tells ---- */

static size_t word_of(char letter)
{
    size_t i = 0;
    while (step_words[i].letter != letter)
        i++;
    return i;
}

static void tell_step_begins(void *ctx, char step)
{
    (void)ctx;
    fprintf(stderr, "%s\n", step_words[word_of(step)].doing);
}

static void tell_partitions(void *ctx, int count)
{
    (void)ctx;
    fprintf(stderr, "creating %d partitions...\n", count);
}

static void tell_rows(void *ctx, const char *table, int64_t done, int64_t total, int64_t elapsed_ns)
{
    struct init *init = ctx;
    pgbench_init_lines_rows(&init->lines, table, done, total, elapsed_ns);
}

static void keep_step_duration(void *ctx, char step, int64_t duration_ns)
{
    struct init *init = ctx;
    pl_buf_printf(&init->summary, "%s%s %.2f s", init->summary.len > 0 ? ", " : "", step_words[word_of(step)].name,
                  seconds(duration_ns));
}

static void tell_refusal(void *ctx, const char *sql, const char *message)
{
    struct init *init = ctx;
    pgbench_init_lines_break(&init->lines);
    pgbench_say(SAY_ERROR, "query failed: %s", message);
    pgbench_say(SAY_DETAIL, "Query was: %s", sql);
    init->refused = true;
}

static void tell_notice(void *ctx, const PGresult *result)
{
    struct init *init = ctx;
    pgbench_init_lines_break(&init->lines);
    fputs(PQresultErrorMessage(result), stderr);
}

static int init_build(struct init *init, PGconn *conn, const struct pgbench_options *options)
{
    struct pl_err err = {0};
    struct dataset_watch watch = {.ctx = init,
                                  .step_begins = tell_step_begins,
                                  .partitions = tell_partitions,
                                  .rows = tell_rows,
                                  .step_ended = keep_step_duration,
                                  .refused = tell_refusal};
    int64_t start_ns = pl_clock_ns();
    PQsetNoticeReceiver(conn, tell_notice, init);
    enum pl_code code = dataset_build(conn, &options->data, &watch, pl_stop_flag(), &err);
    if (code == PL_OK) {
        fprintf(stderr, "done in %.2f s (%s).\n", seconds(pl_clock_ns() - start_ns), pl_buf_text(&init->summary));
        return EXIT_GOOD;
    }
    pgbench_init_lines_break(&init->lines);
    if (!init->refused)
        pgbench_say_err(&err);
    return code == PL_INTERRUPTED ? EXIT_INTERRUPTED : EXIT_BAD;
}

int pgbench_init_run(const struct pgbench_options *options)
{
    struct pgbench_options own = *options; /* gains a password that is asked for */
    struct pl_arena *arena = pl_arena_new();
    struct init init = {.refused = false};
    int exit_code = EXIT_BAD;
    pl_stop_catch(EXIT_INTERRUPTED); /* before a password may be asked for: the terminal has to be as it was again */
    PGconn *conn = pgbench_connect(&own, arena, "initialization", pl_stop_flag());
    if (conn == NULL && pl_stop_is_requested())
        exit_code = EXIT_INTERRUPTED;
    if (conn != NULL) {
        pgbench_init_lines_begin(&init.lines, stderr, isatty(STDERR_FILENO) == 1, own.quiet);
        pl_buf_init(&init.summary, SUMMARY_BYTES);
        exit_code = init_build(&init, conn, &own);
        pl_buf_release(&init.summary);
    }
    PQfinish(conn);
    pl_arena_free(arena);
    return exit_code;
}
