/* SPDX-License-Identifier: Apache-2.0 */
/* Collects errors of rows and writes them by kind; see accuracy.h. */
#include "fit/steps/accuracy.h"

#include "steptime/keys.h"
#include "steptime/tool/job_values.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* ---- collecting ---- */

/* GPU and stack are those of the files that the row names, the rest may be in the table. */
static st_error_kind kind_of(const st_measured *measured, size_t row)
{
    st_error_kind kind = st_error_kind_of(measured->rows[row].job);
    kind.precision =
        st_error_precision(st_measured_choice(measured, row, ST_KEY_PRECISION_RECIPE),
                           st_measured_value(measured, row, ST_KEY_PRECISION_FP8) > 0,
                           st_measured_choice(measured, row, ST_KEY_PRECISION_WEIGHTS));
    kind.model = st_measured_value(measured, row, ST_KEY_MODEL_EXPERTS) > 0 ? "experts" : "dense";
    kind.is_sharded = st_measured_value(measured, row, ST_KEY_PARALLEL_ZERO) >= 2;
    kind.has_stages = st_measured_value(measured, row, ST_KEY_PARALLEL_PP) > 1;
    return kind;
}

/* Neither memory nor operators alone. */
static bool are_steps(const st_measured *measured)
{
    const int16_t *exponent = measured->type->unit.dimension.exponent;
    return st_sheet_reading_index(measured->sheet, ST_KEY_PRECISION_WEIGHTS) != SIZE_MAX &&
           !(measured->type->kind == ST_TYPE_NUMBER && exponent[ST_BYTE] != 0 &&
             exponent[ST_SECOND] == 0);
}

static bool counts(const st_row *row)
{
    return st_row_counts(row) && row->job != NULL && isfinite(row->error);
}

st_status st_error_rows_add(st_error_rows *rows, const st_measured *measured, st_arena *arena)
{
    for (size_t i = 0; i < measured->row_count && are_steps(measured); i++) {
        const st_row *row = &measured->rows[i];
        if (!counts(row))
            continue;
        st_error_row made = {.kind = kind_of(measured, i),
                             .error = row->error,
                             .fitted = row->fitted,
                             .source = measured->name,
                             .id = row->id,
                             .model = {st_measured_value(measured, i, ST_KEY_MODEL_LAYERS),
                                       st_measured_value(measured, i, ST_KEY_MODEL_HIDDEN),
                                       st_measured_value(measured, i, ST_KEY_MODEL_EXPERTS)}};
        if (!ST_APPEND(arena, rows->items, rows->count, made))
            return ST_ERR_MEMORY;
    }
    return ST_OK;
}

/* ---- bands ---- */

/* Rows come in the order of their plans, so that most have the kind of the row before. */
st_status st_rows_find_bands(const st_paths *paths, st_measured *measured, st_arena *arena,
                             st_errors *errors)
{
    st_error_kind known = {0};
    double band = 0;
    st_status status = ST_OK;
    for (size_t i = 0; i < measured->row_count && are_steps(measured) && status == ST_OK; i++) {
        if (!counts(&measured->rows[i]))
            continue;
        const st_error_kind kind = kind_of(measured, i);
        if (known.gpu == NULL || !st_error_kind_equal(&kind, &known) ||
            kind.is_sharded != known.is_sharded || kind.has_stages != known.has_stages)
            status = st_error_kind_band(paths, measured->sheet, &kind, arena, &band, errors);
        known = kind;
        measured->rows[i].band = band;
    }
    return status;
}

/* ---- writing ---- */

/* Errors of rows left out, with the others of their model on that GPU, over those of the fit: 7.9 %
 * over 6.1 % (docs/stacks.md#modern). */
static const double left_out = 1.3;

double st_error_row_counted(const st_error_row *row)
{
    return row->error * (row->fitted ? left_out : 1);
}

double st_nine_of_ten(double *errors, size_t count)
{
    (void)st_summarize_errors(errors, count);
    return errors[(9 * count + 9) / 10 - 1];
}

ST_COMPARE(compare_kinds, st_error_kind,
           ST_BY_TEXT(gpu) ST_BY_TEXT(precision) ST_BY_TEXT(model) ST_BY_TEXT(stack));

ST_COMPARE(compare_rows, st_error_row,
           ST_THEN(compare_kinds(&a->kind, &b->kind)) ST_BY_TEXT(source));

static void write_share(const char *key, double share, st_buffer *buffer)
{
    char text[ST_QUANTITY_TEXT];
    st_buffer_printf(buffer, ", %s: %s", key,
                     st_number_format(round(share * 1e4) / 1e4, text, sizeof text));
}

st_status st_error_rows_write(const st_error_rows *rows, const char *sheet, st_arena *arena,
                              st_buffer *buffer)
{
    st_error_row *list = st_arena_alloc(arena, 2 * rows->count + 1, sizeof *list);
    double *errors = st_arena_alloc(arena, 2 * rows->count + 1, sizeof *errors);
    if (list == NULL || errors == NULL)
        return ST_ERR_MEMORY;
    /* Every row counts for its stack and, without one, for all stacks. */
    size_t count = 0;
    for (size_t i = 0; i < rows->count; i++) {
        if (rows->items[i].kind.gpu[0] == '\0')
            continue;
        list[count++] = rows->items[i];
        if (rows->items[i].kind.stack[0] == '\0')
            continue;
        list[count] = rows->items[i];
        list[count++].kind.stack = "";
    }
    qsort(list, count, sizeof *list, compare_rows);
    st_buffer_printf(buffer,
                     "# SPDX-License-Identifier: Apache-2.0\n"
                     "# Written by steptime validate --write-errors: how far plain estimates were "
                     "off measured steps,\n# as shares of the measured time, by group; entries "
                     "without a stack count all stacks.\n# Errors "
                     "of rows used in a fit count 1.3 times, as far off as they are where their "
                     "block is left out.\n"
                     "sheet: %s\ndoc: Errors of %zu estimates of measured steps.\nerrors:\n",
                     sheet, rows->count);
    for (size_t first = 0, next = 0; first < count; first = next) {
        for (next = first;
             next < count && st_error_kind_equal(&list[first].kind, &list[next].kind);)
            next++;
        /* Rows of one kind, which are adjacent. */
        const st_error_row *kind_rows = &list[first];
        const size_t kind_count = next - first;
        const st_error_kind *kind = &kind_rows[0].kind;
        size_t fitted = 0;
        size_t sharded = 0;
        size_t stages = 0;
        double bias = 0;
        for (size_t i = 0; i < kind_count; i++) {
            errors[i] = st_error_row_counted(&kind_rows[i]);
            sharded += kind_rows[i].kind.is_sharded ? 1 : 0;
            stages += kind_rows[i].kind.has_stages ? 1 : 0;
            bias += kind_rows[i].error / (double)kind_count;
            fitted += kind_rows[i].fitted ? 1 : 0;
        }
        st_error_summary summary = st_summarize_errors(errors, kind_count);
        st_buffer_printf(buffer, "  - {gpu: %s, precision: %s, model: %s, ", kind->gpu,
                         kind->precision, kind->model);
        if (kind->stack[0] != '\0')
            st_buffer_printf(buffer, "stack: %s, ", kind->stack);
        st_buffer_printf(buffer, "rows: %zu, fitted: %zu", kind_count, fitted);
        write_share("median", summary.median_absolute, buffer);
        write_share("nine_of_ten", st_nine_of_ten(errors, kind_count), buffer);
        write_share("bias", bias, buffer);
        st_buffer_printf(buffer, ",\n     plans: %s%s%s", sharded < kind_count ? "whole" : "",
                         sharded > 0 ? sharded < kind_count ? " sharded" : "sharded" : "",
                         stages > 0 ? " stages" : "");
        st_buffer_text(buffer, ", sources: ");
        for (size_t i = 0; i < kind_count; i++)
            if (i == 0 || strcmp(kind_rows[i].source, kind_rows[i - 1].source) != 0)
                st_buffer_printf(buffer, "%s%s", i > 0 ? " " : "", kind_rows[i].source);
        st_buffer_text(buffer, "}\n");
    }
    return ST_OK;
}
