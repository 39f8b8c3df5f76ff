/* See parse_int.h. Everything is built on a cursor that cannot run past the end. */
#include "sense/parse_int.h"

#include <limits.h>
#include <string.h>

#include "base/ban.h"

struct cursor {
    const char *at, *end;
};

static bool is_blank(char c)
{
    return c == ' ' || c == '\t';
}

static void skip_blanks(struct cursor *cursor)
{
    while (cursor->at < cursor->end && is_blank(*cursor->at))
        cursor->at++;
}

static bool next_line(struct cursor *text, struct cursor *ret_line)
{
    if (text->at >= text->end)
        return false;
    const char *end = memchr(text->at, '\n', (size_t)(text->end - text->at));
    *ret_line = (struct cursor){text->at, end != NULL ? end : text->end};
    text->at = end != NULL ? end + 1 : text->end;
    return true;
}

/* Decimal digits; a number that does not fit into 63 bits is none. */
static bool take_number(struct cursor *cursor, int64_t *ret_value)
{
    struct cursor at = *cursor;
    int64_t value = 0;
    while (at.at < at.end && *at.at >= '0' && *at.at <= '9') {
        if (__builtin_mul_overflow(value, INT64_C(10), &value) || __builtin_add_overflow(value, *at.at - '0', &value))
            return false;
        at.at++;
    }
    if (at.at == cursor->at)
        return false;
    *cursor = at;
    *ret_value = value;
    return true;
}

/* A number that stands alone: blanks before it, a blank or the end of the line behind it. */
static bool take_field(struct cursor *line, int64_t *ret_value)
{
    skip_blanks(line);
    return take_number(line, ret_value) && (line->at == line->end || is_blank(*line->at));
}

static bool take_word(struct cursor *line, struct cursor *ret_word)
{
    skip_blanks(line);
    const char *start = line->at;
    while (line->at < line->end && !is_blank(*line->at))
        line->at++;
    *ret_word = (struct cursor){start, line->at};
    return line->at > start;
}

static bool word_is(const struct cursor *word, const char *text)
{
    size_t length = strlen(text);
    return (size_t)(word->end - word->at) == length && memcmp(word->at, text, length) == 0;
}

bool sense_parse_cpu(const char *text, size_t length, struct sense_cpu *ret_cpu)
{
    struct cursor rest = {text, text + length}, line, word;
    struct sense_cpu cpu = {.running = -1, .blocked = -1};
    int64_t *fields[] = {&cpu.user, &cpu.nice, &cpu.kernel, &cpu.idle, &cpu.iowait, &cpu.irq, &cpu.softirq, &cpu.steal};
    size_t found = 0;
    while (next_line(&rest, &line)) {
        if (!take_word(&line, &word))
            continue;
        if (found == 0 && word_is(&word, "cpu"))
            while (found < sizeof fields / sizeof *fields && take_field(&line, fields[found]))
                found++;
        else if (word_is(&word, "procs_running") && !take_field(&line, &cpu.running))
            cpu.running = -1;
        else if (word_is(&word, "procs_blocked") && !take_field(&line, &cpu.blocked))
            cpu.blocked = -1;
    }
    if (found < 4)
        return false;
    *ret_cpu = cpu;
    return true;
}

/* Saturates: text can hold counters that no kernel ever counts to. */
static int64_t sum_of(const int64_t *values, size_t count)
{
    int64_t sum = 0;
    for (size_t i = 0; i < count; i++)
        if (__builtin_add_overflow(sum, values[i], &sum))
            return INT64_MAX;
    return sum;
}

int64_t sense_cpu_busy(const struct sense_cpu *cpu)
{
    return sum_of((const int64_t[]){cpu->user, cpu->nice, cpu->kernel, cpu->irq, cpu->softirq}, 5);
}

int64_t sense_cpu_total(const struct sense_cpu *cpu)
{
    return sum_of((const int64_t[]){sense_cpu_busy(cpu), cpu->idle, cpu->iowait, cpu->steal}, 4);
}

bool sense_parse_pressure(const char *text, size_t length, struct sense_pressure *ret_pressure)
{
    struct cursor rest = {text, text + length}, line, word;
    struct sense_pressure pressure = {-1, -1};
    while (next_line(&rest, &line)) {
        if (!take_word(&line, &word))
            continue;
        int64_t *into = word_is(&word, "some") ? &pressure.some_us : word_is(&word, "full") ? &pressure.full_us : NULL;
        while (into != NULL && take_word(&line, &word)) {
            static const char name[] = "total=";
            size_t skip = sizeof name - 1;
            if ((size_t)(word.end - word.at) <= skip || memcmp(word.at, name, skip) != 0)
                continue;
            word.at += skip;
            if (!take_number(&word, into) || word.at != word.end)
                *into = -1;
        }
    }
    *ret_pressure = pressure;
    return pressure.some_us >= 0 || pressure.full_us >= 0;
}

/* Fields as proc(5) numbers them; only the numeric ones from 4 on are asked for. Signed fields that are negative stand for
 * things that are not read here. */
enum { STAT_PPID = 4, STAT_USER = 14, STAT_THREADS = 20, STAT_START = 22, STAT_RSS = 24 };

bool sense_parse_stat(const char *text, size_t length, struct sense_stat *ret_stat)
{
    struct cursor head = {text, text + length}, rest = head, word;
    int64_t fields[STAT_RSS + 1] = {0}, pid;
    const char *name_end = memrchr(text, ')', length);
    if (name_end == NULL || !take_field(&head, &pid) || pid > INT_MAX)
        return false;
    rest.at = name_end + 1;
    if (!take_word(&rest, &word) || word.end - word.at != 1)
        return false;
    struct sense_stat stat = {.pid = (pid_t)pid, .state = *word.at};
    for (int i = STAT_PPID; i <= STAT_RSS; i++) {
        if (!take_word(&rest, &word))
            return false;
        if (!take_number(&word, &fields[i]))
            fields[i] = 0;
    }
    if (fields[STAT_PPID] > INT_MAX)
        return false;
    stat.ppid = (pid_t)fields[STAT_PPID];
    stat.user = fields[STAT_USER];
    stat.kernel = fields[STAT_USER + 1];
    stat.reaped_user = fields[STAT_USER + 2];
    stat.reaped_kernel = fields[STAT_USER + 3];
    stat.threads = fields[STAT_THREADS];
    stat.start_ticks = fields[STAT_START];
    stat.rss_pages = fields[STAT_RSS];
    *ret_stat = stat;
    return true;
}

/* "key" up to a ':' or a blank; false on a line without one. */
static bool take_key(struct cursor *line, struct cursor *ret_key)
{
    const char *start = line->at;
    while (line->at < line->end && !is_blank(*line->at) && *line->at != ':')
        line->at++;
    *ret_key = (struct cursor){start, line->at};
    if (line->at < line->end && *line->at == ':')
        line->at++;
    return line->at > start;
}

size_t sense_parse_fields(const char *text, size_t length, const char *const *keys, size_t count, int64_t *values)
{
    struct cursor rest = {text, text + length}, line, key, unit;
    size_t found = 0;
    for (size_t i = 0; i < count; i++)
        values[i] = -1;
    while (found < count && next_line(&rest, &line)) {
        if (!take_key(&line, &key))
            continue;
        for (size_t i = 0; i < count; i++) {
            int64_t value;
            if (values[i] >= 0 || !word_is(&key, keys[i]) || !take_field(&line, &value))
                continue;
            if (take_word(&line, &unit) && word_is(&unit, "kB") && __builtin_mul_overflow(value, INT64_C(1024), &value))
                continue;
            values[i] = value;
            found++;
            break;
        }
    }
    return found;
}

bool sense_parse_number(const char *text, size_t length, int64_t *ret_value)
{
    struct cursor rest = {text, text + length}, line;
    int64_t value;
    if (!next_line(&rest, &line) || !take_field(&line, &value))
        return false;
    *ret_value = value;
    return true;
}

static void add_named(const struct cursor *word, const char *name, int64_t *sum)
{
    struct cursor at = *word;
    size_t length = strlen(name);
    int64_t value, total;
    if ((size_t)(at.end - at.at) <= length || memcmp(at.at, name, length) != 0)
        return;
    at.at += length;
    if (take_number(&at, &value) && at.at == at.end && !__builtin_add_overflow(*sum, value, &total))
        *sum = total;
}

void sense_parse_io_stat(const char *text, size_t length, int64_t *ret_read_bytes, int64_t *ret_write_bytes)
{
    struct cursor rest = {text, text + length}, line, word;
    *ret_read_bytes = *ret_write_bytes = 0;
    while (next_line(&rest, &line)) {
        while (take_word(&line, &word)) {
            add_named(&word, "rbytes=", ret_read_bytes);
            add_named(&word, "wbytes=", ret_write_bytes);
        }
    }
}

/* Fields as Documentation/admin-guide/iostats.rst numbers them; sectors are 512 bytes on every device. */
enum { DISK_READS = 1, DISK_READ_SECTORS = 3, DISK_WRITES = 5, DISK_WRITE_SECTORS = 7, DISK_BUSY = 10 };
enum { DISK_OLD_FIELDS = 11, DISK_FLUSHES = 16, DISK_FLUSH_TIME = 17, DISK_FIELDS = 18 };

static bool parse_disk(struct cursor line, struct sense_disk *ret_disk)
{
    struct cursor name;
    int64_t number, fields[DISK_FIELDS] = {0};
    if (!take_field(&line, &number) || !take_field(&line, &number) || !take_word(&line, &name))
        return false;
    size_t name_length = (size_t)(name.end - name.at), count = 1;
    if (name_length >= sizeof ret_disk->name || memchr(name.at, '\0', name_length) != NULL)
        return false;
    while (count < DISK_FIELDS && take_field(&line, &fields[count]))
        count++;
    struct sense_disk disk = {.reads = fields[DISK_READS], .writes = fields[DISK_WRITES], .busy_ms = fields[DISK_BUSY]};
    if (count < DISK_OLD_FIELDS || __builtin_mul_overflow(fields[DISK_READ_SECTORS], INT64_C(512), &disk.read_bytes) ||
        __builtin_mul_overflow(fields[DISK_WRITE_SECTORS], INT64_C(512), &disk.write_bytes))
        return false;
    disk.flushes = count == DISK_FIELDS ? fields[DISK_FLUSHES] : -1;
    disk.flush_ms = count == DISK_FIELDS ? fields[DISK_FLUSH_TIME] : -1;
    memcpy(disk.name, name.at, name_length);
    *ret_disk = disk;
    return true;
}

size_t sense_parse_disks(const char *text, size_t length, struct sense_disk *disks, size_t capacity)
{
    struct cursor rest = {text, text + length}, line;
    size_t count = 0;
    while (count < capacity && next_line(&rest, &line))
        if (parse_disk(line, &disks[count]))
            count++;
    return count;
}

bool sense_parse_statm(const char *text, size_t length, int64_t *ret_resident, int64_t *ret_shared)
{
    struct cursor line = {text, text + length};
    int64_t size, resident, shared;
    if (!take_field(&line, &size) || !take_field(&line, &resident) || !take_field(&line, &shared))
        return false;
    *ret_resident = resident;
    *ret_shared = shared;
    return true;
}

size_t sense_parse_pids(const char *text, size_t length, pid_t *pids, size_t capacity)
{
    struct cursor rest = {text, text + length}, line;
    size_t count = 0;
    while (next_line(&rest, &line)) {
        int64_t pid;
        if (!take_field(&line, &pid) || pid <= 0 || pid > INT_MAX)
            continue;
        if (count < capacity)
            pids[count] = (pid_t)pid;
        count++;
    }
    return count;
}
