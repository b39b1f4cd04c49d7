/* SPDX-License-Identifier: Apache-2.0 */
/* Errors by class and fold, the constants beside them, and which features count. */
#include "calibrate/slowdown/overlap_report.h"

#include "base/svg.h"

#include "base/number.h"
#include "base/json_write.h"

#include <math.h>
#include <string.h>

static const char *const test_names[3] = {"this model", "constant", "none"};

/* ---- text ---- */

static void write_share(st_buffer *buffer, double share, const char *end)
{
    st_buffer_printf(buffer, "%6.1f %%%s", 100 * share, end);
}

static void write_errors(const char *name, const char *mark, const st_slowdown_errors *errors,
                         st_buffer *buffer)
{
    st_buffer_printf(buffer, "  %-12s", name);
    write_share(buffer, errors->within_5, " ");
    write_share(buffer, errors->within_10, " ");
    write_share(buffer, errors->within_15, " ");
    st_buffer_printf(buffer, "%8.3f ", errors->rmse);
    if (isnan(errors->rmse_10us)) { /* no kernel takes as long */
        st_buffer_printf(buffer, "%8s ", "-");
    } else {
        st_buffer_printf(buffer, "%8.3f ", errors->rmse_10us);
    }
    st_buffer_printf(buffer, "%8.3f ", errors->rmse_weighted);
    st_buffer_printf(buffer, "%+7.2f %%%s\n", 100 * errors->bias, mark);
}

static void write_head(const char *title, st_buffer *buffer)
{
    st_buffer_printf(buffer, "\n%s\n  %-12s%8s %8s %8s %8s %8s %8s %9s\n", title, "", "in 5 %",
                     "in 10 %", "in 15 %", "RMSE", ">= 10 us", "by time", "bias");
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

static void write_pairs(const st_pairs_tally *pairs, st_buffer *buffer)
{
    st_buffer_printf(buffer,
                     "%zu pair%s of recordings: %zu kernels matched, %zu without and %zu with "
                     "overlap have no counterpart\n",
                     pairs->pairs, pairs->pairs == 1 ? "" : "s", pairs->matched, pairs->without,
                     pairs->with);
    st_buffer_printf(buffer,
                     "  %zu used, %zu of them beside a collective; left out: %zu beside one in "
                     "both, %zu without duration or counters\n",
                     pairs->rows, pairs->beside, pairs->disturbed, pairs->unusable);
}

/* What was in the table and was not read, and what could have been there. */
static void write_columns(const st_kernels *kernels, st_buffer *buffer)
{
    size_t absent = 0;
    for (size_t i = 0; i < kernels->unused_count; i++) {
        st_buffer_printf(buffer, "%s%s", i == 0 ? "columns not used: " : ", ", kernels->unused[i]);
    }
    st_buffer_text(buffer, kernels->unused_count > 0 ? "\n" : "");
    for (int i = 0; i < ST_FEATURE_CLASS; i++) {
        if (!st_kernels_have(kernels, (st_feature)i, false)) {
            st_buffer_printf(buffer, "%s%s", absent++ == 0 ? "features not known: " : ", ",
                             st_feature_name((st_feature)i));
        }
    }
    st_buffer_text(buffer, absent > 0 ? "\n" : "");
}

void st_overlap_write_text(const st_overlap_report *report, st_buffer *buffer)
{
    const st_trials *trials = report->trials;
    int order[ST_FEATURES] = {0};
    static const char *const titles[ST_SPLITS] = {"Held out by random rows, 5 folds",
                                                  "Held out by kernel name, 5 folds"};
    if (report->pairs != NULL) {
        write_pairs(report->pairs, buffer);
    }
    st_buffer_printf(buffer,
                     "%s: %zu kernels, %zu of them faster beside communication than alone, %zu at "
                     "most 0.95 times as long\n",
                     report->kernels->file, report->kernels->count, report->kernels->faster,
                     report->kernels->much_faster);
    write_columns(report->kernels, buffer);
    st_buffer_printf(buffer, "recipe %s: %s\n", report->recipe->name, report->recipe->doc);
    st_buffer_printf(buffer, "one slowdown for all kernels: %.4g\n", report->constant);
    for (int split = 0; split < ST_SPLITS; split++) {
        write_head(titles[split], buffer);
        for (size_t i = 0; i < trials->count; i++) {
            bool chosen = trials->items[i].recipe == report->recipe;
            write_errors(trials->items[i].name, chosen ? "  taken" : "",
                         &trials->items[i].held_out[split], buffer);
        }
    }
    if (report->test != NULL) {
        write_head(report->test->file, buffer);
        for (int i = 0; i < 3; i++) {
            write_errors(test_names[i], "", &report->test_errors[i], buffer);
        }
        st_buffer_printf(buffer,
                         "  %zu of %zu kernels lie outside of the trained range in some feature\n",
                         report->test_clamped, report->test->count);
    }
    rank(report, order);
    st_buffer_text(buffer, "\nImportance of the features (share of the gain)\n");
    for (int i = 0; i < ST_FEATURES && report->importance[order[i]] > 0; i++) {
        st_buffer_printf(buffer, "  %-20s", st_feature_name((st_feature)order[i]));
        write_share(buffer, report->importance[order[i]], "\n");
    }
}

/* ---- JSON ---- */

static void put_errors(st_json *json, const char *key, const st_slowdown_errors *errors)
{
    st_json_open(json, key, '{');
    st_json_count(json, "kernels", errors->count);
    st_json_number(json, "within_5", errors->within_5);
    st_json_number(json, "within_10", errors->within_10);
    st_json_number(json, "within_15", errors->within_15);
    st_json_number(json, "rmse", errors->rmse);
    st_json_number(json, "rmse_10us", errors->rmse_10us);
    st_json_number(json, "rmse_weighted", errors->rmse_weighted);
    st_json_number(json, "bias", errors->bias);
    st_json_close(json, '}');
}

static void put_columns(st_json *json, const st_kernels *kernels)
{
    st_json_count(json, "faster_beside_communication", kernels->faster);
    st_json_count(json, "much_faster_beside_communication", kernels->much_faster);
    st_json_open(json, "columns_not_used", '[');
    for (size_t i = 0; i < kernels->unused_count; i++) {
        st_json_text(json, NULL, kernels->unused[i]);
    }
    st_json_close(json, ']');
    st_json_open(json, "features_not_known", '[');
    for (int i = 0; i < ST_FEATURE_CLASS; i++) {
        if (!st_kernels_have(kernels, (st_feature)i, false)) {
            st_json_text(json, NULL, st_feature_name((st_feature)i));
        }
    }
    st_json_close(json, ']');
}

static void put_pairs(st_json *json, const st_pairs_tally *pairs)
{
    st_json_open(json, "pairs", '{');
    st_json_count(json, "pairs", pairs->pairs);
    st_json_count(json, "matched", pairs->matched);
    st_json_count(json, "without_counterpart", pairs->without + pairs->with);
    st_json_count(json, "used", pairs->rows);
    st_json_count(json, "beside_communication", pairs->beside);
    st_json_count(json, "disturbed", pairs->disturbed);
    st_json_count(json, "unusable", pairs->unusable);
    st_json_close(json, '}');
}

void st_overlap_write_json(const st_overlap_report *report, st_buffer *buffer)
{
    st_json json = {.buffer = buffer};
    st_json_open(&json, NULL, '{');
    st_json_text(&json, "file", report->kernels->file);
    if (report->pairs != NULL) {
        put_pairs(&json, report->pairs);
    }
    st_json_count(&json, "kernels", report->kernels->count);
    put_columns(&json, report->kernels);
    st_json_text(&json, "recipe", report->recipe->name);
    st_json_number(&json, "constant", report->constant);
    st_json_open(&json, "trials", '[');
    for (size_t i = 0; i < report->trials->count; i++) {
        const st_trial *trial = &report->trials->items[i];
        st_json_open(&json, NULL, '{');
        st_json_text(&json, "recipe", trial->name);
        put_errors(&json, "by_rows", &trial->held_out[ST_SPLIT_ROWS]);
        put_errors(&json, "by_kernel_name", &trial->held_out[ST_SPLIT_NAMES]);
        st_json_close(&json, '}');
    }
    st_json_close(&json, ']');
    if (report->test != NULL) {
        static const char *const keys[3] = {"model", "constant", "none"};
        st_json_open(&json, "test", '{');
        st_json_text(&json, "file", report->test->file);
        st_json_count(&json, "outside_trained_range", report->test_clamped);
        for (int i = 0; i < 3; i++) {
            put_errors(&json, keys[i], &report->test_errors[i]);
        }
        st_json_close(&json, '}');
    }
    st_json_open(&json, "importance", '{');
    for (int i = 0; i < ST_FEATURES; i++) {
        st_json_number(&json, st_feature_name((st_feature)i), report->importance[i]);
    }
    st_json_close(&json, '}');
    st_json_close(&json, '}');
}

/* ---- SVG ---- */

void st_overlap_write_svg(const st_overlap_report *report, st_buffer *buffer)
{
    int order[ST_FEATURES] = {0};
    int rows = 0;
    char text[128];
    rank(report, order);
    while (rows < ST_FEATURES && report->importance[order[rows]] > 0) {
        rows++;
    }
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
        st_svg_box_write(buffer, (st_svg_box){160, y + 1, width, 16}, "#3b6ea5");
        st_svg_text(buffer, (st_svg_point){166 + width, y + 14}, "", text);
    }
    st_svg_end(buffer);
}
