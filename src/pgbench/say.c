/* Messages. */
#include "pgbench/say_int.h"

#include <stdarg.h>
#include <stdio.h>

#include "base/buf.h"

#include "base/ban.h"

enum { MAX_TEXT_BYTES = 64 * 1024 };

static const char *level_words(enum pgbench_level level)
{
    switch (level) {
    case SAY_ERROR:
        return "error: ";
    case SAY_WARNING:
        return "warning: ";
    case SAY_DETAIL:
        return "detail: ";
    case SAY_HINT:
        return "hint: ";
    case SAY_INFO:
        break;
    }
    return "";
}

/* One write for one message: lines of several programs on one terminal do not mix. */
static void put(enum pgbench_level level, const char *text, int length)
{
    while (length > 0 && text[length - 1] == '\n')
        length--;
    fprintf(stderr, "pgbench: %s%.*s\n", level_words(level), length, text);
}

void pgbench_say(enum pgbench_level level, const char *fmt, ...)
{
    char text[8192];
    va_list args;
    va_start(args, fmt);
    int length = vsnprintf(text, sizeof text, fmt, args);
    va_end(args);
    put(level, text, length < 0 ? 0 : length < (int)sizeof text ? length : (int)sizeof text - 1);
}

void pgbench_say_err(const struct pl_err *err)
{
    struct pl_buf text;
    pl_buf_init(&text, MAX_TEXT_BYTES);
    if (err->file[0] != '\0')
        pl_buf_printf(&text, "%s:", err->file);
    if (err->line > 0)
        pl_buf_printf(&text, "%d:", err->line);
    pl_buf_printf(&text, "%s%s", text.len > 0 ? " " : "", err->what);
    if (err->hint[0] != '\0')
        pl_buf_printf(&text, "\n%s", err->hint);
    put(SAY_ERROR, pl_buf_text(&text), (int)text.len);
    pl_buf_release(&text);
}
