/* SPDX-License-Identifier: Apache-2.0 */
/* A calibration as text for people; see calibrate.h. */
#include "calibrate/steps/calibrate.h"

#include "calibrate/steps/accuracy.h"

#include <math.h>
#include <string.h>

enum { TEXT = 96 };

static const char *note_of(const st_solution *solution, size_t index)
{
    if (solution->at_low[index])
        return "at its lower bound";
    return solution->at_high[index] ? "at its upper bound" : "";
}

static void add_constant(st_table *table, const st_calibration *calibration, size_t index)
{
    char value[ST_QUANTITY_TEXT];
    char error[ST_QUANTITY_TEXT];
    char low[ST_QUANTITY_TEXT];
    char high[ST_QUANTITY_TEXT];
    const st_varied *varied = &calibration->varied[index];
    const st_solution *solution = &calibration->solution;
    const st_type *type = varied->type;
    st_type_format(type, solution->values[index], ST_STYLE_UNIT, value, sizeof value);
    const char *shown = isfinite(solution->errors[index])
                            ? st_quantity_format(solution->errors[index], &type->unit,
                                                 ST_STYLE_UNIT, error, sizeof error)
                            : "unknown";
    st_type_format(type, varied->low, ST_STYLE_UNIT, low, sizeof low);
    st_type_format(type, varied->high, ST_STYLE_UNIT, high, sizeof high);
    const char *const fields[] = {varied->path, value, shown, low, high, note_of(solution, index)};
    st_table_row(table, fields);
}

static void write_constants(const st_calibration *calibration, const st_paint *paint,
                            st_arena *arena, st_buffer *buffer)
{
    static const st_table_column shape[] = {{.ink = ST_INK_NAME}, {.right = true},
                                            {.right = true},      {.right = true},
                                            {.right = true},      {.ink = ST_INK_BAD}};
    static const char *const titles[] = {"", "fitted", "standard error", "from", "to", ""};
    st_table *table = st_table_create(arena, shape, 6);
    if (table == NULL) {
        buffer->failed = true;
        return;
    }
    st_table_row(table, titles);
    for (size_t i = 0; i < 6; i++)
        st_table_ink(table, i, ST_INK_FAINT);
    for (size_t i = 0; i < calibration->varied_count; i++)
        add_constant(table, calibration, i);
    st_table_write(table, paint, 2, buffer);
}

static void add_errors(st_table *table, const char *name, const st_error_summary *errors)
{
    char texts[8][ST_PERCENT_TEXT];
    const char *const fields[] = {name,
                                  texts[7],
                                  st_percent_text(errors->mean_absolute, 1, false, texts[0]),
                                  st_percent_text(errors->median_absolute, 1, false, texts[1]),
                                  st_percent_text(errors->bias, 1, true, texts[2]),
                                  st_percent_text(errors->largest, 1, false, texts[3]),
                                  st_percent_text(errors->within_5, 1, false, texts[4]),
                                  st_percent_text(errors->within_10, 1, false, texts[5]),
                                  st_percent_text(errors->within_20, 1, false, texts[6])};
    snprintf(texts[7], sizeof texts[7], "%zu", errors->count);
    st_table_row(table, fields);
}

static void write_errors(const st_calibration *calibration, const st_paint *paint, st_arena *arena,
                         st_buffer *buffer)
{
    static const st_table_column shape[] = {{.ink = ST_INK_NAME}, {.right = true}, {.right = true},
                                            {.right = true},      {.right = true}, {.right = true},
                                            {.right = true},      {.right = true}, {.right = true}};
    static const char *const titles[] = {"errors", "rows",   "mean",    "median", "bias",
                                         "max",    "in 5 %", "in 10 %", "in 20 %"};
    char name[TEXT];
    st_table *table = st_table_create(arena, shape, 9);
    if (table == NULL) {
        buffer->failed = true;
        return;
    }
    st_table_row(table, titles);
    for (size_t i = 0; i < 9; i++)
        st_table_ink(table, i, ST_INK_FAINT);
    add_errors(table, "rows of the fit", &calibration->errors);
    bool alone = calibration->folds == calibration->row_count;
    add_errors(table,
               alone ? "each row by a fit to the others" : "each tenth by a fit to the others",
               &calibration->left_out);
    for (size_t i = 0; i < calibration->group_count; i++) {
        snprintf(name, sizeof name, "%s %s by a fit to the others", calibration->group,
                 calibration->groups[i].value);
        add_errors(table, name, &calibration->groups[i].errors);
    }
    if (calibration->group_count > 0)
        add_errors(table, "all of these", &calibration->group_errors);
    st_table_write(table, paint, 2, buffer);
}

/* What stands in no file of constants has to be put elsewhere by hand. */
static void write_advice(const st_calibration *calibration, st_buffer *buffer)
{
    char value[ST_QUANTITY_TEXT];
    for (size_t i = 0; i < calibration->varied_count; i++) {
        const st_varied *varied = &calibration->varied[i];
        if (strncmp(varied->path, "constants.", strlen("constants.")) == 0)
            continue;
        st_type_format(varied->type, calibration->solution.values[i], ST_STYLE_UNIT, value,
                       sizeof value);
        st_buffer_printf(buffer,
                         "  %s is no constant: put it where the jobs have it, or give --set "
                         "'%s=%s'\n",
                         varied->path, varied->path, value);
    }
}

void st_calibration_write_text(const st_calibration *calibration, const st_paint *paint,
                               st_arena *arena, st_buffer *buffer)
{
    char scale[ST_PERCENT_TEXT];
    char title[TEXT];
    snprintf(title, sizeof title, "%zu constant%s fitted to %zu measured row%s",
             calibration->varied_count, calibration->varied_count == 1 ? "" : "s",
             calibration->row_count, calibration->row_count == 1 ? "" : "s");
    st_paint_text(paint, ST_INK_STRONG, title, buffer);
    if (calibration->loss == ST_LOSS_SOFT_L1)
        st_buffer_printf(buffer, ", squares of relative errors, linear above %s\n",
                         st_percent_text(calibration->scale, 1, false, scale));
    else
        st_buffer_text(buffer, ", squares of relative errors\n");
    write_constants(calibration, paint, arena, buffer);
    write_errors(calibration, paint, arena, buffer);
    write_advice(calibration, buffer);
}
