/* What carries a program's I/O steps out: PostgreSQL, nothing at all (null), or a simulated server. The engine (worker.c)
 * knows only this interface; one driver instance belongs to one worker thread.
 *
 * Every driver brings its own clock, so that the simulated one runs in virtual time: nothing in the engine reads the time
 * elsewhere. */
#ifndef PL_LOAD_DRIVER_H
#define PL_LOAD_DRIVER_H

#include <stdbool.h>
#include <stdint.h>

#include "base/err.h"
#include "script/program.h"

enum driver_outcome { DRIVER_OK, DRIVER_ERROR, DRIVER_LOST }; /* LOST: the client's connection is gone */

enum { DRIVER_CODE_BYTES = 16 };

struct driver_done {
    uint32_t client; /* index within the worker */
    enum driver_outcome outcome;
    int64_t done_ns; /* never smaller than in what was reported before */
    /* When outcome is not OK: a SQLSTATE ("40001"), an errno name ("ECONNRESET"), or one of the driver's own words:
     * "CLOSED" (the server closed the connection without a reason), "TLS", "PROTO" (bytes that are not the protocol),
     * "COPY". */
    char code[DRIVER_CODE_BYTES];
    const char *text; /* static or valid until the next wait; NULL when outcome is OK */
};

struct driver;

struct driver_ops {
    const char *name;  /* "pg", "null", "sim" */
    bool virtual_time; /* `now` follows the events, not the world: the worker may wait for the conductor, never for the
                          clock */
    const char *(*event_loop)(void);

    /* Control plane, in the worker's thread: opens everything for `clients` clients of the programs. After it returns
     * nothing allocates until close. */
    enum pl_code (*open)(struct driver *driver, int clients, struct pl_err *err);

    /* Control plane: closes whatever is open, also after a failed open, and frees the driver. */
    void (*close)(struct driver *driver);

    /* The trial's clock starts at start_ns: a virtual clock is set to it. NULL: not needed. */
    void (*start)(struct driver *driver, int64_t start_ns);

    int64_t (*now)(struct driver *driver);

    /* Starts an I/O step of client c. Returns the moment it was sent (>= the time of the call's start). Its end is
     * reported by wait, also when sending failed. At most one step of a client is under way, and program, step and vars
     * stay as they are until it ends. */
    int64_t (*submit)(struct driver *driver, uint32_t client, const struct program *program, const struct step *step,
                      const struct value *vars);

    /* Waits until a step ends or until_ns; returns how many `done` were filled. 0 may also come early. A client without a
     * step under way may be reported as LOST, once, and then alone: the worker must not have started it meanwhile. */
    int (*wait)(struct driver *driver, int64_t until_ns, struct driver_done *done, int capacity);

    /* Between two operations of a client: true when its connection is in a transaction, which is being rolled back; wait
     * reports the end of that. NULL: never needed. */
    bool (*recover)(struct driver *driver, uint32_t client);
};

struct driver {
    const struct driver_ops *ops;
};

#endif
