/* A scripted PostgreSQL: one thread that listens on a Unix socket, lets everybody in, answers Query, Parse, Bind, Describe,
 * Execute, Close, Flush and Sync with the smallest correct replies, keeps the transaction state as a server does (BEGIN ...
 * COMMIT, 25P02 in a failed transaction, after an error everything is skipped up to Sync), counts what it received, and
 * misbehaves where its rules say so. SELECT gives one row with the text "1"; other commands their tag. A message of more
 * than 256 KB is never read whole: the connection stalls.
 *
 *     static const struct fakepg_rule rules[] = {
 *         {.when = FAKEPG_AT_COMMAND, .connection = FAKEPG_ANY, .number = 3, .every = 10, .act = FAKEPG_ERROR, .sqlstate =
 * "40001"},
 *         {.when = FAKEPG_AT_MESSAGE, .connection = 1, .number = 20, .act = FAKEPG_RESET}};
 *     struct fakepg *fake = fakepg_start(&(struct fakepg_script){.rules = rules, .rule_count = 2});
 *     ... fakepg_conninfo(fake) ... fakepg_received(fake, 'E') ...
 *     fakepg_stop(fake); */
#ifndef PL_TESTS_FAKEPG_H
#define PL_TESTS_FAKEPG_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { FAKEPG_ANY = -1 };

/* Where a rule acts; its `number` counts these per connection, from 0. */
enum fakepg_when {
    FAKEPG_AT_ACCEPT,  /* before anything is read (number 0 only) */
    FAKEPG_AT_STARTUP, /* in place of the answer to the startup packet (number 0 only) */
    FAKEPG_AT_AUTH,    /* after AuthenticationOk, before the rest of the startup answer (number 0 only) */
    FAKEPG_AT_MESSAGE, /* in place of the answer to a message of any type */
    FAKEPG_AT_COMMAND, /* in place of the answer to a Query or an Execute */
};

enum fakepg_act {
    FAKEPG_ERROR, /* ErrorResponse with `sqlstate` ("" = 57P03), then as a server goes on (or closes, before it is ready) */
    FAKEPG_RESET, /* closes with the message unread: the peer sees ECONNRESET once it has read everything */
    FAKEPG_CLOSE, /* closes in an orderly way: the peer sees the end of the stream */
    FAKEPG_HALF,  /* sends the first half of the right answer, then closes */
    FAKEPG_STALL, /* never says anything again on this connection; it stays open until fakepg_stop */
    FAKEPG_GARBAGE, /* sends `bytes` (NULL: 64 bytes of 0xff) and goes on */
    FAKEPG_CHATTER, /* a notice, a parameter change and a notification, then the right answer */
};

struct fakepg_rule {
    enum fakepg_when when;
    int connection; /* in order of acceptance from 0, or FAKEPG_ANY */
    int64_t number;
    int64_t every; /* 0: once per connection; else again after each so many */
    enum fakepg_act act;
    const char *sqlstate;
    const void *bytes;
    size_t length;
};

struct fakepg_script {
    const struct fakepg_rule *rules; /* the first that matches acts; borrowed until fakepg_stop */
    size_t rule_count;
    bool one_byte_sends; /* every byte its own send */
};

struct fakepg;

struct fakepg *fakepg_start(const struct fakepg_script *script); /* NULL: behaves well */
void fakepg_stop(struct fakepg *fake);                           /* NULL is fine */
const char *fakepg_conninfo(const struct fakepg *fake);

/* How many messages of this type were received, on all connections together; 'Q', 'P', 'B', 'D', 'E', 'C', 'H', 'S', 'X'.
 * Any thread, any time. */
int64_t fakepg_received(const struct fakepg *fake, char type);
int64_t fakepg_accepted(const struct fakepg *fake);  /* connections that sent a startup packet or met an accept rule */
int64_t fakepg_cancelled(const struct fakepg *fake); /* cancel requests */
int64_t fakepg_completed(const struct fakepg *fake); /* CommandComplete sent */
int64_t fakepg_errors(const struct fakepg *fake);    /* ErrorResponse sent, by rule or for 25P02 */
int64_t fakepg_open(const struct fakepg *fake);      /* connections that are open now */

#endif
