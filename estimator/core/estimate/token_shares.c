/* SPDX-License-Identifier: Apache-2.0 */
/* Reads who gets which share of the tokens; see token_shares.h. */
#include "estimate/token_shares.h"

#include "base/fields.h"
#include "base/lists.h"
#include "base/memory.h"

#include <math.h>

enum { MOST_RANKS = 4096, MOST_EXPERTS = 65536 };

#define SUM_TOLERANCE   1e-6
#define MOST_ITERATIONS 1e12

/* A row of the table; what its heading does not have stays 0. */
typedef struct share_row {
    double iteration;
    double expert;
    double rank;
    double source;
    double target;
    double share;
    size_t index; /* in the table */
} share_row;

ST_COMPARE(compare_rows, share_row, ST_RISING(iteration) ST_RISING(index));

enum { ITERATION, EXPERT, RANK, SOURCE, TARGET, SHARE, FIELDS };

static const st_field fields[FIELDS] = {
    [ITERATION] = {.name = "iteration",
                   .set = st_field_count,
                   .most = MOST_ITERATIONS,
                   .offset = offsetof(share_row, iteration)},
    [EXPERT] = {.name = "expert",
                .set = st_field_count,
                .most = MOST_EXPERTS - 1,
                .offset = offsetof(share_row, expert)},
    [RANK] = {.name = "rank",
              .set = st_field_count,
              .most = MOST_RANKS - 1,
              .offset = offsetof(share_row, rank)},
    [SOURCE] = {.name = "source",
                .set = st_field_count,
                .most = MOST_RANKS - 1,
                .offset = offsetof(share_row, source)},
    [TARGET] = {.name = "target",
                .set = st_field_count,
                .most = MOST_RANKS - 1,
                .offset = offsetof(share_row, target)},
    [SHARE] = {.name = "share",
               .set = st_field_number,
               .flags = ST_FIELD_REQUIRED,
               .most = 1,
               .offset = offsetof(share_row, share)},
};

/* The table as it is read: one line of shares, or one of each sender. */
typedef struct share_table {
    st_field_reader reader;
    const st_token_group *group;
    size_t lines;    /* 1, or the ranks */
    size_t columns;  /* ranks, or experts */
    size_t field;    /* that says the column */
    share_row *rows; /* by iteration */
    size_t row_count;
    double *share; /* lines x columns; NAN: not there */
    double *until; /* lines x ranks, see st_token_shares */
    char when[40]; /* " in iteration 385", or nothing */
} share_table;

/* Rows from `first` on that are of one iteration. */
static size_t rows_at(const share_table *table, size_t first)
{
    size_t end = first;
    while (end < table->row_count && table->rows[end].iteration == table->rows[first].iteration)
        end++;
    return end - first;
}

/* Which of the headings it is; false where it is none. */
static bool choose_heading(share_table *table)
{
    const st_field_reader *reader = &table->reader;
    bool pairs = st_fields_have(reader, SOURCE) && st_fields_have(reader, TARGET);
    bool ranks = st_fields_have(reader, RANK);
    bool experts = st_fields_have(reader, EXPERT);
    bool half = st_fields_have(reader, SOURCE) != st_fields_have(reader, TARGET);
    if (half || (pairs ? 1 : 0) + (ranks ? 1 : 0) + (experts ? 1 : 0) != 1) {
        ST_NOTE(&table->reader, ST_ERR_NAME, st_csv_head_place(reader->csv, 0),
                "wrong columns for token shares" ST_EXPECTED
                "columns expert and share, rank and share, or source, target and share");
        return false;
    }
    table->lines = pairs ? table->group->ranks : 1;
    table->columns = table->group->ranks;
    table->field = pairs ? TARGET : ranks ? RANK : EXPERT;
    if (experts)
        table->columns = table->group->experts > 0 ? table->group->experts : rows_at(table, 0);
    if (table->columns % table->group->ranks == 0 && table->columns > 0)
        return true;
    ST_NOTE(&table->reader, ST_ERR_VALUE, st_csv_head_place(reader->csv, 0),
            "%zu experts cannot be spread evenly over %zu ranks", table->columns,
            table->group->ranks);
    return false;
}

static void add_row(share_table *table, const share_row *row)
{
    double column = table->field == TARGET ? row->target
                    : table->field == RANK ? row->rank
                                           : row->expert;
    st_place place =
        st_csv_place(table->reader.csv, row->index, table->reader.found[table->field].column);
    if (column >= (double)table->columns || row->source >= (double)table->lines) {
        ST_NOTE(&table->reader, ST_ERR_VALUE, place,
                "%s %.0f is out of range" ST_EXPECTED "0 to %zu",
                column >= (double)table->columns ? fields[table->field].name : "source",
                column >= (double)table->columns ? column : row->source, table->columns - 1);
        return;
    }
    double *share = &table->share[(size_t)row->source * table->columns + (size_t)column];
    if (!isnan(*share))
        ST_NOTE(&table->reader, ST_ERR_VALUE, place, "duplicate share of %s %.0f%s",
                fields[table->field].name, column, table->when);
    *share = row->share;
}

/* Every share is given, and those of a sender add up to all of its tokens. */
static void check_line(share_table *table, size_t line)
{
    double sum = 0;
    st_place place = st_csv_head_place(table->reader.csv, 0);
    for (size_t i = 0; i < table->columns; i++) {
        double share = table->share[line * table->columns + i];
        if (isnan(share)) {
            ST_NOTE(&table->reader, ST_ERR_VALUE, place, "missing share of %s %zu%s%s",
                    fields[table->field].name, i, table->lines > 1 ? " for a source" : "",
                    table->when);
            return;
        }
        sum += share;
    }
    if (fabs(sum - 1) > SUM_TOLERANCE)
        ST_NOTE(&table->reader, ST_ERR_VALUE, place,
                "the shares%s%s add up to %.9g, so tokens %s" ST_EXPECTED "shares that add up to 1",
                table->lines > 1 ? " of a source" : "", table->when, sum,
                sum > 1 ? "appear" : "vanish");
}

static void sum_up(share_table *table)
{
    size_t ranks = table->group->ranks;
    size_t experts = table->columns / ranks;
    for (size_t i = 0; i < table->lines; i++) {
        const double *line = &table->share[i * table->columns];
        double sum = 0;
        for (size_t rank = 0; rank < ranks; rank++) {
            for (size_t expert = 0; expert < experts; expert++)
                sum += line[rank * experts + expert];
            table->until[i * ranks + rank] = rank + 1 == ranks ? 1 : fmin(sum, 1);
        }
    }
}

/* One iteration after the other, so that what is kept is the last one's. */
static st_status read_iterations(share_table *table, st_token_shares *shares)
{
    st_field_reader *reader = &table->reader;
    st_token_load *loads = NULL;
    size_t load_count = 0;
    size_t at = 0;
    do {
        size_t count = rows_at(table, at);
        const share_row *rows = table->rows + at;
        for (size_t i = 0; i < table->lines * table->columns; i++)
            table->share[i] = (double)NAN;
        if (st_fields_have(&table->reader, ITERATION) && count > 0)
            (void)snprintf(table->when, sizeof table->when, " in iteration %.0f",
                           rows[0].iteration);
        for (size_t i = 0; i < count; i++)
            add_row(table, &rows[i]);
        for (size_t i = 0; i < table->lines && table->reader.status == ST_OK; i++)
            check_line(table, i);
        if (table->reader.status == ST_OK)
            sum_up(table);
        if (reader->status == ST_OK) {
            /* What each rank gets of the tokens of all, over the mean. */
            size_t ranks = table->group->ranks;
            double mean = (double)table->lines / (double)ranks;
            st_token_load load = {.iteration = count > 0 ? table->rows[at].iteration : 0,
                                  .idlest = (double)INFINITY};
            for (size_t rank = 0; rank < ranks; rank++) {
                double sum = 0;
                for (size_t line = 0; line < table->lines; line++) {
                    const double *until = &table->until[line * ranks];
                    sum += until[rank] - (rank > 0 ? until[rank - 1] : 0);
                }
                load.busiest = fmax(load.busiest, sum / mean);
                load.idlest = fmin(load.idlest, sum / mean);
            }
            ST_APPEND(reader->arena, loads, load_count, load);
        }
        at += count;
    } while (at < table->row_count);
    if (reader->status != ST_OK)
        return reader->status;
    if (st_arena_failed(reader->arena))
        return st_out_of_memory(reader->errors);
    *shares = (st_token_shares){.ranks = table->group->ranks,
                                .lines = table->lines,
                                .until = table->until,
                                .load = loads[load_count - 1],
                                .loads = loads,
                                .load_count = st_fields_have(reader, ITERATION) ? load_count : 0};
    return ST_OK;
}

static st_status read_table(share_table *table, st_token_shares *shares)
{
    st_field_reader *reader = &table->reader;
    if (!st_fields_find(reader))
        return reader->status;
    /* Leaves out invalid rows and notes them. */
    st_status status = ST_OK;
    size_t count = reader->csv->row_count;
    table->rows = st_arena_alloc(reader->arena, count, sizeof *table->rows);
    if (count > 0 && table->rows == NULL) {
        status = st_out_of_memory(reader->errors);
    } else {
        for (size_t i = 0; i < count; i++) {
            share_row row = {.index = i};
            if (st_fields_read(reader, i, &row))
                table->rows[table->row_count++] = row;
        }
        st_sort(table->rows, table->row_count, sizeof *table->rows, compare_rows);
    }
    if (status != ST_OK)
        return status;
    if (!choose_heading(table))
        return reader->status;
    size_t ranks = table->group->ranks;
    table->share =
        st_arena_alloc(reader->arena, table->lines * table->columns, sizeof *table->share);
    table->until = st_arena_alloc(reader->arena, table->lines * ranks, sizeof *table->until);
    if (table->share == NULL || table->until == NULL)
        return st_out_of_memory(reader->errors);
    return read_iterations(table, shares);
}

st_status st_token_shares_read(const st_token_text *text, const st_token_group *group,
                               st_arena *arena, st_token_shares *shares, st_errors *errors)
{
    share_table table = {
        .reader = {.fields = fields, .count = FIELDS, .arena = arena, .errors = errors},
        .group = group};
    if (group->ranks > MOST_RANKS || group->experts > MOST_EXPERTS)
        return st_fail(errors, ST_ERR_LIMIT, (st_place){.file = text->file},
                       "the job has %zu expert ranks and %zu experts" ST_EXPECTED
                       "at most 4096 ranks and 65536 experts",
                       group->ranks, group->experts);
    st_status status =
        st_csv_parse(text->file, text->text, text->length, arena, &table.reader.csv, errors);
    if (status == ST_OK)
        status = read_table(&table, shares);
    return status;
}
