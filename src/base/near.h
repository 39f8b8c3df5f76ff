/* The known word that a mistyped one was probably meant to be. */
#ifndef PL_BASE_NEAR_H
#define PL_BASE_NEAR_H

#include <stddef.h>

/* The candidate with the smallest edit distance to `word` (optimal string alignment: a letter put in, left out, changed, or
 * swapped with its neighbour is one step), the first of equals; or NULL when none is near: more than (n + 1) / 3 steps, n
 * being the length of the longer word. Words longer than 63 bytes are near nothing. The result is one of the candidates. */
const char *pl_near(const char *word, const char *const *candidates, size_t count);

#endif
