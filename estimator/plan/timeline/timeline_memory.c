/* SPDX-License-Identifier: Apache-2.0 */
/* Memory through a step; see timeline.h. */
#include "base/memory.h"
#include "base/text.h"
#include "estimate/estimate_internal.h"
#include "schedule/graph_internal.h"
#include "steptime/tool/estimates.h"
#include "steptime/tool/roles.h"
#include "timeline/timeline.h"
#include "timeline/timeline_svg.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { FIRST, MIDDLE, LAST, ENDS };
enum { BLOCK, SEGMENT };
enum { WHILE_PASSES, THROUGH_STEP };

/* What the sheet says, by position of a stage where it knows three. */
typedef struct memory_sizes {
    double value[ST_ROLES][ENDS];
} memory_sizes;

/* A rank's memory in the making. */
typedef struct memory_walk {
    const st_timeline *timeline;
    const memory_sizes *sizes;   /* of its stage */
    const double *left_bytes;    /* by chunk of the model, what a forward pass of it leaves */
    const double *rounded_bytes; /* the same, rounded */
    st_memory_row *row;
    st_memory_point *points;
    size_t count;
    double stays_bytes;
    double activations_bytes; /* rounded */
    double exact_bytes;
    double embedding_bytes;
    double in_flight;
} memory_walk;

static const st_role wanted[] = {
    ST_ROLE_HELD_WEIGHTS,   ST_ROLE_HELD_GRADIENTS,   ST_ROLE_HELD_OPTIMIZER,
    ST_ROLE_HELD_BUFFERS,   ST_ROLE_HELD_GATHERED,    ST_ROLE_HELD_BY_PASS,
    ST_ROLE_HELD_EMBEDDING, ST_ROLE_FORWARD_MEMORY,   ST_ROLE_BACKWARD_MEMORY,
    ST_ROLE_STAGE_MEMORY,   ST_ROLE_IN_FLIGHT,        ST_ROLE_ALLOCATION,
    ST_ROLE_FRAGMENTATION,  ST_ROLE_FRAMEWORK_MEMORY, ST_ROLE_GPU_MEMORY,
    ST_ROLE_STAGE_LAYERS,   ST_ROLE_MEMORY,           ST_ROLE_HELD_FOR_WEIGHTS,
};

/* --- sizes ------------------------------------------------------------------------------------ */

/* The roles that the sheet fills; what else there is it has none of. */
static st_status find_roles(const st_sheet *sheet, st_role_part *parts, const char **names,
                            size_t *count, st_errors *errors)
{
    static const st_role_part needed[] = {{ST_ROLE_HELD_WEIGHTS, FIRST},
                                          {ST_ROLE_HELD_BY_PASS, FIRST},
                                          {ST_ROLE_STAGE_MEMORY, FIRST}};
    for (size_t i = 0; i < ST_COUNT(needed); i++) { /* reports the first missing one */
        const st_role_list one = {&needed[i], 1, "memory during a step needs"};
        const char *name = NULL;
        st_status status = st_sheet_need_roles(sheet, &one, &name, errors);
        if (status != ST_OK)
            return status;
    }
    *count = 0;
    for (size_t i = 0; i < ST_COUNT(wanted); i++)
        for (size_t part = 0; part < st_role_part_count(wanted[i]); part++) {
            parts[*count] = (st_role_part){wanted[i], part};
            names[*count] = st_sheet_role_part(sheet, wanted[i], part);
            *count += names[*count] != NULL ? 1 : 0;
        }
    return ST_OK;
}

/* A sheet that counts a stage's layers knows ends and middle at once; one of layer lists is asked
 * for each stage. */
static st_status read_sizes(st_estimate *estimate, size_t stages, st_arena *arena,
                            memory_sizes *sizes, st_errors *errors)
{
    st_role_part parts[ST_COUNT(wanted) * ENDS];
    const char *names[ST_COUNT(wanted) * ENDS];
    size_t count = 0;
    st_status status = find_roles(estimate->sheet, parts, names, &count, errors);
    if (status != ST_OK)
        return status;
    bool at_once = st_sheet_role(estimate->sheet, ST_ROLE_STAGE_LAYERS) != NULL;
    double *values = st_arena_alloc(arena, stages * count, sizeof *values);
    if (values == NULL)
        return st_out_of_memory(errors);
    const st_stage_question question = {names, count, stages, 0};
    status = at_once ? st_estimate_look(estimate, names, count, arena, values, errors)
                     : st_estimate_by_stage(estimate, &question, arena, values, errors);
    for (size_t stage = 0; stage < stages && status == ST_OK; stage++)
        for (size_t i = 0; i < count; i++)
            sizes[stage].value[parts[i].role][parts[i].part] =
                values[(at_once ? 0 : stage * count) + i];
    return status;
}

/* The sizes of every stage: the job's, or its own, read once where stages share an estimate. */
static st_status size_stages(st_estimate *estimate, const st_timeline *timeline, st_arena *arena,
                             memory_sizes *sizes, st_errors *errors)
{
    const st_own_stage *own = timeline->plan.own_stages;
    uint32_t stages = timeline->plan.schedule.shape.stages;
    st_status status = ST_OK;
    if (own == NULL)
        return read_sizes(estimate, stages, arena, sizes, errors);
    for (uint32_t i = 0; i < stages && status == ST_OK; i++) {
        uint32_t same = 0;
        while (own[same].estimate != own[i].estimate)
            same++;
        if (same < i)
            sizes[i] = sizes[same];
        else
            status = read_sizes(own[i].estimate, 1, arena, &sizes[i], errors);
    }
    return status;
}

static int position(const st_timeline *timeline, uint32_t stage)
{
    uint32_t stages = timeline->plan.schedule.shape.stages;
    return stage == 0 ? FIRST : stage + 1 == stages ? LAST : MIDDLE;
}

static double rounded(double bytes, double multiple)
{
    return multiple > 0 ? multiple * ceil(bytes / multiple) : bytes;
}

/* --- through the step ------------------------------------------------------------------------- */

static void mark(memory_walk *walk, int64_t time, double working_bytes, const char *task)
{
    st_memory_row *row = walk->row;
    st_memory_point point = {.time = time,
                             .allocated_bytes =
                                 walk->stays_bytes + walk->activations_bytes + working_bytes,
                             .activations_bytes = walk->activations_bytes,
                             .working_bytes = working_bytes};
    walk->points[walk->count++] = point;
    if (point.allocated_bytes > row->peak.allocated_bytes) {
        row->peak = point;
        row->peak_task = task;
        row->rounding_bytes = walk->activations_bytes - walk->exact_bytes;
        row->embedding_bytes = walk->embedding_bytes;
    }
    row->in_flight = fmax(row->in_flight, walk->in_flight);
}

/* Takes what a chunk leaves, or a share of it, or gives it back. */
static void change(memory_walk *walk, uint32_t place, double share)
{
    walk->activations_bytes += share * walk->rounded_bytes[place];
    walk->exact_bytes += share * walk->left_bytes[place];
    if (place == 0)
        walk->embedding_bytes += share * walk->sizes->value[ST_ROLE_HELD_EMBEDDING][0];
    walk->in_flight += share / walk->timeline->plan.schedule.shape.chunks;
}

/* The memory of one pass, from its first task to its last. */
static void walk_pass(memory_walk *walk, const st_slot *slot, int64_t from, int64_t to,
                      const char *name)
{
    const st_timeline *timeline = walk->timeline;
    const st_schedule_shape *shape = &timeline->plan.schedule.shape;
    int where = position(timeline, walk->row->stage);
    uint32_t place = st_schedule_place(shape, walk->row->stage, slot->chunk);
    double held = walk->sizes->value[ST_ROLE_HELD_FOR_WEIGHTS][0];
    st_role role = slot->pass == ST_PASS_FORWARD ? ST_ROLE_FORWARD_MEMORY : ST_ROLE_BACKWARD_MEMORY;
    double working_bytes = slot->pass == ST_PASS_WEIGHTS
                               ? 0
                               : walk->sizes->value[role][where] +
                                     walk->sizes->value[ST_ROLE_HELD_GATHERED][WHILE_PASSES];
    mark(walk, from, working_bytes, name);
    if (slot->pass == ST_PASS_FORWARD)
        change(walk, place, 1);
    else
        change(walk, place,
               slot->pass == ST_PASS_WEIGHTS ? -held
               : slot->with_weights          ? -1
                                             : held - 1);
    mark(walk, to, working_bytes, name);
    mark(walk, to, 0, name);
}

/* --- passes ----------------------------------------------------------------------------------- */

/* A slot of a rank's order, laid out. */
typedef struct pass_span {
    int64_t from;
    int64_t to;
    uint32_t name;
} pass_span;

/* The spans of a rank in the making. */
typedef struct rank_spans {
    pass_span *spans;
    size_t count;
    size_t most;
} rank_spans;

static rank_spans *find_spans(const st_timeline *timeline, st_arena *arena)
{
    const st_graph *graph = timeline->graph;
    rank_spans *ranks = st_arena_alloc(arena, timeline->row_count, sizeof *ranks);
    for (size_t i = 0; ranks != NULL && i < timeline->row_count; i++) {
        size_t slots = timeline->order.counts[timeline->rows[i].stage];
        pass_span *spans = st_arena_alloc(arena, slots + 1, sizeof *spans);
        if (spans == NULL)
            return NULL;
        ranks[i] = (rank_spans){.spans = spans, .most = slots};
    }
    for (size_t i = 0; ranks != NULL && i < st_graph_task_count(graph); i++) {
        /* The tasks of a pass are consecutive in their rank and share its name. */
        const st_task_id task = (st_task_id)i;
        rank_spans *rank = &ranks[graph->resources[graph->resource[i]].rank_index];
        const st_graph *task_graph = timeline->graph;
        uint32_t name = task_graph->name[task];
        st_task_time time = st_replay_task(timeline->replay, task);
        bool own = rank->count > 0 && rank->spans[rank->count - 1].name == name;
        if (own && time.end_ns > rank->spans[rank->count - 1].to)
            rank->spans[rank->count - 1].to = time.end_ns;
        if (!own && rank->count < rank->most &&
            st_is_pass(st_graph_category_name(task_graph, task_graph->category[task])))
            rank->spans[rank->count++] = (pass_span){time.start_ns, time.end_ns, name};
    }
    return ranks;
}

/* --- a rank ----------------------------------------------------------------------------------- */

static void begin_row(memory_walk *walk)
{
    const memory_sizes *sizes = walk->sizes;
    st_memory_row *row = walk->row;
    int where = position(walk->timeline, row->stage);
    row->weights_bytes = sizes->value[ST_ROLE_HELD_WEIGHTS][where];
    row->gradients_bytes = sizes->value[ST_ROLE_HELD_GRADIENTS][where];
    row->optimizer_bytes = sizes->value[ST_ROLE_HELD_OPTIMIZER][where];
    row->buffers_bytes =
        sizes->value[ST_ROLE_HELD_BUFFERS][0] + sizes->value[ST_ROLE_HELD_GATHERED][THROUGH_STEP];
    row->closed_bytes = sizes->value[ST_ROLE_STAGE_MEMORY][where];
    row->closed_in_flight = sizes->value[ST_ROLE_IN_FLIGHT][where];
    if (row->stage == 0)
        row->closed_embedding_bytes =
            row->closed_in_flight * sizes->value[ST_ROLE_HELD_EMBEDDING][0];
    walk->stays_bytes =
        row->weights_bytes + row->gradients_bytes + row->optimizer_bytes + row->buffers_bytes;
}

/* What the allocator and the framework make of an amount. */
static double as_gpu_sees(const memory_sizes *sizes, double allocated_bytes)
{
    return sizes->value[ST_ROLE_FRAGMENTATION][0] *
               rounded(allocated_bytes, sizes->value[ST_ROLE_ALLOCATION][SEGMENT]) +
           sizes->value[ST_ROLE_FRAMEWORK_MEMORY][0];
}

static st_status walk_rows(const st_timeline *timeline, const memory_sizes *sizes, st_arena *arena,
                           st_timeline_memory *memory, st_errors *errors)
{
    enum { POINTS_PER_PASS = 3 };
    uint32_t places = st_schedule_places(&timeline->plan.schedule.shape);
    double *left_bytes = st_arena_alloc(arena, places, sizeof *left_bytes);
    double *rounded_bytes = st_arena_alloc(arena, places, sizeof *rounded_bytes);
    rank_spans *ranks = find_spans(timeline, arena);
    memory->rows = st_arena_alloc(arena, timeline->row_count, sizeof *memory->rows);
    if (left_bytes == NULL || rounded_bytes == NULL || ranks == NULL || memory->rows == NULL)
        return st_out_of_memory(errors);
    /* What a forward pass of every chunk of the model leaves until its backward pass. */
    const st_schedule_shape *shape = &timeline->plan.schedule.shape;
    uint32_t chunk_places = st_schedule_places(shape);
    for (uint32_t place = 0; place < chunk_places; place++) {
        uint32_t stage = st_schedule_stage(shape, place, 0);
        const memory_sizes *own = &sizes[stage];
        int where = position(timeline, stage);
        double block = own->value[ST_ROLE_ALLOCATION][BLOCK];
        double layers = timeline->plan.place_layers[place];
        double all = own->value[ST_ROLE_STAGE_LAYERS][where];
        double stage_bytes = own->value[ST_ROLE_HELD_BY_PASS][where];
        /* A stage without layers has what predicts further tokens. */
        double layer_bytes = all > 0 ? stage_bytes / all : stage_bytes;
        double count = all > 0 ? layers : 1;
        double embedding = place == 0 ? own->value[ST_ROLE_HELD_EMBEDDING][0] : 0;
        left_bytes[place] = count * layer_bytes + embedding;
        rounded_bytes[place] = count * rounded(layer_bytes, block) + rounded(embedding, block);
    }
    for (size_t i = 0; i < timeline->row_count; i++) {
        memory_walk walk = {.timeline = timeline,
                            .sizes = &sizes[timeline->rows[i].stage],
                            .left_bytes = left_bytes,
                            .rounded_bytes = rounded_bytes,
                            .row = &memory->rows[i]};
        walk.points =
            st_arena_alloc(arena, POINTS_PER_PASS * ranks[i].count + 2, sizeof *walk.points);
        if (walk.points == NULL)
            return st_out_of_memory(errors);
        *walk.row =
            (st_memory_row){.rank = timeline->rows[i].rank, .stage = timeline->rows[i].stage};
        const rank_spans *rank = &ranks[i];
        const st_timeline *row_timeline = walk.timeline;
        st_memory_row *row = walk.row;
        begin_row(&walk);
        mark(&walk, 0, 0, NULL);
        for (size_t j = 0; j < rank->count; j++) {
            const pass_span *span = &rank->spans[j];
            walk_pass(&walk, &row_timeline->order.slots[row->stage][j], span->from, span->to,
                      row_timeline->graph->names[span->name]);
        }
        mark(&walk, row_timeline->end, 0, NULL);
        row->points = walk.points;
        row->count = walk.count;
        row->gpu_bytes = as_gpu_sees(walk.sizes, row->peak.allocated_bytes);
        if (walk.row->peak.allocated_bytes > memory->rows[memory->worst].peak.allocated_bytes)
            memory->worst = i;
    }
    return ST_OK;
}

st_status st_timeline_memory_make(st_estimate *estimate, const st_timeline *timeline,
                                  st_arena *arena, st_timeline_memory *memory, st_errors *errors)
{
    uint32_t stages = timeline->plan.schedule.shape.stages;
    memory_sizes *sizes = st_arena_alloc(arena, stages, sizeof *sizes);
    *memory = (st_timeline_memory){.timeline = timeline};
    if (sizes == NULL)
        return st_out_of_memory(errors);
    st_status status = size_stages(estimate, timeline, arena, sizes, errors);
    if (status == ST_OK)
        status = walk_rows(timeline, sizes, arena, memory, errors);
    if (status == ST_OK) {
        /* The closed form of the job, or of the stages as they are. */
        memory->gpu_memory_bytes = sizes->value[ST_ROLE_GPU_MEMORY][0];
        if (timeline->plan.own_stages == NULL)
            memory->gpu_closed_bytes = sizes->value[ST_ROLE_MEMORY][0];
        for (size_t i = 0; i < timeline->row_count; i++) {
            const st_memory_row *row = &memory->rows[i];
            const memory_sizes *own = &sizes[row->stage];
            memory->closed_bytes = fmax(memory->closed_bytes, row->closed_bytes);
            if (timeline->plan.own_stages != NULL)
                memory->gpu_closed_bytes =
                    fmax(memory->gpu_closed_bytes, as_gpu_sees(own, row->closed_bytes));
        }
    }
    return status;
}

enum { MOST_ROWS = 64 };

typedef struct memory_report {
    const st_timeline_memory *memory;
    st_unit gib;
    st_unit byte;
} memory_report;

static void fill_stage(const void *context, size_t index, st_node *node)
{
    const memory_report *self = context;
    const st_memory_row *row = &self->memory->rows[index];
    st_put_count(node, "rank", row->rank);
    st_put_count(node, "stage", row->stage);
    st_put_quantity(node, "peak_gib", row->peak.allocated_bytes, &self->gib);
    st_put_quantity(node, "closed_form_gib", row->closed_bytes, &self->gib);
    st_put_number(node, "difference",
                  row->closed_bytes > 0 ? row->peak.allocated_bytes / row->closed_bytes - 1 : 0);
    st_put_quantity(node, "gpu_gib", row->gpu_bytes, &self->gib);
    st_put_seconds(node, "peak_at_s", st_ticks_s(row->peak.time));
    st_put_text(node, "peak_in", row->peak_task);
    st_put_quantity(node, "weights_gib", row->weights_bytes, &self->gib);
    st_put_quantity(node, "gradients_gib", row->gradients_bytes, &self->gib);
    st_put_quantity(node, "optimizer_gib", row->optimizer_bytes, &self->gib);
    st_put_quantity(node, "buffers_gib", row->buffers_bytes, &self->gib);
    st_put_quantity(node, "activations_gib", row->peak.activations_bytes, &self->gib);
    st_put_quantity(node, "embedding_gib", row->embedding_bytes, &self->gib);
    st_put_quantity(node, "working_gib", row->peak.working_bytes, &self->gib);
    st_put_quantity(node, "rounding_gib", row->rounding_bytes, &self->gib);
    st_put_number(node, "micro_batches_in_flight", row->in_flight);
    st_put_number(node, "closed_form_micro_batches", row->closed_in_flight);
}

/* The points of all ranks one behind the other. */
static void fill_point(const void *context, size_t index, st_node *node)
{
    const memory_report *self = context;
    const st_memory_row *row = self->memory->rows;
    while (index >= row->count) {
        index -= row->count;
        row++;
    }
    const st_memory_point *point = &row->points[index];
    st_put_count(node, "rank", row->rank);
    st_put_seconds(node, "time_s", st_ticks_s(point->time));
    st_put_quantity(node, "allocated_bytes", point->allocated_bytes, &self->byte);
    st_put_quantity(node, "activations_bytes", point->activations_bytes, &self->byte);
    st_put_quantity(node, "working_bytes", point->working_bytes, &self->byte);
}

/* Why the replay's peak is not the closed form's. */
static const char *reason_of(const st_memory_row *row)
{
    if (fabs(row->in_flight - row->closed_in_flight) > 1e-9)
        return "the number of micro-batches in flight differs from the sheet's for its stage";
    if (fabs(row->embedding_bytes - row->closed_embedding_bytes) > 1)
        return "embedded tokens stay until the backward pass of the first chunk; the sheet counts "
               "it like any other";
    return "blocks are rounded, and stages with fewer layers keep less";
}

void st_timeline_memory_report(const st_timeline_memory *memory, st_arena *arena, st_result *result)
{
    const st_timeline *timeline = memory->timeline;
    const st_memory_row *worst = &memory->rows[memory->worst];
    st_node *root = st_result_begin(result, arena);
    memory_report *self = st_arena_alloc(arena, 1, sizeof *self);
    if (self == NULL) {
        result->failed = true;
        return;
    }
    *self = (memory_report){.memory = memory, .gib = st_unit_one(), .byte = st_unit_one()};
    if (st_unit_parse("GiB", 3, (st_place){0}, &self->gib, NULL) != ST_OK ||
        st_unit_parse("B", 1, (st_place){0}, &self->byte, NULL) != ST_OK)
        result->failed = true;
    st_put_text(root, "job", timeline->plan.job);
    st_put_text(root, "sheet", timeline->plan.sheet);
    st_refine_put(&timeline->plan.refinements, root);
    st_put_text(root, "schedule", st_timeline_schedule(&timeline->plan));
    st_put_seconds(root, "step_time_s", st_ticks_s(timeline->step));
    st_put_quantity(root, "peak_gib", worst->peak.allocated_bytes, &self->gib);
    st_put_quantity(root, "closed_form_gib", memory->closed_bytes, &self->gib);
    st_put_quantity(root, "gpu_gib", worst->gpu_bytes, &self->gib);
    st_put_quantity(root, "closed_form_gpu_gib", memory->gpu_closed_bytes, &self->gib);
    st_put_quantity(root, "gpu_memory_gib", memory->gpu_memory_bytes, &self->gib);
    size_t shown = timeline->row_count > MOST_ROWS ? MOST_ROWS : timeline->row_count;
    (void)st_put_rows(root, "stages", fill_stage, self, timeline->row_count);
    st_node *stages = st_put_rows(root, ".stages", fill_stage, self, shown);
    size_t count = 0;
    for (size_t i = 0; i < memory->timeline->row_count; i++)
        count += memory->rows[i].count;
    (void)st_put_rows(root, "points", fill_point, self, count);
    st_say(root, "job        %s\nschedule   %s\n", timeline->plan.job,
           st_timeline_schedule(&timeline->plan));
    static const st_table_column columns[] = {
        {.title = "stage", .right = true},
        {.title = "peak", .right = true},
        {.title = "closed form", .right = true},
        {.title = "of it", .look = ST_LOOK_CHANGE, .digits = 2, .right = true},
        {.title = "as the GPU sees it", .right = true},
        {.title = "in flight", .right = true, .look = ST_LOOK_FIXED, .digits = 2},
        {.title = "activations", .right = true},
        {.title = "working layer", .right = true},
        {.title = "peak in"},
    };
    st_say(root, "\nPeak of every stage\n");
    st_table_show(
        st_say_table(root, columns, ST_COUNT(columns), 2), stages,
        "stage,peak_gib,closed_form_gib,difference,gpu_gib,micro_batches_in_flight,activations_gib,"
        "working_gib,peak_in");
    if (memory->timeline->row_count > MOST_ROWS)
        st_say(root, "  ... and %zu ranks more (--json shows all)\n",
               memory->timeline->row_count - MOST_ROWS);
    const st_memory_row *row = &self->memory->rows[self->memory->worst];
    char text[6][ST_QUANTITY_TEXT];
    const double bytes[] = {row->weights_bytes,          row->gradients_bytes,
                            row->optimizer_bytes,        row->buffers_bytes,
                            row->peak.activations_bytes, row->peak.working_bytes};
    for (size_t i = 0; i < ST_COUNT(bytes); i++)
        (void)st_quantity_format(bytes[i], &self->gib, ST_STYLE_SCALED, text[i], sizeof text[i]);
    st_say(root,
           "\nStage %lu has the highest peak: weights %s, gradients %s, optimizer %s, buffers %s,\n"
           "activations %s, working layer %s\n",
           (unsigned long)row->stage, text[0], text[1], text[2], text[3], text[4], text[5]);
    if (fabs(row->peak.allocated_bytes / row->closed_bytes - 1) > 1e-4)
        st_say(root, "It differs from the closed form: %s\n", reason_of(row));
    st_result_csv(result, "points", "rank,time_s,allocated_bytes,activations_bytes,working_bytes");
}

enum {
    MOST_PANELS = 64,
    MOST_DRAWN = 200000, /* points */
    LEFT = 90,           /* pixels */
    TOP = 70,
    WIDTH = 1100,
    HEIGHT = 110,
    GAP = 26 /* between panels */
};

typedef enum layer { WEIGHTS, GRADIENTS, OPTIMIZER, BUFFERS, ACTIVATIONS, WORKING, LAYERS } layer;

static const struct {
    st_svg_hue hue;
    const char *words;
} looks[LAYERS] = {
    [WEIGHTS] = {ST_SVG_BLUE, "weights"},
    [GRADIENTS] = {ST_SVG_VIOLET, "gradients"},
    [OPTIMIZER] = {ST_SVG_BROWN, "optimizer"},
    [BUFFERS] = {ST_SVG_GREY, "buffers"},
    [ACTIVATIONS] = {ST_SVG_GREEN, "activations"},
    [WORKING] = {ST_SVG_ORANGE, "working layer or logits"},
};

typedef struct memory_drawing {
    const st_timeline_memory *memory;
    st_svg_point *points; /* room for a panel's outline */
    double most_bytes;
    st_buffer *svg;
} memory_drawing;

/* What lies under a kind of memory and with it. */
static double height_of(const st_memory_row *row, const st_memory_point *point, layer which)
{
    const double bytes[LAYERS] = {row->weights_bytes,       row->gradients_bytes,
                                  row->optimizer_bytes,     row->buffers_bytes,
                                  point->activations_bytes, point->working_bytes};
    double sum = 0;
    for (int i = 0; i <= (int)which; i++)
        sum += bytes[i];
    return sum;
}

static double top_of(size_t panel)
{
    return TOP + (double)panel * (HEIGHT + GAP);
}

static double x_of(const memory_drawing *self, const st_memory_point *point)
{
    int64_t end = self->memory->timeline->end;
    return LEFT + (end > 0 ? WIDTH * (double)point->time / (double)end : 0);
}

static double y_of(const memory_drawing *self, size_t panel, double bytes)
{
    return top_of(panel) + HEIGHT * (1 - bytes / self->most_bytes);
}

static void draw_panel(const memory_drawing *self, size_t panel)
{
    const st_memory_row *row = &self->memory->rows[panel];
    char number[ST_QUANTITY_TEXT];
    char text[ST_QUANTITY_TEXT + 64];
    double top = top_of(panel);
    bool every_rank = self->memory->timeline->plan.schedule.every_rank;
    st_svg_box_write(self->svg, (st_svg_box){LEFT, top, WIDTH, HEIGHT}, "panel");
    for (int which = LAYERS - 1; which >= 0; which--) {
        /* The area from the ground on; what is drawn later covers what lies under it. */
        const layer layer_which = (layer)which;
        const st_memory_row *layer_row = &self->memory->rows[panel];
        size_t count = 0;
        double ground = top_of(panel) + HEIGHT;
        self->points[count++] = (st_svg_point){LEFT, ground};
        for (size_t i = 0; i < layer_row->count; i++)
            self->points[count++] = (st_svg_point){
                x_of(self, &layer_row->points[i]),
                y_of(self, panel, height_of(layer_row, &layer_row->points[i], layer_which))};
        self->points[count++] = (st_svg_point){LEFT + WIDTH, ground};
        st_svg_area(self->svg, self->points, count, st_svg_color(looks[layer_which].hue));
    }
    (void)snprintf(text, sizeof text, "%s %lu", every_rank ? "rank" : "stage",
                   (unsigned long)(every_rank ? row->rank : row->stage + 1));
    st_svg_text(self->svg, (st_svg_point){LEFT - 8, top + HEIGHT / 2.0}, "end", text);
    (void)snprintf(text, sizeof text, "%s in %s",
                   st_quantity_text(row->peak.allocated_bytes, "GiB", number),
                   row->peak_task != NULL ? row->peak_task : "rest");
    st_svg_text(self->svg, (st_svg_point){LEFT + WIDTH, top - 5}, "end", text);
    double limit = self->memory->gpu_memory_bytes;
    if (limit < self->most_bytes) {
        double y = y_of(self, panel, limit);
        st_svg_line(self->svg, (st_svg_point){LEFT, y}, (st_svg_point){LEFT + WIDTH, y},
                    st_svg_color(ST_SVG_VERMILION));
    }
}

st_status st_timeline_memory_write_svg(const st_timeline_memory *memory, st_buffer *buffer,
                                       st_errors *errors)
{
    size_t panels = memory->timeline->row_count;
    size_t most = 0;
    size_t all = 0;
    for (size_t i = 0; i < panels; i++) {
        most = memory->rows[i].count > most ? memory->rows[i].count : most;
        all += memory->rows[i].count;
    }
    if (panels > MOST_PANELS || all > MOST_DRAWN)
        return st_fail(errors, ST_ERR_LIMIT, (st_place){0},
                       "%zu points on %zu ranks are too many for a picture" ST_EXPECTED
                       "at most 200000 points on 64 ranks" ST_HINT
                       "use fewer micro-batches, or one rank of each stage",
                       all, panels);
    memory_drawing self = {.memory = memory,
                           .points = calloc(most + 2, sizeof *self.points),
                           .most_bytes = 1.05 * memory->rows[memory->worst].peak.allocated_bytes,
                           .svg = buffer};
    st_buffer title = {0};
    if (self.points == NULL)
        return st_out_of_memory(errors);
    st_buffer_printf(&title, "Memory during a step of %s", memory->timeline->plan.job);
    const char *words = st_buffer_read(&title);
    double bottom = top_of(panels) - GAP + 4;
    st_svg_begin(buffer, LEFT + WIDTH + 40, (int)bottom + 64, words);
    for (size_t i = 0; i < panels; i++)
        draw_panel(&self, i);
    const st_timeline_memory *word_memory = self.memory;
    st_svg_key keys[LAYERS];
    char number[2][ST_QUANTITY_TEXT];
    char text[3 * ST_QUANTITY_TEXT];
    for (int i = 0; i < LAYERS; i++)
        keys[i] = (st_svg_key){.color = st_svg_color(looks[i].hue), .text = looks[i].words};
    (void)snprintf(text, sizeof text, "%s, peak %s, in closed form %s",
                   st_timeline_schedule(&word_memory->timeline->plan),
                   st_quantity_text(word_memory->rows[word_memory->worst].peak.allocated_bytes,
                                    "GiB", number[0]),
                   st_quantity_text(word_memory->closed_bytes, "GiB", number[1]));
    st_svg_text(self.svg, (st_svg_point){LEFT, 26}, "large", words);
    st_svg_text(self.svg, (st_svg_point){LEFT, 48}, "faint", text);
    st_timeline_draw_axis(word_memory->timeline, (st_svg_box){LEFT, bottom, WIDTH, 0}, self.svg);
    (void)st_svg_legend(self.svg, keys, LAYERS, (st_svg_box){LEFT, bottom + 34, WIDTH, 0});
    st_svg_end(buffer);
    st_buffer_end(&title, &buffer->failed);
    free(self.points);
    return ST_OK;
}
