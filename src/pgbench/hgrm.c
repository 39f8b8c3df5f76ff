/* --hdr: the responses of all scripts as HdrHistogram's percentile listing, in milliseconds. */
#include "stats/hgrm.h"

#include "base/clock.h"
#include "base/file.h"
#include "pgbench/output_int.h"

#include "base/ban.h"

enum { LISTING_BYTES = 1024 * 1024 }; /* at most some 330 lines */

enum pl_code pgbench_hgrm_write(const char *path, const struct pgbench_total *total, struct pl_err *err)
{
    struct pl_buf text;
    pl_buf_init(&text, LISTING_BYTES);
    hist_hgrm_put(&total->whole.response, (double)PL_NS_PER_MS, &text);
    enum pl_code code = pl_file_write(path, pl_buf_text(&text), text.len, err);
    pl_buf_release(&text);
    return code;
}
