/* --find-max: the loop over trials, what a finished load says to the search, and the search itself against a simulated
 * server whose capacity is known. */
#include "made.h"

#include <stdlib.h>

/* ---- trials that are made up ---- */

struct scripted {
    double capacity_per_s;
    int count, fails_at; /* fails_at: this trial ends in an error; 0: none */
    bool no_data;
};

static enum pl_code scripted_try(void *context, double rate_per_s, struct httpload_trial *ret_trial, struct pl_err *err)
{
    struct scripted *scripted = context;
    if (++scripted->count == scripted->fails_at)
        return pl_err_set(err, PL_SERVICE, "it broke");
    ret_trial->verdict = scripted->no_data                        ? SEARCH_NO_DATA
                         : rate_per_s <= scripted->capacity_per_s ? SEARCH_PASS
                                                                  : SEARCH_FAIL;
    ret_trial->mark = scripted->no_data ? "late" : NULL;
    return PL_OK;
}

static int told;

static void tell(const struct httpload_find *find)
{
    told++;
    assert_int_equal(find->trial_count, told);
}

static struct httpload_find run_scripted(struct made *made, struct scripted scripted, const struct search_spec *spec,
                                         enum pl_code expected)
{
    struct httpload_find find;
    struct pl_err err = {0};
    told = 0;
    assert_int_equal(httpload_find_run(&find, spec, made->arena, scripted_try, &scripted, tell, &err), expected);
    assert_int_equal(told, find.trial_count);
    return find;
}

static void test_loop(void **state)
{
    struct made *made = *state;
    const struct search_spec spec = {.start = 100, .least = 1}, bounded = {.start = 100, .least = 1, .most = 200},
                             high = {.start = 100, .least = 50};
    struct httpload_find find = run_scripted(made, (struct scripted){.capacity_per_s = 777}, &spec, PL_OK);
    assert_string_equal(httpload_find_end_name(&find), "found");
    assert_int_equal(httpload_find_exit(&find), HTTPLOAD_GOOD);
    assert_true(find.search.last_pass <= 777 && find.search.last_pass > 0.95 * 777);
    assert_true(find.search.first_fail > 777);
    find = run_scripted(made, (struct scripted){.capacity_per_s = 777}, &bounded, PL_OK);
    assert_string_equal(httpload_find_end_name(&find), "above_max");
    assert_int_equal(httpload_find_exit(&find), HTTPLOAD_GOOD);
    assert_close(find.search.last_pass, 200, 1e-9, 0);
    find = run_scripted(made, (struct scripted){.capacity_per_s = 3}, &high, PL_OK);
    assert_string_equal(httpload_find_end_name(&find), "below_min");
    assert_int_equal(httpload_find_exit(&find), HTTPLOAD_MISSED);
    find = run_scripted(made, (struct scripted){.no_data = true}, &spec, PL_OK);
    assert_string_equal(httpload_find_end_name(&find), "gave_up");
    assert_int_equal(httpload_find_exit(&find), HTTPLOAD_NO_DATA);
    assert_string_equal(find.trials[0].mark, "late");
    assert_int_equal(find.trial_count, 10); /* in a row */
    find = run_scripted(made, (struct scripted){.capacity_per_s = 777, .fails_at = 3}, &spec, PL_SERVICE);
    assert_string_equal(httpload_find_end_name(&find), "unfinished");
    assert_int_equal(find.trial_count, 2);
}

static void test_spec(void **state)
{
    struct made *made = *state;
    assert_close(httpload_find_spec(&made->options).start, 100, 0, 0);
    made->options.rate_per_s = 7;
    assert_close(httpload_find_spec(&made->options).start, 7, 0, 0);
    made->options.rate_per_s = 0;
    made->options.least_per_s = 500;
    assert_close(httpload_find_spec(&made->options).start, 500, 0, 0);
    made->options.least_per_s = 1;
    made->options.most_per_s = 20;
    assert_close(httpload_find_spec(&made->options).start, 20, 0, 0);
    assert_close(httpload_find_spec(&made->options).most, 20, 0, 0);
}

/* ---- what is said ---- */

static const char *said(struct made *made, const struct httpload_find *find, const char *objective)
{
    char *text = NULL;
    size_t length = 0;
    struct pl_err err = {0};
    MUST(objective_parse(objective, made->arena, &made->options.find, &err), err);
    FILE *out = open_memstream(&text, &length);
    httpload_find_put_trial(out, find);
    httpload_find_put_answer(out, find, &made->options.find, objective);
    fclose(out);
    const char *copy = pl_strdup(made->arena, text);
    free(text);
    return copy;
}

static void test_says_what_decided(void **state)
{
    struct made *made = *state;
    struct httpload_trial trials[] = {{.rate_per_s = 12345.678, .verdict = SEARCH_NO_DATA, .due = 900, .completed = 900},
                                      {.rate_per_s = 100, .verdict = SEARCH_PASS, .due = 900, .completed = 900}};
    struct httpload_find find = {.trials = trials, .trial_count = 1};
    find.search.end = SEARCH_GAVE_UP;
    find.search.no_data = 10;
    trials[0].mark = "Late.";
    const char *text = said(made, &find, "p99<50ms");
    assert_non_null(strstr(text, "12,346/s  no data"));
    assert_non_null(strstr(text, "p99            -")); /* nothing was timed: no zero */
    assert_non_null(strstr(text, "Late. What it misses may be the client's doing."));
    assert_non_null(strstr(text, "10 trials in a row gave no data"));
    trials[0].verdict = SEARCH_PASS;
    assert_non_null(strstr(said(made, &find, "p99<50ms"), "Late. It passes all the same."));
    trials[0].due = 0;
    assert_non_null(strstr(said(made, &find, "p99<50ms"), "nothing became due"));

    find.trial_count = 2;
    find.search = (struct search){.end = SEARCH_FOUND, .last_pass = 100, .point_count = 1, .points = {{100, 2, 0}}};
    assert_non_null(
        strstr(said(made, &find, "p99<50ms"), "a trial at this rate had 900, and 1 % of them are fewer than 10"));
    assert_null(strstr(said(made, &find, "p50<50ms"), "few operations"));
    assert_null(strstr(said(made, &find, "errors<1%"), "few operations"));
    assert_null(strstr(said(made, &find, "p99<50ms"), "perhaps -c"));
    trials[0] = (struct httpload_trial){
        .rate_per_s = 120, .verdict = SEARCH_FAIL, .due = 900, .completed = 900, .clients = 17, .waited = true};
    find.search.first_fail = 120;
    assert_non_null(
        strstr(said(made, &find, "p99<50ms"), "perhaps -c is the limit: beyond it operations waited for one of the 17"));
    trials[0].waited = false;
    assert_null(strstr(said(made, &find, "p99<50ms"), "perhaps -c"));
    trials[1].due = 1000;
    assert_null(strstr(said(made, &find, "p99<50ms"), "few operations"));
    assert_non_null(strstr(said(made, &find, "p50<5ms and p99.9<50ms"), "few operations"));
}

/* ---- what a load says ---- */

static enum search_verdict verdict_of(struct made *made, const char *objective, struct ledger ledger, const char *mark)
{
    struct pl_err err = {0};
    httpload_total_release(&made->total);
    MUST(objective_parse(objective, made->arena, &made->options.find, &err), err);
    made_begin(made, 100);
    made_add(made, (struct made_slice){.ledger = ledger, .low_ns = 10 * MS, .high_ns = 10 * MS, .censored_ns = 40 * MS});
    made->total.mark = mark;
    struct httpload_trial trial = httpload_find_trial(&made->total);
    assert_int_equal(trial.due, ledger.due);
    return trial.verdict;
}

static void test_verdicts(void **state)
{
    struct made *made = *state;
    const struct ledger good = {.due = 1000, .completed = 1000}, few = {.due = 1000, .completed = 990, .failed = 10},
                        many = {.due = 1000, .completed = 980, .failed = 20},
                        late = {.due = 1000, .completed = 985, .unfinished = 15};
    assert_int_equal(verdict_of(made, "p99<20ms", good, NULL), SEARCH_PASS);
    assert_int_equal(verdict_of(made, "p99<5ms", good, NULL), SEARCH_FAIL);
    assert_int_equal(verdict_of(made, "p99<20ms", good, "late"), SEARCH_PASS); /* it would be faster without */
    assert_int_equal(verdict_of(made, "p99<5ms", good, "late"), SEARCH_NO_DATA);
    assert_int_equal(verdict_of(made, "p99<20ms", many, "late"), SEARCH_NO_DATA);
    assert_int_equal(verdict_of(made, "p99<20ms", (struct ledger){0}, "late"), SEARCH_NO_DATA);
    assert_int_equal(verdict_of(made, "p99<20ms", (struct ledger){0}, NULL), SEARCH_NO_DATA);
    assert_int_equal(verdict_of(made, "p99<20ms", few, NULL), SEARCH_PASS);
    assert_int_equal(verdict_of(made, "p99<20ms", many, NULL), SEARCH_FAIL); /* fast answers that are errors */
    assert_int_equal(verdict_of(made, "p99<20ms and errors<3%", many, NULL), SEARCH_PASS);
    assert_int_equal(verdict_of(made, "p99<20ms and errors<3%", late, NULL), SEARCH_FAIL);
    assert_int_equal(verdict_of(made, "p99<60ms and errors<3%", late, NULL), SEARCH_NO_DATA);
}

/* Ten clients, each held for 10 ms: the requests are fast, the operations late. */
static void test_waiting_for_clients(void **state)
{
    struct made *made = *state;
    struct pl_err err = {0};
    MUST(objective_parse("p99<50ms", made->arena, &made->options.find, &err), err);
    for (int is_slow = 0; is_slow <= 1; is_slow++) {
        int64_t service_ns = is_slow ? 60 * MS : 10 * MS;
        httpload_total_release(&made->total);
        made_begin(made, 100);
        made_add(made,
                 (struct made_slice){.ledger = {.due = 100, .completed = 100}, .low_ns = 80 * MS, .high_ns = 90 * MS});
        hist_clear(&made->total.whole.service);
        hist_record_n(&made->total.whole.service, service_ns, 100);
        struct httpload_trial trial = httpload_find_trial(&made->total);
        assert_int_equal(trial.verdict, SEARCH_FAIL);
        assert_int_equal(trial.waited, !is_slow);
        assert_int_equal(trial.clients, 10);
    }
}

/* ---- against a simulated server ----
 *
 * One exponential server, 1000/s. In an M/M/1 queue the response is exponential with the rate 1000/s - arrivals, so its p99
 * is ln(100) / (1000/s - arrivals): 50 ms at 907.9/s. */

#define SERVICE_NS MS
#define LIMIT_S 0.05
#define CAPACITY_PER_S (1000 - 4.605170186 / LIMIT_S)

struct simulated {
    struct made *made;
    const struct program *program;
    uint64_t seed;
    int dip; /* this trial meets a server that stands still for a while; 0: none */
    int count;
};

static enum pl_code sim_slice(void *context, const struct slice *slice, struct pl_err *err)
{
    httpload_total_add(context, slice);
    return err->code;
}

static enum pl_code sim_fault(void *context, const struct fault *fault, struct pl_err *err)
{
    httpload_total_fault(context, fault);
    return err->code;
}

static enum pl_code simulated_try(void *context, double rate_per_s, struct httpload_trial *ret_trial, struct pl_err *err)
{
    struct simulated *simulated = context;
    struct httpload_total *total = &simulated->made->total;
    const struct load_script script = {simulated->program, 1};
    simulated->count++;
    const struct load_spec spec = {.driver = LOAD_SIM,
                                   .sim = {.servers = 1,
                                           .mean_service_ns = SERVICE_NS,
                                           .law = LOAD_SIM_EXPONENTIAL,
                                           .stall_at_ns = 5 * SECOND,
                                           .stall_ns = simulated->count == simulated->dip ? 2 * SECOND : 0},
                                   .scripts = &script,
                                   .script_count = 1,
                                   .clients = 4000,
                                   .workers = 1,
                                   .open_loop = true,
                                   .rate_per_s = rate_per_s,
                                   .arrivals = PLAN_POISSON,
                                   .warm_up_ns = 2 * SECOND,
                                   .measure_ns = 30 * SECOND,
                                   .drain_ns = 30 * SECOND,
                                   .seed = simulated->seed + (uint64_t)simulated->count};
    struct sink sink = {.ctx = total, .slice = sim_slice, .fault = sim_fault};
    struct load_glance glance = {0};
    httpload_total_release(total);
    httpload_total_init(total, &simulated->made->options, rate_per_s);
    enum pl_code code = load_new(&spec, &total->load, err);
    if (code == PL_OK)
        code = load_connect(total->load, NULL, err);
    if (code != PL_OK)
        return code;
    load_start(total->load, SECOND);
    while (!glance.ended && code == PL_OK)
        code = load_poll(total->load, 0, &sink, &glance, err);
    if (code == PL_OK)
        code = load_finish(total->load, 0, &sink, &total->result, err);
    *ret_trial = httpload_find_trial(total);
    return code;
}

static void ignore(const struct httpload_find *find)
{
    (void)find;
}

static double search_simulated(struct made *made, const struct program *program, uint64_t seed, int dip)
{
    struct simulated simulated = {.made = made, .program = program, .seed = seed, .dip = dip};
    const struct search_spec spec = httpload_find_spec(&made->options);
    struct httpload_find find;
    struct pl_err err = {0};
    MUST(httpload_find_run(&find, &spec, made->arena, simulated_try, &simulated, ignore, &err), err);
    assert_string_equal(httpload_find_end_name(&find), "found");
    return find.search.last_pass;
}

static const struct program *simulated_program(struct made *made)
{
    struct program *program = NULL;
    struct pl_err err = {0};
    static const char text[] = "SELECT 1;\n";
    MUST(program_compile("sim", text, strlen(text), PROGRAM_STRICT, names_new(made->arena), made->arena, &program, &err),
         err);
    MUST(objective_parse("p99<50ms", made->arena, &made->options.find, &err), err);
    made->options.scripts[0].program = program;
    return program;
}

static void test_simulated(void **state)
{
    struct made *made = *state;
    const struct program *program = simulated_program(made);
    int near = 0;
    for (uint64_t seed = 0; seed < 10; seed++) {
        double answer_per_s = search_simulated(made, program, 1000 * seed, 0);
        print_message("# seed %d: %.1f/s, %.1f %% from %.1f/s\n", (int)seed, answer_per_s,
                      100 * (answer_per_s / CAPACITY_PER_S - 1), CAPACITY_PER_S);
        near += fabs(answer_per_s - CAPACITY_PER_S) <= 0.05 * CAPACITY_PER_S;
    }
    assert_true(near >= 9);
}

/* A server that stands still for two seconds of one trial does not end the search early. */
static void test_dip(void **state)
{
    struct made *made = *state;
    const struct program *program = simulated_program(made);
    for (int dip = 1; dip <= 4; dip++)
        assert_close(search_simulated(made, program, 77, dip), CAPACITY_PER_S, 0.06, 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        MADE_TEST(test_loop),
        MADE_TEST(test_spec),
        MADE_TEST(test_verdicts),
        MADE_TEST(test_says_what_decided),
        MADE_TEST(test_waiting_for_clients),
        MADE_TEST(test_simulated),
        MADE_TEST(test_dip),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
