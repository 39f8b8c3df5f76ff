/* HdrHistogram's log format (.hlog, version 1.3), one line for an interval: what its readers in Java, JavaScript and C
 * take. Values are written as they are recorded (ns); the maximum column is in ms, as readers expect of ns. */
#ifndef PL_STATS_HLOG_H
#define PL_STATS_HLOG_H

#include <stdint.h>

#include "base/buf.h"
#include "stats/hist.h"

/* Comment lines (version, start, "what" as one line) and the legend. start_unix_ns: intervals are given relative to it. */
void hlog_head(struct pl_buf *out, const char *what, int64_t start_unix_ns);

/* One interval. tag: NULL or "" for none; bytes that a tag may not hold (comma, blanks, line breaks, controls) are
 * percent-encoded. start_ns: since the start of the log. The histogram is written in the compressed V2 encoding: same
 * geometry, same counts (clipped values count in the last bucket). */
void hlog_interval(struct pl_buf *out, const char *tag, int64_t start_ns, int64_t length_ns, const struct hist *hist);

#endif
