/* From a study file to a page. */
#include "app/publish.h"

#include <errno.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/arena.h"
#include "base/file.h"
#include "base/limits.h"
#include "model/model.h"
#include "store/store.h"

#include "base/ban.h"

static const char *const endings[PAGE_FORMAT_COUNT] = {
    [PAGE_MARKDOWN] = ".md", [PAGE_HTML] = ".html", [PAGE_JSON] = ".json"};

const char *publish_ending(enum page_format format)
{
    return endings[format];
}

enum page_format publish_format_of(const char *path)
{
    size_t length = strlen(path);
    for (int format = 0; format < PAGE_FORMAT_COUNT; format++) {
        size_t ending = strlen(endings[format]);
        if (length > ending && strcmp(path + length - ending, endings[format]) == 0)
            return (enum page_format)format;
    }
    return PAGE_HTML;
}

bool publish_is_same_file(const char *path, const char *other)
{
    struct stat one, two;
    return stat(path, &one) == 0 && stat(other, &two) == 0 && one.st_dev == two.st_dev && one.st_ino == two.st_ino;
}

/* x.study -> x.html */
static const char *path_beside(const char *study_path, enum page_format format, struct pl_arena *arena)
{
    size_t stem = strlen(study_path);
    if (stem > 6 && strcmp(study_path + stem - 6, ".study") == 0)
        stem -= 6;
    return pl_format(arena, "%.*s%s", (int)stem, study_path, endings[format]);
}

enum pl_code publish_check_free(const char *study_path, struct pl_err *err)
{
    struct pl_arena *arena = pl_arena_new();
    for (int format = 0; format < PAGE_FORMAT_COUNT && err->code == PL_OK; format++) {
        const char *path = path_beside(study_path, (enum page_format)format, arena);
        if (access(path, F_OK) != 0)
            continue;
        pl_err_set(err, PL_USAGE, "\"%s\", where the page is to be written, exists already", path);
        pl_err_hint(err, "Move it away, or name another study with -o.");
    }
    pl_arena_free(arena);
    return err->code;
}

static enum pl_code put_out(const struct pl_buf *text, const char *path, struct pl_err *err)
{
    if (strcmp(path, "-") != 0)
        return pl_file_write(path, pl_buf_text(text), text->len, err);
    if (fwrite(pl_buf_text(text), 1, text->len, stdout) != text->len || fflush(stdout) != 0)
        return pl_err_os(err, PL_IO, errno, "cannot write to standard output");
    return PL_OK;
}

static enum pl_code write_one(const struct study *study, const struct figures *figures, enum page_format format,
                              const char *path, struct pl_err *err)
{
    struct pl_buf text;
    pl_buf_init(&text, PL_MAX_PAGE_BYTES);
    enum pl_code code = page_write(study, figures, format, &text, err);
    if (code == PL_OK)
        code = put_out(&text, path, err);
    pl_buf_release(&text);
    return code;
}

enum pl_code publish_page(const char *study_path, enum page_format format, const char *path, struct pl_err *err)
{
    struct pl_arena *arena = pl_arena_new();
    struct study *study = NULL;
    enum pl_code code = store_load(study_path, arena, &study, err);
    if (code == PL_OK) {
        struct figures figures = model_figures(study, arena);
        code = write_one(study, &figures, format, path, err);
        store_release_study(study);
    }
    pl_arena_free(arena);
    return code;
}

enum pl_code publish_beside(const char *study_path, FILE *out, struct pl_err *err)
{
    struct pl_arena *arena = pl_arena_new();
    struct study *study = NULL;
    enum pl_code code = store_load(study_path, arena, &study, err);
    if (code == PL_OK) {
        struct figures figures = model_figures(study, arena);
        for (int format = 0; format < PAGE_FORMAT_COUNT && code == PL_OK; format++) {
            const char *path = path_beside(study_path, (enum page_format)format, arena);
            code = write_one(study, &figures, (enum page_format)format, path, err);
            if (code == PL_OK)
                fprintf(out, "page: %s\n", path);
        }
        store_release_study(study);
    }
    fprintf(out, "study: %s\n", study_path);
    pl_arena_free(arena);
    return code;
}
