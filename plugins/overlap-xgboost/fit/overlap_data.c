/* SPDX-License-Identifier: Apache-2.0 */
/* Kernels from tables, from pairs of recordings and from counters, as they are asked for. */
#include "overlap-xgboost/fit/overlap_data.h"

#include "base/memory.h"
#include "base/output.h"
#include "steptime/tool/input_files.h"

#include <string.h>

/* The GPU is that of kernels whose rows do not name it. */
static st_status use_table(const st_overlap_source *asked, const st_source *table, bool to_learn,
                           st_arena *arena, st_kernels *kernels, st_errors *errors)
{
    const st_csv *csv = NULL;
    st_status status = st_csv_parse(table->file, table->text, table->length, arena, &csv, errors);
    if (status == ST_OK)
        status = st_kernels_read(csv, arena, kernels, errors);
    if (status == ST_OK && to_learn)
        status = st_kernels_check(kernels, errors);
    if (status == ST_OK && asked->gpu != NULL)
        status = st_kernels_name_gpu(kernels, asked->gpu, errors);
    return status;
}

st_status st_overlap_read_table(const st_overlap_source *asked, const char *file, bool to_learn,
                                st_arena *arena, st_kernels *kernels, st_errors *errors)
{
    st_source source = {0};
    st_status status = st_file_read_table(file, (st_place){0}, arena, &source, errors);
    return status == ST_OK ? use_table(asked, &source, to_learn, arena, kernels, errors) : status;
}

static st_status read_counters(const char *file, st_arena *arena, st_counters *counters,
                               st_pairs_options *options, st_errors *errors)
{
    st_source source = {0};
    if (file == NULL)
        return ST_OK;
    st_status status = st_file_read_table(file, (st_place){0}, arena, &source, errors);
    if (status == ST_OK)
        status = st_counters_read(source.file, source.text, source.length, arena, counters, errors);
    options->counters = counters;
    return status;
}

st_status st_overlap_read_pairs(const st_overlap_source *asked, st_arena *arena,
                                st_kernels *kernels, st_pairs_tally *tally, st_errors *errors)
{
    st_pairs_options options = {.unmatched_frac = asked->unmatched_frac};
    st_counters counters = {0};
    st_pairs_made made = {0};
    if (asked->recording_count % 2 != 0)
        return st_fail(errors, ST_ERR_USAGE, (st_place){0},
                       "--pairs takes two recordings for each pair" ST_HINT
                       "give the one without overlap, then the one with it");
    st_status status = read_counters(asked->counters, arena, &counters, &options, errors);
    if (status == ST_OK) {
        st_pairs_head(options.counters != NULL, &made.table);
        /* All errors of all pairs at once. */
        st_status pair_status = ST_OK;
        for (size_t i = 0; i + 1 < asked->recording_count; i += 2) {
            st_recorded without = {0};
            st_recorded with = {0};
            st_status read = st_recorded_read(asked->recordings[i], arena, &without, errors);
            st_status other = st_recorded_read(asked->recordings[i + 1], arena, &with, errors);
            read = read == ST_OK ? other : read;
            if (read == ST_OK)
                read = st_pairs_append(&without, &with, &options, arena, &made, errors);
            pair_status = pair_status == ST_OK ? read : pair_status;
        }
        status = pair_status;
        *tally = made.tally;
    }
    if (status == ST_OK) {
        if (made.table.failed)
            status = st_out_of_memory(errors);
        else
            status = asked->table != NULL
                         ? st_output_write(asked->table, made.table.data, made.table.length, errors)
                         : ST_OK;
    }
    const st_source source = {.file = asked->table != NULL ? asked->table : "kernels of the pairs",
                              .text = made.table.data,
                              .length = made.table.length};
    if (status == ST_OK)
        status = use_table(asked, &source, true, arena, kernels, errors);
    st_buffer_free(&made.table);
    return status;
}
