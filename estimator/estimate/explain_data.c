/* SPDX-License-Identifier: Apache-2.0 */
/* An explanation for programs: the tree of explain_text.c as JSON. */
#include "estimate/report.h"

#include "sheet/type_write.h"

#include <string.h>

static const char *kind_text(st_explain_kind kind)
{
    switch (kind) {
    case ST_EXPLAIN_INPUT:
        return "input";
    case ST_EXPLAIN_FUNCTION:
        return "function";
    case ST_EXPLAIN_CELL:
        break;
    }
    return "cell";
}

static void write_origin(const st_estimate *estimate, const char *name, st_json *json)
{
    for (size_t i = 0; i < estimate->input_count; i++) {
        const st_bound_input *input = &estimate->inputs[i];
        if (strcmp(input->input->name, name) != 0)
            continue;
        st_json_text(json, "key", input->input->from);
        st_json_text(json, "origin", st_input_origin(input));
        st_json_text_or_null(json, "source", input->from != NULL ? input->from->source : NULL);
        st_json_place(json, "place", st_input_place(input));
        st_json_bool(json, "assumption", st_input_is_assumed(input));
        return;
    }
}

/* What a provider says about its value, and why it refuses; nothing without a provider. */
static void write_terms(const st_explanation *step, st_json *json)
{
    if (step->provider[0] == '\0')
        return;
    st_json_text_or_null(json, "refusal", step->refusal);
    st_json_open(json, "terms", '[');
    for (size_t i = 0; i < step->term_count; i++) {
        const st_provider_term *term = &step->terms[i];
        const st_type type = {.kind = ST_TYPE_NUMBER, .unit = term->unit};
        st_json_open_line(json, NULL, '{');
        st_json_text(json, "name", term->name);
        if (term->text != NULL)
            st_json_text(json, "text", term->text);
        else
            st_json_value(json, "value", &type, term->value);
        st_json_unit(json, "unit", &type);
        st_json_bool(json, "part", term->part);
        st_json_text_or_null(json, "doc", term->doc);
        st_json_close(json, '}');
    }
    st_json_close(json, ']');
}

static void write_step(const st_estimate *estimate, const st_explanation *step, const char *key,
                       st_json *json)
{
    st_json_open(json, key, '{');
    st_json_text(json, "kind", kind_text(step->kind));
    st_json_text(json, "name", step->name);
    st_json_value(json, "value", &step->type, step->value);
    st_json_unit(json, "unit", &step->type);
    st_json_text(json, "doc", step->doc);
    st_json_text_or_null(json, "cite", step->cite);
    if (step->kind == ST_EXPLAIN_INPUT) {
        write_origin(estimate, step->name, json);
    } else {
        st_json_text_or_null(json, "formula", step->formula);
        st_json_text_or_null(json, "numbers", step->numbers);
        st_json_text_or_null(json, "provider", step->provider);
        write_terms(step, json);
        st_json_value(json, "formula_value", &step->type, step->formula_value);
        st_json_place(json, "place", step->place);
        st_json_bool(json, "shown_before", step->shown_before);
        st_json_bool(json, "cut", step->cut);
        st_json_open(json, "operands", '[');
        for (size_t i = 0; i < step->operand_count; i++)
            write_step(estimate, step->operands[i], NULL, json);
        st_json_close(json, ']');
    }
    st_json_close(json, '}');
}

void st_explanation_write_json(const st_estimate *estimate, const st_explanation *explanation,
                               st_buffer *buffer)
{
    st_json json = {.buffer = buffer};
    st_json_open(&json, NULL, '{');
    st_json_count(&json, "schema_version", ST_SCHEMA_VERSION);
    st_json_text(&json, "steptime", STEPTIME_VERSION);
    st_json_text(&json, "job", st_job_name(estimate->job));
    st_json_text(&json, "sheet", st_sheet_name(estimate->sheet));
    write_step(estimate, explanation, "explanation", &json);
    st_json_close(&json, '}');
}
