/* SPDX-License-Identifier: Apache-2.0 */
/* What depends on a provider; see program.h. */
#include "program/instructions.h"

#include <string.h>

typedef struct reach {
    bool *slots; /* that depend on it */
    bool found;  /* an operand is one of them */
} reach;

static void look(void *context, uint32_t slot)
{
    reach *self = context;
    self->found = self->found || self->slots[slot];
}

size_t st_program_first_dependent(const st_program *program, const char *provider, st_arena *arena)
{
    reach self = {.slots = st_arena_alloc(arena, program->slot_count + 1, sizeof *self.slots)};
    for (size_t i = 0; self.slots != NULL && i < program->instruction_count; i++) {
        const st_instruction *each = &program->instructions[i];
        self.found =
            each->op == ST_OP_CALL && strcmp(program->calls[each->a].provider->name, provider) == 0;
        st_instruction_visit(program, each, look, &self);
        self.slots[each->target] = self.found;
    }
    size_t check = 0;
    while (self.slots != NULL && check < program->check_count &&
           !self.slots[program->checks[check].slot])
        check++;
    return check;
}
