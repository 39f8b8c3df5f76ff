/* \shell and \setshell. */
#include "fake_driver.h"

#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <sys/stat.h>
#include <unistd.h>

#include "load/worker_int.h"

static struct fake_scripts scripts;
static struct value vars[16];

/* Runs the first step of a script; what went wrong, or NULL. */
static const char *shell(const char *text)
{
    fake_scripts_init(&scripts);
    names_predefine(scripts.names, "x");
    names_predefine(scripts.names, "y");
    const struct program *program = fake_script(&scripts, 1, text);
    assert_true(names_count(scripts.names) <= 16);
    memset(vars, 0, sizeof vars);
    vars[program_variable(program, "y")] = (struct value){.type = VALUE_INT, .i = 41};
    return worker_shell(program, &program->steps[0], vars);
}

static void check(const char *text, const char *expected, int64_t value)
{
    const char *wrong = shell(text);
    if (expected == NULL)
        assert_null(wrong);
    else
        assert_string_equal(wrong, expected);
    const struct value *x = &vars[names_find(scripts.names, "x", 1)];
    if (strncmp(text, "\\setshell", 9) == 0 && expected == NULL)
        assert_true(x->type == VALUE_INT && x->i == value);
    else
        assert_int_equal(x->type, VALUE_UNSET);
    pl_arena_free(scripts.arena);
}

static void test_shell(void **state)
{
    (void)state;
    check("\\shell true", NULL, 0);
    check("\\shell test :y -eq 41", NULL, 0);
    check("\\shell test ::y = ':y'", NULL, 0);
    check("\\shell false", "false: could not launch shell command", 0);
    check("\\shell /no/such/program 2>/dev/null", "/no/such/program: could not launch shell command", 0);
    check("\\shell kill -KILL $$", "kill: could not launch shell command", 0);
}

static void test_setshell(void **state)
{
    (void)state;
    check("\\setshell x echo 42", NULL, 42);
    check("\\setshell x expr :y + 1", NULL, 42);
    check("\\setshell x printf ' -7 \\nmore'", NULL, -7);
    check("\\setshell x printf 9223372036854775807", NULL, INT64_MAX);
    check("\\setshell x printf 9223372036854775808",
          "printf: shell command must return an integer (not \"9223372036854775808\")", 0);
    check("\\setshell x echo 50abc", "echo: shell command must return an integer (not \"50abc\")", 0);
    check("\\setshell x echo 1_000", "echo: shell command must return an integer (not \"1_000\")", 0);
    check("\\setshell x echo", "echo: shell command must return an integer (not \"\")", 0);
    check("\\setshell x true", "true: could not read result of shell command", 0);
    check("\\setshell x echo 3; exit 1", "echo: shell command failed", 0);
    /* more than is kept, and more than a pipe holds */
    check("\\setshell x echo 5; seq 1 100000", NULL, 5);
}

/* What stays in the background, with the output open, is not waited for: here it waits for us. */
static void test_background(void **state)
{
    (void)state;
    char directory[] = "/tmp/test_worker_shell.XXXXXX", fifo[64], text[128];
    assert_non_null(mkdtemp(directory));
    snprintf(fifo, sizeof fifo, "%s/fifo", directory);
    assert_int_equal(mkfifo(fifo, 0600), 0);
    snprintf(text, sizeof text, "\\setshell x cat %s & echo 7", fifo);
    check(text, NULL, 7);
    int fd = open(fifo, O_WRONLY | O_CLOEXEC);
    assert_true(fd >= 0);
    close(fd);
    unlink(fifo);
    rmdir(directory);
}

/* The worker's mask and what the tool ignores are not the command's. (Signals 32 and 33 are the C library's own.) */
static void *shell_with_signals_blocked(void *argument)
{
    sigset_t all;
    sigfillset(&all);
    pthread_sigmask(SIG_BLOCK, &all, NULL);
    check("\\setshell x grep -cE '^Sig(Blk|Ign):\\s0{7}[01][08]0{7}$' /proc/self/status", NULL, 2);
    return argument;
}

static void test_default_signals(void **state)
{
    (void)state;
    pthread_t thread;
    void (*before)(int) = signal(SIGPIPE, SIG_IGN);
    assert_int_equal(pthread_create(&thread, NULL, shell_with_signals_blocked, NULL), 0);
    pthread_join(thread, NULL);
    signal(SIGPIPE, before);
}

/* In a load: the time of the command is the operation's, and a failure is a script's. */
static void test_in_a_load(void **state)
{
    (void)state;
    struct load_run run;
    fake_scripts_init(&scripts);
    fake_script(&scripts, 1, "\\setshell x sleep 0.02; echo 1\nSELECT :x;\n\\shell test :x = 1\n");
    fake_script(&scripts, 1, "\\shell false\nSELECT 1;\n");
    struct load_spec spec = fake_spec(&scripts);
    spec.driver = LOAD_NULL;
    spec.operations_per_client = 4;
    spec.measure_ns = 0;
    spec.every_step = true;
    load_run_real(&spec, &run);
    load_run_check(&run);
    struct ledger good = load_run_sum(&run, PHASE_COUNT, 0, -1, 'r', NULL);
    struct ledger bad = load_run_sum(&run, PHASE_COUNT, 1, -1, 'r', NULL);
    assert_int_equal(good.due + bad.due, 16);
    assert_true(good.completed == good.due && good.due > 0 && bad.failed == bad.due && bad.due > 0);
    struct hist response, first;
    hist_init_latency(&response);
    hist_init_latency(&first);
    load_run_sum(&run, PHASE_COUNT, 0, -1, 'r', &response);
    load_run_sum(&run, PHASE_COUNT, 0, 0, 's', &first);
    assert_true(response.min >= 20 * MS && first.min >= 20 * MS);
    assert_int_equal(load_run_sum(&run, PHASE_COUNT, 1, 0, 's', NULL).failed, bad.failed);
    hist_release(&response);
    hist_release(&first);
    load_run_release(&run);
    pl_arena_free(scripts.arena);
}

/* A script of nothing but the shell: one operation after the other, and a window that ends. */
static void test_nothing_but_the_shell(void **state)
{
    (void)state;
    for (int open_loop = 0; open_loop < 2; open_loop++) {
        struct load_run run;
        fake_scripts_init(&scripts);
        fake_script(&scripts, 1, "\\shell sleep 0.005\n");
        struct load_spec spec = fake_spec(&scripts);
        spec.driver = LOAD_NULL;
        spec.measure_ns = 100 * MS;
        spec.drain_ns = 0;
        spec.open_loop = open_loop;
        spec.rate_per_s = 10000;
        spec.at_end = LOAD_STOP_AT_END;
        load_run_real(&spec, &run);
        load_run_check(&run);
        assert_int_equal(run.result.window_ns, 100 * MS);
        assert_true(run.result.total.completed > 0 && run.result.total.completed <= 20);
        if (open_loop)
            assert_int_equal(run.result.total.due, 1000);
        load_run_release(&run);
        pl_arena_free(scripts.arena);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_shell),      cmocka_unit_test(test_setshell),
        cmocka_unit_test(test_background), cmocka_unit_test(test_default_signals),
        cmocka_unit_test(test_in_a_load),  cmocka_unit_test(test_nothing_but_the_shell),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
