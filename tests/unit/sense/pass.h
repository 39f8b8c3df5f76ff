/* A pass with a ring of its own, for tests below the sensor thread. */
#ifndef PL_TESTS_SENSE_PASS_H
#define PL_TESTS_SENSE_PASS_H

#include "support.h"

#include <math.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/clock.h"
#include "sense/sense_int.h"

/* The thread sanitizer adds a thread to each process. */
#if defined(__SANITIZE_THREAD__)
#define TEST_THREADS_ARE_OURS false
#elif defined(__has_feature)
#if __has_feature(thread_sanitizer)
#define TEST_THREADS_ARE_OURS false
#endif
#endif
#ifndef TEST_THREADS_ARE_OURS
#define TEST_THREADS_ARE_OURS true
#endif

/* In a child: takes this much memory, page by page. Without the C library, behind which a sanitizer would add its own. */
static inline void test_touch(int map_flags, size_t bytes)
{
    long at = syscall(SYS_mmap, NULL, bytes, PROT_READ | PROT_WRITE, map_flags | MAP_ANONYMOUS, -1, 0);
    if (at == -1)
        _exit(98);
    syscall(SYS_madvise, at, bytes, MADV_NOHUGEPAGE);
    if (syscall(SYS_madvise, at, bytes, 23 /* MADV_POPULATE_WRITE, Linux 5.14 */) != 0)
        _exit(97);
}

struct test_pass {
    struct sense_pass pass;
    struct pl_ring ring;
    struct pl_arena *arena;
    struct sense_registry registry;
};

static inline void test_pass_init(struct test_pass *test)
{
    memset(test, 0, sizeof *test);
    test->arena = pl_arena_new();
    test->registry = (struct sense_registry){.arena = test->arena, .next_id = 1};
    pl_ring_init(&test->ring, sizeof(struct sample), 4096);
    test->pass.ring = &test->ring;
    test->pass.depth = SENSE_MARK;
    test->pass.text_size = 1 << 17;
    test->pass.text = pl_new(test->pass.text_size, 1);
    test->pass.quiet_end_ns = INT64_MAX;
}

static inline void test_pass_release(struct test_pass *test)
{
    pl_ring_release(&test->ring);
    pl_free(test->pass.text);
    pl_arena_free(test->arena);
}

/* Takes everything out of the ring; the last value of the metric of that name, NAN when there was none. */
static inline double test_pass_last(struct test_pass *test, const char *source, const char *name)
{
    struct sample sample;
    double value = (double)NAN;
    while (pl_ring_pop(&test->ring, &sample)) {
        assert_true(sample.metric_id >= 1 && (size_t)sample.metric_id <= test->registry.count);
        const struct metric *metric = &test->registry.metrics[sample.metric_id - 1];
        if (strcmp(metric->source, source) == 0 && strcmp(metric->name, name) == 0)
            value = sample.value;
    }
    return value;
}

#endif
