/* SPDX-License-Identifier: Apache-2.0 */
/*
 * An explanation as a result: the tree of steps for programs, and for people what one would write
 * on a board: the name and its meaning, the formula, the formula with numbers, the result; then the
 * given numbers that it uses, and further in the same for every cell that it reads. What was shown
 * further up is named with its value and not shown again.
 */
#include "estimate/report.h"

#include "sheet/binding.h"
#include "base/error_report.h"
#include "base/chars.h"
#include "base/utf8.h"
#include "estimate/explain_fold.h"
#include "estimate/groups.h"
#include "sheet/type_write.h"

#include <string.h>

enum {
    STEP_INDENT = 4,
    TITLE_WIDTH = 90,
    MOST_FORMULA = 400,
    INDENT_LEVELS = 12 /* deeper steps stay at this indent: lines must remain readable */
};

typedef struct explain_writer {
    const st_estimate *estimate;
    st_arena *arena;
    bool *inputs_seen; /* one per input of the sheet */
    bool *cells_seen;  /* one per cell: written already */
    size_t lines;      /* of the folded text; 0: it is not folded */
} explain_writer;

static void write_indent(st_node *node, size_t indent)
{
    st_say(node, "%*s", (int)indent, "");
}

static const char *format_value(const st_explanation *step, double value, char *text, size_t size)
{
    return st_type_format(&step->type, value, step->style, text, size);
}

/* The index of an input step among the sheet's inputs; the number of inputs where it is none. */
static size_t input_index(const explain_writer *writer, const st_explanation *step)
{
    const st_estimate *estimate = writer->estimate;
    return step->kind == ST_EXPLAIN_INPUT ? st_estimate_input(estimate, step->name)
                                          : estimate->input_count;
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

static st_table *write_inputs(st_node *node, size_t indent)
{
    static const st_table_column columns[] = {{.ink = ST_INK_NAME},
                                              {.joined = true},
                                              {.elastic = true},
                                              {.ink = ST_INK_FAINT, .elastic = true}};
    return st_say_table(node, columns, ST_COUNT(columns), indent);
}

/* Adds an input step that appears for the first time. */
static void add_input(const explain_writer *writer, const st_explanation *step, st_table *table)
{
    size_t index = input_index(writer, step);
    if (index == writer->estimate->input_count || writer->inputs_seen[index])
        return;
    char value[ST_QUANTITY_TEXT + 2] = "= ";
    format_value(step, step->value, value + 2, sizeof value - 2);
    /* "model.layers in configs/models/gpt-3b.yaml:7; data sheet": where the value comes from. */
    const char *origin;
    const st_bound_input *input = &writer->estimate->inputs[index];
    const st_job_value *from = input->from;
    const char *key = input->input->from;
    if (from == NULL) {
        origin = st_arena_printf(writer->arena, "%s, an assumption: default of sheet %s", key,
                                 st_sheet_name(writer->estimate->sheet));
    } else if (from->origin == ST_ORIGIN_DEFAULT) {
        origin = st_arena_printf(writer->arena, "%s, an assumption: default of the key", key);
    } else {
        const char *file = st_text_or_empty(from->place.file);
        bool is_file = from->origin == ST_ORIGIN_FILE; /* --set names the key itself */
        const char *where = from->place.line > 0
                                ? st_arena_printf(writer->arena, "%s:%d", file, from->place.line)
                                : file;
        const char *sign = from->source == NULL ? "" : from->assumption ? ": " : "; ";
        origin = st_arena_printf(writer->arena, "%s%s%s%s%s%s", is_file ? key : "",
                                 is_file ? " in " : "", st_text_or_empty(where),
                                 from->assumption ? ", an assumption" : "", sign,
                                 st_text_or_empty(from->source));
    }
    const char *const fields[] = {step->name, value, step->doc, origin};
    writer->inputs_seen[index] = true;
    st_table_row(table, fields);
}

static bool is_below(const explain_writer *writer, const st_explanation *step)
{
    const bool *mark = cell_mark(writer, step);
    return mark != NULL && !*mark;
}

/* "see above: p = 4, t = 2", for the operands that were shown, or `below` will be shown, there. */
static void write_repeats(const explain_writer *writer, const st_explanation *step, bool below,
                          size_t indent, st_node *node)
{
    const char *text = "";
    for (size_t i = 0; i < step->operand_count; i++) {
        const st_explanation *operand = step->operands[i];
        char value[ST_QUANTITY_TEXT];
        if (is_seen(writer, operand) && is_below(writer, operand) == below)
            st_text_add(writer->arena, &text, ", ", "%s%s = %s",
                        st_or_none(text)[0] != '\0' ? ""
                        : below                     ? "see below: "
                                                    : "see above: ",
                        operand->name, format_value(operand, operand->value, value, sizeof value));
    }
    if (st_or_none(text)[0] != '\0') {
        write_indent(node, indent);
        st_say_wrapped(node, text, indent, indent);
        st_say(node, "\n");
    }
}

/* A folded explanation has the beginning of a formula with very many terms. */
static void write_side(const explain_writer *writer, const char *text, size_t column, st_node *node)
{
    bool cut = writer->lines > 0 && strlen(text) > MOST_FORMULA;
    if (cut)
        text = st_or_none(st_arena_printf(writer->arena, "%.*s ...", MOST_FORMULA, text));
    st_say(node, "= ");
    st_say_wrapped(node, text, column + 2, column + 2);
    st_say(node, "\n");
}

static void write_value(const st_explanation *step, double value, st_node *node)
{
    char text[ST_QUANTITY_TEXT];
    st_say(node, "= ");
    st_say_ink(node, ST_INK_STRONG, format_value(step, value, text, sizeof text));
}

/* What the formula gives, and what a provider gives in its place or where there is none. */
static void write_result(const st_explanation *step, size_t column, st_node *node)
{
    bool has_provider = step->provider[0] != '\0';
    if (step->formula[0] != '\0' || !has_provider) {
        write_value(step, step->formula_value, node);
        st_say(node, "\n");
        if (!has_provider)
            return;
        write_indent(node, column);
    }
    write_value(step, step->value, node);
    st_say(node, " by %s%s\n", step->refusal[0] != '\0' ? "the formula" : step->provider,
           step->formula[0] != '\0' && step->refusal[0] == '\0' ? ", in place of the formula" : "");
}

/* Aligns the equals signs of all lines. */
static void write_formula(const explain_writer *writer, const st_explanation *step, size_t indent,
                          st_node *node)
{
    st_buffer left = {0};
    /* The left side of the equation: a cell's name, or a function with its arguments. */
    const st_sheet_function *function =
        step->kind == ST_EXPLAIN_FUNCTION
            ? st_sheet_find_function(writer->estimate->sheet, step->name)
            : NULL;
    if (function != NULL)
        st_signature_write(function, &left);
    else
        st_buffer_text(&left, step->name);
    const char *name = left.data != NULL ? left.data : step->name;
    size_t column = indent + st_utf8_count(name, strlen(name)) + 1;
    write_indent(node, indent);
    st_say_ink(node, ST_INK_NAME, name);
    st_say(node, " ");
    if (column > indent + TITLE_WIDTH) { /* a function of very many arguments */
        column = indent + STEP_INDENT;
        st_say(node, "\n");
        write_indent(node, column);
    }
    if (step->formula[0] != '\0') {
        write_side(writer, step->formula, column, node);
        write_indent(node, column);
        if (step->numbers[0] != '\0' && strcmp(step->numbers, step->formula) != 0) {
            write_side(writer, step->numbers, column, node);
            write_indent(node, column);
        }
    }
    write_result(step, column, node);
    st_buffer_end(&left, &node->result->failed);
}

/* What a step is, its formula, and what its provider says. */
static void write_head(const explain_writer *writer, const st_explanation *step, size_t indent,
                       st_node *node)
{
    /* "NAME - meaning   [citation]" */
    write_indent(node, indent - STEP_INDENT);
    st_say_ink(node, ST_INK_NAME, step->name);
    size_t column = indent - STEP_INDENT + st_utf8_count(step->name, strlen(step->name)) + 3;
    bool has_cite = step->cite[0] != '\0';
    if (step->doc[0] != '\0') {
        st_say(node, " - ");
        size_t length = st_utf8_count(step->doc, strlen(step->doc)) + strlen(step->cite);
        bool is_long = has_cite && column + length > TITLE_WIDTH;
        const char *text =
            is_long ? st_arena_printf(writer->arena, "%s [%s]", step->doc, step->cite) : step->doc;
        st_say_wrapped(node, st_or_none(text), column, indent);
        has_cite = has_cite && !is_long;
    }
    if (has_cite) {
        st_say(node, "   ");
        st_say_ink(node, ST_INK_FAINT, "[");
        st_say_ink(node, ST_INK_FAINT, step->cite);
        st_say_ink(node, ST_INK_FAINT, "]");
    }
    st_say(node, "\n");
    write_formula(writer, step, indent, node);
    /* What the provider says about its value; a '+' marks the parts that sum to it. */
    static const st_table_column columns[] = {
        {0}, {.ink = ST_INK_NAME}, {.joined = true}, {.elastic = true}};
    if (step->refusal[0] != '\0') {
        write_indent(node, indent);
        st_say(node, "%s refuses: %s; the formula is used\n", step->provider, step->refusal);
    }
    st_table *term_table = st_say_table(node, columns, 4, indent);
    for (size_t i = 0; i < step->term_count; i++) {
        const st_provider_term *term = &step->terms[i];
        char value[ST_QUANTITY_TEXT + 2] = "= ";
        if (term->text == NULL)
            st_quantity_format(term->value, &term->unit, step->style, value + 2, sizeof value - 2);
        else
            (void)snprintf(value + 2, sizeof value - 2, "%s", term->text);
        const char *const fields[] = {term->part ? "+" : "", term->name, value, term->doc};
        st_table_row(term_table, fields);
    }
}

static void write_step(const explain_writer *writer, const st_explanation *step, size_t level,
                       st_node *node)
{
    size_t indent = STEP_INDENT * (level < INDENT_LEVELS ? level : INDENT_LEVELS) + STEP_INDENT;
    bool *mark = cell_mark(writer, step);
    if (mark != NULL)
        *mark = true;
    write_head(writer, step, indent, node);
    if (step->cut) {
        write_indent(node, indent);
        st_say_ink(node, ST_INK_FAINT, "(increase --depth to show more)");
        st_say(node, "\n");
    }
    write_repeats(writer, step, false, indent, node);
    write_repeats(writer, step, true, indent, node);
    st_table *table = write_inputs(node, indent);
    for (size_t i = 0; i < step->operand_count; i++)
        add_input(writer, step->operands[i], table);
}

/* ---- the tree ---- */

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

static void fill_term(const void *context, size_t index, st_node *row)
{
    const st_provider_term *term = &((const st_explanation *)context)->terms[index];
    const st_type type = {.kind = ST_TYPE_NUMBER, .unit = term->unit};
    st_put_text(row, "name", term->name);
    if (term->text != NULL)
        st_put_text(row, "text", term->text);
    else
        st_put_quantity(row, "value", term->value, &term->unit);
    st_put_unit(row, "unit", &type);
    st_put_bool(row, "part", term->part);
    st_put_text_or_null(row, "doc", term->doc);
}

/* People read a step where it is explained; the steps below it follow. */
static void put_step(const explain_writer *writer, const st_explanation *step, size_t level,
                     st_node *node)
{
    st_put_text(node, "kind", kind_text(step->kind));
    st_put_text(node, "name", step->name);
    st_put_value(node, "value", &step->type, step->value);
    st_put_unit(node, "unit", &step->type);
    st_put_text(node, "doc", step->doc);
    st_put_text_or_null(node, "cite", step->cite);
    if (step->kind == ST_EXPLAIN_INPUT) {
        size_t index = input_index(writer, step);
        if (index != writer->estimate->input_count) {
            const st_bound_input *input = &writer->estimate->inputs[index];
            st_put_text(node, "key", input->input->from);
            st_put_text(node, "origin", st_input_origin(input));
            st_put_text_or_null(node, "source", input->from != NULL ? input->from->source : NULL);
            st_put_place(node, "place", st_input_place(input));
            st_put_bool(node, "assumption", st_input_is_assumed(input));
        }
        return;
    }
    st_put_text_or_null(node, "formula", step->formula);
    st_put_text_or_null(node, "numbers", step->numbers);
    st_put_text_or_null(node, "provider", step->provider);
    if (step->provider[0] != '\0') {
        st_put_text_or_null(node, "refusal", step->refusal);
        (void)st_put_rows(node, "terms", fill_term, step, step->term_count);
    }
    st_put_value(node, "formula_value", &step->type, step->formula_value);
    st_put_place(node, "place", step->place);
    st_put_bool(node, "shown_before", step->shown_before);
    st_put_bool(node, "cut", step->cut);
    if (!step->shown_before) {
        st_say(node, level > 0 ? "\n" : "");
        write_step(writer, step, level, node);
    }
    st_node *operands = st_put_list(node, "operands");
    for (size_t i = 0; i < step->operand_count && !node->result->failed; i++)
        put_step(writer, step->operands[i], level + 1, st_put_map(operands, NULL));
}

void st_explanation_report(const st_estimate *estimate, const st_explanation *explanation,
                           size_t lines, const st_errors *errors, st_result *result)
{
    st_arena *arena = result->arena;
    size_t cell_count = 0;
    st_node *root = st_result_begin(result, arena);
    (void)st_sheet_cells(estimate->sheet, &cell_count);
    explain_writer writer = {.estimate = estimate, .arena = arena, .lines = lines};
    writer.inputs_seen =
        st_arena_alloc(arena, estimate->input_count + 1, sizeof *writer.inputs_seen);
    writer.cells_seen = st_arena_alloc(arena, cell_count + 1, sizeof *writer.cells_seen);
    if (writer.inputs_seen == NULL || writer.cells_seen == NULL)
        return;
    st_put_text(root, "job", st_job_name(estimate->job));
    st_put_text(root, "sheet", st_sheet_name(estimate->sheet));
    st_limits_put(errors, root);
    st_warnings_put(errors, root);
    st_limits_say(errors, root);
    if (explanation->kind == ST_EXPLAIN_INPUT)
        add_input(&writer, explanation, write_inputs(root, 0));
    st_node *map = st_put_map(root, "explanation");
    if (lines > 0) {
        write_head(&writer, explanation, STEP_INDENT, map);
        st_explanation_fold(estimate, explanation, lines, map);
    } else {
        put_step(&writer, explanation, 0, map);
    }
}
