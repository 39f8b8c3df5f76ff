/* Edit distance by the three-row table (optimal string alignment). */
#include "base/near.h"

#include <string.h>

#include "base/ban.h"

enum { NEAR_MAX = 63 };

static int min3(int a, int b, int c)
{
    int smaller = a < b ? a : b;
    return smaller < c ? smaller : c;
}

static int near_distance(const char *a, size_t a_length, const char *b, size_t b_length)
{
    int rows[3][NEAR_MAX + 1];
    for (size_t j = 0; j <= b_length; j++)
        rows[0][j] = (int)j;
    for (size_t i = 1; i <= a_length; i++) {
        int *above = rows[(i + 2) % 3], *row = rows[i % 3], *above2 = rows[(i + 1) % 3];
        row[0] = (int)i;
        for (size_t j = 1; j <= b_length; j++) {
            int cost = a[i - 1] != b[j - 1];
            row[j] = min3(above[j] + 1, row[j - 1] + 1, above[j - 1] + cost);
            if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1] && above2[j - 2] + 1 < row[j])
                row[j] = above2[j - 2] + 1;
        }
    }
    return rows[a_length % 3][b_length];
}

const char *pl_near(const char *word, const char *const *candidates, size_t count)
{
    const char *best = NULL;
    int best_distance = NEAR_MAX;
    size_t length = strlen(word);
    if (length == 0 || length > NEAR_MAX)
        return NULL;
    for (size_t i = 0; i < count; i++) {
        size_t other = strlen(candidates[i]);
        if (other > NEAR_MAX)
            continue;
        int distance = near_distance(word, length, candidates[i], other);
        size_t longer = other > length ? other : length;
        if (distance < best_distance && (size_t)distance * 3 <= longer + 1) {
            best = candidates[i];
            best_distance = distance;
        }
    }
    return best;
}
