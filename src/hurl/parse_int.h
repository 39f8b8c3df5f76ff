/* Private to src/hurl: the state of one compilation, shared by the parts of the parser. Places are byte offsets in the
 * text; lines and columns are made of them when an error or a structure wants them.
 *
 * Functions that return bool: false means that err is set. */
#ifndef PL_HURL_PARSE_INT_H
#define PL_HURL_PARSE_INT_H

#include "hurl/hurl_int.h"

enum {
    PARSE_DEPTH_MOST = 256,                 /* of JSON and XML bodies */
    PARSE_FILE_BYTES = 64 * 1024 * 1024,    /* of one included file */
    PARSE_FILES_BYTES = 1024 * 1024 * 1024, /* of all that one script includes */
    PARSE_SHOWN_BYTES = 200                 /* of a line that names a step or an assert */
};

/* A word of the language. refused: Hurl knows it, this does not do it, and why. */
struct parse_word {
    const char *name;
    int kind, arguments;
    const char *refused;
};
struct parse_words {
    const char *what; /* "filter" */
    const struct parse_word *list;
    size_t count;
};
extern const struct parse_words parse_queries, parse_filters, parse_predicates, parse_options, parse_sections, parse_hints;

enum parse_section {
    SECTION_AUTH,
    SECTION_QUERY,
    SECTION_FORM,
    SECTION_MULTIPART,
    SECTION_COOKIES,
    SECTION_OPTIONS,
    SECTION_CAPTURES,
    SECTION_ASSERTS,
    SECTION_COUNT
};

struct parse_included {
    const char *path;
    struct hurl_slice bytes;
};

/* A number, duration (ms) or boolean (0, 1) of an option: as written, or what a text gives when the step runs. */
struct parse_amount {
    bool is_set, is_template;
    int64_t number;
    struct hurl_text text;
    size_t at;
};
/* An option `variable`. */
struct parse_definition {
    int variable;
    bool is_template;
    struct value value;
    struct hurl_text text;
    size_t at;
};
/* The options of one request that become steps around it. */
struct parse_entry {
    size_t at; /* of the method */
    const char *text;
    struct hurl_request *request;
    struct parse_definition *definitions;
    size_t definition_count, definition_capacity;
    struct parse_amount skip, delay, repeat, retry, interval;
};

struct parser {
    const char *file, *text;
    size_t length, pos;
    const char *root; /* of included files */
    struct pl_arena *arena;
    struct pl_err *err;
    struct names *names;
    const size_t *lines; /* where each begins */
    size_t line_count;
    char *scratch; /* literal bytes of the piece being read */
    size_t scratch_length, scratch_capacity;
    bool may_wait;   /* a variable that is not set yet may be set further down, in this request or response */
    size_t *waiting; /* [variable]: 1 + where it was read before it was set; 0: it is set */
    size_t waiting_count;
    struct parse_included *included;
    size_t included_count, included_capacity, included_bytes;
    struct step *steps;
    size_t step_count, step_capacity, io_count;
};

/* ---- parse_read.c: places, errors, lines, words ---- */

/* Checks the bytes of the text (size, NUL, UTF-8) and finds its lines. */
bool parse_begin(struct parser *p);
struct hurl_place parse_place(const struct parser *p, size_t at);
PL_PRINTF(3, 4)
bool parse_fail(struct parser *p, size_t at, const char *fmt, ...);
PL_PRINTF(4, 5)
bool parse_fail_code(struct parser *p, enum pl_code code, size_t at, const char *fmt, ...);
/* There is no such word; the nearest of both lists (the second may be NULL). */
bool parse_fail_word(struct parser *p, size_t at, struct hurl_slice word, const struct parse_words *words,
                     const struct parse_words *others);
/* A word that Hurl has and this has not. */
bool parse_refuse(struct parser *p, size_t at, const struct parse_words *words, const struct parse_word *word);

char parse_peek(const struct parser *p, size_t ahead); /* '\0' at the end: the text holds none */
bool parse_starts(const struct parser *p, const char *text);
bool parse_is_alnum(char c);
bool parse_is_digit(char c);
bool parse_is_name_char(char c); /* of a variable: letters, digits, _, - and all beyond ASCII */
void parse_skip_blanks(struct parser *p);
/* A comment and the end of the line, or of the file. */
bool parse_line_end(struct parser *p);
bool parse_is_line_end(const struct parser *p);
/* Lines with nothing or a comment, and the blanks before what comes then. */
void parse_skip_lines(struct parser *p);
/* At least one blank. */
bool parse_blanks(struct parser *p, const char *before);
struct hurl_slice parse_word(struct parser *p); /* letters and digits, may be empty */
struct hurl_slice parse_since(const struct parser *p, size_t at);
const struct parse_word *parse_find(const struct parse_words *words, struct hurl_slice word);
bool parse_slice_is(struct hurl_slice slice, const char *text);
/* Bytes as one line for people: cut at PARSE_SHOWN_BYTES, control characters are blanks. */
const char *parse_shown(struct parser *p, const char *text, size_t length);
/* A decimal integer with an optional sign. */
bool parse_integer(struct parser *p, int64_t *ret_number);
int parse_hex_digit(char c); /* -1: none */

/* ---- parse_text.c: strings and templates ---- */

struct parse_pieces {
    struct hurl_piece *list;
    size_t count, capacity;
};
void parse_put(struct parser *p, const char *bytes, size_t length);
/* At a backslash: \n, \u{1f600}, ... */
bool parse_put_escape(struct parser *p);
/* At "{{": ends the piece. */
bool parse_put_expression(struct parser *p, struct parse_pieces *pieces);
void parse_end_text(struct parser *p, struct parse_pieces *pieces, struct hurl_text *ret_text);

/* VALUE: to the end of the line or a comment, without blanks around it. QUOTED, BACKTICK: pos is at the delimiter. KEY:
 * up to ":". FILE_NAME: up to ";" or a blank. */
enum parse_style { STYLE_VALUE, STYLE_QUOTED, STYLE_BACKTICK, STYLE_KEY, STYLE_FILE_NAME };
bool parse_text(struct parser *p, enum parse_style style, struct hurl_text *ret_text);
struct hurl_text parse_constant(struct parser *p, const char *text, size_t length);
/* Of a text that must not hold a variable; `what` begins the error. */
bool parse_constant_text(struct parser *p, enum parse_style style, const char *what, struct hurl_slice *ret_text);
struct hurl_slice parse_literal(const struct hurl_text *constant);
/* Splits at the first ":" of its literal bytes, blanks after it left out; false: there is none. No error. */
bool parse_split(struct parser *p, const struct hurl_text *text, struct hurl_text *ret_before, struct hurl_text *ret_after);
/* The variable of an expression, which must be set before or, where that may be, further down. */
bool parse_variable(struct parser *p, size_t at, struct hurl_slice name, int *ret_variable);
/* From here on it is set. */
bool parse_set_variable(struct parser *p, size_t at, struct hurl_slice name, int *ret_variable);
/* What has waited must be set now. */
bool parse_settle(struct parser *p);

/* ---- parse_query.c ---- */

bool parse_query(struct parser *p, struct hurl_query *ret_query);
/* Of an expression (then every word must be a filter) or a query (it ends at the first other word). */
bool parse_filter_list(struct parser *p, bool in_expression, const struct hurl_filter **ret_filters, size_t *ret_count);
/* needs_group: its first group is what it gives. */
bool parse_regex(struct parser *p, bool needs_group, struct hurl_regex *ret_regex);

/* ---- parse_predicate.c ---- */

bool parse_predicate(struct parser *p, struct hurl_predicate *ret_predicate);

/* ---- parse_section.c ---- */

/* Whether a "[Section]" stands here. */
bool parse_is_section(const struct parser *p);
/* Whether "key :" stands here. */
bool parse_is_key(const struct parser *p);
struct parse_pairs {
    struct hurl_pair *list;
    size_t count, capacity;
};
/* Lines "key: value" as long as there are any. are_headers: what HTTP allows in a header. */
bool parse_pairs(struct parser *p, bool are_headers, struct parse_pairs *pairs);
/* What may not stand in a header, as far as it is known before the load. */
bool parse_check_header(struct parser *p, size_t at, const struct hurl_pair *pair);
/* All sections that follow. */
bool parse_request_sections(struct parser *p, struct parse_entry *entry, struct parse_pairs *headers);
bool parse_response_sections(struct parser *p, struct hurl_request *request);

/* ---- parse_option.c ---- */

bool parse_option_lines(struct parser *p, struct parse_entry *entry, struct parse_pairs *headers);

/* ---- parse_body.c ---- */

/* A body if one stands here, else kind NONE. */
bool parse_body(struct parser *p, struct hurl_body *ret_body);
/* "```...```" */
bool parse_multi_line(struct parser *p, struct hurl_body *ret_body);
/* base64,...; hex,...; file,...; `word` was read, pos is at the comma. */
bool parse_is_bytes(const struct parser *p);
bool parse_bytes(struct parser *p, struct hurl_slice *ret_bytes);
/* After "file,": the name up to ";", and the content. */
bool parse_included(struct parser *p, struct hurl_slice *ret_name, struct hurl_slice *ret_bytes);

/* ---- parse_json.c ---- */

bool parse_json(struct parser *p, struct hurl_text *ret_text);

/* ---- parse_xml.c ---- */

/* Finds the end of an element; its bytes are taken as they are. */
bool parse_xml(struct parser *p, struct hurl_slice *ret_bytes);

/* ---- steps.c ---- */

/* Adds the steps of one request. */
bool parse_emit(struct parser *p, const struct parse_entry *entry);

#endif
