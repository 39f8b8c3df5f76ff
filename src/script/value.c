/* Values as text. */
#include "script/program.h"

#include <assert.h>
#include <stdio.h>
#include <string.h>

#include "base/ban.h"

/* The hot path: snprintf costs ten times as much. */
static size_t value_integer_text(int64_t value, char *buf)
{
    char digits[20];
    size_t count = 0, length = 0;
    uint64_t rest = value < 0 ? 0 - (uint64_t)value : (uint64_t)value;
    do {
        digits[count++] = (char)('0' + rest % 10);
        rest /= 10;
    } while (rest > 0);
    if (value < 0)
        buf[length++] = '-';
    while (count > 0)
        buf[length++] = digits[--count];
    buf[length] = '\0';
    return length;
}

size_t value_text(const struct value *value, char *buf)
{
    switch (value->type) {
    case VALUE_INT:
        return value_integer_text(value->i, buf);
    case VALUE_DOUBLE: {
        int length = snprintf(buf, VALUE_TEXT_BYTES, "%.17g", value->d);
        assert(length > 0 && length < VALUE_TEXT_BYTES);
        return (size_t)length;
    }
    case VALUE_BOOL:
        memcpy(buf, value->b ? "true" : "false", value->b ? 5 : 6);
        return value->b ? 4 : 5;
    case VALUE_UNSET:
    case VALUE_NULL:
        break;
    }
    memcpy(buf, "NULL", 5);
    return 4;
}
