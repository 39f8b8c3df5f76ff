/* The scripts of a plan, made ready: variables, feeds and tenants first, so that scripts know their names. */
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

/* ---- what scripts are given ---- */

static enum pl_code read_feeds(const struct conduct *c, struct conduct_load *load, struct names *names, struct pl_err *err)
{
    static const enum feed_order orders[] = {
        [PLAN_SEQUENTIAL] = FEED_SEQUENTIAL, [PLAN_RANDOM] = FEED_RANDOM, [PLAN_UNIQUE] = FEED_UNIQUE};
    load->feeds = pl_alloc(c->arena, c->plan->feed_count, sizeof(struct feed *));
    for (size_t i = 0; i < c->plan->feed_count; i++) {
        const struct plan_feed *plan = &c->plan->feeds[i];
        struct pl_err own = {0};
        enum pl_code code = feed_read(plan->path, orders[plan->order], names, c->arena, &load->feeds[i], &own);
        if (code != PL_OK && own.file[0] == '\0') /* the file itself: the plan says where it is named */
            pl_err_at(err, PL_INPUT, c->plan->path, plan->line, plan->col, "feed \"%s\": %s", plan->name, own.what);
        else if (code != PL_OK)
            *err = own;
        if (code != PL_OK && err->hint[0] == '\0')
            pl_err_hint(err, "%s",
                        own.hint[0] != '\0' ? own.hint : "Paths of feeds are relative to the folder of the plan.");
        if (code != PL_OK)
            return err->code;
        load->feed_count++;
    }
    return PL_OK;
}

static enum pl_code read_tenants(const struct conduct *c, struct conduct_load *load, struct names *names,
                                 struct pl_err *err)
{
    const struct plan_tenants *plan = c->plan->tenants;
    struct pl_err own = {0};
    enum pl_code code;
    if (plan == NULL)
        return PL_OK;
    if (plan->path != NULL) {
        code = feed_read(plan->path, FEED_RANDOM, names, c->arena, &load->tenants, &own);
    } else {
        struct feed_pattern *columns = pl_alloc(c->arena, plan->column_count, sizeof *columns);
        for (size_t i = 0; i < plan->column_count; i++)
            columns[i] = (struct feed_pattern){.name = plan->columns[i].name, .text = plan->columns[i].text};
        code = feed_from_pattern("tenants", columns, plan->column_count, (size_t)plan->count, names, c->arena,
                                 &load->tenants, &own);
    }
    if (code == PL_OK)
        return PL_OK;
    if (own.line > 0) { /* a place in the file */
        *err = own;
        return own.code;
    }
    pl_err_at(err, PL_INPUT, c->plan->path, plan->line, plan->col, "tenants: %s%s%s", own.file,
              own.file[0] != '\0' ? ": " : "", own.what);
    pl_err_hint(err, "%s", own.hint);
    return err->code;
}

/* The steps that each operation begins with: a row of each feed, then what is drawn. */
static enum pl_code make_prelude(const struct conduct *c, struct conduct_load *load, struct names *names,
                                 struct step **ret_steps, size_t *ret_count, struct pl_err *err)
{
    const struct plan *plan = c->plan;
    struct program_given *given = pl_alloc(c->arena, plan->variable_count, sizeof *given);
    struct program_givens givens = {0};
    for (size_t i = 0; i < plan->variable_count; i++)
        given[i] = (struct program_given){.name = plan->variables[i].name,
                                          .text = plan->variables[i].text,
                                          .source = plan->path,
                                          .line = plan->variables[i].line,
                                          .col = plan->variables[i].col};
    enum pl_code code = program_give(given, plan->variable_count, names, c->arena, &givens, err);
    if (code != PL_OK)
        return code;
    load->variables = pl_alloc(c->arena, givens.constant_count, sizeof *load->variables);
    for (size_t i = 0; i < givens.constant_count; i++)
        load->variables[i] = (struct load_variable){.name = givens.constants[i].name, .value = givens.constants[i].value};
    load->variable_count = givens.constant_count;
    struct step *steps = pl_alloc(c->arena, load->feed_count + givens.step_count, sizeof *steps);
    for (size_t i = 0; i < load->feed_count; i++)
        steps[i] = (struct step){
            .kind = STEP_FEED, .io_index = -1, .number = -1, .text = plan->feeds[i].name, .feed = load->feeds[i]};
    for (size_t i = 0; i < givens.step_count; i++)
        steps[load->feed_count + i] = givens.steps[i];
    *ret_steps = steps;
    *ret_count = load->feed_count + givens.step_count;
    return PL_OK;
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
    struct step *prelude = NULL;
    size_t prelude_count = 0;
    bool is_http = plan_speech_of(c->plan->subject) == PLAN_HTTP;
    for (size_t i = 0; i < sizeof predefined / sizeof predefined[0] - is_http; i++) /* HTTP has no scale */
        names_predefine(names, predefined[i]);
    enum pl_code code = read_feeds(c, load, names, err);
    if (code == PL_OK)
        code = read_tenants(c, load, names, err);
    if (code == PL_OK)
        code = make_prelude(c, load, names, &prelude, &prelude_count, err);
    if (code != PL_OK)
        return code;
    load->script_count = plan_mix(load->mix, c->arena, shares);
    load->scripts = pl_alloc(c->arena, load->script_count, sizeof *load->scripts);
    for (size_t i = 0; i < load->script_count; i++) {
        struct program *program = NULL;
        code = compile_script(c, shares[i].script, names, &program, err);
        if (code != PL_OK)
            return code;
        load->scripts[i] = (struct load_script){.program = program, .weight = (int)shares[i].weight};
        if (prelude_count > 0)
            load->scripts[i].program = program_prepend(program, prelude, prelude_count, c->arena);
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
