/* SPDX-License-Identifier: Apache-2.0 */
/* See row_product.h. */
#include "program/row_product.h"

#include "program/scalar.h"

#include <stdlib.h>
#include <string.h>

enum {
    LISTS = ST_PRODUCT_LISTS,
    CLASSES = LISTS * LISTS, /* by first and last list */
    NOBODY = -1,
    ALIGNMENT = 64
};

#define NO_VALUE UINT32_MAX

/* The values that depend on some neighbouring lists. */
typedef struct row_class {
    size_t first; /* its lists */
    size_t last;
    size_t first_step;
    size_t end_step;
    size_t first_turn;
    size_t end_turn;
    size_t registers;
    bool is_used; /* it has values */
    /* In the current run. */
    size_t rows;
    size_t stride;   /* rows of the product from one of its own to the next */
    uint64_t base;   /* number of its first row, counted in its stride */
    uint64_t period; /* its rows begin anew after so many; 0: never */
    double *memory;
} row_class;

/* What has a register: a slot, or one that was spread. */
typedef struct value {
    int of;        /* its class */
    uint32_t last; /* the time of its last use */
    uint32_t place;
} value;

/* The values that a step reads and writes, in the end their places; NO_VALUE: none, or not its to
 * place. */
typedef struct uses {
    uint32_t a;
    uint32_t b;
    uint32_t c;
    uint32_t out;
} uses;

typedef struct turn {
    size_t step; /* runs before this step */
    const st_program_call *call;
    uint32_t *arguments; /* values, in the end their places; NO_VALUE for scalars */
    uint32_t out;
} turn;

/* A register: its class, and its number among those of the class. */
typedef struct place {
    int of;
    size_t number;
} place;

typedef struct fetch {
    size_t list;
    uint32_t into;
} fetch;

/* A class whose values another one reads. */
typedef struct spread_pair {
    int from;
    int to;
    uint32_t *numbers; /* of the rows of `from`, per row of `to`, where rows are picked */
} spread_pair;

struct st_product_layout {
    const st_program *program;
    st_arena *arena; /* of what is laid out */
    uint8_t *input_lists;
    size_t list_count;
    size_t most_rows;
    bool ready;
    row_class classes[CLASSES];
    int *of;                    /* per slot: its class */
    uint32_t failures[CLASSES]; /* value: what checks say that no longer class has yet */
    bool failed; /* memory for the lists that follow, which are kept from layout to layout */
    value *values;
    size_t value_count;
    size_t value_room;
    uint32_t *spread_into; /* per slot: the value that is spread over the class at hand */
    int *spread_for;       /* per slot: that class */
    st_step *steps;
    size_t step_count;
    size_t step_room;
    uses *uses; /* per step */
    size_t uses_room;
    turn *turns;
    size_t turn_count;
    fetch *fetches;
    size_t fetch_count;
    st_copy *copies;
    size_t copy_count;
    /* Of picked rows, `most_rows` for each class or list. */
    uint32_t *row_of;   /* per class and picked row: the row of the class */
    uint32_t *picks;    /* per class and row of it: the first picked row that comes to it */
    uint32_t *prefixes; /* per list and picked row: the combination of this list and those before */
    uint32_t *seen;     /* per combination of a class: 1 + its row; 0: it did not come yet */
    st_spread spreads[CLASSES][CLASSES];
    bool is_spread[CLASSES][CLASSES];
    spread_pair pairs[CLASSES * CLASSES]; /* those of is_spread */
    size_t pair_count;
    place *places;
    size_t place_count;
    double **memory;   /* per place, in the current run; behind them NULL, and what steps read that
                        * is the same in all rows */
    double *registers; /* a block for each place, and one for each argument of a provider */
};

/* Rows up to a cache line's end. */
static size_t padded(size_t rows)
{
    return (rows + ST_REGISTER_LANES - 1) / ST_REGISTER_LANES * ST_REGISTER_LANES;
}

/* --- classes --------------------------------------------------------------------------------- */

static int class_of_lists(size_t first, size_t last)
{
    return (int)(first * LISTS + last);
}

static int whole_class(const st_product_layout *plan)
{
    return class_of_lists(0, plan->list_count - 1);
}

typedef struct class_finder {
    const st_product_layout *plan;
    int found;
} class_finder;

static void join_slot(void *context, uint32_t slot)
{
    class_finder *finder = context;
    /* The class of what reads two classes; NOBODY: a scalar. */
    const int a = finder->found;
    const int b = finder->plan->of[slot];
    if (a == NOBODY || b == NOBODY) {
        finder->found = a == NOBODY ? b : a;
    } else {
        size_t first = (size_t)(a < b ? a : b) / LISTS;
        size_t last_of_a = (size_t)a % LISTS;
        size_t last_of_b = (size_t)b % LISTS;
        finder->found = class_of_lists(first, last_of_a > last_of_b ? last_of_a : last_of_b);
    }
}

/* --- steps ----------------------------------------------------------------------------------- */

static uint32_t add_value(st_product_layout *plan, int of)
{
    if (!ST_ROOM(plan->values, plan->value_count, plan->value_room)) {
        plan->failed = true;
        return NO_VALUE;
    }
    plan->values[plan->value_count] = (value){.of = of, .place = NO_VALUE};
    return (uint32_t)plan->value_count++;
}

static void add_step(st_product_layout *plan, const st_step *step, const uses *its)
{
    if (!ST_ROOM(plan->steps, plan->step_count, plan->step_room) ||
        !ST_ROOM(plan->uses, plan->step_count, plan->uses_room)) {
        plan->failed = true;
        return;
    }
    plan->steps[plan->step_count] = *step;
    plan->uses[plan->step_count++] = *its;
}

static uint32_t spread(st_product_layout *plan, uint32_t number, int from, int to)
{
    const st_step step = {.op = ST_STEP_SPREAD, .spread = &plan->spreads[from][to]};
    const uint32_t into = add_value(plan, to);
    if (!plan->is_spread[from][to])
        plan->pairs[plan->pair_count++] = (spread_pair){.from = from, .to = to};
    plan->is_spread[from][to] = true;
    add_step(plan, &step, &(uses){.a = number, .b = NO_VALUE, .c = NO_VALUE, .out = into});
    return into;
}

/* The value of a slot over the rows of a class; NO_VALUE: a scalar. */
static uint32_t value_in(st_product_layout *plan, uint32_t slot, int of)
{
    int has = plan->of[slot];
    if (has == NOBODY)
        return NO_VALUE;
    if (has == of)
        return slot;
    if (plan->spread_for[slot] != of)
        plan->spread_into[slot] = spread(plan, slot, has, of);
    plan->spread_for[slot] = of;
    return plan->spread_into[slot];
}

static uint32_t operand(st_product_layout *plan, const st_workspace *workspace, uint32_t slot,
                        int of, const double **scalar)
{
    uint32_t found = value_in(plan, slot, of);
    *scalar = found == NO_VALUE ? &workspace->scalars[slot] : NULL;
    return found;
}

static void add_operation(st_product_layout *plan, const st_workspace *workspace,
                          const st_instruction *instruction, int of)
{
    const uint32_t *branch = st_layout_branch(workspace, instruction);
    st_step step = {.op = branch != NULL ? ST_STEP_COPY : instruction->op};
    uses its = {NO_VALUE, NO_VALUE, NO_VALUE, instruction->target};
    if (instruction->op == ST_OP_CALL) {
        const st_program_call *call = &plan->program->calls[instruction->a];
        size_t count = call->provider->argument_count;
        uint32_t *arguments = st_arena_alloc(plan->arena, count + 1, sizeof *arguments);
        for (size_t i = 0; arguments != NULL && i < count; i++)
            arguments[i] = value_in(plan, call->arguments[i], of);
        const turn one = {.step = plan->step_count,
                          .call = call,
                          .arguments = arguments,
                          .out = instruction->target};
        (void)ST_APPEND(plan->arena, plan->turns, plan->turn_count, one);
        return;
    }
    its.a = operand(plan, workspace, branch != NULL ? *branch : instruction->a, of, &step.a);
    if (branch == NULL && instruction->op >= ST_OP_ADD)
        its.b = operand(plan, workspace, instruction->b, of, &step.b);
    if (branch == NULL && instruction->op == ST_OP_SELECT)
        its.c = operand(plan, workspace, instruction->c, of, &step.c);
    step.scalars = (step.a != NULL ? ST_SCALAR_A : 0U) | (step.b != NULL ? ST_SCALAR_B : 0U) |
                   (step.c != NULL ? ST_SCALAR_C : 0U);
    add_step(plan, &step, &its);
}

/* A step of the failures of a class: of all rows, which are the target's, or in its register. */
static void add_failure(st_product_layout *plan, int of, st_step step, uint32_t reads)
{
    uint32_t *into = &plan->failures[of];
    uses its = {reads, NO_VALUE, NO_VALUE, NO_VALUE};
    if (of == whole_class(plan)) {
        const st_copy one = {.step = plan->step_count, .output = ST_VERDICTS};
        (void)ST_APPEND(plan->arena, plan->copies, plan->copy_count, one);
    } else {
        step.scalars = *into == NO_VALUE ? ST_SCALAR_B : 0U;
        if (*into == NO_VALUE)
            *into = add_value(plan, of);
        its.out = *into;
    }
    add_step(plan, &step, &its);
}

/* What the checks of a class say, and with these all that is said in classes within it: rows of the
 * longest class look at few failures instead of at every check. */
static void add_failures(st_product_layout *plan, const st_workspace *workspace, int of,
                         const st_targets *targets)
{
    bool has_checks = of == whole_class(plan);
    for (size_t i = 0; i < workspace->copy_count; i++) {
        const st_copy *copy = &workspace->copies[i];
        const st_step *like = &workspace->steps[copy->step];
        if (copy->output != ST_VERDICTS)
            continue;
        const uint32_t slot = plan->program->checks[like->codes - targets->codes].slot;
        if (plan->of[slot] != of)
            continue;
        has_checks = true;
        add_failure(plan, of, (st_step){.op = ST_STEP_CHECK, .codes = like->codes}, slot);
    }
    for (int from = 0; from < CLASSES && has_checks; from++) {
        const bool is_within =
            from != of && from / LISTS >= of / LISTS && from % LISTS <= of % LISTS;
        const uint32_t said = plan->failures[from];
        if (!is_within || said == NO_VALUE)
            continue;
        add_failure(plan, of, (st_step){.op = ST_STEP_CHECK}, spread(plan, said, from, of));
        plan->failures[from] = NO_VALUE;
    }
}

static void add_class(st_product_layout *plan, const st_workspace *workspace, size_t first,
                      size_t last, const st_targets *targets)
{
    const int of = class_of_lists(first, last);
    row_class *into = &plan->classes[of];
    *into = (row_class){.first = first,
                        .last = last,
                        .first_step = plan->step_count,
                        .first_turn = plan->turn_count};
    /* Rows of few steps wait for jumps, which the order of single rows has fewer of. */
    const st_instruction *order =
        of == whole_class(plan) ? plan->program->instructions : plan->program->grouped;
    if (first == last) {
        for (uint32_t i = 0; i < plan->program->sheet->input_count; i++) {
            const fetch one = {first, i};
            if (workspace->varies[i] && plan->input_lists[i] == first + 1) {
                (void)ST_APPEND(plan->arena, plan->fetches, plan->fetch_count, one);
                into->is_used = true;
            }
        }
    }
    for (size_t i = 0; i < plan->program->instruction_count; i++) {
        const st_instruction *instruction = order + i;
        if (plan->of[instruction->target] == of && workspace->needed[instruction->target])
            add_operation(plan, workspace, instruction, of);
    }
    add_failures(plan, workspace, of, targets);
    const size_t count = plan->program->output_count;
    for (size_t i = 0; i < workspace->copy_count && of == whole_class(plan); i++) {
        const st_copy *copy = &workspace->copies[i];
        if (copy->output == ST_VERDICTS)
            continue;
        const uint32_t slot = copy->output < count
                                  ? plan->program->outputs[copy->output].slot
                                  : plan->program->checks[copy->output - count].slot;
        const uses its = {value_in(plan, slot, of), NO_VALUE, NO_VALUE, NO_VALUE};
        const st_copy one = {.step = plan->step_count, .output = copy->output};
        (void)ST_APPEND(plan->arena, plan->copies, plan->copy_count, one);
        add_step(plan, &(st_step){.op = ST_STEP_COPY}, &its);
    }
    into->end_step = plan->step_count;
    into->end_turn = plan->turn_count;
    into->is_used =
        into->is_used || into->end_step > into->first_step || into->end_turn > into->first_turn;
}

/* --- registers ------------------------------------------------------------------------------- */

/* Registers that nobody lives in, as a stack for each class that goes through `next`. */
typedef struct pool {
    st_product_layout *plan;
    uint32_t *next; /* per register */
    uint32_t free[CLASSES];
} register_pool;

static void take(register_pool *pool, uint32_t number)
{
    st_product_layout *plan = pool->plan;
    value *one = number != NO_VALUE ? &plan->values[number] : NULL;
    if (one == NULL || one->place != NO_VALUE) /* failures are written again and again */
        return;
    one->place = pool->free[one->of];
    if (one->place != NO_VALUE) {
        pool->free[one->of] = pool->next[one->place];
        return;
    }
    one->place = (uint32_t)plan->place_count++;
    plan->places[one->place] = (place){one->of, plan->classes[one->of].registers++};
}

/* Goes through what the steps and turns read and write, in their order; the target is taken first:
 * a kernel never writes where it reads. */
static void live(register_pool *pool, size_t at, bool is_turn, uint32_t time)
{
    st_product_layout *plan = pool->plan;
    const turn *call = is_turn ? &plan->turns[at] : NULL;
    const uses its = is_turn ? (uses){.out = call->out} : plan->uses[at];
    const uint32_t *reads = is_turn ? call->arguments : &its.a;
    size_t count = is_turn ? call->call->provider->argument_count : 3;
    bool places = pool->next != NULL;
    if (places)
        take(pool, its.out);
    for (size_t i = 0; i < count && !places; i++) {
        const uint32_t number = reads[i];
        if (number != NO_VALUE)
            plan->values[number].last = time;
    }
    for (size_t i = 0; i < count && places; i++) {
        const uint32_t number = reads[i];
        value *one = number != NO_VALUE ? &pool->plan->values[number] : NULL;
        if (one == NULL || one->last != time)
            continue;
        one->last = 0; /* once only, even when it is read twice */
        pool->next[one->place] = pool->free[one->of];
        pool->free[one->of] = one->place;
    }
}

static void live_all(register_pool *pool)
{
    st_product_layout *plan = pool->plan;
    uint32_t time = 0;
    size_t next_turn = 0;
    for (size_t step = 0; step <= plan->step_count; step++) {
        for (; next_turn < plan->turn_count && plan->turns[next_turn].step == step; next_turn++)
            live(pool, next_turn, true, ++time);
        if (step < plan->step_count)
            live(pool, step, false, ++time);
    }
}

static void settle(const st_product_layout *plan, uint32_t *number)
{
    if (*number != NO_VALUE)
        *number = plan->values[*number].place;
}

/* Memory that is touched only where rows are picked. */
static bool make_picks(st_product_layout *plan)
{
    const size_t columns = 2 * CLASSES + LISTS + 1 + plan->pair_count;
    plan->row_of = calloc(columns * padded(plan->most_rows), sizeof *plan->row_of);
    if (plan->row_of == NULL)
        return false;
    plan->picks = plan->row_of + CLASSES * plan->most_rows;
    plan->prefixes = plan->picks + CLASSES * plan->most_rows;
    plan->seen = plan->prefixes + LISTS * plan->most_rows;
    for (size_t i = 0; i < plan->pair_count; i++)
        plan->pairs[i].numbers = plan->seen + plan->most_rows + i * padded(plan->most_rows);
    return true;
}

/* What steps read, and where they write, as entries of `memory`. */
static bool list_memory(st_product_layout *plan, double *scalars)
{
    const uint32_t nothing = (uint32_t)plan->place_count;
    size_t count = plan->place_count + 1;
    plan->memory = st_arena_alloc(plan->arena, count + 3 * plan->step_count, sizeof *plan->memory);
    for (size_t i = 0; plan->memory != NULL && i < plan->step_count; i++) {
        uses *its = &plan->uses[i];
        const st_step *step = &plan->steps[i];
        const double *const same[] = {step->a, step->b, step->c};
        uint32_t *const entries[] = {&its->a, &its->b, &its->c};
        settle(plan, &its->out);
        its->out = its->out == NO_VALUE ? nothing : its->out;
        for (size_t k = 0; k < 3; k++) {
            settle(plan, entries[k]);
            if (*entries[k] != NO_VALUE)
                continue;
            *entries[k] = same[k] != NULL ? (uint32_t)count : nothing;
            if (same[k] != NULL)
                plan->memory[count++] = scalars + (same[k] - scalars);
        }
    }
    return plan->memory != NULL;
}

static bool assign_registers(st_product_layout *plan, double *scalars)
{
    register_pool pool = {.plan = plan};
    uint32_t *next = st_arena_alloc(plan->arena, plan->value_count + 1, sizeof *next);
    plan->places = st_arena_alloc(plan->arena, plan->value_count + 1, sizeof *plan->places);
    if (st_arena_failed(plan->arena))
        return false;
    for (size_t i = 0; i < CLASSES; i++)
        pool.free[i] = NO_VALUE;
    live_all(&pool);
    pool.next = next;
    for (size_t i = 0; i < plan->fetch_count; i++)
        take(&pool, plan->fetches[i].into);
    live_all(&pool);
    /* From now on only places count. */
    if (!list_memory(plan, scalars))
        return false;
    for (size_t i = 0; i < plan->fetch_count; i++)
        settle(plan, &plan->fetches[i].into);
    for (size_t i = 0; i < plan->turn_count; i++) {
        settle(plan, &plan->turns[i].out);
        for (size_t k = 0; k < plan->turns[i].call->provider->argument_count; k++)
            settle(plan, &plan->turns[i].arguments[k]);
    }
    size_t blocks = plan->place_count + plan->program->argument_count + 1;
    size_t bytes = blocks * padded(plan->most_rows) * sizeof(double);
    plan->registers = aligned_alloc(ALIGNMENT, (bytes + ALIGNMENT - 1) / ALIGNMENT * ALIGNMENT);
    return plan->registers != NULL && make_picks(plan);
}

/* --- making ---------------------------------------------------------------------------------- */

static bool begin(st_product_layout *plan)
{
    const size_t slots = plan->program->slot_count;
    st_arena_destroy(plan->arena);
    free(plan->registers);
    free(plan->row_of);
    plan->registers = NULL;
    plan->row_of = NULL;
    plan->failed = false;
    plan->place_count = plan->value_count = plan->step_count = 0;
    plan->turn_count = plan->fetch_count = plan->copy_count = plan->pair_count = 0;
    memset(plan->is_spread, 0, sizeof plan->is_spread);
    for (size_t i = 0; i < CLASSES; i++)
        plan->failures[i] = NO_VALUE;
    plan->arena = st_arena_create();
    if (plan->arena == NULL)
        return false;
    plan->of = st_arena_alloc(plan->arena, slots + 1, sizeof *plan->of);
    plan->spread_into = st_arena_alloc(plan->arena, slots + 1, sizeof *plan->spread_into);
    plan->spread_for = st_arena_alloc(plan->arena, slots + 1, sizeof *plan->spread_for);
    return !st_arena_failed(plan->arena);
}

void st_product_make(st_product_layout *plan, st_workspace *workspace, const st_targets *targets)
{
    plan->ready = false;
    if (!begin(plan))
        return;
    /* Every slot's class. */
    const st_program *program = plan->program;
    for (size_t i = 0; i < program->slot_count; i++)
        plan->of[i] = NOBODY;
    for (size_t i = 0; i < program->sheet->input_count; i++) {
        size_t list = plan->input_lists[i];
        if (workspace->varies[i] && (list == 0 || list > plan->list_count))
            return;
        if (workspace->varies[i])
            plan->of[i] = class_of_lists(list - 1, list - 1);
    }
    for (size_t i = 0; i < program->instruction_count; i++) {
        const st_instruction *instruction = &program->instructions[i];
        class_finder finder = {plan, NOBODY};
        if (!workspace->varies[instruction->target])
            continue;
        st_layout_visit(workspace, instruction, join_slot, &finder);
        plan->of[instruction->target] = finder.found;
    }
    for (size_t i = 0; i < plan->program->slot_count; i++) {
        (void)add_value(plan, plan->of[i]);
        plan->spread_for[i] = NOBODY;
    }
    /* A class reads those that lie within it, which are shorter. */
    for (size_t length = 0; length < plan->list_count; length++)
        for (size_t first = 0; first + length < plan->list_count; first++)
            add_class(plan, workspace, first, first + length, targets);
    plan->ready = !plan->failed && !st_arena_failed(plan->arena) &&
                  assign_registers(plan, workspace->scalars);
}

bool st_product_is_ready(const st_product_layout *plan)
{
    return plan != NULL && plan->ready;
}

st_product_layout *st_product_create(const st_program *program, const uint8_t *input_lists,
                                     size_t list_count, size_t most_rows)
{
    st_product_layout *made = calloc(1, sizeof *made);
    const size_t inputs = program->sheet->input_count;
    if (made == NULL)
        return NULL;
    *made = (st_product_layout){.program = program,
                                .input_lists = calloc(inputs + 1, sizeof *input_lists),
                                .list_count = list_count,
                                .most_rows = most_rows};
    if (made->input_lists == NULL || list_count == 0 || list_count > LISTS) {
        st_product_destroy(made);
        return NULL;
    }
    memcpy(made->input_lists, input_lists, inputs * sizeof *input_lists);
    return made;
}

void st_product_destroy(st_product_layout *plan)
{
    if (plan == NULL)
        return;
    st_arena_destroy(plan->arena);
    free(plan->input_lists);
    free(plan->registers);
    free(plan->row_of);
    free(plan->values);
    free(plan->steps);
    free(plan->uses);
    free(plan);
}

/* --- running --------------------------------------------------------------------------------- */

/* A class that the rows repeat has a product of its own, from its first row on; one that reads it
 * may be repeated or not, but what a repeated class reads is. */
static void aim_spread(const row_class *from, const row_class *to, st_spread *spread)
{
    const uint64_t row = to->base * to->stride;
    const uint64_t plan = row / from->stride;
    spread->times = from->stride / to->stride;
    spread->left = spread->times - (size_t)(row / to->stride % spread->times);
    spread->period = from->rows;
    spread->numbers = NULL;
    spread->at = (size_t)(from->period > 0 ? plan % from->period : plan - from->base);
}

static uint64_t combinations(const st_product *now, size_t first, size_t last)
{
    uint64_t count = 1;
    for (size_t i = first; i <= last; i++)
        count *= now->counts[i];
    return count;
}

bool st_product_is_pickable(const st_product_layout *plan, const st_product *product)
{
    uint64_t count = 1;
    for (size_t i = 0; i < plan->list_count && count <= plan->most_rows; i++)
        count *= i > 0 ? product->counts[i] : 1;
    return count <= plan->most_rows && product->counts[0] <= UINT32_MAX / count;
}

static void find_prefixes(const st_product_layout *plan, const st_product *now, size_t rows)
{
    size_t list = plan->list_count - 1;
    uint32_t *inner = plan->prefixes + list * plan->most_rows;
    for (size_t row = 0; row < rows; row++)
        inner[row] = (uint32_t)(now->first + now->picked[row]);
    for (; list > 0; list--) {
        uint32_t *outer = inner - plan->most_rows;
        const uint32_t count = (uint32_t)now->counts[list];
        if (count == 1) {
            memcpy(outer, inner, rows * sizeof *outer);
        } else {
            /* Exact, and a division of vectors: quotient times divisor has less than 32 bits. */
            const double divisor = (double)count;
            for (size_t row = 0; row < rows; row++)
                outer[row] = (uint32_t)((double)inner[row] / divisor);
        }
        inner = outer;
    }
}

/* The rows of a class are the combinations of its lists that the picked rows come to. */
static void pick_class(st_product_layout *plan, const st_product *now, size_t of, size_t rows)
{
    row_class *into = &plan->classes[of];
    const uint32_t period = (uint32_t)combinations(now, into->first, into->last);
    const uint32_t *prefix = plan->prefixes + into->last * plan->most_rows;
    uint32_t *row_of = plan->row_of + of * plan->most_rows;
    uint32_t *picks = plan->picks + of * plan->most_rows;
    uint32_t count = 0;
    if (into->first == 0) { /* these only rise */
        for (uint32_t row = 0; row < rows; row++) {
            if (row == 0 || prefix[row] != prefix[row - 1])
                picks[count++] = row;
            row_of[row] = count - 1;
        }
    } else {
        const uint32_t *before = plan->prefixes + (into->first - 1) * plan->most_rows;
        memset(plan->seen, 0, period * sizeof *plan->seen);
        for (uint32_t row = 0; row < rows; row++) {
            uint32_t *seen = &plan->seen[prefix[row] - before[row] * period];
            if (*seen == 0) {
                picks[count++] = row;
                *seen = count;
            }
            row_of[row] = *seen - 1;
        }
    }
    into->rows = count;
}

static void size_picked(st_product_layout *plan, const st_product *now, size_t rows)
{
    double *memory = plan->registers;
    find_prefixes(plan, now, rows);
    for (size_t i = 0; i < CLASSES; i++) {
        row_class *into = &plan->classes[i];
        if (i / LISTS > i % LISTS || i % LISTS >= plan->list_count)
            continue;
        if (into->is_used)
            pick_class(plan, now, i, rows);
        into->memory = memory;
        memory += into->registers * padded(into->rows);
    }
    for (size_t i = 0; i < plan->pair_count; i++) {
        const spread_pair *pair = &plan->pairs[i];
        const uint32_t *row_of = plan->row_of + (size_t)pair->from * plan->most_rows;
        const uint32_t *picks = plan->picks + (size_t)pair->to * plan->most_rows;
        const size_t count = plan->classes[pair->to].rows;
        for (size_t row = 0; row < count; row++)
            pair->numbers[row] = row_of[picks[row]];
        for (size_t row = count; row < padded(count); row++)
            pair->numbers[row] = 0;
        st_spread *its = &plan->spreads[pair->from][pair->to];
        its->numbers = pair->numbers;
        its->period = plan->classes[pair->from].rows;
    }
}

static void size_classes(st_product_layout *plan, const st_product *now, size_t rows)
{
    double *memory = plan->registers;
    for (size_t i = 0; i < CLASSES; i++) {
        row_class *into = &plan->classes[i];
        if (i / LISTS > i % LISTS || i % LISTS >= plan->list_count)
            continue;
        /* The rows of the product that those of a class represent, `rows` of them from now->first
         * on. */
        const uint64_t period = combinations(now, into->first, into->last);
        into->stride = combinations(now, into->last + 1, plan->list_count - 1);
        uint64_t begin = now->first / into->stride;
        uint64_t end = (now->first + rows - 1) / into->stride + 1;
        bool is_repeated = into->first > 0 && period * into->stride <= rows;
        into->period = is_repeated ? period : 0;
        into->base = is_repeated ? 0 : begin;
        into->rows = (size_t)(is_repeated ? period : end - begin);
        into->memory = memory;
        memory += into->registers * padded(into->rows);
    }
    for (size_t i = 0; i < plan->pair_count; i++) {
        const spread_pair *pair = &plan->pairs[i];
        aim_spread(&plan->classes[pair->from], &plan->classes[pair->to],
                   &plan->spreads[pair->from][pair->to]);
    }
}

/* Up to step `end`. */
static void run_steps(const st_product_layout *plan, const st_workspace *workspace, size_t done,
                      size_t end, size_t rows)
{
    if (done < end)
        workspace->kernels(plan->steps + done, end - done, rows);
}

void st_product_run(st_product_layout *plan, st_workspace *workspace, const st_product *product,
                    const st_targets *targets)
{
    if (product->picked != NULL)
        size_picked(plan, product, targets->rows);
    else
        size_classes(plan, product, targets->rows);
    for (size_t i = 0; i < plan->place_count; i++) {
        const row_class *its = &plan->classes[plan->places[i].of];
        plan->memory[i] = its->memory + plan->places[i].number * padded(its->rows);
    }
    for (size_t i = 0; i < plan->step_count; i++) {
        const uses *its = &plan->uses[i];
        st_step *step = &plan->steps[i];
        step->a = plan->memory[its->a];
        step->b = plan->memory[its->b];
        step->c = plan->memory[its->c];
        step->out = plan->memory[its->out];
    }
    for (size_t i = 0; i < plan->fetch_count; i++) {
        const fetch *one = &plan->fetches[i];
        const size_t of = (size_t)class_of_lists(one->list, one->list);
        const row_class *its = &plan->classes[of];
        const size_t count = product->counts[one->list];
        size_t digit = (size_t)(its->base % count);
        double *into = plan->memory[one->into];
        for (size_t row = 0; product->picked != NULL && row < its->rows; row++) {
            const size_t pick = plan->picks[of * plan->most_rows + row];
            into[row] =
                product
                    ->lists[one->list][plan->prefixes[one->list * plan->most_rows + pick] % count];
        }
        for (size_t row = 0; product->picked == NULL && row < its->rows; row++) {
            into[row] = product->lists[one->list][digit];
            digit = digit + 1 == count ? 0 : digit + 1;
        }
    }
    for (size_t i = 0; i < plan->copy_count; i++) {
        const st_copy *copy = &plan->copies[i];
        plan->steps[copy->step].out = copy->output == ST_VERDICTS
                                          ? targets->failures
                                          : st_target_of(workspace, targets, copy->output);
    }
    for (size_t length = 0; length < plan->list_count; length++)
        for (size_t first = 0; first + length < plan->list_count; first++) {
            const row_class *class_rows = &plan->classes[class_of_lists(first, first + length)];
            size_t done = class_rows->first_step;
            for (size_t i = class_rows->first_turn; i < class_rows->end_turn; i++) {
                const turn *now = &plan->turns[i];
                run_steps(plan, workspace, done, now->step, class_rows->rows);
                size_t rows = class_rows->rows;
                const st_program_call *call = now->call;
                for (size_t j = 0; j < call->provider->argument_count; j++) {
                    double *block =
                        plan->registers + (plan->place_count + j) * padded(plan->most_rows);
                    workspace->arguments[j] = block;
                    if (now->arguments[j] != NO_VALUE) {
                        workspace->arguments[j] = plan->memory[now->arguments[j]];
                        continue;
                    }
                    for (size_t row = 0; row < rows; row++)
                        block[row] = workspace->scalars[call->arguments[j]];
                }
                st_provider_call(call->provider, rows, workspace->arguments,
                                 plan->memory[now->out]);
                done = now->step;
            }
            run_steps(plan, workspace, done, class_rows->end_step, class_rows->rows);
        }
}
