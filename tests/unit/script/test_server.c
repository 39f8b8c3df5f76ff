/* Random expressions: PostgreSQL and the evaluator agree on the value, or both refuse. Where SQL and pgbench differ by
 * intention: random_expr.h. */
#include "script_test.h"

#include <libpq-fe.h>
#include <math.h>
#include <stdlib.h>

#include "pgserver.h"
#include "random_expr.h"

static void compare(const struct random_expr *e, PGresult *result)
{
    bool is_row = PQresultStatus(result) == PGRES_TUPLES_OK;
    const char *state = PQresultErrorField(result, PG_DIAG_SQLSTATE);
    struct value value;
    const char *wrong = script_value(e->ours, &value);
    if (!is_row && (state == NULL || strncmp(state, "22", 2) != 0)) /* data exceptions are what expressions run into */
        fail_msg("%s: %s", e->server, PQresultErrorMessage(result));
    if (is_row != (wrong == NULL))
        fail_msg("%s: %s, %s: %s", e->ours, wrong != NULL ? wrong : "fine", e->server,
                 is_row ? PQgetvalue(result, 0, 0) : PQresultErrorMessage(result));
    if (!is_row)
        return;
    const char *text = PQgetvalue(result, 0, 0);
    bool is_same = false;
    char buf[VALUE_TEXT_BYTES];
    value_text(&value, buf);
    if (value.type == VALUE_NULL)
        is_same = PQgetisnull(result, 0, 0);
    else if (value.type == VALUE_BOOL)
        is_same = strcmp(text, value.b ? "t" : "f") == 0;
    else if (value.type == VALUE_INT)
        is_same = strcmp(text, buf) == 0;
    else
        is_same = strtod(text, NULL) == value.d && !PQgetisnull(result, 0, 0);
    if (!is_same)
        fail_msg("%s is %s, and %s is %s", e->ours, buf, e->server, PQgetisnull(result, 0, 0) ? "null" : text);
}

static void test_agree(void **state)
{
    enum { EXPRESSIONS = 6000 };
    struct pgserver *server = pgserver_or_skip(*state);
    PGconn *conn = PQconnectdb(server->conninfo);
    assert_int_equal(PQstatus(conn), CONNECTION_OK);
    struct random_expr *e = calloc(1, sizeof *e);
    pl_rng_init(&e->rng, 2, PL_RNG_TEST, 7);
    int refused = 0;
    for (int i = 0; i < EXPRESSIONS; i++) {
        script_setup(NULL);
        random_expr_next(e);
        PGresult *result = PQexec(conn, e->server);
        compare(e, result);
        refused += PQresultStatus(result) != PGRES_TUPLES_OK;
        PQclear(result);
        script_teardown(NULL);
    }
    /* both ways are walked often */
    assert_true(refused > EXPRESSIONS / 50 && refused < EXPRESSIONS / 2);
    free(e);
    PQfinish(conn);
}

static int setup(void **state)
{
    *state = pgserver_start();
    return 0;
}

static int teardown(void **state)
{
    pgserver_stop(*state);
    return 0;
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_agree)};
    return cmocka_run_group_tests_name("server", tests, setup, teardown);
}
