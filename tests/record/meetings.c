/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Programs whose ranks meet, one for each first argument: they hand over ncclUniqueId by a file, by
 * a connection of their own or by NCCL_COMM_ID, split communicators and check the results,
 * or do different things in some places of a grid. The second argument is a folder for files.
 */
#define _GNU_SOURCE
#include "cuda_own.h"
#include "must.h"

#include <arpa/inet.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

enum { COUNT = 2385, NODE = 8 };

static void equal(int got, int expected, const char *what)
{
    if (got == expected)
        return;
    fprintf(stderr, "%s is %d, expected %d\n", what, got, expected);
    exit(8);
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

static int rank, world;
static float *numbers;
static const char *folder;

static void sum(comm_t comm, size_t count)
{
    MUST(ncclAllReduce(numbers, numbers, count, NCCL_FLOAT, NCCL_SUM, comm, NULL));
}

static comm_t join(const unique_id *id)
{
    comm_t comm = NULL;
    MUST(ncclCommInitRank(&comm, world, *id, rank));
    return comm;
}

static void by_file(void)
{
    char path[512], made[512];
    unique_id id;
    snprintf(path, sizeof path, "%s/id", folder);
    snprintf(made, sizeof made, "%s/id.new", folder);
    if (rank == 0) {
        MUST(ncclGetUniqueId(&id));
        FILE *file = fopen(made, "wb");
        if (file == NULL || fwrite(&id, sizeof id, 1, file) != 1 || fclose(file) != 0 ||
            rename(made, path) != 0)
            exit(7);
    }
    FILE *file;
    while ((file = fopen(path, "rb")) == NULL)
        usleep(1000);
    if (fread(&id, sizeof id, 1, file) != 1)
        exit(7);
    fclose(file);
    sum(join(&id), COUNT);
}

static struct sockaddr_in address(void)
{
    struct sockaddr_in to = {.sin_family = AF_INET,
                             .sin_port = htons((uint16_t)number("MASTER_PORT"))};
    inet_pton(AF_INET, variable("MASTER_ADDR"), &to.sin_addr);
    return to;
}

static void serve(const unique_id *id)
{
    struct sockaddr_in from = address();
    int yes = 1;
    int listener = socket(AF_INET, SOCK_STREAM, 0);
    setsockopt(listener, SOL_SOCKET, SO_REUSEADDR, &yes, sizeof yes);
    if (bind(listener, (struct sockaddr *)&from, sizeof from) != 0 || listen(listener, 64) != 0)
        exit(7);
    for (int i = 1; i < world; i++) {
        int peer = accept(listener, NULL, NULL);
        if (write(peer, id, sizeof *id) != (ssize_t)sizeof *id)
            exit(7);
        close(peer);
    }
    close(listener);
}

static void fetch(unique_id *id)
{
    struct sockaddr_in to = address();
    int peer = socket(AF_INET, SOCK_STREAM, 0);
    while (connect(peer, (struct sockaddr *)&to, sizeof to) != 0)
        usleep(1000);
    if (recv(peer, id, sizeof *id, MSG_WAITALL) != (ssize_t)sizeof *id)
        exit(7);
    close(peer);
}

static void by_connection(void)
{
    unique_id id;
    if (rank == 0) {
        MUST(ncclGetUniqueId(&id));
        serve(&id);
    } else {
        fetch(&id);
    }
    sum(join(&id), COUNT);
}

static void by_environment(void)
{
    unique_id id;
    setenv("NCCL_COMM_ID", "127.0.0.1:23850", 1);
    MUST(ncclGetUniqueId(&id));
    sum(join(&id), COUNT);
}

static comm_t all(void)
{
    unique_id id = {"all"};
    return join(&id);
}

static comm_t split(comm_t from, int color, int key, int ranks, int place)
{
    comm_t part = NULL;
    int told = -1;
    MUST(ncclCommSplit(from, color, key, &part, NULL));
    MUST(ncclCommCount(part, &told));
    equal(told, ranks, "ranks of the part");
    MUST(ncclCommUserRank(part, &told));
    equal(told, place, "rank in the part");
    return part;
}

/* A node, the same place of all nodes, and pairs of neighbouring nodes in turned order. */
static void by_split(void)
{
    comm_t whole = all();
    int nodes = world / NODE;
    sum(split(whole, rank / NODE, rank, NODE, rank % NODE), COUNT);
    sum(split(whole, rank % NODE, rank, nodes, rank / NODE), COUNT / 5);
}

static void by_odd_split(void)
{
    comm_t whole = all();
    int odd = rank * 7 % 5; /* no grid has such groups */
    int ranks = 0, place = 0;
    for (int i = 0; i < world; i++) {
        ranks += i * 7 % 5 == odd;
        place += i * 7 % 5 == odd && i > rank;
    }
    sum(split(whole, odd, -rank, ranks, place), COUNT);
}

/* Groups of ten, which no grid of 96 ranks has, by a program that trusts the reported size. */
static void by_unsure_split(void)
{
    comm_t part = NULL;
    MUST(ncclCommSplit(all(), rank / 10, -rank, &part, NULL));
    sum(part, COUNT);
}

/* Eight stages of neighbours, the first place of each node reads data, the last rank reports. */
static void stages(void)
{
    comm_t whole = all();
    int stage = rank / (world / 8);
    for (int i = 0; i <= stage; i++)
        sum(whole, (size_t)COUNT << i);
    if (strcmp(folder, "read") == 0 && rank % NODE == 0)
        MUST(cudaMemset(numbers, 0, COUNT));
    if (strcmp(folder, "read") == 0 && rank == world - 1)
        MUST(cudaMemset(numbers, 0, 5));
}

/* Every rank does something that none does as another. */
static void different(void)
{
    comm_t whole = all();
    for (int bit = 0; bit < 16; bit++)
        sum(whole, (rank >> bit & 1) != 0 ? COUNT : 64);
}

int main(int argc, char **argv)
{
    static const struct {
        const char *name;
        void (*run)(void);
    } programs[] = {
        {"file", by_file},
        {"connection", by_connection},
        {"environment", by_environment},
        {"split", by_split},
        {"odd-split", by_odd_split},
        {"stages", stages},
        {"different", different},
        {"unsure-split", by_unsure_split},
    };
    rank = number("RANK");
    world = number("WORLD_SIZE");
    folder = argc > 2 ? argv[2] : ".";
    MUST(cudaMalloc((void **)&numbers, COUNT * sizeof *numbers));
    for (size_t i = 0; argc > 1 && i < sizeof programs / sizeof programs[0]; i++)
        if (strcmp(argv[1], programs[i].name) == 0) {
            programs[i].run();
            return 0;
        }
    return 2;
}
