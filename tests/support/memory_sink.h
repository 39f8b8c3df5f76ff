/* A sink that keeps a copy of everything pushed into it, for the tests of the rooms that push. */
#ifndef PL_TESTS_MEMORY_SINK_H
#define PL_TESTS_MEMORY_SINK_H

#include "base/arena.h"
#include "record/sink.h"

struct memory_sink {
    struct pl_arena *arena; /* owned; holds everything below */
    struct slice *slices;   /* in the order they were pushed; histograms are copies */
    size_t slice_count, slice_cap;
    struct metric *metrics;
    size_t metric_count, metric_cap;
    struct sample *samples;
    size_t sample_count, sample_cap;
    struct fault *faults;
    size_t fault_count, fault_cap;
    size_t calls;   /* of any of the four functions, the failed ones included */
    size_t fail_at; /* 0: never; else the call of this number (from 1) and all later ones give PL_STORE */
};

void memory_sink_init(struct memory_sink *memory);
void memory_sink_release(struct memory_sink *memory);
struct sink memory_sink(struct memory_sink *memory); /* of a sink that was initialised */

/* NULL when no such metric was pushed. */
const struct metric *memory_sink_metric(const struct memory_sink *memory, const char *source, const char *name);

#endif
