/* A throwaway PostgreSQL: the parts of postgres*.c and dataset_load.c that meet. */
#ifndef PL_SERVICE_POSTGRES_INT_H
#define PL_SERVICE_POSTGRES_INT_H

#include <libpq-fe.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/arena.h"
#include "base/buf.h"
#include "base/err.h"
#include "plan/plan.h"
#include "service/spawn.h"

struct service_kind; /* service_int.h */
extern const struct service_kind postgres_kind;

struct postgres_programs {
    char directory[256]; /* holds postgres and initdb */
    char library[256];   /* for LD_LIBRARY_PATH: builds outside of the system bring their own; "" = none */
    char version[64];    /* "15.20", as `postgres --version` says */
    int major;
};

/* The version in the text of `postgres --version`: "postgres (PostgreSQL) 15.20 (Debian ...)". False when it is none. */
bool postgres_parse_version(const char *text, char *ret_version, size_t size, int *ret_major);

/* Whether a version satisfies the one that a plan names: "15" any 15.x, "15.20" that one, NULL all. */
bool postgres_version_fits(const char *version, const char *wanted);

/* The newest fitting PostgreSQL. PL_NOT_FOUND tells what was tried, and the package that brings it. */
PL_MUST_CHECK enum pl_code postgres_find(const struct plan_service *plan, const struct spawn_user *user,
                                         struct pl_arena *arena, struct postgres_programs *ret_programs,
                                         struct pl_err *err);

/* Appends one line NAME = 'VALUE' for postgresql.conf, quoted as guc-file.l reads it. PL_INPUT for a name that is none,
 * that plan_setting_refusal refuses, or a value with control characters. */
PL_MUST_CHECK enum pl_code postgres_put_setting(struct pl_buf *out, const char *name, const char *value,
                                                struct pl_err *err);

/* The path of the dynamic shared memory control segment that a server has mapped (/proc/PID/maps); "" for none. */
void postgres_find_dsm(pid_t pid, char *ret_path, size_t size);

/* Removes the System V segment that postmaster.pid names when nobody has it attached and it belongs to the file's owner.
 * True when there is none left; a server that stops in good order removes both itself. */
bool postgres_remove_sysv(const char *data_directory);

/* Removes the control segment and every segment that it lists; true when it is gone. */
bool postgres_remove_dsm(const char *control_path);

/* Builds the tables of pgbench at a scale, all default steps. progress (may be NULL) is told which part of 0..1 is done. */
PL_MUST_CHECK enum pl_code dataset_load_tpcb(PGconn *conn, int64_t scale, void (*progress)(void *ctx, double done),
                                             void *ctx, const volatile int *stop, struct pl_err *err);

#endif
