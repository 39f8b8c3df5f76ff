/* Once it has seen its longest request and answer, the driver of HTTP takes no memory: neither for requests that are the
 * same each time nor for those with variables, bodies, cookies, captures, checks and redirects. malloc and its kin are
 * replaced in this program, and count what this thread asks for; a sanitizer has replaced them already. */
#include "drv_http_test.h"

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
#define IS_SANITIZED 1
#elif defined(__has_feature)
#if __has_feature(address_sanitizer) || __has_feature(thread_sanitizer) || __has_feature(memory_sanitizer)
#define IS_SANITIZED 1
#endif
#endif

/* volatile: a compiler knows malloc, and that it reads neither */
static _Thread_local volatile bool is_counting;
static _Thread_local volatile int64_t taken;

#ifndef IS_SANITIZED
void *__libc_malloc(size_t size);
void *__libc_calloc(size_t count, size_t size);
void *__libc_realloc(void *memory, size_t size);
void *__libc_memalign(size_t alignment, size_t size);

void *malloc(size_t size)
{
    taken += is_counting;
    return __libc_malloc(size);
}

void *calloc(size_t count, size_t size)
{
    taken += is_counting;
    return __libc_calloc(count, size);
}

void *realloc(void *memory, size_t size)
{
    taken += is_counting;
    return __libc_realloc(memory, size);
}

void *aligned_alloc(size_t alignment, size_t size)
{
    taken += is_counting;
    return __libc_memalign(alignment, size);
}
#endif

/* That the count counts; under a sanitizer it does not, and the others only run. */
static void test_control(void **state)
{
    (void)state;
#ifdef IS_SANITIZED
    skip();
#endif
    taken = 0;
    is_counting = true;
    void *volatile memory = malloc(100);
    is_counting = false;
    free(memory);
    assert_int_equal(taken, 1);
}

static const struct tap_answer answers[] = {
    {"/plain", "HTTP/1.1 200 OK\r\nServer: tap\r\nContent-Type: text/plain\r\nContent-Length: 13\r\n\r\nhello, world\n"},
    {"/chunked", "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n0\r\n\r\n"},
    {"/json", "HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: 26\r\n\r\n"
              "{\"id\": 7, \"token\": \"t-12\"}"},
    {"/cookie", "HTTP/1.1 200 OK\r\nSet-Cookie: a=1; Path=/; Max-Age=100\r\nContent-Length: 0\r\n\r\n"},
    {"/redirect", "HTTP/1.1 302 x\r\nLocation: /plain?x\r\nContent-Length: 0\r\n\r\n"},
    {NULL, NULL}};

/* Every client does all requests of the script again and again. */
static void check(const char *hurl, bool follows)
{
    enum { WARM = 20, COUNTED = 200 };
    struct tap *tap = tap_start(answers);
    tap->keeps_no_log = true;
    struct rig rig;
    rig_init(&rig);
    rig.http.follows = follows;
    rig_open(&rig, hurl, tap->port);
    taken = 0;
    for (int round = 0; round < WARM + COUNTED; round++) {
        is_counting = round >= WARM;
        for (uint32_t c = 0; c < RIG_CLIENTS; c++)
            rig_all(&rig, c);
    }
    is_counting = false;
    assert_int_equal(taken, 0);
    rig_close(&rig);
    tap_stop(tap);
}

static void test_constant(void **state)
{
    (void)state;
    check("GET http://127.0.0.1:$/plain\nHTTP 200\nGET http://127.0.0.1:$/chunked\nPOST http://127.0.0.1:$/plain\n`a b`\n",
          false);
}

static void test_varying(void **state)
{
    (void)state;
    check("GET http://127.0.0.1:$/json\nHTTP 200\n[Captures]\ntoken: jsonpath \"$.token\"\n[Asserts]\n"
          "jsonpath \"$.id\" == 7\nheader \"Content-Type\" contains \"json\"\n"
          "POST http://127.0.0.1:$/plain?t={{token}}\nX-Token: {{token}}\n{\"token\": \"{{token}}\"}\nHTTP 200\n",
          false);
}

static void test_cookies(void **state)
{
    (void)state;
    check("GET http://127.0.0.1:$/cookie\nGET http://127.0.0.1:$/plain\n[Cookies]\nb: 2\n", false);
}

static void test_redirects(void **state)
{
    (void)state;
    check("GET http://127.0.0.1:$/redirect\nHTTP 200\n"
          "GET http://127.0.0.1:$/json\nHTTP 200\n[Captures]\ntoken: jsonpath \"$.token\"\n"
          "POST http://127.0.0.1:$/redirect?{{token}}\nX-Token: {{token}}\n`{{token}}`\nHTTP 200\n",
          true);
}

int main(void)
{
    static const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_control), cmocka_unit_test(test_constant),  cmocka_unit_test(test_varying),
        cmocka_unit_test(test_cookies), cmocka_unit_test(test_redirects),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
