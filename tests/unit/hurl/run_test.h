/* What the tests of the run time share: a file compiled, one client's variables, a response to judge. */
#ifndef PL_TESTS_RUN_TEST_H
#define PL_TESTS_RUN_TEST_H

#include "support.h"

#include <stdio.h>
#include <string.h>

#include "hurl/hurl.h"
#include "hurl/run_int.h"

#define UNUSED __attribute__((unused))
#define COUNT(array) (sizeof(array) / sizeof(array)[0])

enum { RUN_VARS = 64, RUN_HEADERS = 16 };

/* Of the test that runs; run_setup and run_teardown are its cmocka functions. */
static struct pl_arena *arena;
static struct names *names;
static struct value vars[RUN_VARS];
static struct pl_rng rng;
static struct hurl_work *work;
static struct hurl_header headers[RUN_HEADERS];
static struct hurl_response response;

static void run_set_text(void *context, uint32_t client, int variable, const char *text, size_t length)
{
    assert_ptr_equal(context, &rng);
    assert_int_equal(client, 7);
    vars[variable] =
        text == NULL
            ? (struct value){.type = VALUE_NULL}
            : (struct value){.type = VALUE_TEXT, .length = (uint32_t)length, .text = pl_strndup(arena, text, length)};
}

static struct step_scene scene = {.vars = vars, .rng = &rng, .client = 7, .set_text = run_set_text, .context = &rng};

UNUSED static int run_setup(void **state)
{
    (void)state;
    arena = pl_arena_new();
    names = names_new(arena);
    memset(vars, 0, sizeof vars);
    pl_rng_init(&rng, 5, PL_RNG_SCRIPT, 0);
    work = hurl_work_new();
    response = (struct hurl_response){
        .status = 200, .version = 11, .headers = headers, .url = {"http://h/x", 10}, .ip = {"127.0.0.1", 9}};
    return 0;
}

UNUSED static int run_teardown(void **state)
{
    (void)state;
    hurl_work_free(work);
    pl_arena_free(arena);
    return 0;
}

/* ---- variables ---- */

UNUSED static struct value *run_variable(const char *name)
{
    int variable = names_predefine(names, name);
    assert_in_range(variable, 0, RUN_VARS - 1);
    return &vars[variable];
}

UNUSED static void run_define(const char *name, const char *text)
{
    *run_variable(name) = (struct value){.type = VALUE_TEXT, .length = (uint32_t)strlen(text), .text = text};
}

UNUSED static void run_define_int(const char *name, int64_t i)
{
    *run_variable(name) = (struct value){.type = VALUE_INT, .i = i};
}

/* A variable's value as "int 5", "text abc". */
UNUSED static const char *run_shown(const char *name)
{
    const struct value *value = run_variable(name);
    char text[VALUE_DESCRIBE_BYTES];
    if (value->type == VALUE_TEXT)
        return pl_format(arena, "text %s", value->text);
    value_describe(value, text);
    return pl_strdup(arena, text);
}

/* ---- files ---- */

UNUSED static const struct program *run_compile(const char *text)
{
    struct program *program = NULL;
    struct pl_err err = {0};
    if (hurl_compile("t.hurl", text, strlen(text), NULL, names, arena, &program, &err) != PL_OK)
        fail_msg("%d:%d: %s in:\n%s\n%s", err.line, err.col, err.what, text, err.hint);
    assert_true(names_count(names) <= RUN_VARS);
    return program;
}

/* The last request of a file. */
UNUSED static const struct hurl_request *run_request(const char *text)
{
    const struct program *program = run_compile(text);
    for (size_t i = program->step_count; i > 0; i--)
        if (program->steps[i - 1].kind == STEP_HTTP)
            return program->steps[i - 1].http;
    fail_msg("no request in:\n%s", text);
    return NULL;
}

/* ---- responses ---- */

UNUSED static void run_header(const char *name, const char *value)
{
    assert_true(response.header_count < RUN_HEADERS);
    headers[response.header_count++] = (struct hurl_header){{name, strlen(name)}, {value, strlen(value)}};
}

UNUSED static void run_body_bytes(const void *bytes, size_t length)
{
    response.body = (struct hurl_slice){bytes, length};
    response.body_bytes = response.raw_bytes = (int64_t)length;
}

UNUSED static void run_body(const char *text)
{
    run_body_bytes(text, strlen(text));
}

/* What is wrong with the response by a file's response part (what follows the request line); NULL: nothing. */
UNUSED static const char *run_judge(const char *expected, struct hurl_fault *ret_fault)
{
    const struct hurl_request *request = run_request(pl_format(arena, "GET http://h/x\n%s\n", expected));
    bool is_good = hurl_judge(request, &response, &scene, work, ret_fault);
    return is_good ? NULL : ret_fault->text;
}

UNUSED static void run_expect_good(const char *expected)
{
    struct hurl_fault fault;
    const char *wrong = run_judge(expected, &fault);
    if (wrong != NULL)
        fail_msg("%s: %s\n%s", fault.code, wrong, expected);
}

/* The message must hold this. */
UNUSED static void run_expect_wrong(const char *expected, const char *code, const char *message)
{
    struct hurl_fault fault;
    const char *wrong = run_judge(expected, &fault);
    if (wrong == NULL)
        fail_msg("holds: %s", expected);
    if (strcmp(fault.code, code) != 0 || strstr(wrong, message) == NULL)
        fail_msg("%s: %s\nis not %s: %s\n%s", fault.code, wrong, code, message, expected);
}

/* An assert that holds, and its negation that does not. */
UNUSED static void run_holds(const char *assert_text)
{
    run_expect_good(pl_format(arena, "HTTP *\n[Asserts]\n%s", assert_text));
}

UNUSED static void run_fails(const char *assert_text, const char *message)
{
    run_expect_wrong(pl_format(arena, "HTTP *\n[Asserts]\n%s", assert_text), "check:ASSERT", message);
}

#endif
