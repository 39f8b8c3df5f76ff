/* Private to src/hurl: a Hurl file as it stands after compilation. The parser (parse*.c) makes it, render.c and judge.c
 * read it. Everything lives in the arena given to hurl_compile. */
#ifndef PL_HURL_HURL_INT_H
#define PL_HURL_HURL_INT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "hurl/hurl.h"

/* A place in the file, for errors. line 0: none. */
struct hurl_place {
    int line, col; /* 1-based; col counts bytes */
};

/* ---- templates ---- */

enum hurl_function { HURL_NO_FUNCTION, HURL_NEW_UUID, HURL_NEW_DATE };

struct hurl_filter;

/* Literal bytes, then (unless it is the last piece) an expression: {{name filter...}} or {{newUuid}}. */
struct hurl_piece {
    const char *text;
    size_t length;
    int variable; /* index in the load's names; -1: no variable */
    enum hurl_function function;
    const struct hurl_filter *filters;
    size_t filter_count;
    struct hurl_place place;
};

/* One piece without an expression: a constant. No piece: the empty text. */
struct hurl_text {
    const struct hurl_piece *pieces;
    size_t piece_count;
};

static inline bool hurl_text_is_constant(const struct hurl_text *text)
{
    return text->piece_count == 0 ||
           (text->piece_count == 1 && text->pieces[0].variable < 0 && text->pieces[0].function == HURL_NO_FUNCTION);
}

/* How PCRE2 is to read Hurl's regular expressions: characters are Unicode, $ is the very end, \C is not for UTF-8. */
#define HURL_REGEX_OPTIONS (PCRE2_UTF | PCRE2_UCP | PCRE2_DOLLAR_ENDONLY | PCRE2_NEVER_BACKSLASH_C | PCRE2_USE_OFFSET_LIMIT)

/* A regular expression, compiled with PCRE2 when the file is compiled (its text has no templates), else at run time: then
 * `code` is NULL and `text` is rendered and compiled in the work (which keeps the last one). */
struct hurl_regex {
    struct hurl_text text;
    void *code; /* pcre2_code *; freed with the arena that the file was compiled into */
};

/* ---- JSONPath ---- */

struct json_path; /* json.h */

struct hurl_path {
    struct hurl_text text;
    const struct json_path *path; /* compiled; NULL: `text` has templates */
};

/* ---- queries, filters, predicates ---- */

enum hurl_query_kind {
    HURL_QUERY_STATUS,
    HURL_QUERY_VERSION,
    HURL_QUERY_URL,
    HURL_QUERY_IP,
    HURL_QUERY_HEADER,
    HURL_QUERY_COOKIE,
    HURL_QUERY_BODY,
    HURL_QUERY_BYTES,
    HURL_QUERY_RAW_BYTES,
    HURL_QUERY_JSONPATH,
    HURL_QUERY_REGEX,
    HURL_QUERY_VARIABLE,
    HURL_QUERY_DURATION,
    HURL_QUERY_SHA256,
    HURL_QUERY_MD5,
    HURL_QUERY_CERTIFICATE,
    HURL_QUERY_REDIRECTS
};

enum hurl_cookie_attribute {
    HURL_COOKIE_VALUE,
    HURL_COOKIE_EXPIRES,
    HURL_COOKIE_MAX_AGE,
    HURL_COOKIE_DOMAIN,
    HURL_COOKIE_PATH,
    HURL_COOKIE_SECURE,
    HURL_COOKIE_HTTP_ONLY,
    HURL_COOKIE_SAME_SITE
};

enum hurl_certificate_field {
    HURL_CERTIFICATE_SUBJECT,
    HURL_CERTIFICATE_ISSUER,
    HURL_CERTIFICATE_START_DATE,
    HURL_CERTIFICATE_EXPIRE_DATE,
    HURL_CERTIFICATE_SERIAL
};

enum hurl_filter_kind {
    HURL_FILTER_BASE64_DECODE,
    HURL_FILTER_BASE64_ENCODE,
    HURL_FILTER_BASE64_URL_SAFE_DECODE,
    HURL_FILTER_BASE64_URL_SAFE_ENCODE,
    HURL_FILTER_COUNT,
    HURL_FILTER_DATE_FORMAT,
    HURL_FILTER_DAYS_AFTER_NOW,
    HURL_FILTER_DAYS_BEFORE_NOW,
    HURL_FILTER_DECODE,
    HURL_FILTER_FIRST,
    HURL_FILTER_HTML_ESCAPE,
    HURL_FILTER_HTML_UNESCAPE,
    HURL_FILTER_JSONPATH,
    HURL_FILTER_LAST,
    HURL_FILTER_LOCATION,
    HURL_FILTER_NTH,
    HURL_FILTER_REGEX,
    HURL_FILTER_REPLACE,
    HURL_FILTER_REPLACE_REGEX,
    HURL_FILTER_SPLIT,
    HURL_FILTER_TO_DATE,
    HURL_FILTER_TO_FLOAT,
    HURL_FILTER_TO_HEX,
    HURL_FILTER_TO_INT,
    HURL_FILTER_TO_STRING,
    HURL_FILTER_URL_DECODE,
    HURL_FILTER_URL_ENCODE,
    HURL_FILTER_URL_QUERY_PARAM,
    HURL_FILTER_UTF8_DECODE,
    HURL_FILTER_UTF8_ENCODE
};

struct hurl_filter {
    enum hurl_filter_kind kind;
    struct hurl_place place;
    struct hurl_text text;   /* first argument: format, separator, what is replaced, parameter's name, encoding */
    struct hurl_text second; /* REPLACE, REPLACE_REGEX: what it becomes */
    struct hurl_regex regex; /* REGEX, REPLACE_REGEX */
    struct hurl_path path;   /* JSONPATH */
    int64_t number;          /* NTH: which, negative from the end */
};

/* Whether a name says that what is called so is a secret: password, access_token, apiKey. */
bool hurl_name_is_secret(const char *name, size_t length);

struct hurl_query {
    enum hurl_query_kind kind;
    bool is_secret; /* the path's or header's name says so: a text that it finds is never shown */
    struct hurl_place place;
    struct hurl_text text; /* HEADER, COOKIE: the name */
    enum hurl_cookie_attribute cookie;
    enum hurl_certificate_field certificate;
    struct hurl_regex regex;
    struct hurl_path path;
    int variable;                      /* VARIABLE; -1: no variable of that name can have a value */
    const struct hurl_filter *filters; /* applied in order */
    size_t filter_count;
};

enum hurl_predicate_kind {
    HURL_EQUALS,
    HURL_NOT_EQUALS,
    HURL_GREATER,
    HURL_GREATER_OR_EQUAL,
    HURL_LESS,
    HURL_LESS_OR_EQUAL,
    HURL_STARTS_WITH,
    HURL_ENDS_WITH,
    HURL_CONTAINS,
    HURL_INCLUDES,
    HURL_MATCHES,
    HURL_EXISTS,
    HURL_IS_BOOLEAN,
    HURL_IS_COLLECTION,
    HURL_IS_DATE,
    HURL_IS_EMPTY,
    HURL_IS_FLOAT,
    HURL_IS_INTEGER,
    HURL_IS_ISO_DATE,
    HURL_IS_IPV4,
    HURL_IS_IPV6,
    HURL_IS_LIST,
    HURL_IS_NUMBER,
    HURL_IS_OBJECT,
    HURL_IS_STRING,
    HURL_IS_UUID
};

/* What a predicate compares with. */
enum hurl_operand_kind {
    HURL_OPERAND_NONE,
    HURL_OPERAND_NULL,
    HURL_OPERAND_BOOL,
    HURL_OPERAND_INT,
    HURL_OPERAND_DOUBLE,
    HURL_OPERAND_TEXT,
    HURL_OPERAND_BYTES,   /* hex, base64, file: in `bytes` */
    HURL_OPERAND_VARIABLE /* {{name}} without quotes: the variable's value with its type, after filters: text has one piece
                           */
};
struct hurl_operand {
    enum hurl_operand_kind kind;
    bool b;
    int64_t i;
    double d;
    struct hurl_text text;
    struct hurl_slice bytes;
    struct hurl_regex regex; /* MATCHES */
};

struct hurl_predicate {
    enum hurl_predicate_kind kind;
    bool is_negated; /* `not` */
    struct hurl_operand operand;
    struct hurl_place place;
};

struct hurl_assert {
    struct hurl_query query;
    struct hurl_predicate predicate;
    const char *text; /* the line as written, for messages */
};

struct hurl_capture {
    int variable;
    bool is_redacted; /* its value never stands in a message */
    struct hurl_query query;
    struct hurl_place place;
};

/* ---- requests ---- */

struct hurl_pair {
    struct hurl_text name, value;
    struct hurl_place place;
};

enum hurl_body_kind {
    HURL_BODY_NONE,
    HURL_BODY_TEXT,  /* JSON, XML, one-line and multi-line text: a template */
    HURL_BODY_BYTES, /* base64, hex, file */
    HURL_BODY_FORM,  /* [Form] */
    HURL_BODY_MULTIPART,
    HURL_BODY_GRAPHQL /* ```graphql: `text` is the query, `variables` its JSON or empty */
};

struct hurl_body {
    enum hurl_body_kind kind;
    struct hurl_place place;
    struct hurl_text text, variables;
    struct hurl_slice bytes;
    const char *content_type; /* implied ("application/json"); NULL: none */
    bool is_json;             /* TEXT: written as JSON: values of variables are put in as JSON */
};

struct hurl_part { /* of a multipart form */
    struct hurl_text name, value;
    struct hurl_slice file; /* is_file: its content */
    struct hurl_text file_name;
    struct hurl_text content_type; /* is_file */
    bool is_file;
};

struct hurl_request {
    struct hurl_facts facts;
    const char *name;          /* of the file, for messages */
    const struct names *names; /* of the variables, for messages; NULL: those say only where one stands */
    struct hurl_place place;
    const char *method;
    struct hurl_text url;
    const struct hurl_pair *headers, *query, *form, *cookies;
    size_t header_count, query_count, form_count, cookie_count;
    const struct hurl_part *parts;
    size_t part_count;
    bool has_basic_auth;
    struct hurl_text user, password;
    struct hurl_body body;

    /* what is expected; all absent: any answer is good */
    bool has_response;
    int expected_version; /* 0: any ("HTTP"); 10, 11, 20 */
    int expected_status;  /* 0: any ("*") */
    bool refuses_errors;  /* without a file that says what is expected: a status of 400 or above fails */
    struct hurl_place status_place;
    const struct hurl_pair *expected_headers;
    size_t expected_header_count;
    struct hurl_body expected_body; /* JSON is compared as JSON */
    const struct hurl_assert *asserts;
    size_t assert_count;
    const struct hurl_capture *captures;
    size_t capture_count;
};

#endif
