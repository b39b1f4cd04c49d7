/* SPDX-License-Identifier: Apache-2.0 */
/* Logs of runs as measured jobs, and the stack that they correct. */
#ifndef STEPTIME_FIT_CLI_RUN_LOGS_H
#define STEPTIME_FIT_CLI_RUN_LOGS_H

#include "command/cli.h"
#include "fit/steps/site.h"

/* The file is the log of a run; `text` becomes what it holds. */
bool cli_is_log(cli_run *run, const char *file, st_source *text);

/*
 * The job and the measured step time of a log, or of the `peer_count` files of another estimator at
 * `text`; `cluster` NULL: left open.
 */
st_status cli_measured_log(cli_run *run, const st_measured_request *request, const char *cluster,
                           const st_source *text, size_t peer_count, st_measured *measured);

/* Writes the stack of a site. */
st_status cli_save_site(cli_run *run, const st_site *site, const char *file);

#endif
