/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What went wrong in a row: the cell where a value stopped existing, and the checks that fail.
 *
 * A value that is not finite is followed from the output to the first cell all of whose operands
 * are finite, and inside that cell's formula to the first such operation.
 */
#include "program/provider_calls.h"
#include "base/dimension.h"
#include "base/memory.h"
#include "base/text.h"
#include "program/substitute.h"
#include "program/workspace.h"

#include <assert.h>
#include <math.h>
#include <string.h>

typedef struct st_culprit {
    const st_expr *expr;   /* the operation that failed */
    st_formula_view shown; /* the formula around it */
    const char *name;      /* of the cell or the function; NULL: a check */
    const st_formula *formula;
    const st_provider *provider;     /* it gave the value; NULL: the formula did */
    const st_sheet_function *called; /* that the provider replaces; NULL: a cell */
    st_scope arguments;              /* of the function */
    size_t next_cell;                /* the search goes on there; SIZE_MAX: it ended */
} st_culprit;

typedef struct st_verifier {
    st_session session;
    st_errors *errors;
    bool *reported;         /* per cell: what is wrong with it, or with what it reads, is said */
    st_status value_status; /* of the first value that does not exist */
} st_verifier;

static bool is_bad(double value)
{
    return !isfinite(value);
}

/* --- where a value stops to exist ------------------------------------------------------------- */

static void blame_expr(st_session *session, const st_expr *expr, st_culprit *culprit);

/* A cell that the provider reads has no value: the search goes on there. */
static bool blame_reads(const st_session *session, const st_sheet_function *function,
                        const st_provider *provider, st_culprit *culprit)
{
    const st_sheet *sheet = session->program->sheet;
    for (size_t i = 0; i < provider->argument_count; i++) {
        st_read read = st_provider_read(sheet, function, provider, i);
        if (read.kind == ST_READ_CELL && is_bad(st_session_cell(session, read.index))) {
            culprit->next_cell = read.index;
            return true;
        }
    }
    return false;
}

/*
 * Follows culprit->next_cell to the end; false where the way meets one that was followed before. A
 * loop and not a recursion: chains of cells may be long.
 */
static bool blame_cells(st_verifier *verifier, st_culprit *culprit)
{
    while (culprit->next_cell != SIZE_MAX) {
        size_t cell = culprit->next_cell;
        if (verifier->reported[cell])
            return false;
        verifier->reported[cell] = true;
        /* One cell of the chain: finds the operation that failed in it, or the next cell to look
         * at. */
        const st_sheet *sheet = verifier->session.program->sheet;
        const st_provider *provider = verifier->session.lowering.cell_providers[cell];
        *culprit = (st_culprit){
            .name = sheet->cells[cell].name,
            .formula = &sheet->cell_formulas[cell],
            .shown = {.text = sheet->cells[cell].formula, .expr = sheet->cells[cell].expr},
            .expr = sheet->cells[cell].expr,
            .provider = provider,
            .next_cell = SIZE_MAX};
        if (provider != NULL && blame_reads(&verifier->session, NULL, provider, culprit))
            continue;
        if (provider == NULL)
            blame_expr(&verifier->session, sheet->cells[cell].expr, culprit);
    }
    return true;
}

/* `expr` is not finite: descends to the operand that is to blame, or stays. */
static void blame_expr(st_session *session, const st_expr *expr, st_culprit *culprit)
{
    for (size_t i = 0; i < expr->child_count; i++) {
        if (!st_session_skips(session, expr, i, culprit->shown.scope) &&
            is_bad(st_session_value(session, st_expr_child(expr, i), culprit->shown.scope))) {
            blame_expr(session, st_expr_child(expr, i), culprit);
            return;
        }
    }
    if (expr->kind == ST_EXPR_NAME && expr->name_kind == ST_NAME_CELL) {
        culprit->next_cell = expr->index;
    } else if (expr->name_kind == ST_NAME_FUNCTION) {
        const st_sheet *sheet = session->program->sheet;
        const st_sheet_function *function = &sheet->functions[expr->index];
        const st_provider *provider = session->lowering.function_providers[expr->index];
        uint32_t *arguments = st_arena_alloc(session->lowering.graph.arena, expr->child_count + 1,
                                             sizeof(*arguments));
        if (provider != NULL && blame_reads(session, function, provider, culprit))
            return;
        if (arguments != NULL)
            st_session_arguments(session, expr, culprit->shown.scope, arguments);
        if (provider != NULL || function->expr == NULL || arguments == NULL) {
            culprit->provider = provider;
            culprit->called = function;
            culprit->arguments = arguments;
            culprit->expr = expr;
            return;
        }
        culprit->shown = (st_formula_view){.text = function->formula,
                                           .expr = function->expr,
                                           .scope = arguments,
                                           .function = function};
        culprit->formula = &sheet->function_formulas[expr->index];
        blame_expr(session, function->expr, culprit);
    } else {
        culprit->expr = expr;
    }
}

static const char *reason_of(st_session *session, const st_culprit *culprit, st_errors *errors)
{
    const st_expr *expr = culprit->expr;
    if (culprit->provider != NULL) {
        /* "the provider refuses or gives no usable value: ranks beyond 4096", as far as it says so.
         */
        st_provider_account account = {0};
        if (culprit->called == NULL || culprit->arguments != NULL)
            (void)st_session_ask(session, culprit->called, culprit->provider, culprit->arguments,
                                 &account);
        return account.refusal == NULL
                   ? st_errors_text(errors, "provider '%s' fails or returns an unusable value",
                                    culprit->provider->source)
                   : st_errors_text(errors, "provider '%s' refuses: %s", culprit->provider->source,
                                    account.refusal);
    }
    if (expr->kind == ST_EXPR_NAME)
        return "an input without a value";
    if (expr->kind == ST_EXPR_BINARY && expr->op == ST_OPERATOR_DIVIDE &&
        st_session_value(session, st_expr_child(expr, 1), culprit->shown.scope) == 0)
        return "division by zero";
    if (expr->kind == ST_EXPR_CALL && expr->builtin == ST_BUILTIN_SQRT)
        return "square root of a negative number";
    if (expr->kind == ST_EXPR_CALL &&
        (expr->builtin == ST_BUILTIN_LOG || expr->builtin == ST_BUILTIN_LOG2 ||
         expr->builtin == ST_BUILTIN_LGAMMA))
        return "logarithm of a number that is not positive";
    if (expr->kind == ST_EXPR_BINARY && expr->op == ST_OPERATOR_POWER)
        return "invalid power or overflow";
    return "the result is too large";
}

/* The names in the operation that failed, each once. */
typedef struct st_operands {
    const st_expr *shown[12];
    size_t count;
} st_operands;

static void list_operands(const st_expr *expr, st_operands *operands)
{
    bool known = expr->kind != ST_EXPR_NAME || expr->name_kind == ST_NAME_VALUE ||
                 operands->count == sizeof(operands->shown) / sizeof(operands->shown[0]);
    for (size_t i = 0; i < operands->count && !known; i++)
        known = strcmp(st_expr_name(operands->shown[i]), st_expr_name(expr)) == 0;
    if (!known)
        operands->shown[operands->count++] = expr;
    for (size_t i = 0; i < expr->child_count; i++)
        list_operands(st_expr_child(expr, i), operands);
}

/* "p = 4, t = 0" */
static void show_operands(st_session *session, const st_formula_view *shown, const st_expr *expr,
                          st_buffer *buffer)
{
    st_operands operands = {.count = 0};
    list_operands(expr, &operands);
    for (size_t i = 0; i < operands.count; i++) {
        const st_type *type = NULL;
        char text[ST_QUANTITY_TEXT];
        double value = st_show_name(session, shown, operands.shown[i], &type);
        st_buffer_printf(buffer, "%s%s = %s", i == 0 ? "" : ", ", st_expr_name(operands.shown[i]),
                         st_type_format(type, value, ST_STYLE_SCALED, text, sizeof(text)));
    }
}

static void report_culprit(st_verifier *verifier, const st_culprit *culprit)
{
    const st_expr *expr = culprit->expr;
    assert(expr != NULL); /* a search ends at an operation */
    st_errors *errors = verifier->errors;
    st_buffer operands = {0};
    show_operands(&verifier->session, &culprit->shown, expr, &operands);
    const char *what =
        culprit->name == NULL ? "a check" : st_errors_text(errors, "cell '%s'", culprit->name);
    const char *inside =
        culprit->shown.function == NULL
            ? ""
            : st_errors_text(errors, " (in function '%s')", culprit->shown.function->name);
    const char *message = st_errors_text(errors, "%s has no value%s: %s in '%.*s'", what, inside,
                                         reason_of(&verifier->session, culprit, errors),
                                         expr->length > 200 ? 200 : (int)expr->length,
                                         culprit->shown.text + expr->offset);
    if (operands.data != NULL)
        message = st_errors_text(errors, "%s with %s; formula: %.400s", message, operands.data,
                                 culprit->shown.text);
    else
        message = st_errors_text(errors, "%s; formula: %.400s", message, culprit->shown.text);
    st_buffer_free(&operands);
    st_status status = culprit->provider != NULL ? ST_ERR_PROVIDER : ST_ERR_MATH;
    st_fail(errors, status, st_formula_place_at(culprit->formula, expr->offset), "%s", message);
    st_note(&verifier->value_status, status);
}

/* --- checks ---------------------------------------------------------------------------------- */

/* A message while it is written: "[[, {free} GiB]]" waits for its numbers, of which none may be 0.
 */
typedef struct message_text {
    st_buffer all;
    st_buffer part; /* between brackets */
    bool inside;
    bool left_out;
} message_text;

static void add_text(message_text *into, const char *text)
{
    for (const char *end = text; end != NULL; text = end + 2) {
        end = strstr(text, into->inside ? "]]" : "[[");
        size_t length = end != NULL ? (size_t)(end - text) : strlen(text);
        st_buffer_printf(into->inside ? &into->part : &into->all, "%.*s", (int)length, text);
        if (end == NULL)
            return;
        if (into->inside && !into->left_out)
            st_buffer_text(&into->all, st_buffer_read(&into->part));
        st_buffer_end(&into->part, &into->all.failed);
        into->part = (st_buffer){0};
        into->left_out = false;
        into->inside = !into->inside;
    }
}

/* Whether jobs write the words of an enumeration. */
static bool is_given(const st_sheet *sheet, const st_enum *enumeration)
{
    size_t count = 0;
    const st_sheet_input *inputs = st_sheet_inputs(sheet, &count);
    for (size_t i = 0; i < count; i++)
        if (inputs[i].type.enumeration == enumeration)
            return true;
    return false;
}

static const char *fill_message(st_session *session, size_t check, st_errors *errors)
{
    const st_message *message = &session->program->sheet->messages[check];
    message_text text = {0};
    for (size_t i = 0; i < message->count; i++) {
        add_text(&text, message->parts[i].text);
        if (message->parts[i].formula.expr != NULL) {
            const st_formula *formula = &message->parts[i].formula;
            char number[ST_QUANTITY_TEXT];
            st_formula_view shown = {.text = formula->text, .expr = formula->expr};
            const st_type *declared = st_expr_type(formula->expr);
            double value = formula->expr->kind == ST_EXPR_NAME
                               ? st_show_name(session, &shown, formula->expr, &declared)
                               : st_session_value(session, formula->expr, NULL);
            st_type type = *declared;
            text.left_out = text.left_out || (type.kind == ST_TYPE_NUMBER && value == 0);
            /* What an operation gives has a dimension and no unit yet: shows it in base units. */
            char unit_text[sizeof(type.unit.text)];
            st_dimension dimension = type.unit.dimension;
            if (type.kind == ST_TYPE_NUMBER && !st_dimension_is_number(dimension) &&
                strcmp(type.unit.text, "1") == 0) {
                (void)st_dimension_text(dimension, unit_text, sizeof(unit_text));
                if (st_unit_parse(unit_text, strlen(unit_text), (st_place){0}, &type.unit, NULL) !=
                    ST_OK)
                    (void)snprintf(type.unit.text, sizeof(type.unit.text), "%s",
                                   unit_text); /* B^0.5 */
            }
            (void)st_type_format(&type, value, ST_STYLE_SCALED, number, sizeof(number));
            /* A word that only cells answer, such as full_sharding, is read in a sentence; that of
             * an input stays as jobs have it. */
            bool plain = type.kind == ST_TYPE_ENUM && formula->expr->kind == ST_EXPR_NAME &&
                         formula->expr->name_kind == ST_NAME_CELL &&
                         !is_given(session->program->sheet, type.enumeration);
            for (char *c = number; plain && *c != '\0'; c++)
                *c = *c == '_' ? ' ' : *c;
            st_buffer_text(text.inside ? &text.part : &text.all, number);
        }
    }
    const char *result = st_errors_text(errors, "%s", st_buffer_read(&text.all));
    st_buffer_free(&text.all);
    st_buffer_free(&text.part);
    return result;
}

/* Every check; a failing check is reported before values that it may explain. */
static st_status verify_checks(st_verifier *verifier)
{
    const st_program *program = verifier->session.program;
    st_status status = ST_OK;
    for (size_t i = 0; i < program->check_count; i++) {
        const st_sheet_check *check = &program->sheet->checks[i];
        double value = st_session_value(&verifier->session, check->expr, NULL);
        if (is_bad(value)) {
            /* A check without a value: what in it, or in the cells that it reads, has none. */
            const st_sheet *sheet = verifier->session.program->sheet;
            const st_sheet_check *entry = &sheet->checks[i];
            st_culprit culprit = {.expr = entry->expr,
                                  .shown = {.text = entry->formula, .expr = entry->expr},
                                  .formula = &sheet->check_formulas[i],
                                  .next_cell = SIZE_MAX};
            blame_expr(&verifier->session, entry->expr, &culprit);
            if (blame_cells(verifier, &culprit))
                report_culprit(verifier, &culprit);
        } else if (value != 1.0) {
            st_severity severity = ST_SEVERITY_WARNING;
            if (!check->warning && !program->options.checks_warn)
                severity = check->limit ? ST_SEVERITY_LIMIT : ST_SEVERITY_ERROR;
            st_report(verifier->errors, severity, ST_ERR_CHECK, check->place, "%s",
                      fill_message(&verifier->session, i, verifier->errors));
            status = severity == ST_SEVERITY_ERROR ? ST_ERR_CHECK : status;
        }
    }
    return status;
}

static void verify_input(st_verifier *verifier, size_t index)
{
    const st_sheet_input *input = &verifier->session.program->sheet->inputs[index];
    if (is_bad(verifier->session.inputs[index])) {
        st_status status = st_fail(verifier->errors, ST_ERR_MATH, input->place,
                                   "input '%s' has no value", input->name);
        st_note(&verifier->value_status, status);
    }
}

bool st_program_is_well(const st_program *program, const st_workspace *workspace,
                        const double *outputs, const double *checks)
{
    for (size_t i = 0; i < program->check_count; i++)
        if (checks[i] != 1.0)
            return false;
    for (size_t i = 0; i + program->options.unjudged < program->output_count; i++)
        if (is_bad(outputs[i]))
            return false;
    for (size_t i = 0; i < program->call_count; i++) {
        const st_program_call *call = &program->calls[i];
        if (call->runs && call->provider->fallback && is_bad(workspace->scalars[call->target]))
            return false;
    }
    return true;
}

static st_status begin(st_verifier *verifier, const st_program *program, const double *inputs,
                       st_arena *arena)
{
    st_status status =
        st_session_begin(&verifier->session, program, inputs, arena, verifier->errors);
    if (status != ST_OK)
        return status;
    verifier->reported = st_arena_alloc(arena, program->sheet->cell_count + 1, sizeof(bool));
    return verifier->reported != NULL ? ST_OK : st_out_of_memory(verifier->errors);
}

st_status st_program_verify(const st_program *program, const double *inputs, st_errors *errors)
{
    st_verifier verifier = {.errors = errors};
    st_arena *arena = st_arena_create();
    if (arena == NULL)
        return st_out_of_memory(errors);
    st_status status = begin(&verifier, program, inputs, arena);
    if (status != ST_OK)
        goto cleanup;
    status = verify_checks(&verifier);
    /* Every output without a value; cells that fail for the same reason are reported once. */
    const st_program *output_program = verifier.session.program;
    for (size_t i = 0; i + output_program->options.unjudged < output_program->output_count; i++) {
        size_t index = 0;
        const char *name = output_program->outputs[i].name;
        if (st_names_get(&output_program->sheet->cell_names, name, &index)) {
            st_culprit culprit = {.next_cell = index};
            if (is_bad(st_session_cell(&verifier.session, index)) &&
                blame_cells(&verifier, &culprit))
                report_culprit(&verifier, &culprit);
        } else if (st_names_get(&output_program->sheet->input_names, name, &index)) {
            verify_input(&verifier, index);
        }
    }
    /* Where a formula replaces a provider that refuses: a warning per cell. */
    const st_program *fallback_program = verifier.session.program;
    const st_refined *list = NULL;
    size_t count = 0;
    if (fallback_program->options.provider_count != 0) {
        verifier.session.failed =
            st_session_refined(&verifier.session, arena, &list, &count) != ST_OK ||
            verifier.session.failed;
        for (size_t i = 0; i < count; i++) {
            if (list[i].refusal[0] == '\0' || !list[i].provider->fallback)
                continue;
            /* A function without a formula has none to keep. */
            const st_sheet_function *function =
                st_sheet_find_function(fallback_program->sheet, list[i].provider->name);
            if (function != NULL && function->formula == NULL)
                continue;
            const st_sheet_cell *cell = st_sheet_find_cell(fallback_program->sheet, list[i].cell);
            st_report(verifier.errors, ST_SEVERITY_WARNING, ST_ERR_PROVIDER, cell->place,
                      "cell '%s' keeps its formula for '%s': provider '%s' fails: %s", cell->name,
                      list[i].provider->name, list[i].provider->source, list[i].refusal);
        }
    }
    /* That the configuration makes no sense says more than what follows from it. */
    status = status == ST_OK ? verifier.value_status : status;
    if (verifier.session.failed)
        status = st_out_of_memory(errors);
cleanup:
    st_arena_destroy(arena);
    return status;
}

st_status st_program_verify_settled(const st_program *program, st_errors *errors)
{
    st_verifier verifier = {.errors = errors};
    const st_sheet *sheet = program->sheet;
    st_arena *arena = st_arena_create();
    if (arena == NULL)
        return st_out_of_memory(errors);
    double *inputs = st_arena_alloc(arena, sheet->input_count + 1, sizeof *inputs);
    st_status status =
        inputs != NULL ? begin(&verifier, program, inputs, arena) : st_out_of_memory(errors);
    const st_lowering *lowering = &verifier.session.lowering;
    const bool *settled = status == ST_OK ? st_dataflow_settled(&lowering->graph) : NULL;
    for (size_t i = 0; i < sheet->cell_count && settled != NULL; i++) {
        st_culprit culprit = {.next_cell = i};
        if (lowering->cells[i] != ST_NO_VALUE && settled[lowering->cells[i]] &&
            is_bad(st_session_cell(&verifier.session, i)) && blame_cells(&verifier, &culprit))
            report_culprit(&verifier, &culprit);
    }
    if (status == ST_OK)
        status = settled == NULL || verifier.session.failed ? st_out_of_memory(errors)
                                                            : verifier.value_status;
    st_arena_destroy(arena);
    return status;
}
