/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Text for people: colour, and columns that line up.
 *
 * A report is the same bytes in a pipe and in a file. Only on a terminal is it coloured, and only
 * there do wide columns wrap to its width. Characters that a terminal would act on are shown as
 * '?'.
 */
#ifndef STEPTIME_BASE_TEXT_H
#define STEPTIME_BASE_TEXT_H

#include "steptime/arena.h"

typedef struct st_paint {
    bool color;
    size_t width; /* of the terminal, in characters; 0: not a terminal, nothing wraps */
} st_paint;

typedef enum st_ink {
    ST_INK_PLAIN,
    ST_INK_STRONG, /* titles, the headline */
    ST_INK_NAME,   /* names of cells and inputs */
    ST_INK_FAINT,  /* citations, origins */
    ST_INK_GOOD,
    ST_INK_BAD
} st_ink;

/* Appends `text` in a colour; blanks and line ends inside become single blanks. */
void st_paint_text(const st_paint *paint, st_ink ink, const char *text, st_buffer *buffer);
void st_paint_span(const st_paint *paint, st_ink ink, const char *text, size_t length,
                   st_buffer *buffer);
/* As st_paint_text without colour, over several lines where a terminal is too narrow; lines after
 * the first begin with `indent` blanks, and `column` characters stand on the first line already. */
void st_paint_wrapped(const st_paint *paint, const char *text, size_t column, size_t indent,
                      st_buffer *buffer);

/* Appends a text as XML and SVG may hold it, between tags and in attributes. */
void st_text_xml(const char *text, st_buffer *buffer);

/* "16.73 s" as "16.73" and "s", for two columns; both point into `text`. */
void st_split_unit(char *text, const char **number, const char **unit);

#endif
