/* The probes on a real disk and a real PostgreSQL: that they measure, count, and leave nothing. */
#include "support.h"

#include <dirent.h>
#include <libpq-fe.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/clock.h"
#include "hardware/hardware_int.h"
#include "service/guard.h"
#include "service/service.h"
#include "service/spawn.h"

enum { KEEP_MAX = 128 };

/* Everything that a probe pushes. */
struct kept {
    struct metric metrics[KEEP_MAX];
    char names[KEEP_MAX][64];
    int metric_count;
    struct sample samples[KEEP_MAX];
    int sample_count;
    char faults[4][64];
    int fault_count;
    char notes[8][128];
    int note_count;
};

static enum pl_code keep_metric(void *ctx, const struct metric *metric, struct pl_err *err)
{
    struct kept *kept = ctx;
    (void)err;
    assert_true(kept->metric_count < KEEP_MAX);
    assert_string_equal(metric->source, "hardware");
    snprintf(kept->names[kept->metric_count], sizeof kept->names[0], "%s", metric->name);
    kept->metrics[kept->metric_count++] = *metric;
    return PL_OK;
}

static enum pl_code keep_sample(void *ctx, const struct sample *sample, struct pl_err *err)
{
    struct kept *kept = ctx;
    (void)err;
    assert_true(kept->sample_count < KEEP_MAX);
    kept->samples[kept->sample_count++] = *sample;
    return PL_OK;
}

static enum pl_code keep_fault(void *ctx, const struct fault *fault, struct pl_err *err)
{
    struct kept *kept = ctx;
    (void)err;
    assert_true(kept->fault_count < 4);
    snprintf(kept->faults[kept->fault_count++], sizeof kept->faults[0], "%s", fault->code);
    return PL_OK;
}

static void keep_note(void *ctx, const struct fact *fact)
{
    struct kept *kept = ctx;
    assert_true(kept->note_count < 8);
    snprintf(kept->notes[kept->note_count++], sizeof kept->notes[0], "%.40s=%.80s", fact->name, fact->value);
}

static struct sink sink_of(struct kept *kept)
{
    return (struct sink){.ctx = kept, .metric = keep_metric, .sample = keep_sample, .fault = keep_fault};
}

/* Values of one metric over the repeats; the count. */
static int values_of(const struct kept *kept, const char *name, double *values)
{
    int count = 0;
    for (int i = 0; i < kept->metric_count; i++)
        for (int j = 0; strcmp(kept->names[i], name) == 0 && j < kept->sample_count; j++)
            if (kept->samples[j].metric_id == kept->metrics[i].id)
                values[count++] = kept->samples[j].value;
    return count;
}

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

static void without_fio_the_reason_is_told(void **state)
{
    (void)state;
    struct kept kept = {0};
    struct sink sink = sink_of(&kept);
    struct pl_err err = {0};
    char old[4096];
    int64_t next = 0;
    struct hardware_spec spec = {.data_directory = "/tmp", .repeats = 2, .for_ns = PL_NS_PER_MS, .first_metric_id = 5};
    spec.note = keep_note;
    spec.note_ctx = &kept;
    snprintf(old, sizeof old, "%s", getenv("PATH"));
    setenv("PATH", "/nowhere", 1);
    enum pl_code code = hardware_probe(&spec, &sink, &next, &err);
    setenv("PATH", old, 1);
    assert_int_equal(code, PL_OK);
    assert_int_equal(next, 5);
    assert_int_equal(kept.metric_count, 0);
    assert_int_equal(kept.note_count, 1);
    assert_non_null(strstr(kept.notes[0], "probe.flush=not measured: fio is not installed"));
}

static void check_repeats(const struct kept *kept, const char *p50, const char *p99, const char *count, int repeats)
{
    double low[KEEP_MAX], high[KEEP_MAX], counts[KEEP_MAX];
    assert_int_equal(values_of(kept, p50, low), repeats);
    assert_int_equal(values_of(kept, p99, high), repeats);
    assert_int_equal(values_of(kept, count, counts), repeats);
    for (int i = 0; i < repeats; i++)
        assert_true(low[i] > 0 && high[i] >= low[i] && counts[i] >= 1);
}

static bool has_table(const char *conninfo)
{
    PGconn *conn = PQconnectdb(conninfo);
    PGresult *result = PQexec(conn, "SELECT count(*) FROM pg_class WHERE relname LIKE 'plimsoll%'");
    assert_int_equal(PQresultStatus(result), PGRES_TUPLES_OK);
    bool has = strcmp(PQgetvalue(result, 0, 0), "0") != 0;
    PQclear(result);
    PQfinish(conn);
    return has;
}

static int64_t counted_inserts(const char *conninfo)
{
    PGconn *conn = PQconnectdb(conninfo);
    PGresult *result = PQexec(conn, "SELECT pg_stat_clear_snapshot(), xact_commit FROM pg_stat_database WHERE datname = "
                                    "current_database()");
    assert_int_equal(PQresultStatus(result), PGRES_TUPLES_OK);
    int64_t count = strtoll(PQgetvalue(result, 0, 1), NULL, 10);
    PQclear(result);
    PQfinish(conn);
    return count;
}

static void probe_a_service(struct service *service)
{
    struct kept kept = {0};
    struct sink sink = sink_of(&kept);
    struct pl_err err = {0};
    char conninfo[512], program[512];
    double counts[KEEP_MAX];
    int64_t next = 0;
    bool fio = spawn_find_program("fio", program, sizeof program);
    service_conninfo(service, SERVICE_SENSOR_DATABASE, conninfo, sizeof conninfo);
    struct hardware_spec spec = {.data_directory = service->directory, .conninfo = conninfo, .repeats = 3, .trial_id = 9};
    spec.for_ns = 60 * PL_NS_PER_MS;
    spec.first_metric_id = 100;
    int entries = entries_in(service->directory);
    int64_t before = counted_inserts(conninfo);
    if (hardware_probe(&spec, &sink, &next, &err) != PL_OK)
        fail_msg("%s: %s", err.what, err.hint);
    assert_int_equal(next, 100 + kept.metric_count);
    assert_int_equal(kept.metric_count, fio ? 10 : 6);
    for (int i = 0; i < kept.metric_count; i++)
        assert_int_equal(kept.metrics[i].id, 100 + i);
    for (int i = 0; i < kept.sample_count; i++)
        assert_true(kept.samples[i].trial_id == 9 && kept.samples[i].t_ns > 0);
    if (fio)
        check_repeats(&kept, "flush_p50_ns", "flush_p99_ns", "flush_count", 3);
    check_repeats(&kept, "commit_p50_ns", "commit_p99_ns", "commit_count", 3);
    check_repeats(&kept, "round_trip_p50_ns", "round_trip_p99_ns", "round_trip_count", 3);
    /* what it says it committed, the server has counted */
    double said = 0;
    for (int i = 0, n = values_of(&kept, "commit_count", counts); i < n; i++)
        said += counts[i];
    for (int i = 0, n = values_of(&kept, "round_trip_count", counts); i < n; i++)
        said += counts[i];
    int64_t grown = 0;
    for (int attempt = 0; attempt < 200 && grown < (int64_t)said; attempt++) {
        pl_clock_sleep_until(pl_clock_ns() + 50 * PL_NS_PER_MS);
        grown = counted_inserts(conninfo) - before;
    }
    assert_true(grown >= (int64_t)said);
    assert_int_equal(kept.fault_count, 0);
    assert_false(has_table(conninfo));
    assert_int_equal(entries_in(service->directory), entries);
    volatile int stop = 1;
    spec.stop = &stop;
    assert_int_equal(hardware_probe(&spec, &sink, &next, &err), PL_INTERRUPTED);
    assert_int_equal(entries_in(service->directory), entries);
    assert_false(has_table(conninfo));
}

static void a_server_that_is_not_there_is_a_fault(void **state)
{
    (void)state;
    struct kept kept = {0};
    struct sink sink = sink_of(&kept);
    struct pl_err err = {0};
    char *directory = directory_made(), conninfo[128], old[4096];
    int64_t next = 0;
    snprintf(conninfo, sizeof conninfo, "host=%s user=x", directory);
    struct hardware_spec spec = {.data_directory = directory, .conninfo = conninfo, .repeats = 1, .first_metric_id = 1};
    spec.note = keep_note;
    spec.note_ctx = &kept;
    snprintf(old, sizeof old, "%s", getenv("PATH"));
    setenv("PATH", "/nowhere", 1);
    enum pl_code code = hardware_probe(&spec, &sink, &next, &err);
    setenv("PATH", old, 1);
    assert_int_equal(code, PL_OK);
    assert_int_equal(kept.fault_count, 1);
    assert_string_equal(kept.faults[0], "CONNECTION");
    assert_int_equal(kept.note_count, 3);
    assert_int_equal(kept.metric_count, 0);
    assert_int_equal(rmdir(directory), 0);
}

static void probes_on_a_real_server(void **state)
{
    (void)state;
    struct plan_service plan = {.name = "db", .kind = "postgres"};
    struct pl_arena *arena = pl_arena_new();
    struct pl_err err = {0};
    struct guard *guard;
    struct service *service;
    assert_int_equal(guard_start(&guard, &err), PL_OK);
    enum pl_code code = service_start(&plan, guard, NULL, arena, &service, &err);
    if (code == PL_OK) {
        probe_a_service(service);
        assert_int_equal(service_stop(service, SERVICE_STOP_CLEAN, &err), PL_OK);
    }
    guard_stop(guard);
    pl_arena_free(arena);
    if (code == PL_NOT_FOUND) {
        print_message("skipped: PostgreSQL is not installed (Debian package postgresql-15)\n");
        skip();
    }
    assert_int_equal(code, PL_OK);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(without_fio_the_reason_is_told),
        cmocka_unit_test(a_server_that_is_not_there_is_a_fault),
        cmocka_unit_test(probes_on_a_real_server),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
