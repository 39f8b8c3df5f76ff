/* The page: Markdown, HTML (one file, no outside requests) or JSON, written from a study and its figures alone. All three
 * are renderings of one document (doc.h): sections, paragraphs, tables. Text from outside (names, settings, errors) is data
 * in every format. */
#ifndef PL_PAGE_PAGE_H
#define PL_PAGE_PAGE_H

#include "base/buf.h"
#include "base/err.h"
#include "model/model.h"
#include "record/study.h"

enum page_format { PAGE_MARKDOWN, PAGE_HTML, PAGE_JSON, PAGE_FORMAT_COUNT };

/* Appends the page to out. Every derived figure is computed again first (sums of the ledger, throughput, costs for each
 * operation, Little's law in a closed loop, order of percentiles): PL_BALANCE, with what differs, when one does not hold;
 * nothing is written then. PL_LIMIT when the page would be larger than PL_MAX_PAGE_BYTES or than out may become. The page
 * depends on the study and the figures alone: the same ones give the same bytes. */
PL_MUST_CHECK enum pl_code page_write(const struct study *study, const struct figures *figures, enum page_format format,
                                      struct pl_buf *out, struct pl_err *err);

#endif
