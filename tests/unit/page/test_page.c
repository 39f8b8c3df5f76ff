/* The page as a whole. */
#include "pages.h"

static void test_same_study_same_bytes(void **state)
{
    (void)state;
    for (int format = 0; format < PAGE_FORMAT_COUNT; format++) {
        struct synth *first = small_study(), *second = small_study();
        size_t first_length, second_length;
        char *a = page_text_of(&first->study, (enum page_format)format, &first_length);
        char *b = page_text_of(&second->study, (enum page_format)format, &second_length);
        assert_int_equal(first_length, second_length);
        assert_memory_equal(a, b, first_length);
        pl_free(a);
        pl_free(b);
        synth_free(first);
        synth_free(second);
    }
}

static void test_title_of_the_plan(void **state)
{
    (void)state;
    struct synth *synth = small_study();
    synth_fact(synth, "plan", "title", "Hardware requirements", "", "page: {title:}");
    synth_fact(synth, "host", "cpu_model", "A CPU", "", "/proc/cpuinfo");
    char *page = markdown_of(synth);
    assert_memory_equal(page, "# Hardware requirements\n\ndb: 15.14 on A CPU, measured 2025-11-30 09:00 UTC\n", 40);
    pl_free(page);
}

static void test_sections_in_order(void **state)
{
    (void)state;
    static const char *const order[] = {"## At a glance",
                                        "## What was measured, on what",
                                        "## Reference environment",
                                        "## Footprint",
                                        "## Throughput by number",
                                        "## Latency and cost by rate",
                                        "## Write-ahead log",
                                        "## Storage",
                                        "## How it was measured",
                                        "## All settings that differ from the defaults",
                                        "## The machine in full",
                                        "## How quiet the host was",
                                        "## Where every operation went",
                                        "## What went wrong",
                                        "## What was not measured",
                                        "## Where every number comes from",
                                        "## The plan"};
    char *page = markdown_of(full_study());
    const char *at = page;
    for (size_t i = 0; i < sizeof order / sizeof *order; i++) {
        at = strstr(at, order[i]);
        if (at == NULL)
            fail_msg("no \"%s\" in its place", order[i]);
    }
    pl_free(page);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_same_study_same_bytes),
        cmocka_unit_test(test_title_of_the_plan),
        cmocka_unit_test(test_sections_in_order),
    };
    return cmocka_run_group_tests_name("page", tests, NULL, NULL);
}
