/* Messages. */
#include "httpload/say_int.h"

#include <stdarg.h>
#include <stdint.h>
#include <string.h>

#include "base/buf.h"
#include "base/utf8.h"

#include "base/ban.h"

enum { MESSAGE_BYTES = 8192 };

static bool is_control(uint32_t code)
{
    return code < 0x20 || (code >= 0x7F && code < 0xA0);
}

/* One character of the text, as it may be shown; returns how many bytes it took. */
static size_t clean_one(struct pl_buf *out, const char *text, size_t left, bool keeps_lines)
{
    uint32_t code = 0;
    const unsigned char *bytes = (const unsigned char *)text;
    size_t taken = pl_utf8_decode(bytes, left, &code);
    if (taken > 0 && (!is_control(code) || (keeps_lines && code == '\n'))) {
        pl_buf_put_bytes(out, text, taken);
        return taken;
    }
    taken = taken > 0 ? taken : 1;
    for (size_t i = 0; i < taken; i++)
        pl_buf_printf(out, "\\x%02x", bytes[i]);
    return taken;
}

const char *httpload_clean(struct pl_arena *arena, const char *text, size_t most, bool keeps_lines)
{
    struct pl_buf out;
    size_t length = strlen(text), at = 0;
    pl_buf_init(&out, 4 * most + 8);
    while (at < length) {
        size_t before = out.len;
        size_t taken = clean_one(&out, text + at, length - at, keeps_lines);
        if (out.len > most) {
            out.len = before;
            break;
        }
        at += taken;
    }
    const char *clean = pl_strndup(arena, pl_buf_text(&out), out.len);
    pl_buf_release(&out);
    return at < length ? pl_format(arena, "%s...", clean) : clean;
}

/* One write for one message: lines of several programs on one terminal do not mix. */
static bool put(const char *text)
{
    struct pl_arena *arena = pl_arena_new();
    fprintf(stderr, "plimsoll http: %s\n", httpload_clean(arena, text, MESSAGE_BYTES, true));
    pl_arena_free(arena);
    return false;
}

bool httpload_say(const char *fmt, ...)
{
    char text[MESSAGE_BYTES];
    va_list args;
    va_start(args, fmt);
    vsnprintf(text, sizeof text, fmt, args);
    va_end(args);
    return put(text);
}

bool httpload_say_err(const struct pl_err *err)
{
    char text[4096];
    return put(pl_err_text(err, text, sizeof text));
}
