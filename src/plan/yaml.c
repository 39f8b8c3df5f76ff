/* YAML text to a tree of nodes, through libyaml's events. What YAML has beyond maps, lists and scalars (anchors, tags,
 * several documents) is refused: a plan should read the same to everyone. */
#include "plan/yaml_int.h"

#include <assert.h>
#include <stdio.h>
#include <string.h>
#include <yaml.h>

#include "base/limits.h"
#include "plan/plan_int.h"

#include "base/ban.h"

struct builder {
    const char *path, *text;
    size_t length;
    struct pl_arena *arena;
    struct pl_err *err;
    yaml_parser_t parser;
    yaml_event_t event; /* the one being looked at; none before the first and after a failure */
    size_t node_count;
};

static const char indent_hint[] = "Check the indentation: lines of one map or list begin in the same column, with spaces.";
static const char quote_hint[] = "Put the value in quotes.";
static const char colon_hint[] =
    "A key needs a colon and a space behind it; a value that holds a colon and a space needs quotes.";

/* libyaml's texts, by their beginnings. */
static const struct {
    const char *problem, *words, *hint;
    bool at_start; /* what is wrong stands where the thing begins, not where its end was missed */
} problems[] = {
    {"found character that cannot start any token", "this character cannot begin a value", quote_hint, false},
    {"mapping values are not allowed", "a colon where no key can stand", colon_hint, false},
    {"mapping keys are not allowed", "a key cannot stand here", indent_hint, false},
    {"block sequence entries are not allowed", "a list item cannot begin here",
     "Put each \"- \" on a line of its own, below the key that it belongs to.", false},
    {"did not find expected key", "the indentation fits no block above", indent_hint, false},
    {"did not find expected '-' indicator", "the indentation fits no item of the list above", indent_hint, false},
    {"could not find expected ':'", "the line is no \"key: value\"", colon_hint, true},
    {"did not find expected ',' or '}'", "a comma or the closing } is missing",
     "Put a comma between the entries and close the map with }.", false},
    {"did not find expected ',' or ']'", "a comma or the closing ] is missing",
     "Put a comma between the items and close the list with ].", false},
    {"did not find expected node content", "a value is missing", "Put a value here, or remove the comma or bracket.",
     false},
    {"found unexpected end of stream", "a quote is never closed", "Close it with the same kind of quote.", true},
    {"found unexpected document indicator", "a quote is not closed before the document ends",
     "Close it with the same kind of quote.", false},
    {"found unknown escape character", "an unknown escape in a text in double quotes",
     "Write the backslash twice, or use single quotes, in which it means itself.", false},
    {"did not find expected hexdecimal number", "an escape that lacks hexadecimal digits",
     "Write \\x with 2, \\u with 4 or \\U with 8 of them, or use single quotes.", false},
    {"found invalid Unicode character escape", "an escape that names no character", "Use single quotes, or another number.",
     false},
    {"found a tab character", "a tab in the indentation", "Indent with spaces: YAML does not take tabs.", false},
    {"found undefined tag handle", "tags (\"!\") are not used in plans", quote_hint, false},
    {"did not find expected alphabetic or numeric character", "anchors and aliases (\"&\", \"*\") are not used in plans",
     quote_hint, false},
    {"did not find expected <document start>", "text where the plan should have ended",
     "A plan is one map: every line of it begins in the first column or is indented below one that does.", false},
    {"found incompatible YAML document", "a version of YAML that cannot be read", "Remove the line that begins with %YAML.",
     false},
};

enum pl_code plan_yaml_problem(const char *path, struct place at, const char *problem, const char *context,
                               struct place opened, struct pl_err *err)
{
    for (size_t i = 0; i < sizeof problems / sizeof problems[0]; i++) {
        if (strncmp(problem, problems[i].problem, strlen(problems[i].problem)) != 0)
            continue;
        char since[80] = "";
        bool in_brackets = context != NULL && strstr(context, "flow") != NULL;
        if (problems[i].at_start && opened.line > 0)
            at = opened;
        else if (in_brackets && opened.line > 0)
            snprintf(since, sizeof since, " (opened in line %d, column %d)", opened.line, opened.col);
        pl_err_at(err, PL_INPUT, path, at.line, at.col, "%s%s", problems[i].words, since);
        pl_err_hint(err, "%s", problems[i].hint);
        return err->code;
    }
    pl_err_at(err, PL_INPUT, path, at.line, at.col, "not YAML: %s%s%s", problem, context != NULL ? " " : "",
              context != NULL ? context : "");
    pl_err_hint(err, "See docs/plans.md for how a plan is written.");
    return err->code;
}

static struct place place_of(yaml_mark_t mark)
{
    return (struct place){(int)mark.line + 1, (int)mark.column + 1};
}

static enum pl_code fail_at_event(struct builder *builder, enum pl_code code, const char *what, const char *hint)
{
    struct place at = place_of(builder->event.start_mark);
    pl_err_at(builder->err, code, builder->path, at.line, at.col, "%s", what);
    pl_err_hint(builder->err, "%s", hint);
    return builder->err->code;
}

static enum pl_code fail_in_parser(struct builder *builder)
{
    const yaml_parser_t *parser = &builder->parser;
    if (parser->error == YAML_MEMORY_ERROR)
        pl_panic("out of memory while reading a plan of %zu bytes", builder->length);
    const char *problem = parser->problem != NULL ? parser->problem : "it cannot be read";
    struct place at = place_of(parser->problem_mark), opened = {0, 0};
    if (parser->error == YAML_READER_ERROR)
        at = plan_text_place(builder->text, builder->length, parser->problem_offset);
    else if (parser->context != NULL)
        opened = place_of(parser->context_mark);
    /* a tab in the indentation is what is really wrong, whatever the scanner stumbled over on that line */
    struct place tab = plan_text_indent_tab(builder->text, builder->length, at.line);
    if (tab.line > 0)
        return plan_yaml_problem(builder->path, tab, "found a tab character", NULL, opened, builder->err);
    return plan_yaml_problem(builder->path, at, problem, parser->context, opened, builder->err);
}

static enum pl_code next_event(struct builder *builder)
{
    yaml_event_delete(&builder->event);
    if (yaml_parser_parse(&builder->parser, &builder->event) == 0) {
        memset(&builder->event, 0, sizeof builder->event);
        return fail_in_parser(builder);
    }
    return PL_OK;
}

static enum pl_code refuse_extras(struct builder *builder)
{
    const yaml_event_t *event = &builder->event;
    const yaml_char_t *anchor = NULL, *tag = NULL;
    if (event->type == YAML_ALIAS_EVENT)
        return fail_at_event(builder, PL_INPUT, "aliases (\"*\") are not used in plans",
                             "Write the value out again, or put it in quotes if it begins with a star.");
    if (event->type == YAML_SCALAR_EVENT) {
        anchor = event->data.scalar.anchor;
        tag = event->data.scalar.tag;
    } else if (event->type == YAML_SEQUENCE_START_EVENT) {
        anchor = event->data.sequence_start.anchor;
        tag = event->data.sequence_start.tag;
    } else if (event->type == YAML_MAPPING_START_EVENT) {
        anchor = event->data.mapping_start.anchor;
        tag = event->data.mapping_start.tag;
    }
    if (anchor != NULL)
        return fail_at_event(builder, PL_INPUT, "anchors (\"&\") are not used in plans",
                             "Remove it and write the value out where it is needed, or put it in quotes.");
    if (tag != NULL)
        return fail_at_event(builder, PL_INPUT, "tags (\"!\") are not used in plans",
                             "Remove it, or put the value in quotes if it begins with an exclamation mark.");
    return PL_OK;
}

static enum pl_code build_node(struct builder *builder, int depth, struct node **ret_node);

static enum pl_code build_scalar(struct builder *builder, struct node *node)
{
    const yaml_event_t *event = &builder->event;
    const char *value = (const char *)event->data.scalar.value;
    if (memchr(value, '\0', event->data.scalar.length) != NULL)
        return fail_at_event(builder, PL_INPUT, "a NUL character in a text", "Remove the escape \\0 from it.");
    node->type = NODE_SCALAR;
    node->text = pl_strndup(builder->arena, value, event->data.scalar.length);
    node->length = event->data.scalar.length;
    node->plain = event->data.scalar.style == YAML_PLAIN_SCALAR_STYLE;
    node->start = event->start_mark.index;
    node->end = event->end_mark.index;
    return next_event(builder);
}

static enum pl_code build_list(struct builder *builder, int depth, struct node *node)
{
    size_t capacity = 0;
    node->type = NODE_LIST;
    enum pl_code code = next_event(builder);
    while (code == PL_OK && builder->event.type != YAML_SEQUENCE_END_EVENT) {
        node->items = pl_grow(builder->arena, node->items, node->count, node->count + 1, sizeof *node->items, &capacity);
        code = build_node(builder, depth + 1, &node->items[node->count]);
        if (code == PL_OK)
            node->count++;
    }
    return code == PL_OK ? next_event(builder) : code;
}

static enum pl_code refuse_repeated(struct builder *builder, const struct node *map, const struct node *key)
{
    for (size_t i = 0; i < map->count; i++) {
        const struct node *other = map->keys[i];
        if (other->length != key->length || memcmp(other->text, key->text, key->length) != 0)
            continue;
        pl_err_at(builder->err, PL_INPUT, builder->path, key->line, key->col, "the key %s stands here twice",
                  plan_shown(builder->arena, key->text));
        pl_err_hint(builder->err, "The first one is in line %d, column %d; remove one of the two.", other->line,
                    other->col);
        return builder->err->code;
    }
    return PL_OK;
}

static enum pl_code build_map(struct builder *builder, int depth, struct node *node)
{
    size_t key_capacity = 0, item_capacity = 0;
    node->type = NODE_MAP;
    enum pl_code code = next_event(builder);
    while (code == PL_OK && builder->event.type != YAML_MAPPING_END_EVENT) {
        if (builder->event.type != YAML_SCALAR_EVENT && builder->event.type != YAML_ALIAS_EVENT)
            return fail_at_event(builder, PL_INPUT, "a map or a list cannot be a key", "Write a word, then a colon.");
        size_t need = node->count + 1;
        node->keys = pl_grow(builder->arena, node->keys, node->count, need, sizeof *node->keys, &key_capacity);
        node->items = pl_grow(builder->arena, node->items, node->count, need, sizeof *node->items, &item_capacity);
        code = build_node(builder, depth + 1, &node->keys[node->count]);
        if (code == PL_OK)
            code = refuse_repeated(builder, node, node->keys[node->count]);
        if (code == PL_OK)
            code = build_node(builder, depth + 1, &node->items[node->count]);
        if (code == PL_OK)
            node->count++;
    }
    return code == PL_OK ? next_event(builder) : code;
}

static enum pl_code build_node(struct builder *builder, int depth, struct node **ret_node)
{
    enum pl_code code = refuse_extras(builder);
    if (code != PL_OK)
        return code;
    if (depth > PL_MAX_PLAN_DEPTH)
        return fail_at_event(builder, PL_LIMIT, "maps and lists are nested too deep",
                             "No part of a plan needs more than 6 levels.");
    if (++builder->node_count > PL_MAX_PLAN_NODES)
        return fail_at_event(builder, PL_LIMIT, "the plan has too many values", "Split it into several plans.");
    struct node *node = pl_alloc(builder->arena, 1, sizeof *node);
    struct place at = place_of(builder->event.start_mark);
    node->line = at.line;
    node->col = at.col;
    if (builder->event.type == YAML_SCALAR_EVENT)
        code = build_scalar(builder, node);
    else if (builder->event.type == YAML_SEQUENCE_START_EVENT)
        code = build_list(builder, depth, node);
    else if (builder->event.type == YAML_MAPPING_START_EVENT)
        code = build_map(builder, depth, node);
    else
        pl_panic("libyaml gave event %d where a value begins", (int)builder->event.type);
    if (code == PL_OK)
        *ret_node = node;
    return code;
}

static enum pl_code build_document(struct builder *builder, struct node **ret_root)
{
    struct node *root = NULL;
    enum pl_code code = next_event(builder); /* the stream begins */
    if (code == PL_OK)
        code = next_event(builder);
    if (code != PL_OK)
        return code;
    if (builder->event.type == YAML_STREAM_END_EVENT) {
        pl_err_at(builder->err, PL_INPUT, builder->path, 1, 1, "the plan is empty");
        pl_err_hint(builder->err, "A plan needs at least \"study:\", \"services:\" and \"stages:\"; see docs/plans.md.");
        return builder->err->code;
    }
    assert(builder->event.type == YAML_DOCUMENT_START_EVENT);
    code = next_event(builder);
    if (code == PL_OK)
        code = build_node(builder, 1, &root);
    if (code == PL_OK)
        code = next_event(builder); /* past the document's end */
    if (code != PL_OK)
        return code;
    if (builder->event.type != YAML_STREAM_END_EVENT)
        return fail_at_event(builder, PL_INPUT, "a second document begins here", "Keep one plan in a file.");
    *ret_root = root;
    return PL_OK;
}

enum pl_code plan_node_read(const char *path, const char *text, size_t length, struct pl_arena *arena,
                            struct node **ret_root, struct pl_err *err)
{
    /* a byte order mark would shift the columns of the first line */
    if (length >= 3 && memcmp(text, "\xef\xbb\xbf", 3) == 0) {
        text += 3;
        length -= 3;
    }
    enum pl_code code = plan_text_check(path, text, length, err);
    if (code != PL_OK)
        return code;
    struct builder builder = {.path = path, .text = text, .length = length, .arena = arena, .err = err};
    if (yaml_parser_initialize(&builder.parser) == 0)
        pl_panic("out of memory while reading a plan of %zu bytes", length);
    yaml_parser_set_encoding(&builder.parser, YAML_UTF8_ENCODING);
    yaml_parser_set_input_string(&builder.parser, (const unsigned char *)text, length);
    code = build_document(&builder, ret_root);
    yaml_event_delete(&builder.event);
    yaml_parser_delete(&builder.parser);
    return code;
}

const struct node *plan_node_find(const struct node *map, const char *name)
{
    for (size_t i = 0; i < map->count; i++)
        if (strcmp(map->keys[i]->text, name) == 0)
            return map->items[i];
    return NULL;
}

bool plan_node_is_null(const struct node *node)
{
    return node->type == NODE_SCALAR && node->plain &&
           (node->length == 0 || strcmp(node->text, "~") == 0 || strcmp(node->text, "null") == 0);
}
