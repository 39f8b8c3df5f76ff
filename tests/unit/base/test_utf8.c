/* UTF-8: what is good stays, what is not is replaced, byte by byte. */
#include "support.h"

#include <string.h>

#include "base/rng.h"
#include "base/utf8.h"

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

static void test_broken_bytes_are_replaced(void **state)
{
    (void)state;
    static const struct {
        const char *bytes, *expected;
    } cases[] = {
        {"a\xff z", "a\xef\xbf\xbd z"},                                                             /* no such lead byte */
        {"\xc3(", "\xef\xbf\xbd("},                                                                 /* cut off */
        {"\xc0\xaf", "\xef\xbf\xbd\xef\xbf\xbd"},                                                   /* overlong */
        {"\xed\xa0\x80", "\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbd"},                                   /* surrogate */
        {"\xf4\x90\x80\x80", "\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbd"},                   /* beyond U+10FFFF */
        {"x\xe2\x82", "x\xef\xbf\xbd\xef\xbf\xbd"},                                                 /* ends inside */
        {"Caf\xc3\xa9 \xe2\x80\x94 \xf0\x9f\x9a\xa2", "Caf\xc3\xa9 \xe2\x80\x94 \xf0\x9f\x9a\xa2"}, /* good text stays */
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
        assert_string_equal(pl_utf8_repair(arena, cases[i].bytes), cases[i].expected);
}

/* Every character there is, out and in again. */
static void test_round_trip(void **state)
{
    (void)state;
    for (uint32_t code = 1; code <= 0x10FFFF; code++) {
        char bytes[5] = "";
        uint32_t again = 0;
        size_t length = (size_t)(pl_utf8_encode(bytes, code) - bytes);
        size_t expected = code >= 0xD800 && code <= 0xDFFF ? 0 : length;
        assert_int_equal(pl_utf8_decode((const unsigned char *)bytes, length, &again), expected);
        assert_true(expected == 0 || again == code);
        if (length > 1) /* cut off */
            assert_int_equal(pl_utf8_decode((const unsigned char *)bytes, length - 1, &again), 0);
    }
}

static void test_any_bytes(void **state)
{
    (void)state;
    struct pl_rng rng;
    pl_rng_init(&rng, 3, 0, 0);
    for (int round = 0; round < 2000; round++) {
        char bytes[40] = "";
        for (int64_t i = pl_rng_range(&rng, 0, 39); i-- > 0;)
            bytes[i] = (char)pl_rng_range(&rng, 1, 255);
        const char *repaired = pl_utf8_repair(arena, bytes);
        assert_string_equal(pl_utf8_repair(arena, repaired), repaired);
        for (size_t at = 0, length = strlen(repaired), size; at < length; at += size) {
            uint32_t code;
            size = pl_utf8_decode((const unsigned char *)repaired + at, length - at, &code);
            assert_true(size > 0);
        }
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_broken_bytes_are_replaced),
        cmocka_unit_test(test_round_trip),
        cmocka_unit_test(test_any_bytes),
    };
    return cmocka_run_group_tests(tests, setup, teardown);
}
