/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A result: one tree of a verb's findings, the source of text, JSON and CSV. Who builds
 * it never asks for the form; who renders it never asks for a name.
 *
 *     st_result result;
 *     st_node *root = st_result_begin(&result, arena);      with schema_version and steptime
 *     st_put_text(root, "job", name);                        a field of the JSON object
 *     st_node *rows = st_put_rows(root, "cells", &fill_cell, estimate, count);
 *     st_say_title(root, "Cells");                           text alone
 *     st_table *table = st_say_columns(root, "*cell|>value|meaning|source");
 *     st_table_show(table, rows, "name,value,doc,cite");     fields of the rows fill the columns
 *     st_result_csv(&result, "cells", "section,name=cell,value,unit,doc=meaning");
 *     cli_write(run, &result);                               renders what the options ask for
 *
 * Data. st_put_* adds a field: to a map under its key, to a list (key NULL) behind the others. JSON
 * is this and nothing else: all fields in the order in which they were put, those apart whose key
 * begins with '.': these are there for text and CSV alone. Values keep their kind: a quantity knows
 * its unit, a number is written so that it reads back to the same double, what is not finite is
 * null in JSON and empty in CSV. NULL as text is null.
 *
 * Lists. st_put_rows names a function that fills the row of an index; it is called when the row is
 * rendered, one row is in memory at a time, and a row that stays empty is left out. `context` lives
 * until then. A list whose rows speak for themselves in text is made with st_put_list and
 * st_put_map(list, NULL).
 *
 * Text. st_say_* adds what only people read, at its place in the tree: JSON and CSV
 * pass over it, text passes over all data that no table shows. Text is rendered depth first, so
 * each map of a list may bring its own headings and tables. A table is columns (heading, ink,
 * alignment, how numbers look) and rows: st_table_show takes a row or a whole list, and names the
 * field for every column, "" for none and "errors/mean" for one of a map in the row; a field that
 * is absent or null shows as the column's `none`. A list may be shown in several tables or in none,
 * and one table may hold several lists. What a row says in text alone is a field ".name".
 * st_put_ink colours the field that was put last.
 *
 * CSV. st_result_csv names a list by its path, "sources/cases/values" through lists in lists, and
 * the columns: KEY or KEY=HEADING. A key that the row lacks is looked for in the maps around it.
 * More lists may follow under the same heading, with keys of their own. Without it a result has no
 * CSV.
 *
 * Memory. Texts are copied, keys and units are not. Whatever fails, fails in the result: no call
 * returns NULL, and the renderer reports it through buffer->failed, as it does where the arena has
 * failed: what it was asked for on the way to a field needs no check.
 */
#ifndef STEPTIME_BASE_RESULT_H
#define STEPTIME_BASE_RESULT_H

#include "base/bars.h"
#include "steptime/quantity.h"

enum { ST_SCHEMA_VERSION = 1 }; /* of every JSON form; grows when a field changes its meaning */

typedef struct st_result st_result;
typedef struct st_node st_node; /* a map or a list */

/* Fills `row`, a map, with the item of a list that has this index. */
typedef void (*st_row_fill)(const void *context, size_t index, st_node *row);

typedef enum st_item_kind {
    ST_ITEM_NULL,
    ST_ITEM_TEXT,
    ST_ITEM_BOOL,
    ST_ITEM_COUNT,
    ST_ITEM_NUMBER,
    ST_ITEM_QUANTITY,
    ST_ITEM_NODE,
    ST_ITEM_SPAN,  /* text alone */
    ST_ITEM_TABLE, /* text alone */
    ST_ITEM_BARS   /* text alone */
} st_item_kind;

/* How a span is written: as it is, or wrapped to a terminal's width. */
typedef struct st_span {
    const char *text;
    bool is_raw;     /* its blanks and line ends are kept */
    bool is_wrapped; /* the first line begins in `column`, others are indented */
    size_t column;
    size_t indent;
} st_span;

typedef struct st_item {
    const char *key; /* NULL: in a list, or text alone */
    st_item_kind kind;
    st_ink ink;
    union {
        const char *text;
        bool truth;
        uint64_t count;
        struct {
            double number; /* a quantity in base units */
            const st_unit *unit;
        };
        st_node *node;
        const st_span *span;
        const st_bars *bars;
        struct {
            const st_table *table;
            size_t indent;
        };
    };
} st_item;

struct st_node {
    st_result *result;
    st_item *items;
    size_t count;
    size_t capacity; /* which rows of a list use again */
    bool is_list;
    bool on_line;     /* in JSON, with all that it holds */
    st_row_fill fill; /* of a list whose rows are filled when they are rendered */
    const void *context;
    size_t row_count;
    bool rows_on_line;
};

/* A column of CSV. */
typedef struct st_result_column {
    const char *key;
    const char *heading;
} st_result_column;

/* A list that CSV shows, and its columns. */
typedef struct st_result_part {
    const char *path;
    st_result_column *columns;
    size_t count;
} st_result_part;

struct st_result {
    st_arena *arena;
    bool failed;
    st_node root;
    st_node sink; /* takes what memory has no room for */
    st_item lost; /* the same for an item */
    st_result_part *csv;
    size_t csv_count;
};

/* ---- building ---- */

/* Begins a result with schema_version and the program's version; it needs no end. */
st_node *st_result_begin(st_result *result, st_arena *arena);

/* The same without these two: what is stored or sent to somebody. */
st_node *st_result_begin_plain(st_result *result, st_arena *arena);

void st_put_null(st_node *node, const char *key);
void st_put_text(st_node *node, const char *key, const char *text);         /* NULL: null */
void st_put_text_or_null(st_node *node, const char *key, const char *text); /* "": null too */
void st_put_format(st_node *node, const char *key, const char *format, ...) ST_PRINTF(3, 4);
void st_put_buffer(st_node *node, const char *key, st_buffer *buffer); /* its text; frees it */
void st_put_bool(st_node *node, const char *key, bool value);
void st_put_count(st_node *node, const char *key, uint64_t value);
void st_put_number(st_node *node, const char *key, double value);
/* `value` is in base units; `unit` lives as long as the result. */
void st_put_quantity(st_node *node, const char *key, double value, const st_unit *unit);
void st_put_seconds(st_node *node, const char *key, double value_s);
void st_put_place(st_node *node, const char *key, st_place place); /* "file:12:3" or null */
/* A list of texts; nothing where there are none. */
void st_put_texts(st_node *node, const char *key, const char *const *texts, size_t count);

st_node *st_put_map(st_node *node, const char *key);
st_node *st_put_list(st_node *node, const char *key);
st_node *st_put_line_map(st_node *node, const char *key); /* on one line of JSON */
st_node *st_put_line_list(st_node *node, const char *key);
/* A list of maps, each on one line of JSON, or on several. */
st_node *st_put_rows(st_node *node, const char *key, st_row_fill fill, const void *context,
                     size_t count);
st_node *st_put_maps(st_node *node, const char *key, st_row_fill fill, const void *context,
                     size_t count);

/* The ink of the field that was put last, in tables. */
void st_put_ink(st_node *node, st_ink ink);

/* ---- text alone ---- */

void st_say(st_node *node, const char *format, ...) ST_PRINTF(2, 3); /* as it is */
void st_say_ink(st_node *node, st_ink ink, const char *text);
/* Wrapped: the text begins in `column`, further lines are indented. */
void st_say_wrapped(st_node *node, const char *text, size_t column, size_t indent);
/* An empty line and the title. */
void st_say_title(st_node *node, const char *title);
/* "job      gpt-3b": a label in its width and a wrapped text; nothing where the text is empty. */
void st_say_fact(st_node *node, const char *label, size_t width, const char *text);
/* `columns` has the shape of a table that lives in the result; see table.h. */
st_table *st_say_table(st_node *node, const st_table_column *columns, size_t count, size_t indent);
/* The same where columns are titles, "*kernel|class|>time": '*' is the name, '>' aligns right. */
st_table *st_say_columns(st_node *node, const char *columns);
/* Rows with bars; `mark` as in bars.h. */
st_bars *st_say_bars(st_node *node, double mark);
/* Adds a row, or every row of a list; `keys` has one for each column, with commas between. */
void st_table_show(st_table *table, const st_node *node, const char *keys);

/* ---- CSV ---- */

void st_result_csv(st_result *result, const char *path, const char *columns);
/* One column more, for names that are known only now. */
void st_result_csv_column(st_result *result, const char *key, const char *heading);

/* ---- rendering ---- */

typedef enum st_form { ST_FORM_TEXT, ST_FORM_JSON, ST_FORM_CSV } st_form;

void st_result_write(const st_result *result, st_form form, const st_paint *paint,
                     st_buffer *buffer);
void st_result_write_text(const st_result *result, const st_paint *paint, st_buffer *buffer);
void st_result_write_json(const st_result *result, st_buffer *buffer);
void st_result_write_csv(const st_result *result, st_buffer *buffer);

/* A map as one line of JSON, for results that come row by row. */
void st_node_write_line(const st_node *node, st_buffer *buffer);
/* The same in the result's arena; NULL where something failed. */
const char *st_node_line(const st_node *node);

/* ---- what renderers share ---- */

/* Whether something is missing in it: memory ran out, in its arena or elsewhere. */
static inline bool st_result_failed(const st_result *result)
{
    return result->failed || st_arena_failed(result->arena);
}

/* Rows of a list, one at a time. */
typedef struct st_row_walk {
    const st_node *list;
    size_t next;
    st_result scratch; /* of a row that was filled for now; its root is the row */
    bool failed;
} st_row_walk;

st_row_walk st_rows_begin(const st_node *list);
const st_node *st_rows_next(st_row_walk *walk); /* NULL: no more */
void st_rows_end(st_row_walk *walk);

/* "errors/rows" is a field of the map under "errors". */
const st_item *st_node_find(const st_node *node, const char *key, size_t length);
/* A value as programs read it: shortest numbers in the declared unit, "true"; "" for null. */
const char *st_item_exact(const st_item *item, char *text, size_t size);

#endif
