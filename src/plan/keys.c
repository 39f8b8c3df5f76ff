/* The tables of keys: everything that a plan may say. The parser, the defaults, the reference and the JSON schema are all
 * made from these rows. */
#include "plan/plan.h"

#include <string.h>

#include "base/limits.h"
#include "plan/plan_int.h"

#include "base/ban.h"

#define HARDWARE (1U << PLAN_HARDWARE)
#define FOOTPRINT (1U << PLAN_FOOTPRINT)
#define CLIENTS (1U << PLAN_CLIENTS)
#define RATE (1U << PLAN_RATE)
#define STORAGE (1U << PLAN_STORAGE)
#define LOADS (CLIENTS | RATE | STORAGE)
#define ALL (HARDWARE | FOOTPRINT | LOADS)
#define ANY PLAN_ANY_SPEECH

#define PARAM(field) offsetof(struct plan_params, field)

#define DAY_NS 86400e9
#define HOUR_NS 3600e9
#define MS_NS 1e6

const char *const plan_kind_names[] = {
    [PLAN_HARDWARE] = "hardware", [PLAN_FOOTPRINT] = "footprint", [PLAN_CLIENTS] = "clients",
    [PLAN_RATE] = "rate",         [PLAN_STORAGE] = "storage",     [PLAN_KIND_COUNT] = NULL};

static const char *const protocols[] = {
    [PLAN_SIMPLE] = "simple", [PLAN_EXTENDED] = "extended", [PLAN_PREPARED] = "prepared", NULL};
static const char *const think_laws[] = {
    [PLAN_THINK_CONSTANT] = "constant", [PLAN_THINK_EXPONENTIAL] = "exponential", NULL};
static const char *const session_laws[] = {[PLAN_SESSION_FIXED] = "fixed", [PLAN_SESSION_GEOMETRIC] = "geometric", NULL};
static const char *const choices[] = {[PLAN_AS_SERVICE] = "service", [PLAN_NO] = "no", [PLAN_YES] = "yes", NULL};
static const char *const arrivals[] = {[PLAN_CONSTANT] = "constant", [PLAN_POISSON] = "poisson", NULL};

/* clang-format off */
const struct plan_key plan_stage_keys[] = {
    {"script", PLAN_TYPE_NAME, PARAM(script), NULL, NULL, 0, 0, LOADS, ANY,
     "what one simulated user does: a builtin script or a name under `scripts:`, or several with weights: "
     "`{browse: 3, buy: 1}`"},
    {"clients", PLAN_TYPE_COUNT, PARAM(clients), NULL, "1", 1, PL_MAX_CLIENTS, CLIENTS | STORAGE, ANY,
     "simulated users, each with a connection of its own"},
    {"clients", PLAN_TYPE_COUNT, PARAM(clients), NULL, "16", 1, PL_MAX_CLIENTS, RATE, ANY,
     "connections that share the arrivals; an operation that finds all of them busy waits, and the wait counts"},
    {"rate", PLAN_TYPE_RATE, PARAM(rate_per_s), NULL, NULL, 0.001, 1e7, RATE, ANY,
     "operations that become due in a second, however fast the answers come"},
    {"arrivals", PLAN_TYPE_CHOICE, PARAM(arrivals), arrivals, "poisson", 0, 0, RATE, ANY,
     "constant: evenly spaced; poisson: at random, as independent users come"},
    {"protocol", PLAN_TYPE_CHOICE, PARAM(protocol), protocols, "prepared", 0, 0, LOADS, PLAN_SQL,
     "how SQL is sent: as text, parsed each time with parameters, or prepared once"},
    {"operations", PLAN_TYPE_COUNT, PARAM(operations), NULL, "0", 0, 1e12, CLIENTS, ANY,
     "end after so many operations in all, with no warm-up; 0 means by time"},
    {"operations", PLAN_TYPE_COUNT, PARAM(operations), NULL, "10000", 1, 1e12, STORAGE, ANY,
     "operations between the two readings of the sizes"},
    {"transactions", PLAN_TYPE_COUNT, PARAM(transactions), NULL, "0", 0, 1e9, CLIENTS, ANY,
     "end when each client has carried out so many, with no warm-up; 0 means by time"},
    {"settle", PLAN_TYPE_DURATION, PARAM(settle_ns), NULL, "5s", 0, DAY_NS, FOOTPRINT, ANY,
     "idle time before the first reading"},
    {"settle", PLAN_TYPE_DURATION, PARAM(settle_ns), NULL, "0s", 0, DAY_NS, CLIENTS | RATE, ANY,
     "idle time before each load"},
    {"warm_up", PLAN_TYPE_DURATION, PARAM(warm_up_ns), NULL, "5s", 0, DAY_NS, CLIENTS | RATE, ANY,
     "load before the measured window, kept apart from it"},
    {"for", PLAN_TYPE_DURATION, PARAM(for_ns), NULL, "30s", 100 * MS_NS, 7 * DAY_NS, FOOTPRINT | CLIENTS | RATE, ANY,
     "length of the measured window"},
    {"drain", PLAN_TYPE_DURATION, PARAM(drain_ns), NULL, "5s", 0, HOUR_NS, LOADS, ANY,
     "how long at most to wait for operations under way at the end; the rest count as unfinished"},
    {"cooldown", PLAN_TYPE_DURATION, PARAM(cooldown_ns), NULL, "0s", 0, DAY_NS, CLIENTS | RATE, ANY,
     "idle time after each load"},
    {"think", PLAN_TYPE_DURATION, PARAM(think_ns), NULL, "0s", 0, DAY_NS, CLIENTS | RATE, ANY,
     "how long a client waits between two operations; with a rate only inside of sessions"},
    {"think_law", PLAN_TYPE_CHOICE, PARAM(think_law), think_laws, "constant", 0, 0, CLIENTS | RATE, ANY,
     "constant: always so long; exponential: at random, with `think` as the mean"},
    {"session", PLAN_TYPE_COUNT, PARAM(session), NULL, "0", 0, 1e6, RATE, ANY,
     "what arrives is a user who carries out so many operations one after the other; 0: single operations arrive"},
    {"session_law", PLAN_TYPE_CHOICE, PARAM(session_law), session_laws, "fixed", 0, 0, RATE, ANY,
     "fixed: always so many; geometric: at random, with `session` as the mean"},
    {"http2", PLAN_TYPE_CHOICE, PARAM(http2), choices, "service", 0, 0, CLIENTS | RATE, PLAN_HTTP,
     "HTTP/2; service: as the service's `http:` says, here and below"},
    {"streams", PLAN_TYPE_COUNT, PARAM(streams), NULL, "0", 0, 1000, CLIENTS | RATE, PLAN_HTTP,
     "HTTP/2: requests at a time on one connection; 0: as the service says"},
    {"connections", PLAN_TYPE_COUNT, PARAM(connections), NULL, "0", 0, PL_MAX_CLIENTS, CLIENTS | RATE, PLAN_HTTP,
     "connections that are open at a time, over all targets; 0: as the service says"},
    {"keep_alive", PLAN_TYPE_CHOICE, PARAM(keep_alive), choices, "service", 0, 0, CLIENTS | RATE, PLAN_HTTP,
     "connections serve more than one request"},
    {"max_time", PLAN_TYPE_DURATION, PARAM(max_time_ns), NULL, "0s", 0, HOUR_NS, CLIENTS | RATE, PLAN_HTTP,
     "time limit of a request that states none of its own; without an answer by then it has expired; 0s: as the service "
     "says"},
    {"follow", PLAN_TYPE_CHOICE, PARAM(follow), choices, "service", 0, 0, CLIENTS | RATE, PLAN_HTTP,
     "redirects are followed, also where the script does not say so"},
    {"compressed", PLAN_TYPE_CHOICE, PARAM(compressed), choices, "service", 0, 0, CLIENTS | RATE, PLAN_HTTP,
     "asks for compressed answers, also where the script does not say so"},
    {"workers", PLAN_TYPE_COUNT, PARAM(workers), NULL, "0", 0, PL_MAX_WORKERS, LOADS, ANY,
     "threads that make the load; 0 means chosen from clients and cores"},
    {"iterations", PLAN_TYPE_COUNT, PARAM(iterations), NULL, "1", 1, PL_MAX_ITERATIONS, ALL, ANY,
     "trials of each case, interleaved with those of the other cases; intervals need at least 2"},
};
/* clang-format on */
const size_t plan_stage_key_count = sizeof plan_stage_keys / sizeof plan_stage_keys[0];

static const char *const service_kinds[] = {"postgres", "attach", NULL};
static const char *const data_kinds[] = {"tpcb", NULL};
static const char *const orders[] = {
    [PLAN_SEQUENTIAL] = "sequential", [PLAN_RANDOM] = "random", [PLAN_UNIQUE] = "unique", NULL};

/* scripts stand before stages and services before subject: fields are taken in this order, whatever the order in the file
 */
static const struct field top_fields[] = {
    {.name = "study",
     .form = FORM_TEXT,
     .offset = offsetof(struct plan, title),
     .required = true,
     .doc = "what is measured, one line; the title of the study"},
    {.name = "seed",
     .form = FORM_INTEGER,
     .offset = offsetof(struct plan, seed),
     .unset = "1",
     .low = 0,
     .high = 0x1p62,
     .doc = "all random choices follow from it: arrivals, values in scripts, order of trials"},
    {.name = "services", .form = FORM_SERVICES, .required = true, .doc = "the programs that the study starts, by name"},
    {.name = "subject",
     .form = FORM_SUBJECT,
     .fallback = "the only service",
     .doc = "the service whose cost the study is about"},
    {.name = "scripts",
     .form = FORM_SCRIPTS,
     .fallback = "builtin scripts only",
     .doc =
         "files in pgbench's script language, or Hurl files (`.hurl`), by name; paths are relative to the plan's folder"},
    {.name = "variables",
     .form = FORM_VARIABLES,
     .fallback = "none",
     .doc = "variables of scripts: a number, a text, or an expression that is drawn for each operation, such as "
            "`random(1, 100)`"},
    {.name = "feeds",
     .form = FORM_FEEDS,
     .fallback = "none",
     .doc = "files of test data by name; their columns are variables of scripts, and each operation takes the next row of "
            "those that its script uses"},
    {.name = "tenants",
     .form = FORM_TENANTS,
     .fallback = "none",
     .doc = "whom the load speaks for: targets, each operation is of one of them"},
    {.name = "stages", .form = FORM_STAGES, .required = true, .doc = "the questions of the study, in order"},
    {.name = "page", .form = FORM_PAGE, .fallback = "as the study", .doc = "how the page is written"},
};

static const struct field service_fields[] = {
    {.name = "kind",
     .form = FORM_CHOICE,
     .offset = offsetof(struct plan_service, kind),
     .required = true,
     .choices = service_kinds,
     .doc =
         "what it is; a postgres is started in a temporary directory and removed at the end; attach: an HTTP server that "
         "runs already"},
    {.name = "url",
     .form = FORM_URL,
     .offset = offsetof(struct plan_service, url),
     .fallback = "none",
     .doc =
         "attach: where it is, such as http://127.0.0.1:8080; completes paths in scripts. `user:password@` in it is sent "
         "and never recorded"},
    {.name = "http", .form = FORM_HTTP, .fallback = "defaults", .doc = "attach: how requests are made"},
    {.name = "version",
     .form = FORM_VERSION,
     .offset = offsetof(struct plan_service, version),
     .fallback = "the newest found",
     .doc = "major version, such as 15"},
    {.name = "directory",
     .form = FORM_PATH,
     .offset = offsetof(struct plan_service, directory),
     .fallback = "searched",
     .doc = "where its programs are: a bin directory or the prefix above it"},
    {.name = "user",
     .form = FORM_USER,
     .offset = offsetof(struct plan_service, user),
     .fallback = "postgres, else nobody",
     .doc = "the system user it runs as when Plimsoll is started by root"},
    {.name = "settings",
     .form = FORM_SETTINGS,
     .fallback = "PostgreSQL's defaults",
     .doc = "settings of the server by name, values as its configuration file would have them"},
    {.name = "data", .form = FORM_DATA, .fallback = "none", .doc = "data set that is built once it is ready"},
};

static const struct field data_fields[] = {
    {.name = "kind",
     .form = FORM_CHOICE,
     .offset = offsetof(struct plan_service, data_kind),
     .required = true,
     .choices = data_kinds,
     .doc = "tpcb: the four tables that pgbench and its scripts use"},
    {.name = "scale",
     .form = FORM_INTEGER,
     .offset = offsetof(struct plan_service, data_scale),
     .unset = "1",
     .low = 1,
     .high = 100000,
     .doc = "size: for tpcb 100000 accounts, about 16 MB, each"},
};

static const struct field page_fields[] = {
    {.name = "title",
     .form = FORM_TEXT,
     .offset = offsetof(struct plan, page_title),
     .fallback = "the study's",
     .doc = "heading of the page"},
};

#define HTTP(field) offsetof(struct plan_service, http.field)
static const struct field http_fields[] = {
    {.name = "http2",
     .form = FORM_FLAG,
     .offset = HTTP(http2),
     .unset = "no",
     .doc = "HTTP/2: by ALPN with TLS, without asking otherwise"},
    {.name = "streams",
     .form = FORM_INTEGER,
     .offset = HTTP(streams),
     .unset = "10",
     .low = 1,
     .high = 1000,
     .doc = "HTTP/2: requests at a time on one connection"},
    {.name = "connections",
     .form = FORM_INTEGER,
     .offset = HTTP(connections),
     .unset = "0",
     .low = 0,
     .high = PL_MAX_CLIENTS,
     .doc = "connections that are open at a time, over all targets; 0: one for each client (HTTP/2: for each `streams` of "
            "them)"},
    {.name = "keep_alive",
     .form = FORM_NO_FLAG,
     .offset = HTTP(no_keep_alive),
     .unset = "yes",
     .doc = "no: each request has a connection of its own"},
    {.name = "insecure",
     .form = FORM_FLAG,
     .offset = HTTP(insecure),
     .unset = "no",
     .doc = "certificates are not verified"},
    {.name = "ca_file",
     .form = FORM_PATH,
     .offset = HTTP(ca_file),
     .fallback = "the system's",
     .doc = "certificates that are trusted, PEM"},
    {.name = "connect_timeout",
     .form = FORM_DURATION,
     .offset = HTTP(connect_timeout_ns),
     .unset = "10s",
     .low = MS_NS,
     .high = HOUR_NS,
     .doc = "of connecting, TLS included"},
    {.name = "max_time",
     .form = FORM_DURATION,
     .offset = HTTP(max_time_ns),
     .unset = "30s",
     .low = MS_NS,
     .high = HOUR_NS,
     .doc = "time limit of a request that states none of its own, redirects included; without an answer by then it has "
            "expired"},
    {.name = "follow",
     .form = FORM_FLAG,
     .offset = HTTP(follow),
     .unset = "no",
     .doc = "redirects are followed, also where the script does not say so"},
    {.name = "compressed",
     .form = FORM_FLAG,
     .offset = HTTP(compressed),
     .unset = "no",
     .doc = "asks for compressed answers, also where the script does not say so"},
};

static const struct field feed_fields[] = {
    {.name = "file",
     .form = FORM_PATH,
     .offset = offsetof(struct plan_feed, path),
     .required = true,
     .doc = "CSV with the names of columns in its first line, or JSON lines (`.jsonl`, `.ndjson`, `.json`)"},
    {.name = "order",
     .form = FORM_ORDER,
     .offset = offsetof(struct plan_feed, order),
     .unset = "sequential",
     .choices = orders,
     .doc = "sequential: row after row, again and again; random: by the column `weight`, else alike; unique: each row once "
            "in a "
            "trial, and an operation that finds none left fails"},
};

static const struct field tenant_fields[] = {
    {.name = "file",
     .form = FORM_PATH,
     .offset = offsetof(struct plan_tenants, path),
     .fallback = "none",
     .doc = "CSV or JSON lines with the columns below and any others, which are variables; stands alone"},
    {.name = "count",
     .form = FORM_INTEGER,
     .offset = offsetof(struct plan_tenants, count),
     .fallback = "none",
     .low = 1,
     .high = 1e6,
     .doc =
         "how many tenants are made of the patterns below, in which {n} is the number of the tenant from 1, and {n:04} the "
         "same with leading zeros"},
    {.name = "url", .form = FORM_PATTERN, .fallback = "the service's", .doc = "where its requests go"},
    {.name = "host", .form = FORM_PATTERN, .fallback = "that of the URL", .doc = "what the header Host says"},
    {.name = "user",
     .form = FORM_PATTERN,
     .fallback = "none",
     .doc = "`name:password`, sent as basic authentication; never recorded"},
    {.name = "weight", .form = FORM_PATTERN, .fallback = "1", .doc = "its share of the load, a number above 0"},
    {.name = "group", .form = FORM_PATTERN, .fallback = "one group", .doc = "figures are given for each group"},
    {.name = "variables",
     .form = FORM_PATTERNS,
     .fallback = "none",
     .doc = "further columns, which are variables of scripts: name to pattern. Beside them `header.NAME` is a header that "
            "each of "
            "its requests has"},
};

static const struct field stage_fields[] = {
    {.name = "kind",
     .form = FORM_KIND,
     .offset = offsetof(struct plan_stage, kind),
     .required = true,
     .choices = plan_kind_names,
     .doc = "which question it asks"},
    {.name = "name",
     .form = FORM_NAME,
     .offset = offsetof(struct plan_stage, name),
     .fallback = "its kind",
     .doc = "what it is called; no two stages may share a name"},
    {.name = "over",
     .form = FORM_OVER,
     .fallback = "one case",
     .doc = "what to vary, each with a list of values: parameters of the stage, and what is told below of a service; every "
            "combination becomes a case"},
};

const struct service_axis plan_service_axes[] = {
    {"settings", PLAN_AXIS_SETTINGS, "map: bundle to settings, or list of bundles",
     "bundles of settings, each with a name: `{default: {}, custom: {shared_buffers: 512MB}}`; a bundle that an earlier "
     "stage has written down is named: `[default, custom]`"},
    {"settings.NAME", PLAN_AXIS_SETTING, "list of values", "one setting of the server"},
    {"version", PLAN_AXIS_VERSION, "list of whole numbers", "major versions"},
    {"directory", PLAN_AXIS_DIRECTORY, "list of paths", "where its programs are"},
    {"data.scale", PLAN_AXIS_SCALE, "list of whole numbers", "sizes of its data"},
    {NULL, PLAN_AXIS_PARAM, NULL, NULL},
};

#define LEVEL(title, table)                                                                                                \
    {                                                                                                                      \
        title, table, sizeof table / sizeof table[0]                                                                       \
    }
const struct level plan_level_top = LEVEL("The plan", top_fields);
const struct level plan_level_service = LEVEL("A service", service_fields);
const struct level plan_level_data = LEVEL("The data of a service", data_fields);
const struct level plan_level_page = LEVEL("The page", page_fields);
const struct level plan_level_stage = LEVEL("A stage", stage_fields);
const struct level plan_level_http = LEVEL("The `http` of a service", http_fields);
const struct level plan_level_feed = LEVEL("A feed", feed_fields);
const struct level plan_level_tenants = LEVEL("The tenants", tenant_fields);

static const char own_socket[] = "the server is reached through a private Unix socket that Plimsoll chooses";
static const char own_access[] = "Plimsoll writes the server's access rules itself";
static const char own_files[] = "the server's files stand in a private directory that is removed at the end";
static const char own_include[] = "the study would not show what the other file sets";

const struct owned_setting plan_owned_settings[] = {
    {"port", own_socket},
    {"listen_addresses", own_socket},
    {"unix_socket_directories", own_socket},
    {"unix_socket_group", own_socket},
    {"unix_socket_permissions", own_socket},
    {"data_directory", own_files},
    {"config_file", own_files},
    {"external_pid_file", own_files},
    {"hba_file", own_access},
    {"ident_file", own_access},
    {"logging_collector", "Plimsoll reads the server's log itself"},
    {"include", own_include},
    {"include_dir", own_include},
    {"include_if_exists", own_include},
    {"log_destination", "Plimsoll reads the server's log itself"},
    {"lc_messages", "errors are told apart by the server's own words, which must be the same everywhere"},
    {NULL, NULL},
};

const char plan_secret_why[] =
    "its value may be a secret, and a plan is kept in the study and printed on the page; a throwaway server needs none";

const char *const plan_secret_marks[] = {"passw",
                                         "passphrase",
                                         "secret",
                                         "token",
                                         "conninfo",
                                         "credential",
                                         "api_key",
                                         "apikey",
                                         "archive_command",
                                         "restore_command",
                                         "archive_cleanup_command",
                                         "recovery_end_command",
                                         NULL};
const char plan_secret_exception[] = "password_encryption"; /* the name of a method */

bool plan_setting_is_secret(const char *name)
{
    if (strcasecmp(name, plan_secret_exception) == 0)
        return false;
    for (size_t i = 0; plan_secret_marks[i] != NULL; i++)
        if (strcasestr(name, plan_secret_marks[i]) != NULL)
            return true;
    return false;
}

const char *plan_setting_refusal(const char *name)
{
    for (const struct owned_setting *owned = plan_owned_settings; owned->name != NULL; owned++)
        if (strcasecmp(owned->name, name) == 0)
            return owned->why;
    return plan_setting_is_secret(name) ? plan_secret_why : NULL;
}

const char *const plan_reserved_services[] = {"host", "tool", "plan", "load", NULL};

const char *plan_kind_name(enum plan_kind kind)
{
    return kind < PLAN_KIND_COUNT ? plan_kind_names[kind] : "unknown";
}

const struct plan_key *plan_stage_key(enum plan_kind kind, const char *name)
{
    for (size_t i = 0; i < plan_stage_key_count; i++)
        if ((plan_stage_keys[i].kinds >> kind & 1U) != 0 && strcmp(plan_stage_keys[i].name, name) == 0)
            return &plan_stage_keys[i];
    return NULL;
}

enum plan_speech plan_speech_of(const struct plan_service *service)
{
    return strcmp(service->kind, "attach") == 0 ? PLAN_HTTP : PLAN_SQL;
}

bool plan_key_applies(const struct plan *plan, const struct plan_key *key)
{
    return key->speech == PLAN_ANY_SPEECH || key->speech == plan_speech_of(plan->subject);
}
