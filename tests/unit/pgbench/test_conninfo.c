/* No secret of a connection is told. */
#include "outputs.h"

#include "record/study.h"

static void test_public_settings(void **state)
{
    struct outputs *outputs = *state;
    struct param *params = NULL;
    size_t count =
        pgbench_conninfo_public("postgresql://me:s3cret@db.example:5433/bench?sslpassword=also", outputs->arena, &params);
    assert_int_equal(count, 4);
    for (size_t i = 0; i < count; i++) {
        assert_string_not_equal(params[i].value, "s3cret");
        assert_string_not_equal(params[i].value, "also");
    }
    assert_string_equal(param_value(params, count, "host"), "db.example");
    assert_string_equal(param_value(params, count, "dbname"), "bench");
    assert_int_equal(pgbench_conninfo_public("no connection string", outputs->arena, &params), 0);
}

static void test_commands(void **state)
{
    struct outputs *outputs = *state;
    static const struct {
        const char *argument, *expected;
    } cases[] = {
        {"bench", "bench"},
        {"-c4", "-c4"},
        {"", "''"},
        {"-Dx=it's", "'-Dx=it'\\''s'"},
        {"a b", "'a b'"},
        {"postgresql://me:s3cret@h/db", "'user=me dbname=db host=h'"},
        {"-dpostgres://me:s3cret@h/db", "'-duser=me dbname=db host=h'"},
        {"--dbname=host=h password='s3cret' dbname=db", "'--dbname=dbname=db host=h'"},
        {"host=h dbname='a b' password=s3cret", "'dbname='\\''a b'\\'' host=h'"},
        {"postgresql://me@h/db", "postgresql://me@h/db"}, /* nothing to hide */
        {"postgresql://me:s3cret@[bad/db", "postgresql://..."},
        {"postgresql://me:pa@s3cret@h/db", "postgresql://..."}, /* read as the host s3cret@h */
        /* every spelling that getopt_long takes */
        {"--db=postgresql://me:s3cret@h/db", "'--db=user=me dbname=db host=h'"},
        {"-nSdpostgresql://me:s3cret@h/db", "'-nSduser=me dbname=db host=h'"},
        {"-nSdhost = h password = 's3 cret'", "-nSdhost=h"},
        {"host = h  password = 's3 cret' sslpassword=x", "host=h"},
        {"-ndhost=h password='s3cret", "-nd..."}, /* no end of the quotes */
        {"--dbnam=password=s3cret", "--dbnam="},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        char name[] = "pgbench";
        char *argv[] = {name, pl_strdup(outputs->arena, cases[i].argument), NULL};
        const char *text = pgbench_command_public(2, argv, outputs->arena);
        assert_string_equal(text, pl_format(outputs->arena, "pgbench %s", cases[i].expected));
    }
}

/* Behind an option of its own, and behind "--". */
static void test_words(void **state)
{
    struct outputs *outputs = *state;
    char name[] = "pgbench", bundle[] = "-nSd", abbreviated[] = "--dbn", end[] = "--", clients[] = "-c",
         uri[] = "postgresql://me:s3cret@/postgres?host=h", bad[] = "password=s3cret junk", variable[] = "-Dx=1";
    char *lines[][6] = {{name, bundle, uri, variable}, {name, abbreviated, uri, variable}, {name, variable, end, uri}};
    const char *const wanted[] = {"pgbench -nSd 'user=me dbname=postgres host=h' -Dx=1",
                                  "pgbench --dbn 'user=me dbname=postgres host=h' -Dx=1",
                                  "pgbench -Dx=1 -- 'user=me dbname=postgres host=h'"};
    for (size_t i = 0; i < sizeof lines / sizeof lines[0]; i++)
        assert_string_equal(pgbench_command_public(4, lines[i], outputs->arena), wanted[i]);
    char *unreadable[] = {name, bundle, bad, clients, NULL};
    assert_string_equal(pgbench_command_public(4, unreadable, outputs->arena), "pgbench -nSd ... -c");
}

int main(void)
{
    const struct CMUnitTest tests[] = {OUTPUTS_TEST(test_public_settings), OUTPUTS_TEST(test_commands),
                                       OUTPUTS_TEST(test_words)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
