/* Private to src/json: compiled paths, and what reading and searching share. */
#ifndef PL_JSON_JSON_INT_H
#define PL_JSON_JSON_INT_H

#include "json/json.h"

/* One step of bounded work; false: none is left. */
static inline bool json_step(uint64_t *steps)
{
    *steps -= *steps > 0;
    return *steps > 0;
}

/* The steps that looking through a text costs, as many as its bytes are worth. */
static inline void json_step_bytes(uint64_t *steps, size_t bytes)
{
    enum { BYTES_A_STEP = 16 };
    uint64_t cost = bytes / BYTES_A_STEP;
    *steps -= cost < *steps ? cost : *steps;
}

/* The escape at text, a backslash: its character goes to out (at most 4 bytes); returns the bytes read, 0: it is none. */
size_t json_escape_read(const char *text, size_t left, char *out, size_t *ret_size);

/* Two STRINGs by their characters: less than, equal to, greater than 0. */
int json_string_compare(const struct json *a, uint32_t a_token, const struct json *b, uint32_t b_token);

/* ---- compiled paths ---- */

enum {
    PATH_SEGMENTS_MOST = 128,
    PATH_NESTING_MOST = 8, /* filters in filters */
    PATH_DEPTH_MOST = 64,  /* parentheses and signs */
    PATH_TESTS_MOST = 1000
};

enum selector_kind { SELECT_NAME, SELECT_INDEX, SELECT_SLICE, SELECT_ALL, SELECT_FILTER };

struct json_test;

struct json_selector {
    enum selector_kind kind;
    const char *name;
    size_t name_length;
    int64_t start, end, step; /* INDEX: start */
    bool has_start, has_end;
    const struct json_test *test; /* FILTER */
};

struct json_segment {
    bool descends;
    const struct json_selector *selectors;
    size_t selector_count;
};

struct json_path {
    const struct json_segment *segments;
    size_t segment_count;
    size_t single_count; /* how many segments from the first on find one value at most */
};

/* What a comparison compares. */
enum operand_kind {
    OPERAND_LITERAL, /* the first token of `literal` */
    OPERAND_PATH,    /* the value that the path finds, or nothing */
    OPERAND_LENGTH,  /* length(argument): characters, items or members; nothing of any other value */
    OPERAND_COUNT    /* count(path): how many values it finds */
};
struct json_operand {
    enum operand_kind kind;
    struct json literal;
    const struct json_path *path;
    bool from_root; /* the path begins with $, else with @ */
    const struct json_operand *argument;
};

enum test_kind { TEST_OR, TEST_AND, TEST_NOT, TEST_EXISTS, TEST_EQUAL, TEST_NOT_EQUAL, TEST_LESS, TEST_LESS_OR_EQUAL };
struct json_test {
    enum test_kind kind;
    const struct json_test *left, *right; /* OR, AND; NOT: left */
    struct json_operand a, b;             /* the comparisons (> is < with its sides changed); EXISTS: a */
};

#endif
