/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/traces.h"

static st_status read_traces(cli_run *run, bool details, st_trace_set **set)
{
    st_trace_options options = {.partial = run->common.partial, .details = details};
    st_trace_set *made = NULL;
    st_status status =
        st_trace_set_read(run->arguments, run->argument_count, &options, &made, run->errors);
    if (status == ST_OK && run->common.steps != NULL)
        status = st_trace_cut_steps(made, run->common.steps, run->errors);
    if (status == ST_OK)
        *set = made;
    else
        st_trace_set_destroy(made);
    return status;
}

st_status cli_read_traces(cli_run *run, st_trace_set **set)
{
    return read_traces(run, false, set);
}

st_status cli_read_details(cli_run *run, st_trace_set **set)
{
    return read_traces(run, true, set);
}
