/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Formulas over the columns of a table, such as "ceil((layers + 2)/pp) - 1", in the language of
 * sheets. All formulas of a source become the cells of one sheet that nobody sees; a field that is
 * blank, or no number, has no value, nor has what is computed from it.
 */
#ifndef STEPTIME_CALIBRATE_STEPS_FORMULAS_H
#define STEPTIME_CALIBRATE_STEPS_FORMULAS_H

#include "base/yaml_read.h"
#include "steptime/tool/programs.h"

enum { ST_FORMULAS_MAX = 200, ST_FORMULA_COLUMNS_MAX = 200, ST_NO_FORMULA = -1 };

typedef struct st_row_formula {
    const st_yaml_node *node; /* its place */
    size_t offset;            /* of its first character in the node's text */
    const char *unit;         /* "bool", "1", "GB/s" */
} st_row_formula;

typedef struct st_row_formulas {
    st_row_formula items[ST_FORMULAS_MAX];
    int first_line; /* of the first one in the sheet */
    size_t count;
    const char **columns; /* that they read, the inputs of the program */
    size_t column_count;
    const st_program *program; /* NULL without formulas */
} st_row_formulas;

/* Takes up a formula and returns its index, ST_NO_FORMULA where there are too many. */
int st_row_formulas_add(st_yaml_reader *reader, st_row_formulas *formulas,
                        const st_row_formula *formula);

/* Checks and compiles all of them; errors have the place of the formula that they concern. */
void st_row_formulas_compile(st_yaml_reader *reader, st_row_formulas *formulas);

#endif
