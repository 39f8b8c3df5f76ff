/* What a plan gives its scripts: feeds, tenants, variables. Which of them a script's operations take, and how a study knows
 * that they are still the same. */
#include <openssl/evp.h>
#include <stdio.h>
#include <string.h>

#include "app/conduct_int.h"

#include "base/ban.h"

/* A variable that is evaluated for each operation, and the variables that its expression reads. */
struct conduct_drawn {
    const struct step *step;
    int *used;
    size_t used_count;
};

/* ---- reading ---- */

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

static enum pl_code make_variables(const struct conduct *c, struct conduct_load *load, struct names *names,
                                   struct pl_err *err)
{
    const struct plan *plan = c->plan;
    load->variables = pl_alloc(c->arena, plan->variable_count, sizeof *load->variables);
    load->drawn = pl_alloc(c->arena, plan->variable_count, sizeof *load->drawn);
    for (size_t i = 0; i < plan->variable_count; i++) {
        const struct plan_variable *one = &plan->variables[i];
        const struct program_given given = {
            .name = one->name, .text = one->text, .source = plan->path, .line = one->line, .col = one->col};
        struct program_givens made = {0};
        names_forget_uses(names);
        enum pl_code code = program_give(&given, 1, names, c->arena, &made, err);
        if (code != PL_OK)
            return code;
        if (made.constant_count > 0)
            load->variables[load->variable_count++] =
                (struct load_variable){.name = made.constants[0].name, .value = made.constants[0].value};
        if (made.step_count == 0)
            continue;
        struct conduct_drawn *drawn = &load->drawn[load->drawn_count++];
        *drawn = (struct conduct_drawn){.step = &made.steps[0],
                                        .used = pl_alloc(c->arena, names_count(names), sizeof *drawn->used)};
        for (int k = 0; k < (int)names_count(names); k++)
            if (names_is_used(names, k) && k != drawn->step->variable)
                drawn->used[drawn->used_count++] = k;
    }
    return PL_OK;
}

/* ---- one variable, one source ---- */

/* Who brings the variable already: a feed before this one, or a variable of the plan. NULL: nobody. */
static const char *brought_by(const struct conduct *c, const struct conduct_load *load, size_t before, const char *column)
{
    for (size_t i = 0; i < before; i++)
        if (feed_column(load->feeds[i], column) >= 0)
            return pl_format(c->arena, "of feed \"%s\"", c->plan->feeds[i].name);
    for (size_t i = 0; i < c->plan->variable_count; i++)
        if (strcmp(c->plan->variables[i].name, column) == 0)
            return "under \"variables:\"";
    return NULL;
}

static enum pl_code check_columns(const struct conduct *c, const struct conduct_load *load, size_t before,
                                  const struct feed *feed, const char *what, int line, int col, struct pl_err *err)
{
    for (size_t i = 0; i < feed->column_count; i++) {
        const char *other = brought_by(c, load, before, feed->columns[i].name);
        if (other == NULL)
            continue;
        pl_err_at(err, PL_INPUT, c->plan->path, line, col, "%s: the column \"%s\" is also a variable %s", what,
                  feed->columns[i].name, other);
        pl_err_hint(err, "A variable comes from one place: rename one of the two.");
        return err->code;
    }
    return PL_OK;
}

static enum pl_code check_sources(const struct conduct *c, const struct conduct_load *load, struct pl_err *err)
{
    enum pl_code code = PL_OK;
    for (size_t i = 0; i < load->feed_count && code == PL_OK; i++) {
        const struct plan_feed *plan = &c->plan->feeds[i];
        code = check_columns(c, load, i, load->feeds[i], pl_format(c->arena, "feed \"%s\"", plan->name), plan->line,
                             plan->col, err);
    }
    if (code == PL_OK && load->tenants != NULL)
        code = check_columns(c, load, load->feed_count, load->tenants, "tenants", c->plan->tenants->line,
                             c->plan->tenants->col, err);
    return code;
}

enum pl_code conduct_data_read(const struct conduct *c, struct conduct_load *load, struct names *names, struct pl_err *err)
{
    enum pl_code code = read_feeds(c, load, names, err);
    if (code == PL_OK)
        code = read_tenants(c, load, names, err);
    if (code == PL_OK)
        code = check_sources(c, load, err);
    return code == PL_OK ? make_variables(c, load, names, err) : code;
}

/* ---- what an operation begins with ---- */

static bool takes_from(const struct feed *feed, const bool *needed)
{
    for (size_t i = 0; i < feed->column_count; i++)
        if (needed[feed->columns[i].variable])
            return true;
    return false;
}

const struct program *conduct_data_prepend(const struct conduct *c, const struct conduct_load *load,
                                           const struct program *program, struct names *names)
{
    size_t count = names_count(names), step_count = 0;
    bool *needed = pl_alloc(c->arena, count, sizeof *needed), *drawn = pl_alloc(c->arena, load->drawn_count, sizeof *drawn);
    struct step *steps = pl_alloc(c->arena, load->feed_count + load->drawn_count, sizeof *steps);
    for (size_t i = 0; i < count; i++)
        needed[i] = names_is_used(names, (int)i);
    for (size_t i = load->drawn_count; i-- > 0;) { /* an expression uses what stands before it */
        drawn[i] = needed[load->drawn[i].step->variable];
        for (size_t k = 0; drawn[i] && k < load->drawn[i].used_count; k++)
            needed[load->drawn[i].used[k]] = true;
    }
    for (size_t i = 0; i < load->feed_count; i++)
        if (takes_from(load->feeds[i], needed))
            steps[step_count++] = (struct step){
                .kind = STEP_FEED, .io_index = -1, .number = -1, .text = c->plan->feeds[i].name, .feed = load->feeds[i]};
    for (size_t i = 0; i < load->drawn_count; i++)
        if (drawn[i])
            steps[step_count++] = *load->drawn[i].step;
    return step_count > 0 ? program_prepend(program, steps, step_count, c->arena) : program;
}

/* ---- facts ---- */

static void digest_text(EVP_MD_CTX *digest, const char *text, size_t length)
{
    EVP_DigestUpdate(digest, &length, sizeof length);
    EVP_DigestUpdate(digest, text, length);
}

static void digest_cell(EVP_MD_CTX *digest, const struct value *cell)
{
    char text[VALUE_TEXT_BYTES];
    EVP_DigestUpdate(digest, &cell->type, sizeof cell->type);
    if (cell->type == VALUE_TEXT)
        digest_text(digest, cell->text, cell->length);
    else
        digest_text(digest, text, value_text(cell, text));
}

/* Of what the rows say, whatever file and format they come from: names, values with their types, groups. */
static const char *feed_hash(const struct feed *feed, struct pl_arena *arena)
{
    enum { SHOWN_BYTES = 16 };
    unsigned char bytes[EVP_MAX_MD_SIZE];
    unsigned size = 0;
    char *text = pl_alloc(arena, 2 * SHOWN_BYTES + 1, 1);
    EVP_MD_CTX *digest = EVP_MD_CTX_new();
    if (digest == NULL || EVP_DigestInit_ex(digest, EVP_sha256(), NULL) != 1) {
        EVP_MD_CTX_free(digest);
        return "";
    }
    for (size_t i = 0; i < feed->column_count; i++)
        digest_text(digest, feed->columns[i].name, strlen(feed->columns[i].name));
    for (size_t i = 0; i < feed->row_count * feed->column_count; i++)
        digest_cell(digest, &feed->cells[i]);
    for (size_t i = 0; i < feed->group_count; i++) {
        digest_text(digest, feed->groups[i].name, strlen(feed->groups[i].name));
        EVP_DigestUpdate(digest, &feed->groups[i].weight, sizeof feed->groups[i].weight);
    }
    for (size_t i = 0; feed->group_count > 1 && i < feed->row_count; i++)
        EVP_DigestUpdate(digest, &feed->group_of[i], sizeof feed->group_of[i]);
    EVP_DigestFinal_ex(digest, bytes, &size);
    EVP_MD_CTX_free(digest);
    for (size_t i = 0; i < SHOWN_BYTES; i++)
        snprintf(text + 2 * i, 3, "%02x", bytes[i]);
    return text;
}

static const struct conduct_load *any_load(const struct conduct *c)
{
    for (size_t i = 0; i < c->case_count; i++)
        if (c->loads[i] != NULL)
            return c->loads[i];
    return NULL;
}

static void put_feed(const struct conduct *c, const struct feed *feed, const char *name, const char *how,
                     struct fact *facts, size_t *count)
{
    facts[(*count)++] = (struct fact){.scope = "plan",
                                      .name = pl_format(c->arena, "%s.rows", name),
                                      .value = pl_format(c->arena, "%zu", feed->row_count),
                                      .unit = "count",
                                      .how = how};
    facts[(*count)++] = (struct fact){.scope = "plan",
                                      .name = pl_format(c->arena, "%s.hash", name),
                                      .value = feed_hash(feed, c->arena),
                                      .unit = "",
                                      .how = "SHA-256 of what its rows say, first half"};
}

void conduct_data_facts(const struct conduct *c, struct fact **ret_facts, size_t *ret_count)
{
    const struct conduct_load *load = any_load(c);
    size_t feeds = load != NULL ? load->feed_count : 0;
    *ret_facts = pl_alloc(c->arena, 2 * (feeds + 1), sizeof **ret_facts);
    *ret_count = 0;
    for (size_t i = 0; i < feeds; i++)
        put_feed(c, load->feeds[i], pl_format(c->arena, CONDUCT_FEED_FACT "%s", c->plan->feeds[i].name),
                 c->plan->feeds[i].path, *ret_facts, ret_count);
    if (load != NULL && load->tenants != NULL)
        put_feed(c, load->tenants, CONDUCT_TENANTS_FACT, c->plan->tenants->path != NULL ? c->plan->tenants->path : "plan",
                 *ret_facts, ret_count);
}

static const char *stored_value(const struct fact *stored, size_t count, const char *name)
{
    for (size_t i = 0; i < count; i++)
        if (strcmp(stored[i].scope, "plan") == 0 && strcmp(stored[i].name, name) == 0)
            return stored[i].value;
    return NULL;
}

/* A study of a version that kept no such facts has none: then there is nothing to hold the data against. */
enum pl_code conduct_data_check_same(const struct conduct *c, const struct fact *stored, size_t count, struct pl_err *err)
{
    struct fact *facts = NULL;
    size_t fact_count = 0;
    conduct_data_facts(c, &facts, &fact_count);
    for (size_t i = 0; i < fact_count; i += 2) { /* rows, hash */
        const char *rows = stored_value(stored, count, facts[i].name);
        const char *hash = stored_value(stored, count, facts[i + 1].name);
        if (rows == NULL || hash == NULL || strcmp(hash, facts[i + 1].value) == 0)
            continue;
        int length = (int)(strlen(facts[i].name) - strlen(".rows"));
        pl_err_set(
            err, PL_USAGE,
            "%.*s (%s) is not what it was when \"%s\" was begun: then %s rows with hash %s, now %s rows with hash %s",
            length, facts[i].name, facts[i].how, c->spec->study_path, rows, hash, facts[i].value, facts[i + 1].value);
        pl_err_hint(err, "Put the data back as they were, or begin a new study with -o.");
        return err->code;
    }
    return PL_OK;
}

/* ---- what `plimsoll check` says ---- */

static bool program_takes(const struct program *program, const char *feed)
{
    for (size_t i = 0; i < program->step_count; i++)
        if (program->steps[i].kind == STEP_FEED && strcmp(program->steps[i].text, feed) == 0)
            return true;
    return false;
}

/* The scripts that take rows of a feed, each once: "browse, buy". NULL: none. */
static const char *takers(const struct conduct *c, const char *feed)
{
    const char *list = NULL;
    const struct program *seen[PLAN_MIX_SCRIPTS];
    size_t seen_count = 0;
    for (size_t i = 0; i < c->case_count; i++)
        for (size_t k = 0; c->loads[i] != NULL && k < c->loads[i]->script_count; k++) {
            const struct program *program = c->loads[i]->scripts[k].program;
            bool is_new = program_takes(program, feed);
            for (size_t s = 0; s < seen_count && is_new; s++)
                is_new = strcmp(seen[s]->name, program->name) != 0;
            if (!is_new || seen_count == PLAN_MIX_SCRIPTS)
                continue;
            seen[seen_count++] = program;
            list = list == NULL ? program->name : pl_format(c->arena, "%s, %s", list, program->name);
        }
    return list;
}

static const char *tenants_line(const struct conduct *c, const struct feed *tenants)
{
    const char *line = pl_format(c->arena, "tenants: %zu", tenants->row_count);
    double all = 0;
    for (size_t i = 0; i < tenants->group_count; i++)
        all += tenants->groups[i].weight;
    for (size_t i = 0; tenants->group_count > 1 && i < tenants->group_count; i++)
        line = pl_format(c->arena, "%s%s %s %zu (%.1f %% of the load)", line, i == 0 ? ", in groups:" : ",",
                         tenants->groups[i].name[0] != '\0' ? tenants->groups[i].name : "(none)",
                         tenants->groups[i].row_count, 100 * tenants->groups[i].weight / all);
    return line;
}

void conduct_data_outline(const struct conduct *c, struct conduct_outline *outline)
{
    static const char *const orders[] = {
        [PLAN_SEQUENTIAL] = "one after the other", [PLAN_RANDOM] = "at random", [PLAN_UNIQUE] = "each once"};
    const struct conduct_load *load = any_load(c);
    if (load == NULL)
        return;
    outline->data = pl_alloc(c->arena, load->feed_count + 1, sizeof *outline->data);
    for (size_t i = 0; i < load->feed_count; i++) {
        const struct plan_feed *plan = &c->plan->feeds[i];
        const char *by = takers(c, plan->name);
        outline->data[outline->data_count++] =
            pl_format(c->arena, "feed %s: %zu row%s, %s, %s%s", plan->name, load->feeds[i]->row_count,
                      load->feeds[i]->row_count == 1 ? "" : "s", orders[plan->order],
                      by != NULL ? "taken by " : "taken by no script: none uses its columns", by != NULL ? by : "");
    }
    if (load->tenants != NULL)
        outline->data[outline->data_count++] = tenants_line(c, load->tenants);
}
