/* Private to src/httpload: options as the engine's spec, and what a load will need. */
#ifndef PL_HTTPLOAD_RUN_INT_H
#define PL_HTTPLOAD_RUN_INT_H

#include "httpload/options_int.h"
#include "load/load.h"

/* One load: rate_per_s 0 is a closed loop. In the arena. */
struct load_spec httpload_spec(const struct httpload_options *options, double rate_per_s, struct pl_arena *arena);

/* Connections, addresses and descriptors of it. */
struct http_need httpload_need(const struct httpload_options *options);

#endif
