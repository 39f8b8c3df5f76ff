/* Pss_Anon of a sample of processes. smaps_rollup walks the page tables under the process's own lock: about 18 ms for each
 * GiB of 4 KiB pages, be they its own or shared, so the cost is reckoned first, from status, and the budget holds. */
#include <stdio.h>

#include "base/clock.h"
#include "base/rng.h"
#include "sense/sense_int.h"

#include "base/ban.h"

int64_t sense_pss_cost_ns(int64_t resident_bytes)
{
    return (int64_t)((double)resident_bytes * 18e6 / (1 << 30));
}

/* Every order is equally likely (Fisher and Yates; Durstenfeld 1964). */
static void pids_shuffle(struct sense_pids *pids, struct pl_rng *rng)
{
    for (size_t i = pids->count; i > 1; i--) {
        size_t j = (size_t)pl_rng_range(rng, 0, (int64_t)i - 1);
        pid_t swap = pids->pids[i - 1];
        pids->pids[i - 1] = pids->pids[j];
        pids->pids[j] = swap;
    }
}

/* -1: the process is gone, or may not be looked at */
static int64_t process_resident(pid_t pid, struct sense_pass *pass)
{
    static const char *const keys[] = {"RssAnon", "RssFile", "RssShmem"};
    char directory[32];
    int64_t values[3];
    snprintf(directory, sizeof directory, "/proc/%d", (int)pid);
    long length = sense_pass_read(pass, directory, "status");
    if (length <= 0 || sense_parse_fields(pass->text, (size_t)length, keys, 3, values) < 3)
        return -1;
    return values[0] + values[1] + values[2];
}

static bool process_pss(pid_t pid, struct sense_pass *pass, struct sense_pss *pss)
{
    static const char *const keys[] = {"Pss_Anon", "Pss_Shmem"};
    char directory[32];
    int64_t values[2];
    snprintf(directory, sizeof directory, "/proc/%d", (int)pid);
    long length = sense_pass_read(pass, directory, "smaps_rollup");
    if (length <= 0 || sense_parse_fields(pass->text, (size_t)length, keys, 2, values) < 2)
        return false;
    pss->anon_bytes += values[0];
    pss->shmem_bytes += values[1];
    pss->sampled++;
    return true;
}

struct sense_pss sense_pss_sample(struct sense_pids *pids, uint64_t seed, uint64_t index, struct sense_pass *pass)
{
    struct sense_pss pss = {0};
    struct pl_rng rng;
    bool within = true;
    pl_rng_init(&rng, seed, PL_RNG_SAMPLE, index);
    pids_shuffle(pids, &rng);
    for (size_t i = 0; i < pids->count; i++) {
        int64_t resident = process_resident(pids->pids[i], pass);
        if (resident < 0)
            continue;
        /* the first that does not fit ends the sample: to go on with smaller ones would prefer small processes */
        within = within && pl_clock_ns() + sense_pss_cost_ns(resident) <= pass->quiet_end_ns;
        if (within && !process_pss(pids->pids[i], pass, &pss))
            continue;
        pss.population++;
    }
    return pss;
}
