/* Command lines as words, and what a call prints. */
#ifndef PL_TESTS_PRINTED_H
#define PL_TESTS_PRINTED_H

#include "support.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>

enum { WORDS_MAX = 160, PRINTED_BYTES = 64 * 1024 };

/* What is written to a descriptor between begin and end. */
struct printed {
    FILE *file;
    int fd, saved;
    char text[PRINTED_BYTES];
};

static inline void printed_begin(struct printed *printed, FILE *stream)
{
    fflush(stream);
    printed->fd = fileno(stream);
    printed->file = tmpfile();
    assert_non_null(printed->file);
    printed->saved = dup(printed->fd);
    dup2(fileno(printed->file), printed->fd);
}

static inline const char *printed_end(struct printed *printed, FILE *stream)
{
    fflush(stream);
    dup2(printed->saved, printed->fd);
    close(printed->saved);
    rewind(printed->file);
    size_t length = fread(printed->text, 1, sizeof printed->text - 1, printed->file);
    printed->text[length] = '\0';
    fclose(printed->file);
    return printed->text;
}

/* Splits a command line at blanks; 'a b' in single quotes is one word, and '' an empty one. */
static inline int words_split(const char *line, char *buf, size_t size, char **words)
{
    assert_true(strlen(line) < size);
    int count = 1;
    static char name[] = "program";
    words[0] = name;
    while (*(line += strspn(line, " ")) != '\0') {
        assert_true(count < WORDS_MAX);
        words[count++] = buf;
        for (; *line != '\0' && *line != ' '; line++) {
            if (*line != '\'') {
                *buf++ = *line;
                continue;
            }
            for (line++; *line != '\''; line++)
                *buf++ = *line;
        }
        *buf++ = '\0';
    }
    words[count] = NULL;
    return count;
}

#endif
