/* Progress lines, from what the slices of an interval hold and nothing else.
 *
 * Slices come from single workers, without saying from which; each worker's follow one another without a gap. So an
 * interval is complete when as many slices reach over its end as there are workers, less those that have ended before. A
 * worker states each of its slices with one row for each script (step -1, due in the slice's own phase, zeros included):
 * these rows are counted. What comes later than its line, from a worker that did not get to run, is counted in the next
 * line. */
#include "pgbench/output_int.h"

#include <assert.h>
#include <math.h>

#include "base/arena.h"
#include "base/clock.h"
#include "stats/moments.h"

#include "base/ban.h"

enum {
    PARTS = 64,  /* intervals that workers can be apart */
    PATIENCE = 2 /* intervals that a line waits for a worker, when others go on */
};

/* What slices that end in one interval hold. */
struct progress_part {
    int64_t stated; /* rows of slices that reach over the interval's end */
    int64_t ended;  /* rows of workers' last slices */
    int64_t completed, failed, skipped, retried, retries;
    struct moments response; /* ns */
    double lateness_ns;      /* sum */
};

struct pgbench_progress {
    FILE *out;
    bool is_timestamp, has_lag, has_skipped, has_retries;
    int64_t interval_ns, unix_minus_monotonic_ns, start_ns;
    int64_t scripts;    /* rows that one slice states */
    int64_t rows;       /* and those of all workers together */
    int64_t seen;       /* rows so far */
    int64_t gone;       /* rows of workers that have ended before the interval `next` */
    int64_t next;       /* the interval whose line comes next, from 1 */
    int64_t furthest;   /* the last one whose end some worker has reached */
    int64_t held;       /* the interval that ends with the run's duration; 0: none */
    int64_t printed_ns; /* where the last line ended */
    int64_t end_ns;     /* of the slice that ends last */
    struct progress_part parts[PARTS];
};

struct pgbench_progress *pgbench_progress_new(const struct pgbench_options *options, int workers, FILE *out)
{
    struct pgbench_progress *progress = pl_new(1, sizeof *progress);
    int64_t scripts = 0;
    for (int s = 0; s < options->script_count; s++)
        scripts += options->scripts[s].weight > 0;
    *progress = (struct pgbench_progress){.out = out,
                                          .is_timestamp = options->progress_timestamp,
                                          .has_lag = options->rate_per_s > 0,
                                          .has_skipped = options->rate_per_s > 0 && options->latency_limit_ns > 0,
                                          .has_retries = options->max_tries != 1,
                                          .interval_ns = options->progress_s * PL_NS_PER_S,
                                          .scripts = scripts,
                                          .rows = scripts * workers,
                                          .next = 1};
    if (options->duration_s % options->progress_s == 0)
        progress->held = options->duration_s / options->progress_s;
    return progress;
}

void pgbench_progress_start(struct pgbench_progress *progress, int64_t start_ns, int64_t unix_minus_monotonic_ns)
{
    progress->start_ns = progress->printed_ns = progress->end_ns = start_ns;
    progress->unix_minus_monotonic_ns = unix_minus_monotonic_ns;
}

static struct progress_part *part_of(struct pgbench_progress *progress, int64_t interval)
{
    return &progress->parts[interval % PARTS];
}

static void part_merge(struct progress_part *into, const struct progress_part *from)
{
    into->completed += from->completed;
    into->failed += from->failed;
    into->skipped += from->skipped;
    into->retried += from->retried;
    into->retries += from->retries;
    into->lateness_ns += from->lateness_ns;
    moments_merge(&into->response, &from->response);
}

static bool part_is_empty(const struct progress_part *part)
{
    return part->completed == 0 && part->failed == 0 && part->skipped == 0;
}

static struct progress_part part_of_slice(const struct slice *slice)
{
    struct progress_part part = {.completed = slice->ledger.completed,
                                 .failed = slice->ledger.failed,
                                 .skipped = slice->ledger.skipped,
                                 .retried = slice->attempts.retried,
                                 .retries = slice->attempts.retries};
    const struct hist *response = slice->response;
    if (response != NULL && response->total > 0) {
        double stddev = response->total > 1 ? hist_stddev(response) : 0;
        part.response = (struct moments){.n = response->total,
                                         .mean = hist_mean(response),
                                         .m2 = stddev * stddev * (double)(response->total - 1),
                                         .min = (double)response->min,
                                         .max = (double)response->max};
    }
    if (slice->lateness != NULL)
        part.lateness_ns = (double)slice->lateness->sum;
    return part;
}

/* One line, with what ended between the last line and end_ns. */
static void line_print(struct pgbench_progress *progress, const struct progress_part *part, int64_t end_ns)
{
    char text[400], time[40];
    /* what came too late for the last line of all is said as if it were an interval's, with the same time again */
    double over_s = (double)(end_ns > progress->printed_ns ? end_ns - progress->printed_ns : progress->interval_ns) / 1e9;
    double n = part->response.n > 0 ? (double)part->response.n : 1;
    if (progress->is_timestamp)
        snprintf(time, sizeof time, "%.3f s", (double)((end_ns + progress->unix_minus_monotonic_ns) / PL_NS_PER_MS) / 1e3);
    else
        snprintf(time, sizeof time, "%.1f s", (double)(end_ns - progress->start_ns) / 1e9);
    int used = snprintf(text, sizeof text, "progress: %s, %.1f tps, lat %.3f ms stddev %.3f, %lld failed", time,
                        (double)part->completed / over_s, part->response.mean / 1e6, sqrt(part->response.m2 / n) / 1e6,
                        (long long)part->failed);
    if (progress->has_lag)
        used += snprintf(text + used, sizeof text - (size_t)used, ", lag %.3f ms", part->lateness_ns / n / 1e6);
    if (progress->has_skipped)
        used += snprintf(text + used, sizeof text - (size_t)used, ", %lld skipped", (long long)part->skipped);
    if (progress->has_retries)
        used += snprintf(text + used, sizeof text - (size_t)used, ", %lld retried, %lld retries", (long long)part->retried,
                         (long long)part->retries);
    assert(used < (int)sizeof text);
    fprintf(progress->out, "%s\n", text);
    fflush(progress->out);
    progress->printed_ns = end_ns;
}

/* Prints the line of the interval `next`, complete or not. */
static void next_print(struct pgbench_progress *progress)
{
    struct progress_part *part = part_of(progress, progress->next);
    progress->gone += part->ended;
    if (part->stated + progress->gone < progress->rows)
        progress->gone = progress->rows - part->stated; /* whoever is missing is not waited for again */
    line_print(progress, part, progress->start_ns + progress->next * progress->interval_ns);
    *part = (struct progress_part){0};
    progress->next++;
}

/* The line that ends with the duration of the run waits for what was under way then, so that a run of 3 s has 3 lines and
 * none of them leaves anything out. When that takes longer than an interval, the lines go on instead. */
static bool next_is_due(struct pgbench_progress *progress)
{
    const struct progress_part *part = part_of(progress, progress->next);
    if (progress->furthest >= progress->next + PATIENCE)
        return true;
    bool is_complete = part->stated > 0 && part->stated + part->ended + progress->gone >= progress->rows;
    return is_complete && (progress->next != progress->held || progress->furthest > progress->next);
}

/* Notes which ends of intervals the slice reaches over. */
static void stated_add(struct pgbench_progress *progress, const struct slice *slice)
{
    int64_t first = (slice->start_ns - progress->start_ns) / progress->interval_ns + 1;
    int64_t past_ns = slice->end_ns - progress->start_ns, last = past_ns / progress->interval_ns;
    for (int64_t interval = first; interval <= last; interval++) {
        while (interval >= progress->next + PARTS)
            next_print(progress);
        if (interval > progress->furthest)
            progress->furthest = interval;
        if (interval >= progress->next)
            part_of(progress, interval)->stated++;
        else if (progress->gone > 0)
            progress->gone--; /* one that was taken for gone is back */
    }
    /* in the drain slices are cut at the intervals' ends alone: one that ends elsewhere is its worker's last */
    if (slice->during == PHASE_DRAIN && past_ns % progress->interval_ns != 0) {
        if (last + 1 >= progress->next)
            part_of(progress, last + 1)->ended++;
        else
            progress->gone++;
    }
}

void pgbench_progress_slice(struct pgbench_progress *progress, const struct slice *slice)
{
    if (slice->step >= 0)
        return;
    if (slice->end_ns > progress->end_ns)
        progress->end_ns = slice->end_ns;
    int64_t interval = (slice->end_ns - progress->start_ns + progress->interval_ns - 1) / progress->interval_ns;
    bool is_own_phase = slice->due_in == (slice->during == PHASE_WARM_UP ? PHASE_WARM_UP : PHASE_MEASURE);
    while (interval >= progress->next + PARTS)
        next_print(progress);
    if (interval < progress->next)
        interval = progress->next;
    const struct progress_part part = part_of_slice(slice);
    part_merge(part_of(progress, interval), &part);
    if (!is_own_phase || slice->end_ns == slice->start_ns)
        return;
    stated_add(progress, slice);
    /* the rows of one slice come together: nothing is judged by half of them */
    if (++progress->seen % progress->scripts == 0)
        while (next_is_due(progress))
            next_print(progress);
}

void pgbench_progress_free(struct pgbench_progress *progress)
{
    if (progress == NULL)
        return;
    while (progress->next < progress->furthest ||
           (progress->next == progress->furthest && progress->next != progress->held))
        next_print(progress);
    struct progress_part rest = *part_of(progress, progress->next);
    part_merge(&rest, part_of(progress, progress->next + 1));
    if (progress->next <= progress->furthest || !part_is_empty(&rest))
        line_print(progress, &rest, progress->end_ns > progress->printed_ns ? progress->end_ns : progress->printed_ns);
    pl_free(progress);
}
