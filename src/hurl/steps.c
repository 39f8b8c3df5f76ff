/* The steps of a request, and what those of them do that only Hurl knows.
 *
 * In this order, each only where the file asks for it:
 *
 *          repeat      CALL   sets the count; at 0 goes on behind the request
 *   again: variable    CALL   sets a variable
 *          skip        CALL   goes on behind the request
 *          delay       CALL   sets the delay when it is a template
 *                      SLEEP
 *          retry       CALL   sets the count, goes on at the request
 *   retry:             CALL   sets the interval when it is a template
 *                      SLEEP  the interval
 *          request     HTTP   when it fails and tries are left: `retry`
 *          repeat      CALL   while some are left: `again`
 *
 * Counts and delays are variables whose names no file can write. */
#include <math.h>
#include <stdio.h>
#include <string.h>
#include <threads.h>

#include "base/limits.h"
#include "base/num.h"
#include "hurl/parse_int.h"

#include "base/ban.h"

enum { INTERVAL_MS = 1000, NO_LIMIT = -1 };

/* ---- what the steps do ---- */

/* What an option of a request says: a literal, or a text that is put together when the step runs. */
struct step_option {
    const char *source; /* "file:line:column: option" */
    struct value literal;
    const struct hurl_request *template; /* its body is the text; NULL: the literal is meant */
    int variable;                        /* that the step sets or counts in */
};

static _Thread_local char wrong_text[512];

static const char *wrong(const struct step_option *option, const char *what)
{
    snprintf(wrong_text, sizeof wrong_text, "%s: %s", option->source, what);
    return wrong_text;
}

static tss_t work_key;
static once_flag work_once = ONCE_FLAG_INIT;
static bool has_work_key;

static void free_work(void *work)
{
    hurl_work_free(work);
}

static void make_work_key(void)
{
    has_work_key = tss_create(&work_key, free_work) == thrd_success;
}

/* The buffers in which this thread renders options. */
static struct hurl_work *thread_work(void)
{
    call_once(&work_once, make_work_key);
    struct hurl_work *work = has_work_key ? tss_get(work_key) : NULL;
    if (work == NULL && has_work_key) {
        work = hurl_work_new();
        if (tss_set(work_key, work) != thrd_success) {
            hurl_work_free(work);
            work = NULL;
        }
    }
    return work;
}

/* The text of a template; it stands until this thread renders the next one. */
static const char *render(const struct step_option *option, const struct value *vars, struct hurl_slice *ret_text)
{
    struct hurl_message message;
    struct hurl_work *work = thread_work();
    if (work == NULL)
        return wrong(option, "no memory of its own for this thread");
    const char *failure = hurl_render(option->template, vars, work, &message);
    if (failure != NULL)
        return wrong(option, failure);
    *ret_text = message.body;
    return memchr(message.body.text, '\0', message.body.length) != NULL ? wrong(option, "the text holds a NUL") : NULL;
}

/* A variable alone keeps its type and costs nothing; all else is rendered and read. */
static const char *option_value(const struct step_option *option, const struct value *vars, struct value *ret_value)
{
    if (option->template == NULL) {
        *ret_value = option->literal;
        return NULL;
    }
    const struct hurl_text *text = &option->template->body.text;
    const struct hurl_piece *piece = &text->pieces[0];
    if (text->piece_count == 1 && piece->variable >= 0 && piece->filter_count == 0 && piece->length == 0 &&
        vars[piece->variable].type != VALUE_TEXT && vars[piece->variable].type != VALUE_UNSET) {
        *ret_value = vars[piece->variable];
        return NULL;
    }
    struct hurl_slice shown;
    const char *failure = render(option, vars, &shown);
    if (failure == NULL)
        *ret_value = (struct value){.type = VALUE_TEXT, .length = (uint32_t)shown.length, .text = shown.text};
    return failure;
}

static const char *option_number(const struct step_option *option, const struct value *vars, int64_t least,
                                 int64_t *ret_number)
{
    struct value value;
    const char *failure = option_value(option, vars, &value);
    if (failure != NULL)
        return failure;
    if (value.type == VALUE_TEXT && pl_num_i64(value.text, value.length, &value.i) == PL_NUM_OK)
        value.type = VALUE_INT;
    if (value.type == VALUE_DOUBLE && value.d == trunc(value.d) && fabs(value.d) < 0x1p62)
        value = (struct value){.type = VALUE_INT, .i = (int64_t)value.d};
    if (value.type != VALUE_INT)
        return wrong(option, "the value is no whole number");
    *ret_number = value.i;
    return value.i < least ? wrong(option, least < 0 ? "the number is below -1" : "the number is below 0") : NULL;
}

static const char *option_boolean(const struct step_option *option, const struct value *vars, bool *ret_flag)
{
    struct value value;
    const char *failure = option_value(option, vars, &value);
    if (failure != NULL)
        return failure;
    bool is_true = value.type == VALUE_TEXT && value.length == 4 && memcmp(value.text, "true", 4) == 0;
    bool is_false = value.type == VALUE_TEXT && value.length == 5 && memcmp(value.text, "false", 5) == 0;
    *ret_flag = value.type == VALUE_BOOL ? value.b : is_true;
    return value.type == VALUE_BOOL || is_true || is_false ? NULL : wrong(option, "the value is neither true nor false");
}

static const char *do_variable(const struct step *step, struct step_scene *scene, bool *ret_goes_on)
{
    const struct step_option *option = step->data;
    *ret_goes_on = true;
    if (option->template == NULL) {
        scene->vars[option->variable] = option->literal;
        return NULL;
    }
    struct hurl_slice text;
    const char *failure = render(option, scene->vars, &text);
    if (failure == NULL)
        scene->set_text(scene->context, scene->client, option->variable, text.text, text.length);
    return failure;
}

static const char *do_skip(const struct step *step, struct step_scene *scene, bool *ret_goes_on)
{
    bool is_skipped = false;
    const char *failure = option_boolean(step->data, scene->vars, &is_skipped);
    *ret_goes_on = !is_skipped;
    return failure;
}

static void count_set(const struct step_option *option, struct step_scene *scene, int64_t count)
{
    scene->vars[option->variable] = (struct value){.type = VALUE_INT, .i = count};
}

/* For a delay or an interval. */
static const char *do_duration(const struct step *step, struct step_scene *scene, bool *ret_goes_on)
{
    int64_t ms = 0;
    const char *failure = option_number(step->data, scene->vars, 0, &ms);
    *ret_goes_on = true;
    if (failure == NULL)
        count_set(step->data, scene, ms);
    return failure;
}

static const char *do_repeat(const struct step *step, struct step_scene *scene, bool *ret_goes_on)
{
    int64_t count = 0;
    const char *failure = option_number(step->data, scene->vars, 0, &count);
    *ret_goes_on = count > 0;
    if (failure == NULL)
        count_set(step->data, scene, count);
    return failure;
}

static const char *do_again(const struct step *step, struct step_scene *scene, bool *ret_goes_on)
{
    const struct step_option *option = step->data;
    int64_t left = scene->vars[option->variable].i - 1;
    count_set(option, scene, left);
    *ret_goes_on = left <= 0;
    return NULL;
}

static const char *do_retry(const struct step *step, struct step_scene *scene, bool *ret_goes_on)
{
    int64_t tries = 0;
    const char *failure = option_number(step->data, scene->vars, NO_LIMIT, &tries);
    *ret_goes_on = false;
    if (failure == NULL)
        count_set(step->data, scene, tries);
    return failure;
}

/* Of the request: it has failed. */
static const char *do_try_again(const struct step *step, struct step_scene *scene, bool *ret_goes_on)
{
    const struct step_option *option = step->data;
    int64_t left = scene->vars[option->variable].i;
    *ret_goes_on = left == 0;
    if (left > 0)
        count_set(option, scene, left - 1);
    return NULL;
}

bool hurl_program_captures(const struct program *program)
{
    for (size_t i = 0; i < program->step_count; i++) {
        const struct step *step = &program->steps[i];
        if (step->kind == STEP_HTTP && step->http->capture_count > 0)
            return true;
        if (step->kind == STEP_CALL && step->call == do_variable &&
            ((const struct step_option *)step->data)->template != NULL)
            return true;
    }
    return false;
}

/* ---- how they are put together ---- */

static bool add_step(struct parser *p, size_t at, struct step step)
{
    if (p->step_count == PL_MAX_STEPS)
        return parse_fail_code(p, PL_LIMIT, at, "more than %d steps", PL_MAX_STEPS);
    bool is_request = step.kind == STEP_HTTP;
    step.line = parse_place(p, at).line;
    step.io_index = is_request ? (int)p->io_count : -1;
    step.number = is_request ? (int)p->io_count : -1;
    p->io_count += is_request;
    p->steps = pl_grow(p->arena, p->steps, p->step_count, p->step_count + 1, sizeof step, &p->step_capacity);
    p->steps[p->step_count++] = step;
    return true;
}

/* Where the next step will stand. */
static uint32_t here(const struct parser *p)
{
    return (uint32_t)p->step_count;
}

static const struct hurl_request *make_template(struct parser *p, const struct hurl_text *text, struct hurl_place place)
{
    struct hurl_request *request = pl_alloc(p->arena, 1, sizeof *request);
    *request = (struct hurl_request){.facts = {.source = p->file, .line = place.line},
                                     .name = p->file,
                                     .names = p->names,
                                     .place = place,
                                     .method = "GET",
                                     .url = parse_constant(p, "/", 1),
                                     .body = {.kind = HURL_BODY_TEXT, .place = place, .text = *text}};
    return request;
}

static struct step_option *make_option(struct parser *p, size_t at, const char *name, struct value literal,
                                       const struct hurl_text *template)
{
    struct step_option *option = pl_alloc(p->arena, 1, sizeof *option);
    struct hurl_place place = parse_place(p, at);
    *option = (struct step_option){
        .source = pl_format(p->arena, "%s:%d:%d: %s", p->file, place.line, place.col, name),
        .literal = literal,
        .template = template != NULL ? make_template(p, template, place) : NULL,
        .variable = -1,
    };
    return option;
}

/* For an amount; its count is kept in a variable that no file can name, since names hold no blanks. */
static bool make_counter(struct parser *p, const struct parse_amount *amount, const char *name,
                         struct step_option **ret_option)
{
    struct value literal = {.type = VALUE_INT, .i = amount->number};
    struct step_option *option = make_option(p, amount->at, name, literal, amount->is_template ? &amount->text : NULL);
    if (names_count(p->names) >= PL_MAX_VARIABLES)
        return parse_fail_code(p, PL_LIMIT, amount->at, "more than %d variables", PL_MAX_VARIABLES);
    option->variable = names_predefine(p->names, option->source);
    *ret_option = option;
    return true;
}

/* Waits for an amount of milliseconds. */
static bool add_sleep(struct parser *p, const struct parse_amount *amount, const char *name)
{
    struct step_word *word = pl_alloc(p->arena, 1, sizeof *word);
    *word = (struct step_word){.text = pl_format(p->arena, "%lld", (long long)amount->number), .variable = -1};
    if (amount->is_template) {
        struct step_option *option = NULL;
        if (!make_counter(p, amount, name, &option) ||
            !add_step(p, amount->at, (struct step){.kind = STEP_CALL, .call = do_duration, .data = option}))
            return false;
        *word = (struct step_word){.text = option->source, .variable = option->variable};
    }
    return add_step(p, amount->at,
                    (struct step){.kind = STEP_SLEEP,
                                  .words = word,
                                  .word_count = 1,
                                  .unit_ns = 1000000,
                                  .sleep_literal = (double)amount->number});
}

static bool add_definitions(struct parser *p, const struct parse_entry *entry)
{
    for (size_t i = 0; i < entry->definition_count; i++) {
        const struct parse_definition *definition = &entry->definitions[i];
        struct step_option *option = make_option(p, definition->at, "variable", definition->value,
                                                 definition->is_template ? &definition->text : NULL);
        option->variable = definition->variable;
        if (!add_step(p, definition->at, (struct step){.kind = STEP_CALL, .call = do_variable, .data = option}))
            return false;
    }
    return true;
}

/* The request, with the wait between its tries in front of it. */
static bool add_request(struct parser *p, const struct parse_entry *entry)
{
    struct step request = {.kind = STEP_HTTP, .text = entry->text, .http = entry->request};
    if (entry->retry.is_set && (entry->retry.is_template || entry->retry.number != 0)) {
        struct parse_amount interval = entry->interval;
        if (!interval.is_set)
            interval = (struct parse_amount){.number = INTERVAL_MS, .at = entry->retry.at};
        struct step_option *tries = NULL;
        size_t begin = p->step_count;
        if (!make_counter(p, &entry->retry, "retry", &tries) ||
            !add_step(p, entry->retry.at, (struct step){.kind = STEP_CALL, .call = do_retry, .data = tries}))
            return false;
        request.call = do_try_again;
        request.data = tries;
        request.target = here(p);
        if (!add_sleep(p, &interval, "retry-interval"))
            return false;
        p->steps[begin].target = here(p);
    }
    return add_step(p, entry->at, request);
}

bool parse_emit(struct parser *p, const struct parse_entry *entry)
{
    struct step_option *repeat = NULL, *skip = NULL;
    size_t repeat_step = p->step_count, skip_step;
    if (entry->repeat.is_set &&
        (!make_counter(p, &entry->repeat, "repeat", &repeat) ||
         !add_step(p, entry->repeat.at, (struct step){.kind = STEP_CALL, .call = do_repeat, .data = repeat})))
        return false;
    uint32_t again = here(p);
    if (!add_definitions(p, entry))
        return false;
    skip_step = p->step_count;
    if (entry->skip.is_set) {
        struct value literal = {.type = VALUE_BOOL, .b = entry->skip.number != 0};
        skip = make_option(p, entry->skip.at, "skip", literal, entry->skip.is_template ? &entry->skip.text : NULL);
        if (!add_step(p, entry->skip.at, (struct step){.kind = STEP_CALL, .call = do_skip, .data = skip}))
            return false;
    }
    if ((entry->delay.is_set && !add_sleep(p, &entry->delay, "delay")) || !add_request(p, entry))
        return false;
    if (repeat != NULL &&
        !add_step(p, entry->repeat.at, (struct step){.kind = STEP_CALL, .call = do_again, .data = repeat, .target = again}))
        return false;
    if (repeat != NULL)
        p->steps[repeat_step].target = here(p);
    if (skip != NULL)
        p->steps[skip_step].target = here(p);
    return true;
}
