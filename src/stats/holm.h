/* Many tests at once: p values corrected so that with all null hypotheses true the chance of even one false alarm stays at
 * the level of a single test (Holm, Scand. J. Stat. 6, 1979). */
#ifndef PL_STATS_HOLM_H
#define PL_STATS_HOLM_H

#include <stddef.h>

/* ret_corrected[i] belongs to p[i]: never below it, at most 1, in the same order. A NAN is a test that was not made: it is
 * not counted and stays NAN. Returns how many were counted. The two arrays may be one. */
size_t holm_correct(const double *p, size_t count, double *ret_corrected);

#endif
