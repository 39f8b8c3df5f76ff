/* `script:`: one name, or several with weights. In every place after the parser it is one text, so that it can be an axis
 * of a matrix, stand in a label and be compared: "browse", or "browse@3+buy@1". */
#include "plan/plan.h"

#include <assert.h>
#include <string.h>

#include "base/num.h"
#include "plan/plan_int.h"

#include "base/ban.h"

static bool take_share(const char *text, size_t length, struct pl_arena *arena, struct plan_share *share)
{
    const char *at = memchr(text, '@', length);
    size_t name_length = at != NULL ? (size_t)(at - text) : length;
    share->script = pl_strndup(arena, text, name_length);
    share->weight = 1;
    if (!plan_is_name(share->script))
        return false;
    return at == NULL || (pl_num_i64(at + 1, length - name_length - 1, &share->weight) == PL_NUM_OK && share->weight >= 1 &&
                          (double)share->weight <= PLAN_MIX_WEIGHT);
}

size_t plan_mix(const char *text, struct pl_arena *arena, struct plan_share shares[PLAN_MIX_SCRIPTS])
{
    size_t count = 0;
    for (const char *at = text;; at++) {
        size_t length = strcspn(at, "+");
        if (count == PLAN_MIX_SCRIPTS || !take_share(at, length, arena, &shares[count]))
            return 0;
        count++;
        at += length;
        if (*at == '\0')
            return count;
    }
}

/* Of a script alone its name, whatever its weight. */
static const char *mix_text(struct reader *reader, const struct plan_share *shares, size_t count)
{
    if (count == 1)
        return shares[0].script;
    const char *text = "";
    for (size_t i = 0; i < count; i++)
        text =
            pl_format(reader->arena, "%s%s%s@%lld", text, i > 0 ? "+" : "", shares[i].script, (long long)shares[i].weight);
    return text;
}

/* A script is builtin or of the plan. */
static enum pl_code check_script(struct reader *reader, const struct node *node, const char *name)
{
    const struct plan *plan = reader->plan;
    size_t known = 0;
    while (reader->builtin_names[known] != NULL)
        known++;
    const char **names = pl_alloc(reader->arena, known + plan->script_count + 1, sizeof *names);
    for (size_t i = 0; i < known; i++)
        names[i] = reader->builtin_names[i];
    for (size_t i = 0; i < plan->script_count; i++)
        names[known++] = plan->scripts[i].name;
    for (size_t i = 0; i < known; i++)
        if (strcmp(names[i], name) == 0)
            return plan_check_script_speech(reader, node, name);
    plan_fail(reader, node, "\"script\" names the unknown script %s", plan_shown(reader->arena, name));
    if (known > 0)
        plan_hint_nearest(reader, name, names, "The builtin scripts and those under \"scripts:\" are");
    pl_err_hint(reader->err, "Name its file under \"scripts:\".");
    return reader->err->code;
}

static enum pl_code refuse_weight(struct reader *reader, const struct node *node, const char *name)
{
    plan_fail(reader, node, "the weight of script \"%s\" is %s, not a whole number from 1 to %.0f", name,
              node->type == NODE_SCALAR ? plan_shown(reader->arena, node->text) : "no number", PLAN_MIX_WEIGHT);
    pl_err_hint(reader->err, "Write how often each script is chosen, such as {browse: 3, buy: 1}.");
    return reader->err->code;
}

static enum pl_code take_map(struct reader *reader, const struct node *node, const char **ret_text)
{
    struct plan_share shares[PLAN_MIX_SCRIPTS];
    if (node->count == 0 || node->count > PLAN_MIX_SCRIPTS) {
        plan_fail(reader, node, "\"script\" %s", node->count == 0 ? "is an empty mix" : "has too many scripts");
        pl_err_hint(reader->err, "Write 1 to %d scripts with their weights, such as {browse: 3, buy: 1}.",
                    PLAN_MIX_SCRIPTS);
        return reader->err->code;
    }
    for (size_t i = 0; i < node->count; i++) {
        const struct node *weight = node->items[i];
        enum pl_code code = check_script(reader, node->keys[i], node->keys[i]->text);
        if (code != PL_OK)
            return code;
        shares[i] = (struct plan_share){.script = node->keys[i]->text};
        if (weight->type != NODE_SCALAR || pl_num_i64(weight->text, weight->length, &shares[i].weight) != PL_NUM_OK ||
            shares[i].weight < 1 || (double)shares[i].weight > PLAN_MIX_WEIGHT)
            return refuse_weight(reader, weight, shares[i].script);
    }
    *ret_text = mix_text(reader, shares, node->count);
    return PL_OK;
}

enum pl_code plan_take_mix(struct reader *reader, const struct node *node, const char **ret_text)
{
    struct plan_share shares[PLAN_MIX_SCRIPTS];
    if (node->type == NODE_MAP)
        return take_map(reader, node, ret_text);
    enum pl_code code = plan_need_scalar(reader, "script", node);
    if (code != PL_OK)
        return code;
    size_t count = strchr(node->text, '@') != NULL ? plan_mix(node->text, reader->arena, shares) : 0;
    if (count == 0) {
        *ret_text = node->text;
        return check_script(reader, node, node->text);
    }
    for (size_t i = 0; i < count; i++) {
        code = check_script(reader, node, shares[i].script);
        for (size_t k = 0; code == PL_OK && k < i; k++)
            if (strcmp(shares[k].script, shares[i].script) == 0) {
                plan_fail(reader, node, "\"script\" names \"%s\" twice", shares[i].script);
                pl_err_hint(reader->err, "Give it one weight.");
                code = reader->err->code;
            }
        if (code != PL_OK)
            return code;
    }
    *ret_text = mix_text(reader, shares, count);
    return PL_OK;
}
