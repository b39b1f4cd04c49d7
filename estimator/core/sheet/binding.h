/* SPDX-License-Identifier: Apache-2.0 */
/* Providers meet a sheet: what each replaces, and where what it reads comes from. */
#ifndef STEPTIME_SHEET_BINDING_H
#define STEPTIME_SHEET_BINDING_H

#include "sheet/internal.h"
#include "steptime/tool/providers.h"

typedef enum st_read_kind {
    ST_READ_NOTHING, /* the sheet has nothing of the name */
    ST_READ_ARGUMENT,
    ST_READ_CELL,
    ST_READ_INPUT
} st_read_kind;

/* What one argument of a provider reads. */
typedef struct st_read {
    st_read_kind kind;
    size_t index;
    const char *name;
    const st_type *type;
} st_read;

/* `function` is what the provider replaces, NULL where that is a cell. */
st_read st_provider_read(const st_sheet *sheet, const st_sheet_function *function,
                         const st_provider *provider, size_t argument);

/* The providers of a sheet's cells and functions; NULL where the formula counts. */
typedef struct st_bindings {
    const st_provider **cells;
    const st_provider **functions;
    bool has_readers; /* some provider reads cells, or gives one */
} st_bindings;

/* Errors where a provider fits nothing, or another unit is meant on the other side. */
st_status st_bind_providers(const st_sheet *sheet, const st_provider *const *providers,
                            size_t count, st_arena *arena, st_bindings *bindings,
                            st_errors *errors) ST_NODISCARD;

/* The function of a sheet that is called so; NULL: there is none. */
const st_sheet_function *st_sheet_find_function(const st_sheet *sheet, const char *name);

#endif
