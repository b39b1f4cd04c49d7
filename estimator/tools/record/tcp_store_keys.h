/* SPDX-License-Identifier: Apache-2.0 */
/* What a store for rendezvous holds: values, queues and barriers by their keys, which are bytes. */
#ifndef STEPTIME_RECORD_TCP_STORE_KEYS_H
#define STEPTIME_RECORD_TCP_STORE_KEYS_H

#include "steptime/arena.h"

typedef struct st_bytes {
    const char *at;
    size_t length;
} st_bytes;

typedef struct st_store_key {
    st_buffer name;
    uint64_t hash;
    bool has_value;
    st_buffer value;
    st_buffer queue; /* values, each behind its length, the first one first */
    size_t queued;
    int64_t arrived;  /* at the barrier of this name */
    uint64_t barrier; /* which of them it is */
} st_store_key;

typedef struct st_store_keys {
    st_store_key **slots; /* NULL: free */
    size_t slot_count;    /* a power of two */
    size_t count;         /* of keys, also those without a value */
    size_t values;
    size_t held_bytes; /* of all that the store has, what connections wait to send included */
} st_store_keys;

/* The key of a name, which is made where `make` says so; NULL: there is none, or no memory. */
st_store_key *st_store_keys_find(st_store_keys *keys, st_bytes name, bool make);
/* False, with nothing changed: there is no memory. So do the next two. */
bool st_store_keys_set(st_store_keys *keys, st_store_key *key, st_bytes value) ST_NODISCARD;
bool st_store_keys_append(st_store_keys *keys, st_store_key *key, st_bytes value) ST_NODISCARD;
bool st_store_keys_push(st_store_keys *keys, st_store_key *key, st_bytes value) ST_NODISCARD;
/* False where it had no value. */
bool st_store_keys_unset(st_store_keys *keys, st_store_key *key);
/* The first value of the queue, appended to `into` behind its length; false: it is empty, or there
 * is no memory. */
bool st_store_keys_pop(st_store_keys *keys, st_store_key *key, st_buffer *into) ST_NODISCARD;
/* Whether waiting for the key is over. */
bool st_store_keys_has(const st_store_key *key);
void st_store_keys_free(st_store_keys *keys);

/* Memory that one client can make the store take, up to one doubling of a buffer. */
#define ST_STORE_MOST_BYTES ((size_t)1 << 30)

/* Bytes, a number of eight bytes, bytes behind their length; false, with nothing appended: there is
 * no memory, or the store would hold more than it may. */
bool st_store_append(st_store_keys *keys, st_buffer *into, st_bytes bytes) ST_NODISCARD;
bool st_store_put64(st_store_keys *keys, st_buffer *into, uint64_t number) ST_NODISCARD;
bool st_store_put(st_store_keys *keys, st_buffer *into, st_bytes bytes) ST_NODISCARD;
/* Frees a buffer that the above filled. */
void st_store_release(st_store_keys *keys, st_buffer *buffer);

#endif
