/* Where observed things go while a trial runs. load, sense and hardware push; store writes; tests keep them in memory.
 * Called from the conducting thread only. A sink copies what it keeps. The first error stays: later calls return it. */
#ifndef PL_RECORD_SINK_H
#define PL_RECORD_SINK_H

#include "base/err.h"
#include "record/record.h"

struct sink {
    void *ctx;
    enum pl_code (*slice)(void *ctx, const struct slice *slice, struct pl_err *err);
    enum pl_code (*metric)(void *ctx, const struct metric *metric, struct pl_err *err); /* before its first sample */
    enum pl_code (*sample)(void *ctx, const struct sample *sample, struct pl_err *err);
    /* Operations of one worker, in the order in which they ended; each of them once. NULL: nobody wants them. */
    enum pl_code (*operations)(void *ctx, int worker, const struct operation *operations, size_t count,
                               struct pl_err *err);
    enum pl_code (*fault)(void *ctx, const struct fault *fault, struct pl_err *err);
};

#endif
