/* Whole files, in and out. */
#include "base/file.h"

#include <errno.h>
#include <fcntl.h>
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

static enum pl_code file_read_fd(int fd, const char *path, size_t max_bytes, struct pl_arena *arena, char **ret_text,
                                 size_t *ret_length, struct pl_err *err)
{
    size_t capacity = 0, length = 0;
    char *text = pl_grow(arena, NULL, 0, 4096, 1, &capacity);
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

enum pl_code pl_file_read(const char *path, size_t max_bytes, struct pl_arena *arena, char **ret_text, size_t *ret_length,
                          struct pl_err *err)
{
    int fd = open(path, O_RDONLY | O_CLOEXEC | O_NOCTTY);
    if (fd < 0)
        return pl_err_os(err, errno == ENOENT ? PL_NOT_FOUND : PL_IO, errno, "cannot open \"%s\"", path);
    struct stat status;
    enum pl_code code;
    if (fstat(fd, &status) < 0)
        code = pl_err_os(err, PL_IO, errno, "cannot look at \"%s\"", path);
    else if (S_ISDIR(status.st_mode))
        code = pl_err_at(err, PL_INPUT, path, 0, 0, "is a directory, not a file");
    else if (S_ISREG(status.st_mode) && (uintmax_t)status.st_size > max_bytes)
        code = pl_err_at(err, PL_LIMIT, path, 0, 0, "has %jd bytes, more than the %zu allowed", (intmax_t)status.st_size,
                         max_bytes);
    else
        code = file_read_fd(fd, path, max_bytes, arena, ret_text, ret_length, err);
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
    if (fsync(fd) < 0 && errno != EINVAL)
        return pl_err_os(err, PL_IO, errno, "cannot sync \"%s\"", path);
    return PL_OK;
}

enum pl_code pl_file_write(const char *path, const char *text, size_t length, struct pl_err *err)
{
    char temporary[4096];
    int needed = snprintf(temporary, sizeof temporary, "%s.XXXXXX", path);
    if (needed < 0 || (size_t)needed >= sizeof temporary)
        return pl_err_set(err, PL_USAGE, "the path \"%.60s...\" is too long", path);
    int fd = mkostemp(temporary, O_CLOEXEC);
    if (fd < 0)
        return pl_err_os(err, PL_IO, errno, "cannot create a file beside \"%s\"", path);
    mode_t mask = umask(0);
    umask(mask);
    enum pl_code code = file_write_fd(fd, path, text, length, err);
    if (code == PL_OK && fchmod(fd, 0666 & ~mask) < 0)
        code = pl_err_os(err, PL_IO, errno, "cannot set the mode of \"%s\"", path);
    close(fd);
    if (code == PL_OK && rename(temporary, path) < 0)
        code = pl_err_os(err, PL_IO, errno, "cannot put \"%s\" in place", path);
    if (code != PL_OK)
        unlink(temporary);
    return code;
}
