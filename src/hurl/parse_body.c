/* Bodies of requests and responses, and included files. */
#include "hurl/parse_int.h"

#include <errno.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>

#include "base/file.h"

#include "base/ban.h"

/* ---- included files ---- */

/* The folder of the script, when no root was given. */
static const char *root_of(struct parser *p)
{
    if (p->root != NULL)
        return p->root;
    const char *slash = strrchr(p->file, '/');
    return slash == NULL ? "." : pl_strndup(p->arena, p->file, (size_t)(slash - p->file) + 1);
}

static bool check_name(struct parser *p, size_t at, struct hurl_slice name)
{
    if (name.length == 0)
        return parse_fail(p, at, "the name of a file is missing");
    if (memchr(name.text, '\0', name.length) != NULL)
        return parse_fail(p, at, "the name of a file holds no NUL");
    if (name.text[0] == '/')
        return parse_fail(p, at, "a file is named relative to the folder of its script");
    for (const char *part = name.text; part != NULL; part = strchr(part, '/'), part = part != NULL ? part + 1 : NULL)
        if (strncmp(part, "..", 2) == 0 && (part[2] == '/' || part[2] == '\0'))
            return parse_fail(p, at, "\"..\" leads out of the folder of the script");
    return true;
}

/* Follows symbolic links: where they lead must be inside the root. */
static bool resolve(struct parser *p, size_t at, const char *name, const char **ret_path)
{
    char root[PATH_MAX], path[PATH_MAX];
    const char *given = root_of(p);
    if (realpath(given, root) == NULL)
        return parse_fail_code(p, PL_NOT_FOUND, at, "the folder \"%s\" cannot be read: %s", given, strerror(errno));
    const char *joined = pl_format(p->arena, "%s/%s", root, name);
    if (realpath(joined, path) == NULL)
        return parse_fail_code(p, PL_NOT_FOUND, at, "the file \"%s\" cannot be read: %s", name, strerror(errno));
    size_t length = strcmp(root, "/") == 0 ? 0 : strlen(root);
    if (strncmp(path, root, length) != 0 || path[length] != '/')
        return parse_fail(p, at, "the file \"%s\" is a link that leads out of the folder of the script", name);
    *ret_path = pl_strdup(p->arena, path);
    return true;
}

/* Each file is read once, however often it is included. */
static bool read_file(struct parser *p, size_t at, const char *path, struct hurl_slice *ret_bytes)
{
    for (size_t i = 0; i < p->included_count; i++)
        if (strcmp(p->included[i].path, path) == 0) {
            *ret_bytes = p->included[i].bytes;
            return true;
        }
    char *text = NULL;
    struct pl_err err = {0};
    enum pl_code code = pl_file_read(path, PARSE_FILE_BYTES, p->arena, &text, &ret_bytes->length, &err);
    if (code != PL_OK)
        return parse_fail_code(p, code, at, "%s", err.what);
    ret_bytes->text = text;
    p->included_bytes += ret_bytes->length;
    if (p->included_bytes > PARSE_FILES_BYTES)
        return parse_fail_code(p, PL_LIMIT, at, "the files of this script are larger than %d bytes", PARSE_FILES_BYTES);
    p->included = pl_grow(p->arena, p->included, p->included_count, p->included_count + 1, sizeof *p->included,
                          &p->included_capacity);
    p->included[p->included_count++] = (struct parse_included){.path = path, .bytes = *ret_bytes};
    return true;
}

bool parse_included(struct parser *p, struct hurl_slice *ret_name, struct hurl_slice *ret_bytes)
{
    const char *path = NULL;
    parse_skip_blanks(p);
    size_t at = p->pos;
    if (!parse_constant_text(p, STYLE_FILE_NAME, "the name of a file", ret_name) || !check_name(p, at, *ret_name) ||
        !resolve(p, at, ret_name->text, &path) || !read_file(p, at, path, ret_bytes))
        return false;
    parse_skip_blanks(p);
    if (parse_peek(p, 0) != ';')
        return parse_fail(p, p->pos, "\";\" is missing after the name of the file; blanks in it are written \"\\ \"");
    p->pos++;
    return true;
}

/* ---- bytes ---- */

static int base64_digit(char c)
{
    static const char digits[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    const char *found = c != '\0' ? strchr(digits, c) : NULL;
    return found != NULL ? (int)(found - digits) : -1;
}

static bool is_space(char c)
{
    return c == ' ' || c == '\t' || c == '\n' || c == '\r';
}

/* What an encoding takes in: `bits` of each digit. */
struct bit_reader {
    int bits;
    int (*digit)(char c);
    uint32_t held, held_bits;
    size_t end; /* behind the last digit */
};

/* Digits and white space, up to the first other character. */
static size_t read_digits(struct parser *p, struct bit_reader *reader)
{
    size_t count = 0;
    for (char c; (c = parse_peek(p, 0)) != '\0'; p->pos++) {
        int digit = reader->digit(c);
        if (digit < 0 && !is_space(c))
            break;
        if (digit < 0)
            continue;
        count++;
        reader->end = p->pos + 1;
        reader->held = reader->held << reader->bits | (uint32_t)digit;
        reader->held_bits += (uint32_t)reader->bits;
        if (reader->held_bits >= 8) {
            reader->held_bits -= 8;
            char byte = (char)(reader->held >> reader->held_bits);
            parse_put(p, &byte, 1);
        }
    }
    return count;
}

static struct hurl_slice take_scratch(struct parser *p)
{
    struct hurl_slice bytes = {.text = pl_strndup(p->arena, p->scratch, p->scratch_length), .length = p->scratch_length};
    p->scratch_length = 0;
    return bytes;
}

static bool read_hex(struct parser *p, struct hurl_slice *ret_bytes)
{
    struct bit_reader reader = {.bits = 4, .digit = parse_hex_digit, .end = p->pos};
    size_t count = read_digits(p, &reader);
    *ret_bytes = take_scratch(p);
    return count % 2 == 0 || parse_fail(p, reader.end, "an odd number of hexadecimal digits: a byte has two");
}

/* Padding may be left out. */
static bool read_base64(struct parser *p, struct hurl_slice *ret_bytes)
{
    enum { PADDING_MOST = 2 };
    struct bit_reader reader = {.bits = 6, .digit = base64_digit, .end = p->pos};
    size_t count = read_digits(p, &reader);
    *ret_bytes = take_scratch(p);
    if (count % 4 == 1)
        return parse_fail(p, reader.end, "this is no base64: a digit is missing or too much");
    for (int i = 0; i < PADDING_MOST && parse_peek(p, 0) == '='; i++)
        do
            p->pos++;
        while (is_space(parse_peek(p, 0)));
    return true;
}

bool parse_is_bytes(const struct parser *p)
{
    return parse_starts(p, "hex,") || parse_starts(p, "base64,") || parse_starts(p, "file,");
}

bool parse_bytes(struct parser *p, struct hurl_slice *ret_bytes)
{
    struct hurl_slice name;
    char kind = parse_peek(p, 0);
    p->pos += strlen(kind == 'h' ? "hex," : kind == 'b' ? "base64," : "file,");
    if (kind == 'f')
        return parse_included(p, &name, ret_bytes);
    if (!(kind == 'h' ? read_hex(p, ret_bytes) : read_base64(p, ret_bytes)))
        return false;
    if (parse_peek(p, 0) != ';') {
        while (p->pos > 0 && is_space(p->text[p->pos - 1]) && p->lines[parse_place(p, p->pos).line - 1] == p->pos)
            p->pos--; /* what is missing is missing on the line of the bytes */
        return parse_fail(p, p->pos, "\";\" is missing at the end of the bytes");
    }
    p->pos++;
    return true;
}

/* ---- several lines ---- */

enum multi_line_hint {
    HINT_NONE,
    HINT_RAW,
    HINT_JSON,
    HINT_XML,
    HINT_GRAPHQL,
    HINT_HEX,
    HINT_BASE64,
    HINT_ESCAPE,
    HINT_NO_VARIABLE
};

static const struct parse_word hint_words[] = {
    {"base64", HINT_BASE64, 0, NULL}, {"escape", HINT_ESCAPE, 0, NULL}, {"graphql", HINT_GRAPHQL, 0, NULL},
    {"hex", HINT_HEX, 0, NULL},       {"json", HINT_JSON, 0, NULL},     {"novariable", HINT_NO_VARIABLE, 0, NULL},
    {"raw", HINT_RAW, 0, NULL},       {"xml", HINT_XML, 0, NULL},
};

const struct parse_words parse_hints = {"hint", hint_words, sizeof hint_words / sizeof hint_words[0]};

struct multi_line {
    enum multi_line_hint hint;
    bool is_escaped, has_no_variables;
};

static bool at_fence(const struct parser *p)
{
    return parse_starts(p, "```");
}

/* "```json,escape" and the end of the line. */
static bool read_hints(struct parser *p, struct multi_line *form)
{
    do {
        p->pos += parse_peek(p, 0) == ',';
        parse_skip_blanks(p);
        size_t at = p->pos;
        struct hurl_slice word = parse_word(p);
        const struct parse_word *found = parse_find(&parse_hints, word);
        if (word.length == 0)
            continue;
        if (found == NULL)
            return parse_fail_word(p, at, word, &parse_hints, NULL);
        if (found->kind == HINT_ESCAPE)
            form->is_escaped = true;
        else if (found->kind == HINT_NO_VARIABLE)
            form->has_no_variables = true;
        else
            form->hint = (enum multi_line_hint)found->kind;
        parse_skip_blanks(p);
    } while (parse_peek(p, 0) == ',');
    form->has_no_variables = form->has_no_variables || form->hint == HINT_RAW;
    p->pos += parse_peek(p, 0) == '\r';
    if (parse_peek(p, 0) != '\n')
        return parse_line_end(p);
    p->pos++;
    return true;
}

/* "variables {...}" at the beginning of a line of a GraphQL body. */
static bool at_variables(const struct parser *p)
{
    size_t length = strlen("variables");
    char before = p->text[p->pos - 1], after;
    if (before != '\n' || !parse_starts(p, "variables"))
        return false;
    while ((after = parse_peek(p, length)) == ' ' || after == '\t')
        length++;
    return after == '{' || after == '\n' || after == '\r' || after == '`';
}

static bool read_lines(struct parser *p, size_t open, const struct multi_line *form, struct hurl_text *ret_text)
{
    struct parse_pieces pieces = {0};
    while (!at_fence(p) && !(form->hint == HINT_GRAPHQL && at_variables(p))) {
        char c = parse_peek(p, 0);
        if (c == '\0')
            return parse_fail(p, open, "the text that begins here does not end: ``` is missing");
        if (c == '{' && parse_peek(p, 1) == '{' && !form->has_no_variables) {
            if (!parse_put_expression(p, &pieces))
                return false;
        } else if (c == '\\' && form->is_escaped) {
            if (!parse_put_escape(p))
                return false;
        } else {
            parse_put(p, p->text + p->pos++, 1);
        }
    }
    parse_end_text(p, &pieces, ret_text);
    return true;
}

static bool read_graphql_variables(struct parser *p, struct hurl_body *body)
{
    body->kind = HURL_BODY_GRAPHQL;
    if (at_fence(p))
        return true;
    p->pos += strlen("variables");
    parse_skip_blanks(p);
    if (parse_peek(p, 0) != '{')
        return parse_fail(p, p->pos, "a JSON object should follow \"variables\"");
    if (!parse_json(p, &body->variables))
        return false;
    while (is_space(parse_peek(p, 0)))
        p->pos++;
    return at_fence(p) || parse_fail(p, p->pos, "``` should follow the variables");
}

static bool read_encoded(struct parser *p, size_t open, enum multi_line_hint hint, struct hurl_body *body)
{
    body->kind = HURL_BODY_BYTES;
    if (!(hint == HINT_HEX ? read_hex(p, &body->bytes) : read_base64(p, &body->bytes)))
        return false;
    if (parse_peek(p, 0) == '\0')
        return parse_fail(p, open, "the text that begins here does not end: ``` is missing");
    return at_fence(p) || parse_fail(p, p->pos, "this is no %s", hint == HINT_HEX ? "hexadecimal digit" : "base64");
}

/* "```text```" on one line has no hints. */
static bool is_on_one_line(const struct parser *p)
{
    size_t line = p->length - p->pos;
    const char *newline = memchr(p->text + p->pos, '\n', line);
    line = newline != NULL ? (size_t)(newline - p->text) - p->pos : line;
    return memmem(p->text + p->pos, line, "```", 3) != NULL;
}

bool parse_multi_line(struct parser *p, struct hurl_body *ret_body)
{
    size_t open = p->pos;
    struct multi_line form = {.hint = HINT_NONE};
    p->pos += 3;
    ret_body->kind = HURL_BODY_TEXT;
    if (!is_on_one_line(p) && !read_hints(p, &form))
        return false;
    bool is_encoded = form.hint == HINT_HEX || form.hint == HINT_BASE64;
    if (!(is_encoded ? read_encoded(p, open, form.hint, ret_body) : read_lines(p, open, &form, &ret_body->text)))
        return false;
    if (form.hint == HINT_GRAPHQL && !read_graphql_variables(p, ret_body))
        return false;
    ret_body->content_type = form.hint == HINT_JSON || form.hint == HINT_GRAPHQL ? "application/json"
                             : form.hint == HINT_XML                             ? "application/xml"
                                                                                 : NULL;
    p->pos += 3;
    return true;
}

/* ---- any body ---- */

static bool is_json(const struct parser *p)
{
    char c = parse_peek(p, 0);
    if (c != '\0' && (strchr("{[\"-", c) != NULL || parse_is_digit(c)))
        return true;
    static const char *const words[] = {"true", "false", "null"};
    for (size_t i = 0; i < sizeof words / sizeof words[0]; i++)
        if (parse_starts(p, words[i]) && !parse_is_alnum(parse_peek(p, strlen(words[i]))))
            return true;
    return false;
}

static bool read_body(struct parser *p, struct hurl_body *body)
{
    char c = parse_peek(p, 0);
    if (at_fence(p))
        return parse_multi_line(p, body);
    body->kind = HURL_BODY_TEXT;
    if (c == '`')
        return parse_text(p, STYLE_BACKTICK, &body->text);
    if (c == '<') {
        struct hurl_slice xml;
        body->content_type = "application/xml";
        if (!parse_xml(p, &xml))
            return false;
        body->text = parse_constant(p, xml.text, xml.length);
        return true;
    }
    if (is_json(p)) {
        body->is_json = true;
        body->content_type = "application/json";
        return parse_json(p, &body->text);
    }
    body->kind = HURL_BODY_BYTES;
    return parse_bytes(p, &body->bytes);
}

bool parse_body(struct parser *p, struct hurl_body *ret_body)
{
    *ret_body = (struct hurl_body){.kind = HURL_BODY_NONE};
    parse_skip_lines(p);
    char c = parse_peek(p, 0);
    if (c != '`' && c != '<' && !is_json(p) && !parse_is_bytes(p))
        return true;
    ret_body->place = parse_place(p, p->pos);
    return read_body(p, ret_body) && parse_line_end(p);
}
