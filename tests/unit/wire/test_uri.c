/* URLs. Every input stands right before a page that cannot be read. */
#include "support.h"

#include <stdbool.h>
#include <string.h>

#include "wire/uri.h"

static char *guarded(const char *text, size_t length)
{
    char *copy = support_guard_alloc(length);
    if (length > 0)
        memcpy(copy, text, length);
    return copy;
}

static void assert_slice(const char *slice, size_t length, const char *expected, const char *text)
{
    if (slice == NULL ? expected != NULL
                      : expected == NULL || length != strlen(expected) || memcmp(slice, expected, length))
        fail_msg("%s: \"%.*s\", not \"%s\"", text, (int)length, slice, expected);
}

static void test_good(void **state)
{
    (void)state;
    static const struct {
        const char *text;
        bool is_tls;
        const char *user, *host;
        bool is_ipv6;
        int port;
        bool has_port;
        const char *authority, *path;
    } cases[] = {
        {"http://example.com", false, NULL, "example.com", false, 80, false, "example.com", ""},
        {"https://example.com/", true, NULL, "example.com", false, 443, false, "example.com", "/"},
        {"HTTP://Example.COM/A", false, NULL, "Example.COM", false, 80, false, "Example.COM", "/A"},
        {"http://a:8080/b/c?d=e#f", false, NULL, "a", false, 8080, true, "a:8080", "/b/c?d=e"},
        {"http://a?d=e", false, NULL, "a", false, 80, false, "a", "?d=e"},
        {"http://a#f?g", false, NULL, "a", false, 80, false, "a", ""},
        {"http://a?b#c/d", false, NULL, "a", false, 80, false, "a", "?b"},
        {"http://a:/b", false, NULL, "a", false, 80, false, "a:", "/b"},
        {"https://a:65535", true, NULL, "a", false, 65535, true, "a:65535", ""},
        {"http://127.0.0.1:80/", false, NULL, "127.0.0.1", false, 80, true, "127.0.0.1:80", "/"},
        {"http://my_host-1.~x/", false, NULL, "my_host-1.~x", false, 80, false, "my_host-1.~x", "/"},
        {"http://[::1]/x", false, NULL, "::1", true, 80, false, "[::1]", "/x"},
        {"https://[2001:db8::7:1.2.3.4]:8443?y", true, NULL, "2001:db8::7:1.2.3.4", true, 8443, true,
         "[2001:db8::7:1.2.3.4]:8443", "?y"},
        {"http://[fe80::1%eth0]:81/", false, NULL, "fe80::1%eth0", true, 81, true, "[fe80::1%eth0]:81", "/"},
        {"http://[fe80::1%25eth0]/", false, NULL, "fe80::1%25eth0", true, 80, false, "[fe80::1%25eth0]", "/"},
        {"http://user@a/", false, "user", "a", false, 80, false, "a", "/"},
        {"http://user:pass@a:1/", false, "user:pass", "a", false, 1, true, "a:1", "/"},
        {"http://user:p@ss:%40@[::1]:1", false, "user:p@ss:%40", "::1", true, 1, true, "[::1]:1", ""},
        {"http://@a/", false, "", "a", false, 80, false, "a", "/"},
        {"http://a/x@y:z", false, NULL, "a", false, 80, false, "a", "/x@y:z"},
        /* what is encoded stays encoded, and what is not, too */
        {"http://a/%41%2f%zz/\xc3\xa9?{x}|\"\\^`", false, NULL, "a", false, 80, false, "a",
         "/%41%2f%zz/\xc3\xa9?{x}|\"\\^`"},
        {"http://a/b/../c/./d", false, NULL, "a", false, 80, false, "a", "/b/../c/./d"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        size_t length = strlen(cases[i].text), at;
        char *text = guarded(cases[i].text, length);
        struct uri uri;
        const char *wrong = uri_parse(text, length, &uri, &at);
        if (wrong != NULL)
            fail_msg("%s: %s at %zu", cases[i].text, wrong, at);
        assert_int_equal(uri.is_tls, cases[i].is_tls);
        assert_int_equal(uri.is_ipv6, cases[i].is_ipv6);
        assert_int_equal(uri.port, cases[i].port);
        assert_int_equal(uri.has_port, cases[i].has_port);
        assert_slice(uri.user, uri.user_length, cases[i].user, cases[i].text);
        assert_slice(uri.host, uri.host_length, cases[i].host, cases[i].text);
        assert_slice(uri.authority, uri.authority_length, cases[i].authority, cases[i].text);
        assert_slice(uri.path, uri.path_length, cases[i].path, cases[i].text);
        support_guard_free(text, length);
    }
}

static void test_wrong(void **state)
{
    (void)state;
    static const struct {
        const char *text, *wrong;
        size_t at;
    } cases[] = {
        {"", "neither http:// nor https://", 0},
        {"http:/", "neither http:// nor https://", 0},
        {"http:/a/", "neither http:// nor https://", 0},
        {"ftp://a/", "neither http:// nor https://", 0},
        {"/path", "neither http:// nor https://", 0},
        {"example.com", "neither http:// nor https://", 0},
        {"http://", "no host", 7},
        {"http:///x", "no host", 7},
        {"http://:80/", "no host", 7},
        {"http://user@/", "no host", 12},
        {"https://?x", "no host", 8},
        {"http://a b/", "a blank or control character", 8},
        {"http://a/b c", "a blank or control character", 10},
        {"http://a/b\tc", "a blank or control character", 10},
        {"http://a/b\r\nHost: c", "a blank or control character", 10},
        {"http://a/\x7f", "a blank or control character", 9},
        {"http://a/#\x01", "a blank or control character", 10},
        {" http://a/", "neither http:// nor https://", 0},
        {"http://a:x/", "a port that is no number", 9},
        {"http://a:8o/", "a port that is no number", 10},
        {"http://a:1:2/", "a port that is no number", 10},
        {"http://a:65536/", "a port above 65535", 9},
        {"http://a:99999999999999999999/", "a port above 65535", 9},
        {"http://a:0/", "port 0", 9},
        {"http://[::1/", "a bracket that is not closed", 7},
        {"http://[]/", "no IPv6 address in the brackets", 7},
        {"http://[1.2.3.4]/", "no IPv6 address in the brackets", 7},
        {"http://[::12345]/", "no IPv6 address in the brackets", 7},
        {"http://[::1%]/", "no IPv6 address in the brackets", 7},
        {"http://[::1%a[b]/", "no IPv6 address in the brackets", 7},
        {"http://[v1.x]/", "no IPv6 address in the brackets", 7},
        {"http://[0000:0000:0000:0000:0000:0000:0000:0000:0000:0000]/", "no IPv6 address in the brackets", 7},
        {"http://[::1]x/", "something behind the bracket that is no port", 12},
        {"http://[::1]:x/", "a port that is no number", 13},
        {"http://::1/", "no host", 7},
        {"http://b\xc3\xbc"
         "cher.de/",
         "a character that no host's name has", 8},
        {"http://a\\b/", "a character that no host's name has", 8},
        {"http://a,b/", "a character that no host's name has", 8},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        size_t length = strlen(cases[i].text), at = 77;
        char *text = guarded(cases[i].text, length);
        struct uri uri;
        const char *wrong = uri_parse(text, length, &uri, &at);
        if (wrong == NULL || strcmp(wrong, cases[i].wrong) != 0 || at != cases[i].at)
            fail_msg("\"%s\": %s at %zu", cases[i].text, wrong, at);
        support_guard_free(text, length);
    }
    size_t at;
    struct uri uri;
    assert_string_equal(uri_parse("http://a/\0", 10, &uri, &at), "a blank or control character");
    assert_int_equal(at, 9);
}

static void check_resolve(const char *base, const char *reference, const char *expected)
{
    size_t base_length = strlen(base), length = strlen(reference);
    char *b = guarded(base, base_length), *r = guarded(reference, length);
    struct pl_buf into;
    pl_buf_init(&into, 1000);
    pl_buf_put(&into, "before ");
    bool resolved = uri_resolve(b, base_length, r, length, &into);
    if (resolved != (expected != NULL) || strcmp(pl_buf_text(&into) + 7, resolved ? expected : "") != 0)
        fail_msg("%s at %s: %d \"%s\", not \"%s\"", reference, base, resolved, pl_buf_text(&into) + 7, expected);
    assert_int_equal(into.len, strlen(pl_buf_text(&into)));
    assert_memory_equal(into.data, "before ", 7);
    pl_buf_release(&into);
    support_guard_free(b, base_length);
    support_guard_free(r, length);
}

/* RFC 3986, 5.4, all of them; without the fragments, as a request has none. */
static void test_resolve_examples(void **state)
{
    (void)state;
    static const char *const cases[][2] = {
        /* 5.4.1 */
        {"g:h", NULL},
        {"g", "http://a/b/c/g"},
        {"./g", "http://a/b/c/g"},
        {"g/", "http://a/b/c/g/"},
        {"/g", "http://a/g"},
        {"//g", "http://g"},
        {"?y", "http://a/b/c/d;p?y"},
        {"g?y", "http://a/b/c/g?y"},
        {"#s", "http://a/b/c/d;p?q"},
        {"g#s", "http://a/b/c/g"},
        {"g?y#s", "http://a/b/c/g?y"},
        {";x", "http://a/b/c/;x"},
        {"g;x", "http://a/b/c/g;x"},
        {"g;x?y#s", "http://a/b/c/g;x?y"},
        {"", "http://a/b/c/d;p?q"},
        {".", "http://a/b/c/"},
        {"./", "http://a/b/c/"},
        {"..", "http://a/b/"},
        {"../", "http://a/b/"},
        {"../g", "http://a/b/g"},
        {"../..", "http://a/"},
        {"../../", "http://a/"},
        {"../../g", "http://a/g"},
        /* 5.4.2 */
        {"../../../g", "http://a/g"},
        {"../../../../g", "http://a/g"},
        {"/./g", "http://a/g"},
        {"/../g", "http://a/g"},
        {"g.", "http://a/b/c/g."},
        {".g", "http://a/b/c/.g"},
        {"g..", "http://a/b/c/g.."},
        {"..g", "http://a/b/c/..g"},
        {"./../g", "http://a/b/g"},
        {"./g/.", "http://a/b/c/g/"},
        {"g/./h", "http://a/b/c/g/h"},
        {"g/../h", "http://a/b/c/h"},
        {"g;x=1/./y", "http://a/b/c/g;x=1/y"},
        {"g;x=1/../y", "http://a/b/c/y"},
        {"g?y/./x", "http://a/b/c/g?y/./x"},
        {"g?y/../x", "http://a/b/c/g?y/../x"},
        {"g#s/./x", "http://a/b/c/g"},
        {"g#s/../x", "http://a/b/c/g"},
        {"http:g", NULL},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++)
        check_resolve("http://a/b/c/d;p?q", cases[i][0], cases[i][1]);
}

static void test_resolve_more(void **state)
{
    (void)state;
    static const char *const cases[][3] = {
        {"http://a", "x", "http://a/x"},
        {"http://a", "?x", "http://a?x"},
        {"http://a?b/c", "x", "http://a/x"},
        {"http://a?b/c", "", "http://a?b/c"},
        {"http://a?b", "..", "http://a/"},
        {"http://a#b/c", "x", "http://a/x"},
        {"http://a/b?c=/d", "e", "http://a/e"},
        {"https://user:pw@[::1]:8443/a/b", "c", "https://user:pw@[::1]:8443/a/c"},
        {"https://a:8443/a/b", "//b:1/c/../d?e", "https://b:1/d?e"},
        {"http://a/b", "//c?d", "http://c?d"},
        {"HTTPS://a/b", "//c", "HTTPS://c"},
        {"http://a/b", "https://c/./d/../e?f#g", "https://c/e?f"},
        {"http://a/b", "HTTP://c", "HTTP://c"},
        {"http://a/b", "http://c?d", "http://c?d"},
        {"http://a/b", "/c//d///e", "http://a/c//d///e"},
        {"http://a/b", "/c d\te\xc3\xa9?f g", "http://a/c%20d%09e%C3%A9?f%20g"},
        {"http://a/b", "/%20%2e%2E/", "http://a/%20%2e%2E/"},
        {"http://a/b", "//", NULL},
        {"http://a/b", "///c", NULL},
        {"http://a/b", "//c:0/", NULL},
        {"http://a/b", "//c d/", NULL},
        {"http://a/b", "mailto:me@a", NULL},
        {"http://a/b", "ftp://c/d", NULL},
        {"http://a/b", "c:8080/d", NULL},
        {"http://a/b", "/c\r\nX: y", NULL},
        {"http://a/b", "/c\x7f", NULL},
        {"ftp://a/b", "c", NULL},
        {"/b", "c", NULL},
        {"", "c", NULL},
        {"/b", "http://c/d", "http://c/d"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++)
        check_resolve(cases[i][0], cases[i][1], cases[i][2]);
}

static void test_resolve_without_room(void **state)
{
    (void)state;
    for (size_t max = 0; max < 14; max++) {
        struct pl_buf into;
        pl_buf_init(&into, max);
        assert_false(uri_resolve("http://a/b/c", 12, "../d/e", 6, &into));
        assert_int_equal(into.len, 0);
        pl_buf_release(&into);
    }
}

static void test_encode(void **state)
{
    (void)state;
    struct pl_buf into;
    pl_buf_init(&into, 2000);
    uri_encode("", 0, &into);
    assert_string_equal(pl_buf_text(&into), "");
    uri_encode("a b&c=d/\xc3\xa9+%~-._Z9", 18, &into);
    assert_string_equal(pl_buf_text(&into), "a%20b%26c%3Dd%2F%C3%A9%2B%25~-._Z9");
    pl_buf_clear(&into);
    char all[256];
    for (int i = 0; i < 256; i++)
        all[i] = (char)i;
    uri_encode(all, sizeof all, &into);
    assert_int_equal(into.len, 66 + (256 - 66) * 3);
    assert_memory_equal(into.data, "%00%01", 6);
    assert_memory_equal(into.data + into.len - 3, "%FF", 3);
    pl_buf_release(&into);
}

int main(void)
{
    static const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_good),
        cmocka_unit_test(test_wrong),
        cmocka_unit_test(test_resolve_examples),
        cmocka_unit_test(test_resolve_more),
        cmocka_unit_test(test_resolve_without_room),
        cmocka_unit_test(test_encode),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
