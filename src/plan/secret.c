/* What of a plan must not be kept: a study holds the plan's text, and a page shows it. */
#include "plan/plan.h"

#include <string.h>

#include "base/buf.h"
#include "base/limits.h"
#include "plan/plan_int.h"

#include "base/ban.h"

static void hide_as(struct reader *reader, const struct node *node, const char *instead)
{
    reader->secrets = pl_grow(reader->arena, reader->secrets, reader->secret_count, reader->secret_count + 1,
                              sizeof *reader->secrets, &reader->secret_capacity);
    size_t at = reader->secret_count++;
    for (; at > 0 && reader->secrets[at - 1].start > node->start; at--)
        reader->secrets[at] = reader->secrets[at - 1];
    reader->secrets[at] = (struct secret){.start = node->start, .end = node->end, .instead = instead};
}

void plan_hide(struct reader *reader, const struct node *node)
{
    hide_as(reader, node, "***");
}

void plan_hide_url(struct reader *reader, const struct node *node)
{
    const char *authority = strstr(node->text, "://");
    if (authority == NULL)
        return;
    authority += 3;
    size_t length = strcspn(authority, "/?#");
    const char *at = memrchr(authority, '@', length);
    if (at != NULL)
        hide_as(reader, node, pl_format(reader->arena, "%.*s***%s", (int)(authority - node->text), node->text, at));
}

/* A text in double quotes, as YAML reads it. */
static void put_quoted(struct pl_buf *out, const char *text)
{
    pl_buf_put(out, "\"");
    for (const char *c = text; *c != '\0'; c++) {
        if (*c == '"' || *c == '\\')
            pl_buf_put(out, "\\");
        pl_buf_put_bytes(out, (unsigned char)*c < 0x20 ? " " : c, 1);
    }
    pl_buf_put(out, "\"");
}

static bool is_inside_character(char c)
{
    return ((unsigned char)c & 0xc0) == 0x80;
}

const char *plan_text_kept(struct reader *reader, const char *text, size_t length, size_t *ret_length)
{
    static const char mark[] = "\xef\xbb\xbf"; /* a byte order mark is no character for the parser */
    struct pl_buf out;
    pl_buf_init(&out, 2 * PL_MAX_PLAN_BYTES);
    size_t i = length >= 3 && memcmp(text, mark, 3) == 0 ? 3 : 0, from = 0, character = 0;
    for (size_t k = 0; k < reader->secret_count; k++) {
        const struct secret *secret = &reader->secrets[k];
        size_t start = i;
        for (; i < length && character < secret->end; character++) {
            if (character == secret->start)
                start = i;
            i++;
            while (i < length && is_inside_character(text[i]))
                i++;
        }
        pl_buf_put_bytes(&out, text + from, start - from);
        put_quoted(&out, secret->instead);
        /* a text over several lines ends with the line break behind it */
        if (i > start && text[i - 1] == '\n')
            pl_buf_put(&out, "\n");
        from = i;
    }
    pl_buf_put_bytes(&out, text + from, length - from);
    const char *kept = pl_strndup(reader->arena, out.data, out.len);
    *ret_length = out.len;
    pl_buf_release(&out);
    return kept;
}
