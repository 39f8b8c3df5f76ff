/* A block of three lines, redrawn in place with ANSI sequences; plain lines without a terminal. */
#include "app/live.h"

#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/num.h"

#include "base/ban.h"

enum { LIVE_MIN_WIDTH = 40, LIVE_BAR = 24, LIVE_LINES = 3 };

static int live_width(FILE *out)
{
    struct winsize size;
    if (ioctl(fileno(out), TIOCGWINSZ, &size) == 0 && size.ws_col >= LIVE_MIN_WIDTH)
        return size.ws_col;
    return 80;
}

void live_init(struct live *live, FILE *out)
{
    const char *term = getenv("TERM");
    *live = (struct live){.out = out};
    live->is_terminal = isatty(fileno(out)) == 1 && term != NULL && strcmp(term, "dumb") != 0;
    live->uses_color = live->is_terminal && getenv("NO_COLOR") == NULL;
    live->width = live->is_terminal ? live_width(out) : 80;
}

void live_end(struct live *live)
{
    if (live->block_shown)
        fprintf(live->out, "\r\x1b[%dA\x1b[J", LIVE_LINES);
    live->block_shown = false;
    fflush(live->out);
}

/* Puts at most `columns` characters. Control bytes from outside (a stage's name, an error text) must not reach the
 * terminal. */
static void live_put(struct live *live, const char *text, int columns)
{
    for (; *text != '\0'; text++) {
        unsigned char c = (unsigned char)*text;
        bool begins = (c & 0xc0) != 0x80; /* of a UTF-8 character */
        if (begins && columns-- <= 0)
            return;
        fputc((c < 0x20 && c != '\n') || c == 0x7f ? '?' : c, live->out);
    }
}

void live_say(struct live *live, const char *fmt, ...)
{
    char text[2048];
    va_list args;
    va_start(args, fmt);
    vsnprintf(text, sizeof text, fmt, args);
    va_end(args);
    live_end(live);
    live_put(live, text, (int)sizeof text);
    fputc('\n', live->out);
    fflush(live->out);
}

void live_stopping(struct live *live)
{
    if (!live->is_stopping)
        live_say(live, "stopping: what is under way is drained; press Ctrl-C again to stop at once");
    live->is_stopping = true;
}

void live_trial(struct live *live, const char *stage, const char *label, int iteration, int iterations)
{
    live->trial++;
    live->stage = stage;
    live->drawn_ns = 0;
    char round[40] = "";
    if (iterations > 1)
        snprintf(round, sizeof round, ", iteration %d of %d", iteration + 1, iterations);
    snprintf(live->label, sizeof live->label, "%s%s%s", label, label[0] != '\0' ? "" : "one case", round);
    if (!live->is_terminal)
        live_say(live, "[%d/%d] %s: %s", live->trial, live->trials, stage, live->label);
}

void live_skip(struct live *live)
{
    live->trial++;
}

static void live_bar(struct live *live, double frac)
{
    int full = (int)(frac * LIVE_BAR + 0.5);
    fputs(live->uses_color ? "\x1b[36m" : "", live->out);
    for (int i = 0; i < LIVE_BAR; i++)
        fputs(i < full ? "\xe2\x96\x88" : "\xe2\x96\x91", live->out);
    fputs(live->uses_color ? "\x1b[0m" : "", live->out);
}

static const char *live_left(char *buf, size_t size, int64_t left_ns)
{
    int64_t seconds = left_ns / PL_NS_PER_S;
    if (left_ns < 0)
        snprintf(buf, size, "time left unknown");
    else
        snprintf(buf, size, "%d:%02d left", (int)(seconds / 60), (int)(seconds % 60));
    return buf;
}

static void live_load_text(char *buf, size_t size, const struct live_view *view)
{
    char p50[32], p99[32], memory[32];
    pl_num_text_ns(p50, sizeof p50, (double)view->p50_ns);
    pl_num_text_ns(p99, sizeof p99, (double)view->p99_ns);
    pl_num_text_bytes(memory, sizeof memory, view->memory_bytes);
    char load[160] = "", expired[40] = "";
    if (view->expired > 0)
        snprintf(expired, sizeof expired, "  expired %lld", (long long)view->expired);
    if (view->has_load && view->p99_ns > 0)
        snprintf(load, sizeof load, "%.0f/s  p50 %s  p99 %s  failed %lld%s", view->completed_per_s, p50, p99,
                 (long long)view->failed, expired);
    if (view->memory_bytes < 0)
        snprintf(buf, size, "%s", load);
    else
        snprintf(buf, size, "%s%ssubject: %s, %.2f cores", load, load[0] != '\0' ? "  |  " : "", memory, view->cpu_cores);
}

void live_update(struct live *live, const struct live_view *view)
{
    int64_t now_ns = pl_clock_ns();
    if (!live->is_terminal || now_ns - live->drawn_ns < PL_NS_PER_S / 10)
        return;
    live->drawn_ns = now_ns;
    live->width = live_width(live->out);
    live_end(live);
    char first[400], second[400], left[40];
    snprintf(first, sizeof first, " %d/%d  %s: %s  %s", live->trial, live->trials, live->stage, live->label, view->phase);
    live_load_text(second, sizeof second, view);
    live_put(live, first, live->width - 1);
    fputs("\n ", live->out);
    live_bar(live, view->done_frac);
    live_left(left, sizeof left, view->left_ns);
    fprintf(live->out, "  %s\n ", left);
    live_put(live, second, live->width - 2);
    fputc('\n', live->out);
    fflush(live->out);
    live->block_shown = true;
}
