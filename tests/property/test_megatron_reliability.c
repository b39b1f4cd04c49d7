/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The sheet megatron-reliability against its sources written out in C, over random plans: largest
 * of many random numbers (Blom, Gumbel), what a slow rank costs and what pipelines hide of it (Moye
 * section 5.2, docs/reliability.md), checkpoints and failures (Daly 2006). What the passes of the
 * plan take is read from the sheet.
 */
#include "megatron_bench.h"

enum { ROWS = 1500 };
enum { NORMAL, LOGNORMAL, UNIFORM, EXPONENTIAL, DISTRIBUTIONS };
enum { FIRST, MIDDLE, LAST, STAGES };

static const char *const stage_names[] = {"first", "middle", "last"};

static double *input_of(bench *b, const char *key)
{
    size_t count = 0;
    const st_sheet_input *inputs = st_sheet_inputs(b->sheet, &count);
    for (size_t i = 0; i < count; i++)
        if (strcmp(inputs[i].from, key) == 0)
            return &b->inputs[i];
    fail_msg("no input reads %s", key);
    return NULL;
}

static double of_stage(const bench *b, const char *cell, int stage)
{
    char name[80];
    (void)snprintf(name, sizeof name, "%s[%s]", cell, stage_names[stage]);
    return found(b, name);
}

static void expect_stage(const bench *b, const char *cell, int stage, double expected)
{
    char name[80];
    (void)snprintf(name, sizeof name, "%s[%s]", cell, stage_names[stage]);
    expect(b, name, expected);
}

/* ---- random numbers ---- */

/* Abramowitz and Stegun 26.2.23. */
static double normal_tail(double share)
{
    double t = sqrt(-2 * log(share));
    return t - (2.515517 + t * (0.802853 + t * 0.010328)) /
                   (1 + t * (1.432788 + t * (0.189269 + t * 0.001308)));
}

static double largest_of(int kind, double spread, double count)
{
    static const double euler = 0.5772157;
    double score = normal_tail(0.625 / (count + 0.25)); /* Blom: 1 - (n - 3/8)/(n + 1/4) */
    double variance = log(1 + spread * spread);
    double harmonic =
        log(count) + euler + 1 / (2 * count) - 1 / (12 * count * count) + 1 / (120 * pow(count, 4));
    switch (kind) {
    case NORMAL:
        return 1 + spread * score;
    case LOGNORMAL:
        return exp(sqrt(variance) * score - variance / 2 * (1 - 0.8225 / fmax(log(count), 0.8225)));
    case UNIFORM:
        return 1 + spread * sqrt(3) * (count - 1) / (count + 1);
    default:
        return 1 + spread * (harmonic - 1);
    }
}

static double spread_of(int kind, double spread, double count)
{
    if (kind == EXPONENTIAL)
        return spread;
    return kind == UNIFORM ? 2 * spread * sqrt(3) / (count + 1)
                           : spread / sqrt(2 * log(fmax(count, 2)));
}

/* ---- ranks that are not alike ---- */

typedef struct uneven {
    const plan *x;
    int kind;
    double jitter, slow;
    bool folded, two_ways, at_once; /* at_once: no backward pass before the last forward pass */
    int circle; /* a micro-batch takes as long as passes of so many stages; 0: as its slowest */
    double slowest, together;
    double site, steady, share, bubble;
    double excess[STAGES], hidden[STAGES], time[STAGES];
    double later;
} uneven;

static bool has_stage(const plan *x, int stage)
{
    return stage == FIRST || x->p > (stage == MIDDLE ? 2 : 1);
}

/* Forward passes before the first backward one. */
static double ahead_of(const bench *b, const uneven *u, int stage, double behind)
{
    if (u->at_once)
        return 0;
    if (u->folded || u->two_ways)
        return stage == MIDDLE ? (u->x->p - 1) / 2 : u->x->p - 1;
    double v = u->x->v;
    double many = v > 1 ? 2 * behind / v + (v - 1) * u->x->p / v : behind;
    return fmin(many, found(b, "m"));
}

static void refer_stage(const bench *b, uneven *u, int stage)
{
    const plan *x = u->x;
    double behind = stage == FIRST ? x->p - 1 : stage == MIDDLE ? (x->p - 1) / 2 : 0;
    double ahead = ahead_of(b, u, stage, behind);
    double pass = of_stage(b, "t_stage", stage);
    double forward = of_stage(b, "t_stage_forward", stage);
    double alike = stage == MIDDLE && x->p > 3 ? x->p - 2 : 1;
    double slowest = largest_of(u->kind, u->jitter, x->t * x->cp * x->d * alike);
    bool waits_half = u->folded || u->two_ways;
    double wait_forward = waits_half ? u->bubble / 2 : u->site * behind / x->v * (pass - forward);
    double wait_backward = waits_half ? u->bubble / 2 : u->site * behind / x->v * forward;
    u->excess[stage] = u->share * (slowest - 1);
    double later = u->site * u->excess[stage] * ahead;
    u->hidden[stage] =
        fmin(later * forward, wait_forward) + fmin(later * (pass - forward), wait_backward);
    expect_stage(b, "stages_behind", stage, behind);
    expect_stage(b, "passes_ahead", stage, ahead);
    expect_stage(b, "slowest_of_stage", stage, slowest);
    expect_stage(b, "excess", stage, u->excess[stage]);
    expect_of(b,
              stage == FIRST    ? "hidden_excess[first]"
              : stage == MIDDLE ? "hidden_excess[middle]"
                                : "hidden_excess[last]",
              u->hidden[stage], u->steady);
}

/* Where middle stages hide from less to more than their mean, the mean of e to that power. */
static double spread_out(const uneven *u)
{
    double range = u->x->p > 3 ? (u->x->p - 3) / (u->x->p - 1) * u->hidden[MIDDLE] / u->later : 0;
    double most = fmin(range, 50);
    return range > 0 ? u->later * log(sinh(most) / most) : 0;
}

/* Two stages of V-Half and three of V-Min wait for each other in every micro-batch, until one alone
 * takes longer. Passes that last alike leave a half and two thirds of 1F1B's bubble. */
static double paired_time(const bench *b, const uneven *u)
{
    double passes = u->site * u->steady;
    double once = u->circle == 3 ? 2.0 / 3 : 1.0 / 2;
    double part = (u->circle == 3 && u->x->p == 2 ? 2.0 : 1.0) / u->circle;
    double repeated = fmax(u->bubble - once * u->x->p * passes / found(b, "m"), 0);
    double alone = passes + u->share * (u->slowest - 1) * passes - repeated;
    double pair = passes + u->share * ((u->together - 1) * passes +
                                       (u->slowest - u->together) * (passes + repeated) * part);
    expect_of(b, "waits_repeated", repeated, passes);
    return fmax(alone, pair);
}

static double slowest_time(const bench *b, uneven *u)
{
    if (u->circle > 0)
        return paired_time(b, u);

    double ends = (of_stage(b, "t_stage", FIRST) + of_stage(b, "t_stage", LAST)) / 2;
    double longest = 0;
    double sum = 0;
    for (int i = FIRST; i < STAGES; i++) {
        if (!has_stage(u->x, i))
            continue;
        double pass = u->two_ways && i != MIDDLE ? ends : of_stage(b, "t_stage", i);
        u->time[i] = u->site * found(b, "m") * pass * (1 + u->excess[i]) - u->hidden[i] +
                     (i == MIDDLE ? spread_out(u) : 0);
        longest = fmax(longest, u->time[i]);
    }
    for (int i = FIRST; i < STAGES; i++)
        sum += has_stage(u->x, i) && u->time[i] > 0 ? exp((u->time[i] - longest) / u->later) : 0;
    return fmax(longest + u->later * log(fmax(sum, 1)),
                u->site * u->steady * (1 + u->share * (u->slow - 1)));
}

static bool has_schedule(const bench *b, const char *name)
{
    size_t count = 0;
    const st_sheet_input *inputs = st_sheet_inputs(b->sheet, &count);
    for (size_t i = 0; i < count; i++)
        if (strcmp(inputs[i].from, "parallel.schedule") == 0)
            return b->inputs[i] == choice(&inputs[i], name);
    return false;
}

static uneven uneven_of(bench *b, const plan *x)
{
    double computing = found(b, "time_gemm") + found(b, "time_memory") + found(b, "time_slowdown");
    double rest =
        found(b, "time_launch") + found(b, "time_tp") + found(b, "time_cp") + found(b, "time_ep");
    return (uneven){.x = x,
                    .kind = (int)*input_of(b, "variance.distribution"),
                    .jitter = *input_of(b, "variance.jitter"),
                    .slow = fmax(*input_of(b, "variance.slow"), 1),
                    .folded = found(b, "folded") > 0,
                    .two_ways = found(b, "two_ways") > 0,
                    .site = *input_of(b, "constants.site_factor"),
                    .steady = found(b, "T_steady"),
                    .share = computing / (computing + rest),
                    .bubble = found(b, "time_bubble"),
                    .circle = has_schedule(b, "v_min")    ? 3
                              : has_schedule(b, "v_half") ? 2
                                                          : 0};
}

static void expect_uneven(bench *b, const plan *x, bool at_once)
{
    uneven u = uneven_of(b, x);
    double gpus = x->t * x->cp * x->p * x->d;
    double tokens = x->E > 0 ? x->ep * (x->etp > 0 ? x->etp : x->t) : 1;
    double replicas = x->zero == 3 ? x->d : fmin(ceil(tokens / (x->t * x->cp)), x->d);
    double slowest = fmax(u.slow, largest_of(u.kind, u.jitter, gpus));
    double together = largest_of(u.kind, u.jitter, x->t * x->cp * replicas);
    double spread = spread_of(u.kind, u.jitter, gpus) * (u.kind == LOGNORMAL ? slowest : 1);
    u.at_once = at_once;
    u.slowest = slowest;
    u.together = together;
    u.later = fmax(spread * u.share, 1e-9) * u.site * u.steady;
    expect(b, "slow", u.slow);
    expect(b, "replicas_together", replicas);
    expect(b, "slowest_together", together);
    expect(b, "slowest_rank", slowest);
    expect(b, "slowest_spread", spread);
    expect(b, "computing_share", u.share);
    expect(b, "time_later", u.later);
    for (int i = FIRST; i < STAGES; i++)
        if (has_stage(x, i))
            refer_stage(b, &u, i);
    if (u.slow == 1 && u.jitter == 0) {
        expect(b, "step_expected", found(b, "step_time"));
        return;
    }
    double varied = slowest_time(b, &u) - u.site * u.steady +
                    (slowest - 1) * found(b, "time_optimizer") +
                    (together - 1) * u.bubble * u.share;
    expect_of(b, "time_varied[uneven]", varied, found(b, "step_time"));
    expect(b, "step_expected", found(b, "step_time") + varied);
}

/* ---- failures ---- */

static void expect_failures(bench *b, const plan *x)
{
    double gpus = x->t * x->cp * x->p * x->d;
    double of_gpu = *input_of(b, "failures.gpu_mtbf");
    double of_node = *input_of(b, "failures.node_mtbf");
    double restart = *input_of(b, "failures.restart");
    double save = *input_of(b, "failures.checkpoint");
    double interval = *input_of(b, "failures.interval");
    double rate = of_gpu > 0 ? gpus / of_gpu : 0;
    if (of_node > 0)
        rate += ceil(gpus / found(b, "G")) / of_node;
    if (!(rate > 0) || !(save > 0)) {
        expect(b, "goodput", 1);
        expect(b, "mtbf", 0);
        expect(b, "interval_taken", 0);
        return;
    }
    double mean = 1 / rate;
    double part = save / (2 * mean);
    double best = part < 1 ? sqrt(2 * save * mean) * (1 + sqrt(part) / 3 + part / 9) - save : mean;
    interval = interval > 0 ? interval : best;
    double taken = mean * exp(restart / mean) * expm1((interval + save) / mean);
    expect(b, "mtbf", mean);
    expect_of(b, "interval_best", best, save);
    expect(b, "interval", interval);
    expect(b, "interval_taken", taken);
    expect(b, "goodput", interval / taken);
}

static double sometimes(property_random *random, double value)
{
    return random_below(random, 4) == 0 ? 0 : value;
}

static void draw_reliability(bench *b, const plan *x)
{
    property_random *random = b->random;
    double gpus = x->t * x->cp * x->p * x->d;
    double mean = 600 * exp(6 * random_unit_interval(random)); /* of the whole job */
    *input_of(b, "variance.slow") = sometimes(random, 1 + random_unit_interval(random));
    *input_of(b, "variance.jitter") = sometimes(random, 0.3 * random_unit_interval(random));
    *input_of(b, "variance.distribution") = (double)random_below(random, DISTRIBUTIONS);
    *input_of(b, "failures.gpu_mtbf") = sometimes(random, gpus * mean);
    *input_of(b, "failures.node_mtbf") = sometimes(random, gpus * mean / 3);
    *input_of(b, "failures.restart") = 900 * random_unit_interval(random);
    *input_of(b, "failures.checkpoint") = sometimes(random, exp(8 * random_unit_interval(random)));
    *input_of(b, "failures.interval") = sometimes(random, 7200 * random_unit_interval(random));
}

/* Of the schedules whose steps hide in their own way; the plan's own where it is none of these. */
static bool draw_schedule(bench *b, const plan *x)
{
    static const char *const others[] = {"zero_bubble_v", "v_half", "v_min", "dualpipe"};
    size_t drawn = random_below(b->random, 8);
    size_t count = 0;
    const st_sheet_input *inputs = st_sheet_inputs(b->sheet, &count);
    for (size_t i = 0; i < count && drawn < 4; i++)
        if (strcmp(inputs[i].from, "parallel.schedule") == 0)
            b->inputs[i] = choice(&inputs[i], others[drawn]);
    return drawn == 0 || (drawn >= 4 && x->schedule == GPIPE);
}

TEST(reliability_is_that_of_the_sources)
{
    bench b;
    open_bench(&b, "megatron", *state);
    compile_with(&b, NULL, 0);
    plan even = draw_plan(*state);
    run_plan(&b, &even);
    expect(&b, "step_expected", found(&b, "step_time")); /* nothing fails or varies by itself */
    expect(&b, "goodput", 1);
    assert_true(*input_of(&b, "failures.restart") == 0);
    assert_true(*input_of(&b, "failures.checkpoint") == 0);
    assert_true(*input_of(&b, "failures.interval") == 0);
    for (int i = 0; i < ROWS; i++) {
        plan x = draw_plan(*state);
        run_plan(&b, &x);
        draw_reliability(&b, &x);
        bool at_once = draw_schedule(&b, &x);
        assert_int_equal(st_program_run_one(b.program, b.workspace, b.inputs, b.outputs, NULL),
                         ST_OK);
        expect_uneven(&b, &x, at_once);
        expect_failures(&b, &x);
    }
    close_bench(&b);
}

TESTS_WITH(megatron_reliability, property_setup, NULL);
