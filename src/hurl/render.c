/* Renders a request: URL with its query, headers, cookies, body. Constant texts are given out as they stand in the program;
 * all else is put together in the work's message memory. */
#include "hurl/run_int.h"

#include <stdio.h>
#include <string.h>

#include "base/ban.h"

/* ---- small things ---- */

static bool has_break(struct hurl_slice text)
{
    for (size_t i = 0; i < text.length; i++)
        if (text.text[i] == '\r' || text.text[i] == '\n' || text.text[i] == '\0')
            return true;
    return false;
}

static struct hurl_slice slice_of(const char *text)
{
    return (struct hurl_slice){text, strlen(text)};
}

static bool pairs_render(struct hurl_run *run, const struct hurl_pair *pairs, size_t count, struct hurl_header **ret)
{
    struct hurl_header *rendered = hurl_scratch_take(run->scratch, (count + 1) * sizeof *rendered);
    *ret = rendered;
    if (rendered == NULL)
        return hurl_fail_full(run, run->request->place);
    for (size_t i = 0; i < count; i++)
        if (!hurl_text_render(run, &pairs[i].name, &rendered[i].name) ||
            !hurl_text_render(run, &pairs[i].value, &rendered[i].value))
            return false;
    return true;
}

/* name=value&name=value */
static void put_pairs(struct hurl_scratch *scratch, const struct hurl_header *pairs, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        hurl_scratch_put(scratch, "&", i > 0);
        hurl_put_percent(scratch, pairs[i].name, "");
        hurl_scratch_put(scratch, "=", 1);
        hurl_put_percent(scratch, pairs[i].value, "");
    }
}

static bool closed(struct hurl_run *run, struct hurl_place place, struct hurl_slice *ret)
{
    *ret = hurl_scratch_close(run->scratch);
    return run->scratch->is_full ? hurl_fail_full(run, place) : true;
}

/* ---- the URL ---- */

/* What may not stand in a URL as it is: a bit for each byte, blanks and controls, "<>\^`{|} and all above 126. What has a
 * meaning in one stays, also a percent sign. */
static bool is_illegal(unsigned char c)
{
    static const uint64_t bits[] = {UINT64_C(0x50000005FFFFFFFF), UINT64_C(0xB800000150000000), UINT64_MAX, UINT64_MAX};
    return (bits[c >> 6] >> (c & 63) & 1) != 0;
}

static void put_url(struct hurl_scratch *scratch, struct hurl_slice url)
{
    for (size_t i = 0; i < url.length; i++) {
        if (is_illegal((unsigned char)url.text[i]))
            hurl_put_percent(scratch, (struct hurl_slice){url.text + i, 1}, "");
        else
            hurl_scratch_put(scratch, url.text + i, 1);
    }
}

static bool render_url(struct hurl_run *run, struct hurl_slice *ret)
{
    const struct hurl_request *request = run->request;
    struct hurl_header *query;
    bool is_clean = true;
    if (!hurl_text_render(run, &request->url, ret))
        return false;
    const char *fragment = memchr(ret->text, '#', ret->length);
    ret->length = fragment != NULL ? (size_t)(fragment - ret->text) : ret->length;
    for (size_t i = 0; i < ret->length && is_clean; i++)
        is_clean = !is_illegal((unsigned char)ret->text[i]);
    if (ret->length == 0)
        return hurl_fail(run, request->place, "the URL is empty");
    if (is_clean && request->query_count == 0)
        return true;
    if (!pairs_render(run, request->query, request->query_count, &query))
        return false;
    const char *mark = memchr(ret->text, '?', ret->length);
    char last = ret->text[ret->length - 1];
    hurl_scratch_open(run->scratch);
    put_url(run->scratch, *ret);
    if (request->query_count > 0 && (mark == NULL || (last != '?' && last != '&')))
        hurl_scratch_put(run->scratch, mark != NULL ? "&" : "?", 1);
    put_pairs(run->scratch, query, request->query_count);
    return closed(run, request->place, ret);
}

/* ---- JSON ---- */

/* Follows the quotes of a literal; a backslash keeps the next character from ending a string. */
static bool string_state(const char *text, size_t length, bool is_inside)
{
    for (size_t i = 0; i < length; i++) {
        if (text[i] == '"')
            is_inside = !is_inside;
        else if (text[i] == '\\' && is_inside)
            i++;
    }
    return is_inside;
}

static void put_escaped(struct hurl_scratch *scratch, struct hurl_slice text)
{
    char *room = hurl_scratch_room(scratch, text.length * 6);
    if (room != NULL)
        hurl_scratch_advance(scratch, json_escape(text.text, text.length, room));
}

/* Inside a string a value is its text, escaped. */
static bool put_in_string(struct hurl_run *run, const struct hurl_piece *piece, const struct hurl_any *value)
{
    if (value->kind == HURL_TEXT) {
        put_escaped(run->scratch, value->text);
        return true;
    }
    if (value->kind != HURL_LIST && value->kind != HURL_OBJECT)
        return hurl_put_value(run->scratch, value) ? true
                                                   : hurl_fail(run, piece->place, "%s has no text", hurl_kind_name(value));
    struct hurl_slice before = hurl_scratch_close(run->scratch), text;
    hurl_scratch_open(run->scratch);
    bool is_json = hurl_put_json(run->scratch, value);
    text = hurl_scratch_close(run->scratch);
    hurl_scratch_open(run->scratch);
    hurl_scratch_put(run->scratch, before.text, before.length);
    put_escaped(run->scratch, text);
    return is_json ? true : hurl_fail(run, piece->place, "%s has no text", hurl_kind_name(value));
}

/* Outside strings a value must be JSON itself. */
static bool put_bare(struct hurl_run *run, const struct hurl_piece *piece, const struct hurl_any *value)
{
    size_t at;
    if (value->kind != HURL_TEXT)
        return hurl_put_json(run->scratch, value) ? true
                                                  : hurl_fail(run, piece->place, "JSON has no %s", hurl_kind_name(value));
    const struct names *names = run->request->names;
    if (json_read(&run->work->operand, value->text.text, value->text.length, &at) != NULL)
        return names != NULL && piece->variable >= 0
                   ? hurl_fail(run, piece->place, "\"%s\" is a text that is no JSON: it belongs into quotes",
                               names_at(names, piece->variable))
                   : hurl_fail(run, piece->place, "a text that is no JSON stands outside quotes");
    hurl_scratch_put(run->scratch, value->text.text, value->text.length);
    return true;
}

static bool json_put(struct hurl_run *run, const struct hurl_text *text)
{
    bool is_inside = false;
    for (size_t i = 0; i < text->piece_count; i++) {
        const struct hurl_piece *piece = &text->pieces[i];
        struct hurl_any value;
        struct hurl_slice before = {NULL, 0};
        hurl_scratch_put(run->scratch, piece->text, piece->length);
        if (piece->variable < 0 && piece->function == HURL_NO_FUNCTION)
            continue;
        is_inside = string_state(piece->text, piece->length, is_inside);
        bool is_computed = piece->function != HURL_NO_FUNCTION || piece->filter_count > 0;
        if (is_computed) /* which needs the scratch too */
            before = hurl_scratch_close(run->scratch);
        if (!hurl_piece_value(run, piece, &value))
            return false;
        if (is_computed) {
            hurl_scratch_open(run->scratch);
            hurl_scratch_put(run->scratch, before.text, before.length);
        }
        if (!(is_inside ? put_in_string(run, piece, &value) : put_bare(run, piece, &value)))
            return false;
    }
    return true;
}

bool hurl_json_render(struct hurl_run *run, const struct hurl_text *text, struct hurl_slice *ret)
{
    if (hurl_text_is_constant(text))
        return hurl_text_render(run, text, ret);
    hurl_scratch_open(run->scratch);
    return json_put(run, text) && closed(run, text->pieces[0].place, ret);
}

/* ---- other bodies ---- */

static bool render_graphql(struct hurl_run *run, const struct hurl_body *body, struct hurl_slice *ret)
{
    struct hurl_slice query, variables = {NULL, 0};
    if (!hurl_text_render(run, &body->text, &query) ||
        (body->variables.piece_count > 0 && !hurl_json_render(run, &body->variables, &variables)))
        return false;
    hurl_scratch_open(run->scratch);
    hurl_scratch_put(run->scratch, "{\"query\":\"", 10);
    put_escaped(run->scratch, query);
    hurl_scratch_put(run->scratch, "\"", 1);
    if (variables.length > 0) {
        hurl_scratch_put(run->scratch, ",\"variables\":", 13);
        hurl_scratch_put(run->scratch, variables.text, variables.length);
    }
    hurl_scratch_put(run->scratch, "}", 1);
    return closed(run, body->place, ret);
}

static bool render_form(struct hurl_run *run, struct hurl_slice *ret)
{
    const struct hurl_request *request = run->request;
    struct hurl_header *form;
    if (!pairs_render(run, request->form, request->form_count, &form))
        return false;
    hurl_scratch_open(run->scratch);
    put_pairs(run->scratch, form, request->form_count);
    return closed(run, request->body.place, ret);
}

/* The texts of a part, rendered. */
struct part {
    struct hurl_slice name, value, file_name, content_type;
};

static bool part_render(struct hurl_run *run, const struct hurl_part *part, struct part *ret)
{
    if (!hurl_text_render(run, &part->name, &ret->name) ||
        !(part->is_file ? hurl_text_render(run, &part->file_name, &ret->file_name) &&
                              hurl_text_render(run, &part->content_type, &ret->content_type)
                        : hurl_text_render(run, &part->value, &ret->value)))
        return false;
    if (part->is_file && has_break(ret->content_type))
        return hurl_fail(run, run->request->body.place, "a line break in the type of a part");
    if (part->is_file)
        ret->value = part->file;
    return true;
}

/* As browsers quote a name. */
static void put_quoted(struct hurl_scratch *scratch, struct hurl_slice text)
{
    hurl_scratch_put(scratch, "\"", 1);
    for (size_t i = 0; i < text.length; i++) {
        char c = text.text[i];
        const char *escape = c == '"' ? "%22" : c == '\r' ? "%0D" : c == '\n' ? "%0A" : NULL;
        hurl_scratch_put(scratch, escape != NULL ? escape : text.text + i, escape != NULL ? 3 : 1);
    }
    hurl_scratch_put(scratch, "\"", 1);
}

static void put_text(struct hurl_scratch *scratch, const char *text)
{
    hurl_scratch_put(scratch, text, strlen(text));
}

static bool render_multipart(struct hurl_run *run, struct hurl_slice *ret)
{
    const struct hurl_request *request = run->request;
    struct hurl_scratch *scratch = run->scratch;
    struct part *parts = hurl_scratch_take(scratch, (request->part_count + 1) * sizeof *parts);
    if (parts == NULL)
        return hurl_fail_full(run, request->body.place);
    for (size_t i = 0; i < request->part_count; i++)
        if (!part_render(run, &request->parts[i], &parts[i]))
            return false;
    hurl_scratch_open(scratch);
    for (size_t i = 0; i < request->part_count; i++) {
        put_text(scratch, "--");
        put_text(scratch, run->work->boundary);
        put_text(scratch, "\r\nContent-Disposition: form-data; name=");
        put_quoted(scratch, parts[i].name);
        if (request->parts[i].is_file) {
            put_text(scratch, "; filename=");
            put_quoted(scratch, parts[i].file_name);
            put_text(scratch, "\r\nContent-Type: ");
            if (parts[i].content_type.length == 0)
                put_text(scratch, "application/octet-stream");
            hurl_scratch_put(scratch, parts[i].content_type.text, parts[i].content_type.length);
        }
        put_text(scratch, "\r\n\r\n");
        hurl_scratch_put(scratch, parts[i].value.text, parts[i].value.length);
        put_text(scratch, "\r\n");
    }
    put_text(scratch, "--");
    put_text(scratch, run->work->boundary);
    put_text(scratch, "--\r\n");
    return closed(run, request->body.place, ret);
}

static bool render_body(struct hurl_run *run, struct hurl_message *message)
{
    const struct hurl_body *body = &run->request->body;
    message->has_body = body->kind != HURL_BODY_NONE;
    switch (body->kind) {
    case HURL_BODY_NONE:
        return true;
    case HURL_BODY_TEXT:
        message->is_body_lasting = hurl_text_is_constant(&body->text);
        return body->is_json ? hurl_json_render(run, &body->text, &message->body)
                             : hurl_text_render(run, &body->text, &message->body);
    case HURL_BODY_BYTES:
        message->body = body->bytes;
        message->is_body_lasting = true;
        return true;
    case HURL_BODY_FORM:
        return render_form(run, &message->body);
    case HURL_BODY_MULTIPART:
        return render_multipart(run, &message->body);
    case HURL_BODY_GRAPHQL:
        return render_graphql(run, body, &message->body);
    }
    return true;
}

/* ---- headers ---- */

static bool is_token(struct hurl_slice name)
{
    for (size_t i = 0; i < name.length; i++) {
        unsigned char c = (unsigned char)name.text[i];
        if (c <= ' ' || c >= 0x7F || strchr("\"(),/:;<=>?@[\\]{}", c) != NULL)
            return false;
    }
    return name.length > 0;
}

/* A value of a variable must not make two headers of one. */
static bool header_check(struct hurl_run *run, const struct hurl_pair *pair, const struct hurl_header *header)
{
    char shown[HURL_SHOW_BYTES];
    if (!hurl_text_is_constant(&pair->name) && !is_token(header->name))
        return hurl_fail(run, pair->place, "\"%s\" is not the name of a header",
                         hurl_show_text(run, header->name.text, header->name.length, shown));
    if (!hurl_text_is_constant(&pair->value) && has_break(header->value))
        return hurl_fail(run, pair->place, "a line break in the value of header %s",
                         hurl_show_text(run, header->name.text, header->name.length, shown));
    return true;
}

static bool multipart_type(struct hurl_run *run, struct hurl_slice stated, struct hurl_slice *ret)
{
    if (stated.length > 0 && memmem(stated.text, stated.length, "boundary=", 9) != NULL) {
        *ret = stated;
        return true;
    }
    hurl_scratch_open(run->scratch);
    if (stated.length > 0)
        hurl_scratch_put(run->scratch, stated.text, stated.length);
    else
        put_text(run->scratch, "multipart/form-data");
    put_text(run->scratch, "; boundary=");
    put_text(run->scratch, run->work->boundary);
    return closed(run, run->request->body.place, ret);
}

/* What the body implies, unless the file states it. */
static bool add_content_type(struct hurl_run *run, struct hurl_header *headers, size_t *count)
{
    const struct hurl_body *body = &run->request->body;
    struct hurl_header *stated = NULL;
    struct hurl_slice type = {NULL, 0};
    for (size_t i = 0; i < *count && stated == NULL; i++)
        stated = hurl_header_named(&headers[i], "Content-Type", 12) ? &headers[i] : NULL;
    if (body->kind == HURL_BODY_MULTIPART) {
        if (!multipart_type(run, stated != NULL ? stated->value : type, &type))
            return false;
        if (stated != NULL)
            stated->value = type;
    } else if (body->kind == HURL_BODY_FORM) {
        type = slice_of("application/x-www-form-urlencoded");
    } else if (body->kind != HURL_BODY_NONE && body->content_type != NULL) {
        type = slice_of(body->content_type);
    } else if (body->kind == HURL_BODY_GRAPHQL) {
        type = slice_of("application/json");
    }
    if (stated == NULL && type.length > 0)
        headers[(*count)++] = (struct hurl_header){slice_of("Content-Type"), type};
    return true;
}

static bool add_authorization(struct hurl_run *run, struct hurl_header *headers, size_t *count)
{
    const struct hurl_request *request = run->request;
    struct hurl_slice user, password, both, value;
    if (!hurl_text_render(run, &request->user, &user) || !hurl_text_render(run, &request->password, &password))
        return false;
    hurl_scratch_open(run->scratch);
    hurl_scratch_put(run->scratch, user.text, user.length);
    hurl_scratch_put(run->scratch, ":", 1);
    hurl_scratch_put(run->scratch, password.text, password.length);
    if (!closed(run, request->place, &both))
        return false;
    hurl_scratch_open(run->scratch);
    hurl_scratch_put(run->scratch, "Basic ", 6);
    hurl_put_base64(run->scratch, both, false);
    headers[*count].name = slice_of("Authorization");
    if (!closed(run, request->place, &value))
        return false;
    headers[(*count)++].value = value;
    return true;
}

static bool render_headers(struct hurl_run *run, struct hurl_message *message)
{
    enum { IMPLIED = 2 };
    const struct hurl_request *request = run->request;
    struct hurl_header *headers = hurl_scratch_take(run->scratch, (request->header_count + IMPLIED) * sizeof *headers);
    size_t count = 0;
    if (headers == NULL)
        return hurl_fail_full(run, request->place);
    for (; count < request->header_count; count++) {
        const struct hurl_pair *pair = &request->headers[count];
        if (!hurl_text_render(run, &pair->name, &headers[count].name) ||
            !hurl_text_render(run, &pair->value, &headers[count].value) || !header_check(run, pair, &headers[count]))
            return false;
    }
    if (!add_content_type(run, headers, &count) || (request->has_basic_auth && !add_authorization(run, headers, &count)))
        return false;
    message->headers = headers;
    message->header_count = count;
    return true;
}

static bool render_cookies(struct hurl_run *run, struct hurl_slice *ret)
{
    const struct hurl_request *request = run->request;
    struct hurl_header *cookies;
    if (request->cookie_count == 0)
        return true;
    if (!pairs_render(run, request->cookies, request->cookie_count, &cookies))
        return false;
    hurl_scratch_open(run->scratch);
    for (size_t i = 0; i < request->cookie_count; i++) {
        hurl_scratch_put(run->scratch, "; ", i > 0 ? 2 : 0);
        hurl_scratch_put(run->scratch, cookies[i].name.text, cookies[i].name.length);
        hurl_scratch_put(run->scratch, "=", 1);
        hurl_scratch_put(run->scratch, cookies[i].value.text, cookies[i].value.length);
    }
    if (!closed(run, request->cookies[0].place, ret))
        return false;
    return has_break(*ret) ? hurl_fail(run, request->cookies[0].place, "a line break in a cookie") : true;
}

const char *hurl_render(const struct hurl_request *request, const struct value *vars, struct hurl_work *work,
                        struct hurl_message *ret_message)
{
    struct hurl_run run = {.work = work, .scratch = &work->message, .request = request, .vars = vars};
    hurl_run_begin(&run);
    *ret_message = (struct hurl_message){.method = slice_of(request->method)};
    if (render_url(&run, &ret_message->url) && render_headers(&run, ret_message) &&
        render_cookies(&run, &ret_message->cookies) && render_body(&run, ret_message))
        return NULL;
    return hurl_message(&run, NULL);
}
