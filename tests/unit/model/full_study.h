/* A study with every kind of stage, with what goes wrong in one, and with names that are hostile where a test asks for
 * that. */
#ifndef PL_TESTS_FULL_STUDY_H
#define PL_TESTS_FULL_STUDY_H

#include "synthetic.h"

static inline void full_facts(struct synth *synth)
{
    synth_fact(synth, "host", "cpu_model", "Example CPU 3000", "", "/proc/cpuinfo");
    synth_fact(synth, "host", "cores", "2", "", "/proc/cpuinfo");
    synth_fact(synth, "host", "memory_bytes", "25275686912", "bytes", "/proc/meminfo");
    synth_fact(synth, "host", "kernel", "6.1.0-18-amd64", "", "uname");
    synth_fact(synth, "host", "virtualisation", "kvm", "", "/sys/class/dmi");
    synth_fact(synth, "host", "file_system", "ext4 on /dev/vda1", "", "/proc/self/mountinfo");
    synth_fact(synth, "host", "flush_before_p50_ns", "410000", "ns", "own loop");
    synth_fact(synth, "host", "flush_before_p99_ns", "1900000", "ns", "own loop");
    synth_fact(synth, "host", "flush_after_p50_ns", "430000", "ns", "own loop");
    synth_fact(synth, "host", "flush_after_p99_ns", "2400000", "ns", "own loop");
    synth_fact(synth, "db", "server_version", "15.14", "", "SHOW server_version");
    synth_fact(synth, "db", "ready_ns", "412000000", "ns", "first answer");
    synth_fact(synth, "db", "kind", "postgres", "", "plan");
    synth_fact(synth, "db", "cgroup.layout", "hybrid", "", "/proc/self/mountinfo");
    synth_fact(synth, "db", "setting.shared_buffers", "256MB", "", "pg_settings");
    synth_fact(synth, "db", "setting.max_wal_size", "2GB", "", "pg_settings");
}

static inline void full_hardware(struct synth *synth)
{
    static const struct {
        const char *name, *unit;
        double values[3];
    } probes[] = {
        {"flush_p50_ns", "ns", {420e3, 400e3, 440e3}},  {"flush_p99_ns", "ns", {2e6, 1.8e6, 3e6}},
        {"flush_per_s", "1/s", {2300, 2400, 2200}},     {"commit_p50_ns", "ns", {510e3, 500e3, 560e3}},
        {"commit_p99_ns", "ns", {1.5e6, 1.4e6, 2.2e6}},
    };
    int64_t stage = synth_stage(synth, "hardware", "On what was this measured?", "iterations=1");
    int64_t row = synth_case(synth, stage, "");
    struct trial_row *trial = synth_trial(synth, row, 0, 0, 0);
    trial->measure_start_ns = trial->measure_end_ns = trial->warm_up_start_ns = 0;
    trial->connect_end_ns = trial->connect_start_ns;
    trial->workers = 0;
    trial->event_loop = "";
    for (size_t i = 0; i < sizeof probes / sizeof *probes; i++) {
        int64_t metric = synth_metric(synth, "hardware", probes[i].name, probes[i].unit, METRIC_GAUGE);
        for (int k = 0; k < 3; k++)
            synth_sample(synth, trial, metric, PHASE_MEASURE, trial->connect_start_ns + (k + 1) * PL_NS_PER_S,
                         probes[i].values[k]);
    }
    synth_fact(synth, "hardware", "probe.round_trip", "the server did not answer", "", "probe");
}

static inline void full_footprint(struct synth *synth)
{
    int64_t stage = synth_stage(synth, "footprint", "What does it cost to do nothing?", "for=10s settle=5s");
    int64_t row = synth_case(synth, stage, "");
    struct trial_row *trial = synth_trial(synth, row, 0, 10, 0);
    trial->connect_start_ns = trial->connect_end_ns = trial->warm_up_start_ns;
    trial->workers = 0;
    trial->event_loop = "";
    synth_sensors(synth, trial, 0.004, 100, 0.25);
}

static inline void full_clients(struct synth *synth)
{
    static const struct {
        const char *label;
        int clients;
        double mean_ns;
    } cases[] = {
        {"script=select-only clients=1", 1, 250e3},
        {"script=select-only clients=4", 4, 400e3},
        {"script=tpcb-like clients=1", 1, 2e6},
        {"script=tpcb-like clients=4", 4, 3e6},
    };
    int64_t ids[4], stage = synth_stage(synth, "clients", "How much does it do, over the number of clients?",
                                        "script=select-only clients=1 protocol=prepared for=3s warm_up=1s iterations=3");
    for (size_t i = 0; i < 4; i++)
        ids[i] = synth_case(synth, stage, cases[i].label);
    synth_script(synth, ids[0], 0, -1, "select-only");
    for (int iteration = 0; iteration < 3; iteration++)
        for (size_t i = 0; i < 4; i++) {
            struct trial_row *trial = synth_trial(synth, ids[i], iteration, 3, cases[i].clients);
            double mean_ns = cases[i].mean_ns * (1 + 0.03 * (iteration - 1));
            synth_closed_loop(synth, trial, mean_ns, 100);
            double tps = cases[i].clients * 1e9 / mean_ns;
            synth_sensors(synth, trial, 0.2 + tps / 20000, i < 2 ? 0 : tps * 500, tps);
        }
}

/* An open loop of constant rate: two of each hundred fail, the last three are never started. */
static inline void full_rate_trial(struct synth *synth, const struct trial_row *trial, int rate)
{
    struct slice *slice = synth_slice(synth, trial, PHASE_MEASURE, PHASE_MEASURE, -1);
    struct hist *response = synth_hist(synth), *service = synth_hist(synth), *lateness = synth_hist(synth);
    int64_t due = (int64_t)llround((double)(trial->measure_end_ns - trial->measure_start_ns) / 1e9) * rate;
    int64_t failed = due / 50, completed = due - failed - 3;
    struct pl_rng rng;
    pl_rng_init(&rng, trial->seed, PL_RNG_TEST, 1);
    for (int64_t i = 0; i < completed; i++) {
        int64_t late = (int64_t)pl_rng_exponential(&rng, 40e3), took = (int64_t)(800e3 + pl_rng_exponential(&rng, 600e3));
        hist_record(lateness, late);
        hist_record(service, took);
        hist_record(response, late + took);
    }
    slice->response = response;
    slice->service = service;
    slice->lateness = lateness;
    slice->ledger =
        (struct ledger){.due = due, .completed = completed, .failed = failed, .unfinished = 3, .never_started = 3};
    for (int step = 0; step < 2; step++) {
        struct slice *part = synth_slice(synth, trial, PHASE_MEASURE, PHASE_MEASURE, step);
        struct hist *times = synth_hist(synth);
        for (int64_t i = 0; i < completed; i++)
            hist_record(times, 100000 * (step + 1) + i % 1000);
        part->service = times;
        part->ledger = (struct ledger){.completed = completed};
    }
    synth_sensors(synth, trial, 0.1 + rate / 1000.0, rate * 600.0, rate);
    synth_ends(synth, trial, "load", "setup_transactions", "count", METRIC_GAUGE, 9, 9);
    synth_ends(synth, trial, "db", "backend_pss_anon_bytes", "bytes", METRIC_GAUGE, 1.4e6, 1.9e6);
    synth_ends(synth, trial, "db", "backend_pss_anon_sampled", "count", METRIC_GAUGE, 3, 4);
}

static inline void full_rate(struct synth *synth)
{
    int64_t stage = synth_stage(synth, "rate", "What does it cost, and how fast does it answer, at a given rate?",
                                "script=tpcb-like rate=50/s arrivals=poisson for=5s warm_up=1s iterations=2");
    int64_t low = synth_case(synth, stage, "rate=50/s"), high = synth_case(synth, stage, "rate=500/s");
    for (int64_t id = low; id <= high; id++) {
        synth_script(synth, id, 0, -1, "tpcb-like");
        synth_script(synth, id, 0, 0, "BEGIN");
        synth_script(synth, id, 0, 1, "UPDATE pgbench_accounts SET abalance = abalance + $1 WHERE aid = $2");
    }
    for (int iteration = 0; iteration < 2; iteration++) {
        full_rate_trial(synth, synth_trial(synth, low, iteration, 5, 8), 50);
        full_rate_trial(synth, synth_trial(synth, high, iteration, 5, 8), 500);
    }
    struct trial_row *failed = synth_trial(synth, high, 2, 5, 8);
    failed->state = TRIAL_FAILED;
    failed->why = "the service was killed by SIGKILL";
    synth->faults[synth->study.fault_count++] = (struct fault){
        failed->id, "db", PHASE_MEASURE, "SIGKILL", 1, failed->measure_start_ns, "server process was killed"};
    struct trial_row *noisy = synth_trial(synth, low, 2, 5, 8);
    noisy->state = TRIAL_VOID;
    noisy->why = "steal was 12 % of the window";
    synth_sensors(synth, noisy, 0.2, 1000, 50);
    synth->faults[synth->study.fault_count++] =
        (struct fault){low, "load", PHASE_MEASURE, "40001", 12, 0, "could not serialize access due to concurrent update"};
}

static inline void full_storage(struct synth *synth)
{
    int64_t stage = synth_stage(synth, "storage", "How many bytes does an operation leave on disk?",
                                "script=tpcb-like clients=2 for=3s iterations=1");
    int64_t row = synth_case(synth, stage, "");
    struct trial_row *trial = synth_trial(synth, row, 0, 3, 2);
    int64_t completed = synth_closed_loop(synth, trial, 1e6, 100) + 100;
    synth_sensors(synth, trial, 0.9, 4000000, 2000);
    synth_ends(synth, trial, "db", "database_bytes", "bytes", METRIC_GAUGE, 160e6, 160e6 + 60.0 * (double)completed);
    synth_ends(synth, trial, "db/pgbench_history", "table_bytes", "bytes", METRIC_GAUGE, 0, 52.0 * (double)completed);
    synth_ends(synth, trial, "db/pgbench_history", "index_bytes", "bytes", METRIC_GAUGE, 0, 0);
    synth_ends(synth, trial, "db/pgbench_history", "rows", "count", METRIC_GAUGE, 0, (double)completed);
    synth_ends(synth, trial, "db/pgbench_accounts", "table_bytes", "bytes", METRIC_GAUGE, 134e6, 134e6);
    synth_ends(synth, trial, "db/pgbench_accounts", "index_bytes", "bytes", METRIC_GAUGE, 22e6,
               22e6 + 8.0 * (double)completed);
}

static inline struct synth *full_study(void)
{
    struct synth *synth = synth_new();
    full_facts(synth);
    full_hardware(synth);
    full_footprint(synth);
    full_clients(synth);
    full_rate(synth);
    full_storage(synth);
    synth_study(synth);
    return synth;
}

#endif
