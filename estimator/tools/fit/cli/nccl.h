/* SPDX-License-Identifier: Apache-2.0 */
/* What 'fit nccl' and 'validate --nccl' share: measured collectives, compared with a plugin. */
#ifndef STEPTIME_CLI_NCCL_H
#define STEPTIME_CLI_NCCL_H

#include "command/cli.h"

#include "nccl-whitebox/fit/nccl_report.h"

/* What their options give. */
typedef struct cli_nccl_options {
    const char *collective;
    const char *cluster;
    cli_texts settings; /* of the plugin */
    uint64_t ranks;     /* 0: not given, and so are nodes */
    uint64_t nodes;
    bool in_place;
    bool out_of_place;
    bool rate_from_peak;
} cli_nccl_options;

typedef struct cli_nccl {
    cli_run *run;
    const cli_nccl_options *options;
    const char *plugin;
    const char *profile; /* NULL: none */
    st_nccl_table **tables;
    size_t table_count;
    const st_refinement *worded; /* what --refine says of it; NULL: nothing */
    bool takes_profile;
    st_plugin_given *given; /* of --refine and --option */
    size_t given_count;
    st_nccl_fit *fits;
    size_t fit_count;
    bool each;        /* each table alone: one that is refused does not stop the others */
    size_t refused;   /* files and tables that were left out for that, each with its error */
    bool lacks_lines; /* the warning about the baseline was given */
} cli_nccl;

/* Reads all files, of folders those that may hold tables, puts halves of one run together, and
 * reports all errors of all of them. With nccl->each they count in
 * nccl->refused, and only where nothing is left the status says so. */
st_status cli_nccl_read(cli_nccl *nccl, const char *const *files, size_t count) ST_NODISCARD;

/* One fit for all tables of a collective or, with nccl->each, for each table; without a fit, the
 * plugin as it is, or with the options of the profile, compared with each table. Errors as above.
 */
st_status cli_nccl_run(cli_nccl *nccl, bool wants_fit) ST_NODISCARD;

void cli_nccl_write(const cli_nccl *nccl);

/* The rows of cli_nccl_options, which is the member `at` of a verb's own structure. */
#define CLI_NCCL_TABLE_ROWS(type, at)                                                              \
    CLI_WORD(type, at.collective, "collective", "NAME",                                            \
             "all_reduce all_gather reduce_scatter broadcast all_to_all send_recv reduce gather "  \
             "scatter",                                                                            \
             "only tables of this collective; assumed for files that do not name one"),            \
        CLI_COUNT(type, at.ranks, "ranks", 1, CLI_MOST_GIVEN,                                      \
                  "number of ranks; overrides the tables"),                                        \
        CLI_COUNT(type, at.nodes, "nodes", 1, CLI_MOST_GIVEN,                                      \
                  "number of nodes; overrides the tables"),                                        \
        CLI_FLAG(type, at.in_place, "in-place", "use the in-place times"),                         \
        CLI_FLAG(type, at.out_of_place, "out-of-place",                                            \
                 "use the out-of-place times, the default for tables that have them")
#define CLI_NCCL_MODEL_ROWS(type, at)                                                              \
    CLI_TEXTS(cli_common, refine, "refine", "PLUGIN[:NAME=VALUE,...]",                             \
              "the plugin with the model of collectives (default: nccl-whitebox) and its "         \
              "options; for other measurements: plugins in place of formulas",                     \
              .common = true),                                                                     \
        CLI_TEXTS(type, at.settings, "option", "NAME=VALUE",                                       \
                  "an option of the plugin; may be repeated"),                                     \
        CLI_TEXT(                                                                                  \
            type, at.cluster, "cluster", "NAME",                                                   \
            "the cluster, for values that the tables lack; 'steptime list clusters' lists them"),  \
        CLI_FLAG(type, at.rate_from_peak, "rate-from-peak",                                        \
                 "where no rate of links or NICs is given, use the largest rate of the table, so " \
                 "that the result is not a prediction")

#endif
