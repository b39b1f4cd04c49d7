/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The store for rendezvous, with clients that send any bytes in any order: whatever they send, a
 * client that speaks the protocol is served, and nobody waits once keys were stood in for. A piece
 * of the input is a byte - the client, and how many bytes it sends; none: it goes - and these
 * bytes.
 */
#include "fuzz.h"

#include "record/tcp_store.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

enum { CLIENTS = 4, LENGTH_SHIFT = 2, ROUNDS = 1000, PING = 13 };

static void leave(int *file)
{
    if (*file >= 0)
        (void)close(*file);
    *file = -1;
}

/* -1: a signal came, or the machine is short of ports; the store cannot help either. */
static int join(st_store *store)
{
    struct sockaddr_in at = {.sin_family = AF_INET, .sin_port = htons(st_store_port(store))};
    const struct linger at_once = {.l_onoff = 1}; /* ports are free again */
    int file = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    at.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    FUZZ_REQUIRE(file >= 0);
    FUZZ_REQUIRE(setsockopt(file, SOL_SOCKET, SO_LINGER, &at_once, sizeof at_once) == 0);
    if (connect(file, (const struct sockaddr *)&at, sizeof at) != 0)
        leave(&file);
    st_store_serve(store, 0);
    return file;
}

static void send_all(st_store *store, const uint8_t *data, size_t size, int clients[CLIENTS])
{
    while (size > 0) {
        int *client = &clients[*data % CLIENTS];
        size_t length = *data >> LENGTH_SHIFT;
        data++;
        size--;
        length = length < size ? length : size;
        if (length == 0) {
            leave(client);
        } else {
            *client = *client >= 0 ? *client : join(store);
            (void)send(*client, data, length, MSG_NOSIGNAL | MSG_DONTWAIT); /* it may be cut off */
        }
        st_store_serve(store, 0);
        data += length;
        size -= length;
    }
}

static void ask(st_store *store)
{
    static const char ping[] = {PING, 2, 3, 8, 5};
    char nonce[sizeof ping - 1] = "";
    ssize_t got = -1;
    int honest = join(store);
    if (honest < 0)
        return;
    FUZZ_REQUIRE(send(honest, ping, sizeof ping, MSG_NOSIGNAL) == (ssize_t)sizeof ping);
    for (int i = 0; i < ROUNDS && got < 0; i++) {
        st_store_serve(store, 1000);
        got = recv(honest, nonce, sizeof nonce, MSG_DONTWAIT);
    }
    FUZZ_REQUIRE(got == (ssize_t)sizeof nonce && memcmp(nonce, ping + 1, sizeof nonce) == 0);
    leave(&honest);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    int clients[CLIENTS] = {-1, -1, -1, -1};
    st_store *store = NULL;
    st_errors *errors = st_errors_create();
    FUZZ_REQUIRE(errors != NULL && st_store_open(0, 0, &store, errors) == ST_OK);
    send_all(store, data, size, clients);
    ask(store);
    uint64_t before = st_store_stood_in(store);
    size_t waiting = st_store_waiting(store);
    st_store_stand_in(store);
    FUZZ_REQUIRE(st_store_waiting(store) == 0);
    FUZZ_REQUIRE(waiting > 0 || st_store_stood_in(store) == before);
    for (size_t i = 0; i < CLIENTS; i++)
        leave(&clients[i]);
    st_store_serve(store, 0);
    st_store_close(store);
    st_errors_destroy(errors);
    return 0;
}
