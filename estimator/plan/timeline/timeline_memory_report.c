/* SPDX-License-Identifier: Apache-2.0 */
/* Memory through a step as a result. */
#include "timeline/timeline.h"

#include <math.h>

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
        return "another number of micro-batches in flight than the sheet counts for its stage";
    if (fabs(row->embedding_bytes - row->closed_embedding_bytes) > 1)
        return "embedded tokens stay until the backward pass of the first chunk, which the sheet "
               "counts as any other";
    return "blocks are rounded, and stages that have fewer layers keep less";
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
        {.title = "layer in hand", .right = true},
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
           "\nStage %lu has the most: weights %s, gradients %s, optimizer %s, buffers %s,\n"
           "activations %s, layer in hand %s\n",
           (unsigned long)row->stage, text[0], text[1], text[2], text[3], text[4], text[5]);
    if (fabs(row->peak.allocated_bytes / row->closed_bytes - 1) > 1e-4)
        st_say(root, "It differs from the closed form: %s\n", reason_of(row));
    st_result_csv(result, "points", "rank,time_s,allocated_bytes,activations_bytes,working_bytes");
}
