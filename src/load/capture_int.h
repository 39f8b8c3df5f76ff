/* Private to src/load: where \gset, \aset and \setshell put texts. Each client has, for each variable that such a step may
 * set, two buffers, so that the values of the beginning of an operation stay readable for a retry while the operation sets
 * new ones. Grows when a text is longer than any before it, which is the one place where a worker may take memory while it
 * measures. Worker thread only. */
#ifndef PL_LOAD_CAPTURE_INT_H
#define PL_LOAD_CAPTURE_INT_H

#include <stddef.h>
#include <stdint.h>

#include "script/program.h"

struct capture_slot {
    char *data[2];
    size_t capacity[2];
};

struct capture {
    struct capture_slot *slots; /* [client][variable] */
    size_t slot_count, variable_count;
    struct value *vars;  /* [client][variable]: the current values */
    struct value *saved; /* [client][variable]: as they were when the operation began; NULL when nothing is retried */
};

void capture_init(struct capture *capture, size_t clients, size_t variable_count, struct value *vars, struct value *saved);
void capture_release(struct capture *capture);

/* Sets a variable of a client to a copy of a text (no NUL inside, need not end in one); NULL: to SQL NULL. */
void capture_set(struct capture *capture, uint32_t client, int variable, const char *text, size_t length);

#endif
