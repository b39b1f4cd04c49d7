/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A process that answers calls over shared memory. What it does to itself - a crash, an endless
 * loop, memory without end - is an answer like any other; nothing that it writes is believed.
 */
#ifndef STEPTIME_PLUGIN_REMOTE_H
#define STEPTIME_PLUGIN_REMOTE_H

#include "plugin/call_memo.h"
#include "steptime/status.h"

#include <stdint.h>

enum {
    ST_REMOTE_ROWS = ST_CALL_ROWS,
    ST_REMOTE_COLUMNS = 144,
    ST_REMOTE_TEXT = 65536,
    ST_REMOTE_LONG_TEXT = ST_REMOTE_COLUMNS * ST_REMOTE_ROWS * 8,
    ST_REMOTE_REASON = 160 /* bytes of why a process has ended */
};

/* One call: what is asked is written by this process, what is answered by the other. */
typedef struct st_remote_lane {
    _Atomic uint32_t state;
    _Atomic uint32_t more; /* 1: all lanes are taken, start the next one */
    uint32_t kind;         /* the server's to define */
    uint32_t provider;
    uint32_t rows;
    int32_t result;
    _Atomic uint32_t text_length; /* read once: it may change between two looks */
    uint32_t walls; /* around the process: namespaces.h; read before anything foreign runs */
    uint8_t given[ST_REMOTE_COLUMNS]; /* 1: the column is there */
    uint64_t heads[ST_REMOTE_ROWS];   /* of rows of several providers (call_memo.h) */
    double values[ST_REMOTE_ROWS];
    char text[ST_REMOTE_TEXT];
    union {
        double columns[ST_REMOTE_COLUMNS][ST_REMOTE_ROWS];
        char long_text[ST_REMOTE_LONG_TEXT]; /* of requests without columns */
    };
} st_remote_lane;

/* What the other process does, once it is confined. Several threads call `serve` at once if several
 * lanes are taken. */
typedef struct st_remote_server {
    void (*serve)(void *context, st_remote_lane *lane);
    void *context;
    unsigned limit_ms; /* of a call */
    size_t memory_bytes;
} st_remote_server;

typedef struct st_remote st_remote;

/* NULL on failure, with the reason in `reason`, of ST_REMOTE_TEXT bytes. */
st_remote *st_remote_start(const st_remote_server *server, char *reason);
/* Shares the process of that key, and what it has answered, while it lives; else what `make`
 * returns, NULL on failure, is of that key from now on. With NULL it is the caller's alone. */
st_remote *st_remote_share(const char *key, st_remote *(*make)(void *context), void *context);
/* Ends it with its last user; NULL is fine. */
void st_remote_stop(st_remote *remote);

/* A lane that no other thread has; waits for one. */
st_remote_lane *st_remote_take(st_remote *remote);
void st_remote_give(st_remote *remote, st_remote_lane *lane);

/* The limit of the calls to come. */
void st_remote_set_limit(st_remote *remote, unsigned limit_ms);

/* What was answered; NULL when out of memory. */
st_call_memo *st_remote_memo(const st_remote *remote);

/* Sends the request in the lane; false where the process has ended, or is ended as it takes too
 * long. */
bool st_remote_ask(st_remote *remote, st_remote_lane *lane);

/* Its isolation (namespaces.h). */
unsigned st_remote_walls(const st_remote *remote);

/* Why it has ended; "" while it lives. */
const char *st_remote_reason(const st_remote *remote);

#endif
