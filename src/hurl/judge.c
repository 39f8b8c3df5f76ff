/* Judges a response: what the file says of its version, status, headers and body, then its asserts; and sets what is
 * captured. Captures are computed before the asserts, which may ask for them, and set after all has held. */
#include "hurl/run_int.h"

#include <stdio.h>
#include <string.h>

#include "base/ban.h"

enum { STATUS_ERRORS = 400 }; /* and above: the client or the server failed */

static bool judge_failed(struct hurl_run *run, const char *code, const char *subject, struct hurl_fault *ret_fault)
{
    snprintf(ret_fault->code, sizeof ret_fault->code, "check:%s", run->work->is_too_much ? "BODY" : code);
    ret_fault->text = hurl_message(run, subject);
    return false;
}

/* ---- version, status, headers ---- */

static const char *version_text(int version)
{
    return version == 10 ? "HTTP/1.0" : version == 20 ? "HTTP/2" : "HTTP/1.1";
}

/* An expected header is one of those that came. */
static bool judge_header(struct hurl_run *run, const struct hurl_pair *pair)
{
    const struct hurl_response *response = run->response;
    struct hurl_slice name, value;
    size_t count = 0, last = 0;
    char shown[HURL_SHOW_BYTES], expected[HURL_SHOW_BYTES], came[HURL_SHOW_BYTES];
    if (!hurl_text_render(run, &pair->name, &name) || !hurl_text_render(run, &pair->value, &value))
        return false;
    for (size_t i = 0; i < response->header_count; i++) {
        const struct hurl_header *header = &response->headers[i];
        if (!hurl_header_named(header, name.text, name.length))
            continue;
        if (header->value.length == value.length &&
            (value.length == 0 || memcmp(header->value.text, value.text, value.length) == 0))
            return true;
        count++;
        last = i;
    }
    hurl_show_text(run, name.text, name.length, shown);
    if (count == 0)
        return hurl_fail(run, pair->place, "header %s: there is none", shown);
    if (hurl_header_is_secret(name.text, name.length))
        return hurl_fail(run, pair->place, "header %s: another value came (a secret)", shown);
    hurl_show_text(run, value.text, value.length, expected);
    hurl_show_text(run, response->headers[last].value.text, response->headers[last].value.length, came);
    return hurl_fail(run, pair->place, "header %s: expected \"%s\", got \"%s\"%s", shown, expected, came,
                     count > 1 ? " and others" : "");
}

/* ---- the body ---- */

static struct hurl_slice from_byte(struct hurl_slice text, size_t at)
{
    return (struct hurl_slice){text.text + at, text.length - at};
}

static bool judge_same(struct hurl_run *run, struct hurl_place place, struct hurl_slice expected, struct hurl_slice came,
                       enum hurl_kind kind)
{
    size_t at = 0;
    char expected_shown[HURL_SHOW_BYTES], came_shown[HURL_SHOW_BYTES];
    while (at < expected.length && at < came.length && expected.text[at] == came.text[at])
        at++;
    if (at == expected.length && at == came.length)
        return true;
    while (kind == HURL_TEXT && at > 0 && at < expected.length && ((unsigned char)expected.text[at] & 0xC0) == 0x80)
        at--; /* whole characters */
    size_t came_from = kind == HURL_TEXT ? hurl_show_start(run, came, at) : at;
    size_t from = kind == HURL_TEXT ? hurl_show_start(run, expected, at) : at;
    from = came_from < from ? came_from : from; /* both are the same before `at` */
    struct hurl_any a = {.kind = kind, .text = from_byte(expected, from)},
                    b = {.kind = kind, .text = from_byte(came, from)};
    hurl_show(run, &a, expected_shown);
    hurl_show(run, &b, came_shown);
    return hurl_fail(run, place, "the body differs from byte %zu on: expected %s, got %s", at, expected_shown, came_shown);
}

static bool judge_json(struct hurl_run *run, const struct hurl_body *body)
{
    struct json *expected = &run->work->operand;
    struct hurl_slice text;
    struct hurl_any a, b;
    size_t at;
    uint64_t steps = JSON_STEPS_MOST;
    char expected_shown[HURL_SHOW_BYTES], came_shown[HURL_SHOW_BYTES];
    if (!hurl_json_render(run, &body->text, &text) || !hurl_body_json(run, body->place))
        return false;
    const char *wrong = json_read(expected, text.text, text.length, &at);
    if (wrong != NULL)
        return hurl_fail(run, body->place, "what is expected is not JSON: %s at byte %zu", wrong, at);
    if (json_is_same(expected, 0, &run->work->body, 0, &steps))
        return true;
    if (steps == 0)
        return hurl_fail(run, body->place, "comparing takes more than %d steps", JSON_STEPS_MOST);
    if (!hurl_from_json(run, body->place, expected, 0, &a) || !hurl_from_json(run, body->place, &run->work->body, 0, &b))
        return false;
    hurl_show(run, &a, expected_shown);
    hurl_show(run, &b, came_shown);
    return hurl_fail(run, body->place, "the body is another JSON: expected %s, got %s", expected_shown, came_shown);
}

static bool judge_body(struct hurl_run *run, const struct hurl_body *body)
{
    struct hurl_slice expected, came = run->response->body;
    if (body->kind == HURL_BODY_TEXT && body->is_json)
        return judge_json(run, body);
    if (body->kind == HURL_BODY_BYTES) {
        came.text = came.text != NULL ? came.text : "";
        return judge_same(run, body->place, body->bytes, came, HURL_BYTES);
    }
    return hurl_text_render(run, &body->text, &expected) && hurl_body_text(run, body->place, &came) &&
           judge_same(run, body->place, expected, came, HURL_TEXT);
}

/* What the file says without [Asserts]. */
static bool judge_stated(struct hurl_run *run, struct hurl_fault *ret_fault)
{
    const struct hurl_request *request = run->request;
    const struct hurl_response *response = run->response;
    if (request->expected_version != 0 && request->expected_version != response->version) {
        hurl_fail(run, request->status_place, "version: expected %s, got %s", version_text(request->expected_version),
                  version_text(response->version));
        return judge_failed(run, "VERSION", NULL, ret_fault);
    }
    if (request->expected_status != 0 && request->expected_status != response->status) {
        hurl_fail(run, request->status_place, "status: expected %d, got %d", request->expected_status, response->status);
        return judge_failed(run, "STATUS", NULL, ret_fault);
    }
    if (request->refuses_errors && response->status >= STATUS_ERRORS) {
        hurl_fail(run, request->status_place, "status: expected below %d, got %d", STATUS_ERRORS, response->status);
        return judge_failed(run, "STATUS", NULL, ret_fault);
    }
    for (size_t i = 0; i < request->expected_header_count; i++)
        if (!judge_header(run, &request->expected_headers[i]))
            return judge_failed(run, "HEADER", NULL, ret_fault);
    if (request->expected_body.kind != HURL_BODY_NONE && !judge_body(run, &request->expected_body))
        return judge_failed(run, "BODY", NULL, ret_fault);
    return true;
}

/* ---- captures ---- */

/* What of a value has no place in a variable becomes text: it must have one, without NUL. */
static bool capture_settle(struct hurl_run *run, struct hurl_captured *captured)
{
    struct hurl_any *value = &captured->value;
    struct hurl_place place = captured->capture->place;
    struct hurl_slice text = value->text;
    if (value->kind == HURL_UNIT) {
        value->kind = HURL_BOOL;
        value->b = true;
    }
    if (value->kind == HURL_NULL || value->kind == HURL_BOOL || value->kind == HURL_INT || value->kind == HURL_FLOAT)
        return true;
    if (value->kind == HURL_LIST || value->kind == HURL_OBJECT) {
        hurl_scratch_open(run->scratch);
        bool is_json = hurl_put_json(run->scratch, value);
        text = hurl_scratch_close(run->scratch);
        if (!is_json)
            return hurl_fail(run, place, "a list that JSON does not have cannot be kept");
    } else if (value->kind == HURL_DATE || value->kind == HURL_REDIRECT) {
        if (!hurl_as_text(run, place, value, &text))
            return false;
    } else if (value->kind == HURL_BYTES && text.text == NULL) {
        return hurl_fail(run, place, "of these bytes only the count is known");
    }
    if (run->scratch->is_full)
        return hurl_fail_full(run, place);
    if (text.length > 0 && memchr(text.text, '\0', text.length) != NULL)
        return hurl_fail(run, place, "%s with a NUL cannot be kept (toHex or base64Encode gives it a text)",
                         hurl_kind_name(value));
    if (text.length > UINT32_MAX)
        return hurl_fail_full(run, place);
    value->kind = HURL_TEXT;
    value->text = text;
    return true;
}

static bool capture_run(struct hurl_run *run, const struct hurl_capture *capture, struct hurl_any *ret)
{
    if (!hurl_query_run(run, &capture->query, ret))
        return false;
    if (ret->kind == HURL_NOTHING)
        return hurl_fail(run, capture->place, "it finds nothing");
    ret->is_secret |= capture->is_redacted || hurl_variable_is_secret(run, capture->variable);
    if (ret->json == NULL || ret->json == &run->work->body)
        return true;
    /* the next filter uses the table again: it becomes what it will be in the variable */
    hurl_scratch_open(run->scratch);
    hurl_put_json(run->scratch, ret);
    struct hurl_slice text = hurl_scratch_close(run->scratch);
    *ret = (struct hurl_any){.kind = HURL_TEXT, .is_stored = true, .is_secret = ret->is_secret, .text = text};
    return run->scratch->is_full ? hurl_fail_full(run, capture->place) : true;
}

static void capture_set(struct hurl_run *run, struct step_scene *scene, const struct hurl_captured *captured)
{
    const struct hurl_any *value = &captured->value;
    int variable = captured->capture->variable;
    if (captured->capture->is_redacted)
        hurl_note_secret(run->work, variable);
    if (value->kind == HURL_NULL)
        scene->vars[variable] = (struct value){.type = VALUE_NULL};
    else if (value->kind == HURL_BOOL)
        scene->vars[variable] = (struct value){.type = VALUE_BOOL, .b = value->b};
    else if (value->kind == HURL_INT)
        scene->vars[variable] = (struct value){.type = VALUE_INT, .i = value->i};
    else if (value->kind == HURL_FLOAT)
        scene->vars[variable] = (struct value){.type = VALUE_DOUBLE, .d = value->d};
    else
        scene->set_text(scene->context, scene->client, variable, value->text.text, value->text.length);
}

static const char *capture_subject(struct hurl_run *run, const struct hurl_capture *capture, char *buf, size_t size)
{
    if (run->request->names == NULL)
        return "capture";
    snprintf(buf, size, "capture %s", names_at(run->request->names, capture->variable));
    return buf;
}

/* ---- the whole ---- */

static bool judge_assert(struct hurl_run *run, const struct hurl_assert *assert)
{
    struct hurl_any value;
    return hurl_query_run(run, &assert->query, &value) && hurl_predicate_run(run, &assert->predicate, &value);
}

/* Captures go on behind the first that fails: an assert that fails is what is told then. */
static bool judge_asked(struct hurl_run *run, struct hurl_captured *captured, struct hurl_fault *ret_fault)
{
    const struct hurl_request *request = run->request;
    size_t failed = SIZE_MAX;
    char why[HURL_MESSAGE_BYTES], subject[HURL_SHOW_BYTES];
    struct hurl_place place = {0};
    bool is_too_much = false;
    for (size_t i = 0; i < request->capture_count; i++) {
        struct hurl_any value;
        if (capture_run(run, &request->captures[i], &value)) {
            captured[run->captured_count++] = (struct hurl_captured){&request->captures[i], value};
            continue;
        }
        failed = i;
        memcpy(why, run->work->why, sizeof why);
        place = run->work->place;
        is_too_much = run->work->is_too_much;
        run->work->has_failed = run->work->is_too_much = false;
        break;
    }
    for (size_t i = 0; i < request->assert_count; i++)
        if (!judge_assert(run, &request->asserts[i])) {
            run->work->place = request->asserts[i].query.place; /* the message has the whole line */
            return judge_failed(run, "ASSERT", request->asserts[i].text, ret_fault);
        }
    for (size_t i = 0; i < run->captured_count && failed == SIZE_MAX; i++) {
        if (capture_settle(run, &captured[i]))
            continue;
        failed = i;
        memcpy(why, run->work->why, sizeof why);
        place = run->work->place;
    }
    if (failed == SIZE_MAX)
        return true;
    run->work->has_failed = false;
    run->work->is_too_much = is_too_much;
    hurl_fail(run, place, "%s", why);
    return judge_failed(run, "CAPTURE", capture_subject(run, &request->captures[failed], subject, sizeof subject),
                        ret_fault);
}

bool hurl_judge(const struct hurl_request *request, const struct hurl_response *response, struct step_scene *scene,
                struct hurl_work *work, struct hurl_fault *ret_fault)
{
    struct hurl_run run = {
        .work = work, .scratch = &work->scratch, .request = request, .vars = scene->vars, .response = response};
    hurl_run_begin(&run);
    work->body_text = NULL;
    if (!judge_stated(&run, ret_fault))
        return false;
    if (request->capture_count + request->assert_count == 0)
        return true;
    struct hurl_captured *captured = hurl_scratch_take(&work->scratch, (request->capture_count + 1) * sizeof *captured);
    if (captured == NULL) {
        hurl_fail_full(&run, request->place);
        return judge_failed(&run, "CAPTURE", NULL, ret_fault);
    }
    run.captured = captured;
    if (!judge_asked(&run, captured, ret_fault))
        return false;
    for (size_t i = 0; i < run.captured_count; i++)
        capture_set(&run, scene, &captured[i]);
    return true;
}
