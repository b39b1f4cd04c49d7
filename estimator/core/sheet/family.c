/* SPDX-License-Identifier: Apache-2.0 */
/* Families and their members by name. */
#include "sheet/family.h"

#include "base/chars.h"
#include "sheet/internal.h"

#include <string.h>

size_t st_family_value(const st_family *family, size_t member, size_t axis)
{
    for (size_t i = family->axis_count; i-- > axis + 1;)
        member /= family->axes[i]->count;
    return member % family->axes[axis]->count;
}

const char *st_family_member_name(const st_family *family, size_t member, st_arena *arena)
{
    const char *values[ST_FAMILY_MAX_AXES];
    size_t lengths[ST_FAMILY_MAX_AXES];
    size_t length = strlen(family->name);
    size_t whole = length + 1 + family->axis_count;
    for (size_t i = 0; i < family->axis_count; i++) {
        values[i] = family->axes[i]->values[st_family_value(family, member, i)];
        lengths[i] = strlen(values[i]);
        whole += lengths[i];
    }
    char *name = st_arena_alloc(arena, whole + 1, 1);
    if (name == NULL)
        return NULL;
    memcpy(name, family->name, length);
    for (size_t i = 0; i < family->axis_count; i++) {
        name[length++] = i == 0 ? '[' : ',';
        memcpy(name + length, values[i], lengths[i]);
        length += lengths[i];
    }
    name[length] = ']';
    return name;
}

size_t st_family_find(const st_family *family, const char *name)
{
    const char *item = strchr(name, '[');
    size_t member = 0;
    for (size_t i = 0; i < family->axis_count; i++) {
        if (item == NULL || *item == ']' || *item == '\0')
            return SIZE_MAX;
        item++;
        size_t length = strcspn(item, ",]");
        size_t value = SIZE_MAX;
        const st_enum *axis = family->axes[i];
        for (size_t j = 0; j < axis->count; j++)
            if (length > 0 && st_same_part(item, length, axis->values[j])) {
                value = j;
                break;
            }
        if (value == SIZE_MAX)
            return SIZE_MAX;
        member = member * family->axes[i]->count + value;
        item += length;
    }
    return item != NULL && strcmp(item, "]") == 0 ? member : SIZE_MAX;
}

const st_family *st_sheet_family(const st_sheet *sheet, const char *name)
{
    size_t index = 0;
    return st_names_get_part(&sheet->family_names, name, strcspn(name, "["), &index)
               ? sheet->families[index]
               : NULL;
}

bool st_family_is_reduction(const st_expr *expr)
{
    switch (expr->builtin) {
    case ST_BUILTIN_SUM:
    case ST_BUILTIN_ARGMIN:
    case ST_BUILTIN_ARGMAX:
    case ST_BUILTIN_MIN:
    case ST_BUILTIN_MAX:
        return expr->kind == ST_EXPR_CALL && expr->child_count == 1;
    default:
        return false;
    }
}

const st_formula *st_family_where(st_family_member member)
{
    return member.family == NULL ? NULL : member.family->wheres[member.index];
}

/* Whether a condition says the same for all members. */
static bool is_plain(const st_family *family, const st_expr *expr)
{
    bool plain = expr->kind != ST_EXPR_NAME || strchr(st_expr_name(expr), '[') == NULL;
    for (size_t i = 0; i < family->axis_count && plain && expr->kind == ST_EXPR_NAME; i++)
        plain = strcmp(family->axes[i]->name, st_expr_name(expr)) != 0;
    for (size_t i = 0; i < expr->child_count && plain; i++)
        plain = is_plain(family, st_expr_child(expr, i));
    return plain;
}

bool st_family_same_condition(st_family_member a, st_family_member b)
{
    const st_formula *one = st_family_where(a);
    const st_formula *other = st_family_where(b);
    if (one == NULL || other == NULL || strcmp(one->text, other->text) != 0)
        return false;
    return (a.family == b.family && a.index == b.index) ||
           (is_plain(a.family, one->expr) && is_plain(b.family, other->expr));
}

bool st_family_has_places(const st_expr *expr)
{
    bool found = expr->kind == ST_EXPR_NAME && strchr(st_expr_name(expr), '[') != NULL &&
                 (strchr(st_expr_name(expr), '*') != NULL ||
                  strlen(st_expr_name(expr)) != expr->name_length);
    for (size_t i = 0; i < expr->child_count && !found; i++)
        found = st_family_has_places(st_expr_child(expr, i));
    return found;
}

void st_sheet_expand(st_sheet *sheet, st_arena *arena, st_errors *errors)
{
    const st_family_member none = {0};
    st_expansion expansion = {.sheet = sheet, .arena = arena, .errors = errors};
    const st_formula *refused = NULL; /* one report for all members that a text has made */
    for (size_t i = 0; i < sheet->family_count; i++) {
        /* In a member's formula the name of an enumeration is its index and can be nothing else. */
        const st_family *family = sheet->families[i];
        size_t index = 0;
        for (size_t j = 0; j < family->axis_count; j++) {
            const char *name = family->axes[j]->name;
            if (st_names_get(&sheet->input_names, name, &index) ||
                st_names_get(&sheet->cell_names, name, &index))
                (void)st_fail(
                    errors, ST_ERR_NAME, family->place,
                    "index '%s' of '%s' is also the name of an input or a cell" ST_EXPECTED
                    "a different name for one of them",
                    name, family->name);
        }
    }
    for (size_t i = 0; i < sheet->cell_count; i++) {
        st_formula *formula = &sheet->cell_formulas[i];
        bool again = formula->origin != NULL && formula->origin == refused;
        if (again) {
            formula->expr = NULL;
        } else if (formula->expr != NULL) {
            st_family_expand(&expansion, sheet->cell_members[i], &sheet->cells[i].type, formula);
            refused = formula->expr == NULL ? formula->origin : refused;
        }
        sheet->cells[i].formula = formula->text == NULL ? "" : formula->text;
        sheet->cells[i].expr = formula->expr;
    }
    for (size_t i = 0; i < sheet->check_count; i++) {
        st_family_expand(&expansion, none, NULL, &sheet->check_formulas[i]);
        sheet->checks[i].formula = sheet->check_formulas[i].text;
        sheet->checks[i].expr = sheet->check_formulas[i].expr;
        for (size_t k = 0; k < sheet->messages[i].count; k++)
            st_family_expand(&expansion, none, NULL, &sheet->messages[i].parts[k].formula);
    }
    st_buffer_free(&expansion.text);
    st_buffer_free(&expansion.name);
}

/* ---- expansion of a formula ---- */

/*
 * The expansion of one formula. Text and tree are copied together, node by node, so that spans stay
 * true and what `explain` prints is what is computed; pieces remember where in the sheet's file
 * each stretch of the new text was written.
 */

/* The place of the copy: in which text, for which member, with which value for '*'. */
typedef struct st_view {
    const st_formula *source;
    size_t from; /* so far the source's text is done */
    st_family_member of;
    const st_enum *star; /* NULL: outside of reductions */
    size_t star_value;
} st_view;

typedef struct st_expander {
    const st_sheet *sheet;
    st_arena *arena;
    st_errors *errors;
    st_view view;
    const st_expr *root; /* alone: needs no parentheses */
    st_buffer text;
    st_buffer name; /* of a member, while it is looked up */
    st_formula_piece *pieces;
    size_t piece_count;
    const st_formula **sources; /* that the pieces come from */
    size_t source_count;
    bool failed;
} st_expander;

static st_expr *copy_node(st_expander *expander, const st_expr *node);

/* --- errors and text ------------------------------------------------------------------------- */

static ST_PRINTF(4, 5) void *refuse(st_expander *expander, size_t offset, st_status status,
                                    const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    if (!expander->failed)
        (void)st_vfail(expander->errors, status, st_formula_place_at(expander->view.source, offset),
                       format, arguments);
    va_end(arguments);
    expander->failed = true;
    return NULL;
}

static void *out_of_memory(st_expander *expander)
{
    return refuse(expander, 0, ST_ERR_MEMORY, "out of memory");
}

/* The text to come is at `offset` of the source; all of it there where it is `expander` text. */
static void begin_piece(st_expander *expander, size_t offset, bool fixed)
{
    size_t source = 0;
    while (source < expander->source_count && expander->sources[source] != expander->view.source)
        source++;
    bool known = source < expander->source_count ||
                 (source < UINT16_MAX && ST_APPEND(expander->arena, expander->sources,
                                                   expander->source_count, expander->view.source));
    if (!known || !ST_APPEND(expander->arena, expander->pieces, expander->piece_count,
                             (st_formula_piece){.start = (uint32_t)expander->text.length,
                                                .offset = (uint32_t)offset,
                                                .source = (uint16_t)source,
                                                .fixed = fixed})) {
        (void)out_of_memory(expander);
        return;
    }
}

static void copy_text(st_expander *expander, size_t end)
{
    st_view *view = &expander->view;
    if (end > view->from) {
        begin_piece(expander, view->from, false);
        st_buffer_append(&expander->text, view->source->text + view->from, end - view->from);
        view->from = end;
    }
}

/* Text that the sheet does not have, in place of its text at `offset`. */
static void put_text(st_expander *expander, size_t offset, const char *text)
{
    begin_piece(expander, offset, true);
    st_buffer_text(&expander->text, text);
}

static st_expr *new_node(st_expander *expander, st_expr_kind kind, size_t child_count)
{
    st_expr *made = st_expr_make(expander->arena, kind, expander->text.length, child_count);
    return made != NULL ? made : out_of_memory(expander);
}

/* Ends a node's span where the text ends; NULL where the tree got too high. */
static st_expr *finish(st_expander *expander, st_expr *made)
{
    if (expander->failed)
        return NULL;
    st_expr_end(made, expander->text.length);
    if (made->height > ST_EXPR_MAX_HEIGHT || expander->text.length > ST_EXPR_MAX_BYTES)
        return refuse(expander, expander->view.from, ST_ERR_LIMIT,
                      "the formula is too large after its families are expanded" ST_EXPECTED
                      "at most 64 KiB and 1000 operators in a row");
    return made;
}

/* --- names ----------------------------------------------------------------------------------- */

static const st_enum *own_axis(const st_expander *expander, const char *text, size_t length,
                               size_t *value)
{
    const st_family *family = expander->view.of.family;
    for (size_t i = 0; family != NULL && i < family->axis_count; i++) {
        const char *name = family->axes[i]->name;
        if (strlen(name) == length && memcmp(name, text, length) == 0) {
            *value = st_family_value(family, expander->view.of.index, i);
            return family->axes[i];
        }
    }
    return NULL;
}

/* `name` with values in its index, until the next call. */
static const char *resolve_name(st_expander *expander, const st_expr *name)
{
    const char *item = strchr(st_expr_name(name), '[');
    expander->name.length = 0;
    st_buffer_append(&expander->name, st_expr_name(name), (size_t)(item - st_expr_name(name)) + 1);
    for (item++; *item != '\0';) {
        size_t length = strcspn(item, ",]");
        size_t value = 0;
        const st_enum *axis = own_axis(expander, item, length, &value);
        if (*item == '*' && expander->view.star == NULL)
            return refuse(expander, name->operator_offset, ST_ERR_NAME,
                          "'%.60s' is outside of a reduction" ST_EXPECTED
                          "'*' in the only argument of sum, min, max, argmin or argmax",
                          st_expr_name(name));
        const char *shown = *item == '*'   ? expander->view.star->values[expander->view.star_value]
                            : axis != NULL ? axis->values[value]
                                           : item;
        st_buffer_append(&expander->name, shown, shown != item ? strlen(shown) : length);
        st_buffer_append(&expander->name, &item[length], 1);
        item += length + 1;
    }
    return expander->name.failed ? out_of_memory(expander) : expander->name.data;
}

static const st_type *type_of(st_expander *expander, const st_enum *axis)
{
    st_type *type = st_arena_alloc(expander->arena, 1, sizeof *type);
    if (type == NULL) {
        (void)out_of_memory(expander);
        return &st_type_pure;
    }
    *type = st_type_pure;
    type->kind = ST_TYPE_ENUM;
    type->enumeration = axis;
    return type;
}

/* --- what the own index decides -------------------------------------------------------------- */

static int decide(const st_expander *expander, const st_expr *expr)
{
    if (expr->kind == ST_EXPR_UNARY && expr->op == ST_OPERATOR_NOT) {
        int truth = decide(expander, st_expr_child(expr, 0));
        return truth < 0 ? truth : !truth;
    }
    if (expr->kind != ST_EXPR_BINARY)
        return -1;
    if (expr->op == ST_OPERATOR_EQUAL || expr->op == ST_OPERATOR_UNEQUAL) {
        /* 1 or 0 where a comparison of the own index with a value is decided, -1 where it is none.
         */
        for (size_t i = 0; i < 2; i++) {
            const st_expr *side = st_expr_child(expr, i);
            const st_expr *other = st_expr_child(expr, 1 - i);
            size_t value = 0;
            if (side->kind != ST_EXPR_NAME || other->kind != ST_EXPR_NAME)
                return -1;
            const st_enum *axis =
                own_axis(expander, st_expr_name(side), strlen(st_expr_name(side)), &value);
            size_t k = axis != NULL ? st_text_at(axis->values, axis->count, st_expr_name(other))
                                    : SIZE_MAX;
            if (k != SIZE_MAX)
                return (k == value) == (expr->op == ST_OPERATOR_EQUAL);
        }
        return -1;
    }
    if (expr->op != ST_OPERATOR_AND && expr->op != ST_OPERATOR_OR)
        return -1;
    int weak = expr->op == ST_OPERATOR_OR; /* either side alone makes the result */
    int left = decide(expander, st_expr_child(expr, 0));
    int right = decide(expander, st_expr_child(expr, 1));
    if (left == weak || right == weak)
        return weak;
    return left < 0 || right < 0 ? -1 : !weak;
}

/* The branch of a choice that the own index decides; NULL: it does not. */
static const st_expr *decided_branch(const st_expander *expander, const st_expr *node)
{
    if (node->kind != ST_EXPR_CALL || node->builtin != ST_BUILTIN_IF || node->child_count != 3)
        return NULL;
    int truth = decide(expander, st_expr_child(node, 0));
    return truth < 0 ? NULL : st_expr_child(node, truth == 1 ? 1 : 2);
}

static bool is_decided_zero(const st_expander *expander, const st_expr *node)
{
    const st_expr *branch = decided_branch(expander, node);
    return branch != NULL && branch->kind == ST_EXPR_NUMBER && branch->number == 0;
}

/* The child that is left of a choice, a sum or of 'and', 'or' when the own index is known; NULL:
 * all. */
static const st_expr *what_is_left(const st_expander *expander, const st_expr *node)
{
    if (expander->view.of.family == NULL)
        return NULL;
    if (node->kind == ST_EXPR_CALL)
        return decided_branch(expander, node);
    bool sum = node->kind == ST_EXPR_BINARY && node->op == ST_OPERATOR_PLUS;
    bool difference = node->kind == ST_EXPR_BINARY && node->op == ST_OPERATOR_MINUS;
    if ((sum || difference) && is_decided_zero(expander, st_expr_child(node, 1)))
        return st_expr_child(node, 0);
    if (sum && is_decided_zero(expander, st_expr_child(node, 0)))
        return st_expr_child(node, 1);
    if (node->kind != ST_EXPR_BINARY || (node->op != ST_OPERATOR_AND && node->op != ST_OPERATOR_OR))
        return NULL;
    int idle = node->op == ST_OPERATOR_AND;
    for (size_t i = 0; i < 2; i++)
        if (decide(expander, st_expr_child(node, i)) == idle)
            return st_expr_child(node, 1 - i);
    return NULL;
}

/* How tightly an operand in some place must bind; see st_operator_strength. */
enum { BINDS_ANY = 0, BINDS_AND = 2, BINDS_SUM = 5, BINDS_ATOM = 9 };

/* A copy of a tree whose text begins elsewhere, in parentheses where it binds weaker. */
static st_expr *copy_apart(st_expander *expander, const st_expr *node, int strength)
{
    size_t first = node->child_count > 0 ? st_expr_child(node, 0)->offset : 0;
    bool grouped = expander->view.source->text[node->offset] == '(' &&
                   (node->kind != ST_EXPR_BINARY || first > node->offset);
    bool group = st_operator_strength(node) < strength && !grouped;
    size_t start = expander->text.length;
    expander->view.from = node->offset;
    if (group)
        put_text(expander, node->offset, "(");
    st_expr *made = copy_node(expander, node);
    if (group)
        put_text(expander, st_expr_stop(node) - 1, ")");
    if (made != NULL) {
        made->offset = (uint32_t)start;
        made->length = (uint32_t)(expander->text.length - start);
    }
    return made;
}

/* --- reductions ------------------------------------------------------------------------------ */

typedef void st_star_visitor(st_expander *expander, const st_expr *name, const st_family *family,
                             size_t axis, void *context);

/* Calls `visit` for every '*' of a reduction's argument that is not in a reduction inside. */
static void visit_stars(st_expander *expander, const st_expr *expr, st_star_visitor *visit,
                        void *context)
{
    size_t axis = 0;
    const char *item = expr->kind == ST_EXPR_NAME ? strchr(st_expr_name(expr), '[') : NULL;
    for (; item != NULL && *item != ']' && !expander->failed; item += strcspn(item, ",]"), axis++) {
        item++;
        if (*item != '*')
            continue;
        const st_family *family = st_sheet_family(expander->sheet, st_expr_name(expr));
        if (family == NULL || axis >= family->axis_count) {
            (void)refuse(expander, expr->operator_offset, ST_ERR_NAME,
                         "%s" ST_EXPECTED "a family, declared with 'per'",
                         st_errors_text(expander->errors,
                                        family == NULL ? "'%.60s' is not a family of cells"
                                                       : "'%.60s' has too many indices",
                                        st_expr_name(expr)));
            return;
        }
        visit(expander, expr, family, axis, context);
    }
    for (size_t i = 0; i < expr->child_count; i++)
        if (!st_family_is_reduction(st_expr_child(expr, i)))
            visit_stars(expander, st_expr_child(expr, i), visit, context);
}

static void note_axis(st_expander *expander, const st_expr *name, const st_family *family,
                      size_t axis, void *context)
{
    const st_enum **known = context;
    if (*known != NULL && *known != family->axes[axis])
        (void)refuse(expander, name->operator_offset, ST_ERR_NAME,
                     "'*' ranges over both '%s' and '%s'" ST_EXPECTED
                     "one enumeration per reduction",
                     (*known)->name, family->axes[axis]->name);
    *known = family->axes[axis];
}

/* The conditions under which a value of '*' has all its members. */
typedef struct st_conditions_of {
    st_family_member items[8];
    size_t count;
} st_conditions_of;

static void note_condition(st_expander *expander, const st_expr *name, const st_family *family,
                           size_t axis, void *context)
{
    (void)axis;
    st_conditions_of *list = context;
    const char *member_name = resolve_name(expander, name);
    size_t member = member_name == NULL ? SIZE_MAX : st_family_find(family, member_name);
    if (member == SIZE_MAX || family->wheres[member] == NULL)
        return; /* a wrong index is reported where it is copied */
    const st_family_member noted = {family, member};
    if (st_family_same_condition(noted, expander->view.of))
        return; /* else nobody asks for the cell */
    for (size_t i = 0; i < list->count; i++)
        if (st_family_same_condition(noted, list->items[i]))
            return;
    if (list->count == sizeof list->items / sizeof list->items[0]) {
        (void)refuse(expander, name->operator_offset, ST_ERR_LIMIT,
                     "the reduction has too many families" ST_EXPECTED "at most 8 with 'where'");
        return;
    }
    list->items[list->count++] = noted;
}

static st_expr *copy_where(st_expander *expander, st_family_member member)
{
    st_view saved = expander->view;
    const st_formula *where = st_family_where(member);
    expander->view = (st_view){.source = where, .of = member};
    st_expr *made = copy_apart(expander, where->expr, BINDS_ANY);
    expander->view = saved;
    return made;
}

/* "a and b"; the nodes of one chain share the start of their text. */
static st_expr *copy_conditions(st_expander *expander, const st_conditions_of *list)
{
    st_expr *all = NULL;
    for (size_t i = 0; i < list->count && !expander->failed; i++) {
        st_expr *both = i == 0 ? NULL : new_node(expander, ST_EXPR_BINARY, 2);
        if (both != NULL && all != NULL) {
            both->op = ST_OPERATOR_AND;
            both->offset = all->offset;
            both->operator_offset = (uint32_t)expander->text.length + 1;
            put_text(expander, expander->view.from, " and ");
        }
        st_view saved = expander->view;
        const st_formula *where = st_family_where(list->items[i]);
        expander->view = (st_view){.source = where, .of = list->items[i]};
        st_expr *made =
            copy_apart(expander, where->expr, list->count == 1 ? BINDS_ANY : BINDS_AND + (i > 0));
        expander->view = saved;
        if (both != NULL && all != NULL && made != NULL) {
            st_relative_set(&both->children[0], all);
            st_relative_set(&both->children[1], made);
            made = finish(expander, both);
        }
        all = made;
    }
    return all;
}

static st_expr *copy_term(st_expander *expander, const st_expr *argument, size_t value,
                          int strength)
{
    expander->view.star_value = value;
    return copy_apart(expander, argument, strength);
}

/* "if("; its three arguments follow. */
static st_expr *begin_choice(st_expander *expander, size_t offset)
{
    st_expr *choice = new_node(expander, ST_EXPR_CALL, 3);
    if (choice == NULL)
        return NULL;
    choice->builtin = ST_BUILTIN_IF;
    st_relative_set(&choice->name_at, "if");
    choice->guards = true;
    put_text(expander, offset, "if(");
    return choice;
}

/* A term of a maximum; the first one in its place where a member of it does not exist. */
static st_expr *copy_guarded(st_expander *expander, const st_expr *argument, size_t value,
                             int strength)
{
    st_conditions_of conditions;
    conditions = (st_conditions_of){.count = 0};
    expander->view.star_value = value;
    visit_stars(expander, argument, note_condition, &conditions);
    if (conditions.count == 0 || expander->failed)
        return copy_term(expander, argument, value, strength);
    if (value == 0) {
        const st_family *family = conditions.items[0].family;
        return refuse(expander, argument->offset, ST_ERR_VALUE,
                      "the reduction may be empty: '%s' may not exist" ST_EXPECTED
                      "a first member without 'where', or use sum",
                      st_family_member_name(family, conditions.items[0].index, expander->arena));
    }
    st_expr *choice = begin_choice(expander, argument->offset);
    if (choice == NULL)
        return NULL;
    st_relative_set(&choice->children[0], copy_conditions(expander, &conditions));
    put_text(expander, argument->offset, ", ");
    st_relative_set(&choice->children[1], copy_term(expander, argument, value, BINDS_ANY));
    put_text(expander, argument->offset, ", ");
    st_relative_set(&choice->children[2], copy_term(expander, argument, 0, BINDS_ANY));
    put_text(expander, argument->offset, ")");
    return expander->failed ? NULL : finish(expander, choice);
}

static st_expr *copy_sum(st_expander *expander, const st_expr *argument, size_t count)
{
    st_expr *sum = copy_term(expander, argument, 0, count == 1 ? BINDS_ATOM : BINDS_SUM);
    for (size_t i = 1; i < count && !expander->failed; i++) {
        st_expr *both = new_node(expander, ST_EXPR_BINARY, 2);
        if (both == NULL)
            return NULL;
        both->op = ST_OPERATOR_PLUS;
        both->offset = sum->offset;
        both->operator_offset = (uint32_t)expander->text.length + 1;
        put_text(expander, argument->offset, " + ");
        st_relative_set(&both->children[0], sum);
        st_relative_set(&both->children[1], copy_term(expander, argument, i, BINDS_SUM + 1));
        sum = expander->failed ? NULL : finish(expander, both);
    }
    return sum;
}

static st_expr *copy_extreme(st_expander *expander, const st_expr *node, const st_enum *axis)
{
    st_expr *made = new_node(expander, ST_EXPR_CALL, axis->count);
    if (made == NULL)
        return NULL;
    made->builtin = node->builtin;
    st_relative_set(&made->name_at, st_expr_name(node));
    if (node->builtin == ST_BUILTIN_ARGMAX || node->builtin == ST_BUILTIN_ARGMIN)
        st_relative_set(&made->type_at, type_of(expander, axis));
    put_text(expander, node->offset, st_expr_name(node));
    put_text(expander, node->offset, "(");
    for (size_t i = 0; i < axis->count && !expander->failed; i++) {
        if (i > 0)
            put_text(expander, node->offset, ", ");
        st_relative_set(&made->children[i],
                        copy_guarded(expander, st_expr_child(node, 0), i, BINDS_ANY));
    }
    put_text(expander, st_expr_stop(node) - 1, ")");
    return expander->failed ? NULL : finish(expander, made);
}

/* NULL without an error where the argument has no '*': the checker reports what is missing. */
static const st_enum *axis_of(st_expander *expander, const st_expr *node)
{
    const st_enum *axis = NULL;
    visit_stars(expander, st_expr_child(node, 0), note_axis, &axis);
    return axis;
}

/* --- trees ----------------------------------------------------------------------------------- */

static st_expr *copy_whole(st_expander *expander, const st_expr *node)
{
    st_expr *made = new_node(expander, node->kind, node->child_count);
    if (made == NULL)
        return NULL;
    made->op = node->op;
    made->builtin = node->builtin;
    made->name_kind = node->name_kind;
    made->operator_offset = node->operator_offset;
    made->name_length = node->name_length;
    made->index = node->index;
    made->guards = node->guards;
    made->number = node->number;
    st_relative_set(&made->name_at, st_expr_name(node));
    st_relative_set(&made->type_at, st_expr_type(node));
    if (node->kind == ST_EXPR_NAME) {
        size_t value = 0;
        const char *name = st_expr_name(node);
        if (strchr(name, '[') != NULL) {
            /* The same for good. */
            const char *text = resolve_name(expander, node);
            name =
                text == NULL ? NULL : st_arena_copy(expander->arena, text, expander->name.length);
        } else {
            const st_enum *axis = own_axis(expander, name, strlen(name), &value);
            if (axis != NULL) {
                name = axis->values[value];
                st_relative_set(&made->type_at, type_of(expander, axis));
                made->number = (double)value;
            }
        }
        if (expander->failed || name == NULL) {
            (void)out_of_memory(expander);
        } else {
            st_relative_set(&made->name_at, name);
            copy_text(expander, node->operator_offset);
            made->operator_offset = (uint32_t)expander->text.length;
            made->name_length = (uint32_t)strlen(name);
            put_text(expander, node->operator_offset, name);
            expander->view.from = (size_t)node->operator_offset + node->name_length;
        }
    }
    for (size_t i = 0; i < node->child_count && !expander->failed; i++) {
        expander->root = node->kind == ST_EXPR_CALL ? st_expr_child(node, i) : expander->root;
        st_relative_set(&made->children[i], copy_node(expander, st_expr_child(node, i)));
        if (node->kind == ST_EXPR_BINARY && i == 0)
            made->operator_offset =
                (uint32_t)(expander->text.length + node->operator_offset - expander->view.from);
    }
    copy_text(expander, st_expr_stop(node));
    return expander->failed ? NULL : finish(expander, made);
}

static st_expr *copy_node(st_expander *expander, const st_expr *node)
{
    if (expander->failed)
        return NULL;
    copy_text(expander, node->offset);
    const st_enum *axis = st_family_is_reduction(node) ? axis_of(expander, node) : NULL;
    if (axis != NULL && !expander->failed) {
        const st_enum *outer = expander->view.star;
        size_t outer_value = expander->view.star_value;
        const st_expr *argument = st_expr_child(node, 0);
        bool sum = node->builtin == ST_BUILTIN_SUM;
        bool extreme = node->builtin == ST_BUILTIN_MIN || node->builtin == ST_BUILTIN_MAX;
        bool root = node == expander->root;
        st_expr *made = NULL;
        expander->view.star = axis;
        if (sum && (root || axis->count == 1)) {
            made = copy_sum(expander, argument, axis->count);
        } else if (sum) {
            size_t start = expander->text.length;
            put_text(expander, node->offset, "(");
            made = copy_sum(expander, argument, axis->count);
            put_text(expander, st_expr_stop(node) - 1, ")");
            if (made != NULL) {
                made->offset = (uint32_t)start;
                made->length = (uint32_t)(expander->text.length - start);
            }
        } else if (extreme && axis->count == 1) {
            made = copy_guarded(expander, argument, 0, BINDS_ATOM);
        } else {
            made = copy_extreme(expander, node, axis);
        }
        expander->view.star = outer;
        expander->view.star_value = outer_value;
        expander->view.from = st_expr_stop(node);
        return made;
    }
    const st_expr *left = what_is_left(expander, node);
    if (left == NULL)
        return copy_whole(expander, node);
    bool root = node == expander->root;
    expander->root = root ? left : expander->root;
    st_expr *made = copy_apart(expander, left, root ? BINDS_ANY : BINDS_ATOM);
    expander->view.from = st_expr_stop(node);
    return made;
}

/* "0[GiB]": what a member that does not exist is. */
static st_expr *zero_of(st_expander *expander, const st_type *type)
{
    bool truth = type->kind == ST_TYPE_BOOL;
    st_expr *zero = new_node(expander, truth ? ST_EXPR_BOOL : ST_EXPR_NUMBER, 0);
    if (zero == NULL)
        return NULL;
    bool pure = strcmp(type->unit.text, "1") == 0;
    const char *text = truth || pure ? (truth ? "false" : "0")
                                     : st_arena_printf(expander->arena, "0[%s]", type->unit.text);
    if (text == NULL)
        return out_of_memory(expander);
    st_relative_set(&zero->name_at, text);
    st_relative_set(&zero->type_at, type);
    put_text(expander, expander->view.from, text);
    return finish(expander, zero);
}

static st_expr *copy_member(st_expander *expander, const st_type *type, const st_expr *root)
{
    const st_family_member of = expander->view.of;
    if (type == NULL || st_family_where(of) == NULL) {
        expander->root = root;
        return copy_apart(expander, root, BINDS_ANY);
    }
    st_expr *choice = begin_choice(expander, root->offset);
    if (choice == NULL)
        return NULL;
    st_relative_set(&choice->children[0], copy_where(expander, of));
    put_text(expander, root->offset, ", ");
    expander->root = root;
    st_relative_set(&choice->children[1], copy_apart(expander, root, BINDS_ANY));
    put_text(expander, root->offset, ", ");
    st_relative_set(&choice->children[2], zero_of(expander, type));
    put_text(expander, root->offset, ")");
    return expander->failed ? NULL : finish(expander, choice);
}

void st_family_expand(st_expansion *expansion, st_family_member of, const st_type *type,
                      st_formula *formula)
{
    st_arena *arena = expansion->arena;
    if (formula->expr == NULL ||
        (of.family == NULL && (!formula->indexed || !st_family_has_places(formula->expr))))
        return;
    st_formula *source = st_arena_alloc(arena, 1, sizeof *source);
    st_expander expander = {.sheet = expansion->sheet,
                            .arena = arena,
                            .errors = expansion->errors,
                            .text = expansion->text,
                            .name = expansion->name};
    expander.text.length = 0;
    if (source != NULL)
        *source = *formula;
    expander.view = (st_view){.source = source != NULL ? source : formula, .of = of};
    formula->expr = source == NULL ? NULL : copy_member(&expander, type, source->expr);
    const char *text =
        formula->expr == NULL || expander.text.failed
            ? NULL
            : st_arena_copy(arena, expander.text.data == NULL ? "" : expander.text.data,
                            expander.text.length);
    if (text == NULL) {
        formula->expr = out_of_memory(&expander);
    } else {
        formula->text = text;
        formula->length = expander.text.length;
        formula->pieces = expander.pieces;
        formula->piece_count = expander.piece_count;
        formula->sources = expander.sources;
        formula->source_count = expander.source_count;
    }
    expansion->text = expander.text;
    expansion->name = expander.name;
}
