/* Everything that was said about the server as one connection string. */
#include "pgbench/options_int.h"

#include <stdlib.h>
#include <string.h>

#include <libpq-fe.h>

#include "base/buf.h"
#include "pgbench/say_int.h"

#include "base/ban.h"

enum { MAX_CONNINFO_BYTES = 64 * 1024 };

/* What libpq takes for a connection string where a database's name is expected. */
static bool is_connection_string(const char *text)
{
    return strncmp(text, "postgresql://", 13) == 0 || strncmp(text, "postgres://", 11) == 0 || strchr(text, '=') != NULL;
}

static void put_keyword(struct pl_buf *out, const char *keyword, const char *value)
{
    if (value == NULL)
        return;
    pl_buf_printf(out, "%s%s='", out->len > 0 ? " " : "", keyword);
    for (; *value != '\0'; value++) {
        if (*value == '\'' || *value == '\\')
            pl_buf_put(out, "\\");
        pl_buf_put_bytes(out, value, 1);
    }
    pl_buf_put(out, "'");
}

/* The keywords of a connection string come last: they win over options, as libpq has it. */
static bool put_string(struct pgbench_parse *parse, struct pl_buf *out)
{
    char *reason = NULL;
    PQconninfoOption *options = PQconninfoParse(parse->dbname, &reason);
    if (options == NULL) {
        bool may_quote = reason != NULL && strchr(parse->dbname, '@') == NULL && strcasestr(parse->dbname, "pass") == NULL;
        pgbench_say(SAY_ERROR, "%s",
                    may_quote ? reason : "the connection string, which may hold a password, cannot be read");
        pgbench_say(SAY_ERROR, "could not create connection for setup");
        PQfreemem(reason);
        return false;
    }
    for (const PQconninfoOption *option = options; option->keyword != NULL; option++) {
        put_keyword(out, option->keyword, option->val);
        if (option->val != NULL && strcmp(option->keyword, "dbname") == 0)
            parse->chosen.database = pl_strdup(parse->arena, option->val);
        if (option->val != NULL && strcmp(option->keyword, "user") == 0)
            parse->user = pl_strdup(parse->arena, option->val);
    }
    PQconninfoFree(options);
    return true;
}

/* Which database it will be when nothing names one: libpq decides, by PGDATABASE, or else by the user's name. */
static const char *default_database(struct pgbench_parse *parse)
{
    const char *database = NULL, *user = parse->user;
    PQconninfoOption *defaults = PQconndefaults();
    for (const PQconninfoOption *option = defaults; option != NULL && option->keyword != NULL; option++) {
        if (option->val != NULL && strcmp(option->keyword, "dbname") == 0)
            database = pl_strdup(parse->arena, option->val);
        if (user == NULL && option->val != NULL && strcmp(option->keyword, "user") == 0)
            user = pl_strdup(parse->arena, option->val);
    }
    PQconninfoFree(defaults);
    return database != NULL ? database : user != NULL ? user : "";
}

bool pgbench_conninfo_make(struct pgbench_parse *parse)
{
    struct pl_buf out;
    pl_buf_init(&out, MAX_CONNINFO_BYTES);
    if (getenv("PGAPPNAME") == NULL)
        put_keyword(&out, "application_name", "pgbench");
    put_keyword(&out, "host", parse->host);
    put_keyword(&out, "port", parse->port);
    put_keyword(&out, "user", parse->user);
    bool is_good = true;
    if (parse->dbname != NULL && is_connection_string(parse->dbname)) {
        is_good = put_string(parse, &out);
    } else if (parse->dbname != NULL && parse->dbname[0] != '\0') {
        put_keyword(&out, "dbname", parse->dbname);
        parse->chosen.database = parse->dbname;
    }
    if (parse->chosen.database == NULL)
        parse->chosen.database = default_database(parse);
    if (is_good && out.full) {
        pgbench_say(SAY_ERROR, "the connection string is longer than %d bytes", MAX_CONNINFO_BYTES);
        is_good = false;
    }
    parse->chosen.conninfo = pl_strdup(parse->arena, pl_buf_text(&out));
    pl_buf_release(&out);
    return is_good;
}
