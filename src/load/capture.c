/* Texts of variables, two buffers each. */
#include "load/capture_int.h"

#include <string.h>

#include "base/arena.h"

#include "base/ban.h"

enum { FIRST_BYTES = 32 };

void capture_init(struct capture *capture, size_t clients, size_t variable_count, struct value *vars, struct value *saved)
{
    *capture = (struct capture){.slots = pl_new(clients * variable_count + 1, sizeof *capture->slots),
                                .slot_count = clients * variable_count,
                                .variable_count = variable_count,
                                .vars = vars,
                                .saved = saved};
}

void capture_release(struct capture *capture)
{
    for (size_t i = 0; i < capture->slot_count; i++)
        for (int half = 0; half < 2; half++)
            pl_free(capture->slots[i].data[half]);
    pl_free(capture->slots);
    *capture = (struct capture){0};
}

/* Nobody needs what stood there before. */
static char *slot_take(struct capture_slot *slot, int half, size_t bytes)
{
    if (bytes > slot->capacity[half]) {
        size_t capacity = slot->capacity[half] == 0 ? FIRST_BYTES : slot->capacity[half];
        while (capacity < bytes)
            capacity *= 2;
        pl_free(slot->data[half]);
        slot->data[half] = pl_new(capacity, 1);
        slot->capacity[half] = capacity;
    }
    return slot->data[half];
}

void capture_set(struct capture *capture, uint32_t client, int variable, const char *text, size_t length)
{
    size_t index = client * capture->variable_count + (size_t)variable;
    struct value *value = &capture->vars[index];
    if (text == NULL) {
        *value = (struct value){.type = VALUE_NULL};
        return;
    }
    struct capture_slot *slot = &capture->slots[index];
    const struct value *saved = capture->saved == NULL ? NULL : &capture->saved[index];
    int half = saved != NULL && saved->type == VALUE_TEXT && saved->text == slot->data[0] && slot->data[0] != NULL;
    char *copy = slot_take(slot, half, length + 1);
    memcpy(copy, text, length);
    copy[length] = '\0';
    *value = (struct value){.type = VALUE_TEXT, .length = (uint32_t)length, .text = copy};
}
