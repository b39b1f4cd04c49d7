/* SPDX-License-Identifier: Apache-2.0 */
/* The store by which ranks meet: every command by clients in this process, waits, what is refused.
 */
#include "base_support.h"

#include "record/tcp_store.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

enum { CLIENTS = 3, STOPPED = 0, CANCELED = 1, MOST_BYTES = 1 << 26 };

/* By their numbers in the protocol. */
typedef enum command {
    VALIDATE,
    SET,
    COMPARE_SET,
    GET,
    ADD,
    CHECK,
    WAIT,
    COUNT_KEYS,
    DELETE,
    APPEND,
    MULTI_GET,
    MULTI_SET,
    CANCEL,
    PING,
    PUSH,
    POP,
    QUEUED,
    LIST,
    BARRIER,
    COMMANDS
} command;

typedef struct fixture {
    st_errors *errors;
    st_store *store;
    int files[CLIENTS];
    st_buffer out; /* the command in the making */
} fixture;

static int setup(void **state)
{
    enum { ABSENT = 17 };
    fixture *self = calloc(1, sizeof *self);
    self->errors = st_errors_create();
    *state = self;
    if (st_store_open(0, ABSENT, &self->store, self->errors) != ST_OK)
        return -1;
    struct sockaddr_in at = {.sin_family = AF_INET, .sin_port = htons(st_store_port(self->store))};
    at.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    for (size_t i = 0; i < CLIENTS; i++) {
        self->files[i] = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
        assert_int_equal(connect(self->files[i], (const struct sockaddr *)&at, sizeof at), 0);
        st_store_serve(self->store, 100000);
    }
    return 0;
}

static int teardown(void **state)
{
    fixture *self = *state;
    st_store_close(self->store);
    for (size_t i = 0; i < CLIENTS; i++)
        assert_int_equal(close(self->files[i]), 0);
    st_buffer_free(&self->out);
    st_errors_destroy(self->errors);
    free(self);
    return 0;
}

/* ---- what clients send ---- */

static void begin(fixture *self, command kind)
{
    const char byte = (char)kind;
    st_buffer_append(&self->out, &byte, 1);
}

static void add_number(fixture *self, int64_t number)
{
    st_buffer_append(&self->out, (const char *)&number, sizeof number);
}

static void add_text(fixture *self, const char *text)
{
    add_number(self, (int64_t)strlen(text));
    st_buffer_append(&self->out, text, strlen(text));
}

/* Sends bytes of the command and lets the store serve them. */
static void pass(fixture *self, int client, size_t from, size_t bytes)
{
    assert_int_equal(send(self->files[client], self->out.data + from, bytes, MSG_NOSIGNAL),
                     (ssize_t)bytes);
    st_store_serve(self->store, 100000);
}

static void pass_all(fixture *self, int client)
{
    pass(self, client, 0, self->out.length);
    self->out.length = 0;
}

/* A command of a key and, where it is not NULL, a value. */
static void ask(fixture *self, int client, command kind, const char *name, const char *value)
{
    begin(self, kind);
    add_text(self, name);
    if (value != NULL)
        add_text(self, value);
    pass_all(self, client);
}

/* A command of one or two names. */
static void ask_names(fixture *self, int client, command kind, const char *first,
                      const char *second)
{
    begin(self, kind);
    add_number(self, second != NULL ? 2 : 1);
    add_text(self, first);
    if (second != NULL)
        add_text(self, second);
    pass_all(self, client);
}

/* ---- what they get ---- */

static void expect_raw(const fixture *self, int client, const void *bytes, size_t length)
{
    char got[256];
    assert_true(length <= sizeof got);
    assert_int_equal(recv(self->files[client], got, length, MSG_DONTWAIT), (ssize_t)length);
    assert_memory_equal(got, bytes, length);
}

static void expect_byte(const fixture *self, int client, uint8_t byte)
{
    expect_raw(self, client, &byte, 1);
}

static void expect_number(const fixture *self, int client, int64_t number)
{
    expect_raw(self, client, &number, sizeof number);
}

static void expect_text(const fixture *self, int client, const char *text)
{
    expect_number(self, client, (int64_t)strlen(text));
    if (text[0] != '\0')
        expect_raw(self, client, text, strlen(text));
}

static void expect_nothing(const fixture *self, int client)
{
    char byte;
    assert_int_equal(recv(self->files[client], &byte, 1, MSG_DONTWAIT), -1);
}

static void expect_closed(const fixture *self, int client)
{
    char byte;
    assert_true(recv(self->files[client], &byte, 1, 0) <= 0);
}

static void expect_kept(fixture *self, const char *name, const char *value)
{
    ask(self, 2, GET, name, NULL);
    expect_text(self, 2, value);
}

static void expect_keys(fixture *self, int64_t count)
{
    begin(self, COUNT_KEYS);
    pass_all(self, 2);
    expect_number(self, 2, count);
}

/* ---- keys ---- */

TEST_OF(keys_have_values, fixture *self, setup, teardown)
{
    expect_kept(self, "none", "");
    ask(self, 0, SET, "a", "2385");
    expect_nothing(self, 0);
    expect_kept(self, "a", "2385");
    ask(self, 1, SET, "a", "38");
    expect_kept(self, "a", "38");
    ask(self, 0, APPEND, "b", "12");
    ask(self, 1, APPEND, "b", "345");
    expect_kept(self, "b", "12345");
    expect_keys(self, 2);
    ask(self, 0, DELETE, "a", NULL);
    expect_number(self, 0, 1);
    ask(self, 0, DELETE, "a", NULL);
    expect_number(self, 0, 0);
    ask(self, 0, DELETE, "none", NULL);
    expect_number(self, 0, 0);
    expect_keys(self, 1);
    begin(self, LIST);
    pass_all(self, 0);
    expect_number(self, 0, 1);
    expect_text(self, 0, "b");
}

static void add_up(fixture *self, const char *name, int64_t number, int64_t sum)
{
    begin(self, ADD);
    add_text(self, name);
    add_number(self, number);
    pass_all(self, 0);
    expect_number(self, 0, sum);
}

/* Numbers are texts; one that is longer than any number counts as 0. */
TEST_OF(numbers_are_added, fixture *self, setup, teardown)
{
    add_up(self, "n", 38, 38);
    add_up(self, "n", 4, 42);
    add_up(self, "n", -50, -8);
    expect_kept(self, "n", "-8");
    ask(self, 0, SET, "long", "00000000000000000000017");
    add_up(self, "long", 5, 22);
    ask(self, 0, SET, "longer", "000000000000000000000017");
    add_up(self, "longer", 5, 5);
    expect_kept(self, "longer", "5");
}

TEST_WITH(values_are_compared_before_they_are_set, setup, teardown)
{
    static const struct {
        const char *expected;
        const char *wanted;
        const char *answer;
        const char *value; /* afterwards */
    } steps[] = {
        {"x", "v", "x", ""},   {"", "v", "v", "v"}, {"w", "u", "v", "v"},
        {"vv", "u", "v", "v"}, {"", "u", "v", "v"}, {"v", "zz", "zz", "zz"},
    };
    fixture *self = *state;
    for (size_t i = 0; i < COUNT(steps); i++) {
        begin(self, COMPARE_SET);
        add_text(self, "k");
        add_text(self, steps[i].expected);
        add_text(self, steps[i].wanted);
        pass_all(self, 0);
        expect_text(self, 0, steps[i].answer);
        expect_kept(self, "k", steps[i].value);
    }
    expect_keys(self, 1);
}

TEST_OF(several_keys_go_in_one_command, fixture *self, setup, teardown)
{
    begin(self, MULTI_SET);
    add_number(self, 2);
    add_text(self, "a");
    add_text(self, "2385");
    add_text(self, "b");
    add_text(self, "38");
    pass_all(self, 0);
    ask_names(self, 1, MULTI_GET, "b", "a");
    expect_text(self, 1, "38");
    expect_text(self, 1, "2385");
    ask_names(self, 1, CHECK, "a", "b");
    expect_byte(self, 1, 0);
    ask_names(self, 1, CHECK, "a", "c");
    expect_byte(self, 1, 1);
    ask_names(self, 1, CHECK, "c", "a");
    expect_byte(self, 1, 1);
}

TEST_OF(values_wait_in_queues, fixture *self, setup, teardown)
{
    ask(self, 0, QUEUED, "q", NULL);
    expect_number(self, 0, 0);
    ask(self, 0, POP, "q", NULL);
    expect_number(self, 0, 0);
    ask(self, 0, PUSH, "q", "ab");
    ask(self, 1, PUSH, "q", "cde");
    ask(self, 2, QUEUED, "q", NULL);
    expect_number(self, 2, 2);
    ask(self, 2, POP, "q", NULL);
    expect_number(self, 2, 2);
    expect_text(self, 2, "ab");
    ask(self, 1, POP, "q", NULL);
    expect_number(self, 1, 1);
    expect_text(self, 1, "cde");
    ask(self, 1, POP, "q", NULL);
    expect_number(self, 1, 0);
    expect_nothing(self, 1);
}

/* ---- waits ---- */

TEST_OF(clients_wait_for_keys, fixture *self, setup, teardown)
{
    ask_names(self, 0, WAIT, "a", "b");
    assert_int_equal(st_store_waiting(self->store), 1);
    ask(self, 1, SET, "b", "2385");
    expect_nothing(self, 0);
    ask_names(self, 1, WAIT, "a", NULL);
    assert_int_equal(st_store_waiting(self->store), 2);
    assert_false(st_store_all_wait(self->store, CLIENTS));
    ask_names(self, 2, WAIT, "never", NULL);
    assert_true(st_store_all_wait(self->store, CLIENTS));
    assert_false(st_store_all_wait(self->store, CLIENTS + 1));
    begin(self, CANCEL);
    pass_all(self, 2);
    expect_byte(self, 2, CANCELED);
    assert_int_equal(st_store_waiting(self->store), 2);
    ask(self, 2, SET, "a", "38");
    expect_byte(self, 0, STOPPED);
    expect_byte(self, 1, STOPPED);
    expect_nothing(self, 2);
    assert_int_equal(st_store_waiting(self->store), 0);
    ask_names(self, 0, WAIT, "a", "b"); /* which are there */
    expect_byte(self, 0, STOPPED);
}

static void come_to_barrier(fixture *self, int client, int64_t world)
{
    begin(self, BARRIER);
    add_text(self, "all");
    add_number(self, world);
    pass_all(self, client);
}

TEST_OF(barriers_open_when_all_have_come, fixture *self, setup, teardown)
{
    for (int round = 0; round < 2; round++) {
        come_to_barrier(self, 0, CLIENTS);
        come_to_barrier(self, 1, CLIENTS);
        expect_nothing(self, 0);
        assert_int_equal(st_store_waiting(self->store), 2);
        come_to_barrier(self, 2, CLIENTS);
        for (int i = 0; i < CLIENTS; i++)
            expect_byte(self, i, STOPPED);
    }
    come_to_barrier(self, 0, 1); /* of one */
    expect_byte(self, 0, STOPPED);
}

/* What nobody sets gets 128 letters that follow from the name. */
TEST_OF(keys_are_stood_in_for, fixture *self, setup, teardown)
{
    char value[2][128];
    ask(self, 2, SET, "there", "38");
    ask_names(self, 0, WAIT, "there", "id/0");
    ask_names(self, 1, WAIT, "id/1", "id/0");
    st_store_stand_in(self->store);
    expect_byte(self, 0, STOPPED);
    expect_byte(self, 1, STOPPED);
    assert_int_equal(st_store_stood_in(self->store), 2);
    expect_kept(self, "there", "38");
    for (int i = 0; i < 2; i++) {
        ask(self, i, GET, i == 0 ? "id/0" : "id/1", NULL);
        expect_number(self, i, 128);
        assert_int_equal(recv(self->files[i], value[i], 128, MSG_DONTWAIT), 128);
        for (size_t k = 0; k < 128; k++)
            assert_in_range(value[i][k], 'a', 'z');
    }
    assert_memory_not_equal(value[0], value[1], 128);
    come_to_barrier(self, 0, CLIENTS);
    come_to_barrier(self, 1, CLIENTS);
    st_store_stand_in(self->store);
    expect_byte(self, 0, STOPPED);
    expect_byte(self, 1, STOPPED);
    assert_int_equal(st_store_stood_in(self->store), 3);
    st_store_stand_in(self->store); /* nobody waits */
    assert_int_equal(st_store_stood_in(self->store), 3);
}

/* ---- bytes ---- */

TEST_WITH(commands_come_in_any_pieces, setup, teardown)
{
    static const char nonce[4] = {2, 3, 8, 5};
    fixture *self = *state;
    begin(self, SET);
    add_text(self, "a");
    add_text(self, "2385");
    begin(self, GET);
    add_text(self, "a");
    for (size_t i = 0; i < self->out.length; i++) {
        expect_nothing(self, 0);
        pass(self, 0, i, 1);
    }
    expect_text(self, 0, "2385");
    pass_all(self, 0); /* both at once */
    expect_text(self, 0, "2385");
    begin(self, PING);
    st_buffer_append(&self->out, nonce, sizeof nonce);
    begin(self, PING);
    st_buffer_append(&self->out, nonce, 3);
    pass_all(self, 1);
    expect_raw(self, 1, nonce, sizeof nonce);
    expect_nothing(self, 1);
}

TEST_WITH(what_speaks_something_else_is_cut_off, setup, teardown)
{
    static const uint32_t magic = UINT32_C(0x3c85f7ce);
    fixture *self = *state;
    begin(self, VALIDATE);
    st_buffer_append(&self->out, (const char *)&magic, sizeof magic);
    begin(self, COUNT_KEYS);
    pass_all(self, 0);
    expect_number(self, 0, 0);
    begin(self, COMMANDS);
    pass_all(self, 0);
    expect_closed(self, 0);
    begin(self, VALIDATE);
    st_buffer_append(&self->out, "2385", 4);
    pass_all(self, 1);
    expect_closed(self, 1);
    expect_keys(self, 0);
    assert_false(st_store_all_wait(self->store, 1));
}

TEST_WITH(too_much_is_cut_off, setup, teardown)
{
    static const struct {
        command kind;
        int64_t number;
    } most[] = {{GET, MOST_BYTES}, {CHECK, 1 << 20}, {MULTI_SET, 1 << 20}};
    for (size_t i = 0; i < COUNT(most); i++) {
        fixture *self = *state;
        begin(self, most[i].kind);
        add_number(self, most[i].number);
        pass_all(self, 0);
        expect_nothing(self, 0); /* the rest may come */
        begin(self, most[i].kind);
        add_number(self, most[i].number + 1);
        pass_all(self, 1);
        expect_closed(self, 1);
        if (i + 1 < COUNT(most)) {
            assert_int_equal(teardown(state), 0);
            assert_int_equal(setup(state), 0);
        }
    }
}

/* PyTorch's first rank waits until "init/" is as many as there are ranks. */
TEST_OF(absent_ranks_count_as_come_once, fixture *self, setup, teardown)
{
    static const char *const names[] = {"inits", "init/", "init/"};
    static const int64_t come[] = {1, 18, 19};
    for (size_t i = 0; i < COUNT(names); i++) {
        begin(self, ADD);
        add_text(self, names[i]);
        add_number(self, 1);
        pass_all(self, 0);
        expect_number(self, 0, come[i]);
    }
}

TEST_OF(ports_are_taken_once, fixture *self, setup, teardown)
{
    st_store *second = NULL;
    assert_int_equal(st_store_open(st_store_port(self->store), 0, &second, self->errors),
                     ST_ERR_IO);
    assert_contains(said(self->errors), "cannot listen on port");
    assert_null(second);
}

TESTS(tcp_store);
