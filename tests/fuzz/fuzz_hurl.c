/* Any bytes are either refused with a place or become a program that can be run: its calls jump inside it, its requests
 * render whatever the variables hold, and whatever answers is judged without harm. The first byte chooses what the
 * variables hold; what follows the first NUL is the body of the answers. */
#include <assert.h>
#include <string.h>

#include "hurl/hurl.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

enum { STEPS_MOST = 300 };

struct client {
    struct pl_arena *arena;
    struct value *vars;
};

static void set_text(void *context, uint32_t index, int variable, const char *text, size_t length)
{
    struct client *client = context;
    assert(index == 0);
    client->vars[variable] = text == NULL ? (struct value){.type = VALUE_NULL}
                                          : (struct value){.type = VALUE_TEXT,
                                                           .length = (uint32_t)length,
                                                           .text = pl_strndup(client->arena, text, length)};
}

static void fill(struct value *vars, size_t count, unsigned what)
{
    static const char *const texts[] = {
        "1",   "null",     "true", "-9223372036854775809", "a b&c=\"d\"\r\n", "", "[1,{\"a\":2}]", "(",
        "$.a", "\xc3\xa9", "\xff", "http://h/?q=1"};
    for (size_t i = 0; i < count; i++) {
        const char *text = texts[(i + what) % (sizeof texts / sizeof texts[0])];
        struct value values[] = {{.type = VALUE_INT, .i = (int64_t)i - 1},
                                 {.type = VALUE_TEXT, .length = (uint32_t)strlen(text), .text = text},
                                 {.type = VALUE_UNSET},
                                 {.type = VALUE_DOUBLE, .d = (double)i * 1e17},
                                 {.type = VALUE_NULL},
                                 {.type = VALUE_BOOL, .b = i % 2}};
        vars[i] = values[what % 8 < 6 ? what % 8 : (i + what) % 6];
    }
}

static void check_slice(struct hurl_slice slice)
{
    unsigned sum = 0;
    for (size_t i = 0; i < slice.length; i++)
        sum += (unsigned char)slice.text[i];
    assert(sum <= slice.length * 255);
}

static void check_message(const struct hurl_message *message)
{
    check_slice(message->method);
    check_slice(message->url);
    check_slice(message->body);
    check_slice(message->cookies);
    assert(message->method.length > 0);
    for (size_t i = 0; i < message->header_count; i++) {
        const struct hurl_header *header = &message->headers[i];
        assert(header->name.length == 0 || memchr(header->name.text, '\n', header->name.length) == NULL);
        assert(header->value.length == 0 || memchr(header->value.text, '\n', header->value.length) == NULL);
    }
}

/* The request as a driver does it; true: it has failed. */
static bool request_fails(const struct step *step, struct step_scene *scene, struct hurl_work *work, struct hurl_slice body)
{
    static const struct hurl_header headers[] = {
        {{"Content-Type", 12}, {"application/json; charset=iso-8859-1", 36}},
        {{"Set-Cookie", 10}, {"id=1; Path=/; Max-Age=5; Expires=Wed, 13 Jan 2031 22:23:01 GMT; SameSite=Lax", 77}},
        {{"Location", 8}, {"http://h/x?q=1", 14}}};
    struct hurl_message message;
    struct hurl_fault fault;
    if (hurl_render(step->http, scene->vars, work, &message) != NULL)
        return true;
    check_message(&message);
    const struct hurl_response response = {.status = 200,
                                           .version = 11,
                                           .headers = headers,
                                           .header_count = sizeof headers / sizeof headers[0],
                                           .body = body,
                                           .raw_bytes = (int64_t)(body.length + body.length % 3),
                                           .body_bytes = (int64_t)body.length,
                                           .duration_ns = 1234567,
                                           .url = message.url,
                                           .ip = {"127.0.0.1", 9},
                                           .redirect_count = 1};
    if (hurl_judge(step->http, &response, scene, work, &fault))
        return false;
    assert(memchr(fault.code, '\0', sizeof fault.code) != NULL && strlen(fault.text) > 0);
    return true;
}

static void run(const struct program *program, struct client *client, struct hurl_slice body)
{
    struct pl_rng rng;
    pl_rng_init(&rng, 1, PL_RNG_SCRIPT, 0);
    struct step_scene scene = {.vars = client->vars, .rng = &rng, .set_text = set_text, .context = client};
    struct hurl_work *work = hurl_work_new();
    size_t at = 0;
    for (int count = 0; at < program->step_count && count < STEPS_MOST; count++) {
        const struct step *step = &program->steps[at++];
        const char *wrong = NULL;
        bool goes_on = true;
        int64_t ns = 0;
        if (step->kind == STEP_HTTP) {
            if (request_fails(step, &scene, work, body) && step->call != NULL)
                wrong = step->call(step, &scene, &goes_on);
        } else if (step->kind == STEP_SLEEP) {
            wrong = program_sleep_ns(program, step, client->vars, &ns);
            assert(wrong != NULL || ns >= 0);
        } else {
            assert(step->kind == STEP_CALL);
            wrong = step->call(step, &scene, &goes_on);
        }
        if (wrong == NULL && !goes_on)
            at = step->target;
        assert(at <= program->step_count);
    }
    hurl_work_free(work);
}

static void check_program(const struct program *program)
{
    int io = 0;
    for (size_t i = 0; i < program->step_count; i++) {
        const struct step *step = &program->steps[i];
        bool is_request = step->kind == STEP_HTTP;
        assert(step->io_index == (is_request ? io : -1) && step->number == step->io_index);
        assert(is_request == (step->text != NULL) && step->line >= 1 && step->target <= program->step_count);
        assert(!is_request || hurl_request_facts(step->http)->line == step->line);
        io += is_request;
    }
    assert(io > 0 && (size_t)io == program->io_step_count && (size_t)io == program->command_count);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    if (size == 0)
        return 0;
    const char *text = (const char *)data + 1, *nul = memchr(text, '\0', size - 1);
    size_t length = nul != NULL ? (size_t)(nul - text) : size - 1;
    struct hurl_slice body = {.text = nul != NULL ? nul + 1 : "{\"a\": [1, \"x\"]}", .length = 15};
    if (nul != NULL)
        body.length = size - 2 - length;
    struct pl_arena *arena = pl_arena_new();
    struct names *names = names_new(arena);
    struct program *program = NULL;
    struct pl_err err = {0};
    static const char *const given[] = {"host", "user", "password", "count", "flag", "tenant"};
    for (size_t i = 0; i < sizeof given / sizeof given[0]; i++)
        names_predefine(names, given[i]);
    if (hurl_compile("fuzz.hurl", text, length, "/nonexistent", names, arena, &program, &err) == PL_OK) {
        struct client client = {.arena = arena, .vars = pl_alloc(arena, names_count(names) + 1, sizeof *client.vars)};
        check_program(program);
        fill(client.vars, names_count(names), data[0]);
        run(program, &client, body);
    } else {
        assert(err.code != PL_OK && err.what[0] != '\0' && (err.line == 0 || err.hint[0] != '\0'));
    }
    pl_arena_free(arena);
    return 0;
}
