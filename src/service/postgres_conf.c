/* Settings as lines of postgresql.conf. */
#include <string.h>

#include "service/postgres_int.h"

#include "base/ban.h"

/* The study connects, watches and clears away by these; a plan that set them would only break that. */
static const char *const postgres_reserved[] = {
    "config_file",
    "data_directory",
    "external_pid_file",
    "hba_file",
    "ident_file",
    "include",
    "include_dir",
    "include_if_exists",
    "lc_messages",
    "listen_addresses",
    "log_destination",
    "logging_collector",
    "port",
    "unix_socket_group",
    "unix_socket_directories",
    "unix_socket_permissions",
};

static bool postgres_is_name(const char *name)
{
    static const char letters[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ_";
    static const char rest[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ_0123456789.$";
    return name[0] != '\0' && strchr(letters, name[0]) != NULL && name[strspn(name, rest)] == '\0';
}

enum pl_code postgres_put_setting(struct pl_buf *out, const char *name, const char *value, struct pl_err *err)
{
    if (!postgres_is_name(name))
        return pl_err_set(err, PL_INPUT, "\"%.60s\" is not the name of a PostgreSQL setting", name);
    for (size_t i = 0; i < sizeof postgres_reserved / sizeof *postgres_reserved; i++)
        if (strcasecmp(name, postgres_reserved[i]) == 0) {
            pl_err_set(err, PL_INPUT, "the setting \"%s\" cannot be chosen by a plan", name);
            pl_err_hint(err, "Remove it: a throwaway server has its own directory, socket and log.");
            return err->code;
        }
    pl_buf_printf(out, "%s = '", name);
    for (const char *p = value; *p != '\0'; p++) {
        if ((unsigned char)*p < 0x20 || *p == 0x7f)
            return pl_err_set(err, PL_INPUT, "the value of the setting \"%s\" has a control character", name);
        /* both are special inside the quotes (src/backend/utils/misc/guc-file.l, DeescapeQuotedString) */
        if (*p == '\'' || *p == '\\')
            pl_buf_put_bytes(out, p, 1);
        pl_buf_put_bytes(out, p, 1);
    }
    pl_buf_put(out, "'\n");
    return PL_OK;
}

bool postgres_setting_is_secret(const char *name)
{
    static const char *const marks[] = {"passw",
                                        "passphrase",
                                        "secret",
                                        "token",
                                        "conninfo",
                                        "credential",
                                        "api_key",
                                        "apikey",
                                        "archive_command",
                                        "restore_command",
                                        "archive_cleanup_command",
                                        "recovery_end_command"};
    if (strcasecmp(name, "password_encryption") == 0)
        return false;
    for (size_t i = 0; i < sizeof marks / sizeof *marks; i++)
        if (strcasestr(name, marks[i]) != NULL)
            return true;
    return false;
}
