/* SPDX-License-Identifier: Apache-2.0 */
/* See row_checks.h. */
#include "fit/steps/row_checks.h"

#include "fit/steps/row_fields.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* Rates of one step, counted with and without recomputation, causal attention, sparse experts. */
#define RATE_FACTOR 3.0

static bool number_of(const st_row_check *check, const char *name, double *number)
{
    char storage[ST_SOURCE_FIELD_BYTES];
    const st_source_field field = st_source_field_find(check->csv, check->source, name);
    const char *text = st_source_field_text(check->csv, field, check->row->line, storage);
    return st_number_parse(text, strlen(text), (st_place){0}, number, NULL) == ST_OK;
}

static const char *refuse(const st_row_check *check, const char *column, const char *found,
                          const char *expected, const char *why)
{
    st_report(check->errors, ST_SEVERITY_WARNING, ST_ERR_VALUE,
              st_csv_place(check->csv, check->row->line,
                           st_source_field_find(check->csv, check->source, column).column),
              "row %s is left out: its columns contradict each other" ST_FOUND "%s" ST_EXPECTED
              "%s",
              check->row->id, found, expected);
    return why;
}

static const char *check_step(const st_row_check *check)
{
    static const char *const names[] = {"gpus", "global_batch", "seq"};
    const double measured = check->row->measured;
    double tokens = 0;
    double other = 0;
    double sizes[3] = {0};
    const char *wanted = st_errors_text(check->errors, "that of a step of %g s", measured);
    if (number_of(check, "iter_time_s", &other) && fabs(other / measured - 1) > 0.02)
        return refuse(check, "iter_time_s", st_errors_text(check->errors, "%g s", other), wanted,
                      "iter_time_s contradicts the measured step");
    bool known = number_of(check, "tokens_per_s_per_gpu", &tokens) && tokens > 0;
    for (size_t i = 0; known && i < ST_COUNT(names); i++)
        known = number_of(check, names[i], &sizes[i]) && sizes[i] > 0;
    other = known ? sizes[1] * sizes[2] / sizes[0] / tokens : measured;
    if (fabs(other / measured - 1) > 0.1)
        return refuse(check, "tokens_per_s_per_gpu",
                      st_errors_text(check->errors, "%g, which is a step of %g s", tokens, other),
                      wanted, "tokens_per_s_per_gpu contradicts the measured step");
    return NULL;
}

const char *st_row_contradiction(const st_row_check *check)
{
    double number = 0;
    if (number_of(check, "gpus", &number) && isfinite(check->plan_gpus) &&
        number != check->plan_gpus)
        return refuse(check, "gpus", st_errors_text(check->errors, "%g GPUs", number),
                      st_errors_text(check->errors, "tp x pp x dp x cp = %g", check->plan_gpus),
                      "gpus is not tp x pp x dp x cp");
    if (number_of(check, "mfu_pct", &number) && !(number > 0 && number <= 100))
        return refuse(check, "mfu_pct", st_errors_text(check->errors, "%g %%", number),
                      "a utilization above 0 and up to 100 %", "mfu_pct is not a share");
    return check->is_step && check->row->measured > 0 ? check_step(check) : NULL;
}

static bool is_far(double stated, double counted)
{
    return counted > 0 && stated > 0 &&
           !(stated < RATE_FACTOR * counted && stated > counted / RATE_FACTOR);
}

const char *st_row_rate_contradiction(const st_row_check *check)
{
    double number = 0;
    if (number_of(check, "mfu_pct", &number) && is_far(number / 100, check->mfu))
        return refuse(check, "mfu_pct", st_errors_text(check->errors, "%g %%", number),
                      st_errors_text(check->errors, "about %.3g %%, that of a step of %g s",
                                     100 * check->mfu, check->row->measured),
                      "mfu_pct contradicts the measured step");
    if (number_of(check, "tflops_per_gpu", &number) && is_far(number * 1e12, check->flops_gpu))
        return refuse(check, "tflops_per_gpu", st_errors_text(check->errors, "%g TFLOP/s", number),
                      st_errors_text(check->errors, "about %.3g TFLOP/s, that of a step of %g s",
                                     check->flops_gpu / 1e12, check->row->measured),
                      "tflops_per_gpu contradicts the measured step");
    return NULL;
}

static int order_rows(const void *left, const void *right)
{
    const st_row *const *a = left;
    const st_row *const *b = right;
    const int order = strcmp((*a)->id, (*b)->id);
    return order != 0 ? order : ((*a)->line > (*b)->line) - ((*a)->line < (*b)->line);
}

st_status st_leave_out_repeated(st_measured *measured, st_arena *arena, st_errors *errors)
{
    st_row **rows = st_arena_alloc(arena, measured->row_count + 1, sizeof *rows);
    size_t first = 0;
    if (rows == NULL)
        return ST_ERR_MEMORY;
    if (st_csv_column(measured->csv, "id") == SIZE_MAX) /* made of columns that may agree */
        return ST_OK;
    for (size_t i = 0; i < measured->row_count; i++)
        rows[i] = &measured->rows[i];
    qsort(rows, measured->row_count, sizeof rows[0], order_rows);
    for (size_t i = 1; i < measured->row_count; i++) {
        first = strcmp(rows[i]->id, rows[first]->id) == 0 ? first : i;
        if (first == i)
            continue;
        st_report(errors, ST_SEVERITY_WARNING, ST_ERR_NAME,
                  st_csv_place(measured->csv, rows[i]->line, st_csv_column(measured->csv, "id")),
                  "row %s is left out: line %d has this id", rows[i]->id,
                  st_csv_place(measured->csv, rows[first]->line, 0).line);
        rows[i]->left_out = "its id repeats that of a row before";
    }
    return ST_OK;
}
