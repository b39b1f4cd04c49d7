/* SPDX-License-Identifier: Apache-2.0 */
/* What a reader of collectives refuses, warns of and leaves out; see nccl_build.h. */
#include "nccl-whitebox/fit/nccl_build.h"

#include "base/print.h"

#include <math.h>
#include <stdarg.h>

st_place st_nccl_place(const st_nccl_reader *reader, int line)
{
    return (st_place){.file = reader->input->file, .line = line};
}

void st_nccl_refuse(st_nccl_reader *reader, st_status status, int line, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    st_note(&reader->status,
            st_vfail(reader->errors, status, st_nccl_place(reader, line), format, arguments));
    va_end(arguments);
}

void st_nccl_warn(st_nccl_reader *reader, int line, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    const char *text = st_arena_vprintf(reader->arena, format, arguments);
    va_end(arguments);
    st_report(reader->errors, ST_SEVERITY_WARNING, ST_ERR_VALUE, st_nccl_place(reader, line), "%s",
              text != NULL ? text : format);
}

void st_nccl_break(st_nccl_reader *reader, st_nccl_table *table, int line)
{
    if (reader->broken == 0 || line < reader->first_broken)
        reader->first_broken = line;
    reader->broken++;
    table->left_out++;
}

/* Digits of two rows in one number show where the bandwidth does not follow from the time. */
static bool is_consistent(const st_nccl_row *row, int buffers)
{
    double printed = row->bandwidth[buffers];
    if (!isfinite(printed) || !isfinite(row->time_s[buffers]))
        return true;
    double expected = row->size_bytes / row->time_s[buffers];
    return fabs(expected - printed) <= 0.05 * expected + 2 * row->slack[buffers];
}

bool st_nccl_is_plausible(const st_nccl_row *row)
{
    return !(row->time_s[0] <= 0) && !(row->time_s[1] <= 0) && is_consistent(row, 0) &&
           is_consistent(row, 1);
}
