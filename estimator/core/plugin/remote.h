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
    ST_REMOTE_REASON = 160 /* bytes of why a process has ended */
};

/* One call: what is asked is written by this process, what is answered by the other. */
typedef struct st_remote_lane {
    _Atomic uint32_t state;
    uint32_t kind; /* the server's to define */
    uint32_t provider;
    uint32_t rows;
    int32_t result;
    _Atomic uint32_t text_length; /* read once: it may change between two looks */
    uint32_t walls; /* around the process: namespaces.h; read before anything foreign runs */
    uint8_t given[ST_REMOTE_COLUMNS]; /* 1: the column is there */
    double values[ST_REMOTE_ROWS];
    char text[ST_REMOTE_TEXT];
    double columns[ST_REMOTE_COLUMNS][ST_REMOTE_ROWS];
} st_remote_lane;

/* What the other process does, once it is confined; `open` returns 0 where it can serve, and else
 * leaves the reason in the lane's text. `serve` is called by several threads at once. */
typedef struct st_remote_server {
    int (*open)(void *context, st_remote_lane *lane);
    void (*serve)(void *context, st_remote_lane *lane);
    void *context;
    unsigned limit_ms; /* of a call */
    size_t memory_bytes;
} st_remote_server;

typedef struct st_remote st_remote;

/*
 * NULL on failure, with the reason in `reason`, of ST_REMOTE_TEXT bytes. Who gives the key of a
 * process that lives shares it, and what it has answered; with NULL it is the caller's alone.
 */
st_remote *st_remote_start(const st_remote_server *server, const char *key, char *reason);
/* Ends it with its last user; NULL is fine. */
void st_remote_stop(st_remote *remote);

/* A lane that no other thread has; waits for one. */
st_remote_lane *st_remote_take(st_remote *remote);
void st_remote_give(st_remote *remote, st_remote_lane *lane);

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
