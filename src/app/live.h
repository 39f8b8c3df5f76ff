/* What the person in front sees while a study runs: on a terminal one block that is redrawn (stage, trial, bar, time left,
 * rate, latencies, the subject's memory and CPU); otherwise plain lines, one when a trial begins and one when it ends. */
#ifndef PL_APP_LIVE_H
#define PL_APP_LIVE_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#include "base/err.h"

struct live {
    FILE *out;
    bool is_terminal, uses_color;
    int width;
    bool block_shown; /* the redrawn block is on the screen */
    bool is_stopping; /* said so */
    int64_t drawn_ns;
    int trials, trial; /* of the whole study; trial counts from 1 */
    const char *stage;
    char label[160];
};

/* What changes within a trial. */
struct live_view {
    const char *phase; /* "warm-up", "measure", ... */
    double done_frac;  /* of this trial, 0..1 */
    int64_t left_ns;   /* of the whole study; negative: not known */
    bool has_load;
    double completed_per_s;
    int64_t p50_ns, p99_ns;
    int64_t failed, expired;
    double memory_bytes, cpu_cores; /* of the subject; memory_bytes negative: nothing of it is read */
};

void live_init(struct live *live, FILE *out);

/* A line that stays, above the block. */
void live_say(struct live *live, const char *fmt, ...) PL_PRINTF(2, 3);

void live_trial(struct live *live, const char *stage, const char *label, int iteration, int iterations);

/* A trial that an earlier run has carried out: counted, not shown. */
void live_skip(struct live *live);

/* Draws at most ten times a second; nothing on plain output. */
void live_update(struct live *live, const struct live_view *view);

/* Says, once, that the user's wish to stop was heard. */
void live_stopping(struct live *live);

/* Takes the block away. */
void live_end(struct live *live);

#endif
