/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/traces.h"

#include "trace/view.h"

st_status cli_read_traces(cli_run *run, st_trace_set **set)
{
    st_trace_options options = {.partial = run->common.partial};
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
