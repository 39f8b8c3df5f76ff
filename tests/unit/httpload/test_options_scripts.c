/* What a command line names, read: bodies, data, tenants, scripts, and what is said of wrong ones. */
#include "printed.h"

#include <stdlib.h>

#include "base/file.h"
#include "httpload/options_int.h"
#include "hurl/hurl.h"

struct fixture {
    struct pl_arena *arena;
    char *folder;
    struct httpload_options options;
    struct printed printed;
};

static int setup(void **state)
{
    struct fixture *fixture = pl_new(1, sizeof *fixture);
    fixture->arena = pl_arena_new();
    fixture->folder = pl_strdup(fixture->arena, "/tmp/plimsoll-test-http-XXXXXX");
    assert_non_null(mkdtemp(fixture->folder));
    *state = fixture;
    return 0;
}

static int teardown(void **state)
{
    struct fixture *fixture = *state;
    char command[100];
    snprintf(command, sizeof command, "rm -r -- '%s'", fixture->folder);
    assert_int_equal(system(command), 0);
    pl_arena_free(fixture->arena);
    pl_free(fixture);
    return 0;
}

static void put(struct fixture *fixture, const char *name, const char *text)
{
    struct pl_err err = {0};
    assert_int_equal(pl_file_write(pl_format(fixture->arena, "%s/%s", fixture->folder, name), text, strlen(text), &err),
                     PL_OK);
}

/* "%" in a line is the folder. false: `printed` has what was said, with the folder as "%". */
static bool load(struct fixture *fixture, const char *line)
{
    char *full = pl_alloc(fixture->arena, strlen(line) + 20 * strlen(fixture->folder) + 2, 1), *at = full;
    for (; *line != '\0'; line++)
        at = *line == '%' ? mempcpy(at, fixture->folder, strlen(fixture->folder)) : mempcpy(at, line, 1);
    char *buf = pl_alloc(fixture->arena, strlen(full) + 2, 1);
    char **words = pl_alloc(fixture->arena, WORDS_MAX + 1, sizeof *words);
    int count = words_split(full, buf, strlen(full) + 2, words), exit_code = 0;
    fixture->options = (struct httpload_options){0};
    printed_begin(&fixture->printed, stderr);
    bool is_good = httpload_options_parse(count, words, fixture->arena, &fixture->options, &exit_code) &&
                   httpload_scripts_load(&fixture->options, fixture->arena);
    printed_end(&fixture->printed, stderr);
    return is_good;
}

static const struct httpload_options *good(struct fixture *fixture, const char *line)
{
    if (!load(fixture, line))
        fail_msg("\"%s\" was refused: %s", line, fixture->printed.text);
    return &fixture->options;
}

static void test_url(void **state)
{
    struct fixture *fixture = *state;
    put(fixture, "body", "hello body");
    const struct httpload_options *options = good(fixture, "http://h/x -d@%/body");
    assert_int_equal(options->body_length, 10);
    assert_memory_equal(options->body, "hello body", 10);
    const struct program *program = options->scripts[0].program;
    assert_int_equal(program->io_step_count, 1);
    size_t at = 0;
    while (program->steps[at].kind != STEP_HTTP)
        at++;
    assert_string_equal(program->steps[at].text, "POST http://h/x");
    assert_true(hurl_request_facts(program->steps[at].http)->is_constant);
    assert_int_equal(good(fixture, "http://h/x --data ''")->body_length, 0);
    assert_non_null(fixture->options.body);
    assert_null(good(fixture, "http://h/x")->body);
}

/* Rows of data are taken first, then variables are computed, which may use them. */
static void test_data(void **state)
{
    struct fixture *fixture = *state;
    put(fixture, "users.csv", "user,limit\nann,5\nbob,7\n");
    put(fixture, "a.hurl", "GET http://h/{{user}}?n={{n}}&c={{c}}&id={{client_id}}\n");
    const struct httpload_options *options =
        good(fixture, "%/a.hurl --feed %/users.csv:unique --variable 'n=random(1, :limit)' --variable c=5");
    const struct program *program = options->scripts[0].program;
    assert_int_equal(program->steps[0].kind, STEP_FEED);
    assert_int_equal(program->steps[0].feed->order, FEED_UNIQUE);
    assert_int_equal(program->steps[1].kind, STEP_SET);
    assert_int_equal(program->steps[0].io_index, -1);
    assert_int_equal(program->steps[0].number, -1);
    assert_int_equal(program->io_step_count, 1);
    assert_int_equal(options->givens.constant_count, 1);
    assert_string_equal(options->givens.constants[0].name, "c");
}

static void test_tenants(void **state)
{
    struct fixture *fixture = *state;
    put(fixture, "t.csv", "url,host,weight,group\nhttp://a,x,3,gold\nhttp://b,y,1,free\n");
    const struct httpload_options *options = good(fixture, "/path --tenants %/t.csv");
    assert_int_equal(options->tenants->row_count, 2);
    assert_int_equal(options->tenants->group_count, 2);
    assert_int_equal(options->tenants->order, FEED_RANDOM);
    options = good(fixture, "http://h/ --tenants 1_000 --tenant 'host=t{n:04}.example' --tenant 'weight={n}'");
    assert_int_equal(options->tenants->row_count, 1000);
    assert_true(feed_column(options->tenants, "host") >= 0);
    assert_false(load(fixture, "/path --tenants 10 --tenant 'host=t{n}'"));
    assert_string_equal(fixture->printed.text,
                        "plimsoll http: \"/path\" is only a path, and the tenants have no column url: --base-url "
                        "http://HOST completes it\n");
}

/* What is said of a file's content comes from its reader; here that it is refused, where, and with a caret. */
static void test_refused(void **state)
{
    struct fixture *fixture = *state;
    static const struct {
        const char *line, *said;
    } lines[] = {
        {"http://h/ -d@%/nothing", "plimsoll http: the body: cannot open"},
        {"%/nothing.hurl", "plimsoll http: cannot open"},
        {"%/wrong.hurl", "/wrong.hurl:1:"},
        {"%/unset.hurl", "/unset.hurl:1:"},
        {"%/empty.hurl", "/empty.hurl"},
        {"%/unset.hurl --feed %/nothing.csv", "nothing.csv"},
        {"%/unset.hurl --feed %/wrong.csv", "/wrong.csv:3"},
        {"http://h/ --tenants %/nothing.csv", "nothing.csv"},
        {"http://h/ --tenants %/weight.csv", "/weight.csv:2"},
        {"%/unset.hurl --variable 'x=random(1'", "--variable"},
        {"%/unset.hurl --variable 'x=nothing(1)'", "--variable"},
        {"http://h/ --tenants 5 --tenant 'weight=x'", "plimsoll http: "},
    };
    put(fixture, "wrong.hurl", "GET\n");
    put(fixture, "unset.hurl", "GET http://h/{{nobody_sets_it}}\n");
    put(fixture, "empty.hurl", "");
    put(fixture, "wrong.csv", "a,b\n1,2\n1,2,3\n");
    put(fixture, "weight.csv", "host,weight\nx,-1\n");
    for (size_t i = 0; i < sizeof lines / sizeof lines[0]; i++) {
        if (load(fixture, lines[i].line))
            fail_msg("\"%s\" was taken", lines[i].line);
        if (strstr(fixture->printed.text, lines[i].said) == NULL ||
            strncmp(fixture->printed.text, "plimsoll http: ", 15) != 0)
            fail_msg("\"%s\": said %s", lines[i].line, fixture->printed.text);
    }
    assert_false(load(fixture, "%/unset.hurl"));
    assert_non_null(strchr(fixture->printed.text, '^'));
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {TEST(test_url), TEST(test_data), TEST(test_tenants), TEST(test_refused)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
