/* Meta commands: a table of handlers. What is wrong with their arguments is said in pgbench's words. */
#include "script/compile_int.h"

#include <string.h>
#include <strings.h>

#include "base/limits.h"
#include "base/num.h"
#include "script/names_int.h"

#include "base/ban.h"

/* ---- words ---- */

struct word {
    size_t start, length;
};

/* Bytes of a line continuation at a place, a backslash and the end of the line; 0: there is none. */
static size_t continuation(const struct compiler *c, size_t place, size_t end)
{
    if (place + 1 < end && c->text[place] == '\\' && c->text[place + 1] == '\n')
        return 2;
    return place + 2 < end && memcmp(c->text + place, "\\\r\n", 3) == 0 ? 3 : 0;
}

static bool is_blank(char c)
{
    return c == ' ' || c == '\t' || c == '\r' || c == '\f' || c == '\v';
}

bool meta_skip_blanks(const struct compiler *c, struct meta *meta)
{
    while (meta->pos < meta->end) {
        size_t length = is_blank(c->text[meta->pos]) ? 1 : continuation(c, meta->pos, meta->end);
        if (length == 0)
            return true;
        meta->pos += length;
    }
    return false;
}

static bool meta_word(const struct compiler *c, struct meta *meta, struct word *ret_word)
{
    if (!meta_skip_blanks(c, meta))
        return false;
    ret_word->start = meta->pos;
    while (meta->pos < meta->end && !is_blank(c->text[meta->pos]) && continuation(c, meta->pos, meta->end) == 0)
        meta->pos++;
    ret_word->length = meta->pos - ret_word->start;
    return true;
}

/* "WHAT (MORE) in command "NAME"", at a place; `more` may be empty. */
static enum pl_code meta_fail(struct compiler *c, const struct meta *meta, size_t place, const char *what,
                              const struct word *more)
{
    if (more != NULL)
        return compile_fail(c, PL_INPUT, meta->start, place, "%s (%.*s) in command \"%s\"", what, (int)more->length,
                            c->text + more->start, meta->name);
    return compile_fail(c, PL_INPUT, meta->start, place, "%s in command \"%s\"", what, meta->name);
}

static enum pl_code meta_no_more(struct compiler *c, struct meta *meta, const char *what)
{
    return meta_skip_blanks(c, meta) ? meta_fail(c, meta, meta->pos, what, NULL) : PL_OK;
}

/* The command as written, without what is blank at its end. */
static const char *meta_text(struct compiler *c, const struct meta *meta)
{
    size_t end = meta->end;
    while (is_blank(c->text[end - 1]))
        end--;
    return pl_strndup(c->arena, c->text + meta->start, end - meta->start);
}

static enum pl_code meta_add(struct compiler *c, const struct meta *meta, struct step step, enum condition condition)
{
    step.text = meta_text(c, meta);
    return compile_add(c, step, &(struct step_note){.place = meta->start, .condition = condition});
}

/* ---- the commands ---- */

typedef enum pl_code meta_handler(struct compiler *c, struct meta *meta, enum step_kind kind);

static enum pl_code meta_target(struct compiler *c, struct meta *meta, struct word *ret_word)
{
    if (!meta_word(c, meta, ret_word))
        return meta_fail(c, meta, meta->end, "missing argument", NULL);
    if (!names_is_valid(c->text + ret_word->start, ret_word->length))
        return meta_fail(c, meta, ret_word->start, "invalid variable name", ret_word);
    return PL_OK;
}

static enum pl_code meta_assign(struct compiler *c, struct meta *meta, const struct word *target, struct step step)
{
    step.variable = names_add(c->names, c->text + target->start, target->length);
    if (names_count(c->names) > PL_MAX_VARIABLES)
        return compile_fail(c, PL_LIMIT, meta->start, target->start, "more than %d variables", PL_MAX_VARIABLES);
    names_mark_set(c->names, step.variable);
    return meta_add(c, meta, step, NO_CONDITION);
}

static enum pl_code compile_set(struct compiler *c, struct meta *meta, enum step_kind kind)
{
    struct word target;
    struct step step = {.kind = kind};
    enum pl_code code = meta_target(c, meta, &target);
    if (code == PL_OK)
        code = compile_expr(c, meta, &step.expr);
    return code == PL_OK ? meta_assign(c, meta, &target, step) : code;
}

static enum pl_code compile_if(struct compiler *c, struct meta *meta, enum step_kind kind)
{
    struct step step = {.kind = kind};
    enum pl_code code = compile_expr(c, meta, &step.expr);
    return code == PL_OK ? meta_add(c, meta, step, CONDITION_IF) : code;
}

/* The branch above ends with a jump that nobody wrote. */
static enum pl_code compile_elif(struct compiler *c, struct meta *meta, enum step_kind kind)
{
    struct step step = {.kind = kind};
    enum pl_code code = compile_expr(c, meta, &step.expr);
    if (code == PL_OK)
        code = compile_add(c, (struct step){.kind = STEP_JUMP}, &(struct step_note){.place = meta->start});
    return code == PL_OK ? meta_add(c, meta, step, CONDITION_ELIF) : code;
}

static enum pl_code compile_bare(struct compiler *c, struct meta *meta, enum step_kind kind)
{
    enum pl_code code = meta_no_more(c, meta, "unexpected argument");
    enum condition condition = kind == STEP_JUMP ? CONDITION_ELSE : kind == STEP_NOTHING ? CONDITION_ENDIF : NO_CONDITION;
    return code == PL_OK ? meta_add(c, meta, (struct step){.kind = kind}, condition) : code;
}

/* A word that is ":name". */
static enum pl_code meta_variable(struct compiler *c, const struct meta *meta, const struct word *word, int *ret_variable)
{
    const char *name = c->text + word->start + 1;
    if (!names_is_valid(name, word->length - 1))
        return meta_fail(c, meta, word->start, "invalid variable name", word);
    return compile_variable(c, meta->start, word->start, name, word->length - 1, ret_variable);
}

static size_t amount_length(const char *text, size_t length)
{
    size_t n = length > 0 && (text[0] == '+' || text[0] == '-') ? 1 : 0;
    while (n < length && ((text[n] >= '0' && text[n] <= '9') || text[n] == '.'))
        n++;
    return n;
}

static enum pl_code sleep_unit(struct compiler *c, struct meta *meta, const struct word *unit, int64_t *ret_unit_ns)
{
    static const struct {
        const char *name;
        int64_t ns;
    } units[] = {{"us", 1000}, {"ms", 1000000}, {"s", 1000000000}};
    for (size_t i = 0; i < sizeof units / sizeof units[0]; i++) {
        if (strlen(units[i].name) == unit->length && strncasecmp(units[i].name, c->text + unit->start, unit->length) == 0) {
            *ret_unit_ns = units[i].ns;
            return PL_OK;
        }
    }
    return meta_fail(c, meta, unit->start, "unrecognized time unit, must be us, ms or s", unit);
}

static enum pl_code sleep_amount(struct compiler *c, struct meta *meta, const struct word *amount, struct step *step,
                                 struct step_word *ret_word)
{
    const char *text = c->text + amount->start;
    *ret_word = (struct step_word){pl_strndup(c->arena, text, amount->length), -1};
    if (text[0] == ':')
        return meta_variable(c, meta, amount, &ret_word->variable);
    if (pl_num_f64(text, amount->length, &step->sleep_literal) != PL_NUM_OK || memchr(text, '_', amount->length) != NULL)
        return meta_fail(c, meta, amount->start, "invalid sleep time, must be a number", amount);
    if (step->sleep_literal * (double)step->unit_ns >= 0x1p63)
        return meta_fail(c, meta, amount->start, "sleep time out of range", amount);
    return PL_OK;
}

static enum pl_code compile_sleep(struct compiler *c, struct meta *meta, enum step_kind kind)
{
    struct word amount, unit;
    struct step step = {.kind = kind, .unit_ns = 1000000000};
    if (!meta_word(c, meta, &amount))
        return meta_fail(c, meta, meta->end, "missing argument", NULL);
    bool has_unit = meta_word(c, meta, &unit);
    size_t digits = amount_length(c->text + amount.start, amount.length);
    if (!has_unit && digits > 0 && digits < amount.length) { /* "10ms" */
        has_unit = true;
        unit = (struct word){amount.start + digits, amount.length - digits};
        amount.length = digits;
    }
    struct step_word *word = pl_alloc(c->arena, 1, sizeof *word);
    enum pl_code code = has_unit ? sleep_unit(c, meta, &unit, &step.unit_ns) : PL_OK;
    if (code == PL_OK)
        code = sleep_amount(c, meta, &amount, &step, word);
    if (code == PL_OK)
        code = meta_no_more(c, meta, "too many arguments");
    if (code != PL_OK)
        return code;
    step.words = word;
    step.word_count = 1;
    return meta_add(c, meta, step, NO_CONDITION);
}

/* ":name" is a variable, "::name" the text ":name". */
static enum pl_code shell_word(struct compiler *c, const struct meta *meta, const struct word *word,
                               struct step_word *ret_word)
{
    const char *text = c->text + word->start;
    *ret_word = (struct step_word){pl_strndup(c->arena, text, word->length), -1};
    if (text[0] != ':')
        return PL_OK;
    if (word->length > 1 && text[1] == ':') {
        ret_word->text++;
        return PL_OK;
    }
    return meta_variable(c, meta, word, &ret_word->variable);
}

static enum pl_code shell_words(struct compiler *c, struct meta *meta, struct step *step)
{
    struct step_word *words = NULL;
    struct word word;
    size_t capacity = 0;
    enum pl_code code = PL_OK;
    while (code == PL_OK && meta_word(c, meta, &word)) {
        words = pl_grow(c->arena, words, step->word_count, step->word_count + 1, sizeof *words, &capacity);
        code = shell_word(c, meta, &word, &words[step->word_count++]);
    }
    step->words = words;
    return code;
}

static enum pl_code compile_shell(struct compiler *c, struct meta *meta, enum step_kind kind)
{
    struct step step = {.kind = kind};
    struct word target;
    enum pl_code code = kind == STEP_SETSHELL ? meta_target(c, meta, &target) : PL_OK;
    if (code == PL_OK)
        code = shell_words(c, meta, &step);
    if (code != PL_OK)
        return code;
    if (step.word_count == 0)
        return meta_fail(c, meta, meta->end, kind == STEP_SHELL ? "missing command" : "missing argument", NULL);
    return kind == STEP_SETSHELL ? meta_assign(c, meta, &target, step) : meta_add(c, meta, step, NO_CONDITION);
}

/* \gset and \aset are no steps: they say what becomes of the command before. */
static enum pl_code compile_capture(struct compiler *c, struct meta *meta, enum step_capture capture)
{
    struct word prefix = {.start = meta->end};
    bool has_prefix = meta_word(c, meta, &prefix);
    enum pl_code code = meta_no_more(c, meta, "too many arguments");
    if (code != PL_OK)
        return code;
    if (has_prefix && !names_is_valid(c->text + prefix.start, prefix.length))
        return meta_fail(c, meta, prefix.start, "invalid variable name", &prefix);
    struct step *last = c->step_count > 0 ? &c->steps[c->step_count - 1] : NULL;
    const char *name = capture == CAPTURE_ALL ? "aset" : "gset";
    if (last != NULL && last->kind != STEP_SQL)
        return compile_fail(c, PL_INPUT, meta->start, meta->start, "\\%s must follow an SQL command (%s)", name,
                            last->text);
    if (last == NULL || last->capture != CAPTURE_NOTHING)
        return compile_fail(c, PL_INPUT, meta->start, meta->start, "\\%s must follow an SQL command", name);
    last->capture = capture;
    last->prefix = pl_strndup(c->arena, c->text + prefix.start, prefix.length);
    names_mark_prefix(c->names, last->prefix);
    return PL_OK;
}

static enum pl_code compile_gset(struct compiler *c, struct meta *meta, enum step_kind kind)
{
    (void)kind;
    return compile_capture(c, meta, CAPTURE_ONE_ROW);
}

static enum pl_code compile_aset(struct compiler *c, struct meta *meta, enum step_kind kind)
{
    (void)kind;
    return compile_capture(c, meta, CAPTURE_ALL);
}

static const struct meta_command {
    const char *name;
    meta_handler *compile;
    enum step_kind kind;
} meta_commands[] = {{"set", compile_set, STEP_SET},
                     {"setshell", compile_shell, STEP_SETSHELL},
                     {"shell", compile_shell, STEP_SHELL},
                     {"sleep", compile_sleep, STEP_SLEEP},
                     {"if", compile_if, STEP_IF},
                     {"elif", compile_elif, STEP_IF},
                     {"else", compile_bare, STEP_JUMP},
                     {"endif", compile_bare, STEP_NOTHING},
                     {"gset", compile_gset, STEP_SQL},
                     {"aset", compile_aset, STEP_SQL},
                     {"startpipeline", compile_bare, STEP_START_PIPELINE},
                     {"syncpipeline", compile_bare, STEP_SYNC_PIPELINE},
                     {"endpipeline", compile_bare, STEP_END_PIPELINE}};

/* Up to the end of the line that has no backslash before it; the backslash that begins the command is none of those. */
static size_t meta_end(const struct compiler *c, size_t start)
{
    size_t end = start + 1;
    for (;;) {
        const char *newline = end < c->length ? memchr(c->text + end, '\n', c->length - end) : NULL;
        if (newline == NULL)
            return c->length;
        end = (size_t)(newline - c->text);
        size_t last = c->text[end - 1] == '\r' ? end - 2 : end - 1;
        if (last <= start || c->text[last] != '\\')
            return end;
        end++;
    }
}

enum pl_code compile_meta(struct compiler *c)
{
    struct meta meta = {.start = c->pos, .end = meta_end(c, c->pos), .pos = c->pos + 1, .name = ""};
    struct word name;
    c->pos = meta.end;
    if (meta.end > meta.start && c->text[meta.end - 1] == '\r')
        meta.end--;
    if (!meta_word(c, &meta, &name)) /* a backslash alone only ends the SQL before it */
        return c->strict ? compile_fail(c, PL_INPUT, meta.start, meta.start, "a backslash without a command") : PL_OK;
    meta.name = pl_strndup(c->arena, c->text + name.start, name.length);
    for (size_t i = 0; i < sizeof meta_commands / sizeof meta_commands[0]; i++)
        if (strcasecmp(meta_commands[i].name, meta.name) == 0)
            return meta_commands[i].compile(c, &meta, meta_commands[i].kind);
    return meta_fail(c, &meta, name.start, "invalid command", NULL);
}
