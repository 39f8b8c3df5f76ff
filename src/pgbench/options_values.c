/* Values of single options: strict, and refused in pgbench's words. */
#include "pgbench/options_int.h"

#include <errno.h>
#include <limits.h>
#include <string.h>
#include <sys/random.h>

#include "base/clock.h"
#include "base/num.h"
#include "pgbench/say_int.h"

#include "base/ban.h"

#define RATE_MAX_PER_S 1e9
#define RATE_MIN_PER_S 1e-9
#define LATENCY_LIMIT_MAX_MS 1e12

/* Blanks around a number are a shell's doing; digits grouped with _ are no number to other programs. */
static enum pl_num_result read_i64(const char *text, int64_t *ret_value)
{
    text += strspn(text, " \t\n");
    size_t length = strcspn(text, " \t\n");
    if (text[length + strspn(text + length, " \t\n")] != '\0' || memchr(text, '_', length) != NULL)
        return PL_NUM_BAD;
    return pl_num_i64(text, length, ret_value);
}

static bool read_f64(const char *text, double low, double high, double *ret_value)
{
    text += strspn(text, " \t\n");
    size_t length = strcspn(text, " \t\n");
    double value;
    if (text[length + strspn(text + length, " \t\n")] != '\0' || memchr(text, '_', length) != NULL ||
        pl_num_f64(text, length, &value) != PL_NUM_OK || value < low || value > high)
        return false;
    *ret_value = value;
    return true;
}

bool pgbench_value_int(const char *given, const char *text, int64_t low, int64_t high, int64_t *ret_value)
{
    int64_t value = 0;
    enum pl_num_result result = read_i64(text, &value);
    if (result == PL_NUM_OK && value >= low && value <= high) {
        *ret_value = value;
        return true;
    }
    if (result == PL_NUM_OK || result == PL_NUM_RANGE)
        pgbench_say(SAY_ERROR, "%s must be in range %lld..%lld", given, (long long)low, (long long)high);
    else
        pgbench_say(SAY_ERROR, "invalid value \"%s\" for option %s", text, given);
    return false;
}

bool pgbench_value_rate(struct pgbench_parse *parse, const char *text)
{
    if (read_f64(text, RATE_MIN_PER_S, RATE_MAX_PER_S, &parse->chosen.rate_per_s))
        return true;
    pgbench_say(SAY_ERROR, "invalid rate limit: \"%s\"", text);
    return false;
}

bool pgbench_value_latency_limit(struct pgbench_parse *parse, const char *text)
{
    double limit_ms;
    if (read_f64(text, 1e-6, LATENCY_LIMIT_MAX_MS, &limit_ms)) {
        parse->chosen.latency_limit_ns = (int64_t)(limit_ms * (double)PL_NS_PER_MS);
        return true;
    }
    pgbench_say(SAY_ERROR, "invalid latency limit: \"%s\"", text);
    return false;
}

bool pgbench_value_sampling_rate(struct pgbench_parse *parse, const char *text)
{
    if (read_f64(text, 1e-12, 1.0, &parse->chosen.sampling_rate))
        return true;
    pgbench_say(SAY_ERROR, "invalid sampling rate: \"%s\"", text);
    return false;
}

bool pgbench_value_max_tries(struct pgbench_parse *parse, const char *text)
{
    int64_t tries;
    if (read_i64(text, &tries) == PL_NUM_OK && tries >= 0 && tries <= INT_MAX) {
        parse->chosen.max_tries = tries;
        return true;
    }
    pgbench_say(SAY_ERROR, "invalid number of maximum tries: \"%s\"", text);
    return false;
}

bool pgbench_value_protocol(struct pgbench_parse *parse, const char *text)
{
    static const struct {
        const char *name;
        enum plan_protocol protocol;
    } known[] = {{"simple", PLAN_SIMPLE}, {"extended", PLAN_EXTENDED}, {"prepared", PLAN_PREPARED}};
    for (size_t i = 0; i < sizeof known / sizeof known[0]; i++)
        if (strcmp(known[i].name, text) == 0) {
            parse->chosen.protocol = known[i].protocol;
            return true;
        }
    pgbench_say(SAY_ERROR, "invalid query mode (-M): \"%s\"", text);
    return false;
}

/* The last one of a name counts. */
bool pgbench_value_define(struct pgbench_parse *parse, const char *text)
{
    struct pgbench_options *chosen = &parse->chosen;
    const char *equals = strchr(text, '=');
    if (equals == NULL || equals == text || equals[1] == '\0') {
        pgbench_say(SAY_ERROR, "invalid variable definition: \"%s\"", text);
        return false;
    }
    const char *name = pl_strndup(parse->arena, text, (size_t)(equals - text));
    if (!names_is_valid(name, strlen(name)) || (name[0] >= '0' && name[0] <= '9')) {
        pgbench_say(SAY_ERROR, "option: invalid variable name: \"%s\"", name);
        return false;
    }
    struct pgbench_define *defines = (struct pgbench_define *)(uintptr_t)chosen->defines; /* this file's own array */
    for (size_t i = 0; i < chosen->define_count; i++)
        if (strcmp(defines[i].name, name) == 0) {
            defines[i].value = equals + 1;
            return true;
        }
    defines = pl_grow(parse->arena, defines, chosen->define_count, chosen->define_count + 1, sizeof *defines,
                      &parse->define_capacity);
    defines[chosen->define_count++] = (struct pgbench_define){.name = name, .value = equals + 1};
    chosen->defines = defines;
    names_predefine(chosen->names, name);
    return true;
}

bool pgbench_value_init_steps(struct pgbench_parse *parse, const char *text)
{
    if (text[0] == '\0') {
        pgbench_say(SAY_ERROR, "no initialization steps specified");
        return false;
    }
    char bad = dataset_check_steps(text);
    if (bad != '\0') {
        pgbench_say(SAY_ERROR, "unrecognized initialization step \"%c\"", bad);
        pgbench_say(SAY_DETAIL, "Allowed step characters are: \"dtgGvpf\".");
        return false;
    }
    parse->chosen.data.steps = text;
    return true;
}

bool pgbench_value_partition_method(struct pgbench_parse *parse, const char *text)
{
    if (strcmp(text, "range") == 0) {
        parse->chosen.data.partitioning = DATASET_RANGE;
    } else if (strcmp(text, "hash") == 0) {
        parse->chosen.data.partitioning = DATASET_HASH;
    } else {
        pgbench_say(SAY_ERROR, "invalid partition method, expecting \"range\" or \"hash\", got: \"%s\"", text);
        return false;
    }
    return true;
}

/* An unsigned decimal integer, whole. */
static bool read_u64(const char *text, uint64_t *ret_value)
{
    uint64_t value = 0;
    if (text[0] == '\0')
        return false;
    for (; *text != '\0'; text++)
        if (*text < '0' || *text > '9' || __builtin_mul_overflow(value, (uint64_t)10, &value) ||
            __builtin_add_overflow(value, (uint64_t)(*text - '0'), &value))
            return false;
    *ret_value = value;
    return true;
}

bool pgbench_value_seed(struct pgbench_parse *parse, const char *text, const char *source)
{
    uint64_t seed = (uint64_t)pl_clock_unix_ns();
    if (strcmp(text, "rand") == 0) {
        if (getrandom(&seed, sizeof seed, 0) != (ssize_t)sizeof seed) {
            char reason[128];
            pgbench_say(SAY_ERROR, "could not generate random seed: %s", strerror_r(errno, reason, sizeof reason));
            pgbench_say(SAY_ERROR, "error while setting random seed from %s", source);
            return false;
        }
    } else if (strcmp(text, "time") != 0 && !read_u64(text, &seed)) {
        pgbench_say(SAY_ERROR, "unrecognized random seed option \"%s\"", text);
        pgbench_say(SAY_DETAIL, "Expecting an unsigned integer, \"time\" or \"rand\".");
        pgbench_say(SAY_ERROR, "error while setting random seed from %s", source);
        return false;
    }
    pgbench_say(SAY_INFO, "setting random seed to %llu", (unsigned long long)seed);
    parse->chosen.seed = seed;
    parse->chosen.seed_is_given = true;
    return true;
}
