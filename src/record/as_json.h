/* Small values as JSON, as every output of the tool writes them. jansson's objects: the caller owns what is returned. */
#ifndef PL_RECORD_AS_JSON_H
#define PL_RECORD_AS_JSON_H

#include <jansson.h>

#include "base/arena.h"
#include "record/record.h"

/* null for NULL; bytes that are no UTF-8 are repaired, in the arena. */
json_t *record_json_text(struct pl_arena *arena, const char *text);
json_t *record_json_real(double value); /* null when it is not finite */

/* What is 0 when it was not given: null then. */
json_t *record_json_positive(int64_t value);
json_t *record_json_positive_real(double value);

json_t *record_json_ledger(const struct ledger *ledger);

#endif
