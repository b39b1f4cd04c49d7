/* SPDX-License-Identifier: Apache-2.0 */
/* A sheet as spreadsheet formulas: names, cells, checks; see spreadsheet.h. */
#include "export/spreadsheet_piece.h"

#include "base/memory.h"

#include <math.h>
#include <string.h>

static const st_type truth = {.kind = ST_TYPE_BOOL};

static bool differs_in_case_alone(const st_enum *enumeration, st_arena *arena, bool *failed)
{
    st_names lower = {.arena = arena};
    for (size_t i = 0; i < enumeration->count && !*failed; i++) {
        size_t index = 0;
        const char *value = st_cell_name_lower(arena, enumeration->values[i]);
        if (value != NULL && st_names_get(&lower, value, &index))
            return true;
        *failed = value == NULL || !st_names_put(&lower, value, i);
    }
    return false;
}

/* Inputs come first: of names that differ in case alone, theirs stay as they are. */
static void name_everything(st_translator *own)
{
    const st_sheet *sheet = own->sheet;
    st_live_sheet *live = own->live;
    const char **inputs = st_arena_alloc(own->arena, sheet->input_count + 1, sizeof(*inputs));
    live->cells = st_arena_alloc(own->arena, sheet->cell_count + 1, sizeof(*live->cells));
    live->checks = st_arena_alloc(own->arena, sheet->check_count + 1, sizeof(*live->checks));
    own->may_fail = st_arena_alloc(own->arena, sheet->cell_count + 1, sizeof(*own->may_fail));
    if (inputs == NULL || live->cells == NULL || live->checks == NULL || own->may_fail == NULL) {
        own->failed = true;
        return;
    }
    live->input_names = inputs;
    for (size_t i = 0; i < sheet->input_count; i++) {
        inputs[i] = st_cell_names_add(&own->names, sheet->inputs[i].name);
        own->failed = own->failed || inputs[i] == NULL;
    }
    for (size_t i = 0; i < sheet->cell_count; i++) {
        live->cells[i] = (st_live){.name = st_cell_names_add(&own->names, sheet->cells[i].name),
                                   .type = &sheet->cells[i].type};
        own->failed = own->failed || live->cells[i].name == NULL;
    }
    for (size_t i = 0; i < sheet->check_count; i++) {
        const char *wanted = st_arena_printf(own->arena, "check_%zu", i + 1);
        live->checks[i] = (st_live){
            .name = wanted != NULL ? st_cell_names_add(&own->names, wanted) : NULL, .type = &truth};
        own->failed = own->failed || live->checks[i].name == NULL;
    }
}

static void begin_owner(st_translator *own, st_live *live)
{
    own->owner = live;
    own->first_part = own->live->part_count;
    memset(own->recent, 0, sizeof(own->recent));
}

static void translate_cell(st_translator *own, size_t index)
{
    const st_provider *provider = own->session.lowering.cell_providers[index];
    const st_sheet_cell *cell = &own->sheet->cells[index];
    st_live *live = &own->live->cells[index];
    live->value = st_session_cell(&own->session, index);
    if (provider != NULL) {
        const st_sheet *sheet = own->sheet;
        st_call_columns columns;
        st_live_call *made = st_live_call_make(own, provider, &columns);
        for (size_t i = 0; made != NULL && i < provider->argument_count; i++) {
            size_t value_index = 0;
            bool is_cell =
                st_names_get(&sheet->cell_names, provider->argument_names[i], &value_index);
            bool known = is_cell || st_names_get(&sheet->input_names, provider->argument_names[i],
                                                 &value_index);
            columns.labels[i] = provider->argument_names[i];
            columns.formulas[i] = !known    ? "NA()"
                                  : is_cell ? own->live->cells[value_index].name
                                            : own->live->input_names[value_index];
            columns.types[i] =
                is_cell ? &sheet->cells[value_index].type : &sheet->inputs[value_index].type;
            columns.values[i] = is_cell ? st_session_cell(&own->session, value_index)
                                        : own->session.inputs[value_index];
        }
        live->call = made;
        own->may_fail[index] = !isfinite(live->value);
        return;
    }
    if (own->session.lowering.cells[index] == ST_NO_VALUE) {
        own->may_fail[index] = true;
        return;
    }
    begin_owner(own, live);
    st_piece_context where = {.formula = cell->formula};
    st_piece whole = st_translate(own, cell->expr, &where);
    live->formula = whole.text;
    own->may_fail[index] = whole.may_fail;
}

static st_status outcome(const st_translator *own, st_errors *errors)
{
    if (own->too_large)
        return st_fail(errors, ST_ERR_LIMIT, (st_place){.file = own->sheet->file},
                       "the sheet is too large after its functions are expanded");
    if (own->failed || own->session.failed)
        return st_out_of_memory(errors);
    return ST_OK;
}

st_status st_live_translate(const st_program *program, const double *inputs, st_arena *arena,
                            st_live_sheet *live, st_errors *errors)
{
    st_translator own = {
        .sheet = program->sheet, .arena = arena, .live = live, .names = {.arena = arena}};
    *live = (st_live_sheet){0};
    st_status status = st_session_begin(&own.session, program, inputs, arena, errors);
    if (status != ST_OK)
        return status;
    own.session.lowering.work = 0;
    st_lowering_rest(&own.session.lowering);
    own.too_large = own.session.lowering.too_large;
    st_session_catch_up(&own.session);
    const st_sheet *sheet = own.sheet;
    bool *exact = st_arena_alloc(own.arena, sheet->enum_count + 1, sizeof(*exact));
    own.failed = own.failed || exact == NULL;
    for (size_t i = 0; i < sheet->enum_count && !own.failed; i++)
        exact[i] = differs_in_case_alone(&sheet->enums[i], own.arena, &own.failed);
    own.live->enums = sheet->enums;
    own.live->exact = exact;
    name_everything(&own);
    for (size_t i = 0; i < own.sheet->cell_count && outcome(&own, NULL) == ST_OK; i++)
        translate_cell(&own, own.session.lowering.order[i]);
    for (size_t i = 0; i < own.sheet->check_count && outcome(&own, NULL) == ST_OK; i++) {
        const st_sheet_check *check = &own.sheet->checks[i];
        st_live *check_live = &own.live->checks[i];
        st_piece_context where = {.formula = check->formula};
        begin_owner(&own, check_live);
        check_live->value = st_session_value(&own.session, check->expr, NULL);
        check_live->formula = st_translate(&own, check->expr, &where).text;
    }
    return outcome(&own, errors);
}
