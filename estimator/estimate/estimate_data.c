/* SPDX-License-Identifier: Apache-2.0 */
/* An estimate for programs: JSON and CSV as docs/output.md promises them. */
#include "estimate/report.h"

#include "base/csv_write.h"
#include "estimate/effects.h"
#include "sheet/type_write.h"
#include "estimate/provider_effects.h"

#include <string.h>

static void write_job(const st_estimate *estimate, st_json *json)
{
    st_json_open(json, "job", '{');
    st_json_text(json, "name", st_job_name(estimate->job));
    st_json_text(json, "file", st_job_file(estimate->job));
    st_json_text(json, "model", st_job_section_name(estimate->job, "model"));
    st_json_text(json, "cluster", st_job_section_name(estimate->job, "cluster"));
    st_json_text(json, "sheet", st_sheet_name(estimate->sheet));
    st_json_close(json, '}');
}

static void write_input(const st_bound_input *input, st_json *json)
{
    const char *source = input->from != NULL ? input->from->source : NULL;
    if (source == NULL)
        source = input->input->cite;
    st_json_open_line(json, NULL, '{');
    st_json_text(json, "name", input->input->name);
    st_json_text(json, "key", input->input->from);
    st_json_value(json, "value", &input->input->type, input->value);
    st_json_unit(json, "unit", &input->input->type);
    st_json_text(json, "origin", st_input_origin(input));
    st_json_text_or_null(json, "source", source);
    st_json_place(json, "place", st_input_place(input));
    st_json_close(json, '}');
}

static void write_inputs(const st_estimate *estimate, const char *key, bool assumed_only,
                         st_json *json)
{
    st_json_open(json, key, '[');
    for (size_t i = 0; i < estimate->input_count; i++) {
        if (!assumed_only || st_input_is_assumed(&estimate->inputs[i]))
            write_input(&estimate->inputs[i], json);
    }
    st_json_close(json, ']');
}

static void write_cells(const st_estimate *estimate, st_json *json)
{
    st_json_open(json, "cells", '[');
    for (size_t i = 0; i < estimate->shown_count; i++) {
        const st_shown *shown = &estimate->shown[i];
        st_json_open_line(json, NULL, '{');
        st_json_text(json, "name", shown->name);
        st_json_value(json, "value", shown->type, shown->value);
        st_json_unit(json, "unit", shown->type);
        if (estimate->plugin_count > 0)
            st_json_value(json, "formula_value", shown->type, shown->formula_value);
        st_json_text(json, "doc", shown->doc);
        st_json_text_or_null(json, "cite", shown->cite);
        st_json_text_or_null(json, "section", shown->section);
        st_json_close(json, '}');
    }
    st_json_close(json, ']');
}

static void write_checks(const st_estimate *estimate, st_json *json)
{
    size_t count = 0;
    const st_sheet_check *checks = st_sheet_checks(estimate->sheet, &count);
    st_json_open(json, "checks", '[');
    for (size_t i = 0; i < count; i++) {
        st_json_open_line(json, NULL, '{');
        st_json_text(json, "that", checks[i].formula);
        st_json_text(json, "level", checks[i].warning ? "warning" : "error");
        st_json_bool(json, "holds", estimate->checks[i] != 0.0);
        st_json_close(json, '}');
    }
    st_json_close(json, ']');
}

/* Every constant of the cluster, whether or not it matters. */
static void write_effects(const st_estimate *estimate, st_json *json)
{
    if (estimate->effects == NULL || estimate->shown_count == 0)
        return;
    st_json_open(json, "sensitivity", '[');
    for (size_t i = 0; i < estimate->input_count; i++) {
        const st_effect *effect = &estimate->effects[i];
        if (!effect->is_cluster)
            continue;
        st_json_open_line(json, NULL, '{');
        st_json_text(json, "name", effect->input->input->name);
        st_json_text(json, "key", effect->input->input->from);
        st_json_number(json, "factor", ST_EFFECT_FACTOR);
        st_json_text(json, "cell", estimate->shown[0].name);
        st_json_number(json, "change", effect->change);
        st_json_close(json, '}');
    }
    st_json_close(json, ']');
}

static void write_warnings(const st_errors *errors, st_json *json)
{
    st_json_open(json, "warnings", '[');
    for (size_t i = 0; i < st_errors_size(errors); i++) {
        const st_error *error = st_errors_at(errors, i);
        if (error->severity != ST_SEVERITY_WARNING)
            continue;
        st_buffer line = {0};
        st_error_text(error, &line);
        st_json_text(json, NULL, line.data);
        json->buffer->failed = json->buffer->failed || line.failed;
        st_buffer_free(&line);
    }
    st_json_close(json, ']');
}

void st_estimate_write_json(const st_estimate *estimate, const st_errors *errors, st_buffer *buffer)
{
    st_json json = {.buffer = buffer};
    st_json_open(&json, NULL, '{');
    st_json_count(&json, "schema_version", ST_SCHEMA_VERSION);
    st_json_text(&json, "steptime", STEPTIME_VERSION);
    write_job(estimate, &json);
    write_inputs(estimate, "inputs", false, &json);
    write_cells(estimate, &json);
    st_refined_write_json(estimate, &json);
    write_effects(estimate, &json);
    write_inputs(estimate, "assumptions", true, &json);
    write_checks(estimate, &json);
    write_warnings(errors, &json);
    st_json_close(&json, '}');
}

/* Who changes a cell: the plugins that have a part in it, "" where it only follows others. */
static const char *providers_of(const st_estimate *estimate, const char *cell)
{
    for (size_t i = 0; i < estimate->refined_count; i++)
        if (strcmp(estimate->refined[i].name, cell) == 0)
            return estimate->refined[i].providers;
    return "";
}

/* Two columns more where plugins refine. */
void st_estimate_write_csv(const st_estimate *estimate, st_buffer *buffer)
{
    bool plugins = estimate->plugin_count > 0;
    st_buffer_printf(buffer, "section,cell,value,unit,meaning,citation%s\n",
                     plugins ? ",formula_value,provider" : "");
    for (size_t i = 0; i < estimate->shown_count; i++) {
        const st_shown *shown = &estimate->shown[i];
        char value[ST_QUANTITY_TEXT];
        char formula[ST_QUANTITY_TEXT];
        st_exact_text(shown->type, shown->value, value, sizeof value);
        st_exact_text(shown->type, shown->formula_value, formula, sizeof formula);
        const char *const fields[] = {
            shown->section, shown->name, value,   st_type_unit_text(shown->type),
            shown->doc,     shown->cite, formula, providers_of(estimate, shown->name)};
        st_csv_row(fields, plugins ? 8 : 6, buffer);
    }
}
