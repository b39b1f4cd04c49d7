/* SPDX-License-Identifier: Apache-2.0 */
/* See tcp_store_keys.h: a table with open places that grows by doubling. */
#include "record/tcp_store_keys.h"

#include "base/hash.h"

#include <stdlib.h>
#include <string.h>

static st_bytes name_of(const st_store_key *key)
{
    return (st_bytes){key->name.data, key->name.length};
}

static bool same(st_bytes a, st_bytes b)
{
    return a.length == b.length && (a.length == 0 || memcmp(a.at, b.at, a.length) == 0);
}

static size_t slot_of(const st_store_keys *keys, st_bytes name, uint64_t hash)
{
    size_t at = (size_t)hash & (keys->slot_count - 1);
    while (keys->slots[at] != NULL &&
           !(keys->slots[at]->hash == hash && same(name_of(keys->slots[at]), name)))
        at = (at + 1) & (keys->slot_count - 1);
    return at;
}

/* ---- memory ---- */

bool st_store_append(st_store_keys *keys, st_buffer *into, st_bytes bytes)
{
    size_t before = into->capacity;
    size_t wanted = into->length + bytes.length + 1;
    if (wanted > before && keys->held_bytes + (wanted - before) > ST_STORE_MOST_BYTES)
        return false;
    st_buffer_append(into, bytes.at, bytes.length);
    bool done = !into->failed;
    into->failed = false; /* what it had it still has */
    keys->held_bytes += into->capacity - before;
    return done;
}

bool st_store_put64(st_store_keys *keys, st_buffer *into, uint64_t number)
{
    char raw[sizeof number];
    memcpy(raw, &number, sizeof number);
    return st_store_append(keys, into, (st_bytes){raw, sizeof raw});
}

bool st_store_put(st_store_keys *keys, st_buffer *into, st_bytes bytes)
{
    size_t before = into->length;
    if (st_store_put64(keys, into, bytes.length) && st_store_append(keys, into, bytes))
        return true;
    into->length = before;
    return false;
}

void st_store_release(st_store_keys *keys, st_buffer *buffer)
{
    keys->held_bytes -= buffer->capacity;
    st_buffer_free(buffer);
}

/* ---- keys ---- */

static void free_key(st_store_keys *keys, st_store_key *key)
{
    st_store_release(keys, &key->name);
    st_store_release(keys, &key->value);
    st_store_release(keys, &key->queue);
    keys->held_bytes -= sizeof *key;
    free(key);
}

static st_store_key *make_key(st_store_keys *keys, st_bytes name, uint64_t hash)
{
    st_store_key *made = calloc(1, sizeof *made);
    if (made == NULL)
        return NULL;
    keys->held_bytes += sizeof *made;
    made->hash = hash;
    if (st_store_append(keys, &made->name, name))
        return made;
    free_key(keys, made);
    return NULL;
}

st_store_key *st_store_keys_find(st_store_keys *keys, st_bytes name, bool make)
{
    uint64_t hash = st_hash_bytes(ST_HASH_BEGIN, name.at, name.length);
    if (make && 2 * keys->count >= keys->slot_count) {
        size_t before = keys->slot_count;
        st_store_key **old = keys->slots;
        size_t wanted = before > 0 ? 2 * before : 256;
        st_store_key **slots = calloc(wanted, sizeof(st_store_key *));
        if (slots == NULL)
            return NULL;
        keys->slots = slots;
        keys->slot_count = wanted;
        for (size_t i = 0; i < before; i++)
            if (old[i] != NULL)
                slots[slot_of(keys, name_of(old[i]), old[i]->hash)] = old[i];
        free(old);
        keys->held_bytes += (wanted - before) * sizeof(st_store_key *);
    }
    if (keys->slot_count == 0)
        return NULL;
    size_t slot = slot_of(keys, name, hash);
    if (keys->slots[slot] != NULL || !make)
        return keys->slots[slot];
    st_store_key *made = make_key(keys, name, hash);
    if (made == NULL)
        return NULL;
    keys->slots[slot] = made;
    keys->count++;
    return made;
}

bool st_store_keys_append(st_store_keys *keys, st_store_key *key, st_bytes value)
{
    if (!st_store_append(keys, &key->value, value))
        return false;
    keys->values += !key->has_value;
    key->has_value = true;
    return true;
}

bool st_store_keys_set(st_store_keys *keys, st_store_key *key, st_bytes value)
{
    size_t before = key->value.length;
    key->value.length = 0;
    if (st_store_keys_append(keys, key, value))
        return true;
    key->value.length = before;
    return false;
}

bool st_store_keys_unset(st_store_keys *keys, st_store_key *key)
{
    bool had = key->has_value;
    keys->values -= had;
    key->has_value = false;
    st_store_release(keys, &key->value);
    return had;
}

bool st_store_keys_push(st_store_keys *keys, st_store_key *key, st_bytes value)
{
    if (!st_store_put(keys, &key->queue, value))
        return false;
    key->queued++;
    return true;
}

bool st_store_keys_pop(st_store_keys *keys, st_store_key *key, st_buffer *into)
{
    uint64_t length;
    if (key->queued == 0)
        return false;
    memcpy(&length, key->queue.data, sizeof length);
    size_t bytes = sizeof length + (size_t)length;
    if (!st_store_append(keys, into, (st_bytes){key->queue.data, bytes}))
        return false;
    memmove(key->queue.data, key->queue.data + bytes, key->queue.length - bytes);
    key->queue.length -= bytes;
    key->queued--;
    if (key->queued == 0)
        st_store_release(keys, &key->queue);
    return true;
}

bool st_store_keys_has(const st_store_key *key)
{
    return key != NULL && (key->has_value || key->queued > 0);
}

void st_store_keys_free(st_store_keys *keys)
{
    for (size_t i = 0; i < keys->slot_count; i++)
        if (keys->slots[i] != NULL)
            free_key(keys, keys->slots[i]);
    free(keys->slots);
    *keys = (st_store_keys){0};
}
