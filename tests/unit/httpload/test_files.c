/* Files beside the report: percentiles, histograms by the second, the log of operations; and disks that are full. */
#include "made.h"

#include <stdlib.h>
#include <unistd.h>

#include "base/file.h"

static const char *path_of(struct made *made, const char *name)
{
    return pl_format(made->arena, "/tmp/plimsoll-test-http-%s-%d", name, (int)getpid());
}

static char *content(struct made *made, const char *path)
{
    struct pl_err err = {0};
    char *text = NULL;
    size_t length = 0;
    MUST(pl_file_read(path, 1 << 20, made->arena, &text, &length, &err), err);
    unlink(path);
    return text;
}

static void test_hgrm(void **state)
{
    struct made *made = *state;
    struct pl_err err = {0};
    made_begin(made, 0);
    made_add(made, (struct made_slice){.ledger = {.due = 100, .completed = 100}, .low_ns = MS, .high_ns = 3 * MS});
    const char *path = path_of(made, "hgrm");
    MUST(httpload_hgrm_write(path, &made->total, &err), err);
    const char *text = content(made, path);
    assert_non_null(strstr(text, "Percentile"));
    assert_non_null(strstr(text, "Total count    =          100"));
    assert_int_equal(httpload_hgrm_write("/nowhere/x", &made->total, &err), PL_IO);
}

static void hlog_put(struct httpload_hlog *hlog, int64_t from_ns, int64_t to_ns, int group, int64_t count, int step,
                     enum phase due_in)
{
    struct hist hist;
    struct pl_err err = {0};
    hist_init_latency(&hist);
    hist_record_n(&hist, MS, count);
    const struct slice slice = {.start_ns = START + from_ns,
                                .end_ns = START + to_ns,
                                .during = PHASE_MEASURE,
                                .due_in = due_in,
                                .step = step,
                                .group = group,
                                .response = &hist};
    MUST(httpload_hlog_slice(hlog, &slice, &err), err);
    hist_release(&hist);
}

/* The lines of intervals: tag and beginning. */
static size_t intervals(char *text, const char **tags, double *starts_s)
{
    size_t count = 0;
    for (char *line = text; *line != '\0';) {
        char *end = line + strcspn(line, "\n"), *number = line;
        bool has_tag = strncmp(line, "Tag=", 4) == 0;
        if (has_tag) {
            number = strchr(line, ',') + 1;
            number[-1] = '\0';
        }
        if (has_tag || (*line >= '0' && *line <= '9')) {
            tags[count] = has_tag ? line + 4 : "";
            starts_s[count++] = strtod(number, NULL);
        }
        line = *end == '\0' ? end : end + 1;
    }
    return count;
}

static void test_hlog(void **state)
{
    struct made *made = *state;
    struct httpload_hlog *hlog = NULL;
    struct pl_err err = {0};
    const char *tags[32];
    double starts_s[32];
    made->options.hlog_path = path_of(made, "hlog");
    MUST(httpload_hlog_open(&made->options, &hlog, &err), err);
    MUST(httpload_hlog_start(hlog, START, 1700000000 * SECOND, &err), err);
    hlog_put(hlog, 0, SECOND, 0, 5, -1, PHASE_MEASURE);
    hlog_put(hlog, 0, SECOND, 0, 6, -1, PHASE_MEASURE); /* another worker's */
    hlog_put(hlog, 0, SECOND, 0, 7, 0, PHASE_MEASURE);  /* a request: not an operation */
    hlog_put(hlog, 0, SECOND, 0, 8, -1, PHASE_WARM_UP);
    hlog_put(hlog, 2 * SECOND, 3 * SECOND, 0, 1, -1, PHASE_MEASURE);
    hlog_put(hlog, 9 * SECOND, 10 * SECOND, 0, 2, -1, PHASE_MEASURE);
    hlog_put(hlog, SECOND, 2 * SECOND, 0, 3, -1, PHASE_MEASURE); /* too late for its own interval, and not lost */
    MUST(httpload_hlog_close(hlog, &err), err);
    char *text = content(made, made->options.hlog_path);
    assert_memory_equal(text, "#", 1);
    assert_int_equal(intervals(text, tags, starts_s), 4);
    assert_close(starts_s[0], 0, 0, 1e-9);
    assert_close(starts_s[1], 2, 0, 1e-9);
    assert_close(starts_s[2], 6, 0, 1e-9);
    assert_close(starts_s[3], 9, 0, 1e-9);
}

static void test_hlog_of_groups(void **state)
{
    struct made *made = *state;
    struct httpload_hlog *hlog = NULL;
    struct pl_err err = {0};
    const char *tags[32];
    double starts_s[32];
    made_tenants(made);
    made->options.hlog_path = path_of(made, "hlog-groups");
    MUST(httpload_hlog_open(&made->options, &hlog, &err), err);
    MUST(httpload_hlog_start(hlog, START, 1700000000 * SECOND, &err), err);
    hlog_put(hlog, 0, SECOND, 1, 5, -1, PHASE_MEASURE);
    hlog_put(hlog, 0, SECOND, 0, 6, -1, PHASE_MEASURE);
    MUST(httpload_hlog_close(hlog, &err), err);
    char *text = content(made, made->options.hlog_path);
    assert_int_equal(intervals(text, tags, starts_s), 2);
    assert_string_equal(tags[0], "gold");
    assert_string_equal(tags[1], "free");
}

static void test_log(void **state)
{
    struct made *made = *state;
    struct httpload_log *log = NULL;
    struct pl_err err = {0};
    const struct operation operations[] = {
        {.due_ns = START,
         .sent_ns = START + US,
         .done_ns = START + MS,
         .number = 1,
         .client = 7,
         .end = OPERATION_COMPLETED},
        {.due_ns = START + 5, .done_ns = START + MS, .number = 2, .client = 7, .script = 1, .end = OPERATION_SKIPPED},
        {.due_ns = START, .sent_ns = START, .done_ns = START + SECOND, .number = 1, .client = 8, .end = OPERATION_EXPIRED},
        {.due_ns = START, .sent_ns = START, .done_ns = START + 2, .number = 1, .retries = 2, .end = OPERATION_FAILED}};
    made->options.log_path = path_of(made, "log");
    MUST(httpload_log_open(&made->options, &log, &err), err);
    httpload_log_start(log, 1700000000 * SECOND - START);
    MUST(httpload_log_operations(log, operations, 1, &err), err);
    MUST(httpload_log_operations(log, operations + 1, 3, &err), err);
    MUST(httpload_log_close(log, &err), err);
    assert_string_equal(content(made, made->options.log_path),
                        "#due_unix_s\tresponse_ns\tservice_ns\tscript\tclient\tnumber\tretries\tend\n"
                        "1700000000.000000000\t1000000\t999000\t1\t7\t1\t0\tcompleted\n"
                        "1700000000.000000005\t999995\t-\t2\t7\t2\t0\tskipped\n"
                        "1700000000.000000000\t1000000000\t1000000000\t1\t8\t1\t0\texpired\n"
                        "1700000000.000000000\t2\t2\t1\t0\t1\t2\tfailed\n");
}

static void test_full_disk(void **state)
{
    struct made *made = *state;
    struct httpload_log *log = NULL;
    struct httpload_hlog *hlog = NULL;
    struct pl_err log_err = {0}, hlog_err = {0}, none_err = {0};
    const struct operation operation = {.due_ns = START, .sent_ns = START, .done_ns = START + 2, .number = 1};
    made->options.log_path = made->options.hlog_path = "/dev/full";
    enum pl_code code = httpload_log_open(&made->options, &log, &log_err);
    for (int i = 0; i < 10000 && code == PL_OK; i++)
        code = httpload_log_operations(log, &operation, 1, &log_err);
    assert_int_equal(code, PL_IO);
    assert_non_null(strstr(log_err.what, "/dev/full"));
    code = httpload_log_close(log, &log_err); /* what failed before is known, and gone */
    code = httpload_hlog_open(&made->options, &hlog, &hlog_err);
    assert_int_equal(code, PL_OK);
    code = httpload_hlog_start(hlog, START, START, &hlog_err);
    assert_int_equal(httpload_hlog_close(hlog, &hlog_err), PL_IO);
    made->options.log_path = "/nowhere/log";
    assert_int_equal(httpload_log_open(&made->options, &log, &none_err), PL_IO);
    assert_int_equal(httpload_log_close(log, &none_err), PL_OK);
    assert_int_equal(httpload_log_close(NULL, &none_err), PL_OK);
    assert_int_equal(httpload_hlog_close(NULL, &none_err), PL_OK);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        MADE_TEST(test_hgrm), MADE_TEST(test_hlog),      MADE_TEST(test_hlog_of_groups),
        MADE_TEST(test_log),  MADE_TEST(test_full_disk),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
