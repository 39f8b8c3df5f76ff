/* Names, settings and errors come from outside. In every format they are data: no markup, no HTML, no broken table. */
#include "pages.h"

#include <jansson.h>

#include "base/utf8.h"

static const char *const hostile[] = {
    "<script>alert(1)</script>",
    "a|b|c",
    "`code` ``two`` ```three",
    "line one\nline two\r\n| x | y |\n# heading",
    "[click](javascript:alert(1))",
    "![img](http://evil.example/x.png)",
    "</td></table><h1>out</h1>",
    "\" onmouseover=\"alert(1)",
    "' x='",
    "&lt;b&gt; &amp;",
    "\x1b[31mred\x07\x08",
    "bad \xff\xfe utf8 \xc3",
    "\xe2\x80\xaeTXT.exe",
    "**bold** _it_ ~~no~~ $x$",
    "- item",
    "1. first",
    "--- ",
    "http://evil.example www.evil.example mail@evil.example",
    "\\| \\`x\\`",
    "%s%n",
    "",
};
#define HOSTILE (sizeof hostile / sizeof *hostile)

struct turn {
    size_t next;
};

static const char *take(struct turn *turn)
{
    return hostile[turn->next++ % HOSTILE];
}

static struct fact hostile_fact(struct synth *synth, struct turn *turn, const char *scope, const char *stem, size_t number)
{
    struct fact fact = {.scope = scope, .unit = ""};
    fact.name = pl_format(synth->arena, "%s%zu%s", stem, number, take(turn));
    fact.value = take(turn);
    fact.how = take(turn);
    return fact;
}

/* Every text that the study takes from outside is hostile: one after the other, and in each turn another one. */
static struct synth *hostile_study(size_t first)
{
    struct synth *synth = full_study();
    struct turn turn = {first};
    synth->study.title = take(&turn);
    synth->study.plan_path = take(&turn);
    synth->study.tool_version = take(&turn);
    const char *line = take(&turn);
    synth->study.plan_text = pl_format(synth->arena, "%s\n%s\n", line, take(&turn));
    for (size_t i = 0; i < HOSTILE; i++) {
        synth->facts[synth->study.fact_count++] = hostile_fact(synth, &turn, "host", "f", i);
        synth->facts[synth->study.fact_count++] = hostile_fact(synth, &turn, "db", "setting.", i);
        synth->facts[synth->study.fact_count++] = hostile_fact(synth, &turn, line, "x", i);
        struct fault *fault = &synth->faults[synth->study.fault_count++];
        *fault = (struct fault){.trial_id = 20, .phase = PHASE_MEASURE, .count = 1};
        fault->source = take(&turn);
        fault->code = take(&turn);
        fault->example = take(&turn);
    }
    for (size_t i = 0; i < synth->study.stage_count; i++)
        synth->stages[i].question = take(&turn);
    for (size_t i = 0; i < synth->study.case_count; i++)
        synth->cases[i].label = take(&turn);
    for (size_t i = 0; i < synth->study.script_count; i++)
        synth->scripts[i].name = take(&turn);
    for (size_t i = 0; i < synth->study.trial_count; i++)
        if (synth->trials[i].state != TRIAL_DONE)
            synth->trials[i].why = take(&turn);
    for (size_t i = 0; i < synth->study.metric_count; i++)
        if (strcmp(synth->metrics[i].source, "db/pgbench_history") == 0)
            synth->metrics[i].source = pl_format(synth->arena, "db/%s", line);
    synth_study(synth);
    return synth;
}

/* Tags that this page may hold; every opened one is closed, in order. */
static void check_html(const char *html)
{
    static const char *const void_tags[] = {"meta", "link", "!DOCTYPE"};
    static const char *const tags[] = {"html",  "head",    "title", "style", "body",   "a",  "div", "header", "h1",
                                       "h2",    "h3",      "p",     "nav",   "ul",     "ol", "li",  "main",   "section",
                                       "table", "caption", "thead", "tbody", "tr",     "th", "td",  "span",   "sup",
                                       "code",  "dl",      "dt",    "dd",    "strong", "pre"};
    const char *stack[64];
    size_t depth = 0;
    for (const char *at = strchr(html, '<'); at != NULL; at = strchr(at + 1, '<')) {
        bool closes = at[1] == '/';
        const char *name = at + 1 + closes;
        size_t length = strcspn(name, " >");
        bool known = false, alone = false;
        for (size_t i = 0; i < sizeof void_tags / sizeof *void_tags; i++)
            alone |= strlen(void_tags[i]) == length && memcmp(void_tags[i], name, length) == 0;
        const char *tag = NULL;
        for (size_t i = 0; i < sizeof tags / sizeof *tags; i++)
            if (strlen(tags[i]) == length && memcmp(tags[i], name, length) == 0) {
                known = true;
                tag = tags[i];
            }
        if (!known && !alone)
            fail_msg("unknown tag at \"%.60s\"", at);
        if (alone)
            continue;
        if (!closes) {
            assert_true(depth < sizeof stack / sizeof *stack);
            stack[depth++] = tag;
        } else if (depth == 0 || stack[--depth] != tag) {
            fail_msg("\"%.40s\" closes nothing", at);
        }
    }
    assert_int_equal(depth, 0);
    assert_null(strstr(html, "onmouseover=\""));
}

static bool is_utf8(const char *text)
{
    struct pl_arena *arena = pl_arena_new();
    bool good = strcmp(pl_utf8_repair(arena, text), text) == 0;
    pl_arena_free(arena);
    return good;
}

/* Bars that are not escaped, outside nothing: each row of a table has as many as its head. */
static size_t bars_of(const char *line, size_t length)
{
    size_t bars = 0;
    for (size_t i = 0; i < length; i++) {
        if (line[i] == '\\' && i + 1 < length)
            i++;
        else
            bars += line[i] == '|';
    }
    return bars;
}

/* The line without its code spans, in which nothing is markup; a span ends at a run of as many backticks as it began with.
 */
static size_t without_code(const char *line, size_t length, char *out)
{
    size_t used = 0;
    for (size_t i = 0; i < length;) {
        size_t run = 0, end = i;
        while (i + run < length && line[i + run] == '`' && (i == 0 || line[i - 1] != '\\'))
            run++;
        if (run == 0) {
            out[used++] = line[i++];
            continue;
        }
        for (end = i + run; end < length; end++) {
            size_t closing = 0;
            while (end + closing < length && line[end + closing] == '`')
                closing++;
            if (closing == run)
                break;
            end += closing;
        }
        if (end >= length)
            fail_msg("a code span does not end: %.*s", (int)length, line);
        i = end + run;
    }
    return used;
}

static void check_line(const char *line, size_t length)
{
    char *plain = pl_new(length + 1, 1);
    size_t used = without_code(line, length, plain);
    for (size_t i = 0; i < used; i++)
        if (plain[i] == '<' && strncmp(plain + i, "<a id=", 6) != 0 && strncmp(plain + i, "</a>", 4) != 0)
            fail_msg("raw HTML in \"%.*s\"", (int)length, line);
    for (size_t i = 1; i + 2 < used; i++)
        if (plain[i] == ']' && plain[i + 1] == '(' && plain[i - 1] != '\\' && plain[i + 2] != '#')
            fail_msg("a link out of the page in \"%.*s\"", (int)length, line);
    assert_null(memmem(plain, used, "://", 3));
    pl_free(plain);
}

static void check_markdown(const char *text)
{
    size_t expected = 0;
    bool listing = false;
    for (const char *line = text; *line != '\0';) {
        size_t length = strcspn(line, "\n");
        listing = length > 4 && memcmp(line, "    ", 4) == 0;
        if (!listing) {
            check_line(line, length);
            if (length > 0 && line[0] == '|') {
                size_t bars = bars_of(line, length);
                if (expected != 0 && bars != expected)
                    fail_msg("%zu bars, not %zu: %.*s", bars, expected, (int)length, line);
                expected = bars;
            } else {
                expected = 0;
            }
        }
        line += length + (line[length] == '\n');
    }
}

static void test_hostile_everywhere(void **state)
{
    (void)state;
    for (size_t turn = 0; turn < HOSTILE; turn++) {
        struct synth *synth = hostile_study(turn);
        size_t length;
        char *html = page_text_of(&synth->study, PAGE_HTML, &length);
        assert_int_equal(strlen(html), length);
        assert_true(is_utf8(html));
        check_html(html);
        char *markdown = page_text_of(&synth->study, PAGE_MARKDOWN, &length);
        assert_true(is_utf8(markdown));
        assert_null(strpbrk(markdown, "\x1b\x07\x08\r"));
        check_markdown(markdown);
        char *text = page_text_of(&synth->study, PAGE_JSON, &length);
        json_error_t error;
        json_t *json = json_loadb(text, length, JSON_REJECT_DUPLICATES, &error);
        if (json == NULL)
            fail_msg("JSON, line %d: %s", error.line, error.text);
        json_decref(json);
        pl_free(text);
        pl_free(markdown);
        pl_free(html);
        synth_free(synth);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_hostile_everywhere),
    };
    return cmocka_run_group_tests_name("hostile", tests, NULL, NULL);
}
