/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Who needs whom: an order in which every cell (or function) follows those that it reads, or
 * the cycle that makes one impossible. The walk keeps its own stack, since chains of cells may be
 * long.
 */
#include "sheet/order.h"

#include "base/memory.h"

enum { UNSEEN, OPEN, DONE };

/* A cell (or function) that a formula names, and where; a provider of a cell names without a
 * place, one of a function at the call. */
typedef struct st_reference {
    size_t node;
    const st_expr *expr;
    const st_provider *provider; /* it reads the cell; NULL: the formula does */
} st_reference;

typedef struct st_frame {
    size_t node;
    st_reference *references;
    size_t count;
    size_t next;
} st_frame;

typedef struct st_walk {
    const st_sheet *sheet;
    const st_bindings *bindings; /* NULL: formulas only */
    size_t *walked; /* per function: the turn in which its calls were last looked through */
    size_t turn;
    st_arena *arena;
    st_errors *errors;
    bool functions; /* over functions, else over cells */
    unsigned char *states;
    st_frame *frames;
    size_t depth;
    size_t *order;
    size_t order_count;
    st_status status; /* of the first error */
} st_walk;

static void add_reference(st_walk *walk, st_frame *frame, st_reference reference)
{
    if (!ST_APPEND(walk->arena, frame->references, frame->count, reference)) {
        st_status status = st_out_of_memory(walk->errors);
        st_note(&walk->status, status);
        return;
    }
}

/* The cells that a provider reads; `call` is where it replaces a function. */
static void list_reads(st_walk *walk, const st_sheet_function *function,
                       const st_provider *provider, const st_expr *call, st_frame *frame)
{
    for (size_t i = 0; i < provider->argument_count; i++) {
        st_read read = st_provider_read(walk->sheet, function, provider, i);
        if (read.kind == ST_READ_CELL)
            add_reference(walk, frame,
                          (st_reference){.node = read.index, .expr = call, .provider = provider});
    }
}

/* The cells that providers read in a tree inside of functions, which itself can name none. */
static void list_calls(st_walk *walk, const st_expr *expr, const st_expr *call, st_frame *frame)
{
    if (expr->name_kind == ST_NAME_FUNCTION && walk->walked[expr->index] != walk->turn) {
        const st_sheet_function *function = &walk->sheet->functions[expr->index];
        const st_provider *provider = walk->bindings->functions[expr->index];
        walk->walked[expr->index] = walk->turn;
        if (provider != NULL)
            list_reads(walk, function, provider, call, frame);
        if (function->expr != NULL && (provider == NULL || provider->fallback))
            list_calls(walk, function->expr, call, frame);
    }
    for (size_t i = 0; i < expr->child_count; i++)
        list_calls(walk, st_expr_child(expr, i), call, frame);
}

static void list_references(st_walk *walk, const st_expr *expr, st_frame *frame)
{
    bool is_reference;
    if (walk->functions)
        is_reference = expr->kind == ST_EXPR_CALL && expr->name_kind == ST_NAME_FUNCTION;
    else
        is_reference = expr->kind == ST_EXPR_NAME && expr->name_kind == ST_NAME_CELL;
    if (is_reference)
        add_reference(walk, frame, (st_reference){.node = expr->index, .expr = expr});
    if (expr->name_kind == ST_NAME_FUNCTION && walk->bindings != NULL) {
        const st_expr call = {
            .kind = ST_EXPR_CALL, .name_kind = ST_NAME_FUNCTION, .index = expr->index};
        list_calls(walk, &call, expr, frame);
    }
    for (size_t i = 0; i < expr->child_count; i++)
        list_references(walk, st_expr_child(expr, i), frame);
}

static const char *node_name(const st_walk *walk, size_t node)
{
    return walk->functions ? walk->sheet->functions[node].name : walk->sheet->cells[node].name;
}

static void push(st_walk *walk, size_t node)
{
    const st_provider *provider = walk->bindings == NULL ? NULL : walk->bindings->cells[node];
    const st_expr *expr =
        walk->functions ? walk->sheet->functions[node].expr : walk->sheet->cells[node].expr;
    st_frame *frame = &walk->frames[walk->depth++];
    *frame = (st_frame){.node = node};
    walk->states[node] = OPEN;
    walk->turn++;
    if (provider != NULL)
        list_reads(walk, NULL, provider, NULL, frame);
    if (expr != NULL && (provider == NULL || provider->fallback))
        list_references(walk, expr, frame);
}

static void report_cycle(st_walk *walk, size_t target)
{
    st_note(&walk->status, ST_ERR_CYCLE);
    st_buffer path = {0};
    if (!st_errors_full(walk->errors)) {
        /* "a -> b -> c -> a"; of a very long way round only both ends. */
        static const size_t shown_at_an_end = 12;
        size_t first = walk->depth - 1;
        while (walk->frames[first].node != target)
            first--;
        size_t left_out = 0;
        if (walk->depth - first > 2 * shown_at_an_end + 1)
            left_out = walk->depth - first - 2 * shown_at_an_end;
        for (size_t i = first; i < walk->depth; i++) {
            if (left_out > 0 && i == first + shown_at_an_end) {
                st_buffer_printf(&path, "... %zu more ... -> ", left_out);
                i += left_out;
            }
            st_buffer_printf(&path, "%.100s -> ", node_name(walk, walk->frames[i].node));
        }
        st_buffer_printf(&path, "%.100s", node_name(walk, target));
    }
    const st_frame *last = &walk->frames[walk->depth - 1];
    const st_expr *expr = last->references[last->next - 1].expr;
    const st_formula *formula = walk->functions ? &walk->sheet->function_formulas[last->node]
                                                : &walk->sheet->cell_formulas[last->node];
    const char *what = walk->functions ? "circular function calls" : "circular dependency of cells";
    const st_provider *reader = last->references[last->next - 1].provider;
    const char *why = reader == NULL
                          ? ""
                          : st_errors_text(walk->errors, " (provider '%s' for '%s' reads %s)",
                                           reader->source, reader->name, node_name(walk, target));
    st_fail(walk->errors, ST_ERR_CYCLE,
            st_formula_place_at(formula, expr == NULL ? 0 : expr->offset), "%s: %s%s", what,
            path.data == NULL ? "" : path.data, why);
    st_buffer_free(&path);
}

static st_status sort_nodes(st_walk *walk, size_t count, size_t **order)
{
    walk->states = st_arena_alloc(walk->arena, count + 1, sizeof(*walk->states));
    walk->frames = st_arena_alloc(walk->arena, count + 1, sizeof(*walk->frames));
    walk->order = st_arena_alloc(walk->arena, count + 1, sizeof(*walk->order));
    walk->walked =
        st_arena_alloc(walk->arena, walk->sheet->function_count + 1, sizeof(*walk->walked));
    if (walk->states == NULL || walk->frames == NULL || walk->order == NULL || walk->walked == NULL)
        return st_out_of_memory(walk->errors);
    for (size_t i = 0; i < count; i++) {
        if (walk->states[i] != UNSEEN)
            continue;
        push(walk, i);
        while (walk->depth > 0) {
            st_frame *frame = &walk->frames[walk->depth - 1];
            if (frame->next == frame->count) {
                walk->states[frame->node] = DONE;
                walk->order[walk->order_count++] = frame->node;
                walk->depth--;
                continue;
            }
            size_t target = frame->references[frame->next++].node;
            if (walk->states[target] == OPEN)
                report_cycle(walk, target);
            else if (walk->states[target] == UNSEEN)
                push(walk, target);
        }
    }
    *order = walk->status == ST_OK ? walk->order : NULL;
    return walk->status;
}

st_status st_order_functions(const st_sheet *sheet, st_arena *arena, size_t **order,
                             st_errors *errors)
{
    st_walk walk = {.sheet = sheet, .arena = arena, .errors = errors, .functions = true};
    return sort_nodes(&walk, sheet->function_count, order);
}

st_status st_order_cells(const st_sheet *sheet, const st_bindings *bindings, st_arena *arena,
                         size_t **order, st_errors *errors)
{
    st_walk walk = {.sheet = sheet, .bindings = bindings, .arena = arena, .errors = errors};
    return sort_nodes(&walk, sheet->cell_count, order);
}
