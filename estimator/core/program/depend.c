/* SPDX-License-Identifier: Apache-2.0 */
/* What instructions read, and what depends on a provider; see program.h. */
#include "program/instructions.h"

#include <string.h>

void st_instruction_visit(const st_program *program, const st_instruction *instruction,
                          void (*visit)(void *context, uint32_t slot), void *context)
{
    if (instruction->op == ST_OP_CALL) {
        const st_program_call *call = &program->calls[instruction->a];
        for (size_t i = 0; i < call->provider->argument_count; i++)
            visit(context, call->arguments[i]);
        return;
    }
    visit(context, instruction->a);
    if (instruction->op >= ST_OP_ADD)
        visit(context, instruction->b);
    if (instruction->op == ST_OP_SELECT)
        visit(context, instruction->c);
}

typedef struct reach {
    bool *slots; /* that depend on it */
    bool found;  /* an operand is one of them */
} reach;

static void look(void *context, uint32_t slot)
{
    reach *search = context;
    search->found = search->found || search->slots[slot];
}

bool st_program_find_nested(st_program *program, st_arena *arena)
{
    reach search = {.slots = st_arena_alloc(arena, program->slot_count + 1, sizeof *search.slots)};
    for (size_t i = 0; search.slots != NULL && i < program->instruction_count; i++) {
        const st_instruction *each = &program->instructions[i];
        st_program_call *call = each->op == ST_OP_CALL ? &program->calls[each->a] : NULL;
        search.found = false;
        st_instruction_visit(program, each, look, &search);
        if (call != NULL)
            call->is_nested = search.found;
        search.slots[each->target] =
            search.found || (call != NULL && call->provider->put_off != NULL);
    }
    return search.slots != NULL;
}

size_t st_program_first_dependent(const st_program *program, const char *provider, st_arena *arena)
{
    reach search = {.slots = st_arena_alloc(arena, program->slot_count + 1, sizeof *search.slots)};
    for (size_t i = 0; search.slots != NULL && i < program->instruction_count; i++) {
        const st_instruction *each = &program->instructions[i];
        search.found =
            each->op == ST_OP_CALL && strcmp(program->calls[each->a].provider->name, provider) == 0;
        st_instruction_visit(program, each, look, &search);
        search.slots[each->target] = search.found;
    }
    size_t check = 0;
    while (search.slots != NULL && check < program->check_count &&
           !search.slots[program->checks[check].slot])
        check++;
    return check;
}
