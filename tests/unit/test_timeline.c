/* SPDX-License-Identifier: Apache-2.0 */
/* Timelines of jobs: durations from cells, folded and unfolded, traces and pictures. */
#include "base_support.h"
#include "schedule/schedule.h"

#include "timeline/timeline.h"
#include "schedule/perfetto.h"

typedef struct fixture {
    st_arena *arena;
    st_errors *errors;
    st_paths *paths;
    st_estimate estimate;
    st_timeline_plan plan;
    st_timeline timeline;
} fixture;

static int setup(void **state)
{
    fixture *self = calloc(1, sizeof(*self));
    self->arena = st_arena_create();
    self->errors = st_errors_create();
    *state = self;
    return st_paths_create(NULL, 0, &self->paths, self->errors) == ST_OK ? 0 : -1;
}

static int teardown(void **state)
{
    fixture *self = *state;
    st_timeline_free(&self->timeline);
    st_paths_destroy(self->paths);
    st_errors_destroy(self->errors);
    st_arena_destroy(self->arena);
    free(self);
    return 0;
}

static st_status plan_job(fixture *self, const char *job, const char *const *sets, size_t count)
{
    st_request request = {.job = job, .sets = sets, .set_count = count};
    st_status status =
        st_estimate_load(self->paths, &request, self->arena, &self->estimate, self->errors);
    if (status != ST_OK) {
        return status;
    }
    return st_timeline_plan_make(&self->estimate, self->arena, &self->plan, self->errors);
}

static void make(fixture *self, bool every_rank)
{
    st_timeline_free(&self->timeline);
    assert_int_equal(
        st_timeline_make(&self->plan, every_rank, self->arena, &self->timeline, self->errors),
        ST_OK);
}

static double cell(fixture *self, const char *name)
{
    st_estimate again = self->estimate;
    assert_int_equal(
        st_estimate_show_names(&again, &name, 1, (st_place){0}, self->arena, self->errors), ST_OK);
    assert_int_equal(st_estimate_run(&again, self->arena, self->errors), ST_OK);
    return again.shown[0].value;
}

/* All passes of a stage, in seconds. */
static double stage_seconds(const fixture *self, uint32_t stage)
{
    const st_schedule_shape *shape = &self->plan.schedule.shape;
    double sum = 0;
    for (uint32_t chunk = 0; chunk < shape->chunks; chunk++) {
        const st_chunk_times *times = &shape->times[chunk * shape->stages + stage];
        for (int i = 0; i < ST_PASSES * ST_PARTS; i++) {
            sum += (double)times->part[i / ST_PARTS][i % ST_PARTS];
        }
    }
    return sum / ST_TICKS_PER_S;
}

static void assert_close(double value, double expected)
{
    if (fabs(value - expected) > 1e-9 * fabs(expected)) {
        fail_msg("%.17g is not %.17g", value, expected);
    }
}

/* --- plans -------------------------------------------------------------------------------------
 */

TEST_OF(stages_last_as_the_sheet_says, fixture *self, setup, teardown)
{
    assert_int_equal(plan_job(self, "gpt3-175b-1024xa100", NULL, 0), ST_OK);
    assert_close(stage_seconds(self, 0), cell(self, "t_stage[first]"));
    assert_close(stage_seconds(self, 3), cell(self, "t_stage[middle]"));
    assert_close(stage_seconds(self, 7), cell(self, "t_stage[last]"));
    assert_int_equal(self->plan.schedule.groups.tp, 8);
    assert_int_equal(self->plan.schedule.groups.pp_stride, 128);
}

TEST_WITH(experts_and_prices_are_parts_of_passes, setup, teardown)
{
    static const char *const sets[] = {"constants.overlap_slowdown=1.385", "overlap.ep=0.385",
                                       "overlap.tp=0.2385", "cluster.gpu.memory=100TB"};
    fixture *self = *state;
    assert_int_equal(plan_job(self, "mixtral-8x7b-64xh100", sets, COUNT(sets)), ST_OK);
    assert_close(stage_seconds(self, 1), cell(self, "t_stage[middle]"));
    const st_chunk_times *times = &self->plan.schedule.shape.times[1];
    assert_true(times->part[ST_PASS_FORWARD][ST_PART_EP] > 0);
    assert_true(times->part[ST_PASS_FORWARD][ST_PART_SLOWDOWN] > 0);
    assert_true(self->plan.schedule.ends.data_per_micro >= 0);
}

/* Work of a pass of a stage, in seconds. */
static double work_of(const fixture *self, uint32_t stage, st_pass pass)
{
    return (double)self->plan.schedule.shape.times[stage].part[pass][ST_PART_WORK] / ST_TICKS_PER_S;
}

/*
 * The last stage has as many layers as one in the middle, and the output layer: three GEMMs of one
 * size, for the logits, the gradient of what came in and the weights'.
 */
TEST_WITH(the_output_layer_is_three_products, setup, teardown)
{
    static const char *const sets[] = {"parallel.schedule=zero_bubble"};
    fixture *self = *state;
    assert_int_equal(plan_job(self, "gpt3-175b-1024xa100", sets, 1), ST_OK);
    double head = cell(self, "t_head");
    double logits = cell(self, "t_logits");
    assert_true(logits < 0.99 * head);
    double forward = work_of(self, 7, ST_PASS_FORWARD) - work_of(self, 3, ST_PASS_FORWARD);
    double weights = work_of(self, 7, ST_PASS_WEIGHTS) - work_of(self, 3, ST_PASS_WEIGHTS);
    double backward = work_of(self, 7, ST_PASS_BACKWARD) - work_of(self, 3, ST_PASS_BACKWARD);
    assert_true(fabs(forward - head / 3) < 1e-6 * head);
    assert_true(fabs(weights - logits / 3) < 1e-6 * head);
    assert_true(fabs(backward - (2 * head - logits) / 3) < 1e-6 * head);
}

TEST_WITH(stages_that_do_not_divide_the_layers_keep_their_number, setup, teardown)
{
    static const char *const sets[] = {"model.layers=93", "cluster.gpu.memory=1TB"};
    fixture *self = *state;
    assert_int_equal(plan_job(self, "gpt3-175b-1024xa100", sets, 2), ST_OK);
    double layer = cell(self, "t_layer[dense]");
    assert_close(stage_seconds(self, 1), 12 * layer);
    assert_close(stage_seconds(self, 4), 11 * layer);
    assert_close(stage_seconds(self, 6), 11 * layer);
    double sum = 0;
    for (uint32_t i = 0; i < 8; i++) {
        sum += stage_seconds(self, i);
    }
    assert_close(sum, cell(self, "t_model"));
}

TEST_OF(first_and_last_stage_may_have_smaller_chunks, fixture *self, setup, teardown)
{
    assert_int_equal(plan_job(self, "llama3-405b-16384xh100", NULL, 0), ST_OK);
    const st_schedule_shape *shape = &self->plan.schedule.shape;
    assert_int_equal(shape->chunks, 8);
    const int64_t *first = shape->times[0].part[ST_PASS_FORWARD];
    const int64_t *usual = shape->times[shape->stages].part[ST_PASS_FORWARD];
    assert_true(first[ST_PART_WORK] > 0 && first[ST_PART_WORK] < usual[ST_PART_WORK]);
    assert_close(stage_seconds(self, 0), cell(self, "t_stage[first]"));
}

/* 12 layers a stage in five chunks: two of them have three, next to the middle of the model. */
TEST_WITH(chunks_share_layers_that_they_do_not_divide, setup, teardown)
{
    static const char *const sets[] = {"parallel.virtual_stages=5"};
    static const double first[] = {2, 2, 2, 3, 3};
    static const double others[] = {3, 3, 2, 2, 2};
    fixture *self = *state;
    assert_int_equal(plan_job(self, "gpt3-175b-64xa100", sets, 1), ST_OK);
    const st_schedule_shape *shape = &self->plan.schedule.shape;
    for (uint32_t place = 0; place < shape->stages * 5; place++)
        assert_true(self->plan.place_layers[place] == (place % shape->stages == 0
                                                           ? first[place / shape->stages]
                                                           : others[place / shape->stages]));
    assert_close(stage_seconds(self, 0), cell(self, "t_stage[first]"));
}

TEST_WITH(times_beyond_reason_are_refused, setup, teardown)
{
    static const char *const sets[] = {"constants.site_factor=1e30"};
    fixture *self = *state;
    assert_int_equal(plan_job(self, "gpt3-175b-1024xa100", sets, 1), ST_ERR_LIMIT);
    assert_string_equal(
        said(self->errors),
        "error: a task has a negative or too long duration: expected at most 10^6 s\n");
}

/* --- replays -----------------------------------------------------------------------------------
 */

TEST_WITH(unfolded_ranks_do_what_folded_ones_do, setup, teardown)
{
    static const char *const sets[] = {"parallel.order=tp-pp-dp"};
    fixture *self = *state;
    assert_int_equal(plan_job(self, "gpt-3b-32x3090", sets, 1), ST_OK);
    make(self, false);
    int64_t folded = self->timeline.step;
    st_timeline_row stage = self->timeline.rows[2];
    assert_int_equal(self->timeline.row_count, 4);
    assert_int_equal(stage.rank, 4);
    make(self, true);
    assert_int_equal(self->timeline.step, folded);
    assert_int_equal(self->timeline.row_count, 32);
    for (size_t i = 0; i < 32; i++) {
        const st_timeline_row *row = &self->timeline.rows[i];
        if (row->stage == 2) {
            assert_memory_equal(&row->time, &stage.time, sizeof stage.time);
        }
    }
}

TEST_WITH(zero_bubble_2_steps_overlap, setup, teardown)
{
    static const char *const sets[] = {"parallel.schedule=zero_bubble_2", "model.tied=false"};
    fixture *self = *state;
    assert_int_equal(plan_job(self, "gpt3-175b-1024xa100", sets, 2), ST_OK);
    make(self, false);
    assert_true(self->timeline.step < self->timeline.end);
    assert_true(self->timeline.bubble < 0.01);
}

/* --- traces and pictures ------------------------------------------------------------------------
 */

/* The number behind `key` in a line of a trace, in ns. */
static long long trace_time(const char *line, const char *key)
{
    const char *at = strstr(line, key);
    char *end = NULL;
    assert_non_null(at);
    long long whole = strtoll(at + strlen(key), &end, 10);
    return whole * 1000 + strtoll(end + 1, NULL, 10);
}

TEST_WITH(events_of_a_track_do_not_overlap, setup, teardown)
{
    static const char *const sets[] = {"overlap.gradients=0.6", "parallel.zero=1"};
    fixture *self = *state;
    st_buffer trace = {0};
    long long until[1000] = {0};
    size_t events = 0;
    assert_int_equal(plan_job(self, "gpt3-175b-1024xa100", sets, 2), ST_OK);
    make(self, false);
    assert_int_equal(st_perfetto_write(self->timeline.replay, 1000, &trace, self->errors), ST_OK);
    for (const char *line = trace.data; line != NULL; line = strchr(line + 1, '\n')) {
        const char *event = strstr(line, "{\"ph\":\"X\"");
        if (event == NULL) {
            break;
        }
        line = event;
        long long track = strtoll(strstr(event, "\"tid\":") + 6, NULL, 10);
        long long start = trace_time(event, "\"ts\":");
        assert_true(track < 1000 && start >= until[track]);
        until[track] = start + trace_time(event, "\"dur\":");
        events++;
    }
    assert_true(events > 1000);
    assert_non_null(strstr(trace.data, "\"name\":\"data\""));
    st_buffer_free(&trace);
}

TEST_OF(a_trace_without_events_is_still_json, fixture *self, setup, teardown)
{
    st_buffer trace = {0};
    st_graph *graph = st_graph_create(NULL);
    uint32_t on = 0;
    assert_int_equal(st_graph_resource(graph, 0, ST_RESOURCE_COMPUTE, "a \"b\"", &on, NULL), ST_OK);
    assert_int_equal(st_graph_seal(graph, NULL), ST_OK);
    st_replay *replay = st_replay_create(graph);
    assert_int_equal(st_replay_run(replay, NULL), ST_OK);
    assert_int_equal(st_perfetto_write(replay, 1, &trace, self->errors), ST_OK);
    assert_string_equal(trace.data,
                        "{\"displayTimeUnit\":\"ns\",\"traceEvents\":[\n"
                        "{\"ph\":\"M\",\"name\":\"process_name\",\"pid\":0,\"tid\":0,\"args\":{"
                        "\"name\":\"rank 0\"}},\n"
                        "{\"ph\":\"M\",\"name\":\"thread_name\",\"pid\":0,\"tid\":0,\"args\":{"
                        "\"name\":\"a \\\"b\\\"\"}}\n]}\n");
    st_buffer_free(&trace);
    st_replay_destroy(replay);
    st_graph_destroy(graph);
}

TEST_OF(a_picture_has_a_box_a_task, fixture *self, setup, teardown)
{
    st_buffer picture = {0};
    size_t boxes = 0;
    assert_int_equal(plan_job(self, "gpt-3b-32x3090", NULL, 0), ST_OK);
    make(self, false);
    assert_int_equal(st_timeline_write_svg(&self->timeline, &picture, self->errors), ST_OK);
    for (const char *at = picture.data; (at = strstr(at, "<rect")) != NULL; at++) {
        boxes++;
    }
    /* Tasks, rows, background, legend of forward, backward, tp, pp, dp. */
    assert_int_equal(boxes, st_graph_task_count(self->timeline.graph) + 4 + 1 + 5);
    st_buffer_free(&picture);
}

TESTS(timeline);
