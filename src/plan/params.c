/* Stage parameters: plan text to stored value and back, driven by the key table. */
#include "plan/plan.h"

#include <stdio.h>
#include <string.h>

#include "base/num.h"
#include "plan/plan_int.h"

#include "base/ban.h"

static void *param_at(struct plan_params *params, const struct plan_key *key)
{
    return (char *)params + key->offset;
}

static enum pl_num_result try_whole(struct plan_params *params, const struct plan_key *key, const char *text)
{
    int64_t value;
    enum pl_num_result result = key->type == PLAN_TYPE_DURATION ? pl_num_duration_ns(text, strlen(text), &value)
                                                                : pl_num_i64(text, strlen(text), &value);
    if (result != PL_NUM_OK)
        return result;
    if ((double)value < key->low || (double)value > key->high)
        return PL_NUM_RANGE;
    memcpy(param_at(params, key), &value, sizeof value);
    return PL_NUM_OK;
}

static enum pl_num_result try_rate(struct plan_params *params, const struct plan_key *key, const char *text)
{
    double value;
    enum pl_num_result result = pl_num_rate(text, strlen(text), &value);
    if (result != PL_NUM_OK)
        return result;
    if (value < key->low || value > key->high)
        return PL_NUM_RANGE;
    memcpy(param_at(params, key), &value, sizeof value);
    return PL_NUM_OK;
}

enum pl_num_result plan_params_try(struct plan_params *params, const struct plan_key *key, const char *text)
{
    switch (key->type) {
    case PLAN_TYPE_COUNT:
    case PLAN_TYPE_DURATION:
        return try_whole(params, key, text);
    case PLAN_TYPE_RATE:
        return try_rate(params, key, text);
    case PLAN_TYPE_NAME:
        memcpy(param_at(params, key), &text, sizeof text);
        return PL_NUM_OK;
    case PLAN_TYPE_CHOICE:
        for (int64_t i = 0; key->choices[i] != NULL; i++)
            if (strcmp(key->choices[i], text) == 0) {
                memcpy(param_at(params, key), &i, sizeof i);
                return PL_NUM_OK;
            }
        return PL_NUM_BAD;
    }
    pl_panic("stage key \"%s\" has type %d", key->name, (int)key->type);
}

void plan_params_set(struct plan_params *params, const struct plan_key *key, const char *text)
{
    if (plan_params_try(params, key, text) != PL_NUM_OK)
        pl_panic("\"%s\" does not fit the stage key \"%s\", although it was checked", text, key->name);
}

/* The largest unit in which the duration is a whole number. */
static const char *duration_text(int64_t ns, struct pl_arena *arena)
{
    static const struct {
        int64_t ns;
        const char *unit;
    } units[] = {{86400000000000, "d"}, {3600000000000, "h"}, {60000000000, "m"}, {1000000000, "s"},
                 {1000000, "ms"},       {1000, "us"},         {1, "ns"}};
    if (ns == 0)
        return "0s";
    size_t i = 0;
    while (ns % units[i].ns != 0)
        i++;
    return pl_format(arena, "%jd%s", (intmax_t)(ns / units[i].ns), units[i].unit);
}

/* The fewest decimals that read back as the same number. 0.001/s, the smallest rate, needs at most 20 for its 17 digits. */
static const char *rate_text(double per_s, struct pl_arena *arena)
{
    char text[64];
    double back = -1;
    for (int decimals = 0; decimals <= 24 && back != per_s; decimals++) {
        int length = snprintf(text, sizeof text, "%.*f/s", decimals, per_s);
        if (length < 0 || (size_t)length >= sizeof text || pl_num_rate(text, (size_t)length, &back) != PL_NUM_OK)
            back = -1;
    }
    return pl_strdup(arena, text);
}

const char *plan_number_text(enum plan_type type, double value, struct pl_arena *arena)
{
    if (type == PLAN_TYPE_DURATION)
        return duration_text((int64_t)value, arena);
    if (type == PLAN_TYPE_RATE)
        return rate_text(value, arena);
    return pl_format(arena, "%.0f", value);
}

const char *plan_params_text(const struct plan_params *params, const struct plan_key *key, struct pl_arena *arena)
{
    const char *field = (const char *)params + key->offset;
    int64_t whole;
    double rate;
    const char *name;
    switch (key->type) {
    case PLAN_TYPE_COUNT:
        memcpy(&whole, field, sizeof whole);
        return pl_format(arena, "%jd", (intmax_t)whole);
    case PLAN_TYPE_DURATION:
        memcpy(&whole, field, sizeof whole);
        return duration_text(whole, arena);
    case PLAN_TYPE_RATE:
        memcpy(&rate, field, sizeof rate);
        return rate_text(rate, arena);
    case PLAN_TYPE_NAME:
        memcpy(&name, field, sizeof name);
        return name != NULL ? name : "";
    case PLAN_TYPE_CHOICE:
        memcpy(&whole, field, sizeof whole);
        return key->choices[whole];
    }
    pl_panic("stage key \"%s\" has type %d", key->name, (int)key->type);
}
