/* Before the load: what the scripts ask of all connections, where requests go, what each tenant adds, and the requests that
 * are the same each time. */
#include "load/drv_http_int.h"

#include <stdio.h>
#include <string.h>
#include <strings.h>

#include "base/clock.h"
#include "wire/bytes.h"

#include "base/ban.h"

/* What prepared requests may take, all workers together. */
enum { PREPARED_BYTES_MOST = 32 << 20, TEXT_BYTES_MOST = 1 << 24 };

static struct http_slice slice_of_text(const char *text)
{
    return (struct http_slice){.text = text, .length = strlen(text)};
}

static struct http_slice copy_slice(struct driver_http *http, struct http_slice slice)
{
    return (struct http_slice){.text = pl_strndup(http->arena, slice.text, slice.length), .length = slice.length};
}

static struct http_slice trimmed(struct http_slice slice)
{
    while (slice.length > 0 && (*slice.text == ' ' || *slice.text == '\t')) {
        slice.text++;
        slice.length--;
    }
    while (slice.length > 0 && (slice.text[slice.length - 1] == ' ' || slice.text[slice.length - 1] == '\t'))
        slice.length--;
    return slice;
}

static bool is_same_name(struct http_slice a, struct http_slice b)
{
    return a.length == b.length && strncasecmp(a.text, b.text, a.length) == 0;
}

/* ---- what the scripts ask of all connections ---- */

struct settled {
    const struct hurl_facts *first;
    enum hurl_version version;
    int64_t connect_timeout_ns;
};

static enum pl_code settle_error(const struct hurl_facts *facts, const char *option, struct pl_err *err)
{
    pl_err_at(err, PL_INPUT, facts->source, facts->line, 0, "the option %s is another one than that of a request before",
              option);
    pl_err_hint(err,
                "The requests of a load share their connections: say %s the same in all of them, or for the whole load.",
                option);
    return err->code;
}

static bool is_same_text(const char *a, const char *b)
{
    return a == NULL || b == NULL ? a == b : strcmp(a, b) == 0;
}

static enum pl_code settle(const struct hurl_facts *facts, const struct load_http *load, struct settled *settled,
                           struct pl_err *err)
{
    if (settled->first == NULL)
        settled->first = facts;
    if (!load->engine.insecure && facts->is_insecure != settled->first->is_insecure)
        return settle_error(facts, "insecure", err);
    if (load->engine.unix_socket == NULL && !is_same_text(facts->unix_socket, settled->first->unix_socket))
        return settle_error(facts, "unix-socket", err);
    if (facts->version != HURL_VERSION_ANY) {
        bool is_other = settled->version != HURL_VERSION_ANY && settled->version != facts->version;
        if (is_other || (load->engine.http2 && facts->version != HURL_VERSION_2) ||
            (load->engine.http1_0 && facts->version != HURL_VERSION_1_0))
            return settle_error(facts, "http1.0, http1.1 or http2", err);
        settled->version = facts->version;
    }
    if (facts->connect_timeout_ns > 0) {
        if (settled->connect_timeout_ns > 0 && settled->connect_timeout_ns != facts->connect_timeout_ns)
            return settle_error(facts, "connect-timeout", err);
        settled->connect_timeout_ns = facts->connect_timeout_ns;
    }
    return PL_OK;
}

static int share_of(int all, int worker, int workers)
{
    int share = all / workers + (worker < all % workers);
    return all > 0 && share == 0 ? 1 : share;
}

static enum pl_code engine_open(struct driver_http *http, int clients, struct pl_err *err)
{
    const struct load_spec *spec = http->setup.spec;
    struct settled settled = {.version = HURL_VERSION_ANY};
    for (int s = 0; s < spec->script_count; s++)
        for (size_t i = 0; i < spec->scripts[s].program->step_count; i++) {
            const struct step *step = &spec->scripts[s].program->steps[i];
            if (step->kind == STEP_HTTP && settle(hurl_request_facts(step->http), http->load, &settled, err) != PL_OK)
                return err->code;
        }
    struct http_spec engine = http->load->engine;
    engine.clients = clients;
    engine.connections = share_of(engine.connections, http->setup.worker, http->setup.workers);
    engine.http2 |= settled.version == HURL_VERSION_2;
    engine.http1_0 |= settled.version == HURL_VERSION_1_0;
    if (settled.connect_timeout_ns > 0)
        engine.connect_timeout_ns = settled.connect_timeout_ns;
    if (settled.first != NULL) {
        engine.insecure |= settled.first->is_insecure;
        if (engine.unix_socket == NULL)
            engine.unix_socket = settled.first->unix_socket;
    }
    http->is_http2 = engine.http2;
    enum pl_code code = http_engine_new(&engine, http->setup.stop, &http->engine, err);
    if (code == PL_OK) {
        http->counting = &http->warm_up;
        http_count_into(http->engine, http->counting);
    }
    return code;
}

/* ---- bases: the load's, or each tenant's ---- */

static void default_add(struct http_base *base, struct http_slice name, struct http_slice value)
{
    for (size_t i = 0; i < base->default_count; i++)
        if (is_same_name(base->defaults[i].name, name))
            return;
    base->defaults[base->default_count++] = (struct http_header){.name = name, .value = value};
}

static void default_add_user(struct driver_http *http, struct http_base *base, struct http_slice user, bool is_encoded)
{
    struct pl_buf basic;
    pl_buf_init(&basic, 2 * user.length + 64);
    driver_http_put_basic(user, is_encoded, &basic);
    default_add(base, slice_of_text("Authorization"),
                copy_slice(http, (struct http_slice){.text = basic.data, .length = basic.len}));
    pl_buf_release(&basic);
}

static bool has_control(struct http_slice value)
{
    if (wire_has_below(value.text, value.length, ' '))
        for (size_t i = 0; i < value.length; i++)
            if ((uint8_t)value.text[i] < ' ' && value.text[i] != '\t')
                return true;
    return false;
}

static bool is_token(struct http_slice name)
{
    return name.length > 0 && !wire_has_below(name.text, name.length, ' ' + 1) &&
           memchr(name.text, ':', name.length) == NULL;
}

/* NULL, or what is wrong with the URL. */
static const char *base_take_url(struct driver_http *http, struct http_base *base, struct http_slice url,
                                 struct http_slice *ret_user)
{
    struct uri uri;
    size_t at;
    const char *wrong = uri_parse(url.text, url.length, &uri, &at);
    if (wrong != NULL)
        return wrong;
    if (memchr(uri.path, '?', uri.path_length) != NULL)
        return "a query, which no path can follow";
    int origin = driver_http_origin(http, &uri);
    if (origin < 0)
        return "a host's name that is too long, or it is one server more than can be told apart";
    while (uri.path_length > 0 && uri.path[uri.path_length - 1] == '/')
        uri.path_length--;
    base->has_url = true;
    base->is_tls = uri.is_tls;
    base->origin = origin;
    base->authority = (struct http_slice){.text = uri.authority, .length = uri.authority_length};
    base->prefix = (struct http_slice){.text = uri.path, .length = uri.path_length};
    if (uri.user != NULL)
        *ret_user = (struct http_slice){.text = uri.user, .length = uri.user_length};
    return NULL;
}

/* What is the load's: behind what the tenant has. user: of the load's base URL. */
static enum pl_code base_take_load(struct driver_http *http, struct http_base *base, struct http_slice user,
                                   struct pl_err *err)
{
    const struct load_http *load = http->load;
    for (size_t i = 0; load->headers != NULL && load->headers[i] != NULL; i++) {
        const char *line = load->headers[i], *colon = strchr(line, ':');
        struct http_slice name = {.text = line, .length = colon == NULL ? 0 : (size_t)(colon - line)};
        struct http_slice value = colon == NULL ? name : trimmed(slice_of_text(colon + 1));
        if (!is_token(name) || has_control(value)) {
            pl_err_set(err, PL_INPUT, "header %zu of the load is none", i + 1);
            pl_err_hint(err, "A header is written \"Name: value\", in one line.");
            return err->code;
        }
        default_add(base, name, value);
    }
    if (load->credentials != NULL)
        default_add_user(http, base, slice_of_text(load->credentials), false);
    if (user.text != NULL)
        default_add_user(http, base, user, true);
    default_add(base, slice_of_text("User-Agent"), slice_of_text("plimsoll/" PLIMSOLL_VERSION));
    default_add(base, slice_of_text("Accept"), slice_of_text("*/*"));
    return PL_OK;
}

struct tenant_columns {
    int url, host, user;
    int *headers; /* columns "header.NAME" */
    size_t header_count;
};

static void columns_find(struct driver_http *http, const struct feed *feed, struct tenant_columns *columns)
{
    columns->url = feed_column(feed, "url");
    columns->host = feed_column(feed, "host");
    columns->user = feed_column(feed, "user");
    columns->headers = pl_alloc(http->arena, feed->column_count, sizeof *columns->headers);
    for (size_t c = 0; c < feed->column_count; c++)
        if (strncmp(feed->columns[c].name, "header.", 7) == 0)
            columns->headers[columns->header_count++] = (int)c;
}

/* The text of a cell; length 0: nothing is said. */
static struct http_slice cell_text(struct driver_http *http, const struct feed *feed, size_t row, int column)
{
    if (column < 0)
        return (struct http_slice){.text = ""};
    const struct value *value = &feed->cells[row * feed->column_count + (size_t)column];
    if (value->type == VALUE_UNSET || value->type == VALUE_NULL)
        return (struct http_slice){.text = ""};
    if (value->type == VALUE_TEXT)
        return (struct http_slice){.text = value->text, .length = value->length};
    char text[VALUE_TEXT_BYTES];
    return copy_slice(http, (struct http_slice){.text = text, .length = value_text(value, text)});
}

static enum pl_code tenant_error(const struct feed *feed, size_t row, const char *column, const char *wrong,
                                 struct pl_err *err)
{
    return pl_err_set(err, PL_INPUT, "%s: tenant %zu, %s: %s", feed->name, row + 1, column, wrong);
}

static enum pl_code base_take_tenant(struct driver_http *http, struct http_base *base, const struct feed *feed, size_t row,
                                     const struct tenant_columns *columns, struct pl_err *err)
{
    struct http_slice url = cell_text(http, feed, row, columns->url), url_user = {.text = NULL};
    if (url.length > 0) {
        const char *wrong = base_take_url(http, base, url, &url_user);
        if (wrong != NULL)
            return tenant_error(feed, row, "url", wrong, err);
    }
    struct http_slice host = cell_text(http, feed, row, columns->host);
    if (host.length > 0) {
        if (wire_has_below(host.text, host.length, ' ' + 1))
            return tenant_error(feed, row, "host", "a blank or control character", err);
        base->said_host = host;
    }
    for (size_t i = 0; i < columns->header_count; i++) {
        const char *name = feed->columns[columns->headers[i]].name;
        struct http_slice value = trimmed(cell_text(http, feed, row, columns->headers[i]));
        if (!is_token(slice_of_text(name + 7)) || has_control(value))
            return tenant_error(feed, row, name, "a control character, or no header's name", err);
        if (value.length > 0)
            default_add(base, slice_of_text(name + 7), value);
    }
    struct http_slice user = cell_text(http, feed, row, columns->user);
    if (user.length > 0)
        default_add_user(http, base, user, false);
    if (url_user.text != NULL)
        default_add_user(http, base, url_user, true);
    return PL_OK;
}

static enum pl_code bases_open(struct driver_http *http, struct pl_err *err)
{
    const struct load_http *load = http->load;
    const struct feed *tenants = http->setup.spec->tenants;
    struct http_base base = {.has_url = false};
    struct http_slice user = {.text = NULL};
    if (load->base_url != NULL) {
        const char *wrong = base_take_url(http, &base, slice_of_text(load->base_url), &user);
        if (wrong != NULL)
            return pl_err_set(err, PL_INPUT, "the base URL has %s", wrong);
    }
    size_t most = 4;
    while (load->headers != NULL && load->headers[most - 4] != NULL)
        most++;
    struct tenant_columns columns = {.url = -1};
    if (tenants != NULL) {
        columns_find(http, tenants, &columns);
        most += columns.header_count + 2;
    }
    http->base_count = tenants == NULL ? 1 : tenants->row_count;
    http->bases = pl_alloc(http->arena, http->base_count, sizeof *http->bases);
    struct http_header *defaults = pl_alloc(http->arena, http->base_count * most, sizeof *defaults);
    for (size_t b = 0; b < http->base_count; b++) {
        http->bases[b] = base;
        http->bases[b].defaults = defaults + b * most;
        if (tenants != NULL && base_take_tenant(http, &http->bases[b], tenants, b, &columns, err) != PL_OK)
            return err->code;
        if (*http->setup.stop != 0)
            return pl_err_set(err, PL_INTERRUPTED, "stopped");
        bool is_own = !http->bases[b].has_url || http->bases[b].authority.text == base.authority.text;
        if (base_take_load(http, &http->bases[b], is_own ? user : (struct http_slice){.text = NULL}, err) != PL_OK)
            return err->code;
    }
    return PL_OK;
}

/* ---- requests that are the same each time ---- */

static struct hurl_slice keep_text(struct driver_http *http, struct hurl_slice slice)
{
    return (struct hurl_slice){.text = pl_strndup(http->arena, slice.text == NULL ? "" : slice.text, slice.length),
                               .length = slice.length};
}

static enum pl_code message_open(struct driver_http *http, struct http_entry *entry, struct pl_err *err)
{
    struct hurl_message *message = &entry->message;
    const char *wrong = hurl_render(entry->hurl, http->setup.capture->vars, http->work, message);
    if (wrong != NULL)
        return pl_err_set(err, PL_INPUT, "%s", wrong);
    message->url = keep_text(http, message->url);
    message->cookies = keep_text(http, message->cookies);
    if (message->has_body && !message->is_body_lasting)
        message->body = keep_text(http, message->body);
    struct hurl_header *headers = pl_alloc(http->arena, message->header_count + 1, sizeof *headers);
    for (size_t i = 0; i < message->header_count; i++) {
        headers[i].name = keep_text(http, message->headers[i].name);
        headers[i].value = keep_text(http, message->headers[i].value);
    }
    message->headers = headers;
    return PL_OK;
}

/* What a request that was just built needs to stand for as long as the driver. Returns about how much that takes. */
static size_t prepared_keep(struct driver_http *http, const struct http_client *client, struct http_request *request,
                            struct http_prepared *prepared)
{
    struct http_header *headers = pl_alloc(http->arena, request->header_count + 1, sizeof *headers);
    for (size_t i = 0; i < request->header_count; i++) {
        headers[i] = request->headers[i];
        if (headers[i].value.text == http->cookies.data || headers[i].value.text == http->authorization.data)
            headers[i].value = copy_slice(http, headers[i].value);
    }
    request->headers = headers;
    request->target = copy_slice(http, request->target);
    prepared->url = copy_slice(http, (struct http_slice){.text = client->url.data, .length = client->url.len});
    if (!http->is_http2) {
        struct pl_buf wire;
        pl_buf_init(&wire, PREPARED_BYTES_MOST);
        http_prepare(http->engine, request, &wire);
        if (!wire.full)
            request->wire = copy_slice(http, (struct http_slice){.text = wire.data, .length = wire.len});
        pl_buf_release(&wire);
    }
    prepared->request = *request;
    return sizeof *prepared + request->header_count * sizeof *headers + request->target.length + prepared->url.length +
           request->wire.length;
}

static enum pl_code entry_prepare(struct driver_http *http, struct http_entry *entry, size_t *left, struct pl_err *err)
{
    struct http_client client = {.entry = entry};
    pl_buf_init(&client.url, PREPARED_BYTES_MOST);
    enum pl_code code = PL_OK;
    for (size_t b = 0; b < http->base_count && code == PL_OK; b++) {
        struct http_request request;
        client.base = (uint32_t)b;
        const char *wrong = driver_http_first(http, &client, &request);
        if (wrong != NULL) {
            code = pl_err_set(err, PL_INPUT, "%s", wrong);
            break;
        }
        if (b == 0) {
            struct http_prepared first;
            size_t bytes = prepared_keep(http, &client, &request, &first);
            if (bytes > *left / http->base_count)
                break;
            *left -= bytes * http->base_count;
            entry->prepared = pl_alloc(http->arena, http->base_count, sizeof *entry->prepared);
            entry->prepared[0] = first;
        } else {
            prepared_keep(http, &client, &request, &entry->prepared[b]);
        }
    }
    pl_buf_release(&client.url);
    return code;
}

static enum pl_code entry_open(struct driver_http *http, struct http_entry *entry, const struct step *step, size_t *left,
                               struct pl_err *err)
{
    const struct load_http *load = http->load;
    entry->hurl = step->http;
    entry->facts = hurl_request_facts(step->http);
    entry->follows = load->follows || entry->facts->follows;
    entry->asks_gzip = load->compressed || entry->facts->decodes;
    entry->max_time_ns = entry->facts->max_time_ns > 0 ? entry->facts->max_time_ns
                         : load->max_time_ns > 0       ? load->max_time_ns
                                                       : 30 * PL_NS_PER_S;
    if (!entry->facts->is_constant)
        return PL_OK;
    if (message_open(http, entry, err) != PL_OK)
        return err->code;
    return entry_prepare(http, entry, left, err);
}

static enum pl_code entries_open(struct driver_http *http, struct pl_err *err)
{
    const struct load_spec *spec = http->setup.spec;
    http->first_entry = pl_alloc(http->arena, (size_t)spec->script_count, sizeof *http->first_entry);
    for (int s = 0; s < spec->script_count; s++) {
        http->first_entry[s] = http->entry_count;
        http->entry_count += spec->scripts[s].program->io_step_count;
    }
    http->entries = pl_alloc(http->arena, http->entry_count + 1, sizeof *http->entries);
    for (size_t i = 0; i < http->entry_count; i++)
        pl_buf_init(&http->entries[i].last_authority, TEXT_BYTES_MOST);
    size_t left = PREPARED_BYTES_MOST / (size_t)http->setup.workers;
    for (int s = 0; s < spec->script_count; s++)
        for (size_t i = 0; i < spec->scripts[s].program->step_count; i++) {
            const struct step *step = &spec->scripts[s].program->steps[i];
            if (step->kind == STEP_HTTP &&
                entry_open(http, &http->entries[http->first_entry[s] + (size_t)step->io_index], step, &left, err) != PL_OK)
                return err->code;
        }
    return PL_OK;
}

enum pl_code driver_http_open(struct driver_http *http, int clients, struct pl_err *err)
{
    struct pl_buf *bufs[] = {&http->path, &http->cookies, &http->authorization, &http->location, &http->why};
    for (size_t i = 0; i < sizeof bufs / sizeof bufs[0]; i++)
        pl_buf_init(bufs[i], TEXT_BYTES_MOST);
    http->client_count = clients;
    http->clients = pl_new((size_t)clients, sizeof *http->clients);
    for (int c = 0; c < clients; c++)
        pl_buf_init(&http->clients[c].url, TEXT_BYTES_MOST);
    http->told = pl_new((size_t)clients, sizeof *http->told);
    http->texts = pl_new(HTTP_TEXTS, sizeof *http->texts);
    if (engine_open(http, clients, err) != PL_OK || bases_open(http, err) != PL_OK || entries_open(http, err) != PL_OK)
        return err->code;
    return PL_OK;
}
