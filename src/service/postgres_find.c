/* Looks for PostgreSQL programs and asks each which version it is. */
#include <dirent.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/num.h"
#include "service/postgres_int.h"

#include "base/ban.h"

enum { CANDIDATES_MAX = 32 };

#define DEBIAN_ROOT "/usr/lib/postgresql"
#define DEBIAN_VERSION "15" /* what Debian 12 has */

struct candidates {
    char *list[CANDIDATES_MAX]; /* directories, in the order of search */
    size_t count;
    struct pl_arena *arena;
};

static bool is_digit(char c)
{
    return c >= '0' && c <= '9';
}

bool postgres_parse_version(const char *text, char *ret_version, size_t size, int *ret_major)
{
    static const char mark[] = "(PostgreSQL) ";
    const char *at = strstr(text, mark);
    int64_t major;
    if (at == NULL)
        return false;
    at += strlen(mark);
    size_t digits = 0, length = strcspn(at, " \n\r\t");
    while (digits < length && is_digit(at[digits]))
        digits++;
    if (digits == 0 || digits > 4 || length >= size || pl_num_i64(at, digits, &major) != PL_NUM_OK)
        return false;
    snprintf(ret_version, size, "%.*s", (int)length, at);
    *ret_major = (int)major;
    return true;
}

bool postgres_version_fits(const char *version, const char *wanted)
{
    if (wanted == NULL)
        return true;
    size_t length = strlen(wanted);
    return length > 0 && strncmp(version, wanted, length) == 0 && !is_digit(version[length]);
}

/* Adds the real path, once: /usr/local/bin/postgres is often only a link to the server's own directory. */
static void candidates_add(struct candidates *all, const char *directory)
{
    char program[PATH_MAX], real[PATH_MAX];
    int needed = snprintf(program, sizeof program, "%s/postgres", directory);
    const char *found = directory;
    if (needed > 0 && (size_t)needed < sizeof program && realpath(program, real) != NULL) {
        char *slash = strrchr(real, '/');
        *slash = '\0';
        found = real;
    }
    for (size_t i = 0; i < all->count; i++)
        if (strcmp(all->list[i], found) == 0)
            return;
    if (all->count < CANDIDATES_MAX)
        all->list[all->count++] = pl_strdup(all->arena, found);
}

static void candidates_add_pg_config(struct candidates *all, const struct spawn_user *user)
{
    char program[PATH_MAX], answer[PATH_MAX];
    if (!spawn_find_program("pg_config", program, sizeof program))
        return;
    const char *const argv[] = {"pg_config", "--bindir", NULL};
    struct spawn_spec spec = {.program = program, .argv = argv, .user = user, .output_fd = -1};
    struct pl_err ignored = {0};
    if (spawn_read(&spec, answer, sizeof answer, &ignored) != PL_OK)
        return; /* a broken pg_config is one place less to look at */
    answer[strcspn(answer, "\n")] = '\0';
    if (answer[0] == '/')
        candidates_add(all, answer);
}

static void candidates_add_debian(struct candidates *all)
{
    char path[PATH_MAX];
    DIR *root = opendir(DEBIAN_ROOT);
    if (root == NULL)
        return;
    for (const struct dirent *entry; (entry = readdir(root)) != NULL;) {
        snprintf(path, sizeof path, DEBIAN_ROOT "/%s/bin", entry->d_name);
        if (is_digit(entry->d_name[0]))
            candidates_add(all, path);
    }
    closedir(root);
}

static void candidates_collect(struct candidates *all, const struct plan_service *plan, const struct spawn_user *user)
{
    char path[PATH_MAX];
    if (plan->directory != NULL) {
        candidates_add(all, plan->directory);
        snprintf(path, sizeof path, "%s/bin", plan->directory);
        candidates_add(all, path);
        return;
    }
    candidates_add_pg_config(all, user);
    candidates_add_debian(all);
    if (spawn_find_program("postgres", path, sizeof path)) {
        *strrchr(path, '/') = '\0';
        candidates_add(all, path);
    }
}

static bool has_program(const char *directory, const char *name, char *ret_path, size_t size)
{
    int needed = snprintf(ret_path, size, "%s/%s", directory, name);
    return needed > 0 && (size_t)needed < size && access(ret_path, X_OK) == 0;
}

/* Fills programs from one directory; on failure `ret_why` says what is wrong with it. */
static bool postgres_look(const char *directory, bool named, const struct spawn_user *user,
                          struct postgres_programs *programs, char *ret_why, size_t why_size)
{
    char program[PATH_MAX], real[PATH_MAX], answer[256];
    *programs = (struct postgres_programs){0};
    int needed = snprintf(programs->directory, sizeof programs->directory, "%s", directory);
    if (needed < 0 || (size_t)needed >= sizeof programs->directory) {
        snprintf(ret_why, why_size, "path too long");
        return false;
    }
    snprintf(program, sizeof program, "%s/../lib", directory);
    if (named && realpath(program, real) != NULL && strlen(real) < sizeof programs->library)
        memcpy(programs->library, real, strlen(real) + 1);
    if (!has_program(directory, "initdb", program, sizeof program)) {
        snprintf(ret_why, why_size, "no initdb");
        return false;
    }
    if (!has_program(directory, "postgres", program, sizeof program)) {
        snprintf(ret_why, why_size, "no postgres");
        return false;
    }
    const char *const argv[] = {"postgres", "--version", NULL};
    struct spawn_spec spec = {.program = program, .argv = argv, .user = user, .output_fd = -1};
    if (programs->library[0] != '\0')
        spec.library_path = programs->library;
    struct pl_err said = {0};
    if (spawn_read(&spec, answer, sizeof answer, &said) != PL_OK ||
        !postgres_parse_version(answer, programs->version, sizeof programs->version, &programs->major)) {
        snprintf(ret_why, why_size, "%.100s", said.code != PL_OK ? said.what : "no version in the answer to --version");
        return false;
    }
    return true;
}

/* Orders "9.6" < "15.9" < "15.20". */
static int postgres_compare_versions(const struct postgres_programs *a, const struct postgres_programs *b)
{
    return a->major != b->major ? a->major - b->major : strverscmp(a->version, b->version);
}

enum pl_code postgres_find(const struct plan_service *plan, const struct spawn_user *user, struct pl_arena *arena,
                           struct postgres_programs *ret_programs, struct pl_err *err)
{
    struct candidates all = {.arena = arena};
    struct pl_buf tried;
    bool found = false;
    candidates_collect(&all, plan, user);
    pl_buf_init(&tried, 280);
    for (size_t i = 0; i < all.count; i++) {
        struct postgres_programs programs;
        char why[128] = "";
        bool good = postgres_look(all.list[i], plan->directory != NULL, user, &programs, why, sizeof why);
        pl_buf_printf(&tried, "%s%s (%s)", i > 0 ? ", " : "", all.list[i], good ? programs.version : why);
        if (!good || !postgres_version_fits(programs.version, plan->version))
            continue;
        if (!found || postgres_compare_versions(&programs, ret_programs) > 0)
            *ret_programs = programs;
        found = true;
    }
    if (!found) {
        const char *version = plan->version != NULL ? plan->version : "";
        size_t major = strspn(version, "0123456789");
        pl_err_set(err, PL_NOT_FOUND, "no PostgreSQL%s%s was found", *version != '\0' ? " " : "", version);
        if (plan->directory == NULL)
            pl_buf_put(&tried, all.count == 0 ? "pg_config, " DEBIAN_ROOT ", PATH (nothing there)" : "; also on PATH");
        pl_err_hint(err, "Tried: %s. The Debian package postgresql-%.*s brings it.", pl_buf_text(&tried),
                    major > 0 ? (int)major : (int)strlen(DEBIAN_VERSION), major > 0 ? version : DEBIAN_VERSION);
    }
    pl_buf_release(&tried);
    return found ? PL_OK : err->code;
}
