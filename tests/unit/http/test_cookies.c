/* What a session remembers. Slices stand right before a page that cannot be read. */
#include "support.h"

#include <stdio.h>
#include <string.h>

#include "http/cookies.h"

enum { NOW = 1800000000 };

static struct http_slice slice_of(const char *text)
{
    size_t length = strlen(text);
    char *copy = support_guard_alloc(length);
    if (length > 0)
        memcpy(copy, text, length);
    return (struct http_slice){.text = copy, .length = length};
}

static void slice_free(struct http_slice slice)
{
    union {
        const char *text;
        void *memory;
    } both = {.text = slice.text};
    support_guard_free(both.memory, slice.length);
}

static void set(struct http_jar *jar, const char *set_cookie, const char *host, const char *path)
{
    struct http_slice text = slice_of(set_cookie), h = slice_of(host), p = slice_of(path);
    http_jar_set(jar, text, h, p, NOW);
    slice_free(text);
    slice_free(h);
    slice_free(p);
}

/* What a request at `now` would send; "" for nothing. */
static void assert_header_at(const struct http_jar *jar, bool is_tls, const char *host, const char *path, int64_t now,
                             const char *expected)
{
    struct http_slice h = slice_of(host), p = slice_of(path);
    struct pl_buf into;
    pl_buf_init(&into, 1 << 20);
    bool has_any = http_jar_header(jar, is_tls, h, p, now, &into);
    assert_string_equal(pl_buf_text(&into), expected);
    assert_int_equal(has_any, *expected != '\0');
    pl_buf_release(&into);
    slice_free(h);
    slice_free(p);
}

static void assert_header(const struct http_jar *jar, const char *host, const char *path, const char *expected)
{
    assert_header_at(jar, false, host, path, NOW, expected);
}

static void test_names_and_values(void **state)
{
    (void)state;
    static const char *const cases[][2] = {
        {"a=b", "a=b"},
        {" a\t= b c ; Path=/", "a=b c"},
        {"a=", "a="},
        {"a=b=c", "a=b=c"},
        {"a=\"b\"", "a=\"b\""},
        {"a=b; HttpOnly; SameSite=Lax; Priority=High;;", "a=b"},
        {"a=b;", "a=b"},
        /* malformed: ignored */
        {"", ""},
        {";", ""},
        {"a", ""},
        {"a; b=c", ""},
        {"=b", ""},
        {" =b", ""},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct http_jar jar = {0};
        assert_header(&jar, "a.example", "/", "");
        set(&jar, cases[i][0], "a.example", "/");
        assert_header(&jar, "a.example", "/", cases[i][1]);
        http_jar_release(&jar);
    }
}

static void test_domain(void **state)
{
    (void)state;
    static const struct {
        const char *set_cookie, *from, *host;
        bool is_sent;
    } cases[] = {
        /* without Domain: that host alone */
        {"a=1", "www.example.com", "www.example.com", true},
        {"a=1", "www.example.com", "WWW.Example.COM", true},
        {"a=1", "Www.example.com", "www.example.com", true},
        {"a=1", "example.com", "www.example.com", false},
        {"a=1", "www.example.com", "example.com", false},
        {"a=1; Domain=", "example.com", "www.example.com", false},
        /* with it: that domain and all below it */
        {"a=1; Domain=example.com", "www.example.com", "example.com", true},
        {"a=1; domain=.Example.com", "www.example.com", "api.example.com", true},
        {"a=1; Domain=example.com", "example.com", "a.b.example.com", true},
        {"a=1; Domain=example.com", "www.example.com", "badexample.com", false},
        {"a=1; Domain=example.com", "www.example.com", "example.com.bad", false},
        /* a domain that is not the host's: ignored */
        {"a=1; Domain=other.com", "www.example.com", "www.example.com", false},
        {"a=1; Domain=other.com", "www.example.com", "other.com", false},
        {"a=1; Domain=www.example.com", "example.com", "www.example.com", false},
        {"a=1; Domain=ample.com", "www.example.com", "www.example.com", false},
        {"a=1; Domain=com", "www.example.com", "www.example.com", false},
        {"a=1; Domain=localhost", "localhost", "localhost", true},
        /* the last one counts */
        {"a=1; Domain=other.com; Domain=example.com", "www.example.com", "example.com", true},
        /* addresses have no domains above them */
        {"a=1; Domain=0.0.1", "127.0.0.1", "127.0.0.1", false},
        {"a=1; Domain=127.0.0.1", "127.0.0.1", "127.0.0.1", true},
        {"a=1", "::1", "::1", true},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct http_jar jar = {0};
        set(&jar, cases[i].set_cookie, cases[i].from, "/");
        assert_header(&jar, cases[i].host, "/", cases[i].is_sent ? "a=1" : "");
        http_jar_release(&jar);
    }
}

static void test_path(void **state)
{
    (void)state;
    static const struct {
        const char *set_cookie, *from, *path;
        bool is_sent;
    } cases[] = {
        {"a=1", "/x/y", "/x/z", true},         {"a=1", "/x/y", "/x", true},
        {"a=1", "/x/y", "/x/", true},          {"a=1", "/x/y", "/xy", false},
        {"a=1", "/x/y", "/", false},           {"a=1", "/x/", "/x", true},
        {"a=1", "/x", "/anything", true},      {"a=1", "", "/anything", true},
        {"a=1", "?q=/x/y", "/anything", true}, {"a=1", "/x/y?q=/z/", "/x/w", true},
        {"a=1", "/x/y?q=/z/", "/", false},     {"a=1; Path=/x", "/", "/x", true},
        {"a=1; Path=/x", "/", "/x?y", true},   {"a=1; Path=/x", "/", "/x/y", true},
        {"a=1; Path=/x", "/", "/xy", false},   {"a=1; Path=/x/", "/", "/x", false},
        {"a=1; Path=/x/", "/", "/x/y", true},  {"a=1; Path=/X", "/", "/x", false},
        {"a=1; Path=/", "/x/y/z", "", true},   {"a=1; Path=x", "/y/z", "/y", true},
        {"a=1; Path=", "/y/z", "/", false},    {"a=1; Path=/x; Path=/y", "/", "/y", true},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct http_jar jar = {0};
        set(&jar, cases[i].set_cookie, "h", cases[i].from);
        assert_header(&jar, "h", cases[i].path, cases[i].is_sent ? "a=1" : "");
        http_jar_release(&jar);
    }
}

static void test_secure(void **state)
{
    (void)state;
    struct http_jar jar = {0};
    set(&jar, "a=1; Secure", "h", "/");
    set(&jar, "b=2", "h", "/");
    assert_header_at(&jar, false, "h", "/", NOW, "b=2");
    assert_header_at(&jar, true, "h", "/", NOW, "a=1; b=2");
    http_jar_release(&jar);
}

static void test_expiry(void **state)
{
    (void)state;
    static const struct {
        const char *set_cookie;
        int64_t until; /* the first second at which it is gone; INT64_MAX: never */
    } cases[] = {
        {"a=1", INT64_MAX},
        {"a=1; Max-Age=10", NOW + 10},
        {"a=1; max-age=99999999999999999999999999", INT64_MAX},
        {"a=1; Max-Age=0", NOW},
        {"a=1; Max-Age=-1", NOW},
        {"a=1; Max-Age=10x", INT64_MAX},
        {"a=1; Max-Age=", INT64_MAX},
        {"a=1; Max-Age=-", INT64_MAX},
        {"a=1; Expires=Tue, 19 Jan 2038 03:14:07 GMT", 2147483647},
        {"a=1; Expires=Sunday, 06-Nov-94 08:49:37 GMT", NOW},
        {"a=1; Expires=Thu Feb 29 12:00:00 2096", 3981355200},
        {"a=1; Expires=Fri, 1 Mar 2097 00:00:00 GMT", 4012934400},
        {"a=1; Expires=13:14:15 1 jan 69", 3124271655},
        {"a=1; Expires=Thu, 01 Jan 1970 00:00:00 GMT", NOW},
        {"a=1; Expires=Wed, 15 Jan 2027 08:00:00 GMT", 1800000000},
        {"a=1; Expires=Wed, 15 Jan 2027 08:00:01 GMT", 1800000001},
        {"a=1; Expires=tomorrow", INT64_MAX},
        {"a=1; Expires=Wed, 32 Jan 2020 08:00:00 GMT", INT64_MAX},
        {"a=1; Expires=Wed, 15 Jan 2020 24:00:00 GMT", INT64_MAX},
        {"a=1; Expires=Wed, 15 Jan 1600 08:00:00 GMT", INT64_MAX},
        {"a=1; Expires=Wed, 15 Jan 2020", INT64_MAX},
        /* Max-Age wins, wherever it stands */
        {"a=1; Max-Age=10; Expires=Thu, 01 Jan 1970 00:00:00 GMT", NOW + 10},
        {"a=1; Expires=Thu, 01 Jan 1970 00:00:00 GMT; Max-Age=10", NOW + 10},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct http_jar jar = {0};
        set(&jar, cases[i].set_cookie, "h", "/");
        bool is_kept = cases[i].until > NOW;
        assert_header(&jar, "h", "/", is_kept ? "a=1" : "");
        if (is_kept && cases[i].until < INT64_MAX) {
            assert_header_at(&jar, false, "h", "/", cases[i].until - 1, "a=1");
            assert_header_at(&jar, false, "h", "/", cases[i].until, "");
        } else if (is_kept) {
            assert_header_at(&jar, false, "h", "/", NOW + INT64_C(1000000000), "a=1");
        }
        http_jar_release(&jar);
    }
}

/* The same name, domain and path: a new value in the old place. */
static void test_overwrite_and_delete(void **state)
{
    (void)state;
    struct http_jar jar = {0};
    set(&jar, "a=1", "h", "/");
    set(&jar, "b=2", "h", "/");
    set(&jar, "a=a much longer value than before", "H", "/x");
    assert_header(&jar, "h", "/", "a=a much longer value than before; b=2");
    set(&jar, "a=3; Path=/x", "h", "/");
    set(&jar, "A=4", "h", "/");
    assert_header(&jar, "h", "/x", "a=3; a=a much longer value than before; b=2; A=4");
    assert_header(&jar, "h", "/", "a=a much longer value than before; b=2; A=4");
    set(&jar, "a=; Max-Age=0", "h", "/");
    assert_header(&jar, "h", "/x", "a=3; b=2; A=4");
    set(&jar, "a=5; Domain=h", "h", "/");
    assert_header(&jar, "h", "/", "b=2; A=4; a=5");
    http_jar_clear(&jar);
    assert_header(&jar, "h", "/x", "");
    set(&jar, "c=6", "h", "/");
    assert_header(&jar, "h", "/x", "c=6");
    http_jar_release(&jar);
    assert_header(&jar, "h", "/x", "");
}

/* RFC 6265, 5.4: longer paths first, then the older ones. */
static void test_order(void **state)
{
    (void)state;
    struct http_jar jar = {0};
    set(&jar, "a=1; Path=/", "h", "/");
    set(&jar, "b=2; Path=/x/y", "h", "/");
    set(&jar, "c=3; Path=/x", "h", "/");
    set(&jar, "d=4; Path=/x/y", "h", "/");
    set(&jar, "e=5; Path=/", "h", "/");
    assert_header(&jar, "h", "/x/y/z", "b=2; d=4; c=3; a=1; e=5");
    http_jar_release(&jar);
}

static void test_limits(void **state)
{
    (void)state;
    struct http_jar jar = {0};
    static char text[5000], expected[1000];
    for (int i = 0; i < 60; i++) {
        snprintf(text, sizeof text, "c%d=%d", i, i);
        set(&jar, text, "h", "/");
    }
    size_t length = 0;
    for (int i = 10; i < 60; i++)
        length += (size_t)snprintf(expected + length, sizeof expected - length, "%sc%d=%d", i > 10 ? "; " : "", i, i);
    assert_header(&jar, "h", "/", expected);

    /* what has expired goes before what is older */
    http_jar_clear(&jar);
    set(&jar, "old=1", "h", "/");
    for (int i = 0; i < 49; i++) {
        snprintf(text, sizeof text, "c%d=; Max-Age=5", i);
        set(&jar, text, "h", "/");
    }
    struct http_slice late = {.text = "new=2", .length = 5}, host = {.text = "h", .length = 1};
    http_jar_set(&jar, late, host, (struct http_slice){.text = "/", .length = 1}, NOW + 100);
    assert_header_at(&jar, false, "h", "/", NOW + 100, "old=1; new=2");
    http_jar_release(&jar);

    /* 4096 bytes of name and value, and one more */
    memset(text, 'v', sizeof text);
    text[0] = 'a';
    text[1] = '=';
    text[4097] = '\0';
    set(&jar, text, "h", "/");
    assert_header(&jar, "h", "/", text);
    http_jar_clear(&jar);
    text[4097] = 'v';
    text[4098] = '\0';
    set(&jar, text, "h", "/");
    assert_header(&jar, "h", "/", "");
    /* attributes longer than 1024 bytes are as if they were not there */
    snprintf(text, sizeof text, "a=1; Path=/%01100d", 7);
    set(&jar, text, "h", "/");
    assert_header(&jar, "h", "/", "a=1");
    http_jar_release(&jar);
}

int main(void)
{
    static const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_names_and_values),
        cmocka_unit_test(test_domain),
        cmocka_unit_test(test_path),
        cmocka_unit_test(test_secure),
        cmocka_unit_test(test_expiry),
        cmocka_unit_test(test_overwrite_and_delete),
        cmocka_unit_test(test_order),
        cmocka_unit_test(test_limits),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
