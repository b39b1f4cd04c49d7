/* SPDX-License-Identifier: Apache-2.0 */
#include "trace/cli/traces.h"

#include "base/text.h"
#include "steptime/tool/gpus.h"
#include "trace/bytes.h"
#include "trace/classes.h"
#include "trace/depend.h"
#include "trace/link.h"

#include <string.h>

st_status cli_read_set(cli_run *run, const char *const *files, size_t count,
                       st_trace_options *options, st_trace_set **set)
{
    options->partial = run->common.partial;
    st_status status = cli_paths(run);
    if (status == ST_OK)
        status = st_trace_classes_load(run->paths, run->arena, &options->classes, run->errors);
    return status == ST_OK ? st_trace_set_read(files, count, options, set, run->errors) : status;
}

st_status cli_read_traces(cli_run *run, unsigned needs, st_trace_set **set)
{
    st_trace_options options = {.details = (needs & CLI_TRACE_DETAILS) != 0,
                                .without_operators = (needs & CLI_TRACE_OPERATORS) == 0,
                                .apart = (needs & CLI_TRACE_OPERATORS) == 0};
    st_trace_set *made = NULL;
    st_status status = cli_read_set(run, run->arguments, run->argument_count, &options, &made);
    if (status == ST_OK && run->common.steps != NULL)
        status = st_trace_cut_steps(made, run->common.steps, run->errors);
    if (status == ST_OK)
        *set = made;
    else
        st_trace_set_destroy(made);
    return status;
}

st_status cli_recorded_gpu(cli_run *run, const st_trace_set *set, const char *said,
                           const char *option, const char **found)
{
    st_gpus gpus = {0};
    st_status status = st_gpus_list(run->paths, run->arena, &gpus, run->errors);
    *found = said != NULL && status == ST_OK ? st_gpus_of_device(&gpus, said) : NULL;
    if (status == ST_OK && said != NULL && *found == NULL)
        return st_gpus_unknown(&gpus, said, (st_place){.file = option}, run->errors);
    for (size_t i = 0; i < set->count && status == ST_OK; i++) {
        const st_trace *trace = set->ranks[i];
        const char *device = trace->gpu != ST_TRACE_NONE ? trace->names[trace->gpu] : NULL;
        const char *file = device != NULL ? st_gpus_of_device(&gpus, device) : NULL;
        if (file != NULL && *found != NULL && strcmp(file, *found) != 0)
            return st_fail(run->errors, ST_ERR_VALUE, (st_place){.file = trace->file},
                           "recorded on another GPU" ST_FOUND "%s, %s" ST_EXPECTED "%s of %s",
                           device, file, *found, said != NULL ? option : "the ranks before it");
        *found = *found == NULL ? file : *found;
    }
    if (status == ST_OK && *found == NULL)
        return st_fail(run->errors, ST_ERR_VALUE, (st_place){.file = set->ranks[0]->file},
                       "the recorded GPU is unknown" ST_HINT "name it with %s", option);
    return status;
}

int cli_view_traces(cli_run *run)
{
    const unsigned needs = run->verb->view_needs;
    cli_recorded recorded = {NULL, NULL};
    st_result result;
    st_status status = cli_read_traces(run, needs, &recorded.set);
    if (status == ST_OK && (needs & CLI_TRACE_IDLE) == 0)
        status = st_trace_need_work(recorded.set, run->errors);
    for (size_t i = 0; status == ST_OK && i < recorded.set->count; i++)
        if ((needs & CLI_TRACE_GRAPH) == CLI_TRACE_GRAPH)
            st_depend_thin(recorded.set->ranks[i]);
    if (status == ST_OK && (needs & CLI_TRACE_GRAPH) == CLI_TRACE_GRAPH)
        status = st_trace_graph_make(recorded.set, &recorded.graph, run->errors);
    if (status == ST_OK)
        status = run->verb->view(run, &recorded, &result);
    if (status == ST_OK)
        cli_show(run, &result);
    st_trace_graph_destroy(recorded.graph);
    st_trace_set_destroy(recorded.set);
    return cli_exit_code(run, status);
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
