#include "support.h"

#include <string.h>

#include "base/buf.h"

static void test_empty(void **state)
{
    (void)state;
    struct pl_buf buf;
    pl_buf_init(&buf, 100);
    assert_string_equal(pl_buf_text(&buf), "");
    pl_buf_put(&buf, "");
    assert_true(buf.len == 0 && !buf.full);
    pl_buf_release(&buf);
}

static void test_grows(void **state)
{
    (void)state;
    struct pl_buf buf;
    pl_buf_init(&buf, 1 << 20);
    for (int i = 0; i < 10000; i++)
        pl_buf_printf(&buf, "%04d,", i);
    assert_int_equal(buf.len, 50000);
    assert_false(buf.full);
    assert_memory_equal(pl_buf_text(&buf) + 5 * 1234, "1234,1235,", 10);
    assert_int_equal(buf.data[buf.len], '\0');
    pl_buf_release(&buf);
}

/* Up to the maximum fits; one byte more keeps what fits and says so. */
static void test_maximum(void **state)
{
    (void)state;
    struct pl_buf buf;
    pl_buf_init(&buf, 10);
    pl_buf_put(&buf, "0123456");
    pl_buf_printf(&buf, "%d", 789);
    assert_string_equal(pl_buf_text(&buf), "0123456789");
    assert_false(buf.full);
    pl_buf_put(&buf, "");
    assert_false(buf.full);
    pl_buf_put(&buf, "x");
    assert_true(buf.full);
    assert_string_equal(pl_buf_text(&buf), "0123456789");
    pl_buf_clear(&buf);
    assert_true(buf.len == 0 && !buf.full);
    assert_string_equal(pl_buf_text(&buf), "");
    pl_buf_printf(&buf, "%s", "abcdefghijkl");
    assert_true(buf.full);
    assert_string_equal(pl_buf_text(&buf), "abcdefghij");
    pl_buf_release(&buf);
}

static void test_maximum_of_nothing(void **state)
{
    (void)state;
    struct pl_buf buf;
    pl_buf_init(&buf, 0);
    pl_buf_put(&buf, "x");
    assert_true(buf.full && buf.len == 0);
    assert_string_equal(pl_buf_text(&buf), "");
    pl_buf_release(&buf);
}

static void test_bytes(void **state)
{
    (void)state;
    struct pl_buf buf;
    pl_buf_init(&buf, 100);
    pl_buf_put_bytes(&buf, "a\0b", 3);
    pl_buf_put_bytes(&buf, NULL, 0);
    assert_int_equal(buf.len, 3);
    assert_memory_equal(buf.data, "a\0b", 4);
    pl_buf_release(&buf);
}

static void test_release_makes_it_new(void **state)
{
    (void)state;
    struct pl_buf buf;
    pl_buf_init(&buf, 5);
    pl_buf_put(&buf, "123456");
    pl_buf_release(&buf);
    assert_true(buf.data == NULL && buf.len == 0 && !buf.full && buf.max == 5);
    pl_buf_put(&buf, "12");
    assert_string_equal(pl_buf_text(&buf), "12");
    pl_buf_release(&buf);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_empty),   cmocka_unit_test(test_grows),
        cmocka_unit_test(test_maximum), cmocka_unit_test(test_maximum_of_nothing),
        cmocka_unit_test(test_bytes),   cmocka_unit_test(test_release_makes_it_new),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
