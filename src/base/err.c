/* Filling and printing the one error struct. */
#include "base/err.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/ban.h"

static const char *const code_names[] = {
#define PL_CODE_TEXT(name, text) [name] = text,
    PL_CODES(PL_CODE_TEXT)
#undef PL_CODE_TEXT
};

static void err_fill(struct pl_err *err, enum pl_code code, const char *fmt, va_list args)
{
    err->code = code;
    vsnprintf(err->what, sizeof err->what, fmt, args);
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
        size_t used = strlen(err->what);
        snprintf(err->what + used, sizeof err->what - used, ": %s", strerror(os_errno));
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
        snprintf(err->file, sizeof err->file, "%s", file != NULL ? file : "");
        err->line = line;
        err->col = col;
    }
    return err->code;
}

void pl_err_hint(struct pl_err *err, const char *fmt, ...)
{
    if (err->hint[0] != '\0')
        return;
    va_list args;
    va_start(args, fmt);
    vsnprintf(err->hint, sizeof err->hint, fmt, args);
    va_end(args);
}

void pl_err_context(struct pl_err *err, const char *fmt, ...)
{
    char old[sizeof err->what];
    memcpy(old, err->what, sizeof old);
    va_list args;
    va_start(args, fmt);
    vsnprintf(err->what, sizeof err->what, fmt, args);
    va_end(args);
    size_t used = strlen(err->what);
    snprintf(err->what + used, sizeof err->what - used, ": %s", old);
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
