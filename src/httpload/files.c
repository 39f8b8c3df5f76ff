/* Files beside the report: .hgrm, .hlog, and the log of operations. */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "base/clock.h"
#include "base/file.h"
#include "httpload/output_int.h"
#include "stats/hgrm.h"
#include "stats/hlog.h"

#include "base/ban.h"

enum { LISTING_BYTES = 1024 * 1024, LINES_BYTES = 64 * 1024 * 1024, INTERVALS = 4 };

/* ---- .hgrm ---- */

enum pl_code httpload_hgrm_write(const char *path, const struct httpload_total *total, struct pl_err *err)
{
    struct pl_buf text;
    pl_buf_init(&text, LISTING_BYTES);
    hist_hgrm_put(&total->whole.response, (double)PL_NS_PER_MS, &text);
    enum pl_code code = pl_file_write(path, pl_buf_text(&text), text.len, err);
    pl_buf_release(&text);
    return code;
}

/* ---- files that grow while the load runs ---- */

struct growing {
    FILE *file;
    char *path;
};

static enum pl_code growing_open(struct growing *growing, const char *path, struct pl_err *err)
{
    growing->file = fopen(path, "we");
    growing->path = strdup(path);
    return growing->file != NULL ? PL_OK : pl_err_os(err, PL_IO, errno, "cannot write \"%s\"", path);
}

static enum pl_code growing_put(struct growing *growing, struct pl_buf *text, struct pl_err *err)
{
    size_t length = text->len;
    bool is_whole = !text->full && fwrite(pl_buf_text(text), 1, length, growing->file) == length;
    pl_buf_clear(text);
    return is_whole ? PL_OK : pl_err_os(err, PL_IO, errno, "cannot write \"%s\"", growing->path);
}

static enum pl_code growing_close(struct growing *growing, struct pl_err *err)
{
    enum pl_code code = PL_OK;
    if (growing->file != NULL && fclose(growing->file) != 0)
        code = pl_err_os(err, PL_IO, errno, "cannot write \"%s\"", growing->path);
    pl_free(growing->path);
    *growing = (struct growing){0};
    return code;
}

/* ---- .hlog ----
 *
 * Slices are those of single workers and end about a second apart, each worker's a little after the others'. So a few
 * intervals are open at a time; the oldest is written when a slice ends INTERVALS later. A slice that comes later still is
 * counted in the oldest open one: no value is lost, and none is counted twice. */

struct httpload_hlog {
    struct growing out;
    struct pl_buf text;
    const struct feed *tenants;
    size_t group_count;
    int64_t start_ns, oldest; /* the interval that would be written next, from 0 */
    struct hist *hists;       /* [INTERVALS][group_count] */
};

static struct hist *hlog_hists(struct httpload_hlog *hlog, int64_t interval)
{
    return &hlog->hists[(size_t)(interval % INTERVALS) * hlog->group_count];
}

enum pl_code httpload_hlog_open(const struct httpload_options *options, struct httpload_hlog **ret_hlog, struct pl_err *err)
{
    struct httpload_hlog *hlog = pl_new(1, sizeof *hlog);
    hlog->tenants = options->tenants;
    hlog->group_count = options->tenants != NULL ? options->tenants->group_count : 1;
    hlog->hists = pl_new(INTERVALS * hlog->group_count, sizeof *hlog->hists);
    for (size_t i = 0; i < INTERVALS * hlog->group_count; i++)
        hist_init_latency(&hlog->hists[i]);
    pl_buf_init(&hlog->text, LINES_BYTES);
    *ret_hlog = hlog;
    return growing_open(&hlog->out, options->hlog_path, err);
}

enum pl_code httpload_hlog_start(struct httpload_hlog *hlog, int64_t start_ns, int64_t start_unix_ns, struct pl_err *err)
{
    hlog->start_ns = start_ns;
    hlog_head(&hlog->text, "plimsoll http " PLIMSOLL_VERSION ": response of completed operations in ns", start_unix_ns);
    return growing_put(&hlog->out, &hlog->text, err);
}

static enum pl_code hlog_write_oldest(struct httpload_hlog *hlog, struct pl_err *err)
{
    struct hist *hists = hlog_hists(hlog, hlog->oldest);
    for (size_t g = 0; g < hlog->group_count; g++) {
        if (hists[g].total > 0)
            hlog_interval(&hlog->text, hlog->tenants != NULL ? hlog->tenants->groups[g].name : "",
                          hlog->oldest * PL_NS_PER_S, PL_NS_PER_S, &hists[g]);
        hist_clear(&hists[g]);
    }
    hlog->oldest++;
    return growing_put(&hlog->out, &hlog->text, err);
}

enum pl_code httpload_hlog_slice(struct httpload_hlog *hlog, const struct slice *slice, struct pl_err *err)
{
    enum pl_code code = PL_OK;
    if (slice->step >= 0 || slice->due_in != PHASE_MEASURE || slice->response == NULL || slice->response->total == 0)
        return PL_OK;
    int64_t interval = (slice->end_ns - hlog->start_ns - 1) / PL_NS_PER_S;
    if (interval < hlog->oldest)
        interval = hlog->oldest;
    while (interval >= hlog->oldest + INTERVALS && code == PL_OK)
        code = hlog_write_oldest(hlog, err);
    if (code == PL_OK)
        hist_merge(&hlog_hists(hlog, interval)[hlog->tenants != NULL ? slice->group : 0], slice->response);
    return code;
}

enum pl_code httpload_hlog_close(struct httpload_hlog *hlog, struct pl_err *err)
{
    if (hlog == NULL)
        return PL_OK;
    enum pl_code code = PL_OK;
    for (int i = 0; i < INTERVALS && hlog->out.file != NULL && code == PL_OK; i++)
        code = hlog_write_oldest(hlog, err);
    enum pl_code closed = growing_close(&hlog->out, err);
    for (size_t i = 0; i < INTERVALS * hlog->group_count; i++)
        hist_release(&hlog->hists[i]);
    pl_free(hlog->hists);
    pl_buf_release(&hlog->text);
    pl_free(hlog);
    return code == PL_OK ? closed : code;
}

/* ---- the log of operations ---- */

struct httpload_log {
    struct growing out;
    struct pl_buf text;
    int64_t unix_minus_monotonic_ns;
};

enum pl_code httpload_log_open(const struct httpload_options *options, struct httpload_log **ret_log, struct pl_err *err)
{
    struct httpload_log *log = pl_new(1, sizeof *log);
    pl_buf_init(&log->text, LINES_BYTES);
    *ret_log = log;
    enum pl_code code = growing_open(&log->out, options->log_path, err);
    if (code != PL_OK)
        return code;
    pl_buf_put(&log->text, "#due_unix_s\tresponse_ns\tservice_ns\tscript\tclient\tnumber\tretries\tend\n");
    return growing_put(&log->out, &log->text, err);
}

void httpload_log_start(struct httpload_log *log, int64_t unix_minus_monotonic_ns)
{
    log->unix_minus_monotonic_ns = unix_minus_monotonic_ns;
}

static const char *end_name(uint8_t end)
{
    switch ((enum operation_end)end) {
    case OPERATION_COMPLETED:
        return "completed";
    case OPERATION_SKIPPED:
        return "skipped";
    case OPERATION_EXPIRED:
        return "expired";
    case OPERATION_SERIALIZATION:
    case OPERATION_DEADLOCK:
    case OPERATION_FAILED:
        break;
    }
    return "failed";
}

enum pl_code httpload_log_operations(struct httpload_log *log, const struct operation *operations, size_t count,
                                     struct pl_err *err)
{
    for (size_t i = 0; i < count; i++) {
        const struct operation *operation = &operations[i];
        int64_t due_unix_ns = operation->due_ns + log->unix_minus_monotonic_ns;
        pl_buf_printf(&log->text, "%lld.%09lld\t%lld\t", (long long)(due_unix_ns / PL_NS_PER_S),
                      (long long)(due_unix_ns % PL_NS_PER_S), (long long)(operation->done_ns - operation->due_ns));
        if (operation->sent_ns > 0)
            pl_buf_printf(&log->text, "%lld", (long long)(operation->done_ns - operation->sent_ns));
        else
            pl_buf_put(&log->text, "-");
        pl_buf_printf(&log->text, "\t%d\t%d\t%lld\t%d\t%s\n", operation->script + 1, operation->client,
                      (long long)operation->number, operation->retries, end_name(operation->end));
    }
    return growing_put(&log->out, &log->text, err);
}

enum pl_code httpload_log_close(struct httpload_log *log, struct pl_err *err)
{
    if (log == NULL)
        return PL_OK;
    enum pl_code code = growing_close(&log->out, err);
    pl_buf_release(&log->text);
    pl_free(log);
    return code;
}
