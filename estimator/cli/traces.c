/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/traces.h"

#include "base/text.h"
#include "trace/gzip.h"

static st_status read_traces(cli_run *run, const st_trace_options *options, st_trace_set **set)
{
    st_trace_set *made = NULL;
    st_status status =
        st_trace_set_read(run->arguments, run->argument_count, options, &made, run->errors);
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
    return read_traces(run, &(st_trace_options){.partial = run->common.partial}, set);
}

st_status cli_read_calls(cli_run *run, st_trace_set **set)
{
    return read_traces(
        run, &(st_trace_options){.partial = run->common.partial, .without_operators = true}, set);
}

st_status cli_read_details(cli_run *run, st_trace_set **set)
{
    return read_traces(run,
                       &(st_trace_options){.partial = run->common.partial,
                                           .details = true,
                                           .without_operators = true},
                       set);
}

st_status cli_make_trace(cli_run *run, const st_trace_export *asked, const char *file,
                         st_buffer *text)
{
    st_status status = asked->set->count > 1 ? st_trace_export_all(asked, text, run->errors)
                                             : st_trace_export_rank(asked, 0, text, run->errors);
    if (status == ST_OK && file != NULL && st_ends_in(file, ".gz"))
        status = st_gzip(text, run->errors);
    if (status != ST_OK)
        st_buffer_free(text);
    return status;
}

st_status cli_write_trace(cli_run *run, const st_trace_export *asked, const char *file)
{
    st_buffer text = {0};
    st_status status = cli_make_trace(run, asked, file, &text);
    if (status == ST_OK)
        status = cli_write_file(run, file, &text);
    st_buffer_free(&text);
    return status;
}
