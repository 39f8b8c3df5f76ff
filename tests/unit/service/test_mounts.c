/* Lines of /proc/self/mountinfo. */
#include "service_support.h"

#include "service/mounts.h"

static void mounts_are_split_and_unescaped(void **state)
{
    (void)state;
    const char *cursor =
        "36 35 98:7 /mnt1 /mnt\\040two rw,noatime master:1 propagate_from:2 - ext3 /dev/ro\\134ot rw,errors=x\n"
        "broken line\n"
        "37 35 0:5 / /x rw - tmpfs tmpfs\n"
        "38 35 0:5 / /y rw - proc proc rw";
    struct service_mount mount;
    assert_true(service_mount_next(&cursor, &mount));
    assert_int_equal(mount.major, 98);
    assert_int_equal(mount.minor, 7);
    assert_string_equal(mount.root, "/mnt1");
    assert_string_equal(mount.point, "/mnt two");
    assert_string_equal(mount.options, "rw,noatime");
    assert_string_equal(mount.type, "ext3");
    assert_string_equal(mount.source, "/dev/ro\\ot");
    assert_string_equal(mount.super_options, "rw,errors=x");
    assert_true(service_mount_next(&cursor, &mount));
    assert_string_equal(mount.point, "/x");
    assert_string_equal(mount.super_options, "");
    assert_true(service_mount_next(&cursor, &mount));
    assert_string_equal(mount.point, "/y");
    assert_false(service_mount_next(&cursor, &mount));
    assert_true(service_mount_has_option("rw,cpu,cpuacct", "cpu"));
    assert_true(service_mount_has_option("rw,cpu,cpuacct", "cpuacct"));
    assert_false(service_mount_has_option("rw,cpu,cpuacct", "acct"));
    assert_false(service_mount_has_option("", "acct"));
}

/* Every prefix of a real table is read without touching a byte past its end. */
static void mounts_stay_inside_the_text(void **state)
{
    (void)state;
    static const char text[] =
        "36 35 98:0 /m\\040 /mnt\\0 rw,noatime master:1 - ext3 /dev/root rw,errors=continue\n4 3 0:1 / / rw - x y z\n";
    for (size_t length = 0; length < sizeof text; length++) {
        char *copy = support_guard_alloc(length + 1);
        memcpy(copy, text, length);
        copy[length] = '\0';
        struct service_mount mount;
        int count = 0;
        for (const char *cursor = copy; service_mount_next(&cursor, &mount);)
            count++;
        assert_in_range(count, 0, 2);
        support_guard_free(copy, length + 1);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(mounts_are_split_and_unescaped),
        cmocka_unit_test(mounts_stay_inside_the_text),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
