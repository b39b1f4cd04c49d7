/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Who needs whom: an order in which every cell (or function) follows those that it reads, or
 * the cycle that makes one impossible. The walk keeps its own stack, since chains of cells may be
 * long.
 */
#include "sheet/order.h"

#include "base/memory.h"

enum { UNSEEN, OPEN, DONE };

/* --- what formulas name ---------------------------------------------------------------------- */

/* Lists what a tree names from the front; counts alone without a list. */
static size_t list_reads(const st_expr *expr, uint32_t *list)
{
    const bool is_function = expr->kind == ST_EXPR_CALL && expr->name_kind == ST_NAME_FUNCTION;
    const bool is_cell = expr->kind == ST_EXPR_NAME && expr->name_kind == ST_NAME_CELL;
    size_t count = is_function || is_cell ? 1 : 0;
    if (count > 0 && list != NULL)
        *list = 2 * expr->index + (is_function ? 1 : 0);
    for (size_t i = 0; i < expr->child_count; i++)
        count += list_reads(st_expr_child(expr, i), list == NULL ? NULL : list + count);
    return count;
}

/* The node of a tree that is number `*left` of what it names. */
static const st_expr *find_read(const st_expr *expr, size_t *left)
{
    const st_expr *found = NULL;
    if ((expr->kind == ST_EXPR_CALL && expr->name_kind == ST_NAME_FUNCTION) ||
        (expr->kind == ST_EXPR_NAME && expr->name_kind == ST_NAME_CELL)) {
        if (*left == 0)
            return expr;
        --*left;
    }
    for (size_t i = 0; i < expr->child_count && found == NULL; i++)
        found = find_read(st_expr_child(expr, i), left);
    return found;
}

static const st_expr *tree_of(const st_sheet *sheet, size_t owner)
{
    return owner < sheet->cell_count ? sheet->cells[owner].expr
                                     : sheet->functions[owner - sheet->cell_count].expr;
}

st_status st_list_reads(st_sheet *sheet, st_arena *arena, st_errors *errors)
{
    const size_t owners = sheet->cell_count + sheet->function_count;
    uint32_t *first = st_arena_alloc(arena, owners + 1, sizeof *first);
    size_t count = 0;
    for (size_t i = 0; first != NULL && i < owners; i++) {
        const st_expr *expr = tree_of(sheet, i);
        count += expr == NULL ? 0 : list_reads(expr, NULL);
        first[i + 1] = (uint32_t)count;
    }
    uint32_t *reads = st_arena_alloc(arena, count + 1, sizeof *reads);
    if (first == NULL || reads == NULL)
        return st_out_of_memory(errors);
    for (size_t i = 0; i < owners; i++)
        if (first[i + 1] > first[i])
            (void)list_reads(tree_of(sheet, i), reads + first[i]);
    sheet->first_reads = first;
    sheet->reads = reads;
    sheet->owner_count = owners + 1;
    sheet->read_count = count;
    return ST_OK;
}

/* --- the walk -------------------------------------------------------------------------------- */

#define AT_NO_PLACE UINT32_MAX

/* A cell (or function) that comes before the one whose turn it is. */
typedef struct st_reference {
    uint32_t node;
    uint32_t at; /* the formula's read that leads there; AT_NO_PLACE: a provider's of the cell */
    const st_provider *provider; /* it reads the cell; NULL: the formula does */
} st_reference;

typedef struct st_frame {
    size_t node;
    size_t first; /* of its references, in the walk's */
    size_t next;
    size_t end;
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
    st_reference *references; /* of all frames, one behind the other */
    size_t reference_count;
    size_t reference_capacity;
    size_t *order;
    size_t order_count;
    st_status status; /* of the first error */
} st_walk;

static void add_reference(st_walk *walk, size_t node, size_t at, const st_provider *provider)
{
    const st_reference one = {(uint32_t)node, (uint32_t)at, provider};
    if (!st_arena_append(walk->arena, &walk->references, &walk->reference_count,
                         &walk->reference_capacity, &one, sizeof one))
        st_note(&walk->status, st_out_of_memory(walk->errors));
}

/* The cells that a provider reads; `at` is where it replaces a function. */
static void add_provider(st_walk *walk, const st_sheet_function *function,
                         const st_provider *provider, size_t at)
{
    for (size_t i = 0; i < provider->argument_count; i++) {
        st_read read = st_provider_read(walk->sheet, function, provider, i);
        if (read.kind == ST_READ_CELL)
            add_reference(walk, read.index, at, provider);
    }
}

/* The cells that providers read in a call and inside of functions, which can name none. */
static void add_calls(st_walk *walk, size_t index, size_t at)
{
    const st_sheet *sheet = walk->sheet;
    const st_provider *provider = walk->bindings->functions[index];
    const size_t owner = sheet->cell_count + index;
    if (walk->walked[index] == walk->turn)
        return;
    walk->walked[index] = walk->turn;
    if (provider != NULL)
        add_provider(walk, &sheet->functions[index], provider, at);
    if (provider != NULL && !provider->fallback)
        return;
    for (size_t i = sheet->first_reads[owner]; i < sheet->first_reads[owner + 1]; i++)
        add_calls(walk, sheet->reads[i] / 2, at);
}

static const char *node_name(const st_walk *walk, size_t node)
{
    return walk->functions ? walk->sheet->functions[node].name : walk->sheet->cells[node].name;
}

static void push(st_walk *walk, size_t node)
{
    const st_sheet *sheet = walk->sheet;
    const st_provider *provider = walk->bindings == NULL ? NULL : walk->bindings->cells[node];
    const size_t owner = walk->functions ? sheet->cell_count + node : node;
    const size_t first = sheet->first_reads[owner];
    const size_t end =
        provider != NULL && !provider->fallback ? first : sheet->first_reads[owner + 1];
    st_frame *frame = &walk->frames[walk->depth++];
    *frame = (st_frame){.node = node, .first = walk->reference_count};
    walk->states[node] = OPEN;
    walk->turn++;
    if (provider != NULL)
        add_provider(walk, NULL, provider, AT_NO_PLACE);
    for (size_t i = first; i < end; i++) {
        const bool is_function = sheet->reads[i] % 2 != 0;
        if (is_function == walk->functions)
            add_reference(walk, sheet->reads[i] / 2, i - first, NULL);
        else if (is_function && walk->bindings != NULL)
            add_calls(walk, sheet->reads[i] / 2, i - first);
    }
    frame->next = frame->first;
    frame->end = walk->reference_count;
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
    const st_reference *reference = &walk->references[last->next - 1];
    size_t left = reference->at;
    const size_t owner = last->node + (walk->functions ? walk->sheet->cell_count : 0);
    const st_expr *expr =
        left == AT_NO_PLACE ? NULL : find_read(tree_of(walk->sheet, owner), &left);
    const st_formula *formula = walk->functions ? &walk->sheet->function_formulas[last->node]
                                                : &walk->sheet->cell_formulas[last->node];
    const char *what = walk->functions ? "circular function calls" : "circular dependency of cells";
    const st_provider *reader = reference->provider;
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
            if (frame->next == frame->end) {
                walk->states[frame->node] = DONE;
                walk->order[walk->order_count++] = frame->node;
                walk->reference_count = frame->first;
                walk->depth--;
                continue;
            }
            size_t target = walk->references[frame->next++].node;
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

/* Where the sheet's own order has cells, and who reads them besides formulas. */
typedef struct st_seats {
    const st_sheet *sheet;
    const st_bindings *bindings;
    size_t *seats; /* per cell, from 1 */
    size_t *last;  /* per function: the seat of the last cell that providers read in a call; from 1,
                      0: not looked at */
} st_seats;

static size_t last_read(const st_seats *self, const st_sheet_function *function,
                        const st_provider *provider)
{
    size_t last = 0;
    for (size_t i = 0; provider != NULL && i < provider->argument_count; i++) {
        const st_read read = st_provider_read(self->sheet, function, provider, i);
        if (read.kind == ST_READ_CELL && self->seats[read.index] > last)
            last = self->seats[read.index];
    }
    return last;
}

static size_t last_of_call(const st_seats *self, size_t index)
{
    const st_sheet *sheet = self->sheet;
    const st_provider *provider = self->bindings->functions[index];
    const size_t owner = sheet->cell_count + index;
    if (self->last[index] > 0)
        return self->last[index] - 1;
    size_t last = last_read(self, &sheet->functions[index], provider);
    const bool has_formula = provider == NULL || provider->fallback;
    for (size_t i = sheet->first_reads[owner]; has_formula && i < sheet->first_reads[owner + 1];
         i++) {
        const size_t inner = last_of_call(self, sheet->reads[i] / 2);
        last = inner > last ? inner : last;
    }
    self->last[index] = last + 1;
    return last;
}

/* Whether the sheet's own order suits what providers read, too, as it mostly does: then nobody has
 * to walk. */
static bool suits(const st_seats *self)
{
    const st_sheet *sheet = self->sheet;
    for (size_t i = 0; i < sheet->cell_count; i++)
        self->seats[sheet->cell_order[i]] = i + 1;
    size_t last = 0; /* of all calls */
    for (size_t i = 0; i < sheet->function_count; i++) {
        const size_t called = last_of_call(self, i);
        last = called > last ? called : last;
    }
    for (size_t i = 0; i < sheet->cell_count; i++) {
        const st_provider *provider = self->bindings->cells[i];
        if (last_read(self, NULL, provider) >= self->seats[i])
            return false;
        const bool has_formula = provider == NULL || provider->fallback;
        for (size_t k = sheet->first_reads[i];
             has_formula && self->seats[i] <= last && k < sheet->first_reads[i + 1]; k++)
            if (sheet->reads[k] % 2 != 0 &&
                last_of_call(self, sheet->reads[k] / 2) >= self->seats[i])
                return false;
    }
    return true;
}

st_status st_order_cells(const st_sheet *sheet, const st_bindings *bindings, st_arena *arena,
                         size_t **order, st_errors *errors)
{
    if (sheet->cell_order != NULL && bindings != NULL) {
        const st_seats self = {
            .sheet = sheet,
            .bindings = bindings,
            .seats = st_arena_alloc(arena, sheet->cell_count + 1, sizeof *self.seats),
            .last = st_arena_alloc(arena, sheet->function_count + 1, sizeof *self.last)};
        if (self.seats == NULL || self.last == NULL)
            return st_out_of_memory(errors);
        if (suits(&self)) {
            *order = sheet->cell_order;
            return ST_OK;
        }
    }
    st_walk walk = {.sheet = sheet, .bindings = bindings, .arena = arena, .errors = errors};
    return sort_nodes(&walk, sheet->cell_count, order);
}
