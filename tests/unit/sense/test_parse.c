/* The readers of the kernel's text files, each on memory that ends right before an unreadable page. */
#include "support.h"

#include <stdio.h>
#include <string.h>

#include "sense/parse_int.h"

static char *guarded(const char *text)
{
    size_t length = strlen(text);
    char *copy = support_guard_alloc(length > 0 ? length : 1);
    memcpy(copy, text, length);
    return copy;
}

static void guard_free(char *copy, const char *text)
{
    support_guard_free(copy, strlen(text) > 0 ? strlen(text) : 1);
}

static bool cpu_of(const char *text, struct sense_cpu *cpu)
{
    char *copy = guarded(text);
    bool found = sense_parse_cpu(copy, strlen(text), cpu);
    guard_free(copy, text);
    return found;
}

/* Host noise, worked example: t0 and t1 of /proc/stat give busy 53.33 %, steal 6.67 % */
static void test_cpu_shares(void **state)
{
    (void)state;
    struct sense_cpu before, after;
    assert_true(cpu_of("cpu  1000 0 500 8000 100 0 0 400 0 0\n", &before));
    assert_true(cpu_of("cpu  1600 0 700 8600 100 0 0 500 0 0\n", &after));
    double total = (double)(sense_cpu_total(&after) - sense_cpu_total(&before));
    assert_close((double)(sense_cpu_busy(&after) - sense_cpu_busy(&before)) / total, 0.53333333, 1e-6, 0);
    assert_close((double)(after.steal - before.steal) / total, 0.06666667, 1e-6, 0);
}

static void test_cpu_guest_is_not_added_twice(void **state)
{
    (void)state;
    struct sense_cpu without, with;
    assert_true(cpu_of("cpu 100 20 30 400 50 6 7 8 0 0", &without));
    assert_true(cpu_of("cpu 100 20 30 400 50 6 7 8 90 15", &with));
    assert_int_equal(sense_cpu_total(&with), sense_cpu_total(&without));
    assert_int_equal(sense_cpu_busy(&with), 100 + 20 + 30 + 6 + 7);
    assert_int_equal(sense_cpu_total(&with), 100 + 20 + 30 + 400 + 50 + 6 + 7 + 8);
}

static void test_cpu_whole_file(void **state)
{
    (void)state;
    struct sense_cpu cpu;
    assert_true(cpu_of("cpu  4347 1 2671 212558 1122 2 81 22 0 0\ncpu0 1617 0 1005 107748 60 0 8 7 0 0\n"
                       "cpu1 2729 0 1666 104810 1061 0 73 14 0 0\nintr 199500 0 0\nctxt 430744\nbtime 1796021000\n"
                       "processes 9000\nprocs_running 3\nprocs_blocked 1\nsoftirq 1 2 3\n",
                       &cpu));
    assert_int_equal(cpu.user, 4347);
    assert_int_equal(cpu.kernel, 2671);
    assert_int_equal(cpu.softirq, 81);
    assert_int_equal(cpu.steal, 22);
    assert_int_equal(cpu.running, 3);
    assert_int_equal(cpu.blocked, 1);
}

static void test_cpu_bad(void **state)
{
    (void)state;
    struct sense_cpu cpu;
    assert_false(cpu_of("", &cpu));
    assert_false(cpu_of("cpu", &cpu));
    assert_false(cpu_of("cpu0 1 2 3 4 5 6 7 8\n", &cpu));
    assert_false(cpu_of("cpu 1 2 3\n", &cpu));
    assert_false(cpu_of("cpu 99999999999999999999 2 3 4\n", &cpu));
    assert_true(cpu_of("cpu 1 2 3 4\nprocs_running x\n", &cpu)); /* Linux 2.4 had no more */
    assert_int_equal(cpu.steal, 0);
    assert_int_equal(cpu.running, -1);
}

static struct sense_pressure pressure_of(const char *text, bool found)
{
    struct sense_pressure pressure;
    char *copy = guarded(text);
    assert_int_equal(sense_parse_pressure(copy, strlen(text), &pressure), found);
    guard_free(copy, text);
    return pressure;
}

/* PSI total 1,000,000 -> 1,600,000 us over 60 s is 1.0 % */
static void test_pressure(void **state)
{
    (void)state;
    struct sense_pressure before = pressure_of("some avg10=0.00 avg60=0.00 avg300=0.00 total=1000000\n", true);
    struct sense_pressure after = pressure_of("some avg10=1.10 avg60=1.00 avg300=0.30 total=1600000\n"
                                              "full avg10=0.10 avg60=0.00 avg300=0.00 total=7\n",
                                              true);
    assert_close((double)(after.some_us - before.some_us) / 60e6, 0.01, 1e-12, 0);
    assert_int_equal(before.full_us, -1); /* before Linux 5.13 */
    assert_int_equal(after.full_us, 7);
    assert_int_equal(pressure_of("full avg10=0.10 total=5", true).some_us, -1); /* the irq file has no `some` */
    pressure_of("", false);
    pressure_of("some avg10=0.00 total=\nfull total=x1 total=1x\n", false);
}

static bool stat_of(const char *text, struct sense_stat *stat)
{
    char *copy = guarded(text);
    bool found = sense_parse_stat(copy, strlen(text), stat);
    guard_free(copy, text);
    return found;
}

static void test_stat(void **state)
{
    (void)state;
    struct sense_stat stat;
    const char *const names[] = {"cat", "a b", "x) S 1 (y", ") R 7 8 9 (", ""};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        char text[400];
        snprintf(text, sizeof text,
                 "1234 (%s) S 77 1234 1234 0 -1 4194560 100 200 0 0 11 22 33 44 20 0 5 0 98765 3133440 444 "
                 "18446744073709551615 1 1 0 0 0 0 0 0 0 0 0 0 17 1 0 0 0 0 0 0 0 0 0 0 0 0 0\n",
                 names[i]);
        assert_true(stat_of(text, &stat));
        assert_int_equal(stat.pid, 1234);
        assert_int_equal(stat.ppid, 77);
        assert_int_equal(stat.state, 'S');
        assert_int_equal(stat.user, 11);
        assert_int_equal(stat.kernel, 22);
        assert_int_equal(stat.reaped_user, 33);
        assert_int_equal(stat.reaped_kernel, 44);
        assert_int_equal(stat.threads, 5);
        assert_int_equal(stat.start_ticks, 98765);
        assert_int_equal(stat.rss_pages, 444);
    }
    assert_false(stat_of("", &stat));
    assert_false(stat_of("1234 (cat) S 77 1234", &stat));
    assert_false(stat_of("1234 cat S 77 1 1 0 -1 4 1 2 0 0 11 22 33 44 20 0 5 0 98765 3 444 0", &stat));
    assert_false(stat_of("99999999999 (cat) S 77 1 1 0 -1 4 1 2 0 0 11 22 33 44 20 0 5 0 98765 3 444 0", &stat));
}

static void test_fields(void **state)
{
    (void)state;
    static const char *const keys[] = {"RssAnon", "VmPTE", "read_bytes", "anon", "Missing"};
    static const char text[] =
        "RssAnonX:\t   9 kB\nRssAnon:\t     112 kB\nRssAnon: 5 kB\nVmPTE:\t44 kB\nread_bytes: 4096\nanon 7";
    int64_t values[5];
    char *copy = guarded(text);
    assert_int_equal(sense_parse_fields(copy, strlen(text), keys, 5, values), 4);
    guard_free(copy, text);
    assert_int_equal(values[0], 112 * 1024);
    assert_int_equal(values[1], 44 * 1024);
    assert_int_equal(values[2], 4096);
    assert_int_equal(values[3], 7);
    assert_int_equal(values[4], -1);
    static const char bad[] = "anon\nanon \nanon x\nanon 12345678901234567890\nanon 9223372036854775807 kB\nanon 5x";
    assert_int_equal(sense_parse_fields(bad, strlen(bad), keys + 3, 1, values), 0);
    assert_int_equal(values[0], -1);
}

static void test_number(void **state)
{
    (void)state;
    int64_t value = -5;
    assert_true(sense_parse_number("9223372036854775807\n", 20, &value));
    assert_int_equal(value, INT64_MAX);
    assert_false(sense_parse_number("max\n", 4, &value));
    assert_false(sense_parse_number("", 0, &value));
    assert_false(sense_parse_number("-3\n", 3, &value));
    assert_false(sense_parse_number("9223372036854775808\n", 20, &value));
    assert_int_equal(value, INT64_MAX);
}

static void test_io_stat(void **state)
{
    (void)state;
    int64_t read_bytes, write_bytes;
    static const char text[] = "254:0 rbytes=4096 wbytes=8192 rios=1 wios=2 dbytes=77 dios=0\n"
                               "254:16 rbytes=1 wbytes=2\n7:0 \n8:0 rbytes=x wbytes=99999999999999999999\n";
    sense_parse_io_stat(text, strlen(text), &read_bytes, &write_bytes);
    assert_int_equal(read_bytes, 4097);
    assert_int_equal(write_bytes, 8194);
    sense_parse_io_stat("", 0, &read_bytes, &write_bytes);
    assert_int_equal(read_bytes, 0);
    assert_int_equal(write_bytes, 0);
}

static void test_disks(void **state)
{
    (void)state;
    struct sense_disk disks[3];
    static const char text[] =
        " 254       0 vda 38634 15382 2919762 19712 26915 8386 2309112 11781 0 14484 32500 11078 83 479848 799 4069 208\n"
        "   8       0 sda 1 2 3 4 5 6 7 8 9 10 11\n" /* before Linux 4.18: no discards, no flushes */
        "   8       1 sda1 1 2 3\n"
        "   8       2 a-name-that-no-kernel-would-ever-give-to-a-disk 1 2 3 4 5 6 7 8 9 10 11\n"
        " 259       0 nvme0n1 1 0 8 0 2 0 16 0 0 1 2 0 0 0 0 3 4\n"
        " 259       1 nvme1n1 1 0 8 0 2 0 16 0 0 1 2 0 0 0 0 3 4\n";
    char *copy = guarded(text);
    assert_int_equal(sense_parse_disks(copy, strlen(text), disks, 3), 3);
    guard_free(copy, text);
    assert_string_equal(disks[0].name, "vda");
    assert_int_equal(disks[0].reads, 38634);
    assert_int_equal(disks[0].read_bytes, INT64_C(2919762) * 512);
    assert_int_equal(disks[0].writes, 26915);
    assert_int_equal(disks[0].write_bytes, INT64_C(2309112) * 512);
    assert_int_equal(disks[0].busy_ms, 14484);
    assert_int_equal(disks[0].flushes, 4069);
    assert_int_equal(disks[0].flush_ms, 208);
    assert_string_equal(disks[1].name, "sda");
    assert_int_equal(disks[1].flushes, -1);
    assert_string_equal(disks[2].name, "nvme0n1");
    assert_int_equal(disks[2].flush_ms, 4);
}

static void test_statm_and_pids(void **state)
{
    (void)state;
    int64_t resident, shared;
    pid_t pids[2] = {0};
    assert_true(sense_parse_statm("765 444 416 5 0 90 0\n", 21, &resident, &shared));
    assert_int_equal(resident, 444);
    assert_int_equal(shared, 416);
    assert_false(sense_parse_statm("765 444", 7, &resident, &shared));
    assert_int_equal(sense_parse_pids("12\n345\n6789\n", 12, pids, 2), 3);
    assert_int_equal(pids[0], 12);
    assert_int_equal(pids[1], 345);
    assert_int_equal(sense_parse_pids("0\n-4\nx\n99999999999\n\n7", 21, pids, 2), 1);
    assert_int_equal(pids[0], 7);
    assert_int_equal(sense_parse_pids("", 0, NULL, 0), 0);
}

/* Every front part of every text, on guarded memory: nothing is read past the end. */
static void test_prefixes(void **state)
{
    (void)state;
    static const char *const texts[] = {"cpu  1 2 3 4 5 6 7 8 9 10\nprocs_running 3\nprocs_blocked 4\n",
                                        "some avg10=0.00 total=12\nfull avg10=0.00 total=34\n",
                                        "12 (a) b) S 7 1 1 0 -1 4 1 2 0 0 11 22 33 44 20 0 5 0 98 3 4 0\n",
                                        "anon 12 kB\nfile: 34 kB\n",
                                        "254:0 rbytes=12 wbytes=34\n",
                                        "254 0 vda 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17\n"};
    static const char *const keys[] = {"anon", "file"};
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
        for (size_t length = 1; length <= strlen(texts[i]); length++) {
            struct sense_cpu cpu;
            struct sense_pressure pressure;
            struct sense_stat stat;
            struct sense_disk disk;
            int64_t values[2];
            pid_t pid;
            char *copy = support_guard_alloc(length);
            memcpy(copy, texts[i], length);
            sense_parse_cpu(copy, length, &cpu);
            sense_parse_pressure(copy, length, &pressure);
            sense_parse_stat(copy, length, &stat);
            sense_parse_fields(copy, length, keys, 2, values);
            sense_parse_number(copy, length, values);
            sense_parse_io_stat(copy, length, values, values + 1);
            sense_parse_disks(copy, length, &disk, 1);
            sense_parse_statm(copy, length, values, values + 1);
            sense_parse_pids(copy, length, &pid, 1);
            support_guard_free(copy, length);
        }
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_cpu_shares),     cmocka_unit_test(test_cpu_guest_is_not_added_twice),
        cmocka_unit_test(test_cpu_whole_file), cmocka_unit_test(test_cpu_bad),
        cmocka_unit_test(test_pressure),       cmocka_unit_test(test_stat),
        cmocka_unit_test(test_fields),         cmocka_unit_test(test_number),
        cmocka_unit_test(test_io_stat),        cmocka_unit_test(test_disks),
        cmocka_unit_test(test_statm_and_pids), cmocka_unit_test(test_prefixes)};
    return cmocka_run_group_tests_name("sense parse", tests, NULL, NULL);
}
