/* SPDX-License-Identifier: Apache-2.0 */
/* See tcp_store.h. */
#define _GNU_SOURCE /* accept4, ppoll */
#include "record/tcp_store.h"

#include "base/memory.h"
#include "record/tcp_store_keys.h"

#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

enum { MOST_BYTES = 1 << 26, MOST_KEYS = 1 << 20, PIECE = 1 << 16, STAND_IN_BYTES = 128 };
enum { STOP_WAITING, WAIT_CANCELED };
enum { READY, NOT_READY };
#define MAGIC UINT32_C(0x3c85f7ce)

typedef struct connection {
    int file;
    bool ended;
    st_buffer in;
    st_buffer out;
    bool waits;
    st_buffer wait_names; /* each behind its length */
    bool at_barrier;
    uint64_t barrier; /* which of its key */
} connection;

struct st_store {
    int listener;
    uint16_t port;
    st_store_keys keys;
    connection **connections;
    struct pollfd *polls;
    size_t count;
    size_t capacity;
    uint64_t stood_in;
    uint64_t absent; /* ranks that do not come, until they count as come */
};

/* A command as far as it has come. */
typedef struct reader {
    const char *at;
    size_t left;
    bool cut; /* there is less than it needs */
    bool bad;
} request_reader;

/* ---- reading ---- */

static void take_raw(request_reader *from, void *into, size_t bytes)
{
    memset(into, 0, bytes);
    from->cut = from->cut || from->left < bytes;
    if (from->cut)
        return;
    memcpy(into, from->at, bytes);
    from->at += bytes;
    from->left -= bytes;
}

static uint64_t take64(request_reader *from)
{
    uint64_t number;
    take_raw(from, &number, sizeof number);
    return number;
}

static st_bytes take_bytes(request_reader *from)
{
    uint64_t length = take64(from);
    from->bad = from->bad || length > MOST_BYTES;
    from->cut = from->cut || from->bad || from->left < length;
    if (from->cut)
        return (st_bytes){"", 0};
    st_bytes bytes = {from->at, (size_t)length};
    from->at += length;
    from->left -= (size_t)length;
    return bytes;
}

/* Names behind their number, as they came. */
static st_bytes take_names(request_reader *from)
{
    uint64_t count = take64(from);
    from->bad = from->bad || count > MOST_KEYS;
    const char *first = from->at;
    for (uint64_t i = 0; i < count && !from->cut && !from->bad; i++)
        (void)take_bytes(from);
    from->cut = from->cut || from->bad;
    return from->cut ? (st_bytes){"", 0} : (st_bytes){first, (size_t)(from->at - first)};
}

/* ---- commands ---- */

/* The arguments of a command. */
typedef struct request {
    st_bytes bytes[3];
    st_bytes names;
    st_store_key *key; /* of the first of `bytes` */
    uint64_t number;
    char raw[4];
    request_reader *reader; /* of what follows */
} store_request;

/* Letters: k bytes that name a key, which is made where it is new, f one that is only looked for,
 * b bytes, n names, 8 a number, 4 so many bytes. False: it has not come whole, or is wrong. */
static bool take_request(st_store *store, request_reader *from, const char *letters,
                         store_request *into)
{
    size_t count = 0;
    *into = (store_request){.reader = from};
    for (const char *letter = letters; *letter != '\0'; letter++) {
        if (*letter == '4')
            take_raw(from, into->raw, sizeof into->raw);
        else if (*letter == '8')
            into->number = take64(from);
        else if (*letter == 'n')
            into->names = take_names(from);
        else
            into->bytes[count++] = take_bytes(from);
    }
    if (from->cut || from->bad)
        return false;
    bool makes = letters[0] == 'k';
    if (makes || letters[0] == 'f')
        into->key = st_store_keys_find(&store->keys, into->bytes[0], makes);
    from->bad = makes && into->key == NULL; /* no memory */
    return !from->bad;
}

/* What cannot be kept for a connection ends it: a command that is half done has no answer. */
static void answer_raw(st_store *store, connection *to, st_bytes bytes)
{
    if (!st_store_append(&store->keys, &to->out, bytes))
        to->ended = true;
}

static void answer(st_store *store, connection *to, uint8_t byte)
{
    const char raw = (char)byte;
    answer_raw(store, to, (st_bytes){&raw, 1});
}

static void answer64(st_store *store, connection *to, uint64_t number)
{
    if (!st_store_put64(&store->keys, &to->out, number))
        to->ended = true;
}

static void answer_bytes(st_store *store, connection *to, st_bytes bytes)
{
    if (!st_store_put(&store->keys, &to->out, bytes))
        to->ended = true;
}

static st_bytes value_of(const st_store_key *key)
{
    bool has = key != NULL && key->has_value;
    return has ? (st_bytes){key->value.data, key->value.length} : (st_bytes){"", 0};
}

static void do_validate(st_store *store, connection *from, const store_request *of)
{
    uint32_t magic;
    (void)store;
    memcpy(&magic, of->raw, sizeof magic);
    from->ended = magic != MAGIC;
}

static void do_set(st_store *store, connection *from, const store_request *of)
{
    from->ended = !st_store_keys_set(&store->keys, of->key, of->bytes[1]);
}

static void do_compare_set(st_store *store, connection *from, const store_request *of)
{
    st_bytes now = value_of(of->key);
    st_bytes expected = of->bytes[1];
    bool fits = of->key->has_value ? now.length == expected.length &&
                                         memcmp(now.at, expected.at, expected.length) == 0
                                   : expected.length == 0;
    if (fits && !st_store_keys_set(&store->keys, of->key, of->bytes[2]))
        from->ended = true;
    answer_bytes(store, from, of->key->has_value ? value_of(of->key) : expected);
}

static void do_get(st_store *store, connection *from, const store_request *of)
{
    answer_bytes(store, from, value_of(of->key));
}

static void do_add(st_store *store, connection *from, const store_request *of)
{
    char text[24] = "";
    uint64_t number = of->number;
    st_bytes now = value_of(of->key);
    if (now.length < sizeof text) {
        memcpy(text, now.at, now.length);
        number += (uint64_t)strtoll(text, NULL, 10);
    }
    /* PyTorch's rank 0 waits until all have counted themselves. */
    if (of->bytes[0].length == 5 && memcmp(of->bytes[0].at, "init/", 5) == 0) {
        number += store->absent;
        store->absent = 0;
    }
    int length = snprintf(text, sizeof text, "%lld", (long long)number);
    from->ended = !st_store_keys_set(&store->keys, of->key, (st_bytes){text, (size_t)length});
    answer64(store, from, number);
}

/* The next of some names. */
static st_store_key *next_key(st_store *store, st_bytes *names, bool make)
{
    request_reader reader = {.at = names->at, .left = names->length};
    st_bytes name = take_bytes(&reader);
    *names = (st_bytes){reader.at, reader.left};
    return st_store_keys_find(&store->keys, name, make);
}

static bool has_all(st_store *store, st_bytes names)
{
    while (names.length > 0)
        if (!st_store_keys_has(next_key(store, &names, false)))
            return false;
    return true;
}

static void do_check(st_store *store, connection *from, const store_request *of)
{
    answer(store, from, has_all(store, of->names) ? READY : NOT_READY);
}

static void begin_wait(st_store *store, connection *from, st_bytes names)
{
    from->waits = true;
    from->at_barrier = false;
    from->wait_names.length = 0;
    if (!st_store_append(&store->keys, &from->wait_names, names))
        from->ended = true;
}

static void do_wait(st_store *store, connection *from, const store_request *of)
{
    begin_wait(store, from, of->names);
}

static void do_count(st_store *store, connection *from, const store_request *of)
{
    (void)of;
    answer64(store, from, store->keys.values);
}

static void do_delete(st_store *store, connection *from, const store_request *of)
{
    answer64(store, from, of->key != NULL && st_store_keys_unset(&store->keys, of->key));
}

static void do_append(st_store *store, connection *from, const store_request *of)
{
    from->ended = !st_store_keys_append(&store->keys, of->key, of->bytes[1]);
}

static void do_multi_get(st_store *store, connection *from, const store_request *of)
{
    st_bytes names = of->names;
    while (!from->ended && names.length > 0)
        answer_bytes(store, from, value_of(next_key(store, &names, false)));
}

static void do_multi_set(st_store *store, connection *from, const store_request *of)
{
    store_request one;
    of->reader->bad = of->number > MOST_KEYS;
    for (uint64_t i = 0; i < of->number && take_request(store, of->reader, "kb", &one); i++)
        do_set(store, from, &one);
}

static void do_cancel(st_store *store, connection *from, const store_request *of)
{
    (void)of;
    from->waits = false;
    answer(store, from, WAIT_CANCELED);
}

static void do_ping(st_store *store, connection *from, const store_request *of)
{
    answer_raw(store, from, (st_bytes){of->raw, sizeof of->raw});
}

static void do_push(st_store *store, connection *from, const store_request *of)
{
    from->ended = !st_store_keys_push(&store->keys, of->key, of->bytes[1]);
}

static void do_queued(st_store *store, connection *from, const store_request *of)
{
    answer64(store, from, of->key != NULL ? of->key->queued : 0);
}

/* How many there were, and the first. */
static void do_pop(st_store *store, connection *from, const store_request *of)
{
    do_queued(store, from, of);
    if (of->key != NULL && of->key->queued > 0 &&
        !st_store_keys_pop(&store->keys, of->key, &from->out))
        from->ended = true;
}

static void do_list(st_store *store, connection *from, const store_request *of)
{
    do_count(store, from, of);
    for (size_t i = 0; i < store->keys.slot_count && !from->ended; i++) {
        const st_store_key *key = store->keys.slots[i];
        if (key != NULL && key->has_value)
            answer_bytes(store, from, (st_bytes){key->name.data, key->name.length});
    }
}

static void do_barrier(st_store *store, connection *from, const store_request *of)
{
    /* The name with its length in front of it. */
    const st_bytes name = of->bytes[0];
    enum { LENGTH_BYTES = 8 };
    begin_wait(store, from, (st_bytes){name.at - LENGTH_BYTES, name.length + LENGTH_BYTES});
    from->at_barrier = true;
    from->barrier = of->key->barrier;
    if (++of->key->arrived < (int64_t)of->number)
        return;
    of->key->arrived = 0;
    of->key->barrier++;
}

/* By the first byte. */
static const struct {
    const char *letters;
    void (*run)(st_store *store, connection *from, const store_request *of);
} commands[] = {
    {"4", do_validate}, {"kb", do_set},    {"kbb", do_compare_set}, {"f", do_get},
    {"k8", do_add},     {"n", do_check},   {"n", do_wait},          {"", do_count},
    {"f", do_delete},   {"kb", do_append}, {"n", do_multi_get},     {"8", do_multi_set},
    {"", do_cancel},    {"4", do_ping},    {"kb", do_push},         {"f", do_pop},
    {"f", do_queued},   {"", do_list},     {"k8", do_barrier},
};

/* ---- connections ---- */

/* What has been read or sent leaves room for others. */
static void drop_first(st_store *store, st_buffer *buffer, size_t bytes)
{
    if (bytes > 0)
        memmove(buffer->data, buffer->data + bytes, buffer->length - bytes);
    buffer->length -= bytes;
    if (buffer->length == 0 && buffer->capacity > PIECE)
        st_store_release(&store->keys, buffer);
}

/* Runs the commands that have come whole. */
static void run_commands(st_store *store, connection *from)
{
    size_t done = 0;
    while (!from->ended && done < from->in.length) {
        request_reader reader = {.at = from->in.data + done + 1,
                                 .left = from->in.length - done - 1};
        uint8_t kind = (uint8_t)from->in.data[done];
        store_request of;
        if (kind >= ST_COUNT(commands)) {
            from->ended = true; /* whatever it speaks, it is not this */
            break;
        }
        if (take_request(store, &reader, commands[kind].letters, &of))
            commands[kind].run(store, from, &of);
        from->ended = from->ended || reader.bad;
        if (reader.cut || from->ended)
            break;
        done = (size_t)(reader.at - from->in.data);
    }
    drop_first(store, &from->in, done);
}

static bool is_over(st_store *store, const connection *of)
{
    st_bytes names = {of->wait_names.data, of->wait_names.length};
    if (!of->at_barrier)
        return has_all(store, names);
    const st_store_key *key = next_key(store, &names, false);
    return key == NULL || key->barrier != of->barrier;
}

/* Answers those whose keys are there now. */
static void settle(st_store *store)
{
    for (size_t i = 0; i < store->count; i++) {
        connection *client = store->connections[i];
        if (client->waits && !client->ended && is_over(store, client)) {
            client->waits = false;
            answer(store, client, STOP_WAITING);
        }
        if (client->out.length > 0 && !client->ended) {
            size_t sent = 0;
            while (sent < client->out.length) {
                ssize_t bytes = send(client->file, client->out.data + sent,
                                     client->out.length - sent, MSG_NOSIGNAL | MSG_DONTWAIT);
                if (bytes < 0 && errno == EINTR)
                    continue;
                if (bytes < 0) {
                    client->ended = client->ended || (errno != EAGAIN && errno != EWOULDBLOCK);
                    break;
                }
                sent += (size_t)bytes;
            }
            drop_first(store, &client->out, sent);
        }
    }
}

static void free_connection(st_store *store, connection *client)
{
    close(client->file);
    st_store_release(&store->keys, &client->in);
    st_store_release(&store->keys, &client->out);
    st_store_release(&store->keys, &client->wait_names);
    free(client);
}

static void drop_ended(st_store *store)
{
    size_t kept = 0;
    for (size_t i = 0; i < store->count; i++) {
        if (store->connections[i]->ended)
            free_connection(store, store->connections[i]);
        else
            store->connections[kept++] = store->connections[i];
    }
    store->count = kept;
}

static bool make_room(st_store *store)
{
    size_t wanted = store->capacity > 0 ? 2 * store->capacity : 64;
    if (store->count < store->capacity)
        return true;
    connection **more = realloc(store->connections, wanted * sizeof(connection *));
    if (more == NULL)
        return false;
    store->connections = more;
    struct pollfd *polls = realloc(store->polls, (wanted + 1) * sizeof *polls);
    if (polls == NULL)
        return false;
    store->polls = polls;
    store->capacity = wanted;
    return true;
}

/* ---- the store ---- */

static st_status listen_on(st_store *store, uint16_t port, st_errors *errors)
{
    struct sockaddr_in at = {.sin_family = AF_INET, .sin_port = htons(port)};
    socklen_t bytes = sizeof at;
    int yes = 1;
    at.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    store->listener = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (store->listener >= 0)
        (void)setsockopt(store->listener, SOL_SOCKET, SO_REUSEADDR, &yes, sizeof yes);
    if (store->listener < 0 ||
        bind(store->listener, (const struct sockaddr *)&at, sizeof at) != 0 ||
        listen(store->listener, SOMAXCONN) != 0 ||
        getsockname(store->listener, (struct sockaddr *)&at, &bytes) != 0)
        return st_fail(errors, ST_ERR_IO, (st_place){.file = "--store"},
                       "cannot listen on port %u of 127.0.0.1: %s" ST_HINT
                       "use another MASTER_PORT, or unset it",
                       (unsigned)port, strerror(errno));
    /* From now on PyTorch's rank 0 may have the port too (entry.c), and no other store. */
    (void)setsockopt(store->listener, SOL_SOCKET, SO_REUSEPORT, &yes, sizeof yes);
    store->port = ntohs(at.sin_port);
    return ST_OK;
}

st_status st_store_open(uint16_t port, uint64_t absent, st_store **store, st_errors *errors)
{
    st_store *made = calloc(1, sizeof *made);
    if (made == NULL)
        return st_out_of_memory(errors);
    made->listener = -1;
    made->absent = absent;
    st_status status = make_room(made) ? listen_on(made, port, errors) : st_out_of_memory(errors);
    if (status == ST_OK)
        *store = made;
    else
        st_store_close(made);
    return status;
}

uint16_t st_store_port(const st_store *store)
{
    return store->port;
}

void st_store_serve(st_store *store, uint32_t wait_us)
{
    const struct timespec wait = {.tv_nsec = (long)wait_us * 1000};
    size_t count = store->count;
    store->polls[0] = (struct pollfd){.fd = store->listener, .events = POLLIN};
    for (size_t i = 0; i < count; i++) {
        const connection *client = store->connections[i];
        short events = client->out.length > 0 ? POLLIN | POLLOUT : POLLIN;
        store->polls[i + 1] = (struct pollfd){.fd = client->file, .events = events};
    }
    if (ppoll(store->polls, (nfds_t)count + 1, &wait, NULL) <= 0)
        return;
    bool more = store->polls[0].revents != 0;
    for (size_t i = 0; i < count; i++)
        if (store->polls[i + 1].revents != 0) {
            connection *from = store->connections[i];
            char piece[PIECE];
            ssize_t bytes = recv(from->file, piece, sizeof piece, MSG_DONTWAIT);
            if (bytes < 0 && (errno == EINTR || errno == EAGAIN || errno == EWOULDBLOCK))
                continue;
            if (bytes <= 0) {
                from->ended = true;
                continue;
            }
            if (st_store_append(&store->keys, &from->in, (st_bytes){piece, (size_t)bytes}))
                run_commands(store, from);
            else
                from->ended = true;
        }
    settle(store);
    drop_ended(store);
    if (more) {
        int yes = 1;
        int file = accept4(store->listener, NULL, NULL, SOCK_CLOEXEC);
        if (file < 0)
            return;
        connection *made = make_room(store) ? calloc(1, sizeof *made) : NULL;
        if (made == NULL) {
            close(file);
            return;
        }
        (void)setsockopt(file, IPPROTO_TCP, TCP_NODELAY, &yes, sizeof yes);
        made->file = file;
        store->connections[store->count++] = made;
    }
}

size_t st_store_waiting(const st_store *store)
{
    size_t waiting = 0;
    for (size_t i = 0; i < store->count; i++)
        waiting += store->connections[i]->waits;
    return waiting;
}

bool st_store_all_wait(const st_store *store, size_t connections)
{
    return store->count >= connections && st_store_waiting(store) == store->count;
}

const char *st_store_awaited(const st_store *store, st_arena *arena)
{
    for (size_t i = 0; i < store->count; i++) {
        const connection *client = store->connections[i];
        request_reader reader = {.at = client->wait_names.data, .left = client->wait_names.length};
        st_bytes name = client->waits ? take_bytes(&reader) : (st_bytes){NULL, 0};
        if (name.length > 0)
            return st_arena_copy(arena, name.at, name.length);
    }
    return "";
}

/* Bytes that follow from the name, printable so that they do no harm as a number or a text. */
static bool stand_in(st_store *store, st_store_key *key)
{
    char value[STAND_IN_BYTES];
    uint64_t state = key->hash;
    for (size_t i = 0; i < sizeof value; i++) {
        state = state * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
        value[i] = (char)('a' + (state >> 33) % 26);
    }
    if (!st_store_keys_set(&store->keys, key, (st_bytes){value, sizeof value}))
        return false;
    store->stood_in++;
    return true;
}

void st_store_stand_in(st_store *store)
{
    for (size_t i = 0; i < store->count; i++) {
        connection *client = store->connections[i];
        st_bytes names = {client->wait_names.data, client->wait_names.length};
        while (client->waits && names.length > 0) {
            st_store_key *key = next_key(store, &names, true);
            if (key != NULL && client->at_barrier && key->barrier == client->barrier) {
                key->arrived = 0;
                key->barrier++;
                store->stood_in++;
            } else if (key == NULL ||
                       (!client->at_barrier && !st_store_keys_has(key) && !stand_in(store, key))) {
                client->ended = true;
            }
        }
    }
    settle(store);
    drop_ended(store);
}

uint64_t st_store_stood_in(const st_store *store)
{
    return store->stood_in;
}

void st_store_close(st_store *store)
{
    if (store == NULL)
        return;
    for (size_t i = 0; i < store->count; i++)
        free_connection(store, store->connections[i]);
    if (store->listener >= 0)
        close(store->listener);
    st_store_keys_free(&store->keys);
    free(store->connections);
    free(store->polls);
    free(store);
}
