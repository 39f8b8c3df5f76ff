/* Every wrong plan of the folder bad gets exactly the message that stands beside it. PLIMSOLL_UPDATE=1 writes the messages
 * anew; they are then to be read before they are kept. */
#include "support.h"

#include <dirent.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/file.h"
#include "plan/plan.h"

static const char *const builtins[] = {"tpcb-like", "simple-update", "select-only", NULL};

static void update(const char *path, const char *text)
{
    FILE *file = fopen(path, "w");
    assert_non_null(file);
    fprintf(file, "%s\n", text);
    fclose(file);
}

/* Returns whether the message is the expected one. */
static bool check(const char *name, struct pl_arena *arena)
{
    char path[300], expected_path[300], message[1100];
    struct pl_err err = {0};
    struct plan *untouched = (struct plan *)message, *plan = untouched;
    snprintf(path, sizeof path, "%s.yaml", name);
    snprintf(expected_path, sizeof expected_path, "%s.txt", name);
    enum pl_code code = plan_read(path, builtins, arena, &plan, &err);
    if (code == PL_OK) {
        print_error("%s is taken as a good plan\n", path);
        return false;
    }
    pl_err_text(&err, message, sizeof message);
    if (getenv("PLIMSOLL_UPDATE") != NULL)
        update(expected_path, message);
    char *expected;
    size_t length;
    struct pl_err file_err = {0};
    if (pl_file_read(expected_path, 4096, arena, &expected, &length, &file_err) != PL_OK) {
        print_error("%s: no expected message; it gives\n%s\n", path, message);
        return false;
    }
    bool same = length == strlen(message) + 1 && strncmp(expected, message, length - 1) == 0;
    if (!same)
        print_error("%s gives\n%s\nexpected\n%s", path, message, expected);
    bool placed = err.line > 0 && err.col > 0 && strcmp(err.file, path) == 0;
    if (!placed || err.what[0] == '\0' || err.hint[0] == '\0' || plan != untouched) {
        print_error("%s: place, fact or hint is missing, or the result was touched\n%s\n", path, message);
        return false;
    }
    char last = err.hint[strlen(err.hint) - 1];
    if ((last != '.' && last != '?') || err.what[strlen(err.what) - 1] == '.') {
        print_error("%s: a hint is a sentence, a fact is not\n%s\n", path, message);
        return false;
    }
    return same && (code == PL_INPUT || code == PL_LIMIT);
}

static void test_messages(void **state)
{
    (void)state;
    int count = 0, wrong = 0;
    assert_int_equal(chdir("tests/unit/plan/bad"), 0);
    DIR *folder = opendir(".");
    assert_non_null(folder);
    struct pl_arena *arena = pl_arena_new();
    for (struct dirent *entry; (entry = readdir(folder)) != NULL;) {
        char name[256];
        size_t length = strlen(entry->d_name);
        if (length < 6 || strcmp(entry->d_name + length - 5, ".yaml") != 0)
            continue;
        snprintf(name, sizeof name, "%.*s", (int)(length - 5), entry->d_name);
        count++;
        wrong += check(name, arena) ? 0 : 1;
    }
    closedir(folder);
    pl_arena_free(arena);
    print_message("# %d wrong plans\n", count);
    assert_true(count >= 45);
    assert_int_equal(wrong, 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_messages)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
