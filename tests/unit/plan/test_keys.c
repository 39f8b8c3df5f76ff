/* The tables of keys: that they hold together, that text and value are two forms of one thing, and that the reference and
 * the schema are what the tables say. */
#include "support.h"

#include <jansson.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "base/file.h"
#include "base/rng.h"
#include "plan/plan.h"

static bool takes(const struct plan_key *key, int kind)
{
    return (key->kinds >> kind & 1U) != 0;
}

static void test_table(void **state)
{
    (void)state;
    for (size_t i = 0; i < plan_stage_key_count; i++) {
        const struct plan_key *key = &plan_stage_keys[i];
        assert_true(key->kinds != 0 && key->kinds < 1U << PLAN_KIND_COUNT);
        assert_non_null(key->doc);
        assert_null(strpbrk(key->doc, "\n|"));
        assert_true((key->choices != NULL) == (key->type == PLAN_TYPE_CHOICE));
        assert_true(key->low <= key->high);
        struct plan_params params = {0};
        if (key->unset != NULL) /* a default that does not fit its own key would end here */
            plan_params_set(&params, key, key->unset);
        for (size_t j = 0; j < i; j++)
            if (strcmp(plan_stage_keys[j].name, key->name) == 0) {
                assert_int_equal(plan_stage_keys[j].kinds & key->kinds, 0);
                assert_int_equal(plan_stage_keys[j].offset, key->offset);
                assert_int_equal(plan_stage_keys[j].type, key->type);
            }
        for (int kind = 0; kind < PLAN_KIND_COUNT; kind++)
            if (takes(key, kind))
                assert_ptr_equal(plan_stage_key((enum plan_kind)kind, key->name), key);
    }
    assert_null(plan_stage_key(PLAN_HARDWARE, "rate"));
    assert_null(plan_stage_key(PLAN_RATE, "no such key"));
    assert_string_equal(plan_kind_name(PLAN_STORAGE), "storage");
    assert_string_equal(plan_kind_name(PLAN_KIND_COUNT), "unknown");
}

static void check_text(const char *key_name, const char *text, const char *canonical)
{
    struct pl_arena *arena = pl_arena_new();
    struct plan_params params = {0}, again = {0};
    const struct plan_key *key = plan_stage_key(PLAN_RATE, key_name);
    assert_non_null(key);
    plan_params_set(&params, key, text);
    assert_string_equal(plan_params_text(&params, key, arena), canonical);
    plan_params_set(&again, key, canonical);
    assert_memory_equal(&params, &again, sizeof params);
    pl_arena_free(arena);
}

static void test_canonical(void **state)
{
    (void)state;
    check_text("for", "5s", "5s");
    check_text("for", "5000ms", "5s");
    check_text("for", "90s", "90s");
    check_text("for", "60s", "1m");
    check_text("for", "2min", "2m");
    check_text("for", "1.5s", "1500ms");
    check_text("for", "24h", "1d");
    check_text("for", "100000001ns", "100000001ns");
    check_text("for", "0.25s", "250ms");
    check_text("settle", "0", "0s");
    check_text("rate", "200/s", "200/s");
    check_text("rate", "200.0/s", "200/s");
    check_text("rate", "90/min", "1.5/s");
    check_text("rate", "0.1/s", "0.1/s");
    check_text("rate", "1e6/s", "1000000/s");
    check_text("clients", "1_000", "1000");
    check_text("protocol", "simple", "simple");
    check_text("arrivals", "constant", "constant");
    check_text("script", "tpcb-like", "tpcb-like");
    check_text("think", "1500ms", "1500ms");
    check_text("session_law", "geometric", "geometric");
    check_text("http2", "yes", "yes");
    check_text("max_time", "0.5s", "500ms");
}

/* Any value of the range survives being written and read. */
static void test_round_trip(void **state)
{
    (void)state;
    struct pl_arena *arena = pl_arena_new();
    struct pl_rng rng;
    pl_rng_init(&rng, 7, PL_RNG_TEST, 0);
    const struct plan_key *rate = plan_stage_key(PLAN_RATE, "rate"), *length = plan_stage_key(PLAN_RATE, "for");
    for (int i = 0; i < 5000; i++) {
        struct plan_params params = {0}, again = {0};
        params.rate_per_s =
            rate->low + (rate->high - rate->low) * pl_rng_unit(&rng) / (double)(1 + pl_rng_range(&rng, 0, 99999));
        params.for_ns = pl_rng_range(&rng, (int64_t)length->low, (int64_t)length->high);
        if (i % 2 == 0)
            params.for_ns = params.for_ns / 1000000000 * 1000000000 + 1000000000;
        params.for_ns = params.for_ns > (int64_t)length->high ? (int64_t)length->high : params.for_ns;
        plan_params_set(&again, rate, plan_params_text(&params, rate, arena));
        plan_params_set(&again, length, plan_params_text(&params, length, arena));
        assert_memory_equal(&params.rate_per_s, &again.rate_per_s, sizeof params.rate_per_s);
        assert_int_equal(params.for_ns, again.for_ns);
    }
    pl_arena_free(arena);
}

/* docs/plans.md holds the generated reference between its markers. PLIMSOLL_UPDATE=1 writes it anew. */
static void test_reference(void **state)
{
    (void)state;
    static const char path[] = "docs/plans.md", begin[] = "<!-- keys: begin -->\n", end[] = "<!-- keys: end -->\n";
    struct pl_arena *arena = pl_arena_new();
    struct pl_err err = {0};
    struct pl_buf table, whole;
    char *text;
    size_t length;
    assert_int_equal(pl_file_read(path, 1 << 20, arena, &text, &length, &err), PL_OK);
    char *from = strstr(text, begin), *to = strstr(text, end);
    assert_true(from != NULL && to != NULL && from < to);
    from += strlen(begin);
    pl_buf_init(&table, 1 << 20);
    pl_buf_init(&whole, 1 << 20);
    plan_keys_markdown(&table);
    assert_false(table.full);
    for (size_t i = 0; i < plan_stage_key_count; i++) {
        assert_non_null(strstr(pl_buf_text(&table), plan_stage_keys[i].name));
        assert_non_null(strstr(pl_buf_text(&table), plan_stage_keys[i].doc));
    }
    bool same =
        strlen(pl_buf_text(&table)) == (size_t)(to - from) && memcmp(from, pl_buf_text(&table), (size_t)(to - from)) == 0;
    if (!same && getenv("PLIMSOLL_UPDATE") != NULL) {
        pl_buf_put_bytes(&whole, text, (size_t)(from - text));
        pl_buf_put(&whole, pl_buf_text(&table));
        pl_buf_put(&whole, to);
        assert_int_equal(pl_file_write(path, pl_buf_text(&whole), whole.len, &err), PL_OK);
        same = true;
    }
    pl_buf_release(&table);
    pl_buf_release(&whole);
    pl_arena_free(arena);
    if (!same)
        fail_msg("%s is not what the tables say; run this test with PLIMSOLL_UPDATE=1 and read the difference", path);
}

static json_t *schema_of_kind(json_t *schema, const char *kind)
{
    json_t *kinds = json_object_get(json_object_get(json_object_get(schema, "$defs"), "stage"), "oneOf"), *one;
    size_t i;
    assert_int_equal(json_array_size(kinds), PLAN_KIND_COUNT);
    json_array_foreach(kinds, i, one) if (strcmp(json_string_value(json_object_get(one, "title")), kind) == 0) return one;
    fail_msg("the schema has no kind %s", kind);
    return NULL;
}

static void test_schema(void **state)
{
    (void)state;
    struct pl_buf buf;
    json_error_t error;
    pl_buf_init(&buf, 1 << 20);
    plan_keys_json_schema(&buf);
    json_t *schema = json_loads(pl_buf_text(&buf), JSON_REJECT_DUPLICATES, &error);
    if (schema == NULL)
        fail_msg("line %d: %s", error.line, error.text);
    static const char *const top[] = {"study",     "seed",  "services", "subject", "scripts",
                                      "variables", "feeds", "tenants",  "stages",  "page"};
    json_t *properties = json_object_get(schema, "properties");
    assert_int_equal(json_object_size(properties), sizeof top / sizeof top[0]);
    for (size_t i = 0; i < sizeof top / sizeof top[0]; i++)
        assert_non_null(json_object_get(properties, top[i]));
    assert_true(json_is_false(json_object_get(schema, "additionalProperties")));
    for (int kind = 0; kind < PLAN_KIND_COUNT; kind++) {
        json_t *one = schema_of_kind(schema, plan_kind_name((enum plan_kind)kind));
        size_t count = 3; /* kind, name, over */
        json_t *over = json_object_get(json_object_get(one, "properties"), "over");
        for (size_t i = 0; i < plan_stage_key_count; i++) {
            bool taken = takes(&plan_stage_keys[i], kind);
            count += taken ? 1 : 0;
            if (!taken)
                continue;
            assert_non_null(json_object_get(json_object_get(one, "properties"), plan_stage_keys[i].name));
            assert_non_null(json_object_get(json_object_get(over, "properties"), plan_stage_keys[i].name));
        }
        assert_int_equal(json_object_size(json_object_get(one, "properties")), count);
        assert_int_equal(json_object_size(json_object_get(over, "properties")), count - 3);
    }
    json_decref(schema);
    pl_buf_release(&buf);
}

static void test_settings(void **state)
{
    (void)state;
    static const char *const secret[] = {"primary_conninfo", "ssl_passphrase_command", "myext.API_KEY", "archive_command"};
    for (size_t i = 0; i < sizeof secret / sizeof secret[0]; i++) {
        assert_true(plan_setting_is_secret(secret[i]));
        assert_non_null(strstr(plan_setting_refusal(secret[i]), "secret"));
    }
    assert_false(plan_setting_is_secret("password_encryption"));
    assert_null(plan_setting_refusal("password_encryption"));
    assert_null(plan_setting_refusal("shared_buffers"));
    assert_false(plan_setting_is_secret("port"));
    assert_non_null(strstr(plan_setting_refusal("Port"), "socket"));
    assert_non_null(plan_setting_refusal("lc_messages"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_table),      cmocka_unit_test(test_settings),  cmocka_unit_test(test_canonical),
        cmocka_unit_test(test_round_trip), cmocka_unit_test(test_reference), cmocka_unit_test(test_schema),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
