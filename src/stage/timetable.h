/* When operations are due, open loop. A timetable belongs to one worker of W; together the W timetables make one stream of
 * the asked rate: constant arrivals take every W-th slot (worker w the slots w, w + W, ...), Poisson arrivals are W
 * independent streams of rate / W (their superposition is Poisson; a caller whose workers are to have unequal parts gives
 * each a rate of its own). Times do not drift: slot k is computed from k, not from
 * slot k - 1. */
#ifndef PL_STAGE_TIMETABLE_H
#define PL_STAGE_TIMETABLE_H

#include <stdint.h>

#include "base/rng.h"
#include "plan/plan.h"

struct timetable {
    enum plan_arrivals arrivals;
    double rate_per_s; /* of the whole stream */
    int worker, workers;
    int64_t start_ns;
    int64_t index;    /* slots taken so far by this worker */
    double offset_ns; /* Poisson: sum of gaps */
    double carry_ns;  /* what rounding took from the sum (Neumaier 1974), so that it does not drift */
    int64_t next_ns;
    struct pl_rng rng;
};

/* rate_per_s > 0; 0 <= worker < workers; start_ns >= 0. The first constant slot is due at start_ns, the first Poisson slot
 * one gap later. Times past INT64_MAX are INT64_MAX. */
void timetable_init(struct timetable *timetable, enum plan_arrivals arrivals, double rate_per_s, int worker, int workers,
                    int64_t start_ns, uint64_t seed);

/* The next due time, without taking it. O(1). */
static inline int64_t timetable_peek(const struct timetable *timetable)
{
    return timetable->next_ns;
}

/* Takes it. No allocation. */
void timetable_advance(struct timetable *timetable);

/* Takes all slots before deadline_ns at once and returns how many there were (those that nobody will start). O(1) for
 * constant arrivals, O(slots taken) for Poisson ones. */
int64_t timetable_take_until(struct timetable *timetable, int64_t deadline_ns);

#endif
