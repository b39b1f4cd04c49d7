/* SPDX-License-Identifier: Apache-2.0 */
/*
 * An explanation as one would write it on a board: the name and its meaning, the formula, the
 * formula with numbers, the result; below it, further in, the same for what the formula reads. What
 * was explained further up is not explained again.
 */
#include "report/report.h"

#include "base/utf8.h"
#include "report/json.h"

#include <string.h>

enum {
    STEP_INDENT = 4,
    INDENT_LEVELS = 12 /* deeper steps stay at this indent: lines must remain readable */
};

typedef struct explain_writer {
    const st_estimate *estimate;
    const st_paint *paint;
    st_buffer *buffer;
} explain_writer;

static size_t indent_of(size_t level)
{
    return STEP_INDENT * (level < INDENT_LEVELS ? level : INDENT_LEVELS);
}

static void write_indent(const explain_writer *writer, size_t indent)
{
    st_buffer_printf(writer->buffer, "%*s", (int)indent, "");
}

static const st_bound_input *find_input(const st_estimate *estimate, const char *name)
{
    for (size_t i = 0; i < estimate->input_count; i++) {
        if (strcmp(estimate->inputs[i].input->name, name) == 0)
            return &estimate->inputs[i];
    }
    return NULL;
}

/* "model.layers, configs/models/gpt-3b.yaml:7": which key gave the value and where it stands. */
static void write_input_origin(const explain_writer *writer, const st_bound_input *input)
{
    st_buffer *buffer = writer->buffer;
    const st_job_value *from = input->from;
    st_buffer_printf(buffer, "%s, ", input->input->from);
    if (from == NULL) {
        st_buffer_printf(buffer, "default of sheet %s, an assumption",
                         st_sheet_name(writer->estimate->sheet));
        return;
    }
    if (from->origin == ST_ORIGIN_DEFAULT) {
        st_buffer_text(buffer, "default, an assumption");
        return;
    }
    st_place place = from->place;
    place.column = 0;
    st_place_text(place, buffer);
    if (from->assumption)
        st_buffer_text(buffer, ", an assumption");
    if (from->source != NULL)
        st_buffer_printf(buffer, ": %s", from->source);
}

static void write_input(const explain_writer *writer, const st_explanation *step, size_t indent)
{
    char value[ST_QUANTITY_TEXT];
    st_buffer *buffer = writer->buffer;
    write_indent(writer, indent);
    st_paint_text(writer->paint, ST_INK_NAME, step->name, buffer);
    st_buffer_printf(
        buffer, " = %s",
        st_type_format(&step->type, step->value, ST_STYLE_SCALED, value, sizeof value));
    st_buffer_text(buffer, "   ");
    st_paint_text(writer->paint, ST_INK_PLAIN, step->doc, buffer);
    const st_bound_input *input = find_input(writer->estimate, step->name);
    if (input != NULL) {
        st_buffer origin = {0};
        explain_writer part = {writer->estimate, writer->paint, &origin};
        write_input_origin(&part, input);
        st_buffer_text(buffer, "   ");
        st_paint_text(writer->paint, ST_INK_FAINT, "(", buffer);
        st_paint_text(writer->paint, ST_INK_FAINT, origin.data != NULL ? origin.data : "", buffer);
        st_paint_text(writer->paint, ST_INK_FAINT, ")", buffer);
        buffer->failed = buffer->failed || origin.failed;
        st_buffer_free(&origin);
    }
    st_buffer_text(buffer, "\n");
}

/* "NAME - meaning   [citation]" */
static void write_title(const explain_writer *writer, const st_explanation *step, size_t indent)
{
    st_buffer *buffer = writer->buffer;
    write_indent(writer, indent);
    st_paint_text(writer->paint, ST_INK_NAME, step->name, buffer);
    if (step->doc[0] != '\0') {
        st_buffer_text(buffer, " - ");
        st_paint_text(writer->paint, ST_INK_PLAIN, step->doc, buffer);
    }
    if (step->cite[0] != '\0') {
        st_buffer_text(buffer, "   ");
        st_paint_text(writer->paint, ST_INK_FAINT, "[", buffer);
        st_paint_text(writer->paint, ST_INK_FAINT, step->cite, buffer);
        st_paint_text(writer->paint, ST_INK_FAINT, "]", buffer);
    }
    st_buffer_text(buffer, "\n");
}

/* "    = text", with the equals sign below that of the first line. */
static void write_equals(const explain_writer *writer, size_t column, const char *text)
{
    write_indent(writer, column);
    st_buffer_text(writer->buffer, "= ");
    st_paint_wrapped(writer->paint, text, column + 2, column + 2, writer->buffer);
    st_buffer_text(writer->buffer, "\n");
}

static void write_formula(const explain_writer *writer, const st_explanation *step, size_t indent)
{
    char value[ST_QUANTITY_TEXT];
    st_buffer *buffer = writer->buffer;
    size_t column = indent + st_utf8_count(step->name, strlen(step->name)) + 1;
    write_indent(writer, indent);
    st_paint_text(writer->paint, ST_INK_NAME, step->name, buffer);
    st_buffer_text(buffer, " ");
    if (step->formula[0] != '\0') {
        st_buffer_text(buffer, "= ");
        st_paint_wrapped(writer->paint, step->formula, column + 2, column + 2, buffer);
        st_buffer_text(buffer, "\n");
        if (step->numbers[0] != '\0' && strcmp(step->numbers, step->formula) != 0)
            write_equals(writer, column, step->numbers);
        write_indent(writer, column);
    }
    st_type_format(&step->type, step->formula_value, ST_STYLE_SCALED, value, sizeof value);
    st_buffer_text(buffer, "= ");
    st_paint_text(writer->paint, ST_INK_STRONG, value, buffer);
    st_buffer_text(buffer, "\n");
    if (step->provider[0] != '\0') {
        st_type_format(&step->type, step->value, ST_STYLE_SCALED, value, sizeof value);
        write_indent(writer, column);
        st_buffer_text(buffer, "-> ");
        st_paint_text(writer->paint, ST_INK_STRONG, value, buffer);
        st_buffer_printf(buffer, " by %s, in place of the formula\n", step->provider);
    }
}

static bool is_leaf(const st_explanation *step)
{
    return step->kind == ST_EXPLAIN_INPUT;
}

static void write_repeat(const explain_writer *writer, const st_explanation *step, size_t indent)
{
    char value[ST_QUANTITY_TEXT];
    write_indent(writer, indent);
    st_paint_text(writer->paint, ST_INK_NAME, step->name, writer->buffer);
    st_buffer_printf(
        writer->buffer, " = %s   ",
        st_type_format(&step->type, step->value, ST_STYLE_SCALED, value, sizeof value));
    st_paint_text(writer->paint, ST_INK_FAINT, "see above", writer->buffer);
    st_buffer_text(writer->buffer, "\n");
}

static void write_step(const explain_writer *writer, const st_explanation *step, size_t level)
{
    size_t indent = indent_of(level);
    if (step->shown_before) {
        write_repeat(writer, step, indent);
        return;
    }
    if (is_leaf(step)) {
        write_input(writer, step, indent);
        return;
    }
    write_title(writer, step, indent);
    write_formula(writer, step, indent + STEP_INDENT);
    for (size_t i = 0; i < step->operand_count; i++) {
        const st_explanation *operand = step->operands[i];
        bool one_line = is_leaf(operand) || operand->shown_before;
        bool after_line =
            i > 0 && (is_leaf(step->operands[i - 1]) || step->operands[i - 1]->shown_before);
        if (!one_line || !after_line)
            st_buffer_text(writer->buffer, "\n");
        write_step(writer, operand, level + 1);
    }
}

void st_explanation_write_text(const st_estimate *estimate, const st_explanation *explanation,
                               const st_paint *paint, st_buffer *buffer)
{
    explain_writer writer = {estimate, paint, buffer};
    write_step(&writer, explanation, 0);
}
