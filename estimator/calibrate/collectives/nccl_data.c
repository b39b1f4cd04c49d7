/* SPDX-License-Identifier: Apache-2.0 */
/* Fits as JSON and CSV; see nccl_report.h. */
#include "calibrate/steps/accuracy.h"
#include "calibrate/collectives/nccl_report.h"
#include "base/csv_write.h"
#include "base/json_write.h"
#include "estimate/report.h"

#include <math.h>
#include <string.h>

static void write_tables(const st_nccl_fit *fit, st_json *json)
{
    st_json_open(json, "tables", '[');
    for (size_t i = 0; i < fit->table_count; i++) {
        const st_nccl_table *table = fit->tables[i];
        st_json_open_line(json, NULL, '{');
        st_json_text(json, "file", table->file);
        st_json_count(json, "line", (size_t)table->line);
        st_json_count(json, "ranks", table->ranks);
        st_json_count(json, "nodes", table->nodes);
        st_json_text_or_null(json, "gpu", table->gpu);
        st_json_text_or_null(json, "nccl", table->version);
        st_json_text(json, "buffers",
                     table->buffers == ST_NCCL_IN_PLACE ? "in-place" : "out-of-place");
        st_json_count(json, "rows", table->row_count);
        st_json_count(json, "left_out", table->left_out);
        st_json_close(json, '}');
    }
    st_json_close(json, ']');
}

static void write_options(const st_nccl_fit *fit, st_json *json)
{
    st_json_open(json, "options", '[');
    for (size_t i = 0; fit->wants_fit && i < fit->model.varied_count; i++) {
        const st_nccl_varied *varied = &fit->model.varied[i];
        st_json_open_line(json, NULL, '{');
        st_json_text(json, "name", varied->name);
        st_json_text(json, "unit", varied->unit.text);
        st_json_number(json, "fitted", st_unit_from_base(&varied->unit, fit->values[i]));
        st_json_number(json, "nominal", st_unit_from_base(&varied->unit, varied->nominal));
        st_json_number(json, "low", st_unit_from_base(&varied->unit, varied->low));
        st_json_number(json, "high", st_unit_from_base(&varied->unit, varied->high));
        st_json_close(json, '}');
    }
    st_json_close(json, ']');
}

static void write_errors(const st_nccl_fit *fit, st_json *json)
{
    st_json_open(json, "errors", '{');
    for (size_t range = 0; range < ST_NCCL_RANGES; range++) {
        st_json_open(json, st_nccl_ranges[range].key, '{');
        for (st_nccl_kind kind = 0; kind < ST_NCCL_KINDS; kind++) {
            st_error_summary summary;
            if (st_nccl_fit_errors(fit, kind, range, SIZE_MAX, &summary) != ST_OK)
                json->buffer->failed = true;
            else if (fit->times_s[kind] != NULL)
                st_error_summary_write(json, st_nccl_kind_key(kind), &summary);
        }
        st_json_close(json, '}');
    }
    st_json_close(json, '}');
}

static void write_rows(const st_nccl_fit *fit, st_json *json)
{
    st_json_open(json, "rows", '[');
    for (size_t i = 0; i < fit->model.point_count; i++) {
        const st_nccl_point *point = &fit->model.points[i];
        st_json_open_line(json, NULL, '{');
        st_json_count(json, "table", point->table);
        st_json_count(json, "line", (size_t)point->row->line);
        st_json_number(json, "size_bytes", point->row->size_bytes);
        st_json_number(json, "measured_s", point->measured_s);
        for (st_nccl_kind kind = 0; kind < ST_NCCL_KINDS; kind++)
            if (fit->times_s[kind] != NULL)
                st_json_number(json, st_nccl_kind_key(kind), fit->times_s[kind][i]);
        st_json_close(json, '}');
    }
    st_json_close(json, ']');
}

static void write_fit(const st_nccl_report *report, const st_nccl_fit *fit, st_json *json)
{
    st_json_open(json, NULL, '{');
    st_json_text(json, "plugin", fit->plugin);
    st_json_text(json, "collective", fit->tables[0]->collective);
    st_json_text(json, "profile", report->profile);
    write_tables(fit, json);
    st_json_count(json, "refused", fit->refused);
    write_options(fit, json);
    st_json_text_or_null(json, "correction", fit->correction);
    write_errors(fit, json);
    if (report->details)
        write_rows(fit, json);
    st_json_close(json, '}');
}

static void write_medians(const st_nccl_report *report, st_arena *arena, st_json *json)
{
    static const char *const groups[] = {"all", "one_node", "several_nodes"};
    st_json_open(json, "medians", '{');
    for (int group = 0; group < 3; group++) {
        st_json_open(json, groups[group], '{');
        for (size_t range = 0; range < ST_NCCL_RANGES; range++) {
            st_json_open_line(json, st_nccl_ranges[range].key, '{');
            for (st_nccl_kind kind = 0; kind < ST_NCCL_KINDS; kind++) {
                size_t fits = 0;
                double median = st_nccl_report_median(report, kind, range, group, arena, &fits);
                st_json_number(json, st_nccl_kind_key(kind), median);
            }
            st_json_close(json, '}');
        }
        st_json_close(json, '}');
    }
    st_json_close(json, '}');
}

void st_nccl_report_json(const st_nccl_report *report, st_arena *arena, st_buffer *buffer)
{
    st_json json = {.buffer = buffer};
    st_json_open(&json, NULL, '{');
    st_json_count(&json, "schema_version", ST_SCHEMA_VERSION);
    st_json_text(&json, "steptime", STEPTIME_VERSION);
    st_json_open(&json, "fits", '[');
    for (size_t i = 0; i < report->count; i++)
        write_fit(report, &report->fits[i], &json);
    st_json_close(&json, ']');
    write_medians(report, arena, &json);
    st_json_close(&json, '}');
}

/* ---- CSV ---- */

enum { COLUMNS = 13, TEXT = 64 };

static void write_csv_errors(const st_nccl_fit *fit, st_nccl_kind kind, size_t range,
                             st_buffer *buffer)
{
    const st_nccl_table *table = fit->tables[0];
    char texts[7][TEXT];
    st_error_summary summary;
    if (st_nccl_fit_errors(fit, kind, range, SIZE_MAX, &summary) != ST_OK) {
        buffer->failed = true;
        return;
    }
    if (summary.count == 0)
        return;
    snprintf(texts[0], TEXT, "%zu", table->ranks);
    snprintf(texts[1], TEXT, "%zu", table->nodes);
    snprintf(texts[2], TEXT, "%zu", summary.count);
    const char *const fields[COLUMNS] = {table->file,
                                         fit->table_count == 1 ? "1" : "several",
                                         fit->plugin,
                                         table->collective,
                                         fit->table_count == 1 ? texts[0] : "",
                                         fit->table_count == 1 ? texts[1] : "",
                                         st_nccl_ranges[range].key,
                                         st_nccl_kind_key(kind),
                                         texts[2],
                                         st_number_format(summary.mean_absolute, texts[3], TEXT),
                                         st_number_format(summary.median_absolute, texts[4], TEXT),
                                         st_number_format(summary.bias, texts[5], TEXT),
                                         st_number_format(summary.largest, texts[6], TEXT)};
    st_csv_row(fields, COLUMNS, buffer);
}

static void write_csv_rows(const st_nccl_fit *fit, st_buffer *buffer)
{
    for (size_t i = 0; i < fit->model.point_count; i++) {
        const st_nccl_point *point = &fit->model.points[i];
        const st_nccl_table *table = fit->tables[point->table];
        char texts[5 + ST_NCCL_KINDS][TEXT];
        const char *fields[7 + ST_NCCL_KINDS] = {table->file, texts[0], table->collective, texts[1],
                                                 texts[2],    texts[3], texts[4]};
        snprintf(texts[0], TEXT, "%d", point->row->line);
        snprintf(texts[1], TEXT, "%zu", table->ranks);
        snprintf(texts[2], TEXT, "%zu", table->nodes);
        st_number_format(point->row->size_bytes, texts[3], TEXT);
        st_number_format(point->measured_s, texts[4], TEXT);
        for (st_nccl_kind kind = 0; kind < ST_NCCL_KINDS; kind++) {
            double time_s = fit->times_s[kind] != NULL ? fit->times_s[kind][i] : (double)NAN;
            fields[7 + kind] =
                isfinite(time_s) ? st_number_format(time_s, texts[5 + kind], TEXT) : "";
        }
        st_csv_row(fields, 7 + ST_NCCL_KINDS, buffer);
    }
}

void st_nccl_report_csv(const st_nccl_report *report, st_buffer *buffer)
{
    if (report->details) {
        st_buffer_text(buffer, "file,line,collective,ranks,nodes,size_bytes,measured_s,nominal,"
                               "fitted,leave_one_size_out,leave_one_rank_count_out\n");
        for (size_t i = 0; i < report->count; i++)
            write_csv_rows(&report->fits[i], buffer);
        return;
    }
    st_buffer_text(buffer, "file,tables,plugin,collective,ranks,nodes,sizes,estimate,rows,"
                           "mean_absolute,median_absolute,bias,largest\n");
    for (size_t i = 0; i < report->count; i++)
        for (size_t range = 0; range < ST_NCCL_RANGES; range++)
            for (st_nccl_kind kind = 0; kind < ST_NCCL_KINDS; kind++)
                write_csv_errors(&report->fits[i], kind, range, buffer);
}
