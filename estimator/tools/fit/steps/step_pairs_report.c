/* SPDX-License-Identifier: Apache-2.0 */
/* Pairs as a result; see step_pairs.h. */
#include "fit/steps/step_pairs.h"
#include "steptime/tool/typed_values.h"

static void fill_kind(const void *context, size_t index, st_node *map)
{
    const st_pair_kind *kind = &((const st_pairs *)context)->kinds[index];
    char name[ST_EDITS_TEXT];
    st_put_text(map, "edit", st_edits_text(kind->edits, name));
    st_put_count(map, "pairs", kind->pairs);
    st_error_summary_put(st_put_line_map(map, "errors"), &kind->errors);
    st_error_summary_put(st_put_line_map(map, "errors_of_the_estimate_alone"), &kind->alone);
}

static void fill_prediction(const void *context, size_t index, st_node *row)
{
    const st_pairs *pairs = context;
    const st_pair *pair = &pairs->items[index];
    const st_row *rows = pairs->measured->rows;
    char name[ST_EDITS_TEXT];
    st_put_text(row, "id", rows[pair->to].id);
    st_put_text(row, "from", rows[pair->from].id);
    st_put_text(row, "edit", st_edits_text(pair->edits, name));
    st_put_value(row, "measured", pairs->measured->type, rows[pair->to].measured);
    st_put_value(row, "predicted", pairs->measured->type, pair->predicted);
    st_put_number(row, "error", pair->error);
}

void st_pairs_put(const st_pairs *pairs, bool details, st_node *map)
{
    st_put_text(map, "source", pairs->measured->name);
    st_put_text(map, "file", pairs->measured->file);
    st_say_ink(map, ST_INK_STRONG, pairs->measured->name);
    if (pairs->measured->source != NULL) {
        st_say(map, ": ");
        st_say_ink(map, ST_INK_PLAIN, pairs->measured->source->title);
    }
    st_say(map, "\n");
    const st_node *kinds = st_put_maps(map, "kinds", fill_kind, pairs, pairs->kind_count);
    static const st_table_column kind_shape[] = {
        {.title = "one from the other's layer time", .ink = ST_INK_NAME},
        ST_COLUMN_NUMBER("pairs"),
        ST_COLUMN_SHARE("mean", 1),
        ST_COLUMN_SHARE("median", 1),
        ST_COLUMN_SHARE("max", 1),
        ST_COLUMN_SHARE("in 5 %", 0),
        ST_COLUMN_SHARE("in 10 %", 0),
        ST_COLUMN_SHARE("estimate alone", 1)};
    if (pairs->count == 0)
        st_say(map, "  no two rows differ only in dp, pp, layers or micro-batches\n");
    else
        st_table_show(
            st_say_table(map, kind_shape, ST_COUNT(kind_shape), 2), kinds,
            "edit,pairs,errors/mean_absolute,errors/median_absolute,errors/largest,"
            "errors/within_5,errors/within_10,errors_of_the_estimate_alone/mean_absolute");
    st_put_count(map, "left_out", pairs->slower);
    if (pairs->slower > 0)
        st_say(map, "  %zu pair%s left out: a step was shorter than its parts other than layers\n",
               pairs->slower, pairs->slower == 1 ? "" : "s");
    static const st_table_column shape[] = {
        {.title = "of", .ink = ST_INK_NAME},  {.title = "from"},
        {.title = "measured", .right = true}, {.title = "predicted", .right = true},
        ST_COLUMN_CHANGE("error", 1),         {.title = "edit", .ink = ST_INK_FAINT}};
    st_node *rows =
        st_put_rows(map, "predictions", fill_prediction, pairs, details ? pairs->count : 0);
    if (!details || pairs->count == 0)
        return;
    st_table_show(st_say_table(map, shape, ST_COUNT(shape), 2), rows,
                  "id,from,measured,predicted,error,edit");
}
