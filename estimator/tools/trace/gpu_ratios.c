/* SPDX-License-Identifier: Apache-2.0 */
/* Curves of ratios: asked, written and read; see gpu_ratios.h. */
#include "trace/gpu_ratios.h"

#include "base/fields.h"
#include "base/number.h"

#include <math.h>
#include <string.h>

/* ---- asking ---- */

/* Between two points by their logarithms, beyond the ends as at the ends. */
static double between(const st_ratios_point *points, size_t count, double from_s)
{
    size_t above = 0;
    while (above < count && points[above].from_s < from_s)
        above++;
    if (above == 0 || above == count)
        return points[above == 0 ? 0 : count - 1].ratio;
    const st_ratios_point *left = &points[above - 1];
    const st_ratios_point *right = &points[above];
    double weight = log(from_s / left->from_s) / log(right->from_s / left->from_s);
    return left->ratio * pow(right->ratio / left->ratio, weight);
}

double st_ratios_ask(const st_ratios *ratios, st_trace_class class_, double from_s,
                     st_trace_class *taken)
{
    *taken = class_;
    if (ratios->counts[class_] == 0)
        *taken = class_ == ST_TRACE_ATTENTION ? ST_TRACE_GEMM : ST_TRACE_ELEMENTWISE;
    size_t count = ratios->counts[*taken];
    return count > 0 && from_s > 0 ? between(ratios->points[*taken], count, from_s) : (double)NAN;
}

/* ---- the text ---- */

static void write_number(double value, st_buffer *buffer)
{
    char text[40];
    st_buffer_text(buffer, st_number_significant(value, 7, text, sizeof text));
}

void st_ratios_write(const st_ratios *ratios, st_buffer *buffer)
{
    st_buffer_text(buffer, "from,to,class,us,ratio\n");
    for (st_trace_class class_ = 0; class_ < ST_TRACE_CLASSES; class_++)
        for (size_t i = 0; i < ratios->counts[class_]; i++) {
            const st_ratios_point *point = &ratios->points[class_][i];
            st_buffer_printf(buffer, "%s,%s,%s,", ratios->from, ratios->to,
                             st_trace_class_name(class_));
            write_number(1e6 * point->from_s, buffer);
            st_buffer_text(buffer, ",");
            write_number(point->ratio, buffer);
            st_buffer_text(buffer, "\n");
        }
}

typedef struct point_row {
    const char *from;
    const char *to;
    double class_;
    double from_s;
    double ratio;
} point_row;

enum { FROM, TO, CLASS, DURATION, RATIO, FIELDS };

static const st_field fields[FIELDS] = {
    [FROM] = {.name = "from",
              .set = st_field_text,
              .flags = ST_FIELD_REQUIRED,
              .offset = offsetof(point_row, from)},
    [TO] = {.name = "to",
            .set = st_field_text,
            .flags = ST_FIELD_REQUIRED,
            .offset = offsetof(point_row, to)},
    /* in the order of st_trace_class */
    [CLASS] = {.name = "class",
               .set = st_field_word,
               .flags = ST_FIELD_REQUIRED,
               .words = "gemm attention norm elementwise optimizer memory communication other",
               .offset = offsetof(point_row, class_)},
    [DURATION] = {.name = "us",
                  .set = st_field_number,
                  .flags = ST_FIELD_REQUIRED,
                  .least = 1e-3,
                  .most = 1e9,
                  .offset = offsetof(point_row, from_s)},
    [RATIO] = {.name = "ratio",
               .set = st_field_number,
               .flags = ST_FIELD_REQUIRED,
               .least = 1e-3,
               .most = 1e3,
               .offset = offsetof(point_row, ratio)},
};

st_status st_ratios_read(const st_csv *csv, st_arena *arena, st_ratios *ratios, st_errors *errors)
{
    st_field_reader reader = {
        .csv = csv, .fields = fields, .count = FIELDS, .arena = arena, .errors = errors};
    *ratios = (st_ratios){.from = NULL};
    if (!st_fields_find(&reader))
        return reader.status;
    for (size_t i = 0; i < csv->row_count; i++) {
        point_row row = {.ratio = 0};
        if (st_fields_read(&reader, i, &row)) {
            size_t *count = &ratios->counts[(size_t)row.class_];
            st_ratios_point *points = ratios->points[(size_t)row.class_];
            ratios->from = ratios->from != NULL ? ratios->from : row.from;
            ratios->to = ratios->to != NULL ? ratios->to : row.to;
            if (row.from[0] == '\0' || strcmp(row.from, ratios->from) != 0)
                st_fields_refuse(&reader, i, FROM, "one GPU in all rows");
            else if (row.to[0] == '\0' || strcmp(row.to, ratios->to) != 0)
                st_fields_refuse(&reader, i, TO, "one GPU in all rows");
            else if ((st_trace_class)row.class_ == ST_TRACE_COMMUNICATION)
                st_fields_refuse(&reader, i, CLASS, "a class of kernels that compute");
            else if (*count > 0 && !(points[*count - 1].from_s < row.from_s * 1e-6))
                st_fields_refuse(&reader, i, DURATION, "durations of a class that rise");
            else if (*count == ST_RATIOS_POINTS)
                st_fields_refuse(&reader, i, CLASS, "at most 64 points of a class");
            else
                points[(*count)++] = (st_ratios_point){row.from_s * 1e-6, row.ratio};
        }
    }
    return reader.status;
}
