/* Which PostgreSQL is taken, without starting one. */
#include "service_support.h"

#include "service/postgres_int.h"

static void versions_are_read_and_compared(void **state)
{
    (void)state;
    static const struct {
        const char *text, *version;
        int major;
    } good[] = {{"postgres (PostgreSQL) 15.20 (Debian 15.20-0+deb12u1)\n", "15.20", 15},
                {"postgres (PostgreSQL) 18beta1", "18beta1", 18},
                {"postgres (PostgreSQL) 9.6.24\n", "9.6.24", 9}};
    char version[16];
    int major = 0;
    for (size_t i = 0; i < sizeof good / sizeof *good; i++) {
        assert_true(postgres_parse_version(good[i].text, version, sizeof version, &major));
        assert_string_equal(version, good[i].version);
        assert_int_equal(major, good[i].major);
    }
    static const char *const bad[] = {"",
                                      "postgres",
                                      "postgres (PostgreSQL) ",
                                      "postgres (PostgreSQL) devel",
                                      "postgres (PostgreSQL) 99999.1",
                                      "postgres (PostgreSQL) 15.20202020202020202020"};
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++)
        assert_false(postgres_parse_version(bad[i], version, sizeof version, &major));
    assert_true(postgres_version_fits("15.20", NULL));
    assert_true(postgres_version_fits("15.20", "15"));
    assert_true(postgres_version_fits("15.20", "15.20"));
    assert_false(postgres_version_fits("15.20", "15.2"));
    assert_false(postgres_version_fits("15.20", "1"));
    assert_false(postgres_version_fits("15.20", ""));
    assert_true(postgres_version_fits("18beta1", "18"));
}

/* A directory with an initdb and a postgres that say they are some version. */
static void make_programs(const char *root, const char *name, const char *version)
{
    static const char *const programs[] = {"initdb", "postgres"};
    char path[256], script[256];
    snprintf(path, sizeof path, "%s/%s", root, name);
    assert_int_equal(mkdir(path, 0755), 0);
    for (int i = 0; i < 2; i++) {
        snprintf(path, sizeof path, "%s/%s/%s", root, name, programs[i]);
        snprintf(script, sizeof script, "#!/bin/sh\necho '%s (PostgreSQL) %s'\n", programs[i], version);
        int fd = open(path, O_WRONLY | O_CREAT | O_CLOEXEC, 0755);
        assert_true(fd >= 0 && write(fd, script, strlen(script)) == (ssize_t)strlen(script));
        close(fd);
    }
}

/* A plan's directory is the only one that is looked at; the directory itself counts before its bin. */
static void a_named_directory_is_the_only_one(void **state)
{
    (void)state;
    char root[] = "/tmp/plimsoll-XXXXXX", expected[64];
    struct plan_service plan = plain_plan();
    struct pl_arena *arena = pl_arena_new();
    struct postgres_programs programs;
    struct pl_err err = {0};
    assert_non_null(mkdtemp(root));
    assert_int_equal(chmod(root, 0755), 0);
    make_programs(root, "bin", "42.7");
    plan.directory = root;
    assert_ok(postgres_find(&plan, NULL, arena, &programs, &err));
    snprintf(expected, sizeof expected, "%s/bin", root);
    assert_string_equal(programs.directory, expected);
    assert_string_equal(programs.version, "42.7");
    assert_int_equal(programs.major, 42);
    assert_string_equal(programs.library, "");
    snprintf(expected, sizeof expected, "%s/lib", root);
    assert_int_equal(mkdir(expected, 0755), 0);
    assert_ok(postgres_find(&plan, NULL, arena, &programs, &err));
    assert_string_equal(programs.library, expected);
    plan.version = "42";
    assert_ok(postgres_find(&plan, NULL, arena, &programs, &err));
    plan.version = "43";
    assert_int_equal(postgres_find(&plan, NULL, arena, &programs, &err), PL_NOT_FOUND);
    assert_non_null(strstr(err.what, "PostgreSQL 43"));
    assert_non_null(strstr(err.hint, "42.7"));
    assert_non_null(strstr(err.hint, "postgresql-43"));
    assert_true(guard_remove_directory(root));
    pl_arena_free(arena);
}

static void a_program_that_says_nothing_is_told(void **state)
{
    (void)state;
    char root[] = "/tmp/plimsoll-XXXXXX", path[64];
    struct plan_service plan = plain_plan();
    struct pl_arena *arena = pl_arena_new();
    struct postgres_programs programs;
    struct pl_err err = {0};
    assert_non_null(mkdtemp(root));
    assert_int_equal(chmod(root, 0755), 0);
    make_programs(root, "bin", "");
    plan.directory = root;
    assert_int_equal(postgres_find(&plan, NULL, arena, &programs, &err), PL_NOT_FOUND);
    assert_non_null(strstr(err.hint, "no version in the answer"));
    snprintf(path, sizeof path, "%s/bin/initdb", root);
    assert_int_equal(unlink(path), 0);
    err = (struct pl_err){0};
    assert_int_equal(postgres_find(&plan, NULL, arena, &programs, &err), PL_NOT_FOUND);
    assert_non_null(strstr(err.hint, "no initdb"));
    assert_true(guard_remove_directory(root));
    pl_arena_free(arena);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(versions_are_read_and_compared),
        cmocka_unit_test(a_named_directory_is_the_only_one),
        cmocka_unit_test(a_program_that_says_nothing_is_told),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
