/* Any bytes are either refused with a reason or become rows that can be drawn and set. The first byte chooses the format
 * and the order. */
#include <assert.h>
#include <string.h>

#include "script/feed.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check(const struct feed *feed, const struct names *names, struct pl_arena *arena)
{
    struct value *vars = pl_alloc(arena, names_count(names) + 1, sizeof *vars);
    struct pl_rng rng;
    size_t rows = 0;
    uint32_t row;
    pl_rng_init(&rng, 1, PL_RNG_TEST, 0);
    assert(feed->row_count >= 1 && feed->group_count >= 1);
    for (uint32_t g = 0; g < feed->group_count; g++) {
        rows += feed->groups[g].row_count;
        assert(feed->groups[g].weight > 0 && feed->groups[g].row_count >= 1);
        for (int i = 0; i < 3; i++) {
            row = feed_draw(feed, g, &rng);
            assert(row < feed->row_count && feed->group_of[row] == g);
        }
    }
    assert(rows == feed->row_count);
    for (size_t i = 0; i < feed->row_count + 3; i++) {
        if (!feed_take(feed, &rng, &row)) {
            assert(feed->order == FEED_UNIQUE && i >= feed->row_count);
            continue;
        }
        assert(row < feed->row_count);
        feed_set(feed, row, vars);
        for (size_t c = 0; c < feed->column_count; c++) {
            const struct value *value = &vars[feed->columns[c].variable];
            assert(value->type != VALUE_UNSET);
            assert(value->type != VALUE_TEXT || strlen(value->text) == value->length);
            assert(feed_column(feed, feed->columns[c].name) == (int)c);
        }
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    if (size == 0)
        return 0;
    struct pl_arena *arena = pl_arena_new();
    struct names *names = names_new(arena);
    struct feed *feed = NULL;
    struct pl_err err = {0};
    enum feed_order order = (enum feed_order)(data[0] >> 1 & 3) % 3;
    if (feed_parse((data[0] & 1) != 0 ? "fuzz.jsonl" : "fuzz.csv", (const char *)data + 1, size - 1, order, names, arena,
                   &feed, &err) == PL_OK)
        check(feed, names, arena);
    else
        assert(err.code != PL_OK && err.what[0] != '\0' && err.hint[0] != '\0' && err.line >= 1 && err.col >= 1);
    pl_arena_free(arena);
    return 0;
}
