/* One thread's buffers: memory of a call, what is compiled at run time, and messages. */
#include "hurl/run_int.h"

#include <iconv.h>
#include <openssl/evp.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <sys/random.h>

#define PCRE2_CODE_UNIT_WIDTH 8
#include <pcre2.h>

#include "base/clock.h"
#include "base/utf8.h"

#include "base/ban.h"

/* ---- memory ---- */

struct hurl_chunk {
    struct hurl_chunk *older;
    size_t bytes;
    _Alignas(max_align_t) char data[];
};

static void scratch_free(struct hurl_chunk *chunk)
{
    while (chunk != NULL) {
        struct hurl_chunk *older = chunk->older;
        pl_free(chunk);
        chunk = older;
    }
}

/* A chunk with room for `bytes` more than what is open, which moves there. */
static bool scratch_widen(struct hurl_scratch *scratch, size_t bytes)
{
    enum { FIRST = 4096 };
    size_t kept = scratch->open != NULL ? (size_t)(scratch->at - scratch->open) : 0;
    size_t size = scratch->bytes > FIRST ? scratch->bytes : FIRST;
    if (bytes > scratch->most || kept + bytes > scratch->most - scratch->bytes) {
        scratch->is_full = true;
        return false;
    }
    size = size < (kept + bytes) * 2 ? (kept + bytes) * 2 : size;
    size = size > scratch->most - scratch->bytes ? scratch->most - scratch->bytes : size;
    struct hurl_chunk *chunk = pl_new(1, sizeof *chunk + size);
    chunk->older = scratch->chunks;
    chunk->bytes = size;
    if (kept > 0)
        memcpy(chunk->data, scratch->open, kept);
    scratch->open = scratch->open != NULL ? chunk->data : NULL;
    scratch->chunks = chunk;
    scratch->at = chunk->data + kept;
    scratch->end = chunk->data + size;
    scratch->bytes += size;
    return true;
}

void hurl_scratch_reset(struct hurl_scratch *scratch)
{
    struct hurl_chunk *chunk = scratch->chunks;
    if (chunk != NULL && chunk->older != NULL) {
        size_t size = scratch->bytes;
        scratch_free(chunk);
        chunk = pl_new(1, sizeof *chunk + size);
        chunk->bytes = size;
    }
    scratch->chunks = chunk;
    scratch->at = chunk != NULL ? chunk->data : NULL;
    scratch->end = chunk != NULL ? chunk->data + chunk->bytes : NULL;
    scratch->open = NULL;
    scratch->is_full = false;
}

void hurl_scratch_release(struct hurl_scratch *scratch)
{
    scratch_free(scratch->chunks);
    *scratch = (struct hurl_scratch){.most = scratch->most};
}

void *hurl_scratch_take(struct hurl_scratch *scratch, size_t bytes)
{
    enum { ALIGNMENT = _Alignof(max_align_t) };
    size_t skip = scratch->at != NULL ? (ALIGNMENT - (size_t)((uintptr_t)scratch->at % ALIGNMENT)) % ALIGNMENT : 0;
    if (scratch->at == NULL || (size_t)(scratch->end - scratch->at) < skip ||
        (size_t)(scratch->end - scratch->at) - skip < bytes) {
        if (!scratch_widen(scratch, bytes))
            return NULL;
        skip = 0;
    }
    void *taken = scratch->at + skip;
    scratch->at += skip + bytes;
    return taken;
}

void hurl_scratch_open(struct hurl_scratch *scratch)
{
    if (scratch->at == NULL)
        scratch_widen(scratch, 1);
    scratch->open = scratch->at;
}

char *hurl_scratch_room(struct hurl_scratch *scratch, size_t bytes)
{
    if ((size_t)(scratch->end - scratch->at) < bytes && !scratch_widen(scratch, bytes))
        return NULL;
    return scratch->at;
}

void hurl_scratch_put(struct hurl_scratch *scratch, const char *text, size_t length)
{
    char *room = hurl_scratch_room(scratch, length);
    if (room == NULL || length == 0)
        return;
    memcpy(room, text, length);
    scratch->at += length;
}

struct hurl_slice hurl_scratch_close(struct hurl_scratch *scratch)
{
    struct hurl_slice slice = {scratch->open, (size_t)(scratch->at - scratch->open)};
    scratch->open = NULL;
    return slice;
}

/* ---- the work ---- */

enum {
    MESSAGE_MOST = 1 << 30, /* of a request: its parts, encoded */
    SCRATCH_MOST = 64 << 20,
    MATCHES_MOST = 1000000, /* of PCRE2's own count: how long a pattern may try from one byte of the text */
    DEPTH_MOST = 20000,
    MATCH_KIB_MOST = 8192,
    STACK_FIRST = 32 << 10, /* of compiled patterns: a group that repeats takes some for each turn */
    STACK_MOST = 8 << 20,
    PATTERN_MOST = 65536,
    GROUPS_MOST = 32
};

static void work_boundary(struct hurl_work *work)
{
    static const char start[] = "----plimsoll", digits[] = "0123456789abcdef";
    uint64_t number = pl_rng_u64(&work->rng);
    memcpy(work->boundary, start, sizeof start);
    for (size_t i = 0; i < 16; i++)
        work->boundary[sizeof start - 1 + i] = digits[number >> (4 * i) & 15];
    work->boundary[sizeof start - 1 + 16] = '\0';
}

struct hurl_work *hurl_work_new(void)
{
    struct hurl_work *work = pl_new(1, sizeof *work);
    uint64_t seed;
    if (getrandom(&seed, sizeof seed, 0) != (ssize_t)sizeof seed)
        seed = (uint64_t)pl_clock_ns() ^ (uint64_t)(uintptr_t)work;
    pl_rng_init(&work->rng, seed, PL_RNG_SCRIPT, 0);
    work_boundary(work);
    work->message.most = MESSAGE_MOST;
    work->scratch.most = SCRATCH_MOST;
    work->charset = (void *)-1;
    work->match_data = pcre2_match_data_create(GROUPS_MOST, NULL);
    work->match_context = pcre2_match_context_create(NULL);
    work->compile_context = pcre2_compile_context_create(NULL);
    for (size_t i = 0; i < 2; i++) {
        work->digests[i] = EVP_MD_CTX_new();
        work->hashes[i] = EVP_MD_fetch(NULL, i == 0 ? "SHA256" : "MD5", NULL); /* NULL: OpenSSL is set up without it */
    }
    work->match_stack = pcre2_jit_stack_create(STACK_FIRST, STACK_MOST, NULL); /* NULL: there is no JIT */
    if (work->match_data == NULL || work->match_context == NULL || work->compile_context == NULL ||
        work->digests[0] == NULL || work->digests[1] == NULL)
        pl_panic("out of memory");
    pcre2_set_match_limit(work->match_context, MATCHES_MOST);
    pcre2_set_depth_limit(work->match_context, DEPTH_MOST);
    pcre2_set_heap_limit(work->match_context, MATCH_KIB_MOST);
    pcre2_set_max_pattern_length(work->compile_context, PATTERN_MOST);
    if (work->match_stack != NULL)
        pcre2_jit_stack_assign(work->match_context, NULL, work->match_stack);
    return work;
}

static void slot_empty(struct hurl_slot *slot)
{
    pcre2_code_free(slot->code);
    pl_arena_free(slot->arena);
    slot->code = NULL;
    slot->arena = NULL;
    slot->path = NULL;
}

void hurl_work_free(struct hurl_work *work)
{
    if (work == NULL)
        return;
    hurl_scratch_release(&work->message);
    hurl_scratch_release(&work->scratch);
    json_release(&work->body);
    json_release(&work->filter);
    json_release(&work->operand);
    json_release(&work->kept);
    json_search_release(&work->search);
    json_search_release(&work->filter_search);
    for (size_t i = 0; i < HURL_SLOTS; i++) {
        slot_empty(&work->slots[i]);
        pl_free(work->slots[i].text);
    }
    pcre2_match_data_free(work->match_data);
    pcre2_match_context_free(work->match_context);
    pcre2_jit_stack_free(work->match_stack);
    pcre2_compile_context_free(work->compile_context);
    for (size_t i = 0; i < 2; i++) {
        EVP_MD_CTX_free(work->digests[i]);
        EVP_MD_free(work->hashes[i]);
    }
    if (work->charset != (void *)-1)
        iconv_close(work->charset);
    pl_free(work->is_redacted);
    pl_free(work);
}

struct hurl_slot *hurl_slot_of(struct hurl_work *work, const void *of, struct hurl_slice text)
{
    struct hurl_slot *slot = NULL;
    for (size_t i = 0; i < HURL_SLOTS && slot == NULL; i++)
        slot = work->slots[i].of == of ? &work->slots[i] : NULL;
    if (slot != NULL && slot->length == text.length && memcmp(slot->text, text.text, text.length) == 0)
        return slot;
    if (slot == NULL)
        slot = &work->slots[work->slot_next++ % HURL_SLOTS];
    slot_empty(slot);
    if (slot->capacity <= text.length) {
        pl_free(slot->text);
        slot->capacity = text.length * 2 + 64;
        slot->text = pl_new(slot->capacity, 1);
    }
    memcpy(slot->text, text.text, text.length);
    slot->length = text.length;
    slot->of = of;
    return slot;
}

/* ---- messages ---- */

bool hurl_fail(struct hurl_run *run, struct hurl_place place, const char *fmt, ...)
{
    struct hurl_work *work = run->work;
    if (work->has_failed)
        return false;
    va_list args;
    va_start(args, fmt);
    vsnprintf(work->why, sizeof work->why, fmt, args);
    va_end(args);
    work->place = place;
    work->has_failed = true;
    return false;
}

bool hurl_fail_full(struct hurl_run *run, struct hurl_place place)
{
    return hurl_fail(run, place, "a value grows beyond %zu MiB", run->scratch->most >> 20);
}

void hurl_fail_in(struct hurl_run *run, const char *where)
{
    char *why = run->work->why;
    size_t length = strlen(where), kept = strlen(why);
    if (length + 2 + kept >= sizeof run->work->why)
        return;
    memmove(why + length + 2, why, kept + 1);
    memcpy(why, where, length);
    memcpy(why + length, ": ", 2);
}

const char *hurl_message(struct hurl_run *run, const char *subject)
{
    struct hurl_work *work = run->work;
    char file[HURL_SHOW_BYTES], shown[HURL_SHOW_BYTES];
    const char *name = run->request->name != NULL ? run->request->name : "";
    hurl_show_text(run, name, strlen(name), file);
    if (work->place.line > 0)
        snprintf(work->text, sizeof work->text, "%s:%d:%d: ", file, work->place.line, work->place.col);
    else
        snprintf(work->text, sizeof work->text, "%s%s", file, *file != '\0' ? ": " : "");
    size_t length = strlen(work->text);
    if (subject != NULL)
        snprintf(work->text + length, sizeof work->text - length,
                 "%s: ", hurl_show_text(run, subject, strlen(subject), shown));
    length = strlen(work->text);
    snprintf(work->text + length, sizeof work->text - length, "%s", work->why);
    return work->text;
}

/* ---- secrets ---- */

static char small(char c)
{
    return (char)(c >= 'A' && c <= 'Z' ? c - 'A' + 'a' : c);
}

static bool is_letter(char c)
{
    return small(c) >= 'a' && small(c) <= 'z';
}

/* Whether a word stands at this byte of a name; is_whole: with no letter beside it but that of another word ("apiKey"). */
static bool word_at(const char *name, size_t length, size_t at, const char *word, bool is_whole)
{
    size_t size = strlen(word);
    if (length - at < size)
        return false;
    for (size_t i = 0; i < size; i++)
        if (small(name[at + i]) != word[i])
            return false;
    if (!is_whole)
        return true;
    bool begins =
        at == 0 || !is_letter(name[at - 1]) || (small(name[at - 1]) == name[at - 1] && small(name[at]) != name[at]);
    size_t end = at + size;
    return begins && (end == length || !is_letter(name[end]) || small(name[end]) != name[end]);
}

bool hurl_name_is_secret(const char *name, size_t length)
{
    static const char *const parts[] = {"passw", "passphrase", "secret", "token", "credential", "apikey", "authoriz"};
    static const char *const words[] = {"key", "pass", "pwd", "pin", "auth", "jwt", "cookie"};
    for (size_t at = 0; at < length; at++) {
        for (size_t i = 0; i < sizeof parts / sizeof parts[0]; i++)
            if (word_at(name, length, at, parts[i], false))
                return true;
        for (size_t i = 0; i < sizeof words / sizeof words[0]; i++)
            if (word_at(name, length, at, words[i], true))
                return true;
    }
    return false;
}

void hurl_note_secret(struct hurl_work *work, int variable)
{
    size_t need = (size_t)variable + 1;
    if (work->redacted_count < need) {
        bool *wider = pl_new(need * 2, sizeof *wider);
        if (work->redacted_count > 0)
            memcpy(wider, work->is_redacted, work->redacted_count * sizeof *wider);
        pl_free(work->is_redacted);
        work->is_redacted = wider;
        work->redacted_count = need * 2;
    }
    work->is_redacted[variable] = true;
}

void hurl_run_begin(struct hurl_run *run)
{
    struct hurl_work *work = run->work;
    const struct names *names = run->request->names;
    work->has_failed = work->is_too_much = work->has_hidden = false;
    hurl_scratch_reset(run->scratch);
    if (names == NULL || (names == work->names && names_count(names) == work->names_count))
        return;
    for (size_t i = names == work->names ? work->names_count : 0; i < names_count(names); i++) {
        const char *name = names_at(names, (int)i);
        if (hurl_name_is_secret(name, strlen(name)) && strchr(name, ' ') == NULL) /* no counter of an option */
            hurl_note_secret(work, (int)i);
    }
    work->names = names;
    work->names_count = names_count(names);
}

/* Shorter ones would hide every third letter of a message. */
enum { HIDDEN_LEAST = 3 };
static void hide(struct hurl_work *work, struct hurl_slice text)
{
    if (text.length >= HIDDEN_LEAST && work->hidden_count < HURL_HIDDEN)
        work->hidden[work->hidden_count++] = text;
}

/* "Bearer x" and "a=x; b=y" are secrets as a whole and in their parts. */
static void hide_parts(struct hurl_work *work, struct hurl_slice text)
{
    hide(work, text);
    for (size_t at = 0, end; at < text.length; at = end + 1) {
        for (end = at; end < text.length && strchr(" ;", text.text[end]) == NULL;)
            end++;
        const char *equals = end > at ? memchr(text.text + at, '=', end - at) : NULL;
        bool is_pair = equals != NULL && equals + 1 < text.text + end && equals[1] != '='; /* else the end of base64 */
        size_t from = is_pair ? (size_t)(equals + 1 - text.text) : at;
        if (is_pair || at > 0)
            hide(work, (struct hurl_slice){text.text + from, end - from});
    }
}

static void hide_named(struct hurl_run *run, const struct hurl_pair *pairs, size_t count)
{
    struct hurl_slice name, value;
    for (size_t i = 0; i < count; i++)
        if (hurl_text_render(run, &pairs[i].name, &name) && hurl_name_is_secret(name.text, name.length) &&
            hurl_text_render(run, &pairs[i].value, &value))
            hide(run->work, value);
}

/* The credentials and cookies of the request, as its message had them. A text that cannot be rendered any more was none. */
static void hide_request(const struct hurl_run *run)
{
    struct hurl_work *work = run->work;
    const struct hurl_request *request = run->request;
    struct hurl_run own = *run;
    struct hurl_slice name, value;
    if (work->has_hidden || run->scratch->open != NULL)
        return;
    bool had_failed = work->has_failed;
    work->has_failed = true; /* what is wrong now is not to be told */
    work->has_hidden = true;
    work->hidden_count = 0;
    own.captured_count = 0;
    for (size_t i = 0; i < request->header_count; i++)
        if (hurl_text_render(&own, &request->headers[i].name, &name) && hurl_header_is_secret(name.text, name.length) &&
            hurl_text_render(&own, &request->headers[i].value, &value))
            hide_parts(work, value);
    for (size_t i = 0; i < request->cookie_count; i++)
        if (hurl_text_render(&own, &request->cookies[i].value, &value))
            hide(work, value);
    hide_named(&own, request->query, request->query_count);
    hide_named(&own, request->form, request->form_count);
    if (request->has_basic_auth && hurl_text_render(&own, &request->user, &name) &&
        hurl_text_render(&own, &request->password, &value)) {
        hide(work, value);
        hurl_scratch_open(run->scratch);
        hurl_scratch_put(run->scratch, name.text, name.length);
        hurl_scratch_put(run->scratch, ":", 1);
        hurl_scratch_put(run->scratch, value.text, value.length);
        value = hurl_scratch_close(run->scratch);
        hurl_scratch_open(run->scratch);
        hurl_put_base64(run->scratch, value, false);
        hide(work, hurl_scratch_close(run->scratch));
    }
    work->has_failed = had_failed;
}

/* Small ones stand everywhere: none. */
static struct hurl_slice secret_number(int64_t i, char text[VALUE_TEXT_BYTES])
{
    size_t length = value_text(&(struct value){.type = VALUE_INT, .i = i}, text);
    return (struct hurl_slice){text, length >= HIDDEN_LEAST ? length : 0};
}

/* A secret of the client: of this response, of its variables, of the request. */
static struct hurl_slice secret_of(const struct hurl_run *run, size_t index, char number[VALUE_TEXT_BYTES])
{
    const struct hurl_work *work = run->work;
    const struct hurl_slice none = {NULL, 0};
    if (index < run->captured_count) {
        const struct hurl_any *value = &run->captured[index].value;
        if (value->is_secret && value->kind == HURL_INT)
            return secret_number(value->i, number);
        return value->is_secret && value->kind == HURL_TEXT ? value->text : none;
    }
    index -= run->captured_count;
    if (index >= work->redacted_count)
        return work->hidden[index - work->redacted_count];
    const struct value *value = &run->vars[index];
    if (!work->is_redacted[index] || (value->type != VALUE_TEXT && value->type != VALUE_INT))
        return none;
    if (value->type == VALUE_TEXT)
        return (struct hurl_slice){value->text, value->length};
    return secret_number(value->i, number);
}

/* Whether one stands here, and how long it is. */
static size_t secret_at(const struct hurl_run *run, const char *text, size_t left)
{
    size_t longest = 0, count = run->captured_count + run->work->redacted_count + run->work->hidden_count;
    for (size_t i = 0; i < count; i++) {
        char number[VALUE_TEXT_BYTES];
        struct hurl_slice secret = secret_of(run, i, number);
        if (secret.length > longest && secret.length <= left && memcmp(secret.text, text, secret.length) == 0)
            longest = secret.length;
    }
    return longest;
}

/* At the quote that begins the value of a member of JSON ("token": "x"): the length of a value that its name makes a
 * secret, up to its end or that of the text. */
static size_t secret_member(const char *text, size_t at, size_t length)
{
    size_t end = at;
    while (end > 0 && strchr(" \t\r\n", text[end - 1]) != NULL)
        end--;
    if (end == 0 || text[end - 1] != ':')
        return 0;
    for (end--; end > 0 && strchr(" \t\r\n", text[end - 1]) != NULL;)
        end--;
    size_t start = end > 0 && text[end - 1] == '"' ? --end : 0;
    while (start > 0 && text[start - 1] != '"' && text[start - 1] != '\n')
        start--;
    if (start == 0 || !hurl_header_is_secret(text + start, end - start))
        return 0;
    size_t stop = at + 1;
    while (stop < length && text[stop] != '"')
        stop += 1 + (text[stop] == '\\');
    return (stop < length ? stop : length) - at - 1;
}

/* One character of a text to be shown; returns the bytes read. */
static size_t show_one(const char *text, size_t left, char *out, size_t *ret_size)
{
    static const char digits[] = "0123456789abcdef";
    unsigned char c = (unsigned char)*text;
    uint32_t code = 0;
    size_t size = pl_utf8_decode((const unsigned char *)text, left, &code);
    /* controls of both kinds, what turns the direction of a line, and what ends one */
    bool is_bad = size == 0 || code < 0x20 || (code >= 0x7F && code < 0xA0) || (code >= 0x2028 && code <= 0x202E) ||
                  (code >= 0x2066 && code <= 0x2069) || code == 0x200E || code == 0x200F || code == 0xFEFF;
    if (!is_bad) {
        memcpy(out, text, size);
        *ret_size = size;
        return size;
    }
    memcpy(out, "\\x", 2);
    out[2] = digits[c >> 4];
    out[3] = digits[c & 15];
    *ret_size = 4;
    return 1;
}

size_t hurl_show_start(const struct hurl_run *run, struct hurl_slice text, size_t at)
{
    enum { LOOK_BACK = 1024 };
    size_t start = at;
    hide_request(run);
    for (size_t k = at; k > 0 && at - k < LOOK_BACK; k--)
        if (secret_at(run, text.text + k - 1, text.length - k + 1) > at - k + 1)
            start = k - 1;
    return start;
}

const char *hurl_show_text(const struct hurl_run *run, const char *text, size_t length, char *buf)
{
    static const char more[] = "...", hidden[] = "***";
    size_t used = 0;
    hide_request(run);
    for (size_t i = 0; i < length;) {
        char part[4];
        size_t size, secret = secret_at(run, text + i, length - i);
        if (secret == 0 && i > 0 && text[i - 1] == '"')
            secret = secret_member(text, i - 1, length);
        size_t taken = secret > 0 ? secret : show_one(text + i, length - i, part, &size);
        size = secret > 0 ? sizeof hidden - 1 : size;
        if (used + size + sizeof more > HURL_SHOW_BYTES - 40) {
            memcpy(buf + used, more, sizeof more);
            return buf;
        }
        memcpy(buf + used, secret > 0 ? hidden : part, size);
        used += size;
        i += taken;
    }
    buf[used] = '\0';
    return buf;
}

const char *hurl_kind_name(const struct hurl_any *value)
{
    static const char *const names[] = {[HURL_NOTHING] = "nothing",  [HURL_UNIT] = "something without a value",
                                        [HURL_NULL] = "null",        [HURL_BOOL] = "boolean",
                                        [HURL_INT] = "integer",      [HURL_FLOAT] = "float",
                                        [HURL_NUMBER] = "integer",   [HURL_TEXT] = "text",
                                        [HURL_BYTES] = "bytes",      [HURL_DATE] = "date",
                                        [HURL_LIST] = "list",        [HURL_OBJECT] = "object",
                                        [HURL_REDIRECT] = "redirect"};
    return names[value->kind];
}

static void show_bytes(const struct hurl_any *value, char *buf)
{
    static const char digits[] = "0123456789abcdef";
    enum { MOST = 24 };
    size_t used = (size_t)snprintf(buf, HURL_SHOW_BYTES, "bytes ");
    for (size_t i = 0; value->text.text != NULL && i < value->text.length && i < MOST; i++) {
        buf[used++] = digits[(unsigned char)value->text.text[i] >> 4];
        buf[used++] = digits[(unsigned char)value->text.text[i] & 15];
    }
    buf[used] = '\0';
    if (value->text.length == 0 || value->text.length > MOST)
        snprintf(buf + used, HURL_SHOW_BYTES - used, "%s(%zu)", value->text.length > 0 ? "... " : "", value->text.length);
}

static void show_collection(const struct hurl_run *run, const struct hurl_any *value, char *buf)
{
    char text[HURL_SHOW_BYTES];
    const char *unit = value->kind == HURL_LIST ? "item" : "member";
    size_t used = (size_t)snprintf(buf, HURL_SHOW_BYTES, "%s of %zu %s%s", hurl_kind_name(value), value->count, unit,
                                   value->count == 1 ? "" : "s");
    if (value->json == NULL || value->tokens != NULL)
        return;
    const struct json_token *token = &value->json->tokens[value->token];
    hurl_show_text(run, value->json->text + token->at, token->bytes, text);
    snprintf(buf + used, HURL_SHOW_BYTES - used, " %s", text);
}

const char *hurl_show(const struct hurl_run *run, const struct hurl_any *value, char *buf)
{
    char text[HURL_SHOW_BYTES];
    struct hurl_scratch *scratch = run->scratch;
    if (value->is_secret) {
        snprintf(buf, HURL_SHOW_BYTES, "%s (a secret)", hurl_kind_name(value));
    } else if (value->kind == HURL_TEXT) {
        snprintf(buf, HURL_SHOW_BYTES, "text \"%s\"", hurl_show_text(run, value->text.text, value->text.length, text));
    } else if (value->kind == HURL_BYTES) {
        show_bytes(value, buf);
    } else if (value->kind == HURL_LIST || value->kind == HURL_OBJECT) {
        show_collection(run, value, buf);
    } else if (value->kind == HURL_NOTHING || value->kind == HURL_UNIT || value->kind == HURL_NULL ||
               value->kind == HURL_REDIRECT) {
        snprintf(buf, HURL_SHOW_BYTES, "%s", hurl_kind_name(value));
    } else {
        hurl_scratch_open(scratch);
        hurl_put_value(scratch, value);
        struct hurl_slice slice = hurl_scratch_close(scratch);
        snprintf(buf, HURL_SHOW_BYTES, "%s %s", hurl_kind_name(value), hurl_show_text(run, slice.text, slice.length, text));
    }
    return buf;
}
