/* The result document: what it holds, that it follows docs/pgbench.schema.json, and that no secret is in it. */
#include "outputs.h"

#include "json_schema.h"

#define START (50 * SECOND)

static void add(struct pgbench_total *total, int script, int step, int64_t completed, int64_t response_ns)
{
    struct hist hist;
    hist_init_latency(&hist);
    hist_record_n(&hist, response_ns, completed);
    const struct slice slice = {
        .start_ns = START,
        .end_ns = START + 10 * SECOND,
        .during = PHASE_MEASURE,
        .due_in = PHASE_MEASURE,
        .script = script,
        .step = step,
        .ledger =
            {.due = completed + 6, .completed = completed, .failed = 3, .skipped = 2, .unfinished = 1, .never_started = 1},
        .attempts = {.retried = 5, .retries = 9, .serialization = 1, .deadlock = 1, .above_limit = 4},
        .response = &hist,
        .service = &hist,
        .lateness = &hist};
    pgbench_total_add(total, &slice);
    hist_release(&hist);
}

static void fill(struct outputs *outputs, struct pgbench_total *total)
{
    outputs->options.duration_s = 10;
    pgbench_total_init(total, &outputs->options);
    total->server_version = "15.20";
    total->data = (struct dataset_found){.scale = 10};
    total->start_unix_ns = 1700000000 * SECOND;
    total->result = (struct load_result){.completed_in_window = 400,
                                         .window_ns = 10 * SECOND,
                                         .connect_start_ns = START - SECOND,
                                         .connect_end_ns = START - SECOND / 2,
                                         .warm_up_start_ns = START,
                                         .measure_start_ns = START,
                                         .measure_end_ns = START + 10 * SECOND,
                                         .drain_end_ns = START + 10 * SECOND + MS,
                                         .cpu_ns = SECOND,
                                         .window_cpu_ns = SECOND - 1,
                                         .workers = 2,
                                         .event_loop = "epoll"};
    add(total, 0, -1, 300, 1500001);
    add(total, 1, -1, 100, 9007199254740993);
}

static json_t *written(struct outputs *outputs, const struct pgbench_total *total)
{
    struct pl_err err = {0};
    OK(pgbench_json_write(outputs_path(outputs, "result.json"), total, &err), err);
    json_error_t error;
    json_t *root = json_load_file(outputs_path(outputs, "result.json"), JSON_REJECT_DUPLICATES, &error);
    if (root == NULL)
        fail_msg("line %d: %s", error.line, error.text);
    json_t *schema = json_load_file("docs/pgbench.schema.json", JSON_REJECT_DUPLICATES, &error);
    assert_non_null(schema);
    validate(schema, schema, root, "result");
    json_decref(schema);
    return root;
}

/* "a.b.c"; numbers are indices. */
static const json_t *at(const json_t *root, const char *path)
{
    for (;;) {
        size_t length = strcspn(path, ".");
        char key[60];
        snprintf(key, sizeof key, "%.*s", (int)length, path);
        root = json_is_array(root) ? json_array_get(root, (size_t)strtol(key, NULL, 10)) : json_object_get(root, key);
        if (root == NULL)
            fail_msg("there is no %s", key);
        if (path[length] == '\0')
            return root;
        path += length + 1;
    }
}

static void assert_at(const json_t *root, const char *path, const char *expected)
{
    char *text = json_dumps(at(root, path), JSON_ENCODE_ANY | JSON_COMPACT | JSON_REAL_PRECISION(17));
    assert_string_equal(text, expected);
    free(text);
}

static void test_figures(void **state)
{
    struct outputs *outputs = *state;
    struct pgbench_total total;
    fill(outputs, &total);
    json_t *root = written(outputs, &total);
    assert_at(root, "exit_reason", "\"completed\"");
    assert_at(root, "ledger",
              "{\"due\":412,\"completed\":400,\"failed\":6,\"skipped\":4,\"expired\":0,\"unfinished\":2,"
              "\"never_started\":2}");
    assert_at(root, "failures", "{\"serialization\":2,\"deadlock\":2,\"other\":2}");
    assert_at(root, "retries", "18");
    assert_at(root, "above_latency_limit", "null");
    assert_at(root, "response.count", "400");
    assert_at(root, "response.min_ns", "1500001");
    assert_at(root, "response.max_ns", "9007199254740993"); /* beyond what a double holds */
    assert_at(root, "response.above_range", "100");
    assert_at(root, "scripts.0.response.mean_ns", "1500001.0");
    assert_at(root, "scripts.1.ledger.completed", "100");
    assert_at(root, "scripts.1.title", "\"two.sql\"");
    assert_at(root, "scripts.1.commands", "null");
    assert_at(root, "tps.without_connecting_per_s", "40.0");
    assert_close(json_number_value(at(root, "tps.with_connecting_per_s")), 400 / 10.5, 1e-15, 0);
    assert_at(root, "times.connect_ns", "500000000");
    assert_at(root, "times.connect_each", "null");
    assert_at(root, "options.random_seed", "\"18446744073709551615\"");
    assert_at(root, "options.max_tries", "1");
    assert_at(root, "server.version", "\"15.20\"");
    double p99 = json_number_value(at(root, "scripts.0.response.p99_ns"));
    assert_true(p99 >= 1500001 && p99 <= 1500001 * 1.001);
    json_decref(root);
    pgbench_total_release(&total);
}

static void test_commands(void **state)
{
    struct outputs *outputs = *state;
    struct pgbench_total total;
    outputs->options.report_per_command = true;
    outputs->options.latency_limit_ns = MS;
    fill(outputs, &total);
    add(&total, 1, 2, 7, 1000);
    json_t *root = written(outputs, &total);
    assert_int_equal(json_array_size(at(root, "scripts.0.commands")), 2);
    assert_int_equal(json_array_size(at(root, "scripts.1.commands")), 4);
    assert_at(root, "scripts.1.commands.2.number", "2");
    assert_at(root, "scripts.1.commands.2.line", "3");
    assert_at(root, "scripts.1.commands.2.completed", "7");
    assert_at(root, "scripts.1.commands.2.service.max_ns", "1000");
    assert_at(root, "scripts.1.commands.3.service.max_ns", "null");
    assert_non_null(strstr(json_string_value(at(root, "scripts.1.commands.1.text")), "\\sleep 1 ms"));
    assert_at(root, "above_latency_limit", "8");
    json_decref(root);
    pgbench_total_release(&total);
}

static void test_nothing_secret_nothing_broken(void **state)
{
    struct outputs *outputs = *state;
    struct pgbench_total total;
    static const struct pgbench_define defines[] = {{"v\xff", "a\xc3("}, {"w", "\"quoted\"\n\x01"}};
    outputs->options.defines = defines;
    outputs->options.define_count = 2;
    outputs->options.scripts[1].title = "bad\xfe.sql";
    fill(outputs, &total);
    json_t *root = written(outputs, &total);
    assert_at(root, "server.connection", "{\"dbname\":\"bench\",\"host\":\"/tmp\"}");
    assert_null(strstr(outputs_read(outputs, "result.json"), "hunter2"));
    assert_string_equal(json_string_value(at(root, "options.defines.v\xef\xbf\xbd")), "a\xef\xbf\xbd(");
    assert_string_equal(json_string_value(at(root, "options.defines.w")), "\"quoted\"\n\x01");
    assert_string_equal(json_string_value(at(root, "scripts.1.title")), "bad\xef\xbf\xbd.sql");
    json_decref(root);
    pgbench_total_release(&total);
}

static void test_exit_reasons(void **state)
{
    struct outputs *outputs = *state;
    struct pgbench_total total;
    fill(outputs, &total);
    total.result.window_ns = 9 * SECOND; /* of 10 */
    json_t *root = written(outputs, &total);
    assert_at(root, "exit_reason", "\"stopped_early\"");
    json_decref(root);
    total.result.clients_ended_early = 1;
    root = written(outputs, &total);
    assert_at(root, "exit_reason", "\"clients_ended_early\"");
    json_decref(root);
    total.was_interrupted = true;
    root = written(outputs, &total);
    assert_at(root, "exit_reason", "\"interrupted\"");
    json_decref(root);
    pgbench_total_release(&total);

    struct hist connect;
    hist_init_latency(&connect);
    hist_record(&connect, 123456);
    pgbench_total_init(&total, &outputs->options);
    total.result.event_loop = "epoll";
    total.result.connect = &connect;
    root = written(outputs, &total);
    assert_at(root, "exit_reason", "\"no_transactions\"");
    assert_at(root, "response.mean_ns", "null");
    assert_at(root, "times.connect_each.min_ns", "123456");
    json_decref(root);
    hist_release(&connect);
    pgbench_total_release(&total);
}

static void test_a_file_that_cannot_be_written(void **state)
{
    struct outputs *outputs = *state;
    struct pgbench_total total;
    struct pl_err err = {0};
    fill(outputs, &total);
    assert_int_equal(pgbench_json_write(outputs_path(outputs, "no/such/folder.json"), &total, &err), PL_IO);
    assert_non_null(strstr(err.what, "no/such/folder.json"));
    pgbench_total_release(&total);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        OUTPUTS_TEST(test_figures),
        OUTPUTS_TEST(test_commands),
        OUTPUTS_TEST(test_nothing_secret_nothing_broken),
        OUTPUTS_TEST(test_exit_reasons),
        OUTPUTS_TEST(test_a_file_that_cannot_be_written),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
