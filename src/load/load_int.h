/* What the files of this room share: the shape of a load (which programs, where their cells and variables lie) and the
 * drivers' constructors. */
#ifndef PL_LOAD_LOAD_INT_H
#define PL_LOAD_LOAD_INT_H

#include <stddef.h>
#include <stdint.h>

#include "load/driver.h"
#include "load/load.h"

/* Computed once by load_new, read by everybody. */
struct load_shape {
    const struct load_script *scripts;
    int script_count;
    int64_t weight_sum;
    size_t *first_cell; /* of each script: its whole operation, then its I/O steps in order */
    size_t cell_count;
    size_t *first_variable; /* of each script, in a client's block of values */
    size_t variable_count;
};

/* Which script has this share: 0 <= draw < weight_sum. */
static inline int load_shape_script(const struct load_shape *shape, int64_t draw)
{
    int script = 0;
    while (draw >= shape->scripts[script].weight)
        draw -= shape->scripts[script++].weight;
    return script;
}

/* count * size zeroed bytes on a cache line of their own; pl_free. Fatal when there is no memory. */
void *load_aligned(size_t count, size_t size);

struct driver_setup {
    const struct load_spec *spec;
    int worker, workers;
    const volatile int *stop; /* non-zero: give up opening */
};

struct driver *driver_null_new(const struct driver_setup *setup);
struct driver *driver_sim_new(const struct driver_setup *setup);
struct driver *driver_pg_new(const struct driver_setup *setup);

#endif
