/* Every query on what a response says, and on responses that say nothing of it. */
#include "run_test.h"

static const char *const queries[] = {
    "status == 201",
    "version == \"2\"",
    "url == \"http://h/x\"",
    "ip == \"127.0.0.1\"",
    "duration == 1",
    "header \"x-one\" == \"a\"",
    "header \"{{name}}\" == \"a\"",
    "header \"X-Two\" count == 2",
    "header \"X-Two\" includes \"c\"",
    "header \"X-None\" not exists",
    "cookie \"id\" == \"v=1\"",
    "cookie \"id[Value]\" == \"v=1\"",
    "cookie \"id[Path]\" == \"/p\"",
    "cookie \"id[Domain]\" == \"h.org\"",
    "cookie \"id[Secure]\" exists",
    "cookie \"id[HttpOnly]\" exists",
    "cookie \"id[SameSite]\" == \"Lax\"",
    "cookie \"id[Max-Age]\" == 60",
    "cookie \"id[Expires]\" dateFormat \"%F\" == \"2021-01-13\"",
    "cookie \"bad[Path]\" not exists",
    "cookie \"bare\" == \"\"",
    "cookie \"none\" not exists",
    "cookie \"none[Path]\" not exists",
    "body == \"{\\\"a\\\":[1,2]}\"",
    "bytes count == 11",
    "bytes == hex,7b2261223a5b312c325d7d;",
    "rawbytes == hex,7b2261223a5b312c325d7d;",
    "jsonpath \"$.a[0]\" == 1",
    "jsonpath \"$.{{path}}\" == 2",
    "regex /a\":(.)/ == \"[\"",
    "variable \"path\" == \"a[1]\"",
    "sha256 == hex,01530d164d479cf08e26d3b1ad9bdba927120d97e2d057a6d792db778780d720;",
    "certificate \"Subject\" == \"CN=h\"",
    "certificate \"Issuer\" not exists",
    "certificate \"Serial-Number\" == \"01:02\"",
    "certificate \"Start-Date\" dateFormat \"%F\" == \"1970-01-02\"",
    "certificate \"Expire-Date\" dateFormat \"%F\" == \"1970-01-03\"",
    "redirects count == 1",
};

static void test_all(void **state)
{
    (void)state;
    run_header("Content-Type", "application/json");
    run_header("X-One", "a");
    run_header("x-two", "b");
    run_header("X-Two", "c");
    run_header("Set-Cookie", "  id = v=1 ; Path=/p; Domain=h.org; secure; HTTPONLY; SameSite=Lax; Max-Age=60; "
                             "Expires=Wed, 13-Jan-2021 22:23:01 GMT");
    run_header("set-cookie", "id=second");
    run_header("Set-Cookie", "bad=1; Max-Age=soon; Expires=never");
    run_header("Set-Cookie", "bare");
    run_body("{\"a\":[1,2]}");
    response.status = 201;
    response.version = 20;
    response.duration_ns = 1999999;
    response.redirect_count = 1;
    response.certificate_subject = (struct hurl_slice){"CN=h", 4};
    response.certificate_serial = (struct hurl_slice){"01:02", 5};
    response.certificate_start_unix_s = 86400;
    response.certificate_expire_unix_s = 2 * 86400;
    run_define("name", "X-One");
    run_define("path", "a[1]");
    for (size_t i = 0; i < COUNT(queries); i++)
        run_holds(queries[i]);
    run_fails("cookie \"bad[Max-Age]\" exists", "toInt: text \"soon\" is not an integer");
    run_fails("cookie \"bad[Expires]\" exists", "the cookie's Expires is no date");
    run_define("path", "a[");
    run_fails("jsonpath \"$.{{path}}\" exists", "the path is none of JSONPath: an index is due here at byte 4");
    run_define("path", "a[0]");
    run_holds("jsonpath \"$.{{path}}\" == 1");
}

/* The digests of the standards' own examples. */
static void test_digests(void **state)
{
    (void)state;
    run_body("abc");
    for (int i = 0; i < 3; i++) {
        run_holds("sha256 == hex,ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad;");
        run_holds("md5 toHex == \"900150983cd24fb0d6963f7d28e17f72\"");
        run_body("");
        run_holds("sha256 toHex == \"e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855\"");
        run_holds("md5 toHex == \"d41d8cd98f00b204e9800998ecf8427e\"");
        run_body("abc");
    }
}

/* A response that has nothing. */
static void test_nothing(void **state)
{
    (void)state;
    response = (struct hurl_response){.status = 204, .version = 10};
    static const char *const good[] = {"version == \"1.0\"",
                                       "url == \"\"",
                                       "ip not exists",
                                       "body == \"\"",
                                       "bytes isEmpty",
                                       "rawbytes isEmpty",
                                       "bytes count == 0",
                                       "redirects isEmpty",
                                       "certificate \"Subject\" not exists",
                                       "header \"X\" not exists",
                                       "certificate \"Expire-Date\" not exists"};
    for (size_t i = 0; i < COUNT(good); i++)
        run_holds(good[i]);
    run_fails("jsonpath \"$\" exists", "the body is not JSON: the text ends where a value is due at byte 0");
}

static void test_charset_of_the_body(void **state)
{
    (void)state;
    static const struct {
        const char *type, *body, *assert_text;
    } bodies[] = {{"text/html; charset=gb2312", "\xc4\xe3", "body == \"\xe4\xbd\xa0\""},
                  {"text/html;CHARSET=\"gb2312\"; x=y", "\xc4\xe3", "body contains \"\xe4\xbd\xa0\""},
                  {"application/json; charset=iso-8859-1", "{\"a\":\"\xe9\"}", "jsonpath \"$.a\" == \"\xc3\xa9\""},
                  {"application/json", "{\"a\":\"\xc3\xa9\"}", "jsonpath \"$.a\" == \"\xc3\xa9\""},
                  {"text/html; charset=utf-8", "\xc3\xa9", "regex /(.)/ == \"\xc3\xa9\""}};
    for (size_t i = 0; i < COUNT(bodies); i++) {
        response.header_count = 0;
        run_header("content-type", bodies[i].type);
        run_body(bodies[i].body);
        run_holds(bodies[i].assert_text);
    }
    response.header_count = 0;
    run_header("Content-Type", "text/html; charset=");
    run_fails("body exists", "no charset \"\" is known");
    response.header_count = 0;
    run_body("{\"a\":\"\xff\"}");
    run_fails("jsonpath \"$.a\" exists", "the body is not JSON: a byte that is not UTF-8 at byte 6");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_all, run_setup, run_teardown),
        cmocka_unit_test_setup_teardown(test_digests, run_setup, run_teardown),
        cmocka_unit_test_setup_teardown(test_nothing, run_setup, run_teardown),
        cmocka_unit_test_setup_teardown(test_charset_of_the_body, run_setup, run_teardown),
    };
    return cmocka_run_group_tests_name("query", tests, NULL, NULL);
}
