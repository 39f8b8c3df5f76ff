/* Settings as lines of postgresql.conf. */
#include <string.h>

#include "service/postgres_int.h"

#include "base/ban.h"

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
    const char *refusal = plan_setting_refusal(name);
    if (refusal != NULL)
        return pl_err_set(err, PL_INPUT, "the setting \"%.60s\" cannot be chosen by a plan: %s", name, refusal);
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
