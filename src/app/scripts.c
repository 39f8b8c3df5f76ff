/* The scripts of a plan, made ready: variables, feeds and tenants first, so that scripts know their names; and what of
 * their texts is kept. */
#include <assert.h>
#include <ctype.h>
#include <string.h>

#include "app/conduct_int.h"
#include "base/buf.h"
#include "hurl/hurl.h"

#include "base/ban.h"

const struct plan_script *conduct_script_of(const struct plan *plan, const char *name)
{
    for (size_t i = 0; i < plan->script_count; i++)
        if (strcmp(plan->scripts[i].name, name) == 0)
            return &plan->scripts[i];
    return NULL;
}

/* ---- the scripts themselves ---- */

static enum pl_code compile_script(struct conduct *c, const char *name, struct names *names, struct program **ret_program,
                                   struct pl_err *err)
{
    const struct plan_script *file = conduct_script_of(c->plan, name);
    struct program *program = NULL;
    enum pl_code code;
    if (file == NULL) {
        const char *text = builtin_script(name);
        assert(text != NULL); /* the plan was checked against the builtin names */
        code = program_compile(name, text, strlen(text), PROGRAM_STRICT, names, c->arena, &program, err);
    } else if (file->is_hurl) {
        code = hurl_compile(file->path, file->text, file->length, NULL, names, c->arena, &program, err);
    } else {
        code = program_compile(file->path, file->text, file->length, PROGRAM_STRICT, names, c->arena, &program, err);
    }
    if (code == PL_OK && file != NULL)
        program->name = file->name; /* errors name the file, reports the script */
    *ret_program = program;
    return code;
}

static enum pl_code compile_load(struct conduct *c, struct conduct_load *load, struct pl_err *err)
{
    static const char *const predefined[] = {"client_id", "random_seed", "default_seed", "scale"};
    struct plan_share shares[PLAN_MIX_SCRIPTS];
    struct names *names = names_new(c->arena);
    bool is_http = plan_speech_of(c->plan->subject) == PLAN_HTTP;
    for (size_t i = 0; i < sizeof predefined / sizeof predefined[0] - is_http; i++) /* HTTP has no scale */
        names_predefine(names, predefined[i]);
    enum pl_code code = conduct_data_read(c, load, names, err);
    if (code != PL_OK)
        return code;
    load->script_count = plan_mix(load->mix, c->arena, shares);
    load->scripts = pl_alloc(c->arena, load->script_count, sizeof *load->scripts);
    for (size_t i = 0; i < load->script_count; i++) {
        struct program *program = NULL;
        names_forget_uses(names);
        code = compile_script(c, shares[i].script, names, &program, err);
        if (code != PL_OK)
            return code;
        load->scripts[i] =
            (struct load_script){.program = conduct_data_prepend(c, load, program, names), .weight = (int)shares[i].weight};
    }
    return PL_OK;
}

enum pl_code conduct_load_of(struct conduct *c, const char *mix, struct conduct_load **ret_load, struct pl_err *err)
{
    for (size_t i = 0; i < c->case_count; i++)
        if (c->loads[i] != NULL && strcmp(c->loads[i]->mix, mix) == 0) {
            *ret_load = c->loads[i];
            return PL_OK;
        }
    struct conduct_load *load = pl_alloc(c->arena, 1, sizeof *load);
    load->mix = mix;
    enum pl_code code = compile_load(c, load, err);
    if (code == PL_OK)
        *ret_load = load;
    return code;
}

/* ---- what of them is kept ---- */

/* "Authorization", "X-Api-Key", "password": what stands behind such a name opens doors. */
static bool is_secret_name(const char *name, size_t length)
{
    static const char *const words[] = {"authorization", "cookie", "key", "pwd"};
    char text[64];
    if (length >= sizeof text)
        return false;
    memcpy(text, name, length);
    text[length] = '\0';
    for (size_t i = 0; i < sizeof words / sizeof words[0]; i++)
        if (strcasestr(text, words[i]) != NULL)
            return true;
    return plan_setting_is_secret(text);
}

/* Options of a request: "user: bob:secret", "variable: password=secret". */
static bool is_secret_option(const char *name, size_t name_length, const char *value, size_t length)
{
    const char *equals = memchr(value, '=', length);
    if (name_length == 4 && memcmp(name, "user", 4) == 0)
        return memchr(value, ':', length) != NULL;
    return name_length == 8 && memcmp(name, "variable", 8) == 0 && equals != NULL &&
           is_secret_name(value, (size_t)(equals - value));
}

/* A value that is a template and nothing else says nothing. */
static bool is_template(const char *value, size_t length)
{
    return length >= 4 && memcmp(value, "{{", 2) == 0 && memcmp(value + length - 2, "}}", 2) == 0 &&
           memmem(value, length - 2, "}}", 2) == NULL;
}

static void put_url_kept(struct pl_buf *out, const char *text, size_t length)
{
    const char *authority = memmem(text, length, "://", 3);
    if (authority != NULL) {
        authority += 3;
        size_t rest = length - (size_t)(authority - text), span = 0;
        while (span < rest && strchr("/?# \t\"", authority[span]) == NULL)
            span++;
        const char *at = memrchr(authority, '@', span);
        if (at != NULL) {
            pl_buf_put_bytes(out, text, (size_t)(authority - text));
            pl_buf_put(out, "***");
            length -= (size_t)(at - text);
            text = at;
        }
    }
    pl_buf_put_bytes(out, text, length);
}

/* One line of a Hurl file: "name: value" in a section of credentials, or of a name that tells. */
static void put_line_kept(struct pl_buf *out, const char *line, size_t length, bool in_credentials)
{
    const char *colon = memchr(line, ':', length);
    size_t name = 0, end = colon != NULL ? (size_t)(colon - line) : 0;
    while (name < end && isspace((unsigned char)line[name]))
        name++;
    while (end > name && isspace((unsigned char)line[end - 1]))
        end--;
    size_t value = colon != NULL ? (size_t)(colon - line) + 1 : length, last = length;
    while (value < length && isspace((unsigned char)line[value]))
        value++;
    while (last > value && isspace((unsigned char)line[last - 1]))
        last--;
    bool names = end > name && memchr(line + name, ' ', end - name) == NULL;
    if (names && last > value && !is_template(line + value, last - value) &&
        (in_credentials || is_secret_name(line + name, end - name) ||
         is_secret_option(line + name, end - name, line + value, last - value))) {
        pl_buf_put_bytes(out, line, value);
        pl_buf_put(out, "***");
        return;
    }
    put_url_kept(out, line, length);
}

static bool is_credentials(const char *line)
{
    static const char *const sections[] = {"[BasicAuth]", "[Cookies]"};
    for (size_t i = 0; i < sizeof sections / sizeof sections[0]; i++)
        if (strncmp(line, sections[i], strlen(sections[i])) == 0)
            return true;
    return false;
}

/* A section ends with the next one, and with the line of a response or of another request; not with a comment or nothing.
 */
static bool ends_section(const char *line, size_t length)
{
    size_t colon = strcspn(line, ":\n");
    if (length == 0 || line[0] == '#')
        return false;
    return line[0] == '[' || colon >= length || strncmp(line, "HTTP", 4) == 0 || strncmp(line + colon, "://", 3) == 0;
}

const char *conduct_script_kept(const struct plan_script *script, struct pl_arena *arena)
{
    struct pl_buf out;
    bool in_credentials = false;
    if (!script->is_hurl)
        return script->text;
    pl_buf_init(&out, 2 * script->length + 1024);
    for (const char *line = script->text; *line != '\0';) {
        size_t length = strcspn(line, "\n"), blank = strspn(line, " \t\r");
        const char *words = line + (blank < length ? blank : length);
        if (is_credentials(words))
            in_credentials = true;
        else if (ends_section(words, length - (size_t)(words - line)))
            in_credentials = false;
        put_line_kept(&out, line, length, in_credentials);
        line += length;
        if (*line == '\n') {
            pl_buf_put(&out, "\n");
            line++;
        }
    }
    const char *kept = pl_strdup(arena, pl_buf_text(&out));
    pl_buf_release(&out);
    return kept;
}

const char *conduct_step_kept(const char *text, struct pl_arena *arena)
{
    struct pl_buf out;
    pl_buf_init(&out, 2 * strlen(text) + 16);
    put_url_kept(&out, text, strlen(text));
    const char *kept = pl_strdup(arena, pl_buf_text(&out));
    pl_buf_release(&out);
    return kept;
}
