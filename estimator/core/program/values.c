/* SPDX-License-Identifier: Apache-2.0 */
/* Making values: folding, sharing, and the few rewrites that keep every bit. */
#include "program/values.h"

#include <math.h>
#include <string.h>

static uint64_t mix(uint64_t hash, uint64_t word)
{
    hash = (hash ^ word) * 0x9E3779B97F4A7C15ULL;
    return hash ^ (hash >> 29);
}

/* Room for more values, of which there are half as many as slots of the index at most. */
static bool make_room(st_dataflow *graph, size_t count)
{
    st_value *values =
        st_arena_grow(graph->arena, graph->values, sizeof *values, count, &graph->capacity);
    graph->failed = values == NULL || graph->count >= ST_GRAPH_MAX_VALUES ||
                    !st_index_reserve(&graph->index, graph->arena, graph->capacity);
    graph->values = graph->failed ? graph->values : values;
    return !graph->failed;
}

void st_dataflow_begin(st_dataflow *graph, size_t values)
{
    enum { MOST = 8192 };
    (void)make_room(graph, values < MOST ? values : MOST);
}

static bool same_value(const st_value *a, const st_value *b)
{
    /* Constants by their bits: 0 and -0 differ. */
    return a->op == b->op && a->a == b->a && a->b == b->b && a->c == b->c &&
           memcmp(&a->constant, &b->constant, sizeof(a->constant)) == 0;
}

/* The value's number: that of an equal one, or a new one. */
static uint32_t intern(st_dataflow *graph, const st_value *value)
{
    uint64_t bits = 0;
    memcpy(&bits, &value->constant, sizeof(bits));
    const uint64_t hash = bits + ((uint64_t)value->op << 32 | value->c) * 0xD6E8FEB86659FD93ULL +
                          ((uint64_t)value->a << 32 | value->b) * 0x9E3779B97F4A7C15ULL;
    uint32_t found = 0;
    if (graph->failed || (graph->count == graph->capacity && !make_room(graph, graph->count + 1)))
        return ST_NO_VALUE;
    ST_INDEX_FIND(&graph->index, hash, found, same_value(&graph->values[found], value));
    if (found != ST_INDEX_NONE)
        return found;
    graph->values[graph->count] = *value;
    st_index_put(&graph->index, (st_index_slot){st_index_mix(hash), (uint32_t)graph->count + 1});
    return (uint32_t)graph->count++;
}

uint32_t st_dataflow_constant(st_dataflow *graph, double constant)
{
    return intern(graph, &(st_value){.op = ST_OP_CONSTANT, .constant = constant});
}

uint32_t st_dataflow_input(st_dataflow *graph, uint32_t input)
{
    return intern(graph, &(st_value){.op = ST_OP_INPUT, .a = input});
}

static bool is_constant(const st_dataflow *graph, uint32_t value, double *constant)
{
    *constant = graph->values[value].constant;
    return graph->values[value].op == ST_OP_CONSTANT;
}

/* A folded result; values that do not exist stay operations, so that they can be explained. */
static uint32_t fold(st_dataflow *graph, const st_value *value, double x, double y)
{
    double result = st_apply(value->op, x, y, 0);
    return isfinite(result) ? st_dataflow_constant(graph, result) : intern(graph, value);
}

uint32_t st_dataflow_unary(st_dataflow *graph, st_op op, uint32_t a)
{
    double x = 0;
    if (a == ST_NO_VALUE)
        return ST_NO_VALUE;
    st_value value = {.op = op, .a = a};
    return is_constant(graph, a, &x) ? fold(graph, &value, x, 0) : intern(graph, &value);
}

static void note_unsettled(void *context, uint32_t operand)
{
    bool *const *pair = context; /* of the operands and of the value */
    *pair[1] = *pair[1] && pair[0][operand];
}

bool *st_dataflow_settled(const st_dataflow *graph)
{
    bool *settled = st_arena_alloc(graph->arena, graph->count + 1, sizeof *settled);
    for (uint32_t i = 0; i < graph->count && settled != NULL; i++) {
        st_op op = graph->values[i].op;
        bool *pair[] = {settled, &settled[i]};
        settled[i] = op != ST_OP_INPUT && op != ST_OP_CALL;
        st_dataflow_operands(graph, i, note_unsettled, pair);
    }
    return settled;
}

static bool is_commutative(st_op op)
{
    switch (op) {
    case ST_OP_ADD:
    case ST_OP_MULTIPLY:
    case ST_OP_MIN:
    case ST_OP_MAX:
    case ST_OP_EQUAL:
    case ST_OP_UNEQUAL:
    case ST_OP_AND:
    case ST_OP_OR:
        return true;
    default:
        return false;
    }
}

/* True when dividing by `x` is the same, to the last bit, as multiplying by 1/x. */
static bool has_exact_reciprocal(double x)
{
    int exponent = 0;
    return isnormal(x) && isnormal(1.0 / x) && fabs(frexp(x, &exponent)) == 0.5;
}

/* A constant operand that leaves nothing to compute; ST_NO_VALUE when there is something. */
static uint32_t simplify(st_dataflow *graph, st_op op, uint32_t value, double constant,
                         bool on_right)
{
    switch (op) {
    case ST_OP_MULTIPLY:
        return constant == 1.0 ? value : ST_NO_VALUE;
    case ST_OP_DIVIDE:
        return on_right && constant == 1.0 ? value : ST_NO_VALUE;
    case ST_OP_AND:
        return constant == 1.0 ? value : st_dataflow_constant(graph, 0.0);
    case ST_OP_OR:
        return constant == 0.0 ? value : st_dataflow_constant(graph, 1.0);
    default:
        return ST_NO_VALUE;
    }
}

uint32_t st_dataflow_binary(st_dataflow *graph, st_op op, uint32_t a, uint32_t b)
{
    double x = 0;
    double y = 0;
    if (a == ST_NO_VALUE || b == ST_NO_VALUE)
        return ST_NO_VALUE;
    bool left = is_constant(graph, a, &x);
    bool right = is_constant(graph, b, &y);
    st_value value = {.op = op, .a = a, .b = b};
    if (left && right)
        return fold(graph, &value, x, y);
    if (left || right) {
        uint32_t simple = simplify(graph, op, left ? b : a, left ? x : y, right);
        if (simple != ST_NO_VALUE)
            return simple;
        if (op == ST_OP_DIVIDE && right && has_exact_reciprocal(y)) {
            value.op = ST_OP_MULTIPLY;
            value.b = st_dataflow_constant(graph, 1.0 / y);
        }
    }
    if (is_commutative(value.op) && value.a > value.b) {
        uint32_t swap = value.a;
        value.a = value.b;
        value.b = swap;
    }
    return intern(graph, &value);
}

uint32_t st_dataflow_select(st_dataflow *graph, uint32_t condition, uint32_t a, uint32_t b)
{
    double c = 0;
    if (condition == ST_NO_VALUE || a == ST_NO_VALUE || b == ST_NO_VALUE)
        return ST_NO_VALUE;
    if (is_constant(graph, condition, &c))
        return c == 1.0 ? a : b;
    /* A choice in the branch of the same choice is made already. */
    const st_value *taken = &graph->values[a];
    const st_value *other = &graph->values[b];
    a = taken->op == ST_OP_SELECT && taken->c == condition ? taken->a : a;
    b = other->op == ST_OP_SELECT && other->c == condition ? other->b : b;
    return intern(graph, &(st_value){.op = ST_OP_SELECT, .a = a, .b = b, .c = condition});
}

/* --- calls of providers ---------------------------------------------------------------------- */

static bool same_call(const st_call *call, const st_provider *provider, const uint32_t *arguments)
{
    return call->provider == provider &&
           memcmp(call->arguments, arguments, provider->argument_count * sizeof *arguments) == 0;
}

uint32_t st_dataflow_call(st_dataflow *graph, const st_provider *provider,
                          const uint32_t *arguments)
{
    size_t count = provider->argument_count;
    for (size_t i = 0; i < count; i++)
        if (arguments[i] == ST_NO_VALUE)
            return ST_NO_VALUE;
    uint64_t hash = mix(0, (uint64_t)(uintptr_t)provider);
    for (size_t i = 0; i < provider->argument_count; i++)
        hash = mix(hash, arguments[i]);
    uint32_t found = 0;
    ST_INDEX_FIND(&graph->call_index, hash, found,
                  same_call(&graph->calls[found], provider, arguments));
    if (found == ST_INDEX_NONE) {
        st_call call = {.provider = provider,
                        .arguments = st_arena_alloc(graph->arena, count + 1, sizeof *arguments)};
        if (call.arguments != NULL)
            memcpy(call.arguments, arguments, count * sizeof *arguments);
        found = (uint32_t)graph->call_count;
        graph->failed = graph->failed ||
                        !ST_APPEND(graph->arena, graph->calls, graph->call_count, call) ||
                        !st_index_add(&graph->call_index, graph->arena, hash, found);
    }
    return intern(graph, &(st_value){.op = ST_OP_CALL, .a = found});
}

void st_dataflow_operands(const st_dataflow *graph, uint32_t value,
                          void (*visit)(void *context, uint32_t operand), void *context)
{
    const st_value *v = &graph->values[value];
    if (v->op == ST_OP_CONSTANT || v->op == ST_OP_INPUT)
        return;
    if (v->op == ST_OP_CALL) {
        const st_call *call = &graph->calls[v->a];
        for (size_t i = 0; i < call->provider->argument_count; i++)
            visit(context, call->arguments[i]);
        return;
    }
    visit(context, v->a);
    if (v->op >= ST_OP_ADD)
        visit(context, v->b);
    if (v->op == ST_OP_SELECT)
        visit(context, v->c);
}
