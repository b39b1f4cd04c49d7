/* SPDX-License-Identifier: Apache-2.0 */
/* Distances of rows to a job; see nearest.h. */
#include "fit/steps/nearest.h"

#include "fit/steps/accuracy.h"
#include "steptime/keys.h"
#include "steptime/tool/error_kinds.h"

#include <math.h>
#include <string.h>

/* What makes a step long or short; of 0, as of experts, 1 more counts. */
static const char *const sizes[] = {
    ST_KEY_MODEL_LAYERS, ST_KEY_MODEL_HIDDEN, ST_KEY_MODEL_EXPERTS, ST_KEY_BATCH_SEQUENCE,
    ST_KEY_BATCH_MICRO,  ST_KEY_BATCH_GLOBAL, ST_KEY_PARALLEL_TP,   ST_KEY_PARALLEL_PP,
    ST_KEY_PARALLEL_DP,  ST_KEY_PARALLEL_CP,  ST_KEY_PARALLEL_EP,   ST_KEY_PARALLEL_ZERO};

/* In units of a factor e of one size. */
static const double other_gpu = 1.5;
static const double other_type = 1;
static const double other_stack = 0.7;
static const double other_kind = 3;

static const char *type_of(const st_measured *measured, size_t row)
{
    return st_error_precision(st_measured_choice(measured, row, ST_KEY_PRECISION_RECIPE),
                              st_measured_value(measured, row, ST_KEY_PRECISION_FP8) > 0,
                              st_measured_choice(measured, row, ST_KEY_PRECISION_WEIGHTS));
}

static double distance_of(const st_measured *job, const st_measured *measured, size_t row)
{
    const st_error_kind own = st_error_kind_of(job->rows[0].job);
    const st_error_kind kind = st_error_kind_of(measured->rows[row].job);
    double distance = strcmp(own.gpu, kind.gpu) != 0 ? other_gpu : 0;
    distance += strcmp(own.stack, kind.stack) != 0 ? other_stack : 0;
    distance += strcmp(type_of(job, 0), type_of(measured, row)) != 0 ? other_type : 0;
    distance += (st_measured_value(job, 0, ST_KEY_MODEL_EXPERTS) > 0) !=
                        (st_measured_value(measured, row, ST_KEY_MODEL_EXPERTS) > 0)
                    ? other_kind
                    : 0;
    for (size_t i = 0; i < ST_COUNT(sizes); i++) {
        const double left = st_measured_value(job, 0, sizes[i]);
        const double right = st_measured_value(measured, row, sizes[i]);
        if (isfinite(left) && isfinite(right))
            distance += fabs(log((left + 1) / (right + 1)));
    }
    return distance;
}

void st_nearest_add(st_near_rows *nearest, const st_measured *measured)
{
    if (strcmp(st_sheet_name(nearest->job->sheet), st_sheet_name(measured->sheet)) != 0 ||
        !st_measured_is_step(measured))
        return;
    for (size_t row = 0; row < measured->row_count; row++) {
        if (!st_row_counts(&measured->rows[row]) || measured->rows[row].job == NULL)
            continue;
        const st_near_row made = {measured, row, distance_of(nearest->job, measured, row)};
        size_t at = nearest->count;
        while (at > 0 && nearest->rows[at - 1].distance > made.distance)
            at--;
        if (at == ST_NEAREST_ROWS)
            continue;
        const size_t kept = nearest->count < ST_NEAREST_ROWS ? nearest->count : ST_NEAREST_ROWS - 1;
        memmove(nearest->rows + at + 1, nearest->rows + at, (kept - at) * sizeof made);
        nearest->rows[at] = made;
        nearest->count = kept + 1;
    }
}

void st_nearest_put(const st_near_rows *nearest, st_node *root)
{
    const st_table_column columns[] = {{.title = "nearest measured rows", .ink = ST_INK_NAME},
                                       {.title = "source"},
                                       {.title = "GPU"},
                                       {.title = "stack"},
                                       ST_COLUMN_NUMBER("distance"),
                                       ST_COLUMN_NUMBER("measured"),
                                       ST_COLUMN_CHANGE("error", 1)};
    st_node *list = st_put_list(root, "nearest");
    st_table *table = st_say_table(root, columns, ST_COUNT(columns), 2);
    for (size_t i = 0; i < nearest->count; i++) {
        const st_near_row *near = &nearest->rows[i];
        const st_row *row = &near->measured->rows[near->row];
        const st_error_kind kind = st_error_kind_of(row->job);
        char time[ST_QUANTITY_TEXT];
        st_node *node = st_put_line_map(list, NULL);
        st_put_text(node, "id", row->id);
        st_put_text(node, "source", near->measured->name);
        st_put_text(node, "gpu", kind.gpu);
        st_put_text(node, "stack", kind.stack);
        st_put_number(node, "distance", round(100 * near->distance) / 100);
        st_put_text(node, "measured",
                    st_type_format(near->measured->type, row->measured, ST_STYLE_SCALED, time,
                                   sizeof time));
        st_put_number(node, "error", row->error);
        st_table_show(table, node, "id,source,gpu,stack,distance,measured,error");
    }
}
