/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Steps of ranks that are not alike. Of the ranks that meet in every pass only the slowest counts,
 * and its factor is drawn as such; each pipeline has one factor a stage. Which pipeline is the last
 * to end follows from chains of tasks that were critical in replays with one stage slowed down: the
 * most promising ones are replayed.
 */
#include "base/memory.h"
#include "base/number.h"
#include "estimate/estimate_internal.h"
#include "schedule/graph_internal.h"
#include "steptime/tool/roles.h"
#include "timeline/slow_ranks.h"
#include "timeline/timeline.h"

#include <gsl/gsl_cdf.h>
#include <gsl/gsl_rng.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { SLOW, JITTER, DISTRIBUTION, TOGETHER, NODE, EXPECTED, PARTS };
enum { NORMAL, LOGNORMAL, UNIFORM, EXPONENTIAL, DISTRIBUTIONS };
enum { TRIED = 4, MOST_DRAWS = 1000000000 };

const double st_variance_quantiles[ST_VARIANCE_QUANTILES] = {0,    0.01, 0.05, 0.25, 0.5,
                                                             0.75, 0.95, 0.99, 1};

static const char *const distributions[DISTRIBUTIONS] = {"normal", "lognormal", "uniform",
                                                         "exponential"};

/* A chain of tasks: how long each stage computes in it, and all the rest. */
typedef struct chain {
    double *stage;
    double rest;
} chain;

typedef struct sampler {
    st_timeline *timeline; /* a copy whose graph is changed */
    st_errors *errors;
    st_arena *arena;
    st_slow_ranks slow;
    st_replay *replay;
    st_timeline_row *rows;
    int64_t *base; /* durations of all tasks, links as slow as they are */
    size_t stages;
    size_t pipelines;
    size_t *members; /* that meet in every pass, by stage */
    int distribution;
    double jitter;
    gsl_rng *random;
    double *factor;  /* by pipeline and stage */
    chain *chains;   /* one a stage */
    double *promise; /* by pipeline: its step is at least so long */
} sampler;

/* --- drawing ---------------------------------------------------------------------------------- */

/* The largest of `count` draws; 0 of none. */
static double draw_largest(sampler *self, size_t count)
{
    if (count == 0)
        return 0;
    if (self->jitter == 0)
        return 1;
    double tail = -expm1(log(gsl_rng_uniform_pos(self->random)) / (double)count);
    /* The number that is exceeded with a probability of `tail`; of mean 1. */
    const double spread = self->jitter;
    const double quantile_tail = fmax(tail, 1e-300);
    double variance = log1p(spread * spread);
    switch (self->distribution) {
    case NORMAL:
        return fmax(1 + spread * gsl_cdf_ugaussian_Qinv(quantile_tail), 0);
    case LOGNORMAL:
        return exp(sqrt(variance) * gsl_cdf_ugaussian_Qinv(quantile_tail) - variance / 2);
    case UNIFORM:
        return 1 + spread * sqrt(3) * (1 - 2 * quantile_tail);
    default:
        return 1 - spread - spread * log(quantile_tail);
    }
}

/* --- replays ---------------------------------------------------------------------------------- */

static size_t row_of(const sampler *self, size_t task)
{
    const st_graph *graph = self->timeline->graph;
    return graph->resources[graph->resource[task]].rank_index;
}

/* The step of one pipeline, whose stages take these factors longer. */
static st_status replay_with(sampler *self, const double *factor, int64_t *step)
{
    st_graph *graph = self->timeline->graph;
    for (size_t i = 0; i < graph->task_count; i++)
        graph->duration_ns[i] = st_graph_work(graph, (st_task_id)i) == ST_WORK_COMPUTE
                                    ? llround((double)self->base[i] *
                                              factor[self->timeline->rows[row_of(self, i)].stage])
                                    : self->base[i];
    return st_timeline_again(self->timeline, self->replay, self->rows, step, self->errors);
}

/* What holds up the step where one stage is the slowest. */
static st_status find_chains(sampler *self)
{
    double *factor = st_arena_alloc(self->arena, self->stages, sizeof *factor);
    self->chains = st_arena_alloc(self->arena, self->stages, sizeof *self->chains);
    st_status status = ST_OK;
    if (factor == NULL || self->chains == NULL)
        return st_out_of_memory(self->errors);
    for (size_t slow = 0; slow < self->stages && status == ST_OK; slow++) {
        int64_t step = 0;
        self->chains[slow].stage = st_arena_alloc(self->arena, self->stages, sizeof(double));
        if (self->chains[slow].stage == NULL)
            return st_out_of_memory(self->errors);
        for (size_t i = 0; i < self->stages; i++)
            factor[i] = i == slow ? 1.1 : 1;
        status = replay_with(self, factor, &step);
        if (status == ST_OK) {
            /* Follows the critical path of the last replay. */
            chain *into = &self->chains[slow];
            const st_path_step *path = NULL;
            size_t count = 0;
            st_status chain_status =
                st_replay_path(self->replay, self->arena, &path, &count, self->errors);
            for (size_t i = 0; i < count && chain_status == ST_OK; i++) {
                st_task_id task = path[i].task;
                bool computes = st_graph_work(self->timeline->graph, task) == ST_WORK_COMPUTE;
                double time = path[i].time_ns > 0 ? (double)self->base[task] : 0;
                if (computes)
                    into->stage[self->timeline->rows[row_of(self, task)].stage] += time;
                else
                    into->rest += time;
            }
            status = chain_status;
        }
    }
    return status;
}

/* The step of all pipelines: that of the slowest of those that promise to be. */
static st_status replay_slowest(sampler *self, double *step_s)
{
    int64_t longest = 0;
    for (size_t i = 0; i < self->pipelines; i++) {
        /* The least that the step of a pipeline takes. */
        const double *factor = &self->factor[i * self->stages];
        double least = 0;
        for (size_t j = 0; j < self->stages; j++) {
            const chain *own = &self->chains[j];
            double sum = own->rest;
            for (size_t stage = 0; stage < self->stages; stage++)
                sum += own->stage[stage] * factor[stage];
            least = fmax(least, sum);
        }
        self->promise[i] = least;
    }
    for (size_t turn = 0; turn < TRIED && turn < self->pipelines; turn++) {
        size_t best = 0;
        int64_t step = 0;
        for (size_t i = 1; i < self->pipelines; i++)
            best = self->promise[i] > self->promise[best] ? i : best;
        st_status status = replay_with(self, &self->factor[best * self->stages], &step);
        if (status != ST_OK)
            return status;
        self->promise[best] = 0;
        longest = step > longest ? step : longest;
    }
    *step_s = (double)longest / ST_TICKS_PER_S;
    return ST_OK;
}

/* --- all of it -------------------------------------------------------------------------------- */

static const st_role_part wanted[] = {
    [SLOW] = {ST_ROLE_VARIANCE, SLOW},
    [JITTER] = {ST_ROLE_VARIANCE, JITTER},
    [DISTRIBUTION] = {ST_ROLE_VARIANCE, DISTRIBUTION},
    [TOGETHER] = {ST_ROLE_VARIANCE, TOGETHER},
    [NODE] = {ST_ROLE_GPUS_PER_NODE, 0},
    [EXPECTED] = {ST_ROLE_EXPECTED_STEP, 0},
};

/* The closed form knows neither stages with ranks of their own nor slow links. */
static bool is_expected(const sampler *self)
{
    bool is_known = self->timeline->plan.own_stages == NULL;
    for (size_t i = 0; i < ST_LINKS; i++)
        is_known = is_known && self->slow.link[i] <= 1;
    return is_known;
}

/* Room for everything, and the durations with slow links. */
static st_status prepare(sampler *self)
{
    const st_graph *graph = self->timeline->graph;
    size_t groups = self->pipelines * self->stages;
    self->base = st_arena_alloc(self->arena, graph->task_count, sizeof *self->base);
    self->rows = st_arena_alloc(self->arena, self->timeline->row_count, sizeof *self->rows);
    self->factor = st_arena_alloc(self->arena, groups, sizeof *self->factor);
    self->promise = st_arena_alloc(self->arena, self->pipelines, sizeof *self->promise);
    self->replay = st_replay_create(graph);
    self->random = gsl_rng_alloc(gsl_rng_mt19937);
    if (self->base == NULL || self->rows == NULL || self->factor == NULL || self->promise == NULL ||
        self->replay == NULL || self->random == NULL)
        return st_out_of_memory(self->errors);
    for (size_t i = 0; i < graph->task_count; i++) {
        const char *category = st_graph_category_name(graph, graph->category[i]);
        double link = st_slow_link(&self->slow, category);
        self->base[i] = llround((double)graph->duration_ns[i] * link);
    }
    return ST_OK;
}

static st_status summarize(const double *steps_s, size_t count, st_arena *arena,
                           st_variance *variance, st_errors *errors)
{
    double *sorted = st_arena_alloc(arena, count, sizeof *sorted);
    double sum = 0;
    double squares = 0;
    if (sorted == NULL)
        return st_out_of_memory(errors);
    for (size_t i = 0; i < count; i++)
        sum += sorted[i] = steps_s[i];
    variance->mean_s = sum / (double)count;
    for (size_t i = 0; i < count; i++)
        squares += (steps_s[i] - variance->mean_s) * (steps_s[i] - variance->mean_s);
    variance->deviation_s = count > 1 ? sqrt(squares / (double)(count - 1)) : 0;
    qsort(sorted, count, sizeof *sorted, st_order_numbers);
    for (int i = 0; i < ST_VARIANCE_QUANTILES; i++) {
        double at = st_variance_quantiles[i] * (double)(count - 1);
        size_t below = (size_t)at;
        size_t above = below + 1 < count ? below + 1 : below;
        variance->quantile_s[i] =
            sorted[below] + (at - (double)below) * (sorted[above] - sorted[below]);
    }
    variance->steps_s = steps_s;
    variance->count = count;
    return ST_OK;
}

/* Pipelines whose passes do not meet, and how many ranks of each stage are in one. */
static st_status count_ranks(sampler *self, size_t together, st_variance *variance)
{
    const st_timeline_plan *plan = &self->timeline->plan;
    const st_schedule_groups *groups = &plan->schedule.groups;
    const st_own_stage *own = plan->splits_differ ? plan->own_stages : NULL;
    self->stages = plan->schedule.shape.stages;
    self->pipelines = own != NULL ? own->dp : groups->dp;
    for (size_t i = 1; own != NULL && i < self->stages; i++)
        self->pipelines = (size_t)st_common_divisor((double)self->pipelines, own[i].dp);
    self->pipelines = self->pipelines > together ? self->pipelines / together : 1;
    self->members = st_arena_alloc(self->arena, self->stages, sizeof *self->members);
    if (self->members == NULL)
        return st_out_of_memory(self->errors);
    for (size_t i = 0; i < self->stages; i++) {
        size_t ranks = own != NULL ? (size_t)own[i].tp * own[i].cp * own[i].dp
                                   : (size_t)groups->tp * groups->cp * groups->dp;
        self->members[i] = ranks / self->pipelines;
        variance->ranks += self->members[i] * self->pipelines;
        if (self->members[i] > variance->together)
            variance->together = self->members[i];
    }
    variance->pipelines = self->pipelines;
    return ST_OK;
}

static st_status make(sampler *self, const double *parts, const st_variance_wish *wish,
                      st_variance *variance)
{
    const st_timeline_plan *plan = &self->timeline->plan;
    st_status status =
        count_ranks(self, parts[TOGETHER] >= 1 ? (size_t)parts[TOGETHER] : 1, variance);
    if (status != ST_OK)
        return status;
    self->jitter = parts[JITTER];
    self->distribution = (int)parts[DISTRIBUTION];
    /* The stage that computes longest. */
    int64_t most = -1;
    uint32_t stage = 0;
    for (size_t i = 0; i < self->timeline->row_count; i++) {
        const st_rank_time *time = &self->timeline->rows[i].time;
        int64_t own = time->exposed_compute_ns + time->overlapped_ns;
        stage = own > most ? self->timeline->rows[i].stage : stage;
        most = own > most ? own : most;
    }
    const st_slow_places places = {.groups = &plan->schedule.groups,
                                   .own_stages = plan->splits_differ ? plan->own_stages : NULL,
                                   .stages = self->stages,
                                   .pipelines = self->pipelines,
                                   .gpus_per_node = (uint64_t)parts[NODE],
                                   .busiest = stage,
                                   .slow = parts[SLOW]};
    status = st_slow_ranks_read(&places, wish->slow, wish->slow_count, self->arena, &self->slow,
                                self->errors);
    uint64_t samples = self->jitter > 0 ? wish->samples : 1;
    if (status == ST_OK && samples * self->pipelines * self->stages > MOST_DRAWS)
        status = st_fail(self->errors, ST_ERR_LIMIT, (st_place){.file = "--samples"},
                         "%llu steps of %zu stages are too many" ST_EXPECTED "at most 10^9 draws",
                         (unsigned long long)samples, self->pipelines * self->stages);
    if (status == ST_OK)
        status = prepare(self);
    if (status != ST_OK)
        return status;
    variance->jitter = self->jitter;
    variance->distribution = distributions[self->distribution % DISTRIBUTIONS];
    variance->seed = wish->seed;
    double *steps_s = st_arena_alloc(self->arena, samples, sizeof *steps_s);
    if (steps_s == NULL)
        return st_out_of_memory(self->errors);
    gsl_rng_set(self->random, (unsigned long)variance->seed);
    st_status sample_status = find_chains(self);
    for (uint64_t i = 0; i < samples && sample_status == ST_OK; i++) {
        size_t next = 0;
        for (size_t group = 0; group < self->pipelines * self->stages; group++) {
            size_t alike = self->members[group % self->stages];
            double largest = 0;
            for (; next < self->slow.count && self->slow.ranks[next].group == group; next++) {
                largest = fmax(largest, self->slow.ranks[next].factor * draw_largest(self, 1));
                alike--;
            }
            self->factor[group] = fmax(largest, draw_largest(self, alike));
        }
        sample_status = replay_slowest(self, &steps_s[i]);
    }
    return sample_status == ST_OK ? summarize(steps_s, samples, self->arena, variance, self->errors)
                                  : sample_status;
}

st_status st_variance_make(st_estimate *estimate, const st_timeline *timeline,
                           const st_variance_wish *wish, st_arena *arena, st_variance *variance,
                           st_errors *errors)
{
    double parts[PARTS] = {0};
    const char *names[PARTS];
    st_timeline own = *timeline;
    sampler self = {.timeline = &own, .errors = errors, .arena = arena};
    size_t count = timeline->graph->task_count;
    *variance =
        (st_variance){.timeline = timeline, .even_s = (double)timeline->step / ST_TICKS_PER_S};
    int64_t *before = st_arena_alloc(arena, count, sizeof *before);
    if (before == NULL)
        return st_out_of_memory(errors);
    for (size_t i = 0; i < count; i++)
        before[i] = timeline->graph->duration_ns[i];
    const st_role_list one = {wanted, 1, "ranks that differ need"};
    const st_role_list list = {wanted, PARTS, "ranks that differ need"};
    st_status status = st_sheet_need_roles(estimate->sheet, &one, names, errors);
    if (status == ST_OK)
        status = st_sheet_need_roles(estimate->sheet, &list, names, errors);
    if (status == ST_OK)
        status = st_estimate_look(estimate, names, PARTS, arena, parts, errors);
    if (status == ST_OK)
        status = make(&self, parts, wish, variance);
    if (status == ST_OK && is_expected(&self)) {
        /* The closed form's step with the slowest of the ranks that were named. */
        st_estimate slow_own = *estimate;
        double *values = st_arena_alloc(self.arena, slow_own.input_count, sizeof *values);
        double most = 1;
        if (values == NULL) {
            status = st_out_of_memory(self.errors);
        } else {
            for (size_t i = 0; i < self.slow.count; i++)
                most = fmax(most, self.slow.ranks[i].factor);
            for (size_t i = 0; i < slow_own.input_count; i++)
                values[i] = strcmp(slow_own.inputs[i].input->name, names[SLOW]) == 0
                                ? most
                                : slow_own.input_values[i];
            slow_own.input_values = values;
            status = st_estimate_look(&slow_own, &names[EXPECTED], 1, self.arena,
                                      &variance->expected_s, self.errors);
        }
    }
    for (size_t i = 0; i < count; i++)
        own.graph->duration_ns[i] = before[i];
    st_replay_destroy(self.replay);
    gsl_rng_free(self.random);
    return status;
}

static void fill_quantile(const void *context, size_t index, st_node *node)
{
    const st_variance *variance = context;
    st_put_number(node, "share", st_variance_quantiles[index]);
    st_put_seconds(node, "step_time_s", variance->quantile_s[index]);
    st_put_number(node, "change", variance->quantile_s[index] / variance->even_s - 1);
}

static void fill_sample(const void *context, size_t index, st_node *node)
{
    const st_variance *variance = context;
    st_put_count(node, "sample", index + 1);
    st_put_seconds(node, "step_time_s", variance->steps_s[index]);
}

/* A step time compared with that of identical ranks. */
static void put_step(const st_variance *variance, st_node *list, const char *name, double step_s)
{
    st_node *row = st_put_line_map(list, NULL);
    st_put_text(row, "name", name);
    st_put_seconds(row, "step_time_s", step_s);
    st_put_number(row, "change", step_s / variance->even_s - 1);
}

void st_variance_report(const st_variance *variance, st_arena *arena, st_result *result)
{
    static const st_table_column columns[] = {
        {0},
        {.title = "step time", .right = true},
        {.title = "of the even step", .look = ST_LOOK_CHANGE, .digits = 2, .right = true}};
    st_node *root = st_result_begin(result, arena);
    bool drawn = variance->jitter > 0;
    const st_timeline_plan *fact_plan = &variance->timeline->plan;
    st_put_text(root, "job", fact_plan->job);
    st_put_text(root, "sheet", fact_plan->sheet);
    st_refine_put(&fact_plan->refinements, root);
    st_put_text(root, "schedule", st_timeline_schedule(fact_plan));
    st_put_number(root, "standard_deviation", variance->jitter);
    st_put_text(root, "drawn_from", variance->jitter > 0 ? variance->distribution : NULL);
    st_put_count(root, "seed", variance->seed);
    st_put_count(root, "ranks", variance->ranks);
    st_put_count(root, "pipelines", variance->pipelines);
    st_put_count(root, "meet_in_passes", variance->together);
    st_put_seconds(root, "deviation_s", variance->deviation_s);
    st_node *steps = st_put_list(root, "steps");
    put_step(variance, steps, "ranks alike", variance->even_s);
    put_step(variance, steps, drawn ? "mean of the steps drawn" : "slow ranks or links",
             variance->mean_s);
    if (variance->expected_s > 0)
        put_step(variance, steps, "expected in closed form", variance->expected_s);
    st_node *quantiles =
        st_put_rows(root, "quantiles", fill_quantile, variance, drawn ? ST_VARIANCE_QUANTILES : 0);
    (void)st_put_rows(root, "samples", fill_sample, variance, variance->count);
    const st_timeline_plan *plan = &variance->timeline->plan;
    st_say(root, "job        %s\nschedule   %s\n", plan->job, st_timeline_schedule(plan));
    st_say(root,
           "ranks      %llu in %llu pipeline%s, of each stage %s%llu synchronize in every pass\n",
           (unsigned long long)variance->ranks, (unsigned long long)variance->pipelines,
           variance->pipelines == 1 ? "" : "s", plan->splits_differ ? "up to " : "",
           (unsigned long long)variance->together);
    if (variance->jitter > 0)
        st_say(root, "jitter     %s, %zu steps, seed %llu\n", variance->distribution,
               variance->count, (unsigned long long)variance->seed);
    st_say(root, "\n");
    st_table_show(st_say_table(root, columns, ST_COUNT(columns), 2), steps,
                  "name,step_time_s,change");
    if (drawn) {
        static const st_table_column quantile_columns[] = {
            {.title = "of the steps", .look = ST_LOOK_PERCENT, .digits = 0, .right = true},
            {.title = "last at most", .right = true},
            {.title = "of the even step", .look = ST_LOOK_CHANGE, .digits = 2, .right = true}};
        st_say(root, "\n");
        st_table_show(st_say_table(root, quantile_columns, ST_COUNT(quantile_columns), 2),
                      quantiles, "share,step_time_s,change");
    }
    st_result_csv(result, "samples", "sample,step_time_s");
}
