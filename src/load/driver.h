/* What carries a program's I/O steps out: PostgreSQL, nothing at all (null), or a simulated server. The engine (worker.c)
 * knows only this interface; one driver instance belongs to one worker thread.
 *
 * Every driver brings its own clock, so that the simulated one runs in virtual time: nothing in the engine reads the time
 * elsewhere. */
#ifndef PL_LOAD_DRIVER_H
#define PL_LOAD_DRIVER_H

#include <stdint.h>

#include "base/err.h"
#include "script/program.h"

enum driver_outcome { DRIVER_OK, DRIVER_ERROR, DRIVER_LOST }; /* LOST: the client's connection is gone */

struct driver_done {
    uint32_t client;         /* index within the worker */
    enum driver_outcome outcome;
    int64_t done_ns;
    char code[8];            /* SQLSTATE or errno name when outcome is not OK */
    const char *text;        /* static or valid until the next wait; NULL when outcome is OK */
};

struct driver;

struct driver_ops {
    const char *name;        /* "pg", "null", "sim" */
    const char *(*event_loop)(void);

    /* Control plane, in the worker's thread: opens everything for `clients` clients of the programs. vars[c] is client c's
     * variables. After it returns nothing allocates. */
    enum pl_code (*open)(struct driver *driver, int clients, struct pl_err *err);
    void (*close)(struct driver *driver);

    int64_t (*now)(struct driver *driver);

    /* Starts an I/O step of client c. Returns the moment it was sent (>= the time of the call's start). Its end is
     * reported by wait, also when sending failed. At most one step of a client is under way. */
    int64_t (*submit)(struct driver *driver, uint32_t client, const struct program *program, const struct step *step,
                      const struct value *vars);

    /* Waits until a step ends or until_ns; returns how many `done` were filled. */
    int (*wait)(struct driver *driver, int64_t until_ns, struct driver_done *done, int capacity);

    /* Before the clients' next operation after an error: brings the connection back to idle (PostgreSQL: ROLLBACK when in a
     * transaction). Returns true when that takes an I/O of its own, whose end wait reports. NULL: never needed. */
    bool (*recover)(struct driver *driver, uint32_t client);
};

struct driver {
    const struct driver_ops *ops;
};

#endif
