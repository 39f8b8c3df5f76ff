/* What of scripts is kept, and how a load is put together. */
#include "support.h"

#include <string.h>

#include "app/conduct_int.h"
#include "script/program.h"

static const char *kept(struct pl_arena *arena, const char *text, bool is_hurl)
{
    const struct plan_script script = {.name = "x", .text = text, .length = strlen(text), .is_hurl = is_hurl};
    return conduct_script_kept(&script, arena);
}

static void test_hurl_files_without_secrets(void **state)
{
    (void)state;
    struct pl_arena *arena = pl_arena_new();
    static const char *const cases[][2] = {
        {"GET http://h/\nAuthorization: Bearer x1\n", "GET http://h/\nAuthorization: ***\n"},
        {"GET http://bob:x1@h/a@b\nX-Shop: 1\n", "GET http://***@h/a@b\nX-Shop: 1\n"},
        {"GET /\nX-Api-Key:x1\ncookie :  x2  \n", "GET /\nX-Api-Key:***\ncookie :  ***\n"},
        {"GET /\nX-Token: {{token}}\nX-Auth-Token: {{a}}{{b}}\n", "GET /\nX-Token: {{token}}\nX-Auth-Token: ***\n"},
        {"GET /\n[BasicAuth]\nbob: x1\n\nHTTP 200\n[Asserts]\nheader \"a\" == \"b:c\"\n",
         "GET /\n[BasicAuth]\nbob: ***\n\nHTTP 200\n[Asserts]\nheader \"a\" == \"b:c\"\n"},
        {"POST /\n[FormParams]\nuser: bob\npassword: x1\n", "POST /\n[FormParams]\nuser: bob\npassword: ***\n"},
        {"GET /\n[Cookies]\nsid: x1\nlang: {{l}}\n[QueryStringParams]\na: b",
         "GET /\n[Cookies]\nsid: ***\nlang: {{l}}\n[QueryStringParams]\na: b"},
        {"GET /\r\n  [BasicAuth]\r\n\r\n# who\r\n bob: x1\r\nHTTP 200\r\nX: y\r\n",
         "GET /\r\n  [BasicAuth]\r\n\r\n# who\r\n bob: ***\nHTTP 200\r\nX: y\r\n"},
        {"GET /\n[Options]\nuser: bob:x1\nvariable: password=x2\nvariable: shop=s\n[Form]\nuser: bob\n",
         "GET /\n[Options]\nuser: ***\nvariable: ***\nvariable: shop=s\n[Form]\nuser: bob\n"},
        {"GET /\n[BasicAuth]\nbob: x1\nGET http://h/\nX-Shop: s\n",
         "GET /\n[BasicAuth]\nbob: ***\nGET http://h/\nX-Shop: s\n"},
        {"GET /\nHTTP 200\n", "GET /\nHTTP 200\n"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        assert_string_equal(kept(arena, cases[i][0], true), cases[i][1]);
        assert_string_equal(kept(arena, cases[i][1], true), cases[i][1]); /* once is enough */
    }
    const char *sql = "SELECT 'password: x'; -- Authorization: y\n";
    assert_string_equal(kept(arena, sql, false), sql);
    assert_string_equal(conduct_step_kept("GET http://bob:x1@h/x?y=a@b", arena), "GET http://***@h/x?y=a@b");
    assert_string_equal(conduct_step_kept("SELECT 1", arena), "SELECT 1");
    pl_arena_free(arena);
}

static const struct plan_script scripts[] = {
    {.name = "one", .path = "one.sql", .text = "SELECT :user;\nSELECT :shop;\n", .length = 28},
    {.name = "two", .path = "two.sql", .text = "SELECT :fixed;\n", .length = 15},
};

static struct plan_service service = {.name = "db", .kind = "postgres"};

static struct conduct conduct_of(struct plan *plan, struct conduct_spec *spec)
{
    *plan = (struct plan){.path = "p.yaml",
                          .services = &service,
                          .service_count = 1,
                          .subject = &service,
                          .scripts = scripts,
                          .script_count = 2};
    *spec = (struct conduct_spec){.plan = plan};
    return (struct conduct){.spec = spec, .plan = plan, .arena = pl_arena_new()};
}

static void test_a_mix_with_variables(void **state)
{
    (void)state;
    static const struct plan_variable variables[] = {
        {"user", "random(1, 9)", 3, 4}, {"shop", "7", 4, 4}, {"fixed", "a b", 5, 4}};
    struct plan plan;
    struct conduct_spec spec;
    struct conduct c = conduct_of(&plan, &spec);
    struct pl_err err = {0};
    struct conduct_load *load = NULL, *again = NULL;
    plan.variables = variables;
    plan.variable_count = 3;
    if (conduct_load_of(&c, "one@3+two@1", &load, &err) != PL_OK)
        fail_msg("%s", err.what);
    assert_int_equal(load->script_count, 2);
    assert_string_equal(load->scripts[0].program->name, "one");
    assert_int_equal(load->scripts[0].weight, 3);
    assert_int_equal(load->scripts[1].weight, 1);
    assert_int_equal(load->scripts[0].program->io_step_count, 2);
    assert_int_equal(load->scripts[0].program->steps[0].kind, STEP_SET); /* the draw, before the script's own */
    assert_int_equal(load->scripts[0].program->steps[0].number, -1);
    assert_int_equal(load->variable_count, 2);
    assert_string_equal(load->variables[1].name, "fixed");
    assert_string_equal(load->variables[1].value.text, "a b");
    c.loads = &load;
    c.case_count = 1;
    assert_int_equal(conduct_load_of(&c, "one@3+two@1", &again, &err), PL_OK);
    assert_ptr_equal(again, load);
    pl_arena_free(c.arena);
}

/* What is wrong is said with the place in the plan. */
static void test_wrong_data(void **state)
{
    (void)state;
    static const struct plan_variable wrong[] = {{"user", "rundom(1, 9)", 3, 4}};
    static const struct plan_feed feed[] = {{"users", "/nowhere/users.csv", PLAN_RANDOM, 6, 7}};
    struct plan plan;
    struct conduct_spec spec;
    struct conduct c = conduct_of(&plan, &spec);
    struct conduct_load *load = NULL;
    struct pl_err err = {0};
    plan.variables = wrong;
    plan.variable_count = 1;
    assert_int_equal(conduct_load_of(&c, "two", &load, &err), PL_INPUT);
    assert_string_equal(err.file, "p.yaml");
    assert_int_equal(err.line, 3);
    assert_non_null(strstr(err.what, "rundom"));
    err = (struct pl_err){0};
    plan.variable_count = 0;
    plan.feeds = feed;
    plan.feed_count = 1;
    assert_int_not_equal(conduct_load_of(&c, "two", &load, &err), PL_OK);
    assert_int_equal(err.line, 6);
    assert_non_null(strstr(err.what, "users.csv"));
    assert_true(err.hint[0] != '\0');
    assert_null(load);
    pl_arena_free(c.arena);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_hurl_files_without_secrets),
        cmocka_unit_test(test_a_mix_with_variables),
        cmocka_unit_test(test_wrong_data),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
