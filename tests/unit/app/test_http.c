/* HTTP as a plan asks for it: options of the service, over them those of the stage; and whether the machine can do it. */
#include "support.h"

#include <string.h>

#include "app/conduct_int.h"

static struct plan_service web(const char *url)
{
    return (struct plan_service){.name = "web",
                                 .kind = "attach",
                                 .url = url,
                                 .http = {.streams = 10,
                                          .connections = 5,
                                          .max_time_ns = 30000000000,
                                          .connect_timeout_ns = 1000000000,
                                          .follow = true,
                                          .ca_file = "ca.pem"}};
}

static void test_the_stage_wins(void **state)
{
    (void)state;
    struct pl_arena *arena = pl_arena_new();
    struct plan_service service = web("https://bob:p%40ss%3a%zz@example.org:8443/api?x");
    struct plan_params params = {0};
    struct load_http http;
    struct pl_err err = {0};
    assert_int_equal(conduct_http(&service, &params, arena, &http, &err), PL_OK);
    assert_string_equal(http.base_url, "https://example.org:8443/api?x");
    assert_string_equal(http.credentials, "bob:p@ss:%zz");
    assert_int_equal(http.engine.connections, 5);
    assert_int_equal(http.max_time_ns, 30000000000);
    assert_int_equal(http.engine.connect_timeout_ns, 1000000000);
    assert_string_equal(http.engine.ca_file, "ca.pem");
    assert_true(http.follows && !http.compressed && !http.engine.http2 && !http.engine.close_each);
    params = (struct plan_params){.http2 = PLAN_YES,
                                  .streams = 3,
                                  .connections = 7,
                                  .keep_alive = PLAN_NO,
                                  .max_time_ns = 1,
                                  .follow = PLAN_NO,
                                  .compressed = PLAN_YES};
    assert_int_equal(conduct_http(&service, &params, arena, &http, &err), PL_OK);
    assert_true(!http.follows && http.compressed && http.engine.http2 && http.engine.close_each);
    assert_int_equal(http.engine.streams, 3);
    assert_int_equal(http.engine.connections, 7);
    assert_int_equal(http.max_time_ns, 1);
    service.http.no_keep_alive = true;
    params.keep_alive = PLAN_YES;
    assert_int_equal(conduct_http(&service, &params, arena, &http, &err), PL_OK);
    assert_false(http.engine.close_each);
    service = web("http://h");
    assert_int_equal(conduct_http(&service, &params, arena, &http, &err), PL_OK);
    assert_string_equal(http.base_url, "http://h");
    assert_null(http.credentials);
    service = web("http://h:99999");
    assert_int_equal(conduct_http(&service, &params, arena, &http, &err), PL_INPUT);
    pl_arena_free(arena);
}

static void test_too_many_connections(void **state)
{
    (void)state;
    struct pl_arena *arena = pl_arena_new();
    struct plan_service service = web("http://bob:secret@127.0.0.1:8080");
    const struct plan plan = {.path = "p.yaml", .services = &service, .service_count = 1, .subject = &service};
    const struct conduct_spec spec = {.plan = &plan};
    const struct conduct c = {.spec = &spec, .plan = &plan, .arena = arena};
    const struct plan_stage plan_stage = {.kind = PLAN_CLIENTS, .name = "clients", .line = 9, .col = 5};
    const struct stage stage = {.plan = &plan_stage, .kind = stage_kind_of(PLAN_CLIENTS), .row = {.name = "clients"}};
    struct stage_case stage_case = {.params = {.clients = 4}, .row = {.label = "clients=90000"}};
    const struct conduct_load load = {0};
    struct pl_err err = {0};
    assert_int_equal(conduct_check_ports(&c, &stage, &stage_case, &load, &err), PL_OK);
    stage_case.params.clients = 90000;
    assert_int_equal(conduct_check_ports(&c, &stage, &stage_case, &load, &err), PL_OK); /* they share 5 */
    service.http.connections = 0;
    assert_int_equal(conduct_check_ports(&c, &stage, &stage_case, &load, &err), PL_INPUT);
    assert_int_equal(err.line, 9);
    assert_non_null(strstr(err.what, "stage \"clients\", clients=90000: "));
    assert_null(strstr(err.what, "secret"));
    assert_null(strstr(err.hint, "secret"));
    pl_arena_free(arena);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_the_stage_wins), cmocka_unit_test(test_too_many_connections)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
