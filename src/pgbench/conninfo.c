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

/* The end of a password with an @ in it, which libpq takes for the beginning of the host. */
static bool is_half_password(const PQconninfoOption *option)
{
    return strcmp(option->keyword, "host") == 0 && option->val[0] != '@' && strchr(option->val, '@') != NULL;
}

/* A connection string without its secrets; as it is when it has none, or is none. Of what libpq cannot read nothing is
 * shown when it is a URI, or stands where a database is named. */
static const char *string_public(const char *text, bool is_database, struct pl_arena *arena)
{
    bool is_uri = strncmp(text, "postgresql://", 13) == 0 || strncmp(text, "postgres://", 11) == 0, has_secret = false;
    bool is_string = is_uri || strchr(text, '=') != NULL;
    PQconninfoOption *options = is_string ? PQconninfoParse(text, NULL) : NULL;
    bool is_unreadable = is_string && options == NULL && (is_uri || is_database);
    for (const PQconninfoOption *option = options; option != NULL && option->keyword != NULL; option++) {
        has_secret = has_secret || (option->val != NULL && is_secret(option));
        is_unreadable = is_unreadable || (option->val != NULL && is_half_password(option));
    }
    PQconninfoFree(options);
    if (is_unreadable)
        return is_uri ? "postgresql://..." : "...";
    if (!has_secret)
        return text;
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

/* Where in an argument a database is named; NULL: nowhere. */
static const char *database_in(const char *argument, const char *const *databases, size_t count)
{
    const char *end = argument + strlen(argument);
    for (size_t i = 0; i < count; i++)
        if (databases[i] >= argument && databases[i] <= end)
            return databases[i];
    return NULL;
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
    const char **databases;
    size_t database_count = pgbench_options_databases(argc, argv, arena, &databases);
    struct pl_buf out;
    pl_buf_init(&out, MAX_COMMAND_BYTES);
    for (int i = 0; i < argc; i++) {
        const char *database = database_in(argv[i], databases, database_count);
        size_t skip = database != NULL ? (size_t)(database - argv[i]) : 0;
        const char *rest = string_public(argv[i] + skip, database != NULL, arena);
        pl_buf_put(&out, i > 0 ? " " : "");
        put_argument(&out, pl_format(arena, "%.*s%s", (int)skip, argv[i], rest));
    }
    const char *result = pl_strdup(arena, pl_buf_text(&out));
    pl_buf_release(&out);
    return result;
}
