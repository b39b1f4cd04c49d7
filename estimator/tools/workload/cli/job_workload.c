/* SPDX-License-Identifier: Apache-2.0 */
#include "workload/cli/job_workload.h"

st_status cli_make_workload(cli_run *run, const job_layout *layout, st_workload *workload)
{
    const cli_common *common = &run->common;
    st_estimate *estimate = NULL;
    st_timeline *timeline = NULL;
    st_status status = cli_paths(run);
    const st_timeline_request request = {.paths = run->paths,
                                         .job = {.job = run->arguments[0],
                                                 .sheet = common->sheet,
                                                 .sets = common->sets.items,
                                                 .set_count = common->sets.count,
                                                 .refine = common->refine.items,
                                                 .refine_count = common->refine.count,
                                                 .checks_warn = common->check == CLI_CHECK_NONE},
                                         .schedule = layout->schedule,
                                         .settings = layout->settings->items,
                                         .setting_count = layout->settings->count,
                                         .layers = layout->layers};
    if (status == ST_OK)
        status = st_timeline_lay_out(&request, run->arena, &estimate, &timeline, run->errors);
    if (status == ST_OK)
        status = st_workload_make(estimate, timeline, run->arena, workload, run->errors);
    return status;
}
