/* SPDX-License-Identifier: Apache-2.0 */
/* Keys of the store for rendezvous, where there is memory and where there is none. */
#include "base_support.h"

#include "record/tcp_store_keys.h"

#include <string.h>

static st_bytes text(const char *from)
{
    return (st_bytes){from, strlen(from)};
}

/* As if another connection had taken all that the store may hold but for some bytes. */
static void leave_room(st_store_keys *keys, size_t bytes)
{
    keys->held_bytes = ST_STORE_MOST_BYTES - bytes;
}

static void expect_popped(st_store_keys *keys, st_store_key *key, const char *expected)
{
    st_buffer into = {0};
    assert_true(st_store_keys_pop(keys, key, &into));
    assert_int_equal(into.length, sizeof(uint64_t) + strlen(expected));
    assert_memory_equal(into.data + sizeof(uint64_t), expected, strlen(expected));
    st_store_release(keys, &into);
}

TEST(queues_keep_what_fits)
{
    char much[4096];
    st_store_keys keys = {0};
    st_buffer into = {0};
    (void)state;
    memset(much, 'x', sizeof much);
    st_store_key *key = st_store_keys_find(&keys, text("queue"), true);
    assert_non_null(key);
    assert_true(st_store_keys_push(&keys, key, text("first")));
    assert_true(st_store_keys_push(&keys, key, text("second")));
    size_t held = keys.held_bytes;
    leave_room(&keys, 5);
    assert_false(st_store_keys_push(&keys, key, (st_bytes){much, sizeof much}));
    assert_false(st_store_keys_pop(&keys, key, &into));
    assert_int_equal(key->queued, 2);
    keys.held_bytes = held;
    expect_popped(&keys, key, "first");
    assert_true(st_store_keys_push(&keys, key, text("third")));
    expect_popped(&keys, key, "second");
    expect_popped(&keys, key, "third");
    assert_false(st_store_keys_pop(&keys, key, &into));
    st_store_keys_free(&keys);
}

TEST(values_stay_where_the_next_does_not_fit)
{
    char much[4096];
    st_store_keys keys = {0};
    (void)state;
    memset(much, 'x', sizeof much);
    st_store_key *key = st_store_keys_find(&keys, text("value"), true);
    assert_non_null(key);
    assert_true(st_store_keys_set(&keys, key, text("2.385")));
    size_t held = keys.held_bytes;
    leave_room(&keys, 5);
    assert_false(st_store_keys_set(&keys, key, (st_bytes){much, sizeof much}));
    assert_false(st_store_keys_append(&keys, key, (st_bytes){much, sizeof much}));
    assert_null(st_store_keys_find(&keys, text("another"), true));
    assert_ptr_equal(st_store_keys_find(&keys, text("value"), false), key);
    assert_string_equal(key->value.data, "2.385");
    keys.held_bytes = held;
    assert_true(st_store_keys_append(&keys, key, text(" ms")));
    assert_string_equal(key->value.data, "2.385 ms");
    assert_int_equal(keys.values, 1);
    st_store_keys_free(&keys);
}

TEST(all_memory_is_given_back)
{
    char name[16];
    st_store_keys keys = {0};
    st_buffer out = {0};
    (void)state;
    assert_null(st_store_keys_find(&keys, text("none"), false));
    for (int i = 0; i < 2385; i++) {
        (void)snprintf(name, sizeof name, "key%d", i);
        st_store_key *key = st_store_keys_find(&keys, text(name), true);
        assert_non_null(key);
        assert_true(st_store_keys_set(&keys, key, text(name)));
        assert_true(st_store_keys_push(&keys, key, text(name)));
        assert_true(i % 3 != 0 || st_store_keys_unset(&keys, key));
    }
    assert_int_equal(keys.values, 1590);
    assert_true(st_store_put(&keys, &out, text("waits to be sent")));
    st_store_release(&keys, &out);
    for (size_t i = 0; i < keys.slot_count; i++)
        if (keys.slots[i] != NULL && keys.slots[i]->has_value)
            assert_true(st_store_keys_unset(&keys, keys.slots[i]));
    size_t slots = keys.slot_count * sizeof keys.slots[0];
    size_t held = slots + keys.count * sizeof(st_store_key);
    for (size_t i = 0; i < keys.slot_count; i++)
        if (keys.slots[i] != NULL)
            held += keys.slots[i]->name.capacity + keys.slots[i]->queue.capacity;
    assert_int_equal(keys.held_bytes, held);
    st_store_keys_free(&keys);
}

TESTS(store_keys);
