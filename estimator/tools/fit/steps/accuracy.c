/* SPDX-License-Identifier: Apache-2.0 */
/* Comparing measured rows with their estimates; see accuracy.h. */
#include "fit/steps/accuracy.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* Groups, each with up to two parts. */
typedef struct comparer {
    const st_measured *measured;
    st_accuracy *accuracy;
    double *errors;
    double *scratch;
} comparer;

const char *st_row_part_text(st_row_part part)
{
    switch (part) {
    case ST_ROWS_FITTED:
        return "used in the fit";
    case ST_ROWS_HELD_OUT:
        return "held out";
    case ST_ROWS_ALL:
        break;
    }
    return "all rows";
}

/* The errors of the rows of a group and a part, and how many of them are inside their bands. */
static size_t collect(comparer *comparison, const st_row_group *group, st_row_part part,
                      size_t *banded, size_t *inside)
{
    size_t count = 0;
    for (size_t i = 0; i < comparison->measured->row_count; i++) {
        const st_row *row = &comparison->measured->rows[i];
        if (!st_row_counts(row) || (part != ST_ROWS_ALL && row->fitted != (part == ST_ROWS_FITTED)))
            continue;
        if (group != NULL && !st_measured_holds(comparison->measured, &group->when, i))
            continue;
        comparison->errors[count++] = row->error;
        *banded += row->band > 0 ? 1 : 0;
        *inside += row->band > 0 && fabs(row->error) <= row->band ? 1 : 0;
    }
    return count;
}

static st_status add_site_factor(comparer *comparison, size_t count, st_group_errors *result)
{
    result->has_site_factor = true;
    result->site_factor = st_site_factor(comparison->errors, count, comparison->scratch);
    st_apply_site_factor(comparison->errors, count, result->site_factor, comparison->scratch);
    result->site = st_summarize_errors(comparison->scratch, count);
    st_status status = st_leave_one_out_of_site(comparison->errors, count, comparison->scratch);
    if (status == ST_OK && count > 1)
        result->site_left_out = st_summarize_errors(comparison->scratch, count);
    return status;
}

/* A limit is for rows that no constant has seen. */
static st_status add_part(comparer *comparison, const st_row_group *group, st_row_part part)
{
    size_t banded = 0;
    size_t inside = 0;
    size_t count = collect(comparison, group, part, &banded, &inside);
    st_accuracy *accuracy = comparison->accuracy;
    if (count == 0)
        return ST_OK;
    st_group_errors *result = &accuracy->groups[accuracy->group_count++];
    *result = (st_group_errors){
        .name = group != NULL ? group->name : "", .part = part, .banded = banded, .inside = inside};
    bool wants_site = part != ST_ROWS_FITTED && (group != NULL ? group->site_factor : count > 2);
    st_status status = wants_site ? add_site_factor(comparison, count, result) : ST_OK;
    result->summary = st_summarize_errors(comparison->errors, count);
    if (group == NULL || part == ST_ROWS_FITTED)
        return status;
    result->limit = group->limit;
    result->site_limit = group->site_limit;
    accuracy->failed += group->limit > 0 && result->summary.mean_absolute > group->limit ? 1 : 0;
    accuracy->failed +=
        group->site_limit > 0 && result->site.mean_absolute > group->site_limit ? 1 : 0;
    return status;
}

static st_status add_group(comparer *comparison, const st_row_group *group)
{
    size_t ignored = 0;
    if (collect(comparison, group, ST_ROWS_FITTED, &ignored, &ignored) == 0)
        return add_part(comparison, group, ST_ROWS_ALL);
    st_status status = add_part(comparison, group, ST_ROWS_FITTED);
    return status == ST_OK ? add_part(comparison, group, ST_ROWS_HELD_OUT) : status;
}

/* ---- rows left out ---- */

ST_COMPARE(compare_reasons, st_reason, ST_FALLING(rows) ST_BY_TEXT(text));

static st_status count_reasons(const st_measured *measured, st_arena *arena, st_accuracy *accuracy)
{
    const char **texts = st_arena_alloc(arena, measured->row_count + 1, sizeof *texts);
    accuracy->reasons = st_arena_alloc(arena, measured->row_count + 1, sizeof *accuracy->reasons);
    if (texts == NULL || accuracy->reasons == NULL)
        return ST_ERR_MEMORY;
    size_t count = 0;
    for (size_t i = 0; i < measured->row_count; i++)
        if (measured->rows[i].left_out != NULL)
            texts[count++] = measured->rows[i].left_out;
    qsort(texts, count, sizeof texts[0], st_order_texts);
    for (size_t i = 0; i < count; i++) {
        if (i == 0 || strcmp(texts[i], texts[i - 1]) != 0)
            accuracy->reasons[accuracy->reason_count++] = (st_reason){texts[i], 0};
        accuracy->reasons[accuracy->reason_count - 1].rows++;
    }
    qsort(accuracy->reasons, accuracy->reason_count, sizeof accuracy->reasons[0], compare_reasons);
    return ST_OK;
}

double st_memory_share(const st_accuracy *accuracy)
{
    return accuracy->verdicts > 0 ? (double)accuracy->verdicts_right / (double)accuracy->verdicts
                                  : 1.0;
}

st_status st_accuracy_of(const st_measured *measured, st_arena *arena, st_accuracy *accuracy)
{
    const st_table_source *source = measured->source;
    size_t groups = source != NULL ? source->group_count : 1;
    *accuracy = (st_accuracy){.measured = measured};
    comparer comparison = {.measured = measured, .accuracy = accuracy};
    accuracy->groups = st_arena_alloc(arena, 2 * groups, sizeof *accuracy->groups);
    comparison.errors = st_arena_alloc(arena, measured->row_count + 1, sizeof *comparison.errors);
    comparison.scratch = st_arena_alloc(arena, measured->row_count + 1, sizeof *comparison.scratch);
    if (accuracy->groups == NULL || comparison.errors == NULL || comparison.scratch == NULL)
        return ST_ERR_MEMORY;
    st_status status = ST_OK;
    for (size_t i = 0; i < groups && status == ST_OK; i++)
        status = add_group(&comparison, source != NULL ? &source->groups[i] : NULL);
    if (status == ST_OK)
        status = count_reasons(measured, arena, accuracy);
    for (size_t i = 0; i < measured->row_count; i++) {
        const st_row *row = &measured->rows[i];
        accuracy->estimated += row->estimated ? 1 : 0;
        if (row->left_out != NULL)
            continue;
        accuracy->compared += row->ran_out ? 0 : 1;
        accuracy->fitted += row->fitted ? 1 : 0;
        if (measured->fits == NULL)
            continue;
        accuracy->verdicts++;
        accuracy->verdicts_right += row->fits != row->ran_out ? 1 : 0;
    }
    accuracy->memory_limit = source != NULL ? source->memory_limit : 0;
    accuracy->failed += st_memory_share(accuracy) < accuracy->memory_limit ? 1 : 0;
    return status;
}
