/* The known word that a mistyped one was probably meant to be. */
#ifndef PL_BASE_NEAR_H
#define PL_BASE_NEAR_H

#include <stddef.h>

/* The candidate nearest to `word` by edit distance (swaps of neighbours count once; case and the difference between - and _
 * do not count), or NULL when none is near: at most a third of the word's letters may differ (one at least, never all). The
 * first of equals wins. Words longer than 63 bytes have no near one. */
const char *pl_near(const char *word, const char *const *candidates, size_t count);

#endif
