/* The command line: one table of options, which is the grammar and the help. */
#include "httpload/options_int.h"

#include <stdio.h>
#include <string.h>

#include "base/clock.h"
#include "base/limits.h"
#include "base/near.h"
#include "base/num.h"
#include "httpload/say_int.h"

#include "base/ban.h"

enum {
    HELP_COLUMN = 34,
    STREAMS_MOST = 1000,
    CONNECTIONS_MOST = PL_MAX_CLIENTS,
    DEFAULT_CLIENTS = 10,
    DEFAULT_OPEN_CLIENTS = 100
};
#define OPERATIONS_MOST INT64_C(1000000000000000)
#define SHORTEST_NS PL_NS_PER_MS

enum option_kind { OPTION_FLAG, OPTION_INT, OPTION_TEXT, OPTION_FILE, OPTION_LIST, OPTION_CALL };

typedef bool option_call(struct httpload_parse *parse, const char *given, const char *text);

/* A row without a name begins a part of the help. */
struct option_row {
    const char *name;
    char letter;          /* 0: none */
    const char *argument; /* as the help shows it; NULL: takes none */
    const char *help;     /* further lines after a line feed */
    enum option_kind kind;
    size_t offset;     /* FLAG: a bool, INT: an int64_t, TEXT, FILE: a const char *, LIST: texts; in httpload_parse */
    int64_t low, high; /* INT */
    option_call *call; /* CALL */
};

/* ---- options that are more than a value ---- */

static bool take_clients(struct httpload_parse *parse, const char *given, const char *text)
{
    parse->has_clients = true;
    return httpload_value_int(given, text, 1, PL_MAX_CLIENTS, &parse->chosen.clients);
}

static bool take_data(struct httpload_parse *parse, const char *given, const char *text)
{
    if (parse->chosen.data != NULL)
        return httpload_say("%s: a request has one body, and another one was given before", given);
    parse->chosen.data = text;
    return true;
}

static bool take_duration(struct httpload_parse *parse, const char *given, const char *text)
{
    if (text[0] == '@')
        return take_data(parse, given, text);
    parse->has_duration = true;
    return httpload_value_duration(given, text, SHORTEST_NS, &parse->chosen.duration_ns);
}

static bool take_rate(struct httpload_parse *parse, const char *given, const char *text)
{
    return httpload_value_rate(given, text, &parse->chosen.rate_per_s);
}

static bool take_least(struct httpload_parse *parse, const char *given, const char *text)
{
    parse->has_least = true;
    return httpload_value_rate(given, text, &parse->chosen.least_per_s);
}

static bool take_most(struct httpload_parse *parse, const char *given, const char *text)
{
    parse->has_most = true;
    return httpload_value_rate(given, text, &parse->chosen.most_per_s);
}

static bool take_step(struct httpload_parse *parse, const char *given, const char *text)
{
    parse->has_step = true;
    return httpload_value_duration(given, text, SHORTEST_NS, &parse->chosen.step_ns);
}

static bool take_timeout(struct httpload_parse *parse, const char *given, const char *text)
{
    parse->has_timeout = true;
    return httpload_value_duration(given, text, SHORTEST_NS, &parse->chosen.timeout_ns);
}

static bool take_connect_timeout(struct httpload_parse *parse, const char *given, const char *text)
{
    return httpload_value_duration(given, text, SHORTEST_NS, &parse->chosen.connect_timeout_ns);
}

static bool take_warm_up(struct httpload_parse *parse, const char *given, const char *text)
{
    parse->has_warm_up = true;
    return httpload_value_duration(given, text, 0, &parse->chosen.warm_up_ns);
}

static bool take_drain(struct httpload_parse *parse, const char *given, const char *text)
{
    parse->has_drain = true;
    return httpload_value_duration(given, text, 0, &parse->chosen.drain_ns);
}

static bool take_seed(struct httpload_parse *parse, const char *given, const char *text)
{
    return httpload_value_seed(given, text, &parse->chosen.seed);
}

static bool take_json(struct httpload_parse *parse, const char *given, const char *text)
{
    parse->chosen.json = true;
    return text == NULL || httpload_value_file(given, text, &parse->chosen.json_path);
}

#define AT(field) offsetof(struct httpload_parse, field)
#define FLAG(name, field, help)                                                                                            \
    {                                                                                                                      \
        name, 0, NULL, help, OPTION_FLAG, AT(field), 0, 0, NULL                                                            \
    }
#define INT(name, letter, argument, field, low, high, help)                                                                \
    {                                                                                                                      \
        name, letter, argument, help, OPTION_INT, AT(field), low, high, NULL                                               \
    }
#define FIELD(kind, name, argument, field, help)                                                                           \
    {                                                                                                                      \
        name, 0, argument, help, kind, AT(field), 0, 0, NULL                                                               \
    }
#define CALL(name, letter, argument, call, help)                                                                           \
    {                                                                                                                      \
        name, letter, argument, help, OPTION_CALL, 0, 0, 0, call                                                           \
    }
#define PART(title)                                                                                                        \
    {                                                                                                                      \
        NULL, 0, NULL, title, OPTION_FLAG, 0, 0, 0, NULL                                                                   \
    }

static const struct option_row rows[] = {
    PART("How much:"),
    CALL("connections", 'c', "N", take_clients,
         "clients, each with at most one operation under way\n(10; with a rate 100)"),
    CALL("clients", 0, "N", take_clients, "the same"),
    CALL("duration", 'd', "TIME", take_duration, "how long it is measured (10s); -d@FILE is a body, see --data"),
    INT("requests", 'n', "N", chosen.operations, 1, OPERATIONS_MOST, "so many operations in all, instead of a duration"),
    CALL("rate", 'R', "RATE", take_rate, "operations begin at this rate, whatever the server does:\n200/s, 90/min, 1.5/s"),
    FLAG("constant", chosen.constant, "with a rate: even gaps instead of a Poisson process"),
    CALL("warm-up", 0, "TIME", take_warm_up, "load before the measured time (0)"),
    CALL("drain", 0, "TIME", take_drain, "at the end at most so long for what is under way (--timeout + 1s)"),
    CALL("think", 0, "TIME[:exponential]", httpload_value_think,
         "a client waits so long between two operations, or so long\nin the mean"),
    CALL("session", 0, "N[:geometric]", httpload_value_sessions,
         "with a rate: what arrives is a user who carries out so many\noperations, with --think between them, and leaves"),
    INT("workers", 0, "N", chosen.workers, 1, PL_MAX_WORKERS, "threads (chosen by the number of clients)"),
    CALL("seed", 0, "N", take_seed, "of all random numbers, for a run that can be repeated"),

    PART("The request, without a file:"),
    CALL("method", 'm', "METHOD", httpload_value_method, "GET, or POST with a body, unless given"),
    CALL("header", 'H', "'NAME: VALUE'", httpload_value_header, "a header, in files those that do not state it; many"),
    CALL("data", 0, "@FILE|TEXT", take_data, "the body; -d@FILE is the same as --data @FILE"),
    CALL("user", 0, "NAME:PASSWORD", httpload_value_user, "basic authentication; the password is never shown"),
    FLAG("any-status", chosen.any_status, "statuses of 400 and above are answers as good as others"),

    PART("Connections:"),
    FIELD(OPTION_TEXT, "base-url", "URL", chosen.base_url, "completes URLs that are only a path"),
    FLAG("http2", chosen.http2, "HTTP/2: by ALPN with TLS, with prior knowledge without"),
    INT("streams", 0, "N", chosen.streams, 1, STREAMS_MOST, "of one connection at a time, with --http2 (10)"),
    FLAG("http1.0", chosen.http1_0, "requests say HTTP/1.0"),
    FLAG("no-keepalive", chosen.no_keepalive, "each request opens a connection"),
    INT("connections-total", 0, "N", chosen.connections_total, 1, CONNECTIONS_MOST,
        "connections open at a time over all hosts (as many as\nclients)"),
    FLAG("insecure", chosen.insecure, "certificates are not verified"),
    FIELD(OPTION_FILE, "cacert", "FILE", chosen.cacert, "certificates to trust (PEM) instead of the system's"),
    FIELD(OPTION_FILE, "cert", "FILE", chosen.cert, "the client's certificate (PEM)"),
    FIELD(OPTION_FILE, "key", "FILE", chosen.key, "its key (PEM)"),
    CALL("connect-to", 0, "HOST:PORT:ADDRESS:PORT", httpload_value_connect_to, "goes to that address instead; many"),
    FIELD(OPTION_FILE, "unix-socket", "PATH", chosen.unix_socket, "all connections go to this socket"),
    CALL("source", 0, "ADDRESS", httpload_value_source, "connects from this address; of many in turn"),
    CALL("timeout", 0, "TIME", take_timeout, "for a request and its answer (30s)"),
    CALL("connect-timeout", 0, "TIME", take_connect_timeout, "for TCP and TLS together (10s)"),
    FLAG("follow", chosen.follow, "follows redirects"),
    FLAG("compressed", chosen.compressed, "asks for gzip"),
    FLAG("no-cookies", chosen.no_cookies, "clients remember no cookies"),

    PART("Data:"),
    CALL("variable", 0, "NAME=VALUE", httpload_value_variable,
         "a number, text, or expression: user=random(1, :users); many"),
    FIELD(OPTION_LIST, "feed", "FILE[:ORDER]", chosen.feeds,
          "a CSV or JSON-lines file, each operation takes a row;\nsequential (default), random or unique; many"),
    CALL("tenants", 0, "FILE|N", httpload_value_tenants,
         "each operation is of one tenant: rows with url, host, user,\nheader.NAME, weight, group; or N of them by "
         "--tenant"),
    CALL("tenant", 0, "COLUMN=PATTERN", httpload_value_tenant,
         "with --tenants N: a column; {n} is the number, {n:04} the\nsame with zeros; many"),

    PART("Searching the highest rate:"),
    FIELD(OPTION_TEXT, "find-max", "OBJECTIVE", chosen.find_text, "at which this holds: 'p99<50ms and errors<0.1%'"),
    CALL("step-duration", 0, "TIME", take_step, "of each trial (10s)"),
    CALL("min", 0, "RATE", take_least, "never tries less (1/s)"),
    CALL("max", 0, "RATE", take_most, "never tries more"),

    PART("Verdict:"),
    FIELD(OPTION_LIST, "fail-if", "EXPR", fail_ifs, "exit code 1 when this is true: 'p99>50ms'; many"),
    FIELD(OPTION_LIST, "threshold", "EXPR", thresholds,
          "exit code 1 when this does not hold; k6's forms are\nunderstood: 'http_req_failed: rate<0.01'; many"),

    PART("Output:"),
    CALL(
        "json", 0, "FILE", take_json,
        "everything that was measured as JSON (--json=FILE, or\n--json FILE.json); without a FILE to standard output, and\n"
        "the report to standard error"),
    FIELD(OPTION_FILE, "hdr", "FILE", chosen.hgrm_path, "percentiles of the response as HdrHistogram's .hgrm"),
    FIELD(OPTION_FILE, "hlog", "FILE", chosen.hlog_path, "a histogram each second as HdrHistogram's .hlog"),
    FIELD(OPTION_FILE, "log", "FILE", chosen.log_path, "one line for each operation"),
    FLAG("progress", chosen.progress, "a line each second also when it is no terminal"),
    FLAG("quiet", chosen.quiet, "nothing while it runs, and no report but its last line"),
};
enum { ROW_COUNT = sizeof rows / sizeof rows[0] };

/* ---- help ---- */

static void print_row(const char *option, const char *help)
{
    size_t length = strlen(option);
    printf("%s%*s", option, length < HELP_COLUMN ? (int)(HELP_COLUMN - length) : 0, "");
    if (length >= HELP_COLUMN)
        printf("\n%*s", HELP_COLUMN, "");
    for (; *help != '\0'; help++) {
        putchar(*help);
        if (*help == '\n')
            printf("%*s", HELP_COLUMN, "");
    }
    putchar('\n');
}

static void print_help(void)
{
    fputs("usage: plimsoll http [OPTION]... URL | FILE.hurl[@WEIGHT]...\n\n"
          "Loads a server by HTTP and says how long it took to answer, counted from when each operation was due. A Hurl\n"
          "file is one operation, each request in it a step. Without a rate, clients go on as fast as they are answered.\n",
          stdout);
    for (size_t r = 0; r < ROW_COUNT; r++) {
        const struct option_row *row = &rows[r];
        char option[80];
        if (row->name == NULL) {
            printf("\n%s\n", row->help);
            continue;
        }
        int length = row->letter != 0 ? snprintf(option, sizeof option, "  -%c, --%s", row->letter, row->name)
                                      : snprintf(option, sizeof option, "      --%s", row->name);
        if (row->argument != NULL)
            snprintf(option + length, sizeof option - (size_t)length, row->call == take_json ? "[=%s]" : " %s",
                     row->argument);
        print_row(option, row->help);
    }
    fputs("\n  -h, --help, -V, --version\n\nTimes have a unit: 500us, 50ms, 10s, 1m, 2h.\n\n"
          "Exit codes: 0 good; 1 an objective was missed; 2 usage or script error; 3 something failed, or nothing was\n"
          "completed; 4 an objective could not be judged; 130 interrupted, after a report.\n",
          stdout);
}

/* ---- reading ---- */

/* Options of other tools (curl, wrk, wrk2, hey, oha, ab, h2load, k6, vegeta), and what does the same here. */
static const struct {
    const char *name, *instead;
} foreign[] = {
    {"t", "threads are chosen; --workers N sets their number, --timeout TIME the time for an answer"},
    {"threads", "it is --workers N; clients are -c N"},
    {"concurrency", "it is -c N"},
    {"vus", "it is -c N"},
    {"u", "clients are -c N"},
    {"iterations", "it is -n N"},
    {"i", "-n N is how many operations, FILE.hurl@WEIGHT what they do"},
    {"z", "it is -d TIME"},
    {"q", "it is -R RATE, with a unit: -R 200/s (and --quiet says less)"},
    {"r", "a rate is -R RATE, with a unit: -R 200/s"},
    {"qps", "it is -R RATE, with a unit: -R 200/s"},
    {"rps", "it is -R RATE, with a unit: -R 200/s"},
    {"stages", "a load has one rate; a plan (docs/plans.md) has stages"},
    {"k", "it is --insecure; connections are kept unless --no-keepalive"},
    {"X", "it is -m METHOD"},
    {"request", "it is -m METHOD"},
    {"L", "it is --follow"},
    {"location", "it is --follow"},
    {"body", "it is --data @FILE or --data TEXT"},
    {"D", "it is --data @FILE or -d@FILE"},
    {"T", "state it as a header: -H 'Content-Type: TYPE'"},
    {"data-binary", "it is --data, which changes nothing"},
    {"data-raw", "it is --data; one that begins with @ names a file"},
    {"json-body", "it is --data TEXT with -H 'Content-Type: application/json'"},
    {"a", "it is --user NAME:PASSWORD"},
    {"b", "state it as a header: -H 'Cookie: NAME=VALUE'"},
    {"cookie", "state it as a header: -H 'Cookie: NAME=VALUE'"},
    {"A", "state it as a header: -H 'User-Agent: NAME'"},
    {"e", "state it as a header: -H 'Referer: URL'"},
    {"s", "a script is a Hurl file: FILE.hurl"},
    {"script", "a script is a Hurl file: FILE.hurl"},
    {"targets", "write the requests as Hurl files: FILE.hurl@WEIGHT"},
    {"max-time", "it is --timeout TIME"},
    {"resolve", "it is --connect-to HOST:PORT:ADDRESS:PORT"},
    {"latency", "percentiles are in every report"},
    {"disable-keepalive", "it is --no-keepalive"},
    {"root-certs", "it is --cacert FILE"},
    {"o", "results go to --json=FILE, --hdr FILE, --hlog FILE, --log FILE"},
    {"out", "results go to --json=FILE, --hdr FILE, --hlog FILE, --log FILE"},
    {"output", "results go to --json=FILE, --hdr FILE, --hlog FILE, --log FILE"},
    {"x", "proxies are not supported; --connect-to HOST:PORT:ADDRESS:PORT goes elsewhere"},
    {"proxy", "proxies are not supported; --connect-to HOST:PORT:ADDRESS:PORT goes elsewhere"},
    {"http3", "HTTP/3 is not supported: --http2"},
    {"v", "the report says everything; --log FILE has each operation"},
    {"verbose", "the report says everything; --log FILE has each operation"},
};

static const char *instead_of(const char *name)
{
    for (size_t i = 0; i < sizeof foreign / sizeof foreign[0]; i++)
        if (strcmp(foreign[i].name, name) == 0)
            return foreign[i].instead;
    return NULL;
}

static bool say_try_help(const char *name, const char *near)
{
    const char *instead = instead_of(name);
    if (instead != NULL)
        return httpload_say("Here %s.", instead);
    if (near != NULL)
        return httpload_say("Did you mean --%s?", near);
    return httpload_say("\"plimsoll http --help\" lists the options.");
}

static bool take_row(struct httpload_parse *parse, const struct option_row *row, const char *text)
{
    void *target = (char *)parse + row->offset;
    char given[64], letter[] = {'-', row->letter, '/', '\0'};
    snprintf(given, sizeof given, "%s--%s", row->letter != 0 ? letter : "", row->name);
    switch (row->kind) {
    case OPTION_FLAG:
        *(bool *)target = true;
        return true;
    case OPTION_INT:
        return httpload_value_int(given, text, row->low, row->high, target);
    case OPTION_TEXT:
        *(const char **)target = text;
        return true;
    case OPTION_FILE:
        return httpload_value_file(given, text, target);
    case OPTION_LIST:
        httpload_texts_add(target, parse->arena, text);
        return true;
    case OPTION_CALL:
        return row->call(parse, given, text);
    }
    return false;
}

struct words {
    int count, next;
    char **items;
};

/* A file may follow --json as a word of its own only when nothing else can be meant. */
static const char *json_file(struct words *words)
{
    if (words->next >= words->count)
        return NULL;
    const char *word = words->items[words->next];
    size_t length = strlen(word);
    bool is_file = word[0] != '-' && length > 5 && strcmp(word + length - 5, ".json") == 0 && strstr(word, "://") == NULL;
    return is_file ? words->items[words->next++] : NULL;
}

static bool read_long(struct httpload_parse *parse, const char *word, struct words *words)
{
    const char *names[ROW_COUNT], *equals = strchr(word, '=');
    size_t length = equals != NULL ? (size_t)(equals - word) : strlen(word), name_count = 0;
    const char *name = pl_strndup(parse->arena, word, length);
    for (size_t r = 0; r < ROW_COUNT; r++) {
        if (rows[r].name == NULL)
            continue;
        names[name_count++] = rows[r].name;
        if (strcmp(rows[r].name, name) != 0)
            continue;
        if (rows[r].call == take_json)
            return take_json(parse, "--json", equals != NULL ? equals + 1 : json_file(words));
        if (rows[r].argument == NULL && equals != NULL)
            return httpload_say("--%s takes no value", name);
        if (rows[r].argument == NULL || equals != NULL)
            return take_row(parse, &rows[r], equals != NULL ? equals + 1 : NULL);
        if (words->next >= words->count)
            return httpload_say("--%s needs a value: %s", name, rows[r].argument);
        return take_row(parse, &rows[r], words->items[words->next++]);
    }
    httpload_say("there is no option --%s", name);
    return say_try_help(name, pl_near(name, names, name_count));
}

/* All options with a letter take a value: the rest of the word, or the next one. */
static bool read_letter(struct httpload_parse *parse, const char *word, struct words *words)
{
    for (size_t r = 0; r < ROW_COUNT; r++) {
        if (rows[r].letter != word[0])
            continue;
        if (word[1] != '\0')
            return take_row(parse, &rows[r], word[1] == '=' ? word + 2 : word + 1);
        if (words->next >= words->count)
            return httpload_say("-%c needs a value: %s", word[0], rows[r].argument);
        return take_row(parse, &rows[r], words->items[words->next++]);
    }
    const char letter[] = {word[0], '\0'};
    bool is_shown = word[0] > ' ' && word[0] < 0x7f;
    httpload_say("there is no option -%s", is_shown ? letter : "?");
    return say_try_help(letter, NULL);
}

/* What only prints. */
static bool is_only_printing(struct httpload_parse *parse, const char *word)
{
    if (strcmp(word, "--help") == 0 || strcmp(word, "-h") == 0 || strcmp(word, "-?") == 0)
        print_help();
    else if (strcmp(word, "--version") == 0 || strcmp(word, "-V") == 0)
        puts("plimsoll " PLIMSOLL_VERSION);
    else
        return false;
    parse->is_over = true;
    return true;
}

static bool read_arguments(struct httpload_parse *parse, int argc, char **argv)
{
    struct words words = {.count = argc, .next = 1, .items = argv};
    bool is_option_end = false;
    while (words.next < words.count) {
        const char *word = words.items[words.next++];
        bool is_good = true;
        if (is_option_end || word[0] != '-' || word[1] == '\0')
            httpload_texts_add(&parse->operands, parse->arena, word);
        else if (strcmp(word, "--") == 0)
            is_option_end = true;
        else if (is_only_printing(parse, word))
            return true;
        else
            is_good = word[1] == '-' ? read_long(parse, word + 2, &words) : read_letter(parse, word + 1, &words);
        if (!is_good)
            return false;
    }
    return true;
}

/* With a rate, operations are dealt out evenly: as many clients as divide them, as long as those are no less than without a
 * rate. */
static int64_t clients_default(const struct httpload_options *chosen)
{
    if (chosen->rate_per_s <= 0 && chosen->find_text == NULL)
        return DEFAULT_CLIENTS;
    if (chosen->operations > 0 && chosen->operations <= DEFAULT_OPEN_CLIENTS)
        return chosen->operations;
    for (int64_t clients = DEFAULT_OPEN_CLIENTS; chosen->operations > 0 && clients >= DEFAULT_CLIENTS; clients--)
        if (chosen->operations % clients == 0)
            return clients;
    return DEFAULT_OPEN_CLIENTS;
}

bool httpload_options_parse(int argc, char **argv, struct pl_arena *arena, struct httpload_options *options, int *ret_exit)
{
    struct httpload_parse parse = {.arena = arena,
                                   .chosen = {.duration_ns = 10 * PL_NS_PER_S,
                                              .timeout_ns = 30 * PL_NS_PER_S,
                                              .step_ns = 10 * PL_NS_PER_S,
                                              .least_per_s = 1,
                                              .seed = (uint64_t)pl_clock_unix_ns(),
                                              .names = names_new(arena)}};
    bool is_good = read_arguments(&parse, argc, argv);
    if (is_good && !parse.is_over) {
        if (!parse.has_clients)
            parse.chosen.clients = clients_default(&parse.chosen);
        is_good = httpload_check(&parse);
    }
    if (!is_good || parse.is_over) {
        *ret_exit = is_good ? 0 : 2;
        return false;
    }
    *options = parse.chosen;
    return true;
}
