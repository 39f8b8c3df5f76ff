/* Slices that cannot be handed over, phases that always can, and faults of more kinds than there is room for. */
#include "load_test.h"

#include <stdio.h>

#include "load/recorder_int.h"

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
#define IS_SANITIZED true
#else
#define IS_SANITIZED false
#endif

struct fixture {
    struct load_lane lanes[2];
    struct load_shape shape;
    atomic_int hurry;
    struct recorder recorder;
};

static int setup(void **state)
{
    static struct fixture *fixture;
    fixture = aligned_alloc(64, (sizeof *fixture + 63) / 64 * 64);
    memset(fixture, 0, sizeof *fixture);
    fixture->lanes[0] = (struct load_lane){.program = &load_test_one};
    fixture->lanes[1] = (struct load_lane){.program = &load_test_three, .first_cell = 2, .script = 1};
    fixture->shape = (struct load_shape){.lanes = fixture->lanes, .lane_count = 2, .cell_count = 6};
    recorder_init(&fixture->recorder, &fixture->shape, false, &fixture->hurry);
    recorder_start(&fixture->recorder, 100, PHASE_WARM_UP);
    *state = fixture;
    return 0;
}

static int teardown(void **state)
{
    struct fixture *fixture = *state;
    recorder_release(&fixture->recorder);
    free(fixture);
    return 0;
}

static void complete(struct recorder *recorder, enum phase due_in, int script, int64_t due_ns)
{
    recorder_cell(recorder, due_in, script, -1)->ledger.due++;
    recorder_step(recorder, due_in, script, 0, 7);
    recorder_complete(recorder, due_in, script, due_ns, due_ns + 3, due_ns + 10);
}

static void test_cells(void **state)
{
    struct fixture *fixture = *state;
    struct recorder *recorder = &fixture->recorder;
    complete(recorder, PHASE_WARM_UP, 0, 100);
    recorder_cut_phase(recorder, 200, PHASE_MEASURE);
    complete(recorder, PHASE_WARM_UP, 1, 190); /* due before, ended after */
    complete(recorder, PHASE_MEASURE, 1, 200);
    complete(recorder, PHASE_MEASURE, 1, 210);
    recorder_cut_phase(recorder, 300, PHASE_DRAIN);
    recorder_finish(recorder, 350);
    struct recorder_buffer *buffer = recorder_take(recorder);
    assert_true(buffer->start_ns == 100 && buffer->end_ns == 200 && buffer->during == PHASE_WARM_UP);
    assert_int_equal(buffer->cells[0].ledger.completed, 1);
    assert_int_equal(buffer->cells[0].response.max, 10);
    assert_int_equal(buffer->cells[0].service.max, 7);
    assert_int_equal(buffer->cells[0].lateness.max, 3);
    assert_int_equal(buffer->cells[1].service.total, 1);
    buffer->cells[0].attempts.retries = 3;
    recorder_give(recorder, buffer);
    assert_int_equal(buffer->cells[0].attempts.retries, 0);
    assert_int_equal(buffer->cells[0].ledger.completed + buffer->cells[0].response.total + buffer->cells[1].service.total,
                     0);
    buffer = recorder_take(recorder);
    assert_true(buffer->start_ns == 200 && buffer->end_ns == 300 && buffer->during == PHASE_MEASURE);
    assert_int_equal(buffer->cells[2].ledger.completed, 1);
    assert_int_equal(buffer->cells[6 + 2].ledger.completed, 2);
    assert_int_equal(buffer->cells[6 + 3].ledger.completed, 2);
    assert_int_equal(buffer->cells[0].ledger.due + buffer->cells[6].ledger.due, 0);
    recorder_give(recorder, buffer);
    buffer = recorder_take(recorder);
    assert_true(buffer->start_ns == 300 && buffer->end_ns == 350 && buffer->during == PHASE_DRAIN);
    recorder_give(recorder, buffer);
    assert_null(recorder_take(recorder));
}

/* What got no answer stands in a histogram of its own, of operations and steps, and goes with the buffer. */
static void test_censored(void **state)
{
    struct fixture *fixture = *state;
    struct recorder *recorder = &fixture->recorder;
    recorder_expire(recorder, PHASE_MEASURE, 1, -1, 500);
    recorder_expire(recorder, PHASE_MEASURE, 1, 2, 400);
    recorder_unfinished(recorder, PHASE_MEASURE, 1, true, 300);
    recorder_unfinished(recorder, PHASE_MEASURE, 1, false, 200);
    recorder_finish(recorder, 1000);
    struct recorder_buffer *buffer = recorder_take(recorder);
    struct recorder_cell *whole = &buffer->cells[6 + 2], *step = &buffer->cells[6 + 2 + 3];
    assert_true(whole->ledger.expired == 1 && whole->ledger.unfinished == 2 && whole->ledger.never_started == 1);
    assert_true(whole->censored.total == 3 && whole->censored.min == 200 && whole->censored.max == 500);
    assert_true(step->ledger.expired == 1 && step->censored.total == 1 && step->censored.max == 400);
    assert_int_equal(whole->response.total + whole->service.total + whole->lateness.total + step->service.total, 0);
    recorder_give(recorder, buffer);
    assert_true(whole->censored.total == 0 && step->censored.total == 0 && whole->ledger.expired == 0);
}

/* As many cells as a load may have in one recorder take one mapping of memory, not one for each histogram: a process has
 * 65530. And what is not touched costs none. */
static size_t status_of(const char *path, const char *name)
{
    FILE *file = fopen(path, "re");
    char line[512];
    size_t value = 0;
    assert_non_null(file);
    while (fgets(line, sizeof line, file) != NULL)
        if (name == NULL)
            value++;
        else if (strncmp(line, name, strlen(name)) == 0)
            value = strtoul(line + strlen(name), NULL, 10);
    fclose(file);
    return value;
}

static void test_memory(void **state)
{
    (void)state;
    enum { LANES = 900, CELLS = 3 * LANES };
    static struct load_lane lanes[LANES];
    static const struct program two = {.name = "two", .io_step_count = 2};
    static struct recorder recorder;
    atomic_int hurry = 0;
    for (size_t l = 0; l < LANES; l++)
        lanes[l] = (struct load_lane){.program = &two, .first_cell = 3 * l};
    struct load_shape shape = {.lanes = lanes, .lane_count = LANES, .cell_count = CELLS};
    size_t maps = status_of("/proc/self/maps", NULL), resident_kb = status_of("/proc/self/status", "VmRSS:");
    recorder_init(&recorder, &shape, false, &hurry);
    recorder_start(&recorder, 0, PHASE_MEASURE);
    for (int l = 0; l < LANES; l++)
        for (int step = -1; step < 2; step++)
            recorder_expire(&recorder, PHASE_MEASURE, l, step, 1000 + l);
    size_t more_maps = status_of("/proc/self/maps", NULL) - maps;
    size_t more_kb = status_of("/proc/self/status", "VmRSS:") - resident_kb;
    assert_true(more_maps < 100);
    /* a page of 4 KiB for each that was touched, and what the cells are themselves */
    assert_true(IS_SANITIZED ||
                more_kb < 4 * CELLS + 2 * RECORDER_BUFFERS * CELLS * sizeof(struct recorder_cell) / 1024 + 4096);
    for (int l = 0; l < LANES; l++)
        for (int step = -1; step < 2; step++)
            assert_int_equal(recorder_cell(&recorder, PHASE_MEASURE, l, step)->censored.max, 1000 + l);
    recorder_release(&recorder);
}

/* Whoever takes nothing gets longer slices, but each phase apart and every count once. */
static void test_nobody_takes(void **state)
{
    struct fixture *fixture = *state;
    struct recorder *recorder = &fixture->recorder;
    int64_t now = 100;
    for (int i = 0; i < 1000; i++, now += 10) {
        complete(recorder, now < 5000 ? PHASE_WARM_UP : PHASE_MEASURE, 0, now);
        if (i == 490)
            recorder_cut_phase(recorder, now + 10, PHASE_MEASURE);
        else if (i == 900)
            recorder_cut_phase(recorder, now + 10, PHASE_DRAIN);
        else
            recorder_cut(recorder, now + 10);
    }
    recorder_finish(recorder, now);
    int64_t at = 100, completed = 0;
    int buffers = 0;
    enum phase phase = PHASE_WARM_UP;
    for (struct recorder_buffer *buffer; (buffer = recorder_take(recorder)) != NULL; buffers++) {
        assert_int_equal(buffer->start_ns, at);
        assert_true(buffer->during >= phase);
        if (buffer->during != phase)
            assert_int_equal(buffer->start_ns, buffer->during == PHASE_MEASURE ? 5010 : 9110);
        phase = buffer->during;
        at = buffer->end_ns;
        completed += buffer->cells[0].response.total + buffer->cells[6].response.total;
        recorder_give(recorder, buffer);
    }
    assert_int_equal(at, now);
    assert_int_equal(completed, 1000);
    assert_int_equal(phase, PHASE_DRAIN);
    assert_int_equal(buffers, RECORDER_BUFFERS);
}

/* What was given back is used again. */
static void test_takes_in_time(void **state)
{
    struct fixture *fixture = *state;
    struct recorder *recorder = &fixture->recorder;
    for (int i = 0; i < 500; i++) {
        complete(recorder, PHASE_WARM_UP, 0, 100 + i);
        recorder_cut(recorder, 101 + i);
        struct recorder_buffer *buffer = recorder_take(recorder);
        assert_non_null(buffer);
        assert_int_equal(buffer->start_ns, 100 + i);
        assert_int_equal(buffer->end_ns, 101 + i);
        assert_int_equal(buffer->cells[0].response.total, 1);
        recorder_give(recorder, buffer);
    }
}

static int64_t faults_count(const struct recorder *recorder)
{
    int64_t count = 0;
    for (int i = 0; i < RECORDER_FAULTS + PHASE_COUNT; i++)
        count += recorder->faults[i].count;
    return count;
}

static void test_faults(void **state)
{
    struct fixture *fixture = *state;
    struct recorder *recorder = &fixture->recorder;
    recorder_fault(recorder, PHASE_MEASURE, "40001", "first", 5);
    recorder_fault(recorder, PHASE_MEASURE, "40001", "second", 6);
    recorder_fault(recorder, PHASE_WARM_UP, "40001", NULL, 7);
    assert_int_equal(recorder->fault_count, 2);
    assert_int_equal(recorder->faults[0].count, 2);
    assert_int_equal(recorder->faults[0].first_ns, 5);
    assert_string_equal(recorder->faults[0].example, "first");
    assert_string_equal(recorder->faults[1].example, "");
    for (int i = 0; i < 1000; i++) {
        char code[16];
        snprintf(code, sizeof code, "X%04d", i);
        recorder_fault(recorder, i % 2 ? PHASE_MEASURE : PHASE_DRAIN, code, "many", 100 + i);
    }
    assert_int_equal(recorder->fault_count, RECORDER_FAULTS);
    assert_int_equal(faults_count(recorder), 1003);
    const struct recorder_fault *other = &recorder->faults[RECORDER_FAULTS + PHASE_MEASURE];
    assert_string_equal(other->code, "OTHER");
    assert_int_equal(other->phase, PHASE_MEASURE);
    assert_true(other->count > 400);
    recorder_fault(recorder, PHASE_MEASURE, "40001", "third", 9999); /* a known one is still counted as itself */
    assert_int_equal(recorder->faults[0].count, 3);
}

/* Texts are cut between characters. */
static void test_fault_text(void **state)
{
    struct fixture *fixture = *state;
    struct recorder *recorder = &fixture->recorder;
    char text[600];
    for (int lead = 0; lead < 4; lead++) {
        memset(text, 'a', (size_t)lead);
        for (int i = 0; i < 140; i++)
            memcpy(text + lead + 3 * i, "\xe2\x82\xac", 4);
        char code[16];
        snprintf(code, sizeof code, "T%d", lead);
        recorder_fault(recorder, PHASE_MEASURE, code, text, 1);
        const char *example = recorder->faults[lead].example;
        size_t length = strlen(example);
        assert_in_range(length, RECORDER_EXAMPLE_BYTES - 3, RECORDER_EXAMPLE_BYTES - 1);
        assert_int_equal((length - (size_t)lead) % 3, 0);
        assert_memory_equal(example, text, length);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_cells, setup, teardown),
        cmocka_unit_test_setup_teardown(test_censored, setup, teardown),
        cmocka_unit_test(test_memory),
        cmocka_unit_test_setup_teardown(test_nobody_takes, setup, teardown),
        cmocka_unit_test_setup_teardown(test_takes_in_time, setup, teardown),
        cmocka_unit_test_setup_teardown(test_faults, setup, teardown),
        cmocka_unit_test_setup_teardown(test_fault_text, setup, teardown),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
