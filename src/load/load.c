/* The conducting side: sets the workers up, gathers what they record, and balances the books. */
#include "load/load.h"

#include <assert.h>
#include <errno.h>
#include <math.h>
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/arena.h"
#include "base/clock.h"
#include "base/limits.h"
#include "load/load_int.h"
#include "load/worker_int.h"
#include "wire/pgconn.h"

#include "base/ban.h"

enum {
    MAX_CELLS = 32768, /* of all buffers of all workers; each is up to 1 MB of address space, mostly untouched */
    LOOK_MS = 20
};

/* What a worker thread may do next. */
enum load_gate {
    GATE_CONNECT, /* open its connections, then wait */
    GATE_RUN,     /* the clock was started */
    GATE_CLOSE    /* close and end: not before all have ended, or it would disturb those that still measure */
};

struct load_thread {
    struct load *load;
    struct worker worker;
    pthread_t thread;
    bool is_running;   /* was created and not joined */
    struct pl_err err; /* of opening; read after `reported` */
};

/* The slices of one interval of all workers together, for the live view. */
struct load_picture {
    int64_t start_ns, end_ns;
    int parts; /* workers that are in it */
    int64_t completed;
    struct hist response;
};

struct load {
    struct pl_arena *arena;
    struct load_spec spec; /* a copy, defaults filled in */
    struct load_shape shape;
    struct load_thread *threads;
    int thread_count;
    struct worker_shared shared;
    int give_up; /* as a const volatile int * for those who open connections; atomic access only */

    pthread_mutex_t mutex; /* guards the next four */
    pthread_cond_t changed;
    enum load_gate gate;
    int reported;
    int64_t start_ns;

    bool was_started;
    const char *event_loop;
    int64_t connect_start_ns, connect_end_ns;
    /* what the slices add up to */
    struct ledger (*totals)[2]; /* of each lane: due in warm-up, in the measured window */
    struct attempts attempts[2];
    struct ledger steps; /* of all cells of steps: completed, failed, expired */
    int64_t step_retries, completed_in_window;
    int64_t logged; /* operations taken out of the logs */
    /* what the workers say at the end */
    struct hist connect;
    struct load_self self;
    struct load_http_result http;
    struct load_tenant_count *tenants; /* [rows]; NULL: none */
    struct load_notice *notices;       /* [workers]: the next one of each */
    bool *has_notice;
    struct load_picture picture;
    double glance_per_s;
    int64_t glance_p50_ns, glance_p99_ns;
    int64_t glance_completed, glance_failed;
};

void *load_aligned(size_t count, size_t size)
{
    size_t bytes;
    if (__builtin_mul_overflow(count, size, &bytes) || __builtin_add_overflow(bytes, 63, &bytes))
        pl_panic("%zu items of %zu bytes", count, size);
    bytes &= ~(size_t)63;
    void *memory = aligned_alloc(64, bytes);
    if (memory == NULL)
        pl_panic("no memory: %zu bytes", bytes);
    return memset(memory, 0, bytes);
}

/* ---- new ---- */

static load_driver_new *driver_maker(enum load_driver driver)
{
    switch (driver) {
    case LOAD_PG:
        return driver_pg_new;
    case LOAD_NULL:
        return driver_null_new;
    case LOAD_SIM:
        return driver_sim_new;
    case LOAD_HTTP:
        return driver_http_new;
    }
    pl_panic("no driver %d", (int)driver);
}

static void threads_new(struct load *load, load_driver_new *driver_new)
{
    load->thread_count = load->spec.workers;
    load->threads = load_aligned((size_t)load->thread_count, sizeof *load->threads);
    for (int w = 0; w < load->thread_count; w++) {
        struct worker *worker = &load->threads[w].worker;
        load->threads[w].load = load;
        worker_init(worker, &load->spec, &load->shape, w, load->thread_count, &load->shared);
        struct driver_setup setup = {.spec = &load->spec,
                                     .worker = w,
                                     .workers = load->thread_count,
                                     .capture = worker->has_capture ? &worker->capture : NULL,
                                     .stop = &load->give_up,
                                     .tenant_of = worker->tenant_of};
        worker_take_driver(worker, driver_new(&setup));
    }
    load->event_loop = "";
}

enum pl_code load_new(const struct load_spec *spec, struct load **ret_load, struct pl_err *err)
{
    if (load_spec_check(spec, err) != PL_OK || load_driver_check(spec, err) != PL_OK)
        return err->code;
    return load_new_with(spec, driver_maker(spec->driver), ret_load, err);
}

enum pl_code load_new_with(const struct load_spec *spec, load_driver_new *driver_new, struct load **ret_load,
                           struct pl_err *err)
{
    if (load_spec_check(spec, err) != PL_OK)
        return err->code;
    struct load *load = pl_new(1, sizeof *load);
    load->arena = pl_arena_new();
    load_spec_copy(spec, load->arena, &load->spec);
    load_shape_init(&load->shape, &load->spec, load->arena);
    size_t most = MAX_CELLS / ((size_t)2 * RECORDER_BUFFERS * (size_t)load->spec.workers);
    if (load->shape.cell_count > most) {
        pl_err_set(err, PL_LIMIT, "%zu scripts and commands in all%s are too many for %d workers, which can record %zu",
                   load->shape.cell_count, load->shape.group_count > 1 ? ", of each group of tenants," : "",
                   load->spec.workers, most);
        pl_arena_free(load->arena);
        pl_free(load);
        return err->code;
    }
    load->totals = pl_new((size_t)load->shape.lane_count, sizeof *load->totals);
    hist_init_latency(&load->picture.response);
    hist_init_latency(&load->self.lateness);
    if (spec->driver == LOAD_HTTP) {
        http_stats_init(&load->http.warm_up);
        http_stats_init(&load->http.measured);
    }
    if (spec->tenants != NULL)
        load->tenants = pl_new(spec->tenants->row_count, sizeof *load->tenants);
    pthread_mutex_init(&load->mutex, NULL);
    pthread_condattr_t attributes;
    pthread_condattr_init(&attributes);
    pthread_condattr_setclock(&attributes, CLOCK_MONOTONIC);
    pthread_cond_init(&load->changed, &attributes);
    pthread_condattr_destroy(&attributes);
    atomic_init(&load->shared.stop, 0);
    atomic_init(&load->shared.alive, load->spec.clients);
    atomic_init(&load->shared.quota, load->spec.operations);
    if (spec->connect_each)
        hist_init_latency(&load->connect);
    load->notices = pl_new((size_t)load->spec.workers, sizeof *load->notices);
    load->has_notice = pl_new((size_t)load->spec.workers, sizeof *load->has_notice);
    threads_new(load, driver_new);
    *ret_load = load;
    return PL_OK;
}

/* ---- connect and start ---- */

static void *thread_main(void *argument)
{
    struct load_thread *thread = argument;
    struct load *load = thread->load;
    struct worker *worker = &thread->worker;
    enum pl_code code = worker->driver->ops->open(worker->driver, worker->client_count, &thread->err);
    pthread_mutex_lock(&load->mutex);
    if (code != PL_OK)
        __atomic_store_n(&load->give_up, 1, __ATOMIC_RELAXED);
    load->reported++;
    pthread_cond_broadcast(&load->changed);
    while (load->gate == GATE_CONNECT)
        pthread_cond_wait(&load->changed, &load->mutex);
    bool is_run = load->gate == GATE_RUN;
    int64_t start_ns = load->start_ns;
    pthread_mutex_unlock(&load->mutex);
    if (is_run)
        worker_run(worker, start_ns);
    pthread_mutex_lock(&load->mutex);
    while (load->gate == GATE_RUN)
        pthread_cond_wait(&load->changed, &load->mutex);
    if (is_run && load->spec.driver == LOAD_HTTP && worker->driver->ops->gather != NULL)
        worker->driver->ops->gather(worker->driver, &load->http);
    pthread_mutex_unlock(&load->mutex);
    worker->driver->ops->close(worker->driver);
    return NULL;
}

static void gate_set(struct load *load, enum load_gate gate, int64_t start_ns)
{
    pthread_mutex_lock(&load->mutex);
    load->gate = gate;
    load->start_ns = start_ns;
    pthread_cond_broadcast(&load->changed);
    pthread_mutex_unlock(&load->mutex);
}

static void threads_join(struct load *load)
{
    for (int w = 0; w < load->thread_count; w++)
        if (load->threads[w].is_running) {
            pthread_join(load->threads[w].thread, NULL);
            load->threads[w].is_running = false;
        }
}

static void threads_give_up(struct load *load)
{
    __atomic_store_n(&load->give_up, 1, __ATOMIC_RELAXED);
    atomic_store(&load->shared.stop, RECORDER_ABANDONED);
    gate_set(load, GATE_CLOSE, 0);
    threads_join(load);
}

/* Signals are the conductor's: a worker must not be the thread that takes one. */
static int thread_create(struct load_thread *thread)
{
    sigset_t all, before;
    sigfillset(&all);
    pthread_sigmask(SIG_BLOCK, &all, &before);
    int result = pthread_create(&thread->thread, NULL, thread_main, thread);
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    thread->is_running = result == 0;
    return result;
}

/* Waits until all threads have opened, or one could not; the first failing worker's error is the load's. */
static enum pl_code threads_await(struct load *load, const volatile int *stop, struct pl_err *err)
{
    pthread_mutex_lock(&load->mutex);
    while (load->reported < load->thread_count) {
        int64_t look_ns = pl_clock_ns() + LOOK_MS * PL_NS_PER_MS;
        struct timespec look = {.tv_sec = look_ns / PL_NS_PER_S, .tv_nsec = look_ns % PL_NS_PER_S};
        pthread_cond_timedwait(&load->changed, &load->mutex, &look);
        if (stop != NULL && __atomic_load_n(stop, __ATOMIC_RELAXED) != 0)
            __atomic_store_n(&load->give_up, 1, __ATOMIC_RELAXED);
    }
    pthread_mutex_unlock(&load->mutex);
    /* those that were only told to give up have nothing to say */
    for (int pass = 0; pass < 2; pass++)
        for (int w = 0; w < load->thread_count; w++) {
            const struct pl_err *found = &load->threads[w].err;
            if (err->code == PL_OK && found->code != PL_OK && (pass == 1 || found->code != PL_INTERRUPTED))
                *err = *found;
        }
    if (err->code == PL_OK && __atomic_load_n(&load->give_up, __ATOMIC_RELAXED) != 0)
        pl_err_set(err, PL_INTERRUPTED, "interrupted while connecting");
    return err->code;
}

enum pl_code load_connect(struct load *load, const volatile int *stop, struct pl_err *err)
{
    assert(load->connect_start_ns == 0);
    load->connect_start_ns = pl_clock_ns();
    int connections = load->spec.http == NULL ? 0 : load->spec.http->engine.connections;
    pgconn_descriptors_raise((connections > load->spec.clients ? connections : load->spec.clients) + load->thread_count);
    for (int w = 0; w < load->thread_count; w++) {
        int result = thread_create(&load->threads[w]);
        if (result != 0) {
            for (; w < load->thread_count; w++)
                load->threads[w].worker.driver->ops->close(load->threads[w].worker.driver);
            threads_give_up(load);
            return pl_err_os(err, PL_IO, result, "cannot start a load thread");
        }
    }
    if (threads_await(load, stop, err) != PL_OK) {
        threads_give_up(load);
        return err->code;
    }
    const struct driver *first = load->threads[0].worker.driver;
    load->event_loop = first->ops->event_loop(first);
    load->connect_end_ns = pl_clock_ns();
    return PL_OK;
}

void load_start(struct load *load, int64_t start_ns)
{
    assert(load->connect_end_ns != 0 && !load->was_started);
    load->was_started = true;
    gate_set(load, GATE_RUN, start_ns);
}

void load_stop(struct load *load)
{
    int go_on = 0;
    atomic_compare_exchange_strong(&load->shared.stop, &go_on, 1);
}

void load_abandon(struct load *load)
{
    int before = atomic_load(&load->shared.stop);
    while (before < 2 && !atomic_compare_exchange_weak(&load->shared.stop, &before, 2))
        ;
}

/* ---- gathering ---- */

static void picture_publish(struct load *load)
{
    struct load_picture *picture = &load->picture;
    if (picture->parts == 0)
        return;
    load->glance_per_s = (double)picture->completed * (double)PL_NS_PER_S / (double)(picture->end_ns - picture->start_ns);
    load->glance_p50_ns = hist_quantile(&picture->response, 0.5);
    load->glance_p99_ns = hist_quantile(&picture->response, 0.99);
    hist_clear(&picture->response);
    picture->completed = picture->parts = 0;
}

/* Slices of the workers that end together are looked at together, when all are there or one of a later interval comes. */
static void picture_add(struct load *load, const struct recorder_buffer *buffer)
{
    struct load_picture *picture = &load->picture;
    if (buffer->end_ns == buffer->start_ns) /* nothing can be said per second */
        return;
    if (buffer->end_ns > picture->end_ns) {
        picture_publish(load);
        picture->start_ns = buffer->start_ns;
        picture->end_ns = buffer->end_ns;
    }
    if (buffer->end_ns < picture->end_ns)
        return;
    for (size_t half = 0; half < 2; half++)
        for (int lane = 0; lane < load->shape.lane_count; lane++) {
            size_t index = half * load->shape.cell_count + load->shape.lanes[lane].first_cell;
            const struct recorder_cell *cell = &buffer->cells[index];
            picture->completed += cell->ledger.completed;
            hist_merge(&picture->response, &cell->response);
        }
    if (++picture->parts == load->thread_count)
        picture_publish(load);
}

static bool cell_is_empty(const struct recorder_cell *cell)
{
    const struct ledger *ledger = &cell->ledger;
    const struct attempts *attempts = &cell->attempts;
    return ledger->due == 0 && ledger->completed == 0 && ledger->failed == 0 && ledger->skipped == 0 &&
           ledger->expired == 0 && ledger->unfinished == 0 && attempts->retries == 0;
}

static void totals_add(struct load *load, int lane, const struct slice *slice)
{
    const struct ledger *ledger = &slice->ledger;
    int half = slice->due_in == PHASE_MEASURE;
    if (slice->step >= 0) {
        ledger_add(&load->steps, ledger);
        load->step_retries += slice->attempts.retries;
        return;
    }
    ledger_add(&load->totals[lane][half], ledger);
    attempts_add(&load->attempts[half], &slice->attempts);
    load->glance_completed += ledger->completed;
    load->glance_failed += ledger->failed + ledger->expired;
    if (slice->during == PHASE_MEASURE)
        load->completed_in_window += ledger->completed;
}

/* One cell as a slice. The operations due in the phase of the slice itself are stated even when there were none: an
 * interval in which nothing happened is a fact too. */
static void cell_push(struct load *load, int lane, const struct recorder_buffer *buffer, struct slice *slice,
                      struct sink *sink, struct pl_err *err)
{
    int half = slice->due_in == PHASE_MEASURE;
    size_t index = (size_t)half * load->shape.cell_count + load->shape.lanes[lane].first_cell + (size_t)(slice->step + 1);
    const struct recorder_cell *cell = &buffer->cells[index];
    slice->ledger = cell->ledger;
    slice->attempts = cell->attempts;
    slice->service = &cell->service;
    slice->response = slice->step < 0 ? &cell->response : NULL;
    slice->lateness = slice->step < 0 ? &cell->lateness : NULL;
    slice->censored = &cell->censored;
    totals_add(load, lane, slice);
    bool is_own_phase = slice->due_in == (buffer->during == PHASE_WARM_UP ? PHASE_WARM_UP : PHASE_MEASURE);
    bool is_stated = slice->step < 0 && is_own_phase && buffer->end_ns > buffer->start_ns;
    if (err->code == PL_OK && (is_stated || !cell_is_empty(cell)))
        sink->slice(sink->ctx, slice, err);
}

static void buffer_push(struct load *load, int64_t trial_id, const struct recorder_buffer *buffer, struct sink *sink,
                        struct pl_err *err)
{
    struct slice slice = {
        .trial_id = trial_id, .start_ns = buffer->start_ns, .end_ns = buffer->end_ns, .during = buffer->during};
    for (int half = 0; half < 2; half++) {
        slice.due_in = half == 1 ? PHASE_MEASURE : PHASE_WARM_UP;
        for (int lane = 0; lane < load->shape.lane_count; lane++) {
            slice.script = load->shape.lanes[lane].script;
            slice.group = load->shape.lanes[lane].group;
            int steps = (int)load_shape_steps(&load->shape, lane);
            for (slice.step = -1; slice.step < steps; slice.step++)
                cell_push(load, lane, buffer, &slice, sink, err);
        }
    }
}

/* Goes on after an error of the sink: the books must be complete. */
static void slices_take(struct load *load, int64_t trial_id, struct sink *sink, struct pl_err *err)
{
    for (int w = 0; w < load->thread_count; w++) {
        struct recorder *recorder = &load->threads[w].worker.recorder;
        struct recorder_buffer *buffer;
        while ((buffer = recorder_take(recorder)) != NULL) {
            picture_add(load, buffer);
            buffer_push(load, trial_id, buffer, sink, err);
            recorder_give(recorder, buffer);
        }
    }
}

/* As with slices: all chunks are taken, or a worker would wait for ever. */
static void operations_take(struct load *load, struct sink *sink, struct pl_err *err)
{
    for (int w = 0; w < load->thread_count; w++) {
        struct recorder_log *log = &load->threads[w].worker.log;
        struct recorder_chunk *chunk;
        while ((chunk = recorder_log_take(log)) != NULL) {
            load->logged += (int64_t)chunk->count;
            if (err->code == PL_OK && sink->operations != NULL)
                sink->operations(sink->ctx, w, chunk->operations, chunk->count, err);
            recorder_log_give(log, chunk);
        }
    }
}

bool load_next_notice(struct load *load, struct load_notice *ret_notice)
{
    int first = -1;
    for (int w = 0; w < load->thread_count; w++) {
        if (!load->has_notice[w])
            load->has_notice[w] = recorder_notice_take(&load->threads[w].worker.notices, &load->notices[w]);
        if (load->has_notice[w] && (first < 0 || load->notices[w].at_ns < load->notices[first].at_ns))
            first = w;
    }
    if (first < 0)
        return false;
    *ret_notice = load->notices[first];
    load->has_notice[first] = false;
    return true;
}

static bool workers_ended(const struct load *load)
{
    for (int w = 0; w < load->thread_count; w++)
        if (!atomic_load_explicit(&load->threads[w].worker.ended, memory_order_acquire))
            return false;
    return true;
}

enum pl_code load_poll(struct load *load, int64_t trial_id, struct sink *sink, struct load_glance *ret_glance,
                       struct pl_err *err)
{
    bool ended = workers_ended(load); /* before the rings are emptied: then they are empty for good */
    slices_take(load, trial_id, sink, err);
    operations_take(load, sink, err);
    int phase = PHASE_AFTER;
    for (int w = 0; w < load->thread_count; w++) {
        int seen = atomic_load_explicit(&load->threads[w].worker.phase_seen, memory_order_relaxed);
        phase = seen < phase ? seen : phase;
    }
    *ret_glance = (struct load_glance){.phase = ended ? PHASE_AFTER : (enum phase)phase,
                                       .completed_per_s = load->glance_per_s,
                                       .p50_ns = load->glance_p50_ns,
                                       .p99_ns = load->glance_p99_ns,
                                       .completed = load->glance_completed,
                                       .failed = load->glance_failed,
                                       .ended = ended};
    return err->code;
}

/* ---- finish ---- */

enum { GAPS_LEAST = 3 };

static int64_t later(int64_t a_ns, int64_t b_ns)
{
    return a_ns > b_ns ? a_ns : b_ns;
}

static void tenants_gather(struct load *load, const struct worker *worker)
{
    for (size_t row = 0; load->tenants != NULL && row < load->spec.tenants->row_count; row++) {
        load->tenants[row].completed += worker->tenants[row].completed;
        load->tenants[row].failed += worker->tenants[row].failed;
    }
}

static double gaps_cv(const struct moments *gaps)
{
    return gaps->n < GAPS_LEAST ? (double)NAN : moments_cv(gaps);
}

/* Time that a worker in virtual time takes says nothing. */
static void self_gather(struct load *load)
{
    struct load_self *self = &load->self;
    struct moments gaps = {0}, asked = {0};
    for (int w = 0; w < load->thread_count; w++) {
        const struct worker *worker = &load->threads[w].worker;
        hist_merge(&self->lateness, &worker->self.lateness);
        moments_merge(&gaps, &worker->self.gaps);
        moments_merge(&asked, &worker->self.gaps_asked);
        int64_t window_ns = worker->measure_end_ns - worker->measure_start_ns;
        double frac = window_ns > 0 ? (double)worker->window_cpu_ns / (double)window_ns : 0;
        if (!worker->recorder.patient && frac > self->busiest_frac)
            self->busiest_frac = frac;
    }
    self->starts = self->lateness.total;
    self->gap_cv = gaps_cv(&gaps);
    self->gap_cv_asked = gaps_cv(&asked);
}

static void result_gather(struct load *load, struct load_result *result)
{
    self_gather(load);
    *result = (struct load_result){.connect_start_ns = load->connect_start_ns,
                                   .connect_end_ns = load->connect_end_ns,
                                   .workers = load->thread_count,
                                   .event_loop = load->event_loop,
                                   .warm_up_attempts = load->attempts[0],
                                   .measured_attempts = load->attempts[1],
                                   .self = &load->self,
                                   .http = load->spec.driver == LOAD_HTTP ? &load->http : NULL,
                                   .tenants = load->tenants,
                                   .connect = load->spec.connect_each ? &load->connect : NULL,
                                   .completed_in_window = load->completed_in_window};
    bool was_measured = false;
    for (int w = 0; w < load->thread_count; w++) {
        const struct worker *worker = &load->threads[w].worker;
        was_measured = was_measured || worker->measure_end_ns > worker->measure_start_ns;
        result->warm_up_start_ns = worker->start_ns;
        result->measure_start_ns = worker->measure_start_ns;
        result->measure_end_ns = later(result->measure_end_ns, worker->measure_end_ns);
        result->drain_end_ns = later(result->drain_end_ns, worker->drain_end_ns);
        result->cpu_ns += worker->cpu_ns;
        result->window_cpu_ns += worker->window_cpu_ns;
        result->clients_lost += worker->lost;
        result->clients_ended_early += worker->ended_early;
        result->notices_missed += worker->notices.missed;
        result->log_wait_ns += worker->log.wait_ns;
        tenants_gather(load, worker);
        if (worker->connect != NULL)
            hist_merge(&load->connect, worker->connect);
        if (worker->longest_gap_ns > result->longest_gap_ns)
            result->longest_gap_ns = worker->longest_gap_ns;
    }
    if (!was_measured) /* it was stopped before */
        result->measure_start_ns = result->measure_end_ns = 0;
    result->window_ns = result->measure_end_ns - result->measure_start_ns;
    for (int lane = 0; lane < load->shape.lane_count; lane++) {
        ledger_add(&result->warm_up, &load->totals[lane][0]);
        ledger_add(&result->measured, &load->totals[lane][1]);
    }
    ledger_add(&result->total, &result->warm_up);
    ledger_add(&result->total, &result->measured);
}

enum { FAULT_ENTRIES = RECORDER_FAULTS + PHASE_COUNT };

/* Takes all entries of one phase and code out of the workers' tables; the earliest one's text stands for them. */
static struct fault fault_take(struct load *load, enum phase phase, const char *code)
{
    struct fault fault = {.source = "load", .phase = phase};
    for (int i = 0; i < load->thread_count * FAULT_ENTRIES; i++) {
        struct recorder_fault *entry = &load->threads[i / FAULT_ENTRIES].worker.recorder.faults[i % FAULT_ENTRIES];
        if (entry->count == 0 || entry->phase != phase || strcmp(entry->code, code) != 0)
            continue;
        if (fault.count == 0 || entry->first_ns < fault.first_ns) {
            fault.first_ns = entry->first_ns;
            fault.code = entry->code;
            fault.example = entry->example;
        }
        fault.count += entry->count;
        entry->count = 0;
    }
    return fault;
}

static void faults_push(struct load *load, int64_t trial_id, struct sink *sink, struct pl_err *err)
{
    for (int i = 0; i < load->thread_count * FAULT_ENTRIES && err->code == PL_OK; i++) {
        const struct recorder_fault *entry = &load->threads[i / FAULT_ENTRIES].worker.recorder.faults[i % FAULT_ENTRIES];
        if (entry->count == 0)
            continue;
        struct fault fault = fault_take(load, entry->phase, entry->code);
        fault.trial_id = trial_id;
        sink->fault(sink->ctx, &fault, err);
    }
}

static bool ledgers_equal(const struct ledger *a, const struct ledger *b)
{
    return a->due == b->due && a->completed == b->completed && a->failed == b->failed && a->skipped == b->skipped &&
           a->expired == b->expired && a->unfinished == b->unfinished && a->never_started == b->never_started;
}

static bool attempts_equal(const struct attempts *a, const struct attempts *b)
{
    return a->retried == b->retried && a->retries == b->retries && a->serialization == b->serialization &&
           a->deadlock == b->deadlock && a->above_limit == b->above_limit;
}

/* What the tenants have in all against the ledger. */
static enum pl_code tenants_check(const struct load *load, const struct load_result *result, struct pl_err *err)
{
    int64_t completed = 0, failed = 0;
    if (load->tenants == NULL)
        return PL_OK;
    for (size_t row = 0; row < load->spec.tenants->row_count; row++) {
        completed += load->tenants[row].completed;
        failed += load->tenants[row].failed;
    }
    if (completed != result->measured.completed || failed != result->measured.failed + result->measured.expired)
        return pl_err_set(err, PL_BALANCE, "the tenants have %lld completed operations, the ledger %lld",
                          (long long)completed, (long long)result->measured.completed);
    return PL_OK;
}

/* What the slices, and the log, say against what the engine counted. */
static enum pl_code books_check(const struct load *load, const struct load_result *result, struct pl_err *err)
{
    struct worker_count count = {0};
    int64_t logged = 0;
    for (int w = 0; w < load->thread_count; w++) {
        const struct worker_count *one = &load->threads[w].worker.count;
        ledger_add(&count.ledger, &one->ledger);
        attempts_add(&count.attempts, &one->attempts);
        count.step_completed += one->step_completed;
        count.step_failed += one->step_failed;
        count.step_expired += one->step_expired;
        count.step_retries += one->step_retries;
        logged += load->threads[w].worker.log.logged;
    }
    for (int lane = 0; lane < load->shape.lane_count; lane++)
        for (int half = 0; half < 2; half++)
            if (!ledger_balances(&load->totals[lane][half]))
                return pl_err_set(err, PL_BALANCE, "the ledger of script \"%s\" does not balance",
                                  load->shape.lanes[lane].program->name);
    const struct ledger *total = &result->total;
    if (!ledger_balances(total) || !ledgers_equal(total, &count.ledger))
        return pl_err_set(err, PL_BALANCE, "the slices hold %lld due and %lld completed, the engine counted %lld and %lld",
                          (long long)total->due, (long long)total->completed, (long long)count.ledger.due,
                          (long long)count.ledger.completed);
    struct attempts attempts = result->warm_up_attempts;
    attempts_add(&attempts, &result->measured_attempts);
    if (!attempts_equal(&attempts, &count.attempts))
        return pl_err_set(err, PL_BALANCE, "the slices hold %lld retries, the engine counted %lld",
                          (long long)attempts.retries, (long long)count.attempts.retries);
    if (load->steps.completed != count.step_completed || load->steps.failed != count.step_failed ||
        load->steps.expired != count.step_expired || load->step_retries != count.step_retries)
        return pl_err_set(err, PL_BALANCE, "the slices hold %lld completed steps, the engine counted %lld",
                          (long long)load->steps.completed, (long long)count.step_completed);
    int64_t ended = count.ledger.completed + count.ledger.failed + count.ledger.expired + count.ledger.skipped;
    bool logs_all = load->spec.log_operations && (load->spec.sampling_frac == 0 || load->spec.sampling_frac == 1);
    if (load->logged != logged || (logs_all && logged != ended))
        return pl_err_set(err, PL_BALANCE, "the log holds %lld operations, %lld have ended", (long long)load->logged,
                          (long long)ended);
    return tenants_check(load, result, err);
}

enum pl_code load_finish(struct load *load, int64_t trial_id, struct sink *sink, struct load_result *ret_result,
                         struct pl_err *err)
{
    assert(load->was_started);
    gate_set(load, GATE_CLOSE, 0);
    threads_join(load);
    slices_take(load, trial_id, sink, err);
    operations_take(load, sink, err);
    faults_push(load, trial_id, sink, err);
    result_gather(load, ret_result);
    books_check(load, ret_result, err);
    return err->code;
}

void load_free(struct load *load)
{
    if (load == NULL)
        return;
    bool has_drivers = load->connect_start_ns == 0;
    threads_give_up(load);
    for (int w = 0; w < load->thread_count; w++) {
        struct worker *worker = &load->threads[w].worker;
        if (has_drivers)
            worker->driver->ops->close(worker->driver);
        worker_release(worker);
    }
    hist_release(&load->picture.response);
    if (load->spec.connect_each)
        hist_release(&load->connect);
    hist_release(&load->self.lateness);
    if (load->spec.driver == LOAD_HTTP) {
        http_stats_release(&load->http.warm_up);
        http_stats_release(&load->http.measured);
        pl_free(load->http.addresses);
    }
    pl_free(load->tenants);
    pl_free(load->notices);
    pl_free(load->has_notice);
    pthread_cond_destroy(&load->changed);
    pthread_mutex_destroy(&load->mutex);
    pl_free(load->totals);
    pl_free(load->threads);
    pl_arena_free(load->arena);
    pl_free(load);
}

/* ---- what a result is worth ---- */

#define LATE_NS PL_NS_PER_MS
#define BUSY_FRAC 0.8

const char *load_result_mark(const struct load_result *result, const struct hist *response, bool open_loop,
                             struct pl_arena *arena)
{
    const struct load_self *self = result->self;
    int64_t late_ns = hist_quantile(&self->lateness, 0.99);
    int64_t median_ns = hist_quantile(response, 0.5);
    if (open_loop && late_ns > LATE_NS && late_ns > median_ns / 10)
        return pl_format(arena,
                         "The schedule was not kept: 1 %% of the operations were started more than %.3g ms later than "
                         "they could have been.",
                         (double)late_ns / PL_NS_PER_MS);
    if (self->busiest_frac > BUSY_FRAC)
        return pl_format(arena, "The client was the limit: its busiest worker used %.0f %% of a core.",
                         100 * self->busiest_frac);
    return NULL;
}
