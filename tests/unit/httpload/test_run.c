/* The command as a whole, against servers of the test's own; what it prints where, and with which code it ends. */
#include "printed.h"

#include <arpa/inet.h>
#include <jansson.h>
#include <pthread.h>
#include <stdlib.h>

#include "base/arena.h"
#include "httpload/httpload.h"

/* A server that answers each request on a connection of its own, one after the other. */
struct server {
    int fd, port;
    const char *status; /* NULL: it takes connections and never answers */
    pthread_t thread;
};

static void *serve(void *argument)
{
    const struct server *server = argument;
    int fd;
    while ((fd = accept(server->fd, NULL, NULL)) >= 0) {
        char bytes[4096];
        size_t length = 0;
        ssize_t count;
        while (length < sizeof bytes - 1 && (count = read(fd, bytes + length, sizeof bytes - 1 - length)) > 0) {
            length += (size_t)count;
            bytes[length] = '\0';
            if (strstr(bytes, "\r\n\r\n") != NULL)
                break;
        }
        dprintf(fd, "HTTP/1.1 %s\r\nContent-Length: 2\r\nConnection: close\r\n\r\nok", server->status);
        close(fd);
    }
    return NULL;
}

static void server_start(struct server *server, const char *status)
{
    struct sockaddr_in address = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    socklen_t size = sizeof address;
    *server = (struct server){.fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0), .status = status};
    assert_int_equal(bind(server->fd, (struct sockaddr *)&address, size), 0);
    assert_int_equal(listen(server->fd, 100), 0);
    assert_int_equal(getsockname(server->fd, (struct sockaddr *)&address, &size), 0);
    server->port = ntohs(address.sin_port);
    if (status != NULL)
        assert_int_equal(pthread_create(&server->thread, NULL, serve, server), 0);
}

static void server_stop(struct server *server)
{
    shutdown(server->fd, SHUT_RDWR);
    if (server->status != NULL)
        pthread_join(server->thread, NULL);
    close(server->fd);
}

static struct printed out, err;

/* "%" in a line is the server's URL. */
static int command(const struct server *server, const char *line)
{
    char full[1000], buf[1000], url[60], *at = full, *words[WORDS_MAX + 1];
    snprintf(url, sizeof url, "http://127.0.0.1:%d/", server->port);
    for (; *line != '\0'; line++)
        at = *line == '%' ? mempcpy(at, url, strlen(url)) : mempcpy(at, line, 1);
    *at = '\0';
    int count = words_split(full, buf, sizeof buf, words);
    printed_begin(&out, stdout);
    printed_begin(&err, stderr);
    int exit_code = httpload_main(count, words);
    printed_end(&err, stderr);
    printed_end(&out, stdout);
    return exit_code;
}

static void assert_in(const char *text, const char *part)
{
    if (strstr(text, part) == NULL)
        fail_msg("\"%s\" is not in:\n%s", part, text);
}

static void test_good(void **state)
{
    (void)state;
    struct server server;
    server_start(&server, "200 OK");
    assert_int_equal(command(&server, "-n 20 -c 2 --fail-if 'errors>0' --threshold 'http_reqs: count>=20' %"), 0);
    assert_in(out.text, "due 20 = 20 completed");
    assert_in(out.text, "status:  2xx 20 (200: 20)");
    assert_in(out.text, "\nplimsoll-http: verdict=pass exit=0 due=20 completed=20 failed=0");
    assert_string_equal(err.text, "");
    assert_int_equal(command(&server, "-n 4 -c 2 --quiet %"), 0);
    assert_memory_equal(out.text, "plimsoll-http: verdict=none exit=0", 34);
    assert_int_equal(command(&server, "-n 20 -c 2 --fail-if 'count>5' %"), 1);
    assert_in(out.text, "verdict=fail exit=1");
    server_stop(&server);
}

static void test_document_on_stdout(void **state)
{
    (void)state;
    struct server server;
    json_error_t error;
    server_start(&server, "200 OK");
    assert_int_equal(command(&server, "-n 4 -c 2 --json %"), 0);
    json_t *root = json_loads(out.text, 0, &error);
    assert_non_null(root);
    assert_int_equal(json_integer_value(json_object_get(json_object_get(root, "ledger"), "completed")), 4);
    json_decref(root);
    assert_in(err.text, "due 4 = 4 completed");
    server_stop(&server);
}

static void test_errors_of_a_server(void **state)
{
    (void)state;
    struct server server, closed, silent;
    server_start(&server, "503 Busy");
    assert_int_equal(command(&server, "-n 6 -c 2 %"), 3);
    assert_in(out.text, "due 6 = 0 completed + 6 failed");
    assert_in(out.text, "check:STATUS                          6  at ");
    assert_in(out.text, "status: expected below 400, got 503");
    assert_int_equal(command(&server, "-n 6 -c 2 --threshold 'errors<0.01' %"), 1);
    assert_int_equal(command(&server, "-n 6 -c 2 --any-status --threshold 'errors<0.01' %"), 0);
    assert_in(out.text, "due 6 = 6 completed + 0 failed");
    assert_in(out.text, "5xx 6 (503: 6)");
    server_stop(&server);
    server_start(&closed, "200 OK");
    server_stop(&closed);
    assert_int_equal(command(&closed, "-n 6 -c 2 %"), 3);
    assert_in(out.text, "nothing was completed: all failed");
    assert_in(out.text, "connect:ECONNREFUSED");
    server_start(&silent, NULL);
    assert_int_equal(command(&silent, "-n 4 -c 2 --timeout 50ms --threshold 'p99<10ms' --threshold 'p99<1h' %"), 1);
    assert_in(out.text, "expired");
    assert_in(out.text, ">= ");
    assert_in(out.text, "threshold p99<1h: no_data");
    assert_int_equal(command(&silent, "-n 4 -c 2 --timeout 50ms --threshold 'p99<1h' %"), 4);
    server_stop(&silent);
}

static void test_refused(void **state)
{
    (void)state;
    struct server server = {.port = 1};
    static const char *const lines[] = {"",
                                        "--frobnicate %",
                                        "-n 1 -R 5 %",
                                        "-n 1 --json=/nowhere/x %",
                                        "-n 1 --hlog /nowhere/x %",
                                        "-n 1 -d@/nowhere/x %",
                                        "nothing.hurl",
                                        "-n 1 --cacert /nowhere/x https://127.0.0.1:1/",
                                        "-n 1 --key /nowhere/x --cert /dev/null https://127.0.0.1:1/",
                                        "-n 1 --cert /dev/null https://127.0.0.1:1/"};
    for (size_t i = 0; i < sizeof lines / sizeof lines[0]; i++) {
        assert_int_equal(command(&server, lines[i]), 2);
        assert_string_equal(out.text, "");
        assert_memory_equal(err.text, "plimsoll http: ", 15);
    }
}

/* On a machine that is busy with other things trials may be marked, and then there is no answer: what the search makes of
 * verdicts is test_find's. */
static void test_search(void **state)
{
    (void)state;
    struct server server;
    server_start(&server, "503 Busy");
    int exit_code = command(&server, "--find-max 'p99<1h' --min 20/s --step-duration 100ms -c 4 %");
    assert_in(err.text, "trial  1:        100/s  ");
    if (exit_code == 1) {
        assert_in(out.text, "no rate was found at which p99<1h: --min, 20/s, is too much");
        assert_in(out.text, "search=below_min max_rate_per_s=0 ");
    } else {
        assert_int_equal(exit_code, 4);
        assert_in(out.text, "no answer for p99<1h: 10 trials in a row gave no data");
        assert_in(out.text, "search=gave_up max_rate_per_s=0 ");
    }
    assert_in(out.text, "The last trial:");
    server_stop(&server);
}

/* The last line and the exit code are one, also when what failed was a file of results. */
static void test_full_disk(void **state)
{
    (void)state;
    struct server server;
    server_start(&server, "200 OK");
    assert_int_equal(command(&server, "-n 4 -c 2 --json=/dev/full %"), 3);
    assert_in(out.text, "verdict=none exit=3");
    server_stop(&server);
}

/* The report is that of the answer's own rate, and each trial has its own arrivals. */
static void test_trials(void **state)
{
    (void)state;
    struct server server;
    json_error_t error;
    server_start(&server, "200 OK");
    int exit_code =
        command(&server, "--find-max 'p99<1h' --seed 7 --min 50/s --max 200/s -R 50/s --step-duration 200ms -c 4 "
                         "--json %");
    json_t *root = json_loads(out.text, 0, &error);
    assert_non_null(root);
    const json_t *trials = json_object_get(json_object_get(root, "search"), "trials");
    assert_true(json_array_size(trials) >= 4);
    assert_string_equal(json_string_value(json_object_get(json_array_get(trials, 0), "seed")), "7");
    assert_string_equal(json_string_value(json_object_get(json_array_get(trials, 1), "seed")), "8");
    assert_int_equal(exit_code, 0); /* a client that is late passes all the same */
    assert_string_equal(json_string_value(json_object_get(json_object_get(root, "search"), "end")), "above_max");
    assert_in(err.text, "The trial of the answer:");
    assert_in(err.text, "asked: 200/s (Poisson)");
    json_decref(root);
    server_stop(&server);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_good),
        cmocka_unit_test(test_document_on_stdout),
        cmocka_unit_test(test_errors_of_a_server),
        cmocka_unit_test(test_refused),
        cmocka_unit_test(test_search),
        cmocka_unit_test(test_full_disk),
        cmocka_unit_test(test_trials),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
