/* SPDX-License-Identifier: Apache-2.0 */
/* The verbs that `steptime` runs itself. */
#ifndef STEPTIME_CLI_VERBS_H
#define STEPTIME_CLI_VERBS_H

#include "command/cli.h"

extern const cli_verb cli_verb_estimate;
extern const cli_verb cli_verb_explain;
extern const cli_verb cli_verb_search;
extern const cli_verb cli_verb_compare;
extern const cli_verb cli_verb_list;
extern const cli_verb cli_verb_sweep;
extern const cli_verb cli_verb_scale;
extern const cli_verb cli_verb_timeline;
extern const cli_verb cli_verb_traffic;
extern const cli_verb cli_verb_sheet_check;
extern const cli_verb cli_verb_sheet_show;
extern const cli_verb cli_verb_sheet_list;
extern const cli_verb cli_verb_sheet_export;
extern const cli_verb cli_verb_steps_check;
extern const cli_verb cli_verb_plugin_list;
extern const cli_verb cli_verb_plugin_info;
extern const cli_verb cli_verb_plugin_check;
extern const cli_verb cli_verb_plugin_new;
extern const cli_verb cli_verb_page;
extern const cli_verb cli_verb_docs;
extern const cli_verb cli_verb_completion;
extern const cli_verb cli_verb_help;

/* `what` is one of the choices of `list`: "jobs", "sheets", ... */
int cli_list_folder(cli_run *run, const char *what);

#endif
