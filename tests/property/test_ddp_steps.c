/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The sheet ddp against Li et al. and docs/ddp.md written out in C, over random jobs. What it asks
 * of a list of layers is answered by the test, with every argument in the answer.
 */
#include "sheet_bench.h"

enum { JOBS = 600, OPEN = 24 };

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
    MEMORY,
    STAGES,
    GLOBAL,
    ZERO,
    STAGE_RATE,
    UNIT,
    GATHER,
    WEIGHT,
    STATE,
    VALUE,
    FRAMEWORK,
    FRAGMENTS,
    REACHED,
    LAUNCH,
    SLOWEST,
    JITTER
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
                                   "cluster.gpu.memory_bandwidth",
                                   "parallel.pp",
                                   "batch.global",
                                   "parallel.zero",
                                   "cluster.bandwidth.pp",
                                   "constants.shard_unit",
                                   "constants.gather_width",
                                   "constants.weight_memory",
                                   "constants.optimizer_memory",
                                   "constants.value_width",
                                   "constants.framework_memory",
                                   "constants.fragmentation",
                                   "constants.memory_efficiency",
                                   "constants.kernel_launch",
                                   "variance.slow",
                                   "variance.jitter"};
enum { KEYS = sizeof keys / sizeof keys[0] };

/* ---- what a list of layers answers ---- */

enum {
    COUNT,
    FLOP,
    BUCKETS,
    LARGEST,
    BETWEEN,
    SIZE,
    TOTAL,
    EXPOSED,
    PRICE,
    FACTOR,
    MOVED,
    KERNELS,
    KEPT,
    SHARDS,
    RUN_STAGES,
    PEAK_BYTES,
    OF_STAGE,
    OUTPUT,
    SHARE_OF,
    LARGEST_SHARE,
    PARAMETERS_OF,
    LAYERS,
    KEPT_BY,
    KEPT_MICROS
};
enum { ARGUMENTS = 31, SIZES = 24, RUN_OWN = 5 };

#define SIX "s", "s", "s", "s", "s", "s"
#define RUN                                                                                        \
    {                                                                                              \
        "B", "B", "B", "s", "1", SIX, SIX, SIX, SIX                                                \
    }

#define STAGE "1", "1", "1", "1", "1", "1", "1"

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
    {"moved_values", "1", {"1", "1"}},
    {"kernel_count", "1", {"1"}},
    {"kept_values", "1", {"1"}},
    {"shard_exposed", "s", {"B", "B", "s", "s", "1", "1", SIX, SIX, SIX, SIX}},
    {"stages_run", "s", {STAGE, "1", "s", "s", "s", "s"}},
    {"stage_peak", "B", {STAGE, "B", "B"}},
    {"stage_parameters", "1", {STAGE}},
    {"stage_output", "1", {STAGE, "1"}},
    {"stage_share", "1", {STAGE, "1"}},
    {"stage_largest", "1", {STAGE}},
    {"parameters_of", "1", {STAGE, "1"}},
    {"layer_count", "1", {NULL}},
    {"kept_by", "1", {STAGE, "1"}},
    {"kept_micros", "1", {STAGE, "1"}},
};

/* Each time counts differently, so that none is taken for another. */
static double weigh(const double *times)
{
    double sum = 0;
    for (size_t i = 0; i < SIZES; i++)
        sum += (double)(i + 1) * times[i];
    return sum;
}

static double answer_stages(int function, const double *a)
{
    double all = 1 + 0.1 * a[0] + 0.01 * a[1] + 0.7 * a[2] + 0.01 * a[5] + 0.02 * a[6];
    switch (function) {
    case RUN_STAGES:
        return all * (a[4] + a[3] - 1) / a[3] * (a[8] + 1.3 * a[9]) +
               a[7] * (1e6 * a[10] + a[3] * a[11]);
    case PEAK_BYTES:
        return all * (1e7 * a[7] / a[3] + 1e6 * a[8] * a[4]);
    case SHARE_OF:
        return 0.9 / a[3] * (1 + a[7]) * all;
    case PARAMETERS_OF:
        return 1.9e7 / a[3] * (1 + a[7]) * all;
    case LARGEST_SHARE:
        return 1.1 / a[3] * all;
    case KEPT_BY:
        return 2.9e5 / a[3] * (1 + a[7]) * all;
    case KEPT_MICROS:
        return (a[4] + a[3]) * (2.385 + a[7]) * all;
    case OF_STAGE:
        return 2.4e7 / a[3] * (1 + 0.1 * all);
    default:
        return 1e5 * all / (1 + a[7]);
    }
}

static double answer_layers(int function, const double *a)
{
    switch (function) {
    case MOVED:
        return 7e5 * a[0] * (1 - 0.4 * a[1]);
    case KERNELS:
        return 174 - 75 * a[0];
    case KEPT:
        return 3e5 * a[0];
    case LAYERS:
        return 54;
    case SHARDS:
        return 0.2 * a[2] + 0.1 * a[3] + (0.3 + a[4] + a[5]) * weigh(a + 6) + 1e-12 * a[0] / a[1];
    default:
        return answer_stages(function, a);
    }
}

static double answer(int function, const double *a)
{
    if (function >= MOVED)
        return answer_layers(function, a);
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
    job[STAGES] = random_below(random, 3) > 0 ? 1 : random_between(random, 2, 16);
    job[GLOBAL] =
        (double)random_below(random, 2) * job[BATCH] * job[RANKS] * random_between(random, 1, 40);
    job[ZERO] = (double)random_below(random, job[STAGES] > 1 ? 2 : 4);
    job[STAGE_RATE] = (double)random_below(random, 2) * wide(random, 1e8, 1e11);
    job[UNIT] = wide(random, 1e5, 1e9);
    job[GATHER] = random_between(random, 1, 8);
    job[WEIGHT] = random_between(random, 1, 8);
    job[STATE] = random_between(random, 1, 16);
    job[VALUE] = random_between(random, 1, 4);
    job[FRAMEWORK] = wide(random, 1e8, 1e10);
    job[FRAGMENTS] = 1 + random_unit_interval(random);
    job[REACHED] = (double)random_below(random, 2) * (0.3 + 0.7 * random_unit_interval(random));
    job[LAUNCH] = (double)random_below(random, 2) * wide(random, 1e-6, 1e-3);
    job[SLOWEST] = random_below(random, 2) == 0 ? 0 : 1 + random_unit_interval(random);
    job[JITTER] = (double)random_below(random, 2) * wide(random, 0.01, 0.2);
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

/* What a plan comes to: passes of all micro-batches of a GPU, and of one through all stages. */
typedef struct passes {
    double micros;
    double forward;
    double backward;
    double moved_share;
    double one_forward;
    double one_backward;
    double parameters; /* of the fullest stage */
    bool sharded;
    double gather[SIZES];
    double scatter;
} passes;

static passes expect_passes(const bench *b, const double *job)
{
    passes plan = {.micros = job[GLOBAL] > 0 ? job[GLOBAL] / (job[BATCH] * job[RANKS]) : 1,
                   .sharded = job[ZERO] >= 2 && job[RANKS] > 1};
    double share = plan.micros / job[STAGES];
    double products = share * job[BATCH] * answer(FLOP, &job[TOKENS]) / (job[SHARE] * job[PEAK]);
    double bytes = share * job[BATCH] * 7e5 * job[TOKENS] * job[VALUE];
    double moved = job[REACHED] > 0 ? bytes / (job[REACHED] * job[MEMORY]) : 0;
    plan.forward = fmax(products + moved, share * job[LAUNCH] * 174);
    plan.backward = 2 * plan.forward;
    plan.moved_share = moved / (products + moved);
    plan.one_forward = plan.forward / share;
    plan.one_backward = plan.backward / share;
    expect(b, "m", plan.micros);
    expect(b, "T_forward", plan.forward);
    expect(b, "T_passes", 3 * plan.forward);
    return plan;
}

/* Arguments that all functions over stages begin with. */
static void fill_stages(const double *job, const passes *plan, double *a)
{
    const double filled[] = {0, 0, plan->moved_share, job[STAGES], plan->micros, 0, job[TOKENS]};
    memcpy(a, filled, sizeof filled);
}

/* What a timeline lays out of the first stage; the slowest one's passes and what is beside them. */
static void expect_stage(const bench *b, const double *job, const passes *plan, double *a)
{
    bool stages = job[STAGES] > 1;
    double rate = job[STAGE_RATE] > 0 ? job[STAGE_RATE] : job[RATE];
    double all = plan->forward + plan->backward;
    a[7] = 0;
    double share = stages ? answer(SHARE_OF, a) : 1;
    double bytes = job[BATCH] * job[VALUE] * answer(OUTPUT, a);
    double slowest = stages ? job[STAGES] * answer(LARGEST_SHARE, a) * all : all;
    expect(b, "placed", stages ? 1 : -1);
    expect(b, "t_stage_forward", share * plan->one_forward);
    expect(b, "t_stage_backward", share * plan->one_backward);
    expect(b, "t_transfer", stages ? job[START] + bytes / rate : 0);
    expect(b, "T_slowest", slowest);
    expect(b, "T_others", all + found(b, "T_bubble") - slowest);
}

static double expect_pipeline(const bench *b, const double *job, passes *plan)
{
    double a[ARGUMENTS];
    double times[2];
    bool stages = job[STAGES] > 1;
    fill_stages(job, plan, a);
    plan->parameters = stages ? answer(OF_STAGE, a) : answer(COUNT, NULL);
    for (int sending = 0; sending < 2; sending++) {
        double rate = job[STAGE_RATE] > 0 ? job[STAGE_RATE] : job[RATE];
        const double more[] = {sending, plan->one_forward, plan->one_backward,
                               job[BATCH] * job[VALUE] / rate, job[START]};
        memcpy(a + 7, more, sizeof more);
        times[sending] = stages ? answer(RUN_STAGES, a) : plan->forward + plan->backward;
    }
    expect(b, "N_stage", plan->parameters);
    expect(b, "T_bubble", fmax(times[0] - plan->forward - plan->backward, 0));
    expect(b, "T_transfers", fmax(times[1] - times[0], 0));
    expect(b, "pp_sent",
           stages ? job[BATCH] * plan->micros * job[VALUE] * (a[7] = 0, answer(OUTPUT, a)) : 0);
    expect_stage(b, job, plan, a);
    return fmax(times[0], plan->forward + plan->backward) + fmax(times[1] - times[0], 0);
}

/* Zhao et al. sections 3.2 and 3.3: an all-gather each way, a reduce-scatter, ring by ring. */
static void expect_units(const bench *b, const double *job, passes *plan)
{
    double d = job[RANKS];
    double cap = job[UNIT] * job[GATHER];
    double largest = 0;
    double longest = 0;
    for (int i = 0; i < SIZES; i++) {
        double bytes =
            answer(SIZE, (const double[]){cap, cap, job[GATHER], (double)(i + 1)}) * plan->sharded;
        plan->gather[i] = bytes > 0 ? job[START] + (d - 1) / d * bytes / job[RATE] : 0;
        largest = fmax(largest, bytes);
        longest = fmax(longest, plan->gather[i]);
    }
    double scatter = job[START] + (d - 1) / d * (largest * job[WIDTH] / job[GATHER]) / job[RATE];
    plan->scatter = plan->sharded ? scatter / longest : 0;
    expect(b, "unit_largest", largest);
    expect(b, "scatter_share", plan->scatter);
    expect(b, "M_gathered",
           !plan->sharded   ? 0
           : job[ZERO] >= 3 ? 2 * largest
                            : answer(COUNT, NULL) * job[GATHER]);
}

static double shards_exposed(const double *job, const passes *plan)
{
    double a[ARGUMENTS] = {job[UNIT] * job[GATHER], job[GATHER],    plan->one_forward,
                           plan->one_backward,      job[ZERO] >= 3, plan->scatter};
    memcpy(a + 6, plan->gather, sizeof plan->gather);
    return plan->sharded ? plan->micros * answer(SHARDS, a) : 0;
}

static double shards_all(const double *job, const passes *plan)
{
    double cap = job[UNIT] * job[GATHER];
    double a[ARGUMENTS] = {cap, cap, job[GATHER], plan->one_backward, 1};
    memcpy(a + RUN_OWN, plan->gather, sizeof plan->gather);
    return plan->sharded
               ? plan->micros * ((job[ZERO] >= 3 ? 2 : 1) + plan->scatter) * answer(TOTAL, a)
               : 0;
}

/* What a GPU of the first stage holds through the step. */
static void expect_held_parts(const bench *b, const double *job, const passes *plan)
{
    double a[ARGUMENTS];
    double d = job[RANKS];
    bool stages = job[STAGES] > 1;
    double split = plan->sharded ? d : 1;
    fill_stages(job, plan, a);
    a[7] = 0;
    double parameters = stages ? answer(PARAMETERS_OF, a) : answer(COUNT, NULL);
    double kept = job[BATCH] * job[VALUE] * answer(KEPT_BY, a);
    double gathered = found(b, "M_gathered");
    expect(b, "held_weights", parameters * job[WEIGHT] / split);
    expect(b, "held_gradients", parameters * job[WIDTH] / split);
    expect(b, "held_optimizer", parameters * job[STATE] / (job[ZERO] >= 1 ? d : 1));
    expect(b, "held_buckets", d > 1 && !plan->sharded ? parameters * job[WIDTH] : 0);
    expect(b, "gathered_in_passes", job[ZERO] >= 3 ? gathered : 0);
    expect(b, "gathered_in_step", job[ZERO] >= 3 ? 0 : gathered);
    expect(b, "summed_gradients", d > 1 && !plan->sharded ? parameters * job[WIDTH] : 0);
    expect(b, "split_gradients", plan->sharded ? plan->micros * parameters * job[WIDTH] : 0);
    expect(b, "gathered_share",
           (plan->sharded ? plan->micros * (job[ZERO] >= 3 ? 2 : 1) : job[ZERO] == 1 && d > 1) *
               parameters * job[GATHER] / d);
    expect(b, "kept_by_pass", kept);
    expect(b, "kept_at_once", answer(KEPT_MICROS, a));
    expect(b, "M_asked",
           parameters * found(b, "held_parameter") + answer(KEPT_MICROS, a) * kept + gathered);
}

static void expect_held(const bench *b, const double *job, const passes *plan)
{
    double a[ARGUMENTS];
    double d = job[RANKS];
    double split = plan->sharded ? d : 1;
    double held = (job[WEIGHT] + job[WIDTH]) / split + job[STATE] / (job[ZERO] >= 1 ? d : 1) +
                  (d > 1 && !plan->sharded ? job[WIDTH] : 0);
    fill_stages(job, plan, a);
    a[7] = held;
    a[8] = job[BATCH] * job[VALUE];
    double stage = answer(PEAK_BYTES, a);
    double gathered = found(b, "M_gathered");
    expect(b, "held_parameter", held);
    expect_held_parts(b, job, plan);
    expect(b, "memory", job[FRAGMENTS] * (stage + gathered) + job[FRAMEWORK]);
}

/* What gradients and weights take that goes through rings after the passes. */
static double expect_ends(const bench *b, const double *job, const passes *plan)
{
    double d = job[RANKS];
    double ring = (d - 1) / d / job[RATE];
    double reduce =
        job[STAGES] > 1 && d > 1 ? job[START] + 2 * ring * plan->parameters * job[WIDTH] : 0;
    double weights =
        job[ZERO] == 1 && d > 1 ? job[START] + ring * plan->parameters * job[GATHER] : 0;
    expect(b, "T_stage_reduce", reduce);
    expect(b, "T_weights", weights);
    return reduce + weights;
}

static double expect_sent(const double *job, const passes *plan)
{
    double a[ARGUMENTS] = {0};
    double share = (job[RANKS] - 1) / job[RANKS];
    double whole = answer(COUNT, NULL);
    if (plan->sharded)
        return plan->micros * share * whole * ((job[ZERO] >= 3 ? 2 : 1) * job[GATHER] + job[WIDTH]);
    fill_stages(job, plan, a);
    double parameters = job[STAGES] > 1 ? answer(PARAMETERS_OF, a) : whole;
    return share * parameters * (2 * job[WIDTH] + (job[ZERO] == 1 ? job[GATHER] : 0));
}

/* Blom's place of the largest of so many normal numbers, by Abramowitz and Stegun 26.2.23. */
static double largest_normal(double spread, double count)
{
    double t = sqrt(-2 * log(0.625 / (count + 0.25)));
    return 1 + spread * (t - (2.515517 + t * (0.802853 + t * 0.010328)) /
                                 (1 + t * (1.432788 + t * (0.189269 + t * 0.001308))));
}

/* The step whose passes all last as long as those of the slowest GPU. */
static void expect_late(const bench *b, const double *job, const passes *plan, double compute,
                        const double *bucket)
{
    double late_bucket[ARGUMENTS];
    passes late = *plan;
    double slowest = fmax(job[SLOWEST], largest_normal(job[JITTER], job[RANKS]));
    bool varies = (job[SLOWEST] > 1 || job[JITTER] > 0) && job[STAGES] == 1;
    bool buckets = job[RANKS] > 1 && !plan->sharded;
    memcpy(late_bucket, bucket, sizeof late_bucket);
    late.one_forward *= slowest;
    late.one_backward *= slowest;
    late_bucket[3] *= slowest;
    double step = slowest * compute + found(b, "T_weights") + shards_exposed(job, &late) +
                  (buckets ? answer(EXPOSED, late_bucket) + answer(PRICE, late_bucket) : 0);
    expect(b, "slowest_rank", slowest);
    expect(b, "ranks_together", plan->sharded ? job[RANKS] : 1);
    expect(b, "step_time_of[uneven]", varies ? step : 0);
    expect(b, "step_expected", job[STAGES] > 1 ? 0 : varies ? step : found(b, "T_step"));
    if (varies) /* small beside the step, whose rounding it has */
        assert_true(fabs(found(b, "time_varied[uneven]") - (step - found(b, "T_step"))) <=
                    1e-11 * step);
}

/* Equations 4 and 9 and appendix B of Li et al., and what surrounds them in other plans. */
static void expect_step(const bench *b, const double *job)
{
    double d = job[RANKS];
    double bytes = answer(COUNT, NULL) * job[WIDTH];
    passes plan = expect_passes(b, job);
    double pipeline = expect_pipeline(b, job, &plan);
    expect_units(b, job, &plan);
    expect_held(b, job, &plan);
    double ends = expect_ends(b, job, &plan);
    double update = plan.parameters / (job[ZERO] >= 1 ? d : 1) * job[UPDATE] / job[MEMORY];
    double count = expect_messages(b, job);
    double slow = answer(FACTOR, (const double[]){bytes / count, job[SLOW]});
    double slowed = fmax(slow, 1);
    bool buckets = d > 1 && job[STAGES] == 1 && !plan.sharded;
    double bucket[ARGUMENTS] = {job[FIRST], job[CAP], job[WIDTH], plan.one_backward, 1};
    expect_buckets(b, job, bucket + RUN_OWN);
    double transfers = found(b, "T_transfers");
    double comm = transfers + ends + shards_all(job, &plan) + (buckets ? answer(TOTAL, bucket) : 0);
    bucket[4] = slowed;
    double exposed = ends + shards_exposed(job, &plan) + (buckets ? answer(EXPOSED, bucket) : 0);
    double price = buckets ? answer(PRICE, bucket) : 0;
    double compute = plan.forward + plan.backward + update;
    double step = pipeline + update + price + exposed;
    expect(b, "dp_sent", expect_sent(job, &plan));
    expect(b, "message_bytes", bytes);
    expect(b, "slow", slow);
    expect(b, "slowed", slowed);
    expect(b, "T_update", update);
    expect(b, "T_comm", comm);
    expect(b, "T_exposed", exposed);
    expect(b, "T_hidden", comm - transfers - exposed);
    expect(b, "T_slowdown", price);
    expect(b, "step_time", step);
    expect(b, "R_comm", comm / step);
    expect(b, "R_exposed", (exposed + transfers) / step);
    expect(b, "overlap", comm > 0 ? (comm - transfers - exposed) / comm : 0);
    expect(b, "scaling", compute / step);
    expect(b, "samples_per_s", job[BATCH] * plan.micros * d / step);
    expect_late(b, job, &plan, compute, bucket);
}

TEST(steps_are_those_of_the_equations)
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
TEST(defaults_are_those_of_the_page)
{
    static const struct {
        size_t key;
        double value;
    } cases[] = {{TOKENS, 1},        {START, 20e-6},    {FIRST, 1048576}, {CAP, 25 * 1048576.0},
                 {WIDTH, 4},         {SLOW, 1},         {UPDATE, 5 * 4},  {STAGES, 1},
                 {GLOBAL, 0},        {ZERO, 0},         {STAGE_RATE, 0},  {UNIT, 1e8},
                 {GATHER, 4},        {WEIGHT, 4},       {STATE, 4},       {VALUE, 2},
                 {FRAMEWORK, 2.5e9}, {FRAGMENTS, 1.04}, {REACHED, 0},     {LAUNCH, 0}};
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

TESTS_WITH(ddp_steps, property_setup, NULL);
