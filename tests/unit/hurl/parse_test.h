/* What the tests of the Hurl compiler share: a file, compiled, and its parts as text. */
#ifndef PL_TESTS_PARSE_TEST_H
#define PL_TESTS_PARSE_TEST_H

#include "support.h"

#include <stdio.h>
#include <string.h>

#include "hurl/parse_int.h"

#define UNUSED __attribute__((unused))
#define COUNT(array) (sizeof(array) / sizeof(array)[0])
#define PARSE_ROOT "tests/corpus/hurl" /* tests run in the root of the repository */

/* What every script of the tests may use. */
UNUSED static const char *const parse_given[] = {"host", "user", "password", "count", "flag", "tenant"};

/* Of the test that runs; parse_setup and parse_teardown are its cmocka functions. */
static struct pl_arena *arena;
static struct names *names;

UNUSED static int parse_setup(void **state)
{
    (void)state;
    arena = pl_arena_new();
    names = names_new(arena);
    for (size_t i = 0; i < COUNT(parse_given); i++)
        names_predefine(names, parse_given[i]);
    return 0;
}

UNUSED static int parse_teardown(void **state)
{
    (void)state;
    pl_arena_free(arena);
    return 0;
}

UNUSED static const struct program *compile(const char *text)
{
    struct pl_err err = {0};
    struct program *program = NULL;
    if (hurl_compile("t.hurl", text, strlen(text), PARSE_ROOT, names, arena, &program, &err) != PL_OK)
        fail_msg("%d:%d: %s in \"%s\"", err.line, err.col, err.what, text);
    assert_non_null(program);
    return program;
}

/* The request with this number, from 0. */
UNUSED static const struct hurl_request *request_of(const struct program *program, int number)
{
    for (size_t i = 0; i < program->step_count; i++)
        if (program->steps[i].io_index == number)
            return program->steps[i].http;
    fail_msg("there is no request %d", number);
    return NULL;
}

UNUSED static const struct hurl_request *compile_one(const char *text)
{
    return request_of(compile(text), 0);
}

/* The error of a file that must be refused: "line:col: what". */
UNUSED static const char *refusal(const char *text)
{
    struct pl_err err = {0};
    struct program *program = NULL;
    if (hurl_compile("t.hurl", text, strlen(text), PARSE_ROOT, names, arena, &program, &err) == PL_OK)
        fail_msg("not refused: \"%s\"", text);
    assert_null(program);
    return pl_format(arena, "%d:%d: %s", err.line, err.col, err.what);
}

/* A text with {name|2} for a variable with two filters, {newUuid} for a function. */
UNUSED static const char *shown(const struct hurl_text *text)
{
    const char *all = "";
    for (size_t i = 0; i < text->piece_count; i++) {
        const struct hurl_piece *piece = &text->pieces[i];
        const char *function = piece->function == HURL_NEW_UUID   ? "newUuid"
                               : piece->function == HURL_NEW_DATE ? "newDate"
                                                                  : NULL;
        all = pl_format(arena, "%s%.*s", all, (int)piece->length, piece->text);
        if (piece->variable < 0 && function == NULL) {
            assert_int_equal(i + 1, text->piece_count);
            break;
        }
        all = pl_format(arena, "%s{%s", all, function != NULL ? function : names_at(names, piece->variable));
        if (piece->filter_count > 0)
            all = pl_format(arena, "%s|%zu", all, piece->filter_count);
        all = pl_format(arena, "%s}", all);
    }
    return all;
}

UNUSED static const char *shown_pairs(const struct hurl_pair *pairs, size_t count)
{
    const char *all = "";
    for (size_t i = 0; i < count; i++)
        all = pl_format(arena, "%s%s=%s;", all, shown(&pairs[i].name), shown(&pairs[i].value));
    return all;
}

/* Bytes as hexadecimal digits. */
UNUSED static const char *hex_of(struct hurl_slice bytes)
{
    char *all = pl_alloc(arena, 2 * bytes.length + 1, 1);
    for (size_t i = 0; i < bytes.length; i++)
        snprintf(all + 2 * i, 3, "%02x", (unsigned)(unsigned char)bytes.text[i]);
    return all;
}

#define PARSE_TEST(function) cmocka_unit_test_setup_teardown(function, parse_setup, parse_teardown)

#endif
