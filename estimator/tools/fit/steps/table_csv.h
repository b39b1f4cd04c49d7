/* SPDX-License-Identifier: Apache-2.0 */
/* Tables from files: CSV behind any lines of comments ("#"), packed by gzip or not. */
#ifndef STEPTIME_CALIBRATE_STEPS_TABLE_CSV_H
#define STEPTIME_CALIBRATE_STEPS_TABLE_CSV_H

#include "base/csv.h"

/* Reads a file that may be one of the library's own; one that ends in ".gz" is packed. */
st_status st_table_csv_read(const char *path, st_place place, st_arena *arena, const st_csv **csv,
                            st_errors *errors) ST_NODISCARD;

#endif
