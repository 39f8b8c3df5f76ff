/* JSON (RFC 8259) as a flat table of tokens, and JSONPath over it (Goessner's notation and RFC 9535's). A table and the
 * lists of a search are used again and again: memory is taken only while a text is larger than any before. All work is
 * bounded, whatever a server sends: by the size and depth of a text, and by the steps of a search.
 *
 * jansson, which other rooms use, has names that begin alike (json_integer, json_equal): one of them here would take its
 * place there.
 *
 * Not thread safe: tables and searches belong to one thread; compiled paths are immutable and shared. */
#ifndef PL_JSON_JSON_H
#define PL_JSON_JSON_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/arena.h"

enum {
    JSON_BYTES_MOST = 16 * 1024 * 1024,
    JSON_TOKENS_MOST = 4 * 1024 * 1024,
    JSON_DEPTH_MOST = 256,
    JSON_STEPS_MOST = 4 * 1024 * 1024 /* of one search or comparison: values looked at */
};

enum json_kind { JSON_NULL, JSON_FALSE, JSON_TRUE, JSON_INTEGER, JSON_FLOAT, JSON_STRING, JSON_LIST, JSON_OBJECT };

/* INTEGER: written without fraction and exponent. A number is what its text says; json_get_integer and json_as_double read
 * it. */
struct json_token {
    uint8_t kind;       /* enum json_kind */
    bool is_escaped;    /* STRING: holds backslashes */
    bool is_key;        /* STRING: the name of a member, no value */
    uint32_t at, bytes; /* in the text; STRING: without the quotes */
    uint32_t count;     /* LIST: items; OBJECT: members, each a STRING and a value */
    uint32_t after;     /* the token after this value and all that is in it; its first item is the next token */
};

struct json {
    const char *text; /* borrowed */
    size_t length;
    struct json_token *tokens; /* the first is the whole */
    size_t count, capacity;
};

/* Reads a text; a table that is all zero is an empty one. NULL, or a static text of what is wrong, with its byte in *ret_at
 * (count is 0 then). UTF-8 and escapes are checked: a text that was read can be taken apart without looking again. */
const char *json_read(struct json *json, const char *text, size_t length, size_t *ret_at);
void json_release(struct json *json);

/* The text of a STRING without escapes into out (room for `bytes` of the token); returns its length. */
size_t json_unescape(const struct json *json, uint32_t token, char *out);
/* Writes a text as the inside of a JSON string; returns the end. 6 bytes of room for each byte. */
char *json_escape(const char *text, size_t length, char *out);

/* false: it is no INTEGER, or too large for 64 bits. */
bool json_get_integer(const struct json *json, uint32_t token, int64_t *ret_integer);
/* Of an INTEGER or FLOAT; the nearest double, infinite beyond the range. */
double json_as_double(const struct json *json, uint32_t token);

/* Whether a STRING says this (when escaped: without its escapes). */
bool json_string_is(const struct json *json, uint32_t token, const char *text, size_t length);
/* The value of a member, 0 when there is none; of members with one name the last. *steps counts down to 0, which ends the
 * search: a caller checks it. */
uint32_t json_member(const struct json *json, uint32_t object, const char *name, size_t length, uint64_t *steps);
/* Equal as values: integers exactly, other numbers as doubles, objects in any order. *steps as above. */
bool json_is_same(const struct json *a, uint32_t a_token, const struct json *b, uint32_t b_token, uint64_t *steps);

/* ---- JSONPath ---- */

struct json_path;

/* NULL, or a static text of what is wrong, at byte *ret_at of text. What is compiled lives in the arena. */
const char *json_path_compile(const char *text, size_t length, struct pl_arena *arena, const struct json_path **ret,
                              size_t *ret_at);

/* What a search found, and its memory; all zero is an empty one. A path of names and indexes alone finds ONE value or
 * NOTHING. Every other finds a LIST, which may be empty, but NOTHING when its leading names and indexes lead nowhere. */
enum json_found { JSON_FOUND_NOTHING, JSON_FOUND_ONE, JSON_FOUND_LIST };
struct json_search {
    enum json_found kind;
    uint32_t *found; /* tokens, in the order of RFC 9535 */
    size_t count, capacity;
    size_t other_count; /* private */
    uint64_t steps;     /* private */
};
/* From the first token of json, which holds a value. false: more than JSON_STEPS_MOST steps. */
bool json_path_find(const struct json_path *path, const struct json *json, struct json_search *search);
void json_search_release(struct json_search *search);

#endif
