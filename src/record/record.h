/* The data dictionary: every thing that a study observes, as plain structs. load, sense, service, hardware, store, model
 * and page meet here and nowhere else.
 *
 * Conventions: strings are never NULL unless said; ids are positive, 0 = none; t_ns are CLOCK_MONOTONIC of the measuring
 * host; unix_ns is wall-clock. Strings in a record that is pushed into a sink are borrowed for the call only. */
#ifndef PL_RECORD_RECORD_H
#define PL_RECORD_RECORD_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "stats/hist.h"

/* A fact about what was measured or with what: CPU model, server version, a setting. */
struct fact {
    const char *scope; /* "host", "tool", "plan", or a service's name */
    const char *name;  /* "cpu_model", "setting.shared_buffers" */
    const char *value; /* as text */
    const char *unit;  /* "" when it has none */
    const char *how;   /* where it was read: "/proc/cpuinfo", "SHOW ALL" */
};

struct param {
    const char *name, *value;
};

struct stage_row {
    int64_t id;
    const char *kind;           /* "clients" */
    const char *name;           /* unique in the study; the kind unless the plan names it */
    const char *question;       /* one sentence for the page */
    const struct param *params; /* as the plan states them, defaults filled in, values as canonical text */
    size_t param_count;
};

struct case_row {
    int64_t id, stage_id;
    int ordinal;                /* position in the stage's matrix, from 0 */
    const char *label;          /* "script=tpcb-like clients=16"; "" for a stage without `over:` */
    const struct param *params; /* only the varied ones */
    size_t param_count;
};

enum phase { PHASE_START, PHASE_SETTLE, PHASE_WARM_UP, PHASE_MEASURE, PHASE_DRAIN, PHASE_AFTER, PHASE_COUNT };
const char *phase_name(enum phase phase);

enum trial_state {
    TRIAL_DONE,        /* figures may use it */
    TRIAL_FAILED,      /* the service or the load failed in it: kept, shown, not used */
    TRIAL_VOID,        /* the load generator itself did not get to run for a part of the window: kept, shown, not used */
    TRIAL_INTERRUPTED, /* the user stopped it */
    TRIAL_STATE_COUNT
};
const char *trial_state_name(enum trial_state state);

struct trial_row {
    int64_t id, case_id;
    int iteration; /* from 0 */
    int ordinal;   /* order of execution in the study, from 0 */
    int attempt;   /* 0, or how often this iteration was tried before */
    enum trial_state state;
    const char *why; /* a sentence; of a trial that is done "", or why it is marked: the schedule was not kept, or the
                        client was the limit. Figures show it then, fits do not use it */
    uint64_t seed;
    int64_t started_unix_ns;
    /* the clock of the trial, monotonic; 0 when it did not come so far */
    int64_t connect_start_ns, connect_end_ns; /* all clients connected and prepared */
    int64_t warm_up_start_ns, measure_start_ns, measure_end_ns, drain_end_ns;
    int clients, clients_lost, workers;
    const char *event_loop; /* "epoll", "epoll, sends by io_uring", "" when the trial had no load */
};

/* due = completed + failed + skipped + expired + unfinished, for every script and in total, at the end of a trial.
 * In one slice it need not balance: operations that are due in one slice end in a later one. */
struct ledger {
    int64_t due;
    int64_t completed;
    int64_t failed;     /* the server answered with an error, or the connection broke */
    int64_t skipped;    /* never sent on purpose: a latency limit had passed */
    int64_t expired;    /* sent, no answer within the time limit */
    int64_t unfinished; /* not ended when the drain ended; never_started of them were not even sent */
    int64_t never_started;
};
void ledger_add(struct ledger *into, const struct ledger *from);
/* False also when a count is negative, when never_started > unfinished, or when the sum leaves int64. */
bool ledger_balances(const struct ledger *ledger);

/* What became of operations beyond the ledger's columns; counted in the slice in which the operation ended. */
struct attempts {
    int64_t retried;                 /* operations that took more than one try, however they ended */
    int64_t retries;                 /* tries beyond each operation's first */
    int64_t serialization, deadlock; /* of ledger.failed: SQLSTATE 40001, 40P01; the others failed otherwise */
    int64_t above_limit;             /* of ledger.completed: response above the load's latency limit */
};
void attempts_add(struct attempts *into, const struct attempts *from);

/* What the load recorded in one interval. An operation belongs to the phase in which it was DUE (due_in); the slice in
 * which it is counted as completed lies in the phase `during`. So throughput of the measured window is the sum of
 * `completed` over slices with during = MEASURE, and the latencies of the window are the histograms with due_in = MEASURE.
 */
struct slice {
    int64_t trial_id;
    int64_t start_ns, end_ns;
    enum phase during, due_in;
    int script;               /* index into the trial's mix, see case/stage params "script" */
    int step;                 /* -1: the whole operation; else the index among the program's I/O steps */
    int group;                /* of tenants, from 0; 0 when there are none */
    struct ledger ledger;     /* for a step only completed, failed and expired are used */
    struct attempts attempts; /* for a step only retries (tries of the operation that this step ended), serialization and
                                 deadlock */
    const struct hist *response, *service, *lateness; /* ns; steps have only service; NULL = absent */
    /* ns: expired and unfinished operations, as at least this long: from due until it was given up (steps: from sent;
     * expired ones only). NULL = absent: then nothing is known of them but their number. */
    const struct hist *censored;
};

/* Names a script or step index for people. */
struct script_row {
    int64_t case_id;
    int script, step; /* step -1 names the script itself */
    const char *name; /* "tpcb-like"; for a step its text, shortened */
};

/* Names a group of tenants for people. A case whose load has no tenants has none. */
struct group_row {
    int64_t case_id;
    int group;
    const char *name;
    int64_t tenants;    /* how many belong to it */
    double weight_frac; /* its share of the load as asked */
};

/* One operation that has ended, for logs. Pushed only when the load was asked to. */
enum operation_end {
    OPERATION_COMPLETED,
    OPERATION_SKIPPED,
    OPERATION_SERIALIZATION,
    OPERATION_DEADLOCK,
    OPERATION_FAILED,
    OPERATION_EXPIRED
};

struct operation {
    int64_t due_ns, sent_ns, done_ns; /* monotonic; sent_ns 0: nothing was sent; done_ns: when it ended or was skipped */
    int64_t number;                   /* of the client's operations that have ended, from 1 */
    int32_t client;                   /* of the whole load, from 0 */
    int32_t retries;
    int16_t script;
    uint8_t end; /* enum operation_end */
};

enum metric_kind { METRIC_GAUGE, METRIC_COUNTER }; /* a counter only grows; rates are differences of it */

struct metric {
    int64_t id;
    const char *source; /* "host", "tool", "load", or a service's name */
    const char *name;   /* "cpu_ns", "memory_anon_bytes", see docs/study-file.md */
    const char *unit;   /* "ns", "bytes", "count", "1" */
    enum metric_kind kind;
    const char *how; /* the file or view it was read from, "cgroup v1 cpuacct.usage" */
};

struct sample {
    int64_t trial_id;
    int64_t t_ns; /* when the reading ended */
    enum phase phase;
    int64_t metric_id;
    double value; /* integers up to 2^53 are exact */
};

/* What the measured system did wrong. One row per (trial, source, phase, code), counted. */
struct fault {
    int64_t trial_id;
    const char *source; /* "load", or a service's name */
    enum phase phase;
    const char *code; /* SQLSTATE "40001", errno name "ECONNRESET", "EXIT", "SIGKILL" */
    int64_t count;
    int64_t first_ns;
    const char *example; /* text of the first one */
};

enum figure_status { FIGURE_MEASURED, FIGURE_COMPUTED, FIGURE_ASSUMED, FIGURE_ABSENT };
const char *figure_status_name(enum figure_status status);

/* One number of the result. Derived from the rows above by src/model each time a page is written, never stored. */
struct figure {
    int64_t stage_id, case_id; /* case_id 0: of the stage, stage_id 0: of the study */
    const char *name;          /* "tps", "response_p99_ns": unit last where it is a physical one */
    const char *subject;       /* what it is of: "db", "tool", "load", a table's name, "" */
    double value;              /* meaningless when status is FIGURE_ABSENT */
    const char *unit;
    bool has_interval;
    double low, high, confidence;
    int64_t n;     /* values behind it: trials for means, operations for quantiles */
    double stddev; /* over trials; NAN when n < 2 or not a mean over trials */
    enum figure_status status;
    const char *method;    /* how it was obtained, a sentence */
    const char *note;      /* why it is absent, or a warning; "" when none */
    const int64_t *trials; /* ids of the trials it came from */
    size_t trial_count;
};

#endif
