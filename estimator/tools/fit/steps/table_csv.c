/* SPDX-License-Identifier: Apache-2.0 */
/* Tables that measured steps and validations name; see table_csv.h. */
#include "fit/steps/table_csv.h"

#include "base/csv_file.h"
#include "steptime/tool/input_files.h"

#include <string.h>

st_status st_table_csv_read(const char *path, st_place place, st_arena *arena, const st_csv **csv,
                            st_errors *errors)
{
    size_t length = strlen(path);
    st_source text = {0};
    if (length > 3 && strcmp(path + length - 3, ".gz") == 0)
        return st_packed_csv_read(path, arena, csv, errors);
    st_status status = st_file_read_table(path, place, arena, &text, errors);
    return status == ST_OK ? st_commented_csv_parse(&text, arena, csv, errors) : status;
}
