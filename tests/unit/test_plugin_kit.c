/* SPDX-License-Identifier: Apache-2.0 */
/* What the conformance kit tries plugins with, seen from inside of one; and texts between them. */
#include "base_support.h"

#include "plugin/kit/kit_rows.h"
#include "plugin/kit/kit_schedules.h"
#include "plugin/ipc.h"

/* ---- rows ------------------------------------------------------------------------------------ */

typedef struct column {
    const char *name;
    const char *unit;
    uint32_t flags;
} column;

enum { MOST_COLUMNS = 12 };

typedef struct reader {
    st_module_provider provider;
    st_plugin_argument arguments[MOST_COLUMNS];
    st_unit units[MOST_COLUMNS];
} reader;

static void make_reader(const column *columns, size_t count, reader *made)
{
    *made = (reader){.provider = {.shown = {.argument_count = count},
                                  .arguments = made->arguments,
                                  .argument_units = made->units}};
    for (size_t i = 0; i < count; i++) {
        made->arguments[i] = (st_plugin_argument){
            .name = columns[i].name, .unit = columns[i].unit, .flags = columns[i].flags};
        made->units[i] = unit_of(columns[i].unit);
    }
}

TEST(rows_are_those_of_clusters)
{
    static const column columns[] = {{"ranks", "1", 0},
                                     {"per_node", "1", 0},
                                     {"nodes", "1", 0},
                                     {"cluster.gpus_per_node", "1", 0},
                                     {"bandwidth", "GB/s", 0},
                                     {"peak", "TFLOP/s", 0},
                                     {"latency", "us", 0},
                                     {"work", "FLOP", 0},
                                     {"weights", "GB", 0},
                                     {"size", "MB", 0},
                                     {"rails", "1", ST_PLUGIN_OPTIONAL}};
    /* Nine messages to a group of 1, 2, 4, 8, 16, 32, 128 and 512 ranks. */
    static const struct {
        size_t row;
        double values[COUNT(columns)];
    } cases[] = {
        {0, {1, 1, 1, 8, 3.3e11, 4.1e14, 2.385e-5, 7.5e12, 2.5e8, 1, 2}},
        {19, {4, 4, 1, 8, 3.3e11, 4.1e14, 2.385e-5, 7.5e12, 2.5e8, 48, 2}},
        {11, {2, 2, 1, 8, 3.3e11, 4.1e14, 2.385e-5, 7.5e12, 2.5e8, 4096, 2}},
        {12, {2, 2, 1, 8, 3.3e11, 4.1e14, 2.385e-5, 7.5e12, 2.5e8, 65536, 2}},
        {31, {8, 8, 1, 8, 3.3e11, 4.1e14, 2.385e-5, 7.5e12, 2.5e8, 1048576, 2}},
        {41, {16, 8, 2, 8, 4.5e10, 4.1e14, 2.385e-5, 7.5e12, 2.5e8, 5.5e6, 2}},
        {51, {32, 8, 4, 8, 4.5e10, 4.1e14, 2.385e-5, 7.5e12, 2.5e8, 6.7e7, 2}},
        {61, {128, 8, 16, 8, 4.5e10, 4.1e14, 2.385e-5, 7.5e12, 2.5e8, 1.25e9, 2}},
        {71, {512, 8, 64, 8, 4.5e10, 4.1e14, 2.385e-5, 7.5e12, 2.5e8, 1.7e10, 2}},
    };
    reader made;
    st_kit_rows rows;
    st_arena *arena = st_arena_create();
    (void)state;
    make_reader(columns, COUNT(columns), &made);
    assert_true(st_kit_fill(&made.provider, true, arena, &rows));
    assert_int_equal(rows.count, 72);
    assert_int_equal(rows.columns, COUNT(columns));
    assert_int_equal(rows.ranks, 0);
    assert_int_equal(rows.bandwidth, 4);
    assert_int_equal(rows.size, 9);
    for (size_t i = 0; i < COUNT(cases); i++)
        for (size_t j = 0; j < COUNT(columns); j++) {
            assert_same_double(rows.values[j][cases[i].row], cases[i].values[j]);
            assert_ptr_equal(rows.given[j], rows.values[j]);
        }
    assert_true(st_kit_fill(&made.provider, false, arena, &rows));
    for (size_t j = 0; j < COUNT(columns); j++)
        assert_true((rows.given[j] == NULL) == (j == 10));
    assert_non_null(rows.values[10]);
    st_arena_destroy(arena);
}

/* Names alone do not make a column the message or the bandwidth, the first one in bytes does. */
TEST(columns_are_found_by_name_and_unit)
{
    static const column odd[] = {
        {"bandwidth", "1", 0}, {"size", "1", 0}, {"volume", "kB", 0}, {"pad", "B", 0}};
    static const column bare[] = {{"tokens", "1", 0}, {"rate", "B/s", 0}};
    reader made;
    st_kit_rows rows;
    st_arena *arena = st_arena_create();
    (void)state;
    make_reader(odd, COUNT(odd), &made);
    assert_true(st_kit_fill(&made.provider, true, arena, &rows));
    assert_int_equal(rows.size, 2);
    assert_true(rows.ranks == SIZE_MAX);
    assert_true(rows.bandwidth == SIZE_MAX);
    assert_same_double(rows.values[2][70], 1.25e9);
    assert_same_double(rows.values[3][70], 2.5e8);
    make_reader(bare, COUNT(bare), &made);
    assert_true(st_kit_fill(&made.provider, true, arena, &rows));
    assert_true(rows.size == SIZE_MAX);
    assert_same_double(rows.values[0][70], 2);
    assert_same_double(rows.values[1][70], 4.5e10);
    st_arena_destroy(arena);
}

/* ---- schedules ------------------------------------------------------------------------------- */

/* What a schedule does that is all forward, then all backward. */
typedef enum deed {
    DEED_NONE,
    DEED_TURN_MICROS, /* every second order has its micro-batches turned round */
    DEED_TURN_CHUNKS, /* every second order has the chunks of its forward passes mixed */
    DEED_SPLIT,       /* every second order parts the two kinds of gradients */
    DEED_LACK,        /* the last backward pass of the last stage is not there */
    DEED_REFUSE_FIVE, /* five stages */
    DEED_REFUSE_ALL,
    DEED_REFUSE_MUTE, /* five stages, without a reason */
} deed;

static struct {
    deed deed;
    size_t calls;
    size_t stages, micros, chunks; /* sums over all calls */
    bool times_differ;
    const st_plugin_host *host;
} seen;

static int open_plugin(const st_plugin_host *host, void **instance)
{
    seen.host = host;
    *instance = NULL;
    return ST_PLUGIN_OK;
}

static bool is_close(double value, double expected)
{
    return fabs(value - expected) < 1e-15;
}

static void look_at(const st_plugin_pipeline *pipeline)
{
    seen.stages += pipeline->stages;
    seen.micros += pipeline->micro_batches;
    seen.chunks += pipeline->chunks;
    for (uint32_t i = 0; i < pipeline->stages * pipeline->chunks; i++)
        if (!is_close(pipeline->forward_s[i], 2385e-9 + 17e-9 * i) ||
            !is_close(pipeline->backward_s[i], 2982e-9) || /* work and its collective */
            !is_close(pipeline->weights_s[i], 1234e-9))
            seen.times_differ = true;
    if (!is_close(pipeline->transfer_s, 37e-9))
        seen.times_differ = true;
}

static int forward(const st_plugin_pipeline *pipeline, uint32_t stage, bool mixed,
                   const st_plugin_order *order)
{
    int full = 0;
    uint32_t passes = pipeline->chunks * pipeline->micro_batches;
    for (uint32_t i = 0; i < passes; i++) {
        uint32_t chunk = mixed ? i % pipeline->chunks : i / pipeline->micro_batches;
        uint32_t micro = mixed ? i / pipeline->chunks : i % pipeline->micro_batches;
        full |= order->pass(order->context, stage, ST_PLUGIN_FORWARD, micro, chunk);
    }
    return full;
}

static int backward(const st_plugin_pipeline *pipeline, uint32_t stage, bool turned,
                    const st_plugin_order *order)
{
    int full = 0;
    uint32_t micros = pipeline->micro_batches;
    for (uint32_t i = 0; i < pipeline->chunks * micros; i++) {
        uint32_t chunk = pipeline->chunks - 1 - i / micros;
        uint32_t micro =
            turned && seen.deed == DEED_TURN_MICROS ? micros - 1 - i % micros : i % micros;
        bool last = stage + 1 == pipeline->stages && i + 1 == pipeline->chunks * micros;
        if (last && seen.deed == DEED_LACK)
            continue;
        if (turned && seen.deed == DEED_SPLIT) {
            full |= order->pass(order->context, stage, ST_PLUGIN_BACKWARD, micro, chunk);
            full |= order->pass(order->context, stage, ST_PLUGIN_WEIGHTS, micro, chunk);
        } else {
            full |= order->pass(order->context, stage, ST_PLUGIN_BOTH, micro, chunk);
        }
    }
    return full;
}

static int order_all(void *instance, const st_plugin_pipeline *pipeline,
                     const st_plugin_order *order)
{
    int full = 0;
    bool turned = seen.calls % 2 == 1;
    (void)instance;
    seen.calls++;
    look_at(pipeline);
    if (seen.deed == DEED_REFUSE_ALL || (seen.deed == DEED_REFUSE_FIVE && pipeline->stages == 5))
        return st_plugin_fail(seen.host, "not today");
    if (seen.deed == DEED_REFUSE_MUTE && pipeline->stages == 5)
        return ST_PLUGIN_FAILED;
    for (uint32_t stage = 0; stage < pipeline->stages; stage++) {
        full |= forward(pipeline, stage, turned && seen.deed == DEED_TURN_CHUNKS, order);
        full |= backward(pipeline, stage, turned, order);
    }
    return full != 0 ? ST_PLUGIN_FAILED : ST_PLUGIN_OK;
}

#define SCHEDULE(label, given_flags)                                                               \
    {                                                                                              \
        .struct_size = sizeof(st_plugin_schedule), .flags = (given_flags), .name = (label),        \
        .doc = "all forward, all backward", .order = order_all                                     \
    }

static const st_plugin_schedule plain = SCHEDULE("plain", 0);
static const st_plugin_schedule chunked = SCHEDULE("chunked", ST_PLUGIN_CHUNKED);
static const st_plugin_schedule *const schedules[] = {&plain, &chunked};

static const st_plugin described = {.struct_size = sizeof(st_plugin),
                                    .abi = ST_PLUGIN_ABI,
                                    .id = "kit-test",
                                    .version = "2.3.85",
                                    .licence = "Apache-2.0",
                                    .summary = "schedules for the kit",
                                    .open = open_plugin,
                                    .schedules = schedules,
                                    .schedule_count = COUNT(schedules)};

/* Has the kit try the first `count` schedules of a plugin that does `what`. */
static st_finding_kind try_schedules(deed what, size_t count, char *text, size_t size)
{
    st_arena *arena = st_arena_create();
    st_errors *errors = st_errors_create();
    st_plugin_module module = {.file = "f.so", .folder = "/", .who = "plugin 'kit-test'"};
    st_plugin_instance *instance = NULL;
    st_buffer found = {0};
    memset(&seen, 0, sizeof seen);
    seen.deed = what;
    assert_int_equal(st_module_describe(&module, &described, here, arena, errors), ST_OK);
    module.shown.schedule_count = count;
    assert_int_equal(st_plugin_open(&module, NULL, 0, here, &instance, errors), ST_OK);
    st_finding_kind kind = st_kit_schedules(instance, errors, &found);
    (void)snprintf(text, size, "%s", found.data != NULL ? found.data : "");
    st_plugin_close(instance);
    st_buffer_free(&found);
    st_errors_destroy(errors);
    st_arena_destroy(arena);
    return kind;
}

/* 1, 2, 4 and 5 stages (12 together) with 1, 3, 8 and 12 micro-batches (24), each asked twice. */
TEST(schedules_are_asked_for_every_shape)
{
    char text[256];
    (void)state;
    assert_int_equal(try_schedules(DEED_NONE, 0, text, sizeof text), ST_FINDING_SKIP);
    assert_int_equal(seen.calls, 0);
    assert_int_equal(try_schedules(DEED_NONE, 1, text, sizeof text), ST_FINDING_PASS);
    assert_string_equal(text, "");
    assert_int_equal(seen.calls, 2 * 16);
    assert_int_equal(seen.stages, 2 * 12 * 4);
    assert_int_equal(seen.micros, 2 * 24 * 4);
    assert_int_equal(seen.chunks, 2 * 16);
    assert_false(seen.times_differ);
    /* The second one has up to three chunks: 16 shapes with 1, 2 and 3 of them more. */
    assert_int_equal(try_schedules(DEED_NONE, 2, text, sizeof text), ST_FINDING_PASS);
    assert_int_equal(seen.calls, 2 * (16 + 48));
    assert_int_equal(seen.stages, 2 * 12 * 4 * (1 + 3));
    assert_int_equal(seen.micros, 2 * 24 * 4 * (1 + 3));
    assert_int_equal(seen.chunks, 2 * 16 * (1 + 1 + 2 + 3));
    assert_false(seen.times_differ);
}

TEST(faults_of_schedules_are_found)
{
    static const struct {
        deed deed;
        size_t count;
        st_finding_kind kind;
        const char *text;
    } cases[] = {
        {DEED_TURN_MICROS, 1, ST_FINDING_FAIL, "plain: returns two orders for the same pipeline"},
        {DEED_TURN_CHUNKS, 1, ST_FINDING_PASS, ""},
        {DEED_TURN_CHUNKS, 2, ST_FINDING_FAIL, "chunked: returns two orders for the same pipeline"},
        {DEED_SPLIT, 1, ST_FINDING_FAIL, "plain: returns two orders for the same pipeline"},
        {DEED_REFUSE_FIVE, 2, ST_FINDING_PASS, ""},
        {DEED_REFUSE_ALL, 1, ST_FINDING_FAIL, "plain: refuses every pipeline"},
        {DEED_REFUSE_MUTE, 1, ST_FINDING_FAIL,
         "schedule 'plain' of plugin 'kit-test' refuses a pipeline (stages 5, micro-batches 1, "
         "chunks 1): no reason given"},
    };
    char text[512];
    (void)state;
    for (size_t i = 0; i < COUNT(cases); i++) {
        assert_int_equal(try_schedules(cases[i].deed, cases[i].count, text, sizeof text),
                         cases[i].kind);
        assert_string_equal(text, cases[i].text);
    }
    assert_int_equal(try_schedules(DEED_LACK, 2, text, sizeof text), ST_FINDING_FAIL);
    assert_contains(text, "schedule 'plain' of plugin 'kit-test' is not a valid step: ");
    assert_int_equal(seen.calls, 1);
}

/* ---- what one process tells another ---------------------------------------------------------- */

TEST(texts_and_numbers_come_back_as_they_were)
{
    static const double numbers[] = {2.385e-7, -0.0, 1e300, (double)INFINITY, 23.85};
    st_buffer sent = {0};
    (void)state;
    st_ipc_write(&sent, "a + b");
    st_ipc_write(&sent, "");
    st_ipc_write(&sent, NULL);
    st_ipc_write(&sent, "-");
    for (size_t i = 0; i < COUNT(numbers); i++)
        st_ipc_write_number(&sent, numbers[i]);
    st_ipc_reader from = {.at = sent.data, .end = sent.data + sent.length};
    assert_string_equal(st_ipc_read(&from), "a + b");
    assert_string_equal(st_ipc_read(&from), "");
    assert_null(st_ipc_read(&from));
    assert_string_equal(st_ipc_read(&from), "-");
    for (size_t i = 0; i < COUNT(numbers); i++)
        assert_same_double(st_ipc_read_number(&from), numbers[i]);
    assert_ptr_equal(from.at, from.end);
    assert_false(from.broken);
    assert_null(st_ipc_read(&from)); /* there is no more */
    assert_true(from.broken);
    st_buffer_free(&sent);
}

TEST(counts_are_whole_and_bounded)
{
    static const struct {
        double sent;
        size_t expected;
        bool broken;
    } cases[] = {
        {0, 0, false},          {7, 7, false}, {23, 23, false}, {24, 0, true},
        {22.5, 0, true},        {-1, 0, true}, {-0.5, 0, true}, {(double)INFINITY, 0, true},
        {NOT_A_NUMBER, 0, true}};
    (void)state;
    for (size_t i = 0; i < COUNT(cases); i++) {
        st_buffer sent = {0};
        st_ipc_write_number(&sent, cases[i].sent);
        st_ipc_reader from = {.at = sent.data, .end = sent.data + sent.length};
        assert_int_equal(st_ipc_read_count(&from, 23), cases[i].expected);
        assert_int_equal(from.broken, cases[i].broken);
        st_buffer_free(&sent);
    }
}

/* Once out of order, nothing more is taken. */
TEST(what_is_out_of_order_counts_for_nothing)
{
    static const char sign[] = "?text\0+more";
    static const char cut[] = {'+', 't', 'e', 'x', 't'};
    (void)state;
    st_ipc_reader from = {.at = sign, .end = sign + sizeof sign};
    assert_null(st_ipc_read(&from));
    assert_true(from.broken);
    from = (st_ipc_reader){.at = cut, .end = cut + sizeof cut};
    assert_null(st_ipc_read(&from));
    assert_true(from.broken);
    from = (st_ipc_reader){.at = sign + 6, .end = sign + sizeof sign, .broken = true};
    assert_null(st_ipc_read(&from));
    from.broken = false;
    assert_string_equal(st_ipc_read(&from), "more");
}

TESTS(plugin_kit);
