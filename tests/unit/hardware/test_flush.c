/* Flushing a file: the loop of our own, and what fio answers. */
#include "support.h"

#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/clock.h"
#include "hardware/hardware_int.h"

static int entries_in(const char *directory)
{
    int count = 0;
    DIR *opened = opendir(directory);
    assert_non_null(opened);
    while (readdir(opened) != NULL)
        count++;
    closedir(opened);
    return count - 2;
}

static char *directory_made(void)
{
    static char path[64];
    snprintf(path, sizeof path, "/tmp/plimsoll-test-XXXXXX");
    assert_non_null(mkdtemp(path));
    return path;
}

static void own_flush_measures_and_leaves_nothing(void **state)
{
    (void)state;
    char *directory = directory_made();
    struct pl_err err = {0};
    int64_t p50 = 0, p99 = 0, count = 0;
    assert_int_equal(hardware_flush(directory, 50 * PL_NS_PER_MS, &p50, &p99, &count, &err), PL_OK);
    assert_true(count >= 1);
    assert_true(p50 > 0 && p99 >= p50);
    assert_int_equal(hardware_flush(directory, 0, &p50, &p99, &count, &err), PL_OK);
    assert_int_equal(count, 1);
    assert_int_equal(entries_in(directory), 0);
    assert_int_equal(rmdir(directory), 0);
    assert_int_equal(hardware_flush(directory, 0, &p50, &p99, &count, &err), PL_IO);
    assert_non_null(strstr(err.what, directory));
}

static void fio_answers_are_read(void **state)
{
    (void)state;
    struct hardware_fio fio;
    struct pl_err err = {0};
    const char *good =
        "note: laying out\n{\"jobs\":[{\"error\":0,\"write\":{\"iops\":3510.5},"
        "\"sync\":{\"lat_ns\":{\"N\":17,\"percentile\":{\"50.000000\":264192,\"99.000000\":468992}}}}]}\ntail";
    assert_int_equal(hardware_parse_fio(good, strlen(good), &fio, &err), PL_OK);
    assert_int_equal(fio.flush_p50_ns, 264192);
    assert_int_equal(fio.flush_p99_ns, 468992);
    assert_int_equal(fio.flush_count, 17);
    assert_close(fio.writes_per_s, 3510.5, 0, 1e-9);
    static const char *const bad[] = {
        "",
        "fio: failed",
        "{",
        "{}",
        "{\"jobs\":[]}",
        "{\"jobs\":[{\"error\":0,\"write\":{\"iops\":1}}]}",
        "{\"jobs\":[{\"error\":28,\"write\":{\"iops\":1},\"sync\":{\"lat_ns\":{\"N\":1,\"percentile\":{\"50.000000\":1,"
        "\"99.000000\":1}}}}]}",
        "{\"jobs\":[{\"error\":0,\"write\":{\"iops\":1},\"sync\":{\"lat_ns\":{\"N\":0,\"percentile\":{\"50.000000\":1,"
        "\"99.000000\":1}}}}]}",
        "{\"jobs\":[{\"error\":0,\"write\":{\"iops\":\"1\"},\"sync\":{\"lat_ns\":{\"N\":1,\"percentile\":{\"50.000000\":1,"
        "\"99.000000\":1e300}}}}]}"};
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        err = (struct pl_err){0};
        assert_int_equal(hardware_parse_fio(bad[i], strlen(bad[i]), &fio, &err), PL_INPUT);
    }
}

/* A program that is no fio: its failure is an error, and its directory is gone. */
static void a_broken_fio_is_an_error(void **state)
{
    (void)state;
    char *directory = directory_made();
    struct hardware_fio fio;
    struct pl_err err = {0};
    assert_int_not_equal(hardware_run_fio("/bin/false", directory, PL_NS_PER_MS, NULL, &fio, &err), PL_OK);
    assert_int_equal(entries_in(directory), 0);
    assert_int_equal(rmdir(directory), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(own_flush_measures_and_leaves_nothing),
        cmocka_unit_test(fio_answers_are_read),
        cmocka_unit_test(a_broken_fio_is_an_error),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
