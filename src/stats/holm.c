/* Holm's step-down correction. */
#include "stats/holm.h"

#include <math.h>
#include <stdlib.h>

#include "base/arena.h"

#include "base/ban.h"

struct ranked {
    double p;
    size_t index;
};

static int compare_ranked(const void *left, const void *right)
{
    const struct ranked *a = left, *b = right;
    if (a->p != b->p)
        return a->p < b->p ? -1 : 1;
    return (a->index > b->index) - (a->index < b->index);
}

size_t holm_correct(const double *p, size_t count, double *ret_corrected)
{
    struct ranked *ranked = pl_new(count + 1, sizeof *ranked);
    size_t made = 0;
    for (size_t i = 0; i < count; i++) {
        if (!isnan(p[i]))
            ranked[made++] = (struct ranked){p[i], i};
        else
            ret_corrected[i] = p[i];
    }
    qsort(ranked, made, sizeof *ranked, compare_ranked);
    /* the smallest times their number, the next times one less, and so on; never below the one before */
    double last = 0;
    for (size_t i = 0; i < made; i++) {
        last = fmax(last, fmin(1, ranked[i].p * (double)(made - i)));
        ret_corrected[ranked[i].index] = last;
    }
    pl_free(ranked);
    return made;
}
