/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What estimator/sheet does when memory runs out: every allocation, also every one from an arena,
 * fails once, then all from one on. Either all results are right or the status says that they are
 * not; nothing crashes or leaks.
 */
#include "../support/faults.h"
#include "export/latex.h"
#include "program/program.h"
#include "steptime/tool/providers.h"
#include "../support/programs.h"

#include "export/spreadsheet.h"
#include "steptime/arena.h"

/* NOLINTBEGIN(bugprone-reserved-identifier): the linker wants these names */
void *__real_aligned_alloc(size_t alignment, size_t size);
void *__real_st_arena_alloc(st_arena *arena, size_t count, size_t size_bytes);
char *__real_st_arena_copy(st_arena *arena, const char *text, size_t length);
void *__real_st_arena_grow(st_arena *arena, void *items, size_t size_bytes, size_t needed,
                           size_t *capacity);
void *__wrap_aligned_alloc(size_t alignment, size_t size);
void *__wrap_st_arena_alloc(st_arena *arena, size_t count, size_t size_bytes);
char *__wrap_st_arena_copy(st_arena *arena, const char *text, size_t length);
void *__wrap_st_arena_grow(st_arena *arena, void *items, size_t size_bytes, size_t needed,
                           size_t *capacity);
bool __real_st_arena_append(st_arena *arena, void *list, size_t *count, size_t *capacity,
                            const void *item, size_t size_bytes);
bool __wrap_st_arena_append(st_arena *arena, void *list, size_t *count, size_t *capacity,
                            const void *item, size_t size_bytes);
/* NOLINTEND(bugprone-reserved-identifier) */

void *__wrap_aligned_alloc(size_t alignment, size_t size)
{
    return must_fail() ? NULL : __real_aligned_alloc(alignment, size);
}

void *__wrap_st_arena_alloc(st_arena *arena, size_t count, size_t size_bytes)
{
    return __real_st_arena_alloc(arena, must_fail() ? SIZE_MAX : count, size_bytes);
}

char *__wrap_st_arena_copy(st_arena *arena, const char *text, size_t length)
{
    return __real_st_arena_copy(arena, text, must_fail() ? SIZE_MAX : length);
}

void *__wrap_st_arena_grow(st_arena *arena, void *items, size_t size_bytes, size_t needed,
                           size_t *capacity)
{
    return __real_st_arena_grow(arena, items, size_bytes, must_fail() ? SIZE_MAX : needed,
                                capacity);
}

bool __wrap_st_arena_append(st_arena *arena, void *list, size_t *count, size_t *capacity,
                            const void *item, size_t size_bytes)
{
    if (must_fail())
        (void)__real_st_arena_alloc(arena, SIZE_MAX, size_bytes);
    return __real_st_arena_append(arena, list, count, capacity, item, size_bytes);
}

/* --- what is run ----------------------------------------------------------------------------- */

static const char base[] = "sheet: base\n"
                           "enums:\n  gear: [none, half, full]\n"
                           "inputs:\n"
                           "  x: {from: a.x}\n"
                           "  g: {from: a.g, unit: gear, default: half}\n"
                           "functions:\n"
                           "  f: {args: {u: 1}, is: u^1.5 + 2}\n"
                           "  ring: {open: true, args: {u: 1}}\n"
                           "cells:\n"
                           "  a: {is: 'f(x) + ring(x)'}\n"
                           "  b: {open: true, is: a*2}\n"
                           "report:\n  - {section: Time, cells: [a]}\n";

static const char sheet_text[] = "sheet: t\ntitle: all\ninclude: base\n"
                                 "inputs:\n  V: {from: a.v, unit: MB}\n"
                                 "cells:\n"
                                 "  c:\n    is: if(g == half, a + b, 1/x)\n"
                                 "  d: {unit: us, is: 'V/2.5[GB/s]', doc: time, cite: p. 3}\n"
                                 "  b: {open: true, is: a*3, override: true}\n"
                                 "checks:\n"
                                 "  - {that: x > 1, else: 'x {x} {V/2[s]} {c}', level: warning}\n"
                                 "report:\n  - {section: Time, cells: [c, d]}\n";

static const char faulty_text[] = "sheet: t\ninclude: base\n"
                                  "inputs:\n  V: {from: a.v, unit: MBB}\n"
                                  "cells:\n"
                                  "  c: {is: e + oops(x)}\n  e: {is: c + 2 +}\n"
                                  "  h: {is: i}\n  i: {is: h}\n"
                                  "  a: {is: 2}\n"
                                  "checks:\n  - {that: x, else: '{x} {oops}'}\n";

static const char cyclic_text[] = "sheet: t\ncells:\n  h: {is: 2*i}\n  i: {is: h}\n";

typedef struct readable {
    const char *main_text;
} readable;

static st_status read_text(void *context, const char *name, st_place place, st_arena *arena,
                           st_source *source, st_errors *errors)
{
    const readable *own = context;
    const char *text = strcmp(name, "base") == 0 ? base : own->main_text;
    char *copy = st_arena_copy(arena, text, strlen(text));
    (void)place;
    if (copy == NULL)
        return st_errors_add(errors,
                             &(st_error){.status = ST_ERR_MEMORY, .message = "out of memory"});
    *source = (st_source){
        .file = strcmp(name, "base") == 0 ? "base" : "main", .text = copy, .length = strlen(text)};
    return ST_OK;
}

static st_status triple(void *self, size_t rows, const double *const *arguments, double *values)
{
    (void)self;
    for (size_t i = 0; i < rows; i++)
        values[i] = 3 * arguments[0][i];
    return ST_OK;
}

static st_status load(const char *text, st_arena *arena, const st_sheet **sheet, st_errors *errors)
{
    readable source = {text};
    st_sheet_reader reader = {.read = read_text, .context = &source};
    return st_sheet_load(&reader, "main", arena, sheet, errors);
}

static void print_step(const st_explanation *step, st_buffer *buffer)
{
    st_buffer_printf(buffer, "%s=%.17g/%.17g[%s|%s]{", step->name, step->value, step->formula_value,
                     step->formula, step->numbers);
    for (size_t i = 0; i < step->operand_count; i++)
        print_step(step->operands[i], buffer);
    st_buffer_text(buffer, "}");
}

/* Compiles and runs one row and a block; prints every value. */
static st_status run_program(const st_program *program, st_buffer *buffer)
{
    static const double inputs[] = {0.5, 1, 2.385e6};
    static const st_column columns[] = {{inputs, 1}, {inputs + 1, 0}, {inputs + 2, 0}};
    double outputs[8];
    double check = 0;
    double *output_columns[] = {outputs, outputs + 1, outputs + 2, outputs + 3};
    double *check_columns[] = {&check};
    st_workspace *workspace = st_workspace_create(program);
    if (workspace == NULL)
        return ST_ERR_MEMORY;
    st_status status = st_program_run_one(program, workspace, inputs, outputs, &check);
    for (size_t i = 0; i < 4; i++)
        st_buffer_printf(buffer, "%.17g ", outputs[i]);
    if (status == ST_OK)
        status = st_program_run(program, workspace, columns, 1, output_columns, check_columns);
    for (size_t i = 0; i < 4; i++)
        st_buffer_printf(buffer, "%.17g ", outputs[i]);
    st_workspace_destroy(workspace);
    return status;
}

static st_status run_all(st_arena *arena, st_errors *errors, st_buffer *buffer)
{
    static const double inputs[] = {0.5, 1, 2.385e6};
    static const char *const reads[] = {"x"};
    const st_unit units[] = {st_unit_one()};
    const st_provider ring = {.name = "ring",
                              .source = "bench",
                              .argument_units = units,
                              .argument_count = 1,
                              .unit = st_unit_one(),
                              .evaluate = triple};
    st_provider cell = ring;
    cell.name = "b";
    cell.argument_names = reads;
    const st_provider *providers[] = {&ring, &cell};
    const st_program_options options = {.providers = providers, .provider_count = 2};
    const st_sheet *sheet = NULL;
    const st_program *program = NULL;
    const st_explanation *explanation = NULL;
    st_status status = load(sheet_text, arena, &sheet, errors);
    if (status == ST_OK)
        status = st_program_compile(sheet, &options, arena, &program, errors);
    if (status == ST_OK)
        status = run_program(program, buffer);
    if (status == ST_OK)
        status = st_program_explain(program, inputs, "c", -1, arena, &explanation, errors);
    if (status == ST_OK) {
        print_step(explanation, buffer);
        st_program_print(program, buffer);
        st_expr_latex(st_sheet_find_cell(sheet, "c")->expr, buffer);
        status = st_program_verify(program, inputs, errors);
    }
    return status;
}

static st_status load_faulty(st_arena *arena, st_errors *errors, st_buffer *buffer)
{
    const st_sheet *sheet = NULL;
    (void)buffer;
    return load(faulty_text, arena, &sheet, errors);
}

static st_status load_cyclic(st_arena *arena, st_errors *errors, st_buffer *buffer)
{
    const st_sheet *sheet = NULL;
    (void)buffer;
    return load(cyclic_text, arena, &sheet, errors);
}

/* A row in which most cells and the check have no value. */
static st_status verify_faults(st_arena *arena, st_errors *errors, st_buffer *buffer)
{
    static const double inputs[] = {-2.5, 1, 2.385e6};
    static const char *const text = "sheet: t\ninputs:\n  x: {from: a.x}\n"
                                    "functions:\n  f: {args: {u: 1}, is: sqrt(u)}\n"
                                    "cells:\n  a: {is: 'f(x)'}\n  b: {is: a + 1}\n"
                                    "  c: {is: x/(2.5 + x)}\n"
                                    "checks:\n  - {that: b > 1, else: 'no'}\n"
                                    "  - {that: x > 1, else: 'x is {x}'}\n";
    const st_sheet *sheet = NULL;
    const st_program *program = NULL;
    st_status status = load(text, arena, &sheet, errors);
    (void)buffer;
    if (status == ST_OK)
        status = st_program_compile(sheet, NULL, arena, &program, errors);
    return status == ST_OK ? st_program_verify(program, inputs, errors) : status;
}

static void print_live(const st_live *live, st_buffer *buffer)
{
    st_buffer_printf(buffer, "%s=%s %.17g; ", live->name,
                     live->formula != NULL ? live->formula : "", live->value);
}

/* Parts, provided values and names that are no names of a spreadsheet. */
static st_status translate_all(st_arena *arena, st_errors *errors, st_buffer *buffer)
{
    static const double inputs[] = {2.5, 2};
    static const char *const text =
        "sheet: t\nenums:\n  gear: [low, LOW, high]\n"
        "inputs:\n  T1: {from: a.x}\n  g: {from: a.g, unit: gear}\n"
        "functions:\n  f: {args: {u: 1}, is: u*u + 0.1234567890123456}\n"
        "  ring: {open: true, args: {u: 1}}\n"
        "cells:\n  t1: {is: 'f(T1*1.25 + T1^2.5 + 0.75*T1) + ring(T1 + 1)'}\n"
        "  b: {open: true, is: t1*2}\n"
        "  B: {unit: bool, is: 'g == low and 1/T1 > 2 and not (1/b > 3)'}\n"
        "checks:\n  - {that: ceil(b) > 1, else: 'no'}\n";
    static const char *const reads[] = {"T1"};
    const st_unit units[] = {st_unit_one()};
    const st_provider ring = {.name = "ring",
                              .source = "bench",
                              .argument_units = units,
                              .argument_count = 1,
                              .unit = st_unit_one(),
                              .evaluate = triple};
    st_provider cell = ring;
    cell.name = "b";
    cell.argument_names = reads;
    const st_provider *providers[] = {&ring, &cell};
    const st_program_options options = {.providers = providers, .provider_count = 2};
    const st_sheet *sheet = NULL;
    const st_program *program = NULL;
    st_live_sheet live;
    st_status status = load(text, arena, &sheet, errors);
    if (status == ST_OK)
        status = st_program_compile(sheet, &options, arena, &program, errors);
    if (status == ST_OK)
        status = st_live_translate(program, inputs, arena, &live, errors);
    if (status != ST_OK)
        return status;
    for (size_t i = 0; i < 3; i++)
        print_live(&live.cells[i], buffer);
    for (size_t i = 0; i < live.part_count; i++)
        print_live(&live.parts[i], buffer);
    print_live(&live.checks[0], buffer);
    return status;
}

/* --- failing --------------------------------------------------------------------------------- */

typedef st_status scenario(st_arena *arena, st_errors *errors, st_buffer *buffer);

typedef struct outcome {
    st_status status;
    char *text; /* NULL where the buffer failed */
} outcome;

static outcome run_scenario(scenario *run)
{
    outcome found = {.status = ST_ERR_MEMORY};
    st_buffer buffer = {0};
    st_errors *errors = st_errors_create();
    st_arena *arena = st_arena_create();
    if (errors != NULL && arena != NULL)
        found.status = run(arena, errors, &buffer);
    if (!buffer.failed) {
        found.text = buffer.data;
        buffer.data = NULL;
    }
    st_buffer_free(&buffer);
    st_arena_destroy(arena);
    st_errors_destroy(errors);
    return found;
}

/* Only memory may change an outcome, and what a success prints is right to the last byte. */
static void check_outcome(const outcome *found, const outcome *whole)
{
    if (found->status == ST_ERR_MEMORY)
        return;
    if (found->status != whole->status)
        fail_msg("failure %d: status %d instead of %d", fault.failed, found->status, whole->status);
    if (found->status == ST_OK && found->text != NULL && strcmp(found->text, whole->text) != 0)
        fail_msg("'%s' instead of '%s'", found->text, whole->text);
}

static int fail_each(scenario *run, bool is_lasting)
{
    set_fault(0, false);
    outcome whole = run_scenario(run);
    int at = 0;
    for (bool reached = true; reached; at++) {
        assert_true(at < MOST_ALLOCATIONS);
        set_fault(at, is_lasting);
        arm();
        outcome found = run_scenario(run);
        disarm();
        reached = fault.failed > 0;
        check_outcome(&found, &whole);
        free(found.text);
    }
    free(whole.text);
    return at;
}

static void check_scenario(scenario *run, int least)
{
    for (int lasting = 0; lasting < 2; lasting++)
        assert_true(fail_each(run, lasting == 1) > least);
}

static void good_sheets_without_memory(void **state)
{
    (void)state;
    check_scenario(run_all, 500);
}

static void translations_without_memory(void **state)
{
    (void)state;
    check_scenario(translate_all, 300);
}

static void faulty_sheets_without_memory(void **state)
{
    (void)state;
    check_scenario(load_faulty, 200);
    check_scenario(load_cyclic, 50);
}

static void faulty_rows_without_memory(void **state)
{
    (void)state;
    check_scenario(verify_faults, 200);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(good_sheets_without_memory),
        cmocka_unit_test(translations_without_memory),
        cmocka_unit_test(faulty_sheets_without_memory),
        cmocka_unit_test(faulty_rows_without_memory),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
