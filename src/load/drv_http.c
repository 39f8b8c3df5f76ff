/* HTTP: carries STEP_HTTP out. A step is a request and its answer, and those of the redirects that are followed. What goes
 * wrong fails the step, never the client. */
#include "load/drv_http_int.h"

#include <assert.h>
#include <stdio.h>
#include <string.h>

#include "base/clock.h"
#include "load/recorder_int.h"

#include "base/ban.h"

static uint32_t client_index(const struct driver_http *http, const struct http_client *client)
{
    return (uint32_t)(client - http->clients);
}

static const char *http_event_loop_name(const struct driver *driver)
{
    const struct driver_http *http = (const struct driver_http *)driver;
    return http_engine_loop(http->engine);
}

static int64_t now(struct driver *driver)
{
    (void)driver;
    return pl_clock_ns();
}

/* ---- beginning a step ---- */

static struct http_entry *entry_of(struct driver_http *http, const struct program *program, const struct step *step)
{
    int script = 0;
    while (http->setup.spec->scripts[script].program != program)
        script++;
    return &http->entries[http->first_entry[script] + (size_t)step->io_index];
}

/* A client is of another tenant from one operation to the next; no tenant sees the cookies of another one. */
static void take_tenant(struct driver_http *http, struct http_client *client)
{
    if (http->setup.tenant_of == NULL)
        return;
    uint32_t tenant = http->setup.tenant_of[client_index(http, client)];
    if (tenant != client->last_tenant)
        http_jar_clear(&client->jar);
    client->base = client->last_tenant = tenant;
}

static int64_t begin(struct driver_http *http, struct http_client *client, const struct http_request *request)
{
    client->begun_ns = http_submit(http->engine, client_index(http, client), request);
    if (__builtin_add_overflow(client->begun_ns, client->entry->max_time_ns, &client->deadline_ns))
        client->deadline_ns = INT64_MAX;
    return client->begun_ns;
}

static int64_t submit(struct driver *driver, uint32_t index, const struct program *program, const struct step *step,
                      const struct value *vars)
{
    struct driver_http *http = driver_http_of(driver);
    struct http_client *client = &http->clients[index];
    assert(client->entry == NULL && step->kind == STEP_HTTP);
    client->entry = entry_of(http, program, step);
    client->vars = vars;
    client->sent_ns = 0;
    take_tenant(http, client);
    if (client->entry->prepared != NULL && client->jar.count == 0) {
        client->prepared = &client->entry->prepared[client->base];
        client->message = &client->entry->message;
        client->origin = client->prepared->request.origin;
        client->redirects = 0;
        client->is_get = client->is_elsewhere = false;
        return begin(http, client, &client->prepared->request);
    }
    struct http_request request;
    if (driver_http_first(http, client, &request) == NULL)
        return begin(http, client, &request);
    http->told[http->told_count++] = index;
    return pl_clock_ns();
}

/* ---- reporting ---- */

/* The end of the client's step. text: NULL when the outcome is OK; copied. */
static struct driver_done *report(struct driver_http *http, struct http_client *client, enum driver_outcome outcome,
                                  int64_t done_ns, const char *code, const char *text)
{
    if (http->last_ns < done_ns)
        http->last_ns = done_ns;
    struct driver_done *done = &http->done[http->done_count++];
    done->client = client_index(http, client);
    done->outcome = outcome;
    done->is_script_fault = false;
    done->fault_step = NULL;
    done->done_ns = http->last_ns;
    done->sent_ns = client->sent_ns == 0 ? -1 : client->sent_ns;
    done->text = NULL;
    client->entry = NULL;
    if (outcome != DRIVER_OK) {
        char *copy = http->texts[http->text_count++];
        recorder_text(copy, LOAD_NOTICE_TEXT_BYTES, text);
        done->text = copy;
        recorder_text(done->code, sizeof done->code, code);
    }
    return done;
}

/* Of a step that was not sent: it is rendered once more for what was wrong with it, as a text of each client would have to
 * be kept until now. */
static void told_report(struct driver_http *http, struct http_client *client)
{
    struct http_request request;
    const char *wrong = driver_http_first(http, client, &request);
    if (wrong == NULL) {
        begin(http, client, &request);
        return;
    }
    client->sent_ns = -1;
    report(http, client, DRIVER_ERROR, pl_clock_ns(), "SCRIPT", wrong)->is_script_fault = true;
}

/* ---- answers ---- */

static void take_cookies(struct driver_http *http, struct http_client *client, const struct http_response *response)
{
    struct http_slice url = driver_http_url(client);
    struct uri uri = {.user = NULL};
    for (size_t i = 0; i < response->header_count; i++) {
        if (!driver_http_is_named(response->headers[i].name, "set-cookie"))
            continue;
        size_t at;
        if (uri.host == NULL && uri_parse(url.text, url.length, &uri, &at) != NULL)
            return;
        struct http_slice said =
            driver_http_said_host(http, client, (struct http_slice){.text = uri.authority, .length = uri.authority_length});
        http_jar_set(&client->jar, response->headers[i].value, driver_http_cookie_host(said),
                     (struct http_slice){.text = uri.path, .length = uri.path_length}, pl_clock_unix_ns() / PL_NS_PER_S);
    }
}

static const struct http_slice *redirect_of(const struct http_entry *entry, const struct http_response *response)
{
    int status = response->status;
    if (!entry->follows || status < 301 || status > 308 || (status > 303 && status < 307))
        return NULL;
    for (size_t i = 0; i < response->header_count; i++)
        if (driver_http_is_named(response->headers[i].name, "location"))
            return &response->headers[i].value;
    return NULL;
}

static void follow(struct driver_http *http, struct http_client *client, const struct http_end *end,
                   const struct http_slice *location)
{
    int most = client->entry->facts->max_redirects;
    if (most >= 0 && client->redirects >= most) {
        report(http, client, DRIVER_ERROR, end->done_ns, "head:REDIRECTS", "more redirects than may be followed");
        return;
    }
    struct http_request request;
    const char *wrong = driver_http_next(http, client, end->response->status, *location, &request);
    if (wrong != NULL) {
        report(http, client, DRIVER_ERROR, end->done_ns, "head:LOCATION", wrong);
        return;
    }
    request.timeout_ns = client->deadline_ns == INT64_MAX ? INT64_MAX : client->deadline_ns - end->done_ns;
    if (request.timeout_ns <= 0) {
        report(http, client, DRIVER_EXPIRED, end->done_ns, "head:EXPIRED", "the time was over with a redirect to follow");
        return;
    }
    client->redirects++;
    http->redirects++;
    http_submit(http->engine, client_index(http, client), &request);
}

static void put_certificate(const struct driver_http *http, const struct http_client *client,
                            struct http_certificate *certificate, struct hurl_response *response)
{
    http_certificate(http->engine, client_index(http, client), certificate);
    response->certificate_subject = (struct hurl_slice){certificate->subject, strlen(certificate->subject)};
    response->certificate_issuer = (struct hurl_slice){certificate->issuer, strlen(certificate->issuer)};
    response->certificate_serial = (struct hurl_slice){certificate->serial, strlen(certificate->serial)};
    response->certificate_start_unix_s = certificate->start_unix_s;
    response->certificate_expire_unix_s = certificate->expire_unix_s;
}

static void judge(struct driver_http *http, struct http_client *client, const struct http_end *end)
{
    const struct http_response *from = end->response;
    const struct http_entry *entry = client->entry;
    for (size_t i = 0; i < from->header_count; i++) {
        http->judged[i].name = hurl_slice_of(from->headers[i].name);
        http->judged[i].value = hurl_slice_of(from->headers[i].value);
    }
    struct hurl_response response = {.status = from->status,
                                     .version = from->version,
                                     .headers = http->judged,
                                     .header_count = from->header_count,
                                     .body = hurl_slice_of(from->body),
                                     .raw_bytes = from->raw_bytes,
                                     .body_bytes = from->body_bytes,
                                     .duration_ns = end->done_ns - client->begun_ns,
                                     .url = hurl_slice_of(driver_http_url(client)),
                                     .ip = hurl_slice_of(from->ip),
                                     .redirect_count = client->redirects};
    struct http_certificate certificate;
    if (entry->facts->reads_certificate && from->is_tls)
        put_certificate(http, client, &certificate, &response);
    uint32_t index = client_index(http, client);
    struct capture *capture = http->setup.capture;
    struct step_scene scene = {.vars = capture->vars + index * capture->variable_count,
                               .rng = &http->rng,
                               .client = index,
                               .set_text = capture_set_text,
                               .context = capture};
    struct hurl_fault fault;
    if (hurl_judge(entry->hurl, &response, &scene, http->work, &fault))
        report(http, client, DRIVER_OK, end->done_ns, NULL, NULL);
    else
        report(http, client, DRIVER_ERROR, end->done_ns, fault.code, fault.text);
}

static void on_end(void *context, const struct http_end *end)
{
    struct driver_http *http = context;
    struct http_client *client = &http->clients[end->client];
    if (client->sent_ns == 0)
        client->sent_ns = end->sent_ns == 0 ? -1 : end->sent_ns;
    if (end->outcome != HTTP_ANSWERED) {
        bool is_expired = end->outcome == HTTP_EXPIRED;
        report(http, client, is_expired ? DRIVER_EXPIRED : DRIVER_ERROR, end->done_ns, end->code, end->text);
        return;
    }
    if (!http->load->no_cookies)
        take_cookies(http, client, end->response);
    const struct http_slice *location = redirect_of(client->entry, end->response);
    if (location != NULL)
        follow(http, client, end, location);
    else
        judge(http, client, end);
}

static int wait_for_ends(struct driver *driver, int64_t until_ns, struct driver_done *done, int capacity)
{
    struct driver_http *http = driver_http_of(driver);
    http->done = done;
    http->done_count = http->text_count = 0;
    int most = capacity < HTTP_TEXTS ? capacity : HTTP_TEXTS;
    while (http->told_count > 0 && http->done_count < most)
        told_report(http, &http->clients[http->told[--http->told_count]]);
    if (http->done_count < most)
        http_wait(http->engine, http->done_count > 0 ? 0 : until_ns, most - http->done_count, on_end, http);
    return http->done_count;
}

/* ---- between steps ---- */

static void told_remove(struct driver_http *http, uint32_t index)
{
    int kept = 0;
    for (int i = 0; i < http->told_count; i++)
        if (http->told[i] != index)
            http->told[kept++] = http->told[i];
    http->told_count = kept;
}

static void disconnect(struct driver *driver, uint32_t index)
{
    struct driver_http *http = driver_http_of(driver);
    told_remove(http, index);
    http_forget(http->engine, index);
    http->clients[index].entry = NULL;
}

static void forget(struct driver *driver, uint32_t index)
{
    disconnect(driver, index);
    http_jar_clear(&driver_http_of(driver)->clients[index].jar);
}

static void measure(struct driver *driver)
{
    struct driver_http *http = driver_http_of(driver);
    http->counting = &http->measured;
    http_count_into(http->engine, http->counting);
}

/* ---- the end ---- */

/* All workers know mostly the same addresses, in the same order. */
static size_t find_address(const struct load_http_result *into, size_t guess, const char *text)
{
    if (guess < into->address_count && strcmp(into->addresses[guess].text, text) == 0)
        return guess;
    size_t at = 0;
    while (at < into->address_count && strcmp(into->addresses[at].text, text) != 0)
        at++;
    return at;
}

static void gather(struct driver *driver, struct load_http_result *into)
{
    struct driver_http *http = driver_http_of(driver);
    http_count_into(http->engine, http->counting); /* closes its books on the connections that are open */
    http_stats_add(&into->warm_up, &http->warm_up);
    http_stats_add(&into->measured, &http->measured);
    into->redirects += http->redirects;
    size_t count = 0;
    struct http_address address;
    while (http_engine_address(http->engine, count, &address))
        count++;
    struct http_address *addresses = pl_new(into->address_count + count + 1, sizeof *addresses);
    if (into->address_count > 0)
        memcpy(addresses, into->addresses, into->address_count * sizeof *addresses);
    pl_free(into->addresses);
    into->addresses = addresses;
    for (size_t i = 0; i < count && http_engine_address(http->engine, i, &address); i++) {
        size_t at = find_address(into, i, address.text);
        if (at == into->address_count) {
            addresses[into->address_count++] = address;
            continue;
        }
        addresses[at].opened += address.opened;
        addresses[at].failed += address.failed;
    }
}

static enum pl_code open_all(struct driver *driver, int clients, struct pl_err *err)
{
    return driver_http_open(driver_http_of(driver), clients, err);
}

static void close_all(struct driver *driver)
{
    struct driver_http *http = driver_http_of(driver);
    http_engine_free(http->engine);
    for (int c = 0; c < http->client_count; c++) {
        struct http_client *client = &http->clients[c];
        http_jar_release(&client->jar);
        pl_buf_release(&client->url);
        pl_free(client->kept);
        pl_free(client->kept_headers);
    }
    pl_free(http->clients);
    for (size_t i = 0; i < http->entry_count; i++)
        pl_buf_release(&http->entries[i].last_authority);
    struct pl_buf *bufs[] = {&http->path, &http->cookies, &http->authorization, &http->location, &http->why};
    for (size_t i = 0; i < sizeof bufs / sizeof bufs[0]; i++)
        pl_buf_release(bufs[i]);
    pl_free(http->told);
    pl_free(http->texts);
    pl_free(http->headers);
    hurl_work_free(http->work);
    http_stats_release(&http->warm_up);
    http_stats_release(&http->measured);
    pl_arena_free(http->arena);
    pl_free(http);
}

static const struct driver_ops http_ops = {
    .name = "http",
    .event_loop = http_event_loop_name,
    .open = open_all,
    .close = close_all,
    .now = now,
    .submit = submit,
    .wait = wait_for_ends,
    .disconnect = disconnect,
    .forget = forget,
    .measure = measure,
    .gather = gather,
};

struct driver *driver_http_new(const struct driver_setup *setup)
{
    struct driver_http *http = pl_new(1, sizeof *http);
    http->base.ops = &http_ops;
    http->setup = *setup;
    http->load = setup->spec->http;
    http->arena = pl_arena_new();
    http->work = hurl_work_new();
    http_stats_init(&http->warm_up);
    http_stats_init(&http->measured);
    pl_rng_init(&http->rng, setup->spec->seed, PL_RNG_SCRIPT, UINT64_MAX - (uint64_t)setup->worker);
    return &http->base;
}
