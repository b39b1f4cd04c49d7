/* SPDX-License-Identifier: Apache-2.0 */
/* A scaling study as a result: a row for each number of GPUs. */
#include "search/held.h"
#include "search/scale.h"
#include "steptime/keys.h"

#include <math.h>
#include <string.h>

static const double million = 1e6;

static bool has_cost(const st_scale *scale)
{
    return scale->types[ST_SCALE_COST] != NULL && scale->types[ST_SCALE_TOKENS] != NULL;
}

static bool is_guided(const st_scale *scale)
{
    return st_guide_is_given(&scale->guide);
}

/* Dollars for a million tokens; NaN where the price is not known. */
static double cost_of(const st_scale_row *row)
{
    double cost = row->values[ST_SCALE_COST];
    return cost > 0 ? cost / row->values[ST_SCALE_TOKENS] * million : (double)NAN;
}

static void put_share(st_node *row, const char *key, const char *shown, double share)
{
    st_put_number(row, key, share);
    st_put_format(row, shown, "%.4g %%", 100 * share);
}

static void fill_row(const void *context, size_t index, st_node *row)
{
    const st_scale *scale = context;
    const st_scale_row *own = &scale->rows[index];
    st_put_number(row, "gpus", own->gpus);
    st_put_number(row, "batch", own->batch);
    if (own->found) {
        /* What programs read in base units, and what people and CSV read in the units of the cells.
         */
        static const char *const cells[] = {".exposed", ".mfu", ".memory"};
        st_put_number(row, "seconds", own->time);
        st_put_quantity(row, ".time", own->time, &scale->time_type->unit);
        put_share(row, "efficiency", ".efficiency", own->efficiency);
        for (size_t k = ST_SCALE_EXPOSED; k <= ST_SCALE_MEMORY; k++)
            if (scale->types[k] != NULL)
                st_put_quantity(row, cells[k], own->values[k], &scale->types[k]->unit);
        /* The time of communication that nothing hides, over that of the step. */
        if (scale->types[ST_SCALE_EXPOSED] != NULL)
            put_share(row, "exposed_share", ".exposed_share",
                      own->values[ST_SCALE_EXPOSED] / own->time);
        if (scale->types[ST_SCALE_MFU] != NULL)
            st_put_number(row, "mfu_share", own->values[ST_SCALE_MFU]);
        if (scale->types[ST_SCALE_MEMORY] != NULL)
            st_put_number(row, "memory_bytes", own->values[ST_SCALE_MEMORY]);
        if (has_cost(scale))
            st_put_number(row, "dollars_per_million_tokens", cost_of(own));
        if (is_guided(scale))
            st_put_number(row, "gap", own->gap);
    }
    st_put_text(row, "plan", own->found ? own->plan : NULL);
    st_put_text(row, "lacks", own->found ? NULL : own->miss);
}

/* A column of the table or of CSV; NULL: not there. */
typedef struct scale_column {
    const char *title;
    const char *field;
    int digits; /* of a number; 0: as its unit has it */
    const char *heading;
    const char *csv_field;
    const st_type *type; /* of what CSV shows; NULL: a number */
    bool is_there;
} scale_column;

enum { COLUMNS = 10 };

static void choose_columns(const st_scale *scale, scale_column columns[COLUMNS])
{
    const st_type *const *types = scale->types;
    const scale_column chosen[COLUMNS] = {
        {"GPUs", "gpus", 10, "gpus", "gpus", NULL, true},
        {"batch", "batch", 10, "batch", "batch", NULL, true},
        {scale->goal, ".time", 0, scale->found > 0 ? scale->goal : "step_time", ".time",
         scale->time_type, true},
        {"efficiency", ".efficiency", 0, "efficiency", "efficiency", NULL, true},
        {"exposed", ".exposed_share", 0, "exposed", ".exposed", types[ST_SCALE_EXPOSED],
         types[ST_SCALE_EXPOSED] != NULL},
        {"mfu", ".mfu", 0, "mfu", ".mfu", types[ST_SCALE_MFU], types[ST_SCALE_MFU] != NULL},
        {"memory", ".memory", 0, "memory", ".memory", types[ST_SCALE_MEMORY],
         types[ST_SCALE_MEMORY] != NULL},
        {"$/Mtoken", "dollars_per_million_tokens", 4, "cost [$/Mtoken]",
         "dollars_per_million_tokens", NULL, has_cost(scale)},
        {NULL, NULL, 0, "gap", "gap", NULL, is_guided(scale)},
        {NULL, NULL, 0, "plan", "plan", NULL, true},
    };
    memcpy(columns, chosen, sizeof chosen);
}

static void say_head(const st_scale *scale, st_node *root)
{
    st_say(root, "job      %s\nsheet    %s\nscaling  %s, %s\n", scale->job, scale->sheet,
           scale->weak ? "weak: the batch grows with the GPUs" : "strong: the batch stays",
           scale->fixed ? "the job's plan with more data-parallel ranks"
                        : "the best plan for every number of GPUs");
    for (size_t i = 0; i < scale->refine_count; i++)
        st_say(root, "%s   %s\n", i == 0 ? "refine" : "      ", scale->refine[i]);
    if (is_guided(scale)) {
        bool pruned = scale->guide.pruning != ST_PRUNING_NONE;
        st_say(root, "search   %s%s\n", st_method_name(scale->guide.method),
               pruned ? ", with rules that skip plans" : "");
    }
    st_search_put_held(scale->space, scale->weak ? ST_KEY_BATCH_GLOBAL : NULL, 9, root);
    st_say(root, "\n");
}

void st_scale_put(const st_scale *scale, st_result *result, st_arena *arena)
{
    st_node *root = st_result_begin(result, arena);
    st_put_text(root, "job", scale->job);
    st_put_text(root, "sheet", scale->sheet);
    st_put_texts(root, "refine", scale->refine, scale->refine_count);
    st_put_text(root, "scaling", scale->weak ? "weak" : "strong");
    st_put_bool(root, "fixed", scale->fixed);
    if (scale->interrupted)
        st_put_bool(root, "interrupted", true);
    st_put_text(root, "minimise", scale->goal);
    st_put_text(root, "method", st_method_name(scale->guide.method));
    say_head(scale, root);
    const st_node *rows = st_put_rows(root, "rows", fill_row, scale, scale->count);
    scale_column columns[COLUMNS];
    choose_columns(scale, columns);
    st_result_csv(result, "rows", "");
    for (size_t i = 0; i < COLUMNS; i++) {
        char heading[ST_QUANTITY_TEXT];
        const scale_column *one = &columns[i];
        bool has_unit = one->type != NULL && scale->found > 0;
        (void)snprintf(heading, sizeof heading, has_unit ? "%s [%s]" : "%s", one->heading,
                       has_unit ? one->type->unit.text : "");
        if (one->is_there)
            st_result_csv_column(result, one->csv_field, heading);
    }
    if (scale->found > 0) {
        scale_column table_columns[COLUMNS];
        st_table_column shown[COLUMNS];
        char fields[20 * COLUMNS] = "";
        size_t count = 0;
        choose_columns(scale, table_columns);
        for (size_t i = 0; i < COLUMNS; i++) {
            const scale_column *one = &table_columns[i];
            if (!one->is_there || one->title == NULL)
                continue;
            size_t length = strlen(fields);
            (void)snprintf(fields + length, sizeof fields - length, "%s%s", count > 0 ? "," : "",
                           one->field);
            shown[count++] =
                (st_table_column){.title = one->title,
                                  .none = "-",
                                  .right = true,
                                  .look = one->digits > 0 ? ST_LOOK_DIGITS : ST_LOOK_SCALED,
                                  .digits = one->digits};
        }
        st_table_show(st_say_table(root, shown, count, 2), rows, fields);
        st_say(root, "\nPlans\n");
    }
    for (size_t i = 0; i < scale->count; i++) {
        const st_scale_row *row = &scale->rows[i];
        st_say(root, "  %.10g: %s%s", row->gpus, row->found ? "" : "none; ",
               row->found ? row->plan : row->miss);
        /* Only what was left out says anything. */
        if (row->found && row->gap != row->gap)
            st_say(root, " (how much better another plan may be is not known)");
        else if (row->found && row->gap > 0)
            st_say(root, " (another plan may be better by up to %.3g %%)", 100 * row->gap);
        st_say(root, "\n");
    }
}
