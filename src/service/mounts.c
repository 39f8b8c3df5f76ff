/* Splits mountinfo lines at blanks; the optional fields end at a lone "-". */
#include "service/mounts.h"

#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "base/num.h"

#include "base/ban.h"

static bool is_octal(char c)
{
    return c >= '0' && c <= '7';
}

/* The next word of [*at, end), without its escapes; false when there is none or it does not fit. */
static bool mount_word(const char **at, const char *end, char *ret_word, size_t size)
{
    const char *p = *at;
    size_t used = 0;
    while (p < end && *p == ' ')
        p++;
    if (p == end)
        return false;
    while (p < end && *p != ' ') {
        char c = *p++;
        if (c == '\\' && end - p >= 3 && p[0] <= '3' && is_octal(p[0]) && is_octal(p[1]) && is_octal(p[2])) {
            c = (char)((p[0] - '0') * 64 + (p[1] - '0') * 8 + (p[2] - '0'));
            p += 3;
        }
        if (used + 1 == size || c == '\0')
            return false;
        ret_word[used++] = c;
    }
    ret_word[used] = '\0';
    *at = p;
    return true;
}

static bool mount_device(const char *word, struct service_mount *mount)
{
    const char *colon = strchr(word, ':');
    int64_t major, minor;
    if (colon == NULL || pl_num_i64(word, (size_t)(colon - word), &major) != PL_NUM_OK ||
        pl_num_i64(colon + 1, strlen(colon + 1), &minor) != PL_NUM_OK)
        return false;
    if (major < 0 || major > UINT32_MAX || minor < 0 || minor > UINT32_MAX)
        return false;
    mount->major = (unsigned)major;
    mount->minor = (unsigned)minor;
    return true;
}

static bool mount_line(const char *at, const char *end, struct service_mount *mount)
{
    char word[64], optional[256];
    if (!mount_word(&at, end, word, sizeof word) || !mount_word(&at, end, word, sizeof word) ||
        !mount_word(&at, end, word, sizeof word) || !mount_device(word, mount))
        return false;
    if (!mount_word(&at, end, mount->root, sizeof mount->root) ||
        !mount_word(&at, end, mount->point, sizeof mount->point) ||
        !mount_word(&at, end, mount->options, sizeof mount->options))
        return false;
    do {
        if (!mount_word(&at, end, optional, sizeof optional))
            return false;
    } while (strcmp(optional, "-") != 0);
    if (!mount_word(&at, end, mount->type, sizeof mount->type) ||
        !mount_word(&at, end, mount->source, sizeof mount->source))
        return false;
    if (!mount_word(&at, end, mount->super_options, sizeof mount->super_options))
        mount->super_options[0] = '\0'; /* overlay lists its layers there: too long to keep, and not needed */
    return true;
}

bool service_mount_next(const char **cursor, struct service_mount *ret_mount)
{
    while (**cursor != '\0') {
        const char *line = *cursor, *end = strchrnul(line, '\n');
        *cursor = *end == '\n' ? end + 1 : end;
        if (mount_line(line, end, ret_mount))
            return true;
    }
    return false;
}

bool service_mount_has_option(const char *options, const char *word)
{
    size_t length = strlen(word);
    for (const char *at = options; *at != '\0';) {
        const char *end = strchrnul(at, ',');
        if ((size_t)(end - at) == length && memcmp(at, word, length) == 0)
            return true;
        at = *end == ',' ? end + 1 : end;
    }
    return false;
}
