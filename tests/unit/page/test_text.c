/* Bytes from outside, made safe to show. */
#include "support.h"

#include <string.h>

#include "base/rng.h"
#include "base/utf8.h"
#include "page/page_int.h"

static struct pl_arena *arena;

static int setup(void **state)
{
    (void)state;
    arena = pl_arena_new();
    return 0;
}

static int teardown(void **state)
{
    (void)state;
    pl_arena_free(arena);
    return 0;
}

static void test_good_text_stays(void **state)
{
    (void)state;
    static const char good[] = "Caf\xc3\xa9 \xe2\x80\x94 \xf0\x9f\x9a\xa2 100 %";
    assert_string_equal(page_text_line(arena, good), good);
    assert_int_equal(page_text_width(good), 14);
    assert_string_equal(page_text_line(arena, ""), "");
}

static void test_nothing_invisible_stays(void **state)
{
    (void)state;
    assert_string_equal(page_text_line(arena, "a\nb\tc\rd"), "a b c d");
    assert_string_equal(page_text_line(arena, "\x1b[31m\x07"), "\xe2\x90\x9b[31m\xe2\x90\x87");
    assert_string_equal(page_text_line(arena, "\x7f"), "\xe2\x90\xa1");
    assert_string_equal(page_text_line(arena, "\xe2\x80\xae"
                                              "evil"),
                        "\xef\xbf\xbd"
                        "evil");                                            /* right-to-left override */
    assert_string_equal(page_text_line(arena, "\xc2\x85"), "\xef\xbf\xbd"); /* C1 control */
    assert_string_equal(page_text_lines(arena, "a\n\tb\x01"), "a\n b\xe2\x90\x81");
}

/* Whatever goes in, what comes out is UTF-8 and unchanged by a second pass. */
static void test_random_bytes(void **state)
{
    (void)state;
    struct pl_rng rng;
    pl_rng_init(&rng, 1, PL_RNG_TEST, 3);
    for (int round = 0; round < 3000; round++) {
        char bytes[33];
        size_t length = (size_t)pl_rng_range(&rng, 0, 32);
        for (size_t i = 0; i < length; i++)
            bytes[i] = (char)pl_rng_range(&rng, 1, 255);
        bytes[length] = '\0';
        const char *line = page_text_line(arena, bytes), *repaired = pl_utf8_repair(arena, bytes);
        assert_string_equal(page_text_line(arena, line), line);
        assert_string_equal(pl_utf8_repair(arena, repaired), repaired);
        assert_null(strpbrk(line, "\n\t\r\x1b"));
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_good_text_stays),
        cmocka_unit_test(test_nothing_invisible_stays),
        cmocka_unit_test(test_random_bytes),
    };
    return cmocka_run_group_tests_name("text", tests, setup, teardown);
}
