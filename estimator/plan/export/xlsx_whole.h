/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Whether a workbook is whole.
 *
 * libxlsxwriter writes the parts of a workbook to temporary files and does not ask whether that
 * succeeded: on a full disk a part ends early or lacks a block, and the ZIP file around it is
 * faultless.
 */
#ifndef STEPTIME_EXPORT_XLSX_WHOLE_H
#define STEPTIME_EXPORT_XLSX_WHOLE_H

#include <stdbool.h>
#include <stddef.h>

/*
 * A ZIP file whose every part unpacks to its size and is well-formed XML, in which elements that
 * say how many children they have do have them, rows follow each other, and cells stand in their
 * rows.
 */
bool st_xlsx_is_whole(const char *data, size_t length);

#endif
