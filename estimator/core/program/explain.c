/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Explanations: the tree of steps behind a value, down to the inputs.
 *
 * A cell's operands are the cells, inputs and function calls that its formula names, in that order,
 * each once. A step that was explained further up is named again but not unfolded again, so an
 * explanation is about as long as the sheet.
 */
#include "program/substitute.h"

#include "base/memory.h"

#include <math.h>
#include <string.h>

enum {
    MAX_STEPS = 100000,
    MAX_DEPTH = 200 /* "down to the inputs": no sheet for people is deeper */
};

typedef struct st_explainer {
    st_session session;
    st_arena *arena;
    bool *seen; /* per cell */
    size_t steps;
    bool failed; /* the explanation has a hole */
    bool out_of_memory;
    st_errors *errors;
} st_explainer;

static st_explanation *explain_cell(st_explainer *explainer, size_t index, int depth);
static st_explanation *explain_input(st_explainer *explainer, size_t index);
static st_explanation *explain_call(st_explainer *explainer, const st_expr *call, st_scope scope,
                                    int depth);

static st_explanation *fail(st_explainer *explainer)
{
    explainer->failed = true;
    explainer->out_of_memory = true;
    return NULL;
}

static st_explanation *new_step(st_explainer *explainer, st_explain_kind kind, const char *name)
{
    st_explanation *step = st_arena_alloc(explainer->arena, 1, sizeof(*step));
    if (step == NULL)
        return fail(explainer);
    if (++explainer->steps > MAX_STEPS) {
        explainer->failed = true;
        return NULL;
    }
    step->kind = kind;
    step->name = name;
    step->style = explainer->session.style;
    step->doc = "";
    step->cite = "";
    step->formula = "";
    step->numbers = "";
    step->provider = "";
    step->refusal = "";
    return step;
}

/* --- operands -------------------------------------------------------------------------------- */

/* Nodes of a formula that name something, each thing once, in order, branches not taken left out.
 */
typedef struct st_references {
    const st_expr **nodes;
    size_t count;
} st_references;

static void add_reference(st_explainer *explainer, st_references *list, const st_expr *node)
{
    for (size_t i = 0; i < list->count; i++) {
        const st_expr *known = list->nodes[i];
        if (known->kind == ST_EXPR_NAME && node->kind == ST_EXPR_NAME &&
            known->name_kind == node->name_kind && known->index == node->index)
            return;
    }
    if (!ST_APPEND(explainer->arena, list->nodes, list->count, node))
        (void)fail(explainer);
}

static void collect(st_explainer *explainer, const st_expr *expr, st_scope scope,
                    st_references *list)
{
    if (expr->kind == ST_EXPR_NAME &&
        (expr->name_kind == ST_NAME_CELL || expr->name_kind == ST_NAME_INPUT))
        add_reference(explainer, list, expr);
    if (expr->name_kind == ST_NAME_FUNCTION)
        add_reference(explainer, list, expr);
    for (size_t i = 0; i < expr->child_count; i++)
        if (!st_session_skips(&explainer->session, expr, i, scope))
            collect(explainer, st_expr_child(expr, i), scope, list);
}

/* --- steps ----------------------------------------------------------------------------------- */

static st_explanation *explain_input(st_explainer *explainer, size_t index)
{
    const st_sheet_input *input = &explainer->session.program->sheet->inputs[index];
    st_explanation *step = new_step(explainer, ST_EXPLAIN_INPUT, input->name);
    if (step != NULL) {
        step->doc = input->doc;
        step->cite = input->cite;
        step->formula = input->from;
        step->type = input->type;
        step->place = input->place;
        step->value = explainer->session.inputs[index];
        step->formula_value = step->value;
    }
    return step;
}

static void explain_formula(st_explainer *explainer, st_explanation *step,
                            const st_formula_view *shown, int depth)
{
    step->formula = shown->text;
    step->formula_value = st_session_value(&explainer->session, shown->expr, shown->scope);
    st_buffer buffer = {0};
    st_show_numbers(&explainer->session, shown, &buffer);
    const char *text = buffer.failed || buffer.data == NULL
                           ? NULL
                           : st_arena_copy(explainer->arena, buffer.data, buffer.length);
    st_buffer_free(&buffer);
    if (text == NULL)
        (void)fail(explainer);
    step->numbers = text == NULL ? "" : text;
    const st_scope scope = shown->scope;
    st_references list = {0};
    collect(explainer, shown->expr, scope, &list);
    if (depth == 0) {
        step->cut = list.count > 0;
        return;
    }
    st_explanation **operands = st_arena_alloc(explainer->arena, list.count + 1, sizeof(*operands));
    if (operands == NULL) {
        (void)fail(explainer);
        return;
    }
    for (size_t i = 0; i < list.count && !explainer->failed; i++) {
        const st_expr *node = list.nodes[i];
        operands[i] =
            node->name_kind == ST_NAME_CELL    ? explain_cell(explainer, node->index, depth - 1)
            : node->name_kind == ST_NAME_INPUT ? explain_input(explainer, node->index)
                                               : explain_call(explainer, node, scope, depth - 1);
    }
    step->operands = operands;
    step->operand_count = explainer->failed ? 0 : list.count;
}

/* What the provider says itself. */
static void add_account(st_explainer *explainer, st_explanation *step,
                        const st_sheet_function *function, const st_provider *provider,
                        st_scope arguments)
{
    st_provider_account account;
    double value = st_session_ask(&explainer->session, function, provider, arguments, &account);
    step->provider = provider->source;
    if (!isfinite(value)) {
        step->refusal = account.refusal != NULL ? account.refusal : "unusable value";
        return;
    }
    step->terms = account.terms;
    step->term_count = account.count;
    /* Parts that do not sum to the value are of no use, but no reason to hold back the rest. */
    const double tolerance = 1e-9;
    double sum = 0;
    bool any = false;
    for (size_t i = 0; i < account.count; i++) {
        any = any || account.terms[i].part;
        sum += account.terms[i].part ? account.terms[i].value : 0;
    }
    if (!any || fabs(sum - value) <= tolerance * fabs(value))
        return;
    char is[ST_QUANTITY_TEXT];
    char should[ST_QUANTITY_TEXT];
    st_report(explainer->errors, ST_SEVERITY_WARNING, ST_ERR_PROVIDER, (st_place){0},
              "the parts that provider '%s' gives for '%s' sum to %s, not to %s", provider->source,
              provider->name,
              st_quantity_format(sum, &provider->unit, ST_STYLE_UNIT, is, sizeof(is)),
              st_quantity_format(value, &provider->unit, ST_STYLE_UNIT, should, sizeof(should)));
}

/* What a provider was given: the cells that it reads. */
static void explain_provided_cell(st_explainer *explainer, st_explanation *step,
                                  const st_provider *provider, int depth)
{
    const st_sheet *sheet = explainer->session.program->sheet;
    add_account(explainer, step, NULL, provider, NULL);
    if (depth == 0) {
        step->cut = provider->argument_count > 0;
        return;
    }
    size_t count = provider->argument_count;
    st_explanation **operands = st_arena_alloc(explainer->arena, count + 1, sizeof(*operands));
    if (operands == NULL) {
        (void)fail(explainer);
        return;
    }
    for (size_t i = 0; i < count; i++) {
        size_t index = 0;
        if (st_names_get(&sheet->cell_names, provider->argument_names[i], &index))
            operands[i] = explain_cell(explainer, index, depth - 1);
        else if (st_names_get(&sheet->input_names, provider->argument_names[i], &index))
            operands[i] = explain_input(explainer, index);
    }
    step->operands = operands;
    step->operand_count = explainer->failed ? 0 : count;
}

static st_explanation *explain_cell(st_explainer *explainer, size_t index, int depth)
{
    const st_sheet *sheet = explainer->session.program->sheet;
    const st_sheet_cell *cell = &sheet->cells[index];
    const st_provider *provider = explainer->session.lowering.cell_providers[index];
    st_explanation *step = new_step(explainer, ST_EXPLAIN_CELL, cell->name);
    if (step == NULL)
        return NULL;
    step->doc = cell->doc;
    step->cite = cell->cite;
    step->type = cell->type;
    step->place = cell->place;
    step->formula = cell->formula;
    step->value = st_session_cell(&explainer->session, index);
    if (explainer->seen[index]) {
        step->shown_before = true;
        step->formula_value = step->value;
        return step;
    }
    explainer->seen[index] = depth != 0;
    if (provider != NULL) {
        step->formula_value = st_session_value(&explainer->session, cell->expr, NULL);
        explain_provided_cell(explainer, step, provider, depth);
        return step;
    }
    st_formula_view shown = {.text = cell->formula, .expr = cell->expr};
    explain_formula(explainer, step, &shown, depth);
    return step;
}

static st_explanation *explain_call(st_explainer *explainer, const st_expr *call, st_scope scope,
                                    int depth)
{
    const st_sheet_function *function = &explainer->session.program->sheet->functions[call->index];
    const st_provider *provider = explainer->session.lowering.function_providers[call->index];
    uint32_t arguments[ST_EXPR_MAX_ARGUMENTS];
    st_explanation *step = new_step(explainer, ST_EXPLAIN_FUNCTION, function->name);
    if (step == NULL)
        return NULL;
    st_session_arguments(&explainer->session, call, scope, arguments);
    step->doc = function->doc;
    step->cite = function->cite;
    step->type = function->type;
    step->place = function->place;
    step->value = st_session_value(&explainer->session, call, scope);
    step->formula_value = step->value;
    if (provider != NULL)
        add_account(explainer, step, function, provider, arguments);
    if (function->expr != NULL) {
        st_formula_view shown = {.text = function->formula,
                                 .expr = function->expr,
                                 .scope = arguments,
                                 .function = function};
        explain_formula(explainer, step, &shown, depth);
    }
    return step;
}

st_status st_program_explain(const st_program *program, const double *inputs, const char *cell,
                             int depth, st_arena *arena, const st_explanation **explanation,
                             st_errors *errors)
{
    st_explain_view view = {.cell = cell, .depth = depth, .style = ST_STYLE_SCALED};
    return st_program_explain_view(program, inputs, &view, arena, explanation, errors);
}

st_status st_program_explain_view(const st_program *program, const double *inputs,
                                  const st_explain_view *view, st_arena *arena,
                                  const st_explanation **explanation, st_errors *errors)
{
    st_explainer explainer = {.arena = arena, .errors = errors};
    size_t cell_index = 0;
    size_t input_index = 0;
    st_status status;
    const char *name = view->cell;
    const st_sheet *sheet = program->sheet;
    cell_index = SIZE_MAX;
    input_index = SIZE_MAX;
    if (!st_names_get(&sheet->cell_names, name, &cell_index) &&
        !st_names_get(&sheet->input_names, name, &input_index)) {
        status = st_fail(errors, ST_ERR_USAGE, (st_place){0},
                         "sheet '%s' has no cell '%.60s'" ST_HINT "%s", sheet->name, name,
                         st_or_none(st_sheet_nearest(sheet, name)));
    } else if (ST_HAS(program->outputs, program->output_count, name, name)) {
        status = ST_OK;
    } else {
        status = st_fail(errors, ST_ERR_USAGE, (st_place){0},
                         "the program does not compute '%s'" ST_EXPECTED
                         "one of the outputs requested at compile time",
                         name);
    }
    if (status == ST_OK)
        status = st_session_begin(&explainer.session, program, inputs, arena, errors);
    if (status != ST_OK)
        return status;
    explainer.seen = st_arena_alloc(arena, program->sheet->cell_count + 1, sizeof(bool));
    if (explainer.seen == NULL)
        return st_out_of_memory(errors);
    explainer.session.style = view->style;
    int depth = view->depth < 0 || view->depth > MAX_DEPTH ? MAX_DEPTH : view->depth;
    st_explanation *result = cell_index != SIZE_MAX ? explain_cell(&explainer, cell_index, depth)
                                                    : explain_input(&explainer, input_index);
    if (explainer.out_of_memory || explainer.session.failed)
        return st_out_of_memory(errors);
    if (explainer.failed || result == NULL)
        return st_fail(errors, ST_ERR_LIMIT, (st_place){0},
                       "the explanation is too large" ST_HINT "a smaller --depth");
    *explanation = result;
    return ST_OK;
}
