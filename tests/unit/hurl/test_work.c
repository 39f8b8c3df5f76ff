/* One thread's buffers: memory that is given back and used again, and that rendering and judging take none once they have
 * what they need (OpenSSL 3.0 takes a hundred bytes for each digest and gives them back, and cannot be told not to). malloc
 * and its kin are replaced in this program; a sanitizer has replaced them already. */
#include "run_test.h"

#include <stdlib.h>

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
#define IS_SANITIZED 1
#elif defined(__has_feature)
#if __has_feature(address_sanitizer) || __has_feature(thread_sanitizer) || __has_feature(memory_sanitizer)
#define IS_SANITIZED 1
#endif
#endif

static volatile bool is_armed;
static volatile int taken;

#ifndef IS_SANITIZED
void *__libc_malloc(size_t size);
void *__libc_calloc(size_t count, size_t size);
void *__libc_realloc(void *memory, size_t size);
void *__libc_memalign(size_t alignment, size_t size);

void *malloc(size_t size)
{
    taken += is_armed;
    return __libc_malloc(size);
}

void *calloc(size_t count, size_t size)
{
    taken += is_armed;
    return __libc_calloc(count, size);
}

void *realloc(void *memory, size_t size)
{
    taken += is_armed;
    return __libc_realloc(memory, size);
}

void *aligned_alloc(size_t alignment, size_t size)
{
    taken += is_armed;
    return __libc_memalign(alignment, size);
}
#endif

static void skip_when_sanitized(void)
{
#ifdef IS_SANITIZED
    skip();
#endif
}

/* That the count counts. */
static void test_control(void **state)
{
    (void)state;
    skip_when_sanitized();
    taken = 0;
    is_armed = true;
    void *volatile memory = malloc(100);
    free(memory);
    is_armed = false;
    assert_true(taken >= 1);
}

static char kept_text[RUN_VARS][4096];

/* As the engine's: into memory that is there. */
static void set_text(void *context, uint32_t client, int variable, const char *text, size_t length)
{
    (void)context;
    (void)client;
    assert_true(length < sizeof kept_text[0]);
    memcpy(kept_text[variable], text, length);
    kept_text[variable][length] = '\0';
    vars[variable] = (struct value){.type = VALUE_TEXT, .length = (uint32_t)length, .text = kept_text[variable]};
}

static const char everything[] =
    "POST http://h/{{user}}/{{id}}?x={{name}}\nAuthorization: Bearer {{token}}\nX-{{user}}: {{name urlEncode}}\n"
    "[Query]\na: {{name}}\n[Cookies]\nc: {{id}}\n[BasicAuth]\n{{user}}: {{token}}\n"
    "{\"user\": \"{{name}}\", \"id\": {{id}}, \"list\": {{list}}, \"uuid\": \"{{newUuid}}\", \"date\": \"{{newDate}}\"}\n"
    "HTTP/1.1 200\nContent-Type: application/json\n[Captures]\nid: jsonpath \"$.id\"\nnext: jsonpath \"$.items[-1].name\"\n"
    "list: jsonpath \"$.items[*].id\"\ntoken: header \"X-Token\" redact\nre: regex /\"name\":\"(\\w+)\"/\n"
    "[Asserts]\nstatus == 200\njsonpath \"$.items\" count == 3\njsonpath \"$.items[?(@.id > 1)].name\" includes \"b\"\n"
    "jsonpath \"$..id\" count == 4\njsonpath \"$.id\" == {{id}}\nheader \"X-Token\" startsWith \"t\"\nbytes count > 10\n"
    "body contains \"items\"\nbody matches /\"id\":\\d+/\n"
    "jsonpath \"$.text\" split \",\" nth 1 == \"y\"\njsonpath \"$.text\" replace \",\" \"--\" == \"x--y\"\n"
    "jsonpath \"$.text\" replaceRegex /[a-z]/ \"_\" == \"_,_\"\njsonpath \"$.json\" jsonpath \"$.a\" == 1\n"
    "jsonpath \"$.when\" toDate \"%+\" dateFormat \"%Y\" == \"2023\"\nvariable \"list\" count == 3\n"
    "jsonpath \"$.items[{{index}}].id\" == 2\nregex \"{{pattern}}\" exists\ncookie \"sid\" == \"1\"\nduration < 1000\n";

static void prepare(void)
{
    scene.set_text = set_text;
    run_define("user", "ann");
    run_define("name", "Ann \"A\" \xc3\x89");
    run_define("token", "secret-0");
    run_define("list", "[1]");
    run_define("pattern", "(id)");
    run_define_int("id", 7);
    run_define_int("index", 1);
    run_header("Content-Type", "application/json");
    run_header("X-Token", "t0ken");
    run_header("Set-Cookie", "sid=1; Path=/");
    run_body("{\"id\":7,\"items\":[{\"id\":1,\"name\":\"a\"},{\"id\":2,\"name\":\"b\"},{\"id\":3,\"name\":\"\\u0063\"}],"
             "\"text\":\"x,y\",\"json\":\"{\\\"a\\\":1}\",\"when\":\"2023-01-23T18:25:43Z\"}");
}

static void test_no_allocation(void **state)
{
    (void)state;
    skip_when_sanitized();
    prepare();
    const struct hurl_request *request = run_request(everything);
    struct hurl_message message;
    struct hurl_fault fault;
    taken = 0;
    for (int i = 0; i < 1000; i++) {
        is_armed = i >= 3; /* once to see what is needed, once to have it in one piece */
        const char *wrong = hurl_render(request, vars, work, &message);
        bool is_good = wrong == NULL && hurl_judge(request, &response, &scene, work, &fault);
        is_armed = false;
        if (!is_good)
            fail_msg("%s", wrong != NULL ? wrong : fault.text);
    }
    assert_int_equal(taken, 0);
    scene.set_text = run_set_text;
}

/* A fault takes none either. */
static void test_no_allocation_for_faults(void **state)
{
    (void)state;
    skip_when_sanitized();
    prepare();
    const struct hurl_request *request =
        run_request("GET http://h/{{user}}\nHTTP 200\n[Asserts]\njsonpath \"$.items[*].name\" includes \"z\"\n");
    struct hurl_message message;
    struct hurl_fault fault;
    taken = 0;
    for (int i = 0; i < 100; i++) {
        is_armed = i >= 3;
        bool is_good =
            hurl_render(request, vars, work, &message) == NULL && hurl_judge(request, &response, &scene, work, &fault);
        is_armed = false;
        assert_false(is_good);
    }
    assert_int_equal(taken, 0);
    scene.set_text = run_set_text;
}

/* What was taken stays where it is until the reset, however much follows. */
static void test_scratch(void **state)
{
    (void)state;
    enum { TEXTS = 300 };
    struct hurl_scratch scratch = {.most = 1 << 20};
    struct hurl_slice texts[TEXTS];
    struct pl_rng random;
    pl_rng_init(&random, 6, PL_RNG_TEST, 0);
    for (int round = 0; round < 20; round++) {
        hurl_scratch_reset(&scratch);
        for (int i = 0; i < TEXTS; i++) {
            size_t length = (size_t)pl_rng_range(&random, 0, 500);
            char byte = (char)i;
            if (i % 3 == 0) {
                char *memory = hurl_scratch_take(&scratch, length + 1);
                assert_int_equal((uintptr_t)memory % _Alignof(max_align_t), 0);
                memset(memory, byte, length);
                texts[i] = (struct hurl_slice){memory, length};
                continue;
            }
            hurl_scratch_open(&scratch);
            for (size_t k = 0; k < length; k++)
                hurl_scratch_put(&scratch, &byte, 1);
            texts[i] = hurl_scratch_close(&scratch);
        }
        for (int i = 0; i < TEXTS; i++)
            for (size_t k = 0; k < texts[i].length; k++)
                assert_int_equal(texts[i].text[k], (char)i);
        assert_false(scratch.is_full);
    }
    assert_null(scratch.chunks == NULL ? scratch.chunks : NULL);
    hurl_scratch_reset(&scratch);
    assert_null(hurl_scratch_take(&scratch, (1 << 20) + 1));
    assert_true(scratch.is_full);
    hurl_scratch_reset(&scratch);
    assert_false(scratch.is_full);
    hurl_scratch_open(&scratch);
    for (int i = 0; i < 5000; i++)
        hurl_scratch_put(&scratch, kept_text[0], 4096);
    assert_true(scratch.is_full);
    assert_true(hurl_scratch_close(&scratch).length <= 1 << 20);
    assert_true(scratch.bytes <= 1 << 20);
    hurl_scratch_release(&scratch);
}

/* Works are independent, and a fresh one knows no secrets. */
static void test_two_works(void **state)
{
    (void)state;
    struct hurl_work *other = hurl_work_new();
    struct hurl_message a, b;
    run_define("v", "one");
    const struct hurl_request *request = run_request("GET http://h/{{v}}\n");
    assert_null(hurl_render(request, vars, work, &a));
    run_define("v", "two");
    assert_null(hurl_render(request, vars, other, &b));
    assert_int_equal(strncmp(a.url.text, "http://h/one", 12), 0);
    assert_int_equal(strncmp(b.url.text, "http://h/two", 12), 0);
    /* judging does not touch what is rendered */
    run_body("{\"a\":\"zzzzzzzzzzzzzzzzzzzzzzzz\"}");
    for (int i = 0; i < 10; i++)
        run_holds("jsonpath \"$.a\" replace \"z\" \"yyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyy\" exists");
    assert_int_equal(strncmp(a.url.text, "http://h/one", 12), 0);
    hurl_work_free(other);
    hurl_work_free(NULL);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_control),
        cmocka_unit_test_setup_teardown(test_no_allocation, run_setup, run_teardown),
        cmocka_unit_test_setup_teardown(test_no_allocation_for_faults, run_setup, run_teardown),
        cmocka_unit_test_setup_teardown(test_scratch, run_setup, run_teardown),
        cmocka_unit_test_setup_teardown(test_two_works, run_setup, run_teardown),
    };
    return cmocka_run_group_tests_name("work", tests, NULL, NULL);
}
