/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The order of instructions for single rows: the same operations side by side.
 *
 * A single estimate pays for every change of operation (a jump that is hard to predict) and for
 * every result that the next instruction waits for. Taking all ready instructions of one operation
 * at a time makes both rare; the operation whose results have most changes before them comes next,
 * so that the others gather meanwhile. Blocks keep the graph's order, which needs fewer registers.
 */
#include "program/instructions.h"

enum { OPS = ST_OP_CALL + 1, MOST_OPERANDS = ST_EXPR_MAX_ARGUMENTS };

typedef struct st_grouping {
    const st_program *program;
    size_t *waiting;    /* per instruction: operands that are not computed yet */
    size_t *changes;    /* per instruction: 1 + most changes of operation on a way to an end */
    size_t *first_user; /* per instruction: its users, as a list of edges + 1 */
    size_t *edge_user;
    size_t *edge_next;
    size_t edge_count;
    size_t *ready_next;        /* per instruction: the next in its list of ready ones, + 1 */
    size_t ready_first[OPS];   /* + 1; 0: none */
    size_t ready_last[OPS];    /* + 1 */
    size_t ready_changes[OPS]; /* the most of its ready ones; 0: none */
} st_grouping;

static size_t operands_of(const st_program *program, const st_instruction *instruction,
                          uint32_t *slots)
{
    if (instruction->op == ST_OP_CALL) {
        const st_program_call *call = &program->calls[instruction->a];
        for (size_t i = 0; i < call->provider->argument_count; i++)
            slots[i] = call->arguments[i];
        return call->provider->argument_count;
    }
    slots[0] = instruction->a;
    slots[1] = instruction->b;
    slots[2] = instruction->c;
    return instruction->op == ST_OP_SELECT ? 3 : instruction->op >= ST_OP_ADD ? 2 : 1;
}

static void make_ready(st_grouping *grouping, size_t instruction)
{
    st_op op = grouping->program->instructions[instruction].op;
    if (grouping->ready_first[op] == 0)
        grouping->ready_first[op] = instruction + 1;
    else
        grouping->ready_next[grouping->ready_last[op] - 1] = instruction + 1;
    grouping->ready_last[op] = instruction + 1;
    if (grouping->changes[instruction] > grouping->ready_changes[op])
        grouping->ready_changes[op] = grouping->changes[instruction];
}

/* From the last instruction to the first: users come behind what they use. */
static void count_changes(st_grouping *grouping)
{
    const st_program *program = grouping->program;
    uint32_t first = st_program_first_result(program);
    uint32_t slots[MOST_OPERANDS];
    for (size_t i = program->instruction_count; i-- > 0;) {
        const st_instruction *user = &program->instructions[i];
        size_t count = operands_of(program, user, slots);
        grouping->changes[i] += grouping->changes[i] == 0;
        for (size_t j = 0; j < count; j++) {
            if (slots[j] < first)
                continue;
            const size_t used = slots[j] - first;
            const size_t changes =
                grouping->changes[i] + (program->instructions[used].op != user->op);
            if (changes > grouping->changes[used])
                grouping->changes[used] = changes;
        }
    }
}

static void link_users(st_grouping *grouping)
{
    const st_program *program = grouping->program;
    uint32_t first = st_program_first_result(program);
    uint32_t slots[MOST_OPERANDS];
    for (size_t i = 0; i < program->instruction_count; i++) {
        size_t count = operands_of(program, &program->instructions[i], slots);
        for (size_t j = 0; j < count; j++) {
            if (slots[j] < first)
                continue;
            size_t edge = grouping->edge_count++;
            grouping->edge_user[edge] = i;
            grouping->edge_next[edge] = grouping->first_user[slots[j] - first];
            grouping->first_user[slots[j] - first] = edge + 1;
            grouping->waiting[i]++;
        }
        if (grouping->waiting[i] == 0)
            make_ready(grouping, i);
    }
}

static size_t take(st_grouping *grouping, st_op op)
{
    size_t instruction = grouping->ready_first[op] - 1;
    grouping->ready_first[op] = grouping->ready_next[instruction];
    for (size_t edge = grouping->first_user[instruction]; edge != 0;
         edge = grouping->edge_next[edge - 1]) {
        size_t user = grouping->edge_user[edge - 1];
        if (--grouping->waiting[user] == 0)
            make_ready(grouping, user);
    }
    return instruction;
}

static st_op most_urgent(const st_grouping *grouping)
{
    st_op best = ST_OP_CONSTANT;
    for (st_op op = ST_OP_CONSTANT; op <= ST_OP_CALL; op++)
        if (grouping->ready_changes[op] > grouping->ready_changes[best])
            best = op;
    return best;
}

bool st_program_group(st_program *program, st_arena *arena)
{
    size_t count = program->instruction_count;
    uint32_t slots[MOST_OPERANDS];
    size_t edges = 0;
    for (size_t i = 0; i < program->instruction_count; i++)
        edges += operands_of(program, &program->instructions[i], slots);
    st_grouping grouping = {.program = program};
    grouping.waiting = st_arena_alloc(arena, count + 1, sizeof(size_t));
    grouping.changes = st_arena_alloc(arena, count + 1, sizeof(size_t));
    grouping.first_user = st_arena_alloc(arena, count + 1, sizeof(size_t));
    grouping.ready_next = st_arena_alloc(arena, count + 1, sizeof(size_t));
    grouping.edge_user = st_arena_alloc(arena, edges + 1, sizeof(size_t));
    grouping.edge_next = st_arena_alloc(arena, edges + 1, sizeof(size_t));
    program->grouped = st_arena_alloc(arena, count + 1, sizeof(*program->grouped));
    if (grouping.waiting == NULL || grouping.changes == NULL || grouping.first_user == NULL ||
        grouping.ready_next == NULL || grouping.edge_user == NULL || grouping.edge_next == NULL ||
        program->grouped == NULL)
        return false;
    count_changes(&grouping);
    link_users(&grouping);
    size_t done = 0;
    while (done < count) {
        st_op op = most_urgent(&grouping);
        while (grouping.ready_first[op] != 0)
            program->grouped[done++] = program->instructions[take(&grouping, op)];
        grouping.ready_changes[op] = 0;
    }
    program->grouped[count].op = ST_OP_CONSTANT; /* ends the last group */
    return true;
}
