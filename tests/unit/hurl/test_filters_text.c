/* base64, URLs and HTML on random bytes: what is encoded is decoded to the same; charsets. */
#include "run_test.h"

static struct hurl_any value;

static bool run_filters(const enum hurl_filter_kind *kinds, size_t count)
{
    struct hurl_filter filters[4] = {0};
    static const struct hurl_request request = {.name = "t.hurl"};
    struct hurl_run run = {.work = work, .scratch = &work->scratch, .request = &request, .vars = vars};
    work->has_failed = false;
    for (size_t i = 0; i < count; i++)
        filters[i].kind = kinds[i];
    return hurl_filters_run(&run, filters, count, &value);
}

static void test_round_trips(void **state)
{
    (void)state;
    static const enum hurl_filter_kind ways[][2] = {
        {HURL_FILTER_BASE64_ENCODE, HURL_FILTER_BASE64_DECODE},
        {HURL_FILTER_BASE64_URL_SAFE_ENCODE, HURL_FILTER_BASE64_URL_SAFE_DECODE},
        {HURL_FILTER_URL_ENCODE, HURL_FILTER_URL_DECODE},
        {HURL_FILTER_HTML_ESCAPE, HURL_FILTER_HTML_UNESCAPE},
        {HURL_FILTER_UTF8_ENCODE, HURL_FILTER_UTF8_DECODE},
    };
    struct pl_rng random;
    char bytes[100];
    pl_rng_init(&random, 4, PL_RNG_TEST, 0);
    for (int round = 0; round < 20000; round++) {
        size_t way = (size_t)round % COUNT(ways), length = (size_t)pl_rng_range(&random, 0, sizeof bytes);
        bool is_binary = way < 2;
        for (size_t i = 0; i < length; i++)
            bytes[i] = (char)(is_binary ? pl_rng_range(&random, -128, 127) : pl_rng_range(&random, 0, 127));
        hurl_scratch_reset(&work->scratch);
        value = (struct hurl_any){.kind = is_binary ? HURL_BYTES : HURL_TEXT, .text = {bytes, length}};
        assert_true(run_filters(&ways[way][0], 1));
        assert_int_equal(value.kind, way == 4 ? HURL_BYTES : HURL_TEXT);
        assert_true(run_filters(&ways[way][1], 1));
        assert_int_equal(value.text.length, length);
        assert_memory_equal(value.text.text, bytes, length);
    }
}

/* Of random texts every one is decoded to something that is encoded to the same, or refused. */
static void test_base64_is_strict(void **state)
{
    (void)state;
    static const char *const bad[] = {
        "A", "AAAAA", "AB", "AAB", "A===", "AA=", "AAAA=", "AA==AA==", "AA A", "AAA\n", "=", "===="};
    static const enum hurl_filter_kind kind = HURL_FILTER_BASE64_DECODE;
    for (size_t i = 0; i < COUNT(bad); i++) {
        value = hurl_text_value(bad[i], strlen(bad[i]));
        if (run_filters(&kind, 1))
            fail_msg("%s", bad[i]);
    }
    static const char *const good[] = {"", "AA==", "AA", "AAA=", "AAA", "AAAA", "+/+/"};
    for (size_t i = 0; i < COUNT(good); i++) {
        value = hurl_text_value(good[i], strlen(good[i]));
        assert_true(run_filters(&kind, 1));
    }
}

static void test_entities(void **state)
{
    (void)state;
    static const struct {
        const char *text, *meant;
    } texts[] = {{"&lt;&gt;&amp;&quot;&apos;", "<>&\"'"},
                 {"&AElig;&zwnj;&euro;&thetasym;", "\xc3\x86\xe2\x80\x8c\xe2\x82\xac\xcf\x91"},
                 {"&#65;&#x41;&#X1F600;", "AA\xf0\x9f\x98\x80"},
                 {"&#0;&#xD800;&#x110000;&#99999999999999;", "\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbd"},
                 {"&lt &#65 &#; &#x; &#xg; &nosuch; &thetasymx; &", "&lt &#65 &#; &#x; &#xg; &nosuch; &thetasymx; &"},
                 {"&&lt;;", "&<;"}};
    static const enum hurl_filter_kind kind = HURL_FILTER_HTML_UNESCAPE;
    for (size_t i = 0; i < COUNT(texts); i++) {
        value = hurl_text_value(texts[i].text, strlen(texts[i].text));
        assert_true(run_filters(&kind, 1));
        assert_string_equal(pl_strndup(arena, value.text.text, value.text.length), texts[i].meant);
    }
}

static void test_charsets(void **state)
{
    (void)state;
    static const struct {
        const char *charset, *bytes, *text;
    } texts[] = {{"utf-8", "\xe4\xbd\xa0", "\xe4\xbd\xa0"},
                 {"UTF8", "a", "a"},
                 {"gb2312", "\xc4\xe3\xba\xc3\xca\xc0\xbd\xe7", "\xe4\xbd\xa0\xe5\xa5\xbd\xe4\xb8\x96\xe7\x95\x8c"},
                 {"latin1", "\xe9\x80", "\xc3\xa9\xe2\x82\xac"},
                 {"iso-8859-15", "\xa4", "\xe2\x82\xac"},
                 {"shift_jis", "\x83\x65", "\xe3\x83\x86"},
                 {"utf-16le", "a\xe9", NULL},
                 {"utf-8", "\xff", NULL},
                 {"us-ascii", "\xe9", "\xc3\xa9"},
                 {"gb2312", "\xff\xff", NULL},
                 {"gb2312", "\xc4", NULL},
                 {"", "a", NULL},
                 {"utf-8//IGNORE", "a", NULL},
                 {"0123456789012345678901234567890123456789", "a", NULL}};
    struct hurl_run run = {
        .work = work, .scratch = &work->scratch, .request = &(struct hurl_request){.name = ""}, .vars = vars};
    for (int round = 0; round < 2; round++)
        for (size_t i = 0; i < COUNT(texts); i++) {
            struct hurl_slice text;
            work->has_failed = false;
            bool is_good = hurl_decode(&run, (struct hurl_place){0}, texts[i].charset, strlen(texts[i].charset),
                                       (struct hurl_slice){texts[i].bytes, strlen(texts[i].bytes)}, &text);
            if (texts[i].text == NULL ? is_good && i != 6 : !is_good)
                fail_msg("%s: %s", texts[i].charset, work->why);
            if (texts[i].text != NULL)
                assert_string_equal(pl_strndup(arena, text.text, text.length), texts[i].text);
        }
    /* more than fits at first */
    enum { LONG = 100000 };
    char *bytes = pl_alloc(arena, LONG, 1);
    struct hurl_slice text;
    memset(bytes, 0x80, LONG);
    hurl_scratch_reset(&work->scratch);
    assert_true(hurl_decode(&run, (struct hurl_place){0}, "windows-1252", 12, (struct hurl_slice){bytes, LONG}, &text));
    assert_int_equal(text.length, 3 * LONG);
    for (size_t i = 0; i < text.length; i += 3)
        assert_memory_equal(text.text + i, "\xe2\x82\xac", 3);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_round_trips, run_setup, run_teardown),
        cmocka_unit_test_setup_teardown(test_base64_is_strict, run_setup, run_teardown),
        cmocka_unit_test_setup_teardown(test_entities, run_setup, run_teardown),
        cmocka_unit_test_setup_teardown(test_charsets, run_setup, run_teardown),
    };
    return cmocka_run_group_tests_name("filters_text", tests, NULL, NULL);
}
