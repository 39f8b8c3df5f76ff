#include "fakepg.h"

#include <ctype.h>
#include <errno.h>
#include <poll.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <time.h>
#include <unistd.h>

#include "support.h"

enum { MAX_PEERS = 2048, MAX_STATEMENTS = 64, IN_BYTES = 256 * 1024, OUT_BYTES = 64 * 1024, WORD_BYTES = 16 };

struct statement {
    char name[32];
    char word[WORD_BYTES]; /* first word of its SQL, in capitals: the whole understanding of SQL there is */
};

enum peer_state {
    PEER_STARTUP,  /* the startup packet is awaited */
    PEER_READY,    /* messages are answered */
    PEER_SKIPPING, /* after an error in the extended protocol: everything up to Sync is ignored */
    PEER_STALLED,  /* by rule */
};

struct peer {
    int fd; /* -1: free */
    int number;
    enum peer_state state;
    char transaction; /* 'I', 'T', 'E' */
    int64_t messages, commands;
    struct statement statements[MAX_STATEMENTS];
    size_t statement_count;
    char bound[WORD_BYTES];
};

struct fakepg {
    struct fakepg_script script;
    char folder[64], conninfo[128];
    int listen_fd, wake_fd;
    pthread_t thread;
    atomic_bool stop;
    atomic_llong received[256], accepted, cancelled, completed, errors, open;
    int peer_numbers;
    struct peer *peers; /* MAX_PEERS */
    unsigned char in[IN_BYTES];
    unsigned char out[OUT_BYTES];
    size_t out_length;
};

/* cmocka's assertions belong to the test's thread; this code runs in another. */
static void must(bool holds)
{
    if (!holds) {
        fprintf(stderr, "fakepg: a limit of the scripted server was reached\n");
        abort();
    }
}

static uint32_t get_u32(const unsigned char *bytes)
{
    return (uint32_t)bytes[0] << 24 | (uint32_t)bytes[1] << 16 | (uint32_t)bytes[2] << 8 | bytes[3];
}

static void out_bytes(struct fakepg *fake, const void *bytes, size_t length)
{
    must(length <= OUT_BYTES - fake->out_length);
    memcpy(fake->out + fake->out_length, bytes, length);
    fake->out_length += length;
}

static void out_message(struct fakepg *fake, char type, const void *body, size_t length)
{
    uint32_t size = (uint32_t)length + 4;
    unsigned char head[5] = {(unsigned char)type, (unsigned char)(size >> 24), (unsigned char)(size >> 16),
                             (unsigned char)(size >> 8), (unsigned char)size};
    out_bytes(fake, head, sizeof head);
    out_bytes(fake, body, length);
}

#define OUT_LITERAL(fake, type, literal) out_message(fake, type, literal, sizeof(literal) - 1)

static void out_ready(struct fakepg *fake, const struct peer *peer)
{
    out_message(fake, 'Z', &peer->transaction, 1);
}

static void out_error(struct fakepg *fake, const char *severity, const char *sqlstate)
{
    char body[128];
    int length = snprintf(body, sizeof body, "S%s%cV%s%cC%s%cMsaid the scripted server%c%c", severity, 0, severity, 0,
                          sqlstate, 0, 0, 0);
    out_message(fake, 'E', body, (size_t)length);
    atomic_fetch_add(&fake->errors, 1);
}

static bool out_flush(struct fakepg *fake, const struct peer *peer)
{
    size_t step = fake->script.one_byte_sends ? 1 : fake->out_length;
    for (size_t sent = 0; sent < fake->out_length;) {
        ssize_t count =
            send(peer->fd, fake->out + sent, step < fake->out_length - sent ? step : fake->out_length - sent, MSG_NOSIGNAL);
        if (count < 0 && errno == EINTR)
            continue;
        if (count <= 0)
            return false;
        sent += (size_t)count;
    }
    fake->out_length = 0;
    return true;
}

static void peer_close(struct fakepg *fake, struct peer *peer)
{
    close(peer->fd);
    peer->fd = -1;
    atomic_fetch_sub(&fake->open, 1);
}

static const struct fakepg_rule *rule_find(const struct fakepg *fake, const struct peer *peer, enum fakepg_when when,
                                           int64_t number)
{
    for (size_t i = 0; i < fake->script.rule_count; i++) {
        const struct fakepg_rule *rule = &fake->script.rules[i];
        if (rule->when != when || (rule->connection != FAKEPG_ANY && rule->connection != peer->number))
            continue;
        int64_t since = number - rule->number;
        if (since == 0 || (since > 0 && rule->every > 0 && since % rule->every == 0))
            return rule;
    }
    return NULL;
}

/* What is left of the connection after a message was met. */
enum met { MET_GO_ON, MET_CLOSE };

static void word_of(const char *sql, char *word)
{
    size_t length = 0;
    while (isspace((unsigned char)*sql))
        sql++;
    while (isalpha((unsigned char)sql[length]) && length < WORD_BYTES - 1) {
        word[length] = (char)toupper((unsigned char)sql[length]);
        length++;
    }
    word[length] = '\0';
    if (strcmp(word, "END") == 0)
        strcpy(word, "COMMIT");
    if (strcmp(word, "START") == 0)
        strcpy(word, "BEGIN");
    if (strcmp(word, "ABORT") == 0)
        strcpy(word, "ROLLBACK");
}

/* Answers one command up to CommandComplete or ErrorResponse; false after an error. */
static bool command_run(struct fakepg *fake, struct peer *peer, const char *word, bool with_description)
{
    bool ends = strcmp(word, "COMMIT") == 0 || strcmp(word, "ROLLBACK") == 0;
    if (peer->transaction == 'E' && !ends) {
        out_error(fake, "ERROR", "25P02");
        return false;
    }
    char tag[WORD_BYTES + 8];
    snprintf(tag, sizeof tag, "%s", peer->transaction == 'E' ? "ROLLBACK" : word);
    if (ends)
        peer->transaction = 'I';
    if (strcmp(word, "BEGIN") == 0)
        peer->transaction = 'T';
    if (*word == '\0') {
        out_message(fake, 'I', "", 0);
        return true;
    }
    if (strcmp(word, "SELECT") == 0) {
        if (with_description)
            OUT_LITERAL(fake, 'T', "\0\1?column?\0\0\0\0\0\0\0\0\0\0\x19\xff\xff\xff\xff\xff\xff\0\0");
        OUT_LITERAL(fake, 'D',
                    "\0\1\0\0\0\1"
                    "1");
        strcat(tag, " 1");
    } else if (strcmp(word, "UPDATE") == 0 || strcmp(word, "DELETE") == 0) {
        strcat(tag, " 1");
    } else if (strcmp(word, "INSERT") == 0) {
        strcat(tag, " 0 1");
    }
    out_message(fake, 'C', tag, strlen(tag) + 1);
    atomic_fetch_add(&fake->completed, 1);
    return true;
}

static struct statement *statement_find(struct peer *peer, const char *name)
{
    for (size_t i = 0; i < peer->statement_count; i++)
        if (strcmp(peer->statements[i].name, name) == 0)
            return &peer->statements[i];
    return NULL;
}

static void meet_parse(struct fakepg *fake, struct peer *peer, const char *name)
{
    struct statement *statement = statement_find(peer, name);
    if (statement == NULL) {
        must(peer->statement_count < MAX_STATEMENTS);
        statement = &peer->statements[peer->statement_count++];
        snprintf(statement->name, sizeof statement->name, "%s", name);
    }
    word_of(name + strlen(name) + 1, statement->word);
    out_message(fake, '1', "", 0);
}

static void meet_bind(struct fakepg *fake, struct peer *peer, const char *portal)
{
    const struct statement *statement = statement_find(peer, portal + strlen(portal) + 1);
    if (statement == NULL) {
        out_error(fake, "ERROR", "26000");
        peer->state = PEER_SKIPPING;
        return;
    }
    memcpy(peer->bound, statement->word, sizeof peer->bound);
    out_message(fake, '2', "", 0);
}

static void fail_transaction(struct peer *peer)
{
    if (peer->transaction == 'T')
        peer->transaction = 'E';
}

/* The answer of a server that behaves. */
static void answer(struct fakepg *fake, struct peer *peer, char type, const char *body)
{
    char word[WORD_BYTES];
    switch (type) {
    case 'Q':
        word_of(body, word);
        if (!command_run(fake, peer, word, true))
            fail_transaction(peer);
        out_ready(fake, peer);
        break;
    case 'P':
        meet_parse(fake, peer, body);
        break;
    case 'B':
        meet_bind(fake, peer, body);
        break;
    case 'D':
        if (strcmp(peer->bound, "SELECT") == 0)
            OUT_LITERAL(fake, 'T', "\0\1?column?\0\0\0\0\0\0\0\0\0\0\x19\xff\xff\xff\xff\xff\xff\0\0");
        else
            out_message(fake, 'n', "", 0);
        break;
    case 'E':
        if (!command_run(fake, peer, peer->bound, false)) {
            fail_transaction(peer);
            peer->state = PEER_SKIPPING;
        }
        break;
    case 'C':
        out_message(fake, '3', "", 0);
        break;
    case 'S':
        peer->state = PEER_READY;
        out_ready(fake, peer);
        break;
    default: /* 'H' and what needs no answer */
        break;
    }
}

static enum met act_error(struct fakepg *fake, struct peer *peer, const struct fakepg_rule *rule, char type)
{
    const char *sqlstate = rule->sqlstate != NULL ? rule->sqlstate : "57P03";
    out_error(fake, type == 0 ? "FATAL" : "ERROR", sqlstate);
    if (type == 0)
        return MET_CLOSE;
    fail_transaction(peer);
    if (type == 'Q' || type == 'S')
        out_ready(fake, peer);
    else
        peer->state = PEER_SKIPPING;
    return MET_GO_ON;
}

static void out_chatter(struct fakepg *fake)
{
    OUT_LITERAL(fake, 'N', "SNOTICE\0VNOTICE\0C00000\0Mby the way\0\0");
    OUT_LITERAL(fake, 'S', "application_name\0other\0");
    OUT_LITERAL(fake, 'A', "\0\0\0\7channel\0payload\0");
}

/* Does what a rule says; type 0: while starting up. The right answer is needed by some rules: the caller gives it. */
static enum met act(struct fakepg *fake, struct peer *peer, const struct fakepg_rule *rule, char type, const char *body)
{
    unsigned char noise[64];
    memset(noise, 0xff, sizeof noise);
    switch (rule->act) {
    case FAKEPG_ERROR:
        return act_error(fake, peer, rule, type);
    case FAKEPG_RESET:
    case FAKEPG_CLOSE:
        return MET_CLOSE;
    case FAKEPG_HALF: {
        size_t before = fake->out_length;
        if (type != 0)
            answer(fake, peer, type, body);
        else
            OUT_LITERAL(fake, 'R', "\0\0\0\0");
        fake->out_length = before + (fake->out_length - before) / 2;
        out_flush(fake, peer);
        return MET_CLOSE;
    }
    case FAKEPG_STALL:
        peer->state = PEER_STALLED;
        return MET_GO_ON;
    case FAKEPG_GARBAGE:
        out_bytes(fake, rule->bytes != NULL ? rule->bytes : noise, rule->bytes != NULL ? rule->length : sizeof noise);
        return MET_GO_ON;
    case FAKEPG_CHATTER:
        out_chatter(fake);
        if (type != 0)
            answer(fake, peer, type, body);
        return MET_GO_ON;
    }
    return MET_CLOSE;
}

/* Takes bytes off the socket: until then they are only peeked at, so that a reset finds them unread. */
static void consume(struct fakepg *fake, const struct peer *peer, size_t length)
{
    while (length > 0) {
        ssize_t count = recv(peer->fd, fake->in, length, MSG_DONTWAIT);
        if (count <= 0)
            return;
        length -= (size_t)count;
    }
}

static enum met peer_welcome(struct fakepg *fake, struct peer *peer)
{
    const struct fakepg_rule *rule = rule_find(fake, peer, FAKEPG_AT_STARTUP, 0);
    if (rule != NULL && (act(fake, peer, rule, 0, "") == MET_CLOSE || peer->state == PEER_STALLED))
        return peer->state == PEER_STALLED ? MET_GO_ON : MET_CLOSE;
    OUT_LITERAL(fake, 'R', "\0\0\0\0");
    rule = rule_find(fake, peer, FAKEPG_AT_AUTH, 0);
    if (rule != NULL) {
        out_flush(fake, peer);
        if (act(fake, peer, rule, 0, "") == MET_CLOSE)
            return MET_CLOSE;
        if (peer->state == PEER_STALLED)
            return MET_GO_ON;
    }
    OUT_LITERAL(fake, 'S', "server_version\00015.0\0");
    OUT_LITERAL(fake, 'S', "client_encoding\0UTF8\0");
    OUT_LITERAL(fake, 'S', "standard_conforming_strings\0on\0");
    OUT_LITERAL(fake, 'K', "\0\0\0\1\0\0\0\2");
    out_ready(fake, peer);
    peer->state = PEER_READY;
    return MET_GO_ON;
}

/* SSLRequest, GSSENCRequest, CancelRequest or StartupMessage. Reset and close differ in what has been consumed. */
static enum met meet_startup(struct fakepg *fake, struct peer *peer, size_t have, size_t *ret_used)
{
    if (have < 8 || get_u32(fake->in) > have)
        return MET_GO_ON;
    uint32_t code = get_u32(fake->in + 4);
    *ret_used = get_u32(fake->in);
    if (code == 80877103 || code == 80877104) {
        out_bytes(fake, "N", 1);
        return MET_GO_ON;
    }
    if (code == 80877102) {
        atomic_fetch_add(&fake->cancelled, 1);
        return MET_CLOSE;
    }
    atomic_fetch_add(&fake->accepted, 1);
    const struct fakepg_rule *rule = rule_find(fake, peer, FAKEPG_AT_STARTUP, 0);
    if (rule == NULL)
        rule = rule_find(fake, peer, FAKEPG_AT_AUTH, 0);
    if (rule != NULL && rule->act == FAKEPG_RESET)
        *ret_used = 0;
    return peer_welcome(fake, peer);
}

static enum met meet_message(struct fakepg *fake, struct peer *peer, char type, const char *body, bool *ret_unread)
{
    atomic_fetch_add(&fake->received[(unsigned char)type], 1);
    int64_t message = peer->messages++;
    bool is_command = type == 'Q' || type == 'E';
    int64_t command = is_command ? peer->commands++ : 0;
    if (type == 'X')
        return MET_CLOSE;
    if (peer->state == PEER_SKIPPING && type != 'S')
        return MET_GO_ON;
    const struct fakepg_rule *rule = rule_find(fake, peer, FAKEPG_AT_MESSAGE, message);
    if (rule == NULL && is_command)
        rule = rule_find(fake, peer, FAKEPG_AT_COMMAND, command);
    if (rule == NULL) {
        answer(fake, peer, type, body);
        return MET_GO_ON;
    }
    *ret_unread = rule->act == FAKEPG_RESET;
    return act(fake, peer, rule, type, body);
}

/* Answers all whole messages among the bytes that were peeked at. */
static enum met meet_bytes(struct fakepg *fake, struct peer *peer, size_t have, size_t *ret_used)
{
    enum met met = MET_GO_ON;
    if (peer->state == PEER_STARTUP)
        return meet_startup(fake, peer, have, ret_used);
    while (met == MET_GO_ON && peer->state != PEER_STALLED && have - *ret_used >= 5) {
        const unsigned char *message = fake->in + *ret_used;
        size_t total = 1 + (size_t)get_u32(message + 1);
        if (total > IN_BYTES)
            peer->state = PEER_STALLED;
        if (total > have - *ret_used)
            break;
        bool unread = false;
        met = meet_message(fake, peer, (char)message[0], (const char *)message + 5, &unread);
        if (!unread)
            *ret_used += total;
    }
    return met;
}

static void peer_serve(struct fakepg *fake, struct peer *peer)
{
    ssize_t have = recv(peer->fd, fake->in, IN_BYTES, MSG_PEEK | MSG_DONTWAIT);
    if (have < 0 && (errno == EAGAIN || errno == EINTR))
        return;
    if (have <= 0) {
        peer_close(fake, peer);
        return;
    }
    size_t used = 0;
    fake->out_length = 0;
    enum met met = meet_bytes(fake, peer, (size_t)have, &used);
    if (!out_flush(fake, peer))
        met = MET_CLOSE;
    consume(fake, peer, used);
    if (met == MET_CLOSE)
        peer_close(fake, peer);
    else if (used == 0 && peer->state != PEER_STALLED) /* half a message: poll would report it again at once */
        nanosleep(&(struct timespec){.tv_nsec = 1000000}, NULL);
}

static void peer_accept(struct fakepg *fake)
{
    int fd = accept4(fake->listen_fd, NULL, NULL, SOCK_CLOEXEC);
    if (fd < 0)
        return;
    struct peer *peer = fake->peers;
    while (peer < fake->peers + MAX_PEERS && peer->fd >= 0)
        peer++;
    must(peer < fake->peers + MAX_PEERS);
    setsockopt(fd, SOL_SOCKET, SO_SNDTIMEO, &(struct timeval){.tv_sec = 10}, sizeof(struct timeval));
    *peer = (struct peer){.fd = fd, .number = fake->peer_numbers++, .transaction = 'I'};
    atomic_fetch_add(&fake->open, 1);
    const struct fakepg_rule *rule = rule_find(fake, peer, FAKEPG_AT_ACCEPT, 0);
    fake->out_length = 0;
    if (rule == NULL)
        return;
    atomic_fetch_add(&fake->accepted, 1);
    enum met met = act(fake, peer, rule, 0, "");
    out_flush(fake, peer);
    if (met == MET_CLOSE)
        peer_close(fake, peer);
}

static void *fakepg_run(void *arg)
{
    struct fakepg *fake = arg;
    static _Thread_local struct pollfd polls[MAX_PEERS + 2];
    static _Thread_local int owners[MAX_PEERS + 2];
    while (!atomic_load(&fake->stop)) {
        nfds_t count = 2;
        polls[0] = (struct pollfd){.fd = fake->wake_fd, .events = POLLIN};
        polls[1] = (struct pollfd){.fd = fake->listen_fd, .events = POLLIN};
        for (int i = 0; i < MAX_PEERS && count < MAX_PEERS + 2; i++) {
            if (fake->peers[i].fd < 0 || fake->peers[i].state == PEER_STALLED)
                continue;
            owners[count] = i;
            polls[count++] = (struct pollfd){.fd = fake->peers[i].fd, .events = POLLIN};
        }
        if (poll(polls, count, -1) < 0 && errno != EINTR)
            break;
        for (nfds_t i = 2; i < count; i++)
            if (polls[i].revents != 0)
                peer_serve(fake, &fake->peers[owners[i]]);
        if (polls[1].revents != 0)
            peer_accept(fake);
    }
    return NULL;
}

struct fakepg *fakepg_start(const struct fakepg_script *script)
{
    struct fakepg *fake = calloc(1, sizeof *fake);
    assert_non_null(fake);
    fake->peers = calloc(MAX_PEERS, sizeof *fake->peers);
    assert_non_null(fake->peers);
    for (int i = 0; i < MAX_PEERS; i++)
        fake->peers[i].fd = -1;
    if (script != NULL)
        fake->script = *script;
    snprintf(fake->folder, sizeof fake->folder, "/tmp/plimsoll-test-fake-XXXXXX");
    assert_non_null(mkdtemp(fake->folder));
    snprintf(fake->conninfo, sizeof fake->conninfo, "host=%s port=5432 user=fake dbname=fake", fake->folder);
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    snprintf(address.sun_path, sizeof address.sun_path, "%s/.s.PGSQL.5432", fake->folder);
    fake->listen_fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    fake->wake_fd = eventfd(0, EFD_CLOEXEC);
    assert_true(fake->listen_fd >= 0 && fake->wake_fd >= 0);
    assert_int_equal(bind(fake->listen_fd, (struct sockaddr *)&address, sizeof address), 0);
    assert_int_equal(listen(fake->listen_fd, MAX_PEERS), 0);
    assert_int_equal(pthread_create(&fake->thread, NULL, fakepg_run, fake), 0);
    return fake;
}

void fakepg_stop(struct fakepg *fake)
{
    if (fake == NULL)
        return;
    atomic_store(&fake->stop, true);
    uint64_t one = 1;
    assert_int_equal(write(fake->wake_fd, &one, sizeof one), sizeof one);
    pthread_join(fake->thread, NULL);
    for (int i = 0; i < MAX_PEERS; i++)
        if (fake->peers[i].fd >= 0)
            close(fake->peers[i].fd);
    close(fake->listen_fd);
    close(fake->wake_fd);
    char path[128];
    snprintf(path, sizeof path, "%s/.s.PGSQL.5432", fake->folder);
    unlink(path);
    rmdir(fake->folder);
    free(fake->peers);
    free(fake);
}

const char *fakepg_conninfo(const struct fakepg *fake)
{
    return fake->conninfo;
}

int64_t fakepg_received(const struct fakepg *fake, char type)
{
    return atomic_load(&fake->received[(unsigned char)type]);
}

int64_t fakepg_accepted(const struct fakepg *fake)
{
    return atomic_load(&fake->accepted);
}

int64_t fakepg_cancelled(const struct fakepg *fake)
{
    return atomic_load(&fake->cancelled);
}

int64_t fakepg_completed(const struct fakepg *fake)
{
    return atomic_load(&fake->completed);
}

int64_t fakepg_errors(const struct fakepg *fake)
{
    return atomic_load(&fake->errors);
}

int64_t fakepg_open(const struct fakepg *fake)
{
    return atomic_load(&fake->open);
}
