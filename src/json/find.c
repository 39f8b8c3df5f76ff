/* Searches with compiled paths. The segments of a path are loops in one another, so that what is found comes in the order
 * of RFC 9535 without a list for each segment; a value and all below it stand next to each other in the table of tokens, so
 * that `..` is one loop too. */
#include "json/json_int.h"

#include <string.h>

#include "base/ban.h"

/* Takes what a path finds; false: enough. */
typedef bool found_one(struct json_search *search, uint32_t token);

struct walk {
    const struct json *json;
    const struct json_path *path;
    struct json_search *search;
    found_one *take;
};

static bool walk_from(const struct walk *walk, size_t segment, uint32_t token);
static bool test_holds(struct json_search *search, const struct json *json, const struct json_test *test, uint32_t here);

/* ---- one value ---- */

/* The index-th item of a list, negative from the end; 0: there is none. */
static uint32_t list_item(const struct json *json, uint32_t list, int64_t index, uint64_t *steps)
{
    const struct json_token *t = &json->tokens[list];
    if (t->kind != JSON_LIST)
        return 0;
    index += index < 0 ? (int64_t)t->count : 0;
    if (index < 0 || index >= (int64_t)t->count)
        return 0;
    uint32_t at = list + 1;
    for (; index > 0 && json_step(steps); index--)
        at = json->tokens[at].after;
    return at;
}

/* What a NAME or INDEX selects; 0: nothing. */
static uint32_t select_one(const struct json *json, const struct json_selector *selector, uint32_t token, uint64_t *steps)
{
    if (selector->kind == SELECT_INDEX)
        return list_item(json, token, selector->start, steps);
    if (json->tokens[token].kind != JSON_OBJECT)
        return 0;
    return json_member(json, token, selector->name, selector->name_length, steps);
}

/* Through the segments that find one value; false: there is none. */
static bool find_single(const struct json *json, const struct json_path *path, uint32_t *token, uint64_t *steps)
{
    for (size_t i = 0; i < path->single_count; i++) {
        *token = select_one(json, path->segments[i].selectors, *token, steps);
        if (*token == 0)
            return false;
    }
    return true;
}

/* ---- many values ---- */

static int64_t clamp(int64_t value, int64_t low, int64_t high)
{
    return value < low ? low : value > high ? high : value;
}

static bool walk_slice(const struct walk *walk, const struct json_selector *selector, size_t segment, uint32_t token)
{
    const struct json_token *t = &walk->json->tokens[token];
    int64_t count = t->count, step = selector->step, start = selector->start, end = selector->end;
    if (t->kind != JSON_LIST || step == 0)
        return true;
    start += start < 0 ? count : 0;
    end += end < 0 ? count : 0;
    if (step > 0) {
        start = selector->has_start ? clamp(start, 0, count) : 0;
        end = selector->has_end ? clamp(end, 0, count) : count;
        uint32_t at = token + 1;
        for (int64_t i = 0; i < end && json_step(&walk->search->steps); i++) {
            if (i >= start && (i - start) % step == 0 && !walk_from(walk, segment + 1, at))
                return false;
            at = walk->json->tokens[at].after;
        }
        return true;
    }
    start = selector->has_start ? clamp(start, -1, count - 1) : count - 1;
    end = selector->has_end ? clamp(end, -1, count - 1) : -1;
    for (int64_t i = start; i > end && walk->search->steps > 0; i += step) {
        uint32_t at = list_item(walk->json, token, i, &walk->search->steps);
        if (!walk_from(walk, segment + 1, at))
            return false;
    }
    return true;
}

/* ALL and FILTER: over the items of a list or the values of an object. */
static bool walk_children(const struct walk *walk, const struct json_selector *selector, size_t segment, uint32_t token)
{
    const struct json_token *t = &walk->json->tokens[token];
    if (t->kind < JSON_LIST)
        return true;
    uint32_t at = token + 1;
    for (uint32_t i = 0; i < t->count && json_step(&walk->search->steps); i++) {
        at += t->kind == JSON_OBJECT;
        bool is_in = selector->kind == SELECT_ALL || test_holds(walk->search, walk->json, selector->test, at);
        if (is_in && !walk_from(walk, segment + 1, at))
            return false;
        at = walk->json->tokens[at].after;
    }
    return true;
}

static bool walk_selectors(const struct walk *walk, size_t segment, uint32_t token)
{
    const struct json_segment *s = &walk->path->segments[segment];
    for (size_t i = 0; i < s->selector_count && json_step(&walk->search->steps); i++) {
        const struct json_selector *selector = &s->selectors[i];
        bool goes_on = true;
        if (selector->kind <= SELECT_INDEX) {
            uint32_t found = select_one(walk->json, selector, token, &walk->search->steps);
            goes_on = found == 0 || walk_from(walk, segment + 1, found);
        } else if (selector->kind == SELECT_SLICE) {
            goes_on = walk_slice(walk, selector, segment, token);
        } else {
            goes_on = walk_children(walk, selector, segment, token);
        }
        if (!goes_on)
            return false;
    }
    return true;
}

/* All that the segments from this one on find below the token. false: enough was found, or no step is left. */
static bool walk_from(const struct walk *walk, size_t segment, uint32_t token)
{
    if (!json_step(&walk->search->steps))
        return false;
    if (segment == walk->path->segment_count)
        return walk->take(walk->search, token);
    if (!walk->path->segments[segment].descends)
        return walk_selectors(walk, segment, token);
    uint32_t after = walk->json->tokens[token].after;
    for (uint32_t at = token; at < after; at++)
        if (!walk->json->tokens[at].is_key && !walk_selectors(walk, segment, at))
            return false;
    return true;
}

/* ---- filters ---- */

struct operand_value {
    enum { OPERAND_IS_NOTHING, OPERAND_IS_TOKEN, OPERAND_IS_NUMBER } kind;
    const struct json *json;
    uint32_t token;
    int64_t number;
};

static bool take_first(struct json_search *search, uint32_t token)
{
    (void)token;
    search->other_count = 1;
    return false;
}

static bool take_count(struct json_search *search, uint32_t token)
{
    (void)token;
    search->other_count++;
    return true;
}

/* How many values a path of a filter finds; with take_first only whether there is one. */
static size_t path_count(struct json_search *search, const struct json *json, const struct json_operand *operand,
                         uint32_t here, found_one *take)
{
    uint32_t token = operand->from_root ? 0 : here;
    size_t outer = search->other_count, count = 0;
    search->other_count = 0;
    if (find_single(json, operand->path, &token, &search->steps))
        walk_from(&(struct walk){.json = json, .path = operand->path, .search = search, .take = take},
                  operand->path->single_count, token);
    count = search->other_count;
    search->other_count = outer;
    return count;
}

static int64_t string_characters(const struct json *json, uint32_t token)
{
    const struct json_token *t = &json->tokens[token];
    const char *text = json->text + t->at;
    int64_t count = 0;
    char part[4];
    for (size_t i = 0; i < t->bytes; count++) {
        if (text[i] == '\\') {
            i += json_escape_read(text + i, t->bytes - i, part, &(size_t){0});
            continue;
        }
        do
            i++;
        while (i < t->bytes && ((unsigned char)text[i] & 0xC0) == 0x80);
    }
    return count;
}

static struct operand_value operand_evaluate(struct json_search *search, const struct json *json,
                                             const struct json_operand *operand, uint32_t here)
{
    struct operand_value value = {.kind = OPERAND_IS_NOTHING, .json = json};
    switch (operand->kind) {
    case OPERAND_LITERAL:
        return (struct operand_value){.kind = OPERAND_IS_TOKEN, .json = &operand->literal};
    case OPERAND_PATH:
        value.token = operand->from_root ? 0 : here;
        if (find_single(json, operand->path, &value.token, &search->steps))
            value.kind = OPERAND_IS_TOKEN;
        return value;
    case OPERAND_COUNT:
        value.kind = OPERAND_IS_NUMBER;
        value.number = (int64_t)path_count(search, json, operand->argument, here, take_count);
        return value;
    case OPERAND_LENGTH:
        break;
    }
    struct operand_value of = operand_evaluate(search, json, operand->argument, here);
    if (of.kind != OPERAND_IS_TOKEN || of.json->tokens[of.token].kind < JSON_STRING)
        return value;
    value.kind = OPERAND_IS_NUMBER;
    json_step_bytes(&search->steps, of.json->tokens[of.token].kind == JSON_STRING ? of.json->tokens[of.token].bytes : 0);
    value.number = of.json->tokens[of.token].kind == JSON_STRING ? string_characters(of.json, of.token)
                                                                 : (int64_t)of.json->tokens[of.token].count;
    return value;
}

static bool operand_number(const struct operand_value *value, double *ret_number)
{
    if (value->kind == OPERAND_IS_NUMBER) {
        *ret_number = (double)value->number;
        return true;
    }
    uint8_t kind = value->json->tokens[value->token].kind;
    if (kind != JSON_INTEGER && kind != JSON_FLOAT)
        return false;
    *ret_number = json_as_double(value->json, value->token);
    return true;
}

static bool operands_equal(const struct operand_value *a, const struct operand_value *b, uint64_t *steps)
{
    double x, y;
    if (a->kind == OPERAND_IS_NOTHING || b->kind == OPERAND_IS_NOTHING)
        return a->kind == b->kind;
    if (a->kind == OPERAND_IS_TOKEN && b->kind == OPERAND_IS_TOKEN)
        return json_is_same(a->json, a->token, b->json, b->token, steps);
    return operand_number(a, &x) && operand_number(b, &y) && x == y;
}

/* Numbers and strings have an order, all else has none. */
static bool operands_less(const struct operand_value *a, const struct operand_value *b, uint64_t *steps)
{
    double x, y;
    int64_t i, k;
    if (a->kind == OPERAND_IS_NOTHING || b->kind == OPERAND_IS_NOTHING)
        return false;
    if (a->kind == OPERAND_IS_TOKEN && b->kind == OPERAND_IS_TOKEN) {
        const struct json_token *left = &a->json->tokens[a->token], *right = &b->json->tokens[b->token];
        json_step_bytes(steps, left->bytes < right->bytes ? left->bytes : right->bytes);
        if (left->kind == JSON_STRING && right->kind == JSON_STRING)
            return json_string_compare(a->json, a->token, b->json, b->token) < 0;
        if (json_get_integer(a->json, a->token, &i) && json_get_integer(b->json, b->token, &k))
            return i < k;
    }
    return operand_number(a, &x) && operand_number(b, &y) && x < y;
}

static bool test_holds(struct json_search *search, const struct json *json, const struct json_test *test, uint32_t here)
{
    switch (test->kind) {
    case TEST_OR:
        return test_holds(search, json, test->left, here) || test_holds(search, json, test->right, here);
    case TEST_AND:
        return test_holds(search, json, test->left, here) && test_holds(search, json, test->right, here);
    case TEST_NOT:
        return !test_holds(search, json, test->left, here);
    case TEST_EXISTS:
        return path_count(search, json, &test->a, here, take_first) > 0;
    case TEST_EQUAL:
    case TEST_NOT_EQUAL:
    case TEST_LESS:
    case TEST_LESS_OR_EQUAL:
        break;
    }
    struct operand_value a = operand_evaluate(search, json, &test->a, here),
                         b = operand_evaluate(search, json, &test->b, here);
    if (test->kind == TEST_EQUAL || test->kind == TEST_NOT_EQUAL)
        return operands_equal(&a, &b, &search->steps) == (test->kind == TEST_EQUAL);
    return operands_less(&a, &b, &search->steps) ||
           (test->kind == TEST_LESS_OR_EQUAL && operands_equal(&a, &b, &search->steps));
}

/* ---- the search ---- */

static void search_widen(struct json_search *search)
{
    enum { FIRST = 16 };
    size_t capacity = search->capacity == 0 ? FIRST : search->capacity * 2;
    uint32_t *found = pl_new(capacity, sizeof *found);
    if (search->count > 0)
        memcpy(found, search->found, search->count * sizeof *found);
    pl_free(search->found);
    search->found = found;
    search->capacity = capacity;
}

static bool take_all(struct json_search *search, uint32_t token)
{
    if (search->count == search->capacity)
        search_widen(search);
    search->found[search->count++] = token;
    return true;
}

bool json_path_find(const struct json_path *path, const struct json *json, struct json_search *search)
{
    uint32_t token = 0;
    search->kind = JSON_FOUND_NOTHING;
    search->count = search->other_count = 0;
    search->steps = JSON_STEPS_MOST;
    if (find_single(json, path, &token, &search->steps)) {
        search->kind = path->single_count == path->segment_count ? JSON_FOUND_ONE : JSON_FOUND_LIST;
        walk_from(&(struct walk){.json = json, .path = path, .search = search, .take = take_all}, path->single_count,
                  token);
    }
    return search->steps > 0;
}

void json_search_release(struct json_search *search)
{
    pl_free(search->found);
    *search = (struct json_search){0};
}
