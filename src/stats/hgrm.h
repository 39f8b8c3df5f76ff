/* A histogram as HdrHistogram's percentile listing (.hgrm), which the usual plotters read. */
#ifndef PL_STATS_HGRM_H
#define PL_STATS_HGRM_H

#include "base/buf.h"
#include "stats/hist.h"

/* Appends the listing, values divided by `unit` (1e6: a histogram of ns in ms), in the columns and with the footer of
 * HdrHistogram_c's classic form. Levels are HdrHistogram's with 5 ticks per half distance: 0, 0.1, ... 0.5, 0.55, ... 0.75,
 * 0.775, ... up to the first that the greatest value answers, then 1. A line says: TotalCount values, at least the share
 * Percentile of all, are at most Value; Value is hist_quantile's, so that the last line is the exact maximum. An empty
 * histogram gives the one line of level 1, with zeros. */
void hist_hgrm_put(const struct hist *hist, double unit, struct pl_buf *out);

#endif
