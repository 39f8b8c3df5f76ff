/* Judging: what a file states, asserts, captures of every kind and when they are set, secrets. */
#include "run_test.h"

static void test_status_and_version(void **state)
{
    (void)state;
    run_expect_good("HTTP 200");
    run_expect_good("HTTP *");
    run_expect_good("HTTP/1.1 200");
    run_expect_wrong("HTTP 404", "check:STATUS", "t.hurl:2:6: status: expected 404, got 200");
    run_expect_wrong("HTTP/1.0 200", "check:VERSION", "version: expected HTTP/1.0, got HTTP/1.1");
    run_expect_wrong("HTTP/2 200", "check:VERSION", "expected HTTP/2, got HTTP/1.1");
    response.version = 20;
    run_expect_good("HTTP/2 200");
    /* the first of several is told */
    run_expect_wrong("HTTP/1.1 404\nX: y\n[Asserts]\nstatus == 1", "check:VERSION", "");
    run_expect_wrong("HTTP/2 404\nX: y\n[Asserts]\nstatus == 1", "check:STATUS", "");
    run_expect_wrong("HTTP/2 200\nX: y\n[Asserts]\nstatus == 1", "check:HEADER", "");
    run_expect_wrong("HTTP/2 200\n[Asserts]\nstatus == 1\n{}", "check:BODY", "");
    run_expect_wrong("HTTP/2 200\n[Captures]\na: header \"no\"\n[Asserts]\nstatus == 1", "check:ASSERT", "");
    run_expect_wrong("HTTP/2 200\n[Captures]\na: header \"no\"\n[Asserts]\nstatus == 200", "check:CAPTURE",
                     "t.hurl:4:1: capture a: it finds nothing");
    /* no response part: any answer is good */
    struct hurl_fault fault;
    assert_true(hurl_judge(run_request("GET http://h\n"), &response, &scene, work, &fault));
}

/* A request without a file expects a status below 400, unless it is told not to. */
static void test_plain(void **state)
{
    (void)state;
    for (int any = 0; any < 2; any++) {
        const struct hurl_plain plain = {.method = "GET", .url = "http://h/", .any_status = any};
        struct program *program = NULL;
        struct pl_err err = {0};
        struct hurl_fault fault;
        assert_int_equal(hurl_compile_plain(&plain, names, arena, &program, &err), PL_OK);
        for (int status = 100; status < 600; status++) {
            response.status = status;
            bool is_good = hurl_judge(program->steps[0].http, &response, &scene, work, &fault);
            assert_int_equal(is_good, any || status < 400);
            if (!is_good) {
                assert_string_equal(fault.code, "check:STATUS");
                assert_string_equal(fault.text, pl_format(arena, "status: expected below 400, got %d", status));
            }
        }
    }
}

/* A request without a file. */
static void test_statuses_of_a_plain_request(void **state)
{
    (void)state;
    struct hurl_request request = *run_request("GET http://h\n");
    struct hurl_fault fault;
    request.refuses_errors = true;
    static const int good[] = {200, 204, 302, 399}, bad[] = {400, 404, 503, 599};
    for (size_t i = 0; i < sizeof good / sizeof *good; i++) {
        response.status = good[i];
        assert_true(hurl_judge(&request, &response, &scene, work, &fault));
    }
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        response.status = bad[i];
        assert_false(hurl_judge(&request, &response, &scene, work, &fault));
        assert_string_equal(fault.code, "check:STATUS");
        assert_non_null(strstr(fault.text, pl_format(arena, "status: expected below 400, got %d", bad[i])));
        request.refuses_errors = false;
        assert_true(hurl_judge(&request, &response, &scene, work, &fault));
        request.refuses_errors = true;
    }
}

static void test_headers(void **state)
{
    (void)state;
    run_header("Content-Type", "text/html");
    run_header("set-cookie", "a=secret-1; Path=/");
    run_header("Set-Cookie", "b=secret-2");
    run_header("Empty", "");
    run_define("type", "text/html");
    run_expect_good("HTTP 200\nContent-Type: text/html\nSet-Cookie: b=secret-2\nSET-COOKIE: a=secret-1; Path=/");
    run_expect_good("HTTP 200\nContent-Type: {{type}}");
    run_expect_wrong("HTTP 200\nContent-Type: text/plain", "check:HEADER",
                     "header Content-Type: expected \"text/plain\", got \"text/html\"");
    run_expect_wrong("HTTP 200\nX-Y: z", "check:HEADER", "t.hurl:3:1: header X-Y: there is none");
    run_expect_wrong("HTTP 200\nSet-Cookie: c=1", "check:HEADER", "header Set-Cookie: another value came (a secret)");
}

static void test_bodies(void **state)
{
    (void)state;
    run_body("{\"a\": 1, \"b\": [true, \"x\\u00e9\"]}");
    run_define_int("one", 1);
    run_define("x", "x");
    run_expect_good("HTTP 200\n{\"b\":[true,\"x\xc3\xa9\"],\"a\":1.0}");
    run_expect_good("HTTP 200\n{\"b\":[true,\"{{x}}\xc3\xa9\"],\"a\":{{one}}}");
    run_expect_wrong(
        "HTTP 200\n{\"a\":2}", "check:BODY",
        "t.hurl:3:1: the body is another JSON: expected object of 1 member {\"a\":2}, got object of 2 members");
    run_body("not json");
    run_expect_wrong("HTTP 200\n{}", "check:BODY", "the body is not JSON: no value that JSON has at byte 0");
    run_body("line 1\nline 2\n");
    run_expect_good("HTTP 200\n```\nline 1\nline 2\n```");
    run_expect_wrong("HTTP 200\n```\nline 1\nline 3\n```", "check:BODY",
                     "the body differs from byte 12 on: expected text \"3\\x0a\", got text \"2\\x0a\"");
    run_body("hello");
    run_expect_good("HTTP 200\n`hello`");
    run_expect_good("HTTP 200\nhex,68656c6c6f;");
    run_expect_good("HTTP 200\nbase64,aGVsbG8=;");
    run_expect_wrong("HTTP 200\nhex,6865;", "check:BODY", "from byte 2 on: expected bytes (0), got bytes 6c6c6f");
    run_expect_wrong("HTTP 200\n`hello world`", "check:BODY", "from byte 5 on: expected text \" world\", got text \"\"");
    run_body_bytes("\xff", 1);
    run_expect_wrong("HTTP 200\n`hello`", "check:BODY", "the bytes are not UTF-8");
    run_header("Content-Type", "text/plain; charset=\"ISO-8859-1\"");
    run_expect_good("HTTP 200\n`\xc3\xbf`");
    run_body("\xef\xbb\xbf{\"a\":1}"); /* a mark of byte order before UTF-8 */
    response.header_count = 0;
    run_expect_good("HTTP 200\n{\"a\":1}");
}

static void test_captures(void **state)
{
    (void)state;
    run_header("Location", "/next");
    run_header("Vary", "A\"");
    run_header("Vary", "B");
    run_header("Set-Cookie", "sid=abc; Secure; Max-Age=60; Expires=Wed, 13 Jan 2021 22:23:01 GMT; Path=/p; SameSite=Lax");
    run_body(
        "{\"i\":42,\"f\":1.5,\"w\":2.0,\"t\":\"h\\u00e9\\n\",\"b\":true,\"z\":null,\"l\":[1, \"x\"],\"o\":{\"k\": [2]},"
        "\"big\":18446744073709551616}");
    response.duration_ns = 12999999;
    run_expect_good(
        "HTTP 200\n[Captures]\nstatus: status\nversion: version\nurl: url\nip: ip\nduration: duration\n"
        "i: jsonpath \"$.i\"\nf: jsonpath \"$.f\"\nw: jsonpath \"$.w\"\nt: jsonpath \"$.t\"\nb: jsonpath \"$.b\"\n"
        "z: jsonpath \"$.z\"\nl: jsonpath \"$.l\"\no: jsonpath \"$.o\"\nbig: jsonpath \"$.big\"\n"
        "all: jsonpath \"$..[1]\"\nnone: jsonpath \"$.l[5:]\"\nlocation: header \"Location\"\n"
        "vary: header \"Vary\"\ncookie: cookie \"sid\"\nsecure: cookie \"sid[Secure]\"\n"
        "age: cookie \"sid[Max-Age]\"\nexpires: cookie \"sid[Expires]\"\nsite: cookie \"sid[SameSite]\"\n"
        "re: regex /\"i\":(\\d+)/\ncount: jsonpath \"$.l\" count\nsplit: header \"Location\" split \"e\"\n"
        "copy: variable \"t\"\nsum: bytes count");
    static const char *const expected[][2] = {{"status", "int 200"},
                                              {"version", "text 1.1"},
                                              {"url", "text http://h/x"},
                                              {"ip", "text 127.0.0.1"},
                                              {"duration", "int 12"},
                                              {"i", "int 42"},
                                              {"f", "double 1.5"},
                                              {"w", "double 2"},
                                              {"t", "text h\xc3\xa9\n"},
                                              {"b", "boolean true"},
                                              {"z", "null"},
                                              {"l", "text [1, \"x\"]"},
                                              {"o", "text {\"k\": [2]}"},
                                              {"big", "text 18446744073709551616"},
                                              {"all", "text [\"x\"]"},
                                              {"none", "text []"},
                                              {"location", "text /next"},
                                              {"vary", "text [\"A\\\"\",\"B\"]"},
                                              {"cookie", "text abc"},
                                              {"secure", "boolean true"},
                                              {"age", "int 60"},
                                              {"expires", "text 2021-01-13T22:23:01Z"},
                                              {"site", "text Lax"},
                                              {"re", "text 42"},
                                              {"count", "int 2"},
                                              {"split", "text [\"/n\",\"xt\"]"},
                                              {"copy", "text h\xc3\xa9\n"},
                                              {"sum", "int 113"}};
    for (size_t i = 0; i < COUNT(expected); i++)
        if (strcmp(run_shown(expected[i][0]), expected[i][1]) != 0)
            fail_msg("%s is %s", expected[i][0], run_shown(expected[i][0]));
}

static void test_capture_faults(void **state)
{
    (void)state;
    run_body("{\"nul\":\"a\\u0000b\",\"json\":\"[1]\"}");
    run_expect_wrong("HTTP 200\n[Captures]\na: jsonpath \"$.none\"", "check:CAPTURE",
                     "t.hurl:4:1: capture a: it finds nothing");
    run_expect_wrong("HTTP 200\n[Captures]\na: regex /(zzz)/", "check:CAPTURE", "it finds nothing");
    run_expect_wrong("HTTP 200\n[Captures]\na: jsonpath \"$.nul\"", "check:CAPTURE", "text with a NUL cannot be kept");
    run_expect_wrong("HTTP 200\n[Captures]\na: redirects", "check:CAPTURE", "cannot be kept");
    run_expect_wrong("HTTP 200\n[Captures]\na: jsonpath \"$.json\" toInt", "check:CAPTURE", "is not an integer");
    run_expect_wrong("HTTP 200\n[Captures]\na: certificate \"Subject\"", "check:CAPTURE", "it finds nothing");
    response.body = (struct hurl_slice){NULL, 0};
    response.body_bytes = 100;
    run_expect_wrong("HTTP 200\n[Captures]\na: body", "check:CAPTURE", "the body was not kept");
    run_expect_good("HTTP 200\n[Captures]\nn: bytes count");
    assert_string_equal(run_shown("n"), "int 100");
    run_expect_wrong("HTTP 200\n[Captures]\na: bytes", "check:CAPTURE", "of these bytes only the count is known");
    run_expect_wrong("HTTP 200\n[Asserts]\nbytes startsWith hex,00;", "check:ASSERT", "only the count is known");
    run_expect_wrong("HTTP 200\n[Asserts]\nbytes toHex == \"00\"", "check:ASSERT", "only the count is known");
    response.raw_bytes = 60; /* compressed */
    run_expect_good("HTTP 200\n[Asserts]\nrawbytes count == 60\nbytes count == 100");
}

/* Nothing is set unless everything holds; asserts and later captures see what is captured. */
static void test_when_captures_are_set(void **state)
{
    (void)state;
    run_body("{\"id\":7,\"list\":[1,2,3],\"json\":\"{\\\"a\\\":[5,6]}\",\"other\":\"{\\\"a\\\":[7]}\"}");
    run_define_int("id", 1);
    run_define_int("next", 1);
    run_expect_wrong("HTTP 200\n[Captures]\nid: jsonpath \"$.id\"\nnext: jsonpath \"$.none\"", "check:CAPTURE",
                     "capture next");
    assert_string_equal(run_shown("id"), "int 1");
    run_expect_wrong("HTTP 200\n[Captures]\nid: jsonpath \"$.id\"\n[Asserts]\nstatus == 201", "check:ASSERT", "");
    assert_string_equal(run_shown("id"), "int 1");
    run_expect_wrong("HTTP 500\n[Captures]\nid: jsonpath \"$.id\"", "check:STATUS", "");
    assert_string_equal(run_shown("id"), "int 1");
    run_expect_good("HTTP 200\n[Captures]\nid: jsonpath \"$.id\"\nlist: jsonpath \"$.list\"\nnext: variable \"id\"\n"
                    "deep: jsonpath \"$.json\" jsonpath \"$.a\"\nother: jsonpath \"$.other\" jsonpath \"$.a\"\n"
                    "[Asserts]\nvariable \"id\" == 7\nvariable \"list\" count == 3\nvariable \"list\" isList\n"
                    "jsonpath \"$.id\" == {{next}}\nvariable \"deep\" count == 2\nvariable \"deep\" nth 1 == 6\n"
                    "variable \"other\" count == 1\nvariable \"deep\" not contains \"7\"\n"
                    "jsonpath \"$.json\" jsonpath \"$.a\" == {{deep}}\njsonpath \"$.json\" jsonpath \"$.a\" != {{other}}");
    assert_string_equal(run_shown("id"), "int 7");
    assert_string_equal(run_shown("next"), "int 7");
    assert_string_equal(run_shown("deep"), "text [5,6]");
    assert_string_equal(run_shown("other"), "text [7]");
}

/* A secret never stands in a message: not its own, nor where it is found in another value, nor later. */
static void test_secrets(void **state)
{
    (void)state;
    run_header("Token", "s3same");
    run_header("Other", "x-s3same-y s3same");
    run_body("{\"t\":\"say s3same\"}");
    struct hurl_fault fault;
    static const char *const asserts[] = {"variable \"tok\" == \"x\"",   "header \"Token\" == \"x\"",
                                          "header \"Other\" == \"x\"",   "jsonpath \"$.t\" == \"x\"",
                                          "status == {{tok}}",           "status == \"a {{tok}}\"",
                                          "header \"Token\" toInt == 1", "header \"Token\" toDate \"%Y\" exists"};
    for (size_t i = 0; i < COUNT(asserts); i++) {
        const char *wrong = run_judge(
            pl_format(arena, "HTTP 200\n[Captures]\ntok: header \"Token\" redact\n[Asserts]\n%s", asserts[i]), &fault);
        assert_non_null(wrong);
        assert_null(strstr(wrong, "s3same"));
    }
    run_expect_good("HTTP 200\n[Captures]\ntok: header \"Token\" redact");
    assert_string_equal(run_shown("tok"), "text s3same");
    for (size_t i = 0; i < COUNT(asserts); i++) {
        const char *wrong = run_judge(pl_format(arena, "HTTP 200\n[Asserts]\n%s", asserts[i]), &fault);
        assert_non_null(wrong);
        assert_null(strstr(wrong, "s3same"));
    }
    run_expect_wrong("HTTP 200\nOther: z", "check:HEADER", "got \"x-***-y ***\"");
}

static void test_same_work_for_all(void **state)
{
    (void)state;
    run_body("{\"a\":1}");
    for (int i = 0; i < 100; i++) {
        run_expect_good("HTTP 200\n[Captures]\na: jsonpath \"$.a\"\n[Asserts]\nbody contains \"a\"");
        run_expect_wrong("HTTP 200\n[Asserts]\njsonpath \"$.a\" == 2", "check:ASSERT", "got integer 1");
    }
}

/* What is named as a secret, and what the request sent as one, needs no word of its own to stay out of messages. */
static void test_named_secrets(void **state)
{
    (void)state;
    static const char request[] = "POST http://h/x\nAuthorization: Bearer {{ticket}}\nX-Api-Key: key-0001\n"
                                  "Cookie: sid=cook-0002; b=c\n[Cookies]\nlast: cook-0003\n[Form]\npassword: form-0010\n%s"
                                  "HTTP 200\n[Captures]\naccess_token: jsonpath \"$.a\"\n[Asserts]\n%s\n";
    static const char *const asserts[] = {
        "body == \"x\"",
        "bytes utf8Decode == \"x\"",
        "jsonpath \"$.all\" == \"x\"",
        "jsonpath \"$.a\" == \"x\"",
        "jsonpath \"$.password\" == \"x\"",
        "jsonpath \"$\" == \"{{userPassword}}\"",
        "variable \"userPassword\" isInteger",
        "variable \"access_token\" isInteger",
        "header \"X-Auth-Token\" == \"x\"",
        "header \"Echo\" toInt == 1",
    };
    static const char *const secrets[] = {"tick-0000", "key-0001",  "cook-0002", "cook-0003", "pass-0004",
                                          "cap-0005",  "json-0006", "head-0007", "user-0008", "dXNlcjpwYXNzLTAwMDk=",
                                          "pass-0009", "form-0010"};
    static const char *const kinds[] = {"", "[BasicAuth]\nuser: pass-0009\n"};
    run_define("ticket", "tick-0000");
    run_define("userPassword", "user-0008");
    run_define("other", "seen");
    run_header("X-Auth-Token", "head-0007");
    run_header("Echo", "Bearer tick-0000, user-0008, key-0001, form-0010");
    run_body(
        "{\"a\": \"cap-0005\", \"password\" : \"pass-0004\", \"all\":\"Bearer tick-0000 key-0001 sid=cook-0002 cook-0003 "
        "cap-0005 user-0008 pass-0009 dXNlcjpwYXNzLTAwMDk= form-0010\",\"apiKey\":\"json-0006\"}");
    for (size_t i = 0; i < COUNT(asserts); i++) {
        struct hurl_fault fault;
        const struct hurl_request *compiled = run_request(pl_format(arena, request, kinds[i % 2], asserts[i]));
        assert_false(hurl_judge(compiled, &response, &scene, work, &fault));
        for (size_t k = 0; k < COUNT(secrets); k++)
            if (strstr(fault.text, secrets[k]) != NULL && (i % 2 == 1 || k < 9 || k > 10))
                fail_msg("%s in: %s", secrets[k], fault.text);
    }
    run_expect_wrong("HTTP 200\n[Asserts]\nvariable \"other\" == \"x\"", "check:ASSERT", "got text \"seen\"");
    run_expect_wrong("HTTP 200\n[Asserts]\njsonpath \"$.all\" isInteger", "check:ASSERT", "got text \"Bearer ");
    run_expect_wrong("HTTP 200\n[Asserts]\njsonpath \"$.a\" split \"-\" count == 1", "check:ASSERT", "got integer 2");
}

/* Numbers too, but for small ones, which stand everywhere. */
static void test_secret_numbers(void **state)
{
    (void)state;
    struct hurl_fault fault;
    run_header("Echo", "pin 4711, key 7");
    run_body("{\"n\":4711,\"k\":7}");
    run_define_int("old-pin", 471);
    run_judge("HTTP 200\n[Captures]\npin: jsonpath \"$.n\"\nkey: jsonpath \"$.k\"\n[Asserts]\nheader \"Echo\" == \"4712\"",
              &fault);
    assert_non_null(strstr(fault.text, "expected text \"***2\", got text \"pin ***, key 7\""));
}

/* A message that begins where two bodies part does not show the end of a secret. */
static void test_secret_end(void **state)
{
    (void)state;
    struct hurl_fault fault;
    run_define("token", "tick-0000-long");
    run_body("as tick-0000-long it came");
    assert_non_null(run_judge("HTTP 200\n`as tick-0001 it came`", &fault));
    assert_null(strstr(fault.text, "0-long"));
    assert_non_null(strstr(fault.text, "from byte 11 on: expected text \"tick-0001 it came\", got text \"*** it came\""));
}

static void test_secret_names(void **state)
{
    (void)state;
    static const char *const secret[] = {"password",     "PASSWORD", "user_passwd", "token",  "csrfToken",
                                         "access-token", "key",      "api_key",     "apiKey", "API_KEY",
                                         "x-api-key",    "auth",     "jwt",         "pin"};
    static const char *const plain[] = {"",       "user", "monkey", "keyboard", "author",
                                        "pinned", "spin", "keys",   "book",     "passenger"};
    for (size_t i = 0; i < COUNT(secret); i++)
        if (!hurl_name_is_secret(secret[i], strlen(secret[i])))
            fail_msg("%s", secret[i]);
    for (size_t i = 0; i < COUNT(plain); i++)
        if (hurl_name_is_secret(plain[i], strlen(plain[i])))
            fail_msg("%s", plain[i]);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_status_and_version, run_setup, run_teardown),
        cmocka_unit_test_setup_teardown(test_plain, run_setup, run_teardown),
        cmocka_unit_test_setup_teardown(test_headers, run_setup, run_teardown),
        cmocka_unit_test_setup_teardown(test_bodies, run_setup, run_teardown),
        cmocka_unit_test_setup_teardown(test_captures, run_setup, run_teardown),
        cmocka_unit_test_setup_teardown(test_statuses_of_a_plain_request, run_setup, run_teardown),
        cmocka_unit_test_setup_teardown(test_capture_faults, run_setup, run_teardown),
        cmocka_unit_test_setup_teardown(test_when_captures_are_set, run_setup, run_teardown),
        cmocka_unit_test_setup_teardown(test_secrets, run_setup, run_teardown),
        cmocka_unit_test_setup_teardown(test_named_secrets, run_setup, run_teardown),
        cmocka_unit_test_setup_teardown(test_secret_names, run_setup, run_teardown),
        cmocka_unit_test_setup_teardown(test_secret_end, run_setup, run_teardown),
        cmocka_unit_test_setup_teardown(test_secret_numbers, run_setup, run_teardown),
        cmocka_unit_test_setup_teardown(test_same_work_for_all, run_setup, run_teardown),
    };
    return cmocka_run_group_tests_name("judge", tests, NULL, NULL);
}
