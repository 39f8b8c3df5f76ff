/* A service that runs already: found, told of, left alone. */
#include "support.h"

#include <string.h>
#include <sys/stat.h>

#include "service/service.h"

static const char *fact(const struct fact *facts, size_t count, const char *name)
{
    for (size_t i = 0; i < count; i++)
        if (strcmp(facts[i].name, name) == 0) {
            assert_string_equal(facts[i].scope, "web");
            return facts[i].value;
        }
    return NULL;
}

static void test_it_is_left_alone(void **state)
{
    (void)state;
    struct pl_arena *arena = pl_arena_new();
    const struct plan_service plan = {.name = "web", .kind = "attach", .url = "http://bob:secret@127.0.0.1:1/api?x=1"};
    struct service *service = NULL;
    struct fault fault = {0};
    struct pl_err err = {0};
    assert_int_equal(service_start(&plan, NULL, NULL, arena, &service, &err), PL_OK);
    assert_true(service->is_attached);
    assert_int_equal(service->pid, 0);
    assert_string_equal(service->directory, "");
    assert_true(service_check(service, arena, &fault)); /* nobody listens there: that is for the load to find */
    assert_int_equal(service_load_data(service, NULL, NULL, NULL, &err), PL_OK);
    assert_int_equal(service_tidy(service, NULL, &err), PL_OK);
    struct fact *facts = NULL;
    size_t count = 0;
    assert_int_equal(service_facts(service, NULL, arena, &facts, &count, &err), PL_OK);
    assert_string_equal(fact(facts, count, "kind"), "attach");
    assert_string_equal(fact(facts, count, "url"), "http://127.0.0.1:1/api?x=1");
    assert_string_equal(fact(facts, count, "place"), "this machine");
    assert_null(fact(facts, count, "user"));
    assert_null(fact(facts, count, "ready_ns"));
    for (size_t i = 0; i < count; i++)
        assert_null(strstr(facts[i].value, "secret"));
    assert_int_equal(service_stop(service, SERVICE_STOP_CLEAN, &err), PL_OK);
    assert_int_equal(service_stop(service, SERVICE_STOP_KILL, &err), PL_OK); /* twice is fine */
    pl_arena_free(arena);
}

/* It may become known later: until then it is a fault of each operation. */
static void test_unknown_host(void **state)
{
    (void)state;
    struct pl_arena *arena = pl_arena_new();
    struct plan_service plan = {.name = "web", .kind = "attach", .url = "http://bob:secret@no-such-host.invalid/"};
    struct service *service = NULL;
    struct pl_err err = {0};
    struct fact *facts = NULL;
    size_t count = 0;
    assert_int_equal(service_start(&plan, NULL, NULL, arena, &service, &err), PL_OK);
    assert_int_equal(service_facts(service, NULL, arena, &facts, &count, &err), PL_OK);
    const char *place = fact(facts, count, "place");
    assert_non_null(strstr(place, "the host \"no-such-host.invalid\" cannot be found"));
    assert_null(strstr(place, "secret"));
    service = NULL;
    plan.url = "http://127.0.0.1:99999/";
    assert_int_equal(service_start(&plan, NULL, NULL, arena, &service, &err), PL_INPUT);
    assert_null(service);
    pl_arena_free(arena);
}

/* How requests are made is part of what was measured. */
static void test_options_are_told(void **state)
{
    (void)state;
    struct pl_arena *arena = pl_arena_new();
    const struct plan_service plan = {.name = "web",
                                      .kind = "attach",
                                      .url = "http://127.0.0.1:1",
                                      .http = {.http2 = true, .streams = 7, .max_time_ns = 250000000, .ca_file = "a.pem"}};
    struct service *service = NULL;
    struct pl_err err = {0};
    struct fact *facts = NULL;
    size_t count = 0;
    assert_int_equal(service_start(&plan, NULL, NULL, arena, &service, &err), PL_OK);
    assert_int_equal(service_facts(service, NULL, arena, &facts, &count, &err), PL_OK);
    assert_string_equal(fact(facts, count, "http.http2"), "yes");
    assert_string_equal(fact(facts, count, "http.streams"), "7");
    assert_string_equal(fact(facts, count, "http.max_time"), "250000000");
    assert_string_equal(fact(facts, count, "http.ca_file"), "a.pem");
    assert_string_equal(fact(facts, count, "http.insecure"), "no");
    assert_string_equal(fact(facts, count, "http.keep_alive"), "yes");
    pl_arena_free(arena);
}

/* An address of documentation (RFC 5737) is none of this machine's. */
static void test_elsewhere(void **state)
{
    (void)state;
    struct pl_arena *arena = pl_arena_new();
    const struct plan_service plan = {.name = "web", .kind = "attach", .url = "https://192.0.2.7:8443"};
    struct service *service = NULL;
    struct pl_err err = {0};
    struct fact *facts = NULL;
    size_t count = 0;
    assert_int_equal(service_start(&plan, NULL, NULL, arena, &service, &err), PL_OK);
    assert_int_equal(service_facts(service, NULL, arena, &facts, &count, &err), PL_OK);
    assert_string_equal(fact(facts, count, "place"), "192.0.2.7");
    assert_string_equal(fact(facts, count, "url"), "https://192.0.2.7:8443");
    pl_arena_free(arena);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_it_is_left_alone), cmocka_unit_test(test_unknown_host),
                                       cmocka_unit_test(test_options_are_told), cmocka_unit_test(test_elsewhere)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
