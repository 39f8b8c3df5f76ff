/* The file system and the device under a directory. */
#include "support.h"

#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include "hardware/hardware_int.h"

static const char *fact_value(const struct fact *facts, size_t count, const char *name)
{
    for (size_t i = 0; i < count; i++)
        if (strcmp(facts[i].name, name) == 0)
            return facts[i].value;
    fail_msg("no fact %s", name);
    return NULL;
}

static void storage_of_a_file_system_without_a_device(void **state)
{
    (void)state;
    struct pl_arena *arena = pl_arena_new();
    struct hardware_list list = {.arena = arena};
    hardware_push_storage(&list, "/proc/self");
    assert_string_equal(fact_value(list.facts, list.count, "file_system"), "proc");
    assert_string_equal(fact_value(list.facts, list.count, "mount_point"), "/proc");
    assert_non_null(strstr(fact_value(list.facts, list.count, "device"), "unknown"));
    list = (struct hardware_list){.arena = arena};
    hardware_push_storage(&list, "/no/such/directory");
    assert_non_null(strstr(fact_value(list.facts, list.count, "file_system"), "No such file"));
    pl_arena_free(arena);
}

/* The root is on a block device on most machines: then its facts are those of /sys. */
static void storage_of_the_root(void **state)
{
    (void)state;
    struct pl_arena *arena = pl_arena_new();
    struct hardware_list list = {.arena = arena};
    struct stat status;
    char path[64];
    hardware_push_storage(&list, "/");
    assert_string_equal(fact_value(list.facts, list.count, "mount_point"), "/");
    assert_int_equal(stat("/", &status), 0);
    snprintf(path, sizeof path, "/sys/dev/block/%u:%u", major(status.st_dev), minor(status.st_dev));
    if (access(path, F_OK) != 0) {
        pl_arena_free(arena);
        print_message("skipped: the root is on no block device\n");
        skip();
    }
    static const char *const wanted[] = {"device", "device_model", "device_scheduler", "device_write_cache",
                                         "device_bytes"};
    for (size_t i = 0; i < sizeof wanted / sizeof *wanted; i++)
        assert_string_not_equal(fact_value(list.facts, list.count, wanted[i]), "");
    assert_null(strstr(fact_value(list.facts, list.count, "device_bytes"), "unknown"));
    pl_arena_free(arena);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(storage_of_a_file_system_without_a_device),
        cmocka_unit_test(storage_of_the_root),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
