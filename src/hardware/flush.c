/* The flush probe of our own, and the one of fio. */
#include <errno.h>
#include <fcntl.h>
#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/file.h"
#include "hardware/hardware_int.h"
#include "service/guard.h"
#include "service/spawn.h"

#include "base/ban.h"

enum { BLOCK_BYTES = 8192, FILE_BLOCKS = 512, OUTPUT_BYTES_MAX = 4 * 1024 * 1024 };

/* fio writes its file out before it starts to measure. */
#define FIO_SPARE_NS (60 * PL_NS_PER_S)

/* A file without a name: nothing is left whatever happens. Where the file system has no such files, one that is unlinked at
 * once. */
static int flush_open(const char *directory)
{
    char path[4096];
    int fd = open(directory, O_TMPFILE | O_RDWR | O_CLOEXEC, 0600);
    if (fd >= 0 || (errno != EOPNOTSUPP && errno != EISDIR && errno != EINVAL))
        return fd;
    int needed = snprintf(path, sizeof path, "%s/plimsoll-XXXXXX", directory);
    if (needed < 0 || (size_t)needed >= sizeof path) {
        errno = ENAMETOOLONG;
        return -1;
    }
    fd = mkostemp(path, O_CLOEXEC);
    if (fd >= 0)
        unlink(path);
    return fd;
}

static bool flush_write(int fd, const char *block, int64_t index)
{
    ssize_t length;
    do
        length = pwrite(fd, block, BLOCK_BYTES, (off_t)(index % FILE_BLOCKS) * BLOCK_BYTES);
    while (length < 0 && errno == EINTR);
    if (length >= 0 && length != BLOCK_BYTES)
        errno = ENOSPC;
    return length == BLOCK_BYTES;
}

/* The file is written whole before the clock starts, so that a flush is one of data and not of a growing file: as a
 * database's log that reuses its files. */
static enum pl_code flush_measure(int fd, const char *directory, int64_t for_ns, struct hist *hist, struct pl_err *err)
{
    char block[BLOCK_BYTES];
    memset(block, 'p', sizeof block);
    for (int64_t i = 0; i < FILE_BLOCKS; i++)
        if (!flush_write(fd, block, i))
            return pl_err_os(err, PL_IO, errno, "cannot write in \"%s\"", directory);
    if (fsync(fd) < 0)
        return pl_err_os(err, PL_IO, errno, "cannot sync in \"%s\"", directory);
    int64_t deadline_ns = pl_clock_ns() + for_ns, start_ns;
    int64_t index = 0;
    do {
        start_ns = pl_clock_ns();
        if (!flush_write(fd, block, index++) || fdatasync(fd) < 0)
            return pl_err_os(err, PL_IO, errno, "cannot write and flush in \"%s\"", directory);
        hist_record(hist, pl_clock_ns() - start_ns);
    } while (pl_clock_ns() < deadline_ns);
    return PL_OK;
}

enum pl_code hardware_flush(const char *directory, int64_t for_ns, int64_t *ret_p50_ns, int64_t *ret_p99_ns,
                            int64_t *ret_count, struct pl_err *err)
{
    struct hist hist;
    int fd = flush_open(directory);
    if (fd < 0)
        return pl_err_os(err, PL_IO, errno, "cannot make a file in \"%s\"", directory);
    hist_init_latency(&hist);
    enum pl_code code = flush_measure(fd, directory, for_ns, &hist, err);
    close(fd);
    if (code == PL_OK) {
        *ret_p50_ns = hist_quantile(&hist, 0.50);
        *ret_p99_ns = hist_quantile(&hist, 0.99);
        *ret_count = hist.total;
    }
    hist_release(&hist);
    return code;
}

/* A number at a path of keys below value; false when it is not there or is no number that fits. */
static bool json_number(const json_t *value, const char *const *keys, double *ret_number)
{
    for (; *keys != NULL; keys++)
        value = json_object_get(value, *keys);
    if (!json_is_number(value))
        return false;
    *ret_number = json_number_value(value);
    return *ret_number >= 0 && *ret_number < 9e15;
}

static bool fio_values(const json_t *job, struct hardware_fio *fio)
{
    static const char *const p50[] = {"sync", "lat_ns", "percentile", "50.000000", NULL};
    static const char *const p99[] = {"sync", "lat_ns", "percentile", "99.000000", NULL};
    static const char *const count[] = {"sync", "lat_ns", "N", NULL};
    static const char *const rate[] = {"write", "iops", NULL};
    static const char *const failed[] = {"error", NULL};
    double numbers[5];
    if (!json_number(job, p50, &numbers[0]) || !json_number(job, p99, &numbers[1]) ||
        !json_number(job, count, &numbers[2]) || !json_number(job, rate, &numbers[3]) ||
        !json_number(job, failed, &numbers[4]))
        return false;
    *fio = (struct hardware_fio){.flush_p50_ns = (int64_t)numbers[0],
                                 .flush_p99_ns = (int64_t)numbers[1],
                                 .flush_count = (int64_t)numbers[2],
                                 .writes_per_s = numbers[3]};
    return numbers[4] <= 0 && fio->flush_count > 0;
}

enum pl_code hardware_parse_fio(const char *text, size_t length, struct hardware_fio *ret_fio, struct pl_err *err)
{
    json_error_t said;
    /* fio puts notes before the object when a file had to be made first */
    const char *open = memchr(text, '{', length);
    if (open == NULL)
        return pl_err_set(err, PL_INPUT, "fio's answer has no JSON in it");
    json_t *root = json_loadb(open, length - (size_t)(open - text), JSON_DISABLE_EOF_CHECK, &said);
    if (root == NULL)
        return pl_err_set(err, PL_INPUT, "fio's answer is not JSON: %.100s", said.text);
    struct hardware_fio fio;
    bool good = fio_values(json_array_get(json_object_get(root, "jobs"), 0), &fio);
    json_decref(root);
    if (!good)
        return pl_err_set(err, PL_INPUT, "fio's answer has no percentiles of a synced write");
    *ret_fio = fio;
    return PL_OK;
}

static enum pl_code fio_in(const char *program, const char *directory, int64_t for_ns, const volatile int *stop,
                           struct hardware_fio *ret_fio, struct pl_err *err)
{
    struct pl_arena *arena = pl_arena_new();
    char *output = pl_format(arena, "%s/out.json", directory), *text = NULL;
    int64_t for_ms = for_ns / PL_NS_PER_MS > 0 ? for_ns / PL_NS_PER_MS : 1;
    size_t length = 0;
    int status = 0;
    /* --thread: one process, so that nothing of it is left when it is killed */
    const char *const argv[] = {"fio",
                                "--name=flush",
                                pl_format(arena, "--directory=%s", directory),
                                "--rw=write",
                                "--bs=8k",
                                "--fsync=1",
                                "--size=32M",
                                "--ioengine=psync",
                                "--thread",
                                "--time_based",
                                pl_format(arena, "--runtime=%lldms", (long long)for_ms),
                                "--percentile_list=50:99",
                                "--output-format=json",
                                pl_format(arena, "--output=%s", output),
                                NULL};
    struct spawn_spec spec = {.program = program, .argv = argv, .directory = directory, .output_fd = -1};
    enum pl_code code = spawn_run(&spec, for_ns + FIO_SPARE_NS, stop, &status, err);
    if (code == PL_OK)
        code = pl_file_read(output, OUTPUT_BYTES_MAX, arena, &text, &length, err);
    if (code == PL_OK && status != 0)
        code = pl_err_set(err, PL_IO, "fio failed: %.200s", text);
    if (code == PL_OK)
        code = hardware_parse_fio(text, length, ret_fio, err);
    pl_arena_free(arena);
    return code;
}

enum pl_code hardware_run_fio(const char *program, const char *directory, int64_t for_ns, const volatile int *stop,
                              struct hardware_fio *ret_fio, struct pl_err *err)
{
    char path[4096];
    int needed = snprintf(path, sizeof path, "%s/plimsoll-XXXXXX", directory);
    if (needed < 0 || (size_t)needed >= sizeof path)
        return pl_err_set(err, PL_USAGE, "the path \"%.60s...\" is too long", directory);
    if (mkdtemp(path) == NULL)
        return pl_err_os(err, PL_IO, errno, "cannot make a directory in \"%s\"", directory);
    enum pl_code code = fio_in(program, path, for_ns, stop, ret_fio, err);
    if (!guard_remove_directory(path) && code == PL_OK)
        code = pl_err_set(err, PL_IO, "cannot remove \"%s\"", path);
    return code;
}
