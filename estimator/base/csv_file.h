/* SPDX-License-Identifier: Apache-2.0 */
/* Tables from files: CSV after any lines of comments ("#"), packed by gzip or not. */
#ifndef STEPTIME_BASE_CSV_FILE_H
#define STEPTIME_BASE_CSV_FILE_H

#include "base/csv.h"

st_status st_commented_csv_parse(const st_source *source, st_arena *arena, const st_csv **csv,
                                 st_errors *errors) ST_NODISCARD;

/* A file that the user names, packed or not: its first bytes decide. */
st_status st_packed_csv_read(const char *path, st_arena *arena, const st_csv **csv,
                             st_errors *errors) ST_NODISCARD;

#endif
