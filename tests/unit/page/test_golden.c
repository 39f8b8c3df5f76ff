/* Pages compared byte for byte with tests/golden. After an intended change: PLIMSOLL_UPDATE_GOLDEN=1 and read the
 * difference. */
#include "support.h"

#include "base/file.h"
#include "pages.h"

static void compare(const struct study *study, enum page_format format, const char *path)
{
    size_t length, golden_length = 0;
    char *page = page_text_of(study, format, &length), *golden = NULL;
    struct pl_err err = {0};
    struct pl_arena *arena = pl_arena_new();
    const char *update = getenv("PLIMSOLL_UPDATE_GOLDEN");
    if (update != NULL && strcmp(update, "1") == 0)
        assert_int_equal(pl_file_write(path, page, length, &err), PL_OK);
    if (pl_file_read(path, PL_MAX_PAGE_BYTES, arena, &golden, &golden_length, &err) != PL_OK)
        fail_msg("%s: %s", path, err.what);
    size_t same = 0, line = 1;
    while (same < length && same < golden_length && page[same] == golden[same])
        line += page[same++] == '\n';
    if (same < length || same < golden_length)
        fail_msg("%s:%zu differs: \"%.60s\" is now \"%.60s\"; if that is meant, run with PLIMSOLL_UPDATE_GOLDEN=1", path,
                 line, golden + same, page + same);
    pl_arena_free(arena);
    pl_free(page);
}

static void test_markdown(void **state)
{
    (void)state;
    struct synth *synth = full_study();
    compare(&synth->study, PAGE_MARKDOWN, "tests/golden/full.md");
    synth_free(synth);
}

static void test_html(void **state)
{
    (void)state;
    struct synth *synth = full_study();
    compare(&synth->study, PAGE_HTML, "tests/golden/full.html");
    synth_free(synth);
}

static void test_json(void **state)
{
    (void)state;
    struct synth *synth = small_study();
    compare(&synth->study, PAGE_JSON, "tests/golden/small.json");
    synth_free(synth);
}

static void test_compared(void **state)
{
    (void)state;
    struct synth *synth = compared_study();
    compare(&synth->study, PAGE_MARKDOWN, "tests/golden/compare.md");
    compare(&synth->study, PAGE_HTML, "tests/golden/compare.html");
    synth_free(synth);
}

static void test_http(void **state)
{
    (void)state;
    struct synth *synth = http_study();
    compare(&synth->study, PAGE_MARKDOWN, "tests/golden/http.md");
    compare(&synth->study, PAGE_HTML, "tests/golden/http.html");
    compare(&synth->study, PAGE_JSON, "tests/golden/http.json");
    synth_free(synth);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_markdown), cmocka_unit_test(test_html), cmocka_unit_test(test_json),
        cmocka_unit_test(test_compared), cmocka_unit_test(test_http),
    };
    return cmocka_run_group_tests_name("golden", tests, NULL, NULL);
}
