/* The known word that a mistyped one was probably meant to be. */
#ifndef PL_BASE_NEAR_H
#define PL_BASE_NEAR_H

#include <stddef.h>

/* The candidate with the smallest edit distance (Damerau-Levenshtein, adjacent swaps count once) to `word`, or NULL when
 * none is near: more than a third of the longer word would have to change. Words longer than 63 bytes have no near one. */
const char *pl_near(const char *word, const char *const *candidates, size_t count);

#endif
