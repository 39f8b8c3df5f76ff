/* Bytes from outside made safe to show: always valid UTF-8, nothing invisible. */
#include "page/page_int.h"

#include <string.h>

#include "base/ban.h"

#define REPLACEMENT 0xFFFDU

/* Decodes one character; returns its length, or 0 when the bytes are not UTF-8 (overlong, surrogate, too large, cut off).
 */
static size_t utf8_decode(const unsigned char *bytes, size_t left, uint32_t *ret_code)
{
    static const struct {
        unsigned char mask, lead;
        size_t length;
        uint32_t least;
    } forms[] = {{0x80, 0x00, 1, 0}, {0xE0, 0xC0, 2, 0x80}, {0xF0, 0xE0, 3, 0x800}, {0xF8, 0xF0, 4, 0x10000}};
    for (size_t i = 0; i < 4; i++) {
        if ((bytes[0] & forms[i].mask) != forms[i].lead)
            continue;
        if (forms[i].length > left)
            return 0;
        uint32_t code = bytes[0] & (unsigned char)~forms[i].mask;
        for (size_t k = 1; k < forms[i].length; k++) {
            if ((bytes[k] & 0xC0) != 0x80)
                return 0;
            code = code << 6 | (bytes[k] & 0x3FU);
        }
        if (code < forms[i].least || code > 0x10FFFF || (code >= 0xD800 && code <= 0xDFFF))
            return 0;
        *ret_code = code;
        return forms[i].length;
    }
    return 0;
}

static char *utf8_encode(char *at, uint32_t code)
{
    if (code < 0x80) {
        *at++ = (char)code;
    } else if (code < 0x800) {
        *at++ = (char)(0xC0 | code >> 6);
        *at++ = (char)(0x80 | (code & 0x3F));
    } else if (code < 0x10000) {
        *at++ = (char)(0xE0 | code >> 12);
        *at++ = (char)(0x80 | (code >> 6 & 0x3F));
        *at++ = (char)(0x80 | (code & 0x3F));
    } else {
        *at++ = (char)(0xF0 | code >> 18);
        *at++ = (char)(0x80 | (code >> 12 & 0x3F));
        *at++ = (char)(0x80 | (code >> 6 & 0x3F));
        *at++ = (char)(0x80 | (code & 0x3F));
    }
    return at;
}

static uint32_t as_is(uint32_t code)
{
    return code;
}

/* Bidirectional overrides and isolates, zero-width characters and separators can make a text read as what it is not. */
static bool is_deceptive(uint32_t code)
{
    return (code >= 0x80 && code < 0xA0) || (code >= 0x200B && code <= 0x200F) || (code >= 0x2028 && code <= 0x202E) ||
           (code >= 0x2060 && code <= 0x206F) || code == 0xFEFF || code == 0x061C;
}

static uint32_t visible_lines(uint32_t code)
{
    if (code == '\n')
        return code;
    if (code == '\t' || code == '\r')
        return ' ';
    if (code < 0x20)
        return 0x2400 + code;
    if (code == 0x7F)
        return 0x2421;
    return is_deceptive(code) ? REPLACEMENT : code;
}

static uint32_t visible(uint32_t code)
{
    return code == '\n' ? ' ' : visible_lines(code);
}

static const char *map_text(struct pl_arena *arena, const char *text, uint32_t (*map)(uint32_t))
{
    size_t length = strlen(text);
    const unsigned char *bytes = (const unsigned char *)text;
    char *result = pl_alloc(arena, length + 1, 3); /* one byte becomes at most three */
    char *at = result;
    for (size_t i = 0; i < length;) {
        uint32_t code = 0;
        size_t size = utf8_decode(bytes + i, length - i, &code);
        at = utf8_encode(at, size == 0 ? REPLACEMENT : map(code));
        i += size == 0 ? 1 : size;
    }
    *at = '\0';
    return result;
}

const char *page_text_repair(struct pl_arena *arena, const char *text)
{
    return map_text(arena, text, as_is);
}

const char *page_text_line(struct pl_arena *arena, const char *text)
{
    return map_text(arena, text, visible);
}

const char *page_text_lines(struct pl_arena *arena, const char *text)
{
    return map_text(arena, text, visible_lines);
}

size_t page_text_width(const char *text)
{
    size_t width = 0;
    for (; *text != '\0'; text++)
        width += ((unsigned char)*text & 0xC0) != 0x80;
    return width;
}
