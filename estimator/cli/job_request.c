/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/job_request.h"

st_request cli_request(const cli_run *run)
{
    const cli_common *common = &run->common;
    return (st_request){.job = run->arguments[0],
                        .sheet = common->sheet,
                        .sets = common->sets.items,
                        .set_count = common->sets.count,
                        .refine = common->refine.items,
                        .refine_count = common->refine.count,
                        .checks_warn = common->check == CLI_CHECK_NONE};
}

st_status cli_load_job(cli_run *run, st_estimate *estimate)
{
    const st_request request = cli_request(run);
    return st_estimate_load(run->paths, &request, run->arena, estimate, run->errors);
}
