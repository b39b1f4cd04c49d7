/* SPDX-License-Identifier: Apache-2.0 */
/* What sweep, search and scale share. */
#ifndef STEPTIME_CLI_EXPLORE_H
#define STEPTIME_CLI_EXPLORE_H

#include "command/stream.h"
#include "search/guided.h"
#include "sweep/space.h"

typedef struct cli_explorer {
    cli_stream stream;
    cli_progress progress;
    struct st_plot *plot; /* of a sweep; NULL: a table is written */
    struct st_sweep_book *book;
    st_errors *errors;
} cli_explorer;

/* What their options give; the structure of a verb begins with it. */
typedef struct cli_explore_options {
    cli_texts cells;
    cli_texts wheres;
    uint64_t sample; /* 0: all */
    uint64_t seed;
    uint64_t threads; /* 0: one per core */
    unsigned method;  /* a st_method */
    unsigned pruning; /* a st_pruning */
    const char *bound;
    uint64_t trials;     /* 0: not given */
    uint64_t stop_after; /* 0: not given */
} cli_explore_options;

/* Job, sheet, sets, conditions, cells and sample from the command line. */
st_status cli_explore_request(cli_run *run, st_space_request *request) ST_NODISCARD;
/* --threads; 0 where it is not given. */
int cli_explore_threads(const cli_run *run);
/* --method, --prune, --bound, --trials and --stop-after. */
st_status cli_explore_guide(cli_run *run, st_guide *guide) ST_NODISCARD;

#define CLI_ROW_CELLS                                                                              \
    CLI_NAMES(cli_explore_options, cells, "cells", "CELL,...",                                     \
              "cells and inputs to show, separated by commas; may be repeated")
#define CLI_ROW_WHERE                                                                              \
    CLI_TEXTS(cli_explore_options, wheres, "where", "CONDITION",                                   \
              "keep rows that satisfy a condition in the language of sheets, such as 'memory <= "  \
              "72[GiB]'; may be repeated")
#define CLI_ROW_SEED                                                                               \
    CLI_COUNT(cli_explore_options, seed, "seed", 0, CLI_MOST_DIGITS, "seed of the random sample",  \
              .initial = "0")
#define CLI_ROW_THREADS                                                                            \
    CLI_COUNT(cli_explore_options, threads, "threads", 1, CLI_MOST_DIGITS,                         \
              "use N threads (default: one per core); the result does not depend on N")
#define CLI_ROW_METHOD                                                                             \
    CLI_CHOICE(cli_explore_options, method, "method", "METHOD",                                    \
               "exhaustive bound cmaes random evolution bayes",                                    \
               "exhaustive; bound (branch and bound, the same result); or a heuristic that ends "  \
               "early: cmaes, random, evolution, bayes. All but exhaustive are for slow plugins",  \
               .initial = "exhaustive")
#define CLI_ROW_PRUNE                                                                              \
    CLI_CHOICE(cli_explore_options, pruning, "prune", "WHICH", "none proven declared",             \
               "skip plans that rules exclude: rules proven for this search, or also rules that "  \
               "only plugins could contradict (declared)")
#define CLI_ROW_BOUND                                                                              \
    CLI_TEXT(cli_explore_options, bound, "bound", "CELL",                                          \
             "a cell that you declare to be a lower bound of the minimised cell",                  \
             .word = CLI_WORD_CELL)
#define CLI_ROW_TRIALS                                                                             \
    CLI_COUNT(cli_explore_options, trials, "trials", 1, CLI_MOST_DIGITS,                           \
              "maximum number of plans that a heuristic computes (default: 2000)")
#define CLI_ROW_STOP_AFTER                                                                         \
    CLI_COUNT(cli_explore_options, stop_after, "stop-after", 1, CLI_MOST_DIGITS,                   \
              "end a heuristic when the best five do not change for N plans that pass (Maya: 20)")

/* How plans are searched. */
#define CLI_ROWS_GUIDE                                                                             \
    CLI_ROW_METHOD, CLI_ROW_PRUNE, CLI_ROW_BOUND, CLI_ROW_TRIALS, CLI_ROW_STOP_AFTER

#endif
