/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The picture of memory through a step: a panel a stage as in Figure 8 of Moye, kinds of memory one
 * above the other, to the same scale, and a line at the memory of the GPU where it is near.
 */
#include "timeline/timeline.h"

#include "base/text.h"
#include "base/memory.h"
#include "timeline/timeline_svg.h"

#include <stdlib.h>

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
    [WORKING] = {ST_SVG_ORANGE, "layer in hand or logits"},
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
                       "%zu moments on %zu ranks are too many for a picture" ST_EXPECTED
                       "at most 200000 moments on 64 ranks" ST_HINT
                       "take fewer micro-batches, or one rank of each stage",
                       all, panels);
    memory_drawing self = {.memory = memory,
                           .points = calloc(most + 2, sizeof *self.points),
                           .most_bytes = 1.05 * memory->rows[memory->worst].peak.allocated_bytes,
                           .svg = buffer};
    st_buffer title = {0};
    if (self.points == NULL)
        return st_out_of_memory(errors);
    st_buffer_printf(&title, "Memory through a step of %s", memory->timeline->plan.job);
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
