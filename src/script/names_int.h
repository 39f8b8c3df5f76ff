/* Private to src/script: what the compiler knows about names beyond program.h. */
#ifndef PL_SCRIPT_NAMES_INT_H
#define PL_SCRIPT_NAMES_INT_H

#include "script/program.h"

/* From here on the variable counts as set, by the engine or by a command that was compiled. */
void names_mark_set(struct names *names, int index);
bool names_is_set(const struct names *names, int index);

/* From here on every name that begins with the prefix counts as set: \gset and \aset take the columns' names. */
void names_mark_prefix(struct names *names, const char *prefix);

/* Bytes of the longest valid name at text, 0 when there is none; may_begin_with_digit as for \set. */
size_t names_length_at(const char *text, size_t length, bool may_begin_with_digit);
bool names_is_char(char c);

#endif
