/* Exact results of queueing theory: M/M/c (Erlang 1917; Kleinrock, Queueing Systems I, 3.5). All times in one unit. */
#ifndef PL_MODEL_QUEUE_H
#define PL_MODEL_QUEUE_H

/* lambda: arrivals per time; service: mean service time; servers >= 1; lambda * service < servers (else NAN). */
double queue_erlang_b(int servers, double offered);                    /* offered = lambda * service, >= 0 */
double queue_erlang_c(int servers, double offered);                    /* probability of waiting */
double queue_mmc_wait(int servers, double lambda, double service);     /* mean wait Wq */
double queue_mmc_response(int servers, double lambda, double service); /* mean response */
/* P(response > t), first come first served. */
double queue_mmc_response_tail(int servers, double lambda, double service, double t);
/* The response quantile q in (0, 1), by bisection of the tail, to 1e-12 relative. */
double queue_mmc_response_quantile(int servers, double lambda, double service, double q);

#endif
