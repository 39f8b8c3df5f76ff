/* A Hurl file -> a program: its entries one after the other. */
#include "hurl/hurl.h"

#include <string.h>

#include "base/buf.h"
#include "base/limits.h"
#include "hurl/parse_int.h"

#include "base/ban.h"

enum { REDIRECTS_MOST = 50 };

/* ---- the request ---- */

static bool is_method_char(char c)
{
    return (c >= 'A' && c <= 'Z') || parse_is_digit(c) || c == '-';
}

/* No method begins here: what may be meant. */
static bool fail_method(struct parser *p)
{
    size_t at = p->pos;
    if (parse_is_section(p))
        return parse_fail(p, at, "a section stands above the body, below the line of the request or response");
    if (parse_is_key(p))
        return parse_fail(p, at, "headers stand right below the line of the request or response, above sections and body");
    struct hurl_slice word = parse_word(p);
    if (word.length > 0 && (parse_peek(p, 0) == ' ' || parse_peek(p, 0) == '\t')) {
        char *capitals = pl_strndup(p->arena, word.text, word.length);
        for (char *c = capitals; *c != '\0'; c++)
            *c = (char)(*c >= 'a' && *c <= 'z' ? *c - 'a' + 'A' : *c);
        return parse_fail(p, at, "a request begins with a method in capitals, like GET or POST: is \"%s\" meant?",
                          parse_shown(p, capitals, word.length));
    }
    return parse_fail(p, at, "this is neither a request (\"GET http://...\") nor a header, section, body or response");
}

static bool read_method(struct parser *p, const char **ret_method)
{
    size_t at = p->pos;
    if (parse_starts(p, "HTTP") && strchr(" \t/\r\n", parse_peek(p, 4)) != NULL)
        return parse_fail(p, at,
                          p->io_count == 0 ? "a response needs a request above it"
                                           : "a request has one response: this is the second");
    while (is_method_char(parse_peek(p, 0)))
        p->pos++;
    struct hurl_slice method = parse_since(p, at);
    char c = parse_peek(p, 0);
    if (method.length > 0 && parse_is_line_end(p))
        return parse_fail(p, p->pos, "the URL is missing after the method");
    if (method.length == 0 || parse_is_digit(method.text[0]) || method.text[0] == '-' || (c != ' ' && c != '\t')) {
        p->pos = at;
        return fail_method(p);
    }
    parse_skip_blanks(p);
    *ret_method = pl_strndup(p->arena, method.text, method.length);
    return true;
}

/* A blank outside of expressions; `end` when there is none. */
static size_t find_blank(const struct parser *p, size_t at, size_t end)
{
    for (bool is_inside = false; at < end; at++) {
        bool is_brace = at + 1 < end && p->text[at] == p->text[at + 1];
        if (is_brace && (p->text[at] == '{' || p->text[at] == '}'))
            is_inside = p->text[at] == '{';
        if (!is_inside && (p->text[at] == ' ' || p->text[at] == '\t'))
            return at;
    }
    return end;
}

static bool check_url(struct parser *p, size_t at, const struct hurl_text *url)
{
    static const char *const schemes[] = {"http://", "https://"};
    if (url->piece_count == 0)
        return parse_fail(p, at, "the URL is missing");
    const struct hurl_piece *first = &url->pieces[0];
    bool is_whole = hurl_text_is_constant(url);
    size_t blank = find_blank(p, at, p->pos);
    if (blank < p->pos)
        return parse_fail(p, blank, "a URL holds no blank: it is written %%20, or in [Query]");
    for (size_t i = 0; i < url->piece_count; i++)
        for (size_t c = 0; c < url->pieces[i].length; c++)
            if ((unsigned char)url->pieces[i].text[c] <= ' ' || url->pieces[i].text[c] == 0x7f)
                return parse_fail(p, at, "a URL holds no blanks and control characters");
    if (first->length == 0 || first->text[0] == '/')
        return true;
    for (size_t i = 0; i < sizeof schemes / sizeof schemes[0]; i++) {
        size_t length = strlen(schemes[i]);
        if (first->length < length || memcmp(first->text, schemes[i], length) != 0)
            continue;
        bool has_host = first->length > length ? strchr("/?:@", first->text[length]) == NULL : !is_whole;
        return has_host || parse_fail(p, at + length, "the host is missing in the URL");
    }
    return parse_fail(p, at,
                      "a URL begins with http://, https://, a {{variable}}, or with / for a path of the load's base URL");
}

/* "GET http://..." as reports name the step: one line, without a password. */
/* Without the values of the query's parameters that are named as secrets; what is put in when it runs is none yet. */
static const char *query_masked(struct parser *p, const char *url)
{
    struct pl_buf shown;
    const char *at = strchr(url, '?');
    if (at == NULL)
        return url;
    pl_buf_init(&shown, 4 * strlen(url) + 1);
    pl_buf_put_bytes(&shown, url, (size_t)(at - url));
    while (*at != '\0') {
        size_t length = 1 + strcspn(at + 1, "&"), name = strcspn(at + 1, "=&");
        bool is_template = strncmp(at + 1 + name, "={{", 3) == 0;
        bool is_masked = name + 1 < length && !is_template && hurl_name_is_secret(at + 1, name);
        pl_buf_put_bytes(&shown, at, is_masked ? name + 2 : length);
        if (is_masked)
            pl_buf_put(&shown, "***");
        at += length;
    }
    const char *text = pl_strdup(p->arena, pl_buf_text(&shown));
    pl_buf_release(&shown);
    return text;
}

static const char *step_text(struct parser *p, const char *method, struct hurl_slice url)
{
    const char *shown = query_masked(p, parse_shown(p, url.text, url.length));
    const char *host = strstr(shown, "://");
    if (host == NULL)
        return pl_format(p->arena, "%s %s", method, shown);
    host += 3;
    size_t length = strcspn(host, "/?");
    const char *at = memrchr(host, '@', length), *colon = at != NULL ? memchr(host, ':', (size_t)(at - host)) : NULL;
    if (colon == NULL)
        return pl_format(p->arena, "%s %s", method, shown);
    return pl_format(p->arena, "%s %.*s:***%s", method, (int)(colon - shown), shown, at);
}

static bool check_bodies(struct parser *p, struct hurl_request *request)
{
    bool has_body = request->body.kind != HURL_BODY_NONE, has_form = request->form_count > 0;
    bool has_parts = request->part_count > 0;
    if (has_body + has_form + has_parts > 1) {
        size_t at = p->lines[request->place.line - 1] + (size_t)request->place.col - 1;
        return parse_fail(p, at, "a request has one body: [Form], [Multipart], or a body of its own");
    }
    if (has_form || has_parts)
        request->body = (struct hurl_body){.kind = has_form ? HURL_BODY_FORM : HURL_BODY_MULTIPART,
                                           .place = request->place,
                                           .content_type = has_form ? "application/x-www-form-urlencoded" : NULL};
    return true;
}

static bool read_request(struct parser *p, struct parse_entry *entry)
{
    struct hurl_request *request = entry->request;
    struct parse_pairs headers = {0};
    entry->at = p->pos;
    request->name = request->facts.source = p->file;
    request->names = p->names;
    request->place = parse_place(p, p->pos);
    request->facts.line = request->place.line;
    request->facts.max_redirects = REDIRECTS_MOST;
    p->may_wait = true; /* options are written below what uses them */
    if (!read_method(p, &request->method))
        return false;
    size_t url = p->pos;
    if (!parse_text(p, STYLE_VALUE, &request->url) || !check_url(p, url, &request->url))
        return false;
    struct hurl_slice written = parse_since(p, url);
    while (written.length > 0 && strchr(" \t", written.text[written.length - 1]) != NULL)
        written.length--;
    entry->text = step_text(p, request->method, written);
    if (!parse_line_end(p) || !parse_pairs(p, true, &headers) || !parse_request_sections(p, entry, &headers) ||
        !parse_body(p, &request->body) || !check_bodies(p, request) || !parse_settle(p))
        return false;
    request->headers = headers.list;
    request->header_count = headers.count;
    return true;
}

/* ---- the response ---- */

static bool read_version(struct parser *p, int *ret_version)
{
    static const struct {
        const char *text;
        int version;
    } versions[] = {{"*", 0}, {"1.0", 10}, {"1.1", 11}, {"2", 20}, {"2.0", 20}};
    size_t at = p->pos;
    *ret_version = 0;
    if (parse_peek(p, 0) != '/')
        return true;
    p->pos++;
    for (char c; parse_is_digit(c = parse_peek(p, 0)) || c == '.' || c == '*';)
        p->pos++;
    struct hurl_slice text = parse_since(p, at + 1);
    for (size_t i = 0; i < sizeof versions / sizeof versions[0]; i++)
        if (parse_slice_is(text, versions[i].text)) {
            *ret_version = versions[i].version;
            return true;
        }
    if (text.length > 0 && text.text[0] == '3')
        return parse_fail(p, at + 1, "HTTP/3 is not supported: HTTP/1.0, HTTP/1.1 and HTTP/2 are, and HTTP for any");
    return parse_fail(p, at + 1, "there is no such version: HTTP/1.0, HTTP/1.1, HTTP/2, or HTTP for any");
}

static bool read_status(struct parser *p, int *ret_status)
{
    enum { LEAST = 100, MOST = 999 };
    size_t at = p->pos;
    int64_t status;
    *ret_status = 0;
    if (parse_peek(p, 0) == '*') {
        p->pos++;
        return true;
    }
    if (!parse_is_digit(parse_peek(p, 0)))
        return parse_fail(p, at, "the status is missing: a number, or * for any");
    if (!parse_integer(p, &status))
        return false;
    *ret_status = (int)status;
    return (status >= LEAST && status <= MOST) || parse_fail(p, at, "a status is a number from %d to %d", LEAST, MOST);
}

static bool read_response(struct parser *p, struct hurl_request *request)
{
    struct parse_pairs headers = {0};
    request->has_response = true;
    p->may_wait = true; /* asserts may stand above the captures that they use */
    p->pos += strlen("HTTP");
    if (!read_version(p, &request->expected_version))
        return false;
    if (parse_is_line_end(p))
        return parse_fail(p, p->pos, "the status is missing: a number, or * for any");
    if (!parse_blanks(p, "the status"))
        return false;
    request->status_place = parse_place(p, p->pos);
    if (!read_status(p, &request->expected_status) || !parse_line_end(p) || !parse_pairs(p, true, &headers) ||
        !parse_response_sections(p, request) || !parse_body(p, &request->expected_body) || !parse_settle(p))
        return false;
    request->expected_headers = headers.list;
    request->expected_header_count = headers.count;
    return true;
}

/* ---- facts ---- */

static bool is_body_query(const struct hurl_query *query)
{
    switch (query->kind) {
    case HURL_QUERY_BODY:
    case HURL_QUERY_BYTES:
    case HURL_QUERY_RAW_BYTES:
    case HURL_QUERY_JSONPATH:
    case HURL_QUERY_REGEX:
    case HURL_QUERY_SHA256:
    case HURL_QUERY_MD5:
        return true;
    case HURL_QUERY_STATUS:
    case HURL_QUERY_VERSION:
    case HURL_QUERY_URL:
    case HURL_QUERY_IP:
    case HURL_QUERY_HEADER:
    case HURL_QUERY_COOKIE:
    case HURL_QUERY_VARIABLE:
    case HURL_QUERY_DURATION:
    case HURL_QUERY_CERTIFICATE:
    case HURL_QUERY_REDIRECTS:
        break;
    }
    return false;
}

static bool keeps_body(const struct hurl_request *request)
{
    bool keeps = request->expected_body.kind != HURL_BODY_NONE;
    for (size_t i = 0; i < request->capture_count; i++)
        keeps = keeps || is_body_query(&request->captures[i].query);
    for (size_t i = 0; i < request->assert_count; i++)
        keeps = keeps || is_body_query(&request->asserts[i].query);
    return keeps;
}

static bool reads_certificate(const struct hurl_request *request)
{
    bool reads = false;
    for (size_t i = 0; i < request->capture_count; i++)
        reads = reads || request->captures[i].query.kind == HURL_QUERY_CERTIFICATE;
    for (size_t i = 0; i < request->assert_count; i++)
        reads = reads || request->asserts[i].query.kind == HURL_QUERY_CERTIFICATE;
    return reads;
}

static bool are_constant(const struct hurl_pair *pairs, size_t count)
{
    for (size_t i = 0; i < count; i++)
        if (!hurl_text_is_constant(&pairs[i].name) || !hurl_text_is_constant(&pairs[i].value))
            return false;
    return true;
}

static bool is_constant(const struct hurl_request *request)
{
    for (size_t i = 0; i < request->part_count; i++)
        if (!hurl_text_is_constant(&request->parts[i].name) || !hurl_text_is_constant(&request->parts[i].value) ||
            !hurl_text_is_constant(&request->parts[i].content_type))
            return false;
    return hurl_text_is_constant(&request->url) && are_constant(request->headers, request->header_count) &&
           are_constant(request->query, request->query_count) && are_constant(request->form, request->form_count) &&
           are_constant(request->cookies, request->cookie_count) && hurl_text_is_constant(&request->user) &&
           hurl_text_is_constant(&request->password) && hurl_text_is_constant(&request->body.text) &&
           hurl_text_is_constant(&request->body.variables);
}

static void settle_facts(struct hurl_request *request)
{
    request->facts.is_constant = is_constant(request);
    request->facts.keeps_body = keeps_body(request);
    request->facts.reads_certificate = reads_certificate(request);
}

const struct hurl_facts *hurl_request_facts(const struct hurl_request *request)
{
    return &request->facts;
}

/* ---- the whole ---- */

static bool at_response(const struct parser *p)
{
    return parse_starts(p, "HTTP") && strchr(" \t/\r\n#", parse_peek(p, 4)) != NULL;
}

static bool read_entry(struct parser *p)
{
    struct parse_entry entry = {.request = pl_alloc(p->arena, 1, sizeof *entry.request)};
    if (!read_request(p, &entry))
        return false;
    parse_skip_lines(p);
    if (at_response(p) && !read_response(p, entry.request))
        return false;
    settle_facts(entry.request);
    return parse_emit(p, &entry);
}

static bool read_entries(struct parser *p)
{
    if (!parse_begin(p))
        return false;
    for (parse_skip_lines(p); p->pos < p->length; parse_skip_lines(p))
        if (!read_entry(p))
            return false;
    if (p->io_count > 0)
        return true;
    pl_err_at(p->err, PL_INPUT, p->file, 0, 0, "the script has no request");
    pl_err_hint(p->err, "A script needs at least one request, like \"GET http://localhost/\".");
    return false;
}

static struct program *make_program(const struct parser *p)
{
    struct program *program = pl_alloc(p->arena, 1, sizeof *program);
    *program = (struct program){.name = p->file,
                                .steps = p->steps,
                                .step_count = p->step_count,
                                .io_step_count = p->io_count,
                                .command_count = p->io_count,
                                .names = p->names};
    return program;
}

enum pl_code hurl_compile(const char *name, const char *text, size_t length, const char *root, struct names *names,
                          struct pl_arena *arena, struct program **ret_program, struct pl_err *err)
{
    struct parser p = {.file = pl_strdup(arena, name),
                       .text = length > 0 ? text : "",
                       .length = length,
                       .root = root,
                       .arena = arena,
                       .err = err,
                       .names = names,
                       .waiting = pl_alloc(arena, PL_MAX_VARIABLES + 1, sizeof *p.waiting)};
    if (names_count(names) > PL_MAX_VARIABLES)
        return pl_err_at(err, PL_LIMIT, name, 0, 0, "more than %d variables", PL_MAX_VARIABLES);
    if (!read_entries(&p))
        return err->code;
    *ret_program = make_program(&p);
    return PL_OK;
}

bool hurl_is_file_name(const char *path)
{
    static const char ending[] = ".hurl";
    size_t length = strlen(path), least = sizeof ending - 1;
    return length > least && strcmp(path + length - least, ending) == 0;
}

/* ---- a request without a file ---- */

static bool is_token(const char *text, size_t length)
{
    for (size_t i = 0; i < length; i++)
        if (!parse_is_alnum(text[i]) && strchr("!#$%&'*+-.^_`|~", text[i]) == NULL)
            return false;
    return length > 0;
}

static enum pl_code plain_header(struct parser *p, const char *line, struct hurl_pair *pair)
{
    size_t name = strcspn(line, ": \t"); /* never its value: it may be a secret */
    if (line[name] != ':' || !is_token(line, name) || strpbrk(line, "\r\n") != NULL) {
        pl_err_set(p->err, PL_USAGE, "this is no header: \"%s\"", parse_shown(p, line, name));
        pl_err_hint(p->err, "A header is written as \"Name: value\", on one line.");
        return p->err->code;
    }
    const char *value = line + name + 1;
    value += strspn(value, " \t");
    pair->name = parse_constant(p, line, name);
    pair->value = parse_constant(p, value, strlen(value));
    return PL_OK;
}

enum pl_code hurl_compile_plain(const struct hurl_plain *plain, struct names *names, struct pl_arena *arena,
                                struct program **ret_program, struct pl_err *err)
{
    struct parser p = {.file = "", .text = "", .arena = arena, .err = err, .names = names};
    struct hurl_request *request = pl_alloc(arena, 1, sizeof *request);
    struct hurl_pair *headers = pl_alloc(arena, plain->header_count + 1, sizeof *headers);
    struct parse_entry entry = {.request = request};
    if (!is_token(plain->method, strlen(plain->method))) {
        pl_err_set(err, PL_USAGE, "this is no method: \"%s\"", parse_shown(&p, plain->method, strlen(plain->method)));
        pl_err_hint(err, "A method is a word, like GET or POST.");
        return err->code;
    }
    for (size_t i = 0; i < plain->header_count; i++)
        if (plain_header(&p, plain->headers[i], &headers[i]) != PL_OK)
            return err->code;
    *request = (struct hurl_request){.facts = {.source = "", .max_redirects = REDIRECTS_MOST},
                                     .name = "",
                                     .names = names,
                                     .method = pl_strdup(arena, plain->method),
                                     .url = parse_constant(&p, plain->url, strlen(plain->url)),
                                     .headers = headers,
                                     .header_count = plain->header_count,
                                     .refuses_errors = !plain->any_status};
    if (plain->body != NULL) {
        request->body.kind = HURL_BODY_BYTES;
        request->body.bytes =
            (struct hurl_slice){.text = pl_strndup(arena, plain->body, plain->body_length), .length = plain->body_length};
    }
    settle_facts(request);
    entry.text = step_text(&p, plain->method, (struct hurl_slice){.text = plain->url, .length = strlen(plain->url)});
    if (!parse_begin(&p) || !parse_emit(&p, &entry))
        return err->code;
    *ret_program = make_program(&p);
    (*ret_program)->name = entry.text;
    return PL_OK;
}
