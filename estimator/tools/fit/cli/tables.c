/* SPDX-License-Identifier: Apache-2.0 */
/* Tables on the command line; see tables.h. */
#include "fit/cli/tables.h"

#include <string.h>

st_status cli_tables(cli_run *run, const cli_table_options *options,
                     const st_measured_table **tables, size_t *count)
{
    st_measured_table *list = st_arena_alloc(run->arena, run->given_count + 1, sizeof *list);
    const char *common = NULL;
    st_status status = list != NULL ? ST_OK : ST_ERR_MEMORY;
    *count = 0;
    for (size_t i = 0; i < run->given_count && status == ST_OK; i++) {
        const cli_given *given = &run->given[i];
        if (given->member == &options->files) {
            list[(*count)++] = (st_measured_table){.file = given->value};
        } else if (given->member == &options->filters) {
            /* Two --rows behind one table are one filter. */
            const char **filter = *count > 0 ? &list[*count - 1].filter : &common;
            const char *more = given->value;
            *filter = *filter == NULL ? more : st_arena_printf(run->arena, "%s,%s", *filter, more);
            status = *filter != NULL ? ST_OK : ST_ERR_MEMORY;
        }
    }
    if (status == ST_OK && *count == 0 && common != NULL)
        return cli_wrong_use(run, "--rows requires --table", NULL);
    for (size_t i = 0; i < *count; i++)
        if (list[i].filter == NULL)
            list[i].filter = common;
    *tables = list;
    return status;
}

st_status cli_table_request(cli_run *run, const cli_table_options *options,
                            st_measured_request *request)
{
    *request = (st_measured_request){.paths = run->paths,
                                     .sheet = run->common.sheet,
                                     .constants = options->constants,
                                     .sets = run->common.sets.items,
                                     .set_count = run->common.sets.count,
                                     .refine = run->common.refine.items,
                                     .refine_count = run->common.refine.count};
    return st_table_sources_load(run->paths, run->arena, &request->sources, &request->source_count,
                                 run->errors);
}

st_status cli_mark_fitted(cli_run *run, const char *constants, st_measured *measured)
{
    const st_table_source *source = measured->source;
    st_status status = ST_OK;
    if (constants != NULL)
        status = st_measured_mark_fitted(measured, run->paths, constants, run->arena, run->errors);
    for (size_t i = 0; source != NULL && i < source->constant_count && status == ST_OK; i++)
        status = st_measured_mark_fitted(measured, run->paths, source->constants[i], run->arena,
                                         run->errors);
    return status;
}
