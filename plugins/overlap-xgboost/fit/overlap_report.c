/* SPDX-License-Identifier: Apache-2.0 */
/* Errors by class and fold, the constant baselines, and the importance of features. */
#include "overlap-xgboost/fit/overlap_report.h"

#include "base/svg.h"

#include <math.h>
#include <string.h>

static const char *const part_names[ST_SLOWDOWN_PARTS] = {NULL, "alongside communication",
                                                          "more than 1.2 times as long"};
static const char *const part_keys[ST_SLOWDOWN_PARTS] = {NULL, "alongside", "slowed"};

/* ---- text ---- */

static void write_share(st_node *root, double share, const char *end)
{
    st_say(root, "%6.1f %%%s", 100 * share, end);
}

static void write_errors(const char *name, const char *mark, const st_slowdown_errors *errors,
                         st_node *root)
{
    st_say(root, "  %-12s", name);
    write_share(root, errors->within_5, " ");
    write_share(root, errors->within_10, " ");
    write_share(root, errors->within_15, " ");
    st_say(root, "%8.3f ", errors->rmse);
    if (isnan(errors->rmse_10us)) /* no kernel takes as long */
        st_say(root, "%8s ", "-");
    else
        st_say(root, "%8.3f ", errors->rmse_10us);
    st_say(root, "%8.3f ", errors->rmse_weighted);
    st_say(root, "%+7.2f %%%s\n", 100 * errors->bias, mark);
}

/* The columns; of a part of the kernels its name and number. */
static void write_head(st_slowdown_part part, size_t count, st_node *root)
{
    if (part != ST_SLOWDOWN_ALL)
        st_say(root, "\n  %zu kernels %s", count, part_names[part]);
    st_say(root, "\n  %-12s%8s %8s %8s %8s %8s %8s %9s\n", "", "in 5 %", "in 10 %", "in 15 %",
           "RMSE", ">= 10 us", "by time", "bias");
}

/* The features by importance, the largest first. */
static void rank(const st_overlap_report *report, int order[ST_FEATURES])
{
    for (int i = 0; i < ST_FEATURES; i++) {
        int at = i;
        while (at > 0 && report->importance[order[at - 1]] < report->importance[i]) {
            order[at] = order[at - 1];
            at--;
        }
        order[at] = i;
    }
}

static void say_report(const st_overlap_report *report, st_node *root)
{
    int order[ST_FEATURES] = {0};
    static const char *const titles[ST_SPLITS] = {"Held out by random rows, 5 folds",
                                                  "Held out by kernel name, 5 folds"};
    if (report->pairs != NULL) {
        const st_pairs_tally *pairs = report->pairs;
        st_say(root,
               "%zu pair%s of recordings: %zu kernels matched, %zu without and %zu with "
               "overlap have no counterpart\n",
               pairs->pairs, pairs->pairs == 1 ? "" : "s", pairs->matched, pairs->without,
               pairs->with);
        st_say(root,
               "  %zu used, %zu of them alongside a collective; left out: %zu alongside one in "
               "both, %zu without duration or counters\n",
               pairs->rows, pairs->concurrent, pairs->disturbed, pairs->unusable);
    }
    st_say(root,
           "%s: %zu kernels, %zu of them faster alongside communication than alone, %zu at "
           "most 0.95 times as long\n",
           report->kernels->file, report->kernels->count, report->kernels->faster,
           report->kernels->much_faster);
    /* What was in the table and was not read, and what could have been there. */
    const st_kernels *kernels = report->kernels;
    size_t absent = 0;
    for (size_t i = 0; i < kernels->unused_count; i++)
        st_say(root, "%s%s", i == 0 ? "columns not used: " : ", ", kernels->unused[i]);
    st_say(root, kernels->unused_count > 0 ? "\n" : "");
    for (int i = 0; i < ST_FEATURE_CLASS; i++)
        if (!st_kernels_have(kernels, (st_feature)i, false))
            st_say(root, "%s%s", absent++ == 0 ? "unknown features: " : ", ",
                   st_feature_name((st_feature)i));
    st_say(root, absent > 0 ? "\n" : "");
    st_say(root, "recipe %s: %s\n", report->recipe->name, report->recipe->doc);
    st_say(root, "one slowdown for all kernels: %.4g\n", report->constant);
    for (int split = 0; split < ST_SPLITS; split++) {
        st_say(root, "\n%s", titles[split]);
        const st_trials *trials = report->trials;
        for (size_t part = 0; part < ST_SLOWDOWN_PARTS; part++) {
            size_t count = trials->items[0].held_out[split][part].count;
            if (count == 0)
                continue;
            write_head((st_slowdown_part)part, count, root);
            for (size_t i = 0; i < trials->count; i++)
                write_errors(trials->items[i].name,
                             trials->items[i].recipe == report->recipe ? "  taken" : "",
                             &trials->items[i].held_out[split][part], root);
        }
    }
    if (report->test != NULL) {
        st_say(root, "\n%s", report->test->file);
        for (size_t part = 0; part < ST_SLOWDOWN_PARTS; part++) {
            if (report->test_errors[0][part].count == 0)
                continue;
            write_head((st_slowdown_part)part, report->test_errors[0][part].count, root);
            for (size_t i = 0; i <= ST_BASELINES; i++)
                write_errors(i == 0 ? "this model" : st_baseline_names[i - 1], "",
                             &report->test_errors[i][part], root);
        }
        st_say(root, "  %zu of %zu kernels are outside the trained range in some feature\n",
               report->test_clamped, report->test->count);
    }
    rank(report, order);
    st_say(root, "\nImportance of the features (share of the gain)\n");
    for (int i = 0; i < ST_FEATURES && report->importance[order[i]] > 0; i++) {
        st_say(root, "  %-20s", st_feature_name((st_feature)order[i]));
        write_share(root, report->importance[order[i]], "\n");
    }
}

/* ---- data ---- */

static void put_part(st_node *map, const st_slowdown_errors *errors)
{
    st_put_count(map, "kernels", errors->count);
    st_put_number(map, "within_5", errors->within_5);
    st_put_number(map, "within_10", errors->within_10);
    st_put_number(map, "within_15", errors->within_15);
    st_put_number(map, "rmse", errors->rmse);
    st_put_number(map, "rmse_10us", errors->rmse_10us);
    st_put_number(map, "rmse_weighted", errors->rmse_weighted);
    st_put_number(map, "bias", errors->bias);
}

/* All kernels, and under keys of their own those of each other part. */
static void put_errors(st_node *node, const char *key, const st_slowdown_errors *errors)
{
    st_node *map = st_put_map(node, key);
    put_part(map, &errors[ST_SLOWDOWN_ALL]);
    for (size_t part = 1; part < ST_SLOWDOWN_PARTS; part++)
        put_part(st_put_map(map, part_keys[part]), &errors[part]);
}

static void fill_trial(const void *context, size_t index, st_node *map)
{
    const st_trial *trial = &((const st_trials *)context)->items[index];
    st_put_text(map, "recipe", trial->name);
    put_errors(map, "by_rows", trial->held_out[ST_SPLIT_ROWS]);
    put_errors(map, "by_kernel_name", trial->held_out[ST_SPLIT_NAMES]);
}

void st_overlap_report_make(const st_overlap_report *report, st_arena *arena, st_result *result)
{
    st_node *root = st_result_begin(result, arena);
    st_put_text(root, "file", report->kernels->file);
    if (report->pairs != NULL) {
        const st_pairs_tally *pairs = report->pairs;
        st_node *map = st_put_map(root, "pairs");
        st_put_count(map, "pairs", pairs->pairs);
        st_put_count(map, "matched", pairs->matched);
        st_put_count(map, "without_counterpart", pairs->without + pairs->with);
        st_put_count(map, "used", pairs->rows);
        st_put_count(map, "with_communication", pairs->concurrent);
        st_put_count(map, "disturbed", pairs->disturbed);
        st_put_count(map, "unusable", pairs->unusable);
    }
    st_put_count(root, "kernels", report->kernels->count);
    const st_kernels *kernels = report->kernels;
    st_put_count(root, "faster_with_communication", kernels->faster);
    st_put_count(root, "much_faster_with_communication", kernels->much_faster);
    st_node *unused = st_put_list(root, "columns_not_used");
    for (size_t i = 0; i < kernels->unused_count; i++)
        st_put_text(unused, NULL, kernels->unused[i]);
    st_node *unknown = st_put_list(root, "features_not_known");
    for (int i = 0; i < ST_FEATURE_CLASS; i++)
        if (!st_kernels_have(kernels, (st_feature)i, false))
            st_put_text(unknown, NULL, st_feature_name((st_feature)i));
    st_put_text(root, "recipe", report->recipe->name);
    st_put_number(root, "constant", report->constant);
    (void)st_put_maps(root, "trials", fill_trial, report->trials, report->trials->count);
    if (report->test != NULL) {
        static const char *const keys[1 + ST_BASELINES] = {"model", "constant", "none",
                                                           "name_median", "neighbours"};
        st_node *test = st_put_map(root, "test");
        st_put_text(test, "file", report->test->file);
        st_put_count(test, "outside_trained_range", report->test_clamped);
        for (size_t i = 0; i <= ST_BASELINES; i++)
            put_errors(test, keys[i], report->test_errors[i]);
    }
    st_node *importance = st_put_map(root, "importance");
    for (int i = 0; i < ST_FEATURES; i++)
        st_put_number(importance, st_feature_name((st_feature)i), report->importance[i]);
    say_report(report, root);
}

/* ---- SVG ---- */

void st_overlap_write_svg(const st_overlap_report *report, st_buffer *buffer)
{
    int order[ST_FEATURES] = {0};
    int rows = 0;
    char text[128];
    rank(report, order);
    while (rows < ST_FEATURES && report->importance[order[rows]] > 0)
        rows++;
    (void)snprintf(text, sizeof text,
                   "Importance of the features, share of the gain (%s, %zu kernels)",
                   report->recipe->name, report->kernels->count);
    st_svg_begin(buffer, 640, 22 * rows + 48, text);
    st_svg_text(buffer, (st_svg_point){12, 24}, "large", text);
    for (int i = 0; i < rows; i++) {
        double share = report->importance[order[i]];
        double width = 400 * share / report->importance[order[0]];
        int y = 40 + 22 * i;
        (void)snprintf(text, sizeof text, "%.1f %%", 100 * share);
        st_svg_text(buffer, (st_svg_point){150, y + 14}, "end",
                    st_feature_name((st_feature)order[i]));
        st_svg_box_write(buffer, (st_svg_box){160, y + 1, width, 16}, st_svg_color(0));
        st_svg_text(buffer, (st_svg_point){166 + width, y + 14}, "", text);
    }
    st_svg_end(buffer);
}
