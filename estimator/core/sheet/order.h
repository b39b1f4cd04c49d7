/* SPDX-License-Identifier: Apache-2.0 */
/* Orders of evaluation. */
#ifndef STEPTIME_SHEET_ORDER_H
#define STEPTIME_SHEET_ORDER_H

#include "sheet/binding.h"

/* Lists what the formulas of cells and functions name: sheet->reads, on which orders rest. */
st_status st_list_reads(st_sheet *sheet, st_arena *arena, st_errors *errors) ST_NODISCARD;
/* Every cycle is reported as the path that closes it, and ST_ERR_CYCLE returned. */
st_status st_order_functions(const st_sheet *sheet, st_arena *arena, size_t **order,
                             st_errors *errors) ST_NODISCARD;
/* `bindings` is NULL where formulas alone count. */
st_status st_order_cells(const st_sheet *sheet, const st_bindings *bindings, st_arena *arena,
                         size_t **order, st_errors *errors) ST_NODISCARD;

#endif
