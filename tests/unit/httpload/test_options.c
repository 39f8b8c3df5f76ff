/* The command line: what each option does, how it may be written, and what is said of wrong ones. */
#include "printed.h"

#include <stdlib.h>

#include "base/clock.h"
#include "httpload/options_int.h"

struct fixture {
    struct pl_arena *arena;
    struct httpload_options options;
    struct printed err, out;
    int exit_code;
};

static int setup(void **state)
{
    struct fixture *fixture = pl_new(1, sizeof *fixture);
    fixture->arena = pl_arena_new();
    *state = fixture;
    return 0;
}

static int teardown(void **state)
{
    struct fixture *fixture = *state;
    pl_arena_free(fixture->arena);
    pl_free(fixture);
    return 0;
}

static bool parse(struct fixture *fixture, const char *line)
{
    char *buf = pl_alloc(fixture->arena, strlen(line) + 2, 1);
    char **words = pl_alloc(fixture->arena, WORDS_MAX + 1, sizeof *words);
    int count = words_split(line, buf, strlen(line) + 2, words);
    fixture->options = (struct httpload_options){0};
    printed_begin(&fixture->err, stderr);
    bool is_good = httpload_options_parse(count, words, fixture->arena, &fixture->options, &fixture->exit_code);
    printed_end(&fixture->err, stderr);
    return is_good;
}

static const struct httpload_options *good(struct fixture *fixture, const char *line)
{
    if (!parse(fixture, line))
        fail_msg("\"%s\" was refused: %s", line, fixture->err.text);
    assert_string_equal(fixture->err.text, "");
    return &fixture->options;
}

/* ---- what is refused, and in which words ---- */

#define SAYS "plimsoll http: "
#define HELP SAYS "\"plimsoll http --help\" lists the options.\n"
#define U " http://h/"
#define MEASURES "a percentile (p50, p99.9, p(95)), med, min, max, mean, avg, errors, rate or count is right here"

static const struct {
    const char *line, *said;
} refused[] = {
    /* what is to be loaded */
    {"", SAYS "what is to be loaded is missing: a URL (http://HOST/PATH) or Hurl files (FILE.hurl)\n"},
    {"-c 5", SAYS "what is to be loaded is missing: a URL (http://HOST/PATH) or Hurl files (FILE.hurl)\n"},
    {"http://h/ http://i/", SAYS "one URL can be loaded, and two are given; several requests are written in Hurl files\n"},
    {"http://h/ a.hurl", SAYS "a URL and Hurl files do not go together; --base-url completes the URLs of files\n"},
    {"a.hurl http://h/", SAYS "a URL and Hurl files do not go together; --base-url completes the URLs of files\n"},
    {"localhost:8080/x", SAYS "\"localhost:8080/x\" is neither a URL nor a Hurl file (FILE.hurl); did you mean "
                              "http://localhost:8080/x ?\n"},
    {"www.example", SAYS "\"www.example\" is neither a URL nor a Hurl file (FILE.hurl); did you mean http://www.example "
                         "?\n"},
    {"script", SAYS "an operand is neither a URL (http://HOST/PATH) nor a Hurl file (FILE.hurl): script\n"},
    {"u:secret@host", SAYS "an operand is neither a URL (http://HOST/PATH) nor a Hurl file (FILE.hurl)\n"},
    {"ftp://h/", SAYS "\"ftp\" is no scheme that can be loaded: http or https\n"},
    {"a.hurl@0", SAYS "the weight of a.hurl must be a number from 1 to 1000000, not 0\n"},
    {"a.hurl@-1", SAYS "the weight of a.hurl must be a number from 1 to 1000000, not -1\n"},
    {"a.hurl@x", SAYS "the weight of a.hurl: \"x\" is no whole number\n"},
    {"a.hurl@1.5", SAYS "the weight of a.hurl: \"1.5\" is no whole number\n"},
    {"a.hurl@", SAYS "the weight of a.hurl: \"\" is no whole number\n"},
    {"/x", SAYS "\"/x\" is only a path: --base-url http://HOST completes it\n"},
    {"a.hurl -m PUT", SAYS "-m belongs to a URL: Hurl files state their own\n"},
    {"a.hurl --data x", SAYS "--data belongs to a URL: Hurl files state their own\n"},
    {"a.hurl -d@x", SAYS "--data belongs to a URL: Hurl files state their own\n"},
    {"http://u:p@h/ --user a:b", SAYS "user and password are given twice: in the URL and by --user\n"},
    /* options that are none, and values that are missing */
    {"--conections 5" U, SAYS "there is no option --conections\n" SAYS "Did you mean --connections?\n"},
    {"--frobnicate" U, SAYS "there is no option --frobnicate\n" HELP},
    {"-y" U, SAYS "there is no option -y\n" HELP},
    {"-\xc3\xa4" U, SAYS "there is no option -?\n" HELP},
    {"-k" U, SAYS "there is no option -k\n" SAYS "Here it is --insecure; connections are kept unless --no-keepalive.\n"},
    {"-X POST" U, SAYS "there is no option -X\n" SAYS "Here it is -m METHOD.\n"},
    {"--threads=4" U, SAYS "there is no option --threads\n" SAYS "Here it is --workers N; clients are -c N.\n"},
    {"--latency" U, SAYS "there is no option --latency\n" SAYS "Here percentiles are in every report.\n"},
    {"--quiet=yes" U, SAYS "--quiet takes no value\n"},
    {"--http2=1" U, SAYS "--http2 takes no value\n"},
    {"http://h/ -c", SAYS "-c needs a value: N\n"},
    {"http://h/ --rate", SAYS "--rate needs a value: RATE\n"},
    {"http://h/ --find-max", SAYS "--find-max needs a value: OBJECTIVE\n"},
    /* whole numbers */
    {"-c 0" U, SAYS "-c/--connections must be a number from 1 to 100000, not 0\n"},
    {"-c -1" U, SAYS "-c/--connections must be a number from 1 to 100000, not -1\n"},
    {"-c 100001" U, SAYS "-c/--connections must be a number from 1 to 100000, not 100001\n"},
    {"-c 99999999999999999999" U, SAYS "-c/--connections must be a number from 1 to 100000, not 99999999999999999999\n"},
    {"-c 5x" U, SAYS "-c/--connections: \"5x\" is no whole number\n"},
    {"-c ''" U, SAYS "-c/--connections: \"\" is no whole number\n"},
    {"--clients=1.5" U, SAYS "--clients: \"1.5\" is no whole number\n"},
    {"-n 0" U, SAYS "-n/--requests must be a number from 1 to 1000000000000000, not 0\n"},
    {"-n many" U, SAYS "-n/--requests: \"many\" is no whole number\n"},
    {"--workers 257" U, SAYS "--workers must be a number from 1 to 256, not 257\n"},
    {"--streams 0 --http2" U, SAYS "--streams must be a number from 1 to 1000, not 0\n"},
    {"--connections-total 0" U, SAYS "--connections-total must be a number from 1 to 100000, not 0\n"},
    {"--seed -1" U, SAYS "--seed: \"-1\" is no number from 0 to 18446744073709551615\n"},
    {"--seed 18446744073709551616" U,
     SAYS "--seed: \"18446744073709551616\" is no number from 0 to 18446744073709551615\n"},
    {"--seed ''" U, SAYS "--seed: \"\" is no number from 0 to 18446744073709551615\n"},
    /* times */
    {"-d 10" U, SAYS "-d/--duration: \"10\" needs a unit: 10s, 10ms, 10m\n"},
    {"-d 10x" U, SAYS "-d/--duration: the unit of \"10x\" must be ns, us, ms, s, m (or min), h or d\n"},
    {"-d soon" U, SAYS "-d/--duration: \"soon\" is no time: 500ms, 10s, 1m\n"},
    {"-d 0s" U, SAYS "-d/--duration must be at least 1 ms and at most ten years, not 0s\n"},
    {"-d 1us" U, SAYS "-d/--duration must be at least 1 ms and at most ten years, not 1us\n"},
    {"-d 4000d" U, SAYS "-d/--duration must be at least 1 ms and at most ten years, not 4000d\n"},
    {"--timeout 5" U, SAYS "--timeout: \"5\" needs a unit: 5s, 5ms, 5m\n"},
    {"--timeout 0s" U, SAYS "--timeout must be at least 1 ms and at most ten years, not 0s\n"},
    {"--connect-timeout x" U, SAYS "--connect-timeout: \"x\" is no time: 500ms, 10s, 1m\n"},
    {"--warm-up 3" U, SAYS "--warm-up: \"3\" needs a unit: 3s, 3ms, 3m\n"},
    {"--drain 3" U, SAYS "--drain: \"3\" needs a unit: 3s, 3ms, 3m\n"},
    {"--think 3" U, SAYS "--think: \"3\" needs a unit: 3s, 3ms, 3m\n"},
    {"--think 3s:normal" U, SAYS "--think: a time may be followed by \":exponential\", not by \":normal\"\n"},
    /* rates */
    {"-R 200" U, SAYS "-R/--rate: \"200\" needs a unit: 200/s, 200/min, 200/h\n"},
    {"-R 200/x" U, SAYS "-R/--rate: the unit of \"200/x\" must be /s, /min (or /m) or /h\n"},
    {"-R fast" U, SAYS "-R/--rate: \"fast\" is no rate: 200/s, 90/min, 1.5/s\n"},
    {"-R 0/s" U, SAYS "-R/--rate: \"0/s\" is no rate: 200/s, 90/min, 1.5/s\n"},
    {"-R -5/s" U, SAYS "-R/--rate: \"-5/s\" is no rate: 200/s, 90/min, 1.5/s\n"},
    {"-R 2e9/s" U, SAYS "-R/--rate must be from 1e-6/s to 1e9/s, not 2e9/s\n"},
    {"--find-max 'p99<5ms' --min 5" U, SAYS "--min: \"5\" needs a unit: 5/s, 5/min, 5/h\n"},
    {"--find-max 'p99<5ms' --max x" U, SAYS "--max: \"x\" is no rate: 200/s, 90/min, 1.5/s\n"},
    /* users who arrive */
    {"--session 0 -R 1/s" U,
     SAYS "--session: \"0\" is no number of operations from 1 to 1e9; \":geometric\" may follow it\n"},
    {"--session x -R 1/s" U,
     SAYS "--session: \"x\" is no number of operations from 1 to 1e9; \":geometric\" may follow it\n"},
    {"--session 1.5 -R 1/s" U, SAYS "--session: 1.5 operations cannot be carried out; as a mean they can: 1.5:geometric\n"},
    {"--session 3" U, SAYS "--session needs a rate at which users arrive: -R 2/s\n"},
    {"--session 3 -R 2/s -n 100" U, SAYS "--session and -n: users who arrive have their own number of operations\n"},
    {"--think 1s -R 2/s" U, SAYS "--think and a rate: the rate says when operations begin; users who think between theirs "
                                 "are --session N\n"},
    /* the request */
    {"-m 'G T'" U, SAYS "-m/--method: \"G T\" is no method: GET, POST, PUT, ...\n"},
    {"-m ''" U, SAYS "-m/--method: \"\" is no method: GET, POST, PUT, ...\n"},
    {"-H Accept" U, SAYS "-H/--header: a header is written 'Name: value', and a colon is missing\n"},
    {"-H ': x'" U, SAYS "-H/--header: what stands before the colon is no name of a header\n"},
    {"-H 'A B: x'" U, SAYS "-H/--header: what stands before the colon is no name of a header\n"},
    {"-H 'A: x\nB: y'" U, SAYS "-H/--header: the value of \"A\" holds a control character\n"},
    {"-d@a --data b" U, SAYS "--data: a request has one body, and another one was given before\n"},
    {"--user alice" U, SAYS "--user is NAME:PASSWORD, and the colon is missing (NAME: has an empty password)\n"},
    /* connections */
    {"--http2 --http1.0" U, SAYS "--http2 and --http1.0 do not go together\n"},
    {"--http2 --no-keepalive" U, SAYS "--http2 and --no-keepalive: a connection of HTTP/2 is there to be shared; --streams "
                                      "1 makes one for each client\n"},
    {"--streams 5" U, SAYS "--streams needs --http2\n"},
    {"--insecure --cacert x" U, SAYS "--insecure and --cacert: certificates are verified, or not\n"},
    {"--key x" U, SAYS "--key needs --cert\n"},
    {"--cacert ''" U, SAYS "--cacert needs the name of a file\n"},
    {"--unix-socket s --source 127.0.0.1" U, SAYS "--unix-socket and --source: a socket has no addresses\n"},
    {"--unix-socket s --connect-to a:1:b:2" U, SAYS "--unix-socket and --connect-to: all connections go to the socket\n"},
    {"--connect-to a:1:b" U, SAYS "--connect-to is HOST:PORT:ADDRESS:PORT (an IPv6 address in brackets), not \"a:1:b\"\n"},
    {"--connect-to a:1:::1:2" U,
     SAYS "--connect-to is HOST:PORT:ADDRESS:PORT (an IPv6 address in brackets), not \"a:1:::1:2\"\n"},
    {"--source eth0" U, SAYS "--source: \"eth0\" is no IP address: 192.0.2.7 or 2001:db8::7\n"},
    /* the request */
    {"-m get" U, SAYS "-m/--method: \"get\" is another method than GET, which is meant: capitals matter\n"},
    {"-H 'X: hunter2' -H 'x: 2'" U, SAYS "-H/--header: \"x\" is given twice; a Hurl file may have several of one name\n"},
    {"-H 'content-length: 3'" U, SAYS "-H/--header: \"content-length\" follows from the body and is stated by the load\n"},
    {"-H 'Transfer-Encoding: chunked'" U,
     SAYS "-H/--header: \"Transfer-Encoding\" follows from the body and is stated by the load\n"},
    {"a.hurl --any-status",
     SAYS "--any-status belongs to a URL: a Hurl file says what it expects (HTTP 200; HTTP * for any)\n"},
    {"localhost", SAYS "\"localhost\" is neither a URL nor a Hurl file (FILE.hurl); did you mean http://localhost ?\n"},
    /* data */
    {"--tenants 3 --tenant 'user=hunter{m}'" U, SAYS
     "--tenant: the column \"user\" holds a place that is none: {n} is the tenant's number, {n:04} the same with zeros\n"},
    {"--variable a=b" U, SAYS "--variable belongs to Hurl files: a URL has no place for variables\n"},
    {"--feed x.csv" U, SAYS "--feed belongs to Hurl files: a URL has no place for variables\n"},
    {"http://h/{{x}}", SAYS "the URL holds \"{{\": variables are known in Hurl files only: GET http://HOST/{{NAME}}\n"},
    {"--tenants 3 --tenant 'hst=x{n}'" U,
     SAYS "--tenant: the column \"hst\" has no use without a Hurl file: did you mean host?\n"},
    {"--tenants 3 --tenant 'colour=x{n}'" U,
     SAYS "--tenant: the column \"colour\" has no use without a Hurl file: url, host, "
          "user, header.NAME, weight and group have one\n"},
    {"--variable a-b" U, SAYS "--variable is NAME=VALUE, and \"=\" is missing in \"a-b\"\n"},
    {"--variable -a=1" U, SAYS "--variable: \"-a\" is no name of a variable: letters, digits, _ and -, a letter first\n"},
    {"--variable x" U, SAYS "--variable is NAME=VALUE, and \"=\" is missing in \"x\"\n"},
    {"--variable 1x=2" U, SAYS "--variable: \"1x\" is no name of a variable: letters, digits, _ and -, a letter first\n"},
    {"--variable =2" U, SAYS "--variable: \"\" is no name of a variable: letters, digits, _ and -, a letter first\n"},
    {"--tenants 0 --tenant host=x" U, SAYS "--tenants must be a number from 1 to 5000000, not 0\n"},
    {"--tenants 10" U, SAYS "--tenants N needs a --tenant for each column: --tenant 'host=t{n}.example'\n"},
    {"--tenant host=x" U, SAYS "--tenant needs --tenants N\n"},
    {"--tenants t.csv --tenant host=x" U, SAYS "--tenant makes the columns of --tenants N; a file has its own\n"},
    {"--tenants 5 --tenants 6" U, SAYS "--tenants was given twice: tenants are one file, or one number\n"},
    {"--tenants 5 --tenant pass" U, SAYS "--tenant is COLUMN=PATTERN: 'host=t{n}.example'\n"},
    /* how much, and the search */
    {"-n 5 -d 1s" U, SAYS "-n and -d: a run ends by a number of operations or by time, not by both\n"},
    {"-n 5 --warm-up 1s" U, SAYS "-n and --warm-up: a number of operations has no warm-up\n"},
    {"-n 5 --find-max 'p99<1s'" U, SAYS "-n and --find-max: trials last as long as --step-duration says\n"},
    {"-d 5s --find-max 'p99<1s'" U, SAYS "-d and --find-max: trials last as long as --step-duration says\n"},
    {"-n 105 -c 10 -R 5/s" U, SAYS "-n 105 with a rate must be a multiple of the 10 clients (-c): 100 would be\n"},
    {"-n 5 -c 10 -R 5/s" U, SAYS "-n 5 with a rate must be a multiple of the 10 clients (-c): 10 would be\n"},
    {"--constant" U, SAYS "--constant needs a rate: -R 200/s\n"},
    {"--step-duration 5s" U, SAYS "--step-duration belongs to --find-max\n"},
    {"--min 5/s" U, SAYS "--min belongs to --find-max\n"},
    {"--max 5/s" U, SAYS "--max belongs to --find-max\n"},
    {"--find-max 'p99<1s' --min 9/s --max 5/s" U, SAYS "--min is above --max\n"},
    {"--find-max 'p99<1s' --min 9/s -R 5/s" U, SAYS "-R, where --find-max begins, is below --min\n"},
    {"--find-max 'p99<1s' --max 9/s -R 50/s" U, SAYS "-R, where --find-max begins, is above --max\n"},
    {"--find-max 'p99<1s' --hlog x" U, SAYS "--hlog is of one run, and --find-max makes many\n"},
    {"--find-max 'p99<1s' --log x" U, SAYS "--log is of one run, and --find-max makes many\n"},
    {"--find-max 'q99<1s'" U, SAYS "--find-max: objective \"q99<1s\": \"q99\" is no measure\nq99<1s\n^ " MEASURES "\n"},
    {"--find-max 'p99>1s'" U,
     SAYS "--find-max: \"p99>1s\" holds when the server is worse, not at low rates: < or <= is meant\n"},
    {"--find-max 'p99<1s and errors>=1%'" U,
     SAYS "--find-max: \"errors>=1%\" holds when the server is worse, not at low rates: < or <= is meant\n"},
    {"-n 1009 -R 5/s" U, SAYS "-n 1009 with a rate must be a multiple of the 100 clients (-c): 1000 would be\n"},
    {"--fail-if 'p99>'" U,
     SAYS "--fail-if: objective \"p99>\": a limit is missing\np99>\n    ^ what it is compared with is "
          "missing here\n"},
    {"--threshold 'p99 50'" U,
     SAYS "--threshold: objective \"p99 50\": a relation is missing\np99 50\n    ^ <, <=, > or >= is right here\n"},
    /* files */
    {"--json=" U, SAYS "--json needs the name of a file\n"},
    {"--hdr ''" U, SAYS "--hdr needs the name of a file\n"},
    {"--hdr x --hlog x" U, SAYS "--hdr and --hlog name the same file: x\n"},
    {"--json=x --log x" U, SAYS "--json and --log name the same file: x\n"},
};

static void test_refused(void **state)
{
    struct fixture *fixture = *state;
    for (size_t i = 0; i < sizeof refused / sizeof refused[0]; i++) {
        if (parse(fixture, refused[i].line))
            fail_msg("\"%s\" was taken", refused[i].line);
        if (strcmp(fixture->err.text, refused[i].said) != 0)
            fail_msg("\"%s\": said\n%sinstead of\n%s", refused[i].line, fixture->err.text, refused[i].said);
        assert_int_equal(fixture->exit_code, 2);
    }
}

/* What is said of a URL comes from the parser of URLs; here that it is refused, and that a password is not repeated. */
static void test_wrong_urls(void **state)
{
    struct fixture *fixture = *state;
    static const char *const lines[] = {"http://",
                                        "http:///x",
                                        "http://h:99999/",
                                        "http://user:hunter2@/",
                                        "http://user:hunter2@h:x/",
                                        "a.hurl --base-url user:hunter2@h"};
    for (size_t i = 0; i < sizeof lines / sizeof lines[0]; i++) {
        assert_false(parse(fixture, lines[i]));
        assert_int_equal(fixture->exit_code, 2);
        assert_non_null(strstr(fixture->err.text, "at byte"));
        assert_null(strstr(fixture->err.text, "hunter2"));
    }
}

static void test_defaults(void **state)
{
    const struct httpload_options *options = good(*state, "http://h:81/x?y=1");
    assert_string_equal(options->url, "http://h:81/x?y=1");
    assert_string_equal(options->method, "GET");
    assert_int_equal(options->script_count, 1);
    assert_string_equal(options->scripts[0].title, "GET http://h:81/x?y=1");
    assert_int_equal(options->clients, 10);
    assert_int_equal(options->duration_ns, 10 * PL_NS_PER_S);
    assert_int_equal(options->timeout_ns, 30 * PL_NS_PER_S);
    assert_int_equal(options->drain_ns, 31 * PL_NS_PER_S);
    assert_true(options->rate_per_s == 0);
    assert_false(options->json);
    assert_int_equal(good(*state, "-R 5/s http://h")->clients, 100);
    assert_int_equal(good(*state, "-R 5/s -n 7 http://h")->clients, 7); /* as many as divide them */
    assert_int_equal(good(*state, "-R 5/s -n 1000 http://h")->clients, 100);
    assert_int_equal(good(*state, "-R 5/s -n 150 http://h")->clients, 75);
    assert_int_equal(good(*state, "-n 7 http://h")->clients, 10);
    assert_false(good(*state, "http://h")->any_status);
    assert_true(good(*state, "--any-status http://h")->any_status);
    good(*state, "--find-max 'p99<1s and rate>5/s' http://h");
    good(*state, "--variable user-id=5 --tenants 3 --tenant 'a={n:04}{\"x\":{n}}' a.hurl");
    good(*state, "--tenants 3 --tenant header.X={n} --tenant group={n} http://h");
    assert_string_equal(good(*state, "http://h")->url, "http://h/");
    assert_string_equal(good(*state, "http://h?x")->url, "http://h/?x");
    assert_string_equal(good(*state, "http://h/x#y")->url, "http://h/x");
}

static void test_how_it_is_written(void **state)
{
    static const char *const lines[] = {"-c5 -R200/s -d20s http://h/",
                                        "http://h/ -c 5 -R 200/s -d 20s",
                                        "-c=5 -R=200/s -d=20s http://h/",
                                        "--connections=5 --rate=200/s --duration=20s http://h/",
                                        "--clients 5 --rate 200/s --duration 20s -- http://h/",
                                        "-R 12000/min -c 5 -d 0.02s -d 20s http://h/"};
    for (size_t i = 0; i < sizeof lines / sizeof lines[0]; i++) {
        const struct httpload_options *options = good(*state, lines[i]);
        assert_int_equal(options->clients, 5);
        assert_close(options->rate_per_s, 200, 1e-12, 0);
        assert_int_equal(options->duration_ns, 20 * PL_NS_PER_S);
        assert_string_equal(options->url, "http://h/");
    }
}

/* -d is a time, and with an @ the body. */
static void test_body(void **state)
{
    static const char *const lines[] = {"-d@file http://h/ -d 3s", "-d @file http://h/ -d3s",
                                        "--data @file http://h/ -d 3s", "--data=@file http://h/ -d 3s"};
    for (size_t i = 0; i < sizeof lines / sizeof lines[0]; i++) {
        const struct httpload_options *options = good(*state, lines[i]);
        assert_string_equal(options->data, "@file");
        assert_string_equal(options->method, "POST");
        assert_int_equal(options->duration_ns, 3 * PL_NS_PER_S);
    }
    assert_string_equal(good(*state, "--data hello -m PUT http://h/")->data, "hello");
    assert_string_equal(good(*state, "--data hello -m PUT http://h/")->method, "PUT");
}

static void test_files_and_weights(void **state)
{
    const struct httpload_options *options = good(*state, "a.hurl@3 d@2/b.hurl ./c.hurl@1000000 --base-url http://h:1/p");
    assert_int_equal(options->script_count, 3);
    assert_string_equal(options->scripts[0].path, "a.hurl");
    assert_int_equal(options->scripts[0].weight, 3);
    assert_string_equal(options->scripts[1].path, "d@2/b.hurl");
    assert_int_equal(options->scripts[1].weight, 1);
    assert_int_equal(options->scripts[2].weight, 1000000);
    assert_null(options->url);
    assert_null(options->method);
    assert_string_equal(options->base_url, "http://h:1/p");
}

static void test_user_in_the_url(void **state)
{
    const struct httpload_options *options = good(*state, "https://al%40ice:hun%3Ater2@h/x");
    assert_string_equal(options->user, "al@ice:hun:ter2");
    assert_string_equal(options->url, "https://h/x");
    assert_string_equal(options->scripts[0].title, "GET https://h/x");
    assert_string_equal(good(*state, "http://alice@h/")->user, "alice:");
    assert_string_equal(good(*state, "--user a:b:c http://h/")->user, "a:b:c");
}

static void test_lists(void **state)
{
    const struct httpload_options *options =
        good(*state, "-H 'A: 1' -H 'B:' --variable x=1 --variable 'y=random(1, 2)' --feed f.csv:unique --feed g.jsonl "
                     "--source 127.0.0.1 --source ::1 --connect-to a:1:b:2 --connect-to '::[::1]:80' --tenants 1_000 "
                     "--tenant 'url=http://h:{n}' --tenant 'weight={n}' a.hurl");
    assert_int_equal(options->headers.count, 2);
    assert_string_equal(options->headers.items[1], "B:");
    assert_null(options->headers.items[2]);
    assert_int_equal(options->variables.count, 2);
    assert_int_equal(options->feeds.count, 2);
    assert_int_equal(options->sources.count, 2);
    assert_int_equal(options->connect_to.count, 2);
    assert_int_equal(options->tenant_count, 1000);
    assert_int_equal(options->tenant_columns.count, 2);
}

static void test_feed_orders(void **state)
{
    struct fixture *fixture = *state;
    static const struct {
        const char *text, *path;
        enum feed_order order;
    } feeds[] = {{"f.csv", "f.csv", FEED_SEQUENTIAL},
                 {"f.csv:sequential", "f.csv", FEED_SEQUENTIAL},
                 {"f.csv:random", "f.csv", FEED_RANDOM},
                 {"a:b/f.jsonl:unique", "a:b/f.jsonl", FEED_UNIQUE},
                 {"a:b.csv", "a:b.csv", FEED_SEQUENTIAL}};
    const char *path;
    enum feed_order order;
    for (size_t i = 0; i < sizeof feeds / sizeof feeds[0]; i++) {
        assert_true(httpload_feed_split(fixture->arena, feeds[i].text, &path, &order));
        assert_string_equal(path, feeds[i].path);
        assert_int_equal(order, feeds[i].order);
    }
    printed_begin(&fixture->err, stderr);
    assert_false(httpload_feed_split(fixture->arena, "f.csv:shuffled", &path, &order));
    assert_string_equal(printed_end(&fixture->err, stderr),
                        SAYS "--feed: \"shuffled\" is no order: sequential, random or unique\n");
    printed_begin(&fixture->err, stderr);
    assert_false(httpload_feed_split(fixture->arena, "", &path, &order));
    assert_string_equal(printed_end(&fixture->err, stderr), SAYS "--feed needs the name of a file\n");
}

static void test_users(void **state)
{
    const struct httpload_options *options =
        good(*state, "-R 2/s --session 2.5:geometric --think 3s:exponential http://h/");
    assert_true(options->session_geometric && options->think_exponential);
    assert_close(options->session_operations, 2.5, 0, 0);
    assert_int_equal(options->think_ns, 3 * PL_NS_PER_S);
    options = good(*state, "-R 2/s --session 3 http://h/");
    assert_false(options->session_geometric);
    assert_int_equal(good(*state, "--think 5ms http://h/")->think_ns, 5 * PL_NS_PER_MS);
}

static void test_json(void **state)
{
    const struct httpload_options *options = good(*state, "--json http://h/");
    assert_true(options->json);
    assert_null(options->json_path);
    assert_string_equal(options->url, "http://h/");
    assert_string_equal(good(*state, "--json out.json http://h/")->json_path, "out.json");
    assert_string_equal(good(*state, "--json=out http://h/")->json_path, "out");
    assert_string_equal(good(*state, "--json http://h/x.json")->url, "http://h/x.json");
}

static void test_search(void **state)
{
    const struct httpload_options *options =
        good(*state, "--find-max 'p99<50ms and errors<1%' --min 5/s --max 1000/s --step-duration 4s http://h/");
    assert_int_equal(options->find.term_count, 2);
    assert_int_equal(options->step_ns, 4 * PL_NS_PER_S);
    assert_int_equal(options->warm_up_ns, 4 * PL_NS_PER_S / 10);
    assert_close(options->least_per_s, 5, 0, 0);
    assert_close(options->most_per_s, 1000, 0, 0);
    assert_int_equal(options->clients, 100);
    assert_int_equal(good(*state, "--find-max 'p99<5ms' --warm-up 0s http://h/")->warm_up_ns, 0);
}

static void test_objectives(void **state)
{
    const struct httpload_options *options =
        good(*state, "--threshold 'p(95)<500' --fail-if 'p99>50ms' --threshold 'http_req_failed: rate<0.01' http://h/");
    assert_int_equal(options->objective_count, 3);
    assert_true(options->objectives[0].is_fail_if);
    assert_string_equal(options->objectives[0].objective.text, "p99>50ms");
    assert_false(options->objectives[1].is_fail_if);
    assert_string_equal(options->objectives[2].objective.text, "http_req_failed: rate<0.01");
}

static void test_what_only_prints(void **state)
{
    struct fixture *fixture = *state;
    static const char *const lines[] = {"--help", "-h", "-c 5 --help", "--version", "-V http://h/"};
    for (size_t i = 0; i < sizeof lines / sizeof lines[0]; i++) {
        printed_begin(&fixture->out, stdout);
        bool goes_on = parse(fixture, lines[i]);
        printed_end(&fixture->out, stdout);
        assert_false(goes_on);
        assert_int_equal(fixture->exit_code, 0);
        assert_string_equal(fixture->err.text, "");
        assert_non_null(strstr(fixture->out.text, i < 3 ? "--find-max OBJECTIVE" : "plimsoll " PLIMSOLL_VERSION "\n"));
    }
    /* the help of -d says what -d@FILE is, and no line is wider than a terminal */
    parse(fixture, "x");
    printed_begin(&fixture->out, stdout);
    parse(fixture, "--help");
    printed_end(&fixture->out, stdout);
    assert_non_null(strstr(fixture->out.text, "-d@FILE is a body"));
    for (const char *line = fixture->out.text; *line != '\0'; line += strcspn(line, "\n") + 1)
        assert_true(strcspn(line, "\n") <= 116);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(test_refused),
        TEST(test_wrong_urls),
        TEST(test_defaults),
        TEST(test_body),
        TEST(test_how_it_is_written),
        TEST(test_files_and_weights),
        TEST(test_lists),
        TEST(test_user_in_the_url),
        TEST(test_feed_orders),
        TEST(test_users),
        TEST(test_json),
        TEST(test_search),
        TEST(test_objectives),
        TEST(test_what_only_prints),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
