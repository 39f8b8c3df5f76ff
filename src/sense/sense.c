/* The sensor thread and the conducting thread's side of it.
 *
 * One mutex guards what the conducting thread wants (trial, phase, schedule, request); a pass is made without it. Samples
 * travel through the ring alone. A request (mark, quiet) is answered before the next tick. */
#include "sense/sense.h"

#include <assert.h>
#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#include "base/clock.h"
#include "sense/sense_int.h"

#include "base/ban.h"

enum { RING_SAMPLES = 1 << 15, TEXT_BYTES = 1 << 19 };

/* A relation that the sink knows. Conducting thread only. */
struct known_relation {
    const char *source;
    bool is_index;
    struct sense_meter table, index, rows;
};

struct sense {
    struct pl_arena *arena;
    int64_t interval_ns, quiet_budget_ns;
    int slow_every;                 /* ticks */
    struct sense_registry registry; /* conducting thread */
    struct known_relation *known;   /* conducting thread */
    size_t known_count, known_capacity;
    int64_t dropped_told; /* conducting thread */
    struct pl_ring ring;

    /* the sensor thread's, or the conducting thread's while it waits for an answer */
    struct sense_pass pass;
    struct sense_host host;
    struct sense_tool tool;
    struct sense_service *services;
    int service_count;
    double glance_cpu_ns;
    int64_t glance_t_ns;

    _Atomic double glance_memory_bytes, glance_cpu_cores;

    pthread_t thread;
    pthread_mutex_t lock;
    pthread_cond_t wanted, answered;
    /* under the lock */
    bool stop, ticking, busy, has_request;
    enum sense_depth request_depth;
    int64_t trial_id, start_ns, next_tick, skipped;
    enum phase phase;
};

/* ---- the sensor thread ---- */

static void glance_update(struct sense *sense)
{
    if (sense->service_count == 0)
        return;
    const struct sense_service *first = &sense->services[0];
    atomic_store_explicit(&sense->glance_memory_bytes, first->memory_bytes, memory_order_relaxed);
    int64_t now_ns = pl_clock_ns();
    if (first->cpu_ns < 0)
        return;
    if (sense->glance_t_ns > 0 && now_ns > sense->glance_t_ns && first->cpu_ns >= sense->glance_cpu_ns)
        atomic_store_explicit(&sense->glance_cpu_cores,
                              (first->cpu_ns - sense->glance_cpu_ns) / (double)(now_ns - sense->glance_t_ns),
                              memory_order_relaxed);
    sense->glance_cpu_ns = first->cpu_ns;
    sense->glance_t_ns = now_ns;
}

/* One reading of everything. SQL comes last: a server that hangs must not make the other readings late. */
static void sense_take(struct sense *sense, enum sense_depth depth, int64_t trial_id, enum phase phase, int64_t skipped)
{
    struct sense_pass *pass = &sense->pass;
    int64_t start_ns = pl_clock_ns();
    bool all_known = true;
    double known_ns = 0;
    pass->depth = depth;
    pass->trial_id = trial_id;
    pass->phase = phase;
    pass->quiet_end_ns = start_ns + sense->quiet_budget_ns;
    if (depth == SENSE_BACKENDS) {
        for (int i = 0; i < sense->service_count; i++)
            sense_service_read_backends(&sense->services[i], pass);
        return;
    }
    sense_host_read(&sense->host, pass);
    for (int i = 0; i < sense->service_count; i++) {
        struct sense_service *service = &sense->services[i];
        sense_service_read(service, pass);
        if (service->cpu_ns >= 0)
            known_ns += service->cpu_ns;
        else if (service->pid > 0) /* else it runs elsewhere */
            all_known = false;
    }
    glance_update(sense);
    for (int i = 0; i < sense->service_count; i++)
        if (sense->services[i].postgres != NULL)
            sense_postgres_read(sense->services[i].postgres, pass);
    known_ns += sense_tool_read(&sense->tool, pass, start_ns, skipped);
    if (all_known)
        sense_host_put_foreign(&sense->host, pass, known_ns);
}

/* The first tick after now_ns; ticks between are skipped. */
static void schedule_next(struct sense *sense, int64_t now_ns)
{
    int64_t next = now_ns < sense->start_ns ? 0 : (now_ns - sense->start_ns) / sense->interval_ns + 1;
    if (next > sense->next_tick) {
        sense->skipped += next - sense->next_tick;
        sense->next_tick = next;
    }
}

static int64_t tick_moment(const struct sense *sense)
{
    int64_t after_ns, at_ns;
    if (__builtin_mul_overflow(sense->next_tick, sense->interval_ns, &after_ns) ||
        __builtin_add_overflow(sense->start_ns, after_ns, &at_ns))
        return INT64_MAX;
    return at_ns;
}

static void wait_until(struct sense *sense, int64_t until_ns)
{
    struct timespec until = {.tv_sec = until_ns / PL_NS_PER_S, .tv_nsec = until_ns % PL_NS_PER_S};
    pthread_cond_timedwait(&sense->wanted, &sense->lock, &until);
}

/* Makes one pass without the lock. */
static void take_unlocked(struct sense *sense, enum sense_depth depth)
{
    int64_t trial_id = sense->trial_id, skipped = sense->skipped;
    enum phase phase = sense->phase;
    sense->busy = true;
    pthread_mutex_unlock(&sense->lock);
    sense_take(sense, depth, trial_id, phase, skipped);
    pthread_mutex_lock(&sense->lock);
    sense->busy = false;
}

static void take_tick(struct sense *sense)
{
    bool slow = sense->next_tick % sense->slow_every == 0;
    sense->next_tick++;
    take_unlocked(sense, slow ? SENSE_SLOW : SENSE_TICK);
    schedule_next(sense, pl_clock_ns());
    pthread_cond_broadcast(&sense->answered);
}

static void take_request(struct sense *sense)
{
    take_unlocked(sense, sense->request_depth);
    sense->has_request = false;
    if (sense->ticking)
        schedule_next(sense, pl_clock_ns());
    pthread_cond_broadcast(&sense->answered);
}

static void *sense_run(void *ctx)
{
    struct sense *sense = ctx;
    pthread_mutex_lock(&sense->lock);
    while (!sense->stop) {
        int64_t at_ns = sense->ticking ? tick_moment(sense) : INT64_MAX;
        if (sense->has_request)
            take_request(sense);
        else if (at_ns == INT64_MAX)
            pthread_cond_wait(&sense->wanted, &sense->lock);
        else if (pl_clock_ns() < at_ns)
            wait_until(sense, at_ns);
        else
            take_tick(sense);
    }
    pthread_mutex_unlock(&sense->lock);
    return NULL;
}

/* ---- the conducting thread ---- */

/* Signals are for the threads that expect them. */
static int thread_start(struct sense *sense)
{
    sigset_t all, before;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    int os_errno = pthread_create(&sense->thread, NULL, sense_run, sense);
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    return os_errno;
}

static void sense_release(struct sense *sense)
{
    for (int i = 0; i < sense->service_count; i++)
        sense_service_release(&sense->services[i]);
    pthread_cond_destroy(&sense->answered);
    pthread_cond_destroy(&sense->wanted);
    pthread_mutex_destroy(&sense->lock);
    pl_ring_release(&sense->ring);
    pl_free(sense->pass.text);
    pl_arena_free(sense->arena);
    pl_free(sense);
}

static void sense_init(struct sense *sense, const struct sense_spec *spec, int64_t first_metric_id)
{
    pthread_condattr_t monotonic;
    sense->arena = pl_arena_new();
    sense->interval_ns = spec->interval_ns > 0 ? spec->interval_ns : PL_NS_PER_S;
    sense->quiet_budget_ns = spec->quiet_budget_ns > 0 ? spec->quiet_budget_ns : 500 * PL_NS_PER_MS;
    sense->slow_every = sense->interval_ns >= SENSE_SLOW_NS ? 1 : (int)(SENSE_SLOW_NS / sense->interval_ns);
    sense->registry.arena = sense->arena;
    sense->registry.next_id = first_metric_id;
    pl_ring_init(&sense->ring, sizeof(struct sample), RING_SAMPLES);
    sense->pass.ring = &sense->ring;
    sense->pass.text = pl_new(TEXT_BYTES, 1);
    sense->pass.text_size = TEXT_BYTES;
    pthread_mutex_init(&sense->lock, NULL);
    pthread_condattr_init(&monotonic);
    pthread_condattr_setclock(&monotonic, CLOCK_MONOTONIC);
    pthread_cond_init(&sense->wanted, &monotonic);
    pthread_cond_init(&sense->answered, &monotonic);
    pthread_condattr_destroy(&monotonic);
    sense_host_init(&sense->host, &sense->registry, &sense->pass);
    sense_tool_init(&sense->tool, &sense->registry);
    sense->services = pl_alloc(sense->arena, (size_t)spec->target_count + 1, sizeof *sense->services);
    for (; sense->service_count < spec->target_count; sense->service_count++)
        sense_service_init(&sense->services[sense->service_count], &spec->targets[sense->service_count],
                           spec->seed + (uint64_t)sense->service_count, &sense->registry, &sense->pass);
}

enum pl_code sense_new(const struct sense_spec *spec, int64_t first_metric_id, struct sink *sink, struct sense **ret_sense,
                       struct pl_err *err)
{
    assert(spec->target_count >= 0 && first_metric_id > 0);
    struct sense *sense = pl_new(1, sizeof *sense);
    sense_init(sense, spec, first_metric_id);
    enum pl_code code = sense_registry_tell(&sense->registry, sink, err);
    if (code == PL_OK) {
        int os_errno = thread_start(sense);
        if (os_errno != 0)
            code = pl_err_os(err, PL_IO, os_errno, "cannot start the thread of the sensors");
    }
    if (code != PL_OK) {
        sense_release(sense);
        return code;
    }
    *ret_sense = sense;
    return PL_OK;
}

void sense_free(struct sense *sense)
{
    if (sense == NULL)
        return;
    pthread_mutex_lock(&sense->lock);
    sense->stop = true;
    pthread_cond_signal(&sense->wanted);
    pthread_mutex_unlock(&sense->lock);
    pthread_join(sense->thread, NULL);
    sense_release(sense);
}

int64_t sense_next_metric_id(const struct sense *sense)
{
    return sense->registry.next_id;
}

void sense_skip_metric_ids(struct sense *sense, int64_t next_id)
{
    if (next_id > sense->registry.next_id)
        sense->registry.next_id = next_id;
}

static void wait_for_pass(struct sense *sense)
{
    while (sense->busy)
        pthread_cond_wait(&sense->answered, &sense->lock);
}

void sense_begin(struct sense *sense, int64_t trial_id, enum phase phase, int64_t start_ns)
{
    pthread_mutex_lock(&sense->lock);
    wait_for_pass(sense);
    sense->trial_id = trial_id;
    sense->phase = phase;
    sense->start_ns = start_ns;
    sense->next_tick = 0;
    sense->ticking = start_ns != INT64_MAX;
    pthread_cond_signal(&sense->wanted);
    pthread_mutex_unlock(&sense->lock);
}

void sense_phase(struct sense *sense, enum phase phase)
{
    pthread_mutex_lock(&sense->lock);
    sense->phase = phase;
    pthread_mutex_unlock(&sense->lock);
}

void sense_end(struct sense *sense)
{
    pthread_mutex_lock(&sense->lock);
    sense->ticking = false;
    wait_for_pass(sense);
    pthread_mutex_unlock(&sense->lock);
}

/* Asks for a pass and waits for it. The phase goes back to what it was: a mark names its own. */
static void request(struct sense *sense, enum sense_depth depth, enum phase phase)
{
    pthread_mutex_lock(&sense->lock);
    wait_for_pass(sense);
    enum phase before = sense->phase;
    sense->phase = phase;
    sense->request_depth = depth;
    sense->has_request = true;
    pthread_cond_signal(&sense->wanted);
    while (sense->has_request)
        pthread_cond_wait(&sense->answered, &sense->lock);
    sense->phase = before;
    pthread_mutex_unlock(&sense->lock);
}

void sense_mark(struct sense *sense, enum phase phase)
{
    request(sense, SENSE_MARK, phase);
}

static enum pl_code tell_dropped(struct sense *sense, struct sink *sink, struct pl_err *err)
{
    int64_t dropped = atomic_load_explicit(&sense->pass.dropped, memory_order_relaxed);
    if (dropped == sense->dropped_told)
        return PL_OK;
    pthread_mutex_lock(&sense->lock);
    struct sample sample = {.trial_id = sense->trial_id,
                            .t_ns = pl_clock_ns(),
                            .phase = sense->phase,
                            .metric_id = sense->tool.dropped_id,
                            .value = (double)dropped};
    pthread_mutex_unlock(&sense->lock);
    sense->dropped_told = dropped;
    return sink->sample(sink->ctx, &sample, err);
}

enum pl_code sense_poll(struct sense *sense, struct sink *sink, struct pl_err *err)
{
    struct sample sample;
    enum pl_code code = PL_OK;
    while (code == PL_OK && pl_ring_pop(&sense->ring, &sample))
        code = sink->sample(sink->ctx, &sample, err);
    return code == PL_OK ? tell_dropped(sense, sink, err) : code;
}

static struct known_relation *relation_known(struct sense *sense, const char *source, bool is_index)
{
    for (size_t i = 0; i < sense->known_count; i++)
        if (sense->known[i].is_index == is_index && strcmp(sense->known[i].source, source) == 0)
            return &sense->known[i];
    return NULL;
}

static struct known_relation *relation_declare(struct sense *sense, const char *source, bool is_index)
{
    static const struct sense_def table = {"table_bytes", "bytes", METRIC_GAUGE, SENSE_PLAIN};
    static const struct sense_def indexes = {"index_bytes", "bytes", METRIC_GAUGE, SENSE_PLAIN};
    static const struct sense_def rows = {"rows", "count", METRIC_GAUGE, SENSE_PLAIN};
    static const struct sense_def one_index = {"one_index_bytes", "bytes", METRIC_GAUGE, SENSE_PLAIN};
    struct known_relation relation = {.source = pl_strdup(sense->arena, source), .is_index = is_index};
    if (is_index) {
        sense_registry_add(&sense->registry, source, &one_index, "pg_relation_size of this index", &relation.index);
    } else {
        sense_registry_add(&sense->registry, source, &table, "pg_table_size: with TOAST, free space and visibility map",
                           &relation.table);
        sense_registry_add(&sense->registry, source, &indexes, "pg_indexes_size: all indexes of this table",
                           &relation.index);
        sense_registry_add(&sense->registry, source, &rows,
                           "estimate: pg_stat_get_live_tuples, or pg_class.reltuples when that is 0", &relation.rows);
    }
    sense->known = pl_grow(sense->arena, sense->known, sense->known_count, sense->known_count + 1, sizeof relation,
                           &sense->known_capacity);
    sense->known[sense->known_count] = relation;
    return &sense->known[sense->known_count++];
}

static enum pl_code relation_put(struct sample sample, const struct sense_meter *meter, double value, struct sink *sink,
                                 struct pl_err *err)
{
    if (value < 0)
        return PL_OK;
    sample.metric_id = meter->id;
    sample.value = value;
    return sink->sample(sink->ctx, &sample, err);
}

/* The sensor thread has answered and waits for the next request or tick; what it found is not touched before the next quiet
 * pass. */
static enum pl_code put_relations(struct sense *sense, const struct sense_service *service, enum phase phase,
                                  struct sink *sink, struct pl_err *err)
{
    const struct sense_relation *relations;
    size_t count = sense_postgres_relations(service->postgres, &relations);
    for (size_t i = 0; i < count; i++) {
        const struct sense_relation *found = &relations[i];
        struct sample sample = {.trial_id = sense->trial_id, .t_ns = found->t_ns, .phase = phase};
        char source[256];
        snprintf(source, sizeof source, "%s/%s", service->source, found->name);
        struct known_relation *known = relation_known(sense, source, found->is_index);
        if (known == NULL)
            known = relation_declare(sense, source, found->is_index);
        if (sense_registry_tell(&sense->registry, sink, err) != PL_OK ||
            relation_put(sample, &known->table, found->table_bytes, sink, err) != PL_OK ||
            relation_put(sample, &known->index, found->index_bytes, sink, err) != PL_OK ||
            relation_put(sample, &known->rows, found->rows, sink, err) != PL_OK)
            return err->code;
    }
    return PL_OK;
}

void sense_backends(struct sense *sense, enum phase phase)
{
    request(sense, SENSE_BACKENDS, phase);
}

enum pl_code sense_quiet(struct sense *sense, enum phase phase, struct sink *sink, struct pl_err *err)
{
    request(sense, SENSE_QUIET, phase);
    enum pl_code code = sense_poll(sense, sink, err);
    for (int i = 0; code == PL_OK && i < sense->service_count; i++)
        if (sense->services[i].postgres != NULL)
            code = put_relations(sense, &sense->services[i], phase, sink, err);
    return code;
}

struct sense_glance sense_look(const struct sense *sense)
{
    return (struct sense_glance){.memory_bytes = atomic_load_explicit(&sense->glance_memory_bytes, memory_order_relaxed),
                                 .cpu_cores = atomic_load_explicit(&sense->glance_cpu_cores, memory_order_relaxed)};
}
