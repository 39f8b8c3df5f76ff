/* From a study file to a page: store, model and page in a row. */
#ifndef PL_APP_PUBLISH_H
#define PL_APP_PUBLISH_H

#include <stdbool.h>
#include <stdio.h>

#include "base/err.h"
#include "page/page.h"

/* Writes the page of a study to `path` ("-": standard output). */
PL_MUST_CHECK enum pl_code publish_page(const char *study_path, enum page_format format, const char *path,
                                        struct pl_err *err);

/* Writes the page in every format beside the study (x.study -> x.html, x.md, x.json) and tells where. */
PL_MUST_CHECK enum pl_code publish_beside(const char *study_path, FILE *out, struct pl_err *err);

/* By the ending of a file's name; HTML when it has none of the three. */
enum page_format publish_format_of(const char *path);

/* Both exist and are one file. */
bool publish_is_same_file(const char *path, const char *other);

/* Is a file in the way where publish_beside would write, which no earlier run wrote? PL_USAGE names it. */
PL_MUST_CHECK enum pl_code publish_check_free(const char *study_path, struct pl_err *err);

/* ".html", ".md", ".json" */
const char *publish_ending(enum page_format format);

#endif
