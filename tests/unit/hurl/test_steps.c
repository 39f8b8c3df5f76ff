/* The steps around requests, run: what is requested, in which order, after which waits. */
#include "parse_test.h"

enum { VARS = 128, STEPS_MOST = 400 };

/* A client that records what it does. */
struct client {
    struct value vars[VARS];
    const char *done; /* "GET /a;250ms;..." */
    int failures;     /* so many requests fail at first */
    const char *wrong;
};

static void set_text(void *context, uint32_t index, int variable, const char *text, size_t length)
{
    struct client *client = context;
    assert_int_equal(index, 3);
    client->vars[variable] =
        (struct value){.type = VALUE_TEXT, .length = (uint32_t)length, .text = pl_strndup(arena, text, length)};
}

static const char *do_request(const struct step *step, struct client *client, struct step_scene *scene, size_t *at)
{
    bool goes_on = true;
    client->done = pl_format(arena, "%s%s;", client->done, step->text);
    if (client->failures == 0)
        return NULL;
    client->failures--;
    const char *wrong = step->call != NULL ? step->call(step, scene, &goes_on) : NULL;
    if (goes_on || wrong != NULL)
        return wrong != NULL ? wrong : "failed";
    *at = step->target;
    return NULL;
}

/* One operation. */
static const char *run(const struct program *program, struct client *client)
{
    struct step_scene scene = {.vars = client->vars, .client = 3, .set_text = set_text, .context = client};
    client->done = "";
    size_t at = 0;
    for (int count = 0; at < program->step_count; count++) {
        assert_true(count < STEPS_MOST);
        const struct step *step = &program->steps[at++];
        const char *wrong = NULL;
        bool goes_on = true;
        int64_t ns;
        if (step->kind == STEP_HTTP) {
            wrong = do_request(step, client, &scene, &at);
        } else if (step->kind == STEP_SLEEP) {
            wrong = program_sleep_ns(program, step, client->vars, &ns);
            if (wrong == NULL)
                client->done = pl_format(arena, "%s%lldms;", client->done, (long long)(ns / 1000000));
        } else {
            assert_int_equal(step->kind, STEP_CALL);
            wrong = step->call(step, &scene, &goes_on);
            at = goes_on ? at : step->target;
        }
        if (wrong != NULL) {
            client->wrong = pl_strdup(arena, wrong);
            return pl_format(arena, "%s!", client->done);
        }
        assert_true(at <= program->step_count);
    }
    return client->done;
}

static void give(struct client *client, const char *name, struct value value)
{
    client->vars[names_find(names, name, strlen(name))] = value;
}

static struct value text_value(const char *text)
{
    return (struct value){.type = VALUE_TEXT, .length = (uint32_t)strlen(text), .text = text};
}

static struct client *new_client(int failures)
{
    struct client *client = pl_alloc(arena, 1, sizeof *client);
    client->failures = failures;
    give(client, "user", text_value("bob"));
    give(client, "count", (struct value){.type = VALUE_INT, .i = 2});
    give(client, "flag", (struct value){.type = VALUE_BOOL, .b = false});
    return client;
}

static const char *ran(const char *text, int failures)
{
    return run(compile(text), new_client(failures));
}

static void test_delay(void **state)
{
    (void)state;
    assert_string_equal(ran("GET /a\n[Options]\ndelay: 250ms\n\nGET /b\n", 0), "250ms;GET /a;GET /b;");
    assert_string_equal(ran("GET /a\n[Options]\ndelay: 7\n", 0), "7ms;GET /a;");
    assert_string_equal(ran("GET /a\n[Options]\ndelay: 2s\n", 0), "2000ms;GET /a;");
    assert_string_equal(ran("GET /a\n[Options]\ndelay: {{count}}\n", 0), "2ms;GET /a;");
}

static void test_skip(void **state)
{
    (void)state;
    assert_string_equal(ran("GET /a\n[Options]\nskip: true\n\nGET /b\n", 0), "GET /b;");
    assert_string_equal(ran("GET /a\n[Options]\nskip: false\n\nGET /b\n", 0), "GET /a;GET /b;");
    assert_string_equal(ran("GET /a\n\nGET /b\n[Options]\nskip: true\ndelay: 1s\nrepeat: 3\nretry: 2\n", 0), "GET /a;");
    const struct program *program = compile("GET /a\n[Options]\nskip: {{flag}}\n\nGET /b\n");
    struct client *client = new_client(0);
    assert_string_equal(run(program, client), "GET /a;GET /b;");
    give(client, "flag", (struct value){.type = VALUE_BOOL, .b = true});
    assert_string_equal(run(program, client), "GET /b;");
}

static void test_repeat(void **state)
{
    (void)state;
    assert_string_equal(ran("GET /a\n[Options]\nrepeat: 3\n\nGET /b\n", 0), "GET /a;GET /a;GET /a;GET /b;");
    assert_string_equal(ran("GET /a\n[Options]\nrepeat: 1\n", 0), "GET /a;");
    assert_string_equal(ran("GET /a\n[Options]\nrepeat: 0\n\nGET /b\n", 0), "GET /b;");
    assert_string_equal(ran("GET /a\n[Options]\nrepeat: 2\ndelay: 5ms\n", 0), "5ms;GET /a;5ms;GET /a;");
    assert_string_equal(ran("GET /a\n[Options]\nrepeat: {{count}}\n", 0), "GET /a;GET /a;");
    assert_string_equal(ran("GET /a\n[Options]\nrepeat: 2\n\nGET /b\n[Options]\nrepeat: 2\n", 0),
                        "GET /a;GET /a;GET /b;GET /b;");
}

static void test_retry(void **state)
{
    (void)state;
    assert_string_equal(ran("GET /a\n[Options]\nretry: 2\n", 0), "GET /a;");
    assert_string_equal(ran("GET /a\n[Options]\nretry: 2\n", 1), "GET /a;1000ms;GET /a;");
    assert_string_equal(ran("GET /a\n[Options]\nretry: 2\n", 2), "GET /a;1000ms;GET /a;1000ms;GET /a;");
    assert_string_equal(ran("GET /a\n[Options]\nretry: 2\n", 3), "GET /a;1000ms;GET /a;1000ms;GET /a;!");
    assert_string_equal(ran("GET /a\n[Options]\nretry: 0\n", 1), "GET /a;!");
    assert_string_equal(ran("GET /a\n", 1), "GET /a;!");
    assert_string_equal(ran("GET /a\n[Options]\nretry: 1\nretry-interval: 5ms\ndelay: 1s\n", 1),
                        "1000ms;GET /a;5ms;GET /a;"); /* the delay is not waited for again */
    assert_string_equal(ran("GET /a\n[Options]\nretry: {{count}}\nretry-interval: {{count}}\n", 3),
                        "GET /a;2ms;GET /a;2ms;GET /a;!");
    assert_string_equal(ran("GET /a\n[Options]\nretry: 1\nrepeat: 2\nretry-interval: 1ms\n", 1),
                        "GET /a;1ms;GET /a;GET /a;");
    const char *unlimited = ran("GET /a\n[Options]\nretry: -1\nretry-interval: 0\n", 50);
    assert_int_equal(strlen(unlimited), 50 * strlen("GET /a;0ms;") + strlen("GET /a;"));
}

/* An operation that ended in the middle leaves nothing behind for the next one. */
static void test_begins_anew(void **state)
{
    (void)state;
    const struct program *program = compile("GET /a\n[Options]\nrepeat: 3\nretry: 1\nretry-interval: 1ms\n");
    struct client *client = new_client(2);
    assert_string_equal(run(program, client), "GET /a;1ms;GET /a;!");
    client->failures = 2;
    assert_string_equal(run(program, client), "GET /a;1ms;GET /a;!");
    assert_string_equal(run(program, client), "GET /a;GET /a;GET /a;");
}

static const char *variable_text(struct client *client, const char *name)
{
    const struct value *value = &client->vars[names_find(names, name, strlen(name))];
    if (value->type == VALUE_TEXT)
        return pl_format(arena, "\"%.*s\"", (int)value->length, value->text);
    char text[VALUE_DESCRIBE_BYTES];
    value_describe(value, text);
    return pl_strdup(arena, text);
}

static void test_variables(void **state)
{
    (void)state;
    const struct program *program =
        compile("GET /a\n[Options]\nvariable: t=a b # c\nvariable: i=-12\nvariable: d=0.5\nvariable: y=true\n"
                "variable: n=false\nvariable: z=null\nvariable: q=\"12\"\nvariable: e=\n"
                "variable: g=1_000\nvariable: m=<{{user}}-{{count}}>\nvariable: mm={{m}}{{m}}\n"
                "variable: u={{user replace \"b\" \"x\"}}\nvariable: id={{newUuid}}\n");
    struct client *client = new_client(0);
    assert_string_equal(run(program, client), "GET /a;");
    static const char *const expected[][2] = {{"t", "\"a b\""},
                                              {"i", "int -12"},
                                              {"d", "double 0.5"},
                                              {"y", "boolean true"},
                                              {"n", "boolean false"},
                                              {"z", "null"},
                                              {"q", "\"12\""},
                                              {"e", "\"\""},
                                              {"g", "\"1_000\""},
                                              {"m", "\"<bob-2>\""},
                                              {"mm", "\"<bob-2><bob-2>\""},
                                              {"u", "\"xox\""}};
    for (size_t i = 0; i < COUNT(expected); i++)
        assert_string_equal(variable_text(client, expected[i][0]), expected[i][1]);
    const char *id = variable_text(client, "id");
    assert_int_equal(strlen(id), 36 + 2);
    run(program, client);
    assert_string_not_equal(variable_text(client, "id"), id);
}

static void test_wrong_values(void **state)
{
    (void)state;
    static const struct {
        const char *option, *wrong;
        struct value count;
    } cases[] = {
        {"delay: {{count}}", "t.hurl:3:8: delay: the number is below 0", {.type = VALUE_INT, .i = -1}},
        {"delay: {{count}}",
         "t.hurl:3:8: delay: the value is no whole number",
         {.type = VALUE_TEXT, .length = 1, .text = "x"}},
        {"delay: {{count}}", "t.hurl:3:8: delay: the value is no whole number", {.type = VALUE_DOUBLE, .d = 0.5}},
        {"delay: {{count}}", "t.hurl:3:8: delay: the value is no whole number", {.type = VALUE_NULL}},
        {"repeat: {{count}}", "t.hurl:3:9: repeat: the number is below 0", {.type = VALUE_INT, .i = -1}},
        {"retry: {{count}}", "t.hurl:3:8: retry: the number is below -1", {.type = VALUE_INT, .i = -2}},
        {"retry: 1\nretry-interval: {{count}}",
         "t.hurl:4:17: retry-interval: the number is below 0",
         {.type = VALUE_INT, .i = -1}},
        {"skip: {{count}}", "t.hurl:3:7: skip: the value is neither true nor false", {.type = VALUE_INT, .i = 1}},
    };
    for (size_t i = 0; i < COUNT(cases); i++) {
        const struct program *program = compile(pl_format(arena, "GET /a\n[Options]\n%s\n", cases[i].option));
        struct client *client = new_client(1);
        give(client, "count", cases[i].count);
        run(program, client);
        assert_non_null(client->wrong);
        assert_string_equal(client->wrong, cases[i].wrong);
    }
}

/* Numbers and booleans may come as text: from a data file, or a filter. */
static void test_texts(void **state)
{
    (void)state;
    struct client *client = new_client(0);
    give(client, "count", text_value("3"));
    give(client, "flag", text_value("true"));
    assert_string_equal(run(compile("GET /a\n[Options]\nrepeat: {{count}}\n"), client), "GET /a;GET /a;GET /a;");
    assert_string_equal(run(compile("GET /a\n[Options]\nskip: {{flag}}\n"), client), "");
    give(client, "user", text_value("u12v"));
    assert_string_equal(run(compile("GET /a\n[Options]\ndelay: {{user regex \"([0-9]+)\"}}\n"), client), "12ms;GET /a;");
    give(client, "count", (struct value){.type = VALUE_DOUBLE, .d = 2});
    assert_string_equal(run(compile("GET /a\n[Options]\nrepeat: {{count}}\n"), client), "GET /a;GET /a;");
}

/* What counts and waits is in variables that no script can name. */
static void test_hidden(void **state)
{
    (void)state;
    size_t before = names_count(names);
    compile("GET /a\n[Options]\nrepeat: 2\nretry: 1\ndelay: {{count}}\nretry-interval: {{count}}\n");
    assert_int_equal(names_count(names), before + 4);
    for (size_t i = before; i < names_count(names); i++) {
        assert_false(names_is_valid(names_at(names, (int)i), strlen(names_at(names, (int)i))));
        assert_non_null(strchr(names_at(names, (int)i), ' '));
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        PARSE_TEST(test_delay),        PARSE_TEST(test_skip),        PARSE_TEST(test_repeat),
        PARSE_TEST(test_retry),        PARSE_TEST(test_begins_anew), PARSE_TEST(test_variables),
        PARSE_TEST(test_wrong_values), PARSE_TEST(test_texts),       PARSE_TEST(test_hidden)};
    return cmocka_run_group_tests_name("steps", tests, NULL, NULL);
}
