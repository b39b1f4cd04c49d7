/* SPDX-License-Identifier: Apache-2.0 */
/* Halves of a run are found by the names of their files, or by the source that both give. */
#include "nccl-whitebox/fit/nccl_table.h"

#include <math.h>
#include <string.h>

static bool has_times(const st_nccl_table *table, st_nccl_buffers buffers)
{
    for (size_t i = 0; i < table->row_count; i++)
        if (isfinite(table->rows[i].time_s[buffers]))
            return true;
    return false;
}

static bool is_half(const st_nccl_table *table, st_nccl_buffers buffers)
{
    st_nccl_buffers other = buffers == ST_NCCL_IN_PLACE ? ST_NCCL_OUT_OF_PLACE : ST_NCCL_IN_PLACE;
    return has_times(table, buffers) && !has_times(table, other);
}

/* "x.inplace.csv" beside "x.csv". */
static bool is_named_after(const char *in_place, const char *out_of_place)
{
    static const char mark[] = ".inplace";
    const char *dot = strrchr(out_of_place, '.');
    size_t stem = dot != NULL ? (size_t)(dot - out_of_place) : strlen(out_of_place);
    return strncmp(in_place, out_of_place, stem) == 0 &&
           strncmp(in_place + stem, mark, sizeof mark - 1) == 0 &&
           strcmp(in_place + stem + sizeof mark - 1, out_of_place + stem) == 0;
}

/* What differs between two tables that one run has made; NULL: nothing. */
static const char *difference(const st_nccl_table *a, const st_nccl_table *b)
{
    if (strcmp(a->collective, b->collective) != 0)
        return "the collective";
    if (a->ranks != b->ranks || a->nodes != b->nodes)
        return "the number of ranks or nodes";
    if (strcmp(a->gpu, b->gpu) != 0)
        return "the GPU";
    if (strcmp(a->fabric, b->fabric) != 0)
        return "the fabric";
    if (strcmp(a->version, b->version) != 0)
        return "the version of NCCL";
    if (strcmp(a->source, b->source) != 0)
        return "the source";
    if (a->row_count != b->row_count)
        return "the sizes";
    for (size_t i = 0; i < a->row_count; i++)
        if (a->rows[i].size_bytes != b->rows[i].size_bytes)
            return "the sizes";
    return NULL;
}

static bool belongs(const st_nccl_table *in_place, const st_nccl_table *out_of_place)
{
    return is_named_after(in_place->file, out_of_place->file) ||
           (in_place->source[0] != '\0' && difference(in_place, out_of_place) == NULL);
}

static bool same_group(const st_nccl_table *a, const st_nccl_table *b)
{
    return strcmp(a->collective, b->collective) == 0 && a->ranks == b->ranks &&
           a->nodes == b->nodes && strcmp(a->gpu, b->gpu) == 0 &&
           strcmp(a->fabric, b->fabric) == 0 && strcmp(a->version, b->version) == 0;
}

st_status st_nccl_join_runs(st_nccl_table **tables, size_t *count, st_errors *errors)
{
    size_t kept = 0;
    for (size_t i = 0; i < *count; i++) {
        const st_nccl_table *half = tables[i];
        size_t whole = 0;
        while (whole < *count &&
               !(is_half(half, ST_NCCL_IN_PLACE) && whole != i &&
                 is_half(tables[whole], ST_NCCL_OUT_OF_PLACE) && belongs(half, tables[whole])))
            whole++;
        if (whole < *count) {
            st_status status = ST_OK;
            st_nccl_table *join_whole = tables[whole];
            const char *differs = difference(join_whole, half);
            if (differs != NULL) {
                status = st_fail(
                    errors, ST_ERR_VALUE, st_nccl_place_of(half),
                    "times in place of another run than those out of place in %s:%d" ST_FOUND
                    "%s differs" ST_EXPECTED "two halves of one run",
                    join_whole->file, join_whole->line, differs);
            } else {
                for (size_t j = 0; j < join_whole->row_count; j++) {
                    join_whole->rows[j].time_s[ST_NCCL_IN_PLACE] =
                        half->rows[j].time_s[ST_NCCL_IN_PLACE];
                    join_whole->rows[j].bandwidth[ST_NCCL_IN_PLACE] =
                        half->rows[j].bandwidth[ST_NCCL_IN_PLACE];
                    join_whole->rows[j].slack[ST_NCCL_IN_PLACE] =
                        half->rows[j].slack[ST_NCCL_IN_PLACE];
                }
            }
            if (status != ST_OK)
                return status;
            tables[i] = tables[whole]; /* once more, and left out below */
        }
    }
    for (size_t i = 0; i < *count; i++) {
        bool again = false;
        for (size_t k = 0; k < kept && !again; k++)
            again = tables[k] == tables[i];
        if (!again)
            tables[kept++] = tables[i];
    }
    *count = kept;
    return ST_OK;
}

st_status st_nccl_check_runs(const st_nccl_table *const *tables, size_t count, st_errors *errors)
{
    for (size_t i = 0; i < count; i++)
        for (size_t k = 0; k < count; k++)
            if (tables[i]->buffers == ST_NCCL_IN_PLACE &&
                tables[k]->buffers == ST_NCCL_OUT_OF_PLACE && same_group(tables[i], tables[k]))
                return st_fail(errors, ST_ERR_VALUE, st_nccl_place_of(tables[i]),
                               "times in place beside times out of place of another run, %s:%d, "
                               "are not fitted together" ST_HINT
                               "give one of the two, --each, or --in-place where both have such",
                               tables[k]->file, tables[k]->line);
    return ST_OK;
}
