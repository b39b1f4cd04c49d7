/* SPDX-License-Identifier: Apache-2.0 */
/* Where `steptime fit overlap` takes its kernels from, and where its model goes. */
#ifndef STEPTIME_CLI_OVERLAP_DATA_H
#define STEPTIME_CLI_OVERLAP_DATA_H

#include "cli/cli.h"
#include "calibrate/slowdown/overlap_report.h"

typedef struct cli_overlap_options {
    bool pairs;
    bool allow_faster;
    double unmatched_percent;
    const char *counters;
    const char *table; /* of --write */
    const char *test;
    const char *gpu;
    const char *recipe;
    const char *svg;
    const char *output;
    const char *save;
    const char *cluster;
} cli_overlap_options;

/* Reads a table of kernels, to learn from them or only to be predicted. */
st_status cli_overlap_table(cli_run *run, const char *file, bool to_learn,
                            st_kernels *kernels) ST_NODISCARD;

/*
 * Reads the pairs of recordings that the arguments of the command line name, and the counters of
 * --counters; writes the table that they make to the file of --write, and reads it. A faulty pair
 * is reported and leaves nothing behind.
 */
st_status cli_overlap_pairs(cli_run *run, st_kernels *kernels, st_pairs_tally *tally) ST_NODISCARD;

/* Stores the text of a model as the profile of --save, with where it comes from. */
st_status cli_overlap_save(cli_run *run, const st_overlap_report *report,
                           const char *model) ST_NODISCARD;

#endif
