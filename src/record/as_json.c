#include "record/as_json.h"

#include <math.h>

#include "base/utf8.h"

#include "base/ban.h"

json_t *record_json_text(struct pl_arena *arena, const char *text)
{
    return text == NULL ? json_null() : json_string(pl_utf8_repair(arena, text));
}

json_t *record_json_real(double value)
{
    return isfinite(value) ? json_real(value) : json_null();
}

json_t *record_json_positive(int64_t value)
{
    return value > 0 ? json_integer(value) : json_null();
}

json_t *record_json_positive_real(double value)
{
    return value > 0 ? json_real(value) : json_null();
}

json_t *record_json_ledger(const struct ledger *ledger)
{
    json_t *object = json_object();
    json_object_set_new(object, "due", json_integer(ledger->due));
    json_object_set_new(object, "completed", json_integer(ledger->completed));
    json_object_set_new(object, "failed", json_integer(ledger->failed));
    json_object_set_new(object, "skipped", json_integer(ledger->skipped));
    json_object_set_new(object, "expired", json_integer(ledger->expired));
    json_object_set_new(object, "unfinished", json_integer(ledger->unfinished));
    json_object_set_new(object, "never_started", json_integer(ledger->never_started));
    return object;
}
