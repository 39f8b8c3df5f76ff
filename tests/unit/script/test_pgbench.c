/* Against the installed pgbench: the same errors, values, hashes, permutations, random expressions and builtin scripts. */
#include "script_test.h"

#include <math.h>
#include <stdlib.h>
#include <unistd.h>

#include "bad_scripts.h"
#include "expressions.h"
#include "pgserver.h"
#include "random_expr.h"

enum { OUTPUT_BYTES = 4 * 1024 * 1024 };

static struct pgserver *server;
static char folder[] = "/tmp/plimsoll-script-XXXXXX";
static char *output; /* of the last run, standard error included */

static int setup(void **state)
{
    (void)state;
    server = pgserver_start();
    output = malloc(OUTPUT_BYTES);
    assert_non_null(output);
    assert_non_null(mkdtemp(folder));
    return 0;
}

static int teardown(void **state)
{
    (void)state;
    char path[64];
    snprintf(path, sizeof path, "%s/s.sql", folder);
    unlink(path);
    rmdir(folder);
    free(output);
    pgserver_stop(server);
    return 0;
}

static void need_pgbench(void)
{
    char path[300];
    pgserver_or_skip(server);
    snprintf(path, sizeof path, "%s/pgbench", server->bin);
    if (access(path, X_OK) != 0) {
        print_message("# skipped: there is no pgbench beside this PostgreSQL\n");
        skip();
    }
}

static void run_pgbench(const char *arguments)
{
    char command[1200];
    snprintf(command, sizeof command, "cd %s && timeout 60 %s/pgbench %s 2>&1", folder, server->bin, arguments);
    FILE *pipe = popen(command, "r");
    assert_non_null(pipe);
    size_t length = fread(output, 1, OUTPUT_BYTES - 1, pipe);
    assert_true(length < OUTPUT_BYTES - 1);
    output[length] = '\0';
    pclose(pipe);
}

static void run_script(const char *text)
{
    char path[64], arguments[512];
    snprintf(path, sizeof path, "%s/s.sql", folder);
    FILE *file = fopen(path, "w");
    assert_non_null(file);
    assert_int_equal(fwrite(text, 1, strlen(text), file), strlen(text));
    assert_int_equal(fclose(file), 0);
    snprintf(arguments, sizeof arguments, "-n -t 1 -s 10 -D default_seed=42 -f s.sql '%s'", server->conninfo);
    run_pgbench(arguments);
}

static void test_errors(void **state)
{
    (void)state;
    need_pgbench();
    size_t alike = 0;
    for (size_t i = 0; i < COUNT(bad_scripts); i++) {
        const struct bad_script *bad = &bad_scripts[i];
        if (bad->likeness == OURS)
            continue;
        char expected[512];
        run_script(bad->text);
        if (bad->likeness == MESSAGE_ONLY)
            snprintf(expected, sizeof expected, "pgbench: error: %s\n", bad->what);
        else
            snprintf(expected, sizeof expected, "pgbench: error: s.sql:%d: %s\n", bad->line, bad->what);
        if (strstr(output, expected) == NULL || (bad->likeness == ALL && strstr(output, bad->hint) == NULL))
            fail_msg("\"%s\": %s", bad->text, output);
        alike++;
    }
    assert_true(alike >= 90);
}

/* Doubles have 15 digits there and up to 17 here. */
static bool is_same(const char *ours, const char *theirs, size_t their_length)
{
    if (strlen(ours) == their_length && memcmp(ours, theirs, their_length) == 0)
        return true;
    if (strncmp(ours, "double ", 7) != 0 || strncmp(theirs, "double ", 7) != 0)
        return false;
    double a = strtod(ours + 7, NULL), b = strtod(theirs + 7, NULL);
    return fabs(a - b) <= 1e-14 * fabs(a);
}

/* Runs "\set x debug(EXPRESSION)" for each, and compares what debug() shows, line by line. */
static void compare_values(const char *const *expressions, const char *const *ours, size_t count)
{
    char *text = pl_alloc(arena, OUTPUT_BYTES, 1), *end = text;
    for (size_t i = 0; i < count; i++)
        end += sprintf(end, "\\set x debug(%s)\n", expressions[i]);
    run_script(text);
    const char *line = output;
    for (size_t i = 0; i < count; i++) {
        char prefix[64];
        snprintf(prefix, sizeof prefix, "debug(script=0,command=%zu): ", i + 1);
        line = strstr(line, prefix);
        if (line == NULL)
            fail_msg("\"%s\": %.2000s", expressions[i], output);
        line += strlen(prefix);
        if (!is_same(ours[i], line, strcspn(line, "\n")))
            fail_msg("\"%s\" is %s, there %.100s", expressions[i], ours[i], line);
    }
}

static bool is_value(const char *shown)
{
    return strncmp(shown, "int ", 4) == 0 || strncmp(shown, "double ", 7) == 0 || strncmp(shown, "boolean ", 8) == 0 ||
           strcmp(shown, "null") == 0;
}

static void test_values(void **state)
{
    (void)state;
    need_pgbench();
    const char *expressions[COUNT(expression_cases)], *ours[COUNT(expression_cases)];
    size_t count = 0;
    for (size_t i = 0; i < COUNT(expression_cases); i++) {
        const struct expression_case *the = &expression_cases[i];
        if (strncmp(the->expected, "double to int", 13) == 0 || !is_value(the->expected)) {
            char expected[256];
            run_script(pl_format(arena, "\\set x %s\n", the->expression));
            snprintf(expected, sizeof expected, "pgbench: error: %s\n", the->expected);
            if (strstr(output, expected) == NULL)
                fail_msg("\"%s\": %s", the->expression, output);
        } else if (strstr(the->expression, "debug") == NULL) {
            expressions[count] = the->expression;
            ours[count++] = the->expected;
        }
    }
    assert_true(count > 150);
    compare_values(expressions, ours, count);
}

static int64_t any_integer(void)
{
    static const int64_t edges[] = {INT64_MAX, INT64_MIN, 0, 1, -1};
    switch (pl_rng_range(&rng, 0, 3)) {
    case 0:
        return edges[pl_rng_range(&rng, 0, 4)];
    case 1:
        return pl_rng_range(&rng, -100, 100);
    default:
        return (int64_t)pl_rng_u64(&rng);
    }
}

static void test_hashes(void **state)
{
    (void)state;
    enum { CALLS = 4000 };
    need_pgbench();
    const char **expressions = pl_alloc(arena, CALLS, sizeof *expressions), **ours = pl_alloc(arena, CALLS, sizeof *ours);
    for (int i = 0; i < CALLS; i++) {
        static const char *const hashes[] = {"hash", "hash_fnv1a", "hash_murmur2"};
        const char *seed = i % 2 ? pl_format(arena, ", %lld", (long long)any_integer()) : "";
        if (i % 4 < 2) {
            int64_t power = INT64_C(1) << pl_rng_range(&rng, 1, 62);
            int64_t size = i % 3 == 0 ? power + pl_rng_range(&rng, -1, 1) : pl_rng_range(&rng, 1, power);
            expressions[i] = pl_format(arena, "permute(%lld, %lld%s)", (long long)any_integer(), (long long)size, seed);
        } else {
            expressions[i] = pl_format(arena, "%s(%lld%s)", hashes[i % 3], (long long)any_integer(), seed);
        }
        ours[i] = script_shown(expressions[i]);
    }
    compare_values(expressions, ours, CALLS);
}

/* Those of test_server.c that have a value; here NULL may stand anywhere. */
static void test_random(void **state)
{
    (void)state;
    enum { EXPRESSIONS = 2000 };
    need_pgbench();
    const char **expressions = pl_alloc(arena, EXPRESSIONS, sizeof *expressions);
    const char **ours = pl_alloc(arena, EXPRESSIONS, sizeof *ours);
    struct random_expr *e = calloc(1, sizeof *e);
    pl_rng_init(&e->rng, 3, PL_RNG_TEST, 7);
    size_t count = 0;
    while (count < EXPRESSIONS) {
        random_expr_next(e);
        const char *shown = script_shown(e->ours);
        if (!is_value(shown) || strncmp(shown, "double to", 9) == 0)
            continue;
        expressions[count] = pl_strdup(arena, e->ours);
        ours[count++] = shown;
    }
    compare_values(expressions, ours, EXPRESSIONS);
    free(e);
}

static void test_builtins(void **state)
{
    (void)state;
    need_pgbench();
    for (size_t i = 0; builtin_script_names[i] != NULL; i++) {
        const char *name = builtin_script_names[i];
        run_pgbench(pl_format(arena, "--show-script=%s", name));
        assert_string_equal(output,
                            pl_format(arena, "-- %s: %s\n%s\n", name, builtin_script_title(name), builtin_script(name)));
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test_setup_teardown(test_errors, script_setup, script_teardown),
                                       cmocka_unit_test_setup_teardown(test_values, script_setup, script_teardown),
                                       cmocka_unit_test_setup_teardown(test_hashes, script_setup, script_teardown),
                                       cmocka_unit_test_setup_teardown(test_random, script_setup, script_teardown),
                                       cmocka_unit_test_setup_teardown(test_builtins, script_setup, script_teardown)};
    return cmocka_run_group_tests_name("pgbench", tests, setup, teardown);
}
