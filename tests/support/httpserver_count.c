/* What the HTTP server for tests counts and logs, and the requests it reads. */
#include <inttypes.h>
#include <string.h>
#include <strings.h>

#include "httpserver_int.h"

void counts_init(struct counts *counts)
{
    pthread_mutex_init(&counts->lock, NULL);
    counts->table = calloc(COUNTS_MOST, sizeof *counts->table);
    counts->log = calloc(LOG_MOST, sizeof *counts->log); /* pages that are never touched cost nothing */
    must(counts->table != NULL && counts->log != NULL);
}

void counts_release(struct counts *counts)
{
    for (size_t i = 0; i < COUNTS_MOST; i++)
        free(counts->table[i].key);
    free(counts->table);
    free(counts->log);
    pthread_mutex_destroy(&counts->lock);
}

/* Keys stay: the log's paths and what is under way point to them. */
void counts_forget(struct counts *counts)
{
    pthread_mutex_lock(&counts->lock);
    for (size_t i = 0; i < COUNTS_MOST; i++)
        counts->table[i].requests = counts->table[i].answers = 0;
    counts->requests = counts->answers = 0;
    counts->log_count = 0;
    for (int i = 0; i < HTTPSERVER_COUNTERS; i++)
        if (i != HTTPSERVER_OPEN)
            atomic_store(&counts->counters[i], 0);
    pthread_mutex_unlock(&counts->lock);
}

static size_t key_hash(char kind, const char *text)
{
    uint64_t hash = UINT64_C(14695981039346656037) ^ (unsigned char)kind;
    for (; *text != '\0'; text++)
        hash = (hash ^ (unsigned char)*text) * UINT64_C(1099511628211);
    return (size_t)(hash ^ hash >> 29);
}

struct count *counts_at(struct counts *counts, enum count_kind kind, const char *text)
{
    size_t at = key_hash((char)kind, text) % COUNTS_MOST;
    for (; counts->table[at].key != NULL; at = (at + 1) % COUNTS_MOST)
        if (counts->table[at].key[0] == (char)kind && strcmp(counts->table[at].key + 1, text) == 0)
            return &counts->table[at];
    must(counts->used < COUNTS_MOST / 2);
    counts->used++;
    size_t length = strlen(text);
    char *key = malloc(length + 2);
    must(key != NULL);
    key[0] = (char)kind;
    memcpy(key + 1, text, length + 1);
    counts->table[at].key = key;
    return &counts->table[at];
}

static void put_json_text(FILE *out, const char *text)
{
    fputc('"', out);
    for (; *text != '\0'; text++) {
        unsigned char byte = (unsigned char)*text;
        if (byte < 0x20 || byte >= 0x7f || byte == '"' || byte == '\\')
            fprintf(out, "\\u%04x", byte);
        else
            fputc(byte, out);
    }
    fputc('"', out);
}

static void put_kind(FILE *out, const struct counts *counts, const char *name, enum count_kind kind)
{
    fprintf(out, ",\"%s\":{", name);
    const char *between = "";
    for (size_t i = 0; i < COUNTS_MOST; i++) {
        const struct count *count = &counts->table[i];
        if (count->key == NULL || count->key[0] != (char)kind || (count->requests == 0 && count->answers == 0))
            continue;
        fputs(between, out);
        put_json_text(out, count->key + 1);
        fprintf(out, ":[%" PRId64 ",%" PRId64 "]", count->requests, count->answers);
        between = ",";
    }
    fputc('}', out);
}

char *counts_json(struct counts *counts, size_t *ret_length)
{
    static const char *const names[HTTPSERVER_COUNTERS] = {[HTTPSERVER_CONNECTIONS] = "connections",
                                                           [HTTPSERVER_OPEN] = "open",
                                                           [HTTPSERVER_OPEN_MOST] = "open_most",
                                                           [HTTPSERVER_HANDSHAKES] = "handshakes",
                                                           [HTTPSERVER_RESUMED] = "resumed",
                                                           [HTTPSERVER_CONTINUES] = "continues",
                                                           [HTTPSERVER_ABORTED] = "aborted",
                                                           [HTTPSERVER_BODY_BYTES] = "body_bytes",
                                                           [HTTPSERVER_STALL_BEGAN_NS] = "stall_began_ns",
                                                           [HTTPSERVER_STALL_ENDED_NS] = "stall_ended_ns"};
    char *text = NULL;
    FILE *out = open_memstream(&text, ret_length);
    must(out != NULL);
    pthread_mutex_lock(&counts->lock);
    fprintf(out, "{\"requests\":%" PRId64 ",\"answers\":%" PRId64, counts->requests, counts->answers);
    for (int i = 0; i < HTTPSERVER_COUNTERS; i++)
        fprintf(out, ",\"%s\":%lld", names[i], (long long)atomic_load(&counts->counters[i]));
    put_kind(out, counts, "paths", COUNT_PATH);
    put_kind(out, counts, "hosts", COUNT_HOST);
    put_kind(out, counts, "authorizations", COUNT_AUTHORIZATION);
    put_kind(out, counts, "names", COUNT_NAME);
    pthread_mutex_unlock(&counts->lock);
    fputs("}\n", out);
    must(fclose(out) == 0);
    return text;
}

char *counts_log(struct counts *counts, size_t *ret_length)
{
    char *text = NULL;
    FILE *out = open_memstream(&text, ret_length);
    must(out != NULL);
    pthread_mutex_lock(&counts->lock);
    for (size_t i = 0; i < counts->log_count; i++) {
        const struct httpserver_arrival *arrival = &counts->log[i];
        fprintf(out, "%" PRId64 " %" PRId64 " %" PRId32 " %" PRId32 " %s\n", arrival->came_ns, arrival->answered_ns,
                arrival->connection, arrival->status, arrival->path);
    }
    pthread_mutex_unlock(&counts->lock);
    must(fclose(out) == 0);
    return text;
}

/* ---- requests ---- */

/* Copies what fits; false: it did not. */
static bool take_text(char *into, size_t size, const char *text, size_t length)
{
    if (length >= size || memchr(text, '\0', length) != NULL)
        return false;
    memcpy(into, text, length);
    into[length] = '\0';
    return true;
}

static bool request_line(struct request *request, const char *line, size_t length)
{
    const char *target = memchr(line, ' ', length);
    if (target == NULL || !take_text(request->method, sizeof request->method, line, (size_t)(target - line)))
        return false;
    target++;
    const char *end = line + length, *version = memchr(target, ' ', (size_t)(end - target));
    if (version == NULL || !take_text(request->target, sizeof request->target, target, (size_t)(version - target)))
        return false;
    version++;
    bool is_10 = end - version == 8 && memcmp(version, "HTTP/1.0", 8) == 0;
    if (!is_10 && (end - version != 8 || memcmp(version, "HTTP/1.1", 8) != 0))
        return false;
    request->closes = is_10;
    request->is_head = strcmp(request->method, "HEAD") == 0;
    char *query = strchr(request->target, '?');
    request->query = query != NULL ? query + 1 : "";
    size_t path_length = query != NULL ? (size_t)(query - request->target) : strlen(request->target);
    return take_text(request->path, sizeof request->path, request->target, path_length);
}

static bool has_word(const char *value, const char *word)
{
    return strcasestr(value, word) != NULL;
}

static bool request_field(struct request *request, const char *line, size_t length)
{
    char value[TEXT_MOST];
    const char *colon = memchr(line, ':', length);
    if (colon == NULL || colon == line)
        return false;
    size_t name = (size_t)(colon - line);
    const char *text = colon + 1, *end = line + length;
    while (text < end && (*text == ' ' || *text == '\t'))
        text++;
    if (!take_text(value, sizeof value, text, (size_t)(end - text)))
        return true; /* longer than anything that is looked at here */
#define IS(literal) (name == sizeof(literal) - 1 && strncasecmp(line, literal, name) == 0)
    if (IS("Host"))
        return take_text(request->host, sizeof request->host, value, strlen(value));
    if (IS("Authorization"))
        return take_text(request->authorization, sizeof request->authorization, value, strlen(value));
    if (IS("Cookie"))
        return take_text(request->cookie, sizeof request->cookie, value, strlen(value));
    if (IS("Connection"))
        request->closes = has_word(value, "close") || (request->closes && !has_word(value, "keep-alive"));
    if (IS("Accept-Encoding")) {
        request->accepts_gzip = has_word(value, "gzip");
        request->accepts_deflate = has_word(value, "deflate");
    }
    if (IS("Expect"))
        request->expects_continue = has_word(value, "100-continue");
    if (IS("Transfer-Encoding"))
        request->is_chunked = true;
    if (IS("Content-Length")) {
        char *rest;
        request->content_length = strtoll(value, &rest, 10);
        return *rest == '\0' && rest != value && request->content_length >= 0 && request->content_length < INT64_C(1) << 40;
    }
#undef IS
    return true;
}

bool request_read(const char *bytes, size_t length, struct request *request)
{
    *request = (struct request){.query = "", .head = bytes, .head_length = length};
    bool is_first = true;
    for (const char *line = bytes, *end = bytes + length; line < end;) {
        const char *stop = memmem(line, (size_t)(end - line), "\r\n", 2);
        if (stop == NULL)
            return false;
        size_t size = (size_t)(stop - line);
        if (size > 0 && !(is_first ? request_line(request, line, size) : request_field(request, line, size)))
            return false;
        is_first = false;
        line = stop + 2;
    }
    return request->path[0] != '\0';
}
