/* Connection strings and command lines without their secrets. */
#include "pgbench/output_int.h"

#include <stdbool.h>
#include <string.h>

#include <libpq-fe.h>

#include "base/buf.h"

#include "base/ban.h"

enum { MAX_COMMAND_BYTES = 1024 * 1024 };

/* libpq marks most secrets as not to be shown; some of newer versions it does not. */
static bool is_secret(const PQconninfoOption *option)
{
    static const char *const others[] = {"scram_client_key", "scram_server_key", "oauth_client_secret"};
    for (size_t i = 0; i < sizeof others / sizeof others[0]; i++)
        if (strcmp(option->keyword, others[i]) == 0)
            return true;
    return option->dispchar[0] == '*';
}

size_t pgbench_conninfo_public(const char *conninfo, struct pl_arena *arena, struct param **ret_params)
{
    size_t count = 0, capacity = 0;
    struct param *params = NULL;
    PQconninfoOption *options = PQconninfoParse(conninfo, NULL);
    for (const PQconninfoOption *option = options; option != NULL && option->keyword != NULL; option++) {
        if (option->val == NULL || is_secret(option))
            continue;
        params = pl_grow(arena, params, count, count + 1, sizeof *params, &capacity);
        params[count++] = (struct param){.name = pl_strdup(arena, option->keyword), .value = pl_strdup(arena, option->val)};
    }
    PQconninfoFree(options);
    *ret_params = params;
    return count;
}

/* The text between quotes of a kind that a backslash protects. */
static void put_protected(struct pl_buf *out, const char *text)
{
    for (; *text != '\0'; text++) {
        if (*text == '\'' || *text == '\\')
            pl_buf_put(out, "\\");
        pl_buf_put_bytes(out, text, 1);
    }
}

/* A connection string without its secrets; as it is when it has none, or is none. */
static const char *string_public(const char *text, struct pl_arena *arena)
{
    bool is_uri = strncmp(text, "postgresql://", 13) == 0 || strncmp(text, "postgres://", 11) == 0, has_secret = false;
    PQconninfoOption *options = is_uri || strchr(text, '=') != NULL ? PQconninfoParse(text, NULL) : NULL;
    for (const PQconninfoOption *option = options; option != NULL && option->keyword != NULL; option++)
        has_secret = has_secret || (option->val != NULL && is_secret(option));
    bool is_unreadable = is_uri && options == NULL;
    PQconninfoFree(options);
    if (!has_secret)
        return is_unreadable ? "postgresql://..." : text;
    struct param *params = NULL;
    size_t count = pgbench_conninfo_public(text, arena, &params);
    struct pl_buf out;
    pl_buf_init(&out, MAX_COMMAND_BYTES);
    for (size_t i = 0; i < count; i++) {
        bool is_plain = params[i].value[0] != '\0' && strpbrk(params[i].value, " '\\\t\n") == NULL;
        pl_buf_printf(&out, "%s%s=%s", i > 0 ? " " : "", params[i].name, is_plain ? "" : "'");
        put_protected(&out, params[i].value);
        pl_buf_put(&out, is_plain ? "" : "'");
    }
    const char *result = pl_strdup(arena, pl_buf_text(&out));
    pl_buf_release(&out);
    return result;
}

/* Where a connection string may begin in an argument. */
static size_t option_length(const char *argument)
{
    if (strncmp(argument, "--dbname=", 9) == 0)
        return 9;
    return strncmp(argument, "-d", 2) == 0 && argument[2] != '\0' ? 2 : 0;
}

static void put_argument(struct pl_buf *out, const char *argument)
{
    static const char plain[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_./:=@,+%-";
    if (argument[0] != '\0' && strspn(argument, plain) == strlen(argument)) {
        pl_buf_put(out, argument);
        return;
    }
    pl_buf_put(out, "'");
    for (; *argument != '\0'; argument++) {
        if (*argument == '\'')
            pl_buf_put(out, "'\\'");
        pl_buf_put_bytes(out, argument, 1);
    }
    pl_buf_put(out, "'");
}

const char *pgbench_command_public(int argc, char **argv, struct pl_arena *arena)
{
    struct pl_buf out;
    pl_buf_init(&out, MAX_COMMAND_BYTES);
    for (int i = 0; i < argc; i++) {
        size_t skip = option_length(argv[i]);
        const char *rest = string_public(argv[i] + skip, arena);
        pl_buf_put(&out, i > 0 ? " " : "");
        put_argument(&out, pl_format(arena, "%.*s%s", (int)skip, argv[i], rest));
    }
    const char *result = pl_strdup(arena, pl_buf_text(&out));
    pl_buf_release(&out);
    return result;
}
