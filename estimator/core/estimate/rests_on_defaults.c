/* SPDX-License-Identifier: Apache-2.0 */
#include "estimate/rests_on_defaults.h"

#include "base/error_report.h"
#include "estimate/effects.h"
#include "estimate/report.h"
#include "sheet/type_write.h"

#include <math.h>
#include <string.h>

/* "4096 x 14336 x 4096", the sizes of a member; "" where one is 0 or unknown. */
static const char *sizes_of(const st_estimate *estimate, const st_summary_values *values,
                            const st_summary_bar *rest, size_t member, st_arena *arena)
{
    const char *sizes = "";
    double least = (double)INFINITY;
    for (size_t i = 0; i < rest->count && rest->parts[i].cell != NULL; i++) {
        const char *name = rest->parts[i].cell;
        double size = st_summary_part_value(estimate, values, name, member, arena);
        least = fmin(least, size);
        st_text_add(arena, &sizes, " x ", "%.6g", size);
    }
    return least > 0 && !isinf(least) ? sizes : "";
}

/* ", mlp in 4096 x 14336 x 4096": a member with its sizes. */
static void add_sizes(const char *member, const char *sizes, st_node *list, const char **line)
{
    st_arena *arena = list->result->arena;
    st_node *row = st_put_line_map(list, NULL);
    st_put_text(row, "name", member);
    st_put_text(row, "sizes", sizes);
    char *name = st_arena_printf(arena, "%s", member);
    for (char *at = name == NULL ? NULL : strchr(name, '_'); at != NULL; at = strchr(at, '_'))
        *at = ' ';
    st_text_add(arena, line, ", ", "%s %s", st_or_none(name), st_or_none(sizes));
}

/* An input of an entry that is a default and moves the first shown value; NULL: it is not. */
static const st_bound_input *default_of(const st_estimate *estimate, const st_summary_part *part)
{
    size_t input = part->given == NULL ? SIZE_MAX : st_estimate_input(estimate, part->given);
    return input != SIZE_MAX && st_input_is_assumed(&estimate->inputs[input]) &&
                   estimate->effects[input].change != 0
               ? &estimate->inputs[input]
               : NULL;
}

static void put_value(const st_bound_input *bound, st_node *keys, const char **line)
{
    char text[ST_QUANTITY_TEXT];
    st_node *value = st_put_line_map(keys, NULL);
    st_put_text(value, "key", bound->input->from);
    st_put_value(value, "value", &bound->input->type, bound->value);
    st_put_unit(value, "unit", &bound->input->type);
    st_put_text_or_null(value, "source", bound->from != NULL ? bound->from->source : NULL);
    st_text_add(
        keys->result->arena, line, ", ", "%s %s", bound->input->from,
        st_type_format(&bound->input->type, bound->value, ST_STYLE_SCALED, text, sizeof text));
}

/* An entry with inputs counts if one of them is a default that matters, one without if a member has
 * sizes; false: nothing of it rests on a default. */
static bool put_rest(const st_estimate *estimate, const st_summary_values *values,
                     const st_summary_bar *rest, st_node *list, const char **line)
{
    st_arena *arena = list->result->arena;
    const st_enum *members = st_summary_members(estimate->sheet, rest);
    size_t count = members != NULL ? members->count : 0;
    bool found = false;
    for (size_t k = 0; k < rest->count && !found; k++)
        found = default_of(estimate, &rest->parts[k]) != NULL;
    bool sized = rest->parts[rest->count - 1].cell != NULL;
    for (size_t k = 0; k < count && sized && !found; k++)
        found = sizes_of(estimate, values, rest, k, arena)[0] != '\0';
    if (!found)
        return false;
    st_node *row = st_put_map(list, NULL);
    st_put_text(row, "what", rest->title);
    st_node *keys = st_put_list(row, "values");
    for (size_t k = 0; k < rest->count; k++) {
        const st_bound_input *bound = default_of(estimate, &rest->parts[k]);
        if (bound != NULL)
            put_value(bound, keys, line);
    }
    const char *all = "";
    st_node *shapes = st_put_list(row, "shapes");
    for (size_t k = 0; k < count; k++) {
        const char *sizes = sizes_of(estimate, values, rest, k, arena);
        if (sizes[0] != '\0')
            add_sizes(members->values[k], sizes, shapes, &all);
    }
    st_text_add(arena, line, ": ", "%s", st_or_none(all));
    return true;
}

void st_rests_put(const st_estimate *estimate, const st_summary_values *values, st_node *root)
{
    const st_summary *summary = st_sheet_summary(estimate->sheet);
    st_arena *arena = root->result->arena;
    st_node *list = summary->rest_count > 0 ? st_put_list(root, "rests_on_defaults") : NULL;
    size_t said = 0;
    for (size_t i = 0; i < summary->rest_count && estimate->effects != NULL; i++) {
        const st_summary_bar *rest = &summary->rests[i];
        const char *line = "";
        if (!put_rest(estimate, values, rest, list, &line))
            continue;
        if (said++ == 0)
            st_say_title(root, "What rests on defaults or extrapolation, not on measurements");
        st_say(root, "  ");
        st_say_wrapped(root,
                       st_or_none(st_arena_printf(arena, "%s: %s", rest->title, st_or_none(line))),
                       2, 4);
        st_say(root, "\n");
    }
}
