/* SPDX-License-Identifier: Apache-2.0 */
/* What sweep, search and scale share. */
#ifndef STEPTIME_CLI_EXPLORE_H
#define STEPTIME_CLI_EXPLORE_H

#include "cli/stream.h"
#include "search/guide.h"
#include "sweep/space.h"

typedef struct cli_explorer {
    st_paths *paths;
    cli_stream stream;
    cli_progress progress;
    struct st_plot *plot; /* of a sweep; NULL: a table is written */
    struct st_sweep_book *book;
    st_errors *errors;
} cli_explorer;

/* Job, sheet, sets, axes, conditions, cells and sample from the command line. */
st_status cli_explore_request(cli_run *run, cli_option_id axes,
                              st_space_request *request) ST_NODISCARD;
/* --threads; 0 where it is not given. */
st_status cli_explore_threads(cli_run *run, int *threads) ST_NODISCARD;
/* The value of an option that takes a whole number from `least` on; `count` stays where it is not
 * given. */
st_status cli_explore_count(cli_run *run, cli_option_id id, uint64_t least,
                            uint64_t *count) ST_NODISCARD;
/* Splits every value of an option at its commas, without the blanks around the parts. */
st_status cli_explore_list(cli_run *run, cli_option_id id, const char *const **items,
                           size_t *count) ST_NODISCARD;

/* --method, --prune, --bound and --trials. */
st_status cli_explore_guide(cli_run *run, st_guide *guide) ST_NODISCARD;

#define CLI_ROW_CELLS                                                                              \
    {                                                                                              \
        CLI_CELLS, CLI_MANY, CLI_WORD_CELL, 0, "cells", "CELL,...", NULL,                          \
            "cells and inputs to show, separated by commas; may be repeated"                       \
    }
#define CLI_ROW_WHERE                                                                              \
    {                                                                                              \
        CLI_WHERE, CLI_MANY, CLI_WORD_NONE, 0, "where", "CONDITION", NULL,                         \
            "keep what meets a condition in the language of sheets, such as "                      \
            "'memory <= 72[GiB]'; may be repeated"                                                 \
    }
#define CLI_ROW_THREADS                                                                            \
    {                                                                                              \
        CLI_THREADS, CLI_ONE, CLI_WORD_NONE, 0, "threads", "N", NULL,                              \
            "use N threads (one per core); the result is the same"                                 \
    }
#define CLI_ROW_METHOD                                                                             \
    {                                                                                              \
        CLI_METHOD, CLI_ONE, CLI_WORD_NONE, 0, "method", "METHOD", NULL,                           \
            "exhaustive, bound (the least bound first, until none is below what was found: the "   \
            "same result) or cmaes (a walk that ends early); for plugins that take long "          \
            "(exhaustive)"                                                                         \
    }
#define CLI_ROW_PRUNE                                                                              \
    {                                                                                              \
        CLI_PRUNE, CLI_ONE, CLI_WORD_NONE, 0, "prune", "WHICH", NULL,                              \
            "skip plans of which rules tell: those that are proven for this search, or also "      \
            "those that only plugins could contradict (declared)"                                  \
    }
#define CLI_ROW_BOUND                                                                              \
    {                                                                                              \
        CLI_BOUND, CLI_ONE, CLI_WORD_CELL, 0, "bound", "CELL", NULL,                               \
            "a cell that is never above the one that is minimised, on your word"                   \
    }
#define CLI_ROW_TRIALS                                                                             \
    {                                                                                              \
        CLI_TRIALS, CLI_ONE, CLI_WORD_NONE, 0, "trials", "N", NULL,                                \
            "plans that cmaes computes at most (2000)"                                             \
    }

#endif
