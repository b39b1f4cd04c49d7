/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Ranks that find one another as torch.distributed's do: a client of PyTorch's TCPStore, which
 * init_process_group and new_group use to hand over ncclUniqueId and to wait for all ranks. With
 * TORCHELASTIC_USE_AGENT_STORE nobody serves the store but who started the ranks. The first
 * argument says which groups there are: "world", or "tensor" with eight neighbours each, too.
 */
#define _GNU_SOURCE
#include "cuda_own.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

enum { COUNT = 2385, GROUP = 8, MOST = 4096 };
enum { VALIDATE, SET, COMPARE_SET, GET, ADD, CHECK, WAIT, COUNT_KEYS, DELETE, APPEND, MULTI_GET };
enum { MULTI_SET = 11, CANCEL, PING, PUSH, POP, QUEUED, LIST, BARRIER };

#define MUST(call) must((call), 0, #call, __LINE__)
#define IS(a, b)   must((int)(a), (int)(b), #a, __LINE__)

static void must(int got, int expected, const char *what, int line)
{
    if (got == expected)
        return;
    fprintf(stderr, "line %d: %s gave %d, expected %d\n", line, what, got, expected);
    exit(9);
}

static const char *variable(const char *name)
{
    const char *text = getenv(name);
    if (text == NULL) {
        fprintf(stderr, "%s is not set\n", name);
        exit(6);
    }
    return text;
}

static int number(const char *name)
{
    return (int)strtol(variable(name), NULL, 10);
}

/* ---- the client ---- */

static int store;
static unsigned char message[MOST];
static size_t length;

static void put(const void *bytes, size_t count)
{
    memcpy(message + length, bytes, count);
    length += count;
}

static void put_number(uint64_t value)
{
    put(&value, sizeof value);
}

static void put_bytes(const void *bytes, size_t count)
{
    put_number(count);
    put(bytes, count);
}

static void put_text(const char *text)
{
    put_bytes(text, strlen(text));
}

static void begin(int command)
{
    unsigned char byte = (unsigned char)command;
    length = 0;
    put(&byte, 1);
}

/* In pieces, as a network may. */
static void finish(void)
{
    size_t half = length / 2;
    IS(send(store, message, half, 0), half);
    IS(send(store, message + half, length - half, 0), length - half);
}

static void receive(void *into, size_t count)
{
    if (count > 0)
        IS(recv(store, into, count, MSG_WAITALL), count);
}

static int64_t receive_number(void)
{
    int64_t value = 0;
    receive(&value, sizeof value);
    return value;
}

static int receive_byte(void)
{
    unsigned char byte = 255;
    receive(&byte, 1);
    return byte;
}

static size_t receive_bytes(void *into)
{
    size_t count = (size_t)receive_number();
    if (count > MOST)
        exit(8);
    receive(into, count);
    return count;
}

static void wait_for(const char *key)
{
    begin(WAIT);
    put_number(1);
    put_text(key);
    finish();
    IS(receive_byte(), 0);
}

static void set(const char *key, const void *value, size_t count)
{
    begin(SET);
    put_text(key);
    put_bytes(value, count);
    finish();
}

static size_t get(const char *key, void *into)
{
    wait_for(key);
    begin(GET);
    put_text(key);
    finish();
    return receive_bytes(into);
}

static int64_t add(const char *key, int64_t value)
{
    begin(ADD);
    put_text(key);
    put_number((uint64_t)value);
    finish();
    return receive_number();
}

static void join_store(void)
{
    struct sockaddr_in to = {.sin_family = AF_INET,
                             .sin_port = htons((uint16_t)number("MASTER_PORT"))};
    const uint32_t magic = 0x3c85f7ce;
    uint32_t nonce = 2385, back = 0;
    inet_pton(AF_INET, variable("MASTER_ADDR"), &to.sin_addr);
    IS(strcmp(variable("TORCHELASTIC_USE_AGENT_STORE"), "True"), 0);
    const int yes = 1;
    store = socket(AF_INET, SOCK_STREAM, 0);
    setsockopt(store, IPPROTO_TCP, TCP_NODELAY, &yes, sizeof yes); /* as PyTorch does */
    MUST(connect(store, (struct sockaddr *)&to, sizeof to));
    begin(VALIDATE);
    put(&magic, sizeof magic);
    finish();
    begin(PING);
    put(&nonce, sizeof nonce);
    finish();
    receive(&back, sizeof back);
    IS(back, nonce);
}

/* ---- ranks ---- */

static int rank, world;

/* As _store_based_barrier does. */
static void wait_for_all(const char *group, int ranks)
{
    char key[128], last[160];
    snprintf(key, sizeof key, "store_based_barrier_key:%s", group);
    snprintf(last, sizeof last, "%s:last_worker", key);
    if (add(key, 1) == ranks)
        set(last, "1", 1);
    wait_for(last);
}

static comm_t group_of(const char *name, int ranks, int place)
{
    char key[128];
    unique_id id;
    comm_t comm = NULL;
    wait_for_all(name, ranks);
    snprintf(key, sizeof key, "/worker/attempt_0/default_pg/%s//cuda//0", name);
    if (place == 0) {
        MUST(ncclGetUniqueId(&id));
        set(key, &id, sizeof id);
    } else {
        IS(get(key, &id), sizeof id);
    }
    MUST(ncclCommInitRank(&comm, ranks, id, place));
    return comm;
}

static void compare_set(const char *key, const char *expected, const char *wanted)
{
    char back[MOST];
    begin(COMPARE_SET);
    put_text(key);
    put_text(expected);
    put_text(wanted);
    finish();
    IS(receive_bytes(back), 4);
}

/* Commands about one key, which no other rank uses. */
static void try_key(const char *key)
{
    char back[MOST];
    compare_set(key, "", "five");
    compare_set(key, "six", "seven");
    begin(APPEND);
    put_text(key);
    put_text(" and more");
    finish();
    IS(get(key, back), 13);
    IS(memcmp(back, "five and more", 13), 0);
    begin(DELETE);
    put_text(key);
    finish();
    IS(receive_number(), 1);
    begin(COUNT_KEYS);
    finish();
    IS(receive_number() >= 1, 1);
}

/* Commands about several. */
static void try_keys(const char *key)
{
    char back[MOST];
    begin(CHECK);
    put_number(2);
    put_text(key);
    put_text("no such key");
    finish();
    IS(receive_byte(), 1);
    begin(MULTI_SET);
    put_number(2);
    put_text(key);
    put_text("a");
    put_text("");
    put_text("bc");
    finish();
    begin(MULTI_GET);
    put_number(2);
    put_text("");
    put_text(key);
    finish();
    IS(receive_bytes(back), 2);
    IS(receive_bytes(back), 1);
}

static void try_queue(void)
{
    char back[MOST];
    begin(PUSH);
    put_text("queue");
    put_text("x");
    finish();
    wait_for("queue");
    begin(POP);
    put_text("queue");
    finish();
    IS(receive_number() >= 1, 1);
    IS(receive_bytes(back), 1);
}

/* What was cancelled may have been answered meanwhile. */
static void try_cancel(void)
{
    begin(WAIT);
    put_number(1);
    put_text("nobody sets this");
    finish();
    begin(CANCEL);
    finish();
    if (receive_byte() == 0)
        IS(receive_byte(), 1);
}

int main(int argc, char **argv)
{
    float *numbers = NULL;
    rank = number("RANK");
    world = number("WORLD_SIZE");
    MUST(cudaMalloc((void **)&numbers, COUNT * sizeof *numbers));
    join_store();
    (void)add("init/", 1);
    char own[64];
    snprintf(own, sizeof own, "own/%d", rank);
    try_key(own);
    try_keys(own);
    try_queue();
    try_cancel();
    const char *mode = argc > 1 ? argv[1] : "";
    if (strcmp(mode, "dies") == 0 && rank == 1)
        abort();
    if (strcmp(mode, "never") == 0)
        wait_for("weights");
    comm_t whole = group_of("world", world, rank);
    MUST(ncclAllReduce(numbers, numbers, COUNT, NCCL_FLOAT, NCCL_SUM, whole, NULL));
    if (strcmp(mode, "tensor") == 0) {
        char name[32];
        snprintf(name, sizeof name, "tensor %d", rank / GROUP);
        comm_t part = group_of(name, GROUP, rank % GROUP);
        MUST(ncclAllReduce(numbers, numbers, COUNT / 5, NCCL_FLOAT, NCCL_SUM, part, NULL));
    }
    begin(BARRIER);
    put_text("end");
    put_number((uint64_t)world);
    finish();
    IS(receive_byte(), 0);
    close(store);
    return 0;
}
