/* The top of the page: what was measured, on what, and the most important numbers. */
#include "pages.h"

static void test_full_study(void **state)
{
    (void)state;
    char *page = markdown_of(full_study());
    assert_holds(page, "Highest throughput, select-only: **[10,020/s]");
    assert_holds(page, "** select-only, 4 clients; 95 % interval 9,280");
    assert_holds(page, "Idle memory, without file cache: **[97.0 MiB]");
    assert_holds(page, "Disk per operation: **[60.0 B]");
    assert_holds(page, "The subject is `db` (`PostgreSQL 15.14`).");
    assert_holds(page, "| Memory         | 23.5 GiB          |");
    assert_holds(page, "| `shared_buffers` | `256MB` |");
    assert_holds(page, "[420 \xc2\xb5s]");
    assert_holds(page, "- (a) the server did not answer");
    assert_lacks(page, "Flush before");
    assert_lacks(page, "was not completed");
    assert_holds(page, "    study: A study of known answers\n");
    pl_free(page);
}

static void test_study_that_was_broken_off(void **state)
{
    (void)state;
    struct synth *synth = small_study();
    synth->study.ended_unix_ns = 0;
    char *page = markdown_of(synth);
    assert_holds(page, "> The study was not completed");
    pl_free(page);
    synth = synth_new();
    page = markdown_of(synth);
    assert_holds(page, "holds no trial from which a figure can be given");
    pl_free(page);
}

/* Units of facts are read, not printed raw. */
static void test_facts(void **state)
{
    (void)state;
    struct synth *synth = small_study();
    synth_fact(synth, "host", "disk_size_bytes", "1099511627776", "bytes", "x");
    synth_fact(synth, "host", "device_size", "536870912", "512-byte sectors", "x");
    synth_fact(synth, "host", "cpu_governor", "unknown: No such file or directory", "", "x");
    synth_fact(synth, "host", "container", "unknown: systemd-detect-virt is not installed", "", "x");
    synth_fact(synth, "host", "probe.commit", "hidden here", "", "x");
    char *page = markdown_of(synth);
    assert_holds(page, "| Disk size    | 1.00 TiB ");
    assert_holds(page, "| 536,870,912 512-byte sectors ");
    assert_holds(page, "| CPU governor | not readable here ");
    assert_holds(page, "not known: systemd-detect-virt is not installed");
    assert_lacks(page, "unknown:");
    assert_lacks(page, "hidden here");
    pl_free(page);
}

/* What comes first is short: the machine in one line, and of the settings those that the plan sets. */
static void test_short_first_complete_later(void **state)
{
    (void)state;
    struct synth *synth = full_study();
    synth->study.plan_text = "services:\n  db: {settings: {shared_buffers: 256MB}}\n# not max_wal_size\n";
    char *page = markdown_of(synth);
    assert_holds(page, "- The machine: Example CPU 3000, 2 cores, 23.5 GiB memory, ext4 on /dev/vda1, 6.1.0-18-amd64, "
                       "virtual machine: kvm. [The machine in full](#machine).");
    assert_holds(page, "- The plan sets, for `db`: `shared_buffers = 256MB`. "
                       "[All that differs from the defaults](#settings).");
    const char *method = strstr(page, "## How it was measured");
    assert_non_null(method);
    assert_true(strstr(page, "`max_wal_size`") > method);
    assert_true(strstr(page, "| Memory         | 23.5 GiB          |") > method);
    pl_free(page);
}

/* Two rates, 50/s and 500/s. Of the first `low_failed` operations fail; of the second `high_open` never end, and
 * `high_late` end after the window. */
static char *two_rates(int64_t low_failed, int64_t high_open, int64_t high_late)
{
    struct synth *synth = synth_new();
    int64_t stage = synth_stage(synth, "rate", "?", "script=tpcb-like rate=50/s");
    const struct {
        const char *label;
        int64_t due, open, failed, late, took_ns;
    } cases[] = {{"rate=50/s", 500, 0, low_failed, 0, 2000000}, {"rate=500/s", 5000, high_open, 0, high_late, 7000000}};
    for (size_t i = 0; i < 2; i++) {
        struct trial_row *trial = synth_trial(synth, synth_case(synth, stage, cases[i].label), 0, 10, 4);
        struct slice *slice = synth_slice(synth, trial, PHASE_MEASURE, PHASE_MEASURE, -1);
        struct slice *late = synth_slice(synth, trial, PHASE_DRAIN, PHASE_MEASURE, -1);
        int64_t completed = cases[i].due - cases[i].open - cases[i].failed;
        struct hist *hist = synth_hist(synth);
        hist_record_n(hist, cases[i].took_ns, completed);
        slice->response = hist;
        slice->ledger = (struct ledger){.due = cases[i].due,
                                        .completed = completed - cases[i].late,
                                        .failed = cases[i].failed,
                                        .unfinished = cases[i].open,
                                        .never_started = cases[i].open};
        late->ledger = (struct ledger){.completed = cases[i].late};
        synth_sensors(synth, trial, i == 0 ? 0.125 : 0.875, 1000, 10);
    }
    return markdown_of(synth);
}

static void test_highest_rate_kept_up(void **state)
{
    (void)state;
    char *page = two_rates(0, 0, 0);
    assert_holds(page, "Response p99 at the highest rate kept up: **[7.00 ms]");
    assert_holds(page, "CPU at the highest rate kept up: **[0.875 cores]");
    pl_free(page);
    page = two_rates(0, 4600, 0); /* achieves less than the lower rate */
    assert_holds(page, "Response p99 at the highest rate kept up: **[2.00 ms]");
    assert_holds(page, "CPU at the highest rate kept up: **[0.125 cores]");
    assert_holds(page, "[\xe2\x89\xa5 7.00]");
    assert_holds(page, "4600 of 5000 operations due had not ended: ranked as the longest, this percentile is at least 7");
    pl_free(page);
    page = two_rates(0, 1, 0); /* one that never ended is one too many, although more was achieved */
    assert_holds(page, "Response p99 at the highest rate kept up: **[2.00 ms]");
    pl_free(page);
    page = two_rates(1, 4600, 0);
    assert_holds(page, "No rate that was tested was kept up");
    assert_lacks(page, "highest rate kept up");
    pl_free(page);
}

/* A queue that only the time after the window emptied is no rate kept up; a twentieth, and one for each client, may be. */
static void test_backlog_is_not_kept_up(void **state)
{
    (void)state;
    char *page = two_rates(0, 0, 254);
    assert_holds(page, "Response p99 at the highest rate kept up: **[7.00 ms]");
    pl_free(page);
    page = two_rates(0, 0, 255);
    assert_holds(page, "Response p99 at the highest rate kept up: **[2.00 ms]");
    pl_free(page);
}

/* The study of a load alone, on a server that was there before. */
static char *load_only(const char *place)
{
    struct synth *synth = small_study();
    synth_fact(synth, "tool", "command", "pgbench", "", "the command line");
    synth_fact(synth, "db", "place", place, "", "the address of the connection");
    synth->study.plan_text = "pgbench -c4 bench";
    synth->study.plan_path = "";
    return markdown_of(synth);
}

static void test_load_only(void **state)
{
    (void)state;
    char *page = load_only("this machine");
    assert_holds(page, "It was running already, and was loaded from");
    assert_holds(page, "- Only the load was watched: nothing was read of the server's memory, CPU, disk");
    assert_holds(page, "The load generator ran on the same machine as the service");
    assert_holds(page, "## The command\n\nThis command, passwords left out, did it.");
    assert_holds(page, "    pgbench -c4 bench\n");
    assert_lacks(page, "The plan sets");
    assert_lacks(page, "How quiet the host was");
    pl_free(page);
    page = load_only("another machine");
    assert_holds(page, "The numbers hold for these two machines, the network between them");
    assert_holds(page, "The load generator ran on another machine than the server");
    pl_free(page);
    page = markdown_of(small_study());
    assert_lacks(page, "Only the load was watched");
    assert_holds(page, "It was started, loaded and watched from");
    pl_free(page);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_full_study),
        cmocka_unit_test(test_study_that_was_broken_off),
        cmocka_unit_test(test_facts),
        cmocka_unit_test(test_short_first_complete_later),
        cmocka_unit_test(test_highest_rate_kept_up),
        cmocka_unit_test(test_backlog_is_not_kept_up),
        cmocka_unit_test(test_load_only),
    };
    return cmocka_run_group_tests_name("about", tests, NULL, NULL);
}
