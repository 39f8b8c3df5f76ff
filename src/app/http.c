/* HTTP as a plan asks for it: options of the service and of the stage as the load engine takes them, and whether this
 * machine can open so many connections. */
#include <stdlib.h>
#include <string.h>

#include "app/conduct_int.h"
#include "base/buf.h"
#include "wire/uri.h"

#include "base/ban.h"

static bool choice(int64_t stage, bool service)
{
    return stage == PLAN_AS_SERVICE ? service : stage == PLAN_YES;
}

static int hex_digit(char c)
{
    return c >= '0' && c <= '9' ? c - '0' : c >= 'a' && c <= 'f' ? c - 'a' + 10 : c >= 'A' && c <= 'F' ? c - 'A' + 10 : -1;
}

/* "us%40er:p%3aw" without its escapes. */
static const char *unescaped(const char *text, size_t length, struct pl_arena *arena)
{
    char *out = pl_alloc(arena, length + 1, 1), *to = out;
    for (size_t i = 0; i < length; i++) {
        int high = text[i] == '%' && i + 2 < length + 0 ? hex_digit(text[i + 1]) : -1;
        int low = high >= 0 ? hex_digit(text[i + 2]) : -1;
        if (low >= 0)
            i += 2;
        *to++ = low >= 0 ? (char)(high * 16 + low) : text[i];
    }
    *to = '\0';
    return out;
}

enum pl_code conduct_http(const struct plan_service *service, const struct plan_params *params, struct pl_arena *arena,
                          struct load_http *ret_http, struct pl_err *err)
{
    const struct plan_http *plan = &service->http;
    struct uri uri;
    size_t at = 0;
    const char *wrong = uri_parse(service->url, strlen(service->url), &uri, &at);
    if (wrong != NULL)
        return pl_err_set(err, PL_INPUT, "the URL of service \"%s\" is wrong: %s", service->name, wrong);
    bool http2 = choice(params->http2, plan->http2);
    int64_t connections = params->connections > 0 ? params->connections : plan->connections;
    int64_t streams = params->streams > 0 ? params->streams : plan->streams;
    *ret_http =
        (struct load_http){.engine = {.connections = (int)connections,
                                      .http2 = http2,
                                      .streams = (int)streams,
                                      .close_each = !choice(params->keep_alive, !plan->no_keep_alive),
                                      .connect_timeout_ns = plan->connect_timeout_ns,
                                      .insecure = plan->insecure,
                                      .ca_file = plan->ca_file},
                           .base_url = pl_format(arena, "%s://%.*s%.*s", uri.is_tls ? "https" : "http",
                                                 (int)uri.authority_length, uri.authority, (int)uri.path_length, uri.path),
                           .max_time_ns = params->max_time_ns > 0 ? params->max_time_ns : plan->max_time_ns,
                           .follows = choice(params->follow, plan->follow),
                           .compressed = choice(params->compressed, plan->compressed)};
    if (uri.user != NULL)
        ret_http->credentials = unescaped(uri.user, uri.user_length, arena);
    return PL_OK;
}

/* ---- ports and descriptors ---- */

static int compare_texts(const void *a, const void *b)
{
    return strcmp(*(const char *const *)a, *(const char *const *)b);
}

/* How many servers the tenants' URLs name; 1 when they name none of their own. */
static int64_t count_targets(const struct feed *tenants, struct pl_arena *arena)
{
    int column = tenants != NULL ? feed_column(tenants, "url") : -1;
    if (column < 0)
        return 1;
    const char **texts = pl_alloc(arena, tenants->row_count, sizeof *texts);
    size_t count = 0;
    for (size_t i = 0; i < tenants->row_count; i++) {
        const struct value *cell = &tenants->cells[i * tenants->column_count + (size_t)column];
        struct uri uri;
        size_t at = 0;
        if (cell->type == VALUE_TEXT && uri_parse(cell->text, cell->length, &uri, &at) == NULL)
            texts[count++] = pl_format(arena, "%.*s:%u", (int)uri.host_length, uri.host, uri.port);
    }
    if (count > 1)
        qsort(texts, count, sizeof *texts, compare_texts);
    int64_t distinct = count > 0 ? 1 : 0;
    for (size_t i = 1; i < count; i++)
        distinct += strcmp(texts[i - 1], texts[i]) != 0;
    return distinct > 0 ? distinct : 1;
}

enum pl_code conduct_check_ports(const struct conduct *c, const struct stage *stage, const struct stage_case *stage_case,
                                 const struct conduct_load *load, struct pl_err *err)
{
    enum { OTHER_DESCRIPTORS = 64 };
    const struct plan_params *params = &stage_case->params;
    struct load_http http;
    struct pl_err own = {0};
    if (conduct_http(c->plan->subject, params, c->arena, &http, &own) != PL_OK) {
        pl_err_at(err, PL_INPUT, c->plan->path, c->plan->subject->line, c->plan->subject->col, "%s", own.what);
        pl_err_hint(err, "Write scheme, host and port, such as http://127.0.0.1:8080.");
        return err->code;
    }
    int64_t connections = http.engine.connections;
    if (connections == 0)
        connections =
            http.engine.http2 ? (params->clients + http.engine.streams - 1) / http.engine.streams : params->clients;
    const struct http_need need = {.connections = connections < params->clients ? connections : params->clients,
                                   .destinations = count_targets(load->tenants, c->arena),
                                   .sources = 1,
                                   .new_connections_per_s =
                                       http.engine.close_each && stage->kind->open_loop ? params->rate_per_s : 0,
                                   .duration_s = (double)(params->warm_up_ns + params->for_ns + params->drain_ns) / 1e9,
                                   .other_descriptors = OTHER_DESCRIPTORS};
    const char *refusal = http_need_refusal(&need, c->arena);
    if (refusal == NULL)
        return PL_OK;
    pl_err_at(err, PL_INPUT, c->plan->path, stage->plan->line, stage->plan->col, "stage \"%s\"%s%s: %s", stage->row.name,
              stage_case->row.label[0] != '\0' ? ", " : "", stage_case->row.label, refusal);
    pl_err_hint(err, "Ask for fewer connections, or give this machine more of what is short.");
    return err->code;
}
