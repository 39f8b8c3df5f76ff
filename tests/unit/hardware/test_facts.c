/* Facts of this machine, and of others from recorded texts. */
#include "support.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/utsname.h>
#include <unistd.h>

#include "hardware/hardware_int.h"

static void cpuinfo_counts_sockets_cores_and_threads(void **state)
{
    (void)state;
    struct hardware_cpus cpus;
    /* two sockets with two cores of two threads each, in the order in which Linux lists them */
    char text[4096] = "";
    size_t used = 0;
    for (int thread = 0; thread < 8; thread++)
        used += (size_t)snprintf(text + used, sizeof text - used,
                                 "processor\t: %d\nmodel name\t: Some CPU @ 2.0GHz\nphysical id\t: %d\ncore id\t\t: %d\n"
                                 "cpu cores\t: 2\nflags\t\t: fpu vme%s\npower management:\n\n",
                                 thread, thread % 2, thread / 2 % 2, thread == 3 ? " hypervisor lm" : " hypervisorx");
    hardware_parse_cpuinfo(text, &cpus);
    assert_string_equal(cpus.model, "Some CPU @ 2.0GHz");
    assert_int_equal(cpus.sockets, 2);
    assert_int_equal(cpus.cores, 4);
    assert_int_equal(cpus.threads, 8);
    assert_true(cpus.hypervisor);
    /* ARM tells neither model nor sockets */
    hardware_parse_cpuinfo("processor\t: 0\nBogoMIPS\t: 243.75\nFeatures\t: fp\n\nprocessor\t: 1\n", &cpus);
    assert_string_equal(cpus.model, "");
    assert_int_equal(cpus.sockets, 0);
    assert_int_equal(cpus.cores, 0);
    assert_int_equal(cpus.threads, 2);
    assert_false(cpus.hypervisor);
    hardware_parse_cpuinfo("", &cpus);
    assert_int_equal(cpus.threads, 0);
}

static void os_release_and_choices(void **state)
{
    (void)state;
    char value[32];
    const char *text = "NAME=\"Debian GNU/Linux\"\nPRETTY_NAME='A \"b\"'\nID=debian\nEMPTY=";
    assert_true(hardware_parse_os_release(text, "PRETTY_NAME", value, sizeof value));
    assert_string_equal(value, "A \"b\"");
    assert_true(hardware_parse_os_release(text, "ID", value, sizeof value));
    assert_string_equal(value, "debian");
    assert_true(hardware_parse_os_release(text, "EMPTY", value, sizeof value));
    assert_string_equal(value, "");
    assert_false(hardware_parse_os_release(text, "VERSION", value, sizeof value));
    hardware_parse_choice("always [madvise] never", value, sizeof value);
    assert_string_equal(value, "madvise");
    hardware_parse_choice("write back", value, sizeof value);
    assert_string_equal(value, "write back");
    hardware_parse_choice("[open", value, sizeof value);
    assert_string_equal(value, "[open");
}

static const char *fact_value(const struct fact *facts, size_t count, const char *name)
{
    for (size_t i = 0; i < count; i++)
        if (strcmp(facts[i].name, name) == 0)
            return facts[i].value;
    fail_msg("no fact %s", name);
    return NULL;
}

static void facts_of_this_machine(void **state)
{
    (void)state;
    static const char *const always[] = {"cpu_model",    "cpu_sockets",      "cpu_cores",    "cpu_threads",
                                         "cpus_online",  "cpus_allowed",     "memory_bytes", "swap_bytes",
                                         "kernel",       "architecture",     "distribution", "virtual_machine",
                                         "container",    "hypervisor_flag",  "clock_source", "transparent_huge_pages",
                                         "file_system",  "mount_options",    "mount_source", "device",
                                         "cpu_governor", "numa_nodes_online"};
    struct pl_arena *arena = pl_arena_new();
    struct pl_err err = {0};
    struct fact *facts;
    size_t count;
    struct utsname name;
    char expected[256];
    assert_int_equal(hardware_facts("/", arena, &facts, &count, &err), PL_OK);
    for (size_t i = 0; i < sizeof always / sizeof *always; i++)
        assert_string_not_equal(fact_value(facts, count, always[i]), "");
    for (size_t i = 0; i < count; i++) {
        assert_string_equal(facts[i].scope, "host");
        assert_non_null(facts[i].unit);
        assert_string_not_equal(facts[i].how, "");
    }
    assert_int_equal(uname(&name), 0);
    snprintf(expected, sizeof expected, "%s %s", name.sysname, name.release);
    assert_string_equal(fact_value(facts, count, "kernel"), expected);
    snprintf(expected, sizeof expected, "%ld", sysconf(_SC_NPROCESSORS_ONLN));
    assert_string_equal(fact_value(facts, count, "cpus_online"), expected);
    double memory = strtod(fact_value(facts, count, "memory_bytes"), NULL);
    assert_close(memory, (double)sysconf(_SC_PHYS_PAGES) * (double)sysconf(_SC_PAGESIZE), 0.02, 0);
    assert_string_equal(fact_value(facts, count, "mount_point"), "/");
    pl_arena_free(arena);
}

static void what_cannot_be_read_says_so(void **state)
{
    (void)state;
    struct pl_arena *arena = pl_arena_new();
    struct hardware_list list = {.arena = arena};
    hardware_push_file(&list, "missing", "/no/such/file", "count");
    assert_string_equal(fact_value(list.facts, list.count, "missing"), "unknown: No such file or directory");
    pl_arena_free(arena);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(cpuinfo_counts_sockets_cores_and_threads),
        cmocka_unit_test(os_release_and_choices),
        cmocka_unit_test(facts_of_this_machine),
        cmocka_unit_test(what_cannot_be_read_says_so),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
