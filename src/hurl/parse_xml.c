/* XML as a body: only where its root element ends is looked for, and whether its tags match. Hurl puts no variables into
 * it. */
#include "hurl/parse_int.h"

#include <string.h>

#include "base/ban.h"

struct xml_reader {
    struct parser *p;
    struct hurl_slice open[PARSE_DEPTH_MOST]; /* names of the elements that are open */
    size_t open_at[PARSE_DEPTH_MOST];
    size_t depth;
};

static bool is_space(char c)
{
    return c == ' ' || c == '\t' || c == '\n' || c == '\r';
}

static void skip_spaces(struct parser *p)
{
    while (is_space(parse_peek(p, 0)))
        p->pos++;
}

static struct hurl_slice read_name(struct parser *p)
{
    size_t at = p->pos;
    while (parse_is_name_char(parse_peek(p, 0)) || parse_peek(p, 0) == ':' || parse_peek(p, 0) == '.')
        p->pos++;
    return parse_since(p, at);
}

/* From "<!--" and its kin to their end. */
static bool skip_to(struct parser *p, const char *end, const char *what)
{
    const char *found = memmem(p->text + p->pos, p->length - p->pos, end, strlen(end));
    if (found == NULL)
        return parse_fail(p, p->pos, "the XML %s that begins here does not end", what);
    p->pos = (size_t)(found - p->text) + strlen(end);
    return true;
}

/* "<!DOCTYPE name [ ... ]>": brackets and quotes may hold ">". */
static bool skip_doctype(struct parser *p)
{
    size_t at = p->pos;
    int brackets = 0;
    char quote = '\0';
    for (char c; (c = parse_peek(p, 0)) != '\0'; p->pos++) {
        if (quote != '\0') {
            quote = c == quote ? '\0' : quote;
        } else if (c == '"' || c == '\'') {
            quote = c;
        } else if (c == '>' && brackets == 0) {
            p->pos++;
            return true;
        } else {
            brackets += (c == '[') - (c == ']');
        }
    }
    p->pos = at;
    return parse_fail(p, at, "the XML declaration that begins here does not end");
}

static bool read_attribute(struct parser *p)
{
    size_t at = p->pos;
    if (read_name(p).length == 0)
        return parse_fail(p, at, "an attribute, \">\" or \"/>\" should stand here");
    skip_spaces(p);
    if (parse_peek(p, 0) != '=')
        return parse_fail(p, p->pos, "\"=\" is missing after the name of the attribute");
    p->pos++;
    skip_spaces(p);
    char quote = parse_peek(p, 0);
    if (quote != '"' && quote != '\'')
        return parse_fail(p, p->pos, "the value of an attribute stands in quotes");
    size_t open = p->pos++;
    const char *found = memchr(p->text + p->pos, quote, p->length - p->pos);
    if (found == NULL)
        return parse_fail(p, open, "the value that begins here does not end");
    p->pos = (size_t)(found - p->text) + 1;
    return true;
}

/* "<name a='b'>" or "<name/>" */
static bool read_open_tag(struct xml_reader *reader)
{
    struct parser *p = reader->p;
    size_t at = p->pos++;
    struct hurl_slice name = read_name(p);
    if (name.length == 0)
        return parse_fail(p, at, "the name of an XML element is missing");
    for (skip_spaces(p); parse_peek(p, 0) != '>' && !parse_starts(p, "/>"); skip_spaces(p))
        if (!read_attribute(p))
            return false;
    if (parse_peek(p, 0) == '/') {
        p->pos += 2;
        return true;
    }
    p->pos++;
    if (reader->depth == PARSE_DEPTH_MOST)
        return parse_fail_code(p, PL_LIMIT, at, "the XML is more than %d levels deep", PARSE_DEPTH_MOST);
    reader->open_at[reader->depth] = at;
    reader->open[reader->depth++] = name;
    return true;
}

static bool read_close_tag(struct xml_reader *reader)
{
    struct parser *p = reader->p;
    size_t at = p->pos;
    p->pos += 2;
    struct hurl_slice name = read_name(p);
    if (reader->depth == 0)
        return parse_fail(p, at, "no element is open that this closes");
    struct hurl_slice open = reader->open[reader->depth - 1];
    if (name.length != open.length || memcmp(name.text, open.text, name.length) != 0)
        return parse_fail(p, at, "</%s> should close the element that is open", parse_shown(p, open.text, open.length));
    skip_spaces(p);
    if (parse_peek(p, 0) != '>')
        return parse_fail(p, p->pos, "\">\" is missing");
    p->pos++;
    reader->depth--;
    return true;
}

/* At "<"; *ret_is_element: it was a tag. */
static bool read_markup(struct xml_reader *reader, bool *ret_is_element)
{
    struct parser *p = reader->p;
    *ret_is_element = false;
    if (parse_starts(p, "<?"))
        return skip_to(p, "?>", "instruction");
    if (parse_starts(p, "<!--"))
        return skip_to(p, "-->", "comment");
    if (parse_starts(p, "<![CDATA["))
        return reader->depth > 0 ? skip_to(p, "]]>", "section") : parse_fail(p, p->pos, "CDATA stands inside an element");
    if (parse_starts(p, "<!"))
        return skip_doctype(p);
    *ret_is_element = true;
    return parse_peek(p, 1) == '/' ? read_close_tag(reader) : read_open_tag(reader);
}

bool parse_xml(struct parser *p, struct hurl_slice *ret_bytes)
{
    struct xml_reader reader = {.p = p, .depth = 0};
    size_t at = p->pos;
    for (bool is_element = false; !is_element || reader.depth > 0;) {
        const char *next = memchr(p->text + p->pos, '<', p->length - p->pos);
        if (reader.depth == 0)
            skip_spaces(p);
        else if (next != NULL)
            p->pos = (size_t)(next - p->text);
        if (next == NULL && reader.depth > 0)
            return parse_fail(p, reader.open_at[reader.depth - 1], "the XML element that begins here does not end");
        if (parse_peek(p, 0) != '<')
            return parse_fail(p, p->pos, "an XML element should stand here");
        if (!read_markup(&reader, &is_element))
            return false;
    }
    *ret_bytes = parse_since(p, at);
    return true;
}
