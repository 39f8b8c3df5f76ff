/* A service that ran in variants: what they share and what not. */
#include "page/page_int.h"

#include <string.h>

#include "base/ban.h"

/* The scopes of a service in the order in which they were stored, without repeats. */
struct scopes {
    const char **list;
    size_t count, capacity;
};

static struct scopes scopes_of(const struct page *page, const char *service)
{
    struct scopes scopes = {0};
    for (size_t i = 0; i < page->study->fact_count; i++) {
        const char *scope = page->study->facts[i].scope;
        bool known = !page_is_scope_of(scope, service);
        for (size_t k = 0; k < scopes.count && !known; k++)
            known = strcmp(scopes.list[k], scope) == 0;
        if (known)
            continue;
        scopes.list =
            pl_grow(page->arena, scopes.list, scopes.count, scopes.count + 1, sizeof *scopes.list, &scopes.capacity);
        scopes.list[scopes.count++] = scope;
    }
    return scopes;
}

/* "data.scale=10 settings=custom"; of the service as the plan has it: "as in the plan". */
static const char *variant_name(const char *scope)
{
    const char *space = strchr(scope, ' ');
    return space != NULL ? space + 1 : "as in the plan";
}

static bool is_alike(const struct page *page, const struct scopes *scopes, const char *name)
{
    const struct fact *first = study_fact(page->study, scopes->list[0], name);
    for (size_t i = 1; i < scopes->count; i++) {
        const struct fact *other = study_fact(page->study, scopes->list[i], name);
        if ((first == NULL) != (other == NULL) || (first != NULL && strcmp(first->value, other->value) != 0))
            return false;
    }
    return true;
}

bool page_fact_is_shared(const struct page *page, const struct fact *fact, const char *scope)
{
    struct scopes scopes = scopes_of(page, scope);
    return scopes.count > 0 && strcmp(fact->scope, scopes.list[0]) == 0 && is_alike(page, &scopes, fact->name);
}

bool page_say_variants(struct page *page, struct doc_block *list, const char *service)
{
    struct scopes scopes = scopes_of(page, service);
    if (scopes.count == 0 || (scopes.count == 1 && strcmp(scopes.list[0], service) == 0))
        return false;
    struct doc_line *line = doc_item(page->doc, list);
    doc_say(page->doc, line, "The plan runs ");
    doc_code(page->doc, line, service);
    doc_say(page->doc, line, " in %zu variant%s, of which only the one that is measured runs: ", scopes.count,
            scopes.count == 1 ? "" : "s");
    for (size_t i = 0; i < scopes.count; i++) {
        doc_say(page->doc, line, i > 0 ? ", " : "");
        doc_code(page->doc, line, variant_name(scopes.list[i]));
    }
    doc_say(page->doc, line, ". ");
    doc_span_add(page->doc, line, DOC_SPAN_LINK, "What they share and what not", "settings");
    doc_say(page->doc, line, ".");
    return true;
}

static bool is_first_of_name(const struct page *page, const char *service, size_t at)
{
    const struct fact *facts = page->study->facts;
    for (size_t i = 0; i < at; i++)
        if (page_is_scope_of(facts[i].scope, service) && strcmp(facts[i].name, facts[at].name) == 0)
            return false;
    return true;
}

/* One row for each value, with the variants that have it. */
static void value_rows(struct page *page, struct doc_table *table, const struct scopes *scopes, const char *name)
{
    static const char prefix[] = "setting.";
    bool is_setting = strncmp(name, prefix, strlen(prefix)) == 0;
    bool *told = pl_alloc(page->arena, scopes->count, sizeof *told);
    for (size_t i = 0; i < scopes->count; i++) {
        const struct fact *fact = study_fact(page->study, scopes->list[i], name);
        const char *variants = variant_name(scopes->list[i]);
        if (told[i])
            continue;
        for (size_t k = i + 1; k < scopes->count; k++) {
            const struct fact *other = study_fact(page->study, scopes->list[k], name);
            if ((fact == NULL) != (other == NULL) || (fact != NULL && strcmp(fact->value, other->value) != 0))
                continue;
            told[k] = true;
            variants = pl_format(page->arena, "%s; %s", variants, variant_name(scopes->list[k]));
        }
        if (is_setting)
            page_cell_code(page, table, name + strlen(prefix));
        else
            page_cell_text(page, table, page_fact_label(page, name));
        page_cell_text(page, table,
                       fact != NULL ? page_fact_value(page, fact)
                       : is_setting ? "the default"
                                    : "\xe2\x80\x94");
        page_cell_text(page, table, variants);
    }
}

void page_variant_table(struct page *page, const char *service, const char *anchor)
{
    struct scopes scopes = scopes_of(page, service);
    struct doc_table *table = NULL;
    if (scopes.count < 2)
        return;
    for (size_t i = 0; i < page->study->fact_count; i++) {
        const struct fact *fact = &page->study->facts[i];
        if (!page_is_scope_of(fact->scope, service) || !is_first_of_name(page, service, i) ||
            is_alike(page, &scopes, fact->name))
            continue;
        if (table == NULL) {
            table = doc_table(page->doc, anchor, pl_format(page->arena, "What the variants of %s do not share", service));
            doc_column_add(page->doc, table, "What", false, false);
            doc_column_add(page->doc, table, "Value", false, false);
            doc_column_add(page->doc, table, "Variants", false, false);
            table->small = true;
        }
        value_rows(page, table, &scopes, fact->name);
    }
}
