/* From a study file to a page: store, model and page in a row. */
#ifndef PL_APP_PUBLISH_H
#define PL_APP_PUBLISH_H

#include <stdio.h>

#include "base/err.h"
#include "page/page.h"

/* Writes the page of a study to `path` ("-": standard output). */
PL_MUST_CHECK enum pl_code publish_page(const char *study_path, enum page_format format, const char *path,
                                        struct pl_err *err);

/* Writes the page in every format beside the study (x.study -> x.html, x.md, x.json) and tells where. */
PL_MUST_CHECK enum pl_code publish_beside(const char *study_path, FILE *out, struct pl_err *err);

/* ".html", ".md", ".json" */
const char *publish_ending(enum page_format format);

#endif
