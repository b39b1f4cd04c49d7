/* SPDX-License-Identifier: Apache-2.0 */
/* Tables of measured operators, and their rows by GPU, kind and precision; see operators.h. */
#include "operator-times/fit/operators.h"

#include "base/chars.h"
#include "fit/steps/row_fields.h"
#include "fit/steps/table_csv.h"
#include "steptime/keys.h"
#include "steptime/tool/job_values.h"
#include "steptime/tool/gpus.h"

#include <math.h>
#include <string.h>

#define SHEET  "operators"
#define PREFIX "operator."

static const char gpu_section[] = ST_KEY_CLUSTER_GPU;

const char *st_operator_gpu(const st_operator_group *group)
{
    return st_job_section_name(group->job, gpu_section);
}

bool st_operator_same_gpu(const st_operator_group *group, const st_operator_group *other)
{
    return strcmp(st_operator_gpu(group), st_operator_gpu(other)) == 0;
}

/* ---- the source of a table ---- */

/* Number of columns that identify the shape; 0 if the table lacks one of them. */
static size_t shape_columns(const st_table_source *source, const st_csv *csv)
{
    size_t found = 0;
    for (size_t i = 0; i < source->column_count; i++) {
        if (strncmp(source->columns[i].name, PREFIX, strlen(PREFIX)) != 0)
            continue;
        if (st_csv_column(csv, source->columns[i].theirs) == SIZE_MAX)
            return 0;
        found++;
    }
    return found;
}

/* How many columns of a table a source knows. */
static size_t known_columns(const st_table_source *source, const st_csv *csv)
{
    size_t found = 0;
    for (size_t i = 0; i < source->column_count; i++)
        found += st_csv_column(csv, source->columns[i].theirs) != SIZE_MAX ? 1 : 0;
    return found;
}

/* The one that knows most columns, of those whose shape the table has. */
static const st_table_source *find_source(const st_operator_fit *fit, const st_csv *csv)
{
    const st_table_source *best = NULL;
    for (size_t i = 0; i < fit->request.source_count; i++) {
        const st_table_source *source = &fit->request.sources[i];
        if (source->sheet == NULL || !st_same(source->sheet, SHEET) ||
            shape_columns(source, csv) == 0)
            continue;
        if (best == NULL || known_columns(source, csv) > known_columns(best, csv))
            best = source;
    }
    return best;
}

static bool is_known(const st_table_source *source, const char *name)
{
    if (strcmp(name, "id") == 0 || strcmp(name, "gpu") == 0 || strcmp(name, source->column) == 0)
        return true;
    return ST_HAS(source->columns, source->column_count, theirs, name);
}

/* A column that nobody reads may be a slip for one that somebody would. */
static st_status check_columns(const st_operator_fit *fit, const st_table_source *source,
                               const st_csv *csv)
{
    st_status status = ST_OK;
    const char **names = st_arena_alloc(fit->arena, source->column_count + 3, sizeof *names);
    size_t count = 0;
    if (names == NULL)
        return ST_ERR_MEMORY;
    names[count++] = "gpu";
    names[count++] = source->column;
    for (size_t i = 0; i < source->column_count; i++)
        names[count++] = source->columns[i].theirs;
    for (size_t i = 0; i < csv->column_count; i++)
        if (!is_known(source, csv->columns[i]))
            status = st_fail(fit->errors, ST_ERR_NAME, st_csv_head_place(csv, i),
                             "unknown column '%s' of a table of %s" ST_HINT "%s", csv->columns[i],
                             source->name,
                             st_errors_nearest(fit->errors, csv->columns[i], names, count));
    for (size_t i = 0; i < 2; i++)
        if (st_csv_column(csv, names[i]) == SIZE_MAX)
            status = st_fail(fit->errors, ST_ERR_NAME, st_csv_head_place(csv, 0), "no column '%s'",
                             names[i]);
    return status;
}

/* ---- GPUs ---- */

static bool is_renamed(const st_table_source *source, const char *gpu)
{
    for (size_t i = 0; i < source->gpu_count; i++)
        if (st_text_matches(gpu, source->gpus[i].name))
            return true;
    return false;
}

/* ---- rows by group ---- */

static bool is_same(const st_operator_group *group, const st_operator_group *other)
{
    return group->table == other->table && group->job == other->job && group->kind == other->kind &&
           group->precision == other->precision && group->burst == other->burst &&
           (group->source == NULL || strcmp(group->source, other->source) == 0);
}

static st_operator_group *group_of(st_operator_fit *fit, const st_operator_group *wanted,
                                   size_t row)
{
    for (size_t i = fit->group_count; i > 0; i--)
        if (is_same(&fit->groups[i - 1], wanted))
            return &fit->groups[i - 1];
    st_operator_group group = *wanted;
    group.precision_name = st_measured_choice(wanted->table, row, ST_KEY_OPERATOR_PRECISION);
    return ST_APPEND(fit->arena, fit->groups, fit->group_count, group)
               ? &fit->groups[fit->group_count - 1]
               : NULL;
}

/* ---- tables ---- */

static st_status read_rows(st_operator_fit *fit, const st_table_source *source, const st_csv *csv)
{
    st_measured_request request = fit->request;
    st_measured_table table = {.file = csv->file, .csv = csv};
    st_measured *sets = NULL;
    size_t count = 0;
    st_table_source *all = st_arena_alloc(fit->arena, 1, sizeof *all);
    if (all == NULL)
        return ST_ERR_MEMORY;
    *all = *source;
    all->match.condition_count = 0; /* every row is of this source, whatever its id */
    request.sources = all;
    request.source_count = 1;
    st_status status = st_measured_read(&request, &table, fit->arena, &sets, &count, fit->errors);
    if (status == ST_OK)
        status = st_measured_run(sets, fit->arena, fit->errors);
    if (status != ST_OK)
        return status;
    const st_measured *row_table = sets;
    st_status row_status = ST_OK;
    size_t used = 0;
    for (size_t row = 0; row < row_table->row_count && row_status == ST_OK; row++) {
        if (row_table->rows[row].left_out != NULL)
            continue;
        used++;
        st_operator_group wanted = {
            .table = row_table,
            .job = row_table->rows[row].job,
            .source = fit->each ? st_measured_field(row_table, row, "source") : NULL,
            .kind = (st_operator_kind)st_measured_value(row_table, row, ST_KEY_OPERATOR_KIND),
            .precision = st_measured_value(row_table, row, ST_KEY_OPERATOR_PRECISION),
            .burst = st_measured_value(row_table, row, ST_KEY_OPERATOR_BURST)};
        if (wanted.kind == ST_OPERATOR_EXPERTS && !fit->each)
            wanted.precision = 0; /* what is not the rate is the same in all of them */
        st_operator_group *group = group_of(fit, &wanted, row);
        row_status = group != NULL && ST_APPEND(fit->arena, group->rows, group->row_count, row)
                         ? ST_OK
                         : ST_ERR_MEMORY;
    }
    if (row_status != ST_OK || used > 0)
        return row_status;
    return st_fail(fit->errors, ST_ERR_VALUE, (st_place){.file = row_table->file},
                   "no row is left%s%s", row_table->row_count > 0 ? ": " : "",
                   row_table->row_count > 0 ? row_table->rows[0].left_out : "");
}

static st_status read_table(st_operator_fit *fit, const char *file)
{
    const st_csv *csv = NULL;
    st_status status = st_table_csv_read(file, (st_place){0}, fit->arena, &csv, fit->errors);
    if (status != ST_OK)
        return status;
    const st_table_source *source = find_source(fit, csv);
    if (source == NULL)
        return st_fail(
            fit->errors, ST_ERR_NAME, st_csv_head_place(csv, 0),
            "the columns match no operator" ST_EXPECTED
            "gpu, us and m, n, k; or batch, seq, heads, head_dim; or tokens, hidden, inter, "
            "topk, experts (docs/operators.md)");
    status = check_columns(fit, source, csv);
    if (status == ST_OK) {
        /* A GPU that has no file would leave all its rows out without a word. */
        st_gpus gpus = {0};
        size_t column = st_csv_column(csv, "gpu");
        const char *last = "";
        status = st_gpus_list(fit->request.paths, fit->arena, &gpus, fit->errors);
        for (size_t row = 0; row < csv->row_count && status == ST_OK; row++) {
            const char *gpu = st_csv_field(csv, row, column);
            if (row > 0 && strcmp(gpu, last) == 0)
                continue;
            last = gpu;
            if (!is_renamed(source, gpu) && st_gpus_find(&gpus, gpu, NULL) == NULL)
                status = st_gpus_unknown(&gpus, gpu, st_csv_place(csv, row, column), fit->errors);
        }
    }
    return status == ST_OK ? read_rows(fit, source, csv) : status;
}

st_status st_operators_read(st_operator_fit *fit)
{
    st_status status = ST_OK;
    if (fit->request.sources == NULL)
        status = st_table_sources_load(fit->request.paths, fit->arena, &fit->request.sources,
                                       &fit->request.source_count, fit->errors);
    for (size_t i = 0; i < fit->file_count && status == ST_OK; i++)
        status = read_table(fit, fit->files[i]);
    return status;
}
