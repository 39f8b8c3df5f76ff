#include "base/utf8.h"

#include <string.h>

#include "base/ban.h"

size_t pl_utf8_decode(const unsigned char *bytes, size_t left, uint32_t *ret_code)
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

char *pl_utf8_encode(char *at, uint32_t code)
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

const char *pl_utf8_repair(struct pl_arena *arena, const char *text)
{
    size_t length = strlen(text);
    char *result = pl_alloc(arena, length + 1, 3); /* one byte becomes at most three */
    char *at = result;
    for (size_t i = 0; i < length;) {
        uint32_t code = 0;
        size_t size = pl_utf8_decode((const unsigned char *)text + i, length - i, &code);
        at = pl_utf8_encode(at, size == 0 ? PL_UTF8_REPLACEMENT : code);
        i += size == 0 ? 1 : size;
    }
    *at = '\0';
    return result;
}
