#include "support.h"

#include <signal.h>
#include <stdalign.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/arena.h"
#include "base/rng.h"

/* Sizes around the block size, all alive at once: zeroed, aligned, apart. */
static void test_allocations_stand_apart(void **state)
{
    (void)state;
    struct pl_arena *arena = pl_arena_new();
    struct pl_rng rng;
    pl_rng_init(&rng, 1, PL_RNG_TEST, 0);
    enum { COUNT = 400 };
    unsigned char *items[COUNT];
    size_t sizes[COUNT];
    for (int i = 0; i < COUNT; i++) {
        sizes[i] = (size_t)pl_rng_range(&rng, 0, i % 10 == 0 ? 200000 : 300);
        items[i] = pl_alloc(arena, sizes[i], 1);
        assert_non_null(items[i]);
        assert_int_equal((uintptr_t)items[i] % alignof(max_align_t), 0);
        for (size_t byte = 0; byte < sizes[i]; byte++)
            assert_int_equal(items[i][byte], 0);
        memset(items[i], i & 0xff, sizes[i]);
    }
    for (int i = 0; i < COUNT; i++)
        for (size_t byte = 0; byte < sizes[i]; byte++)
            assert_int_equal(items[i][byte], i & 0xff);
    pl_arena_free(arena);
    pl_arena_free(NULL);
}

static void test_copies(void **state)
{
    (void)state;
    struct pl_arena *arena = pl_arena_new();
    char source[] = "some text";
    char *whole = pl_strdup(arena, source), *part = pl_strndup(arena, source, 4);
    source[0] = 'X';
    assert_string_equal(whole, "some text");
    assert_string_equal(part, "some");
    assert_string_equal(pl_strndup(arena, NULL, 0), "");
    assert_string_equal(pl_format(arena, "%d %s", 42, "things"), "42 things");
    char *wide = pl_format(arena, "%100000d", 7); /* more than a block */
    assert_int_equal(strlen(wide), 100000);
    assert_int_equal(wide[99999], '7');
    pl_arena_free(arena);
}

static void test_grow_keeps_and_doubles(void **state)
{
    (void)state;
    struct pl_arena *arena = pl_arena_new();
    int *items = NULL;
    size_t capacity = 0, moves = 0;
    for (size_t count = 0; count < 10000; count++) {
        int *grown = pl_grow(arena, items, count, count + 1, sizeof *items, &capacity);
        moves += grown != items;
        items = grown;
        items[count] = (int)count;
    }
    for (size_t i = 0; i < 10000; i++)
        assert_int_equal(items[i], i);
    assert_in_range(moves, 5, 14); /* 8, 16, ... 16384 */
    assert_true(capacity >= 10000);
    items = pl_grow(arena, items, 10000, 1000000, sizeof *items, &capacity);
    assert_int_equal(items[9999], 9999);
    assert_int_equal(capacity, 1000000);
    pl_arena_free(arena);
}

static void test_heap(void **state)
{
    (void)state;
    int *items = pl_new(1000, sizeof *items);
    for (int i = 0; i < 1000; i++)
        assert_int_equal(items[i], 0);
    pl_free(items);
    pl_free(NULL);
    void *nothing = pl_new(0, 8);
    assert_non_null(nothing);
    pl_free(nothing);
}

static void assert_aborts(void (*run)(struct pl_arena *))
{
    struct pl_arena *arena = pl_arena_new();
    fflush(NULL);
    pid_t child = fork();
    if (child == 0) {
        close(STDERR_FILENO);
        signal(SIGABRT, SIG_DFL);
        run(arena);
        _exit(0);
    }
    int status;
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_true(WIFSIGNALED(status) && WTERMSIG(status) == SIGABRT);
    pl_arena_free(arena);
}

static void overflow_arena(struct pl_arena *arena)
{
    pl_alloc(arena, SIZE_MAX / 4, 8);
}

static void overflow_heap(struct pl_arena *arena)
{
    (void)arena;
    pl_free(pl_new(SIZE_MAX / 4, 8));
}

static void test_overflow_is_fatal(void **state)
{
    (void)state;
    assert_aborts(overflow_arena);
    assert_aborts(overflow_heap);
}

static char order[8];

static void note(void *what)
{
    size_t length = strlen(order);
    order[length] = *(const char *)what;
    order[length + 1] = '\0';
}

static void test_on_free(void **state)
{
    (void)state;
    order[0] = '\0';
    struct pl_arena *arena = pl_arena_new();
    char *in_it = pl_strdup(arena, "a"); /* is still there when it is released */
    pl_arena_on_free(arena, note, in_it);
    pl_arena_on_free(arena, note, pl_strdup(arena, "b"));
    assert_string_equal(order, "");
    pl_arena_free(arena);
    assert_string_equal(order, "ba");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_allocations_stand_apart), cmocka_unit_test(test_copies),
        cmocka_unit_test(test_grow_keeps_and_doubles),  cmocka_unit_test(test_heap),
        cmocka_unit_test(test_overflow_is_fatal),       cmocka_unit_test(test_on_free),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
