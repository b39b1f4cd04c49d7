/* SPDX-License-Identifier: Apache-2.0 */
/* Looking at a program. */
#include "program/instructions.h"

static const char *const op_symbols[] = {"constant", "input",
#define ST_SYMBOL(name, symbol, value) symbol,
                                         ST_UNARY_OPS(ST_SYMBOL) ST_BINARY_OPS(ST_SYMBOL)
#undef ST_SYMBOL
                                             "if",
                                         "call"};

const st_sheet *st_program_sheet(const st_program *program)
{
    return program->sheet;
}

size_t st_program_output_count(const st_program *program)
{
    return program->output_count;
}

const char *st_program_output_name(const st_program *program, size_t index)
{
    return program->outputs[index].name;
}

const st_type *st_program_output_type(const st_program *program, size_t index)
{
    return program->outputs[index].type;
}

size_t st_program_operation_count(const st_program *program)
{
    return program->instruction_count;
}

size_t st_program_register_count(const st_program *program)
{
    return program->register_count;
}

static void print_slot(const st_program *program, uint32_t slot, st_buffer *buffer)
{
    char text[ST_QUANTITY_TEXT];
    uint32_t constants = st_program_first_constant(program);
    uint32_t results = st_program_first_result(program);
    if (slot < constants)
        st_buffer_text(buffer, program->sheet->inputs[slot].name);
    else if (slot < results)
        st_buffer_text(buffer,
                       st_number_format(program->constants[slot - constants], text, sizeof(text)));
    else
        st_buffer_printf(buffer, "%%%u", slot - results);
}

void st_program_print(const st_program *program, st_buffer *buffer)
{
    st_buffer_printf(buffer,
                     "; sheet %s: %zu operations, %zu constants, %zu registers of %zu rows\n",
                     program->sheet->name, program->instruction_count, program->constant_count,
                     program->register_count, program->block_rows);
    for (size_t i = 0; i < program->instruction_count; i++) {
        const st_instruction *instruction = &program->instructions[i];
        uint32_t results = st_program_first_result(program);
        const char *name = op_symbols[instruction->op];
        uint32_t operands[] = {instruction->a, instruction->b, instruction->c};
        const uint32_t *list = operands;
        size_t count = instruction->op == ST_OP_SELECT ? 3 : instruction->op >= ST_OP_ADD ? 2 : 1;
        if (instruction->op == ST_OP_CALL) {
            const st_program_call *call = &program->calls[instruction->a];
            name = call->provider->name;
            list = call->arguments;
            count = call->provider->argument_count;
        }
        st_buffer_printf(buffer, "%%%u = %s", instruction->target - results, name);
        for (size_t j = 0; j < count; j++) {
            st_buffer_text(buffer, j == 0 ? " " : ", ");
            print_slot(program, list[j], buffer);
        }
        st_buffer_printf(buffer, "  ; register %u\n", program->registers[instruction->target]);
    }
    for (size_t i = 0; i < program->output_count; i++) {
        st_buffer_printf(buffer, "%s = ", program->outputs[i].name);
        print_slot(program, program->outputs[i].slot, buffer);
        st_buffer_text(buffer, "\n");
    }
    for (size_t i = 0; i < program->check_count; i++) {
        st_buffer_printf(buffer, "check %s = ", program->sheet->checks[i].formula);
        print_slot(program, program->checks[i].slot, buffer);
        st_buffer_text(buffer, "\n");
    }
}
