/* Private to the run time of src/hurl: values, a thread's buffers, and what one call of hurl_render or hurl_judge knows.
 *
 * Functions that return bool and take a `struct hurl_run` have told what is wrong (hurl_fail) when they return false. */
#ifndef PL_HURL_RUN_INT_H
#define PL_HURL_RUN_INT_H

#include "hurl/hurl_int.h"
#include "json/json.h"

enum { HURL_MESSAGE_BYTES = 1024, HURL_SLOTS = 8, HURL_CHARSET_BYTES = 40, HURL_BOUNDARY_BYTES = 40, HURL_HIDDEN = 24 };

/* ---- values ---- */

enum hurl_kind {
    HURL_NOTHING, /* a query that found none */
    HURL_UNIT,    /* it is there, and that is all: Secure, HttpOnly */
    HURL_NULL,
    HURL_BOOL,
    HURL_INT,
    HURL_FLOAT,
    HURL_NUMBER, /* an integer beyond 64 bits: its digits */
    HURL_TEXT,
    HURL_BYTES,
    HURL_DATE,
    HURL_LIST,
    HURL_OBJECT,
    HURL_REDIRECT /* i: which */
};

/* A LIST is what json and token say, or the `tokens` of json, or `items`; without any of those it only has a count. An
 * OBJECT is what json and token say. */
struct hurl_any {
    enum hurl_kind kind;
    bool is_stored; /* TEXT of a variable: where a list or an object is needed it is read as JSON */
    bool is_secret; /* never to be shown */
    bool b;
    int64_t i; /* DATE: seconds since 1970 */
    double d;
    uint32_t nanos;         /* DATE */
    struct hurl_slice text; /* TEXT, BYTES, NUMBER */
    size_t count;           /* LIST, OBJECT */
    const struct json *json;
    uint32_t token;
    const uint32_t *tokens;
    const struct hurl_any *items;
};

static inline struct hurl_any hurl_text_value(const char *text, size_t length)
{
    return (struct hurl_any){.kind = HURL_TEXT, .text = {text, length}};
}
static inline struct hurl_any hurl_int_value(int64_t i)
{
    return (struct hurl_any){.kind = HURL_INT, .i = i};
}

/* ---- memory of one call ---- */

/* Taken bit by bit, given back all at once. It grows by chunks, so that what was taken stays where it is; the reset after
 * a call that needed several joins them. Beyond `most` bytes nothing is given and is_full is set. */
struct hurl_chunk;
struct hurl_scratch {
    struct hurl_chunk *chunks; /* the newest first */
    char *at, *end;            /* of the newest */
    char *open;                /* where the text begins that is being put together; NULL: none */
    size_t bytes, most;
    bool is_full;
};
void hurl_scratch_reset(struct hurl_scratch *scratch);
void hurl_scratch_release(struct hurl_scratch *scratch);
/* Aligned for any type; NULL: too much. No text may be open. */
void *hurl_scratch_take(struct hurl_scratch *scratch, size_t bytes);
/* A text: open, put..., close. One at a time. */
void hurl_scratch_open(struct hurl_scratch *scratch);
/* Room for bytes behind what was put, NULL: too much; they count once hurl_scratch_advance says so. */
char *hurl_scratch_room(struct hurl_scratch *scratch, size_t bytes);
static inline void hurl_scratch_advance(struct hurl_scratch *scratch, const char *end)
{
    scratch->at += end - scratch->at;
}
void hurl_scratch_put(struct hurl_scratch *scratch, const char *text, size_t length);
struct hurl_slice hurl_scratch_close(struct hurl_scratch *scratch);

/* ---- one thread's buffers ---- */

/* What was last compiled for a place in the file whose pattern or path has templates. */
struct hurl_slot {
    const void *of; /* the struct hurl_regex or hurl_path */
    char *text;
    size_t length, capacity;
    void *code;             /* of a regular expression */
    struct pl_arena *arena; /* of a path */
    const struct json_path *path;
};

struct hurl_work {
    struct hurl_scratch message, scratch; /* what hurl_render gives out; what hurl_judge needs meanwhile */
    struct json body;                     /* tables: of the response, */
    struct json filter;    /* of what jsonpath and the others of the filters read; the next filter uses it again, */
    struct json operand;   /* of what is expected, */
    struct json kept;      /* of a value meanwhile */
    const char *body_text; /* that `body` was read from; NULL: none yet */
    struct json_search search, filter_search;
    struct hurl_slot slots[HURL_SLOTS];
    unsigned slot_next;
    void *match_data, *match_context, *compile_context, *match_stack; /* PCRE2 */
    void *digests[2], *hashes[2];                                     /* EVP_MD_CTX and EVP_MD: of SHA-256, of MD5 */
    void *charset;                                                    /* iconv_t of charset_name; (void *)-1: none */
    char charset_name[HURL_CHARSET_BYTES];
    char boundary[HURL_BOUNDARY_BYTES];
    struct pl_rng rng;
    bool *is_redacted; /* [variable]: captured as a secret by this thread, or named as one */
    size_t redacted_count;
    const struct names *names; /* of which those that are named as secrets are known: the first names_count */
    size_t names_count;
    struct hurl_slice hidden[HURL_HIDDEN]; /* what no message may show of the request at hand, */
    size_t hidden_count;
    bool has_hidden;         /* which is gathered when the first message needs it */
    bool is_too_much;        /* what was asked takes too long on what the server sent */
    struct hurl_place place; /* of the message */
    bool has_failed;
    char why[HURL_MESSAGE_BYTES], text[HURL_MESSAGE_BYTES];
};

/* ---- one call ---- */

struct hurl_captured {
    const struct hurl_capture *capture;
    struct hurl_any value;
};

struct hurl_run {
    struct hurl_work *work;
    struct hurl_scratch *scratch;
    const struct hurl_request *request;
    const struct value *vars;
    const struct hurl_response *response; /* NULL: rendering */
    const struct hurl_captured *captured; /* by this response; not yet in vars */
    size_t captured_count;
};

/* A call begins. */
void hurl_run_begin(struct hurl_run *run);
/* What is wrong, and where; the first one stays. Returns false. */
bool hurl_fail(struct hurl_run *run, struct hurl_place place, const char *fmt, ...) PL_PRINTF(3, 4);
bool hurl_fail_full(struct hurl_run *run, struct hurl_place place);
/* Puts "WHERE: " before what is wrong. */
void hurl_fail_in(struct hurl_run *run, const char *where);
/* The whole message, "FILE:LINE:COL: [SUBJECT: ]WHY". */
const char *hurl_message(struct hurl_run *run, const char *subject);

/* A value for a message: its kind and a shortened text in which nothing controls a terminal and no secret stands. */
enum { HURL_SHOW_BYTES = 240 };
const char *hurl_show(const struct hurl_run *run, const struct hurl_any *value, char *buf);
/* The same of bytes, without kind and quotes. */
const char *hurl_show_text(const struct hurl_run *run, const char *text, size_t length, char *buf);
const char *hurl_kind_name(const struct hurl_any *value);
/* From where a text is to be shown so that `at` is seen, but not the end of a secret alone, which would not be known as
 * one. */
size_t hurl_show_start(const struct hurl_run *run, struct hurl_slice text, size_t at);

/* ---- values (value.c) ---- */

/* A variable as this call sees it; NOTHING: it has no value. */
struct hurl_any hurl_variable(const struct hurl_run *run, int variable);
bool hurl_variable_is_secret(const struct hurl_run *run, int variable);
/* A token of a table as a value; texts without their escapes are put into the scratch. */
bool hurl_from_json(struct hurl_run *run, struct hurl_place place, const struct json *json, uint32_t token,
                    struct hurl_any *ret);
/* What a search found in a table. */
bool hurl_from_search(struct hurl_run *run, struct hurl_place place, const struct json *json,
                      const struct json_search *search, struct hurl_any *ret);
/* Makes a stored text that is a JSON list or object into one (over the table `json`); all else stays. */
void hurl_collect(struct json *json, struct hurl_any *value);
/* Moves a list or object that stands over a table that is to be used again into another one. */
bool hurl_keep(struct hurl_run *run, struct hurl_place place, struct json *table, struct hurl_any *value);
/* The items of a LIST one after the other: *at and *token are 0 at first. Only while *at < count. */
bool hurl_list_next(struct hurl_run *run, struct hurl_place place, const struct hurl_any *list, size_t *at, uint32_t *token,
                    struct hurl_any *ret);
bool hurl_list_at(struct hurl_run *run, struct hurl_place place, const struct hurl_any *list, size_t index,
                  struct hurl_any *ret);
/* The value as templates put it, appended to the open text; false: this kind has no text (nothing is told). */
bool hurl_put_value(struct hurl_scratch *scratch, const struct hurl_any *value);
/* The value as JSON, appended to the open text; false: JSON has no such value. */
bool hurl_put_json(struct hurl_scratch *scratch, const struct hurl_any *value);
/* As templates put it, closed. false, with a reason: this kind has no text. */
bool hurl_as_text(struct hurl_run *run, struct hurl_place place, const struct hurl_any *value, struct hurl_slice *ret);

/* ---- templates (value.c) ---- */

/* The text rendered; a constant one is not copied. */
bool hurl_text_render(struct hurl_run *run, const struct hurl_text *text, struct hurl_slice *ret);
/* A body of JSON: values as JSON. */
bool hurl_json_render(struct hurl_run *run, const struct hurl_text *text, struct hurl_slice *ret);
/* As hurl_text_render, appended to the open text. */
bool hurl_text_put(struct hurl_run *run, const struct hurl_text *text);
/* The value of a piece's expression, if it has one, appended to the open text. */
bool hurl_put_piece(struct hurl_run *run, const struct hurl_piece *piece);
/* The value of a piece's expression, after its filters. */
bool hurl_piece_value(struct hurl_run *run, const struct hurl_piece *piece, struct hurl_any *ret);

/* ---- queries, filters, predicates ---- */

/* NOTHING when the query or a filter finds none. */
bool hurl_query_run(struct hurl_run *run, const struct hurl_query *query, struct hurl_any *ret);
/* Over the value, which is not NOTHING. */
bool hurl_filters_run(struct hurl_run *run, const struct hurl_filter *filters, size_t count, struct hurl_any *value);

typedef bool hurl_filter_function(struct hurl_run *run, const struct hurl_filter *filter, struct hurl_any *value);
hurl_filter_function hurl_filter_base64, hurl_filter_hex, hurl_filter_url_encode, hurl_filter_url_decode,
    hurl_filter_html_escape, hurl_filter_html_unescape, hurl_filter_query_param, hurl_filter_decode, hurl_filter_utf8,
    hurl_filter_to_date, hurl_filter_date_format, hurl_filter_days, hurl_filter_regex, hurl_filter_replace_regex;

/* false with a reason in the message: the predicate does not hold, or cannot be asked. */
bool hurl_predicate_run(struct hurl_run *run, const struct hurl_predicate *predicate, struct hurl_any *value);

/* ---- what filters and queries share ---- */

/* Where the pattern matches: ret[0] the whole, ret[1] the first group (text NULL: it took no part). *ret_found. */
bool hurl_regex_match(struct hurl_run *run, struct hurl_place place, const struct hurl_regex *regex,
                      struct hurl_slice subject, struct hurl_slice ret[2], bool *ret_found);
bool hurl_path_compiled(struct hurl_run *run, struct hurl_place place, const struct hurl_path *path,
                        const struct json_path **ret_path);
/* What the path finds; one with templates is compiled when its text is another than the last time. */
bool hurl_path_run(struct hurl_run *run, struct hurl_place place, const struct hurl_path *path, const struct json *json,
                   struct json_search *search, struct hurl_any *ret);
bool hurl_is_utf8(struct hurl_slice text);
/* Append to the open text. Percent-encoded is all but the unreserved characters of RFC 3986 and those of `also`. */
void hurl_put_base64(struct hurl_scratch *scratch, struct hurl_slice bytes, bool is_url_safe);
void hurl_put_percent(struct hurl_scratch *scratch, struct hurl_slice text, const char *also);
/* Bytes in a charset as UTF-8. */
bool hurl_decode(struct hurl_run *run, struct hurl_place place, const char *charset, size_t charset_length,
                 struct hurl_slice bytes, struct hurl_slice *ret);
/* The response's body as a text: decoded by the charset of Content-Type. */
bool hurl_body_text(struct hurl_run *run, struct hurl_place place, struct hurl_slice *ret);
/* The response's body as JSON, read once per response. */
bool hurl_body_json(struct hurl_run *run, struct hurl_place place);

/* The slot of a pattern or path; emptied when its text is another than the last time. */
struct hurl_slot *hurl_slot_of(struct hurl_work *work, const void *of, struct hurl_slice text);
/* Whether its values are secrets: cookies, credentials. */
bool hurl_header_is_secret(const char *name, size_t length);
void hurl_note_secret(struct hurl_work *work, int variable);
bool hurl_header_named(const struct hurl_header *header, const char *name, size_t length);

/* ---- dates (date.c) ---- */

/* A text by a format of strftime's letters; false: it does not fit. *ret_wrong: a letter that is not understood. */
bool hurl_date_parse(struct hurl_slice text, struct hurl_slice format, struct hurl_any *ret_date, char *ret_wrong);
/* Appends to the open text; returns '\0', or the letter that is not understood. */
char hurl_date_put(struct hurl_scratch *scratch, const struct hurl_any *date, struct hurl_slice format);
/* As cookies and headers have them; false: it is none. */
bool hurl_date_of_http(struct hurl_slice text, struct hurl_any *ret_date);
bool hurl_date_is_iso(struct hurl_slice text);

#endif
