/* Filters from text to text: base64, hexadecimal, URLs, HTML, charsets. */
#include "hurl/run_int.h"

#include <errno.h>
#include <iconv.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "base/utf8.h"

#include "base/ban.h"

static bool filter_done(struct hurl_run *run, const struct hurl_filter *filter, enum hurl_kind kind, struct hurl_any *value)
{
    struct hurl_slice text = hurl_scratch_close(run->scratch);
    *value = (struct hurl_any){.kind = kind, .text = text};
    return run->scratch->is_full ? hurl_fail_full(run, filter->place) : true;
}

static int hex_digit(char c)
{
    if (c >= '0' && c <= '9')
        return c - '0';
    c = (char)(c | 32);
    return c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

/* ---- base64 ---- */

static const char base64_usual[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
static const char base64_url[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_";

void hurl_put_base64(struct hurl_scratch *scratch, struct hurl_slice bytes, bool is_url_safe)
{
    const char *letters = is_url_safe ? base64_url : base64_usual;
    char *out = hurl_scratch_room(scratch, (bytes.length / 3 + 1) * 4);
    if (out == NULL)
        return;
    for (size_t i = 0; i < bytes.length; i += 3) {
        size_t left = bytes.length - i < 3 ? bytes.length - i : 3;
        uint32_t three = (uint32_t)(unsigned char)bytes.text[i] << 16;
        three |= left > 1 ? (uint32_t)(unsigned char)bytes.text[i + 1] << 8 : 0;
        three |= left > 2 ? (unsigned char)bytes.text[i + 2] : 0;
        for (size_t k = 0; k <= left; k++)
            *out++ = letters[three >> (18 - 6 * k) & 63];
        for (size_t k = left; k < 3 && !is_url_safe; k++)
            *out++ = '=';
    }
    hurl_scratch_advance(scratch, out);
}

/* Padding may be there or not; bits beyond the last byte must be zero. */
static bool put_decoded(struct hurl_scratch *scratch, struct hurl_slice text, bool is_url_safe)
{
    const char *letters = is_url_safe ? base64_url : base64_usual;
    uint32_t bits = 0;
    size_t count = 0, length = text.length;
    while (length > 0 && text.text[length - 1] == '=' && text.length - length < 2)
        length--;
    if (length % 4 == 1 || (length < text.length && text.length % 4 != 0))
        return false;
    char *out = hurl_scratch_room(scratch, length);
    if (out == NULL)
        return true;
    for (size_t i = 0; i < length; i++) {
        const char *letter = text.text[i] != '\0' ? strchr(letters, text.text[i]) : NULL;
        if (letter == NULL)
            return false;
        bits = bits << 6 | (uint32_t)(letter - letters);
        count += 6;
        if (count >= 8) {
            count -= 8;
            *out++ = (char)(bits >> count & 255);
        }
    }
    hurl_scratch_advance(scratch, out);
    return (bits & ((1U << count) - 1)) == 0;
}

bool hurl_filter_base64(struct hurl_run *run, const struct hurl_filter *filter, struct hurl_any *value)
{
    bool is_url_safe =
        filter->kind == HURL_FILTER_BASE64_URL_SAFE_DECODE || filter->kind == HURL_FILTER_BASE64_URL_SAFE_ENCODE;
    bool encodes = filter->kind == HURL_FILTER_BASE64_ENCODE || filter->kind == HURL_FILTER_BASE64_URL_SAFE_ENCODE;
    bool is_good = true;
    hurl_scratch_open(run->scratch);
    if (encodes)
        hurl_put_base64(run->scratch, value->text, is_url_safe);
    else
        is_good = put_decoded(run->scratch, value->text, is_url_safe);
    if (!filter_done(run, filter, encodes ? HURL_TEXT : HURL_BYTES, value))
        return false;
    return is_good ? true : hurl_fail(run, filter->place, "the text is not base64");
}

bool hurl_filter_hex(struct hurl_run *run, const struct hurl_filter *filter, struct hurl_any *value)
{
    static const char digits[] = "0123456789abcdef";
    hurl_scratch_open(run->scratch);
    char *out = hurl_scratch_room(run->scratch, value->text.length * 2);
    for (size_t i = 0; out != NULL && i < value->text.length; i++) {
        *out++ = digits[(unsigned char)value->text.text[i] >> 4];
        *out++ = digits[(unsigned char)value->text.text[i] & 15];
    }
    if (out != NULL)
        hurl_scratch_advance(run->scratch, out);
    return filter_done(run, filter, HURL_TEXT, value);
}

/* ---- URLs ---- */

static bool is_unreserved(unsigned char c)
{
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '-' || c == '.' || c == '_' ||
           c == '~';
}

void hurl_put_percent(struct hurl_scratch *scratch, struct hurl_slice text, const char *also)
{
    static const char digits[] = "0123456789ABCDEF";
    char *out = hurl_scratch_room(scratch, text.length * 3);
    if (out == NULL)
        return;
    for (size_t i = 0; i < text.length; i++) {
        unsigned char c = (unsigned char)text.text[i];
        if (is_unreserved(c) || (c != '\0' && strchr(also, c) != NULL)) {
            *out++ = (char)c;
            continue;
        }
        *out++ = '%';
        *out++ = digits[c >> 4];
        *out++ = digits[c & 15];
    }
    hurl_scratch_advance(scratch, out);
}

bool hurl_filter_url_encode(struct hurl_run *run, const struct hurl_filter *filter, struct hurl_any *value)
{
    hurl_scratch_open(run->scratch);
    hurl_put_percent(run->scratch, value->text, "/");
    return filter_done(run, filter, HURL_TEXT, value);
}

static void put_url_decoded(struct hurl_scratch *scratch, struct hurl_slice text, bool plus_is_blank)
{
    char *out = hurl_scratch_room(scratch, text.length);
    if (out == NULL)
        return;
    for (size_t i = 0; i < text.length; i++) {
        int high = i + 2 < text.length && text.text[i] == '%' ? hex_digit(text.text[i + 1]) : -1;
        int low = high >= 0 ? hex_digit(text.text[i + 2]) : -1;
        if (low >= 0) {
            *out++ = (char)(high << 4 | low);
            i += 2;
        } else {
            *out++ = plus_is_blank && text.text[i] == '+' ? ' ' : text.text[i];
        }
    }
    hurl_scratch_advance(scratch, out);
}

bool hurl_filter_url_decode(struct hurl_run *run, const struct hurl_filter *filter, struct hurl_any *value)
{
    hurl_scratch_open(run->scratch);
    put_url_decoded(run->scratch, value->text, false);
    if (!filter_done(run, filter, HURL_TEXT, value))
        return false;
    return hurl_is_utf8(value->text) ? true : hurl_fail(run, filter->place, "what is decoded is not UTF-8");
}

/* Of the first parameter of that name; both are compared and given without their encoding. */
bool hurl_filter_query_param(struct hurl_run *run, const struct hurl_filter *filter, struct hurl_any *value)
{
    struct hurl_slice name, url = value->text;
    if (!hurl_text_render(run, &filter->text, &name))
        return false;
    if (memmem(url.text, url.length, "://", 3) == NULL)
        return hurl_fail(run, filter->place, "the text is no URL with a scheme");
    const char *fragment = memchr(url.text, '#', url.length);
    url.length = fragment != NULL ? (size_t)(fragment - url.text) : url.length;
    const char *at = memchr(url.text, '?', url.length), *end = url.text + url.length;
    *value = (struct hurl_any){.kind = HURL_NOTHING};
    for (at = at != NULL ? at + 1 : end; at < end;) {
        const char *stop = memchr(at, '&', (size_t)(end - at));
        stop = stop != NULL ? stop : end;
        const char *equals = memchr(at, '=', (size_t)(stop - at));
        const char *name_end = equals != NULL ? equals : stop;
        hurl_scratch_open(run->scratch);
        put_url_decoded(run->scratch, (struct hurl_slice){at, (size_t)(name_end - at)}, true);
        struct hurl_slice own = hurl_scratch_close(run->scratch);
        if (own.length == name.length && memcmp(own.text, name.text, name.length) == 0) {
            hurl_scratch_open(run->scratch);
            if (equals != NULL)
                put_url_decoded(run->scratch, (struct hurl_slice){equals + 1, (size_t)(stop - equals - 1)}, true);
            return filter_done(run, filter, HURL_TEXT, value);
        }
        at = stop + 1;
    }
    return run->scratch->is_full ? hurl_fail_full(run, filter->place) : true;
}

/* ---- HTML ---- */

/* The named references of HTML 4. */
struct entity {
    char name[9];
    uint16_t code;
};

/* sorted by name, as strcmp sorts */
static const struct entity entities[] = {
    {"AElig", 198},   {"Aacute", 193},  {"Acirc", 194},    {"Agrave", 192},  {"Alpha", 913},    {"Aring", 197},
    {"Atilde", 195},  {"Auml", 196},    {"Beta", 914},     {"Ccedil", 199},  {"Chi", 935},      {"Dagger", 8225},
    {"Delta", 916},   {"ETH", 208},     {"Eacute", 201},   {"Ecirc", 202},   {"Egrave", 200},   {"Epsilon", 917},
    {"Eta", 919},     {"Euml", 203},    {"Gamma", 915},    {"Iacute", 205},  {"Icirc", 206},    {"Igrave", 204},
    {"Iota", 921},    {"Iuml", 207},    {"Kappa", 922},    {"Lambda", 923},  {"Mu", 924},       {"Ntilde", 209},
    {"Nu", 925},      {"OElig", 338},   {"Oacute", 211},   {"Ocirc", 212},   {"Ograve", 210},   {"Omega", 937},
    {"Omicron", 927}, {"Oslash", 216},  {"Otilde", 213},   {"Ouml", 214},    {"Phi", 934},      {"Pi", 928},
    {"Prime", 8243},  {"Psi", 936},     {"Rho", 929},      {"Scaron", 352},  {"Sigma", 931},    {"THORN", 222},
    {"Tau", 932},     {"Theta", 920},   {"Uacute", 218},   {"Ucirc", 219},   {"Ugrave", 217},   {"Upsilon", 933},
    {"Uuml", 220},    {"Xi", 926},      {"Yacute", 221},   {"Yuml", 376},    {"Zeta", 918},     {"aacute", 225},
    {"acirc", 226},   {"acute", 180},   {"aelig", 230},    {"agrave", 224},  {"alefsym", 8501}, {"alpha", 945},
    {"amp", 38},      {"and", 8743},    {"ang", 8736},     {"apos", 39},     {"aring", 229},    {"asymp", 8776},
    {"atilde", 227},  {"auml", 228},    {"bdquo", 8222},   {"beta", 946},    {"brvbar", 166},   {"bull", 8226},
    {"cap", 8745},    {"ccedil", 231},  {"cedil", 184},    {"cent", 162},    {"chi", 967},      {"circ", 710},
    {"clubs", 9827},  {"cong", 8773},   {"copy", 169},     {"crarr", 8629},  {"cup", 8746},     {"curren", 164},
    {"dArr", 8659},   {"dagger", 8224}, {"darr", 8595},    {"deg", 176},     {"delta", 948},    {"diams", 9830},
    {"divide", 247},  {"eacute", 233},  {"ecirc", 234},    {"egrave", 232},  {"empty", 8709},   {"emsp", 8195},
    {"ensp", 8194},   {"epsilon", 949}, {"equiv", 8801},   {"eta", 951},     {"eth", 240},      {"euml", 235},
    {"euro", 8364},   {"exist", 8707},  {"fnof", 402},     {"forall", 8704}, {"frac12", 189},   {"frac14", 188},
    {"frac34", 190},  {"frasl", 8260},  {"gamma", 947},    {"ge", 8805},     {"gt", 62},        {"hArr", 8660},
    {"harr", 8596},   {"hearts", 9829}, {"hellip", 8230},  {"iacute", 237},  {"icirc", 238},    {"iexcl", 161},
    {"igrave", 236},  {"image", 8465},  {"infin", 8734},   {"int", 8747},    {"iota", 953},     {"iquest", 191},
    {"isin", 8712},   {"iuml", 239},    {"kappa", 954},    {"lArr", 8656},   {"lambda", 955},   {"lang", 9001},
    {"laquo", 171},   {"larr", 8592},   {"lceil", 8968},   {"ldquo", 8220},  {"le", 8804},      {"lfloor", 8970},
    {"lowast", 8727}, {"loz", 9674},    {"lrm", 8206},     {"lsaquo", 8249}, {"lsquo", 8216},   {"lt", 60},
    {"macr", 175},    {"mdash", 8212},  {"micro", 181},    {"middot", 183},  {"minus", 8722},   {"mu", 956},
    {"nabla", 8711},  {"nbsp", 160},    {"ndash", 8211},   {"ne", 8800},     {"ni", 8715},      {"not", 172},
    {"notin", 8713},  {"nsub", 8836},   {"ntilde", 241},   {"nu", 957},      {"oacute", 243},   {"ocirc", 244},
    {"oelig", 339},   {"ograve", 242},  {"oline", 8254},   {"omega", 969},   {"omicron", 959},  {"oplus", 8853},
    {"or", 8744},     {"ordf", 170},    {"ordm", 186},     {"oslash", 248},  {"otilde", 245},   {"otimes", 8855},
    {"ouml", 246},    {"para", 182},    {"part", 8706},    {"permil", 8240}, {"perp", 8869},    {"phi", 966},
    {"pi", 960},      {"piv", 982},     {"plusmn", 177},   {"pound", 163},   {"prime", 8242},   {"prod", 8719},
    {"prop", 8733},   {"psi", 968},     {"quot", 34},      {"rArr", 8658},   {"radic", 8730},   {"rang", 9002},
    {"raquo", 187},   {"rarr", 8594},   {"rceil", 8969},   {"rdquo", 8221},  {"real", 8476},    {"reg", 174},
    {"rfloor", 8971}, {"rho", 961},     {"rlm", 8207},     {"rsaquo", 8250}, {"rsquo", 8217},   {"sbquo", 8218},
    {"scaron", 353},  {"sdot", 8901},   {"sect", 167},     {"shy", 173},     {"sigma", 963},    {"sigmaf", 962},
    {"sim", 8764},    {"spades", 9824}, {"sub", 8834},     {"sube", 8838},   {"sum", 8721},     {"sup", 8835},
    {"sup1", 185},    {"sup2", 178},    {"sup3", 179},     {"supe", 8839},   {"szlig", 223},    {"tau", 964},
    {"there4", 8756}, {"theta", 952},   {"thetasym", 977}, {"thinsp", 8201}, {"thorn", 254},    {"tilde", 732},
    {"times", 215},   {"trade", 8482},  {"uArr", 8657},    {"uacute", 250},  {"uarr", 8593},    {"ucirc", 251},
    {"ugrave", 249},  {"uml", 168},     {"upsih", 978},    {"upsilon", 965}, {"uuml", 252},     {"weierp", 8472},
    {"xi", 958},      {"yacute", 253},  {"yen", 165},      {"yuml", 255},    {"zeta", 950},     {"zwj", 8205},
    {"zwnj", 8204},
};

static int entity_compare(const void *name, const void *entity)
{
    return strcmp(name, ((const struct entity *)entity)->name);
}

static uint32_t entity_find(const char *name, size_t length)
{
    char copy[sizeof entities[0].name];
    if (length >= sizeof copy)
        return 0;
    memcpy(copy, name, length);
    copy[length] = '\0';
    const struct entity *found =
        bsearch(copy, entities, sizeof entities / sizeof entities[0], sizeof entities[0], entity_compare);
    return found != NULL ? found->code : 0;
}

bool hurl_filter_html_escape(struct hurl_run *run, const struct hurl_filter *filter, struct hurl_any *value)
{
    static const struct {
        char c;
        const char *reference;
    } table[] = {{'&', "&amp;"}, {'<', "&lt;"}, {'>', "&gt;"}, {'"', "&quot;"}, {'\'', "&#x27;"}};
    hurl_scratch_open(run->scratch);
    for (size_t i = 0; i < value->text.length; i++) {
        const char *put = value->text.text + i;
        size_t length = 1;
        for (size_t k = 0; k < sizeof table / sizeof table[0]; k++)
            if (table[k].c == *put) {
                put = table[k].reference;
                length = strlen(put);
                break;
            }
        hurl_scratch_put(run->scratch, put, length);
    }
    return filter_done(run, filter, HURL_TEXT, value);
}

/* The number behind "&#"; returns the bytes read, up to and with the semicolon; 0: it is none. */
static size_t reference_number(const char *text, size_t left, uint32_t *ret_code)
{
    bool is_hex = left > 0 && (text[0] | 32) == 'x';
    size_t i = is_hex, start = i;
    uint32_t code = 0;
    for (; i < left; i++) {
        int digit = hex_digit(text[i]);
        if (digit < 0 || (!is_hex && digit > 9))
            break;
        code = code > 0x10FFFF ? code : code * (is_hex ? 16 : 10) + (uint32_t)digit;
    }
    if (i == start || i == left || text[i] != ';')
        return 0;
    bool is_bad = code == 0 || code > 0x10FFFF || (code >= 0xD800 && code <= 0xDFFF);
    *ret_code = is_bad ? PL_UTF8_REPLACEMENT : code;
    return i + 1;
}

/* A reference at "&"; the bytes read, 0: it is none and stays. */
static size_t reference_at(const char *text, size_t left, uint32_t *ret_code)
{
    enum { NAME_MOST = 8 };
    size_t i = 1;
    if (left >= 2 && text[1] == '#') {
        size_t used = reference_number(text + 2, left - 2, ret_code);
        return used > 0 ? used + 2 : 0;
    }
    while (i < left && i <= NAME_MOST && text[i] != ';')
        i++;
    if (i == left || text[i] != ';')
        return 0;
    *ret_code = entity_find(text + 1, i - 1);
    return *ret_code != 0 ? i + 1 : 0;
}

bool hurl_filter_html_unescape(struct hurl_run *run, const struct hurl_filter *filter, struct hurl_any *value)
{
    struct hurl_slice text = value->text;
    hurl_scratch_open(run->scratch);
    char *out = hurl_scratch_room(run->scratch, text.length + 4); /* no reference is shorter than its character */
    for (size_t i = 0; out != NULL && i < text.length;) {
        uint32_t code;
        size_t used = text.text[i] == '&' ? reference_at(text.text + i, text.length - i, &code) : 0;
        if (used > 0)
            out = pl_utf8_encode(out, code);
        else
            *out++ = text.text[i];
        i += used > 0 ? used : 1;
    }
    if (out != NULL)
        hurl_scratch_advance(run->scratch, out);
    return filter_done(run, filter, HURL_TEXT, value);
}

/* ---- charsets ---- */

static bool is_named(const char *charset, size_t length, const char *name)
{
    return strlen(name) == length && strncasecmp(charset, name, length) == 0;
}

/* iconv's name of a charset; NULL: UTF-8, "": no name of any. Browsers read these two as Windows-1252, which is what
 * servers that say so send. */
static const char *iconv_name(const char *charset, size_t length, char copy[HURL_CHARSET_BYTES])
{
    static const char *const latin[] = {"iso-8859-1", "iso8859-1", "latin1", "l1", "us-ascii", "ascii"};
    static const char letters[] = "0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ-_.:";
    if (is_named(charset, length, "utf-8") || is_named(charset, length, "utf8"))
        return NULL;
    for (size_t i = 0; i < sizeof latin / sizeof latin[0]; i++)
        if (is_named(charset, length, latin[i]))
            return "CP1252";
    if (length == 0 || length >= HURL_CHARSET_BYTES)
        return "";
    memcpy(copy, charset, length);
    copy[length] = '\0';
    return strspn(copy, letters) == length ? copy : "";
}

/* The converter of the last charset is kept. */
static bool charset_open(struct hurl_work *work, const char *name)
{
    if (work->charset != (void *)-1 && strcmp(work->charset_name, name) == 0) {
        iconv(work->charset, NULL, NULL, NULL, NULL);
        return true;
    }
    if (work->charset != (void *)-1)
        iconv_close(work->charset);
    work->charset = iconv_open("UTF-8", name);
    memcpy(work->charset_name, name, strlen(name) + 1);
    return work->charset != (void *)-1;
}

static bool convert(struct hurl_run *run, struct hurl_place place, struct hurl_slice bytes)
{
    char *in = (char *)(uintptr_t)bytes.text; /* iconv does not write to it */
    size_t left = bytes.length;
    while (left > 0) {
        size_t room = left + 64;
        char *out = hurl_scratch_room(run->scratch, room);
        if (out == NULL)
            return hurl_fail_full(run, place);
        size_t result = iconv(run->work->charset, &in, &left, &out, &room);
        hurl_scratch_advance(run->scratch, out);
        if (result == (size_t)-1 && errno != E2BIG)
            return hurl_fail(run, place, "byte %zu is none of the charset \"%s\"", bytes.length - left,
                             run->work->charset_name);
    }
    return true;
}

bool hurl_decode(struct hurl_run *run, struct hurl_place place, const char *charset, size_t charset_length,
                 struct hurl_slice bytes, struct hurl_slice *ret)
{
    char copy[HURL_CHARSET_BYTES], shown[HURL_SHOW_BYTES];
    const char *name = iconv_name(charset, charset_length, copy);
    *ret = bytes;
    if (name == NULL)
        return hurl_is_utf8(bytes) ? true : hurl_fail(run, place, "the bytes are not UTF-8");
    if (*name == '\0' || !charset_open(run->work, name))
        return hurl_fail(run, place, "no charset \"%s\" is known", hurl_show_text(run, charset, charset_length, shown));
    hurl_scratch_open(run->scratch);
    bool is_good = convert(run, place, bytes);
    *ret = hurl_scratch_close(run->scratch);
    return is_good;
}

bool hurl_filter_decode(struct hurl_run *run, const struct hurl_filter *filter, struct hurl_any *value)
{
    struct hurl_slice charset, text;
    if (!hurl_text_render(run, &filter->text, &charset) ||
        !hurl_decode(run, filter->place, charset.text, charset.length, value->text, &text))
        return false;
    *value = hurl_text_value(text.text, text.length);
    return true;
}

bool hurl_filter_utf8(struct hurl_run *run, const struct hurl_filter *filter, struct hurl_any *value)
{
    if (filter->kind == HURL_FILTER_UTF8_DECODE && !hurl_is_utf8(value->text))
        return hurl_fail(run, filter->place, "the bytes are not UTF-8");
    *value =
        (struct hurl_any){.kind = filter->kind == HURL_FILTER_UTF8_DECODE ? HURL_TEXT : HURL_BYTES, .text = value->text};
    return true;
}
