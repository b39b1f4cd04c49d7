/* SPDX-License-Identifier: Apache-2.0 */
/* Plugins in processes of their own: calls over shared memory, and descriptors that cross. */
#include "base_support.h"

#include "plugin/isolate.h"
#include "plugin/module.h"

#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <unistd.h>

enum { STRETCH, CRASH, LEAVE, LOOP, STOP, CLAIM };

/* ---- calls ----------------------------------------------------------------------------------- */

static void serve(void *context, st_remote_lane *lane)
{
    (void)context;
    switch (lane->kind) {
    case STRETCH:
        for (size_t i = 0; i < lane->rows; i++)
            lane->values[i] = 2.385 * lane->columns[1][i] + lane->provider;
        lane->result = 23;
        break;
    case CRASH:
        (void)raise(SIGUSR2);
        break;
    case LEAVE:
        _exit(0);
    case STOP:
        (void)raise(SIGSTOP);
        break;
    case CLAIM:
        lane->walls = UINT32_MAX;
        lane->text_length = UINT32_MAX;
        lane->state = 0;
        lane->more = 0;
        lane->result = 23;
        break;
    default:
        for (;;)
            (void)pause();
    }
}

static st_remote *start(unsigned limit_ms)
{
    static char reason[ST_REMOTE_TEXT];
    const st_remote_server server = {.serve = serve, .limit_ms = limit_ms};
    st_remote *remote = st_remote_start(&server, reason);
    if (remote == NULL)
        fail_msg("%s", reason);
    return remote;
}

static bool ask(st_remote *remote, uint32_t kind, double value, double *answer)
{
    st_remote_lane *lane = st_remote_take(remote);
    lane->kind = kind;
    lane->provider = 7;
    lane->rows = 2;
    lane->columns[1][1] = value;
    bool answered = st_remote_ask(remote, lane);
    if (answered) {
        assert_int_equal(lane->result, 23);
        *answer = lane->values[1];
    }
    st_remote_give(remote, lane);
    return answered;
}

TEST(calls_are_answered)
{
    double answer = 0;
    (void)state;
    st_remote *remote = start(20000);
    for (int i = 0; i < 40; i++) { /* more than there are lanes */
        assert_true(ask(remote, STRETCH, 1.5 + i, &answer));
        assert_same_double(answer, 2.385 * (1.5 + i) + 7);
    }
    assert_string_equal(st_remote_reason(remote), "");
    st_remote_lane *one = st_remote_take(remote);
    st_remote_give(remote, one);
    assert_ptr_equal(st_remote_take(remote), one); /* what is given back is there again */
    st_remote_stop(remote);
    st_remote_stop(NULL);
}

/* The first end is the one that is told, and nothing is asked of a process that is no more. */
TEST(ends_are_told_with_their_reason)
{
    static const struct {
        uint32_t kind;
        const char *reason;
    } cases[] = {{CRASH, "it crashed: signal 12 ("},
                 {LEAVE, "it ended its process"},
                 {LOOP, "it did not answer within 0.25 s"},
                 {STOP, "it stopped its process"}};
    double answer = 0;
    (void)state;
    for (size_t i = 0; i < COUNT(cases); i++) {
        st_remote *remote = start(cases[i].kind == LOOP ? 250 : 20000);
        assert_false(ask(remote, cases[i].kind, 1, &answer));
        assert_int_equal(
            strncmp(st_remote_reason(remote), cases[i].reason, strlen(cases[i].reason)), 0);
        assert_false(ask(remote, STRETCH, 1, &answer));
        assert_int_equal(
            strncmp(st_remote_reason(remote), cases[i].reason, strlen(cases[i].reason)), 0);
        st_remote_stop(remote);
    }
}

typedef struct asking {
    st_remote *remote;
    double answer;
} asking;

static void *ask_there(void *context)
{
    asking *self = context;
    if (!ask(self->remote, STRETCH, 1.5, &self->answer))
        self->answer = -1;
    return NULL;
}

/* Another lane is served once the first is taken, by a thread that did not exist before. */
TEST(lanes_are_served_when_they_are_needed)
{
    pthread_t thread;
    double answer = 0;
    (void)state;
    if (sysconf(_SC_NPROCESSORS_ONLN) < 2)
        skip();
    asking other = {.remote = start(20000)};
    st_remote_lane *first = st_remote_take(other.remote);
    assert_int_equal(pthread_create(&thread, NULL, ask_there, &other), 0);
    while (first->more == 0)
        (void)sched_yield();
    first->kind = STRETCH;
    assert_true(st_remote_ask(other.remote, first)); /* starts the next one */
    assert_int_equal(pthread_join(thread, NULL), 0);
    assert_same_double(other.answer, 2.385 * 1.5 + 7);
    st_remote_give(other.remote, first);
    assert_true(ask(other.remote, STRETCH, 1.5, &answer));
    st_remote_stop(other.remote);
}

/* A process cannot claim walls that it does not have, which are read before it is asked for
 * anything, nor that nobody serves its lanes. */
TEST(claims_change_nothing)
{
    double answer = 0;
    (void)state;
    st_remote *remote = start(20000);
    const unsigned walls = st_remote_walls(remote);
    for (int i = 0; i < 2; i++)
        assert_true(ask(remote, CLAIM, 1, &answer));
    assert_int_equal(st_remote_walls(remote), walls);
    assert_true(walls < UINT32_MAX);
    st_remote_stop(remote);
}

static st_remote *make_one(void *context)
{
    unsigned *made = context;
    (*made)++;
    return start(20000);
}

TEST(keys_share_a_process_that_lives)
{
    unsigned made = 0;
    double answer = 0;
    (void)state;
    st_remote *one = st_remote_share("a 2385", make_one, &made);
    assert_ptr_equal(st_remote_share("a 2385", make_one, &made), one);
    assert_int_equal(made, 1);
    st_remote *other = st_remote_share("b 2385", make_one, &made);
    assert_ptr_not_equal(other, one);
    st_remote_stop(one);
    assert_true(ask(one, STRETCH, 1, &answer)); /* has a user */
    assert_false(ask(one, LEAVE, 1, &answer));
    st_remote *next = st_remote_share("a 2385", make_one, &made);
    assert_ptr_not_equal(next, one);
    assert_int_equal(made, 3);
    st_remote_stop(one);
    st_remote_stop(next);
    st_remote_stop(other);
}

/* ---- descriptors ----------------------------------------------------------------------------- */

static int evaluate(void *instance, size_t rows, const double *const *columns, double *values)
{
    (void)instance;
    (void)columns;
    for (size_t row = 0; row < rows; row++)
        values[row] = 2.385;
    return ST_PLUGIN_OK;
}

static int explain(void *instance, const double *const *columns, const st_plugin_sink *sink)
{
    (void)instance;
    (void)columns;
    (void)sink;
    return ST_PLUGIN_OK;
}

static const st_plugin_option rate = {.struct_size = sizeof rate,
                                      .kind = ST_PLUGIN_NUMBER,
                                      .flags = ST_PLUGIN_CALIBRATED,
                                      .name = "rate",
                                      .unit = "GB/s",
                                      .default_text = "23.85 GB/s",
                                      .minimum = 2.385e6,
                                      .maximum = 7.1e12,
                                      .doc = "of a link",
                                      .cite = "a table"};
static const st_plugin_option way = {.struct_size = sizeof way,
                                     .kind = ST_PLUGIN_CHOICE,
                                     .name = "way",
                                     .choices = "ring tree",
                                     .default_text = "tree"};
static const st_plugin_option *const options[] = {&rate, &way};
static const st_plugin_argument size = {
    .struct_size = sizeof size, .name = "size", .unit = "MB", .doc = "message"};
static const st_plugin_argument rail = {
    .struct_size = sizeof rail, .flags = ST_PLUGIN_OPTIONAL, .name = "rail", .unit = ""};
static const st_plugin_argument *const arguments[] = {&size, &rail};
static const st_plugin_provider reduce = {.struct_size = sizeof reduce,
                                          .flags = ST_PLUGIN_COLLECTIVE,
                                          .name = "all_reduce",
                                          .unit = "us",
                                          .doc = "a time",
                                          .cite = "a paper",
                                          .arguments = arguments,
                                          .argument_count = COUNT(arguments),
                                          .evaluate = evaluate,
                                          .explain = explain};
static const st_plugin_provider gather = {
    .struct_size = sizeof gather, .name = "all_gather", .unit = "ms", .evaluate = evaluate};
static const st_plugin_provider *const providers[] = {&reduce, &gather};
static const st_plugin_schedule waves = {
    .struct_size = sizeof waves, .flags = ST_PLUGIN_CHUNKED, .name = "waves", .doc = "an order"};
static const st_plugin_schedule *const schedules[] = {&waves};
static const st_plugin described = {.struct_size = sizeof described,
                                    .abi = ST_PLUGIN_ABI,
                                    .id = "far-off",
                                    .version = "2.3.85",
                                    .licence = "Apache-2.0",
                                    .summary = "crosses a border",
                                    .options = options,
                                    .option_count = COUNT(options),
                                    .providers = providers,
                                    .provider_count = COUNT(providers),
                                    .schedules = schedules,
                                    .schedule_count = COUNT(schedules)};

/* NULL and "" are two things. */
static void assert_same_text(const char *text, const char *expected)
{
    assert_true((text == NULL) == (expected == NULL));
    if (text != NULL)
        assert_string_equal(text, expected);
}

static void expect_options(const st_plugin *shown)
{
    assert_int_equal(shown->option_count, COUNT(options));
    for (size_t i = 0; i < COUNT(options); i++) {
        const st_plugin_option *option = shown->options[i];
        assert_int_equal(option->struct_size, sizeof *option);
        assert_int_equal(option->kind, options[i]->kind);
        assert_int_equal(option->flags, options[i]->flags);
        assert_same_text(option->name, options[i]->name);
        assert_same_text(option->unit, options[i]->unit);
        assert_same_text(option->choices, options[i]->choices);
        assert_same_text(option->default_text, options[i]->default_text);
        assert_same_double(option->minimum, options[i]->minimum);
        assert_same_double(option->maximum, options[i]->maximum);
        assert_same_text(option->doc, options[i]->doc);
        assert_same_text(option->cite, options[i]->cite);
    }
}

static void expect_providers(const st_plugin *shown)
{
    double value = 2.385;
    assert_int_equal(shown->provider_count, COUNT(providers));
    for (size_t i = 0; i < COUNT(providers); i++) {
        const st_plugin_provider *provider = shown->providers[i];
        assert_int_equal(provider->struct_size, sizeof *provider);
        assert_int_equal(provider->flags, providers[i]->flags);
        assert_same_text(provider->name, providers[i]->name);
        assert_same_text(provider->unit, providers[i]->unit);
        assert_same_text(provider->doc, providers[i]->doc);
        assert_same_text(provider->cite, providers[i]->cite);
        /* The code stays where it was. */
        assert_int_equal(provider->evaluate(NULL, 1, NULL, &value), ST_PLUGIN_FAILED);
        assert_true((provider->explain == NULL) == (providers[i]->explain == NULL));
        if (provider->explain != NULL)
            assert_int_equal(provider->explain(NULL, NULL, NULL), ST_PLUGIN_FAILED);
        assert_int_equal(provider->argument_count, providers[i]->argument_count);
        for (size_t k = 0; k < provider->argument_count && k < COUNT(arguments); k++) {
            assert_int_equal(provider->arguments[k]->flags, arguments[k]->flags);
            assert_same_text(provider->arguments[k]->name, arguments[k]->name);
            assert_same_text(provider->arguments[k]->unit, arguments[k]->unit);
            assert_same_text(provider->arguments[k]->doc, arguments[k]->doc);
        }
    }
}

TEST(descriptors_cross_a_border)
{
    st_buffer sent = {0};
    st_arena *arena = st_arena_create();
    (void)state;
    st_isolate_put(&described, &sent);
    const st_plugin *shown = st_isolate_take(sent.data, sent.length, arena);
    assert_non_null(shown);
    assert_int_equal(shown->struct_size, sizeof *shown);
    assert_int_equal(shown->abi, ST_PLUGIN_ABI);
    assert_string_equal(shown->id, "far-off");
    assert_string_equal(shown->version, "2.3.85");
    assert_string_equal(shown->licence, "Apache-2.0");
    assert_string_equal(shown->summary, "crosses a border");
    expect_options(shown);
    expect_providers(shown);
    assert_int_equal(shown->schedule_count, 1);
    assert_int_equal(shown->schedules[0]->flags, ST_PLUGIN_CHUNKED);
    assert_string_equal(shown->schedules[0]->name, "waves");
    assert_string_equal(shown->schedules[0]->doc, "an order");
    assert_int_equal(shown->schedules[0]->order(NULL, NULL, NULL), ST_PLUGIN_FAILED);
    st_buffer_free(&sent);
    st_arena_destroy(arena);
}

/* Nothing that is cut off or has a broken count is a descriptor. */
TEST(broken_descriptors_are_none)
{
    st_buffer sent = {0};
    (void)state;
    st_isolate_put(&described, &sent);
    for (size_t length = 0; length < sent.length; length++) {
        st_arena *arena = st_arena_create();
        assert_null(st_isolate_take(sent.data, length, arena));
        st_arena_destroy(arena);
    }
    st_buffer_free(&sent);
}

TESTS(remote);
