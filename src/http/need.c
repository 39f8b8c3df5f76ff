/* What a load needs, held against what there is, before it runs. */
#include "http/http_int.h"

#include <math.h>
#include <stdio.h>
#include <sys/resource.h>

#include "base/file.h"
#include "base/num.h"

#include "base/ban.h"

enum { DEFAULT_FIRST_PORT = 32768, DEFAULT_LAST_PORT = 60999, TIME_WAIT_S = 60 };

/* Ports that are taken at a time: by what is open, and by what was closed within time_wait_s. */
static double ports_needed(const struct http_need *need, const struct http_limits *limits)
{
    double held_s = (double)limits->time_wait_s;
    if (need->duration_s > 0 && need->duration_s < held_s)
        held_s = need->duration_s;
    return (double)need->connections + need->new_connections_per_s * held_s;
}

const char *http_need_check(const struct http_need *need, const struct http_limits *limits, struct pl_arena *arena)
{
    int64_t descriptors = need->connections + need->other_descriptors;
    if (descriptors > limits->descriptors) {
        int64_t left = limits->descriptors - need->other_descriptors;
        return pl_format(arena,
                         "%lld connections need %lld descriptors and this process may have %lld: at most %lld connections "
                         "work, or a limit of %lld descriptors (ulimit -n)",
                         (long long)need->connections, (long long)descriptors, (long long)limits->descriptors,
                         (long long)(left > 0 ? left : 0), (long long)descriptors);
    }
    if (need->destinations == 0)
        return NULL;
    int64_t sources = need->sources > 1 ? need->sources : 1;
    double pairs = (double)sources * (double)need->destinations, room = pairs * (double)limits->ports;
    double needed = ports_needed(need, limits);
    if (needed <= room)
        return NULL;
    int64_t sources_enough = (int64_t)ceil(needed / ((double)need->destinations * (double)limits->ports));
    if ((double)need->connections > room || need->new_connections_per_s <= 0)
        return pl_format(arena,
                         "%lld connections need as many local ports and there are %lld for %lld destinations: at most %lld "
                         "connections work, or %lld source addresses",
                         (long long)need->connections, (long long)room, (long long)need->destinations, (long long)room,
                         (long long)sources_enough);
    double held_s = (needed - (double)need->connections) / need->new_connections_per_s;
    return pl_format(arena,
                     "%.0f new connections a second need %.0f local ports, as each is held for %lld s after its end, and "
                     "there are %lld: at most %.0f a second work, or %lld source addresses",
                     need->new_connections_per_s, needed, (long long)limits->time_wait_s, (long long)room,
                     floor((room - (double)need->connections) / held_s), (long long)sources_enough);
}

static int64_t ports_of_system(void)
{
    int64_t first = DEFAULT_FIRST_PORT, last = DEFAULT_LAST_PORT;
    FILE *file = fopen("/proc/sys/net/ipv4/ip_local_port_range", "re");
    char line[64];
    if (file != NULL && fgets(line, sizeof line, file) != NULL) {
        size_t at = 0, end, first_end;
        while (line[at] >= '0' && line[at] <= '9')
            at++;
        first_end = at;
        while (line[at] == ' ' || line[at] == '\t')
            at++;
        end = at;
        while (line[end] >= '0' && line[end] <= '9')
            end++;
        if (pl_num_i64(line, first_end, &first) != PL_NUM_OK || pl_num_i64(line + at, end - at, &last) != PL_NUM_OK ||
            last < first) {
            first = DEFAULT_FIRST_PORT;
            last = DEFAULT_LAST_PORT;
        }
    }
    if (file != NULL)
        fclose(file);
    return last - first + 1;
}

const char *http_need_refusal(const struct http_need *need, struct pl_arena *arena)
{
    struct rlimit limit;
    struct http_limits limits = {.descriptors = INT64_MAX, .ports = ports_of_system(), .time_wait_s = TIME_WAIT_S};
    if (getrlimit(RLIMIT_NOFILE, &limit) == 0) {
        rlim_t wanted = (rlim_t)(need->connections + need->other_descriptors);
        if (limit.rlim_cur < wanted && limit.rlim_cur < limit.rlim_max) {
            limit.rlim_cur = wanted < limit.rlim_max ? wanted : limit.rlim_max;
            if (setrlimit(RLIMIT_NOFILE, &limit) != 0)
                getrlimit(RLIMIT_NOFILE, &limit);
        }
        if (limit.rlim_cur != RLIM_INFINITY)
            limits.descriptors = (int64_t)limit.rlim_cur;
    }
    return http_need_check(need, &limits, arena);
}
