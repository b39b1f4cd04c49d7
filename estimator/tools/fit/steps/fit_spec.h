/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A fit as a file: which tables, what is set, which constants move for which rows, what is known of
 * them beforehand and from where, what is left out in turn. docs/tables.md describes the file.
 */
#ifndef STEPTIME_CALIBRATE_STEPS_FIT_SPEC_H
#define STEPTIME_CALIBRATE_STEPS_FIT_SPEC_H

#include "fit/steps/calibrate.h"

typedef struct st_fit_spec {
    const char *file;
    const st_yaml_node *root;
    st_measured_table *tables;
    size_t table_count;
    st_measured_table *tests; /* that no fit sees */
    size_t test_count;
    const char *const *sets;
    size_t set_count;
} st_fit_spec;

/* Reads FILE: tables and what is set, which rows are read with. */
st_status st_fit_spec_load(const char *file, st_arena *arena, st_fit_spec *spec,
                           st_errors *errors) ST_NODISCARD;

/* The rest, once the sheets of the rows are known: into the calibration, whose `sets` are there. */
st_status st_fit_spec_apply(const st_fit_spec *spec, st_calibration *calibration, st_arena *arena,
                            st_errors *errors) ST_NODISCARD;

#endif
