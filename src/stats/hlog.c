/* After HdrHistogram's HistogramLogWriter and AbstractHistogram.encodeIntoByteBuffer (Java, version 2.1): the V2 encoding
 * is a head of 40 bytes, big endian, and the counts from index 0 to the one of the maximum, each as ZigZag LEB128, where a
 * run of n > 1 zeros is the one number -n. That is deflated with a head of 8 bytes before it, and written as base64. */
#include "stats/hlog.h"

#include <assert.h>
#include <string.h>

#include <zlib.h>

#include "base/arena.h"

#include "base/ban.h"

enum {
    COOKIE_PLAIN = 0x1c849303 | 0x10, /* 0x10: of a word size that varies, as V2 always has */
    COOKIE_PACKED = 0x1c849304 | 0x10,
    HEAD_BYTES = 40,
    PACKED_HEAD_BYTES = 8,
    NUMBER_BYTES = 9
};

static unsigned char *put_big_endian(unsigned char *at, uint64_t value, int bytes)
{
    for (int shift = (bytes - 1) * 8; shift >= 0; shift -= 8)
        *at++ = (unsigned char)(value >> shift);
    return at;
}

/* Nine bytes at most: the ninth holds eight bits and no mark that more follows. */
static unsigned char *put_zigzag(unsigned char *at, int64_t value)
{
    uint64_t left = (uint64_t)value << 1 ^ (uint64_t)(value >> 63);
    int more = NUMBER_BYTES - 1;
    for (; left >= 0x80 && more > 0; left >>= 7, more--)
        *at++ = (unsigned char)(left & 0x7f) | 0x80;
    *at++ = (unsigned char)left;
    return at;
}

static unsigned char *put_counts(unsigned char *at, const struct hist *hist, int32_t count)
{
    for (int32_t i = 0; i < count;) {
        int32_t zeros = 0;
        while (i + zeros < count && hist->counts[i + zeros] == 0)
            zeros++;
        at = put_zigzag(at, zeros > 1 ? -(int64_t)zeros : hist->counts[i]);
        i += zeros > 1 ? zeros : 1;
    }
    return at;
}

/* The plain V2 encoding, in memory of its own. */
static unsigned char *encode_plain(const struct hist *hist, size_t *ret_length)
{
    int32_t count =
        hist->last_used < 0 ? 1 : hist->last_used + 1; /* of an empty one: a single zero, as HdrHistogram does */
    unsigned char *bytes = pl_new(HEAD_BYTES + (size_t)count * NUMBER_BYTES, 1);
    unsigned char *end = put_counts(bytes + HEAD_BYTES, hist, count);
    uint64_t ratio; /* integer to double: none */
    memcpy(&ratio, &(double){1.0}, sizeof ratio);
    unsigned char *at = put_big_endian(bytes, COOKIE_PLAIN, 4);
    at = put_big_endian(at, (uint64_t)(end - bytes - HEAD_BYTES), 4);
    at = put_big_endian(at, 0, 4); /* offset of a shifted histogram */
    at = put_big_endian(at, (uint64_t)hist->digits, 4);
    at = put_big_endian(at, (uint64_t)hist->lowest, 8);
    at = put_big_endian(at, (uint64_t)hist->highest, 8);
    at = put_big_endian(at, ratio, 8);
    assert(at == bytes + HEAD_BYTES);
    *ret_length = (size_t)(end - bytes);
    return bytes;
}

static void put_base64(struct pl_buf *out, const unsigned char *bytes, size_t length)
{
    static const char digits[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    for (size_t i = 0; i < length; i += 3) {
        size_t have = length - i < 3 ? length - i : 3;
        uint32_t bits = (uint32_t)bytes[i] << 16;
        bits |= have > 1 ? (uint32_t)bytes[i + 1] << 8 : 0;
        bits |= have > 2 ? bytes[i + 2] : 0;
        char text[4] = {digits[bits >> 18], digits[bits >> 12 & 63], have > 1 ? digits[bits >> 6 & 63] : '=',
                        have > 2 ? digits[bits & 63] : '='};
        pl_buf_put_bytes(out, text, sizeof text);
    }
}

static void put_packed(struct pl_buf *out, const struct hist *hist)
{
    size_t plain_length;
    unsigned char *plain = encode_plain(hist, &plain_length);
    uLongf length = compressBound(plain_length);
    unsigned char *packed = pl_new(PACKED_HEAD_BYTES + length, 1);
    int result = compress(packed + PACKED_HEAD_BYTES, &length, plain, plain_length);
    assert(result == Z_OK); /* the room is what zlib asks for */
    (void)result;
    put_big_endian(put_big_endian(packed, COOKIE_PACKED, 4), length, 4);
    put_base64(out, packed, PACKED_HEAD_BYTES + length);
    pl_free(packed);
    pl_free(plain);
}

static double seconds(int64_t ns)
{
    return (double)ns / 1e9;
}

void hlog_head(struct pl_buf *out, const char *what, int64_t start_unix_ns)
{
    pl_buf_put(out, "#[Histogram log format version 1.3]\n# ");
    for (; *what != '\0'; what++) {
        bool is_control = (unsigned char)*what < 0x20 || *what == 0x7f;
        pl_buf_put_bytes(out, is_control ? " " : what, 1);
    }
    pl_buf_printf(out, "\n#[StartTime: %.3f (seconds since epoch)]\n", seconds(start_unix_ns));
    pl_buf_printf(out, "#[BaseTime: %.3f (seconds since epoch)]\n", seconds(start_unix_ns));
    pl_buf_put(out, "\"StartTimestamp\",\"Interval_Length\",\"Interval_Max\",\"Interval_Compressed_Histogram\"\n");
}

void hlog_interval(struct pl_buf *out, const char *tag, int64_t start_ns, int64_t length_ns, const struct hist *hist)
{
    if (tag != NULL && *tag != '\0') {
        pl_buf_put(out, "Tag=");
        for (; *tag != '\0'; tag++) {
            unsigned char byte = (unsigned char)*tag;
            if (byte <= 0x20 || byte == 0x7f || byte == ',' || byte == '%')
                pl_buf_printf(out, "%%%02X", byte);
            else
                pl_buf_put_bytes(out, tag, 1);
        }
        pl_buf_put(out, ",");
    }
    pl_buf_printf(out, "%.3f,%.3f,%.3f,", seconds(start_ns), seconds(length_ns), (double)hist->max / 1e6);
    put_packed(out, hist);
    pl_buf_put(out, "\n");
}
