/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Making the image of a sheet (sheet/image.h): for the tool that makes them and for the test that
 * makes them again. Tables in pack.c list the pointers of a structure.
 */
#ifndef STEPTIME_SHEET_PACK_H
#define STEPTIME_SHEET_PACK_H

#include "sheet/image.h"

typedef struct st_packed {
    st_sheet_image image;
    const bool *points; /* per fixed word: it is an offset from the first one, where the image has a
                         * pointer */
} st_packed;

/*
 * The image of `sheet`, in `arena`; `files` and `sources` are what it was read from. NULL where
 * memory runs out or a table of pack.c does not describe its structure.
 */
const st_packed *st_sheet_pack(const st_sheet *sheet, const st_image_file *files,
                               const st_source *sources, size_t file_count, st_arena *arena);

#endif
