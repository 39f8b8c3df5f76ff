/* The bytes of a plan: UTF-8 or not, and where in the text a byte stands. */
#include "plan/yaml_int.h"

#include <stdbool.h>
#include <stdint.h>

#include "base/ban.h"

struct place plan_text_place(const char *text, size_t length, size_t offset)
{
    struct place place = {1, 1};
    for (size_t i = 0; i < offset && i < length; i++) {
        if (text[i] == '\n' || (text[i] == '\r' && (i + 1 >= length || text[i + 1] != '\n'))) {
            place.line++;
            place.col = 1;
        } else if (((unsigned char)text[i] & 0xc0) != 0x80) {
            place.col++;
        }
    }
    return place;
}

struct place plan_text_indent_tab(const char *text, size_t length, int line)
{
    size_t i = 0;
    for (int now = 1; now < line && i < length; i++)
        if (text[i] == '\n')
            now++;
    for (int col = 1; i < length && (text[i] == ' ' || text[i] == '\t'); i++, col++)
        if (text[i] == '\t')
            return (struct place){line, col};
    return (struct place){0, 0};
}

/* Reads one character; returns its length, or 0 when the bytes are no UTF-8 (overlong forms and surrogates included). */
static size_t utf8_next(const unsigned char *bytes, size_t length, uint32_t *ret_code)
{
    static const uint32_t least[] = {0, 0, 0x80, 0x800, 0x10000};
    size_t size = bytes[0] < 0x80 ? 1 : bytes[0] >> 5 == 6 ? 2 : bytes[0] >> 4 == 14 ? 3 : bytes[0] >> 3 == 30 ? 4 : 0;
    if (size == 0 || size > length)
        return 0;
    uint32_t code = size == 1 ? bytes[0] : bytes[0] & (0x7fU >> size);
    for (size_t i = 1; i < size; i++) {
        if ((bytes[i] & 0xc0) != 0x80)
            return 0;
        code = code << 6 | (bytes[i] & 0x3fU);
    }
    if (code < least[size] || code > 0x10ffff || (code >= 0xd800 && code <= 0xdfff))
        return 0;
    *ret_code = code;
    return size;
}

/* YAML 1.1, production c-printable. */
static bool is_printable(uint32_t code)
{
    return code == '\t' || code == '\n' || code == '\r' || (code >= 0x20 && code <= 0x7e) || code == 0x85 ||
           (code >= 0xa0 && code <= 0xd7ff) || (code >= 0xe000 && code <= 0xfffd) || code >= 0x10000;
}

enum pl_code plan_text_check(const char *path, const char *text, size_t length, struct pl_err *err)
{
    const unsigned char *bytes = (const unsigned char *)text;
    for (size_t i = 0; i < length;) {
        uint32_t code = 0;
        size_t size = utf8_next(bytes + i, length - i, &code);
        if (size > 0 && is_printable(code)) {
            i += size;
            continue;
        }
        struct place place = plan_text_place(text, length, i);
        if (size > 0) {
            pl_err_at(err, PL_INPUT, path, place.line, place.col, "the control character U+%04X cannot stand in a plan",
                      (unsigned)code);
            pl_err_hint(err, "Remove it; a plan is plain text in UTF-8.");
        } else {
            pl_err_at(err, PL_INPUT, path, place.line, place.col, "the byte 0x%02X is not UTF-8", bytes[i]);
            pl_err_hint(err, "Save the file in the encoding UTF-8, without which names and units cannot be read.");
        }
        return err->code;
    }
    return PL_OK;
}
