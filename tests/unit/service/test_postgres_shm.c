/* Shared memory that a killed server leaves. */
#include "service_support.h"

#include "service/postgres_int.h"

static void write_bytes(const char *path, const void *bytes, size_t length)
{
    int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
    assert_true(fd >= 0);
    assert_int_equal(write(fd, bytes, length), length);
    close(fd);
}

/* A control segment written by hand: what it lists goes, what it no longer lists stays, nonsense harms nothing. */
static void listed_segments_are_removed(void **state)
{
    (void)state;
    struct {
        uint32_t magic, count, max, pad;
        struct {
            uint32_t handle, references;
            uint64_t rest[4];
        } items[3];
    } control = {0x9a503d32, 3, 8, 0, {{0, 2, {0}}, {0, 0, {0}}, {0, 2, {0}}}};
    char path[64], used[64], freed[64];
    if (access("/dev/shm", W_OK) != 0) {
        print_message("skipped: /dev/shm cannot be written\n");
        skip();
    }
    unsigned base = 4000000000U + (unsigned)getpid() * 4U;
    snprintf(path, sizeof path, "/dev/shm/PostgreSQL.%u", base);
    snprintf(used, sizeof used, "/dev/shm/PostgreSQL.%u", base + 1);
    snprintf(freed, sizeof freed, "/dev/shm/PostgreSQL.%u", base + 2);
    control.items[0].handle = base + 1;
    control.items[1].handle = base + 2;
    control.items[2].handle = base + 3; /* lives in the server's main memory: there is no file */
    write_bytes(path, &control, sizeof control);
    write_bytes(used, "x", 1);
    write_bytes(freed, "x", 1);
    assert_true(postgres_remove_dsm(path));
    assert_false(path_exists(path));
    assert_false(path_exists(used));
    assert_true(path_exists(freed));
    control.items[1].references = 2;
    control.magic++;
    write_bytes(path, &control, sizeof control);
    assert_true(postgres_remove_dsm(path));
    assert_true(path_exists(freed));
    control.magic--;
    write_bytes(path, &control, 20); /* cut short */
    assert_true(postgres_remove_dsm(path));
    assert_true(path_exists(freed));
    assert_true(postgres_remove_dsm(path)); /* gone already */
    assert_false(postgres_remove_dsm("/dev/shm/other"));
    assert_false(postgres_remove_dsm("/dev/shm/PostgreSQL.1/../x"));
    unlink(freed);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(listed_segments_are_removed),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
