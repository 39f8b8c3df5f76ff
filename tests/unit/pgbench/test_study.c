/* The study that --study keeps: made on a real server, read back from its file. */
#include "outputs.h"

#include "pgserver.h"
#include "store/store.h"

#define START (50 * SECOND)

struct room {
    struct outputs *outputs;
    struct pgserver *server; /* of the group */
    PGconn *conn;
    struct pgbench_study *study;
    struct pgbench_total total;
    struct study *loaded;
};

static struct pgserver *shared_server;

static int group_setup(void **state)
{
    (void)state;
    shared_server = pgserver_start();
    return 0;
}

static int group_teardown(void **state)
{
    (void)state;
    pgserver_stop(shared_server);
    return 0;
}

static int room_setup(void **state)
{
    void *outputs = NULL;
    outputs_setup(&outputs);
    struct room *room = pl_new(1, sizeof *room);
    room->outputs = outputs;
    room->outputs->options.study_path = outputs_path(outputs, "run.study");
    room->outputs->options.duration_s = 10;
    room->server = shared_server;
    if (shared_server != NULL)
        room->conn = PQconnectdb(shared_server->conninfo);
    pgbench_total_init(&room->total, &room->outputs->options);
    *state = room;
    return 0;
}

static int room_teardown(void **state)
{
    struct room *room = *state;
    void *outputs = room->outputs;
    store_release_study(room->loaded);
    PQfinish(room->conn);
    pgbench_total_release(&room->total);
    outputs_teardown(&outputs);
    pl_free(room);
    return 0;
}

static void study_open(struct room *room)
{
    struct pl_err err = {0};
    char name[] = "pgbench", clients[] = "-c4", dbname[] = "-dpostgresql://me:hunter2@h/bench";
    char *argv[] = {name, clients, dbname, NULL};
    pgserver_or_skip(room->server);
    OK(pgbench_study_open(&room->outputs->options, room->conn, 3, argv, &room->study, &err), err);
}

static void push(struct room *room, int script, int step, int64_t completed)
{
    struct pl_err err = {0};
    struct hist hist;
    hist_init_latency(&hist);
    hist_record_n(&hist, 2 * MS, completed);
    struct slice slice = {.start_ns = START,
                          .end_ns = START + 10 * SECOND,
                          .during = PHASE_MEASURE,
                          .due_in = PHASE_MEASURE,
                          .script = script,
                          .step = step,
                          .ledger = {.due = completed + 1, .completed = completed, .failed = 1},
                          .attempts = {1, 2, 1, 0, 3},
                          .response = step < 0 ? &hist : NULL,
                          .service = &hist,
                          .lateness = step < 0 ? &hist : NULL};
    struct sink *sink = pgbench_study_sink(room->study);
    OK(sink->slice(sink->ctx, &slice, &err), err);
    pgbench_total_add(&room->total, &slice);
    hist_release(&hist);
}

static void end(struct room *room)
{
    struct pl_err err = {0};
    room->total.start_unix_ns = 1700000000 * SECOND;
    room->total.result = (struct load_result){.completed_in_window = room->total.whole.completed_in_window,
                                              .window_ns = 10 * SECOND,
                                              .connect_start_ns = START - 2 * SECOND,
                                              .connect_end_ns = START - SECOND,
                                              .warm_up_start_ns = START,
                                              .measure_start_ns = START,
                                              .measure_end_ns = START + 10 * SECOND,
                                              .drain_end_ns = START + 11 * SECOND,
                                              .window_cpu_ns = 5 * SECOND,
                                              .workers = 2,
                                              .event_loop = "epoll",
                                              .clients_ended_early = room->total.result.clients_ended_early};
    OK(pgbench_study_close(room->study, &room->total, &err), err);
    room->study = NULL;
    store_release_study(room->loaded);
    OK(store_load(room->outputs->options.study_path, room->outputs->arena, &room->loaded, &err), err);
}

static const char *fact(struct room *room, const char *scope, const char *name)
{
    const struct fact *found = study_fact(room->loaded, scope, name);
    if (found == NULL)
        fail_msg("there is no fact %s.%s", scope, name);
    return found->value;
}

static void test_what_is_kept(void **state)
{
    struct room *room = *state;
    study_open(room);
    push(room, 0, -1, 100);
    push(room, 1, -1, 50);
    push(room, 1, 1, 50);
    struct sink *sink = pgbench_study_sink(room->study);
    struct pl_err err = {0};
    const struct fault one = {
        .source = "load", .phase = PHASE_MEASURE, .code = "40001", .count = 2, .first_ns = START, .example = "could not"};
    OK(sink->fault(sink->ctx, &one, &err), err);
    end(room);

    const struct study *study = room->loaded;
    assert_string_equal(study->plan_text, "pgbench -c4 '-duser=me dbname=bench host=h'");
    assert_string_equal(study->plan_path, "");
    assert_string_equal(study->subject, "server");
    assert_true(study->seed == UINT64_MAX && study->ended_unix_ns > 0);
    assert_int_equal(study->stage_count, 1);
    assert_string_equal(study->stages[0].kind, "clients");
    assert_string_equal(param_value(study->stages[0].params, study->stages[0].param_count, "clients"), "4");
    assert_string_equal(param_value(study->stages[0].params, study->stages[0].param_count, "protocol"), "simple");
    assert_int_equal(study->case_count, 1);
    assert_int_equal(study->trial_count, 1);
    const struct trial_row *trial = &study->trials[0];
    assert_int_equal(trial->state, TRIAL_DONE);
    assert_int_equal(trial->started_unix_ns, 1700000000 * SECOND);
    assert_int_equal(trial->connect_start_ns, START - 2 * SECOND);
    assert_int_equal(trial->connect_end_ns, START - SECOND);
    assert_int_equal(trial->measure_end_ns, START + 10 * SECOND);
    assert_int_equal(trial->drain_end_ns, START + 11 * SECOND);
    assert_int_equal(trial->clients, 4);
    assert_int_equal(trial->workers, 2);
    assert_int_equal(study->slice_count, 3);
    assert_int_equal(study->slices[0].attempts.above_limit, 3);
    assert_int_equal(study->slices[1].response->total, 50);
    assert_int_equal(study->fault_count, 1);
    assert_int_equal(study->faults[0].count, 2);
    size_t count = 0;
    const struct metric *cpu = study_metric(study, "load", "cpu_ns");
    assert_non_null(cpu);
    const struct sample *samples = study_samples(study, trial->id, cpu->id, &count);
    assert_int_equal(count, 2);
    assert_close(samples[1].value - samples[0].value, 5e9, 0, 0);
}

static void test_facts(void **state)
{
    struct room *room = *state;
    study_open(room);
    push(room, 0, -1, 100);
    end(room);
    assert_string_equal(fact(room, "server", "version"), PQparameterStatus(room->conn, "server_version"));
    assert_string_equal(fact(room, "server", "place"), "this machine");
    assert_string_equal(fact(room, "server", "setting.fsync"), "off");
    assert_string_equal(fact(room, "server", "setting.max_connections"), "300");
    assert_null(study_fact(room->loaded, "server", "setting.application_name"));
    assert_string_equal(fact(room, "tool", "command"), "pgbench");
    assert_string_equal(fact(room, "plan", "script.<builtin: select only>"), builtin_script("select-only"));
    assert_non_null(strstr(fact(room, "plan", "script.two.sql"), "\\sleep 1 ms\nSELECT 1"));
    fact(room, "host", "cpu_model");
    fact(room, "host", "kernel");
    /* nothing that is secret */
    for (size_t i = 0; i < room->loaded->fact_count; i++)
        assert_null(strstr(room->loaded->facts[i].value, "hunter2"));
}

/* With -r steps are the commands as written, else those that the server answers. */
static void test_names_of_steps(void **state)
{
    struct room *room = *state;
    study_open(room);
    push(room, 0, -1, 100);
    end(room);
    assert_int_equal(room->loaded->script_count, 2 + 1 + 3);
    unlink(room->outputs->options.study_path);
    room->outputs->options.report_per_command = true;
    study_open(room);
    push(room, 0, -1, 100);
    end(room);
    assert_int_equal(room->loaded->script_count, 2 + 2 + 4);
    const struct script_row *row = &room->loaded->scripts[5];
    assert_int_equal(row->script, 1);
    assert_int_equal(row->step, 1);
    assert_string_equal(row->name, "\\sleep 1 ms");
}

static void test_an_open_loop(void **state)
{
    struct room *room = *state;
    room->outputs->options.rate_per_s = 200;
    pgbench_total_release(&room->total);
    room->outputs->options.script_count = 1;
    pgbench_total_init(&room->total, &room->outputs->options);
    study_open(room);
    push(room, 0, -1, 100);
    end(room);
    assert_string_equal(room->loaded->stages[0].kind, "rate");
    assert_string_equal(param_value(room->loaded->stages[0].params, room->loaded->stages[0].param_count, "rate"), "200/s");
}

static void test_what_figures_may_not_use(void **state)
{
    struct room *room = *state;
    study_open(room);
    push(room, 0, -1, 100);
    room->total.result.clients_ended_early = 3;
    end(room);
    assert_int_equal(room->loaded->trials[0].state, TRIAL_FAILED);
    assert_string_equal(room->loaded->trials[0].why, "3 of 4 clients ended early");
    unlink(room->outputs->options.study_path);
    room->total.result.clients_ended_early = 0;
    room->total.was_interrupted = true;
    room->outputs->options.duration_s = 11; /* a second of it is missing */
    study_open(room);
    end(room);
    assert_int_equal(room->loaded->trials[0].state, TRIAL_INTERRUPTED);
    unlink(room->outputs->options.study_path);
    room->outputs->options.duration_s = 10; /* nothing is missing */
    study_open(room);
    end(room);
    assert_int_equal(room->loaded->trials[0].state, TRIAL_DONE);
    unlink(room->outputs->options.study_path);
    pgbench_total_release(&room->total);
    pgbench_total_init(&room->total, &room->outputs->options);
    study_open(room);
    push(room, 0, -1, 0);
    end(room);
    assert_int_equal(room->loaded->trials[0].state, TRIAL_FAILED);
    assert_non_null(strstr(room->loaded->trials[0].why, "all transactions failed"));
}

/* A run that never began leaves no file behind; one that is there is never touched. */
static void test_files(void **state)
{
    struct room *room = *state;
    struct pl_err err = {0};
    study_open(room);
    OK(pgbench_study_close(room->study, &room->total, &err), err);
    assert_int_equal(access(room->outputs->options.study_path, F_OK), -1);
    OK(pl_file_write(room->outputs->options.study_path, "mine", 4, &err), err);
    char name[] = "pgbench", *argv[] = {name, NULL};
    assert_int_equal(pgbench_study_open(&room->outputs->options, room->conn, 1, argv, &room->study, &err), PL_USAGE);
    assert_non_null(strstr(err.hint, "--study"));
    assert_string_equal(outputs_read(room->outputs, "run.study"), "mine");
    err = (struct pl_err){0};
    room->outputs->options.study_path = "/nowhere/run.study";
    assert_int_equal(pgbench_study_open(&room->outputs->options, room->conn, 1, argv, &room->study, &err), PL_STORE);
    OK(pgbench_study_close(NULL, &room->total, &err), (struct pl_err){0});
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, room_setup, room_teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(test_what_is_kept),
        TEST(test_facts),
        TEST(test_names_of_steps),
        TEST(test_an_open_loop),
        TEST(test_what_figures_may_not_use),
        TEST(test_files),
    };
    return cmocka_run_group_tests(tests, group_setup, group_teardown);
}
