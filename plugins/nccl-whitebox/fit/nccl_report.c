/* SPDX-License-Identifier: Apache-2.0 */
/* Fits to measured collectives as a result; see nccl_report.h. */
#include "nccl-whitebox/fit/nccl_report.h"

#include "nccl-whitebox/fit/nccl_transfer.h"
#include "fit/steps/accuracy.h"

#include <math.h>
#include <string.h>

/*
 * The median over fits of their mean absolute errors, over those with rows of that kind in that
 * range; NaN where there are none. `nodes` is 1: fits to one node only, 2: to several only, 0: all.
 */
static double median_of_fits(const st_nccl_report *report, st_nccl_kind kind, size_t range,
                             int nodes, st_arena *arena, size_t *fits)
{
    double *errors = st_arena_alloc(arena, report->count + 1, sizeof *errors);
    *fits = 0;
    for (size_t i = 0; errors != NULL && i < report->count; i++) {
        const st_nccl_fit *fit = &report->fits[i];
        st_error_summary summary;
        bool several = fit->tables[0]->nodes > 1;
        if ((nodes == 1 && several) || (nodes == 2 && !several) ||
            st_nccl_fit_errors(fit, kind, range, SIZE_MAX, &summary) != ST_OK)
            continue;
        if (summary.count > 0)
            errors[(*fits)++] = summary.mean_absolute;
    }
    return *fits > 0 ? st_median(errors, *fits) : (double)NAN;
}

/* ---- what was fitted ---- */

/* "NICs 400 GB/s (the heading)"; a rate that is fitted is one of the options. */
static void put_rate(const char *name, const char *key, const st_nccl_sourced_rate *group_rates,
                     st_node *row)
{
    st_node *map = st_put_map(row, key);
    st_put_number(map, "byte_per_s", group_rates->rate);
    st_put_text_or_null(map, "from", group_rates->from);
    if (group_rates->from == NULL)
        st_say(row, ", %s unknown", name);
    else if (isfinite(group_rates->rate))
        st_say(row, ", %s %.4g GB/s (%s)", name, group_rates->rate / 1e9, group_rates->from);
    else
        st_say(row, ", %s of %s", name, group_rates->from);
}

static void put_table(const st_nccl_table *table, const st_nccl_group_rates *group_rates,
                      st_node *list)
{
    bool in_place = table->buffers == ST_NCCL_IN_PLACE;
    st_node *row = st_put_line_map(list, NULL);
    st_put_text(row, "file", table->file);
    st_put_count(row, "line", (size_t)table->line);
    st_put_count(row, "ranks", table->ranks);
    st_put_count(row, "nodes", table->nodes);
    st_put_text_or_null(row, "gpu", table->gpu);
    st_put_text_or_null(row, "nccl", table->version);
    st_put_text(row, "buffers", in_place ? "in-place" : "out-of-place");
    st_put_count(row, "rows", table->row_count);
    st_put_count(row, "left_out", table->left_out);
    st_say(row, "  ");
    st_say_ink(row, ST_INK_NAME, table->file);
    st_say(row, ":%d  %zu rows %s, %zu ranks on %zu %s", table->line, table->row_count,
           in_place ? "in place" : "out of place", table->ranks, table->nodes,
           table->nodes == 1 ? "node" : "nodes");
    if (table->trays > 0)
        st_say(row, " of %zu trays that NVLink connects", table->trays / table->nodes);
    if (table->gpu[0] != '\0') {
        st_say(row, ", ");
        st_say_ink(row, ST_INK_PLAIN, table->gpu);
    }
    if (table->version[0] != '\0') {
        st_say(row, ", NCCL ");
        st_say_ink(row, ST_INK_PLAIN, table->version);
    }
    if (table->ranks > table->nodes)
        put_rate("links", "link_rate", &group_rates->links, row);
    if (table->nodes > 1)
        put_rate("NICs of a node", "nic_rate", &group_rates->nics, row);
    /* Boards differ in how GPUs without NVLink reach each other, and no data sheet says it. */
    if (st_nccl_is_over_pcie(group_rates) && table->ranks > 2 * table->nodes)
        st_say(row, "; over PCIe: more than two GPUs may go through shared memory, a cliff between "
                    "numbers of GPUs that only measurements show");
    if (table->left_out > 0)
        st_say(row, "; %zu row%s left out", table->left_out, table->left_out == 1 ? "" : "s");
    st_say(row, "\n");
}

/* At one of its bounds, where the minimum may lie beyond, or further from its nominal value than
 * its author expects of one in a thousand. */
static const char *note_of(const st_nccl_varied *varied, double value)
{
    static const double rare = 3.3; /* standard deviations */
    double range = varied->high - varied->low;
    double away =
        varied->is_factor ? fabs(log(value / varied->nominal)) : fabs(value - varied->nominal);
    if (value - varied->low < 1e-3 * fmin(range, fabs(varied->nominal)) && varied->low > 0)
        return "at its lower bound";
    if (varied->high - value < 1e-3 * range)
        return "at its upper bound";
    return !varied->is_rate && away > rare * varied->deviation ? "farther than expected" : "";
}

/* Groups that were not measured take all of the calibration, a part, or what is nominal. */
static void say_transfer(const st_nccl_transfer *transfer, const char *kind, size_t range,
                         st_node *list)
{
    bool none = transfer->share <= 0;
    st_node *map = st_put_map(list, st_nccl_ranges[range].key);
    st_put_number(map, "share", transfer->share);
    st_put_text(map, "used", none ? "nominal" : transfer->share < 1 ? "shrunk" : "calibrated");
    st_put_text(map, "reason", st_nccl_transfer_reason(transfer));
    st_put_count(map, "groups", transfer->groups);
    st_put_number(map, "common", transfer->common);
    st_put_number(map, "apart", transfer->apart);
    st_put_number(map, "mean_gain", transfer->gain);
    st_put_number(map, "least_gain", transfer->least_gain);
    if (transfer->share >= 1)
        return;
    if (none)
        st_say(map, "  unmeasured groups of %s are nominal %s", kind, st_nccl_ranges[range].name);
    else
        st_say(map, "  unmeasured groups of %s take %.0f %% of it %s", kind, 100 * transfer->share,
               st_nccl_ranges[range].name);
    /* Why groups that were not measured take no more of the calibration. */
    const char *numbers = transfer->groups == 1 ? "number" : "numbers";
    if (isfinite(transfer->least_gain))
        st_say(
            map,
            ": with more, %zu %s of ranks, left out one by one, gain %+.0f %% of nominal's error, "
            "and a further one may lose %.0f %%\n",
            transfer->groups, numbers, 100 * transfer->gain, -100 * transfer->least_gain);
    else
        st_say(
            map,
            ": nominal is %+.1f %% off on %zu %s of ranks, and %.1f %% besides by size and ranks\n",
            100 * expm1(transfer->common), transfer->groups, numbers, 100 * transfer->apart);
}

static bool has_tables(const st_nccl_fit *fit, bool of_several)
{
    for (size_t i = 0; i < fit->table_count; i++)
        if ((fit->tables[i]->nodes > 1) == of_several)
            return true;
    return false;
}

static void fill_option(const void *context, size_t index, st_node *row)
{
    const st_nccl_fit *fit = context;
    const st_nccl_varied *varied = &fit->model.varied[index];
    st_put_text(row, "name", varied->name);
    st_put_text(row, "unit", varied->unit.text);
    st_put_number(row, "fitted", st_unit_from_base(&varied->unit, fit->values[index]));
    st_put_number(row, "nominal", st_unit_from_base(&varied->unit, varied->nominal));
    st_put_number(row, "standard_error", fit->errors[index]);
    st_put_number(row, "low", st_unit_from_base(&varied->unit, varied->low));
    st_put_number(row, "high", st_unit_from_base(&varied->unit, varied->high));
    st_put_quantity(row, ".fitted", fit->values[index], &varied->unit);
    st_put_quantity(row, ".nominal", varied->nominal, &varied->unit);
    st_put_text(row, ".note", note_of(varied, fit->values[index]));
}

static void put_options(const st_nccl_fit *fit, st_node *map)
{
    static const st_table_column shape[] = {
        {.ink = ST_INK_NAME},
        {.title = "fitted", .look = ST_LOOK_UNIT, .right = true},
        {.title = "nominal", .look = ST_LOOK_UNIT, .right = true},
        {.title = "std error", .look = ST_LOOK_PERCENT, .digits = 1, .none = "-", .right = true},
        {.ink = ST_INK_BAD}};
    st_node *rows =
        st_put_rows(map, "options", fill_option, fit, fit->wants_fit ? fit->model.varied_count : 0);
    if (!fit->wants_fit)
        return;
    st_table_show(st_say_table(map, shape, 5, 2), rows,
                  "name,.fitted,.nominal,standard_error,.note");
    size_t groups = 1;
    if (fit->correction != NULL) {
        for (const char *at = strchr(fit->correction, ';'); at != NULL; at = strchr(at + 1, ';'))
            groups++;
        st_say(map, "  ");
        st_say_ink(map, ST_INK_NAME, fit->model.correction);
        st_say(map, " by size, of %zu %s of ranks\n", groups, groups == 1 ? "group" : "groups");
        /* Groups with a mark, as "128/32~all". */
        const char *before = "  times interpolated over ranks, up to the next larger group, from:";
        for (const char *at = strchr(fit->correction, '~'); at != NULL; at = strchr(at + 1, '~')) {
            const char *first = at;
            while (first > fit->correction && first[-1] != ' ')
                first--;
            st_say(map, "%s %.*s (%.*s)", before, (int)(at - first), first,
                   (int)strcspn(at + 1, " "), at + 1);
            before = ",";
        }
        if (strchr(fit->correction, '~') != NULL)
            st_say(map, "\n");
    }
    static const char *const kinds[] = {"one node", "several nodes"};
    static const char *const keys[] = {"one_node", "several_nodes"};
    static const size_t ranges[] = {ST_NCCL_SMALL, ST_NCCL_LARGE};
    st_node *list = st_put_map(map, "transfer");
    for (int i = 0; i < 2; i++) {
        st_node *group = has_tables(fit, i > 0) ? st_put_map(list, keys[i]) : NULL;
        for (int k = 0; k < 2 && group != NULL; k++) {
            size_t slot = st_nccl_share_slot(i > 0, k > 0);
            if (fit->model.shares[slot] != NULL)
                say_transfer(&fit->transfers[slot], kinds[i], ranges[k], group);
        }
    }
    st_say(map, "\n");
}

/* ---- errors ---- */

static void put_errors(const st_nccl_fit *fit, st_node *map)
{
    static const st_table_column shape[] = {
        {.title = "errors", .ink = ST_INK_NAME},
        {0},
        {.title = "rows", .right = true},
        {.title = "mean", .look = ST_LOOK_PERCENT, .digits = 1, .none = "-", .right = true},
        {.title = "median", .look = ST_LOOK_PERCENT, .digits = 1, .none = "-", .right = true},
        {.title = "bias", .look = ST_LOOK_CHANGE, .digits = 1, .none = "-", .right = true},
        {.title = "largest", .look = ST_LOOK_PERCENT, .digits = 1, .none = "-", .right = true}};
    st_node *errors = st_put_map(map, "errors");
    st_node *list = st_put_list(map, ".errors");
    for (size_t range = 0; range < ST_NCCL_RANGES; range++) {
        st_node *sizes = st_put_map(errors, st_nccl_ranges[range].key);
        for (st_nccl_kind kind = 0; kind < ST_NCCL_KINDS; kind++) {
            st_error_summary summary;
            if (st_nccl_fit_errors(fit, kind, range, SIZE_MAX, &summary) != ST_OK) {
                map->result->failed = true;
                continue;
            }
            if (fit->times_s[kind] != NULL)
                st_error_summary_put(st_put_line_map(sizes, st_nccl_kind_keys[kind]), &summary);
            /* What a range of sizes and a kind of estimate have in common with others is
             * around the row. */
            if (summary.count == 0)
                continue;
            st_node *row = st_put_line_map(list, NULL);
            const st_item *last = list->count > 1 ? st_node_find(list->items[list->count - 2].node,
                                                                 ".sizes", strlen(".sizes"))
                                                  : NULL;
            bool same = last != NULL && strcmp(last->text, st_nccl_ranges[range].key) == 0;
            st_put_text(row, ".range", same ? "" : st_nccl_ranges[range].name);
            st_put_text(row, ".kind", st_nccl_kind_texts[kind]);
            st_put_text(row, ".sizes", st_nccl_ranges[range].key);
            st_put_text(row, ".estimate", st_nccl_kind_keys[kind]);
            st_error_summary_put(row, &summary);
        }
    }
    st_table_show(st_say_table(map, shape, sizeof shape / sizeof shape[0], 2), list,
                  ".range,.kind,rows,mean_absolute,median_absolute,bias,largest");
}

/* ---- rows ---- */

static const char *const shown_keys[ST_NCCL_KINDS] = {".time0", ".time1", ".time2", ".time3",
                                                      ".time4", ".time5", ".time6", ".time7"};

static void fill_row(const void *context, size_t index, st_node *row)
{
    static const st_unit us = {.dimension = {{0, 0, ST_EXPONENT_ONE, 0, 0}},
                               .multiplier = 1,
                               .divisor = 1e6,
                               .text = "us"};
    const st_nccl_fit *fit = context;
    const st_nccl_point *point = &fit->model.points[index];
    const st_nccl_table *table = fit->tables[point->table];
    st_put_count(row, "table", point->table);
    st_put_count(row, "line", (size_t)point->row->line);
    st_put_number(row, "size_bytes", point->row->size_bytes);
    st_put_number(row, "measured_s", point->measured_s);
    for (st_nccl_kind kind = 0; kind < ST_NCCL_KINDS; kind++) {
        if (fit->times_s[kind] == NULL) {
            st_put_text(row, shown_keys[kind], "");
            continue;
        }
        st_put_number(row, st_nccl_kind_keys[kind], fit->times_s[kind][index]);
        st_put_quantity(row, shown_keys[kind], fit->times_s[kind][index], &us);
    }
    st_put_quantity(row, ".measured", point->measured_s, &us);
    st_put_format(row, ".place", "%.120s:%d", table->file, point->row->line);
    st_put_text(row, ".file", table->file);
    st_put_count(row, ".ranks", table->ranks);
    st_put_count(row, ".nodes", table->nodes);
}

/* ---- all of it ---- */

static void put_fit(const st_nccl_report *report, const st_nccl_fit *fit, st_node *map)
{
    const st_nccl_table *first = fit->tables[0];
    st_put_text(map, "plugin", fit->plugin);
    st_put_text(map, "collective", first->collective);
    st_put_text(map, "profile", fit->profile);
    st_say_ink(map, ST_INK_STRONG, fit->plugin);
    st_say(map, " %s %s", fit->wants_fit ? "fitted to" : "compared with", first->collective);
    if (fit->profile != NULL) {
        st_say(map, ", with profile ");
        st_say_ink(map, ST_INK_NAME, fit->profile);
    }
    st_say(map, "\n");
    st_node *tables = st_put_list(map, "tables");
    for (size_t i = 0; i < fit->table_count; i++)
        put_table(fit->tables[i], &fit->model.group_rates[i], tables);
    st_put_count(map, "refused", fit->refused);
    if (fit->refused > 0)
        st_say(map, "  the plugin rejects %zu rows\n", fit->refused);
    st_say(map, "\n");
    put_options(fit, map);
    st_put_text_or_null(map, "correction", fit->correction);
    put_errors(fit, map);
    if (report->details) {
        const st_table_column time = {.look = ST_LOOK_UNIT, .none = "-", .right = true};
        st_table_column shape[3 + ST_NCCL_KINDS] = {
            {.title = "file:line", .ink = ST_INK_NAME}, {.title = "bytes", .right = true}, time};
        shape[2].title = "measured";
        for (st_nccl_kind kind = 0; kind < ST_NCCL_KINDS; kind++) {
            shape[3 + kind] = time;
            shape[3 + kind].title = fit->times_s[kind] != NULL ? st_nccl_kind_texts[kind] : "";
        }
        st_node *rows = st_put_rows(map, "rows", fill_row, fit, fit->model.point_count);
        st_say(map, "\n");
        st_table_show(
            st_say_table(map, shape, sizeof shape / sizeof shape[0], 2), rows,
            ".place,size_bytes,.measured,.time0,.time1,.time2,.time3,.time4,.time5,.time6,"
            ".time7");
    }
    st_put_text(map, ".file", first->file);
    st_put_text(map, ".tables", fit->table_count == 1 ? "1" : "several");
    if (fit->table_count == 1) {
        st_put_count(map, ".ranks", first->ranks);
        st_put_count(map, ".nodes", first->nodes);
    }
}

static void say_medians(const st_nccl_report *report, st_node *root)
{
    const st_table_column median = {
        .look = ST_LOOK_PERCENT, .digits = 1, .none = "-", .right = true};
    const st_table_column count = {.title = "tables", .right = true};
    st_table_column shape[] = {{.title = "median of mean errors", .ink = ST_INK_NAME},
                               {0},
                               median,
                               count,
                               median,
                               count,
                               median,
                               count};
    shape[2].title = "all";
    shape[4].title = "one node";
    shape[6].title = "several";
    st_say(root, "\n");
    st_table *table = st_say_table(root, shape, sizeof shape / sizeof shape[0], 0);
    for (size_t range = 0; range < ST_NCCL_RANGES; range++) {
        const char *name = st_nccl_ranges[range].name;
        for (st_nccl_kind kind = 0; kind < ST_NCCL_KINDS; kind++) {
            static const char *const medians[] = {".median0", ".median1", ".median2"};
            static const char *const counts[] = {".count0", ".count1", ".count2"};
            st_node *row = st_put_map(root, ".median");
            size_t all = 0;
            st_put_text(row, ".range", name);
            st_put_text(row, ".kind", st_nccl_kind_texts[kind]);
            for (int i = 0; i < 3; i++) {
                size_t fits = 0;
                st_put_number(row, medians[i],
                              median_of_fits(report, kind, range, i, root->result->arena, &fits));
                st_put_count(row, counts[i], fits);
                all += fits;
            }
            if (all == 0)
                continue;
            st_table_show(table, row,
                          ".range,.kind,.median0,.count0,.median1,.count1,.median2,.count2");
            name = "";
        }
    }
}

void st_nccl_report_make(const st_nccl_report *report, st_arena *arena, st_result *result)
{
    st_node *root = st_result_begin(result, arena);
    st_node *fits = st_put_list(root, "fits");
    for (size_t i = 0; i < report->count; i++) {
        st_say(fits, i > 0 ? "\n" : "");
        put_fit(report, &report->fits[i], st_put_map(fits, NULL));
    }
    static const char *const groups[] = {"all", "one_node", "several_nodes"};
    st_arena *median_arena = root->result->arena;
    st_node *medians = st_put_map(root, "medians");
    for (int group = 0; group < 3; group++) {
        st_node *nodes = st_put_map(medians, groups[group]);
        for (size_t range = 0; range < ST_NCCL_RANGES; range++) {
            st_node *sizes = st_put_line_map(nodes, st_nccl_ranges[range].key);
            for (st_nccl_kind kind = 0; kind < ST_NCCL_KINDS; kind++) {
                size_t median_fits = 0;
                double median =
                    median_of_fits(report, kind, range, group, median_arena, &median_fits);
                st_put_number(sizes, st_nccl_kind_keys[kind], median);
            }
        }
    }
    if (report->count > 1)
        say_medians(report, root);
    if (report->details)
        st_result_csv(result, "fits/rows",
                      ".file=file,line,collective,.ranks=ranks,.nodes=nodes,size_bytes,measured_s,"
                      "nominal,profile,fitted,leave_one_size_out,leave_one_rank_count_out,"
                      "three_lines,between_sizes,between_ranks");
    else
        st_result_csv(result, "fits/.errors",
                      ".file=file,.tables=tables,plugin,collective,.ranks=ranks,.nodes=nodes,"
                      ".sizes=sizes,.estimate=estimate,rows,mean_absolute,median_absolute,bias,"
                      "largest");
}
