/* Chunks of ended operations, and notices, between a worker and a conductor of any speed. */
#include "load_test.h"

#include <pthread.h>
#include <stdio.h>

#include "load/recorder_int.h"

static void add(struct recorder_log *log, int64_t number)
{
    recorder_log_add(log, &(struct operation){.number = number, .client = 1});
}

/* Takes everything there is; the numbers go on from `next`. */
static int64_t take_all(struct recorder_log *log, int64_t next)
{
    struct recorder_chunk *chunk;
    while ((chunk = recorder_log_take(log)) != NULL) {
        assert_true(chunk->count > 0);
        for (size_t i = 0; i < chunk->count; i++)
            assert_int_equal(chunk->operations[i].number, next++);
        recorder_log_give(log, chunk);
    }
    return next;
}

static void test_chunks(void **state)
{
    (void)state;
    struct recorder_log log;
    atomic_int hurry = 0;
    recorder_log_init(&log, true, &hurry);
    int64_t added = 0, taken = 0;
    for (int round = 0; round < 200; round++) {
        for (int i = 0; i < 700; i++)
            add(&log, added++);
        if (round % 3 == 0)
            recorder_log_flush(&log);
        taken = take_all(&log, taken);
        assert_true(round % 3 == 0 ? taken == added : added - taken <= 2 * RECORDER_CHUNK_OPERATIONS);
    }
    /* a flush never waits: with nobody taking, what cannot go stays */
    for (int i = 0; i < 2 * RECORDER_CHUNKS; i++) {
        add(&log, added++);
        recorder_log_flush(&log);
    }
    recorder_log_finish(&log);
    assert_int_equal(take_all(&log, taken), added);
    assert_int_equal(log.logged, added);
    assert_int_equal(log.wait_ns, 0);
    recorder_log_release(&log);
}

static void test_not_wanted(void **state)
{
    (void)state;
    struct recorder_log log;
    atomic_int hurry = 0;
    recorder_log_init(&log, false, &hurry);
    assert_null(log.current);
    recorder_log_flush(&log);
    recorder_log_finish(&log);
    assert_null(recorder_log_take(&log));
    recorder_log_release(&log);
}

struct pair {
    struct recorder_log log;
    struct recorder_notices notices;
    atomic_int hurry;
    int64_t count;
    atomic_bool ended;
};

static void *write_operations(void *argument)
{
    struct pair *pair = argument;
    for (int64_t i = 0; i < pair->count; i++)
        add(&pair->log, i);
    recorder_log_finish(&pair->log);
    atomic_store(&pair->ended, true);
    return NULL;
}

/* The conductor is slow: the worker waits, and nothing is lost. */
static void test_slow_conductor(void **state)
{
    (void)state;
    struct pair pair = {.count = 300000};
    pthread_t thread;
    recorder_log_init(&pair.log, true, &pair.hurry);
    assert_int_equal(pthread_create(&thread, NULL, write_operations, &pair), 0);
    int64_t next = 0;
    bool ended;
    do {
        pl_clock_sleep_until(pl_clock_ns() + 5 * MS);
        ended = atomic_load(&pair.ended);
        next = take_all(&pair.log, next);
    } while (!ended);
    pthread_join(thread, NULL);
    assert_int_equal(next, pair.count);
    recorder_log_release(&pair.log);
}

/* Nobody takes any more: the worker does not wait for ever. */
static void test_hurry(void **state)
{
    (void)state;
    struct pair pair = {.count = 300000};
    pthread_t thread;
    recorder_log_init(&pair.log, true, &pair.hurry);
    assert_int_equal(pthread_create(&thread, NULL, write_operations, &pair), 0);
    pl_clock_sleep_until(pl_clock_ns() + 5 * MS);
    atomic_store(&pair.hurry, RECORDER_ABANDONED);
    pthread_join(thread, NULL);
    assert_true(atomic_load(&pair.ended));
    assert_true(pair.log.wait_ns > 0);
    recorder_log_release(&pair.log);
}

/* A load that is to end at once is still listened to: what it logs is not forgotten. */
static void test_end_at_once(void **state)
{
    (void)state;
    struct pair pair = {.count = 300000};
    pthread_t thread;
    bool ended;
    int64_t next = 0;
    recorder_log_init(&pair.log, true, &pair.hurry);
    atomic_store(&pair.hurry, 2);
    assert_int_equal(pthread_create(&thread, NULL, write_operations, &pair), 0);
    do {
        pl_clock_sleep_until(pl_clock_ns() + MS);
        ended = atomic_load(&pair.ended);
        next = take_all(&pair.log, next);
    } while (!ended);
    pthread_join(thread, NULL);
    assert_int_equal(next, pair.count);
    recorder_log_release(&pair.log);
}

static void test_notices(void **state)
{
    (void)state;
    enum { CLIENTS = 50 };
    struct recorder_notices notices;
    struct load_notice notice = {.kind = LOAD_FAILURE}, taken;
    recorder_notices_init(&notices, CLIENTS, true);
    for (int i = 0; i < 1000; i++) {
        notice.at_ns = i;
        recorder_notice(&notices, &notice);
    }
    assert_int_equal(notices.missed, 1000 - RECORDER_NOTICES);
    notice.kind = LOAD_CLIENT_ENDED;
    for (int i = 0; i < CLIENTS; i++) {
        notice.at_ns = 1000 + i;
        recorder_notice(&notices, &notice);
    }
    for (int i = 0; i < RECORDER_NOTICES; i++)
        assert_true(recorder_notice_take(&notices, &taken) && taken.kind == LOAD_FAILURE && taken.at_ns == i);
    for (int i = 0; i < CLIENTS; i++)
        assert_true(recorder_notice_take(&notices, &taken) && taken.kind == LOAD_CLIENT_ENDED && taken.at_ns == 1000 + i);
    assert_false(recorder_notice_take(&notices, &taken));
    notice.kind = LOAD_RETRY; /* there is room again */
    recorder_notice(&notices, &notice);
    assert_true(recorder_notice_take(&notices, &taken));
    recorder_notices_release(&notices);
}

static void *write_notices(void *argument)
{
    struct pair *pair = argument;
    struct load_notice notice = {.code = "40001"};
    for (int64_t i = 0; i < pair->count; i++) {
        notice.kind = i % 1000 == 999 ? LOAD_CLIENT_ENDED : LOAD_FAILURE;
        notice.at_ns = i;
        snprintf(notice.text, sizeof notice.text, "%lld", (long long)i);
        recorder_notice(&pair->notices, &notice);
    }
    atomic_store(&pair->ended, true);
    return NULL;
}

static void test_notices_of_a_thread(void **state)
{
    (void)state;
    struct pair pair = {.count = 50000};
    struct load_notice notice;
    pthread_t thread;
    recorder_notices_init(&pair.notices, 50, true);
    assert_int_equal(pthread_create(&thread, NULL, write_notices, &pair), 0);
    int64_t ends = 0, told = 0, last_ns = -1;
    bool ended;
    do {
        ended = atomic_load(&pair.ended);
        while (recorder_notice_take(&pair.notices, &notice)) {
            char text[32];
            snprintf(text, sizeof text, "%lld", (long long)notice.at_ns);
            assert_string_equal(notice.text, text);
            assert_true(notice.at_ns > last_ns);
            last_ns = notice.at_ns;
            ends += notice.kind == LOAD_CLIENT_ENDED;
            told++;
        }
        sched_yield();
    } while (!ended);
    pthread_join(thread, NULL);
    assert_int_equal(ends, 50);
    assert_int_equal(told + pair.notices.missed, pair.count);
    recorder_notices_release(&pair.notices);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_chunks),
        cmocka_unit_test(test_not_wanted),
        cmocka_unit_test(test_slow_conductor),
        cmocka_unit_test(test_end_at_once),
        cmocka_unit_test(test_hurry),
        cmocka_unit_test(test_notices),
        cmocka_unit_test(test_notices_of_a_thread),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
