/* Private to the PostgreSQL driver: what its files share.
 *
 *     drv_pg.c          the life of a client between the worker's calls and the loop's events
 *     drv_pg_request.c  what is sent: SQL in three protocols, pipelines
 *     drv_pg_receive.c  what comes back, byte by byte
 *     drv_pg_rows.c     the rows that \gset and \aset ask for
 *     drv_pg_open.c     connections: all at once before a trial, or one for each operation */
#ifndef PL_LOAD_DRV_PG_INT_H
#define PL_LOAD_DRV_PG_INT_H

#include <stdalign.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <libpq-fe.h>

#include "load/load_int.h"
#include "wire/io.h"
#include "wire/loop.h"
#include "wire/pgconn.h"
#include "wire/pgmsg.h"
#include "wire/ring.h"

enum {
    PG_READ_BYTES = 32 * 1024,
    PG_CARRY_BYTES = 1536, /* a longer ErrorResponse is cut short */
    PG_TEXT_BYTES = LOAD_NOTICE_TEXT_BYTES,
    PG_EVENTS = 64,
    PG_NAME_BYTES = 16
};

/* Each but CLOSED, CONNECTING and IDLE has a step (or a ROLLBACK) under way, which ends with ReadyForQuery. */
enum pg_state {
    PG_CLOSED,     /* there is no connection: nothing is sent or read */
    PG_CONNECTING, /* connect_each: libpq is opening it, the socket is libpq's */
    PG_IDLE,       /* the server waits for us */
    PG_PARSE,      /* preparing a statement, before the trial */
    PG_STEP,       /* a step's request was sent, or part of it */
    PG_PIPELINE,   /* all that was queued, and the last Sync; ends when every Sync has been answered */
    PG_COPY_FAIL,  /* the step turned out to be a COPY FROM STDIN, which the server is being told to give up */
    PG_ROLLBACK,   /* ROLLBACK in place of a step */
    PG_REFUSED,    /* a step that was not sent: its end stands among the told */
    PG_STATE_COUNT
};

/* One I/O step of one program. */
struct pg_statement {
    const struct step *step;
    const struct program *program;
    uint32_t index;
    bool is_plain; /* SQL that is sent as it is and whose rows nobody reads */
    char name[PG_NAME_BYTES];
    uint8_t *fixed; /* the whole request when nothing in it varies */
    size_t fixed_length;
};

/* Why a step, or a connection, ended badly. */
struct pg_fault {
    char code[DRIVER_CODE_BYTES];
    bool is_script_fault;
    const struct step *step; /* of a pipeline */
};

/* One cache line but for what is rarely needed. */
struct pg_client {
    alignas(64) struct wire_socket socket;
    const struct pg_statement *statement; /* of the request under way */
    const struct value *vars;
    uint32_t sent, length; /* of the request */
    uint32_t skip;         /* bytes of the current body still to be thrown away, or gathered */
    uint16_t carry_length;
    uint8_t state;
    char transaction; /* as the last ReadyForQuery said */
    bool watches_write;
    bool is_answered; /* something came that may stand before ReadyForQuery */
    bool is_faulty;   /* `fault` and the text say why */
    bool is_broken;   /* a write failed: it is among the told */
    bool is_again;    /* it is in driver_pg.again */
    bool sends_parse; /* is_lazy: the request prepares the statement, too */
    bool wants_rows;  /* \gset or \aset: rows are read, not skipped */
    bool gathers;     /* what `skip` counts goes into the client's pg_rows */
    int write_errno;
    struct pg_fault fault;
};
_Static_assert(offsetof(struct pg_client, write_errno) <= 64, "what every step touches is one cache line");

/* connect_each: those being opened stand in a list, the one that began first at its head. */
struct pg_opening {
    int64_t start_ns;
    int previous, next; /* -1: none */
    bool is_waiting;    /* for room in the accept queue: there is no connection yet */
};

struct pg_assignment {
    int variable;
    bool is_null;
    size_t at, length; /* in pg_rows.texts */
};

/* What a client reads of its rows. All of it grows when it must, and stays. */
struct pg_rows {
    uint8_t *message; /* one RowDescription or DataRow that comes in pieces */
    size_t message_length, message_capacity;
    int *variables; /* one for each column of the result at hand; -1: nobody wants it */
    size_t column_count, column_capacity;
    struct pg_assignment *assignments; /* to be made when the request has succeeded */
    size_t assignment_count, assignment_capacity;
    char *texts;
    size_t texts_length, texts_capacity;
    size_t first_assignment, first_text; /* of the result at hand */
    int64_t row_count;                   /* of the result at hand */
    int64_t ended_row_count;             /* of the last result that ended */
    bool is_described;                   /* the result at hand has a RowDescription */
    char *name;                          /* prefix and column, while it is looked up */
    size_t name_capacity;
    bool is_wrong_name; /* one of the result's names cannot be a variable's: */
    char wrong_name[64];
};

struct pg_queued {
    const struct pg_statement *statement; /* NULL: Sync */
    bool sends_parse;
};

struct pg_pipeline {
    struct pgmsg_out out; /* grows */
    struct pg_queued *queue;
    size_t count, capacity;
    size_t next;              /* the first that has not been answered */
    const char *refused_code; /* something that cannot be sent was queued: nothing of it will be */
    const char *refused_text;
    const struct step *refused_step;
};

struct driver_pg {
    struct driver base;
    struct driver_setup setup;
    struct loop loop;
    bool has_loop;
    struct wire_ring ring; /* requests of this turn, sent together before the next wait */
    bool is_lazy;          /* commands are prepared when they first run */
    int count;
    PGconn **conns;
    struct pg_client *clients;
    uint8_t *carries;   /* PG_CARRY_BYTES each */
    char *texts;        /* PG_TEXT_BYTES each: what was wrong */
    uint64_t *prepared; /* is_lazy: prepared_words for each client, a bit for each statement */
    size_t prepared_words;
    struct pg_rows *rows;                             /* one a client; NULL: no program has a \gset or \aset */
    struct pg_pipeline *pipelines;                    /* one a client; NULL: no program has a pipeline */
    struct pg_opening *openings;                      /* one a client; NULL: not connect_each */
    int opening_first, opening_last, opening_waiting; /* waiting: how many of them are */
    int64_t retry_ns;                                 /* when those that wait are tried again */
    char *hostaddr;                                   /* connect_each: where the host name led; may be NULL */
    uint32_t *told;                                   /* clients with something to report that no socket will tell */
    uint32_t *again;                                  /* clients with decrypted bytes left, whose turn was over */
    int told_count, again_count;
    bool was_again;    /* the events at hand are those of `again` */
    bool ended_faulty; /* of the step whose end is being reported */
    struct pg_fault ended;
    char ended_text[PG_TEXT_BYTES];
    struct pg_statement *statements; /* of all programs, in order */
    size_t statement_count;
    size_t *first_statement;           /* of each script */
    size_t longest_bytes;              /* of any request, all its messages, but for texts of variables */
    struct pgmsg_out out;              /* the request that is being built; grows for longer texts */
    const struct pg_client *out_owner; /* whose request it holds */
    uint8_t *in;                       /* PG_READ_BYTES + PG_CARRY_BYTES */
    struct loop_event events[PG_EVENTS];
    int event_count, event_next;
};

static inline struct driver_pg *driver_pg_of(struct driver *driver)
{
    return (struct driver_pg *)driver;
}

static inline uint32_t driver_pg_index(const struct driver_pg *pg, const struct pg_client *client)
{
    return (uint32_t)(client - pg->clients);
}

static inline char *driver_pg_text(const struct driver_pg *pg, const struct pg_client *client)
{
    return pg->texts + (size_t)driver_pg_index(pg, client) * PG_TEXT_BYTES;
}

/* Returns memory for at least `need` items, with the first `count` as they were in `old`, which is freed. */
void *driver_pg_grow(void *old, size_t count, size_t need, size_t item_size, size_t *capacity);

/* ---- drv_pg.c ---- */

/* The first thing that went wrong in a step explains it. */
void driver_pg_fault(struct driver_pg *pg, struct pg_client *client, const char *code, const char *text);
void driver_pg_fault_script(struct driver_pg *pg, struct pg_client *client, const char *code, const char *text);

/* The next wait reports the client, which has a fault: a broken connection, or a connection that could not be opened. */
void driver_pg_tell(struct driver_pg *pg, struct pg_client *client);

/* Watches the socket for what the client waits for. */
void driver_pg_watch(struct driver_pg *pg, struct pg_client *client);

/* Writes what is left of the request. */
void driver_pg_send(struct driver_pg *pg, struct pg_client *client, const uint8_t *request);

/* Forgets what is known of the client's requests and events, and ends its connection if there is one. */
void driver_pg_close(struct driver_pg *pg, struct pg_client *client);

/* Fills `done` for a client whose connection is gone, and closes it. */
void driver_pg_lost(struct driver_pg *pg, struct pg_client *client, struct driver_done *done);

int driver_pg_wait(struct driver *driver, int64_t until_ns, struct driver_done *done, int capacity);

/* ---- drv_pg_request.c ---- */

extern const char driver_pg_too_long[]; /* with the code 54000 */
extern const char driver_pg_no_copy[];  /* with the code COPY */

void driver_pg_statements_init(struct driver_pg *pg);
void driver_pg_statements_release(struct driver_pg *pg);

static inline const struct pg_statement *driver_pg_statement(const struct driver_pg *pg, const struct program *program,
                                                             const struct step *step)
{
    const struct load_script *scripts = pg->setup.spec->scripts;
    int script = 0;
    while (scripts[script].program != program)
        script++;
    return &pg->statements[pg->first_statement[script] + (size_t)step->io_index];
}

/* Why the step cannot be sent as it is; the static text of it, NULL when it can. */
const char *driver_pg_refusal(const struct driver_pg *pg, const struct step *step, bool in_pipeline, const char **ret_code);

/* Begins a request: what it is follows from the state. */
static inline void driver_pg_start(struct pg_client *client, enum pg_state state)
{
    client->state = (uint8_t)state;
    client->sent = 0;
    client->is_answered = client->sends_parse = client->wants_rows = false;
    client->is_faulty = client->is_faulty && client->is_broken; /* what broke it is still to be reported */
}

/* The request of what the client is doing, the same whenever it is built again: the bytes stand until the next call. NULL:
 * values make it longer than a message may be, which is only said before anything of it was sent. */
const uint8_t *driver_pg_request(struct driver_pg *pg, struct pg_client *client);

void driver_pg_queue(struct driver *driver, uint32_t index, const struct program *program, const struct step *step,
                     const struct value *vars);
void driver_pg_pipeline_end(struct pg_pipeline *pipeline);   /* adds the last Sync */
void driver_pg_pipeline_reset(struct pg_pipeline *pipeline); /* nothing is queued */

/* What the server answers now is a COPY FROM STDIN. Adds what makes it give up; false when more commands follow, which
 * would make it end the connection. */
bool driver_pg_pipeline_fail_copy(struct pg_pipeline *pipeline);

static inline bool driver_pg_is_prepared(const struct driver_pg *pg, const struct pg_client *client,
                                         const struct pg_statement *statement)
{
    const uint64_t *words = pg->prepared + driver_pg_index(pg, client) * pg->prepared_words;
    return (words[statement->index / 64] >> statement->index % 64 & 1) != 0;
}

/* ---- drv_pg_receive.c ---- */

enum pg_progress { PG_MORE, PG_READY, PG_LOST };

/* Goes through `length` bytes at `bytes`; what has to be seen again together with what follows it goes into the carry. */
enum pg_progress driver_pg_bytes(struct driver_pg *pg, struct pg_client *client, uint8_t *bytes, size_t length);

/* Reads what the socket has. LOST: the fault says why. */
enum pg_progress driver_pg_receive(struct driver_pg *pg, struct pg_client *client);

/* ---- drv_pg_rows.c ---- */

void driver_pg_rows_begin(struct pg_rows *rows);
void driver_pg_rows_release(struct pg_rows *rows);

/* A RowDescription or DataRow of which only a part has come: takes that. */
void driver_pg_rows_gather(struct pg_rows *rows, const uint8_t *bytes, size_t length);

/* RowDescription, DataRow, and the end of a result. false: malformed. */
bool driver_pg_rows_describe(struct driver_pg *pg, struct pg_client *client, const struct pgmsg *msg);
bool driver_pg_rows_row(struct driver_pg *pg, struct pg_client *client, const struct pgmsg *msg);
void driver_pg_rows_result(struct driver_pg *pg, struct pg_client *client);

/* The request has succeeded: sets the variables, or the fault when they cannot be. */
void driver_pg_rows_end(struct driver_pg *pg, struct pg_client *client);

/* ---- drv_pg_open.c ---- */

/* All memory that `count` clients need as long as their values and rows are not longer than usual. */
void driver_pg_take_memory(struct driver_pg *pg, size_t count);

PL_MUST_CHECK enum pl_code driver_pg_open(struct driver *driver, int clients, struct pl_err *err);

void driver_pg_connect(struct driver *driver, uint32_t index);

/* The socket of a client that is being opened is ready. true: `done` was filled. */
bool driver_pg_opening_advance(struct driver_pg *pg, struct pg_client *client, struct driver_done *done);

/* The client is not being opened any more. */
void driver_pg_opening_leave(struct driver_pg *pg, struct pg_client *client);

/* Tries again those that wait, and reports one whose time is over: true when `done` was filled. *until_ns: when to look
 * again at the latest, made earlier if need be. Only while something is being opened. */
bool driver_pg_opening_look(struct driver_pg *pg, int64_t *until_ns, struct driver_done *done);

#endif
