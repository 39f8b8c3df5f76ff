/* Where an XML body ends. */
#include "parse_test.h"

static void test_end(void **state)
{
    (void)state;
    static const char *const texts[] = {
        "<a/>",
        "<a></a>",
        "<a b='c' d=\"e>f\"/>",
        "<a\n  b = \"c\"\n/>",
        "<a>text &amp; <b/> more</a >",
        "<?xml version=\"1.0\"?>\n\n<!-- <b> -->\n<a><!-- </a> --></a>",
        "<!DOCTYPE a [ <!ENTITY x \"]>\"> <!ELEMENT a (#PCDATA)> ]>\n<a/>",
        "<a><![CDATA[ </a> ]]></a>",
        "<a><?pi </a> ?></a>",
        "<x:a.b-c_d xmlns:x=\"u\"><x:a.b-c_d/></x:a.b-c_d>",
        "<a>{{not a variable}}</a>",
        "<\xc3\xa9>\xc3\xa9</\xc3\xa9>",
        "<a>\n[Query]\nGET /\n```\n# no comment\n</a>",
    };
    for (size_t i = 0; i < COUNT(texts); i++) {
        const struct hurl_request *request = compile_one(pl_format(arena, "POST /\n%s # c\nHTTP 207\n", texts[i]));
        assert_int_equal(request->body.kind, HURL_BODY_TEXT);
        assert_string_equal(shown(&request->body.text), texts[i]);
        assert_int_equal(request->expected_status, 207);
    }
}

static void test_one_element(void **state)
{
    (void)state;
    assert_string_equal(refusal("POST /\n<a/><b/>\n"), "2:5: \"<b/>\" is too much: the line should end here");
    assert_string_equal(refusal("POST /\n<a>\n<b>\n</a>\n"), "4:1: </b> should close the element that is open");
    assert_string_equal(refusal("POST /\n<![CDATA[x]]>\n"), "2:1: CDATA stands inside an element");
    assert_string_equal(refusal("POST /\n<a>\n<b>x</b>\n"), "2:1: the XML element that begins here does not end");
}

int main(void)
{
    const struct CMUnitTest tests[] = {PARSE_TEST(test_end), PARSE_TEST(test_one_element)};
    return cmocka_run_group_tests_name("parse_xml", tests, NULL, NULL);
}
