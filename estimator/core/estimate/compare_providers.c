/* SPDX-License-Identifier: Apache-2.0 */
/* One job under several refinements; see compare_providers.h. */
#include "estimate/compare_providers.h"

#include "steptime/tool/roles.h"
#include "sheet/type_write.h"

#include <math.h>
#include <string.h>

/* ---- which rows ---- */

/* The first column that has run: all that have run have the same cells. */
static const st_estimate *first_of(const st_columns *columns)
{
    size_t first = 0;
    while (columns->faults[first] != NULL)
        first++;
    return &columns->estimates[first];
}

/* What comes first, and what hiding communication is about. */
static bool is_key(const st_sheet *sheet, const char *name, size_t index)
{
    bool found = index == 0;
    for (size_t i = 0; i < st_role_part_count(ST_ROLE_COMMUNICATION); i++) {
        const char *cell = st_sheet_role_part(sheet, ST_ROLE_COMMUNICATION, i);
        found = found || (cell != NULL && strcmp(name, cell) == 0);
    }
    return found;
}

/* Sums of the same terms may differ in their last bits. */
static bool same(double a, double b)
{
    return fabs(a - b) <= 1e-12 * fmax(fabs(a), fabs(b));
}

static bool is_row(const st_columns *columns, size_t index)
{
    const st_estimate *first = first_of(columns);
    const st_shown *shown = &first->shown[index];
    bool differs = columns->all || is_key(first->sheet, shown->name, index);
    for (size_t i = 1; i < columns->count; i++)
        differs = differs || (columns->faults[i] == NULL &&
                              !same(shown->value, columns->estimates[i].shown[index].value));
    return differs && !ST_HAS(first->shown, index, name, shown->name) && /* by two sections */
           st_sheet_find_input(first->sheet, shown->name) == NULL;
}

/* ---- the result ---- */

static const char *const value_keys[ST_COLUMNS_MAX] = {".value0", ".value1", ".value2", ".value3",
                                                       ".value4", ".value5", ".value6", ".value7"};
static const char *const change_keys[ST_COLUMNS_MAX] = {
    "", ".change1", ".change2", ".change3", ".change4", ".change5", ".change6", ".change7"};

static void put_rows(const st_columns *columns, st_node *root)
{
    const st_estimate *first = first_of(columns);
    const char *section = "";
    const char *keys = NULL;
    st_node *list = st_put_list(root, "rows");
    /* Name, the first value, then a value and its change for each further column, the meaning. */
    st_table_column layout[2 * ST_COLUMNS_MAX + 2] = {{.ink = ST_INK_NAME}};
    const st_table_column change = {.title = "change", .right = true};
    st_arena *arena = root->result->arena;
    size_t count = 1;
    keys = "name";
    for (size_t i = 0; i < columns->count; i++) {
        layout[count++] =
            (st_table_column){.title = columns->names[i], .none = "failed", .right = true};
        st_text_add(arena, &keys, ",", "%s", value_keys[i]);
        if (i > 0) {
            layout[count++] = change;
            st_text_add(arena, &keys, ",", "%s", change_keys[i]);
        }
    }
    layout[count++] = (st_table_column){.ink = ST_INK_FAINT, .elastic = true};
    st_text_add(arena, &keys, ",", ".doc");
    st_table *table = st_say_table(root, layout, count, 2);
    for (size_t i = 0; keys != NULL && i < first->shown_count; i++) {
        if (!is_row(columns, i))
            continue;
        if (strcmp(section, first->shown[i].section) != 0) {
            section = first->shown[i].section;
            st_table_title(table, section);
        }
        st_node *row = st_put_line_map(list, NULL);
        const st_shown *shown = &first_of(columns)->shown[i];
        st_put_text(row, "name", shown->name);
        st_put_unit(row, "unit", shown->type);
        st_node *values = st_put_line_list(row, "values");
        st_node *changes = st_put_line_list(row, "changes");
        for (size_t j = 0; j < columns->count; j++) {
            bool failed = columns->faults[j] != NULL;
            double value = failed ? (double)NAN : columns->estimates[j].shown[i].value;
            /* The value over that of the first column, minus 1; NaN where a ratio says nothing. */
            double row_change;
            if (columns->faults[0] != NULL || columns->faults[j] != NULL) {
                row_change = (double)NAN;
            } else {
                const st_shown *from = &columns->estimates[0].shown[i];
                double change_value = columns->estimates[j].shown[i].value;
                if (from->type->kind != ST_TYPE_NUMBER || from->value == 0)
                    row_change = (double)NAN;
                else
                    row_change =
                        same(change_value, from->value) ? 0 : change_value / from->value - 1;
            }
            st_put_number(changes, NULL, row_change);
            if (j > 0)
                st_put_change(row, change_keys[j], row_change);
            if (failed) {
                st_put_null(values, NULL);
                continue;
            }
            st_put_value(values, NULL, shown->type, value);
            st_put_value(row, value_keys[j], shown->type, value);
        }
        st_put_text(row, ".doc", shown->doc);
        st_table_show(table, row, keys);
    }
}

void st_columns_report(const st_columns *columns, st_arena *arena, st_result *result)
{
    const st_estimate *first = first_of(columns);
    st_node *root = st_result_begin(result, arena);
    st_put_text(root, "job", st_job_name(first->job));
    st_put_text(root, "sheet", st_sheet_name(first->sheet));
    st_say(root, "%s by sheet %s\n\n", st_job_name(first->job), st_sheet_name(first->sheet));
    st_node *list = st_put_list(root, "columns");
    for (size_t i = 0; i < columns->count; i++) {
        const st_estimate *estimate = &columns->estimates[i];
        st_node *column = st_put_map(list, NULL);
        st_put_text(column, "refine", columns->names[i]);
        st_put_text_or_null(column, "error", columns->faults[i]);
        st_node *refined = st_put_list(column, "refined");
        for (size_t k = 0; k < estimate->refined_count; k++) {
            /* A cell that plugins have a part in. */
            const st_refined_cell *cell = &estimate->refined[k];
            st_node *row = st_put_line_map(refined, NULL);
            st_put_text(row, ".refine", columns->names[i]);
            st_put_text(row, "name", cell->name);
            st_put_value(row, "value", cell->type, cell->value);
            if (isfinite(cell->formula_value))
                st_put_value(row, "formula_value", cell->type, cell->formula_value);
            else
                st_put_null(row, "formula_value");
            st_put_unit(row, "unit", cell->type);
            st_put_text(row, "provider", cell->providers);
            st_put_text_or_null(row, "refusal", cell->refusal);
            if (cell->refusal[0] == '\0')
                st_put_text(row, ".by", cell->providers);
            else
                st_put_format(row, ".by", "formula in place of %s: %s", cell->providers,
                              cell->refusal);
        }
    }
    put_rows(columns, root);
    /* What plugins have a part in, column by column. */
    static const st_table_column refined_layout[] = {
        {.title = "plugins", .ink = ST_INK_NAME},
        {.title = "cell"},
        {.title = "value", .right = true},
        {.title = "formula", .none = "-", .right = true},
        {.title = "by", .elastic = true}};
    st_table *refined_table = NULL;
    for (size_t i = 0; i < list->count; i++) {
        const st_item *refined = st_node_find(list->items[i].node, "refined", strlen("refined"));
        if (refined == NULL || refined->node->count == 0)
            continue;
        if (refined_table == NULL) {
            st_say(root, "\nRefined by plugins\n");
            refined_table = st_say_table(root, refined_layout, ST_COUNT(refined_layout), 2);
        }
        st_table_show(refined_table, refined->node, ".refine,name,value,formula_value,.by");
    }
    static const st_table_column layout[] = {{.ink = ST_INK_NAME}, {.elastic = true}};
    st_table *table = NULL;
    for (size_t i = 0; i < columns->count; i++) {
        if (columns->faults[i] == NULL)
            continue;
        if (table == NULL) {
            st_say(root, "\nFailed\n");
            table = st_say_table(root, layout, ST_COUNT(layout), 2);
        }
        st_table_row(table, (const char *const[]){columns->names[i], columns->faults[i]});
    }
    st_result_csv(result, "rows", "name=cell,unit");
    for (size_t i = 0; i < columns->count; i++)
        st_result_csv_column(result, value_keys[i], columns->names[i]);
    st_result_csv_column(result, ".doc", "meaning");
}
