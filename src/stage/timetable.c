/* Due times of open-loop operations. */
#include "stage/timetable.h"

#include <assert.h>
#include <math.h>

#include "base/ban.h"

static int64_t after_start(int64_t start_ns, long double offset_ns)
{
    long double due = (long double)start_ns + offset_ns;
    return due < (long double)INT64_MAX ? (int64_t)floorl(due + 0.5L) : INT64_MAX;
}

/* Slot `index` of this worker is slot k = index * W + w of the whole stream. Long double has 64 bits of mantissa on x86-64,
 * so k * 1e9 is exact up to k = 1.8e10 and the result is within a nanosecond for all of them. */
static int64_t constant_due(const struct timetable *timetable, int64_t index)
{
    long double k = (long double)index * timetable->workers + timetable->worker;
    return after_start(timetable->start_ns, k * 1e9L / (long double)timetable->rate_per_s);
}

static void poisson_next(struct timetable *timetable)
{
    double gap = pl_rng_exponential(&timetable->rng, 1e9 * timetable->workers / timetable->rate_per_s);
    double sum = timetable->offset_ns + gap;
    if (timetable->offset_ns >= gap)
        timetable->carry_ns += (timetable->offset_ns - sum) + gap;
    else
        timetable->carry_ns += (gap - sum) + timetable->offset_ns;
    timetable->offset_ns = sum;
    timetable->next_ns =
        after_start(timetable->start_ns, (long double)timetable->offset_ns + (long double)timetable->carry_ns);
}

void timetable_init(struct timetable *timetable, enum plan_arrivals arrivals, double rate_per_s, int worker, int workers,
                    int64_t start_ns, uint64_t seed)
{
    assert(rate_per_s > 0 && worker >= 0 && worker < workers && start_ns >= 0);
    *timetable = (struct timetable){
        .arrivals = arrivals, .rate_per_s = rate_per_s, .worker = worker, .workers = workers, .start_ns = start_ns};
    pl_rng_init(&timetable->rng, seed, PL_RNG_ARRIVAL, (uint64_t)worker);
    if (arrivals == PLAN_POISSON)
        poisson_next(timetable);
    else
        timetable->next_ns = constant_due(timetable, 0);
}

void timetable_advance(struct timetable *timetable)
{
    timetable->index++;
    if (timetable->arrivals == PLAN_POISSON)
        poisson_next(timetable);
    else
        timetable->next_ns = constant_due(timetable, timetable->index);
}

/* The first index whose slot is not due before the deadline: a guess from the rate, then corrected to what constant_due
 * says. */
static int64_t constant_index_at(const struct timetable *timetable, int64_t deadline_ns)
{
    long double k = (long double)(deadline_ns - timetable->start_ns) * (long double)timetable->rate_per_s / 1e9L;
    int64_t index = (int64_t)((k - timetable->worker) / timetable->workers);
    if (index < timetable->index)
        index = timetable->index;
    while (constant_due(timetable, index) < deadline_ns)
        index++;
    while (index > timetable->index && constant_due(timetable, index - 1) >= deadline_ns)
        index--;
    return index;
}

int64_t timetable_take_until(struct timetable *timetable, int64_t deadline_ns)
{
    int64_t before = timetable->index;
    if (timetable->next_ns >= deadline_ns)
        return 0;
    if (timetable->arrivals == PLAN_POISSON) {
        while (timetable->next_ns < deadline_ns)
            timetable_advance(timetable);
    } else {
        timetable->index = constant_index_at(timetable, deadline_ns);
        timetable->next_ns = constant_due(timetable, timetable->index);
    }
    return timetable->index - before;
}
