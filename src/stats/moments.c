/* Welford's running mean and Chan's merge. */
#include "stats/moments.h"

#include <math.h>

#include "base/ban.h"

void moments_add(struct moments *moments, double value)
{
    if (moments->n == 0 || value < moments->min)
        moments->min = value;
    if (moments->n == 0 || value > moments->max)
        moments->max = value;
    moments->n++;
    double delta = value - moments->mean;
    moments->mean += delta / (double)moments->n;
    moments->m2 += delta * (value - moments->mean);
}

void moments_merge(struct moments *into, const struct moments *from)
{
    if (from->n == 0)
        return;
    if (into->n == 0) {
        *into = *from;
        return;
    }
    double n_into = (double)into->n, n_from = (double)from->n;
    double delta = from->mean - into->mean;
    into->n += from->n;
    into->mean += delta * (n_from / (n_into + n_from));
    into->m2 += from->m2 + delta * delta * (n_into * n_from / (n_into + n_from));
    into->min = fmin(into->min, from->min);
    into->max = fmax(into->max, from->max);
}

double moments_variance(const struct moments *moments)
{
    return moments->n < 2 ? (double)NAN : moments->m2 / (double)(moments->n - 1);
}

double moments_stddev(const struct moments *moments)
{
    return sqrt(moments_variance(moments));
}

double moments_cv(const struct moments *moments)
{
    if (moments->n < 2 || moments->mean == 0)
        return (double)NAN;
    return moments_stddev(moments) / fabs(moments->mean);
}
