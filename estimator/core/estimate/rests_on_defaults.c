/* SPDX-License-Identifier: Apache-2.0 */
#include "estimate/rests_on_defaults.h"

#include "base/error_report.h"
#include "estimate/effects.h"
#include "estimate/report.h"
#include "sheet/type_write.h"

#include <math.h>
#include <string.h>

/* ", mlp in 4096 x 14336 x 4096": what has all sizes of a member. */
static void add_sizes(const st_estimate *estimate, const st_summary_values *values,
                      const st_summary_bar *rest, size_t member, st_node *list, const char **line)
{
    st_arena *arena = list->result->arena;
    const char *sizes = "";
    double least = (double)INFINITY;
    for (size_t i = 0; i < rest->count && rest->parts[i].cell != NULL; i++) {
        const char *name = rest->parts[i].cell;
        double size = st_summary_part_value(estimate, values, name, member, arena);
        least = fmin(least, size);
        st_text_add(arena, &sizes, " x ", "%.6g", size);
    }
    if (!(least > 0) || isinf(least))
        return;
    const st_enum *members = st_summary_members(estimate->sheet, rest);
    st_node *row = st_put_line_map(list, NULL);
    st_put_text(row, "name", members->values[member]);
    st_put_text(row, "sizes", sizes);
    char *name = st_arena_printf(arena, "%s", members->values[member]);
    for (char *at = name == NULL ? NULL : strchr(name, '_'); at != NULL; at = strchr(at, '_'))
        *at = ' ';
    st_text_add(arena, line, ", ", "%s %s", st_or_none(name), st_or_none(sizes));
}

void st_rests_put(const st_estimate *estimate, const st_summary_values *values, st_node *root)
{
    const st_summary *summary = st_sheet_summary(estimate->sheet);
    st_arena *arena = root->result->arena;
    st_node *list = summary->rest_count > 0 ? st_put_list(root, "rests_on_defaults") : NULL;
    size_t said = 0;
    for (size_t i = 0; i < summary->rest_count && estimate->effects != NULL; i++) {
        const st_summary_bar *rest = &summary->rests[i];
        const st_enum *members = st_summary_members(estimate->sheet, rest);
        st_node *row = NULL;
        st_node *keys = NULL;
        const char *line = "";
        for (size_t k = 0; k < rest->count; k++) {
            size_t input = rest->parts[k].given == NULL
                               ? SIZE_MAX
                               : st_estimate_input(estimate, rest->parts[k].given);
            if (input == SIZE_MAX || !st_input_is_assumed(&estimate->inputs[input]) ||
                estimate->effects[input].change == 0)
                continue;
            const st_bound_input *bound = &estimate->inputs[input];
            const char *source = bound->from != NULL ? bound->from->source : NULL;
            char text[ST_QUANTITY_TEXT];
            if (row == NULL) {
                row = st_put_map(list, NULL);
                st_put_text(row, "what", rest->title);
                keys = st_put_list(row, "values");
            }
            st_node *value = st_put_line_map(keys, NULL);
            st_put_text(value, "key", bound->input->from);
            st_put_value(value, "value", &bound->input->type, bound->value);
            st_put_unit(value, "unit", &bound->input->type);
            st_put_text_or_null(value, "source", source);
            st_text_add(arena, &line, ", ", "%s %s", bound->input->from,
                        st_type_format(&bound->input->type, bound->value, ST_STYLE_SCALED, text,
                                       sizeof text));
        }
        if (row == NULL)
            continue;
        const char *sizes = "";
        st_node *shapes = st_put_list(row, "shapes");
        for (size_t k = 0; members != NULL && k < members->count; k++)
            add_sizes(estimate, values, rest, k, shapes, &sizes);
        if (said++ == 0)
            st_say_title(root, "What rests on a default, not on a measurement");
        st_say(root, "  ");
        st_say_wrapped(root,
                       st_or_none(st_arena_printf(arena, "%s: %s: %s", rest->title,
                                                  st_or_none(line), st_or_none(sizes))),
                       2, 4);
        st_say(root, "\n");
    }
}
