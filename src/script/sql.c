/* SQL commands: where they end, and which :name in them is a variable. The lexical rules are PostgreSQL's (manual, "Lexical
 * Structure"), read as psql and pgbench do: a ";" inside parentheses or in the body of CREATE FUNCTION ... BEGIN ATOMIC
 * does not end the command, "\;" joins commands to one message, any other backslash outside quotes begins a meta command.
 */
#include "script/compile_int.h"

#include <stdio.h>
#include <string.h>
#include <strings.h>

#include "base/limits.h"
#include "script/names_int.h"

#include "base/ban.h"

enum { HEAD_WORDS = 4 };

/* The command under construction. Its text is out[out_start ..]. */
struct sql {
    struct compiler *c;
    size_t start, out_start;
    int parens, bodies; /* open ones; bodies: BEGIN ATOMIC and the CASEs in it */
    int message_count;
    bool has_token; /* something that is neither a blank nor a comment */
    /* of the command since the last "\;" */
    char head[HEAD_WORDS][16]; /* its first words in lower case, cut */
    int word_count;
    char last_word[16];
    size_t place; /* where it begins */
};

/* ---- copying ---- */

static void sql_put(struct sql *sql, size_t count)
{
    struct compiler *c = sql->c;
    memcpy(c->out + c->out_length, c->text + c->pos, count);
    c->out_length += count;
    c->pos += count;
}

static void sql_mark_add(struct sql *sql, size_t length, int variable, enum sql_context context)
{
    struct compiler *c = sql->c;
    c->marks = pl_grow(c->arena, c->marks, c->mark_count, c->mark_count + 1, sizeof *c->marks, &c->mark_capacity);
    c->marks[c->mark_count++] = (struct sql_mark){c->out_length, c->out_length + 1 + length, variable, context};
    if (context == SQL_QUOTED) {
        c->quoted =
            pl_grow(c->arena, c->quoted, c->quoted_count, c->quoted_count + 1, sizeof *c->quoted, &c->quoted_capacity);
        c->quoted[c->quoted_count++] = (struct quoted){c->step_count, variable};
    }
    sql_put(sql, 1 + length);
}

/* At a ":". Where no name follows, all colons of the row are text: "::int". Inside quotes and comments a name that nothing
 * has set is text, when the rules are strict. */
static enum pl_code sql_colon(struct sql *sql, size_t end, enum sql_context context)
{
    struct compiler *c = sql->c;
    const char *name = c->text + c->pos + 1;
    bool after_colon = c->out_length > sql->out_start && c->out[c->out_length - 1] == ':'; /* an escaped one */
    size_t length = after_colon ? 0 : names_length_at(name, end - c->pos - 1, false);
    if (length == 0) {
        size_t colons = 1;
        while (c->pos + colons < end && c->text[c->pos + colons] == ':')
            colons++;
        sql_put(sql, colons);
        return PL_OK;
    }
    int variable = names_find(c->names, name, length);
    if (c->strict && context != SQL_CODE && (variable < 0 || !names_is_set(c->names, variable))) {
        sql_put(sql, 1 + length);
        return PL_OK;
    }
    enum pl_code code = compile_variable(c, FROM_LINE, c->pos, name, length, &variable);
    if (code == PL_OK)
        sql_mark_add(sql, length, variable, context);
    return code;
}

/* Copies a quote or a comment that reaches to `end`. */
static enum pl_code sql_copy(struct sql *sql, size_t end, enum sql_context context)
{
    struct compiler *c = sql->c;
    enum pl_code code = PL_OK;
    while (code == PL_OK && c->pos < end) {
        const char *colon = memchr(c->text + c->pos, ':', end - c->pos);
        sql_put(sql, (colon != NULL ? (size_t)(colon - c->text) : end) - c->pos);
        if (colon != NULL)
            code = sql_colon(sql, end, context);
    }
    sql->has_token = sql->has_token || context != SQL_COMMENT;
    return code;
}

/* ---- quotes and comments ---- */

/* What has no end reaches to the end of the script; the server would refuse it. */
static enum pl_code sql_copy_region(struct sql *sql, size_t end, enum sql_context context, const char *what)
{
    struct compiler *c = sql->c;
    if (end == 0 && c->strict)
        return compile_fail(c, PL_INPUT, FROM_LINE, c->pos, "the %s that begins here does not end", what);
    return sql_copy(sql, end == 0 ? c->length : end, context);
}

/* Ends of what begins at pos; 0: there is none. */
static size_t quote_end(const struct compiler *c, bool with_backslash)
{
    char quote = c->text[c->pos];
    for (size_t i = c->pos + 1; i < c->length; i++) {
        if (with_backslash && c->text[i] == '\\')
            i++;
        else if (c->text[i] == quote && i + 1 < c->length && c->text[i + 1] == quote)
            i++;
        else if (c->text[i] == quote)
            return i + 1;
    }
    return 0;
}

static size_t block_comment_end(const struct compiler *c)
{
    int depth = 0;
    for (size_t i = c->pos; i + 1 < c->length; i++) {
        if (c->text[i] == '/' && c->text[i + 1] == '*') {
            depth++;
            i++;
        } else if (c->text[i] == '*' && c->text[i + 1] == '/') {
            i++;
            if (--depth == 0)
                return i + 1;
        }
    }
    return 0;
}

static size_t line_comment_end(const struct compiler *c)
{
    const char *newline = memchr(c->text + c->pos, '\n', c->length - c->pos);
    return newline != NULL ? (size_t)(newline - c->text) : c->length;
}

/* Length of the tag $$ or $name$ at pos; 0: it is none. */
static size_t dollar_tag(const struct compiler *c)
{
    size_t after = c->pos + 1 + names_length_at(c->text + c->pos + 1, c->length - c->pos - 1, false);
    return after < c->length && c->text[after] == '$' ? after + 1 - c->pos : 0;
}

static size_t dollar_end(const struct compiler *c, size_t tag)
{
    const char *rest = c->text + c->pos + tag;
    const char *end = memmem(rest, c->length - c->pos - tag, c->text + c->pos, tag);
    return end != NULL ? (size_t)(end - c->text) + tag : 0;
}

/* ---- words ---- */

static bool is_routine(const struct sql *sql)
{
    int word = strcmp(sql->head[1], "or") == 0 && strcmp(sql->head[2], "replace") == 0 ? 3 : 1;
    return strcmp(sql->head[0], "create") == 0 &&
           (strcmp(sql->head[word], "function") == 0 || strcmp(sql->head[word], "procedure") == 0);
}

/* The bodies of SQL-standard routines hold ";". */
static void sql_body_word(struct sql *sql, const char *word)
{
    if (!is_routine(sql) || sql->parens > 0)
        return;
    if (strcmp(word, "begin") == 0 || (strcmp(word, "case") == 0 && sql->bodies > 0))
        sql->bodies++;
    else if (strcmp(word, "end") == 0 && sql->bodies > 0)
        sql->bodies--;
}

/* The rows of COPY FROM STDIN would have to come from the client, those of COPY TO STDOUT be taken by it. */
static enum pl_code sql_check_copy(const struct sql *sql, const char *word)
{
    struct compiler *c = sql->c;
    bool from = strcmp(word, "stdin") == 0 && strcmp(sql->last_word, "from") == 0;
    bool to = strcmp(word, "stdout") == 0 && strcmp(sql->last_word, "to") == 0;
    if (!c->strict || sql->parens > 0 || strcmp(sql->head[0], "copy") != 0 || (!from && !to))
        return PL_OK;
    return compile_fail(c, PL_INPUT, FROM_LINE, sql->place, "COPY %s is not supported in a script",
                        from ? "FROM STDIN" : "TO STDOUT");
}

static enum pl_code sql_word(struct sql *sql)
{
    struct compiler *c = sql->c;
    size_t length = 0;
    while (c->pos + length < c->length && (names_is_char(c->text[c->pos + length]) || c->text[c->pos + length] == '$'))
        length++;
    char word[sizeof sql->last_word];
    size_t kept = length < sizeof word - 1 ? length : sizeof word - 1;
    for (size_t i = 0; i < kept; i++) {
        char here = c->text[c->pos + i];
        word[i] = here >= 'A' && here <= 'Z' ? (char)(here - 'A' + 'a') : here;
    }
    word[kept] = '\0';
    if (sql->word_count == 0)
        sql->place = c->pos;
    if (sql->word_count < HEAD_WORDS)
        memcpy(sql->head[sql->word_count], word, sizeof word);
    sql->word_count++;
    sql_body_word(sql, word);
    enum pl_code code = sql_check_copy(sql, word);
    memcpy(sql->last_word, word, sizeof word);
    sql_put(sql, length);
    sql->has_token = true;
    bool escapes = length == 1 && word[0] == 'e' && c->pos < c->length && c->text[c->pos] == '\'';
    return code == PL_OK && escapes ? sql_copy_region(sql, quote_end(c, true), SQL_QUOTED, "quote") : code;
}

/* ---- the command ---- */

/* A quote, a comment, a word, a variable, or a character. */
static enum pl_code sql_token(struct sql *sql)
{
    struct compiler *c = sql->c;
    char here = c->text[c->pos], next = c->pos + 1 < c->length ? c->text[c->pos + 1] : '\0';
    if (here == '\'' || here == '"')
        return sql_copy_region(sql, quote_end(c, false), SQL_QUOTED, "quote");
    if (here == '-' && next == '-')
        return sql_copy(sql, line_comment_end(c), SQL_COMMENT);
    if (here == '/' && next == '*')
        return sql_copy_region(sql, block_comment_end(c), SQL_COMMENT, "comment");
    if (names_is_char(here))
        return sql_word(sql);
    if (here == ':') {
        sql->has_token = true;
        return sql_colon(sql, c->length, SQL_CODE);
    }
    size_t tag = here == '$' ? dollar_tag(c) : 0;
    if (tag > 0)
        return sql_copy_region(sql, dollar_end(c, tag), SQL_QUOTED, "dollar quote");
    if (here == '(')
        sql->parens++;
    else if (here == ')' && sql->parens > 0)
        sql->parens--;
    sql->has_token = sql->has_token || strchr(" \t\r\n\f\v", here) == NULL;
    sql_put(sql, 1);
    return PL_OK;
}

/* "\;" and "\:" lose their backslash. */
static void sql_escape(struct sql *sql)
{
    sql->c->pos++;
    if (sql->c->text[sql->c->pos] == ':')
        return;
    sql_put(sql, 1);
    sql->message_count++;
    sql->has_token = true;
    sql->word_count = 0;
    memset(sql->head, 0, sizeof sql->head);
    memset(sql->last_word, 0, sizeof sql->last_word);
}

/* Pieces, the variables in place of $1, $2, ..., and the text with them. */
static enum pl_code sql_split(struct sql *sql, size_t end, struct step *step)
{
    struct compiler *c = sql->c;
    struct sql_piece *pieces = pl_alloc(c->arena, c->mark_count + 1, sizeof *pieces);
    int *parameters = pl_alloc(c->arena, c->mark_count + 1, sizeof *parameters);
    enum { NUMBER_BYTES = 5 }; /* "$255", NUL; ":x" is two */
    char *numbered = pl_alloc(c->arena, end - sql->out_start + c->mark_count * NUMBER_BYTES + 1, 1);
    size_t from = sql->out_start, numbered_from = from, length = 0;
    for (size_t i = 0; i < c->mark_count; i++) {
        const struct sql_mark *mark = &c->marks[i];
        pieces[i] = (struct sql_piece){c->out + from, mark->from - from, mark->variable};
        from = mark->to;
        if (mark->context != SQL_CODE)
            continue;
        size_t number = 0; /* the same variable is the same parameter, so that its type is inferred once */
        while (number < step->parameter_count && parameters[number] != mark->variable)
            number++;
        if (number == PL_MAX_PARAMETERS)
            return compile_fail(c, PL_LIMIT, FROM_LINE, sql->start, "more than %d variables in one command",
                                PL_MAX_PARAMETERS);
        parameters[number] = mark->variable;
        step->parameter_count += number == step->parameter_count;
        memcpy(numbered + length, c->out + numbered_from, mark->from - numbered_from);
        length += mark->from - numbered_from;
        length += (size_t)snprintf(numbered + length, NUMBER_BYTES, "$%zu", number + 1);
        numbered_from = mark->to;
    }
    pieces[c->mark_count] = (struct sql_piece){c->out + from, end - from, -1};
    memcpy(numbered + length, c->out + numbered_from, end - numbered_from);
    step->pieces = pieces;
    step->piece_count = c->mark_count + 1;
    step->parameters = parameters;
    step->prepared_text = numbered;
    return PL_OK;
}

static enum pl_code sql_finish(struct sql *sql)
{
    struct compiler *c = sql->c;
    size_t end = c->out_length;
    while (end > sql->out_start && strchr(" \t\r\n\f\v", c->out[end - 1]) != NULL)
        end--;
    struct step step = {
        .kind = STEP_SQL, .message_count = sql->message_count, .text = c->out + sql->out_start, .prefix = ""};
    enum pl_code code = sql_split(sql, end, &step);
    if (code != PL_OK)
        return code;
    if (c->pos < c->length && c->text[c->pos] == ';')
        sql_put(sql, 1);
    else
        c->out_length = end;
    c->out[c->out_length++] = '\0';
    return compile_add(c, step, &(struct step_note){.place = sql->start});
}

enum pl_code compile_sql(struct compiler *c)
{
    struct sql sql = {.c = c, .start = c->pos, .out_start = c->out_length, .message_count = 1, .place = c->pos};
    enum pl_code code = PL_OK;
    c->mark_count = 0;
    while (code == PL_OK && c->pos < c->length) {
        char here = c->text[c->pos], next = c->pos + 1 < c->length ? c->text[c->pos + 1] : '\0';
        if (here == ';' && sql.parens == 0 && sql.bodies == 0)
            break;
        if (here != '\\') {
            code = sql_token(&sql);
        } else if (next == ';' || next == ':') {
            sql_escape(&sql);
        } else {
            break;
        }
    }
    if (code != PL_OK)
        return code;
    if (sql.has_token)
        return sql_finish(&sql);
    /* comments alone: nothing for the server to do */
    c->out_length = sql.out_start;
    return PL_OK;
}
