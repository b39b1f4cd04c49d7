/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Rows that are a product of lists: what depends on some of the lists alone is computed once for
 * each of their combinations, not for each row.
 *
 * The lists that a value depends on lie between a first and a last one; values of the same two are
 * a class. A class is laid out like a run of its own, whose rows are the combinations of its lists
 * that the rows come to, and a value that another class reads is spread over the rows of that one
 * first. Each operation so sees the operands of the rows that it represents, and gives their bits.
 */
#ifndef STEPTIME_PROGRAM_ROW_PRODUCT_H
#define STEPTIME_PROGRAM_ROW_PRODUCT_H

#include "program/rates.h"
#include "program/workspace.h"

/* For rows whose inputs take their values from `lists` (as st_paced_product); NULL when out of
 * memory. */
st_product_layout *st_product_create(const st_program *program, const uint8_t *input_lists,
                                     size_t list_count, size_t most_rows);
void st_product_destroy(st_product_layout *plan); /* NULL is fine */

/* To be called behind st_layout_make, which finds what varies and what is needed. Out of memory, or
 * an input that varies without a list: the layout is not ready, and rows are computed one by one.
 */
void st_product_make(st_product_layout *plan, st_workspace *workspace, const st_targets *targets);
bool st_product_is_ready(const st_product_layout *plan);
/* Whether some of the product's rows may be picked: its lists are short enough for it. */
bool st_product_is_pickable(const st_product_layout *plan, const st_product *product);

/* The steps over all rows of `targets`, at most as many as were announced. */
void st_product_run(st_product_layout *plan, st_workspace *workspace, const st_product *product,
                    const st_targets *targets);

#endif
