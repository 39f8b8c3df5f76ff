/* The Hurl files of tests/corpus: each compiles, and together they use every word and every kind of the language. */
#include "parse_test.h"

#include <dirent.h>

#include "base/file.h"

enum { FILES_MOST = 200, KINDS = 64 };

static const char *texts[FILES_MOST];
static size_t file_count;
static bool queries[KINDS], filters[KINDS], predicates[KINDS], operands[KINDS], bodies[KINDS], cookies[KINDS],
    certificates[KINDS], functions[KINDS];

static void see_text(const struct hurl_text *text);

static void see_filters(const struct hurl_filter *list, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        filters[list[i].kind] = true;
        see_text(&list[i].text);
    }
}

static void see_text(const struct hurl_text *text)
{
    for (size_t i = 0; i < text->piece_count; i++) {
        functions[text->pieces[i].function] = true;
        see_filters(text->pieces[i].filters, text->pieces[i].filter_count);
    }
}

static void see_query(const struct hurl_query *query)
{
    queries[query->kind] = true;
    if (query->kind == HURL_QUERY_COOKIE)
        cookies[query->cookie] = true;
    if (query->kind == HURL_QUERY_CERTIFICATE)
        certificates[query->certificate] = true;
    see_filters(query->filters, query->filter_count);
}

static void see_request(const struct hurl_request *request)
{
    bodies[request->body.kind] = true;
    see_text(&request->url);
    see_text(&request->body.text);
    for (size_t i = 0; i < request->capture_count; i++)
        see_query(&request->captures[i].query);
    for (size_t i = 0; i < request->assert_count; i++) {
        see_query(&request->asserts[i].query);
        predicates[request->asserts[i].predicate.kind] = true;
        operands[request->asserts[i].predicate.operand.kind] = true;
    }
}

static void compile_file(const char *name)
{
    char *text;
    size_t length;
    struct pl_err err = {0};
    struct program *program = NULL;
    const char *path = pl_format(arena, "%s/%s", PARSE_ROOT, name);
    names = names_new(arena);
    for (size_t i = 0; i < COUNT(parse_given); i++)
        names_predefine(names, parse_given[i]);
    if (pl_file_read(path, 1 << 20, arena, &text, &length, &err) != PL_OK ||
        hurl_compile(path, text, length, NULL, names, arena, &program, &err) != PL_OK)
        fail_msg("%s:%d:%d: %s", path, err.line, err.col, err.what);
    assert_true(file_count < FILES_MOST);
    texts[file_count++] = text;
    for (size_t i = 0; i < program->step_count; i++)
        if (program->steps[i].kind == STEP_HTTP)
            see_request(program->steps[i].http);
}

static bool holds_word(const char *text, const char *word)
{
    size_t length = strlen(word);
    for (const char *at = text; (at = strstr(at, word)) != NULL; at++) {
        bool is_symbol = !parse_is_alnum(word[0]);
        if (is_symbol || ((at == text || !parse_is_name_char(at[-1])) && !parse_is_name_char(at[length])))
            return true;
    }
    return false;
}

static void assert_words(const struct parse_words *words)
{
    for (size_t i = 0; i < words->count; i++) {
        bool is_used = words->list[i].refused != NULL;
        for (size_t f = 0; f < file_count && !is_used; f++)
            is_used = holds_word(texts[f], words->list[i].name);
        if (!is_used)
            fail_msg("no file uses the %s \"%s\"", words->what, words->list[i].name);
    }
}

static void assert_kinds(const char *what, const bool *seen, int first, int last)
{
    for (int kind = first; kind <= last; kind++)
        if (!seen[kind])
            fail_msg("no file uses %s %d", what, kind);
}

static void test_corpus(void **state)
{
    (void)state;
    DIR *folder = opendir(PARSE_ROOT);
    assert_non_null(folder);
    for (struct dirent *entry; (entry = readdir(folder)) != NULL;)
        if (hurl_is_file_name(entry->d_name))
            compile_file(entry->d_name);
    closedir(folder);
    assert_true(file_count >= 60);
    const struct parse_words *const tables[] = {&parse_queries, &parse_filters,  &parse_predicates,
                                                &parse_options, &parse_sections, &parse_hints};
    for (size_t i = 0; i < COUNT(tables); i++)
        assert_words(tables[i]);
    assert_kinds("query", queries, 0, HURL_QUERY_REDIRECTS);
    assert_kinds("filter", filters, 0, HURL_FILTER_UTF8_ENCODE);
    assert_kinds("predicate", predicates, 0, HURL_IS_UUID);
    assert_kinds("operand", operands, 0, HURL_OPERAND_VARIABLE);
    assert_kinds("body", bodies, 0, HURL_BODY_GRAPHQL);
    assert_kinds("cookie attribute", cookies, 0, HURL_COOKIE_SAME_SITE);
    assert_kinds("certificate field", certificates, 0, HURL_CERTIFICATE_SERIAL);
    assert_kinds("function", functions, 0, HURL_NEW_DATE);
}

/* Each example of the manual is a file that compiles. */
static void test_manual(void **state)
{
    (void)state;
    static const char fence[] = "~~~hurl\n";
    char *text;
    size_t length;
    int count = 0;
    struct pl_err err = {0};
    names_predefine(names, "book");
    assert_int_equal(pl_file_read("docs/hurl.md", 1 << 20, arena, &text, &length, &err), PL_OK);
    for (const char *at = text; (at = strstr(at, fence)) != NULL; count++) {
        at += strlen(fence);
        const char *end = strstr(at, "~~~\n");
        assert_non_null(end);
        compile(pl_strndup(arena, at, (size_t)(end - at)));
        at = end + strlen("~~~\n");
    }
    assert_true(count >= 5);
}

/* The manual names every word, also those that are refused. */
static void test_manual_names_all(void **state)
{
    (void)state;
    char *text;
    size_t length;
    struct pl_err err = {0};
    assert_int_equal(pl_file_read("docs/hurl.md", 1 << 20, arena, &text, &length, &err), PL_OK);
    const struct parse_words *const tables[] = {&parse_queries, &parse_filters, &parse_options, &parse_hints};
    for (size_t t = 0; t < COUNT(tables); t++)
        for (size_t i = 0; i < tables[t]->count; i++)
            if (!holds_word(text, tables[t]->list[i].name))
                fail_msg("the manual does not name the %s \"%s\"", tables[t]->what, tables[t]->list[i].name);
}

int main(void)
{
    const struct CMUnitTest tests[] = {PARSE_TEST(test_corpus), PARSE_TEST(test_manual), PARSE_TEST(test_manual_names_all)};
    return cmocka_run_group_tests_name("corpus", tests, NULL, NULL);
}
