/* What is refused is refused with its place, a caret under it, and words that help. */
#include "script_test.h"

#include "bad_scripts.h"

static void test_errors(void **state)
{
    (void)state;
    for (size_t i = 0; i < COUNT(bad_scripts); i++) {
        const struct bad_script *bad = &bad_scripts[i];
        struct pl_err err = {0};
        struct program *program = NULL;
        enum pl_code code = program_compile("s.sql", bad->text, strlen(bad->text), bad->strictness, names_new(arena), arena,
                                            &program, &err);
        if (code != PL_INPUT)
            fail_msg("\"%s\" is not refused", bad->text);
        assert_null(program);
        assert_string_equal(err.what, bad->what);
        assert_string_equal(err.hint, bad->hint);
        assert_string_equal(err.file, "s.sql");
        if (err.line != bad->line || err.col != bad->col)
            fail_msg("\"%s\": %d:%d", bad->text, err.line, err.col);
    }
}

/* At least sixty kinds: no two with the same words about the same command. */
static void test_kinds(void **state)
{
    (void)state;
    assert_true(COUNT(bad_scripts) >= 120);
    size_t kinds = 0;
    for (size_t i = 0; i < COUNT(bad_scripts); i++) {
        bool is_new = true;
        for (size_t j = 0; j < i; j++)
            is_new = is_new && strcmp(bad_scripts[i].what, bad_scripts[j].what) != 0;
        kinds += is_new;
    }
    assert_true(kinds >= 60);
}

static void test_bytes(void **state)
{
    (void)state;
    struct pl_err err = {0};
    struct program *program = NULL;
    assert_int_equal(program_compile("s.sql", "SELECT\0 1", 9, PROGRAM_STRICT, names, arena, &program, &err), PL_INPUT);
    assert_string_equal(err.what, "byte 6 is NUL: this is not a text file");
    assert_int_equal(program_compile("s.sql", NULL, 0, PROGRAM_STRICT, names, arena, &program, &(struct pl_err){0}),
                     PL_INPUT);
}

/* A line that is too long to show is cut on both sides of the place. */
static void test_long_line(void **state)
{
    (void)state;
    enum { LONG = 100000 };
    char *text = pl_alloc(arena, LONG + 1, 1);
    memset(text, '1', LONG);
    memcpy(text, "\\set x ", 7);
    for (size_t i = 8; i < LONG; i += 2)
        text[i] = '+';
    text[50000] = '*';
    struct pl_err err = {0};
    struct program *program = NULL;
    assert_int_equal(program_compile("s.sql", text, LONG, PROGRAM_AS_PGBENCH, names, arena, &program, &err), PL_OK);
    text[50001] = '*';
    assert_int_equal(program_compile("s.sql", text, LONG, PROGRAM_AS_PGBENCH, names, arena, &program, &err), PL_INPUT);
    assert_int_equal(err.col, 50002);
    const char *newline = strchr(err.hint, '\n'), *caret = strchr(err.hint, '^');
    assert_non_null(newline);
    assert_non_null(caret);
    assert_true(newline - err.hint < 1000);
    assert_int_equal(err.hint[caret - newline - 1], '*');
    assert_int_equal(err.hint[caret - newline - 2], '*');
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test_setup_teardown(test_errors, script_setup, script_teardown),
                                       cmocka_unit_test(test_kinds),
                                       cmocka_unit_test_setup_teardown(test_bytes, script_setup, script_teardown),
                                       cmocka_unit_test_setup_teardown(test_long_line, script_setup, script_teardown)};
    return cmocka_run_group_tests_name("bad", tests, NULL, NULL);
}
