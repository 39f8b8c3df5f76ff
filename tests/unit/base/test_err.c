#include "support.h"

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/err.h"

static void test_set_returns_its_code(void **state)
{
    (void)state;
    struct pl_err err = {0};
    assert_int_equal(pl_err_set(&err, PL_USAGE, "%d things", 3), PL_USAGE);
    assert_int_equal(err.code, PL_USAGE);
    assert_string_equal(err.what, "3 things");
    assert_true(err.os_errno == 0 && err.line == 0 && err.file[0] == '\0' && err.hint[0] == '\0');
}

static void test_first_error_wins(void **state)
{
    (void)state;
    struct pl_err err = {0};
    pl_err_at(&err, PL_INPUT, "a.yaml", 3, 7, "first");
    struct pl_err before = err;
    assert_int_equal(pl_err_set(&err, PL_IO, "second"), PL_INPUT);
    assert_int_equal(pl_err_os(&err, PL_IO, ENOSPC, "second"), PL_INPUT);
    assert_int_equal(pl_err_at(&err, PL_LIMIT, "b.yaml", 1, 1, "second"), PL_INPUT);
    assert_memory_equal(&err, &before, sizeof err);
}

static void test_os_appends_the_reason(void **state)
{
    (void)state;
    struct pl_err err = {0};
    assert_int_equal(pl_err_os(&err, PL_IO, ENOSPC, "cannot write \"%s\"", "x.study"), PL_IO);
    assert_string_equal(err.what, "cannot write \"x.study\": No space left on device");
    assert_int_equal(err.os_errno, ENOSPC);
}

static void test_hint_is_set_once(void **state)
{
    (void)state;
    struct pl_err err = {0};
    pl_err_set(&err, PL_INPUT, "unknown key \"rat\"");
    pl_err_hint(&err, "Did you mean \"%s\"?", "rate");
    pl_err_hint(&err, "Something else.");
    assert_string_equal(err.hint, "Did you mean \"rate\"?");
}

static void test_context_goes_in_front(void **state)
{
    (void)state;
    struct pl_err err = {0};
    pl_err_set(&err, PL_SERVICE, "it would not start");
    pl_err_context(&err, "service \"%s\"", "db");
    pl_err_context(&err, "stage %d", 2);
    assert_string_equal(err.what, "stage 2: service \"db\": it would not start");
    assert_int_equal(err.code, PL_SERVICE);
}

static void test_arguments_may_be_of_the_error_itself(void **state)
{
    (void)state;
    struct pl_err err = {0};
    pl_err_set(&err, PL_SERVICE, "abc");
    pl_err_context(&err, "%s and %s", err.what, err.what);
    assert_string_equal(err.what, "abc and abc: abc");
}

static void test_text(void **state)
{
    (void)state;
    char text[400];
    struct pl_err err = {0};
    pl_err_at(&err, PL_INPUT, "a.yaml", 3, 7, "wrong");
    assert_string_equal(pl_err_text(&err, text, sizeof text), "a.yaml:3:7: wrong");
    pl_err_hint(&err, "Do this.");
    assert_string_equal(pl_err_text(&err, text, sizeof text), "a.yaml:3:7: wrong\nDo this.");
    struct pl_err whole = {0};
    pl_err_at(&whole, PL_INPUT, "a.yaml", 0, 0, "empty");
    assert_string_equal(pl_err_text(&whole, text, sizeof text), "a.yaml: empty");
    struct pl_err plain = {0};
    pl_err_at(&plain, PL_INPUT, NULL, 0, 0, "no place");
    assert_string_equal(pl_err_text(&plain, text, sizeof text), "no place");
    assert_string_equal(pl_err_text(&err, text, 8), "a.yaml:");
}

static void assert_is_utf8(const char *text)
{
    for (const unsigned char *at = (const unsigned char *)text; *at != '\0';) {
        int more = *at < 0x80 ? 0 : *at >= 0xf0 ? 3 : *at >= 0xe0 ? 2 : *at >= 0xc0 ? 1 : -1;
        assert_true(more >= 0);
        for (at++; more > 0; more--, at++)
            assert_true((*at & 0xc0) == 0x80);
    }
}

/* Every alignment of characters of two, three and four bytes with the end of the field. */
static void test_long_text_is_cut_between_characters(void **state)
{
    (void)state;
    static const char *const characters[] = {"\xc3\xa9", "\xe2\x82\xac", "\xf0\x9f\x9a\xa2"};
    for (int kind = 0; kind < 3; kind++)
        for (int shift = 0; shift < 5; shift++) {
            char text[900] = "";
            memset(text, 'x', (size_t)shift);
            for (size_t i = (size_t)shift; i + 5 < sizeof text; i += strlen(characters[kind]))
                memcpy(text + i, characters[kind], strlen(characters[kind]) + 1);
            struct pl_err err = {0};
            pl_err_at(&err, PL_INPUT, text, 1, 1, "%s", text);
            pl_err_hint(&err, "%s", text);
            assert_is_utf8(err.file);
            assert_is_utf8(err.what);
            assert_is_utf8(err.hint);
            assert_in_range(strlen(err.what), sizeof err.what - 4, sizeof err.what - 1);
            pl_err_context(&err, "where it was");
            assert_is_utf8(err.what);
            assert_true(strncmp(err.what, "where it was: ", 14) == 0);
            struct pl_err os = {0};
            pl_err_os(&os, PL_IO, EIO, "%s", text);
            assert_is_utf8(os.what);
        }
}

static void test_code_names(void **state)
{
    (void)state;
    for (int code = 0; code < PL_CODE_COUNT; code++)
        assert_true(pl_code_name((enum pl_code)code)[0] != '\0');
    assert_string_equal(pl_code_name(PL_USAGE), "usage");
    assert_string_equal(pl_code_name(PL_CODE_COUNT), "unknown");
}

static void test_panic_says_why_and_aborts(void **state)
{
    (void)state;
    int ends[2];
    assert_int_equal(pipe(ends), 0);
    fflush(NULL);
    pid_t child = fork();
    if (child == 0) {
        dup2(ends[1], STDERR_FILENO);
        signal(SIGABRT, SIG_DFL);
        pl_panic("lost %d of %s", 3, "them");
    }
    close(ends[1]);
    char said[200] = "";
    ssize_t length = read(ends[0], said, sizeof said - 1);
    close(ends[0]);
    int status;
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_true(WIFSIGNALED(status) && WTERMSIG(status) == SIGABRT);
    assert_true(length > 0);
    assert_non_null(strstr(said, "plimsoll: internal fault: "));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_set_returns_its_code),
        cmocka_unit_test(test_first_error_wins),
        cmocka_unit_test(test_os_appends_the_reason),
        cmocka_unit_test(test_hint_is_set_once),
        cmocka_unit_test(test_context_goes_in_front),
        cmocka_unit_test(test_arguments_may_be_of_the_error_itself),
        cmocka_unit_test(test_text),
        cmocka_unit_test(test_long_text_is_cut_between_characters),
        cmocka_unit_test(test_code_names),
        cmocka_unit_test(test_panic_says_why_and_aborts),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
