/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Property: a strategy that names stage by stage what a job's own plan is, by its schedule or by
 * the order of the passes of 1F1B, and with splits and recomputation of each stage's own, has the
 * very step of the job, with its memory on every stage, its bytes on every node and its step with a
 * slow rank; also where ranks are looked up as those of stages that are split in different ways.
 *
 * And: with every rank laid out, stages that are split in different ways take the step that one
 * rank of each takes, each rank does what the one of its stage does, and every device has a rank.
 */
#include "property.h"

#include "base/yaml.h"
#include "timeline/nic.h"
#include "timeline/strategy.h"

enum { ROUNDS = DRAWS(40), LAYERS = 96, MOST_SETS = 24, MOST_STAGES = 8, MOST_NODES = 64 };

/* What is looked at of a step. */
typedef struct outcome {
    int64_t step;
    int64_t slow_step; /* ps, with a rank of the second stage that is slow */
    double peak_bytes[MOST_STAGES];
    double sent_bytes[MOST_NODES]; /* to other nodes, by class of nodes */
} outcome;

typedef struct random_case {
    st_arena *arena;
    st_errors *errors;
    st_paths *paths;
    const char *sets[MOST_SETS];
    size_t count;
    int tp, pp, dp, chunks, micros;
    bool orders;
    bool looked_up; /* ranks of stages with something of their own, in their lists */
    bool own; /* stages say how they are split and what they recompute; the job says something else
               */
} random_case;

static void set(random_case *self, const char *key, int value)
{
    assert_true(self->count < MOST_SETS);
    self->sets[self->count] = st_arena_printf(self->arena, "%s=%d", key, value);
    assert_non_null(self->sets[self->count++]);
}

static void require(const random_case *self, st_status status)
{
    if (status == ST_OK)
        return;
    for (size_t i = 0; i < self->count; i++)
        print_message("%s\n", self->sets[i]);
    st_errors_write(self->errors, stdout);
    fail_msg("a random plan cannot be laid out");
}

static random_case begin_case(void)
{
    random_case self = {.arena = st_arena_create(), .errors = st_errors_create()};
    require(&self, st_paths_create(NULL, 0, &self.paths, self.errors));
    return self;
}

static void end_case(random_case *self)
{
    st_paths_destroy(self->paths);
    st_errors_destroy(self->errors);
    st_arena_destroy(self->arena);
}

/* The strategy of a text, and what it sets beside the case's own sets. */
static void read_strategy(random_case *self, const st_buffer *text, st_strategy *strategy,
                          st_strategy_sets *sets)
{
    const st_yaml_node *root = NULL;
    const st_job *job = NULL;
    require(self,
            st_yaml_parse("own.yaml", text->data, text->length, self->arena, &root, self->errors));
    require(self, st_strategy_read(root, self->arena, strategy, self->errors));
    require(self, st_job_load(self->paths, "gpt3-175b-1024xa100", self->sets, self->count,
                              self->arena, &job, self->errors));
    require(self, st_strategy_apply(strategy, job, self->arena, sets, self->errors));
    for (size_t i = 0; i < sets->count; i++)
        self->sets[self->count++] = sets->items[i];
}

static void random_plan(property_random *random, random_case *self)
{
    static const int stages[] = {2, 3, 4, 6, 8};
    self->pp = stages[random_below(random, 5)];
    self->tp = 1 << random_between(random, 0, 3);
    self->dp = 1 << random_between(random, 0, 3);
    self->orders = random_between(random, 0, 1) == 1;
    self->chunks = self->orders ? 1 : random_between(random, 1, 2);
    self->micros = self->pp * random_between(random, 1, 5);
    self->own = random_between(random, 0, 1) == 1;
    self->looked_up = random_between(random, 0, 1) == 1;
    self->sets[self->count++] = "cluster.gpu.memory=9000 TB";
    self->sets[self->count++] = self->own ? "recompute=none" : "recompute=full";
    set(self, "cluster.nodes", 4000);
    set(self, "parallel.tp", self->own ? 1 : self->tp);
    set(self, "batch.micro", 1);
    set(self, "batch.global", self->dp * self->micros);
    set(self, "parallel.zero", random_between(random, 0, 1));
}

static void write_order(const random_case *self, int stage, st_buffer *text)
{
    int warm = self->pp - 1 - stage < self->micros ? self->pp - 1 - stage : self->micros;
    st_buffer_text(text, ", order: [");
    for (int i = 0; i < warm; i++)
        st_buffer_printf(text, "F%d, ", i);
    for (int i = 0; i + warm < self->micros; i++)
        st_buffer_printf(text, "F%d, B%d, ", i + warm, i);
    for (int i = self->micros - warm; i < self->micros; i++)
        st_buffer_printf(text, "B%d, ", i);
    st_buffer_text(text, "]");
}

/* The job's own plan, as a file says it. */
static void write_strategy(const random_case *self, st_buffer *text)
{
    int devices = self->tp * self->dp;
    int each = LAYERS / self->pp / self->chunks;
    st_buffer_text(text, "strategy: own\nstages:\n");
    for (int i = 0; i < self->pp; i++) {
        st_buffer_printf(text, "  - {devices: %d-%d, layers: \"", i * devices,
                         (i + 1) * devices - 1);
        for (int k = 0; k < self->chunks; k++)
            st_buffer_printf(text, "%s%d-%d", k > 0 ? ", " : "", (k * self->pp + i) * each,
                             (k * self->pp + i + 1) * each - 1);
        st_buffer_text(text, "\"");
        if (self->own)
            st_buffer_printf(text, ", tp: %d, recompute: full", self->tp);
        if (self->orders)
            write_order(self, i, text);
        st_buffer_text(text, "}\n");
    }
}

static void look_closer(random_case *self, st_estimate *estimate, const st_timeline *timeline,
                        outcome *seen)
{
    const char *slow = st_arena_printf(self->arena, "rank:%d=1.385", self->tp * self->dp);
    const st_variance_wish wish = {.slow = &slow, .slow_count = 1, .samples = 1, .seed = 17};
    st_timeline_memory memory;
    st_nic_usage nic;
    st_variance variance;
    require(self, st_timeline_memory_make(estimate, timeline, self->arena, &memory, self->errors));
    require(self, st_nic_usage_make(estimate, timeline, 17, self->arena, &nic, self->errors));
    require(self,
            st_variance_make(estimate, timeline, &wish, self->arena, &variance, self->errors));
    seen->step = timeline->step;
    seen->slow_step = llround(variance.mean_s * ST_TICKS_PER_S);
    for (size_t i = 0; i < timeline->row_count; i++)
        seen->peak_bytes[i] = memory.rows[i].peak.allocated_bytes;
    assert_true(nic.class_count <= MOST_NODES);
    for (size_t i = 0; i < nic.class_count; i++)
        seen->sent_bytes[i] = nic.classes[i].sent_bytes;
}

static void lay_out(random_case *self, const st_strategy *strategy, const st_strategy_sets *sets,
                    outcome *seen)
{
    st_estimate estimate = {0};
    st_timeline_plan plan;
    st_timeline timeline = {0};
    const st_request request = {
        .job = "gpt3-175b-1024xa100", .sets = self->sets, .set_count = self->count};
    const st_strategy_job job = {
        .paths = self->paths, .request = &request, .sets = sets, .estimate = &estimate};
    require(self, st_estimate_load(self->paths, &request, self->arena, &estimate, self->errors));
    if (strategy != NULL)
        require(self, st_strategy_plan(strategy, &job, self->arena, &plan, self->errors));
    else
        require(self, st_timeline_plan_make(&estimate, self->arena, &plan, self->errors));
    plan.splits_differ = plan.own_stages != NULL && self->looked_up;
    require(self, st_timeline_make(&plan, false, self->arena, &timeline, self->errors));
    *seen = (outcome){0};
    look_closer(self, &estimate, &timeline, seen);
    st_timeline_free(&timeline);
}

TEST(own_plan_is_the_same_step)
{
    for (int round = 0; round < ROUNDS; round++) {
        random_case self = begin_case();
        st_buffer text = {0};
        st_strategy strategy;
        st_strategy_sets sets;
        random_plan(*state, &self);
        size_t shared = self.count;
        write_strategy(&self, &text);
        read_strategy(&self, &text, &strategy, &sets);
        outcome named;
        lay_out(&self, &strategy, &sets, &named);
        self.count = shared;
        self.sets[self.count++] = "recompute=full";
        set(&self, "parallel.tp", self.tp);
        set(&self, "parallel.pp", self.pp);
        set(&self, "parallel.dp", self.dp);
        set(&self, "parallel.virtual_stages", self.chunks);
        outcome own;
        lay_out(&self, NULL, NULL, &own);
        if (named.step != own.step || named.slow_step != own.slow_step)
            fail_msg("%s: %lld ps and %lld ps, the job's own plan takes %lld ps and %lld ps",
                     text.data, (long long)named.step, (long long)named.slow_step,
                     (long long)own.step, (long long)own.slow_step);
        assert_memory_equal(named.peak_bytes, own.peak_bytes, sizeof own.peak_bytes);
        assert_memory_equal(named.sent_bytes, own.sent_bytes, sizeof own.sent_bytes);
        st_buffer_free(&text);
        end_case(&self);
    }
}

/* Stages of 8, 16 or 24 devices, each with a split of its own; returns the devices. */
static int write_unlike(property_random *random, random_case *self, st_buffer *text)
{
    static const int sizes[] = {1, 2, 4, 8};
    int device = 0;
    int layer = 0;
    self->pp = random_between(random, 2, 5);
    self->sets[self->count++] = "cluster.gpu.memory=9000 TB";
    self->sets[self->count++] = "model.tied=true";
    set(self, "cluster.nodes", 4000);
    set(self, "parallel.zero", random_between(random, 0, 1));
    set(self, "batch.micro", 48);
    set(self, "batch.global", 48 * 48 * random_between(random, 1, 2));
    st_buffer_text(text, "strategy: unlike\nschedule: 1f1b\nstages:\n");
    for (int i = 0; i < self->pp; i++) {
        int devices = 8 * random_between(random, 1, 3);
        int layers = i + 1 == self->pp ? LAYERS - layer : random_between(random, 1, 19);
        int tp = sizes[random_below(random, 4)];
        int cp = tp == 8 ? 1 : sizes[random_below(random, 2)];
        st_buffer_printf(text, "  - {devices: %d-%d, layers: %d-%d, tp: %d, cp: %d}\n", device,
                         device + devices - 1, layer, layer + layers - 1, tp, cp);
        device += devices;
        layer += layers;
    }
    return device;
}

TEST(every_rank_is_as_its_stage)
{
    for (int round = 0; round < ROUNDS; round++) {
        random_case self = begin_case();
        st_buffer text = {0};
        st_estimate estimate = {0};
        st_strategy strategy;
        st_strategy_sets sets;
        st_timeline_plan plan;
        st_timeline one;
        st_timeline all;
        bool seen[MOST_STAGES * 24] = {false};
        int devices = write_unlike(*state, &self, &text);
        read_strategy(&self, &text, &strategy, &sets);
        const st_request request = {
            .job = "gpt3-175b-1024xa100", .sets = self.sets, .set_count = self.count};
        const st_strategy_job job = {
            .paths = self.paths, .request = &request, .sets = &sets, .estimate = &estimate};
        require(&self, st_estimate_load(self.paths, &request, self.arena, &estimate, self.errors));
        require(&self, st_strategy_plan(&strategy, &job, self.arena, &plan, self.errors));
        require(&self, st_timeline_make(&plan, false, self.arena, &one, self.errors));
        require(&self, st_timeline_make(&plan, true, self.arena, &all, self.errors));
        assert_int_equal(all.row_count, devices);
        assert_int_equal(all.step, one.step);
        assert_memory_equal(all.term, one.term, sizeof one.term);
        for (size_t i = 0; i < all.row_count; i++) {
            const st_timeline_row *row = &all.rows[i];
            const st_strategy_span *span = &strategy.stages[row->stage].devices.items[0];
            assert_in_range(row->rank, span->first, span->last);
            assert_false(seen[row->rank]);
            seen[row->rank] = true;
            assert_memory_equal(&row->time, &one.rows[row->stage].time, sizeof row->time);
        }
        st_timeline_free(&one);
        st_timeline_free(&all);
        st_buffer_free(&text);
        end_case(&self);
    }
}

TESTS_WITH(strategies, property_setup, NULL);
