/* SPDX-License-Identifier: Apache-2.0 */
/* What 'fit nccl' and 'validate --nccl' share: measured collectives, and a plugin beside them. */
#ifndef STEPTIME_CLI_NCCL_H
#define STEPTIME_CLI_NCCL_H

#include "cli/cli.h"

#include "calibrate/collectives/nccl_report.h"

typedef struct cli_nccl {
    cli_run *run;
    st_paths *paths;
    const char *plugin;
    const char *profile; /* NULL: none */
    const st_nccl_table **tables;
    size_t table_count;
    size_t table_capacity;
    const st_refinement *worded; /* what --refine says of it; NULL: nothing */
    bool takes_profile;
    st_plugin_given *given; /* of --refine and --option */
    size_t given_count;
    st_nccl_fit *fits;
    size_t fit_count;
    bool each;      /* each table alone: one that is refused does not stop the others */
    size_t refused; /* files and tables that were left out for that, each with its error */
} cli_nccl;

/* Reads all files, and reports all faults of all of them. With own->each they count in
 * own->refused, and only where nothing is left the status says so. */
st_status cli_nccl_read(cli_nccl *own, const char *const *files, size_t count) ST_NODISCARD;

/* One fit for all tables of a collective or, with own->each, for each table; without a fit, the
 * plugin as it is, or with the options of the profile, beside each table. What is refused is as
 * above. */
st_status cli_nccl_run(cli_nccl *own, bool wants_fit) ST_NODISCARD;

void cli_nccl_write(const cli_nccl *own);

/* 'validate --nccl', all of it. */
int cli_nccl_validate(cli_run *run);

/* Rows of options. */
#define CLI_NCCL_TABLE_ROWS                                                                        \
    {CLI_COLLECTIVE,                                                                               \
     CLI_ONE,                                                                                      \
     CLI_WORD_CHOICE,                                                                              \
     0,                                                                                            \
     "collective",                                                                                 \
     "NAME",                                                                                       \
     "all_reduce all_gather reduce_scatter broadcast all_to_all send_recv reduce gather scatter",  \
     "only tables of this collective; also what a file measures that does not say it"},            \
        {CLI_RANKS, CLI_ONE, CLI_WORD_NONE, 0,                                                     \
         "ranks",   "N",     NULL,          "ranks of the tables, whatever they say"},             \
        {CLI_NODES, CLI_ONE, CLI_WORD_NONE, 0,                                                     \
         "nodes",   "N",     NULL,          "nodes of the tables, whatever they say"},             \
        {CLI_IN_PLACE, CLI_FLAG, CLI_WORD_NONE, 0, "in-place", NULL, NULL, "the times in place"},  \
    {                                                                                              \
        CLI_OUT_OF_PLACE, CLI_FLAG, CLI_WORD_NONE, 0, "out-of-place", NULL, NULL,                  \
            "the times out of place; these are taken where neither is given and a table has them"  \
    }
#define CLI_NCCL_MODEL_ROWS                                                                        \
    {CLI_REFINE,                                                                                   \
     CLI_MANY,                                                                                     \
     CLI_WORD_NONE,                                                                                \
     0,                                                                                            \
     "refine",                                                                                     \
     "PLUGIN[:NAME=VALUE,...]",                                                                    \
     NULL,                                                                                         \
     "the plugin with the model of collectives, with options; nccl-whitebox where it is left "     \
     "out; of other measurements: plugins in place of formulas"},                                  \
        {CLI_OPTION, CLI_MANY,     CLI_WORD_NONE, 0,                                               \
         "option",   "NAME=VALUE", NULL,          "an option of the plugin; may be repeated"},     \
    {                                                                                              \
        CLI_CLUSTER, CLI_ONE, CLI_WORD_NONE, 0, "cluster", "NAME", NULL,                           \
            "the cluster, for what tables do not say of it; 'steptime list clusters' lists them"   \
    }

#endif
