/* SPDX-License-Identifier: Apache-2.0 */
/*
 * PyTorch's TCPStore, by which the ranks of a program find one another: `steptime record --store`
 * serves it, so that no rank has to. It speaks the protocol of PyTorch 2.1 and later, as c10d's
 * TCPStoreBackend and TCPStoreLibUvBackend do: a byte for the command, then numbers of eight bytes
 * and bytes behind their length, in the order of the machine's own bytes.
 *
 * If only some ranks run, they may wait for keys that nobody sets. The recorder detects that, and
 * they get 128 bytes, as long as an ncclUniqueId, derived from the key.
 */
#ifndef STEPTIME_RECORD_TCP_STORE_H
#define STEPTIME_RECORD_TCP_STORE_H

#include "steptime/arena.h"

typedef struct st_store st_store;

/* Listens on 127.0.0.1; port 0: one that is free. Ranks that are absent count as come. */
st_status st_store_open(uint16_t port, uint64_t absent, st_store **store,
                        st_errors *errors) ST_NODISCARD;
uint16_t st_store_port(const st_store *store);
/* Serves what has come, and waits so long for more. */
void st_store_serve(st_store *store, uint32_t wait_us);
/* Connections that wait for a key. */
size_t st_store_waiting(const st_store *store);
/* Whether there are at least so many connections, and all of them wait. */
bool st_store_all_wait(const st_store *store, size_t connections);
/* A key that a connection waits for; "" where none does. */
const char *st_store_awaited(const st_store *store, st_arena *arena);
/* Gives those what nobody set. */
void st_store_stand_in(st_store *store);
/* How many keys got placeholders. */
uint64_t st_store_stood_in(const st_store *store);
void st_store_close(st_store *store); /* NULL is fine */

#endif
