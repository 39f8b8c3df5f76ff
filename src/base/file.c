/* Whole files, in and out. */
#include "base/file.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/ban.h"

static ssize_t file_read_some(int fd, void *bytes, size_t size)
{
    ssize_t count;
    do
        count = read(fd, bytes, size);
    while (count < 0 && errno == EINTR);
    return count;
}

/* What a reader needs to know about an open file. */
struct source {
    const char *path;
    int fd;
    size_t expected_bytes; /* 0 when it is not known, as for a pipe or /proc */
};

static enum pl_code file_read_source(const struct source *source, size_t max_bytes, struct pl_arena *arena, char **ret_text,
                                     size_t *ret_length, struct pl_err *err)
{
    const char *path = source->path;
    int fd = source->fd;
    size_t capacity = 0, length = 0;
    /* two more than expected: the read that finds the end, and NUL */
    size_t first = source->expected_bytes > 0 ? source->expected_bytes + 2 : 4096;
    char *text = pl_grow(arena, NULL, 0, first, 1, &capacity);
    for (;;) {
        if (length + 1 >= capacity)
            text = pl_grow(arena, text, length, capacity + 1, 1, &capacity);
        ssize_t count = file_read_some(fd, text + length, capacity - length - 1);
        if (count < 0)
            return pl_err_os(err, PL_IO, errno, "cannot read \"%s\"", path);
        if (count == 0)
            break;
        length += (size_t)count;
        if (length > max_bytes)
            return pl_err_at(err, PL_LIMIT, path, 0, 0, "larger than %zu bytes", max_bytes);
    }
    text[length] = '\0';
    *ret_text = text;
    *ret_length = length;
    return PL_OK;
}

/* A name that leads nowhere or to something that the user may not read is the user's to mend. */
static enum pl_code file_open_code(int os_errno)
{
    switch (os_errno) {
    case ENOENT:
    case ENOTDIR:
        return PL_NOT_FOUND;
    case EACCES:
    case ELOOP:
    case ENAMETOOLONG:
        return PL_INPUT;
    default:
        return PL_IO;
    }
}

enum pl_code pl_file_read(const char *path, size_t max_bytes, struct pl_arena *arena, char **ret_text, size_t *ret_length,
                          struct pl_err *err)
{
    int fd = open(path, O_RDONLY | O_CLOEXEC | O_NOCTTY);
    if (fd < 0)
        return pl_err_os(err, file_open_code(errno), errno, "cannot open \"%s\"", path);
    struct stat status;
    enum pl_code code;
    if (fstat(fd, &status) < 0) {
        code = pl_err_os(err, PL_IO, errno, "cannot look at \"%s\"", path);
    } else if (S_ISDIR(status.st_mode)) {
        code = pl_err_at(err, PL_INPUT, path, 0, 0, "is a directory, not a file");
    } else if (S_ISREG(status.st_mode) && (uintmax_t)status.st_size > max_bytes) {
        code = pl_err_at(err, PL_LIMIT, path, 0, 0, "has %jd bytes, more than the %zu allowed", (intmax_t)status.st_size,
                         max_bytes);
    } else {
        size_t expected = S_ISREG(status.st_mode) ? (size_t)status.st_size : 0;
        struct source source = {.path = path, .fd = fd, .expected_bytes = expected};
        code = file_read_source(&source, max_bytes, arena, ret_text, ret_length, err);
    }
    close(fd);
    return code;
}

long pl_file_read_small(const char *path, char *buf, size_t size)
{
    int fd = open(path, O_RDONLY | O_CLOEXEC | O_NOCTTY);
    if (fd < 0)
        return -1;
    size_t length = 0;
    ssize_t count = 0;
    while (length + 1 < size && (count = file_read_some(fd, buf + length, size - length - 1)) > 0)
        length += (size_t)count;
    int os_errno = errno;
    close(fd);
    if (count < 0) {
        errno = os_errno;
        return -1;
    }
    buf[length] = '\0';
    return (long)length;
}

static enum pl_code file_write_fd(int fd, const char *path, const char *text, size_t length, struct pl_err *err)
{
    for (size_t done = 0; done < length;) {
        ssize_t count = write(fd, text + done, length - done);
        if (count < 0 && errno == EINTR)
            continue;
        if (count < 0)
            return pl_err_os(err, PL_IO, errno, "cannot write \"%s\"", path);
        done += (size_t)count;
    }
    if (fsync(fd) < 0 && errno != EINVAL && errno != EROFS) /* what a pipe or a device answers */
        return pl_err_os(err, PL_IO, errno, "cannot sync \"%s\"", path);
    return PL_OK;
}

/* Opens a new file beside path, with the mode that the umask gives; its name is put into temporary. mkostemp would give
 * 0600, and the umask can only be read by changing it for all threads. */
static int file_open_beside(const char *path, char *temporary, size_t size, struct pl_err *err)
{
    static atomic_uint serial;
    for (int attempt = 0; attempt < 100; attempt++) {
        unsigned number = atomic_fetch_add(&serial, 1);
        int needed = snprintf(temporary, size, "%s.%ld-%u.new", path, (long)getpid(), number);
        if (needed < 0 || (size_t)needed >= size) {
            pl_err_set(err, PL_USAGE, "the path \"%.60s...\" is too long", path);
            return -1;
        }
        int fd = open(temporary, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOCTTY, 0666);
        if (fd >= 0)
            return fd;
        if (errno != EEXIST)
            break;
    }
    pl_err_os(err, PL_IO, errno, "cannot create a file beside \"%s\"", path);
    return -1;
}

static enum pl_code file_replace(const char *path, const char *text, size_t length, struct pl_err *err)
{
    char temporary[PATH_MAX];
    int fd = file_open_beside(path, temporary, sizeof temporary, err);
    if (fd < 0)
        return err->code;
    enum pl_code code = file_write_fd(fd, path, text, length, err);
    if (close(fd) < 0 && errno != EINTR && code == PL_OK)
        code = pl_err_os(err, PL_IO, errno, "cannot write \"%s\"", path);
    if (code == PL_OK && rename(temporary, path) < 0)
        code = pl_err_os(err, PL_IO, errno, "cannot put \"%s\" in place", path);
    if (code != PL_OK)
        unlink(temporary);
    return code;
}

static enum pl_code file_write_device(const char *path, const char *text, size_t length, struct pl_err *err)
{
    int fd = open(path, O_WRONLY | O_CLOEXEC | O_NOCTTY);
    if (fd < 0)
        return pl_err_os(err, PL_IO, errno, "cannot open \"%s\"", path);
    enum pl_code code = file_write_fd(fd, path, text, length, err);
    if (close(fd) < 0 && errno != EINTR && code == PL_OK)
        code = pl_err_os(err, PL_IO, errno, "cannot write \"%s\"", path);
    return code;
}

enum pl_code pl_file_write(const char *path, const char *text, size_t length, struct pl_err *err)
{
    struct stat status;
    if (stat(path, &status) < 0)
        return file_replace(path, text, length, err);
    if (S_ISDIR(status.st_mode))
        return pl_err_at(err, PL_INPUT, path, 0, 0, "is a directory, not a file");
    if (!S_ISREG(status.st_mode))
        return file_write_device(path, text, length, err);
    char target[PATH_MAX]; /* a link stays a link: what it points to is replaced */
    if (realpath(path, target) == NULL)
        return pl_err_os(err, PL_IO, errno, "cannot look at \"%s\"", path);
    return file_replace(target, text, length, err);
}

int pl_file_write_errno(const char *path)
{
    struct stat status;
    if (stat(path, &status) == 0)
        return S_ISDIR(status.st_mode) ? EISDIR : access(path, W_OK) != 0 ? errno : 0;
    const char *slash = strrchr(path, '/');
    char *folder = slash == NULL ? NULL : strndup(path, slash == path ? 1 : (size_t)(slash - path));
    int os_errno = access(folder != NULL ? folder : ".", W_OK | X_OK) != 0 ? errno : 0;
    free(folder);
    return os_errno;
}
