/* What is tried next follows from the votes of all trials so far, and from nothing else:
 *
 * A point (a load that was tried) passes when more of its trials passed than failed. When as many did either way, it is
 * tried again, up to VOTES_MOST trials; still undecided it counts as a failure. So one trial that contradicts those before
 * it never decides: it makes the point be measured again.
 *
 * Contradiction: a point passes above one that fails. Whichever of the two has been tried less is tried again, up to as
 * many trials; after that the failure is believed.
 * Growth: nothing fails yet: twice the highest pass. Nothing passes yet: half of the lowest failure.
 * Bisection: the middle of the highest pass and the lowest failure, on a log scale while they are far apart.
 * Confirmation: they are close: first the failure, then the pass must have been seen as often as asked. The pass comes
 * last, because a server that was driven over its limit must have found back below it. A failure that was bad luck shows
 * here: it loses the vote, and growth or bisection goes on above it. */
#include "stats/search.h"

#include <assert.h>
#include <math.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include "base/ban.h"

enum { VOTES_MOST = 6 };

/* Further apart than this a middle on a log scale needs fewer trials. */
#define FAR_APART 1.5

static int point_trials(const struct search_point *point)
{
    return point->passes + point->failures;
}

static bool point_is_open(const struct search_point *point)
{
    return point->passes == point->failures && point_trials(point) < VOTES_MOST;
}

static bool point_passes(const struct search_point *point)
{
    return point->passes > point->failures;
}

static void search_stop(struct search *search, enum search_end end)
{
    search->end = end;
    search->next = 0;
}

/* Trials that went the other way count against it: else two lies among three trials would be an answer. */
static bool search_is_confirmed(const struct search *search, const struct search_point *point)
{
    int lead = abs(point->passes - point->failures), most = search->spec.confirmations * 3;
    return lead >= search->spec.confirmations || point_trials(point) >= (most > VOTES_MOST ? most : VOTES_MOST);
}

static void search_confirm_end(struct search *search, const struct search_point *point, enum search_end end)
{
    if (search_is_confirmed(search, point))
        search_stop(search, end);
    else
        search->next = point->load;
}

/* Nothing fails yet. */
static void search_grow(struct search *search, const struct search_point *pass)
{
    double most = search->spec.most;
    if (most > 0 && pass->load >= most)
        search_confirm_end(search, pass, SEARCH_ABOVE_MOST);
    else
        search->next = most > 0 && pass->load * 2 > most ? most : pass->load * 2;
}

/* Nothing passes yet. */
static void search_shrink(struct search *search, const struct search_point *fail)
{
    double least = search->spec.least;
    if (fail->load <= least)
        search_confirm_end(search, fail, SEARCH_BELOW_LEAST);
    else
        search->next = fail->load / 2 < least ? least : fail->load / 2;
}

static void search_narrow(struct search *search, const struct search_point *pass, const struct search_point *fail)
{
    if ((fail->load - pass->load) / pass->load > search->spec.tolerance_frac)
        search->next = fail->load > pass->load * FAR_APART ? sqrt(pass->load * fail->load) : (pass->load + fail->load) / 2;
    else if (!search_is_confirmed(search, fail))
        search->next = fail->load;
    else
        search_confirm_end(search, pass, SEARCH_FOUND);
}

static void search_decide(struct search *search)
{
    const struct search_point *end = search->points + search->point_count;
    const struct search_point *highest = NULL, *pass = NULL, *fail = NULL, *open = NULL;
    for (const struct search_point *point = search->points; point < end; point++) {
        if (point_is_open(point))
            open = open == NULL ? point : open;
        else if (!point_passes(point))
            fail = fail == NULL ? point : fail;
        else
            highest = point;
        if (fail == NULL)
            pass = highest;
    }
    search->last_pass = pass != NULL ? pass->load : 0;
    search->first_fail = fail != NULL ? fail->load : 0;
    bool contradicts = fail != NULL && highest != NULL && highest > fail;
    if (open != NULL)
        search->next = open->load;
    else if (contradicts && point_trials(highest) < point_trials(fail))
        search->next = highest->load;
    else if (contradicts && point_trials(fail) < VOTES_MOST)
        search->next = fail->load;
    else if (fail == NULL)
        search_grow(search, pass);
    else if (pass == NULL)
        search_shrink(search, fail);
    else
        search_narrow(search, pass, fail);
    if (search->end == SEARCH_GOES_ON &&
        (search->trials >= search->spec.trials_most || search->point_count == SEARCH_POINTS_MOST))
        search_stop(search, SEARCH_GAVE_UP);
}

void search_begin(struct search *search, const struct search_spec *spec)
{
    assert(spec->start > 0 && spec->least >= 0 && (spec->most == 0 || spec->most >= spec->least));
    *search = (struct search){.spec = *spec, .next = spec->start};
    if (search->spec.tolerance_frac <= 0)
        search->spec.tolerance_frac = 0.03;
    if (search->spec.confirmations <= 0)
        search->spec.confirmations = 2;
    if (search->spec.trials_most <= 0)
        search->spec.trials_most = 60;
    if (search->next < spec->least)
        search->next = spec->least;
    if (spec->most > 0 && search->next > spec->most)
        search->next = spec->most;
}

bool search_next(const struct search *search, double *ret_load)
{
    *ret_load = search->next;
    return search->end == SEARCH_GOES_ON;
}

/* The point of the load that was tried, in its place among the others. */
static struct search_point *search_point_at(struct search *search, double load)
{
    int at = 0;
    while (at < search->point_count && search->points[at].load < load)
        at++;
    struct search_point *point = &search->points[at];
    if (at == search->point_count || point->load > load) {
        memmove(point + 1, point, (size_t)(search->point_count - at) * sizeof *point);
        *point = (struct search_point){.load = load};
        search->point_count++;
    }
    return point;
}

void search_take(struct search *search, enum search_verdict verdict)
{
    assert(search->end == SEARCH_GOES_ON);
    search->trials++;
    if (verdict == SEARCH_NO_DATA) {
        search->no_data++;
        if (search->no_data >= SEARCH_NO_DATA_MOST || search->trials >= search->spec.trials_most)
            search_stop(search, SEARCH_GAVE_UP);
        return;
    }
    search->no_data = 0;
    struct search_point *point = search_point_at(search, search->next);
    if (verdict == SEARCH_PASS)
        point->passes++;
    else
        point->failures++;
    search_decide(search);
}
