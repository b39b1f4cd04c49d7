/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Sheets that were read and checked when the program was built.
 *
 * An image is the memory of a sheet as st_sheet_load leaves it, in one piece of three parts. Few
 * words, types and enumerations, have pointers that the dynamic loader sets. Structures with
 * offsets in place of pointers are copied where a sheet is asked for. The largest part stays where
 * it is: texts, numbers, and the trees of formulas, whose nodes know others by their distance
 * (sheet/expr.h). The tool that makes them (job/pack_sheets.c) is linked with the very objects that
 * use them and reads the texts that the library carries: an image cannot be older than either. It
 * replaces the sheet only where the reader finds the library's own text for every file of it.
 */
#ifndef STEPTIME_SHEET_IMAGE_H
#define STEPTIME_SHEET_IMAGE_H

#include "steptime/sheet.h"

/* A file of the sheet, in the order in which they are asked for; the first is the sheet's own. */
typedef struct st_image_file {
    const char *name; /* as it is included */
    const char *file; /* as the reader names it */
} st_image_file;

/* A word that points into the text of a file. */
typedef struct st_image_text {
    uint32_t word;
    uint32_t file;
} st_image_text;

typedef union st_image_word {
    uintptr_t number;
    const void *pointer;
} st_image_word;

/* From each word that is an offset to the next one; the first: from word 0. */
typedef struct st_image_steps {
    const uint32_t *items;
    size_t count;
} st_image_steps;

/* Of words that point to copied words, and of those that point to where all others stay. */
enum { ST_IMAGE_INSIDE, ST_IMAGE_OUTSIDE, ST_IMAGE_STEPS };

/* Offsets count from the first fixed word, and `words` begin after the last one. */
typedef struct st_sheet_image {
    const st_image_word *fixed;
    size_t fixed_count;
    const uintptr_t *words; /* begins with the st_sheet */
    size_t copied;          /* words that are copied */
    size_t word_count;
    st_image_steps steps[ST_IMAGE_STEPS];
    const st_image_text *texts;
    size_t text_count;
    const st_image_file *files;
    size_t file_count;
} st_sheet_image;

extern const st_sheet_image st_sheet_images[];
extern const size_t st_sheet_image_count;

/* The sheet whose own file is `root`, from its image; NULL: none is valid for it, or no
 * memory, and it is to be read. */
const st_sheet *st_sheet_from_image(const st_sheet_reader *reader, const st_source *root,
                                    st_arena *arena);

/* Reads a sheet whose own file is `source`, whatever images there are. */
st_status st_sheet_read(const st_sheet_reader *reader, const st_source *source, st_arena *arena,
                        const st_sheet **sheet, st_errors *errors) ST_NODISCARD;

#endif
