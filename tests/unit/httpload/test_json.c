/* The result document: what it holds, that it follows docs/http.schema.json, and that no secret is in it. */
#include "made.h"

#include <stdlib.h>
#include <unistd.h>

#include "base/file.h"
#include "json_schema.h"

static json_t *written(struct made *made, const struct httpload_find *find, enum httpload_exit exit_code)
{
    char path[80];
    struct pl_err err = {0};
    json_error_t error;
    snprintf(path, sizeof path, "/tmp/plimsoll-test-http-json-%d", (int)getpid());
    MUST(httpload_json_write(path, &made->total, find, exit_code, &err), err);
    json_t *root = json_load_file(path, JSON_REJECT_DUPLICATES, &error);
    if (root == NULL)
        fail_msg("line %d: %s", error.line, error.text);
    unlink(path);
    json_t *schema = json_load_file("docs/http.schema.json", JSON_REJECT_DUPLICATES, &error);
    if (schema == NULL)
        fail_msg("the schema, line %d: %s", error.line, error.text);
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
    struct made *made = *state;
    made_objective(made, true, "p99>50ms");
    made_objective(made, false, "p99<60s and errors<0.1");
    made_objective(made, false, "p99<60s");
    made->options.rate_per_s = 100;
    made_begin(made, 100);
    made_add(made, (struct made_slice){.ledger = {.due = 100, .completed = 90, .failed = 1, .expired = 8, .unfinished = 1},
                                       .low_ns = MS,
                                       .high_ns = MS,
                                       .censored_ns = 9007199254740993}); /* beyond what a double holds */
    made_add_step(made, 0, 0, 90, 1, MS);
    made_stats(made, 91);
    made->http.measured.statuses[200] = 90;
    made->http.measured.statuses[503] = 1;
    struct http_address address = {"127.0.0.1:8080", 10, 0};
    made->http.addresses = &address;
    made->http.address_count = 1;
    made_fault(made, PHASE_MEASURE, "head:EXPIRED", 8, SECOND, "no \xff\x1b answer");
    json_t *root = written(made, NULL, HTTPLOAD_MISSED);
    assert_at(root, "schema_version", "1");
    assert_at(root, "exit_code", "1");
    assert_at(root, "verdict", "\"fail\"");
    assert_at(root, "ledger",
              "{\"due\":100,\"completed\":90,\"failed\":1,\"skipped\":0,\"expired\":8,\"unfinished\":1,"
              "\"never_started\":0}");
    assert_at(root, "response.count", "99");
    assert_at(root, "response.censored", "9");
    assert_at(root, "response.max_ns", "9007199254740993");
    assert_at(root, "response.min_ns", "1000000");
    assert_at(root, "response.at_least", "[\"mean_ns\",\"p95_ns\",\"p99_ns\",\"p99_9_ns\",\"max_ns\"]");
    assert_at(root, "service.at_least", "[]");
    assert_at(root, "scripts.0.requests.0.failed", "1");
    assert_at(root, "http.measured.statuses", "{\"200\":90,\"503\":1}");
    assert_at(root, "http.measured.tls.max_ns", "null");
    assert_at(root, "http.addresses.0.address", "\"127.0.0.1:8080\"");
    assert_at(root, "faults.0.example", "\"no \xef\xbf\xbd\\u001B answer\"");
    assert_at(root, "objectives.0.kind", "\"fail_if\"");
    assert_at(root, "objectives.0.verdict", "\"fail\"");
    assert_at(root, "objectives.0.terms.0.is", "\"true\"");
    assert_at(root, "objectives.0.terms.0.at_least", "true");
    assert_at(root, "objectives.1.verdict", "\"fail\"");
    assert_at(root, "objectives.1.terms.1.unit", "\"1\"");
    assert_at(root, "objectives.1.terms.1.value", "0.10000000000000001");
    assert_at(root, "client_load.is_the_limit", "false");
    assert_at(root, "client_load.gap_cv", "null");
    assert_at(root, "options.rate_per_s", "100.0");
    assert_at(root, "options.seed", "\"1234\"");
    assert_at(root, "groups", "null");
    assert_at(root, "search", "null");
    json_decref(root);
}

static void test_no_data(void **state)
{
    struct made *made = *state;
    made_objective(made, false, "p99<50ms");
    made_begin(made, 0);
    made->total.result.http = NULL;
    made->total.result.self = NULL;
    json_t *root = written(made, NULL, HTTPLOAD_NO_DATA);
    assert_at(root, "verdict", "\"no_data\"");
    assert_at(root, "objectives.0.verdict", "\"no_data\"");
    assert_at(root, "objectives.0.terms.0.value", "null");
    assert_at(root, "response.p99_ns", "null");
    assert_at(root, "http", "null");
    json_decref(root);
}

static void test_tenants(void **state)
{
    struct made *made = *state;
    made_tenants(made);
    made_begin(made, 0);
    made->total.result.tenants = made->tenant_counts;
    made_add(made, (struct made_slice){.group = 0, .ledger = {.due = 75, .completed = 75}, .low_ns = MS, .high_ns = MS});
    made_add(made, (struct made_slice){
                       .group = 1, .ledger = {.due = 25, .completed = 23, .failed = 2}, .low_ns = MS, .high_ns = MS});
    json_t *root = written(made, NULL, HTTPLOAD_FAILED);
    assert_at(root, "groups.0.name", "\"gold\"");
    assert_at(root, "groups.0.weight", "3.0");
    assert_at(root, "groups.1.tenants", "2");
    assert_at(root, "groups.1.ledger.failed", "2");
    assert_int_equal(json_array_size(at(root, "tenants")), 3);
    assert_at(root, "tenants.1", "{\"row\":2,\"completed\":12,\"failed\":1}");
    assert_at(root, "options.tenants", "3");
    json_decref(root);
}

static void test_search(void **state)
{
    struct made *made = *state;
    made->options.find_text = "p99<50ms";
    made->options.step_ns = 5 * SECOND;
    made_begin(made, 800);
    struct httpload_trial trials[] = {{.rate_per_s = 800, .verdict = SEARCH_PASS, .due = 10, .completed = 10},
                                      {.rate_per_s = 820, .verdict = SEARCH_NO_DATA, .mark = "late"}};
    struct httpload_find find = {.trials = trials, .trial_count = 2};
    find.search = (struct search){
        .points = {{800, 2, 1}, {820, 0, 2}}, .point_count = 2, .end = SEARCH_FOUND, .last_pass = 800, .first_fail = 820};
    json_t *root = written(made, &find, HTTPLOAD_GOOD);
    assert_at(root, "search.end", "\"found\"");
    assert_at(root, "search.last_pass_per_s", "800.0");
    assert_at(root, "search.points.1.failures", "2");
    assert_at(root, "search.trials.1.verdict", "\"no_data\"");
    assert_at(root, "search.trials.1.client_was_the_limit", "\"late\"");
    assert_at(root, "options.duration_ns", "5000000000");
    json_decref(root);
}

static void test_no_secrets(void **state)
{
    struct made *made = *state;
    char *text = NULL;
    size_t length = 0;
    static const char *headers[] = {"Authorization: Bearer hunter2", "Cookie: id=hunter2", NULL},
                      *variables[] = {"token=hunter2", NULL}, *columns[] = {"user=a:hunter2", NULL};
    made->options.headers = (struct httpload_texts){headers, 2, 2};
    made->options.variables = (struct httpload_texts){variables, 1, 1};
    made->options.tenant_columns = (struct httpload_texts){columns, 1, 1};
    made->options.user = "me:hunter2";
    made->options.data = made->options.body = "password=hunter2";
    made->options.body_length = 16;
    made_begin(made, 0);
    json_t *root = written(made, NULL, HTTPLOAD_FAILED);
    assert_at(root, "options.header_names", "[\"Authorization\",\"Cookie\"]");
    assert_at(root, "options.variable_names", "[\"token\"]");
    assert_at(root, "options.has_user", "true");
    assert_at(root, "options.body_bytes", "16");
    char *document = json_dumps(root, 0);
    assert_null(strstr(document, "hunter2"));
    free(document);
    json_decref(root);
    FILE *out = open_memstream(&text, &length);
    httpload_report(out, &made->total);
    fclose(out);
    assert_null(strstr(text, "hunter2"));
    free(text);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        MADE_TEST(test_figures), MADE_TEST(test_no_data),    MADE_TEST(test_tenants),
        MADE_TEST(test_search),  MADE_TEST(test_no_secrets),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
