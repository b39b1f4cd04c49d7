/* SPDX-License-Identifier: Apache-2.0 */
/* Fitted operators as a result, and as keys of GPUs' files; see operators.h. */
#include "operator-times/fit/operators.h"

#include "base/number.h"
#include "fit/steps/accuracy.h"
#include "steptime/keys.h"
#include "steptime/tool/typed_values.h"

#include <math.h>
#include <string.h>

#define ERRORS                                                                                     \
    "gpu,.name,rows,fitted/mean_absolute,held_out/mean_absolute,one_rate/mean_absolute,"           \
    "neighbours/mean_absolute,corrected/mean_absolute"

static const char *const kinds[ST_OPERATORS] = {"gemm", "attention", "experts"};

/* ---- the result ---- */

static void put_summary(st_node *map, const char *key, const st_error_summary *errors)
{
    if (errors->count > 0)
        st_error_summary_put(st_put_line_map(map, key), errors);
    else
        st_put_null(map, key);
}

static bool has_precision(const st_operator_fit *fit, const st_operator_group *group)
{
    return group->kind == ST_OPERATOR_GEMM || (group->kind == ST_OPERATOR_EXPERTS && fit->each);
}

static const char *name_of(const st_operator_fit *fit, const st_operator_group *group)
{
    bool precise = has_precision(fit, group);
    bool sourced = group->source != NULL && group->source[0] != '\0';
    return st_arena_printf(fit->arena, "%s%s%s%s%s%s", kinds[group->kind], precise ? " " : "",
                           precise ? group->precision_name : "",
                           group->burst == 0 ? ", sustained" : "", sourced ? ", " : "",
                           sourced ? group->source : "");
}

void st_operators_report(const st_operator_fit *fit, st_result *result)
{
    st_node *root = st_result_begin(result, fit->arena);
    st_put_text(root, "date", fit->date);
    st_say_ink(root, ST_INK_STRONG, "Mean absolute errors");
    st_say(root, "; held out: half of the shapes, by a fit to the other half\n");
    st_table_column error_shape[] = {{.title = "GPU", .ink = ST_INK_NAME},
                                     {.title = "operator"},
                                     ST_COLUMN_NUMBER("rows"),
                                     ST_COLUMN_SHARE("fitted", 1),
                                     ST_COLUMN_SHARE("held out", 1),
                                     ST_COLUMN_SHARE("one rate", 1),
                                     ST_COLUMN_SHARE("neighbours", 1),
                                     ST_COLUMN_SHARE("with them", 1),
                                     ST_COLUMN_SHARE("kin", 1),
                                     {.title = "of"}};
    if (!fit->leave_gpu)
        error_shape[8] = (st_table_column){.title = "", .ink = ST_INK_BAD};
    st_table *errors = st_say_table(root, error_shape, fit->leave_gpu ? 10 : 9, 2);
    static const st_table_column shape[] = {
        {.title = "GPU", .ink = ST_INK_NAME},
        {.title = "key of its file"},
        {.title = "fitted", .look = ST_LOOK_UNIT, .right = true},
        {.title = "standard error", .look = ST_LOOK_UNIT, .none = "unknown", .right = true},
        {.ink = ST_INK_BAD}};
    st_say_title(root, "Constants, fitted to all rows");
    st_table *constants = st_say_table(root, shape, ST_COUNT(shape), 2);
    st_node *list = st_put_list(root, "groups");
    for (size_t i = 0; i < fit->group_count; i++) {
        const st_operator_group *group = &fit->groups[i];
        st_node *map = st_put_map(list, NULL);
        st_put_text(map, "gpu", st_operator_gpu(group));
        st_put_text(map, "operator", kinds[group->kind]);
        st_put_text_or_null(map, "precision",
                            has_precision(fit, group) ? group->precision_name : "");
        st_put_bool(map, "burst", group->burst != 0);
        st_put_text_or_null(map, "source", group->source != NULL ? group->source : "");
        st_put_text(map, "table", group->table->file);
        st_put_text(map, ".name", name_of(fit, group));
        st_put_count(map, "rows", group->row_count);
        st_put_text_or_null(map, "error", group->fault != NULL ? group->fault : "");
        put_summary(map, "fitted", &group->fitted);
        put_summary(map, "held_out", &group->held_out);
        put_summary(map, "one_rate", &group->rate);
        put_summary(map, "neighbours", &group->between);
        put_summary(map, "corrected", &group->corrected);
        st_put_text(map, ".note", group->fault != NULL ? group->fault : group->kin_names);
        if (fit->leave_gpu) {
            put_summary(map, "kin", &group->kin);
            st_put_text_or_null(map, "kin_gpus", group->kin_names != NULL ? group->kin_names : "");
        }
        st_table_show(errors, map,
                      fit->leave_gpu ? ERRORS ",kin/mean_absolute,.note" : ERRORS ",.note");
        st_node *item = st_put_list(map, "constants");
        for (size_t k = 0; group->fault == NULL && k < group->varied_count; k++) {
            const st_varied *varied = &group->varied[k];
            const st_solution *solution = &group->solution;
            bool at_bound = solution->at_low[k] || solution->at_high[k];
            st_node *constant_map = st_put_line_map(item, NULL);
            st_put_text(constant_map, "key", varied->path);
            st_put_value(constant_map, "value", varied->type, solution->values[k]);
            st_put_value(constant_map, "standard_error", varied->type, solution->errors[k]);
            st_put_unit(constant_map, "unit", varied->type);
            st_put_bool(constant_map, "at_bound", at_bound);
            st_put_text(constant_map, ".gpu", k == 0 ? st_operator_gpu(group) : "");
            st_put_text(constant_map, ".key", varied->path + strlen(ST_KEY_CLUSTER_GPU "."));
            st_put_text(constant_map, ".note", at_bound ? "at a bound" : "");
        }
        st_table_show(constants, item, ".gpu,.key,value,standard_error,.note");
    }
}

/* ---- keys of GPUs' files ---- */

/* Three digits are finer than any standard error of these. */
static void write_value(const st_type *type, double value, st_buffer *buffer)
{
    char text[ST_QUANTITY_TEXT];
    double shown = st_unit_from_base(&type->unit, value);
    bool pure = strcmp(type->unit.text, "1") == 0;
    st_buffer_printf(buffer, "%s%s%s", st_number_significant(shown, 3, text, sizeof text),
                     pure ? "" : " ", pure ? "" : type->unit.text);
}

static void write_group(const st_operator_group *group, st_buffer *buffer)
{
    char text[ST_PERCENT_TEXT];
    st_buffer_printf(buffer, "  # %zu rows%s%s%s, %s off; held out %s, one rate %s\n",
                     group->row_count, group->burst == 0 ? " under sustained load" : "",
                     group->source != NULL ? " of " : "",
                     group->source != NULL ? group->source : "",
                     st_percent_text(group->fitted.mean_absolute, text),
                     st_percent_text(group->held_out.mean_absolute, (char[104]){0}),
                     st_percent_text(group->rate.mean_absolute, (char[104]){0}));
    for (size_t i = 0; i < group->varied_count; i++) {
        const st_varied *varied = &group->varied[i];
        const st_solution *solution = &group->solution;
        bool at_bound = solution->at_low[i] || solution->at_high[i];
        st_buffer_printf(buffer, "  %s: {value: ", varied->path + strlen(ST_KEY_CLUSTER_GPU "."));
        write_value(varied->type, solution->values[i], buffer);
        st_buffer_printf(buffer, ", source: \"by steptime fit operators on %s, ",
                         st_last_part(group->table->file, '/'));
        if (at_bound || !isfinite(solution->errors[i])) {
            st_buffer_text(buffer, at_bound ? "at a bound\"}\n" : "standard error unknown\"}\n");
            continue;
        }
        st_buffer_text(buffer, "+- ");
        write_value(varied->type, solution->errors[i], buffer);
        st_buffer_text(buffer, "\"}\n");
    }
}

void st_operators_write_yaml(const st_operator_fit *fit, st_buffer *buffer)
{
    st_buffer_printf(buffer, "# Written by steptime fit operators, %s: keys for files of GPUs\n",
                     fit->date);
    for (size_t i = 0; i < fit->group_count; i++) {
        const st_operator_group *group = &fit->groups[i];
        bool first = true;
        for (size_t k = 0; k < i; k++)
            first = first && !st_operator_same_gpu(&fit->groups[k], group);
        if (!first)
            continue;
        st_buffer_printf(buffer, "%s:\n", st_operator_gpu(group));
        for (size_t k = i; k < fit->group_count; k++)
            if (st_operator_same_gpu(&fit->groups[k], group) && fit->groups[k].fault == NULL)
                write_group(&fit->groups[k], buffer);
    }
}
