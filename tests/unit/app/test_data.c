/* What a plan gives its scripts: each takes rows only of the feeds that it uses, and a study knows its data again. */
#include "support.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "app/conduct_int.h"
#include "script/program.h"

static char folder[64];

static void write_file(const char *name, const char *text)
{
    char path[128];
    snprintf(path, sizeof path, "%s/%s", folder, name);
    FILE *file = fopen(path, "w");
    assert_non_null(file);
    assert_true(fputs(text, file) >= 0);
    assert_int_equal(fclose(file), 0);
}

static int setup(void **state)
{
    (void)state;
    snprintf(folder, sizeof folder, "/tmp/plimsoll-test-data-XXXXXX");
    assert_non_null(mkdtemp(folder));
    write_file("users.csv", "name,city\nann,x\nbob,y\n");
    write_file("words.csv", "word\na\nb\nc\n");
    write_file("more.csv", "city\nz\n");
    write_file("tenants.csv", "shop,group,weight\n1,large,3\n2,small,1\n");
    return 0;
}

static int teardown(void **state)
{
    (void)state;
    char command[128];
    snprintf(command, sizeof command, "rm -r '%s'", folder);
    return system(command);
}

#define SQL(script_name, script_text)                                                                                      \
    {                                                                                                                      \
        .name = script_name, .path = script_name ".sql", .text = script_text, .length = sizeof(script_text) - 1            \
    }

static const struct plan_script scripts[] = {
    SQL("none", "SELECT 1;\n"),
    SQL("one", "SELECT :city;\n"),
    SQL("indirect", "SELECT :twice;\n"),
    SQL("both", "SELECT :name, :word, :fixed;\n"),
};
static struct plan_service service = {.name = "db", .kind = "postgres"};

struct place {
    struct conduct conduct;
    struct conduct_spec spec;
    struct plan plan;
    struct plan_feed feeds[3];
    struct plan_variable variables[3];
    struct plan_tenants tenants;
    struct conduct_load *load;
    char paths[4][128];
};

static void place_init(struct place *place)
{
    static const char *const names[] = {"users", "words", "more"};
    *place = (struct place){
        .variables = {{"once", "hash(:word)", 3, 1}, {"twice", ":once + hash(1)", 4, 1}, {"fixed", "7", 5, 1}}};
    for (int i = 0; i < 3; i++) {
        snprintf(place->paths[i], sizeof place->paths[i], "%s/%s.csv", folder, names[i]);
        place->feeds[i] = (struct plan_feed){names[i], place->paths[i], PLAN_SEQUENTIAL, 10 + i, 3};
    }
    snprintf(place->paths[3], sizeof place->paths[3], "%s/tenants.csv", folder);
    place->tenants = (struct plan_tenants){.path = place->paths[3], .line = 20, .col = 1};
    place->plan = (struct plan){.path = "p.yaml",
                                .services = &service,
                                .service_count = 1,
                                .subject = &service,
                                .scripts = scripts,
                                .script_count = 4,
                                .feeds = place->feeds,
                                .feed_count = 2,
                                .variables = place->variables,
                                .variable_count = 3};
    place->spec = (struct conduct_spec){.plan = &place->plan, .study_path = "p.study"};
    place->conduct = (struct conduct){.spec = &place->spec, .plan = &place->plan, .arena = pl_arena_new()};
}

static void place_load(struct place *place, const char *mix)
{
    struct pl_err err = {0};
    if (conduct_load_of(&place->conduct, mix, &place->load, &err) != PL_OK)
        fail_msg("%s", err.what);
    place->conduct.loads = &place->load;
    place->conduct.case_count = 1;
}

/* "users once": the steps before the script's own. */
static const char *begins_with(struct place *place, size_t script)
{
    const struct program *program = place->load->scripts[script].program;
    const char *list = "";
    for (size_t i = 0; i < program->step_count && program->steps[i].io_index < 0; i++) {
        const struct step *step = &program->steps[i];
        const char *name = step->kind == STEP_FEED ? step->text : names_at(program->names, step->variable);
        list = pl_format(place->conduct.arena, "%s%s%s", list, i > 0 ? " " : "", name);
    }
    return list;
}

static void test_rows_of_used_feeds_only(void **state)
{
    (void)state;
    struct place place;
    place_init(&place);
    place_load(&place, "none@1+one@1+indirect@1+both@1");
    assert_string_equal(begins_with(&place, 0), "");
    assert_string_equal(begins_with(&place, 1), "users");
    assert_string_equal(begins_with(&place, 2), "words once twice"); /* by way of two variables */
    assert_string_equal(begins_with(&place, 3), "users words");
    assert_int_equal(place.load->variable_count, 1); /* constants are set once */
    struct conduct_outline outline = {0};
    conduct_data_outline(&place.conduct, &outline);
    assert_int_equal(outline.data_count, 2);
    assert_string_equal(outline.data[0], "feed users: 2 rows, one after the other, taken by one, both");
    assert_string_equal(outline.data[1], "feed words: 3 rows, one after the other, taken by indirect, both");
    pl_arena_free(place.conduct.arena);
    place_init(&place);
    place.plan.tenants = &place.tenants;
    place_load(&place, "none");
    outline = (struct conduct_outline){0};
    conduct_data_outline(&place.conduct, &outline);
    assert_int_equal(outline.data_count, 3);
    assert_non_null(strstr(outline.data[0], "taken by no script"));
    assert_string_equal(outline.data[2],
                        "tenants: 2, in groups: large 1 (75.0 % of the load), small 1 (25.0 % of the load)");
    pl_arena_free(place.conduct.arena);
}

static void refused(struct place *place, int line, const char *first, const char *second)
{
    struct pl_err err = {0};
    struct conduct_load *load = NULL;
    assert_int_equal(conduct_load_of(&place->conduct, "none", &load, &err), PL_INPUT);
    assert_string_equal(err.file, "p.yaml");
    assert_int_equal(err.line, line);
    if (strstr(err.what, first) == NULL || strstr(err.what, second) == NULL)
        fail_msg("\"%s\" has no \"%s\" or no \"%s\"", err.what, first, second);
    assert_non_null(strstr(err.hint, "rename"));
}

static void test_one_variable_one_source(void **state)
{
    (void)state;
    struct place place;
    place_init(&place);
    place.plan.feed_count = 3;
    refused(&place, 12, "feed \"more\": the column \"city\"", "of feed \"users\"");
    pl_arena_free(place.conduct.arena);
    place_init(&place);
    place.variables[2].name = "name";
    refused(&place, 10, "feed \"users\": the column \"name\"", "under \"variables:\"");
    pl_arena_free(place.conduct.arena);
    place_init(&place);
    place.plan.tenants = &place.tenants;
    place.variables[2].name = "shop";
    refused(&place, 20, "tenants: the column \"shop\"", "under \"variables:\"");
    pl_arena_free(place.conduct.arena);
}

/* The data as another run finds them, held against the facts of the first. */
static enum pl_code check_again(const struct fact *stored, size_t count, bool with_tenants, struct pl_err *err)
{
    struct place place;
    place_init(&place);
    place.plan.tenants = with_tenants ? &place.tenants : NULL;
    place_load(&place, "both");
    enum pl_code code = conduct_data_check_same(&place.conduct, stored, count, err);
    pl_arena_free(place.conduct.arena);
    return code;
}

static void test_data_are_known_again(void **state)
{
    (void)state;
    static const struct {
        const char *file, *text, *was, *first, *second;
    } changes[] = {
        {"users.csv", "name,city\nann,x\nbob,z\n", "name,city\nann,x\nbob,y\n", "feed.users (", "then 2 rows with hash"},
        {"words.csv", "word\na\nb\n", "word\na\nb\nc\n", "feed.words (", "now 2 rows"},
        {"words.csv", "word\nab\n\"\"\nc\n", "word\na\nb\nc\n", "feed.words (", "now 3 rows"},
        {"tenants.csv", "shop,group,weight\n1,large,2\n2,small,1\n", "shop,group,weight\n1,large,3\n2,small,1\n",
         "tenants (", "now 2 rows"},
        {"tenants.csv", "shop,group,weight\n1,small,3\n2,large,1\n", "shop,group,weight\n1,large,3\n2,small,1\n",
         "tenants (", "now 2 rows"},
    };
    struct place place;
    struct fact *facts = NULL;
    size_t count = 0;
    place_init(&place);
    place.plan.tenants = &place.tenants;
    place_load(&place, "both");
    conduct_data_facts(&place.conduct, &facts, &count);
    assert_int_equal(count, 6);
    assert_string_equal(facts[0].name, "feed.users.rows");
    assert_string_equal(facts[0].value, "2");
    assert_string_equal(facts[5].name, "tenants.hash");
    struct pl_err err = {0};
    assert_int_equal(check_again(facts, count, true, &err), PL_OK);
    assert_int_equal(check_again(NULL, 0, true, &err), PL_OK); /* of a version that kept none */
    for (size_t i = 0; i < sizeof changes / sizeof changes[0]; i++) {
        err = (struct pl_err){0};
        write_file(changes[i].file, changes[i].text);
        assert_int_equal(check_again(facts, count, true, &err), PL_USAGE);
        if (strstr(err.what, changes[i].first) == NULL || strstr(err.what, changes[i].second) == NULL ||
            strstr(err.what, "p.study") == NULL)
            fail_msg("%zu: %s", i, err.what);
        assert_non_null(strstr(err.hint, "new study"));
        write_file(changes[i].file, changes[i].was);
    }
    assert_int_equal(check_again(facts, count, true, &err), PL_OK);
    pl_arena_free(place.conduct.arena);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_rows_of_used_feeds_only),
        cmocka_unit_test(test_one_variable_one_source),
        cmocka_unit_test(test_data_are_known_again),
    };
    return cmocka_run_group_tests(tests, setup, teardown);
}
