/* What was said about the server becomes one connection string, which libpq reads as it would have read the parts. */
#include "pgbench_test.h"

#include <stdlib.h>

#include <libpq-fe.h>

struct wanted {
    const char *line;
    const char *pairs[7]; /* keyword, value, ... */
    const char *database;
};

static const char *value_of(PQconninfoOption *options, const char *keyword)
{
    for (; options->keyword != NULL; options++)
        if (strcmp(options->keyword, keyword) == 0)
            return options->val;
    return NULL;
}

static void check(const struct wanted *wanted)
{
    static struct printed printed;
    struct pl_arena *arena = pl_arena_new();
    struct pgbench_options options;
    int exit_code;
    if (!line_parse(wanted->line, arena, &options, &printed, &exit_code))
        fail_msg("\"%s\": %s", wanted->line, printed.text);
    char *reason = NULL;
    PQconninfoOption *read = PQconninfoParse(options.conninfo, &reason);
    if (read == NULL)
        fail_msg("\"%s\" gives %s: %s", wanted->line, options.conninfo, reason);
    for (const char *const *pair = wanted->pairs; *pair != NULL; pair += 2) {
        const char *value = value_of(read, pair[0]);
        if (value == NULL || strcmp(value, pair[1]) != 0)
            fail_msg("\"%s\" gives %s: %s is not %s", wanted->line, options.conninfo, pair[0], pair[1]);
    }
    assert_string_equal(options.database, wanted->database);
    PQconninfoFree(read);
    pl_arena_free(arena);
}

static void test_parts(void **state)
{
    (void)state;
    unsetenv("PGDATABASE");
    unsetenv("PGAPPNAME");
    unsetenv("PGBENCH_RANDOM_SEED");
    setenv("PGUSER", "somebody", 1);
    static const struct wanted cases[] = {
        {"-h /tmp -p 5433 -U me bank", {"host", "/tmp", "port", "5433", "dbname", "bank", NULL}, "bank"},
        {"-U me", {"user", "me", "application_name", "pgbench", NULL}, "me"},
        {"", {NULL}, "somebody"},
        {"-d bank", {"dbname", "bank", NULL}, "bank"},
        /* a connection string wins over options, as libpq has it */
        {"-h a -p 1 -U u 'host=b dbname=x'", {"host", "b", "port", "1", "dbname", "x", NULL}, "x"},
        {"-h a postgresql://me@b:5/y?connect_timeout=3", {"host", "b", "port", "5", "connect_timeout", "3", NULL}, "y"},
        {"postgres://me@b", {"host", "b", "user", "me", NULL}, "me"},
        {"-d 'application_name=x password=p'", {"application_name", "x", "password", "p", NULL}, "somebody"},
        {"-d host=b", {"host", "b", NULL}, "somebody"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++)
        check(&cases[i]);
    setenv("PGDATABASE", "from_environment", 1);
    check(&(struct wanted){"-U me", {"user", "me", NULL}, "from_environment"});
    check(&(struct wanted){"-U me other", {"dbname", "other", NULL}, "other"});
    unsetenv("PGDATABASE");
}

/* Any bytes come through the quotes. */
static void test_quoting(void **state)
{
    (void)state;
    static struct printed printed;
    char host[] = "/a b'c\\d\"", name[] = "it's \\ odd", word0[] = "pgbench", minus_h[] = "-h", minus_d[] = "-d";
    char *words[] = {word0, minus_h, host, minus_d, name, NULL};
    struct pl_arena *arena = pl_arena_new();
    struct pgbench_options options;
    int exit_code;
    printed_begin(&printed, stderr);
    bool is_good = pgbench_options_parse(5, words, arena, &options, &exit_code);
    printed_end(&printed, stderr);
    assert_true(is_good);
    PQconninfoOption *read = PQconninfoParse(options.conninfo, NULL);
    assert_non_null(read);
    assert_string_equal(value_of(read, "host"), host);
    assert_string_equal(value_of(read, "dbname"), name);
    PQconninfoFree(read);
    pl_arena_free(arena);
}

static void test_application_name(void **state)
{
    (void)state;
    static struct printed printed;
    struct pl_arena *arena = pl_arena_new();
    struct pgbench_options options;
    int exit_code;
    setenv("PGAPPNAME", "mine", 1); /* libpq's own affair */
    assert_true(line_parse("", arena, &options, &printed, &exit_code));
    assert_null(strstr(options.conninfo, "application_name"));
    unsetenv("PGAPPNAME");
    pl_arena_free(arena);
}

static void test_bad(void **state)
{
    (void)state;
    static struct printed printed;
    struct pl_arena *arena = pl_arena_new();
    struct pgbench_options options;
    int exit_code = -1;
    assert_false(line_parse("'host=a nonsense'", arena, &options, &printed, &exit_code));
    assert_int_equal(exit_code, 1);
    assert_non_null(strstr(printed.text, "pgbench: error: missing \"=\" after \"nonsense\""));
    assert_non_null(strstr(printed.text, "pgbench: error: could not create connection for setup\n"));
    /* libpq's words quote what it could not read */
    static const char *const secret[] = {"'host=a password=my s3cret'", "postgresql://u:s3cret@[bad/db"};
    for (size_t i = 0; i < sizeof secret / sizeof secret[0]; i++) {
        assert_false(line_parse(secret[i], arena, &options, &printed, &exit_code));
        assert_null(strstr(printed.text, "s3cret"));
        assert_non_null(strstr(printed.text, "cannot be read\n"));
    }
    pl_arena_free(arena);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_parts), cmocka_unit_test(test_quoting),
                                       cmocka_unit_test(test_application_name), cmocka_unit_test(test_bad)};
    return cmocka_run_group_tests_name("options_conninfo", tests, NULL, NULL);
}
