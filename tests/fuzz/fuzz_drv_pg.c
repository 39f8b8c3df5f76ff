/* What a server sends while steps are under way, in pieces of any size. The first byte says how large the pieces are (0:
 * they vary, by the bytes themselves), the second what the client is doing. */
#include "../../src/load/drv_pg.c" /* bytes_handle has no other caller */

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void piece_handle(struct driver_pg *pg, struct pg_client *client, const uint8_t *bytes, size_t length,
                         enum pg_progress *progress)
{
    size_t carried = client->carry_length;
    memcpy(pg->in, pg->carries, carried);
    memcpy(pg->in + carried, bytes, length);
    client->carry_length = 0;
    *progress = bytes_handle(pg, client, pg->in, carried + length);
    assert(client->carry_length < CARRY_BYTES);
    assert(!client->is_faulty || (strlen(client->code) > 0 && strlen(pg->texts) < TEXT_BYTES));
    assert(*progress != PG_LOST || client->is_faulty);
    assert(pg->broken_count <= 1);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    if (size < 2 || size > 4 * READ_BYTES)
        return 0;
    uint32_t broken[1];
    struct pg_client client = {.state = (uint8_t)(data[1] % PG_DEAD), .transaction = 'I'};
    struct driver_pg *pg = pl_new(1, sizeof *pg);
    pg->clients = &client;
    pg->broken = broken;
    pg->carries = pl_new(CARRY_BYTES, 1);
    pg->texts = pl_new(TEXT_BYTES, 1);
    pg->in = pl_new(READ_BYTES + CARRY_BYTES, 1);
    enum pg_progress progress = PG_MORE;
    for (size_t at = 2; at < size && progress != PG_LOST && !client.is_broken;) {
        size_t piece = data[0] == 0 ? 1 + data[at] : data[0];
        piece = piece < size - at ? piece : size - at;
        piece_handle(pg, &client, data + at, piece, &progress);
        if (progress == PG_READY && !client.is_broken)
            request_start(&client, data[1] % PG_DEAD == PG_IDLE ? PG_IDLE : PG_STEP);
        at += piece;
    }
    pl_free(pg->carries);
    pl_free(pg->texts);
    pl_free(pg->in);
    pl_free(pg);
    return 0;
}
