/* SPDX-License-Identifier: Apache-2.0 */
/* CSV lines: comma, quotes where needed, a bare newline at the end, on every platform the same. */
#ifndef STEPTIME_BASE_CSV_WRITE_H
#define STEPTIME_BASE_CSV_WRITE_H

#include "steptime/arena.h"

/* NULL is an empty field. */
void st_csv_row(const char *const *fields, size_t count, st_buffer *buffer);

#endif
