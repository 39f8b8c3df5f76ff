/* A throwaway PostgreSQL for tests: own temporary folder, Unix socket, trust authentication, no fsync, unprivileged user
 * also when the test runs as root. It starts in about two seconds, dies with the thread that started it, and pgserver_stop
 * removes every trace.
 *
 *     static int setup(void **state) { *state = pgserver_start(); return 0; }         (cmocka group setup)
 *     static int teardown(void **state) { pgserver_stop(*state); return 0; }
 *     static void test_x(void **state) { struct pgserver *server = pgserver_or_skip(*state); ... server->conninfo ... }
 *
 * Looked for in the folder that PLIMSOLL_TEST_PGBIN names, or else in /usr/lib/postgresql/N/bin (the highest N). With
 * PLIMSOLL_TEST_PG=18 it is the one in PLIMSOLL_TEST_PGBIN18 instead, which tools/check sets: a test that stands in
 * `unit_on_18` of its room's meson.build runs a second time with that. */
#ifndef PL_TESTS_PGSERVER_H
#define PL_TESTS_PGSERVER_H

#include <stdbool.h>
#include <sys/types.h>

struct pgserver {
    char conninfo[256]; /* superuser "postgres", database "postgres" */
    char folder[64];    /* data/ is PGDATA, the socket is here, log is the server's log */
    char bin[256];      /* folder of postgres, initdb, pg_ctl, ... */
    int port;
    pid_t pid;   /* of the postmaster, a child of this process; 0 once it was reaped */
    int lock_fd; /* on folder/lock: whoever can lock it knows that the folder is nobody's any more */
};

/* max_connections is 300. The role "guarded" (which the test creates) has to give a password (SCRAM); all others are
 * trusted. NULL when there is no PostgreSQL; one that does not start fails the test and prints its log. */
struct pgserver *pgserver_start(void);

/* As pgserver_start, on TCP 127.0.0.1 with ssl = on and a self-signed certificate; conninfo has sslmode=require. */
struct pgserver *pgserver_start_tls(void);

/* settings: "name=value" texts, ended by NULL; they win over the defaults. */
struct pgserver *pgserver_start_with(const char *const *settings, bool tls);

/* Fast shutdown (immediate when that takes more than 20 s), folder removed, memory freed. NULL is fine. */
void pgserver_stop(struct pgserver *server);

/* Returns server; skips the calling cmocka test, and says why, when it is NULL. */
struct pgserver *pgserver_or_skip(struct pgserver *server);

#endif
