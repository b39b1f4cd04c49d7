/* SPDX-License-Identifier: Apache-2.0 */
/* Which rank does as which, as a table: written and read; see rank_dedup.h. */
#include "record/rank_dedup.h"

#include "base/fields.h"
#include "base/memory.h"
#include "steptime/tool/input_files.h"

#include <unistd.h>

void st_rank_dedup_write(const st_rank_dedup *dedup, st_buffer *text)
{
    st_buffer_printf(text, "first,count,as\n");
    for (uint32_t first = 0; first < dedup->world;) {
        uint32_t end = first + 1;
        while (end < dedup->world && dedup->as[end] == dedup->as[first])
            end++;
        if (dedup->as[first] >= 0)
            st_buffer_printf(text, "%u,%u,%d\n", first, end - first, dedup->as[first]);
        first = end;
    }
}

typedef struct dedup_row {
    double first;
    double count;
    double as;
} dedup_row;

static st_status read_rows(const st_csv *csv, uint64_t world, st_arena *arena, int32_t *as,
                           st_errors *errors)
{
    double most = (double)world;
    const st_field fields[] = {
        {.name = "first",
         .set = st_field_count,
         .flags = ST_FIELD_REQUIRED,
         .most = most - 1,
         .offset = offsetof(dedup_row, first)},
        {.name = "count",
         .set = st_field_count,
         .flags = ST_FIELD_REQUIRED,
         .least = 1,
         .most = most,
         .offset = offsetof(dedup_row, count)},
        {.name = "as",
         .set = st_field_count,
         .flags = ST_FIELD_REQUIRED,
         .most = most - 1,
         .offset = offsetof(dedup_row, as)},
    };
    st_field_reader reader = {
        .csv = csv, .fields = fields, .count = ST_COUNT(fields), .arena = arena, .errors = errors};
    bool found = st_fields_find(&reader);
    for (size_t i = 0; found && i < csv->row_count; i++) {
        dedup_row row;
        if (!st_fields_read(&reader, i, &row))
            continue;
        uint64_t end = (uint64_t)(row.first + row.count);
        if (end > world)
            return st_fail(errors, ST_ERR_VALUE, st_csv_place(csv, i, 1),
                           "rank is out of range" ST_FOUND "%llu" ST_EXPECTED "at most %llu",
                           (unsigned long long)end - 1, (unsigned long long)world - 1);
        for (uint64_t rank = (uint64_t)row.first; rank < end; rank++)
            as[rank] = (int32_t)row.as;
    }
    return reader.status;
}

st_status st_rank_dedup_read(const char *folder, uint64_t world, st_arena *arena, int32_t **as,
                             bool *found, st_errors *errors)
{
    st_source source;
    const st_csv *csv = NULL;
    const char *path = st_arena_printf(arena, "%s/" ST_RANK_DEDUP_FILE, folder);
    int32_t *made = st_arena_alloc(arena, world, sizeof *made);
    *found = access(path, F_OK) == 0;
    if (!*found)
        return ST_OK;
    for (uint64_t i = 0; i < world; i++)
        made[i] = -1;
    st_status status = st_file_read_table(path, (st_place){.file = path}, arena, &source, errors);
    if (status == ST_OK)
        status = st_csv_parse(source.file, source.text, source.length, arena, &csv, errors);
    if (status == ST_OK)
        status = read_rows(csv, world, arena, made, errors);
    *as = made;
    return status;
}
