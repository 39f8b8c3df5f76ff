/* The line that says each second how it goes. On a terminal it is written over. */
#include <stdio.h>

#include "base/clock.h"
#include "base/num.h"
#include "httpload/output_int.h"

#include "base/ban.h"

void httpload_live_begin(struct httpload_live *live, FILE *out, bool is_terminal, int64_t start_ns)
{
    *live = (struct httpload_live){
        .out = out, .is_terminal = is_terminal, .start_ns = start_ns, .next_ns = start_ns + PL_NS_PER_S};
}

static const char *phase_word(enum phase phase)
{
    return phase == PHASE_WARM_UP ? "  warm-up" : phase == PHASE_DRAIN ? "  drain" : "";
}

void httpload_live_look(struct httpload_live *live, const struct load_glance *glance, int64_t now_ns)
{
    char text[200], p50[24], p99[24];
    if (live->out == NULL || now_ns < live->next_ns || glance->ended)
        return;
    live->next_ns += (now_ns - live->next_ns) / PL_NS_PER_S * PL_NS_PER_S + PL_NS_PER_S;
    int width = snprintf(text, sizeof text, "%6.0f s  %10.1f/s  p50 %9s  p99 %9s  completed %lld  failed %lld%s",
                         (double)(now_ns - live->start_ns) / (double)PL_NS_PER_S, glance->completed_per_s,
                         pl_num_text_ns(p50, sizeof p50, (double)glance->p50_ns),
                         pl_num_text_ns(p99, sizeof p99, (double)glance->p99_ns), (long long)glance->completed,
                         (long long)glance->failed, phase_word(glance->phase));
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
