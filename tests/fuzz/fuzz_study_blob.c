/* A study file with changed bytes: store_load gives an error or a study, and comes to an end.
 *
 * The first byte of the input chooses. 0: the rest is the whole file. Else the rest is a list of patches to a sound study:
 * three bytes of offset (big endian), one byte of length, that many bytes; an offset past the end is taken modulo the
 * length; a patch of length 0 cuts the file off at its offset. */
#include <assert.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "store/store.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static struct {
    char folder[64], path[96];
    uint8_t *bytes, *work;
    size_t length;
} sound;

static void must(bool good)
{
    if (!good)
        abort();
}

static void sound_trial(struct store *store, int64_t id, const struct hist *hist, struct pl_err *err)
{
    struct sink sink = store_sink(store);
    const struct trial_row trial = {
        .id = id, .case_id = 1, .iteration = (int)id, .ordinal = (int)id, .why = "", .event_loop = "epoll"};
    must(store_trial_begin(store, &trial, err) == PL_OK);
    for (int64_t i = 0; i < 4; i++) {
        const struct slice slice = {
            .trial_id = id, .start_ns = i, .end_ns = i + 1, .step = -1, .response = hist, .service = hist};
        const struct sample sample = {.trial_id = id, .metric_id = 1 + i % 2, .t_ns = i, .value = (double)i / 3};
        must(sink.slice(sink.ctx, &slice, err) == PL_OK && sink.sample(sink.ctx, &sample, err) == PL_OK);
    }
    const struct fault fault = {
        .trial_id = id, .source = "load", .code = "40001", .count = 1, .example = "could not serialize"};
    must(sink.fault(sink.ctx, &fault, err) == PL_OK && store_trial_commit(store, &trial, err) == PL_OK);
}

static void sound_write(struct store *store, struct pl_err *err)
{
    const struct store_head head = {
        .title = "title", .plan_text = "study: title\n", .plan_path = "plan.yaml", .subject = "db", .tool_version = "1"};
    const struct fact fact = {.scope = "host", .name = "cpu_model", .value = "cpu", .unit = "", .how = "/proc/cpuinfo"};
    const struct param params[] = {{"clients", "16"}, {"script", "tpcb-like"}};
    const struct stage_row stage = {
        .id = 1, .kind = "clients", .name = "clients", .question = "?", .params = params, .param_count = 2};
    const struct case_row row = {.id = 1, .stage_id = 1, .label = "clients=16", .params = params, .param_count = 1};
    const struct script_row script = {.case_id = 1, .step = -1, .name = "tpcb-like"};
    must(store_put_head(store, &head, err) == PL_OK && store_put_facts(store, &fact, 1, err) == PL_OK);
    must(store_put_stage(store, &stage, err) == PL_OK && store_put_case(store, &row, err) == PL_OK);
    must(store_put_script(store, &script, err) == PL_OK);
    struct sink sink = store_sink(store);
    const struct metric cpu = {
        .id = 1, .source = "db", .name = "cpu_ns", .unit = "ns", .kind = METRIC_COUNTER, .how = "cgroup"};
    const struct metric memory = {.id = 2, .source = "db", .name = "memory_anon_bytes", .unit = "bytes", .how = "cgroup"};
    must(sink.metric(sink.ctx, &cpu, err) == PL_OK && sink.metric(sink.ctx, &memory, err) == PL_OK);
    struct hist hist;
    hist_init_latency(&hist);
    for (int64_t value = 1000; value < 100000; value += 777)
        hist_record(&hist, value);
    sound_trial(store, 1, &hist, err);
    sound_trial(store, 2, &hist, err);
    hist_release(&hist);
}

static void sound_remove(void)
{
    unlink(sound.path);
    rmdir(sound.folder);
    free(sound.bytes);
    free(sound.work);
}

static void sound_make(void)
{
    struct store *store = NULL;
    struct pl_err err = {0};
    snprintf(sound.folder, sizeof sound.folder, "%s/plimsoll-fuzz-XXXXXX",
             access("/dev/shm", W_OK) == 0 ? "/dev/shm" : "/tmp");
    must(mkdtemp(sound.folder) != NULL);
    snprintf(sound.path, sizeof sound.path, "%s/x.study", sound.folder);
    must(store_create(sound.path, &store, &err) == PL_OK);
    sound_write(store, &err);
    must(store_close(store, &err) == PL_OK);
    struct stat status;
    must(stat(sound.path, &status) == 0);
    sound.length = (size_t)status.st_size;
    sound.bytes = malloc(sound.length);
    sound.work = malloc(sound.length);
    int fd = open(sound.path, O_RDONLY | O_CLOEXEC);
    must(sound.bytes != NULL && sound.work != NULL && fd >= 0 && read(fd, sound.bytes, sound.length) == status.st_size);
    close(fd);
    atexit(sound_remove);
}

static size_t patched(const uint8_t *data, size_t size)
{
    size_t length = sound.length;
    memcpy(sound.work, sound.bytes, length);
    while (size >= 4 && length > 0) {
        size_t offset = ((size_t)data[0] << 16 | (size_t)data[1] << 8 | data[2]) % length, count = data[3];
        data += 4;
        size -= 4;
        if (count == 0)
            length = offset;
        for (size_t i = 0; i < count && i < size && offset + i < length; i++)
            sound.work[offset + i] = data[i];
        data += count < size ? count : size;
        size -= count < size ? count : size;
    }
    return length;
}

static void file_write(const uint8_t *bytes, size_t length)
{
    int fd = open(sound.path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
    must(fd >= 0 && write(fd, bytes, length) == (ssize_t)length);
    close(fd);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    if (sound.bytes == NULL)
        sound_make();
    if (size == 0)
        return 0;
    if (data[0] == 0)
        file_write(data + 1, size - 1);
    else
        file_write(sound.work, patched(data + 1, size - 1));
    struct pl_arena *arena = pl_arena_new();
    struct study *study = NULL;
    struct pl_err err = {0};
    enum pl_code code = store_load(sound.path, arena, &study, &err);
    must((code == PL_OK) == (study != NULL));
    must(code == PL_OK || (code == PL_STORE && err.code == PL_STORE && err.what[0] != '\0'));
    if (study != NULL) {
        for (size_t i = 0; i < study->sample_count; i++)
            must(study->samples[i].metric_id >= 1 && (size_t)study->samples[i].metric_id <= study->metric_count);
        for (size_t i = 0; i < study->slice_count; i++)
            must(study_trial(study, study->slices[i].trial_id) != NULL);
        store_release_study(study);
    }
    pl_arena_free(arena);
    return 0;
}
