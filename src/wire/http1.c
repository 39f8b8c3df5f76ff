#include "wire/http1.h"

#include <string.h>
#include <strings.h>

#include "wire/bytes.h"

#include "base/ban.h"

enum { CHUNK_LINE_BYTES = 16384 };

/* What the fields seen so far say about the body and the connection. */
struct facts {
    int64_t length;                           /* -1: none stated */
    bool has_coding, is_chunked, was_chunked; /* is: the last of the transfer codings is chunked; was: any */
    bool says_close, says_keep;
};

static inline bool is_blank(char c)
{
    return c == ' ' || c == '\t';
}

/* A list's next member that is not empty, without the white space around it; false: there is none. */
static bool next_member(const char **at, const char *end, const char **ret_text, size_t *ret_length)
{
    while (*at < end && (is_blank(**at) || **at == ','))
        ++*at;
    if (*at == end)
        return false;
    const char *comma = memchr(*at, ',', (size_t)(end - *at));
    const char *last = comma == NULL ? end : comma;
    *ret_text = *at;
    *at = last;
    while (is_blank(last[-1]))
        last--;
    *ret_length = (size_t)(last - *ret_text);
    return true;
}

static bool is_word(const char *text, size_t length, const char *word)
{
    return length == strlen(word) && strncasecmp(text, word, length) == 0;
}

/* ---- fields that matter ---- */

static const char *take_length(const struct http1_field *field, struct facts *facts)
{
    const char *at = field->value, *end = at + field->value_length, *text;
    size_t length;
    bool has_any = false;
    while (next_member(&at, end, &text, &length)) {
        int64_t value = 0;
        for (size_t i = 0; i < length; i++) {
            if (text[i] < '0' || text[i] > '9')
                return "a Content-Length that is no number";
            if (value > (INT64_MAX - 9) / 10)
                return "a Content-Length that is too large";
            value = value * 10 + (text[i] - '0');
        }
        if (facts->length >= 0 && facts->length != value)
            return "two different Content-Lengths";
        facts->length = value;
        has_any = true;
    }
    return has_any ? NULL : "a Content-Length that is no number";
}

static void take_encoding(const char *text, size_t length, struct http1_head *head)
{
    if (is_word(text, length, "gzip") || is_word(text, length, "x-gzip"))
        head->has_gzip = true;
    else if (is_word(text, length, "deflate"))
        head->has_deflate = true;
}

static const char *take_transfer(const struct http1_field *field, struct facts *facts, struct http1_head *head)
{
    const char *at = field->value, *end = at + field->value_length, *text;
    size_t length;
    while (next_member(&at, end, &text, &length)) {
        if (is_word(text, length, "identity"))
            continue;
        bool is_chunked = is_word(text, length, "chunked");
        if (is_chunked && facts->was_chunked)
            return "chunked twice";
        facts->has_coding = true;
        facts->is_chunked = is_chunked;
        facts->was_chunked |= is_chunked;
        take_encoding(text, length, head);
    }
    return NULL;
}

static void take_connection(const struct http1_field *field, struct facts *facts)
{
    const char *at = field->value, *end = at + field->value_length, *text;
    size_t length;
    while (next_member(&at, end, &text, &length)) {
        facts->says_close |= is_word(text, length, "close");
        facts->says_keep |= is_word(text, length, "keep-alive");
    }
}

static void take_content_encoding(const struct http1_field *field, struct http1_head *head)
{
    const char *at = field->value, *end = at + field->value_length, *text;
    size_t length;
    while (next_member(&at, end, &text, &length))
        take_encoding(text, length, head);
}

/* Few names have the length of one of these, so most cost no comparison. */
static const char *take_field(const struct http1_field *field, struct facts *facts, struct http1_head *head)
{
    const char *name = field->name;
    switch (field->name_length) {
    case 10:
        if (wire_is_name(name, "connection", 10))
            take_connection(field, facts);
        return NULL;
    case 14:
        return wire_is_name(name, "content-length", 14) ? take_length(field, facts) : NULL;
    case 16:
        if (wire_is_name(name, "content-encoding", 16))
            take_content_encoding(field, head);
        return NULL;
    case 17:
        return wire_is_name(name, "transfer-encoding", 17) ? take_transfer(field, facts, head) : NULL;
    default:
        return NULL;
    }
}

/* ---- lines ---- */

/* [line, end): without its LF. */
static const char *read_status_line(const char *line, const char *end, struct http1_head *head)
{
    if (end > line && end[-1] == '\r')
        end--;
    if (end - line < 12 || memcmp(line, "HTTP/1.", 7) != 0 || line[8] != ' ')
        return "no status line of HTTP/1";
    if (line[7] < '0' || line[7] > '9')
        return "no status line of HTTP/1";
    head->version = line[7] == '0' ? 10 : 11;
    int status = 0;
    for (int i = 9; i < 12; i++) {
        if (line[i] < '0' || line[i] > '9')
            return "a status that is no number of three digits";
        status = status * 10 + (line[i] - '0');
    }
    if (status < 100 || (end - line > 12 && line[12] != ' '))
        return "a status that is no number of three digits";
    head->status = status;
    head->reason = line + 12 + (end - line > 12);
    head->reason_length = (uint32_t)(end - head->reason);
    for (const char *at = head->reason; at < end; at++)
        if ((uint8_t)*at < ' ' && *at != '\t')
            return "a control character in the status line";
    return NULL;
}

/* Where the next line begins; NULL: it has not come. */
static const char *after_line(const char *at, const char *end)
{
    const char *line_end = memchr(at, '\n', (size_t)(end - at));
    return line_end == NULL ? NULL : line_end + 1;
}

static const char *wrong_name(const char *line, const char *name_end, const char *end)
{
    if (is_blank(*line))
        return "a folded field";
    const char *line_end = name_end + (*name_end == '\r');
    return line_end < end && *line_end == '\n' && name_end > line ? "a field without a colon"
                                                                  : "a field's name that is none";
}

/* A field whose first byte has come. Returns where the next line begins; NULL: not all of it has come. */
static const char *read_field(const char *line, const char *end, struct http1_field *field, const char **ret_wrong)
{
    const char *colon = wire_find_below(line, end, ' ' + 1, ':');
    if (colon == end)
        return NULL;
    if (*colon != ':' || colon == line) {
        *ret_wrong = wrong_name(line, colon, end);
        return after_line(colon, end);
    }
    const char *value = colon + 1;
    while (value < end && is_blank(*value))
        value++;
    const char *stop = wire_find_below(value, end, ' ', '\0');
    while (stop < end && *stop == '\t')
        stop = wire_find_below(stop + 1, end, ' ', '\0');
    const char *line_end = stop < end && *stop == '\r' ? stop + 1 : stop;
    if (line_end == end)
        return NULL;
    if (*line_end != '\n') {
        *ret_wrong = "a control character in a field";
        return after_line(line_end, end);
    }
    while (stop > value && is_blank(stop[-1]))
        stop--;
    *field = (struct http1_field){
        .name = line, .name_length = (uint32_t)(colon - line), .value = value, .value_length = (uint32_t)(stop - value)};
    return line_end + 1;
}

/* RFC 9112, 6.3. */
static void decide_framing(const struct facts *facts, bool is_head, struct http1_head *head)
{
    head->content_length = facts->length;
    head->keeps_alive = !facts->says_close && (head->version == 11 || facts->says_keep) && head->status != 101;
    if (is_head || head->status < 200 || head->status == 204 || head->status == 304) {
        head->framing = HTTP1_NO_BODY;
        return;
    }
    if (facts->is_chunked)
        head->framing = HTTP1_CHUNKED;
    else if (facts->has_coding || facts->length < 0)
        head->framing = HTTP1_UNTIL_CLOSE;
    else
        head->framing = HTTP1_LENGTH;
    bool is_doubtful = facts->has_coding && (facts->length >= 0 || head->version == 10);
    if (is_doubtful || head->framing == HTTP1_UNTIL_CLOSE)
        head->keeps_alive = false;
}

/* Whether the head is known to end, or its status line to be wrong, in what came after the first `seen` bytes: only then
 * is it worth reading from its beginning. */
static bool is_worth_reading(const char *bytes, size_t length, size_t seen)
{
    if (seen < 5)
        return true;
    const char *end = bytes + length, *line_end = bytes + seen - 2;
    while ((line_end = memchr(line_end, '\n', (size_t)(end - line_end))) != NULL) {
        const char *next = ++line_end;
        if ((next < end && *next == '\n') || (end - next >= 2 && next[0] == '\r' && next[1] == '\n'))
            return true;
        if (next - bytes > (ptrdiff_t)seen && memchr(bytes, '\n', seen) == NULL)
            return true;
    }
    return false;
}

enum http1_result http1_read_head(const char *bytes, size_t length, size_t seen, bool is_head, struct http1_field *fields,
                                  int field_capacity, struct http1_head *ret_head)
{
    *ret_head = (struct http1_head){.wrong = NULL};
    if (seen > 0 && !is_worth_reading(bytes, length, seen))
        return HTTP1_PARTIAL;
    if (memcmp(bytes, "HTTP/", length < 5 ? length : 5) != 0) {
        ret_head->wrong = "no status line of HTTP/1";
        return HTTP1_BAD;
    }
    const char *const end = bytes + length, *line = after_line(bytes, end), *wrong = NULL;
    if (line == NULL)
        return HTTP1_PARTIAL;
    if ((ret_head->wrong = read_status_line(bytes, line - 1, ret_head)) != NULL)
        return HTTP1_BAD;
    struct facts facts = {.length = -1};
    int count = 0;
    while (line != NULL && line < end) {
        const char *line_end = *line == '\r' ? line + 1 : line;
        if (line_end == end)
            break;
        if (*line_end == '\n') {
            ret_head->length = (size_t)(line_end + 1 - bytes);
            ret_head->field_count = count < field_capacity ? count : field_capacity;
            ret_head->wrong = wrong;
            decide_framing(&facts, is_head, ret_head);
            return wrong != NULL ? HTTP1_BAD : count > field_capacity ? HTTP1_TOO_MANY : HTTP1_OK;
        }
        if (wrong != NULL) {
            line = after_line(line, end);
            continue;
        }
        struct http1_field spare, *field = count < field_capacity ? &fields[count] : &spare;
        count++;
        line = read_field(line, end, field, &wrong);
        if (line != NULL && wrong == NULL)
            wrong = take_field(field, &facts, ret_head);
    }
    return HTTP1_PARTIAL;
}

/* ---- chunks ---- */

/* Of a chunked body, where it stands. */
enum chunk_state {
    CHUNK_BEGIN,   /* the first digit of a size comes */
    CHUNK_SIZE,    /* more digits, white space, an extension or the end of the line */
    CHUNK_SKIP,    /* the rest of that line */
    CHUNK_LINE_LF, /* the LF of that line */
    CHUNK_DATA,    /* `left` bytes of it */
    CHUNK_DATA_CR, /* the line end behind them */
    CHUNK_DATA_LF,
    CHUNK_TRAILER,      /* the beginning of a line of the trailer */
    CHUNK_TRAILER_SKIP, /* the rest of one that is not empty */
    CHUNK_END_LF,       /* the LF of the empty one */
    CHUNK_DONE
};

static int hex_digit(char c)
{
    if (c >= '0' && c <= '9')
        return c - '0';
    char low = (char)(c | 0x20);
    return low >= 'a' && low <= 'f' ? low - 'a' + 10 : -1;
}

static uint8_t after_size_line(const struct http1_chunks *chunks)
{
    return chunks->left > 0 ? CHUNK_DATA : CHUNK_TRAILER;
}

static void chunk_wrong(struct http1_chunks *chunks, const char *wrong)
{
    chunks->wrong = wrong;
}

static void chunk_begin(struct http1_chunks *chunks, char c)
{
    int digit = hex_digit(c);
    if (digit < 0) {
        chunk_wrong(chunks, "a chunk without a size");
        return;
    }
    chunks->left = digit;
    chunks->line = 0;
    chunks->state = CHUNK_SIZE;
}

static void chunk_size(struct http1_chunks *chunks, char c)
{
    int digit = hex_digit(c);
    if (digit >= 0) {
        if (++chunks->line > CHUNK_LINE_BYTES || chunks->left > INT64_MAX >> 4)
            chunk_wrong(chunks, "a chunk's size that is too large");
        else
            chunks->left = chunks->left << 4 | digit;
    } else if (c == '\r') {
        chunks->state = CHUNK_LINE_LF;
    } else if (c == '\n') {
        chunks->state = after_size_line(chunks);
    } else if (c == ';' || is_blank(c)) {
        chunks->state = CHUNK_SKIP;
    } else {
        chunk_wrong(chunks, "a chunk's size that is no number");
    }
}

/* One byte of anything but data and what is skipped. */
static void chunk_byte(struct http1_chunks *chunks, char c)
{
    switch ((enum chunk_state)chunks->state) {
    case CHUNK_BEGIN:
        chunk_begin(chunks, c);
        break;
    case CHUNK_SIZE:
        chunk_size(chunks, c);
        break;
    case CHUNK_LINE_LF:
        if (c == '\n')
            chunks->state = after_size_line(chunks);
        else
            chunk_wrong(chunks, "a chunk's size line that does not end");
        break;
    case CHUNK_DATA_CR:
    case CHUNK_DATA_LF:
        if (c == '\n')
            chunks->state = CHUNK_BEGIN;
        else if (c == '\r' && chunks->state == CHUNK_DATA_CR)
            chunks->state = CHUNK_DATA_LF;
        else
            chunk_wrong(chunks, "a chunk longer than its size");
        break;
    case CHUNK_TRAILER:
        chunks->line = 0;
        chunks->state = c == '\r' ? CHUNK_END_LF : c == '\n' ? CHUNK_DONE : CHUNK_TRAILER_SKIP;
        break;
    case CHUNK_END_LF:
        if (c == '\n')
            chunks->state = CHUNK_DONE;
        else
            chunk_wrong(chunks, "a trailer that does not end");
        break;
    default:
        break;
    }
}

/* Takes bytes up to the end of the line; the LF itself ends the state. */
static void chunk_skip(struct http1_chunks *chunks, const char *bytes, size_t length, size_t *at)
{
    const char *from = bytes + *at, *line_end = memchr(from, '\n', length - *at);
    size_t count = line_end == NULL ? length - *at : (size_t)(line_end + 1 - from);
    *at += count;
    if (count > CHUNK_LINE_BYTES - chunks->line) {
        chunk_wrong(chunks, "a chunk's extension or trailer longer than 16 KiB");
        return;
    }
    chunks->line += (uint32_t)count;
    if (line_end != NULL)
        chunks->state = chunks->state == CHUNK_SKIP ? after_size_line(chunks) : CHUNK_TRAILER;
}

enum http1_result http1_read_chunks(struct http1_chunks *chunks, const char *bytes, size_t length, size_t *at,
                                    const char **ret_data, size_t *ret_count)
{
    *ret_data = NULL;
    *ret_count = 0;
    while (chunks->wrong == NULL && chunks->state != CHUNK_DONE && *at < length) {
        if (chunks->state == CHUNK_DATA) {
            size_t here = length - *at;
            size_t count = (uint64_t)chunks->left < here ? (size_t)chunks->left : here;
            *ret_data = bytes + *at;
            *ret_count = count;
            *at += count;
            chunks->left -= (int64_t)count;
            if (chunks->left == 0)
                chunks->state = CHUNK_DATA_CR;
            return HTTP1_OK;
        }
        if (chunks->state == CHUNK_SKIP || chunks->state == CHUNK_TRAILER_SKIP)
            chunk_skip(chunks, bytes, length, at);
        else
            chunk_byte(chunks, bytes[(*at)++]);
    }
    return chunks->wrong != NULL ? HTTP1_BAD : chunks->state == CHUNK_DONE ? HTTP1_OK : HTTP1_PARTIAL;
}
