/* The study as a whole: what is prepared before anything is started, the order of things, what happens when one fails. */
#include "app/conduct_int.h"

#include <assert.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/clock.h"

#include "base/ban.h"

enum { TRIAL_ATTEMPTS = 2 }; /* a trial in which a service died is tried once more, on a fresh one */

bool conduct_wants(const struct conduct *c, const struct stage *stage)
{
    return c->spec->only == NULL || strcmp(c->spec->only, stage->row.name) == 0;
}

static enum pl_code conduct_check_only(const struct conduct *c, struct pl_err *err)
{
    for (size_t s = 0; s < c->plan->stage_count; s++)
        if (conduct_wants(c, c->stages[s]))
            return PL_OK;
    pl_err_set(err, PL_USAGE, "the plan has no stage \"%.60s\"", c->spec->only);
    char names[300] = "";
    for (size_t s = 0; s < c->plan->stage_count; s++) {
        size_t used = strlen(names);
        snprintf(names + used, sizeof names - used, "%s\"%s\"", s > 0 ? ", " : "", c->stages[s]->row.name);
    }
    pl_err_hint(err, "Its stages are %s.", names);
    return err->code;
}

/* ---- the study file ---- */

/* Names of one script of a case and of its I/O steps. */
static enum pl_code put_script(struct conduct *c, int64_t case_id, int script, const struct program *program,
                               struct pl_err *err)
{
    struct script_row row = {.case_id = case_id, .script = script, .step = -1, .name = program->name};
    enum pl_code code = store_put_script(c->store, &row, err);
    for (size_t i = 0; i < program->step_count && code == PL_OK; i++) {
        if (program->steps[i].io_index < 0)
            continue;
        row.step = program->steps[i].io_index;
        row.name = conduct_step_kept(program->steps[i].text, c->arena);
        code = store_put_script(c->store, &row, err);
    }
    return code;
}

static enum pl_code put_groups(struct conduct *c, int64_t case_id, const struct feed *tenants, struct pl_err *err)
{
    double all = 0;
    enum pl_code code = PL_OK;
    for (size_t i = 0; i < tenants->group_count; i++)
        all += tenants->groups[i].weight;
    for (size_t i = 0; i < tenants->group_count && code == PL_OK; i++) {
        const struct group_row row = {.case_id = case_id,
                                      .group = (int)i,
                                      .name = tenants->groups[i].name,
                                      .tenants = (int64_t)tenants->groups[i].row_count,
                                      .weight_frac = tenants->groups[i].weight / all};
        code = store_put_group(c->store, &row, err);
    }
    return code;
}

/* Names of what the load of a case is made of. */
static enum pl_code put_load(struct conduct *c, const struct stage_case *stage_case, struct pl_err *err)
{
    const struct conduct_load *load = c->loads[stage_case->row.id - 1];
    enum pl_code code = PL_OK;
    for (size_t i = 0; load != NULL && i < load->script_count && code == PL_OK; i++)
        code = put_script(c, stage_case->row.id, (int)i, load->scripts[i].program, err);
    if (code == PL_OK && load != NULL && load->tenants != NULL)
        code = put_groups(c, stage_case->row.id, load->tenants, err);
    return code;
}

/* Scripts and data are part of the plan: a study keeps the text of the one and a hash of the other, and goes on only with
 * the same. */
static enum pl_code put_scripts_and_data(struct conduct *c, struct pl_err *err)
{
    struct fact *data = NULL;
    size_t data_count = 0;
    conduct_data_facts(c, &data, &data_count);
    enum pl_code code = store_put_facts(c->store, data, data_count, err);
    for (size_t i = 0; i < c->plan->script_count && code == PL_OK; i++) {
        const struct plan_script *script = &c->plan->scripts[i];
        const struct fact fact = {.scope = "plan",
                                  .name = pl_format(c->arena, CONDUCT_SCRIPT_FACT "%s", script->name),
                                  .value = conduct_script_kept(script, c->arena),
                                  .unit = "",
                                  .how = script->path};
        code = store_put_facts(c->store, &fact, 1, err);
    }
    return code;
}

static enum pl_code conduct_create_study(struct conduct *c, struct pl_err *err)
{
    enum pl_code code = store_create(c->spec->study_path, &c->store, err);
    if (code != PL_OK)
        return code;
    struct store_head head = {.title = c->plan->title,
                              .plan_text = c->plan->text,
                              .plan_path = c->plan->path,
                              .subject = c->plan->subject->name,
                              .tool_version = PLIMSOLL_VERSION,
                              .seed = c->plan->seed,
                              .started_unix_ns = pl_clock_unix_ns()};
    code = store_put_head(c->store, &head, err);
    for (size_t s = 0; s < c->plan->stage_count && code == PL_OK; s++) {
        const struct stage *stage = c->stages[s];
        code = store_put_stage(c->store, &stage->row, err);
        for (size_t i = 0; i < stage->case_count && code == PL_OK; i++) {
            code = store_put_case(c->store, &stage->cases[i].row, err);
            if (code == PL_OK)
                code = put_load(c, &stage->cases[i], err);
        }
    }
    const struct fact facts[] = {
        {.scope = "tool", .name = "version", .value = PLIMSOLL_VERSION, .unit = "", .how = "built in"},
        {.scope = "tool", .name = "quick", .value = c->spec->quick ? "yes" : "no", .unit = "", .how = "--quick"},
        {.scope = "plan", .name = "title", .value = c->plan->page_title, .unit = "", .how = "page: {title:}"},
    };
    if (code == PL_OK)
        code = store_put_facts(c->store, facts, sizeof facts / sizeof facts[0], err);
    return code == PL_OK ? put_scripts_and_data(c, err) : code;
}

static enum pl_code conduct_open_study(struct conduct *c, struct pl_err *err)
{
    struct store_head head;
    enum pl_code code = store_open(c->spec->study_path, &c->store, err);
    if (code == PL_OK)
        code = store_get_head(c->store, c->arena, &head, err);
    if (code == PL_OK)
        code = conduct_check_same(c, &head, err);
    if (code != PL_OK)
        return code;
    code = store_trials(c->store, c->arena, &c->stored, &c->stored_count, err);
    for (size_t i = 0; code == PL_OK && i < c->stored_count; i++)
        if (c->stored[i].id >= c->next_trial_id)
            c->next_trial_id = c->stored[i].id + 1;
    c->next_ordinal = (int)c->stored_count;
    return code;
}

static enum pl_code declare_metrics(struct conduct *c, struct pl_err *err)
{
    static const struct metric own[] = {
        {CONDUCT_LOAD_CPU, "load", "cpu_ns", "ns", METRIC_COUNTER,
         "CLOCK_THREAD_CPUTIME_ID of the load's workers, inside the window"},
        {CONDUCT_LOAD_SETUP, "load", "setup_transactions", "count", METRIC_GAUGE,
         "transactions of the load before its clock started: one for each connection, one for each statement it prepared"},
        {CONDUCT_FLUSH_P50, "host", "flush_p50_ns", "ns", METRIC_GAUGE,
         "pwrite of 8 KiB and fdatasync beside the data, before and after the load"},
        {CONDUCT_FLUSH_P99, "host", "flush_p99_ns", "ns", METRIC_GAUGE,
         "pwrite of 8 KiB and fdatasync beside the data, before and after the load"},
    };
    for (size_t i = 0; i < sizeof own / sizeof own[0]; i++) {
        enum pl_code code = c->sink.metric(c->sink.ctx, &own[i], err);
        if (code != PL_OK)
            return code;
    }
    c->next_metric_id = conduct_told_end();
    return conduct_declare_told(c, err);
}

/* ---- trials ---- */

static int stored_attempts(const struct conduct *c, int64_t case_id, int iteration, bool *ret_done)
{
    int attempts = 0;
    *ret_done = false;
    for (size_t i = 0; i < c->stored_count; i++) {
        if (c->stored[i].case_id != case_id || c->stored[i].iteration != iteration)
            continue;
        attempts++;
        *ret_done = *ret_done || c->stored[i].state == TRIAL_DONE;
    }
    return attempts;
}

static uint64_t trial_seed(const struct conduct *c, const struct trial_row *row)
{
    struct pl_rng rng;
    pl_rng_init(&rng, c->plan->seed, PL_RNG_ORDER, (uint64_t)row->case_id << 32 | (uint64_t)row->iteration);
    return pl_rng_u64(&rng) >> 1; /* SQLite's integers are signed */
}

static enum pl_code attempt_commit(struct conduct *c, struct trial_run *run, struct pl_err *err)
{
    enum pl_code code = store_trial_commit(c->store, &run->row, err);
    if (code == PL_OK && c->note_count > 0)
        code = store_put_facts(c->store, c->notes, c->note_count, err);
    c->note_count = 0;
    return code;
}

static enum pl_code attempt(struct conduct *c, struct trial_run *run, struct pl_err *err)
{
    run->row.id = c->next_trial_id++;
    run->row.ordinal = c->next_ordinal++;
    run->row.seed = trial_seed(c, &run->row);
    run->row.started_unix_ns = pl_clock_unix_ns();
    run->row.why = run->why;
    run->row.event_loop = "";
    enum pl_code code = store_trial_begin(c->store, &run->row, err);
    if (code != PL_OK)
        return code;
    code = trial_carry_out(run, err);
    if (code != PL_OK) {
        store_trial_abandon(c->store);
        return code;
    }
    return attempt_commit(c, run, err);
}

/* One trial of the timetable; after the death of a service once more, on a fresh one. */
static enum pl_code conduct_trial(struct conduct *c, const struct stage *stage, const struct stage_trial *trial,
                                  struct pl_err *err)
{
    const struct stage_case *stage_case = &stage->cases[trial->case_index];
    bool done;
    int attempts = stored_attempts(c, stage_case->row.id, trial->iteration, &done);
    int64_t estimate_ns = stage->estimate_ns / (int64_t)stage->trial_count;
    enum pl_code code = PL_OK;
    if (done) {
        live_skip(c->spec->live);
        c->done_ns += estimate_ns;
        return PL_OK;
    }
    live_trial(c->spec->live, stage->row.name, stage_case->row.label, trial->iteration, (int)stage_case->params.iterations);
    for (int try = 0; try < TRIAL_ATTEMPTS && code == PL_OK; try++) {
        code = conduct_services_start(c, stage, stage_case, err);
        if (code != PL_OK)
            break;
        struct trial_run run = {
            .conduct = c,
            .stage = stage,
            .stage_case = stage_case,
            .load = c->loads[stage_case->row.id - 1],
            .estimate_ns = estimate_ns,
            .row = {.case_id = stage_case->row.id, .iteration = trial->iteration, .attempt = attempts + try}};
        code = attempt(c, &run, err);
        if (code != PL_OK)
            break;
        if (run.row.state == TRIAL_INTERRUPTED)
            return pl_err_set(err, PL_INTERRUPTED, "stopped by the user in stage \"%s\"", stage->row.name);
        if (run.row.state == TRIAL_DONE)
            c->result.trials_done++;
        else if (run.row.state == TRIAL_VOID)
            c->result.trials_void++;
        else
            c->result.trials_failed++;
        if (run.row.state != TRIAL_DONE || run.why[0] != '\0') /* a trial that is done may be marked */
            live_say(c->spec->live, "%s%s%s: %s: %s", stage->row.name, stage_case->row.label[0] != '\0' ? " " : "",
                     stage_case->row.label, run.row.state == TRIAL_DONE ? "marked" : trial_state_name(run.row.state),
                     run.why);
        if (run.errors[0] != '\0')
            live_say(c->spec->live, "%s%s%s: %s", stage->row.name, stage_case->row.label[0] != '\0' ? " " : "",
                     stage_case->row.label, run.errors);
        if (run.row.state == TRIAL_VOID && try + 1 < TRIAL_ATTEMPTS)
            continue; /* kept and shown, and done once more */
        /* a server that died, or that threw clients out (a backend was killed, and it went through recovery), is not the
         * one that was measured before */
        if (!run.service_died && run.row.clients_lost == 0)
            break;
        if (plan_speech_of(c->plan->subject) == PLAN_HTTP)
            break;
        conduct_services_drop(c);
        live_say(c->spec->live, "the trial is kept as failed; going on with a fresh PostgreSQL%s",
                 try + 1 < TRIAL_ATTEMPTS ? " and trying it once more" : "");
    }
    c->done_ns += estimate_ns;
    return code;
}

static enum pl_code conduct_stages(struct conduct *c, struct pl_err *err)
{
    for (size_t s = 0; s < c->plan->stage_count; s++) {
        const struct stage *stage = c->stages[s];
        if (!conduct_wants(c, stage))
            continue;
        for (size_t i = 0; i < stage->trial_count; i++) {
            if (*c->spec->stop != 0)
                return pl_err_set(err, PL_INTERRUPTED, "stopped by the user before stage \"%s\" was done", stage->row.name);
            enum pl_code code = conduct_trial(c, stage, &stage->trials[i], err);
            if (code != PL_OK)
                return code;
        }
    }
    c->result.completed = c->spec->only == NULL;
    return PL_OK;
}

/* Which variants the trials need that are still to be done. */
static void conduct_want_variants(struct conduct *c)
{
    for (size_t s = 0; s < c->plan->stage_count; s++)
        for (size_t i = 0; conduct_wants(c, c->stages[s]) && i < c->stages[s]->trial_count; i++) {
            const struct stage_trial *trial = &c->stages[s]->trials[i];
            const struct stage_case *stage_case = &c->stages[s]->cases[trial->case_index];
            bool done;
            stored_attempts(c, stage_case->row.id, trial->iteration, &done);
            for (size_t k = 0; !done && k < c->plan->service_count; k++)
                conduct_variant(c, k, &stage_case->services[k])->wanted = true;
        }
}

static void conduct_count(struct conduct *c)
{
    c->spec->live->trials = 0;
    for (size_t s = 0; s < c->plan->stage_count; s++) {
        if (!conduct_wants(c, c->stages[s]))
            continue;
        c->spec->live->trials += (int)c->stages[s]->trial_count;
        c->total_ns += c->stages[s]->estimate_ns;
    }
}

/* Everything between an open study and its end. */
static enum pl_code conduct_carry_out(struct conduct *c, struct pl_err *err)
{
    c->sink = store_sink(c->store);
    enum pl_code code = declare_metrics(c, err);
    if (code == PL_OK)
        code = conduct_variants_make(c, err); /* what a server refuses is better known now than after hours */
    if (code == PL_OK)
        code = conduct_stages(c, err); /* services start with the first trial that is to be done */
    if (*c->spec->stop != 0)
        live_stopping(c->spec->live);
    conduct_services_stop(c);
    if (code == PL_OK && c->spec->only == NULL)
        code = store_put_ended(c->store, pl_clock_unix_ns(), err);
    return code;
}

/* With what SQLite may have left beside it when the disk is full. */
static void conduct_remove_study(struct conduct *c)
{
    static const char *const endings[] = {"", "-wal", "-shm", "-journal"};
    for (size_t i = 0; i < sizeof endings / sizeof endings[0]; i++)
        unlink(pl_format(c->arena, "%s%s", c->spec->study_path, endings[i]));
}

enum pl_code conduct_run(const struct conduct_spec *spec, struct conduct_result *ret_result, struct pl_err *err)
{
    struct pl_arena *arena = pl_arena_new();
    struct conduct c = {.spec = spec, .plan = spec->plan, .arena = arena, .next_trial_id = 1};
    c.services = pl_alloc(arena, c.plan->service_count, sizeof(struct service *));
    c.running = pl_alloc(arena, c.plan->service_count, sizeof(struct conduct_variant *));
    enum pl_code code = conduct_prepare(&c, err);
    if (code == PL_OK)
        code = conduct_check_only(&c, err);
    if (code == PL_OK)
        code = spec->resume ? conduct_open_study(&c, err) : conduct_create_study(&c, err);
    c.result.opened = code == PL_OK;
    if (code == PL_OK) {
        conduct_count(&c);
        conduct_want_variants(&c);
        code = conduct_check_disk(&c, err);
    }
    if (code == PL_OK)
        code = guard_start(&c.guard, err);
    if (code == PL_OK) {
        code = conduct_carry_out(&c, err);
        guard_stop(c.guard);
    }
    struct pl_err close = {0};
    enum pl_code closed = store_close(c.store, &close);
    if (code == PL_OK && closed != PL_OK) {
        *err = close;
        code = closed;
    }
    /* a study in which nothing was observed is not left behind: what went wrong "changes nothing" */
    if (code != PL_OK && !spec->resume && c.store != NULL && c.next_trial_id == 1) {
        conduct_remove_study(&c);
        c.result.opened = false;
        if (code == PL_STORE) { /* whose hint would go on with it */
            err->hint[0] = '\0';
            pl_err_hint(err, "No trial was finished, so no study is left: mend that, and run the plan again.");
        }
    }
    live_end(spec->live);
    *ret_result = c.result;
    pl_arena_free(arena);
    return code;
}
