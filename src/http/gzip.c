/* Content-Encoding of kept bodies, undone with zlib. */
#include "http/http_int.h"

#include <string.h>
#include <strings.h>

#define ZLIB_CONST
#include <zlib.h>

#include "base/ban.h"

enum { PIECE_BYTES = 16 * 1024, WINDOW_GZIP = 15 + 16, WINDOW_ZLIB = 15, WINDOW_RAW = -15 };

static bool value_is(struct http_slice value, const char *word)
{
    return value.length == strlen(word) && strncasecmp(value.text, word, value.length) == 0;
}

static enum http_encoding encoding_named(struct http_slice value)
{
    if (value.length == 0 || value_is(value, "identity"))
        return HTTP_ENCODING_NONE;
    if (value_is(value, "gzip") || value_is(value, "x-gzip"))
        return HTTP_ENCODING_GZIP;
    return value_is(value, "deflate") ? HTTP_ENCODING_DEFLATE : HTTP_ENCODING_OTHER;
}

enum http_encoding http_encoding_of(const struct http_header *headers, size_t count)
{
    enum http_encoding encoding = HTTP_ENCODING_NONE;
    for (size_t i = 0; i < count; i++) {
        if (!http_is_named(headers[i].name, "content-encoding", 16))
            continue;
        enum http_encoding next = encoding_named(headers[i].value);
        if (next != HTTP_ENCODING_NONE) /* one inside of another is rare enough */
            encoding = encoding == HTTP_ENCODING_NONE ? next : HTTP_ENCODING_OTHER;
    }
    return encoding;
}

static bool inflater_begin(struct http_engine *engine, int window_bits)
{
    if (engine->inflater == NULL) {
        engine->inflater = pl_new(1, sizeof *engine->inflater);
        if (inflateInit2(engine->inflater, window_bits) == Z_OK)
            return true;
        pl_free(engine->inflater);
        engine->inflater = NULL;
        return false;
    }
    return inflateReset2(engine->inflater, window_bits) == Z_OK;
}

/* Z_STREAM_END: all of it is in `decoded`. */
static int inflate_all(struct http_engine *engine, struct http_slice body, int window_bits)
{
    char piece[PIECE_BYTES];
    if (!inflater_begin(engine, window_bits))
        return Z_MEM_ERROR;
    z_stream *stream = engine->inflater;
    pl_buf_clear(&engine->decoded);
    stream->next_in = (const Bytef *)body.text;
    stream->avail_in = (uInt)body.length;
    for (;;) {
        stream->next_out = (Bytef *)piece;
        stream->avail_out = PIECE_BYTES;
        int result = inflate(stream, Z_NO_FLUSH);
        pl_buf_put_bytes(&engine->decoded, piece, PIECE_BYTES - stream->avail_out);
        if (engine->decoded.full)
            return Z_BUF_ERROR;
        if (result == Z_STREAM_END) {
            if (window_bits != WINDOW_GZIP || stream->avail_in == 0)
                return result;
            result = inflateReset(stream); /* another member follows (RFC 1952, 2.2) */
        }
        if (result != Z_OK || (stream->avail_in == 0 && stream->avail_out > 0))
            return result == Z_OK ? Z_DATA_ERROR : result;
    }
}

bool http_decode(struct http_engine *engine, enum http_encoding encoding, struct http_slice body, const char **ret_word,
                 const char **ret_text)
{
    int result = inflate_all(engine, body, encoding == HTTP_ENCODING_GZIP ? WINDOW_GZIP : WINDOW_ZLIB);
    if (result == Z_DATA_ERROR && encoding == HTTP_ENCODING_DEFLATE) /* many servers send it without zlib's envelope */
        result = inflate_all(engine, body, WINDOW_RAW);
    if (result == Z_STREAM_END)
        return true;
    *ret_word = engine->decoded.full ? "TOO_LARGE" : "ENCODING";
    *ret_text = engine->decoded.full ? "the decoded body is longer than what may be kept"
                                     : "the body is not what its Content-Encoding says";
    return false;
}

void http_decode_release(struct http_engine *engine)
{
    if (engine->inflater != NULL)
        inflateEnd(engine->inflater);
    pl_free(engine->inflater);
}
