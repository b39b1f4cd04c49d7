/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A result as text: spans and tables in the order of the tree, and how values look in the columns
 * of a table.
 */
#include "base/result.h"

#include "base/number.h"

#include <math.h>
#include <string.h>

/* ---- values ---- */

static void write_percent(double share, const st_table_column *column, char *text, size_t size)
{
    char number[ST_QUANTITY_TEXT - 4];
    st_number_print('f', column->digits, 100.0 * share, number, sizeof number);
    bool sign = column->look == ST_LOOK_CHANGE && number[0] != '-';
    (void)snprintf(text, size, "%s%s %%", sign ? "+" : "", number);
}

/* A number or a quantity; only a quantity is shown where it is not finite and no text replaces
 * it.
 */
static const char *measure_text(const st_item *item, const st_table_column *column, char *text,
                                size_t size)
{
    bool quantity = item->kind == ST_ITEM_QUANTITY;
    if (!isfinite(item->number) && (!quantity || column->none != NULL))
        return column->none != NULL ? column->none : "";
    if (quantity) {
        st_style style = column->look == ST_LOOK_UNIT     ? ST_STYLE_UNIT
                         : column->look == ST_LOOK_DIGITS ? ST_STYLE_DIGITS(column->digits)
                                                          : ST_STYLE_SCALED;
        (void)st_quantity_format(item->number, item->unit, style, text, size);
    } else {
        switch (column->look) {
        case ST_LOOK_SCALED:
        case ST_LOOK_UNIT:
            (void)st_number_format(item->number, text, size);
            break;
        case ST_LOOK_DIGITS:
            st_number_print('g', column->digits, item->number, text, size);
            break;
        case ST_LOOK_FIXED:
            st_number_print('f', column->digits, item->number, text, size);
            break;
        case ST_LOOK_PERCENT:
        case ST_LOOK_CHANGE:
            write_percent(item->number, column, text, size);
            break;
        }
    }
    return text;
}

/* What a column shows of an item; NULL: no item. */
static const char *item_text(const st_item *item, const st_table_column *column, char *text,
                             size_t size)
{
    const char *none = column->none != NULL ? column->none : "";
    if (item == NULL)
        return none;
    switch (item->kind) {
    case ST_ITEM_TEXT:
        return item->text;
    case ST_ITEM_BOOL:
        return item->truth ? "yes" : "no";
    case ST_ITEM_COUNT:
        return st_item_exact(item, text, size);
    case ST_ITEM_NUMBER:
    case ST_ITEM_QUANTITY:
        return measure_text(item, column, text, size);
    case ST_ITEM_NULL:
    case ST_ITEM_NODE:
    case ST_ITEM_SPAN:
    case ST_ITEM_TABLE:
    case ST_ITEM_BARS:
        break;
    }
    return none;
}

/* ---- rows of a table ---- */

/* Fields of one row: texts and what they were written into. */
typedef struct row_fields {
    const char **texts;
    char (*space)[ST_QUANTITY_TEXT];
} row_fields;

static void fill_fields(const st_node *row, const char *keys, const st_table_column *columns,
                        size_t count, const row_fields *fields)
{
    for (size_t i = 0; i < count; i++) {
        size_t length = strcspn(keys, ",");
        const st_item *item = st_node_find(row, keys, length);
        bool split = columns[i].split && i + 1 < count;
        fields->texts[i] =
            length > 0 ? item_text(item, &columns[i], fields->space[i], ST_QUANTITY_TEXT) : "";
        if (split) { /* a text has no unit, even where it has a blank */
            bool number = fields->texts[i] == fields->space[i];
            fields->texts[i + 1] = "";
            if (number)
                st_split_unit(fields->space[i], &fields->texts[i], &fields->texts[i + 1]);
            i++;
        }
        keys += length;
        keys += keys[0] == ',' ? 1 : 0;
    }
}

static void ink_fields(st_table *table, const st_node *row, const char *keys, size_t count,
                       const st_table_column *columns)
{
    for (size_t i = 0; i < count; i++) {
        size_t length = strcspn(keys, ",");
        const st_item *item = st_node_find(row, keys, length);
        if (item != NULL && item->ink != ST_INK_PLAIN)
            st_table_ink(table, i, item->ink);
        i += columns[i].split ? 1 : 0;
        keys += length;
        keys += keys[0] == ',' ? 1 : 0;
    }
}

void st_table_show(st_table *table, const st_node *node, const char *keys)
{
    size_t count = 0;
    const st_table_column *columns = st_table_columns(table, &count);
    st_arena *arena = node->result->arena;
    row_fields fields = {.texts = st_arena_alloc(arena, count + 1, sizeof *fields.texts),
                         .space = st_arena_alloc(arena, count + 1, sizeof *fields.space)};
    if (table == NULL || fields.texts == NULL || fields.space == NULL) {
        node->result->failed = true;
        return;
    }
    st_row_walk walk = st_rows_begin(node);
    for (const st_node *row = st_rows_next(&walk); row != NULL; row = st_rows_next(&walk)) {
        fill_fields(row, keys, columns, count, &fields);
        st_table_row(table, fields.texts);
        ink_fields(table, row, keys, count, columns);
    }
    st_rows_end(&walk);
    node->result->failed = node->result->failed || walk.failed;
}

/* ---- the tree ---- */

/* As deep as the tree was built. */
static void write_node(const st_node *node, const st_paint *paint, st_buffer *buffer)
{
    for (size_t i = 0; i < node->count && !buffer->failed; i++) {
        const st_item *item = &node->items[i];
        if (item->kind == ST_ITEM_SPAN) {
            const st_span *span = item->span;
            if (span == NULL)
                continue;
            if (span->is_raw)
                st_buffer_text(buffer, span->text);
            else if (span->is_wrapped)
                st_paint_wrapped(paint, span->text, span->column, span->indent, buffer);
            else
                st_paint_text(paint, item->ink, span->text, buffer);
        } else if (item->kind == ST_ITEM_TABLE && item->table != NULL) {
            st_table_write(item->table, paint, item->indent, buffer);
        } else if (item->kind == ST_ITEM_BARS && item->bars != NULL) {
            st_bars_write(item->bars, paint, buffer);
        } else if (item->kind == ST_ITEM_NODE) {
            write_node(item->node, paint, buffer);
        }
    }
}

void st_result_write_text(const st_result *result, const st_paint *paint, st_buffer *buffer)
{
    write_node(&result->root, paint, buffer);
    buffer->failed = buffer->failed || st_result_failed(result);
}
