/* SPDX-License-Identifier: Apache-2.0 */
/*
 * How far estimates of a kind have been off measured steps: what `steptime validate --write-errors`
 * wrote into configs/errors/SHEET.yaml, by what an estimate is for: the GPU, the type of its
 * GEMMs, dense or with experts, and the stack.
 */
#ifndef STEPTIME_ESTIMATE_ERROR_BAND_H
#define STEPTIME_ESTIMATE_ERROR_BAND_H

#include "base/result.h"
#include "steptime/job.h"
#include "steptime/sheet.h"
#include "steptime/tool/error_kinds.h"

/* Errors as shares of what was measured. */
typedef struct st_error_band {
    st_error_kind kind;  /* as they were counted: without a stack where none has this one */
    bool has_table;      /* some estimate of the sheet was compared with measured steps */
    bool is_refined;     /* plugins are on, and were not where the errors were counted */
    size_t rows;         /* measured steps; 0: there are none of this kind */
    size_t fitted;       /* of them, that some constant was fitted to */
    double median;       /* of the absolute errors */
    double nine_of_ten;  /* that nine of ten absolute errors do not exceed */
    double bias;         /* their mean with its sign; above 0 estimates are too high */
    const char *sources; /* folders of validation/, "" without rows */
    bool is_floor;       /* nine_of_ten is the least that so few rows give */
    const char *no_plan; /* the kind of plan that no row has, NULL: some have it */
    size_t site_rows;    /* runs of the site that corrected its stack; 0: it is not one */
} st_error_band;

/*
 * The band of a kind under a sheet, on the search path: of its own stack, else of all stacks, else
 * with no rows. An unreadable table is an error.
 */
st_status st_error_band_find(const st_paths *paths, const st_sheet *sheet,
                             const st_error_kind *kind, st_arena *arena, st_error_band *band,
                             st_errors *errors) ST_NODISCARD;

/* "rows like this within 6 % (median) and 14 % (9 of 10), 31 rows"; lives in the arena. */
const char *st_error_band_text(const st_error_band *band, st_arena *arena);

/* "6 % / 14 %" for a column, "not known" without rows; lives in the arena. */
const char *st_error_band_short(const st_error_band *band, st_arena *arena);

/* The member `error_band`: null where it is NULL. */
void st_error_band_put(const st_error_band *band, st_node *map);

#endif
