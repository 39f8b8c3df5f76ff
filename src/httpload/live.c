/* The line that says each second how it goes. On a terminal it is written over. */
#include <stdio.h>
#include <sys/ioctl.h>

#include "base/clock.h"
#include "base/num.h"
#include "httpload/figures_int.h"
#include "httpload/output_int.h"

#include "base/ban.h"

enum { TIME_COLUMNS = 9 };

void httpload_live_begin(struct httpload_live *live, FILE *out, bool is_terminal, int64_t start_ns)
{
    *live = (struct httpload_live){
        .out = out, .is_terminal = is_terminal, .start_ns = start_ns, .next_ns = start_ns + PL_NS_PER_S};
}

static const char *phase_word(enum phase phase)
{
    return phase == PHASE_WARM_UP ? "  warm-up" : phase == PHASE_DRAIN ? "  drain" : "";
}

/* "142 µs", right-aligned as it is seen: bytes are not columns. */
static const char *time_text(char *buf, size_t size, int64_t ns)
{
    char text[24];
    pl_num_text_ns(text, sizeof text, (double)ns);
    int width = httpload_columns(text);
    snprintf(buf, size, "%*s%s", width < TIME_COLUMNS ? TIME_COLUMNS - width : 0, "", text);
    return buf;
}

/* 0: unknown. Asked each time: windows change. */
static int terminal_columns(const struct httpload_live *live)
{
    struct winsize window = {0};
    int fd = fileno(live->out);
    if (live->columns > 0)
        return live->columns;
    return fd >= 0 && ioctl(fd, TIOCGWINSZ, &window) == 0 ? window.ws_col : 0;
}

void httpload_live_look(struct httpload_live *live, const struct load_glance *glance, int64_t now_ns)
{
    char text[240], rate[HTTPLOAD_FIGURE_BYTES], p50[40], p99[40];
    if (live->out == NULL || now_ns < live->next_ns || glance->ended)
        return;
    live->next_ns += (now_ns - live->next_ns) / PL_NS_PER_S * PL_NS_PER_S + PL_NS_PER_S;
    snprintf(text, sizeof text, "%6.0f s  %10s/s  p50 %s  p99 %s  completed %lld  failed %lld%s",
             (double)(now_ns - live->start_ns) / (double)PL_NS_PER_S,
             httpload_figure(rate, sizeof rate, glance->completed_per_s), time_text(p50, sizeof p50, glance->p50_ns),
             time_text(p99, sizeof p99, glance->p99_ns), (long long)glance->completed, (long long)glance->failed,
             phase_word(glance->phase));
    int columns = live->is_terminal ? terminal_columns(live) : 0;
    if (columns > 0) /* what reaches the last column would begin another line, which nothing takes off again */
        text[httpload_columns_fit(text, columns - 1)] = '\0';
    int width = httpload_columns(text);
    if (columns > 0 && live->width >= columns) /* it has become narrower */
        live->width = columns - 1;
    if (live->is_terminal)
        fprintf(live->out, "\r%s%*s", text, live->width > width ? live->width - width : 0, "");
    else
        fprintf(live->out, "%s\n", text);
    fflush(live->out);
    live->width = width;
}

void httpload_live_end(struct httpload_live *live)
{
    if (live->out != NULL && live->is_terminal && live->width > 0)
        fprintf(live->out, "\r%*s\r", live->width, "");
    if (live->out != NULL)
        fflush(live->out);
    live->width = 0;
}
