/* What the tests of the data set share: a server with databases of its own, and the real pgbench to compare with. */
#ifndef PL_TESTS_DATASET_SUPPORT_H
#define PL_TESTS_DATASET_SUPPORT_H

#include "pgserver.h"
#include "support.h"

#include <libpq-fe.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "service/dataset.h"
#include "service/spawn.h"

#define UNUSED __attribute__((unused))

#define assert_ok(call)                                                                                                    \
    do {                                                                                                                   \
        enum pl_code code_of_call = (call);                                                                                \
        char text_of_err[1024];                                                                                            \
        if (code_of_call != PL_OK)                                                                                         \
            fail_msg("%s: %s", #call, pl_err_text(&err, text_of_err, sizeof text_of_err));                                 \
    } while (0)

UNUSED static void ignore_notice(void *ctx, const PGresult *result)
{
    (void)ctx, (void)result;
}

UNUSED static PGconn *connect_to(const struct pgserver *server, const char *database)
{
    char conninfo[400];
    snprintf(conninfo, sizeof conninfo, "%s dbname=%s", server->conninfo, database); /* the later one wins */
    PGconn *conn = PQconnectdb(conninfo);
    if (PQstatus(conn) != CONNECTION_OK)
        fail_msg("%s", PQerrorMessage(conn));
    PQsetNoticeReceiver(conn, ignore_notice, NULL);
    return conn;
}

/* The first value of the last result; "" when there is none. In a static buffer. */
UNUSED static const char *query(PGconn *conn, const char *sql)
{
    static char text[32 * 1024];
    PGresult *result = PQexec(conn, sql);
    if (PQresultStatus(result) != PGRES_TUPLES_OK && PQresultStatus(result) != PGRES_COMMAND_OK)
        fail_msg("%s: %s", sql, PQerrorMessage(conn));
    snprintf(text, sizeof text, "%s", PQntuples(result) > 0 ? PQgetvalue(result, 0, 0) : "");
    PQclear(result);
    return text;
}

/* An empty database, and a connection to it. */
UNUSED static PGconn *fresh_database(const struct pgserver *server, const char *name)
{
    char sql[200];
    PGconn *conn = connect_to(server, "postgres");
    snprintf(sql, sizeof sql, "DROP DATABASE IF EXISTS %s WITH (FORCE)", name);
    query(conn, sql);
    snprintf(sql, sizeof sql, "CREATE DATABASE %s", name);
    query(conn, sql);
    PQfinish(conn);
    return connect_to(server, name);
}

#endif
