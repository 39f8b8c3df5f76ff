/* A study that is open and has one case: what the tests of writing begin with. */
#ifndef PL_TESTS_STORE_ROOM_H
#define PL_TESTS_STORE_ROOM_H

#include "study_gen.h"

struct room {
    struct pl_arena *arena;
    char *folder, *path;
    struct store *store;
    struct study *loaded;
    struct pl_err err;
};

static const struct stage_row stage = {.id = 1, .kind = "rate", .name = "rate", .question = "?"};
static const struct case_row case_one = {.id = 1, .stage_id = 1, .ordinal = 0, .label = "rate=50"};
static const struct store_head head = {.title = "t",
                                       .plan_text = "p",
                                       .plan_path = "",
                                       .subject = "db",
                                       .tool_version = "0",
                                       .seed = UINT64_MAX,
                                       .started_unix_ns = 5};

GEN_UNUSED static struct trial_row trial_of(int64_t id)
{
    return (struct trial_row){
        .id = id, .case_id = 1, .iteration = (int)id, .ordinal = (int)id - 1, .why = "", .event_loop = ""};
}

/* An open study with one case. */
GEN_UNUSED static int room_setup(void **state)
{
    struct room *room = pl_new(1, sizeof *room);
    room->arena = pl_arena_new();
    room->folder = gen_folder(room->arena);
    room->path = pl_format(room->arena, "%s/x.study", room->folder);
    GEN_OK(store_create(room->path, &room->store, &room->err), room->err);
    GEN_OK(store_put_head(room->store, &head, &room->err), room->err);
    GEN_OK(store_put_stage(room->store, &stage, &room->err), room->err);
    GEN_OK(store_put_case(room->store, &case_one, &room->err), room->err);
    *state = room;
    return 0;
}

GEN_UNUSED static int room_teardown(void **state)
{
    struct room *room = *state;
    struct pl_err err = {0};
    store_release_study(room->loaded);
    GEN_OK(store_close(room->store, &err), err);
    gen_folder_remove(room->arena, room->folder);
    pl_arena_free(room->arena);
    pl_free(room);
    return 0;
}

GEN_UNUSED static struct study *load(struct room *room)
{
    struct pl_err err = {0};
    store_release_study(room->loaded);
    GEN_OK(store_load(room->path, room->arena, &room->loaded, &err), err);
    return room->loaded;
}

GEN_UNUSED static void reopen(struct room *room)
{
    GEN_OK(store_close(room->store, &room->err), room->err);
    GEN_OK(store_open(room->path, &room->store, &room->err), room->err);
}

GEN_UNUSED static void push(struct room *room, int64_t trial_id, int64_t metric_id, double value)
{
    struct sink sink = store_sink(room->store);
    struct sample sample = {.trial_id = trial_id, .metric_id = metric_id, .value = value, .phase = PHASE_MEASURE};
    GEN_OK(sink.sample(sink.ctx, &sample, &room->err), room->err);
}

GEN_UNUSED static void declare(struct room *room, int64_t id, const char *name, const char *how)
{
    struct sink sink = store_sink(room->store);
    struct metric metric = {.id = id, .source = "db", .name = name, .unit = "bytes", .kind = METRIC_GAUGE, .how = how};
    GEN_OK(sink.metric(sink.ctx, &metric, &room->err), room->err);
}

GEN_UNUSED static void begin(struct room *room, int64_t id)
{
    struct trial_row trial = trial_of(id);
    GEN_OK(store_trial_begin(room->store, &trial, &room->err), room->err);
}

GEN_UNUSED static void commit(struct room *room, int64_t id)
{
    struct trial_row trial = trial_of(id);
    GEN_OK(store_trial_commit(room->store, &trial, &room->err), room->err);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, room_setup, room_teardown)

#endif
