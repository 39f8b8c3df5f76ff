/* Checks of single values and keys, and the words in which they are refused. */
#include "plan/plan.h"

#include <assert.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "base/buf.h"
#include "base/near.h"
#include "plan/plan_int.h"

#include "base/ban.h"

enum { SHOWN_BYTES = 48, NAME_BYTES = 63, WORD_BYTES = 40, JOINED_BYTES = 200 };

enum pl_code plan_fail(struct reader *reader, const struct node *at, const char *fmt, ...)
{
    va_list args;
    char what[sizeof reader->err->what];
    va_start(args, fmt);
    vsnprintf(what, sizeof what, fmt, args);
    va_end(args);
    return pl_err_at(reader->err, PL_INPUT, reader->path, at->line, at->col, "%s", what);
}

const char *plan_shown(struct pl_arena *arena, const char *text)
{
    size_t length = strlen(text), keep = length;
    if (length > SHOWN_BYTES) {
        keep = SHOWN_BYTES;
        while (keep > 0 && ((unsigned char)text[keep] & 0xc0) == 0x80) /* not in the middle of a character */
            keep--;
    }
    char *shown = pl_format(arena, "\"%.*s%s\"", (int)keep, text, keep < length ? "..." : "");
    for (char *c = shown; *c != '\0'; c++)
        if ((unsigned char)*c < 0x20 || *c == 0x7f)
            *c = '?';
    return shown;
}

const char *plan_join(struct pl_arena *arena, const char *const *words, const char *last)
{
    struct pl_buf buf;
    pl_buf_init(&buf, 4096);
    for (size_t i = 0; words[i] != NULL; i++) {
        if (buf.len > JOINED_BYTES) { /* the hint it becomes a part of has a limit */
            pl_buf_put(&buf, ", and more");
            break;
        }
        pl_buf_printf(&buf, "%s%s", i == 0 ? "" : words[i + 1] == NULL ? last : ", ", words[i]);
    }
    const char *text = pl_strdup(arena, pl_buf_text(&buf));
    pl_buf_release(&buf);
    return text;
}

void plan_hint_nearest(struct reader *reader, const char *word, const char *const *candidates, const char *lead)
{
    size_t count = 0;
    while (candidates[count] != NULL)
        count++;
    const char *nearest = pl_near(word, candidates, count);
    char question[WORD_BYTES + 40] = "";
    if (nearest != NULL)
        snprintf(question, sizeof question, "Did you mean \"%s\"? ", nearest);
    if (candidates[0] != NULL && candidates[1] == NULL)
        pl_err_hint(reader->err, nearest != NULL ? "Did you mean \"%s\"?" : "The only one here is \"%s\".", candidates[0]);
    else
        pl_err_hint(reader->err, "%s%s %s.", question, lead, plan_join(reader->arena, candidates, " and "));
}

static bool is_word_char(char c)
{
    return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
}

bool plan_is_name(const char *text)
{
    size_t length = strlen(text);
    if (length == 0 || length > NAME_BYTES || !is_word_char(text[0]))
        return false;
    for (size_t i = 0; i < length; i++)
        if (!is_word_char(text[i]) && text[i] != '_' && text[i] != '-' && text[i] != '.')
            return false;
    return true;
}

enum pl_code plan_need_scalar(struct reader *reader, const char *name, const struct node *node)
{
    if (node->type != NODE_SCALAR) {
        plan_fail(reader, node, "\"%s\" is a %s, not one value", name, node->type == NODE_LIST ? "list" : "map");
        pl_err_hint(reader->err, "Write one value behind \"%s:\".", name);
        return reader->err->code;
    }
    if (plan_node_is_null(node)) {
        plan_fail(reader, node, "\"%s\" has no value", name);
        pl_err_hint(reader->err, "Write a value behind \"%s:\", or remove the line.", name);
        return reader->err->code;
    }
    return PL_OK;
}

enum pl_code plan_check_known(struct reader *reader, const struct level *level, const struct node *map, const char *owner)
{
    const char *names[32];
    assert(level->count < sizeof names / sizeof names[0]);
    for (size_t i = 0; i < level->count; i++)
        names[i] = level->fields[i].name;
    names[level->count] = NULL;
    for (size_t i = 0; i < map->count; i++) {
        bool known = false;
        for (size_t j = 0; names[j] != NULL && !known; j++)
            known = strcmp(names[j], map->keys[i]->text) == 0;
        if (known)
            continue;
        plan_fail(reader, map->keys[i], "unknown key %s in %s", plan_shown(reader->arena, map->keys[i]->text), owner);
        plan_hint_nearest(reader, map->keys[i]->text, names, "The keys here are");
        return reader->err->code;
    }
    return PL_OK;
}

static const char duration_units[] = "ns, us, ms, s, m, h and d";
static const char rate_units[] = "/s, /min and /h";

/* What a value of this type looks like, when the text has no number of its kind at its beginning. */
static void hint_form(struct reader *reader, const struct plan_key *key)
{
    if (key->type == PLAN_TYPE_DURATION)
        pl_err_hint(reader->err, "Write a number and its unit without a space, such as 30s; the units are %s.",
                    duration_units);
    else if (key->type == PLAN_TYPE_RATE)
        pl_err_hint(reader->err, "Write a number and its unit without a space, such as 200/s; the units are %s.",
                    rate_units);
    else
        pl_err_hint(reader->err, "Write a whole number from %s to %s.",
                    plan_number_text(key->type, key->low, reader->arena),
                    plan_number_text(key->type, key->high, reader->arena));
}

static enum pl_code refuse_unit(struct reader *reader, const struct plan_key *key, const struct node *node,
                                enum pl_num_result result)
{
    bool duration = key->type == PLAN_TYPE_DURATION;
    plan_fail(reader, node, "\"%s\" is %s, a %s %s", key->name, plan_shown(reader->arena, node->text),
              duration ? "duration" : "rate",
              result == PL_NUM_NO_UNIT ? "without a unit" : "with a unit that does not exist");
    size_t digits = strspn(node->text, "0123456789.");
    if (digits > 0 && digits < 20)
        pl_err_hint(reader->err, "Write %.*s%s if %s meant; the units are %s, right behind the number.", (int)digits,
                    node->text, duration ? "s" : "/s", duration ? "seconds are" : "that many in a second are",
                    duration ? duration_units : rate_units);
    else
        hint_form(reader, key);
    return reader->err->code;
}

static enum pl_code refuse_number(struct reader *reader, const struct plan_key *key, const struct node *node,
                                  enum pl_num_result result)
{
    static const char *const kinds[] = {
        [PLAN_TYPE_COUNT] = "whole number", [PLAN_TYPE_DURATION] = "duration", [PLAN_TYPE_RATE] = "rate"};
    const char *shown = plan_shown(reader->arena, node->text);
    if (result == PL_NUM_NO_UNIT || result == PL_NUM_BAD_UNIT)
        return refuse_unit(reader, key, node, result);
    if (result == PL_NUM_RANGE) {
        plan_fail(reader, node, "\"%s\" is %s, out of its range", key->name, shown);
        pl_err_hint(reader->err, "It must lie between %s and %s.", plan_number_text(key->type, key->low, reader->arena),
                    plan_number_text(key->type, key->high, reader->arena));
        return reader->err->code;
    }
    plan_fail(reader, node, "\"%s\" is %s, not a %s", key->name, shown, kinds[key->type]);
    hint_form(reader, key);
    return reader->err->code;
}

enum pl_code plan_take_param(struct reader *reader, const struct plan_key *key, const struct node *node,
                             struct plan_params *params)
{
    if (node->type == NODE_LIST) {
        plan_fail(reader, node, "\"%s\" is a list, not one value", key->name);
        pl_err_hint(reader->err, "To try several values, put them into \"over\": over: {%s: [...]}.", key->name);
        return reader->err->code;
    }
    if (key->type == PLAN_TYPE_NAME) {
        const char *text = NULL;
        enum pl_code mixed = plan_take_mix(reader, node, &text);
        if (mixed == PL_OK)
            plan_params_set(params, key, text);
        return mixed;
    }
    enum pl_code code = plan_need_scalar(reader, key->name, node);
    if (code != PL_OK)
        return code;
    enum pl_num_result result = plan_params_try(params, key, node->text);
    if (result == PL_NUM_OK)
        return PL_OK;
    if (key->type != PLAN_TYPE_CHOICE)
        return refuse_number(reader, key, node, result);
    plan_fail(reader, node, "\"%s\" cannot be %s", key->name, plan_shown(reader->arena, node->text));
    plan_hint_nearest(reader, node->text, key->choices, "The choices are");
    return reader->err->code;
}
