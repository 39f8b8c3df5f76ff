/* M/M/c in closed form. */
#include "model/queue.h"

#include <math.h>
#include <stdbool.h>

#include "base/ban.h"

static bool is_stable(int servers, double lambda, double service)
{
    return servers >= 1 && lambda >= 0 && service > 0 && lambda * service < servers;
}

/* B(k) = a B(k-1) / (k + a B(k-1)), B(0) = 1: stable for any size, where the quotient of powers and factorials overflows.
 */
double queue_erlang_b(int servers, double offered)
{
    if (servers < 1 || !(offered >= 0) || isinf(offered))
        return (double)NAN;
    double blocking = 1;
    for (int k = 1; k <= servers; k++)
        blocking = offered * blocking / (k + offered * blocking);
    return blocking;
}

double queue_erlang_c(int servers, double offered)
{
    if (!(offered < servers))
        return (double)NAN;
    double blocking = queue_erlang_b(servers, offered);
    return blocking / (1 - offered / servers * (1 - blocking));
}

double queue_mmc_wait(int servers, double lambda, double service)
{
    if (!is_stable(servers, lambda, service))
        return (double)NAN;
    double offered = lambda * service;
    return queue_erlang_c(servers, offered) * service / (servers - offered);
}

double queue_mmc_response(int servers, double lambda, double service)
{
    return queue_mmc_wait(servers, lambda, service) + service;
}

/* The response is a service time, plus with probability C an independent exponential wait of rate c mu - lambda. With
 * theta = c mu - lambda - mu the convolution is e^(-mu t) (1 + C mu (1 - e^(-theta t)) / theta). Two forms of the same
 * quotient: the first does not cancel near theta = 0, the second does not overflow where theta t is very negative. */
double queue_mmc_response_tail(int servers, double lambda, double service, double t)
{
    if (!is_stable(servers, lambda, service) || isnan(t))
        return (double)NAN;
    if (t <= 0)
        return 1;
    double mu = 1 / service, waiting = queue_erlang_c(servers, lambda * service);
    double drain = servers * mu - lambda, theta = drain - mu, part;
    if (theta == 0)
        part = t * exp(-mu * t);
    else if (theta * t > -1)
        part = exp(-mu * t) * -expm1(-theta * t) / theta;
    else
        part = (exp(-mu * t) - exp(-drain * t)) / theta;
    return exp(-mu * t) + waiting * mu * part;
}

double queue_mmc_response_quantile(int servers, double lambda, double service, double q)
{
    if (!is_stable(servers, lambda, service) || !(q > 0 && q < 1))
        return (double)NAN;
    double low = 0, high = queue_mmc_response(servers, lambda, service);
    while (queue_mmc_response_tail(servers, lambda, service, high) > 1 - q) {
        low = high;
        high *= 2;
    }
    while (high - low > 1e-12 * high) {
        double middle = low + (high - low) / 2;
        if (middle <= low || middle >= high)
            break;
        if (queue_mmc_response_tail(servers, lambda, service, middle) > 1 - q)
            low = middle;
        else
            high = middle;
    }
    return low + (high - low) / 2;
}
