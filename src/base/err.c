/* Filling and printing the one error struct. */
#include "base/err.h"

#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/ban.h"

static const char *const code_names[] = {
#define PL_CODE_TEXT(name, text) [name] = text,
    PL_CODES(PL_CODE_TEXT)
#undef PL_CODE_TEXT
};

/* Cuts text that was too long for its field back to a whole UTF-8 character: errors go into JSON and study files. */
static void trim_to_character(char *text, size_t length)
{
    size_t start = length;
    while (start > 0 && ((unsigned char)text[start - 1] & 0xc0) == 0x80)
        start--;
    if (start == 0)
        return;
    unsigned char lead = (unsigned char)text[start - 1];
    size_t wanted = lead >= 0xf0 ? 4 : lead >= 0xe0 ? 3 : lead >= 0xc0 ? 2 : 1;
    if (length - (start - 1) < wanted)
        text[start - 1] = '\0';
}

/* Puts head and tail together into a field; either may be (part of) the field itself. */
static void field_join(char *field, size_t size, const char *head, const char *tail)
{
    char joined[1024];
    snprintf(joined, sizeof joined, "%s%s", head, tail);
    size_t length = strlen(joined);
    if (length >= size) {
        length = size - 1;
        joined[length] = '\0';
        trim_to_character(joined, length);
        length = strlen(joined);
    }
    memcpy(field, joined, length + 1);
}

PL_PRINTF(3, 0) static void field_format(char *field, size_t size, const char *fmt, va_list args)
{
    char text[1024];
    vsnprintf(text, sizeof text, fmt, args);
    field_join(field, size, text, "");
}

PL_PRINTF(3, 0) static void err_fill(struct pl_err *err, enum pl_code code, const char *fmt, va_list args)
{
    assert(code != PL_OK);
    err->code = code;
    field_format(err->what, sizeof err->what, fmt, args);
}

enum pl_code pl_err_set(struct pl_err *err, enum pl_code code, const char *fmt, ...)
{
    if (err->code == PL_OK) {
        va_list args;
        va_start(args, fmt);
        err_fill(err, code, fmt, args);
        va_end(args);
    }
    return err->code;
}

enum pl_code pl_err_os(struct pl_err *err, enum pl_code code, int os_errno, const char *fmt, ...)
{
    if (err->code == PL_OK) {
        va_list args;
        va_start(args, fmt);
        err_fill(err, code, fmt, args);
        va_end(args);
        err->os_errno = os_errno;
        char reason[200];
        snprintf(reason, sizeof reason, ": %s", strerror(os_errno));
        field_join(err->what, sizeof err->what, err->what, reason);
    }
    return err->code;
}

enum pl_code pl_err_at(struct pl_err *err, enum pl_code code, const char *file, int line, int col, const char *fmt, ...)
{
    if (err->code == PL_OK) {
        va_list args;
        va_start(args, fmt);
        err_fill(err, code, fmt, args);
        va_end(args);
        field_join(err->file, sizeof err->file, file != NULL ? file : "", "");
        err->line = line;
        err->col = col;
    }
    return err->code;
}

void pl_err_hint(struct pl_err *err, const char *fmt, ...)
{
    assert(err->code != PL_OK);
    if (err->hint[0] != '\0')
        return;
    va_list args;
    va_start(args, fmt);
    field_format(err->hint, sizeof err->hint, fmt, args);
    va_end(args);
}

void pl_err_context(struct pl_err *err, const char *fmt, ...)
{
    assert(err->code != PL_OK);
    char context[sizeof err->what - 2];
    va_list args;
    va_start(args, fmt);
    field_format(context, sizeof context, fmt, args);
    va_end(args);
    char old[sizeof err->what + 2];
    snprintf(old, sizeof old, ": %s", err->what);
    field_join(err->what, sizeof err->what, context, old);
}

const char *pl_err_text(const struct pl_err *err, char *buf, size_t buf_size)
{
    char place[240] = "";
    if (err->file[0] != '\0' && err->line > 0)
        snprintf(place, sizeof place, "%s:%d:%d: ", err->file, err->line, err->col);
    else if (err->file[0] != '\0')
        snprintf(place, sizeof place, "%s: ", err->file);
    snprintf(buf, buf_size, "%s%s%s%s", place, err->what, err->hint[0] != '\0' ? "\n" : "", err->hint);
    return buf;
}

const char *pl_code_name(enum pl_code code)
{
    return code >= 0 && code < PL_CODE_COUNT ? code_names[code] : "unknown";
}

void pl_panic(const char *fmt, ...)
{
    va_list args;
    fputs("plimsoll: internal fault: ", stderr);
    va_start(args, fmt);
    vfprintf(stderr, fmt, args);
    va_end(args);
    fputc('\n', stderr);
    abort();
}
