/* Values: what variables and JSON hold, the items of lists, values as text, and the templates that put them in. */
#include "hurl/run_int.h"

#include <math.h>
#include <string.h>

#include "base/clock.h"
#include "script/program.h"

#include "base/ban.h"

/* ---- variables ---- */

bool hurl_variable_is_secret(const struct hurl_run *run, int variable)
{
    return (size_t)variable < run->work->redacted_count && run->work->is_redacted[variable];
}

struct hurl_any hurl_variable(const struct hurl_run *run, int variable)
{
    struct hurl_any value = {.kind = HURL_NOTHING};
    for (size_t i = run->captured_count; i > 0; i--)
        if (run->captured[i - 1].capture->variable == variable)
            return run->captured[i - 1].value; /* capture_run has marked secrets */
    if (variable < 0)
        return value;
    const struct value *stored = &run->vars[variable];
    switch (stored->type) {
    case VALUE_NULL:
        value.kind = HURL_NULL;
        break;
    case VALUE_BOOL:
        value.kind = HURL_BOOL;
        value.b = stored->b;
        break;
    case VALUE_INT:
        value = hurl_int_value(stored->i);
        break;
    case VALUE_DOUBLE:
        value.kind = HURL_FLOAT;
        value.d = stored->d;
        break;
    case VALUE_TEXT:
        value = hurl_text_value(stored->text, stored->length);
        value.is_stored = true;
        break;
    case VALUE_UNSET:
        break;
    }
    value.is_secret = hurl_variable_is_secret(run, variable);
    return value;
}

/* ---- JSON ---- */

static bool from_string(struct hurl_run *run, struct hurl_place place, const struct json *json, uint32_t token,
                        struct hurl_any *ret)
{
    const struct json_token *t = &json->tokens[token];
    *ret = hurl_text_value(json->text + t->at, t->bytes);
    if (!t->is_escaped)
        return true;
    char *text = hurl_scratch_take(run->scratch, t->bytes);
    if (text == NULL)
        return hurl_fail_full(run, place);
    ret->text = (struct hurl_slice){text, json_unescape(json, token, text)};
    return true;
}

bool hurl_from_json(struct hurl_run *run, struct hurl_place place, const struct json *json, uint32_t token,
                    struct hurl_any *ret)
{
    const struct json_token *t = &json->tokens[token];
    *ret = (struct hurl_any){.kind = HURL_NULL};
    switch ((enum json_kind)t->kind) {
    case JSON_NULL:
        return true;
    case JSON_FALSE:
    case JSON_TRUE:
        ret->kind = HURL_BOOL;
        ret->b = t->kind == JSON_TRUE;
        return true;
    case JSON_INTEGER:
        ret->kind = HURL_INT;
        if (json_get_integer(json, token, &ret->i))
            return true;
        ret->kind = HURL_NUMBER;
        ret->d = json_as_double(json, token);
        ret->text = (struct hurl_slice){json->text + t->at, t->bytes};
        return true;
    case JSON_FLOAT:
        ret->kind = HURL_FLOAT;
        ret->d = json_as_double(json, token);
        return true;
    case JSON_STRING:
        return from_string(run, place, json, token, ret);
    case JSON_LIST:
    case JSON_OBJECT:
        break;
    }
    *ret = (struct hurl_any){
        .kind = t->kind == JSON_LIST ? HURL_LIST : HURL_OBJECT, .count = t->count, .json = json, .token = token};
    return true;
}

bool hurl_from_search(struct hurl_run *run, struct hurl_place place, const struct json *json,
                      const struct json_search *search, struct hurl_any *ret)
{
    *ret = (struct hurl_any){.kind = HURL_NOTHING};
    if (search->kind == JSON_FOUND_ONE)
        return hurl_from_json(run, place, json, search->found[0], ret);
    if (search->kind == JSON_FOUND_NOTHING)
        return true;
    uint32_t *tokens = hurl_scratch_take(run->scratch, (search->count + 1) * sizeof *tokens);
    if (tokens == NULL)
        return hurl_fail_full(run, place);
    if (search->count > 0)
        memcpy(tokens, search->found, search->count * sizeof *tokens);
    *ret = (struct hurl_any){.kind = HURL_LIST, .count = search->count, .json = json, .tokens = tokens};
    return true;
}

void hurl_collect(struct json *json, struct hurl_any *value)
{
    size_t at;
    if (value->kind != HURL_TEXT || !value->is_stored || value->text.length < 2 ||
        (value->text.text[0] != '[' && value->text.text[0] != '{') ||
        json_read(json, value->text.text, value->text.length, &at) != NULL)
        return;
    value->kind = json->tokens[0].kind == JSON_LIST ? HURL_LIST : HURL_OBJECT;
    value->count = json->tokens[0].count;
    value->json = json;
}

/* ---- lists ---- */

bool hurl_list_next(struct hurl_run *run, struct hurl_place place, const struct hurl_any *list, size_t *at, uint32_t *token,
                    struct hurl_any *ret)
{
    size_t index = (*at)++;
    if (list->items != NULL) {
        *ret = list->items[index];
        return true;
    }
    if (list->json == NULL) {
        *ret = (struct hurl_any){.kind = HURL_REDIRECT, .i = (int64_t)index};
        return true;
    }
    if (list->tokens != NULL)
        return hurl_from_json(run, place, list->json, list->tokens[index], ret);
    *token = index == 0 ? list->token + 1 : list->json->tokens[*token].after;
    return hurl_from_json(run, place, list->json, *token, ret);
}

bool hurl_list_at(struct hurl_run *run, struct hurl_place place, const struct hurl_any *list, size_t index,
                  struct hurl_any *ret)
{
    size_t at = index;
    uint32_t token = 0;
    if (list->json == NULL || list->items != NULL || list->tokens != NULL)
        return hurl_list_next(run, place, list, &at, &token, ret);
    token = list->token + 1;
    for (size_t i = 0; i < index; i++)
        token = list->json->tokens[token].after;
    return hurl_from_json(run, place, list->json, token, ret);
}

/* ---- as text ---- */

static void put_number(struct hurl_scratch *scratch, const struct hurl_any *value)
{
    struct value number = {.type = VALUE_INT, .i = value->i};
    char *room = hurl_scratch_room(scratch, VALUE_TEXT_BYTES + 2);
    if (room == NULL)
        return;
    if (value->kind == HURL_FLOAT)
        number = (struct value){.type = VALUE_DOUBLE, .d = value->d};
    size_t length = value_text(&number, room);
    bool is_whole = value->kind == HURL_FLOAT && isfinite(value->d) && strcspn(room, ".e") == length;
    if (is_whole)
        memcpy(room + length, ".0", 2); /* so that it stays a float where it is read again */
    hurl_scratch_advance(scratch, room + length + (is_whole ? 2 : 0));
}

bool hurl_put_value(struct hurl_scratch *scratch, const struct hurl_any *value)
{
    static const char iso[] = "%Y-%m-%dT%H:%M:%S%.fZ";
    switch (value->kind) {
    case HURL_NULL:
        hurl_scratch_put(scratch, "null", 4);
        return true;
    case HURL_BOOL:
        hurl_scratch_put(scratch, value->b ? "true" : "false", value->b ? 4 : 5);
        return true;
    case HURL_INT:
    case HURL_FLOAT:
        put_number(scratch, value);
        return true;
    case HURL_NUMBER:
    case HURL_TEXT:
        hurl_scratch_put(scratch, value->text.text, value->text.length);
        return true;
    case HURL_DATE:
        hurl_date_put(scratch, value, (struct hurl_slice){iso, sizeof iso - 1});
        return true;
    case HURL_NOTHING:
    case HURL_UNIT:
    case HURL_BYTES:
    case HURL_LIST:
    case HURL_OBJECT:
    case HURL_REDIRECT:
        break;
    }
    return false;
}

bool hurl_as_text(struct hurl_run *run, struct hurl_place place, const struct hurl_any *value, struct hurl_slice *ret)
{
    if (value->kind == HURL_TEXT) {
        *ret = value->text;
        return true;
    }
    hurl_scratch_open(run->scratch);
    bool has_text = hurl_put_value(run->scratch, value);
    *ret = hurl_scratch_close(run->scratch);
    if (run->scratch->is_full)
        return hurl_fail_full(run, place);
    return has_text ? true : hurl_fail(run, place, "%s has no text", hurl_kind_name(value));
}

static void put_json_text(struct hurl_scratch *scratch, const struct hurl_any *value)
{
    hurl_scratch_put(scratch, "\"", 1);
    char *room = hurl_scratch_room(scratch, value->text.length * 6);
    if (room != NULL)
        hurl_scratch_advance(scratch, json_escape(value->text.text, value->text.length, room));
    hurl_scratch_put(scratch, "\"", 1);
}

static void put_token(struct hurl_scratch *scratch, const struct json *json, uint32_t token)
{
    const struct json_token *t = &json->tokens[token];
    size_t quote = t->kind == JSON_STRING;
    hurl_scratch_put(scratch, json->text + t->at - quote, t->bytes + 2 * quote);
}

bool hurl_put_json(struct hurl_scratch *scratch, const struct hurl_any *value)
{
    if (value->kind == HURL_TEXT) {
        put_json_text(scratch, value);
        return true;
    }
    if (value->kind == HURL_FLOAT && !isfinite(value->d))
        return false;
    if (value->kind != HURL_LIST && value->kind != HURL_OBJECT)
        return value->kind != HURL_DATE && hurl_put_value(scratch, value);
    if (value->json != NULL && value->tokens == NULL) {
        put_token(scratch, value->json, value->token);
        return true;
    }
    if (value->json == NULL && value->items == NULL)
        return false;
    hurl_scratch_put(scratch, "[", 1);
    for (size_t i = 0; i < value->count; i++) {
        hurl_scratch_put(scratch, ",", i > 0);
        if (value->tokens != NULL)
            put_token(scratch, value->json, value->tokens[i]);
        else if (!hurl_put_json(scratch, &value->items[i]))
            return false;
    }
    hurl_scratch_put(scratch, "]", 1);
    return true;
}

bool hurl_keep(struct hurl_run *run, struct hurl_place place, struct json *table, struct hurl_any *value)
{
    size_t at;
    bool is_secret = value->is_secret;
    if (value->json == NULL || value->json == table)
        return true;
    hurl_scratch_open(run->scratch);
    hurl_put_json(run->scratch, value);
    struct hurl_slice text = hurl_scratch_close(run->scratch);
    if (run->scratch->is_full || json_read(table, text.text, text.length, &at) != NULL)
        return hurl_fail_full(run, place);
    bool is_good = hurl_from_json(run, place, table, 0, value);
    value->is_secret = is_secret;
    return is_good;
}

/* ---- templates ---- */

/* Version 4 of RFC 9562, from the thread's own stream: it need not be unguessable, only new. */
static bool new_uuid(struct hurl_run *run, struct hurl_any *ret)
{
    enum { UUID_BYTES = 36 };
    static const char digits[] = "0123456789abcdef";
    uint64_t halves[2] = {pl_rng_u64(&run->work->rng), pl_rng_u64(&run->work->rng)};
    char *text = hurl_scratch_take(run->scratch, UUID_BYTES), *at = text;
    if (text == NULL)
        return false;
    halves[0] = (halves[0] & ~UINT64_C(0xF000)) | UINT64_C(0x4000);
    halves[1] = (halves[1] & ~(UINT64_C(3) << 62)) | UINT64_C(1) << 63;
    for (int i = 0; i < 32; i++) {
        if (i == 8 || i == 12 || i == 16 || i == 20)
            *at++ = '-';
        *at++ = digits[halves[i / 16] >> (60 - i % 16 * 4) & 15];
    }
    *ret = hurl_text_value(text, UUID_BYTES);
    return true;
}

static bool new_date(struct hurl_run *run, struct hurl_any *ret)
{
    static const char format[] = "%Y-%m-%dT%H:%M:%S%.6fZ";
    int64_t now_ns = pl_clock_unix_ns();
    struct hurl_any date = {.kind = HURL_DATE, .i = now_ns / PL_NS_PER_S, .nanos = (uint32_t)(now_ns % PL_NS_PER_S)};
    hurl_scratch_open(run->scratch);
    hurl_date_put(run->scratch, &date, (struct hurl_slice){format, sizeof format - 1});
    struct hurl_slice text = hurl_scratch_close(run->scratch);
    *ret = hurl_text_value(text.text, text.length);
    return !run->scratch->is_full;
}

static bool no_value(struct hurl_run *run, struct hurl_place place, int variable)
{
    if (run->request->names != NULL)
        return hurl_fail(run, place, "variable \"%s\" has no value", names_at(run->request->names, variable));
    return hurl_fail(run, place, "a variable that has no value");
}

bool hurl_piece_value(struct hurl_run *run, const struct hurl_piece *piece, struct hurl_any *ret)
{
    if (piece->function != HURL_NO_FUNCTION) {
        if (!(piece->function == HURL_NEW_UUID ? new_uuid(run, ret) : new_date(run, ret)))
            return hurl_fail_full(run, piece->place);
    } else {
        *ret = hurl_variable(run, piece->variable);
        if (ret->kind == HURL_NOTHING)
            return no_value(run, piece->place, piece->variable);
    }
    if (!hurl_filters_run(run, piece->filters, piece->filter_count, ret))
        return false;
    if (ret->kind == HURL_NOTHING)
        return hurl_fail(run, piece->place, "the filters find nothing");
    return true;
}

/* Appends the value of an expression. What must be computed on the way needs the scratch too, so the text is closed
 * meanwhile. */
static bool put_computed(struct hurl_run *run, const struct hurl_piece *piece)
{
    struct hurl_slice before = hurl_scratch_close(run->scratch);
    struct hurl_any value;
    bool is_good = hurl_piece_value(run, piece, &value);
    hurl_scratch_open(run->scratch);
    if (!is_good)
        return false;
    hurl_scratch_put(run->scratch, before.text, before.length);
    if (value.kind == HURL_LIST || value.kind == HURL_OBJECT ? hurl_put_json(run->scratch, &value)
                                                             : hurl_put_value(run->scratch, &value))
        return true;
    return hurl_fail(run, piece->place, "%s has no text", hurl_kind_name(&value));
}

bool hurl_put_piece(struct hurl_run *run, const struct hurl_piece *piece)
{
    if (piece->variable < 0 && piece->function == HURL_NO_FUNCTION)
        return true;
    if (piece->function != HURL_NO_FUNCTION || piece->filter_count > 0 || run->captured_count > 0)
        return put_computed(run, piece);
    const struct value *value = &run->vars[piece->variable];
    if (value->type == VALUE_TEXT) {
        hurl_scratch_put(run->scratch, value->text, value->length);
        return true;
    }
    struct hurl_any any = hurl_variable(run, piece->variable);
    return any.kind == HURL_NOTHING ? no_value(run, piece->place, piece->variable) : hurl_put_value(run->scratch, &any);
}

bool hurl_text_put(struct hurl_run *run, const struct hurl_text *text)
{
    for (size_t i = 0; i < text->piece_count; i++) {
        hurl_scratch_put(run->scratch, text->pieces[i].text, text->pieces[i].length);
        if (!hurl_put_piece(run, &text->pieces[i]))
            return false;
    }
    return true;
}

bool hurl_text_render(struct hurl_run *run, const struct hurl_text *text, struct hurl_slice *ret)
{
    if (hurl_text_is_constant(text)) {
        *ret = text->piece_count == 0 ? (struct hurl_slice){"", 0}
                                      : (struct hurl_slice){text->pieces[0].text, text->pieces[0].length};
        return true;
    }
    hurl_scratch_open(run->scratch);
    bool is_good = hurl_text_put(run, text);
    *ret = hurl_scratch_close(run->scratch);
    return is_good && run->scratch->is_full ? hurl_fail_full(run, text->pieces[0].place) : is_good;
}
