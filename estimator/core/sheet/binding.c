/* SPDX-License-Identifier: Apache-2.0 */
/* See binding.h. */
#include "sheet/binding.h"
#include "base/dimension.h"

#include "base/memory.h"

#include <string.h>

typedef struct st_binder {
    const st_sheet *sheet;
    st_bindings *bindings;
    const st_provider *provider;
    st_errors *errors;
} st_binder;

static st_status refuse(const st_binder *binder, st_status status, const char *reason)
{
    return st_fail(binder->errors, status, (st_place){0}, "provider '%s' for '%s' %s",
                   binder->provider->source, binder->provider->name, reason);
}

/* ---- what a provider reads ------------------------------------------------------------------- */

const st_sheet_function *st_sheet_find_function(const st_sheet *sheet, const char *name)
{
    size_t index = 0;
    return st_names_get(&sheet->function_names, name, &index) ? &sheet->functions[index] : NULL;
}

static bool find_argument(const st_sheet_function *function, const char *name, st_read *read)
{
    size_t i = ST_FIND(function->arguments, function->argument_count, name, name);
    if (i == SIZE_MAX)
        return false;
    read->kind = ST_READ_ARGUMENT;
    read->index = i;
    read->type = &function->arguments[i].type;
    return true;
}

st_read st_provider_read(const st_sheet *sheet, const st_sheet_function *function,
                         const st_provider *provider, size_t argument)
{
    st_read read = {.kind = ST_READ_NOTHING};
    if (function != NULL && provider->argument_names == NULL) {
        read.kind = argument < function->argument_count ? ST_READ_ARGUMENT : ST_READ_NOTHING;
        read.index = argument;
        read.name = read.kind == ST_READ_NOTHING ? "" : function->arguments[argument].name;
        read.type = read.kind == ST_READ_NOTHING ? NULL : &function->arguments[argument].type;
        return read;
    }
    read.name = provider->argument_names == NULL ? "" : provider->argument_names[argument];
    if (function != NULL && find_argument(function, read.name, &read))
        return read;
    if (st_names_get(&sheet->cell_names, read.name, &read.index)) {
        read.kind = ST_READ_CELL;
        read.type = &sheet->cells[read.index].type;
    } else if (st_names_get(&sheet->input_names, read.name, &read.index)) {
        read.kind = ST_READ_INPUT;
        read.type = &sheet->inputs[read.index].type;
    }
    return read;
}

/* "GB/s", "a truth value" */
static const char *unit_name(const st_type *type)
{
    switch (type->kind) {
    case ST_TYPE_BOOL:
        return "a truth value";
    case ST_TYPE_ENUM:
        return type->enumeration->name;
    case ST_TYPE_NUMBER:
        break;
    }
    return st_dimension_is_number(type->unit.dimension) ? "a pure number" : type->unit.text;
}

static const char *own_unit_name(const st_unit *unit)
{
    return st_dimension_is_number(unit->dimension) ? "a pure number" : unit->text;
}

/* A truth value serves as the number 0 or 1; an enumeration's numbers mean nothing outside. */
static bool fits(const st_type *type, const st_unit *unit)
{
    return type->kind == ST_TYPE_BOOL ? st_dimension_is_number(unit->dimension)
           : type->kind == ST_TYPE_NUMBER
               ? st_dimension_equal(type->unit.dimension, unit->dimension)
               : false;
}

static st_status check_read(const st_binder *binder, const st_sheet_function *function,
                            size_t argument)
{
    static const char *const kinds[] = {
        [ST_READ_ARGUMENT] = "argument", [ST_READ_CELL] = "cell", [ST_READ_INPUT] = "input"};
    const st_provider *provider = binder->provider;
    st_errors *errors = binder->errors;
    st_read read = st_provider_read(binder->sheet, function, provider, argument);
    if (read.kind == ST_READ_NOTHING)
        return refuse(binder, ST_ERR_PROVIDER,
                      st_errors_text(errors, "reads '%.60s', which sheet %s does not have%s",
                                     read.name, binder->sheet->name,
                                     function == NULL ? "" : ", nor does the function"));
    const st_unit *unit = &provider->argument_units[argument];
    if (!fits(read.type, unit))
        return refuse(binder, ST_ERR_UNIT,
                      st_errors_text(errors, "reads '%s' in %s, but %s '%s' of the %s is in %s",
                                     read.name, own_unit_name(unit), kinds[read.kind], read.name,
                                     read.kind == ST_READ_ARGUMENT ? "function" : "sheet",
                                     unit_name(read.type)));
    return ST_OK;
}

static st_status check_reads(const st_binder *binder, const st_sheet_function *function)
{
    const st_provider *provider = binder->provider;
    st_status status = ST_OK;
    if (provider->argument_count > ST_EXPR_MAX_ARGUMENTS)
        return refuse(
            binder, ST_ERR_PROVIDER,
            st_errors_text(binder->errors, "reads more than %d values", ST_EXPR_MAX_ARGUMENTS));
    for (size_t i = 0; i < provider->argument_count; i++)
        st_note(&status, check_read(binder, function, i));
    return status;
}

/* ---- what it replaces ------------------------------------------------------------------- */

static st_status check_value(const st_binder *binder, const char *what, const st_type *type)
{
    const st_unit *unit = &binder->provider->unit;
    if (type->kind != ST_TYPE_NUMBER)
        return refuse(
            binder, ST_ERR_PROVIDER,
            st_errors_text(binder->errors, "gives a number, but the %s %s", what,
                           strcmp(what, "cell") == 0 ? "is not a number" : "does not return one"));
    if (!st_dimension_equal(unit->dimension, type->unit.dimension))
        return refuse(binder, ST_ERR_UNIT,
                      st_errors_text(binder->errors,
                                     "gives %s, but the sheet declares the %s in %s",
                                     own_unit_name(unit), what, unit_name(type)));
    return ST_OK;
}

static st_status bind_provider(const st_binder *binder)
{
    size_t index = 0;
    if (st_names_get(&binder->sheet->function_names, binder->provider->name, &index)) {
        const st_sheet_function *function = &binder->sheet->functions[index];
        const st_provider *provider = binder->provider;
        if (!function->open)
            return refuse(binder, ST_ERR_PROVIDER, "cannot replace a function that is not open");
        if (binder->bindings->functions[index] != NULL)
            return refuse(binder, ST_ERR_PROVIDER, "conflicts with another provider");
        if (provider->argument_names == NULL &&
            provider->argument_count != function->argument_count)
            return refuse(binder, ST_ERR_PROVIDER, "has the wrong number of arguments");
        st_status status = check_value(binder, "function", &function->type);
        st_note(&status, check_reads(binder, function));
        if (status != ST_OK)
            return status;
        for (size_t i = 0; i < provider->argument_count; i++) {
            st_read read = st_provider_read(binder->sheet, function, provider, i);
            binder->bindings->has_readers =
                binder->bindings->has_readers || read.kind == ST_READ_CELL;
        }
        binder->bindings->functions[index] = provider;
        return ST_OK;
    }
    if (st_names_get(&binder->sheet->cell_names, binder->provider->name, &index)) {
        const st_sheet_cell *cell = &binder->sheet->cells[index];
        if (!cell->open)
            return refuse(binder, ST_ERR_PROVIDER, "cannot replace a cell that is not open");
        if (binder->bindings->cells[index] != NULL)
            return refuse(binder, ST_ERR_PROVIDER, "conflicts with another provider");
        st_status status = check_value(binder, "cell", &cell->type);
        st_note(&status, check_reads(binder, NULL));
        if (status == ST_OK) {
            binder->bindings->cells[index] = binder->provider;
            binder->bindings->has_readers = true;
        }
        return status;
    }
    return refuse(binder, ST_ERR_PROVIDER, "matches neither a function nor a cell of the sheet");
}

st_status st_bind_providers(const st_sheet *sheet, const st_provider *const *providers,
                            size_t count, st_arena *arena, st_bindings *bindings, st_errors *errors)
{
    *bindings = (st_bindings){0};
    bindings->cells = st_arena_alloc(arena, sheet->cell_count + 1, sizeof(*bindings->cells));
    bindings->functions =
        st_arena_alloc(arena, sheet->function_count + 1, sizeof(*bindings->functions));
    if (bindings->cells == NULL || bindings->functions == NULL)
        return st_out_of_memory(errors);
    st_status status = ST_OK;
    for (size_t i = 0; i < count; i++) {
        const st_binder binder = {
            .sheet = sheet, .bindings = bindings, .provider = providers[i], .errors = errors};
        st_note(&status, bind_provider(&binder));
    }
    return status;
}
