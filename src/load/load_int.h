/* What the files of this room share: the shape of a load (which programs, where their cells and variables lie), texts of
 * variables, and the drivers' constructors. */
#ifndef PL_LOAD_LOAD_INT_H
#define PL_LOAD_LOAD_INT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "load/driver.h"
#include "load/load.h"

/* Which steps have a cell of their own. */
enum load_steps { LOAD_STEPS_IO, LOAD_STEPS_EVERY, LOAD_STEPS_NONE };

/* What is recorded together: operations of one script, of one group of tenants (without tenants there is one group). Lane
 * script * group_count + group. */
struct load_lane {
    const struct program *program;
    size_t first_cell; /* its whole operation, then its steps in order */
    int script, group;
};

/* Computed once by load_new, read by everybody. */
struct load_shape {
    const struct load_script *scripts;
    int script_count;
    int64_t weight_sum;
    const struct feed *tenants; /* NULL: none */
    int group_count;            /* at least 1 */
    const double *group_ends;   /* [group_count]: sums of the groups' weights up to and with each */
    enum load_steps steps;
    const struct load_lane *lanes;
    int lane_count;
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

/* Which group of tenants has this share: 0 <= draw < 1. */
int load_shape_group(const struct load_shape *shape, double draw);

/* How many steps of a lane have cells, and which of them is this one's: slice.step, or -1 when it has none. */
static inline size_t load_shape_steps(const struct load_shape *shape, int lane)
{
    const struct program *program = shape->lanes[lane].program;
    return shape->steps == LOAD_STEPS_IO      ? program->io_step_count
           : shape->steps == LOAD_STEPS_EVERY ? program->command_count
                                              : 0;
}

static inline int load_shape_step(const struct load_shape *shape, const struct step *step)
{
    return shape->steps == LOAD_STEPS_IO ? step->io_index : shape->steps == LOAD_STEPS_EVERY ? step->number : -1;
}

/* ---- load_spec.c ---- */

PL_MUST_CHECK enum pl_code load_spec_check(const struct load_spec *spec, struct pl_err *err);
/* What only spec->driver asks for, of a spec that is otherwise right. */
PL_MUST_CHECK enum pl_code load_driver_check(const struct load_spec *spec, struct pl_err *err);
/* With the defaults filled in. Everything that may live shorter than the load is copied into the arena. */
void load_spec_copy(const struct load_spec *spec, struct pl_arena *arena, struct load_spec *ret_copy);
void load_shape_init(struct load_shape *shape, const struct load_spec *spec, struct pl_arena *arena);

/* count * size zeroed bytes on a cache line of their own; pl_free. Fatal when there is no memory. */
void *load_aligned(size_t count, size_t size);

/* ---- texts of variables ---- */

/* Where \gset, \aset and \setshell put texts, and answers to requests. Each client has, for each variable that such a
 * step may set, two buffers, so that the values of the beginning of an operation stay readable for a retry while the
 * operation sets new ones. Grows when a text is longer than any before it, which is the one place where a worker may take
 * memory while it measures. Worker thread only. */
struct capture_slot {
    char *data[2];
    size_t capacity[2];
};

struct capture {
    struct capture_slot *slots; /* [client][variable] */
    size_t slot_count, variable_count;
    struct value *vars;  /* [client][variable]: the current values */
    struct value *saved; /* [client][variable]: as they were when the operation began; NULL when nothing is retried */
};

void capture_init(struct capture *capture, size_t clients, size_t variable_count, struct value *vars, struct value *saved);
void capture_release(struct capture *capture);

/* Sets a variable of a client to a copy of a text (no NUL inside, need not end in one); NULL: to SQL NULL. */
void capture_set(struct capture *capture, uint32_t client, int variable, const char *text, size_t length);
/* The same as a step_scene's set_text. */
void capture_set_text(void *capture, uint32_t client, int variable, const char *text, size_t length);

/* ---- drivers ---- */

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
