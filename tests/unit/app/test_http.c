/* HTTP as a plan asks for it: options of the service, over them those of the stage; and whether the machine can do it. */
#include "support.h"

#include <string.h>

#include "app/conduct_int.h"
#include "script/feed.h"

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

/* What only the load would stumble over is found before it begins. */
static void test_tenants(void **state)
{
    (void)state;
    static const struct {
        const char *name, *text, *told; /* told: NULL: fine */
    } cases[] = {
        {"host", "shop{n}.example.org", NULL},
        {"host", "[::1]:8080", NULL},
        {"host", "shop{m}.example.org", "the host of row 1 has a character"},
        {"host", "a b", "the host of row 1 has a character"},
        {"url", "http://bob:secret@127.0.0.1:8080/t{n}", NULL},
        {"url", "ftp://bob:secret@127.0.0.1", "the url of row 1 is wrong"},
        {"url", "http://bob:secret@127.0.0.1:{n}/", NULL},
        {"url", "http://bob:secret@127.0.0.1/{m}", "the url of row 1 has a blank or a brace"},
        {"url", "http://127.0.0.1/?t={n}", "the url of row 1 has a query"},
        {"shop", "any {thing}", NULL},
    };
    struct plan_service service = web("http://127.0.0.1:8080");
    struct plan_tenants tenants = {.line = 7, .col = 3};
    const struct plan plan = {
        .path = "p.yaml", .services = &service, .service_count = 1, .subject = &service, .tenants = &tenants};
    const struct conduct_spec spec = {.plan = &plan};
    struct conduct c = {.spec = &spec, .plan = &plan, .arena = pl_arena_new()};
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        const struct feed_pattern column = {cases[i].name, cases[i].text};
        struct feed *feed = NULL;
        struct pl_err err = {0};
        assert_int_equal(feed_from_pattern("tenants", &column, 1, 3, names_new(c.arena), c.arena, &feed, &err), PL_OK);
        enum pl_code code = conduct_check_tenants(&c, feed, &err);
        if ((code == PL_OK) != (cases[i].told == NULL))
            fail_msg("%s: %s", cases[i].text, err.what);
        if (code == PL_OK)
            continue;
        assert_int_equal(err.line, 7);
        if (strstr(err.what, cases[i].told) == NULL || strstr(err.what, "secret") != NULL || err.hint[0] == '\0')
            fail_msg("%s", err.what);
    }
    assert_int_equal(conduct_check_tenants(&c, NULL, NULL), PL_OK);
    pl_arena_free(c.arena);
}

static void test_certificates(void **state)
{
    (void)state;
    static const struct {
        const char *path;
        bool insecure;
        const char *told;
    } cases[] = {{NULL, true, NULL},
                 {"/nowhere/ca.pem", false, "cannot be read"},
                 {"/etc/passwd", false, "holds no certificate"},
                 {"/etc/passwd", true, "is not used"}};
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct plan_service service = web("https://127.0.0.1:8443");
        service.line = 4;
        service.http.ca_file = cases[i].path;
        service.http.insecure = cases[i].insecure;
        const struct plan plan = {.path = "p.yaml", .services = &service, .service_count = 1, .subject = &service};
        const struct conduct c = {.plan = &plan, .arena = pl_arena_new()};
        struct pl_err err = {0};
        enum pl_code code = conduct_check_certificates(&c, &err);
        assert_int_equal(code, cases[i].told == NULL ? PL_OK : PL_INPUT);
        if (code != PL_OK && (strstr(err.what, cases[i].told) == NULL || err.line != 4 || err.hint[0] == '\0'))
            fail_msg("%s", err.what);
        pl_arena_free(c.arena);
    }
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
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_tenants), cmocka_unit_test(test_certificates),
                                       cmocka_unit_test(test_the_stage_wins), cmocka_unit_test(test_too_many_connections)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
