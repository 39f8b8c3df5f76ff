/* HTTP as a plan asks for it: options of the service and of the stage as the load engine takes them, and whether this
 * machine can open so many connections. */
#include <stdlib.h>
#include <string.h>

#include "app/conduct_int.h"
#include "base/buf.h"
#include "base/file.h"
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

/* ---- what tenants and certificates say ---- */

/* What would be wrong with a cell of this column; NULL: nothing. Host names and ports, IPv6 in brackets. */
static const char *wrong_cell(const char *column, const struct value *cell, struct pl_arena *arena)
{
    static const char host[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-._:[]";
    char number[VALUE_TEXT_BYTES];
    const char *text = cell->text;
    if (cell->type == VALUE_NULL)
        return NULL;
    if (cell->type != VALUE_TEXT) {
        value_text(cell, number);
        text = number;
    }
    if (strcmp(column, "host") == 0)
        return text[strspn(text, host)] == '\0' ? NULL : "has a character that no host has";
    struct uri uri;
    size_t at = 0;
    const char *wrong = text[0] == '\0' ? NULL : uri_parse(text, strlen(text), &uri, &at);
    if (wrong == NULL && strpbrk(text, " {}") != NULL)
        return "has a blank or a brace in it";
    if (wrong == NULL && strchr(text, '?') != NULL)
        return "has a query, which no path of a script can follow";
    return wrong != NULL ? pl_format(arena, "is wrong: %s", wrong) : NULL;
}

enum pl_code conduct_check_tenants(const struct conduct *c, const struct feed *tenants, struct pl_err *err)
{
    static const char *const names[] = {"url", "host"};
    for (size_t k = 0; tenants != NULL && k < sizeof names / sizeof names[0]; k++) {
        int column = feed_column(tenants, names[k]);
        for (size_t row = 0; column >= 0 && row < tenants->row_count; row++) {
            const char *wrong =
                wrong_cell(names[k], &tenants->cells[row * tenants->column_count + (size_t)column], c->arena);
            if (wrong == NULL)
                continue;
            pl_err_at(err, PL_INPUT, c->plan->path, c->plan->tenants->line, c->plan->tenants->col,
                      "tenants: the %s of row %zu %s", names[k], row + 1, wrong); /* not its text: it may hold a password */
            pl_err_hint(err, "%s",
                        k == 0
                            ? "Write a URL such as http://127.0.0.1:8080/t1; in patterns only {n} and {n:04} are replaced."
                            : "Write a name such as shop1.example.org; in patterns only {n} and {n:04} are replaced.");
            return err->code;
        }
    }
    return PL_OK;
}

/* Whether certificates can be read there; what they are worth is for the handshakes to find. */
enum pl_code conduct_check_certificates(const struct conduct *c, struct pl_err *err)
{
    enum { CERTIFICATES_MOST = 16 << 20 };
    const struct plan_service *service = c->plan->subject;
    struct pl_err own = {0};
    char *text = NULL;
    size_t length = 0;
    if (plan_speech_of(service) != PLAN_HTTP || service->http.ca_file == NULL)
        return PL_OK;
    const char *wrong = NULL;
    if (service->http.insecure)
        wrong = "is not used, because \"insecure\" says that certificates are not verified";
    else if (pl_file_read(service->http.ca_file, CERTIFICATES_MOST, c->arena, &text, &length, &own) != PL_OK)
        wrong = pl_format(c->arena, "cannot be read: %s", own.what);
    else if (strstr(text, "-----BEGIN CERTIFICATE-----") == NULL &&
             strstr(text, "-----BEGIN TRUSTED CERTIFICATE-----") == NULL)
        wrong = pl_format(c->arena, "\"%s\" holds no certificate in PEM form", service->http.ca_file);
    if (wrong == NULL)
        return PL_OK;
    pl_err_at(err, PL_INPUT, c->plan->path, service->line, service->col, "service \"%s\": its \"ca_file\" %s",
              service->name, wrong);
    pl_err_hint(err, "%s",
                service->http.insecure
                    ? "Remove one of the two."
                    : "Name a file with the certificates of the authorities that are trusted; its path is "
                      "relative to the folder of the plan.");
    return err->code;
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
        pl_err_hint(err, "Write scheme, host and port, such as http://127.0.0.1:8080; an IPv6 address stands in brackets.");
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
