/* Whole files, in and out. */
#ifndef PL_BASE_FILE_H
#define PL_BASE_FILE_H

#include <stddef.h>

#include "base/arena.h"
#include "base/err.h"

/* Reads a regular file (or a pipe) whole; more than max_bytes is PL_LIMIT, a directory PL_INPUT, a missing one
 * PL_NOT_FOUND. The text ends in NUL, which is not counted, and lives in the arena. */
PL_MUST_CHECK enum pl_code pl_file_read(const char *path, size_t max_bytes, struct pl_arena *arena, char **ret_text,
                                        size_t *ret_length, struct pl_err *err);

/* Reads a small file of /proc or /sys into buf (NUL-ended). Returns the bytes read, at most
 * size - 1 (the rest of a longer file is left out), or -1 with errno set. size >= 1. No allocation. */
long pl_file_read_small(const char *path, char *buf, size_t size);

/* Writes a temporary file beside path, syncs and renames: path is either the old or the whole new content. A symbolic link
 * is followed; a pipe or device (/dev/stdout) is written to as it is; a directory is PL_INPUT; all else PL_IO, or PL_USAGE
 * for a path that is too long. */
PL_MUST_CHECK enum pl_code pl_file_write(const char *path, const char *text, size_t length, struct pl_err *err);

/* 0, or the errno with which writing `path` would fail as things are: said before a long run rather than after it. */
int pl_file_write_errno(const char *path);

#endif
