/* Between the start and the end of a load no worker allocates. malloc and its kin are replaced in this program; a sanitizer
 * has replaced them already. Over TLS, OpenSSL 3.0 takes and returns a few dozen bytes for each record that it writes, and
 * cannot be told not to: there the test is that nobody else does. */
#include "load_test.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>

#include "pgserver.h"
#include "script/feed.h"
#include "wire/pgconn.h"

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
#define IS_SANITIZED 1
#elif defined(__has_feature)
#if __has_feature(address_sanitizer) || __has_feature(thread_sanitizer) || __has_feature(memory_sanitizer)
#define IS_SANITIZED 1
#endif
#endif

enum { KEPT = 64 };

static atomic_bool is_armed;
static atomic_int taken;
static int64_t taken_ns[KEPT];
static _Thread_local bool is_conductor;
static bool is_tls;
static uintptr_t openssl_low, openssl_high;

#ifndef IS_SANITIZED
void *__libc_malloc(size_t size);
void *__libc_calloc(size_t count, size_t size);
void *__libc_realloc(void *memory, size_t size);
void *__libc_memalign(size_t alignment, size_t size);

static bool is_openssl(const void *address)
{
    return (uintptr_t)address >= openssl_low && (uintptr_t)address < openssl_high;
}

static void note(void *caller)
{
    if (!atomic_load(&is_armed) || is_conductor || (is_tls && is_openssl(caller)))
        return;
    int index = atomic_fetch_add(&taken, 1);
    if (index < KEPT)
        taken_ns[index] = pl_clock_ns();
}

void *malloc(size_t size)
{
    note(__builtin_return_address(0));
    return __libc_malloc(size);
}

void *calloc(size_t count, size_t size)
{
    note(__builtin_return_address(0));
    return __libc_calloc(count, size);
}

void *realloc(void *memory, size_t size)
{
    note(__builtin_return_address(0));
    return __libc_realloc(memory, size);
}

void *aligned_alloc(size_t alignment, size_t size)
{
    note(__builtin_return_address(0));
    return __libc_memalign(alignment, size);
}
#endif

/* Where libcrypto's code stands, from the process's own map. */
static void openssl_find(void)
{
    FILE *maps = fopen("/proc/self/maps", "re");
    char line[512];
    assert_non_null(maps);
    while (fgets(line, sizeof line, maps) != NULL) {
        char *rest;
        uintptr_t low = strtoul(line, &rest, 16), high = strtoul(rest + 1, &rest, 16);
        if (strstr(line, "libcrypto") == NULL)
            continue;
        openssl_low = openssl_low == 0 ? low : openssl_low;
        openssl_high = high;
    }
    fclose(maps);
    assert_true(openssl_low != 0);
}

static int group_setup(void **state)
{
    (void)state;
    is_conductor = true;
    openssl_find();
    return 0;
}

static void skip_when_sanitized(void)
{
#ifdef IS_SANITIZED
    skip();
#endif
}

static void *allocate_once(void *argument)
{
    void *volatile memory = malloc(100);
    free(memory);
    return argument;
}

/* That the count counts. */
static void test_control(void **state)
{
    (void)state;
    skip_when_sanitized();
    pthread_t thread;
    atomic_store(&taken, 0);
    atomic_store(&is_armed, true);
    assert_int_equal(pthread_create(&thread, NULL, allocate_once, NULL), 0);
    pthread_join(thread, NULL);
    atomic_store(&is_armed, false);
    assert_true(atomic_load(&taken) >= 1);
}

/* Everything that was taken between start and end; the workers close their connections after the end. */
static void check(const struct load_spec *spec, int64_t start_ns)
{
    struct load_run run = {0};
    struct load *load;
    memory_sink_init(&run.memory);
    assert_int_equal(load_new(spec, &load, &run.err), PL_OK);
    if (load_connect(load, NULL, &run.err) != PL_OK)
        fail_msg("%s", run.err.what);
    atomic_store(&taken, 0);
    atomic_store(&is_armed, true);
    int64_t begin_ns = start_ns == 0 ? pl_clock_ns() : start_ns;
    load_run_connected(load, begin_ns, 0, &run);
    atomic_store(&is_armed, false);
    assert_int_equal(run.code, PL_OK);
    assert_true(run.result.total.completed > 100);
    int count = atomic_load(&taken) < KEPT ? atomic_load(&taken) : KEPT, within = 0;
    for (int i = 0; i < count; i++)
        within += start_ns != 0 || taken_ns[i] <= run.result.drain_end_ns;
    assert_int_equal(within, 0);
    load_free(load);
    load_run_release(&run);
}

static struct load_spec spec_for(enum load_driver driver, const struct load_script *script)
{
    return (struct load_spec){.driver = driver,
                              .sim = {.servers = 3, .mean_service_ns = 1e6},
                              .scripts = script,
                              .script_count = 1,
                              .clients = 8,
                              .workers = 2,
                              .warm_up_ns = 100 * MS,
                              .measure_ns = 500 * MS,
                              .drain_ns = 5 * SEC,
                              .slice_ns = 50 * MS,
                              .seed = 2};
}

static void test_null_and_sim(void **state)
{
    (void)state;
    skip_when_sanitized();
    struct load_spec spec = spec_for(LOAD_NULL, &load_test_script_one);
    check(&spec, 0);
    spec.open_loop = true;
    spec.rate_per_s = 5000;
    spec.arrivals = PLAN_POISSON;
    check(&spec, 0);
    spec.driver = LOAD_SIM;
    check(&spec, START_NS);
}

/* Users, tenants, think time. */
static void test_users(void **state)
{
    (void)state;
    skip_when_sanitized();
    static const char text[] = "tenant,group\nann,a\nbea,a\ncay,b\n", sql[] = "SELECT :tenant;\n";
    struct pl_arena *arena = pl_arena_new();
    struct names *names = names_new(arena);
    struct feed *tenants;
    struct program *program;
    struct pl_err err = {0};
    assert_int_equal(feed_parse("t.csv", text, strlen(text), FEED_RANDOM, names, arena, &tenants, &err), PL_OK);
    assert_int_equal(program_compile("s", sql, strlen(sql), PROGRAM_AS_PGBENCH, names, arena, &program, &err), PL_OK);
    const struct load_script script = {program, 1};
    struct load_spec spec = spec_for(LOAD_NULL, &script);
    spec.tenants = tenants;
    spec.think_ns = MS;
    spec.think_exponential = true;
    check(&spec, 0);
    spec.open_loop = true;
    spec.rate_per_s = 3000;
    spec.session_operations = 3;
    spec.session_geometric = true;
    check(&spec, 0);
    pl_arena_free(arena);
}

/* Everything at once that pgbench's options ask for: tries, a log, every command, sleeps, connections. */
static void test_everything_asked_for(void **state)
{
    (void)state;
    skip_when_sanitized();
    static const char text[] = "\\set x random(1, 5)\nSELECT 1;\n\\if :x = 1\n\\sleep 1 ms\n\\elif :x = 2\n"
                               "\\set y 1 / 0\n\\endif\n\\startpipeline\nSELECT 2;\n\\endpipeline\n";
    struct pl_arena *arena = pl_arena_new();
    struct program *program;
    struct pl_err err = {0};
    assert_int_equal(program_compile("s", text, strlen(text), PROGRAM_AS_PGBENCH, names_new(arena), arena, &program, &err),
                     PL_OK);
    const struct load_script script = {program, 1};
    for (int open_loop = 0; open_loop < 2; open_loop++) {
        struct load_spec spec = spec_for(LOAD_NULL, &script);
        spec.protocol = PLAN_EXTENDED;
        spec.open_loop = open_loop;
        spec.rate_per_s = 20000;
        spec.max_tries = 3;
        spec.latency_limit_ns = 20 * MS;
        spec.every_step = spec.log_operations = spec.tell_failures = spec.connect_each = true;
        spec.sampling_frac = open_loop ? 0.5 : 0;
        check(&spec, 0);
    }
    pl_arena_free(arena);
}

static void check_server(struct pgserver *server, bool with_errors)
{
    static const char good[] = "\\set x random(1, 100)\nBEGIN;\nSELECT :x, repeat('z', 20000);\nEND;\n";
    static const char bad[] = "\\set x random(0, 3)\nBEGIN;\nSELECT 1 / (:x)::int;\nEND;\n";
    const char *text = with_errors ? bad : good;
    struct pl_arena *arena = pl_arena_new();
    struct program *program;
    struct pl_err err = {0};
    assert_int_equal(program_compile("s", text, strlen(text), PROGRAM_STRICT, names_new(arena), arena, &program, &err),
                     PL_OK);
    for (int i = 0; i < 6; i++) {
        const struct load_script script = {program, 1};
        struct load_spec spec = spec_for(LOAD_PG, &script);
        spec.conninfo = server->conninfo;
        spec.protocol = (enum plan_protocol)(i % 3);
        spec.open_loop = i >= 3;
        spec.rate_per_s = 400;
        check(&spec, 0);
    }
    pl_arena_free(arena);
}

static void test_postgres(void **state)
{
    (void)state;
    skip_when_sanitized();
    struct pgserver *server = pgserver_start();
    pgserver_or_skip(server);
    check_server(server, false);
    check_server(server, true);
    pgserver_stop(server);
}

static void test_postgres_tls(void **state)
{
    (void)state;
    skip_when_sanitized();
    struct pgserver *server = pgserver_start_tls();
    pgserver_or_skip(server);
    is_tls = true;
    check_server(server, false);
    check_server(server, true);
    is_tls = false;
    pgserver_stop(server);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_control), cmocka_unit_test(test_null_and_sim), cmocka_unit_test(test_everything_asked_for),
        cmocka_unit_test(test_users),   cmocka_unit_test(test_postgres),     cmocka_unit_test(test_postgres_tls),
    };
    return cmocka_run_group_tests(tests, group_setup, NULL);
}
