/* SPDX-License-Identifier: Apache-2.0 */
/*
 * From the value graph to a program: only what an output or a check needs, in graph order, with
 * registers shared by values whose lives do not meet.
 */
#include "program/instructions.h"

#include "base/memory.h"

#include <string.h>

/* Registers of a block should fit into the second-level cache with room for the caller's columns.
 */
enum { BLOCK_BUDGET_BYTES = 192 * 1024, BLOCK_LEAST_ROWS = 64, BLOCK_MOST_ROWS = 512 };

typedef struct st_emitter {
    const st_dataflow *graph;
    st_program *program;
    st_arena *arena;
    bool *live;      /* per value: something needs it */
    uint32_t *slots; /* per value */
} st_emitter;

/* --- which values are needed ----------------------------------------------------------------- */

static void mark_live(void *context, uint32_t operand)
{
    ((st_emitter *)context)->live[operand] = true;
}

/* --- instructions ---------------------------------------------------------------------------- */

static bool emit_calls(st_emitter *emitter)
{
    const st_dataflow *graph = emitter->graph;
    st_program *program = emitter->program;
    program->calls = st_arena_alloc(emitter->arena, graph->call_count + 1, sizeof(st_program_call));
    if (program->calls == NULL)
        return false;
    program->call_count = graph->call_count;
    for (size_t i = 0; i < graph->call_count; i++) {
        size_t count = graph->calls[i].provider->argument_count;
        uint32_t *arguments = st_arena_alloc(emitter->arena, count + 1, sizeof(*arguments));
        if (arguments == NULL)
            return false;
        for (size_t j = 0; j < count; j++)
            arguments[j] = emitter->slots[graph->calls[i].arguments[j]];
        program->calls[i] =
            (st_program_call){.provider = graph->calls[i].provider, .arguments = arguments};
        program->argument_count = count > program->argument_count ? count : program->argument_count;
    }
    for (size_t i = 0; i < program->instruction_count; i++) {
        const st_instruction *each = &program->instructions[i];
        if (each->op == ST_OP_CALL) {
            program->calls[each->a].target = each->target;
            program->calls[each->a].runs = true;
        }
    }
    return true;
}

static bool emit_instructions(st_emitter *emitter)
{
    const st_dataflow *graph = emitter->graph;
    st_program *program = emitter->program;
    program->instructions =
        st_arena_alloc(emitter->arena, graph->count + 1, sizeof(st_instruction));
    if (program->instructions == NULL)
        return false;
    uint32_t slot = st_program_first_result(program);
    for (size_t i = 0; i < graph->count; i++) {
        const st_value *value = &graph->values[i];
        if (!emitter->live[i] || value->op == ST_OP_INPUT || value->op == ST_OP_CONSTANT)
            continue;
        bool call = value->op == ST_OP_CALL;
        program->instructions[program->instruction_count++] =
            (st_instruction){.op = value->op,
                             .target = slot,
                             .a = call ? value->a : emitter->slots[value->a],
                             .b = call || value->op < ST_OP_ADD ? 0 : emitter->slots[value->b],
                             .c = value->op == ST_OP_SELECT ? emitter->slots[value->c] : 0};
        emitter->slots[i] = slot++;
    }
    program->slot_count = slot;
    return true;
}

/* --- registers ------------------------------------------------------------------------------- */

typedef struct st_allocator {
    st_program *program;
    size_t *last_use;    /* per slot: index of the last instruction that reads it, plus one */
    size_t now;          /* index of the current instruction, plus one */
    uint32_t *free_list; /* registers that nobody lives in */
    size_t free_count;
} st_allocator;

static void note_use(void *context, uint32_t slot)
{
    st_allocator *allocator = context;
    allocator->last_use[slot] = allocator->now;
}

static void take_register(st_allocator *allocator, uint32_t slot)
{
    allocator->program->registers[slot] = allocator->free_count > 0
                                              ? allocator->free_list[--allocator->free_count]
                                              : (uint32_t)allocator->program->register_count++;
}

static void release_register(void *context, uint32_t slot)
{
    st_allocator *allocator = context;
    uint32_t *registers = allocator->program->registers;
    if (allocator->last_use[slot] == allocator->now && registers[slot] != ST_NO_REGISTER) {
        allocator->free_list[allocator->free_count++] = registers[slot];
        /* Only once, even when an instruction reads the slot twice. */
        allocator->last_use[slot] = 0;
    }
}

static bool allocate_registers(st_emitter *emitter)
{
    st_program *program = emitter->program;
    size_t count = program->slot_count + 1;
    st_allocator allocator = {.program = program};
    program->registers = st_arena_alloc(emitter->arena, count, sizeof(*program->registers));
    allocator.last_use = st_arena_alloc(emitter->arena, count, sizeof(*allocator.last_use));
    allocator.free_list = st_arena_alloc(emitter->arena, count, sizeof(*allocator.free_list));
    if (program->registers == NULL || allocator.last_use == NULL || allocator.free_list == NULL)
        return false;
    for (size_t i = 0; i < program->instruction_count; i++) {
        allocator.now = i + 1;
        st_instruction_visit(program, &program->instructions[i], note_use, &allocator);
    }
    for (uint32_t slot = 0; slot < program->slot_count; slot++) {
        program->registers[slot] = ST_NO_REGISTER;
        if (slot < program->sheet->input_count && allocator.last_use[slot] > 0)
            take_register(&allocator, slot);
    }
    for (size_t i = 0; i < program->instruction_count; i++) {
        allocator.now = i + 1;
        uint32_t target = program->instructions[i].target;
        /* The target is taken first: a kernel never writes where it reads. */
        take_register(&allocator, target);
        st_instruction_visit(program, &program->instructions[i], release_register, &allocator);
        if (allocator.last_use[target] == 0) {
            /* An output that no instruction reads: it is copied out at once. */
            allocator.free_list[allocator.free_count++] = program->registers[target];
        }
    }
    return true;
}

/* --- outputs and checks ---------------------------------------------------------------------- */

static st_status find_output(const st_sheet *sheet, const char *name, st_program_output *output,
                             uint32_t *cell, uint32_t *input, st_errors *errors)
{
    size_t index = 0;
    *cell = ST_NO_VALUE;
    *input = ST_NO_VALUE;
    output->name = name;
    if (st_names_get(&sheet->cell_names, name, &index)) {
        output->type = &sheet->cells[index].type;
        *cell = (uint32_t)index;
        return ST_OK;
    }
    if (st_names_get(&sheet->input_names, name, &index)) {
        output->type = &sheet->inputs[index].type;
        *input = (uint32_t)index;
        return ST_OK;
    }
    return st_fail(errors, ST_ERR_USAGE, (st_place){0},
                   "sheet '%s' has no cell '%.60s'" ST_HINT "%s", sheet->name, name,
                   st_or_none(st_sheet_nearest(sheet, name)));
}

/* What was asked for, kept for as long as the program: the names of the outputs (every cell unless
 * some are given) and the list of providers. */
static st_status keep_options(st_program *program, const st_program_options *options,
                              st_arena *arena, st_errors *errors)
{
    const st_sheet *sheet = program->sheet;
    bool every = options->outputs == NULL;
    size_t count = every ? sheet->cell_count : options->output_count;
    const char **names = st_arena_alloc(arena, count + 1, sizeof(*names));
    const st_provider **providers =
        st_arena_alloc(arena, options->provider_count + 1, sizeof(*providers));
    program->outputs = st_arena_alloc(arena, count + 1, sizeof(*program->outputs));
    if (names == NULL || providers == NULL || program->outputs == NULL)
        return st_out_of_memory(errors);
    for (size_t i = 0; i < options->provider_count; i++)
        providers[i] = options->providers[i];
    for (size_t i = 0; i < count; i++) {
        const char *name = every ? sheet->cells[i].name : options->outputs[i];
        names[i] = every ? name : st_arena_copy(arena, name, strlen(name));
        if (names[i] == NULL)
            return st_out_of_memory(errors);
    }
    program->output_count = count;
    program->options = *options;
    program->options.outputs = names;
    program->options.output_count = count;
    program->options.providers = providers;
    program->options.given = NULL; /* sessions, which explain, have all of the sheet */
    return ST_OK;
}

/* Lowers what outputs and checks need; roots[i] becomes the value of the i-th of them. */
static st_status lower_roots(st_program *program, st_lowering *lowering, uint32_t *roots,
                             st_errors *errors)
{
    const st_sheet *sheet = program->sheet;
    st_arena *arena = lowering->graph.arena;
    size_t count = program->output_count;
    bool *needed = st_arena_alloc(arena, sheet->cell_count + 1, sizeof(*needed));
    uint32_t *cells = st_arena_alloc(arena, count + 1, sizeof(*cells));
    uint32_t *inputs = st_arena_alloc(arena, count + 1, sizeof(*inputs));
    if (needed == NULL || cells == NULL || inputs == NULL)
        return st_out_of_memory(errors);
    /* Finds what the outputs are: a cell or an input each. */
    st_status status = ST_OK;
    for (size_t i = 0; i < program->output_count; i++)
        st_note(&status, find_output(program->sheet, program->options.outputs[i],
                                     &program->outputs[i], &cells[i], &inputs[i], errors));
    if (status != ST_OK)
        return status;
    for (size_t i = 0; i < program->output_count; i++)
        if (cells[i] != ST_NO_VALUE)
            needed[cells[i]] = true;
    for (size_t i = 0; i < program->check_count; i++)
        st_lowering_mark(lowering, program->sheet->checks[i].expr, needed);
    /* A check and all that its message shows must have values. */
    status = ST_OK;
    for (size_t i = 0; i < program->check_count; i++) {
        st_status searched = st_lowering_search(lowering, sheet->checks[i].expr, errors);
        status = status == ST_OK ? searched : status;
        for (size_t j = 0; j < sheet->messages[i].count; j++) {
            const st_expr *shown = sheet->messages[i].parts[j].formula.expr;
            searched = shown == NULL ? ST_OK : st_lowering_search(lowering, shown, errors);
            status = status == ST_OK ? searched : status;
        }
    }
    st_status lowered = st_lowering_cells(lowering, needed, errors);
    if (status != ST_OK || lowered != ST_OK)
        return status == ST_OK ? lowered : status;
    for (size_t i = 0; i < count; i++)
        roots[i] = cells[i] != ST_NO_VALUE ? lowering->cells[cells[i]]
                                           : st_dataflow_input(&lowering->graph, inputs[i]);
    for (size_t i = 0; i < program->check_count; i++)
        roots[count + i] = st_lower(lowering, sheet->checks[i].expr, NULL);
    return st_lowering_status(lowering, errors);
}

static st_status emit(st_program *program, const st_lowering *lowering, const uint32_t *roots,
                      st_errors *errors)
{
    const st_dataflow *graph = &lowering->graph;
    st_emitter emitter = {.graph = graph, .program = program, .arena = graph->arena};
    size_t root_count = program->output_count + program->check_count;
    emitter.live = st_arena_alloc(graph->arena, graph->count + 1, sizeof(*emitter.live));
    emitter.slots = st_arena_alloc(graph->arena, graph->count + 1, sizeof(*emitter.slots));
    program->checks =
        st_arena_alloc(graph->arena, program->check_count + 1, sizeof(*program->checks));
    if (emitter.live == NULL || emitter.slots == NULL || program->checks == NULL)
        return st_out_of_memory(errors);
    for (size_t i = 0; i < root_count; i++)
        emitter.live[roots[i]] = true;
    for (size_t i = emitter.graph->count; i-- > 0;)
        if (emitter.live[i])
            st_dataflow_operands(emitter.graph, (uint32_t)i, mark_live, &emitter);
    const st_dataflow *constant_graph = emitter.graph;
    st_program *constant_program = emitter.program;
    constant_program->constants =
        st_arena_alloc(emitter.arena, constant_graph->count + 1, sizeof(double));
    if (constant_program->constants == NULL)
        return st_out_of_memory(errors);
    for (size_t i = 0; i < constant_graph->count; i++) {
        const st_value *value = &constant_graph->values[i];
        if (value->op == ST_OP_INPUT) {
            emitter.slots[i] = value->a;
        } else if (value->op == ST_OP_CONSTANT && emitter.live[i]) {
            emitter.slots[i] =
                (uint32_t)(constant_program->sheet->input_count + constant_program->constant_count);
            constant_program->constants[constant_program->constant_count++] = value->constant;
        }
    }
    if (!emit_instructions(&emitter) || !emit_calls(&emitter) ||
        !st_program_find_nested(program, graph->arena) || !allocate_registers(&emitter))
        return st_out_of_memory(errors);
    program->instructions[program->instruction_count].op = ST_OP_CONSTANT; /* ends the list */
    program->grouped = program->instructions;
    if (!program->options.few_rows && !st_program_group(program, graph->arena))
        return st_out_of_memory(errors);
    for (size_t i = 0; i < root_count; i++) {
        st_program_output *output = i < program->output_count
                                        ? &program->outputs[i]
                                        : &program->checks[i - program->output_count];
        output->slot = emitter.slots[roots[i]];
    }
    size_t registers = program->register_count + 1;
    size_t rows = BLOCK_BUDGET_BYTES / sizeof(double) / registers / 16 * 16;
    rows = rows < BLOCK_LEAST_ROWS ? BLOCK_LEAST_ROWS : rows;
    program->block_rows = rows > BLOCK_MOST_ROWS ? BLOCK_MOST_ROWS : rows;
    return ST_OK;
}

st_status st_program_compile(const st_sheet *sheet, const st_program_options *options,
                             st_arena *arena, const st_program **program, st_errors *errors)
{
    static const st_program_options everything = {0};
    const st_program_options *wanted = options == NULL ? &everything : options;
    st_program *compiled = st_arena_alloc(arena, 1, sizeof(*compiled));
    st_lowering lowering;
    if (compiled == NULL)
        return st_out_of_memory(errors);
    compiled->sheet = sheet;
    compiled->check_count = wanted->without_checks ? 0 : sheet->check_count;
    st_status status = keep_options(compiled, wanted, arena, errors);
    if (status == ST_OK)
        status = st_lowering_begin(&lowering, sheet, wanted, arena, errors);
    if (status != ST_OK)
        return status;
    size_t root_count = compiled->output_count + compiled->check_count;
    uint32_t *roots = st_arena_alloc(arena, root_count + 1, sizeof(*roots));
    if (roots == NULL)
        return st_out_of_memory(errors);
    status = lower_roots(compiled, &lowering, roots, errors);
    if (status == ST_OK)
        status = emit(compiled, &lowering, roots, errors);
    if (status == ST_OK)
        *program = compiled;
    return status;
}
