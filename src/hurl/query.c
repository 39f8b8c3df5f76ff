/* Queries: what a response, its headers and its body say. */
#include "hurl/run_int.h"

#include <openssl/evp.h>
#include <string.h>
#include <strings.h>

#include "base/ban.h"

/* ---- headers ---- */

bool hurl_header_named(const struct hurl_header *header, const char *name, size_t length)
{
    return header->name.length == length && strncasecmp(header->name.text, name, length) == 0;
}

bool hurl_header_is_secret(const char *name, size_t length)
{
    static const char *const secrets[] = {"Set-Cookie", "Cookie", "Authorization", "Proxy-Authorization",
                                          "Authentication-Info"};
    for (size_t i = 0; i < sizeof secrets / sizeof secrets[0]; i++)
        if (strlen(secrets[i]) == length && strncasecmp(secrets[i], name, length) == 0)
            return true;
    return hurl_name_is_secret(name, length);
}

/* One header is a text, several are a list. */
static bool query_header(struct hurl_run *run, const struct hurl_query *query, struct hurl_any *ret)
{
    const struct hurl_response *response = run->response;
    struct hurl_slice name;
    size_t count = 0, last = 0;
    if (!hurl_text_render(run, &query->text, &name))
        return false;
    for (size_t i = 0; i < response->header_count; i++) {
        if (!hurl_header_named(&response->headers[i], name.text, name.length))
            continue;
        last = i;
        count++;
    }
    if (count == 0)
        return true;
    bool is_secret = hurl_header_is_secret(name.text, name.length);
    *ret = hurl_text_value(response->headers[last].value.text, response->headers[last].value.length);
    ret->is_secret = is_secret;
    if (count == 1)
        return true;
    struct hurl_any *items = hurl_scratch_take(run->scratch, count * sizeof *items);
    if (items == NULL)
        return hurl_fail_full(run, query->place);
    size_t used = 0;
    for (size_t i = 0; i < response->header_count; i++)
        if (hurl_header_named(&response->headers[i], name.text, name.length)) {
            items[used] = hurl_text_value(response->headers[i].value.text, response->headers[i].value.length);
            items[used++].is_secret = is_secret;
        }
    *ret = (struct hurl_any){.kind = HURL_LIST, .count = count, .items = items, .is_secret = is_secret};
    return true;
}

/* ---- cookies ---- */

static struct hurl_slice trim(struct hurl_slice text)
{
    while (text.length > 0 && (*text.text == ' ' || *text.text == '\t')) {
        text.text++;
        text.length--;
    }
    while (text.length > 0 && (text.text[text.length - 1] == ' ' || text.text[text.length - 1] == '\t'))
        text.length--;
    return text;
}

/* Takes "name=value" up to the next semicolon off *rest; false: nothing is left. */
static bool cookie_part(struct hurl_slice *rest, struct hurl_slice *ret_name, struct hurl_slice *ret_value)
{
    if (rest->length == 0)
        return false;
    const char *stop = memchr(rest->text, ';', rest->length);
    size_t length = stop != NULL ? (size_t)(stop - rest->text) : rest->length;
    const char *equals = memchr(rest->text, '=', length);
    size_t name_length = equals != NULL ? (size_t)(equals - rest->text) : length;
    *ret_name = trim((struct hurl_slice){rest->text, name_length});
    *ret_value = equals != NULL ? trim((struct hurl_slice){equals + 1, length - name_length - 1})
                                : (struct hurl_slice){rest->text + length, 0};
    length += stop != NULL;
    rest->text += length;
    rest->length -= length;
    return true;
}

static bool slice_is(struct hurl_slice slice, const char *text)
{
    return slice.length == strlen(text) && strncasecmp(slice.text, text, slice.length) == 0;
}

static bool cookie_attribute(struct hurl_run *run, const struct hurl_query *query, struct hurl_slice rest,
                             struct hurl_any *ret)
{
    static const char *const names[] = {[HURL_COOKIE_VALUE] = "",
                                        [HURL_COOKIE_EXPIRES] = "Expires",
                                        [HURL_COOKIE_MAX_AGE] = "Max-Age",
                                        [HURL_COOKIE_DOMAIN] = "Domain",
                                        [HURL_COOKIE_PATH] = "Path",
                                        [HURL_COOKIE_SECURE] = "Secure",
                                        [HURL_COOKIE_HTTP_ONLY] = "HttpOnly",
                                        [HURL_COOKIE_SAME_SITE] = "SameSite"};
    struct hurl_slice name, value;
    while (cookie_part(&rest, &name, &value)) {
        if (!slice_is(name, names[query->cookie]))
            continue;
        *ret = hurl_text_value(value.text, value.length);
        if (query->cookie == HURL_COOKIE_SECURE || query->cookie == HURL_COOKIE_HTTP_ONLY) {
            *ret = (struct hurl_any){.kind = HURL_UNIT};
        } else if (query->cookie == HURL_COOKIE_EXPIRES) {
            if (!hurl_date_of_http(value, ret))
                return hurl_fail(run, query->place, "the cookie's Expires is no date");
        } else if (query->cookie == HURL_COOKIE_MAX_AGE) {
            struct hurl_filter to_int = {.kind = HURL_FILTER_TO_INT, .place = query->place};
            return hurl_filters_run(run, &to_int, 1, ret);
        }
        return true;
    }
    return true;
}

static bool query_cookie(struct hurl_run *run, const struct hurl_query *query, struct hurl_any *ret)
{
    struct hurl_slice wanted, name, value;
    if (!hurl_text_render(run, &query->text, &wanted))
        return false;
    for (size_t i = 0; i < run->response->header_count; i++) {
        const struct hurl_header *header = &run->response->headers[i];
        struct hurl_slice rest = header->value;
        if (!hurl_header_named(header, "Set-Cookie", 10) || !cookie_part(&rest, &name, &value) ||
            name.length != wanted.length || memcmp(name.text, wanted.text, wanted.length) != 0)
            continue;
        if (query->cookie != HURL_COOKIE_VALUE)
            return cookie_attribute(run, query, rest, ret);
        *ret = hurl_text_value(value.text, value.length);
        ret->is_secret = true;
        return true;
    }
    return true;
}

/* ---- the body ---- */

static struct hurl_slice body_charset(const struct hurl_response *response)
{
    static const char key[] = "charset=";
    for (size_t i = 0; i < response->header_count; i++) {
        const struct hurl_slice *value = &response->headers[i].value;
        if (!hurl_header_named(&response->headers[i], "Content-Type", 12))
            continue;
        const char *parameters = value->length > 0 ? memchr(value->text, ';', value->length) : NULL;
        size_t start = parameters != NULL ? (size_t)(parameters - value->text) : value->length;
        for (size_t k = start; k + sizeof key - 1 <= value->length; k++) {
            if (strncasecmp(value->text + k, key, sizeof key - 1) != 0)
                continue;
            struct hurl_slice charset = {value->text + k + sizeof key - 1, 0};
            const char *end = value->text + value->length;
            charset.text += charset.text < end && *charset.text == '"';
            while (charset.text + charset.length < end && strchr("\"; \t", charset.text[charset.length]) == NULL)
                charset.length++;
            return charset;
        }
    }
    return (struct hurl_slice){"utf-8", 5};
}

static bool body_is_there(struct hurl_run *run, struct hurl_place place, struct hurl_slice *ret)
{
    *ret = run->response->body;
    if (ret->text == NULL)
        *ret = (struct hurl_slice){"", 0};
    return run->response->body.text != NULL || run->response->body_bytes <= 0
               ? true
               : hurl_fail(run, place, "the body was not kept");
}

bool hurl_body_text(struct hurl_run *run, struct hurl_place place, struct hurl_slice *ret)
{
    struct hurl_slice charset = body_charset(run->response), body;
    return body_is_there(run, place, &body) && hurl_decode(run, place, charset.text, charset.length, body, ret);
}

bool hurl_body_json(struct hurl_run *run, struct hurl_place place)
{
    static const char mark[] = "\xEF\xBB\xBF";
    struct hurl_work *work = run->work;
    struct hurl_slice text, charset = body_charset(run->response);
    size_t at;
    if (work->body_text != NULL)
        return true;
    /* that the text is UTF-8 the reader finds out itself */
    bool is_utf8 = slice_is(charset, "utf-8") || slice_is(charset, "utf8");
    if (!(is_utf8 ? body_is_there(run, place, &text) : hurl_body_text(run, place, &text)))
        return false;
    size_t skip = text.length >= 3 && memcmp(text.text, mark, 3) == 0 ? 3 : 0;
    const char *wrong = json_read(&work->body, text.text + skip, text.length - skip, &at);
    if (wrong != NULL)
        return hurl_fail(run, place, "the body is not JSON: %s at byte %zu", wrong, at + skip);
    work->body_text = text.text;
    return true;
}

static void query_bytes(const struct hurl_response *response, struct hurl_any *ret)
{
    *ret = (struct hurl_any){.kind = HURL_BYTES, .text = response->body};
    if (ret->text.text == NULL)
        ret->text = (struct hurl_slice){response->body_bytes > 0 ? NULL : "",
                                        response->body_bytes > 0 ? (size_t)response->body_bytes : 0};
}

/* What was received is kept only when nothing was to be decoded. */
static void query_raw_bytes(const struct hurl_response *response, struct hurl_any *ret)
{
    query_bytes(response, ret);
    if (response->raw_bytes != response->body_bytes)
        ret->text = (struct hurl_slice){NULL, response->raw_bytes > 0 ? (size_t)response->raw_bytes : 0};
}

static bool query_digest(struct hurl_run *run, const struct hurl_query *query, struct hurl_any *ret)
{
    size_t which = query->kind == HURL_QUERY_MD5;
    EVP_MD_CTX *context = run->work->digests[which];
    struct hurl_slice body;
    unsigned length = 0;
    if (!body_is_there(run, query->place, &body))
        return false;
    unsigned char *out = hurl_scratch_take(run->scratch, EVP_MAX_MD_SIZE);
    if (out == NULL)
        return hurl_fail_full(run, query->place);
    if (run->work->hashes[which] == NULL || EVP_DigestInit_ex2(context, run->work->hashes[which], NULL) != 1 ||
        EVP_DigestUpdate(context, body.text, body.length) != 1 || EVP_DigestFinal_ex(context, out, &length) != 1)
        return hurl_fail(run, query->place, "OpenSSL cannot compute it");
    *ret = (struct hurl_any){.kind = HURL_BYTES, .text = {(const char *)out, length}};
    return true;
}

/* ---- patterns and paths ---- */

static bool query_regex(struct hurl_run *run, const struct hurl_query *query, struct hurl_any *ret)
{
    struct hurl_slice text, groups[2];
    bool is_found;
    if (!hurl_body_text(run, query->place, &text) ||
        !hurl_regex_match(run, query->place, &query->regex, text, groups, &is_found))
        return false;
    if (groups[1].text != NULL)
        *ret = hurl_text_value(groups[1].text, groups[1].length);
    return true;
}

bool hurl_path_compiled(struct hurl_run *run, struct hurl_place place, const struct hurl_path *path,
                        const struct json_path **ret_path)
{
    struct hurl_slice text;
    size_t at;
    *ret_path = path->path;
    if (path->path != NULL)
        return true;
    if (!hurl_text_render(run, &path->text, &text))
        return false;
    struct hurl_slot *slot = hurl_slot_of(run->work, path, text);
    if (slot->arena == NULL) {
        slot->arena = pl_arena_new();
        const char *wrong = json_path_compile(slot->text, slot->length, slot->arena, &slot->path, &at);
        if (wrong != NULL) {
            slot->of = NULL;
            return hurl_fail(run, place, "the path is none of JSONPath: %s at byte %zu", wrong, at);
        }
    }
    *ret_path = slot->path;
    return true;
}

bool hurl_path_run(struct hurl_run *run, struct hurl_place place, const struct hurl_path *path, const struct json *json,
                   struct json_search *search, struct hurl_any *ret)
{
    const struct json_path *compiled;
    if (!hurl_path_compiled(run, place, path, &compiled))
        return false;
    run->work->is_too_much = !json_path_find(compiled, json, search);
    if (run->work->is_too_much)
        return hurl_fail(run, place, "the path takes more than %d steps in this JSON", JSON_STEPS_MOST);
    return hurl_from_search(run, place, json, search, ret);
}

/* ---- what is left ---- */

static void query_certificate(const struct hurl_response *response, enum hurl_certificate_field field, struct hurl_any *ret)
{
    const struct hurl_slice *text = NULL;
    if (response->certificate_subject.length == 0 && response->certificate_issuer.length == 0 &&
        response->certificate_serial.length == 0)
        return; /* no TLS */
    switch (field) {
    case HURL_CERTIFICATE_SUBJECT:
        text = &response->certificate_subject;
        break;
    case HURL_CERTIFICATE_ISSUER:
        text = &response->certificate_issuer;
        break;
    case HURL_CERTIFICATE_SERIAL:
        text = &response->certificate_serial;
        break;
    case HURL_CERTIFICATE_START_DATE:
        *ret = (struct hurl_any){.kind = HURL_DATE, .i = response->certificate_start_unix_s};
        return;
    case HURL_CERTIFICATE_EXPIRE_DATE:
        *ret = (struct hurl_any){.kind = HURL_DATE, .i = response->certificate_expire_unix_s};
        return;
    }
    if (text->length > 0)
        *ret = hurl_text_value(text->text, text->length);
}

static bool query_value(struct hurl_run *run, const struct hurl_query *query, struct hurl_any *ret)
{
    const struct hurl_response *response = run->response;
    switch (query->kind) {
    case HURL_QUERY_STATUS:
        *ret = hurl_int_value(response->status);
        return true;
    case HURL_QUERY_VERSION:
        *ret = response->version == 10   ? hurl_text_value("1.0", 3)
               : response->version == 20 ? hurl_text_value("2", 1)
                                         : hurl_text_value("1.1", 3);
        return true;
    case HURL_QUERY_URL:
        *ret = hurl_text_value(response->url.text, response->url.length);
        return true;
    case HURL_QUERY_IP:
        if (response->ip.length > 0)
            *ret = hurl_text_value(response->ip.text, response->ip.length);
        return true;
    case HURL_QUERY_HEADER:
        return query_header(run, query, ret);
    case HURL_QUERY_COOKIE:
        return query_cookie(run, query, ret);
    case HURL_QUERY_BODY:
        ret->kind = HURL_TEXT;
        return hurl_body_text(run, query->place, &ret->text);
    case HURL_QUERY_BYTES:
        query_bytes(response, ret);
        return true;
    case HURL_QUERY_RAW_BYTES:
        query_raw_bytes(response, ret);
        return true;
    case HURL_QUERY_JSONPATH:
        return hurl_body_json(run, query->place) &&
               hurl_path_run(run, query->place, &query->path, &run->work->body, &run->work->search, ret);
    case HURL_QUERY_REGEX:
        return query_regex(run, query, ret);
    case HURL_QUERY_VARIABLE:
        *ret = hurl_variable(run, query->variable);
        return true;
    case HURL_QUERY_DURATION:
        *ret = hurl_int_value(response->duration_ns / 1000000);
        return true;
    case HURL_QUERY_SHA256:
    case HURL_QUERY_MD5:
        return query_digest(run, query, ret);
    case HURL_QUERY_CERTIFICATE:
        query_certificate(response, query->certificate, ret);
        return true;
    case HURL_QUERY_REDIRECTS:
        *ret = (struct hurl_any){.kind = HURL_LIST,
                                 .count = response->redirect_count > 0 ? (size_t)response->redirect_count : 0};
        return true;
    }
    return true;
}

bool hurl_query_run(struct hurl_run *run, const struct hurl_query *query, struct hurl_any *ret)
{
    *ret = (struct hurl_any){.kind = HURL_NOTHING};
    if (!query_value(run, query, ret))
        return false;
    ret->is_secret |= query->is_secret && (ret->kind == HURL_TEXT || ret->kind == HURL_LIST || ret->kind == HURL_OBJECT);
    return hurl_filters_run(run, query->filters, query->filter_count, ret);
}
