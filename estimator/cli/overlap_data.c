/* SPDX-License-Identifier: Apache-2.0 */
/* Kernels from tables, from pairs of recordings and from counters, as the options name them. */
#include "cli/overlap_data.h"

#include "base/output.h"
#include "job/files.h"

#include <string.h>

/* What --gpu says of kernels whose rows do not. */
static st_status name_gpu(cli_run *run, st_kernels *kernels)
{
    const cli_overlap_options *asked = run->options;
    return asked->gpu != NULL ? st_kernels_name_gpu(kernels, asked->gpu, run->errors) : ST_OK;
}

st_status cli_overlap_table(cli_run *run, const char *file, bool to_learn, st_kernels *kernels)
{
    st_source source = {0};
    const st_csv *csv = NULL;
    st_status status = st_file_read_table(file, (st_place){0}, run->arena, &source, run->errors);
    if (status == ST_OK)
        status =
            st_csv_parse(source.file, source.text, source.length, run->arena, &csv, run->errors);
    if (status == ST_OK)
        status = st_kernels_read(csv, run->arena, kernels, run->errors);
    if (status == ST_OK && to_learn)
        status = st_kernels_check(kernels, run->errors);
    if (status == ST_OK)
        status = name_gpu(run, kernels);
    return status;
}

static st_status read_counters(cli_run *run, st_counters *counters, st_pairs_options *options)
{
    const cli_overlap_options *asked = run->options;
    const char *file = asked->counters;
    st_source source = {0};
    if (file == NULL)
        return ST_OK;
    st_status status = st_file_read_table(file, (st_place){0}, run->arena, &source, run->errors);
    if (status == ST_OK)
        status = st_counters_read(source.file, source.text, source.length, run->arena, counters,
                                  run->errors);
    options->counters = counters;
    return status;
}

/* All faults of all pairs at once. */
static st_status append_pairs(cli_run *run, const st_pairs_options *options, st_pairs_made *made)
{
    st_status status = ST_OK;
    for (size_t i = 0; i + 1 < run->argument_count; i += 2) {
        st_recorded without = {0};
        st_recorded with = {0};
        st_status read = st_recorded_read(run->arguments[i], run->arena, &without, run->errors);
        st_status other = st_recorded_read(run->arguments[i + 1], run->arena, &with, run->errors);
        read = read == ST_OK ? other : read;
        if (read == ST_OK)
            read = st_pairs_append(&without, &with, options, run->arena, made, run->errors);
        status = status == ST_OK ? read : status;
    }
    return status;
}

static st_status use_table(cli_run *run, const st_buffer *table, st_kernels *kernels)
{
    const cli_overlap_options *asked = run->options;
    const char *file = asked->table;
    const st_csv *csv = NULL;
    st_status status = table->failed ? st_out_of_memory(run->errors) : ST_OK;
    if (status == ST_OK && file != NULL)
        status = st_output_write(file, table->data, table->length, run->errors);
    if (status == ST_OK)
        status = st_csv_parse(file != NULL ? file : "kernels of the pairs", table->data,
                              table->length, run->arena, &csv, run->errors);
    if (status == ST_OK)
        status = st_kernels_read(csv, run->arena, kernels, run->errors);
    if (status == ST_OK)
        status = st_kernels_check(kernels, run->errors);
    if (status == ST_OK)
        status = name_gpu(run, kernels);
    return status;
}

st_status cli_overlap_pairs(cli_run *run, st_kernels *kernels, st_pairs_tally *tally)
{
    const cli_overlap_options *asked = run->options;
    st_pairs_options options = {.unmatched_frac = asked->unmatched_percent / 100};
    st_counters counters = {0};
    st_pairs_made made = {0};
    if (run->argument_count % 2 != 0)
        return cli_wrong_use(run, "--pairs takes two recordings for each pair",
                             "name the one without overlap, then the one with it");
    st_status status = read_counters(run, &counters, &options);
    if (status == ST_OK) {
        st_pairs_head(options.counters != NULL, &made.table);
        status = append_pairs(run, &options, &made);
        *tally = made.tally;
    }
    if (status == ST_OK)
        status = use_table(run, &made.table, kernels);
    st_buffer_free(&made.table);
    return status;
}
