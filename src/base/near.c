/* Edit distance by the three-row table (optimal string alignment; Damerau 1964). */
#include "base/near.h"

#include <stdbool.h>
#include <string.h>

#include "base/ban.h"

enum { NEAR_MAX = 63 };

static size_t min3(size_t a, size_t b, size_t c)
{
    size_t least = a < b ? a : b;
    return least < c ? least : c;
}

static bool same_letter(char a, char b)
{
    unsigned char low_a = (unsigned char)a, low_b = (unsigned char)b;
    if (low_a >= 'A' && low_a <= 'Z')
        low_a |= 0x20;
    if (low_b >= 'A' && low_b <= 'Z')
        low_b |= 0x20;
    return low_a == low_b || (low_a == '-' && low_b == '_') || (low_a == '_' && low_b == '-');
}

/* Both words have at most NEAR_MAX bytes. */
static size_t near_distance(const char *a, const char *b)
{
    size_t rows[3][NEAR_MAX + 1];
    size_t a_length = strlen(a), b_length = strlen(b);
    for (size_t j = 0; j <= b_length; j++)
        rows[0][j] = j;
    for (size_t i = 1; i <= a_length; i++) {
        size_t *now = rows[i % 3], *before = rows[(i + 2) % 3], *earlier = rows[(i + 1) % 3];
        now[0] = i;
        for (size_t j = 1; j <= b_length; j++) {
            now[j] = min3(before[j] + 1, now[j - 1] + 1, before[j - 1] + (same_letter(a[i - 1], b[j - 1]) ? 0 : 1));
            if (i > 1 && j > 1 && same_letter(a[i - 1], b[j - 2]) && same_letter(a[i - 2], b[j - 1]) &&
                earlier[j - 2] + 1 < now[j])
                now[j] = earlier[j - 2] + 1;
        }
    }
    return rows[a_length % 3][b_length];
}

const char *pl_near(const char *word, const char *const *candidates, size_t count)
{
    size_t length = strlen(word), best = length / 3 > 1 ? length / 3 : 1;
    const char *near = NULL;
    if (length > NEAR_MAX)
        return NULL;
    for (size_t i = 0; i < count; i++) {
        if (strlen(candidates[i]) > NEAR_MAX)
            continue;
        size_t distance = near_distance(word, candidates[i]);
        if (distance < length && (distance < best || (distance == best && near == NULL))) {
            best = distance;
            near = candidates[i];
        }
    }
    return near;
}
