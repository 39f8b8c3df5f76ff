/* Hurl files as programs: hurl_compile turns a file into steps (src/script/program.h), and the driver of HTTP asks, for
 * each STEP_HTTP, what is to be sent (hurl_render) and what the answer means (hurl_judge). The language is that of
 * https://hurl.dev; docs/hurl.md says what of it is understood. What is not is refused by name, with its place.
 *
 * Compiled requests are immutable and shared by all threads. A `struct hurl_work` holds one thread's buffers: rendering and
 * judging allocate only while something is longer than anything before it. */
#ifndef PL_HURL_HURL_H
#define PL_HURL_HURL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/arena.h"
#include "base/err.h"
#include "script/program.h"

struct hurl_request;
struct hurl_work;

enum { HURL_CODE_BYTES = 40 };

/* A slice of text, not ended by NUL. */
struct hurl_slice {
    const char *text;
    size_t length;
};
struct hurl_header {
    struct hurl_slice name, value;
};

/* Compiles a file of one or more requests. `name` names it in errors (file:line:column; the hint of a syntax error is the
 * line with a caret under the place, as program_compile's). root: the folder that `file,` bodies are relative to and may
 * not leave; NULL: the file's own folder. They are read now. Each request is a STEP_HTTP whose text is "METHOD URL" as
 * written; options become steps around it (delay: SLEEP; skip, repeat, variable: CALL; retry: the step's call).
 * names: as program_compile; captures and `variable` options add theirs. A variable that nothing can have set is an error
 * of the script, at its place, with the nearest name. PL_INPUT, PL_LIMIT, PL_IO, PL_NOT_FOUND. */
PL_MUST_CHECK enum pl_code hurl_compile(const char *name, const char *text, size_t length, const char *root,
                                        struct names *names, struct pl_arena *arena, struct program **ret_program,
                                        struct pl_err *err);

/* A request without a file: `plimsoll http URL`. Texts are taken as they are (no templates), the URL is checked by the
 * caller. headers: lines "Name: value". body may be NULL. The step's text is "METHOD URL". */
struct hurl_plain {
    const char *method, *url;
    const char *const *headers;
    size_t header_count;
    const void *body;
    size_t body_length;
    bool any_status; /* false: an answer with a status of 400 or above fails ("check:STATUS") */
};
PL_MUST_CHECK enum pl_code hurl_compile_plain(const struct hurl_plain *plain, struct names *names, struct pl_arena *arena,
                                              struct program **ret_program, struct pl_err *err);

/* Whether a path names a Hurl file: it ends in ".hurl". */
bool hurl_is_file_name(const char *path);

/* ---- what the driver may prepare ---- */

enum hurl_version { HURL_VERSION_ANY, HURL_VERSION_1_0, HURL_VERSION_1_1, HURL_VERSION_2 };

struct hurl_facts {
    const char *source; /* file name, "" for a plain request */
    int line;
    bool is_constant;           /* nothing in it varies: it renders to the same message each time */
    bool keeps_body;            /* captures or asserts look at the body: it must be kept, and decoded (Content-Encoding) */
    bool decodes;               /* `compressed: true`: asks for gzip and decodes it; also implied for keeps_body */
    bool follows;               /* `location: true` */
    int max_redirects;          /* `max-redirs`, 50 when unset; -1: no limit */
    int64_t max_time_ns;        /* `max-time`, for all of it, redirects included; 0: the load's default */
    int64_t connect_timeout_ns; /* 0: the load's default */
    bool is_insecure;           /* `insecure: true` */
    enum hurl_version version;  /* asked for by an option (http1.0, http1.1, http2) */
    const char *unix_socket;    /* NULL: none */
    bool reads_certificate;     /* a capture or an assert asks for the server's certificate */
};
const struct hurl_facts *hurl_request_facts(const struct hurl_request *request);

/* ---- rendering ---- */

/* Everything points into the program, the variables or the work, and stands until the next hurl_render of that work. */
struct hurl_message {
    struct hurl_slice method;
    struct hurl_slice url; /* absolute ("http://...") or a path ("/x?y"), which the base URL of the load completes; with
                              the query of [Query] encoded into it; no fragment */
    const struct hurl_header *headers; /* in the file's order, then what sections imply: Content-Type, Authorization (basic
                                          auth). Cookie: those of [Cookies] only; the client's jar is the driver's. Host,
                                          Content-Length and the like only when the file states them */
    size_t header_count;
    struct hurl_slice body; /* length 0 and has_body: an empty one */
    bool has_body;
    bool is_body_lasting;      /* the body stands in the program and outlives the work: nobody need copy it */
    struct hurl_slice cookies; /* of [Cookies], "a=1; b=2": to be joined with the jar's */
};

/* NULL, or what went wrong (valid until the next call): a variable without a value, a filter that does not fit its input.
 * vars as STEP_SETs see them. */
const char *hurl_render(const struct hurl_request *request, const struct value *vars, struct hurl_work *work,
                        struct hurl_message *ret_message);

/* ---- judging ---- */

struct hurl_response {
    int status;
    int version; /* 10, 11, 20 */
    const struct hurl_header *headers;
    size_t header_count;
    struct hurl_slice body; /* decoded; meaningful when the request's facts say keeps_body */
    int64_t raw_bytes;      /* of the body as it was received, before decoding */
    int64_t body_bytes;     /* length of the decoded body, also when it was not kept; -1: unknown */
    int64_t duration_ns;
    struct hurl_slice url; /* of the last request: after redirects */
    struct hurl_slice ip;  /* of the server, as text; empty for a Unix socket */
    int redirect_count;
    struct hurl_slice certificate_subject, certificate_issuer, certificate_serial; /* empty without TLS */
    int64_t certificate_start_unix_s, certificate_expire_unix_s;
};

struct hurl_fault {
    char code[HURL_CODE_BYTES]; /* "check:STATUS", "check:VERSION", "check:HEADER", "check:BODY" (another one, or one on
                                   which a check takes too long), "check:ASSERT", "check:CAPTURE" */
    const char
        *text; /* "login.hurl:12:1: jsonpath \"$.id\" exists: it does not"; valid until the next call with the work */
};

/* Checks the version and status line, the headers and body that the file states, then the asserts; then sets what is
 * captured. Nothing is set when a check failed. A capture that finds nothing is a failure. true: all holds. `response` and
 * what it points to is read only during the call. */
bool hurl_judge(const struct hurl_request *request, const struct hurl_response *response, struct step_scene *scene,
                struct hurl_work *work, struct hurl_fault *ret_fault);

/* ---- one thread's buffers ---- */

struct hurl_work *hurl_work_new(void);
void hurl_work_free(struct hurl_work *work); /* NULL is fine */

/* Whether rendering or judging anything of the program sets texts of variables: clients need room for them. */
bool hurl_program_captures(const struct program *program);

#endif
