/* What a command line names, read: bodies, data, tenants, scripts. */
#include "httpload/options_int.h"

#include <string.h>

#include "base/file.h"
#include "base/limits.h"
#include "httpload/say_int.h"
#include "hurl/hurl.h"

#include "base/ban.h"

enum { BODY_BYTES_MOST = 1 << 30, CERTIFICATES_BYTES_MOST = 1 << 26 };

static bool body_load(struct httpload_options *options, struct pl_arena *arena)
{
    struct pl_err err = {0};
    char *text = NULL;
    if (options->data == NULL)
        return true;
    if (options->data[0] != '@') {
        options->body = options->data;
        options->body_length = strlen(options->data);
        return true;
    }
    if (pl_file_read(options->data + 1, BODY_BYTES_MOST, arena, &text, &options->body_length, &err) != PL_OK) {
        pl_err_context(&err, "the body");
        return httpload_say_err(&err);
    }
    options->body = text;
    return true;
}

/* Certificates and keys are read again by the library that uses them, which does not say why it cannot. */
static bool certificates_look(const struct httpload_options *options)
{
    const char *const paths[] = {options->cacert, options->cert, options->key};
    bool is_good = true, is_one_file = options->cert != NULL && options->key == options->cert;
    struct pl_arena *arena = pl_arena_new();
    for (size_t i = 0; i < sizeof paths / sizeof paths[0] && is_good; i++) {
        struct pl_err err = {0};
        char *text = NULL;
        size_t length = 0;
        if (paths[i] != NULL && pl_file_read(paths[i], CERTIFICATES_BYTES_MOST, arena, &text, &length, &err) != PL_OK)
            is_good = httpload_say_err(&err);
        else if (i == 1 && is_one_file && strstr(text, "PRIVATE KEY-----") == NULL)
            is_good = httpload_say("--cert: %s holds no private key; --key FILE names the file that does", paths[i]);
    }
    pl_arena_free(arena);
    return is_good;
}

static bool tenants_load(struct httpload_options *options, struct pl_arena *arena)
{
    struct pl_err err = {0};
    struct feed *tenants = NULL;
    enum pl_code code = PL_OK;
    size_t count = options->tenant_columns.count;
    if (options->tenants_text == NULL)
        return true;
    if (options->tenant_count == 0) {
        code = feed_read(options->tenants_text, FEED_RANDOM, options->names, arena, &tenants, &err);
    } else {
        struct feed_pattern *columns = pl_alloc(arena, count, sizeof *columns);
        for (size_t i = 0; i < count; i++) {
            const char *text = options->tenant_columns.items[i], *equals = strchr(text, '=');
            columns[i] = (struct feed_pattern){pl_strndup(arena, text, (size_t)(equals - text)), equals + 1};
        }
        code = feed_from_pattern("--tenants", columns, count, (size_t)options->tenant_count, options->names, arena,
                                 &tenants, &err);
    }
    if (code != PL_OK)
        return httpload_say_err(&err);
    options->tenants = tenants;
    if (options->url != NULL && options->url[0] == '/' && options->base_url == NULL && feed_column(tenants, "url") < 0)
        return httpload_say(
            "\"%s\" is only a path, and the tenants have no column url: --base-url http://HOST completes it", options->url);
    return true;
}

/* The steps that come before each script's own: rows of data, then variables, whose expressions may use them. */
static bool data_load(struct httpload_options *options, struct pl_arena *arena, struct step **ret_steps, size_t *ret_count)
{
    struct pl_err err = {0};
    size_t feed_count = options->feeds.count, given_count = options->variables.count;
    struct program_given *given = pl_alloc(arena, given_count + 1, sizeof *given);
    struct step *feeds = pl_alloc(arena, feed_count + 1, sizeof *feeds);
    for (size_t i = 0; i < feed_count; i++) {
        const char *path;
        enum feed_order order;
        struct feed *feed = NULL;
        if (!httpload_feed_split(arena, options->feeds.items[i], &path, &order))
            return false;
        if (feed_read(path, order, options->names, arena, &feed, &err) != PL_OK)
            return httpload_say_err(&err);
        feeds[i] = (struct step){.kind = STEP_FEED, .feed = feed, .io_index = -1, .number = -1};
    }
    for (size_t i = 0; i < given_count; i++) {
        const char *text = options->variables.items[i], *equals = strchr(text, '=');
        given[i] = (struct program_given){
            .name = pl_strndup(arena, text, (size_t)(equals - text)), .text = equals + 1, .source = "--variable"};
    }
    if (program_give(given, given_count, options->names, arena, &options->givens, &err) != PL_OK)
        return httpload_say_err(&err);
    size_t count = feed_count + options->givens.step_count;
    struct step *steps = pl_alloc(arena, count + 1, sizeof *steps);
    memcpy(steps, feeds, feed_count * sizeof *steps);
    if (options->givens.step_count > 0)
        memcpy(steps + feed_count, options->givens.steps, options->givens.step_count * sizeof *steps);
    *ret_steps = steps;
    *ret_count = count;
    return true;
}

static enum pl_code script_compile(const struct httpload_options *options, const struct httpload_script *script,
                                   struct pl_arena *arena, struct program **ret_program, struct pl_err *err)
{
    char *text = NULL;
    size_t length = 0;
    if (script->path == NULL) {
        const struct hurl_plain plain = {.method = options->method,
                                         .url = options->url,
                                         .body = options->body,
                                         .body_length = options->body_length,
                                         .any_status = options->any_status};
        return hurl_compile_plain(&plain, options->names, arena, ret_program, err);
    }
    enum pl_code code = pl_file_read(script->path, PL_MAX_SCRIPT_BYTES, arena, &text, &length, err);
    if (code != PL_OK)
        return code;
    return hurl_compile(script->path, text, length, NULL, options->names, arena, ret_program, err);
}

bool httpload_scripts_load(struct httpload_options *options, struct pl_arena *arena)
{
    static const char *const automatic[] = {"client_id", "random_seed"};
    struct step *steps = NULL;
    size_t step_count = 0;
    for (size_t i = 0; i < sizeof automatic / sizeof automatic[0]; i++)
        names_predefine(options->names, automatic[i]);
    if (!body_load(options, arena) || !certificates_look(options) || !tenants_load(options, arena) ||
        !data_load(options, arena, &steps, &step_count))
        return false;
    for (int s = 0; s < options->script_count; s++) {
        struct pl_err err = {0};
        struct program *program = NULL;
        if (script_compile(options, &options->scripts[s], arena, &program, &err) != PL_OK)
            return httpload_say_err(&err);
        if (options->scripts[s].path == NULL) /* without what its query names as a secret */
            options->scripts[s].title = program->name;
        options->scripts[s].program = step_count > 0 ? program_prepend(program, steps, step_count, arena) : program;
    }
    return true;
}
