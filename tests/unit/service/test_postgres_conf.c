/* Settings as lines of postgresql.conf. */
#include "service_support.h"

#include "base/rng.h"
#include "service/postgres_int.h"

static void bad_settings_are_refused(void **state)
{
    (void)state;
    static const char *const names[] = {
        "", "1x", "a b", "a'b", "a\nb", "a=b", "port", "Data_Directory", "include", "lc_messages", "primary_conninfo"};
    struct pl_buf out;
    pl_buf_init(&out, 4096);
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        struct pl_err err = {0};
        assert_int_equal(postgres_put_setting(&out, names[i], "1", &err), PL_INPUT);
    }
    struct pl_err err = {0};
    assert_int_equal(postgres_put_setting(&out, "work_mem", "1\n2", &err), PL_INPUT);
    pl_buf_clear(&out);
    err = (struct pl_err){0};
    assert_ok(postgres_put_setting(&out, "pg_stat_statements.track", "a'b\\c", &err));
    assert_string_equal(pl_buf_text(&out), "pg_stat_statements.track = 'a''b\\\\c'\n");
    pl_buf_release(&out);
}

/* The server's own rules (DeescapeQuotedString), written again: the value between the quotes comes back, and the closing
 * quote is the last character of the line. */
static void any_value_comes_back_as_it_was(void **state)
{
    (void)state;
    struct pl_rng rng;
    pl_rng_init(&rng, 1, PL_RNG_TEST, 0);
    for (int round = 0; round < 2000; round++) {
        char value[32], back[64];
        size_t length = (size_t)pl_rng_range(&rng, 0, 30), used = 0;
        for (size_t i = 0; i < length; i++)
            value[i] = "'\\nab0 \"#=;\xc3"[pl_rng_range(&rng, 0, 11)];
        value[length] = '\0';
        struct pl_buf out;
        struct pl_err err = {0};
        pl_buf_init(&out, 4096);
        assert_ok(postgres_put_setting(&out, "x", value, &err));
        const char *at = pl_buf_text(&out) + strlen("x = '");
        for (; !(at[0] == '\'' && at[1] != '\''); at++) {
            assert_int_not_equal(*at, '\0');
            if (*at == '\\' || *at == '\'')
                at++;
            back[used++] = *at;
        }
        back[used] = '\0';
        assert_string_equal(at, "'\n");
        assert_string_equal(back, value);
        pl_buf_release(&out);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(bad_settings_are_refused),
        cmocka_unit_test(any_value_comes_back_as_it_was),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
