/* The tool itself: what it costs, and what the sensors missed. */
#include <stdio.h>
#include <sys/resource.h>

#include "base/clock.h"
#include "sense/sense_int.h"

#include "base/ban.h"

enum tool_meter {
    TOOL_CPU,
    TOOL_MEMORY_ANON,
    TOOL_SWITCHES,
    TOOL_SWITCHES_INVOLUNTARY,
    TOOL_SENSE_CPU,
    TOOL_SENSE_PASS,
    TOOL_SENSE_QUIET,
    TOOL_SENSE_MISSED,
    TOOL_SENSE_SKIPPED,
    TOOL_SENSE_DROPPED,
    TOOL_COUNT
};
_Static_assert((int)TOOL_COUNT <= (int)SENSE_TOOL_METERS, "room for every meter of the tool");

static const struct {
    struct sense_def def;
    const char *how;
} tool_rows[TOOL_COUNT] = {
    [TOOL_CPU] = {{"cpu_ns", "ns", METRIC_COUNTER, SENSE_PLAIN}, "CLOCK_PROCESS_CPUTIME_ID, all threads"},
    [TOOL_MEMORY_ANON] = {{"memory_anon_bytes", "bytes", METRIC_GAUGE, SENSE_PLAIN}, "/proc/self/status RssAnon"},
    [TOOL_SWITCHES] = {{"context_switches", "count", METRIC_COUNTER, SENSE_PLAIN}, "getrusage ru_nvcsw, all threads"},
    [TOOL_SWITCHES_INVOLUNTARY] = {{"context_switches_involuntary", "count", METRIC_COUNTER, SENSE_PLAIN},
                                   "getrusage ru_nivcsw, all threads"},
    [TOOL_SENSE_CPU] = {{"sense_cpu_ns", "ns", METRIC_COUNTER, SENSE_PLAIN},
                        "CLOCK_THREAD_CPUTIME_ID of the sensor thread"},
    [TOOL_SENSE_PASS] = {{"sense_pass_ns", "ns", METRIC_GAUGE, SENSE_PLAIN},
                         "monotonic clock around one reading, ticks and marks"},
    [TOOL_SENSE_QUIET] = {{"sense_quiet_ns", "ns", METRIC_GAUGE, SENSE_PLAIN},
                          "monotonic clock around one reading at a quiet point"},
    [TOOL_SENSE_MISSED] = {{"sense_missed", "count", METRIC_COUNTER, SENSE_PLAIN},
                           "readings that failed: their samples are absent"},
    [TOOL_SENSE_SKIPPED] = {{"sense_skipped", "count", METRIC_COUNTER, SENSE_PLAIN},
                            "ticks that were not taken because a reading was still going on"},
    [TOOL_SENSE_DROPPED] = {{"sense_dropped", "count", METRIC_COUNTER, SENSE_PLAIN},
                            "samples that found the ring full and are lost"},
};

void sense_tool_init(struct sense_tool *tool, struct sense_registry *registry)
{
    for (int i = 0; i < (int)TOOL_COUNT; i++)
        sense_registry_add(registry, "tool", &tool_rows[i].def, tool_rows[i].how, &tool->meters[i]);
    tool->dropped_id = tool->meters[TOOL_SENSE_DROPPED].id;
}

double sense_tool_read(struct sense_tool *tool, struct sense_pass *pass, int64_t start_ns, int64_t skipped)
{
    static const char *const keys[] = {"RssAnon"};
    struct rusage usage;
    int64_t anon = -1;
    long length = sense_pass_read(pass, "/proc/self", "status");
    if (length > 0)
        sense_parse_fields(pass->text, (size_t)length, keys, 1, &anon);
    double cpu_ns = (double)pl_clock_process_cpu_ns();
    sense_pass_stamp(pass);
    sense_pass_put(pass, &tool->meters[TOOL_CPU], cpu_ns);
    sense_pass_put_known(pass, &tool->meters[TOOL_MEMORY_ANON], anon);
    if (getrusage(RUSAGE_SELF, &usage) == 0) {
        sense_pass_put(pass, &tool->meters[TOOL_SWITCHES], (double)usage.ru_nvcsw);
        sense_pass_put(pass, &tool->meters[TOOL_SWITCHES_INVOLUNTARY], (double)usage.ru_nivcsw);
    }
    sense_pass_put(pass, &tool->meters[TOOL_SENSE_CPU], (double)pl_clock_thread_cpu_ns());
    sense_pass_put(pass, &tool->meters[TOOL_SENSE_MISSED], (double)pass->missed);
    sense_pass_put(pass, &tool->meters[TOOL_SENSE_SKIPPED], (double)skipped);
    sense_pass_put(pass, &tool->meters[TOOL_SENSE_DROPPED],
                   (double)atomic_load_explicit(&pass->dropped, memory_order_relaxed));
    sense_pass_put(pass, &tool->meters[pass->depth == SENSE_QUIET ? TOOL_SENSE_QUIET : TOOL_SENSE_PASS],
                   (double)(pl_clock_ns() - start_ns));
    return cpu_ns;
}
