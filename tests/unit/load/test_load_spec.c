/* What a load may be asked for, what is copied of it, and how its lanes and cells lie. */
#include "fake_driver.h"

#include <math.h>

#include "base/limits.h"

static const struct step one_request[] = {{.kind = STEP_HTTP, .text = "GET /", .line = 7}};

/* ---- refused ---- */

static void refused(const struct load_spec *spec, const char *what)
{
    struct load *load = NULL;
    struct pl_err err = {0};
    enum pl_code code = load_new(spec, &load, &err);
    load_free(load);
    assert_true(code == PL_INPUT || code == PL_LIMIT);
    if (strstr(err.what, what) == NULL)
        fail_msg("\"%s\" is not in \"%s\"", what, err.what);
}

static void taken(const struct load_spec *spec)
{
    struct load *load = NULL;
    struct pl_err err = {0};
    if (load_new(spec, &load, &err) != PL_OK)
        fail_msg("%s", err.what);
    load_free(load);
}

/* Each driver has its own steps; the null and the simulated one take all of them. */
static void test_steps_and_drivers(void **state)
{
    (void)state;
    static const struct load_http http;
    struct fake_scripts scripts;
    fake_scripts_init(&scripts);
    fake_script(&scripts, 1, "\\set x 1\nSELECT :x;\n");
    fake_program(&scripts, 1, one_request, 1);
    fake_script(&scripts, 1, "\\startpipeline\n\\endpipeline\n");
    struct load_spec spec = fake_spec(&scripts);
    spec.sim = (struct load_sim){.servers = 1, .mean_service_ns = 1e6};
    spec.http = &http;
    spec.script_count = 1;
    spec.driver = LOAD_HTTP;
    refused(&spec, "script \"s0\", line 2: SQL");
    spec.driver = LOAD_PG;
    taken(&spec);
    spec.scripts = &scripts.scripts[2];
    taken(&spec);
    spec.driver = LOAD_HTTP;
    refused(&spec, "script \"s2\", line 1: SQL");
    spec.scripts = &scripts.scripts[1];
    spec.driver = LOAD_PG;
    refused(&spec, "script \"by hand\", line 7: an HTTP request");
    spec.scripts = scripts.scripts;
    spec.script_count = 3;
    refused(&spec, "an HTTP request");
    spec.driver = LOAD_NULL;
    taken(&spec);
    spec.driver = LOAD_SIM;
    taken(&spec);
    pl_arena_free(scripts.arena);
}

static void test_http(void **state)
{
    (void)state;
    struct load_http http = {0};
    struct fake_scripts scripts;
    fake_scripts_init(&scripts);
    fake_program(&scripts, 1, one_request, 1);
    struct load_spec spec = fake_spec(&scripts);
    spec.driver = LOAD_HTTP;
    refused(&spec, "needs to be told how");
    spec.http = &http;
    http.max_time_ns = -1;
    refused(&spec, "negative");
    http.max_time_ns = 0;
    http.engine.connections = -1;
    refused(&spec, "negative");
    pl_arena_free(scripts.arena);
}

static void test_users(void **state)
{
    (void)state;
    struct load_spec closed = sim_spec(), open = open_spec(), spec = closed;
    spec.session_operations = 3;
    refused(&spec, "sessions need an open loop");
    spec = closed;
    spec.think_ns = -1;
    refused(&spec, "negative");
    spec.think_ns = MS;
    taken(&spec);
    spec = open;
    spec.think_ns = MS;
    refused(&spec, "no think time");
    spec.session_operations = 2.5;
    refused(&spec, "2.5 operations");
    spec.session_geometric = true;
    taken(&spec);
    spec.session_operations = 0.5;
    refused(&spec, "not 0.5");
    spec.session_operations = (double)NAN;
    refused(&spec, "a session has");
    spec.session_operations = (double)INFINITY;
    refused(&spec, "a session has");
}

static struct feed *feed_of(struct fake_scripts *scripts, const char *text)
{
    struct feed *feed = NULL;
    struct pl_err err = {0};
    if (feed_parse("t.csv", text, strlen(text), FEED_RANDOM, scripts->names, scripts->arena, &feed, &err) != PL_OK)
        fail_msg("%s", err.what);
    return feed;
}

static void test_tenants(void **state)
{
    (void)state;
    struct fake_scripts scripts, others;
    fake_scripts_init(&scripts);
    fake_scripts_init(&others);
    fake_script(&scripts, 1, "SELECT 1;\n");
    struct feed *few = feed_of(&scripts, "tenant,group\na,x\nb,y\n");
    for (int i = 0; i < 20; i++) {
        char name[16];
        snprintf(name, sizeof name, "other%d", i);
        names_predefine(others.names, name);
    }
    struct load_spec spec = fake_spec(&scripts);
    spec.sim = (struct load_sim){.servers = 1, .mean_service_ns = 1e6};
    spec.tenants = few;
    spec.driver = LOAD_PG;
    refused(&spec, "no tenants");
    spec.driver = LOAD_SIM;
    taken(&spec);
    spec.driver = LOAD_NULL;
    taken(&spec);
    spec.tenants = feed_of(&others, "late\na\n"); /* not of these scripts' variables */
    refused(&spec, "\"late\"");
    /* each group has cells of its own, of which two workers have 1365 */
    struct pl_buf text;
    pl_buf_init(&text, 1 << 20);
    pl_buf_printf(&text, "tenant,group\n");
    for (int i = 0; i < 900; i++)
        pl_buf_printf(&text, "t%d,g%d\n", i, i);
    spec.tenants = feed_of(&scripts, text.data);
    spec.workers = 2;
    refused(&spec, "of each group of tenants");
    spec.no_steps = true;
    taken(&spec);
    pl_buf_release(&text);
    pl_arena_free(scripts.arena);
    pl_arena_free(others.arena);
}

/* ---- copied ---- */

static void scribble(char *text)
{
    memset(text, '#', strlen(text));
}

/* Nothing of the spec need live longer than the call but what its header says. */
static void test_copy(void **state)
{
    (void)state;
    char url[] = "http://a/", header[] = "X-A: b", user[] = "ann:secret", ca[] = "ca.pem", source[] = "127.0.0.2",
         to[] = "a:1:b:2", name[] = "server", unix_socket[] = "/run/s", cert[] = "cert", key[] = "key";
    const char *headers[] = {header, NULL}, *sources[] = {source, NULL}, *connect_to[] = {to, NULL};
    struct load_http http = {.base_url = url,
                             .headers = headers,
                             .credentials = user,
                             .follows = true,
                             .engine = {.connections = 5,
                                        .ca_file = ca,
                                        .cert_file = cert,
                                        .key_file = key,
                                        .server_name = name,
                                        .unix_socket = unix_socket,
                                        .connect_to = connect_to,
                                        .sources = sources}};
    struct load_spec spec = sim_spec(), copy;
    struct pl_arena *arena = pl_arena_new();
    spec.http = &http;
    load_spec_copy(&spec, arena, &copy);
    char *const all[] = {url, header, user, ca, source, to, name, unix_socket, cert, key};
    for (size_t i = 0; i < sizeof all / sizeof *all; i++)
        scribble(all[i]);
    headers[0] = sources[0] = connect_to[0] = NULL;
    http.follows = false;
    assert_ptr_not_equal(copy.http, &http);
    assert_true(copy.http->follows && copy.http->engine.connections == 5);
    assert_string_equal(copy.http->base_url, "http://a/");
    assert_string_equal(copy.http->headers[0], "X-A: b");
    assert_null(copy.http->headers[1]);
    assert_string_equal(copy.http->credentials, "ann:secret");
    assert_string_equal(copy.http->engine.ca_file, "ca.pem");
    assert_string_equal(copy.http->engine.cert_file, "cert");
    assert_string_equal(copy.http->engine.key_file, "key");
    assert_string_equal(copy.http->engine.server_name, "server");
    assert_string_equal(copy.http->engine.unix_socket, "/run/s");
    assert_string_equal(copy.http->engine.connect_to[0], "a:1:b:2");
    assert_string_equal(copy.http->engine.sources[0], "127.0.0.2");
    pl_arena_free(arena);
}

/* ---- laid out ---- */

static void test_shape(void **state)
{
    (void)state;
    struct fake_scripts scripts;
    fake_scripts_init(&scripts);
    fake_script(&scripts, 1, "SELECT 1;\nSELECT 2;\n");
    fake_script(&scripts, 3, "SELECT 3;\n");
    struct load_spec spec = fake_spec(&scripts);
    struct load_shape shape;
    struct pl_arena *arena = pl_arena_new();
    load_shape_init(&shape, &spec, arena);
    assert_true(shape.group_count == 1 && shape.lane_count == 2 && shape.cell_count == 5 && shape.weight_sum == 4);
    assert_true(shape.lanes[1].first_cell == 3 && shape.lanes[1].script == 1 && shape.lanes[1].group == 0);
    spec.tenants = feed_of(&scripts, "tenant,weight,group\na,1,x\nb,2,y\nc,5,x\nd,2,z\n");
    load_shape_init(&shape, &spec, arena);
    assert_true(shape.group_count == 3 && shape.lane_count == 6 && shape.cell_count == 3 * 3 + 3 * 2);
    for (int l = 0; l < 6; l++) {
        const struct load_lane *lane = &shape.lanes[l];
        assert_true(lane->script == l / 3 && lane->group == l % 3);
        assert_ptr_equal(lane->program, scripts.scripts[l / 3].program);
        assert_int_equal(lane->first_cell, l < 3 ? 3 * l : 9 + 2 * (l - 3));
        assert_int_equal(load_shape_steps(&shape, l), l < 3 ? 2 : 1);
    }
    /* x has 6 of 10, y 2, z 2 */
    static const struct {
        double draw;
        int group;
    } draws[] = {{0, 0}, {0.3, 0}, {0.599, 0}, {0.6001, 1}, {0.7999, 1}, {0.8001, 2}, {1 - 1e-16, 2}};
    for (size_t i = 0; i < sizeof draws / sizeof *draws; i++)
        assert_int_equal(load_shape_group(&shape, draws[i].draw), draws[i].group);
    pl_arena_free(arena);
    pl_arena_free(scripts.arena);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_steps_and_drivers), cmocka_unit_test(test_http), cmocka_unit_test(test_users),
        cmocka_unit_test(test_tenants),           cmocka_unit_test(test_copy), cmocka_unit_test(test_shape),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
