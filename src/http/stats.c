/* What an engine counts. */
#include "http/http_int.h"

#include "base/ban.h"

enum { EXCHANGES_DIGITS = 3 };
#define EXCHANGES_MOST (INT64_C(1) << 40)

static void latencies_of(struct http_stats *stats, struct hist *ret_hists[5])
{
    ret_hists[0] = &stats->connect;
    ret_hists[1] = &stats->tls;
    ret_hists[2] = &stats->first_byte;
    ret_hists[3] = &stats->blocked_wait;
    ret_hists[4] = &stats->continue_wait;
}

void http_stats_init(struct http_stats *stats)
{
    *stats = (struct http_stats){0};
    struct hist *hists[5];
    latencies_of(stats, hists);
    for (int i = 0; i < 5; i++)
        hist_init_latency(hists[i]);
    hist_init(&stats->exchanges_per_connection, 1, EXCHANGES_MOST, EXCHANGES_DIGITS);
}

void http_stats_release(struct http_stats *stats)
{
    struct hist *hists[5];
    latencies_of(stats, hists);
    for (int i = 0; i < 5; i++)
        hist_release(hists[i]);
    hist_release(&stats->exchanges_per_connection);
}

void http_stats_add(struct http_stats *into, const struct http_stats *from)
{
    into->requests += from->requests;
    into->answers += from->answers;
    for (int i = 0; i < 600; i++)
        into->statuses[i] += from->statuses[i];
    into->other_statuses += from->other_statuses;
    into->interim += from->interim;
    into->sent_bytes += from->sent_bytes;
    into->received_bytes += from->received_bytes;
    into->body_bytes += from->body_bytes;
    into->connections_opened += from->connections_opened;
    into->connections_failed += from->connections_failed;
    into->connections_closed_by_peer += from->connections_closed_by_peer;
    into->connections_evicted += from->connections_evicted;
    into->handshakes_full += from->handshakes_full;
    into->handshakes_resumed += from->handshakes_resumed;
    into->retries += from->retries;
    into->continues += from->continues;
    into->blocked += from->blocked;
    hist_merge(&into->connect, &from->connect);
    hist_merge(&into->tls, &from->tls);
    hist_merge(&into->first_byte, &from->first_byte);
    hist_merge(&into->blocked_wait, &from->blocked_wait);
    hist_merge(&into->continue_wait, &from->continue_wait);
    hist_merge(&into->exchanges_per_connection, &from->exchanges_per_connection);
}

void http_count_into(struct http_engine *engine, struct http_stats *stats)
{
    for (int i = 0; i < engine->conn_most; i++)
        if (engine->conns[i].state >= CONN_IDLE)
            http_conn_count(engine, &engine->conns[i]);
    engine->stats = stats;
}
