/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A result as JSON: fields in their order, one on a line, indented by two blanks; a map or list
 * that is on one line keeps all its members there, so that long lists stay readable and two
 * results can be compared line by line.
 */
#include "base/result.h"

typedef struct json_writer {
    st_buffer *buffer;
    int depth;
    bool in_line;
} json_writer;

static void write_node(json_writer *writer, const st_node *node);

static void begin_line(const json_writer *writer)
{
    static const char blanks[] = "\n                        ";
    const size_t most = sizeof blanks - 2;
    size_t left = 2 * (size_t)writer->depth;
    st_buffer_append(writer->buffer, blanks, 1 + (left < most ? left : most));
    for (left -= left < most ? left : most; left > 0; left--)
        st_buffer_append(writer->buffer, " ", 1);
}

/* The comma behind the field before, the line, the key. */
static void begin_item(const json_writer *writer, bool first, const char *key)
{
    if (!first)
        st_buffer_text(writer->buffer, writer->in_line ? ", " : ",");
    if (!writer->in_line)
        begin_line(writer);
    if (key != NULL) {
        st_buffer_json_string(writer->buffer, key);
        st_buffer_text(writer->buffer, ": ");
    }
}

static bool write_rows(json_writer *writer, const st_node *list)
{
    bool first = true;
    st_row_walk walk = st_rows_begin(list);
    for (const st_node *row = st_rows_next(&walk); row != NULL; row = st_rows_next(&walk)) {
        begin_item(writer, first, NULL);
        write_node(writer, row);
        first = false;
    }
    st_rows_end(&walk);
    writer->buffer->failed = writer->buffer->failed || walk.failed;
    return first;
}

static bool write_items(json_writer *writer, const st_node *node)
{
    bool first = true;
    for (size_t i = 0; i < node->count; i++) {
        const st_item *item = &node->items[i];
        if (item->kind == ST_ITEM_SPAN || item->kind == ST_ITEM_TABLE ||
            item->kind == ST_ITEM_BARS || (item->key != NULL && item->key[0] == '.'))
            continue; /* not data */
        begin_item(writer, first, item->key);
        char text[ST_QUANTITY_TEXT];
        if (item->kind == ST_ITEM_NODE) {
            write_node(writer, item->node);
        } else {
            const char *exact = st_item_exact(item, text, sizeof text);
            if (item->kind == ST_ITEM_TEXT)
                st_buffer_json_string(writer->buffer, exact);
            else
                st_buffer_text(writer->buffer, exact[0] != '\0' ? exact : "null");
        }
        first = false;
    }
    return first;
}

static void write_node(json_writer *writer, const st_node *node)
{
    bool in_line = writer->in_line;
    writer->in_line = in_line || node->on_line;
    writer->depth++;
    st_buffer_text(writer->buffer, node->is_list ? "[" : "{");
    bool is_empty = node->fill != NULL ? write_rows(writer, node) : write_items(writer, node);
    writer->depth--;
    if (!writer->in_line && !is_empty)
        begin_line(writer);
    st_buffer_text(writer->buffer, node->is_list ? "]" : "}");
    writer->in_line = in_line;
}

void st_result_write_json(const st_result *result, st_buffer *buffer)
{
    json_writer writer = {.buffer = buffer};
    write_node(&writer, &result->root);
    st_buffer_text(buffer, "\n");
    buffer->failed = buffer->failed || st_result_failed(result);
}

const char *st_node_line(const st_node *node)
{
    st_buffer buffer = {0};
    st_node_write_line(node, &buffer);
    const char *text = st_buffer_keep(&buffer, node->result->arena);
    return st_result_failed(node->result) ? NULL : text;
}

void st_node_write_line(const st_node *node, st_buffer *buffer)
{
    json_writer writer = {.buffer = buffer, .in_line = true};
    write_node(&writer, node);
    st_buffer_text(buffer, "\n");
}
