/* SPDX-License-Identifier: Apache-2.0 */
/* Where a model of slowdowns takes its kernels from, and where it goes. */
#ifndef STEPTIME_CALIBRATE_SLOWDOWN_OVERLAP_DATA_H
#define STEPTIME_CALIBRATE_SLOWDOWN_OVERLAP_DATA_H

#include "overlap-xgboost/fit/overlap_report.h"

/* What is asked for; texts are NULL where nothing is. */
typedef struct st_overlap_source {
    const char *gpu; /* of kernels whose rows do not say it */
    /* Of pairs of recordings, the first without overlap, the second with it: */
    const char *const *recordings;
    size_t recording_count;
    const char *counters;  /* file */
    const char *table;     /* file to which the kernels are written */
    double unmatched_frac; /* of the kernels that may be without a counterpart */
} st_overlap_source;

/* Reads a table of kernels, to learn from them or only to be predicted. */
st_status st_overlap_read_table(const st_overlap_source *asked, const char *file, bool to_learn,
                                st_arena *arena, st_kernels *kernels,
                                st_errors *errors) ST_NODISCARD;

/*
 * Reads pairs of recordings and counters, makes a table of them, writes that where it is asked for,
 * and reads it. A faulty pair is reported and leaves nothing behind.
 */
st_status st_overlap_read_pairs(const st_overlap_source *asked, st_arena *arena,
                                st_kernels *kernels, st_pairs_tally *tally,
                                st_errors *errors) ST_NODISCARD;

/* A profile of the plugin overlap-xgboost. */
typedef struct st_overlap_profile {
    const char *name;
    const char *cluster;  /* NULL: not said */
    const char *database; /* NULL: the user's own */
    const char *date;
    const char *model; /* its text */
} st_overlap_profile;

/* Stores it with where the model comes from. */
st_status st_overlap_save(const st_overlap_profile *profile, const st_overlap_report *report,
                          st_arena *arena, st_errors *errors) ST_NODISCARD;

#endif
