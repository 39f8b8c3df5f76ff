/* What the tests of the driver of HTTP share: a server that gives literal answers and keeps what it was sent, byte for
 * byte, and a driver that is driven by hand, a client's requests one after the other. */
#ifndef PL_TESTS_DRV_HTTP_TEST_H
#define PL_TESTS_DRV_HTTP_TEST_H

#include "load_test.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <poll.h>
#include <pthread.h>
#include <stdio.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/arena.h"
#include "hurl/hurl.h"
#include "load/load_int.h"

/* ---- the server ---- */

enum { TAP_CONNECTIONS = 32, TAP_BYTES = 65536 };

/* What a path (without its query) gets; NULL-ended. text NULL: the connection is closed; "": nothing is ever said. */
struct tap_answer {
    const char *path, *text;
};

struct tap {
    const struct tap_answer *answers;
    int listener, stop[2], port;
    pthread_t thread;
    pthread_mutex_t mutex;
    bool keeps_no_log;   /* set before the first request */
    char log[TAP_BYTES]; /* all requests, as they came */
    size_t log_length;
    int requests, connections;
    struct pollfd polls[TAP_CONNECTIONS + 2];
    char in[TAP_CONNECTIONS + 2][TAP_BYTES];
    size_t in_length[TAP_CONNECTIONS + 2];
};

/* A whole request stands in `in`: its length; 0: not yet. */
UNUSED static size_t tap_request_length(const char *in)
{
    const char *end = strstr(in, "\r\n\r\n"), *length = strcasestr(in, "\r\nContent-Length:");
    if (end == NULL)
        return 0;
    size_t whole = (size_t)(end + 4 - in) + (length != NULL && length < end ? strtoul(length + 17, NULL, 10) : 0);
    return strlen(in) >= whole ? whole : 0;
}

UNUSED static bool tap_answer(struct tap *tap, int fd, const char *in, size_t length)
{
    char path[256] = "";
    sscanf(in, "%*s %255[^ ?]", path);
    pthread_mutex_lock(&tap->mutex);
    if (!tap->keeps_no_log) {
        assert_true(tap->log_length + length < TAP_BYTES);
        memcpy(tap->log + tap->log_length, in, length);
        tap->log_length += length;
    }
    tap->requests++;
    pthread_mutex_unlock(&tap->mutex);
    const struct tap_answer *answer = tap->answers;
    while (answer->path != NULL && strcmp(answer->path, path) != 0)
        answer++;
    const char *text = answer->path == NULL ? "HTTP/1.1 404 Not Found\r\nContent-Length: 0\r\n\r\n" : answer->text;
    return text != NULL && send(fd, text, strlen(text), MSG_NOSIGNAL) == (ssize_t)strlen(text);
}

/* false: the connection is over. */
UNUSED static bool tap_read(struct tap *tap, int at)
{
    char *in = tap->in[at];
    ssize_t count = recv(tap->polls[at].fd, in + tap->in_length[at], TAP_BYTES - 1 - tap->in_length[at], 0);
    if (count <= 0)
        return false;
    tap->in_length[at] += (size_t)count;
    in[tap->in_length[at]] = '\0';
    for (size_t length; (length = tap_request_length(in)) > 0;) {
        if (!tap_answer(tap, tap->polls[at].fd, in, length))
            return false;
        memmove(in, in + length, tap->in_length[at] - length + 1);
        tap->in_length[at] -= length;
    }
    return true;
}

UNUSED static void *tap_run(void *argument)
{
    struct tap *tap = argument;
    int count = 2;
    tap->polls[0] = (struct pollfd){.fd = tap->stop[0], .events = POLLIN};
    tap->polls[1] = (struct pollfd){.fd = tap->listener, .events = POLLIN};
    for (;;) {
        poll(tap->polls, (nfds_t)count, -1);
        if (tap->polls[0].revents != 0)
            break;
        for (int i = count - 1; i >= 2; i--)
            if (tap->polls[i].revents != 0 && !tap_read(tap, i)) {
                close(tap->polls[i].fd);
                tap->polls[i] = tap->polls[--count];
                memcpy(tap->in[i], tap->in[count], TAP_BYTES);
                tap->in_length[i] = tap->in_length[count];
            }
        if (tap->polls[1].revents != 0 && count < TAP_CONNECTIONS + 2) {
            tap->in_length[count] = 0;
            tap->connections++;
            tap->polls[count++] = (struct pollfd){.fd = accept(tap->listener, NULL, NULL), .events = POLLIN};
        }
    }
    for (int i = 2; i < count; i++)
        close(tap->polls[i].fd);
    return NULL;
}

UNUSED static struct tap *tap_start(const struct tap_answer *answers)
{
    struct tap *tap = pl_new(1, sizeof *tap);
    tap->answers = answers;
    tap->listener = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    struct sockaddr_in address = {.sin_family = AF_INET, .sin_addr = {htonl(INADDR_LOOPBACK)}};
    socklen_t length = sizeof address;
    assert_int_equal(bind(tap->listener, (struct sockaddr *)&address, sizeof address), 0);
    assert_int_equal(listen(tap->listener, 64), 0);
    assert_int_equal(getsockname(tap->listener, (struct sockaddr *)&address, &length), 0);
    tap->port = ntohs(address.sin_port);
    assert_int_equal(pipe(tap->stop), 0);
    pthread_mutex_init(&tap->mutex, NULL);
    assert_int_equal(pthread_create(&tap->thread, NULL, tap_run, tap), 0);
    return tap;
}

UNUSED static void tap_stop(struct tap *tap)
{
    assert_int_equal(write(tap->stop[1], "", 1), 1);
    pthread_join(tap->thread, NULL);
    close(tap->listener);
    close(tap->stop[0]);
    close(tap->stop[1]);
    pthread_mutex_destroy(&tap->mutex);
    pl_free(tap);
}

/* What came since the last call: the server has answered it, so it is there. */
UNUSED static const char *tap_take(struct tap *tap)
{
    static char text[TAP_BYTES];
    pthread_mutex_lock(&tap->mutex);
    memcpy(text, tap->log, tap->log_length);
    text[tap->log_length] = '\0';
    tap->log_length = 0;
    pthread_mutex_unlock(&tap->mutex);
    return text;
}

/* ---- a driver by hand ---- */

enum { RIG_CLIENTS = 4 };

struct rig {
    struct pl_arena *arena;
    struct names *names;
    struct load_http http;
    struct load_script script;
    struct load_spec spec;
    struct capture capture;
    struct value *vars;
    uint32_t tenant_of[RIG_CLIENTS];
    int stop;
    struct driver *driver;
    struct pl_err err;
    /* of the last step */
    struct driver_done done;
    char text[LOAD_NOTICE_TEXT_BYTES];
};

/* A rig whose load can be changed before rig_open. */
UNUSED static void rig_init(struct rig *rig)
{
    *rig = (struct rig){.arena = pl_arena_new()};
    rig->names = names_new(rig->arena);
}

/* The script is a Hurl file's text, in which ":$" means the port. */
UNUSED static void rig_script(struct rig *rig, const char *hurl, int port)
{
    char text[8192];
    size_t length = 0;
    for (; *hurl != '\0'; hurl++)
        if (*hurl == '$' && length > 0 && text[length - 1] == ':')
            length += (size_t)snprintf(text + length, sizeof text - length, "%d", port);
        else
            text[length++] = *hurl;
    struct program *program;
    if (hurl_compile("test.hurl", text, length, NULL, rig->names, rig->arena, &program, &rig->err) != PL_OK)
        fail_msg("%s:%d:%d: %s\n%s", rig->err.file, rig->err.line, rig->err.col, rig->err.what, rig->err.hint);
    rig->script = (struct load_script){.program = program, .weight = 1};
}

UNUSED static enum pl_code rig_try_open(struct rig *rig)
{
    size_t count = names_count(rig->names);
    rig->vars = pl_new(RIG_CLIENTS * count + 1, sizeof *rig->vars);
    capture_init(&rig->capture, RIG_CLIENTS, count, rig->vars, NULL);
    rig->spec.driver = LOAD_HTTP;
    rig->spec.http = &rig->http;
    rig->spec.scripts = &rig->script;
    rig->spec.script_count = 1;
    struct driver_setup setup = {.spec = &rig->spec,
                                 .workers = 1,
                                 .capture = &rig->capture,
                                 .stop = &rig->stop,
                                 .tenant_of = rig->spec.tenants == NULL ? NULL : rig->tenant_of};
    rig->driver = driver_http_new(&setup);
    return rig->driver->ops->open(rig->driver, RIG_CLIENTS, &rig->err);
}

UNUSED static void rig_open(struct rig *rig, const char *hurl, int port)
{
    rig_script(rig, hurl, port);
    if (rig_try_open(rig) != PL_OK)
        fail_msg("%s: %s", rig->err.what, rig->err.hint);
}

UNUSED static void rig_close(struct rig *rig)
{
    rig->driver->ops->close(rig->driver);
    capture_release(&rig->capture);
    pl_free(rig->vars);
    pl_arena_free(rig->arena);
}

UNUSED static struct value *rig_vars(struct rig *rig, uint32_t client)
{
    return rig->vars + client * names_count(rig->names);
}

UNUSED static struct value *rig_var(struct rig *rig, uint32_t client, const char *name)
{
    int index = names_find(rig->names, name, strlen(name));
    assert_true(index >= 0);
    return rig_vars(rig, client) + index;
}

/* The end of what is under way, whoever's it is. */
UNUSED static enum driver_outcome rig_wait(struct rig *rig)
{
    const struct driver_ops *ops = rig->driver->ops;
    int64_t before_ns = rig->done.done_ns;
    while (ops->wait(rig->driver, ops->now(rig->driver) + 10 * SEC, &rig->done, 1) == 0)
        ;
    assert_true(rig->done.done_ns >= before_ns);
    *rig->text = '\0';
    if (rig->done.outcome != DRIVER_OK)
        snprintf(rig->text, sizeof rig->text, "%s", rig->done.text);
    assert_int_equal(rig->done.text == NULL, rig->done.outcome == DRIVER_OK);
    return rig->done.outcome;
}

UNUSED static const struct step *rig_step(const struct rig *rig, int io_index)
{
    const struct step *step = rig->script.program->steps;
    while (step->io_index != io_index)
        step++;
    return step;
}

UNUSED static int64_t rig_submit(struct rig *rig, uint32_t client, int io_index)
{
    return rig->driver->ops->submit(rig->driver, client, rig->script.program, rig_step(rig, io_index),
                                    rig_vars(rig, client));
}

/* A client's request from beginning to end. */
UNUSED static enum driver_outcome rig_do(struct rig *rig, uint32_t client, int io_index)
{
    int64_t submitted_ns = rig_submit(rig, client, io_index);
    enum driver_outcome outcome = rig_wait(rig);
    assert_int_equal(rig->done.client, client);
    assert_true(rig->done.done_ns >= submitted_ns);
    if (outcome == DRIVER_OK)
        assert_in_range(rig->done.sent_ns, submitted_ns, rig->done.done_ns);
    return outcome;
}

/* All requests of the script must be good. */
UNUSED static void rig_all(struct rig *rig, uint32_t client)
{
    for (int i = 0; i < (int)rig->script.program->io_step_count; i++)
        if (rig_do(rig, client, i) != DRIVER_OK)
            fail_msg("request %d: %d, %s: %s", i, rig->done.outcome, rig->done.code, rig->text);
}

UNUSED static void assert_fault(const struct rig *rig, enum driver_outcome outcome, const char *code, const char *text)
{
    assert_int_equal(rig->done.outcome, outcome);
    assert_string_equal(rig->done.code, code);
    if (strstr(rig->text, text) == NULL)
        fail_msg("\"%s\" does not say \"%s\"", rig->text, text);
}

#endif
