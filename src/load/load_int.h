/* What the files of this room share: the shape of a load (which programs, where their cells and variables lie), a heap of
 * times, and the drivers' constructors. */
#ifndef PL_LOAD_LOAD_INT_H
#define PL_LOAD_LOAD_INT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "load/driver.h"
#include "load/load.h"

/* Which steps have a cell of their own. */
enum load_steps { LOAD_STEPS_IO, LOAD_STEPS_EVERY, LOAD_STEPS_NONE };

/* Computed once by load_new, read by everybody. */
struct load_shape {
    const struct load_script *scripts;
    int script_count;
    int64_t weight_sum;
    enum load_steps steps;
    size_t *first_cell; /* of each script: its whole operation, then its steps in order */
    size_t cell_count;
    size_t variable_count;
    const struct value *initial; /* [variable_count]: every client's variables before its first operation */
    int client_id;               /* the variable that holds the client's number; -1: none does */
};

/* Which script has this share: 0 <= draw < weight_sum. */
static inline int load_shape_script(const struct load_shape *shape, int64_t draw)
{
    int script = 0;
    while (draw >= shape->scripts[script].weight)
        draw -= shape->scripts[script++].weight;
    return script;
}

/* How many steps of a script have cells, and which of them is this one's: slice.step, or -1 when it has none. */
static inline size_t load_shape_steps(const struct load_shape *shape, int script)
{
    const struct program *program = shape->scripts[script].program;
    return shape->steps == LOAD_STEPS_IO      ? program->io_step_count
           : shape->steps == LOAD_STEPS_EVERY ? program->command_count
                                              : 0;
}

static inline int load_shape_step(const struct load_shape *shape, const struct step *step)
{
    return shape->steps == LOAD_STEPS_IO ? step->io_index : shape->steps == LOAD_STEPS_EVERY ? step->number : -1;
}

/* count * size zeroed bytes on a cache line of their own; pl_free. Fatal when there is no memory. */
void *load_aligned(size_t count, size_t size);

/* Clients by the time at which something is due for them, the earliest first; of two at the same time the one that was put
 * in first. Each push and pop costs O(log n). */
struct load_wake {
    int64_t at_ns;
    uint64_t order;
    uint32_t client;
};
struct load_wakes {
    struct load_wake *heap;
    size_t count;
    uint64_t pushed;
};
void load_wakes_init(struct load_wakes *wakes, size_t capacity);
void load_wakes_release(struct load_wakes *wakes);
void load_wakes_push(struct load_wakes *wakes, uint32_t client, int64_t at_ns); /* there is room */
struct load_wake load_wakes_pop(struct load_wakes *wakes);                      /* there is one */
void load_wakes_remove(struct load_wakes *wakes, uint32_t client);              /* O(n); it may be in once or not at all */
static inline int64_t load_wakes_next_ns(const struct load_wakes *wakes)
{
    return wakes->count == 0 ? INT64_MAX : wakes->heap[0].at_ns;
}

struct capture; /* capture_int.h */

struct driver_setup {
    const struct load_spec *spec;
    int worker, workers;
    struct capture *capture;   /* where \gset and \aset put what they read; may be NULL when no program has any */
    const volatile int *stop;  /* non-zero: give up opening */
    const uint32_t *tenant_of; /* [clients]: row of spec->tenants of the operation under way; NULL without tenants */
};

struct driver *driver_null_new(const struct driver_setup *setup);
struct driver *driver_sim_new(const struct driver_setup *setup);
struct driver *driver_pg_new(const struct driver_setup *setup);
struct driver *driver_http_new(const struct driver_setup *setup);

/* load_new with drivers of the caller's making: spec->driver counts for nothing. */
typedef struct driver *load_driver_new(const struct driver_setup *setup);
PL_MUST_CHECK enum pl_code load_new_with(const struct load_spec *spec, load_driver_new *driver_new, struct load **ret_load,
                                         struct pl_err *err);

#endif
