/* Rows of named values: reading them, and drawing among them in constant time. */
#include "script/feed.h"

#include <math.h>
#include <string.h>

#include "base/buf.h"
#include "base/file.h"
#include "base/num.h"
#include "base/utf8.h"
#include "json/json.h"

#include "base/ban.h"

enum {
    FEED_COLUMNS_MOST = 256,
    FEED_GROUPS_MOST = 1000,
    FEED_ROWS_MOST = 5 * 1000 * 1000,
    FEED_CELL_MOST_BYTES = 1024 * 1024
};
#define FEED_MOST_BYTES ((size_t)1 << 30)

/* One cell of Vose's table: below `share` the row itself, above it `other`. A feed has one table for each group, one after
 * the other; behind them a cell for each group, whose row is where its table begins; behind those, with several groups and
 * RANDOM, a table for all rows. */
struct feed_alias {
    double share;
    uint32_t row, other;
};

/* A feed while it is read. */
struct feed_build {
    const char *path;
    struct names *names;
    struct pl_arena *arena;
    struct pl_err *err;
    struct feed *feed;
    struct feed_column *columns; /* the variables */
    int *place;                  /* of each column of the file: its variable's column, or one of the next two */
    size_t file_columns;
    struct value *cells;
    size_t cell_count, cell_capacity;
    double *weights;
    size_t row_count, weight_capacity;
    uint32_t *group_of;
    size_t group_of_capacity;
    struct feed_group *groups;
    struct names *group_names; /* index by name */
    size_t group_count, group_capacity;
    bool has_weight, has_group;
    int line, col; /* of what is being read */
};

enum { PLACE_WEIGHT = -1, PLACE_GROUP = -2 };

static enum pl_code feed_fail(struct feed_build *build, const char *what, const char *hint)
{
    pl_err_at(build->err, PL_INPUT, build->path, build->line, build->col, "%s", what);
    pl_err_hint(build->err, "%s", hint);
    return build->err->code;
}

/* A text of the file's for a message: shortened, without what controls a terminal. */
static const char *shown(struct feed_build *build, const char *text, size_t length)
{
    enum { MOST = 60 };
    char *copy = pl_strndup(build->arena, text, length > MOST ? MOST : length);
    for (char *at = copy; *at != '\0'; at++)
        if ((unsigned char)*at < 0x20 || *at == 0x7F)
            *at = '?';
    return pl_utf8_repair(build->arena, copy);
}

/* ---- columns, weights, groups ---- */

static bool is_column_name(const char *name, size_t length)
{
    static const char more[] = "_-.";
    if (length == 0 || length > 200)
        return false;
    for (size_t i = 0; i < length; i++) {
        unsigned char c = (unsigned char)name[i];
        bool is_letter = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c > 127;
        if (!is_letter && (c == '\0' || strchr(more, c) == NULL))
            return false;
    }
    return true;
}

static enum pl_code column_add(struct feed_build *build, const char *name, size_t length)
{
    if (!is_column_name(name, length))
        return feed_fail(build, pl_format(build->arena, "no variable may be named \"%s\"", shown(build, name, length)),
                         "The first line names the columns: letters, digits, _, - and . make a name.");
    if (build->file_columns == FEED_COLUMNS_MOST)
        return feed_fail(build, "more than 256 columns", "Leave out the columns that no script uses.");
    bool is_weight = length == 6 && memcmp(name, "weight", 6) == 0, is_group = length == 5 && memcmp(name, "group", 5) == 0;
    int *place = &build->place[build->file_columns++];
    char *copy = pl_strndup(build->arena, name, length);
    bool is_twice = (is_weight && build->has_weight) || (is_group && build->has_group);
    for (size_t i = 0; i < build->feed->column_count && !is_twice; i++)
        is_twice = strcmp(build->columns[i].name, copy) == 0;
    if (is_twice)
        return feed_fail(build, pl_format(build->arena, "two columns are named \"%.60s\"", copy),
                         "Give each column a name of its own.");
    build->has_weight |= is_weight;
    build->has_group |= is_group;
    if (is_weight || is_group) {
        *place = is_weight ? PLACE_WEIGHT : PLACE_GROUP;
        return PL_OK;
    }
    *place = (int)build->feed->column_count;
    build->columns[build->feed->column_count++] =
        (struct feed_column){.name = copy, .variable = names_predefine(build->names, copy)};
    return PL_OK;
}

static uint32_t group_of(struct feed_build *build, const char *name, size_t length)
{
    size_t index = (size_t)names_add(build->group_names, name, length);
    if (index < build->group_count)
        return (uint32_t)index;
    build->groups = pl_grow(build->arena, build->groups, build->group_count, build->group_count + 1, sizeof *build->groups,
                            &build->group_capacity);
    build->groups[build->group_count++] = (struct feed_group){.name = names_at(build->group_names, (int)index)};
    return (uint32_t)index;
}

static enum pl_code row_begin(struct feed_build *build)
{
    size_t row = build->row_count, columns = build->feed->column_count;
    if (row == FEED_ROWS_MOST)
        return feed_fail(build, "more than 5,000,000 rows", "Split the file, or draw values in the script.");
    build->cells = pl_grow(build->arena, build->cells, build->cell_count, build->cell_count + columns, sizeof *build->cells,
                           &build->cell_capacity);
    build->cell_count += columns;
    build->weights = pl_grow(build->arena, build->weights, row, row + 1, sizeof *build->weights, &build->weight_capacity);
    build->group_of =
        pl_grow(build->arena, build->group_of, row, row + 1, sizeof *build->group_of, &build->group_of_capacity);
    build->weights[row] = 1;
    build->group_of[row] = UINT32_MAX;
    for (size_t i = 0; i < columns; i++)
        build->cells[row * columns + i] = (struct value){.type = VALUE_NULL};
    build->row_count++;
    return PL_OK;
}

/* A value of the row at hand. text: what it is written as. */
static enum pl_code cell_set(struct feed_build *build, size_t file_column, struct value value, const char *text,
                             size_t length)
{
    int place = build->place[file_column];
    size_t row = build->row_count - 1;
    if (place == PLACE_GROUP) {
        if (memchr(text, '\0', length) != NULL)
            return feed_fail(build, "a value with a zero byte", "Values are text.");
        build->group_of[row] = group_of(build, text, length);
        if (build->group_count > FEED_GROUPS_MOST)
            return feed_fail(build, "more than 1,000 groups", "Each group has histograms of its own: use fewer.");
    } else if (place == PLACE_WEIGHT) {
        double weight;
        if (pl_num_f64(text, length, &weight) != PL_NUM_OK || !(weight > 0))
            return feed_fail(build,
                             pl_format(build->arena, "the weight \"%s\" is no number above 0", shown(build, text, length)),
                             "A weight of 2 is drawn twice as often as one of 1.");
        build->weights[row] = weight;
    } else {
        if (length > FEED_CELL_MOST_BYTES)
            return feed_fail(build, "a value longer than 1 MiB", "Keep long bodies in files of their own.");
        if (memchr(text, '\0', length) != NULL)
            return feed_fail(build, "a value with a zero byte", "Values are text.");
        if (value.type == VALUE_TEXT)
            value.text = pl_strndup(build->arena, text, length);
        build->cells[row * build->feed->column_count + (size_t)place] = value;
    }
    return PL_OK;
}

/* ---- drawing ---- */

/* Vose (1991), "A linear algorithm for generating random numbers with a given distribution": for each group its rows, one
 * after the other in `aliases`; the group's first stands at the sum of the counts before it. */
static void aliases_make(struct feed_build *build, struct feed_alias *aliases, const uint32_t *rows, size_t count)
{
    double sum = 0;
    uint32_t *small = pl_new(count, sizeof *small), *large = pl_new(count, sizeof *large);
    size_t smalls = 0, larges = 0;
    for (size_t i = 0; i < count; i++)
        sum += build->weights[rows[i]];
    for (size_t i = 0; i < count; i++) {
        aliases[i] =
            (struct feed_alias){.share = build->weights[rows[i]] * (double)count / sum, .row = rows[i], .other = rows[i]};
        if (aliases[i].share < 1)
            small[smalls++] = (uint32_t)i;
        else
            large[larges++] = (uint32_t)i;
    }
    while (smalls > 0 && larges > 0) {
        uint32_t less = small[--smalls], more = large[larges - 1];
        aliases[less].other = rows[more];
        aliases[more].share -= 1 - aliases[less].share;
        if (aliases[more].share < 1) {
            larges--;
            small[smalls++] = more;
        }
    }
    /* what is left differs from 1 by rounding alone */
    while (smalls > 0)
        aliases[small[--smalls]].share = 1;
    while (larges > 0)
        aliases[large[--larges]].share = 1;
    pl_free(small);
    pl_free(large);
}

static void groups_finish(struct feed_build *build)
{
    for (size_t row = 0; row < build->row_count; row++) {
        if (build->group_of[row] == UINT32_MAX)
            build->group_of[row] = group_of(build, "", 0);
        struct feed_group *group = &build->groups[build->group_of[row]];
        group->row_count++;
        group->weight += build->weights[row];
    }
    bool has_whole = build->group_count > 1 && build->feed->order == FEED_RANDOM;
    size_t count = build->row_count * (has_whole ? 2 : 1) + build->group_count;
    struct feed_alias *aliases = pl_alloc(build->arena, count, sizeof *aliases), *firsts = aliases + build->row_count;
    uint32_t *rows = pl_new(build->row_count, sizeof *rows), *next = pl_new(build->group_count, sizeof *next), first = 0;
    for (size_t g = 0; g < build->group_count; g++) {
        firsts[g].row = next[g] = first;
        first += (uint32_t)build->groups[g].row_count;
    }
    for (size_t row = 0; row < build->row_count; row++)
        rows[next[build->group_of[row]]++] = (uint32_t)row;
    for (size_t g = 0; g < build->group_count; g++)
        aliases_make(build, aliases + firsts[g].row, rows + firsts[g].row, build->groups[g].row_count);
    if (has_whole)
        aliases_make(build, firsts + build->group_count, rows, build->row_count);
    pl_free(rows);
    pl_free(next);
    build->feed->aliases = aliases;
}

static enum pl_code build_finish(struct feed_build *build, struct feed **ret_feed)
{
    struct feed *feed = build->feed;
    build->col = build->line > 0;
    if (build->row_count > 0 && build->file_columns == 0)
        return feed_fail(build, "there is no column", "Each row is made of named values.");
    if (build->row_count == 0)
        return feed_fail(build, "there is no row", "Below the line that names the columns each line is a row.");
    groups_finish(build);
    feed->columns = build->columns;
    feed->cells = build->cells;
    feed->row_count = build->row_count;
    feed->groups = build->groups;
    feed->group_count = build->group_count;
    feed->group_of = build->group_of;
    feed->next = pl_alloc(build->arena, 1, sizeof *feed->next);
    atomic_init(feed->next, 0);
    *ret_feed = feed;
    return PL_OK;
}

static void build_init(struct feed_build *build, const char *path, enum feed_order order, struct names *names,
                       struct pl_arena *arena, struct pl_err *err)
{
    *build = (struct feed_build){.path = path, .names = names, .arena = arena, .err = err, .line = 1, .col = 1};
    build->feed = pl_alloc(arena, 1, sizeof *build->feed);
    build->feed->name = pl_strdup(arena, path);
    build->feed->order = order;
    build->group_names = names_new(arena);
    build->columns = pl_alloc(arena, FEED_COLUMNS_MOST, sizeof *build->columns);
    build->place = pl_alloc(arena, FEED_COLUMNS_MOST, sizeof *build->place);
}

/* ---- CSV (RFC 4180) ---- */

struct csv {
    const char *at, *end;
    const char *line_start;
    struct pl_buf cell;
};

/* Reads a cell into csv->cell; *ret_last: the line ends behind it. */
static enum pl_code csv_cell(struct feed_build *build, struct csv *csv, bool *ret_last)
{
    static const char hint[] = "A cell that holds a quote, a comma or a line break is quoted; a quote in it is doubled.";
    int line = build->line;
    pl_buf_clear(&csv->cell);
    build->col = (int)(csv->at - csv->line_start) + 1;
    if (csv->at < csv->end && *csv->at == '"') {
        for (csv->at++;; csv->at++) {
            if (csv->at == csv->end) {
                build->line = line;
                return feed_fail(build, "a quote that is not closed", hint);
            }
            if (*csv->at == '"') {
                csv->at++;
                if (csv->at == csv->end || *csv->at != '"')
                    break;
            }
            if (*csv->at == '\n') {
                build->line++;
                csv->line_start = csv->at + 1;
            }
            pl_buf_put_bytes(&csv->cell, csv->at, 1);
        }
    } else {
        const char *start = csv->at;
        while (csv->at < csv->end && *csv->at != ',' && *csv->at != '\n' && *csv->at != '"')
            csv->at++;
        size_t length = (size_t)(csv->at - start);
        bool ends_line = csv->at == csv->end || *csv->at == '\n';
        if (length > 0 && ends_line && start[length - 1] == '\r')
            length--;
        pl_buf_put_bytes(&csv->cell, start, length);
    }
    if (csv->at < csv->end && *csv->at == '\r' && (csv->at + 1 == csv->end || csv->at[1] == '\n'))
        csv->at++;
    *ret_last = csv->at == csv->end || *csv->at == '\n';
    if (!*ret_last && *csv->at != ',')
        return feed_fail(build, "text beside a quoted cell", hint);
    if (csv->at < csv->end)
        csv->at++;
    return PL_OK;
}

static enum pl_code csv_row(struct feed_build *build, struct csv *csv, bool is_head)
{
    bool last = false;
    size_t count = 0;
    if (!is_head && row_begin(build) != PL_OK)
        return build->err->code;
    for (; !last; count++) {
        if (csv_cell(build, csv, &last) != PL_OK)
            return build->err->code;
        const char *text = pl_buf_text(&csv->cell);
        size_t length = csv->cell.len;
        struct value value = {.type = VALUE_TEXT, .length = (uint32_t)length};
        enum pl_code code = is_head                       ? column_add(build, text, length)
                            : count < build->file_columns ? cell_set(build, count, value, text, length)
                                                          : PL_OK;
        if (code != PL_OK)
            return code;
    }
    if (!is_head && count != build->file_columns)
        return feed_fail(build, pl_format(build->arena, "a row of %zu cells below %zu columns", count, build->file_columns),
                         "Every row has as many cells as the first line has names.");
    return PL_OK;
}

static enum pl_code csv_parse(struct feed_build *build, const char *text, size_t length)
{
    struct csv csv = {.at = text, .end = text + length, .line_start = text};
    enum pl_code code = PL_OK;
    pl_buf_init(&csv.cell, FEED_MOST_BYTES);
    for (bool is_head = true; code == PL_OK && csv.at < csv.end; is_head = false) { /* blank lines are no rows */
        csv.line_start = csv.at;
        build->col = 1;
        bool is_blank = *csv.at == '\n' || (*csv.at == '\r' && csv.at + 1 < csv.end && csv.at[1] == '\n');
        if (is_blank)
            csv.at += *csv.at == '\r' ? 2 : 1;
        else
            code = csv_row(build, &csv, is_head);
        if (is_blank && is_head && code == PL_OK)
            code = feed_fail(build, "the first line is empty", "The first line names the columns.");
        build->line++;
    }
    pl_buf_release(&csv.cell);
    return code;
}

/* ---- JSON lines ---- */

/* JSON lines: the line at hand, and room for a text of it without its escapes. */
struct lines {
    struct json json;
    struct pl_buf text;
};

static struct pl_buf *lines_string(struct lines *lines, uint32_t token)
{
    const struct json_token *t = &lines->json.tokens[token];
    pl_buf_clear(&lines->text);
    pl_buf_put_bytes(&lines->text, lines->json.text + t->at, t->bytes); /* no escape is shorter than what it means */
    if (t->is_escaped)
        lines->text.data[lines->text.len = json_unescape(&lines->json, token, lines->text.data)] = '\0';
    return &lines->text;
}

static size_t json_column(const struct feed_build *build, const char *name, size_t length)
{
    for (size_t i = 0; i < build->file_columns; i++) {
        int place = build->place[i];
        const char *own = place == PLACE_WEIGHT ? "weight" : place == PLACE_GROUP ? "group" : build->columns[place].name;
        if (strlen(own) == length && memcmp(own, name, length) == 0)
            return i;
    }
    return SIZE_MAX;
}

/* What has no type of its own is the text that stands in the file: lists, objects, and numbers beyond 64 bits. */
static enum pl_code json_cell(struct feed_build *build, size_t column, struct lines *lines, uint32_t token)
{
    const struct json *json = &lines->json;
    const struct json_token *t = &json->tokens[token];
    const char *text = json->text + t->at;
    size_t length = t->bytes;
    struct value value = {.type = VALUE_TEXT};
    if (t->kind == JSON_STRING) {
        text = pl_buf_text(lines_string(lines, token));
        length = lines->text.len;
    } else if (t->kind == JSON_INTEGER) {
        value.type = json_get_integer(json, token, &value.i) ? VALUE_INT : VALUE_TEXT;
    } else if (t->kind == JSON_FLOAT) {
        value.d = json_as_double(json, token);
        value.type = isfinite(value.d) ? VALUE_DOUBLE : VALUE_TEXT;
    } else if (t->kind == JSON_TRUE || t->kind == JSON_FALSE) {
        value = (struct value){.type = VALUE_BOOL, .b = t->kind == JSON_TRUE};
    } else if (t->kind == JSON_NULL) {
        value.type = VALUE_NULL;
    }
    if (value.type == VALUE_TEXT)
        value.length = (uint32_t)length;
    return cell_set(build, column, value, text, length);
}

static enum pl_code json_columns(struct feed_build *build, struct lines *lines)
{
    uint32_t at = 1;
    for (uint32_t i = 0; i < lines->json.tokens[0].count; i++) {
        lines_string(lines, at);
        if (column_add(build, pl_buf_text(&lines->text), lines->text.len) != PL_OK)
            return build->err->code;
        at = lines->json.tokens[at + 1].after;
    }
    return PL_OK;
}

static enum pl_code json_row(struct feed_build *build, struct lines *lines)
{
    static const char hint[] = "Every line has the members of the first one.";
    bool is_seen[FEED_COLUMNS_MOST] = {false};
    uint32_t count = lines->json.tokens[0].count, at = 1;
    if ((build->row_count == 0 && json_columns(build, lines) != PL_OK) || row_begin(build) != PL_OK)
        return build->err->code;
    if (count != build->file_columns)
        return feed_fail(
            build, pl_format(build->arena, "a row of %u members, the first has %zu", count, build->file_columns), hint);
    for (uint32_t i = 0; i < count; i++) {
        lines_string(lines, at);
        const char *name = pl_buf_text(&lines->text);
        size_t length = lines->text.len, column = json_column(build, name, length);
        if (column == SIZE_MAX)
            return feed_fail(
                build, pl_format(build->arena, "the first row has no member \"%s\"", shown(build, name, length)), hint);
        if (is_seen[column])
            return feed_fail(build, pl_format(build->arena, "two members are named \"%s\"", shown(build, name, length)),
                             hint);
        is_seen[column] = true;
        if (json_cell(build, column, lines, at + 1) != PL_OK)
            return build->err->code;
        at = lines->json.tokens[at + 1].after;
    }
    return PL_OK;
}

static enum pl_code json_line(struct feed_build *build, struct lines *lines, const char *line, size_t length)
{
    static const char hint[] = "Each line is one JSON object: {\"user\": \"anna\", \"id\": 1}";
    size_t at;
    const char *wrong = json_read(&lines->json, line, length, &at);
    build->col = wrong != NULL ? (int)at + 1 : 1;
    if (wrong != NULL)
        return feed_fail(build, pl_format(build->arena, "not JSON: %s", wrong), hint);
    return lines->json.tokens[0].kind == JSON_OBJECT ? json_row(build, lines) : feed_fail(build, "not an object", hint);
}

static enum pl_code json_parse(struct feed_build *build, const char *text, size_t length)
{
    struct lines lines = {0};
    enum pl_code code = PL_OK;
    pl_buf_init(&lines.text, FEED_MOST_BYTES);
    for (const char *at = text, *end = text + length; at < end && code == PL_OK; build->line++) {
        const char *newline = memchr(at, '\n', (size_t)(end - at));
        size_t line = newline == NULL ? (size_t)(end - at) : (size_t)(newline - at), blanks = 0;
        while (blanks < line && (at[blanks] == ' ' || at[blanks] == '\t' || at[blanks] == '\r'))
            blanks++;
        build->col = 1;
        if (blanks < line)
            code = json_line(build, &lines, at, line);
        if (code != PL_OK)
            break;
        at += line + (newline != NULL);
    }
    json_release(&lines.json);
    pl_buf_release(&lines.text);
    return code;
}

/* ---- the ways in ---- */

static bool ends_in(const char *path, const char *ending)
{
    size_t length = strlen(path), tail = strlen(ending);
    return length >= tail && strcmp(path + length - tail, ending) == 0;
}

enum pl_code feed_parse(const char *path, const char *text, size_t length, enum feed_order order, struct names *names,
                        struct pl_arena *arena, struct feed **ret_feed, struct pl_err *err)
{
    struct feed_build build;
    build_init(&build, path, order, names, arena, err);
    if (length >= 3 && memcmp(text, "\xef\xbb\xbf", 3) == 0) { /* some editors put it at the beginning of UTF-8 */
        text += 3;
        length -= 3;
    }
    bool is_json = ends_in(path, ".jsonl") || ends_in(path, ".ndjson") || ends_in(path, ".json");
    enum pl_code code = is_json ? json_parse(&build, text, length) : csv_parse(&build, text, length);
    return code == PL_OK ? build_finish(&build, ret_feed) : code;
}

enum pl_code feed_read(const char *path, enum feed_order order, struct names *names, struct pl_arena *arena,
                       struct feed **ret_feed, struct pl_err *err)
{
    char *text;
    size_t length;
    enum pl_code code = pl_file_read(path, FEED_MOST_BYTES, arena, &text, &length, err);
    return code == PL_OK ? feed_parse(path, text, length, order, names, arena, ret_feed, err) : code;
}

/* Replaces {n} and {n:04}. */
static void pattern_fill(const char *pattern, size_t number, struct pl_buf *into)
{
    pl_buf_clear(into);
    while (*pattern != '\0') {
        size_t plain = strcspn(pattern, "{");
        pl_buf_put_bytes(into, pattern, plain);
        pattern += plain;
        if (strncmp(pattern, "{n}", 3) == 0) {
            pl_buf_printf(into, "%zu", number);
            pattern += 3;
        } else if (strncmp(pattern, "{n:0", 4) == 0 && pattern[4] >= '1' && pattern[4] <= '9' && pattern[5] == '}') {
            pl_buf_printf(into, "%0*zu", pattern[4] - '0', number);
            pattern += 6;
        } else if (*pattern != '\0') {
            pl_buf_put_bytes(into, pattern++, 1);
        }
    }
}

enum pl_code feed_from_pattern(const char *name, const struct feed_pattern *columns, size_t column_count, size_t count,
                               struct names *names, struct pl_arena *arena, struct feed **ret_feed, struct pl_err *err)
{
    struct feed_build build;
    struct pl_buf text;
    build_init(&build, name, FEED_RANDOM, names, arena, err);
    build.line = build.col = 0;
    for (size_t i = 0; i < column_count; i++)
        if (column_add(&build, columns[i].name, strlen(columns[i].name)) != PL_OK)
            return err->code;
    pl_buf_init(&text, FEED_CELL_MOST_BYTES);
    enum pl_code code = PL_OK;
    for (size_t row = 0; row < count && code == PL_OK; row++) {
        code = row_begin(&build);
        for (size_t i = 0; i < column_count && code == PL_OK; i++) {
            pattern_fill(columns[i].text, row + 1, &text);
            struct value value = {.type = VALUE_TEXT, .length = (uint32_t)text.len};
            code = text.full ? feed_fail(&build, "a value longer than 1 MiB", "Keep long bodies in files of their own.")
                             : cell_set(&build, i, value, pl_buf_text(&text), text.len);
        }
    }
    pl_buf_release(&text);
    return code == PL_OK ? build_finish(&build, ret_feed) : code;
}

/* ---- the data plane ---- */

int feed_column(const struct feed *feed, const char *name)
{
    for (size_t i = 0; i < feed->column_count; i++)
        if (strcmp(feed->columns[i].name, name) == 0)
            return (int)i;
    return -1;
}

static uint32_t alias_draw(const struct feed_alias *aliases, size_t count, struct pl_rng *rng)
{
    const struct feed_alias *alias = &aliases[pl_rng_range(rng, 0, (int64_t)count - 1)];
    return pl_rng_unit(rng) < alias->share ? alias->row : alias->other;
}

uint32_t feed_draw(const struct feed *feed, uint32_t group, struct pl_rng *rng)
{
    uint32_t first = feed->aliases[feed->row_count + group].row;
    return alias_draw(feed->aliases + first, feed->groups[group].row_count, rng);
}

bool feed_take(const struct feed *feed, struct pl_rng *rng, uint32_t *ret_row)
{
    if (feed->order == FEED_RANDOM) {
        size_t whole = feed->group_count > 1 ? feed->row_count + feed->group_count : 0;
        *ret_row = alias_draw(feed->aliases + whole, feed->row_count, rng);
        return true;
    }
    long long row = atomic_fetch_add_explicit(feed->next, 1, memory_order_relaxed);
    if (feed->order == FEED_UNIQUE && row >= (long long)feed->row_count)
        return false;
    *ret_row = (uint32_t)((unsigned long long)row % feed->row_count);
    return true;
}

void feed_set(const struct feed *feed, uint32_t row, struct value *vars)
{
    size_t first = (size_t)row * feed->column_count;
    for (size_t i = 0; i < feed->column_count; i++)
        vars[feed->columns[i].variable] = feed->cells[first + i];
}
