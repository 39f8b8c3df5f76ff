/* What the tests of the outputs share: options as the command line would give them, and a folder of the test's own. */
#ifndef PL_TESTS_OUTPUTS_H
#define PL_TESTS_OUTPUTS_H

#include "support.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/file.h"
#include "pgbench/output_int.h"

#define OUT_UNUSED __attribute__((unused))

#define SECOND INT64_C(1000000000)
#define MS INT64_C(1000000)
#define US INT64_C(1000)

#define OK(call, err)                                                                                                      \
    do {                                                                                                                   \
        if ((call) != PL_OK) {                                                                                             \
            print_error("%s\n%s\n", (err).what, (err).hint);                                                               \
            _fail(__FILE__, __LINE__);                                                                                     \
        }                                                                                                                  \
    } while (0)

struct outputs {
    struct pl_arena *arena;
    char *folder;
    struct pgbench_options options;
};

/* Two scripts, the second a file's. */
OUT_UNUSED static int outputs_setup(void **state)
{
    static const char first[] = "\\set aid random(1, 100)\nSELECT abalance FROM pgbench_accounts WHERE aid = :aid;\n",
                      second[] = "BEGIN;\n\\sleep 1 ms\nSELECT 1;\nEND;\n";
    struct outputs *outputs = pl_new(1, sizeof *outputs);
    struct pl_err err = {0};
    struct program *programs[2];
    outputs->arena = pl_arena_new();
    outputs->folder = pl_strdup(outputs->arena, "/tmp/plimsoll-outputs-XXXXXX");
    assert_non_null(mkdtemp(outputs->folder));
    struct names *names = names_new(outputs->arena);
    OK(program_compile("select-only", first, strlen(first), PROGRAM_AS_PGBENCH, names, outputs->arena, &programs[0], &err),
       err);
    OK(program_compile("two.sql", second, strlen(second), PROGRAM_AS_PGBENCH, names, outputs->arena, &programs[1], &err),
       err);
    struct pgbench_script *scripts = pl_alloc(outputs->arena, 2, sizeof *scripts);
    scripts[0] = (struct pgbench_script){
        .title = "<builtin: select only>", .builtin = "select-only", .weight = 1, .program = programs[0]};
    scripts[1] = (struct pgbench_script){.title = "two.sql", .path = "-", .weight = 3, .program = programs[1]};
    outputs->options = (struct pgbench_options){.conninfo = "host=/tmp dbname=bench password=hunter2",
                                                .database = "bench",
                                                .scripts = scripts,
                                                .script_count = 2,
                                                .names = names,
                                                .clients = 4,
                                                .threads = 2,
                                                .max_tries = 1,
                                                .log_prefix = pl_format(outputs->arena, "%s/log", outputs->folder),
                                                .seed = UINT64_MAX};
    *state = outputs;
    return 0;
}

OUT_UNUSED static int outputs_teardown(void **state)
{
    struct outputs *outputs = *state;
    char command[200];
    snprintf(command, sizeof command, "rm -r -- '%s'", outputs->folder);
    assert_int_equal(system(command), 0);
    pl_arena_free(outputs->arena);
    pl_free(outputs);
    return 0;
}

OUT_UNUSED static const char *outputs_path(struct outputs *outputs, const char *name)
{
    return pl_format(outputs->arena, "%s/%s", outputs->folder, name);
}

OUT_UNUSED static const char *outputs_read(struct outputs *outputs, const char *name)
{
    struct pl_err err = {0};
    char *text = NULL;
    size_t length = 0;
    OK(pl_file_read(outputs_path(outputs, name), 64 << 20, outputs->arena, &text, &length, &err), err);
    assert_int_equal(strlen(text), length);
    return text;
}

#define OUTPUTS_TEST(name) cmocka_unit_test_setup_teardown(name, outputs_setup, outputs_teardown)

#endif
