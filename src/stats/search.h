/* The search for the highest load that meets an objective, as a state machine without clock or load: it says what to try
 * next and is told what came out. A noisy dip must not end it early, and what it accepts has been seen more than once; how
 * stands in search.c. Sources: MLRsearch (IETF draft-ietf-bmwg-mlrsearch) for trials that may be bad; doubling, then
 * bisection. */
#ifndef PL_STATS_SEARCH_H
#define PL_STATS_SEARCH_H

#include <stdbool.h>

enum search_verdict { SEARCH_PASS, SEARCH_FAIL, SEARCH_NO_DATA };

struct search_spec {
    double start;          /* the first load, > 0 */
    double least, most;    /* never tried beyond; most 0: no limit */
    double tolerance_frac; /* the bracket is narrow enough: (fail - pass) / pass; 0: 0.03 */
    int confirmations;     /* so many more passes than failures the answer needs, and the load above it the other way round,
                              or three times as many trials; 0: 2 */
    int trials_most;       /* 0: 60 */
};

enum search_end {
    SEARCH_GOES_ON,
    SEARCH_FOUND,       /* pass and fail bracket the answer */
    SEARCH_ABOVE_MOST,  /* `most` passes */
    SEARCH_BELOW_LEAST, /* `least` fails */
    SEARCH_GAVE_UP      /* trials_most, or no data SEARCH_NO_DATA_MOST times in a row */
};

enum { SEARCH_POINTS_MOST = 128, SEARCH_NO_DATA_MOST = 10 };

struct search_point {
    double load;
    int passes, failures;
};

struct search {
    struct search_spec spec;
    struct search_point points[SEARCH_POINTS_MOST]; /* by load, ascending */
    int point_count, trials, no_data;
    enum search_end end;
    double next, last_pass, first_fail; /* 0: none yet */
};

void search_begin(struct search *search, const struct search_spec *spec);
/* The next load to try; false: it has ended, see search->end. */
bool search_next(const struct search *search, double *ret_load);
/* What came out of it. */
void search_take(struct search *search, enum search_verdict verdict);

#endif
