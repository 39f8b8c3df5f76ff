#include "support.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/file.h"

/* A folder of its own for each test, removed with all that is in it. */
struct place {
    char folder[64];
    char path[128]; /* of "file" in it */
    struct pl_arena *arena;
};

static int place_setup(void **state)
{
    struct place *place = calloc(1, sizeof *place);
    snprintf(place->folder, sizeof place->folder, "/tmp/plimsoll-file-XXXXXX");
    if (mkdtemp(place->folder) == NULL)
        return -1;
    snprintf(place->path, sizeof place->path, "%s/file", place->folder);
    place->arena = pl_arena_new();
    *state = place;
    return 0;
}

/* Counts what is in the folder, and removes it when asked to. */
static int place_entries(const struct place *place, bool remove_them)
{
    int count = 0;
    DIR *folder = opendir(place->folder);
    assert_non_null(folder);
    for (struct dirent *entry; (entry = readdir(folder)) != NULL;) {
        if (strcmp(entry->d_name, ".") == 0 || strcmp(entry->d_name, "..") == 0)
            continue;
        count++;
        char path[400];
        snprintf(path, sizeof path, "%s/%s", place->folder, entry->d_name);
        if (remove_them)
            remove(path);
    }
    closedir(folder);
    return count;
}

static int place_teardown(void **state)
{
    struct place *place = *state;
    place_entries(place, true);
    rmdir(place->folder);
    pl_arena_free(place->arena);
    free(place);
    return 0;
}

static void write_plainly(const char *path, const void *bytes, size_t length)
{
    FILE *file = fopen(path, "wb");
    assert_non_null(file);
    assert_int_equal(fwrite(bytes, 1, length, file), length);
    fclose(file);
}

static void assert_content(const struct place *place, const char *path, const char *expected)
{
    struct pl_err err = {0};
    char *text;
    size_t length;
    assert_int_equal(pl_file_read(path, 1 << 20, place->arena, &text, &length, &err), PL_OK);
    assert_int_equal(length, strlen(expected));
    assert_string_equal(text, expected);
}

static void test_read_whole(void **state)
{
    struct place *place = *state;
    static const size_t sizes[] = {0, 1, 4095, 4096, 4097, 100000};
    for (size_t i = 0; i < sizeof sizes / sizeof sizes[0]; i++) {
        char *bytes = malloc(sizes[i] + 1), *text = NULL;
        for (size_t at = 0; at < sizes[i]; at++)
            bytes[at] = (char)(at * 31); /* NUL bytes too */
        write_plainly(place->path, bytes, sizes[i]);
        struct pl_err err = {0};
        size_t length = 1;
        assert_int_equal(pl_file_read(place->path, sizes[i], place->arena, &text, &length, &err), PL_OK);
        assert_int_equal(length, sizes[i]);
        assert_memory_equal(text, bytes, sizes[i]);
        assert_int_equal(text[length], '\0');
        free(bytes);
    }
}

static void assert_unreadable(const struct place *place, const char *path, size_t max, enum pl_code code, const char *says)
{
    struct pl_err err = {0};
    char message[800], *text = NULL;
    size_t length = 77;
    assert_int_equal(pl_file_read(path, max, place->arena, &text, &length, &err), code);
    assert_int_equal(err.code, code);
    assert_true(text == NULL && length == 77);
    pl_err_text(&err, message, sizeof message);
    assert_non_null(strstr(message, path));
    assert_non_null(strstr(message, says));
}

static void test_read_what_cannot_be(void **state)
{
    struct place *place = *state;
    assert_unreadable(place, place->folder, 1000, PL_INPUT, "is a directory");
    assert_unreadable(place, place->path, 1000, PL_NOT_FOUND, "No such file");
    write_plainly(place->path, "0123456789", 10);
    assert_unreadable(place, place->path, 9, PL_LIMIT, "10 bytes");
    char inside[160];
    snprintf(inside, sizeof inside, "%s/x", place->path);
    assert_unreadable(place, inside, 1000, PL_NOT_FOUND, "Not a directory");
    if (geteuid() != 0) {
        chmod(place->path, 0);
        assert_unreadable(place, place->path, 1000, PL_IO, "Permission denied");
    }
}

/* A file whose size says nothing: a pipe, and one of /proc. */
static void test_read_without_a_size(void **state)
{
    struct place *place = *state;
    int ends[2];
    assert_int_equal(pipe(ends), 0);
    char path[64];
    snprintf(path, sizeof path, "/proc/self/fd/%d", ends[0]);
    assert_int_equal(write(ends[1], "through a pipe", 14), 14);
    close(ends[1]);
    assert_content(place, path, "through a pipe");
    close(ends[0]);
    struct pl_err err = {0};
    char *text;
    size_t length;
    assert_int_equal(pl_file_read("/proc/self/status", 1 << 20, place->arena, &text, &length, &err), PL_OK);
    assert_true(length > 100 && strncmp(text, "Name:", 5) == 0);
    assert_unreadable(place, "/proc/self/status", 100, PL_LIMIT, "larger than 100 bytes");
}

static void test_read_small(void **state)
{
    struct place *place = *state;
    write_plainly(place->path, "0123456789", 10);
    char buf[11];
    assert_int_equal(pl_file_read_small(place->path, buf, sizeof buf), 10);
    assert_string_equal(buf, "0123456789");
    assert_int_equal(pl_file_read_small(place->path, buf, 5), 4);
    assert_string_equal(buf, "0123");
    assert_int_equal(pl_file_read_small(place->path, buf, 1), 0);
    assert_string_equal(buf, "");
    errno = 0;
    assert_int_equal(pl_file_read_small("/nowhere/at/all", buf, sizeof buf), -1);
    assert_int_equal(errno, ENOENT);
    assert_int_equal(pl_file_read_small(place->folder, buf, sizeof buf), -1);
    assert_int_equal(errno, EISDIR);
}

static void test_write_new_and_over(void **state)
{
    struct place *place = *state;
    struct pl_err err = {0};
    mode_t old_mask = umask(027);
    assert_int_equal(pl_file_write(place->path, "first", 5, &err), PL_OK);
    umask(old_mask);
    assert_content(place, place->path, "first");
    struct stat status;
    assert_int_equal(stat(place->path, &status), 0);
    assert_int_equal(status.st_mode & 0777, 0640);
    assert_int_equal(pl_file_write(place->path, "second, longer", 14, &err), PL_OK);
    assert_content(place, place->path, "second, longer");
    assert_int_equal(pl_file_write(place->path, "", 0, &err), PL_OK);
    assert_content(place, place->path, "");
    assert_int_equal(place_entries(place, false), 1);
}

/* A reader that opened the old file goes on reading the old content: it was replaced, not overwritten. */
static void test_write_leaves_the_old_file_to_its_readers(void **state)
{
    struct place *place = *state;
    struct pl_err err = {0};
    write_plainly(place->path, "old", 3);
    int fd = open(place->path, O_RDONLY | O_CLOEXEC);
    assert_int_equal(pl_file_write(place->path, "new", 3, &err), PL_OK);
    char bytes[4] = "";
    assert_int_equal(read(fd, bytes, 3), 3);
    assert_string_equal(bytes, "old");
    close(fd);
}

static void test_write_follows_a_link(void **state)
{
    struct place *place = *state;
    struct pl_err err = {0};
    char link[128];
    snprintf(link, sizeof link, "%s/link", place->folder);
    write_plainly(place->path, "old", 3);
    assert_int_equal(symlink("file", link), 0);
    assert_int_equal(pl_file_write(link, "new", 3, &err), PL_OK);
    struct stat status;
    assert_int_equal(lstat(link, &status), 0);
    assert_true(S_ISLNK(status.st_mode));
    assert_content(place, place->path, "new");
    assert_int_equal(place_entries(place, false), 2);
}

static void test_write_into_a_pipe(void **state)
{
    struct place *place = *state;
    struct pl_err err = {0};
    assert_int_equal(mkfifo(place->path, 0600), 0);
    int fd = open(place->path, O_RDWR | O_NONBLOCK | O_CLOEXEC);
    assert_int_equal(pl_file_write(place->path, "hello", 5, &err), PL_OK);
    char bytes[6] = "";
    assert_int_equal(read(fd, bytes, 5), 5);
    assert_string_equal(bytes, "hello");
    close(fd);
    struct stat status;
    assert_int_equal(lstat(place->path, &status), 0);
    assert_true(S_ISFIFO(status.st_mode));
    assert_int_equal(place_entries(place, false), 1);
}

static void test_write_where_it_cannot(void **state)
{
    struct place *place = *state;
    struct pl_err folder = {0}, missing = {0}, name = {0};
    assert_int_equal(pl_file_write(place->folder, "x", 1, &folder), PL_INPUT);
    char path[PATH_MAX + 10];
    snprintf(path, sizeof path, "%s/no/such/file", place->folder);
    assert_int_equal(pl_file_write(path, "x", 1, &missing), PL_IO);
    assert_int_equal(missing.os_errno, ENOENT);
    memset(path, 'y', sizeof path - 1);
    path[sizeof path - 1] = '\0';
    assert_int_equal(pl_file_write(path, "x", 1, &name), PL_USAGE);
    assert_int_equal(place_entries(place, false), 0);
}

/* The write fails half way, as on a full disk: the old content stands, and nothing lies beside it. */
static void test_write_that_fails_leaves_the_old(void **state)
{
    struct place *place = *state;
    write_plainly(place->path, "old", 3);
    fflush(NULL);
    pid_t child = fork();
    if (child == 0) {
        static char large[100000];
        struct rlimit limit = {.rlim_cur = 50000, .rlim_max = 50000};
        struct pl_err err = {0};
        signal(SIGXFSZ, SIG_IGN);
        setrlimit(RLIMIT_FSIZE, &limit);
        enum pl_code code = pl_file_write(place->path, large, sizeof large, &err);
        _exit(code == PL_IO && err.os_errno == EFBIG ? 0 : 1);
    }
    int status;
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_true(WIFEXITED(status) && WEXITSTATUS(status) == 0);
    assert_content(place, place->path, "old");
    assert_int_equal(place_entries(place, false), 1);
}

static void test_what_writing_would_meet(void **state)
{
    struct place *place = *state;
    assert_int_equal(pl_file_write_errno(place->path), 0);
    assert_int_equal(pl_file_write_errno("/"), EISDIR);
    assert_int_equal(pl_file_write_errno("/nowhere/at/all"), ENOENT);
    assert_int_equal(pl_file_write_errno("a name in the current folder"), 0);
    assert_int_equal(access("a name in the current folder", F_OK), -1); /* it only looks */
}

#define file_test(test) cmocka_unit_test_setup_teardown(test, place_setup, place_teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {
        file_test(test_read_whole),
        file_test(test_read_what_cannot_be),
        file_test(test_read_without_a_size),
        file_test(test_read_small),
        file_test(test_write_new_and_over),
        file_test(test_write_leaves_the_old_file_to_its_readers),
        file_test(test_write_follows_a_link),
        file_test(test_write_into_a_pipe),
        file_test(test_write_where_it_cannot),
        file_test(test_write_that_fails_leaves_the_old),
        file_test(test_what_writing_would_meet),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
