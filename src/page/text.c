/* Bytes from outside made safe to show: always valid UTF-8, nothing invisible. */
#include "page/page_int.h"

#include <string.h>

#include "base/utf8.h"

#include "base/ban.h"

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
    return is_deceptive(code) ? PL_UTF8_REPLACEMENT : code;
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
        size_t size = pl_utf8_decode(bytes + i, length - i, &code);
        at = pl_utf8_encode(at, size == 0 ? PL_UTF8_REPLACEMENT : map(code));
        i += size == 0 ? 1 : size;
    }
    *at = '\0';
    return result;
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
