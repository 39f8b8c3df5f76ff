/* Operands, and what goes together. */
#include "httpload/options_int.h"

#include <string.h>

#include "base/clock.h"
#include "base/limits.h"
#include "base/near.h"
#include "base/num.h"
#include "httpload/say_int.h"
#include "hurl/hurl.h"
#include "wire/uri.h"

#include "base/ban.h"

enum { WEIGHT_MOST = 1000000, URL_BYTES_MOST = 8192 };

/* ---- operands ---- */

static int hex_value(char c)
{
    if (c >= '0' && c <= '9')
        return c - '0';
    int lower = c | 0x20;
    return lower >= 'a' && lower <= 'f' ? lower - 'a' + 10 : -1;
}

static const char *percent_decoded(struct pl_arena *arena, const char *text, size_t length)
{
    char *decoded = pl_alloc(arena, length + 1, 1), *at = decoded;
    for (size_t i = 0; i < length; i++) {
        int high = i + 2 < length && text[i] == '%' ? hex_value(text[i + 1]) : -1;
        int low = high >= 0 ? hex_value(text[i + 2]) : -1;
        *at = text[i];
        if (low >= 0) {
            *at = (char)(high << 4 | low);
            i += 2;
        }
        at++;
    }
    return decoded;
}

/* The URL without its user and password, which become the credentials. A wrong one is not repeated: it may hold them. */
static bool url_take(struct httpload_parse *parse, const char *given, const char *text, const char **ret_url)
{
    struct uri uri;
    size_t at = 0;
    if (strlen(text) > URL_BYTES_MOST)
        return httpload_say("%s has more than %d bytes", given, URL_BYTES_MOST);
    const char *wrong = uri_parse(text, strlen(text), &uri, &at);
    if (wrong != NULL)
        return httpload_say("%s: %s, at byte %zu", given, wrong, at + 1);
    if (uri.user != NULL && parse->chosen.user != NULL)
        return httpload_say("user and password are given twice: in the URL and by --user");
    if (uri.user != NULL) {
        const char *user = percent_decoded(parse->arena, uri.user, uri.user_length);
        parse->chosen.user = strchr(user, ':') != NULL ? user : pl_format(parse->arena, "%s:", user);
    }
    *ret_url =
        pl_format(parse->arena, "%s://%.*s%s%.*s", uri.is_tls ? "https" : "http", (int)uri.authority_length, uri.authority,
                  uri.path_length == 0 || uri.path[0] == '?' ? "/" : "", (int)uri.path_length, uri.path);
    return true;
}

static bool begins_with(const char *text, const char *begin)
{
    return strncasecmp(text, begin, strlen(begin)) == 0;
}

static bool script_add(struct httpload_parse *parse, struct httpload_script script)
{
    struct httpload_options *chosen = &parse->chosen;
    if (chosen->script_count == PL_MAX_SCRIPTS)
        return httpload_say("more than %d files are too many", PL_MAX_SCRIPTS);
    chosen->scripts[chosen->script_count++] = script;
    return true;
}

/* "FILE.hurl" or "FILE.hurl@3". *ret_is_file: it is one. */
static bool file_take(struct httpload_parse *parse, const char *text, bool *ret_is_file)
{
    const char *at = strrchr(text, '@'), *path = text;
    int64_t weight = 1;
    *ret_is_file = hurl_is_file_name(text);
    if (!*ret_is_file && at != NULL) {
        path = pl_strndup(parse->arena, text, (size_t)(at - text));
        *ret_is_file = hurl_is_file_name(path);
        if (*ret_is_file &&
            !httpload_value_int(pl_format(parse->arena, "the weight of %s", path), at + 1, 1, WEIGHT_MOST, &weight))
            return false;
    }
    if (!*ret_is_file)
        return true;
    return script_add(parse, (struct httpload_script){.title = path, .path = path, .weight = (int)weight});
}

static bool operand_unknown(const char *text)
{
    if (strstr(text, "://") != NULL)
        return httpload_say("\"%.*s\" is no scheme that can be loaded: http or https", (int)(strstr(text, "://") - text),
                            text);
    if (strchr(text, '@') == NULL && (strchr(text, '.') != NULL || strchr(text, ':') != NULL || strchr(text, '/') != NULL))
        return httpload_say("\"%s\" is neither a URL nor a Hurl file (FILE.hurl); did you mean http://%s ?", text, text);
    if (strcmp(text, "localhost") == 0)
        return httpload_say("\"localhost\" is neither a URL nor a Hurl file (FILE.hurl); did you mean http://localhost ?");
    return httpload_say("an operand is neither a URL (http://HOST/PATH) nor a Hurl file (FILE.hurl)%s%s",
                        strchr(text, '@') == NULL ? ": " : "", strchr(text, '@') == NULL ? text : "");
}

static bool operand_take(struct httpload_parse *parse, const char *text)
{
    struct httpload_options *chosen = &parse->chosen;
    bool is_path = text[0] == '/', is_url = begins_with(text, "http://") || begins_with(text, "https://"), is_file = false;
    if (!is_url && !file_take(parse, text, &is_file))
        return false;
    if (is_file)
        return true;
    if (!is_url && !is_path)
        return operand_unknown(text);
    if (chosen->url != NULL)
        return httpload_say("one URL can be loaded, and two are given; several requests are written in Hurl files");
    chosen->url = text;
    return is_path || url_take(parse, "the URL", text, &chosen->url);
}

static bool check_operands(struct httpload_parse *parse)
{
    struct httpload_options *chosen = &parse->chosen;
    chosen->scripts = pl_alloc(parse->arena, PL_MAX_SCRIPTS, sizeof *chosen->scripts);
    if (parse->operands.count == 0)
        return httpload_say("what is to be loaded is missing: a URL (http://HOST/PATH) or Hurl files (FILE.hurl)");
    for (size_t i = 0; i < parse->operands.count; i++)
        if (!operand_take(parse, parse->operands.items[i]))
            return false;
    if (chosen->base_url != NULL && !url_take(parse, "--base-url", chosen->base_url, &chosen->base_url))
        return false;
    if (chosen->url == NULL) {
        if (chosen->method != NULL || chosen->data != NULL)
            return httpload_say("%s belongs to a URL: Hurl files state their own",
                                chosen->method != NULL ? "-m" : "--data");
        if (chosen->any_status)
            return httpload_say(
                "--any-status belongs to a URL: a Hurl file says what it expects (HTTP 200; HTTP * for any)");
        return true;
    }
    if (chosen->script_count > 0)
        return httpload_say("a URL and Hurl files do not go together; --base-url completes the URLs of files");
    if (chosen->url[0] == '/' && chosen->base_url == NULL && chosen->tenants_text == NULL)
        return httpload_say("\"%s\" is only a path: --base-url http://HOST completes it", chosen->url);
    if (chosen->method == NULL)
        chosen->method = chosen->data != NULL ? "POST" : "GET";
    const char *title = pl_format(parse->arena, "%s %s", chosen->method, chosen->url);
    return script_add(parse, (struct httpload_script){.title = title, .weight = 1});
}

/* ---- what goes together ---- */

/* What one option needs of another, or does not stand with. */
struct pair {
    bool is_wrong;
    const char *text;
};

static bool check_pairs(const struct pair *pairs, size_t count)
{
    for (size_t i = 0; i < count; i++)
        if (pairs[i].is_wrong)
            return httpload_say("%s", pairs[i].text);
    return true;
}

static bool check_loop(const struct httpload_parse *parse)
{
    const struct httpload_options *chosen = &parse->chosen;
    bool has_n = chosen->operations > 0, is_open = chosen->rate_per_s > 0 || chosen->find_text != NULL;
    const struct pair pairs[] = {
        {has_n && parse->has_duration, "-n and -d: a run ends by a number of operations or by time, not by both"},
        {has_n && parse->has_warm_up, "-n and --warm-up: a number of operations has no warm-up"},
        {chosen->constant && !is_open, "--constant needs a rate: -R 200/s"},
        {chosen->session_operations > 0 && !is_open, "--session needs a rate at which users arrive: -R 2/s"},
        {chosen->session_operations > 0 && has_n, "--session and -n: users who arrive have their own number of operations"},
        {chosen->think_ns > 0 && is_open && chosen->session_operations == 0,
         "--think and a rate: the rate says when operations begin; users who think between theirs are --session N"},
    };
    if (!check_pairs(pairs, sizeof pairs / sizeof pairs[0]))
        return false;
    if (has_n && chosen->rate_per_s > 0 && chosen->operations % chosen->clients != 0) {
        int64_t below = chosen->operations / chosen->clients * chosen->clients;
        return httpload_say("-n %lld with a rate must be a multiple of the %lld clients (-c): %lld would be",
                            (long long)chosen->operations, (long long)chosen->clients,
                            (long long)(below > 0 ? below : chosen->clients));
    }
    return true;
}

static bool check_search(const struct httpload_parse *parse)
{
    const struct httpload_options *chosen = &parse->chosen;
    double first_per_s = chosen->rate_per_s;
    const struct pair alone[] = {{parse->has_step, "--step-duration belongs to --find-max"},
                                 {parse->has_least, "--min belongs to --find-max"},
                                 {parse->has_most, "--max belongs to --find-max"}};
    if (chosen->find_text == NULL)
        return check_pairs(alone, sizeof alone / sizeof alone[0]);
    const struct pair pairs[] = {
        {chosen->operations > 0, "-n and --find-max: trials last as long as --step-duration says"},
        {parse->has_duration, "-d and --find-max: trials last as long as --step-duration says"},
        {parse->has_most && chosen->least_per_s > chosen->most_per_s, "--min is above --max"},
        {first_per_s > 0 && first_per_s < chosen->least_per_s, "-R, where --find-max begins, is below --min"},
        {parse->has_most && first_per_s > chosen->most_per_s, "-R, where --find-max begins, is above --max"},
        {chosen->hlog_path != NULL, "--hlog is of one run, and --find-max makes many"},
        {chosen->log_path != NULL, "--log is of one run, and --find-max makes many"},
    };
    return check_pairs(pairs, sizeof pairs / sizeof pairs[0]);
}

static bool check_connections(const struct httpload_options *chosen)
{
    const struct pair pairs[] = {
        {chosen->http2 && chosen->http1_0, "--http2 and --http1.0 do not go together"},
        {chosen->http2 && chosen->no_keepalive,
         "--http2 and --no-keepalive: a connection of HTTP/2 is there to be shared; --streams 1 makes one for each client"},
        {chosen->streams > 0 && !chosen->http2, "--streams needs --http2"},
        {chosen->insecure && chosen->cacert != NULL, "--insecure and --cacert: certificates are verified, or not"},
        {chosen->key != NULL && chosen->cert == NULL, "--key needs --cert"},
        {chosen->unix_socket != NULL && chosen->sources.count > 0, "--unix-socket and --source: a socket has no addresses"},
        {chosen->unix_socket != NULL && chosen->connect_to.count > 0,
         "--unix-socket and --connect-to: all connections go to the socket"},
    };
    return check_pairs(pairs, sizeof pairs / sizeof pairs[0]);
}

static bool check_tenants(const struct httpload_options *chosen)
{
    const struct pair pairs[] = {
        {chosen->tenant_columns.count > 0 && chosen->tenants_text == NULL, "--tenant needs --tenants N"},
        {chosen->tenant_columns.count > 0 && chosen->tenants_text != NULL && chosen->tenant_count == 0,
         "--tenant makes the columns of --tenants N; a file has its own"},
        {chosen->tenant_columns.count == 0 && chosen->tenant_count > 0,
         "--tenants N needs a --tenant for each column: --tenant 'host=t{n}.example'"},
    };
    return check_pairs(pairs, sizeof pairs / sizeof pairs[0]);
}

/* A URL is taken as it is: data for which it has no place would be left out in silence. */
static bool check_data_of_url(struct httpload_parse *parse)
{
    static const char *const columns[] = {"url", "host", "user", "weight", "group", "header.NAME"};
    const struct httpload_options *chosen = &parse->chosen;
    if (chosen->url == NULL)
        return true;
    const struct pair pairs[] = {
        {strstr(chosen->url, "{{") != NULL,
         "the URL holds \"{{\": variables are known in Hurl files only: GET http://HOST/{{NAME}}"},
        {chosen->variables.count > 0, "--variable belongs to Hurl files: a URL has no place for variables"},
        {chosen->feeds.count > 0, "--feed belongs to Hurl files: a URL has no place for variables"},
    };
    if (!check_pairs(pairs, sizeof pairs / sizeof pairs[0]))
        return false;
    for (size_t i = 0; i < chosen->tenant_columns.count; i++) {
        const char *text = chosen->tenant_columns.items[i];
        const char *name = pl_strndup(parse->arena, text, strcspn(text, "="));
        bool is_known = strncmp(name, "header.", 7) == 0;
        for (size_t c = 0; c < sizeof columns / sizeof columns[0]; c++)
            is_known |= strcmp(columns[c], name) == 0;
        const char *near = is_known ? NULL : pl_near(name, columns, sizeof columns / sizeof columns[0]);
        if (!is_known)
            return httpload_say("--tenant: the column \"%s\" has no use without a Hurl file: %s%s%s", name,
                                near != NULL ? "did you mean " : "url, host, user, header.NAME, weight and group have one",
                                near != NULL ? near : "", near != NULL ? "?" : "");
    }
    return true;
}

/* Files of results that the run could not keep apart. */
static bool check_files(const struct httpload_options *chosen)
{
    const struct {
        const char *option, *path;
    } files[] = {{"--json", chosen->json_path},
                 {"--hdr", chosen->hgrm_path},
                 {"--hlog", chosen->hlog_path},
                 {"--log", chosen->log_path}};
    for (size_t i = 0; i < sizeof files / sizeof *files; i++)
        for (size_t k = 0; k < i; k++)
            if (files[i].path != NULL && files[k].path != NULL && strcmp(files[k].path, files[i].path) == 0)
                return httpload_say("%s and %s name the same file: %s", files[k].option, files[i].option, files[i].path);
    return true;
}

/* ---- objectives ---- */

static bool objective_take(struct httpload_parse *parse, const char *given, const char *text,
                           struct objective *ret_objective)
{
    struct pl_err err = {0};
    if (objective_parse(text, parse->arena, ret_objective, &err) == PL_OK)
        return true;
    pl_err_context(&err, "%s", given);
    return httpload_say_err(&err);
}

/* Whether a term can hold at a low rate and fail at a high one. */
static bool is_met_below(const struct objective_term *term)
{
    bool is_bound_from_above = term->relation == OBJECTIVE_LESS || term->relation == OBJECTIVE_AT_MOST;
    bool is_of_the_bad =
        term->measure == OBJECTIVE_QUANTILE || term->measure == OBJECTIVE_MEAN || term->measure == OBJECTIVE_ERRORS;
    return is_bound_from_above || !is_of_the_bad;
}

static bool objectives_take(struct httpload_parse *parse)
{
    struct httpload_options *chosen = &parse->chosen;
    size_t fail_if_count = parse->fail_ifs.count, count = fail_if_count + parse->thresholds.count;
    chosen->objectives = pl_alloc(parse->arena, count + 1, sizeof *chosen->objectives);
    for (; chosen->objective_count < count; chosen->objective_count++) {
        size_t i = chosen->objective_count;
        struct httpload_objective *objective = &chosen->objectives[i];
        objective->is_fail_if = i < fail_if_count;
        const char *text = objective->is_fail_if ? parse->fail_ifs.items[i] : parse->thresholds.items[i - fail_if_count];
        if (!objective_take(parse, objective->is_fail_if ? "--fail-if" : "--threshold", text, &objective->objective))
            return false;
    }
    if (chosen->find_text == NULL)
        return true;
    if (!objective_take(parse, "--find-max", chosen->find_text, &chosen->find))
        return false;
    for (size_t i = 0; i < chosen->find.term_count; i++)
        if (!is_met_below(&chosen->find.terms[i]))
            return httpload_say("--find-max: \"%s\" holds when the server is worse, not at low rates: < or <= is meant",
                                chosen->find.terms[i].text);
    return true;
}

bool httpload_check(struct httpload_parse *parse)
{
    struct httpload_options *chosen = &parse->chosen;
    if (!check_operands(parse) || !check_search(parse) || !check_loop(parse) || !check_connections(chosen) ||
        !check_tenants(chosen) || !check_data_of_url(parse) || !check_files(chosen) || !objectives_take(parse))
        return false;
    if (chosen->operations > 0)
        chosen->duration_ns = 0;
    if (!parse->has_drain)
        chosen->drain_ns = chosen->timeout_ns + PL_NS_PER_S; /* so that what was sent last expires, too */
    if (chosen->find_text != NULL && !parse->has_warm_up)
        chosen->warm_up_ns = chosen->step_ns / 10;
    if (chosen->cert != NULL && chosen->key == NULL)
        chosen->key = chosen->cert; /* one file may hold both */
    return true;
}
