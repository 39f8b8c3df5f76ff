/* Which scripts run: files and builtin ones with their weights, read and compiled in the order of the command line. */
#include "pgbench/options_int.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>

#include "base/buf.h"
#include "base/file.h"
#include "base/limits.h"
#include "base/num.h"
#include "pgbench/say_int.h"

#include "base/ban.h"

/* "NAME@W": the part after the last @ is the weight. */
static bool split_weight(struct pgbench_parse *parse, const char *text, const char **ret_name, int *ret_weight)
{
    const char *at = strrchr(text, '@');
    int64_t weight = 1;
    if (at == NULL) {
        *ret_name = text;
        *ret_weight = 1;
        return true;
    }
    if (strchr(at + 1, '_') != NULL || pl_num_i64(at + 1, strlen(at + 1), &weight) != PL_NUM_OK) {
        pgbench_say(SAY_ERROR, "invalid weight specification: %s", at);
        return false;
    }
    if (weight < 0 || weight > INT_MAX) {
        pgbench_say(SAY_ERROR, "weight specification out of range (0 .. %d): %lld", INT_MAX, (long long)weight);
        return false;
    }
    *ret_name = pl_strndup(parse->arena, text, (size_t)(at - text));
    *ret_weight = (int)weight;
    return true;
}

static bool script_add(struct pgbench_parse *parse, struct pgbench_script script, const char *text, size_t length)
{
    struct pgbench_options *chosen = &parse->chosen;
    if (chosen->script_count == PL_MAX_SCRIPTS) {
        pgbench_say(SAY_ERROR, "at most %d SQL scripts are allowed", PL_MAX_SCRIPTS);
        return false;
    }
    struct pl_err err = {0};
    struct program *program = NULL;
    const char *name = script.path != NULL ? script.path : script.title;
    if (program_compile(name, text, length, PROGRAM_AS_PGBENCH, chosen->names, parse->arena, &program, &err) != PL_OK) {
        if (err.line == 0 && strstr(err.what, name) != NULL) /* it is named in the text already */
            err.file[0] = '\0';
        pgbench_say_err(&err);
        return false;
    }
    script.program = program;
    size_t count = (size_t)chosen->script_count;
    chosen->scripts = pl_grow(parse->arena, chosen->scripts, count, count + 1, sizeof script, &parse->script_capacity);
    chosen->scripts[chosen->script_count++] = script;
    return true;
}

/* Standard input: what is left of it, so not by opening /dev/stdin. */
static bool read_stdin(struct pgbench_parse *parse, char **ret_text, size_t *ret_length)
{
    if (parse->has_read_stdin) {
        pgbench_say(SAY_ERROR, "standard input can be one script only");
        return false;
    }
    parse->has_read_stdin = true;
    struct pl_buf buf;
    pl_buf_init(&buf, PL_MAX_SCRIPT_BYTES);
    char bytes[4096];
    size_t count;
    while ((count = fread(bytes, 1, sizeof bytes, stdin)) > 0 && !buf.full)
        pl_buf_put_bytes(&buf, bytes, count);
    bool is_good = !ferror(stdin) && !buf.full;
    char reason[128];
    if (!is_good)
        pgbench_say(SAY_ERROR, "could not read file \"-\": %s",
                    buf.full ? "it is too long for a script" : strerror_r(errno, reason, sizeof reason));
    *ret_text = pl_strndup(parse->arena, pl_buf_text(&buf), buf.len);
    *ret_length = buf.len;
    pl_buf_release(&buf);
    return is_good;
}

static bool read_file(struct pgbench_parse *parse, const char *path, char **ret_text, size_t *ret_length)
{
    if (strcmp(path, "-") == 0)
        return read_stdin(parse, ret_text, ret_length);
    struct pl_err err = {0};
    if (pl_file_read(path, PL_MAX_SCRIPT_BYTES, parse->arena, ret_text, ret_length, &err) == PL_OK)
        return true;
    char reason[128];
    if (err.os_errno != 0)
        pgbench_say(SAY_ERROR, "could not open file \"%s\": %s", path, strerror_r(err.os_errno, reason, sizeof reason));
    else
        pgbench_say(SAY_ERROR, "could not read file \"%s\": %s", path,
                    err.code == PL_INPUT ? strerror_r(EISDIR, reason, sizeof reason) : err.what);
    return false;
}

bool pgbench_script_file(struct pgbench_parse *parse, const char *text)
{
    struct pgbench_script script = {0};
    char *content = NULL;
    size_t length = 0;
    if (!split_weight(parse, text, &script.path, &script.weight) || !read_file(parse, script.path, &content, &length))
        return false;
    script.title = script.path;
    return script_add(parse, script, content, length);
}

static void list_builtins(void)
{
    fputs("Available builtin scripts:\n", stderr);
    for (size_t i = 0; builtin_script_names[i] != NULL; i++)
        fprintf(stderr, "  %13s: %s\n", builtin_script_names[i], builtin_script_title(builtin_script_names[i]));
    fputs("\n", stderr);
}

/* The builtin script whose name begins so, when there is just one. */
static const char *find_builtin(const char *prefix)
{
    const char *found = NULL;
    int count = 0;
    for (size_t i = 0; builtin_script_names[i] != NULL; i++)
        if (strncmp(builtin_script_names[i], prefix, strlen(prefix)) == 0) {
            found = builtin_script_names[i];
            count++;
        }
    if (count == 1)
        return found;
    if (count == 0)
        pgbench_say(SAY_ERROR, "no builtin script found for name \"%s\"", prefix);
    else
        pgbench_say(SAY_ERROR, "ambiguous builtin name: %d builtin scripts found for prefix \"%s\"", count, prefix);
    list_builtins();
    return NULL;
}

bool pgbench_script_builtin(struct pgbench_parse *parse, const char *text)
{
    if (strcmp(text, "list") == 0) {
        list_builtins();
        parse->is_over = true;
        return true;
    }
    struct pgbench_script script = {0};
    const char *prefix;
    if (!split_weight(parse, text, &prefix, &script.weight) || (script.builtin = find_builtin(prefix)) == NULL)
        return false;
    script.title = builtin_script_title(script.builtin);
    parse->chosen.uses_builtin = true;
    const char *content = builtin_script(script.builtin);
    return script_add(parse, script, content, strlen(content));
}

bool pgbench_script_show(struct pgbench_parse *parse, const char *text)
{
    const char *name = find_builtin(text);
    if (name == NULL)
        return false;
    fprintf(stderr, "-- %s: %s\n%s\n", name, builtin_script_title(name), builtin_script(name));
    parse->is_over = true;
    return true;
}

bool pgbench_script_complete(struct pgbench_parse *parse)
{
    if (parse->chosen.script_count == 0)
        return pgbench_script_builtin(parse, "tpcb-like");
    int64_t weight = 0;
    for (int s = 0; s < parse->chosen.script_count; s++)
        weight += parse->chosen.scripts[s].weight;
    if (weight == 0)
        pgbench_say(SAY_ERROR, "total script weight must not be zero");
    return weight > 0;
}
