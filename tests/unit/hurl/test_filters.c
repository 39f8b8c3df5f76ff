/* Every filter on good and bad input. */
#include "run_test.h"

#include "base/clock.h"

static const char body[] =
    "{\"t\":\"hello\",\"i\":5,\"f\":2.75,\"neg\":-2.75,\"huge\":1e300,\"b\":true,\"z\":null,\"l\":[10,\"x\",[1],{\"a\":1}],"
    "\"el\":[],\"o\":{\"a\":1,\"b\":2},\"num\":\"42\",\"fl\":\"3.5\",\"big\":18446744073709551615,\"b64\":\"PDw/Pz8+Pg==\","
    "\"b64n\":\"PDw/Pz8+Pg\",\"b64u\":\"PDw_Pz8-Pg\",\"html\":\"a < b & \\\"c\\\" > 'd'\","
    "\"esc\":\"Foo &copy; bar &#x1D306; &lt;&#60;&eacute;&nope; &amp;amp; &#0; & &;\",\"url\":\"https://m.org/?x=\xd1\x88 "
    "&y\","
    "\"enc\":\"https%3A//m.org/%3Fx%3D%D1%88+%zz%4\",\"q\":\"http://h/p?text=a%20b+c&empty=&t=2&text=3#f?t=9\","
    "\"csv\":\"a, b, ,c\",\"day\":\"2023-01-23T18:25:43.511Z\",\"json\":\"{\\\"m\\\":[{\\\"n\\\":\\\"deep\\\"},7]}\","
    "\"msg\":\"Welcome Bob and Bab!\"}";

/* `wrong` is what the message must hold when it fails; NULL: the predicate must hold. */
static const struct filtered {
    const char *assert_text, *wrong;
} table[] = {
    {"jsonpath \"$.b64\" base64Decode == hex,3c3c3f3f3f3e3e;", NULL},
    {"jsonpath \"$.b64n\" base64Decode == hex,3c3c3f3f3f3e3e;", NULL},
    {"jsonpath \"$.b64u\" base64Decode exists", "the text is not base64"},
    {"jsonpath \"$.t\" base64Decode exists", "the text is not base64"},
    {"jsonpath \"$.i\" base64Decode exists", "base64Decode: it takes text, and the value is integer 5"},
    {"jsonpath \"$.b64\" base64Decode base64Encode == \"PDw/Pz8+Pg==\"", NULL},
    {"jsonpath \"$.t\" base64Encode exists", "base64Encode: it takes bytes"},
    {"jsonpath \"$.b64u\" base64UrlSafeDecode == hex,3c3c3f3f3f3e3e;", NULL},
    {"jsonpath \"$.b64\" base64UrlSafeDecode exists", "the text is not base64"},
    {"jsonpath \"$.b64\" base64Decode base64UrlSafeEncode == \"PDw_Pz8-Pg\"", NULL},
    {"jsonpath \"$.i\" base64UrlSafeEncode exists", "it takes bytes"},
    {"jsonpath \"$.l\" count == 4", NULL},
    {"jsonpath \"$.o\" count == 2", NULL},
    {"jsonpath \"$.el\" count == 0", NULL},
    {"jsonpath \"$.l[*]\" count == 4", NULL},
    {"bytes count > 100", NULL},
    {"header \"Vary\" count == 2", NULL},
    {"jsonpath \"$.t\" count == 5", "count: it takes a collection, and the value is text \"hello\""},
    {"jsonpath \"$.missing\" count == 0", "count: there is no value to apply it to"},
    {"jsonpath \"$.day\" toDate \"%+\" dateFormat \"%A %d %B %Y %H:%M:%S%.3f\" == \"Monday 23 January 2023 18:25:43.511\"",
     NULL},
    {"jsonpath \"$.day\" toDate \"%Y-%m-%dT%H:%M:%S%.fZ\" dateFormat \"%F %T\" == \"2023-01-23 18:25:43\"", NULL},
    {"jsonpath \"$.day\" toDate \"%Y\" exists", "is no date of the format \"%Y\""},
    {"jsonpath \"$.day\" toDate \"%Q\" exists", "the format has %Q, which is not understood"},
    {"jsonpath \"$.day\" toDate \"%+\" dateFormat \"%Q\" exists", "the format has %Q, which is not understood"},
    {"jsonpath \"$.i\" toDate \"%s\" exists", "toDate: it takes text"},
    {"jsonpath \"$.t\" dateFormat \"%Y\" exists", "dateFormat: it takes a date"},
    {"jsonpath \"$.day\" toDate \"%+\" daysBeforeNow > 365", NULL},
    {"jsonpath \"$.day\" toDate \"%+\" daysAfterNow < -365", NULL},
    {"jsonpath \"$.day\" daysAfterNow > 1", "daysAfterNow: it takes a date"},
    {"jsonpath \"$.day\" daysBeforeNow > 1", "daysBeforeNow: it takes a date"},
    {"bytes decode \"utf-8\" contains \"hello\"", NULL},
    {"jsonpath \"$.b64\" base64Decode decode \"latin1\" == \"<<?\?\?>>\"", NULL},
    {"bytes decode \"klingon\" exists", "no charset \"klingon\" is known"},
    {"bytes decode \"../x\" exists", "no charset \"../x\" is known"},
    {"jsonpath \"$.t\" decode \"utf-8\" exists", "decode: it takes bytes"},
    {"jsonpath \"$.l\" first == 10", NULL},
    {"jsonpath \"$.el\" first not exists", NULL},
    {"jsonpath \"$.t\" first == \"h\"", "first: it takes a list"},
    {"jsonpath \"$.html\" htmlEscape == \"a &lt; b &amp; &quot;c&quot; &gt; &#x27;d&#x27;\"", NULL},
    {"jsonpath \"$.i\" htmlEscape exists", "htmlEscape: it takes text"},
    {"jsonpath \"$.esc\" htmlUnescape == \"Foo \xc2\xa9 bar \xf0\x9d\x8c\x86 <<\xc3\xa9&nope; &amp; \xef\xbf\xbd & &;\"",
     NULL},
    {"jsonpath \"$.i\" htmlUnescape exists", "htmlUnescape: it takes text"},
    {"jsonpath \"$.json\" jsonpath \"$.m[0].n\" == \"deep\"", NULL},
    {"jsonpath \"$.json\" jsonpath \"$.m\" jsonpath \"$[1]\" == 7", NULL},
    {"jsonpath \"$.json\" jsonpath \"$.m[*]\" jsonpath \"$[0].n\" == \"deep\"", NULL},
    {"jsonpath \"$.json\" jsonpath \"$.none\" not exists", NULL},
    {"jsonpath \"$.l\" jsonpath \"$[3].a\" == 1", NULL},
    {"jsonpath \"$.t\" jsonpath \"$\" exists", "the text is not JSON: no value that JSON has at byte 0"},
    {"jsonpath \"$.i\" jsonpath \"$\" exists", "jsonpath: it takes text, a list or an object"},
    {"header \"Vary\" jsonpath \"$[1]\" == \"B\"", NULL},
    {"jsonpath \"$.l\" last jsonpath \"$.a\" == 1", NULL},
    {"jsonpath \"$.el\" last not exists", NULL},
    {"jsonpath \"$.i\" last exists", "last: it takes a list"},
    {"redirects count == 2", NULL},
    {"redirects nth 1 location == \"http://h/x\"", NULL},
    {"redirects last location == \"http://h/x\"", NULL},
    {"redirects nth 0 location exists", "only the last one's location is kept"},
    {"jsonpath \"$.t\" location exists", "location: it takes a redirect"},
    {"jsonpath \"$.l\" nth 1 == \"x\"", NULL},
    {"jsonpath \"$.l\" nth -1 jsonpath \"$.a\" == 1", NULL},
    {"jsonpath \"$.l[*]\" nth 0 == 10", NULL},
    {"jsonpath \"$.l\" nth 4 exists", "the list has 4 items, and none has the index 4"},
    {"jsonpath \"$.l\" nth -5 exists", "the list has 4 items, and none has the index -5"},
    {"jsonpath \"$.o\" nth 0 exists", "nth: it takes a list, and the value is object of 2 members"},
    {"jsonpath \"$.msg\" regex /(B.b)/ == \"Bob\"", NULL},
    {"jsonpath \"$.msg\" regex \"and (\\\\w+)\" == \"Bab\"", NULL},
    {"jsonpath \"$.msg\" regex /(Z)/ not exists", NULL},
    {"jsonpath \"$.msg\" regex \"{{pattern}}\" == \"Welcome\"", NULL},
    {"jsonpath \"$.msg\" regex \"{{broken}}\" exists", "the pattern is not a regular expression"},
    {"jsonpath \"$.i\" regex /(5)/ == \"5\"", "regex: it takes text"},
    {"jsonpath \"$.csv\" replace \", \" \"|\" == \"a|b|,c\"", NULL},
    {"jsonpath \"$.csv\" replace \"a, b, ,c\" \"\" == \"\"", NULL},
    {"jsonpath \"$.csv\" replace \"x\" \"y\" == \"a, b, ,c\"", NULL},
    {"jsonpath \"$.csv\" replace \"\" \"y\" exists", "what is to be replaced is empty"},
    {"jsonpath \"$.i\" replace \"5\" \"6\" exists", "replace: it takes text"},
    {"jsonpath \"$.msg\" replaceRegex /B[aoi]b/ \"Dude\" == \"Welcome Dude and Dude!\"", NULL},
    {"jsonpath \"$.msg\" replaceRegex \"(B)(.)b\" \"$2${1}$$x$9\" == \"Welcome oB$x and aB$x!\"", NULL},
    {"jsonpath \"$.msg\" replaceRegex \"(?<w>B.b)\" \"<${w}>\" == \"Welcome <Bob> and <Bab>!\"", NULL},
    {"jsonpath \"$.t\" replaceRegex /x*/ \"-\" == \"-h-e-l-l-o-\"", NULL},
    {"jsonpath \"$.t\" replaceRegex /l*/ \"X\" == \"XhXeXoX\"", NULL},
    {"jsonpath \"$.url\" replaceRegex /z*/ \"\" startsWith \"https\"", NULL},
    {"jsonpath \"$.t\" replaceRegex \"{{broken}}\" \"x\" exists", "the pattern is not a regular expression"},
    {"jsonpath \"$.i\" replaceRegex /5/ \"6\" exists", "replaceRegex: it takes text"},
    {"jsonpath \"$.csv\" split \", \" count == 3", NULL},
    {"jsonpath \"$.csv\" split \",\" nth 2 == \" \"", NULL},
    {"jsonpath \"$.csv\" split \"nowhere\" count == 1", NULL},
    {"jsonpath \"$.csv\" split \"c\" last == \"\"", NULL},
    {"jsonpath \"$.csv\" split \"{{comma}}\" includes \"c\"", NULL},
    {"jsonpath \"$.csv\" split \"\" count == 1", "the separator is empty"},
    {"jsonpath \"$.i\" split \",\" count == 1", "split: it takes text"},
    {"jsonpath \"$.fl\" toFloat == 3.5", NULL},
    {"jsonpath \"$.i\" toFloat isFloat", NULL},
    {"jsonpath \"$.big\" toFloat > 1.8e19", NULL},
    {"jsonpath \"$.t\" toFloat exists", "text \"hello\" is not a number"},
    {"jsonpath \"$.b\" toFloat exists", "toFloat: it takes text or a number"},
    {"jsonpath \"$.b64\" base64Decode toHex == \"3c3c3f3f3f3e3e\"", NULL},
    {"jsonpath \"$.t\" toHex exists", "toHex: it takes bytes"},
    {"jsonpath \"$.num\" toInt == 42", NULL},
    {"jsonpath \"$.f\" toInt == 2", NULL},
    {"jsonpath \"$.neg\" toInt == -2", NULL},
    {"jsonpath \"$.huge\" toInt == 9223372036854775807", NULL},
    {"jsonpath \"$.i\" toInt == 5", NULL},
    {"jsonpath \"$.fl\" toInt exists", "is not an integer of 64 bits"},
    {"jsonpath \"$.big\" toInt exists", "is not an integer of 64 bits"},
    {"jsonpath \"$.b\" toInt exists", "toInt: it takes text or a number, and the value is boolean true"},
    {"jsonpath \"$.i\" toString == \"5\"", NULL},
    {"jsonpath \"$.f\" toString == \"2.75\"", NULL},
    {"jsonpath \"$.b\" toString == \"true\"", NULL},
    {"jsonpath \"$.z\" toString == \"null\"", NULL},
    {"jsonpath \"$.big\" toString == \"18446744073709551615\"", NULL},
    {"jsonpath \"$.day\" toDate \"%+\" toString == \"2023-01-23T18:25:43.511Z\"", NULL},
    {"jsonpath \"$.l\" toString exists", "toString: it takes a value with a text, and the value is list"},
    {"jsonpath \"$.enc\" urlDecode == \"https://m.org/?x=\xd1\x88+%zz%4\"", NULL},
    {"jsonpath \"$.bad\" urlDecode exists", "there is no value"},
    {"jsonpath \"$.i\" urlDecode exists", "urlDecode: it takes text"},
    {"header \"Bad\" urlDecode exists", "what is decoded is not UTF-8"},
    {"jsonpath \"$.url\" urlEncode == \"https%3A//m.org/%3Fx%3D%D1%88%20%26y\"", NULL},
    {"jsonpath \"$.i\" urlEncode exists", "urlEncode: it takes text"},
    {"jsonpath \"$.q\" urlQueryParam \"text\" == \"a b c\"", NULL},
    {"jsonpath \"$.q\" urlQueryParam \"empty\" == \"\"", NULL},
    {"jsonpath \"$.q\" urlQueryParam \"t\" == \"2\"", NULL},
    {"jsonpath \"$.q\" urlQueryParam \"none\" not exists", NULL},
    {"jsonpath \"$.t\" urlQueryParam \"x\" exists", "the text is no URL with a scheme"},
    {"jsonpath \"$.i\" urlQueryParam \"x\" exists", "urlQueryParam: it takes text"},
    {"bytes utf8Decode contains \"hello\"", NULL},
    {"jsonpath \"$.b64\" base64Decode utf8Decode == \"<<?\?\?>>\"", NULL},
    {"header \"Latin\" base64Decode utf8Decode exists", "the bytes are not UTF-8"},
    {"header \"Latin\" base64Decode decode \"iso-8859-1\" == \"caf\xc3\xa9\"", NULL},
    {"jsonpath \"$.t\" utf8Encode == hex,68656c6c6f;", NULL},
    {"bytes utf8Encode exists", "utf8Encode: it takes text"},
    {"jsonpath \"$.t\" utf8Decode exists", "utf8Decode: it takes bytes"},
};

static void prepare(void)
{
    response.header_count = 0;
    response.redirect_count = 2;
    run_header("Vary", "A");
    run_header("Vary", "B");
    run_header("Bad", "%ff");
    run_header("Latin", "Y2Fm6Q==");
    run_body(body);
    run_define("pattern", "^(\\w+)");
    run_define("broken", "(");
    run_define("comma", ",");
}

static void test_table(void **state)
{
    (void)state;
    bool used[2][HURL_FILTER_UTF8_ENCODE + 1] = {0};
    prepare();
    for (size_t i = 0; i < COUNT(table); i++) {
        const char *text = table[i].assert_text;
        if (table[i].wrong == NULL)
            run_holds(text);
        else
            run_fails(text, table[i].wrong);
        const struct hurl_request *request = run_request(pl_format(arena, "GET http://h\nHTTP *\n[Asserts]\n%s\n", text));
        const struct hurl_query *query = &request->asserts[0].query;
        for (size_t k = 0; k < query->filter_count; k++)
            used[table[i].wrong != NULL][query->filters[k].kind] = true;
    }
    for (size_t i = 0; i < COUNT(used[0]); i++)
        if (!used[0][i] || !used[1][i])
            fail_msg("filter %zu has no %s input in the table", i, used[0][i] ? "bad" : "good");
}

/* In templates: values go through filters before they are put in. */
static void test_in_templates(void **state)
{
    (void)state;
    prepare();
    run_define("name", "a b/c");
    run_define("html", "<b>");
    run_define_int("seven", 7);
    static const char text[] = "GET http://h/{{name urlEncode}}/{{name replace \"a\" \"7\" urlEncode}}\n"
                               "X: {{html htmlEscape}}-{{name split \" \" last}}-{{seven toString}}\n";
    struct hurl_message message;
    const char *wrong = hurl_render(run_request(text), vars, work, &message);
    assert_null(wrong);
    assert_string_equal(pl_strndup(arena, message.url.text, message.url.length), "http://h/a%20b/c/7%20b/c");
    assert_string_equal(pl_strndup(arena, message.headers[0].value.text, message.headers[0].value.length),
                        "&lt;b&gt;-b/c-7");
    wrong = hurl_render(run_request("GET http://h/{{seven urlEncode}}\n"), vars, work, &message);
    assert_non_null(wrong);
    assert_non_null(strstr(wrong, "t.hurl:1:22: urlEncode: it takes text, and the value is integer 7"));
}

/* Patterns that try for ever are stopped, and what grows without bound too. */
static void test_bounded(void **state)
{
    (void)state;
    enum { LONG = 4000000 };
    prepare();
    char *text = pl_alloc(arena, LONG + 1, 1);
    memset(text, 'a', LONG);
    text[5000] = '!';
    run_body_bytes(text, 5001);
    run_expect_wrong("HTTP *\n[Asserts]\nbody regex /^(a+)+$/ exists", "check:BODY", "takes too long on this text");
    run_expect_wrong("HTTP *\n[Asserts]\nbody matches /^(a|aa)+$/", "check:BODY", "takes too long on this text");
    run_expect_wrong("HTTP *\n[Asserts]\nbody not matches /^(a|aa)+$/", "check:BODY", "takes too long on this text");
    run_expect_wrong("HTTP *\n[Asserts]\nbody replaceRegex /^(a+)+$/ \"\" exists", "check:BODY",
                     "takes too long on this text");
    text[5000] = 'a';
    run_body_bytes(text, LONG);
    run_fails("body replace \"a\" \"0123456789012345678901234567890123456789\" exists", "a value grows beyond 64 MiB");
    run_fails("body split \"a\" count > 1", "a value grows beyond 64 MiB");
    struct hurl_fault fault; /* too large, or too long */
    assert_non_null(
        run_judge("HTTP *\n[Asserts]\nbody replaceRegex /a/ \"0123456789012345678901234567890123456789\" exists", &fault));
    run_body("{\"t\":1}");
    run_holds("jsonpath \"$.t\" == 1"); /* and the work can be used again */
}

static void test_days(void **state)
{
    (void)state;
    static const int64_t day_ns = 86400 * PL_NS_PER_S;
    response.certificate_subject = (struct hurl_slice){"CN=h", 4};
    response.certificate_start_unix_s = (pl_clock_unix_ns() - 10 * day_ns - day_ns / 2) / PL_NS_PER_S;
    response.certificate_expire_unix_s = (pl_clock_unix_ns() + 20 * day_ns + day_ns / 2) / PL_NS_PER_S;
    run_holds("certificate \"Start-Date\" daysBeforeNow == 10");
    run_holds("certificate \"Expire-Date\" daysAfterNow == 20");
    run_holds("certificate \"Expire-Date\" daysBeforeNow == -20");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_table, run_setup, run_teardown),
        cmocka_unit_test_setup_teardown(test_in_templates, run_setup, run_teardown),
        cmocka_unit_test_setup_teardown(test_bounded, run_setup, run_teardown),
        cmocka_unit_test_setup_teardown(test_days, run_setup, run_teardown),
    };
    return cmocka_run_group_tests_name("filters", tests, NULL, NULL);
}
