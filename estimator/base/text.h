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

#include "base/lists.h"
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
 * the first begin with `indent` blanks, and `column` characters are on the first line already. */
void st_paint_wrapped(const st_paint *paint, const char *text, size_t column, size_t indent,
                      st_buffer *buffer);

/* Appends a text as XML and SVG may hold it, between tags and in attributes. */
void st_text_xml(const char *text, st_buffer *buffer);

/* How a number is written in a column. */
typedef enum st_look {
    ST_LOOK_SCALED, /* a quantity at a sensible prefix of its unit, a number in its shortest form */
    ST_LOOK_UNIT,   /* a quantity in the unit itself, 6 significant digits */
    ST_LOOK_DIGITS, /* so many significant digits */
    ST_LOOK_FIXED,  /* so many decimals */
    ST_LOOK_PERCENT, /* a share in percent with so many decimals */
    ST_LOOK_CHANGE   /* the same with its sign */
} st_look;

typedef struct st_table_column {
    const char *title; /* above the column; NULL: none */
    const char *none;  /* where there is no value; NULL: "" */
    st_ink ink;
    st_look look;
    int digits;
    bool right;   /* aligned to the right */
    bool elastic; /* gives way where the terminal is too narrow */
    bool joined;  /* one blank to the column before it instead of two */
    bool split;   /* the unit is in the next column */
} st_table_column;

/* Columns of numbers, of shares in percent, and of changes with their sign. */
#define ST_COLUMN_NUMBER(head)                                                                     \
    {                                                                                              \
        .title = (head), .right = true                                                             \
    }
#define ST_COLUMN_SHARE(head, decimals)                                                            \
    {                                                                                              \
        .title = (head), .look = ST_LOOK_PERCENT, .digits = (decimals), .none = "-", .right = true \
    }
#define ST_COLUMN_CHANGE(head, decimals)                                                           \
    {                                                                                              \
        .title = (head), .look = ST_LOOK_CHANGE, .digits = (decimals), .none = "-", .right = true  \
    }

/* A base value in the named unit at a sensible prefix, "12.3 GiB"; "" for an unknown unit.
 * `text` has room for ST_QUANTITY_TEXT. */
const char *st_quantity_text(double base_value, const char *unit, char *text);

typedef struct st_table st_table;

/* Begins with a row of titles where a column has one. NULL when out of memory, which the functions
 * below take for a table that nobody sees. `columns` are copied. The table lives in `arena`. */
st_table *st_table_create(st_arena *arena, const st_table_column *columns, size_t count);
/* A line of its own between rows, which does not widen any column; "" is an empty line. */
void st_table_title(st_table *table, const char *title);
/* `fields` has one text per column; NULL is an empty field. Texts are copied. */
void st_table_row(st_table *table, const char *const *fields);
/* The ink of one field of the last row. */
void st_table_ink(st_table *table, size_t column, st_ink ink);
/* Makes the first `count` columns of two tables equally wide. */
void st_table_align(st_table *first, st_table *second, size_t count);
const st_table_column *st_table_columns(const st_table *table, size_t *count);
/* Every row begins with `indent` blanks; no line ends in one. */
void st_table_write(const st_table *table, const st_paint *paint, size_t indent, st_buffer *buffer);

/* Leaves out the blanks around a text. */
void st_trim(const char **text, size_t *length);

/*
 * "KEY = VALUE" as every option that sets, varies or asks takes it: the key and what follows the
 * first '=', without the blanks around them. False when out of memory.
 */
typedef struct st_assignment {
    const char *key;
    const char *value; /* NULL: there is no '=' */
} st_assignment;

bool st_assignment_read(const char *text, st_arena *arena, st_assignment *into) ST_NODISCARD;

/* The parts of a text between separators, at least one; NULL when out of memory. */
const char **st_text_split(const char *text, const char *separator, st_arena *arena, size_t *count);

/* Whether a text of the command line has at most so many bytes, of UTF-8 without controls but tabs.
 */
bool st_text_is_clean(const char *text, size_t most_bytes);

/* The text of a buffer, "" where there is none. */
static inline const char *st_buffer_read(const st_buffer *buffer)
{
    return buffer->data != NULL ? buffer->data : "";
}

/* Adds to a text of the arena, which begins as "": after `separator` where something is there
 * already. NULL once memory is out. For lists of a line, as it copies what there is. */
void st_text_add(st_arena *arena, const char **text, const char *separator, const char *format, ...)
    ST_PRINTF(4, 5);

/* Frees a text that went into something else, which has failed where the text has. */
static inline void st_buffer_end(st_buffer *buffer, bool *failed)
{
    *failed = *failed || buffer->failed;
    st_buffer_free(buffer);
}

/* The text of a buffer in the arena, and the buffer freed; NULL where something failed. */
const char *st_buffer_keep(st_buffer *buffer, st_arena *arena);

/* Writes "file:line:column" as far as they are known; "" for no place. */
void st_place_text(st_place place, st_buffer *buffer);

/* "16.73 s" as "16.73" and "s", for two columns; both point into `text`. */
void st_split_unit(char *text, const char **number, const char **unit);

/* A text as a string of JSON, which YAML reads too, between two others. */
void st_buffer_quoted(st_buffer *buffer, const char *before, const char *text, const char *behind);

/* Bytes as base64 of RFC 4648, with '=' at the end. */
#define ST_BASE64_DIGITS "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/"
void st_buffer_base64(st_buffer *buffer, const unsigned char *bytes, size_t length);

/* One word for a shell that means the text itself, in single quotes unless it is harmless. */
void st_text_shell(const char *text, st_buffer *buffer);

#endif
