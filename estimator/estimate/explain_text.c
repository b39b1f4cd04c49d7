/* SPDX-License-Identifier: Apache-2.0 */
/*
 * An explanation as one would write it on a board: the name and its meaning, the formula, the
 * formula with numbers, the result; then the given numbers that it uses, and further in the same
 * for every cell that it reads. What was shown further up is named with its value and not shown
 * again.
 */
#include "estimate/report.h"

#include "base/utf8.h"
#include "estimate/groups.h"
#include "base/json_write.h"

#include <string.h>

enum {
    STEP_INDENT = 4,
    INDENT_LEVELS = 12 /* deeper steps stay at this indent: lines must remain readable */
};

typedef struct explain_writer {
    const st_estimate *estimate;
    const st_paint *paint;
    st_arena *arena;
    st_buffer *buffer;
    bool *inputs_seen; /* one per input of the sheet */
    bool *cells_seen;  /* one per cell: written already */
} explain_writer;

static size_t indent_of(size_t level)
{
    return STEP_INDENT * (level < INDENT_LEVELS ? level : INDENT_LEVELS);
}

static void write_indent(const explain_writer *writer, size_t indent)
{
    st_buffer_printf(writer->buffer, "%*s", (int)indent, "");
}

static const char *format_value(const st_explanation *step, double value, char *text, size_t size)
{
    return st_type_format(&step->type, value, step->style, text, size);
}

/* The index of an input step among the sheet's inputs; the number of inputs where it is none. */
static size_t input_index(const explain_writer *writer, const st_explanation *step)
{
    const st_estimate *estimate = writer->estimate;
    if (step->kind != ST_EXPLAIN_INPUT)
        return estimate->input_count;
    for (size_t i = 0; i < estimate->input_count; i++) {
        if (strcmp(estimate->inputs[i].input->name, step->name) == 0)
            return i;
    }
    return estimate->input_count;
}

static bool *cell_mark(const explain_writer *writer, const st_explanation *step)
{
    size_t count = 0;
    const st_sheet_cell *cells = st_sheet_cells(writer->estimate->sheet, &count);
    const st_sheet_cell *cell = step->kind == ST_EXPLAIN_CELL
                                    ? st_sheet_find_cell(writer->estimate->sheet, step->name)
                                    : NULL;
    return cell != NULL ? &writer->cells_seen[cell - cells] : NULL;
}

/* Shown elsewhere: further up or, below a step that is still to be written, further down. */
static bool is_seen(const explain_writer *writer, const st_explanation *step)
{
    size_t index = input_index(writer, step);
    return index < writer->estimate->input_count ? writer->inputs_seen[index] : step->shown_before;
}

/* "model.layers in configs/models/gpt-3b.yaml:7; data sheet": where the value comes from. */
static const char *describe_origin(const explain_writer *writer, const st_bound_input *input)
{
    const st_job_value *from = input->from;
    const char *key = input->input->from;
    if (from == NULL)
        return st_arena_printf(writer->arena, "%s, an assumption: default of sheet %s", key,
                               st_sheet_name(writer->estimate->sheet));
    if (from->origin == ST_ORIGIN_DEFAULT)
        return st_arena_printf(writer->arena, "%s, an assumption: default of the key", key);
    st_place place = from->place;
    st_buffer where = {0};
    place.column = 0;
    if (from->origin == ST_ORIGIN_FILE) /* --set names the key itself */
        st_buffer_printf(&where, "%s in ", key);
    st_place_text(place, &where);
    if (from->assumption)
        st_buffer_text(&where, ", an assumption");
    if (from->source != NULL)
        st_buffer_printf(&where, "%s%s", from->assumption ? ": " : "; ", from->source);
    const char *text = st_arena_copy(writer->arena, st_text_or_empty(where.data), where.length);
    writer->buffer->failed = writer->buffer->failed || where.failed;
    st_buffer_free(&where);
    return text;
}

static st_table *create_inputs(const explain_writer *writer)
{
    static const st_table_column columns[] = {{.ink = ST_INK_NAME},
                                              {.joined = true},
                                              {.elastic = true},
                                              {.ink = ST_INK_FAINT, .elastic = true}};
    st_table *table = st_table_create(writer->arena, columns, sizeof columns / sizeof columns[0]);
    writer->buffer->failed = writer->buffer->failed || table == NULL;
    return table;
}

/* Adds an input step that stands for the first time. */
static void add_input(const explain_writer *writer, const st_explanation *step, st_table *table)
{
    size_t index = input_index(writer, step);
    if (table == NULL || index == writer->estimate->input_count || writer->inputs_seen[index])
        return;
    char value[ST_QUANTITY_TEXT + 2] = "= ";
    format_value(step, step->value, value + 2, sizeof value - 2);
    const char *origin = describe_origin(writer, &writer->estimate->inputs[index]);
    const char *const fields[] = {step->name, value, step->doc, origin};
    writer->inputs_seen[index] = true;
    writer->buffer->failed = writer->buffer->failed || origin == NULL;
    st_table_row(table, fields);
}

static void write_inputs(const explain_writer *writer, const st_table *table, size_t indent)
{
    if (table != NULL)
        st_table_write(table, writer->paint, indent, writer->buffer);
}

static bool is_below(const explain_writer *writer, const st_explanation *step)
{
    const bool *mark = cell_mark(writer, step);
    return mark != NULL && !*mark;
}

/* "see above: p = 4, t = 2", for the operands that were shown, or `below` will be shown, there. */
static void write_repeats(const explain_writer *writer, const st_explanation *step, bool below,
                          size_t indent)
{
    st_buffer text = {0};
    for (size_t i = 0; i < step->operand_count; i++) {
        const st_explanation *operand = step->operands[i];
        char value[ST_QUANTITY_TEXT];
        if (!is_seen(writer, operand) || is_below(writer, operand) != below)
            continue;
        st_buffer_text(&text, text.length > 0 ? ", " : below ? "see below: " : "see above: ");
        st_buffer_printf(&text, "%s = %s", operand->name,
                         format_value(operand, operand->value, value, sizeof value));
    }
    if (text.data != NULL) {
        write_indent(writer, indent);
        st_paint_wrapped(writer->paint, text.data, indent, indent, writer->buffer);
        st_buffer_text(writer->buffer, "\n");
    }
    writer->buffer->failed = writer->buffer->failed || text.failed;
    st_buffer_free(&text);
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

/* What stands before the equals sign: a cell's name, or a function with its arguments. */
static void write_left_side(const explain_writer *writer, const st_explanation *step,
                            st_buffer *buffer)
{
    size_t count = 0;
    const st_sheet_function *functions = st_sheet_functions(writer->estimate->sheet, &count);
    for (size_t i = 0; step->kind == ST_EXPLAIN_FUNCTION && i < count; i++) {
        if (strcmp(functions[i].name, step->name) == 0) {
            st_signature_write(&functions[i], buffer);
            return;
        }
    }
    st_buffer_text(buffer, step->name);
}

static void write_side(const explain_writer *writer, const char *sign, const char *text,
                       size_t column)
{
    st_buffer_printf(writer->buffer, "%s ", sign);
    st_paint_wrapped(writer->paint, text, column + 2, column + 2, writer->buffer);
    st_buffer_text(writer->buffer, "\n");
}

static void write_value(const explain_writer *writer, const st_explanation *step, double value)
{
    char text[ST_QUANTITY_TEXT];
    st_paint_text(writer->paint, ST_INK_STRONG, format_value(step, value, text, sizeof text),
                  writer->buffer);
}

/* What the formula gives, and what a provider gives in its place or where there is none. */
static void write_result(const explain_writer *writer, const st_explanation *step, size_t column)
{
    bool has_provider = step->provider[0] != '\0';
    if (step->formula[0] != '\0' || !has_provider) {
        st_buffer_text(writer->buffer, "= ");
        write_value(writer, step, step->formula_value);
        st_buffer_text(writer->buffer, "\n");
        if (!has_provider)
            return;
        write_indent(writer, column);
    }
    st_buffer_text(writer->buffer, "= ");
    write_value(writer, step, step->value);
    st_buffer_printf(
        writer->buffer, " by %s%s\n", step->refusal[0] != '\0' ? "the formula" : step->provider,
        step->formula[0] != '\0' && step->refusal[0] == '\0' ? ", in place of the formula" : "");
}

/* The equals signs of all lines stand below each other. */
static void write_formula(const explain_writer *writer, const st_explanation *step, size_t indent)
{
    st_buffer left = {0};
    write_left_side(writer, step, &left);
    const char *name = left.data != NULL ? left.data : step->name;
    size_t column = indent + st_utf8_count(name, strlen(name)) + 1;
    write_indent(writer, indent);
    st_paint_text(writer->paint, ST_INK_NAME, name, writer->buffer);
    st_buffer_text(writer->buffer, " ");
    if (step->formula[0] != '\0') {
        write_side(writer, "=", step->formula, column);
        if (step->numbers[0] != '\0' && strcmp(step->numbers, step->formula) != 0) {
            write_indent(writer, column);
            write_side(writer, "=", step->numbers, column);
        }
        write_indent(writer, column);
    }
    write_result(writer, step, column);
    writer->buffer->failed = writer->buffer->failed || left.failed;
    st_buffer_free(&left);
}

/* What the provider says about its value; a '+' marks the parts that sum to it. */
static void write_terms(const explain_writer *writer, const st_explanation *step, size_t indent)
{
    static const st_table_column columns[] = {
        {0}, {.ink = ST_INK_NAME}, {.joined = true}, {.elastic = true}};
    st_table *table = st_table_create(writer->arena, columns, 4);
    if (table == NULL) {
        writer->buffer->failed = true;
        return;
    }
    if (step->refusal[0] != '\0') {
        write_indent(writer, indent);
        st_buffer_printf(writer->buffer, "%s refuses: %s; the formula stands\n", step->provider,
                         step->refusal);
    }
    for (size_t i = 0; i < step->term_count; i++) {
        const st_provider_term *term = &step->terms[i];
        char value[ST_QUANTITY_TEXT + 2] = "= ";
        if (term->text == NULL)
            st_quantity_format(term->value, &term->unit, step->style, value + 2, sizeof value - 2);
        else
            (void)snprintf(value + 2, sizeof value - 2, "%s", term->text);
        const char *const fields[] = {term->part ? "+" : "", term->name, value, term->doc};
        st_table_row(table, fields);
    }
    if (step->term_count > 0)
        st_table_write(table, writer->paint, indent, writer->buffer);
}

static void write_operand_inputs(const explain_writer *writer, const st_explanation *step,
                                 size_t indent)
{
    st_table *table = create_inputs(writer);
    for (size_t i = 0; i < step->operand_count; i++)
        add_input(writer, step->operands[i], table);
    write_inputs(writer, table, indent);
}

static void write_step(const explain_writer *writer, const st_explanation *step, size_t level)
{
    size_t indent = indent_of(level) + STEP_INDENT;
    bool *mark = cell_mark(writer, step);
    if (mark != NULL)
        *mark = true;
    write_title(writer, step, indent - STEP_INDENT);
    write_formula(writer, step, indent);
    write_terms(writer, step, indent);
    if (step->cut) {
        write_indent(writer, indent);
        st_paint_text(writer->paint, ST_INK_FAINT, "(a larger --depth shows more)", writer->buffer);
        st_buffer_text(writer->buffer, "\n");
    }
    write_repeats(writer, step, false, indent);
    write_repeats(writer, step, true, indent);
    write_operand_inputs(writer, step, indent);
    for (size_t i = 0; i < step->operand_count && !writer->buffer->failed; i++) {
        if (step->operands[i]->kind == ST_EXPLAIN_INPUT || step->operands[i]->shown_before)
            continue;
        st_buffer_text(writer->buffer, "\n");
        write_step(writer, step->operands[i], level + 1);
    }
}

void st_explanation_write_text(const st_estimate *estimate, const st_explanation *explanation,
                               const st_paint *paint, st_arena *arena, st_buffer *buffer)
{
    size_t cell_count = 0;
    (void)st_sheet_cells(estimate->sheet, &cell_count);
    explain_writer writer = {
        .estimate = estimate, .paint = paint, .arena = arena, .buffer = buffer};
    writer.inputs_seen =
        st_arena_alloc(arena, estimate->input_count + 1, sizeof *writer.inputs_seen);
    writer.cells_seen = st_arena_alloc(arena, cell_count + 1, sizeof *writer.cells_seen);
    if (writer.inputs_seen == NULL || writer.cells_seen == NULL) {
        buffer->failed = true;
    } else if (explanation->kind == ST_EXPLAIN_INPUT) {
        st_table *table = create_inputs(&writer);
        add_input(&writer, explanation, table);
        write_inputs(&writer, table, 0);
    } else {
        write_step(&writer, explanation, 0);
    }
}
