/* The per-transaction and the aggregate log: PREFIX.PID of the first worker, PREFIX.PID.k of the others. What comes from
 * one worker comes in the order in which it ended, so that an aggregate log needs to know one interval at a time. */
#include "pgbench/output_int.h"

#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <unistd.h>

#include "base/arena.h"
#include "base/clock.h"

#include "base/ban.h"

enum {
    LOG_LINE_BYTES = 600, /* the longest line: at most 17 numbers, four of them of 128 bits */
    LOG_BUFFER_BYTES = 128 * 1024
};

/* Which columns a raw line has. */
struct log_columns {
    bool lag, retries, failures_detailed;
    int64_t unix_minus_monotonic_ns;
};

/* One interval of an aggregate log, latencies in microseconds. */
struct log_sums {
    int64_t count, min_us, max_us;
    __int128_t sum_us, squares_us2;
};
struct log_interval {
    struct log_sums latency, lag;
    int64_t skipped, retried, retries, serialization, deadlock, other;
};

struct worker_log {
    const char *path;
    int fd;
    char *bytes; /* `used` of LOG_BUFFER_BYTES are not written yet */
    size_t used;
    struct log_interval interval; /* aggregate: the one that is being added to */
    int64_t interval_operations;
    int64_t interval_unix_s;
    int64_t interval_end_ns; /* monotonic */
};

struct pgbench_log {
    struct pl_arena *arena;
    struct log_columns columns;
    int64_t interval_s; /* 0: one line for each operation */
    struct worker_log *workers;
    int worker_count; /* with an open file */
    bool is_started;
    int64_t start_ns;
    struct pl_err failed; /* the first error of writing: it stays, and nothing is written after it */
};

/* ---- lines: a run writes hundreds of thousands a second on one thread, so no printf here ---- */

static const char pairs[] =
    "00010203040506070809101112131415161718192021222324252627282930313233343536373839404142434445464748495051"
    "52535455565758596061626364656667686970717273747576777879808182838485868788899091929394959697"
    "9899";

static char *put_u64(char *at, uint64_t value)
{
    char digits[20];
    size_t first = sizeof digits;
    while (value >= 100) {
        first -= 2;
        memcpy(digits + first, pairs + value % 100 * 2, 2);
        value /= 100;
    }
    if (value >= 10) {
        first -= 2;
        memcpy(digits + first, pairs + value * 2, 2);
    } else {
        digits[--first] = (char)('0' + value);
    }
    memcpy(at, digits + first, sizeof digits - first);
    return at + (sizeof digits - first);
}

static char *put_i64(char *at, int64_t value)
{
    if (value >= 0)
        return put_u64(at, (uint64_t)value);
    *at++ = '-';
    return put_u64(at, -(uint64_t)value);
}

static char *put_i128(char *at, __int128_t value)
{
    static const uint64_t part = UINT64_C(1000000000000000000);
    if (value < (__int128_t)part)
        return put_u64(at, (uint64_t)value);
    at = put_i128(at, value / part);
    uint64_t low = (uint64_t)(value % part);
    for (int digit = 17; digit >= 0; digit--, low /= 10)
        at[digit] = (char)('0' + low % 10);
    return at + 18;
}

static char *put_text(char *at, const char *text)
{
    size_t length = strlen(text);
    memcpy(at, text, length);
    return at + length;
}

static const char *end_text(const struct log_columns *columns, int end)
{
    if (end == OPERATION_SKIPPED)
        return "skipped";
    if (!columns->failures_detailed)
        return "failed";
    return end == OPERATION_SERIALIZATION ? "serialization" : end == OPERATION_DEADLOCK ? "deadlock" : "other";
}

/* Nearest microsecond. */
static int64_t nearest_us(int64_t ns)
{
    return (ns + 500) / 1000;
}

/* How late it began; what was skipped or failed before it was sent was late until then. */
static int64_t lag_ns(const struct operation *operation)
{
    return (operation->sent_ns != 0 ? operation->sent_ns : operation->done_ns) - operation->due_ns;
}

static char *operation_line(char *at, const struct log_columns *columns, const struct operation *operation)
{
    int64_t done_us = (operation->done_ns + columns->unix_minus_monotonic_ns) / PL_NS_PER_US;
    at = put_i64(at, operation->client);
    *at++ = ' ';
    at = put_i64(at, operation->number);
    *at++ = ' ';
    if (operation->end == OPERATION_COMPLETED)
        at = put_i64(at, nearest_us(operation->done_ns - operation->due_ns));
    else
        at = put_text(at, end_text(columns, operation->end));
    *at++ = ' ';
    at = put_i64(at, operation->script);
    *at++ = ' ';
    at = put_i64(at, done_us / 1000000);
    *at++ = ' ';
    at = put_i64(at, done_us % 1000000);
    if (columns->lag) {
        *at++ = ' ';
        at = put_i64(at, nearest_us(lag_ns(operation)));
    }
    if (columns->retries) {
        *at++ = ' ';
        at = put_i64(at, operation->retries);
    }
    *at++ = '\n';
    return at;
}

static void sums_add(struct log_sums *sums, int64_t us)
{
    if (sums->count == 0 || us < sums->min_us)
        sums->min_us = us;
    if (sums->count == 0 || us > sums->max_us)
        sums->max_us = us;
    sums->count++;
    sums->sum_us += us;
    sums->squares_us2 += (__int128_t)us * us;
}

static void interval_add(struct log_interval *interval, bool lag, const struct operation *operation)
{
    interval->retried += operation->retries > 0;
    interval->retries += operation->retries;
    switch ((enum operation_end)operation->end) {
    case OPERATION_COMPLETED:
        sums_add(&interval->latency, nearest_us(operation->done_ns - operation->due_ns));
        if (lag)
            sums_add(&interval->lag, nearest_us(lag_ns(operation)));
        break;
    case OPERATION_SKIPPED:
        interval->skipped++;
        break;
    case OPERATION_SERIALIZATION:
        interval->serialization++;
        break;
    case OPERATION_DEADLOCK:
        interval->deadlock++;
        break;
    case OPERATION_FAILED:
    case OPERATION_EXPIRED: /* of SQL no operation does */
        interval->other++;
        break;
    }
}

static char *sums_put(char *at, const struct log_sums *sums)
{
    *at++ = ' ';
    at = put_i128(at, sums->sum_us);
    *at++ = ' ';
    at = put_i128(at, sums->squares_us2);
    *at++ = ' ';
    at = put_i64(at, sums->min_us);
    *at++ = ' ';
    return put_i64(at, sums->max_us);
}

static char *interval_line(char *at, int64_t start_unix_s, const struct log_interval *interval)
{
    const int64_t counts[] = {interval->skipped,       interval->retried,  interval->retries,
                              interval->serialization, interval->deadlock, interval->other};
    at = put_i64(at, start_unix_s);
    *at++ = ' ';
    at = put_i64(at, interval->latency.count);
    at = sums_put(at, &interval->latency);
    at = sums_put(at, &interval->lag);
    for (size_t i = 0; i < sizeof counts / sizeof counts[0]; i++) {
        *at++ = ' ';
        at = put_i64(at, counts[i]);
    }
    *at++ = '\n';
    return at;
}

/* ---- files ---- */

static enum pl_code log_fail(struct pgbench_log *log, struct pl_err *err)
{
    if (err->code == PL_OK)
        *err = log->failed;
    return log->failed.code;
}

static void worker_flush(struct pgbench_log *log, struct worker_log *worker)
{
    for (size_t done = 0; done < worker->used && log->failed.code == PL_OK;) {
        ssize_t written = write(worker->fd, worker->bytes + done, worker->used - done);
        if (written >= 0)
            done += (size_t)written;
        else if (errno != EINTR)
            pl_err_os(&log->failed, PL_IO, errno, "could not write to logfile \"%s\"", worker->path);
    }
    worker->used = 0;
}

/* Where the next line goes. */
static char *worker_room(struct pgbench_log *log, struct worker_log *worker)
{
    if (worker->used + LOG_LINE_BYTES > LOG_BUFFER_BYTES)
        worker_flush(log, worker);
    return worker->bytes + worker->used;
}

static void log_release(struct pgbench_log *log)
{
    for (int w = 0; w < log->worker_count; w++)
        close(log->workers[w].fd);
    pl_arena_free(log->arena);
}

enum pl_code pgbench_log_open(const struct pgbench_options *options, int workers, int pid, struct pgbench_log **ret_log,
                              struct pl_err *err)
{
    struct pl_arena *arena = pl_arena_new();
    struct pgbench_log *log = pl_alloc(arena, 1, sizeof *log);
    *log = (struct pgbench_log){.arena = arena,
                                .columns = {.lag = options->rate_per_s > 0,
                                            .retries = options->max_tries != 1,
                                            .failures_detailed = options->failures_detailed},
                                .interval_s = options->aggregate_interval_s};
    log->workers = pl_alloc(arena, (size_t)workers, sizeof *log->workers);
    const char *prefix = options->log_prefix != NULL ? options->log_prefix : "pgbench_log";
    for (int w = 0; w < workers; w++) {
        struct worker_log *worker = &log->workers[w];
        worker->path = w == 0 ? pl_format(arena, "%s.%d", prefix, pid) : pl_format(arena, "%s.%d.%d", prefix, pid, w);
        worker->fd = open(worker->path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666);
        if (worker->fd < 0) {
            enum pl_code code = pl_err_os(err, PL_IO, errno, "could not open logfile \"%s\"", worker->path);
            log_release(log);
            return code;
        }
        worker->bytes = pl_alloc(arena, LOG_BUFFER_BYTES, 1);
        log->worker_count++;
    }
    *ret_log = log;
    return PL_OK;
}

/* The first interval begins with the second in which the load began, as pgbench's does. */
void pgbench_log_start(struct pgbench_log *log, int64_t start_ns, int64_t unix_minus_monotonic_ns)
{
    log->is_started = true;
    log->start_ns = start_ns;
    log->columns.unix_minus_monotonic_ns = unix_minus_monotonic_ns;
    int64_t start_unix_s = (start_ns + unix_minus_monotonic_ns) / PL_NS_PER_S;
    for (int w = 0; w < log->worker_count; w++) {
        struct worker_log *worker = &log->workers[w];
        worker->interval_unix_s = start_unix_s;
        worker->interval_end_ns = (start_unix_s + log->interval_s) * PL_NS_PER_S - unix_minus_monotonic_ns;
    }
}

static void interval_end(struct pgbench_log *log, struct worker_log *worker)
{
    char *at = worker_room(log, worker);
    worker->used += (size_t)(interval_line(at, worker->interval_unix_s, &worker->interval) - at);
    worker->interval = (struct log_interval){0};
    worker->interval_operations = 0;
    worker->interval_unix_s += log->interval_s;
    worker->interval_end_ns += log->interval_s * PL_NS_PER_S;
}

static void worker_aggregate(struct pgbench_log *log, struct worker_log *worker, const struct operation *operation)
{
    while (operation->done_ns >= worker->interval_end_ns)
        interval_end(log, worker);
    worker->interval_operations++;
    interval_add(&worker->interval, log->columns.lag, operation);
}

enum pl_code pgbench_log_operations(struct pgbench_log *log, int worker, const struct operation *operations, size_t count,
                                    struct pl_err *err)
{
    assert(log->is_started && worker >= 0 && worker < log->worker_count);
    struct worker_log *of = &log->workers[worker];
    for (size_t i = 0; i < count && log->failed.code == PL_OK; i++) {
        if (log->interval_s > 0) {
            worker_aggregate(log, of, &operations[i]);
            continue;
        }
        char *at = worker_room(log, of);
        of->used += (size_t)(operation_line(at, &log->columns, &operations[i]) - at);
    }
    return log->failed.code == PL_OK ? PL_OK : log_fail(log, err);
}

/* The interval that the end cuts short is written as well; one that would begin at the end is none, unless something is
 * in it. */
static void worker_end(struct pgbench_log *log, struct worker_log *worker, int64_t end_ns)
{
    if (log->is_started && log->interval_s > 0) {
        while (worker->interval_end_ns < end_ns && log->failed.code == PL_OK)
            interval_end(log, worker);
        if (end_ns > log->start_ns || worker->interval_operations > 0)
            interval_end(log, worker);
    }
    worker_flush(log, worker);
}

enum pl_code pgbench_log_close(struct pgbench_log *log, int64_t end_ns, struct pl_err *err)
{
    if (log == NULL)
        return PL_OK;
    for (int w = 0; w < log->worker_count; w++) {
        struct worker_log *worker = &log->workers[w];
        worker_end(log, worker, end_ns);
        /* some file systems tell only here that there was no room */
        if (close(worker->fd) != 0)
            pl_err_os(&log->failed, PL_IO, errno, "could not write to logfile \"%s\"", worker->path);
    }
    enum pl_code code = log->failed.code == PL_OK ? PL_OK : log_fail(log, err);
    pl_arena_free(log->arena);
    return code;
}
