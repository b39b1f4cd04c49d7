/* SPDX-License-Identifier: Apache-2.0 */
/* Building the tree of a result, and walking over it; see result.h. */
#include "base/result.h"

#include "base/print.h"

#include <math.h>
#include <stdarg.h>
#include <string.h>

/* ---- nodes ---- */

/* A node may be written to even where memory ran out: then it is the sink, which is emptied. */
static st_node *sink_of(st_result *result)
{
    result->sink = (st_node){.result = result};
    return &result->sink;
}

static st_item *add_item(st_node *node, const char *key, st_item_kind kind)
{
    st_result *result = node->result;
    const st_item item = {.key = key, .kind = kind};
    if (st_arena_append(result->arena, &node->items, &node->count, &node->capacity, &item,
                        sizeof item))
        return &node->items[node->count - 1];
    (void)sink_of(result);
    return &result->lost;
}

static const char *copy_text(st_result *result, const char *text)
{
    return st_or_none(st_arena_copy(result->arena, text, strlen(text)));
}

static st_node *add_node(st_node *parent, const char *key, bool is_list, bool on_line)
{
    st_item *item = add_item(parent, key, ST_ITEM_NODE);
    st_node *node = st_arena_alloc(parent->result->arena, 1, sizeof *node);
    if (node == NULL)
        node = sink_of(parent->result);
    *node = (st_node){.result = parent->result, .is_list = is_list, .on_line = on_line};
    item->node = node;
    return node;
}

st_node *st_result_begin_plain(st_result *result, st_arena *arena)
{
    *result = (st_result){.arena = arena};
    result->root.result = result;
    return &result->root;
}

st_node *st_result_begin(st_result *result, st_arena *arena)
{
    (void)st_result_begin_plain(result, arena);
    st_put_count(&result->root, "schema_version", ST_SCHEMA_VERSION);
    st_put_text(&result->root, "steptime", STEPTIME_VERSION);
    return &result->root;
}

/* ---- data ---- */

void st_put_null(st_node *node, const char *key)
{
    (void)add_item(node, key, ST_ITEM_NULL);
}

void st_put_text(st_node *node, const char *key, const char *text)
{
    if (text == NULL)
        st_put_null(node, key);
    else
        add_item(node, key, ST_ITEM_TEXT)->text = copy_text(node->result, text);
}

void st_put_text_or_null(st_node *node, const char *key, const char *text)
{
    st_put_text(node, key, text != NULL && text[0] != '\0' ? text : NULL);
}

static const char *format_text(st_result *result, const char *format, va_list arguments)
    ST_PRINTF(2, 0);

/* Formats into the arena of a result. */
static const char *format_text(st_result *result, const char *format, va_list arguments)
{
    return st_or_none(st_arena_vprintf(result->arena, format, arguments));
}

void st_put_format(st_node *node, const char *key, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    add_item(node, key, ST_ITEM_TEXT)->text = format_text(node->result, format, arguments);
    va_end(arguments);
}

void st_put_buffer(st_node *node, const char *key, st_buffer *buffer)
{
    node->result->failed = node->result->failed || buffer->failed;
    st_put_text(node, key, st_buffer_read(buffer));
    st_buffer_free(buffer);
}

void st_put_bool(st_node *node, const char *key, bool value)
{
    add_item(node, key, ST_ITEM_BOOL)->truth = value;
}

void st_put_count(st_node *node, const char *key, uint64_t value)
{
    add_item(node, key, ST_ITEM_COUNT)->count = value;
}

void st_put_number(st_node *node, const char *key, double value)
{
    add_item(node, key, ST_ITEM_NUMBER)->number = value;
}

void st_put_quantity(st_node *node, const char *key, double value, const st_unit *unit)
{
    st_item *item = add_item(node, key, ST_ITEM_QUANTITY);
    item->number = value;
    item->unit = unit;
}

void st_put_seconds(st_node *node, const char *key, double value_s)
{
    static const st_unit seconds = {.dimension = {.exponent = {[ST_SECOND] = ST_EXPONENT_ONE}},
                                    .multiplier = 1,
                                    .divisor = 1,
                                    .text = "s"};
    st_put_quantity(node, key, value_s, &seconds);
}

void st_put_place(st_node *node, const char *key, st_place place)
{
    if (place.file == NULL)
        st_put_null(node, key);
    else if (place.line <= 0)
        st_put_text(node, key, place.file);
    else if (place.column <= 0)
        st_put_format(node, key, "%s:%d", place.file, place.line);
    else
        st_put_format(node, key, "%s:%d:%d", place.file, place.line, place.column);
}

void st_put_texts(st_node *node, const char *key, const char *const *texts, size_t count)
{
    st_node *list = count > 0 ? st_put_line_list(node, key) : NULL;
    for (size_t i = 0; i < count; i++)
        st_put_text(list, NULL, texts[i]);
}

st_node *st_put_map(st_node *node, const char *key)
{
    return add_node(node, key, false, false);
}

st_node *st_put_list(st_node *node, const char *key)
{
    return add_node(node, key, true, false);
}

st_node *st_put_line_map(st_node *node, const char *key)
{
    return add_node(node, key, false, true);
}

st_node *st_put_line_list(st_node *node, const char *key)
{
    return add_node(node, key, true, true);
}

static st_node *put_filled(st_node *node, const char *key, st_row_fill fill, const void *context,
                           size_t count)
{
    st_node *list = add_node(node, key, true, false);
    list->fill = fill;
    list->context = context;
    list->row_count = count;
    return list;
}

st_node *st_put_rows(st_node *node, const char *key, st_row_fill fill, const void *context,
                     size_t count)
{
    st_node *list = put_filled(node, key, fill, context, count);
    list->rows_on_line = true;
    return list;
}

st_node *st_put_maps(st_node *node, const char *key, st_row_fill fill, const void *context,
                     size_t count)
{
    return put_filled(node, key, fill, context, count);
}

void st_put_ink(st_node *node, st_ink ink)
{
    if (node->count > 0)
        node->items[node->count - 1].ink = ink;
}

/* ---- text alone ---- */

static void add_span(st_node *node, st_ink ink, st_span span)
{
    st_item *item = add_item(node, NULL, ST_ITEM_SPAN);
    st_span *copy = st_arena_alloc(node->result->arena, 1, sizeof *copy);
    item->ink = ink;
    item->span = copy;
    if (copy != NULL)
        *copy = span;
}

void st_say(st_node *node, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    const char *text = format_text(node->result, format, arguments);
    va_end(arguments);
    add_span(node, ST_INK_PLAIN, (st_span){.text = text, .is_raw = true});
}

void st_say_ink(st_node *node, st_ink ink, const char *text)
{
    add_span(node, ink, (st_span){.text = copy_text(node->result, text)});
}

void st_say_wrapped(st_node *node, const char *text, size_t column, size_t indent)
{
    add_span(node, ST_INK_PLAIN,
             (st_span){.text = copy_text(node->result, text),
                       .is_wrapped = true,
                       .column = column,
                       .indent = indent});
}

void st_say_title(st_node *node, const char *title)
{
    st_say(node, "\n");
    st_say_ink(node, ST_INK_STRONG, title);
    st_say(node, "\n");
}

void st_say_fact(st_node *node, const char *label, size_t width, const char *text)
{
    if (text == NULL || text[0] == '\0')
        return;
    st_say(node, "%-*s", (int)width, label);
    st_say_wrapped(node, text, width, width);
    st_say(node, "\n");
}

st_table *st_say_table(st_node *node, const st_table_column *columns, size_t count, size_t indent)
{
    st_table *table = st_table_create(node->result->arena, columns, count);
    st_item *item = add_item(node, NULL, ST_ITEM_TABLE);
    item->table = table;
    item->indent = indent;
    return table;
}

st_table *st_say_columns(st_node *node, const char *columns)
{
    enum { MOST_COLUMNS = 16 };
    st_table_column made[MOST_COLUMNS] = {{0}};
    size_t count = 0;
    char *text = st_arena_copy(node->result->arena, columns, strlen(columns));
    while (text != NULL && count < MOST_COLUMNS) {
        char *title = text;
        text = strchr(text, '|');
        if (text != NULL)
            *text++ = '\0';
        made[count].ink = title[0] == '*' ? ST_INK_NAME : ST_INK_PLAIN;
        made[count].right = title[0] == '>';
        title += title[0] == '*' || title[0] == '>' ? 1 : 0;
        made[count++].title = title[0] != '\0' ? title : NULL;
    }
    node->result->failed = node->result->failed || count == 0 || text != NULL;
    return st_say_table(node, made, count, 2);
}

st_bars *st_say_bars(st_node *node, double mark)
{
    st_bars *bars = st_bars_create(node->result->arena, mark);
    add_item(node, NULL, ST_ITEM_BARS)->bars = bars;
    return bars;
}

/* ---- walking ---- */

enum { ROWS_IN_SCRATCH = 256 }; /* then the memory of filled rows is given back */

st_row_walk st_rows_begin(const st_node *list)
{
    return (st_row_walk){.list = list};
}

static bool has_failed(const st_row_walk *walk)
{
    return walk->scratch.arena != NULL && st_result_failed(&walk->scratch);
}

const st_node *st_rows_next(st_row_walk *walk)
{
    const st_node *list = walk->list;
    if (!list->is_list)
        return walk->next++ == 0 ? list : NULL;
    if (list->fill == NULL) {
        while (walk->next < list->count && list->items[walk->next].kind != ST_ITEM_NODE)
            walk->next++;
        return walk->next < list->count ? list->items[walk->next++].node : NULL;
    }
    while (walk->next < list->row_count) {
        /* An empty row to be filled, in memory that the walk owns. */
        st_node *row = NULL;
        st_result *scratch = &walk->scratch;
        if (walk->next % ROWS_IN_SCRATCH == 0) {
            const bool failed = has_failed(walk);
            st_arena_destroy(scratch->arena);
            *scratch = (st_result){.arena = st_arena_create(), .failed = failed};
        }
        if (scratch->arena != NULL) {
            scratch->root = (st_node){.result = scratch,
                                      .items = scratch->root.items,
                                      .capacity = scratch->root.capacity,
                                      .on_line = walk->list->rows_on_line};
            row = &scratch->root;
        }
        if (row == NULL)
            break;
        list->fill(list->context, walk->next++, row);
        if (row->count > 0)
            return row;
    }
    walk->failed = has_failed(walk) || walk->next < list->row_count;
    return NULL;
}

void st_rows_end(st_row_walk *walk)
{
    walk->failed = walk->failed || has_failed(walk);
    st_arena_destroy(walk->scratch.arena);
    walk->scratch.arena = NULL;
}

const st_item *st_node_find(const st_node *node, const char *key, size_t length)
{
    const char *slash = memchr(key, '/', length);
    size_t first = slash != NULL ? (size_t)(slash - key) : length;
    for (size_t i = 0; i < node->count; i++) {
        const st_item *item = &node->items[i];
        if (item->key == NULL || strncmp(item->key, key, first) != 0 || item->key[first] != '\0')
            continue;
        if (slash == NULL)
            return item;
        return item->kind == ST_ITEM_NODE ? st_node_find(item->node, slash + 1, length - first - 1)
                                          : NULL;
    }
    return NULL;
}

/* ---- values as programs read them ---- */

const char *st_item_exact(const st_item *item, char *text, size_t size)
{
    bool is_number = item->kind == ST_ITEM_NUMBER || item->kind == ST_ITEM_QUANTITY;
    if (item->kind == ST_ITEM_TEXT)
        return item->text;
    if (item->kind == ST_ITEM_BOOL)
        return item->truth ? "true" : "false";
    text[0] = '\0';
    if (item->kind == ST_ITEM_COUNT) {
        (void)snprintf(text, size, "%llu", (unsigned long long)item->count);
    } else if (is_number && isfinite(item->number) && item->kind == ST_ITEM_NUMBER) {
        (void)st_number_format(item->number, text, size);
    } else if (is_number && isfinite(item->number)) {
        /* A number in its unit, without it: no decimal is exact where the unit has to be another
         * one. */
        (void)st_quantity_format(item->number, item->unit, ST_STYLE_EXACT, text, size);
        size_t length = strspn(text, "+-.0123456789eE");
        const char *unit = text + length + (text[length] == ' ' ? 1 : 0);
        bool is_declared = strcmp(*unit != '\0' ? unit : "1", item->unit->text) == 0;
        text[length] = '\0';
        if (!is_declared)
            (void)st_number_format(st_unit_from_base(item->unit, item->number), text, size);
    }
    return text;
}

/* ---- columns of CSV ---- */

void st_result_csv_column(st_result *result, const char *key, const char *heading)
{
    st_result_part *part = result->csv_count > 0 ? &result->csv[result->csv_count - 1] : NULL;
    const st_result_column column = {copy_text(result, key), copy_text(result, heading)};
    if (part != NULL)
        (void)ST_APPEND(result->arena, part->columns, part->count, column);
}

void st_result_csv(st_result *result, const char *path, const char *columns)
{
    char *text = st_arena_copy(result->arena, columns, strlen(columns));
    if (!ST_APPEND(result->arena, result->csv, result->csv_count, (st_result_part){.path = path}))
        return;
    while (text != NULL && text[0] != '\0') {
        char *key = text;
        text = strchr(key, ',');
        if (text != NULL)
            *text++ = '\0';
        char *heading = strchr(key, '=');
        if (heading != NULL)
            *heading++ = '\0';
        st_result_csv_column(result, key, heading != NULL ? heading : key);
    }
}
