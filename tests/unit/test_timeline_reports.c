/* SPDX-License-Identifier: Apache-2.0 */
/* Reports of timelines, of their memory and of ranks that are not alike, made of given numbers. */
#include "graph_support.h"

#include "timeline/timeline.h"

#define GIB 1073741824.0

/* A graph of two tasks one behind the other, and a timeline that says what each test needs. */
typedef struct fixture {
    graph_fixture *own;
    st_timeline timeline;
    st_timeline_row rows[67];
    st_timeline_category categories[2];
    st_path_step path[2];
    st_result result;
} fixture;

static void fill_graph(fixture *self)
{
    uint32_t on = resource(self->own, 3, ST_RESOURCE_COMPUTE);
    uint16_t forward = 0;
    assert_int_equal(st_graph_category(self->own->graph, "forward", ST_WORK_COMPUTE, &forward,
                                       self->own->errors),
                     ST_OK);
    st_task_id first = add(self->own, &(st_task_spec){.resource = on,
                                                      .name = name_of(self->own, "F 1"),
                                                      .category = forward,
                                                      .duration_ns = INT64_C(1238500000000)});
    st_task_id second = add(self->own, &(st_task_spec){.resource = on,
                                                       .name = name_of(self->own, "B 1"),
                                                       .category = forward,
                                                       .duration_ns = INT64_C(1146500000000)});
    replay(self->own);
    self->path[0] = (st_path_step){.task = first, .time_ns = INT64_C(1238500000000)};
    self->path[1] =
        (st_path_step){.task = second, .edge = ST_EDGE_PROGRAM, .time_ns = INT64_C(1146500000000)};
}

/* 2.385 s by the replay and 2.5 s by the sheet; each term differs by a number of its own. */
static void fill_timeline(fixture *self)
{
    self->timeline = (st_timeline){
        .plan = {.job = "small",
                 .sheet = "megatron",
                 .schedule =
                     {.shape = {.kind = ST_SCHEDULE_1F1B, .stages = 2, .micros = 7, .chunks = 1},
                      .groups = {.tp = 2, .cp = 3, .dp = 5}},
                 .closed_s = 2.5,
                 .term_s = {[ST_TERM_STEADY] = 1.875, [ST_TERM_BUBBLE] = 0.625},
                 .closed_same_schedule = true,
                 .step_cell = "step_time",
                 .hiding_s = {0.385, 0.25, 0.125}},
        .graph = self->own->graph,
        .replay = self->own->replay,
        .end = INT64_C(2385000000000),
        .step = INT64_C(2385000000000),
        .term = {[ST_TERM_STEADY] = INT64_C(1875000000000),
                 [ST_TERM_BUBBLE] = INT64_C(500000000000),
                 [ST_TERM_DATA] = INT64_C(10000000000)},
        .hiding_s = {0.385, 0.375, 0.125},
        .bubble = 0.12385,
        .rows = self->rows,
        .row_count = 2,
        .categories = self->categories,
        .category_count = 2,
        .path = self->path,
        .path_count = 2};
    self->rows[1] = (st_timeline_row){.rank = 30,
                                      .stage = 1,
                                      .time = {.exposed_compute_ns = INT64_C(1100000000000),
                                               .exposed_communication_ns = INT64_C(210000000000),
                                               .overlapped_ns = INT64_C(320000000000),
                                               .waiting_ns = INT64_C(430000000000),
                                               .idle_ns = INT64_C(325000000000)},
                                      .slowdown = INT64_C(54000000000),
                                      .first = INT64_C(17000000000),
                                      .last = INT64_C(2285000000000)};
    self->categories[0] = (st_timeline_category){.name = "other"};
    self->categories[1] = (st_timeline_category){.name = "forward",
                                                 .count = 2,
                                                 .time = INT64_C(4385000000000),
                                                 .path = INT64_C(1192500000000)};
}

static int setup(void **state)
{
    void *own = NULL;
    fixture *self = calloc(1, sizeof *self);
    assert_int_equal(make_graph(&own), 0);
    self->own = own;
    fill_graph(self);
    fill_timeline(self);
    *state = self;
    return 0;
}

static int teardown(void **state)
{
    fixture *self = *state;
    void *own = self->own;
    (void)drop_graph(&own);
    free(self);
    return 0;
}

/* The result in a form, in static memory. */
static const char *written(const fixture *self, st_form form)
{
    static char text[65536];
    static const st_paint plain = {false, 0};
    st_buffer buffer = {0};
    st_result_write(&self->result, form, &plain, &buffer);
    assert_false(buffer.failed);
    assert_true(buffer.length < sizeof text);
    (void)snprintf(text, sizeof text, "%s", st_buffer_read(&buffer));
    st_buffer_free(&buffer);
    return text;
}

static void assert_has(const fixture *self, st_form form, const char *const *parts, size_t count)
{
    const char *text = written(self, form);
    for (size_t i = 0; i < count; i++)
        assert_contains(text, parts[i]);
}

static void assert_lacks(const char *text, const char *part)
{
    if (strstr(text, part) != NULL)
        fail_msg("'%s' contains '%s'", text, part);
}

/* ---- timelines ---- */

TEST_WITH(timelines_are_told_as_text, setup, teardown)
{
    static const char *const parts[] = {
        "schedule   1f1b, 2 stages, 7 micro-batches\n",
        "ranks      2, one of each stage, each represents 30\ntasks      2\n",
        "step time  2.385 s\nbubble     12.38 % of the pipeline's time\n",
        "the critical path has 2 tasks\n",
        "forward      2    4.385 s        1.192 s      50.00 %\n",
        /* Of the step's 2.5 s: -0.125 s are 5 %, +0.01 s are 0.4 %, all together -4.6 %. */
        "steady         1.875 s  1.875 s       agrees\n",
        "bubble          625 ms   500 ms      -5.00 %\n",
        "data               0 s    10 ms      +0.40 %\n",
        "step_time        2.5 s  2.385 s      -4.60 %\n",
        "hidden communication        250 ms  375 ms      +5.00 %\n",
        "exposed communication       385 ms  385 ms       agrees\n",
        "bubble: the sheet models a first",
        "hidden communication: the sheet hides as much",
    };
    fixture *self = *state;
    st_timeline_report(&self->timeline, self->own->arena, &self->result);
    const char *text = written(self, ST_FORM_TEXT);
    assert_lacks(text, "\n  tied");
    assert_lacks(text, "\n  other");
    assert_lacks(text, "ranks more");
    assert_lacks(text, "does not model");
    assert_has(self, ST_FORM_TEXT, parts, COUNT(parts));
}

TEST_WITH(timelines_are_told_to_programs, setup, teardown)
{
    static const char *const parts[] = {
        "\"stages\": 2,",
        "\"every_rank\": false,",
        "\"step_time_s\": 2.385,",
        "\"closed_form_s\": 2.5,",
        "\"difference\": -0.046",
        "{\"name\": \"forward\", \"tasks\": 2, \"all_ranks_s\": 4.385, \"critical_path_s\": "
        "1.1925}\n",
        "{\"rank\": 3, \"task\": \"F 1\", \"category\": \"forward\", \"edge\": null, \"start_s\": "
        "0, \"time_s\": 1.2385}",
        "{\"rank\": 3, \"task\": \"B 1\", \"category\": \"forward\", \"edge\": \"program\", "
        "\"start_s\": 1.2385, \"time_s\": 1.1465}",
        "{\"name\": \"tied\", \"closed_form_s\": 0, \"replay_s\": 0, \"agrees\": true, \"why\": "
        "null}",
    };
    static const char *const csv[] = {
        "rank,stage,exposed_compute_s,exposed_communication_s,overlapped_s,waiting_s,idle_s,"
        "first_s,last_s,slowdown_s\n0,0,0,0,0,0,0,0,0,0\n"
        "30,1,1.1,0.21,0.32,0.43,0.325,0.017,2.285,0.054\n"};
    fixture *self = *state;
    st_timeline_report(&self->timeline, self->own->arena, &self->result);
    assert_has(self, ST_FORM_JSON, parts, COUNT(parts));
    assert_has(self, ST_FORM_CSV, csv, COUNT(csv));
}

/* Differences up to 1e-9 of the step are rounding. */
TEST_OF(agreement_is_within_a_billionth_of_the_step, fixture *self, setup, teardown)
{
    self->timeline.plan.term_s[ST_TERM_TIED] = 0.7 - 2.4e-9;
    self->timeline.term[ST_TERM_TIED] = INT64_C(700000000000);
    st_timeline_terms_report(&self->timeline, self->own->arena, &self->result);
    assert_contains(written(self, ST_FORM_CSV), "\ntied,0.6999999976,0.7,true,\n");
    self->timeline.plan.term_s[ST_TERM_TIED] = 0.7 + 2.6e-9;
    st_timeline_terms_report(&self->timeline, self->own->arena, &self->result);
    assert_contains(written(self, ST_FORM_CSV),
                    "\ntied,0.7000000026,0.7,false,only the first and last stage wait for it\n");
    assert_contains(written(self, ST_FORM_CSV), "\nstep_time,2.5,2.385,false,\nexposed");
    assert_contains(written(self, ST_FORM_TEXT), "tied            700 ms   700 ms      +0.00 %\n");
}

TEST_WITH(heads_tell_what_differs, setup, teardown)
{
    static st_own_stage stages[2];
    fixture *self = *state;
    st_timeline_plan *plan = &self->timeline.plan;
    plan->closed_same_schedule = false;
    plan->schedule.shape.chunks = 4;
    plan->schedule.shape.stages = 1;
    plan->schedule.shape.micros = 1;
    plan->schedule.groups = (st_schedule_groups){.tp = 1, .cp = 1, .dp = 1};
    st_timeline_report(&self->timeline, self->own->arena, &self->result);
    assert_contains(written(self, ST_FORM_TEXT), "1f1b, 1 stage of 4 chunks, 1 micro-batch\n"
                                                 "ranks      2, one of each stage\ntasks");
    assert_contains(written(self, ST_FORM_TEXT),
                    "  The sheet does not model 1f1b; it assumes its own schedule.\n");
    plan->schedule.groups.dp = 2;
    self->timeline.end = 0;
    st_timeline_report(&self->timeline, self->own->arena, &self->result);
    assert_contains(written(self, ST_FORM_TEXT), "one of each stage, each represents 2\n");
    assert_contains(written(self, ST_FORM_TEXT), "1.192 s       0.00 %\n");
    plan->own_stages = stages;
    st_timeline_report(&self->timeline, self->own->arena, &self->result);
    assert_contains(written(self, ST_FORM_TEXT),
                    "one of each stage, each represents its pipeline stage\n");
    assert_contains(written(self, ST_FORM_TEXT), "  The sheet does not model stages that differ");
    plan->schedule.every_rank = true;
    st_timeline_report(&self->timeline, self->own->arena, &self->result);
    assert_contains(written(self, ST_FORM_TEXT), "ranks      2\ntasks");
}

TEST_OF(text_has_the_first_ranks_of_many, fixture *self, setup, teardown)
{
    for (size_t i = 0; i < COUNT(self->rows); i++)
        self->rows[i].rank = 3000 + (uint32_t)i;
    self->timeline.row_count = 64;
    st_timeline_report(&self->timeline, self->own->arena, &self->result);
    assert_contains(written(self, ST_FORM_TEXT), "  3063 ");
    assert_lacks(written(self, ST_FORM_TEXT), "ranks more");
    self->timeline.row_count = COUNT(self->rows);
    st_timeline_report(&self->timeline, self->own->arena, &self->result);
    assert_contains(written(self, ST_FORM_TEXT), "  ... and 3 ranks more (--csv shows all)\n");
    assert_lacks(written(self, ST_FORM_TEXT), "3064");
    assert_contains(written(self, ST_FORM_CSV), "\n3066,");
}

/* ---- pictures ---- */

static const char *drawn(const fixture *self)
{
    static char text[65536];
    st_buffer svg = {0};
    assert_int_equal(st_timeline_write_svg(&self->timeline, &svg, self->own->errors), ST_OK);
    assert_true(svg.length < sizeof text);
    (void)snprintf(text, sizeof text, "%s", st_buffer_read(&svg));
    st_buffer_free(&svg);
    return text;
}

/* 1400 pixels are 2.385 s, from 90 on: 1.2385 s of them 727; a row has 30, the first from 70 on. */
TEST_WITH(pictures_have_a_box_for_each_task, setup, teardown)
{
    static const char *const parts[] = {
        "<text x=\"90\" y=\"48\" class=\"faint\">2.385 s, 1f1b, 2 stages, 7 micro-batches, bubble "
        "12.38 %</text>",
        "<rect x=\"90\" y=\"70\" width=\"1400\" height=\"22\" class=\"panel\"/>\n"
        "<text x=\"82\" y=\"85\" class=\"end\">stage 1</text>",
        "<rect x=\"90\" y=\"100\" width=\"1400\" height=\"22\" class=\"panel\"/>\n"
        "<text x=\"82\" y=\"115\" class=\"end\">stage 2</text>",
        "<rect x=\"90\" y=\"100\" width=\"727\" height=\"22\" ",
        "<text x=\"453.5\" y=\"115\" class=\"middle inside\">1</text>",
        "<rect x=\"817\" y=\"100\" width=\"673\" height=\"22\" ",
        "<text x=\"1153.5\" y=\"115\" class=\"middle inside\">1</text>",
        ">forward</text>",
    };
    fixture *self = *state;
    self->rows[1].rank = 3;
    for (size_t i = 0; i < COUNT(parts); i++)
        assert_contains(drawn(self), parts[i]);
    assert_lacks(drawn(self), "other");
    assert_lacks(drawn(self), "communication");
}

/* A figure of 7 pixels has room in a box of 9. */
TEST_OF(numbers_stand_where_they_have_room, fixture *self, setup, teardown)
{
    self->timeline.end *= 80;
    assert_contains(drawn(self), "width=\"9.09\"");
    assert_contains(drawn(self), "class=\"middle inside\">1</text>");
    self->timeline.end = INT64_C(2385000000000) * 81;
    assert_contains(drawn(self), "width=\"8.98\"");
    assert_lacks(drawn(self), "class=\"middle inside\"");
}

TEST_WITH(pictures_of_buckets_have_room_for_them, setup, teardown)
{
    static const st_schedule_pieces pieces;
    fixture *self = *state;
    self->timeline.plan.schedule.pieces = &pieces;
    self->timeline.plan.schedule.every_rank = true;
    self->timeline.plan.schedule.shape.stages = 1;
    self->timeline.plan.schedule.shape.micros = 1;
    assert_contains(drawn(self), "1f1b, 1 stage, 1 micro-batch, bubble 12.38 %, exposed "
                                 "communication 385 ms, hidden communication 375 ms, overlap "
                                 "slowdown 125 ms</text>");
    assert_contains(drawn(self), "<text x=\"82\" y=\"132\" class=\"end\">rank 30</text>");
    self->timeline.row_count = 257;
    st_buffer svg = {0};
    assert_int_equal(st_timeline_write_svg(&self->timeline, &svg, self->own->errors), ST_ERR_LIMIT);
    assert_contains(said(self->own->errors), "2 tasks on 257 ranks are too many for a picture");
    st_buffer_free(&svg);
}

/* ---- memory ---- */

static const st_memory_point points[] = {{INT64_C(500000000000), 2385, 385, 38},
                                         {INT64_C(700000000000), 2386, 386, 39},
                                         {INT64_C(900000000000), 2387, 387, 40}};

static void fill_memory(fixture *self, st_memory_row rows[2], st_timeline_memory *memory)
{
    rows[0] = (st_memory_row){.rank = 3, .points = points, .count = 2};
    rows[1] = (st_memory_row){.rank = 30,
                              .stage = 1,
                              .weights_bytes = 2.5 * GIB,
                              .gradients_bytes = 3.5 * GIB,
                              .optimizer_bytes = 4.5 * GIB,
                              .buffers_bytes = 0.75 * GIB,
                              .peak = {INT64_C(1238500000000), 20 * GIB, 6.25 * GIB, 1.5 * GIB},
                              .peak_task = "B 1",
                              .in_flight = 2.5,
                              .gpu_bytes = 22.25 * GIB,
                              .closed_bytes = 16 * GIB,
                              .closed_in_flight = 2.5,
                              .points = points + 2,
                              .count = 1};
    *memory = (st_timeline_memory){.timeline = &self->timeline,
                                   .rows = rows,
                                   .worst = 1,
                                   .closed_bytes = 17 * GIB,
                                   .gpu_closed_bytes = 19 * GIB,
                                   .gpu_memory_bytes = 80 * GIB};
}

TEST_WITH(memory_is_told_by_stage_and_moment, setup, teardown)
{
    static const char *const text[] = {
        "1  20 GiB       16 GiB  +25.00 %           22.25 GiB       2.50     6.25 GiB        "
        "1.5 GiB  B 1\n",
        "Stage 1 has the highest peak: weights 2.5 GiB, gradients 3.5 GiB, optimizer 4.5 GiB, "
        "buffers 768 "
        "MiB,\nactivations 6.25 GiB, working layer 1.5 GiB\n",
    };
    static const char *const json[] = {
        "\"peak_gib\": 20,\n  \"closed_form_gib\": 17,\n  \"gpu_gib\": 22.25,\n  "
        "\"closed_form_gpu_gib\": 19,\n  \"gpu_memory_gib\": 80,",
        "{\"rank\": 30, \"stage\": 1, \"peak_gib\": 20, \"closed_form_gib\": 16, \"difference\": "
        "0.25, \"gpu_gib\": 22.25, \"peak_at_s\": 1.2385, \"peak_in\": \"B 1\"",
        "\"closed_form_gib\": 0, \"difference\": 0,",
    };
    static const char *const csv[] = {"rank,time_s,allocated_bytes,activations_bytes,working_bytes"
                                      "\n3,0.5,2385,385,38\n3,0.7,2386,386,39\n"
                                      "30,0.9,2387,387,40\n"};
    fixture *self = *state;
    st_memory_row rows[2];
    st_timeline_memory memory;
    fill_memory(self, rows, &memory);
    st_timeline_memory_report(&memory, self->own->arena, &self->result);
    assert_has(self, ST_FORM_TEXT, text, COUNT(text));
    assert_has(self, ST_FORM_JSON, json, COUNT(json));
    assert_has(self, ST_FORM_CSV, csv, COUNT(csv));
}

TEST_WITH(memory_beside_the_closed_form_has_a_reason, setup, teardown)
{
    static const struct {
        double peak; /* over the closed form's */
        double in_flight;
        double embedding_bytes;
        const char *reason; /* NULL: it is as large */
    } cases[] = {
        {1.00009, 2.5, 385, NULL},
        {0.99991, 2.5, 385, NULL},
        {1.00011, 2.5, 0.75, "blocks are rounded, and stages with fewer layers keep less"},
        {0.99989, 2.5, 0.75, "blocks are rounded, and stages with fewer layers keep less"},
        {1.25, 2.25, 385, "the number of micro-batches in flight differs from the sheet's"},
        {1.25, 2.75, 385, "the number of micro-batches in flight differs from the sheet's"},
        {1.25, 2.5, 2.385, "embedded tokens stay until the backward pass of the first chunk"},
    };
    fixture *self = *state;
    st_memory_row rows[2];
    st_timeline_memory memory;
    for (size_t i = 0; i < COUNT(cases); i++) {
        fill_memory(self, rows, &memory);
        rows[1].peak.allocated_bytes = cases[i].peak * 16 * GIB;
        rows[1].in_flight = cases[i].in_flight;
        rows[1].embedding_bytes = cases[i].embedding_bytes;
        st_timeline_memory_report(&memory, self->own->arena, &self->result);
        if (cases[i].reason == NULL)
            assert_lacks(written(self, ST_FORM_TEXT), "It differs");
        else
            assert_contains(written(self, ST_FORM_TEXT),
                            st_arena_printf(self->own->arena, "It differs from the closed form: %s",
                                            cases[i].reason));
    }
}

/* 110 pixels are 1.05 of the most; what lies under a kind of memory is in its area, too. */
TEST_WITH(memory_is_drawn_in_layers, setup, teardown)
{
    static const st_memory_point moment = {INT64_C(900000000000), 0, 6.25 * GIB, 1.5 * GIB};
    static const char *const parts[] = {
        "width=\"1230\" height=\"384\"",
        ">1f1b, peak 20 GiB, in closed form 17 GiB</text>",
        "<rect x=\"90\" y=\"206\" width=\"1100\" height=\"110\" class=\"panel\"/>",
        "<polygon points=\"90 316 505.09 302.9 1190 316\"",
        "<polygon points=\"90 316 505.09 284.57 1190 316\"",
        "<polygon points=\"90 316 505.09 261 1190 316\"",
        "<polygon points=\"90 316 505.09 257.07 1190 316\"",
        "<polygon points=\"90 316 505.09 224.33 1190 316\"",
        "<polygon points=\"90 316 505.09 216.48 1190 316\"",
        "<text x=\"82\" y=\"261\" class=\"end\">stage 2</text>",
        "<text x=\"1190\" y=\"201\" class=\"end\">20 GiB in B 1</text>",
        "<text x=\"1190\" y=\"65\" class=\"end\">0 GiB in rest</text>",
    };
    fixture *self = *state;
    st_memory_row rows[2];
    st_timeline_memory memory;
    st_buffer svg = {0};
    fill_memory(self, rows, &memory);
    rows[1].points = &moment;
    assert_int_equal(st_timeline_memory_write_svg(&memory, &svg, self->own->errors), ST_OK);
    for (size_t i = 0; i < COUNT(parts); i++)
        assert_contains(st_buffer_read(&svg), parts[i]);
    assert_lacks(st_buffer_read(&svg), "d=\"M90 261L1190 261\"");
    st_buffer_free(&svg);
    memory.gpu_memory_bytes = 10.5 * GIB; /* a line in every panel */
    self->timeline.plan.schedule.every_rank = true;
    assert_int_equal(st_timeline_memory_write_svg(&memory, &svg, self->own->errors), ST_OK);
    assert_contains(st_buffer_read(&svg), ">rank 30</text>");
    assert_contains(st_buffer_read(&svg), "M90 261L1190 261");
    assert_contains(st_buffer_read(&svg), "M90 125L1190 125");
    st_buffer_free(&svg);
}

TEST_OF(too_many_panels_are_refused, fixture *self, setup, teardown)
{
    st_memory_row rows[65] = {{.points = points, .count = 3, .peak = {.allocated_bytes = GIB}}};
    const st_timeline_memory memory = {.timeline = &self->timeline, .rows = rows};
    st_buffer svg = {0};
    self->timeline.row_count = 64;
    assert_int_equal(st_timeline_memory_write_svg(&memory, &svg, self->own->errors), ST_OK);
    st_buffer_free(&svg);
    self->timeline.row_count = 65;
    assert_int_equal(st_timeline_memory_write_svg(&memory, &svg, self->own->errors), ST_ERR_LIMIT);
    assert_contains(said(self->own->errors), "3 points on 65 ranks are too many for a picture");
    rows[1].count = 199998;
    self->timeline.row_count = 64;
    assert_int_equal(st_timeline_memory_write_svg(&memory, &svg, self->own->errors), ST_ERR_LIMIT);
}

TEST_OF(memory_of_many_ranks_is_cut_in_text, fixture *self, setup, teardown)
{
    st_memory_row rows[67] = {{0}};
    st_timeline_memory memory = {.timeline = &self->timeline, .rows = rows};
    rows[0].closed_bytes = GIB;
    for (size_t i = 0; i < COUNT(rows); i++)
        rows[i].stage = 3000 + (uint32_t)i;
    self->timeline.row_count = 64;
    st_timeline_memory_report(&memory, self->own->arena, &self->result);
    assert_lacks(written(self, ST_FORM_TEXT), "ranks more");
    assert_contains(written(self, ST_FORM_TEXT), "  3063 ");
    self->timeline.row_count = COUNT(rows);
    st_timeline_memory_report(&memory, self->own->arena, &self->result);
    assert_contains(written(self, ST_FORM_TEXT), "  ... and 3 ranks more (--json shows all)\n");
    assert_lacks(written(self, ST_FORM_TEXT), "3064");
    assert_contains(written(self, ST_FORM_JSON), "\"stage\": 3066,");
}

/* ---- ranks that are not alike ---- */

TEST_WITH(variance_is_told_beside_the_even_step, setup, teardown)
{
    static const double steps[] = {2.25, 2.625, 2.375};
    static const char *const json[] = {
        "\"standard_deviation\": 0.0385,\n  \"drawn_from\": \"normal\",\n  \"seed\": 17,",
        "\"ranks\": 385,\n  \"pipelines\": 5,\n  \"meet_in_passes\": 6,\n  \"deviation_s\": 0.75",
        "{\"name\": \"ranks alike\", \"step_time_s\": 2, \"change\": 0}",
        "{\"name\": \"mean of the steps drawn\", \"step_time_s\": 2.5, \"change\": 0.25}",
        "{\"name\": \"expected in closed form\", \"step_time_s\": 2.375, \"change\": 0.1875}",
        "{\"share\": 0.99, \"step_time_s\": 3.75, \"change\": 0.875}",
    };
    fixture *self = *state;
    st_variance variance = {.timeline = &self->timeline,
                            .jitter = 0.0385,
                            .distribution = "normal",
                            .seed = 17,
                            .ranks = 385,
                            .pipelines = 5,
                            .together = 6,
                            .even_s = 2,
                            .expected_s = 2.375,
                            .mean_s = 2.5,
                            .deviation_s = 0.75,
                            .quantile_s = {2, 2, 2, 2, 2, 2, 2, 3.75, 4},
                            .steps_s = steps,
                            .count = 3};
    st_variance_report(&variance, self->own->arena, &self->result);
    assert_has(self, ST_FORM_JSON, json, COUNT(json));
    assert_string_equal(written(self, ST_FORM_CSV),
                        "sample,step_time_s\n1,2.25\n2,2.625\n3,2.375\n");
    const char *text = written(self, ST_FORM_TEXT);
    assert_contains(text,
                    "ranks      385 in 5 pipelines, of each stage 6 synchronize in every pass\n"
                    "jitter     normal, 3 steps, seed 17\n");
    assert_contains(text, "  mean of the steps drawn      2.5 s          +25.00 %\n");
    assert_contains(text, "          99 %        3.75 s          +87.50 %\n");
}

TEST_OF(even_ranks_have_one_step, fixture *self, setup, teardown)
{
    st_variance variance = {.timeline = &self->timeline,
                            .distribution = "normal",
                            .ranks = 6,
                            .pipelines = 1,
                            .together = 6,
                            .even_s = 2,
                            .mean_s = 2.5};
    self->timeline.plan.splits_differ = true;
    st_variance_report(&variance, self->own->arena, &self->result);
    const char *text = written(self, ST_FORM_TEXT);
    assert_contains(text, "6 in 1 pipeline, of each stage up to 6 synchronize in every pass\n\n");
    assert_contains(text, "slow ranks or links");
    assert_lacks(text, "jitter");
    assert_lacks(text, "expected");
    assert_lacks(text, "of the steps");
    assert_contains(written(self, ST_FORM_JSON), "\"drawn_from\": null");
    assert_contains(written(self, ST_FORM_JSON), "\"quantiles\": []");
}

TESTS(timeline_reports);
