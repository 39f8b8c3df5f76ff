/* Texts of variables, two buffers each. */
#include "load/load_int.h"

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

/* Nobody needs what stood there before, but that the new text may be a part of it. */
static char *slot_put(struct capture_slot *slot, int half, const char *text, size_t length)
{
    if (length < slot->capacity[half]) {
        memmove(slot->data[half], text, length);
    } else {
        size_t capacity = slot->capacity[half] == 0 ? FIRST_BYTES : slot->capacity[half];
        while (capacity <= length)
            capacity *= 2;
        char *data = pl_new(capacity, 1);
        memcpy(data, text, length);
        pl_free(slot->data[half]);
        slot->data[half] = data;
        slot->capacity[half] = capacity;
    }
    slot->data[half][length] = '\0';
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
    *value = (struct value){.type = VALUE_TEXT, .length = (uint32_t)length, .text = slot_put(slot, half, text, length)};
}

void capture_set_text(void *capture, uint32_t client, int variable, const char *text, size_t length)
{
    capture_set(capture, client, variable, text, length);
}
