/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The sheet ddp against Li et al. and docs/ddp.md written out in C, over random jobs. What it asks
 * of a list of layers is answered by the test, with every argument in the answer.
 */
#include "sheet_bench.h"

enum { JOBS = 400, OPEN = 10 };

static const double MIB = 1048576;

/* Inputs by their keys, in base units. */
enum {
    BATCH,
    TOKENS,
    RANKS,
    NODES,
    PER_NODE,
    PEAK,
    SHARE,
    RATE,
    START,
    FIRST,
    CAP,
    WIDTH,
    SLOW,
    UPDATE,
    MEMORY
};
static const char *const keys[] = {"batch.micro",
                                   "batch.sequence",
                                   "parallel.dp",
                                   "cluster.nodes",
                                   "cluster.gpus_per_node",
                                   "cluster.gpu.peak_fp16",
                                   "cluster.gpu_utilization",
                                   "cluster.bandwidth.dp",
                                   "constants.all_reduce_start",
                                   "constants.bucket_first",
                                   "constants.bucket",
                                   "constants.gradient_width",
                                   "constants.overlap_slowdown",
                                   "constants.update_traffic",
                                   "cluster.gpu.memory_bandwidth"};
enum { KEYS = sizeof keys / sizeof keys[0] };

/* ---- what a list of layers answers ---- */

enum { COUNT, FLOP, BUCKETS, LARGEST, BETWEEN, SIZE, TOTAL, EXPOSED, PRICE, FACTOR };
enum { ARGUMENTS = 30, SIZES = 24, RUN_OWN = 5 };

#define SIX "s", "s", "s", "s", "s", "s"
#define RUN                                                                                        \
    {                                                                                              \
        "B", "B", "B", "s", "1", SIX, SIX, SIX, SIX                                                \
    }

static const struct open_function {
    const char *name;
    const char *unit;
    const char *arguments[ARGUMENTS];
} opened[OPEN] = {
    {"parameter_count", "1", {NULL}},
    {"forward_flop", "FLOP", {"1"}},
    {"bucket_count", "1", {"B", "B", "B"}},
    {"bucket_largest", "B", {"B", "B", "B"}},
    {"buckets_between", "1", {"B", "B", "B", "B", "B"}},
    {"bucket_size", "B", {"B", "B", "B", "1"}},
    {"bucket_total", "s", RUN},
    {"bucket_exposed", "s", RUN},
    {"bucket_price", "s", RUN},
    {"slowdown_step", "1", {"B", "1"}},
};

/* Each time counts differently, so that none is taken for another. */
static double weigh(const double *times)
{
    double sum = 0;
    for (size_t i = 0; i < SIZES; i++)
        sum += (double)(i + 1) * times[i];
    return sum;
}

static double answer(int function, const double *a)
{
    switch (function) {
    case COUNT:
        return 23850000;
    case FLOP:
        return 3.7e9 * a[0];
    case BUCKETS:
        return 2 + 1e8 / (a[1] + 0.3 * a[0]) / a[2];
    case LARGEST:
        return 1.3 * a[1] + 0.7 * a[0] + 9 * a[2];
    case BETWEEN: /* some in every range */
        return 0.01 + (a[0] + 2 * a[1] + 3 * a[2] + 5 * a[3] + 7 * a[4]) / (2000 * MIB);
    case FACTOR:
        return 0.6 * a[1] + a[0] / (a[0] + 1e7);
    case SIZE: /* seventeen of them */
        return a[3] <= 17 ? a[3] * (a[0] + 0.01 * a[1] + a[2]) : 0;
    default:
        return (function == PRICE ? 0.11 : 0.03) * a[3] +
               1e-6 * (a[0] / a[1] + 1e-3 * a[2]) * a[4] +
               (function == TOTAL ? 1 : 0.3) * weigh(a + RUN_OWN);
    }
}

static st_status evaluate(void *self, size_t rows, const double *const *arguments, double *values)
{
    int function = *(const int *)self;
    for (size_t row = 0; row < rows; row++) {
        double a[ARGUMENTS];
        for (size_t i = 0; opened[function].arguments[i] != NULL; i++)
            a[i] = arguments[i][row];
        values[row] = answer(function, a);
    }
    return ST_OK;
}

static void compile(bench *b)
{
    static int functions[OPEN];
    st_provider *providers = st_arena_alloc(b->arena, OPEN, sizeof *providers);
    const st_provider *pointers[OPEN];
    assert_non_null(providers);
    for (int i = 0; i < OPEN; i++) {
        size_t count = 0;
        st_unit *units = st_arena_alloc(b->arena, ARGUMENTS, sizeof *units);
        assert_non_null(units);
        for (; opened[i].arguments[count] != NULL; count++)
            units[count] = unit(opened[i].arguments[count]);
        functions[i] = i;
        providers[i] = (st_provider){.name = opened[i].name,
                                     .source = "test",
                                     .argument_units = units,
                                     .argument_count = count,
                                     .unit = unit(opened[i].unit),
                                     .evaluate = evaluate,
                                     .self = &functions[i]};
        pointers[i] = &providers[i];
    }
    compile_with(b, pointers, OPEN);
}

/* ---- jobs ---- */

static double wide(property_random *random, double low, double high)
{
    return low * pow(high / low, random_unit_interval(random));
}

static void draw_job(property_random *random, double *job)
{
    job[BATCH] = random_between(random, 1, 300);
    job[TOKENS] = random_between(random, 1, 500);
    job[RANKS] = random_between(random, 1, random_below(random, 2) == 0 ? 2 : 300);
    job[NODES] = random_between(random, 1, 40);
    job[PER_NODE] = random_between(random, 1, 8);
    job[PEAK] = wide(random, 1e12, 1e15);
    job[SHARE] = wide(random, 0.1, 1);
    job[RATE] = wide(random, 1e8, 1e11);
    job[START] = wide(random, 1e-6, 1e-4);
    job[FIRST] = wide(random, 1e4, 1e8);
    job[CAP] = wide(random, 1e5, 1e9);
    job[WIDTH] = random_between(random, 1, 8);
    job[SLOW] = 1 + random_unit_interval(random);
    job[UPDATE] = random_between(random, 5, 50);
    job[MEMORY] = wide(random, 1e11, 5e12);
}

/* What no job has, as a choice of defaults, stays at its default. */
static void run_job(bench *b, const double *job)
{
    double values[4 * KEYS];
    size_t count = 0;
    const st_sheet_input *inputs = st_sheet_inputs(b->sheet, &count);
    assert_in_range(count, KEYS, 4 * KEYS);
    for (size_t i = 0; i < count; i++) {
        size_t k = 0;
        while (k < KEYS && strcmp(keys[k], inputs[i].from) != 0)
            k++;
        values[i] = k < KEYS ? job[k] : inputs[i].default_value;
    }
    assert_int_equal(st_program_run_one(b->program, b->workspace, values, b->outputs, NULL), ST_OK);
}

static void expect(const bench *b, const char *cell, double expected)
{
    double value = found(b, cell);
    if (fabs(value - expected) > 1e-11 * fabs(expected) + 1e-13)
        fail_msg("%s is %.17g, not %.17g (STEPTIME_SEED=%" PRIu64 ")", cell, value, expected,
                 b->random->seed);
}

/* ---- what is expected ---- */

static double expect_messages(const bench *b, const double *job)
{
    static const char *const ranges[] = {"messages_to_1MiB", "messages_to_10MiB",
                                         "messages_to_25MiB", "messages_to_50MiB",
                                         "messages_to_100MiB"};
    static const double ends[] = {0, 1, 10, 25, 50, 100};
    double count = answer(BUCKETS, &job[FIRST]);
    double rest = count;
    for (size_t i = 0; i < 5; i++) {
        const double a[] = {job[FIRST], job[CAP], job[WIDTH], ends[i] * MIB, ends[i + 1] * MIB};
        expect(b, ranges[i], answer(BETWEEN, a));
        rest -= answer(BETWEEN, a);
    }
    expect(b, "messages", count);
    expect(b, "messages_above_100MiB", rest);
    expect(b, "message_largest", answer(LARGEST, &job[FIRST]));
    return count;
}

/* Of every size of buckets the all-reduce on a ring, equation 4 of Li et al. with a start. */
static void expect_buckets(const bench *b, const double *job, double *times)
{
    double d = job[RANKS];
    for (int i = 0; i < SIZES; i++) {
        char name[32];
        double bytes =
            answer(SIZE, (const double[]){job[FIRST], job[CAP], job[WIDTH], (double)(i + 1)});
        times[i] = bytes > 0 && d > 1 ? job[START] + 2 * (d - 1) / d * bytes / job[RATE] : 0;
        snprintf(name, sizeof name, "bucket_bytes[k%d]", i + 1);
        expect(b, name, bytes);
        snprintf(name, sizeof name, "t_bucket[k%d]", i + 1);
        expect(b, name, times[i]);
    }
}

/* Equations 4 and 9 and appendix B of Li et al. */
static void expect_step(const bench *b, const double *job)
{
    double d = job[RANKS];
    double bytes = answer(COUNT, NULL) * job[WIDTH];
    double sent = bytes * 2 * (d - 1) / d;
    double forward = job[BATCH] * answer(FLOP, &job[TOKENS]) / (job[SHARE] * job[PEAK]);
    double update = answer(COUNT, NULL) * job[UPDATE] / job[MEMORY];
    double compute = 3 * forward + update;
    double count = expect_messages(b, job);
    double slow = answer(FACTOR, (const double[]){bytes / count, job[SLOW]});
    double slowed = fmax(slow, 1);
    double bucket[ARGUMENTS] = {job[FIRST], job[CAP], job[WIDTH], 2 * forward, 1};
    expect_buckets(b, job, bucket + RUN_OWN);
    double comm = d > 1 ? answer(TOTAL, bucket) : 0;
    bucket[4] = slowed;
    double exposed = d > 1 ? answer(EXPOSED, bucket) : 0;
    double price = d > 1 ? answer(PRICE, bucket) : 0;
    double step = compute + price + exposed;
    expect(b, "dp_sent", sent);
    expect(b, "message_bytes", bytes);
    expect(b, "slow", slow);
    expect(b, "slowed", slowed);
    expect(b, "T_forward", forward);
    expect(b, "T_passes", 3 * forward);
    expect(b, "T_update", update);
    expect(b, "T_comm", comm);
    expect(b, "T_exposed", exposed);
    expect(b, "T_hidden", comm - exposed);
    expect(b, "T_slowdown", price);
    expect(b, "step_time", step);
    expect(b, "R_comm", comm / step);
    expect(b, "R_exposed", exposed / step);
    expect(b, "overlap", d > 1 ? 1 - exposed / comm : 0);
    expect(b, "scaling", compute / step);
    expect(b, "samples_per_s", job[BATCH] * d / step);
}

static void steps_are_those_of_the_equations(void **state)
{
    bench b;
    double job[KEYS];
    open_bench(&b, "ddp", *state);
    compile(&b);
    for (int i = 0; i < JOBS; i++) {
        draw_job(*state, job);
        run_job(&b, job);
        expect_step(&b, job);
    }
    close_bench(&b);
}

/* docs/ddp.md: buckets of PyTorch; gradients in fp32; weight, gradient and momentum of SGD moved.
 */
static void defaults_are_those_of_the_page(void **state)
{
    static const struct {
        size_t key;
        double value;
    } cases[] = {{TOKENS, 1}, {START, 20e-6}, {FIRST, 1048576}, {CAP, 25 * 1048576.0},
                 {WIDTH, 4},  {SLOW, 1},      {UPDATE, 5 * 4}};
    bench b;
    size_t count = 0;
    size_t seen = 0;
    open_bench(&b, "ddp", *state);
    compile(&b);
    const st_sheet_input *inputs = st_sheet_inputs(b.sheet, &count);
    for (size_t i = 0; i < count; i++)
        for (size_t k = 0; k < sizeof cases / sizeof cases[0]; k++) {
            if (strcmp(inputs[i].from, keys[cases[k].key]) != 0)
                continue;
            assert_true(inputs[i].has_default);
            assert_true(fabs(inputs[i].default_value - cases[k].value) <= 1e-12 * cases[k].value);
            seen++;
        }
    assert_int_equal(seen, sizeof cases / sizeof cases[0]);
    close_bench(&b);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(steps_are_those_of_the_equations),
                                       cmocka_unit_test(defaults_are_those_of_the_page)};
    return cmocka_run_group_tests(tests, property_setup, NULL);
}
