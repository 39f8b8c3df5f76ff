/* Names of the enums, and the arithmetic of the ledger. */
#include "record/record.h"

#include <assert.h>

#include "base/ban.h"

static const char *const phase_names[PHASE_COUNT] = {
    [PHASE_START] = "start",     [PHASE_SETTLE] = "settle", [PHASE_WARM_UP] = "warm-up",
    [PHASE_MEASURE] = "measure", [PHASE_DRAIN] = "drain",   [PHASE_AFTER] = "after",
};

const char *phase_name(enum phase phase)
{
    assert(phase < PHASE_COUNT);
    return phase_names[phase];
}

static const char *const trial_state_names[TRIAL_STATE_COUNT] = {
    [TRIAL_DONE] = "done",
    [TRIAL_FAILED] = "failed",
    [TRIAL_VOID] = "void",
    [TRIAL_INTERRUPTED] = "interrupted",
};

const char *trial_state_name(enum trial_state state)
{
    assert(state < TRIAL_STATE_COUNT);
    return trial_state_names[state];
}

static const char *const figure_status_names[] = {
    [FIGURE_MEASURED] = "measured",
    [FIGURE_COMPUTED] = "computed",
    [FIGURE_ASSUMED] = "assumed",
    [FIGURE_ABSENT] = "absent",
};

const char *figure_status_name(enum figure_status status)
{
    assert(status <= FIGURE_ABSENT);
    return figure_status_names[status];
}

void ledger_add(struct ledger *into, const struct ledger *from)
{
    into->due += from->due;
    into->completed += from->completed;
    into->failed += from->failed;
    into->skipped += from->skipped;
    into->expired += from->expired;
    into->unfinished += from->unfinished;
    into->never_started += from->never_started;
}

void attempts_add(struct attempts *into, const struct attempts *from)
{
    into->retried += from->retried;
    into->retries += from->retries;
    into->serialization += from->serialization;
    into->deadlock += from->deadlock;
    into->above_limit += from->above_limit;
}

bool ledger_balances(const struct ledger *ledger)
{
    const int64_t ends[] = {ledger->completed, ledger->failed, ledger->skipped, ledger->expired, ledger->unfinished};
    int64_t ended = 0;
    for (size_t i = 0; i < sizeof ends / sizeof *ends; i++) {
        if (ends[i] < 0 || __builtin_add_overflow(ended, ends[i], &ended))
            return false;
    }
    return ended == ledger->due && ledger->never_started >= 0 && ledger->never_started <= ledger->unfinished;
}
