/* What carries a program's I/O steps out: PostgreSQL, HTTP, nothing at all (null), or a simulated server. The engine
 * (worker.c) knows only this interface; one driver instance belongs to one worker thread.
 *
 * Every driver brings its own clock, so that the simulated one runs in virtual time: nothing in the engine reads the time
 * elsewhere. */
#ifndef PL_LOAD_DRIVER_H
#define PL_LOAD_DRIVER_H

#include <stdbool.h>
#include <stdint.h>

#include "base/err.h"
#include "script/program.h"

/* LOST: the client's connection is gone, and with it the client. EXPIRED: the step had a time limit and no answer came. */
enum driver_outcome { DRIVER_OK, DRIVER_ERROR, DRIVER_LOST, DRIVER_EXPIRED };

enum { DRIVER_CODE_BYTES = 40 };

struct driver_done {
    uint32_t client; /* index within the worker */
    enum driver_outcome outcome;
    bool is_script_fault;          /* outcome ERROR: not the server's doing but the script's: a COPY, \gset without a row */
    const struct step *fault_step; /* outcome ERROR at the end of a pipeline: the queued step that failed, as far as it is
                                      known; else NULL */
    int64_t done_ns;               /* never smaller than in what was reported before */
    int64_t sent_ns; /* when the step's first byte was sent, where submit could not know it (it had to wait for a
                        connection); 0: as submit said; -1: nothing was sent */
    /* When outcome is not OK: a SQLSTATE ("40001"), an errno name ("ECONNRESET"), or one of the driver's own words:
     * "CLOSED" (the server closed the connection without a reason), "TLS", "PROTO" (bytes that are not the protocol),
     * "COPY", "ROWS" (\gset got another number of rows than one), "QUOTES" (a variable inside quotes, and not the simple
     * protocol), "NAME" (a column of \gset or \aset gives a name that no variable may have), "PIPELINE" (a pipeline in the
     * simple protocol, or a \gset or \aset inside of one). Or two SQLSTATEs that the driver itself gives: 08001 (no
     * connection, and nobody said why in a way that could be told apart), 54000 (values make a command too long). Of HTTP:
     * "connect:ECONNREFUSED" and the like (struct http_end), "check:STATUS" and the like (struct hurl_fault), "SCRIPT". */
    char code[DRIVER_CODE_BYTES];
    const char *text; /* static or valid until the next wait; NULL when outcome is OK */
};

struct driver;
struct load_http_result; /* load.h */

struct driver_ops {
    const char *name;  /* "pg", "null", "sim" */
    bool virtual_time; /* `now` follows the events, not the world: the worker may wait for the conductor, never for the
                          clock */
    const char *(*event_loop)(const struct driver *driver); /* static; after open */

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

    /* Inside a pipeline: keeps a SQL step or STEP_SYNC_PIPELINE until the STEP_END_PIPELINE that is submitted later sends
     * everything (large pipelines may be sent earlier). The values are taken now: vars may change afterwards. Nothing is
     * reported. NULL when the driver has no pipelines: the worker submits each step then. */
    void (*queue)(struct driver *driver, uint32_t client, const struct program *program, const struct step *step,
                  const struct value *vars);

    /* connect_each: begins to open the client's connection; wait reports the end (OK; LOST: it could not, the client
     * stays closed and may try again). NULL: connecting takes no time. */
    void (*connect)(struct driver *driver, uint32_t client);

    /* Closes the client's connection, at once and without a report; what was queued is forgotten. The client is as one that
     * was LOST, except that with connect_each it may be opened again. NULL: nothing to close. */
    void (*disconnect)(struct driver *driver, uint32_t client);

    /* Is the client's connection inside a transaction? Only between two steps. NULL: never. */
    bool (*in_transaction)(struct driver *driver, uint32_t client);

    /* Between two operations of a client: true when its connection is in a transaction, which is being rolled back; wait
     * reports the end of that. NULL: never needed. */
    bool (*recover)(struct driver *driver, uint32_t client);

    /* A new user takes the client's place: cookies and the connection of the one before are not his. Between two
     * operations. NULL: nothing to forget. */
    void (*forget)(struct driver *driver, uint32_t client);

    /* The measured window begins: what is counted from now on is its. NULL: nothing is counted. */
    void (*measure)(struct driver *driver);

    /* After the run, before close: what the driver itself has counted. NULL: nothing. */
    void (*gather)(struct driver *driver, struct load_http_result *into);
};

struct driver {
    const struct driver_ops *ops;
};

#endif
