/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Layer times that were measured, or predicted from measured ones, in place of the formulas of the
 * sheet megatron. The times come as a text that `steptime fit kernels` has written, by a profile or
 * as a file; see times.h for what is in it and cells.c for the cells.
 */
#include "cells.h"

#include "describe.h"
#include "text_file.h"

#include <math.h>
#include <string.h>

enum { TIMES, SHAPES, OTHER_GPU, BACKWARD, OPTIONS };

enum { ANY, INSIDE, MEASURED }; /* choices of SHAPES */

enum { LARGEST_TEXT = 4 * 1024 * 1024, REASON = 320 };

typedef struct layer_times {
    const st_plugin_host *host;
    bool has_times;
    st_times times;
    int shapes;
    bool other_gpu;
    double backward;
} layer_times;

#define SOURCE "steptime docs/kernel-times.md"

static const st_plugin_option *const options[OPTIONS] = {
    [TIMES] = OPTION_TEXT(
        0, "times", "",
        "file of times that 'steptime fit kernels -o FILE' has written, or its text", SOURCE),
    [SHAPES] = OPTION_CHOICE(
        "shapes", "any inside measured", "any",
        "shapes to answer: any, those inside the measured range, or only measured ones", SOURCE),
    [OTHER_GPU] = OPTION_CHOICE("other_gpu", "refuse allow", "refuse",
                                "times measured on another GPU than the job's", SOURCE),
    [BACKWARD] = OPTION_FITTED(
        "backward", "", "2", 0.1, 10,
        "backward over forward time where only forward passes were measured; prior: log sd 0.1",
        "narayanan2021 appendix")};

/* ---- one row ---- */

typedef struct row_answer {
    bool measured;   /* the times count */
    bool is_forward; /* times of a forward pass answer for the backward pass */
    double scale;
    double rest; /* what the times do not contain */
    st_times_answer answer;
    double value;
} row_answer;

static bool is_near(double left, double right)
{
    return fabs(left - right) <= 0.02 * fabs(right);
}

static const char *refuse_shape(const layer_times *instance, const cell_row *row,
                                const st_times_answer *answer, char *reason)
{
    const st_times *times = &instance->times;
    for (size_t i = 0; i < times->shape_count; i++) {
        double value = row->shape.features[times->shape[i]];
        const char *name = st_times_feature_names[times->shape[i]];
        if (isnan(value)) {
            (void)snprintf(reason, REASON, "the times need '%s', which the sheet lacks", name);
            return reason;
        }
        if (answer->outside == times->shape[i]) {
            (void)snprintf(reason, REASON,
                           "%s is %.10g, but times were measured from %.10g to %.10g", name, value,
                           times->least[i], times->most[i]);
            return reason;
        }
    }
    return isnan(answer->sum) ? "this shape was not measured, and the times have no model"
                              : "this shape was not measured";
}

/* Whether a piece is part of what a cell is about. */
static bool counts(const layer_times *instance, const st_cell *cell, const row_answer *result,
                   size_t piece)
{
    return !(result->is_forward && cell->products_only) ||
           st_times_is_product(instance->times.pieces[piece]);
}

/* NULL, or why the row is refused, in `reason`. */
static const char *answer_row(const layer_times *instance, const st_cell *cell, const cell_row *row,
                              row_answer *result, char *reason)
{
    st_times_answer *answer = &result->answer;
    memset(result, 0, sizeof *result);
    result->value = row->shape.features[ST_TIMES_CLOSED];
    result->scale = 1;
    const char *value = instance->has_times ? instance->times.value : "";
    result->is_forward = cell->backward_of != NULL && strcmp(value, cell->backward_of) == 0;
    result->measured = strcmp(value, cell->name) == 0;
    for (size_t i = 0; result->is_forward && i < instance->times.piece_count; i++)
        result->measured = result->measured || counts(instance, cell, result, i);
    if (!result->measured)
        return NULL;
    /* The GPU is reported by its rates, which are what the formulas know of it. */
    if (!instance->other_gpu &&
        ((row->peak > 0 && !is_near(row->peak, instance->times.peak)) ||
         (row->bandwidth > 0 && !is_near(row->bandwidth, instance->times.bandwidth)))) {
        (void)snprintf(reason, REASON,
                       "the times were measured on %s, %.4g TFLOP/s and %.4g GB/s, but this GPU "
                       "has %.4g TFLOP/s and %.4g GB/s; option other_gpu=allow uses them",
                       instance->times.gpu, instance->times.peak / 1e12,
                       instance->times.bandwidth / 1e9, row->peak / 1e12, row->bandwidth / 1e9);
        return reason;
    }
    st_times_ask(&instance->times, &row->shape, answer);
    result->scale = result->is_forward && !cell->products_only ? instance->backward : 1;
    result->rest = st_times_is_whole(&instance->times) ? 0 : row->rest;
    result->value = result->rest;
    for (size_t i = 0; i < instance->times.piece_count; i++) {
        if (counts(instance, cell, result, i)) {
            result->value += result->scale * answer->pieces[i];
        }
    }
    bool good = answer->origin <= ST_TIMES_BETWEEN ||
                (instance->shapes == INSIDE && answer->origin == ST_TIMES_PREDICTED) ||
                instance->shapes == ANY;
    return good && isfinite(result->value) && result->value > 0
               ? NULL
               : refuse_shape(instance, row, answer, reason);
}

int st_cells_evaluate(void *instance, const st_cell *cell, size_t rows,
                      const double *const *columns, double *values)
{
    const layer_times *times = instance;
    char reason[REASON];
    for (size_t i = 0; i < rows; i++) {
        cell_row row;
        row_answer result;
        st_cell_read(cell, columns, i, &row);
        values[i] =
            answer_row(times, cell, &row, &result, reason) == NULL ? result.value : (double)NAN;
        if (!(values[i] >= 0) || isinf(values[i])) {
            values[i] = (double)NAN;
        }
    }
    return ST_PLUGIN_OK;
}

/* ---- explanations ---- */

int st_cells_explain(void *instance, const st_cell *cell, const double *const *columns,
                     const st_plugin_sink *sink)
{
    const layer_times *times = instance;
    char reason[REASON];
    cell_row row;
    row_answer result;
    st_cell_read(cell, columns, 0, &row);
    const char *refusal = answer_row(times, cell, &row, &result, reason);
    if (refusal == NULL && !(result.value >= 0 && isfinite(result.value)))
        refusal = "the formula's own time is not finite";
    if (refusal != NULL)
        return st_plugin_fail(times->host, refusal);
    if (!result.measured) {
        st_plugin_tell_part(sink, "formula", "us", result.value, "this cell was not measured");
        return ST_PLUGIN_OK;
    }
    for (size_t i = 0; i < times->times.piece_count; i++) {
        if (!counts(times, cell, &result, i)) {
            continue;
        }
        st_plugin_tell_part(sink, st_times_piece_names[times->times.pieces[i]], "us",
                            result.scale * result.answer.pieces[i],
                            !result.is_forward    ? ""
                            : cell->products_only ? "its forward time"
                                                  : "its forward time, times the option backward");
    }
    if (result.rest > 0)
        st_plugin_tell_part(sink, "formula", "us", result.rest,
                            "parts that were not measured, from the sheet");
    static const char *const texts[] = {
        [ST_TIMES_MEASURED] = "measured",
        [ST_TIMES_BETWEEN] = "interpolated between two measured numbers of tokens",
        [ST_TIMES_PREDICTED] = "predicted, inside the measured range",
        [ST_TIMES_OUTSIDE] = "predicted, outside the measured range"};
    char text[160];
    st_times_origin origin = result.answer.origin;
    (void)snprintf(text, sizeof text, "%s%s%s", texts[origin],
                   origin == ST_TIMES_OUTSIDE ? " of " : "",
                   origin == ST_TIMES_OUTSIDE ? st_times_feature_names[result.answer.outside] : "");
    st_plugin_tell_text(sink, "origin", text, "of the time of this shape");
    st_plugin_tell_text(sink, "gpu", times->times.gpu, "on which it was measured");
    return ST_PLUGIN_OK;
}

/* ---- opening ---- */

static const char *read_times(layer_times *instance, const char *given, char *reason)
{
    if (strncmp(given, "steptime-kernel-times ", 22) == 0)
        return st_times_read(&instance->times, given, strlen(given), reason, REASON);
    size_t length = 0;
    char *text = read_file(given, LARGEST_TEXT, &length);
    if (text == NULL) {
        (void)snprintf(reason, REASON, "the times '%.200s' cannot be read", given);
        return reason;
    }
    const char *fault = st_times_read(&instance->times, text, length, reason, REASON);
    free(text);
    return fault;
}

static int open_times(const st_plugin_host *host, void **instance)
{
    char reason[REASON];
    const char *given = host->settings[TIMES]->text;
    layer_times *times = host->allocate(host->context, sizeof *times);
    if (times == NULL)
        return st_plugin_fail(host, "out of memory");
    memset(times, 0, sizeof *times);
    times->host = host;
    times->shapes = (int)host->settings[SHAPES]->number;
    times->other_gpu = host->settings[OTHER_GPU]->number > 0;
    times->backward = host->settings[BACKWARD]->number;
    times->has_times = given[0] != '\0';
    const char *fault = times->has_times ? read_times(times, given, reason) : NULL;
    if (fault == NULL && times->has_times && !st_cell_is_known(times->times.value)) {
        st_times_free(&times->times);
        fault = "the times are for a cell unknown to this plugin";
    }
    if (fault != NULL) {
        host->error(host->context, fault);
        host->release(host->context, times);
        return ST_PLUGIN_FAILED;
    }
    if (!times->has_times)
        host->log(host->context, ST_PLUGIN_LOG_WARNING,
                  "no times are given, so all values are those of the formulas; 'steptime fit "
                  "kernels' makes profiles with times");
    *instance = times;
    return ST_PLUGIN_OK;
}

static void close_times(void *instance)
{
    layer_times *times = instance;
    st_times_free(&times->times);
    times->host->release(times->host->context, times);
}

DESCRIBE("kernel-times", "1.0.0", "layer times, measured or predicted from measurements",
         WITH_OPTIONS(options), WITH_PROVIDERS(st_cell_providers), .open = open_times,
         .close = close_times);
