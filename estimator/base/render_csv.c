/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A result as CSV: the lists that st_result_csv named, row by row. A row of a list in a list knows
 * the maps around it, where a column looks for what the row itself lacks.
 */
#include "base/result.h"

#include <string.h>

/* A map and the maps around it. */
typedef struct scope {
    const st_node *map;
    const struct scope *around;
} scope;

static void write_part(const scope *around, const char *path, const st_result_part *part,
                       st_buffer *buffer)
{
    size_t length = strcspn(path, "/");
    const st_item *item = st_node_find(around->map, path, length);
    if (item == NULL || item->kind != ST_ITEM_NODE)
        return;
    st_row_walk walk = st_rows_begin(item->node);
    for (const st_node *map = st_rows_next(&walk); map != NULL; map = st_rows_next(&walk)) {
        scope row = {.map = map, .around = around};
        if (path[length] == '\0') {
            char text[ST_QUANTITY_TEXT];
            for (size_t i = 0; i < part->count; i++) {
                const scope *item_row = &row;
                const char *key = part->columns[i].key;
                const st_item *row_item = NULL;
                for (; item_row != NULL && row_item == NULL; item_row = item_row->around)
                    row_item = st_node_find(item_row->map, key, strlen(key));
                st_buffer_text(buffer, i == 0 ? "" : ",");
                if (row_item != NULL)
                    st_buffer_csv_field(buffer, st_item_exact(row_item, text, sizeof text));
            }
            st_buffer_text(buffer, "\n");
        } else {
            write_part(&row, path + length + 1, part, buffer); /* as deep as the path */
        }
    }
    st_rows_end(&walk);
    buffer->failed = buffer->failed || walk.failed;
}

void st_result_write_csv(const st_result *result, st_buffer *buffer)
{
    scope root = {.map = &result->root};
    if (result->csv_count > 0) {
        const st_result_part *part = &result->csv[0];
        for (size_t i = 0; i < part->count; i++) {
            st_buffer_text(buffer, i == 0 ? "" : ",");
            st_buffer_csv_field(buffer, part->columns[i].heading);
        }
        st_buffer_text(buffer, "\n");
    }
    for (size_t i = 0; i < result->csv_count; i++)
        write_part(&root, result->csv[i].path, &result->csv[i], buffer);
    buffer->failed = buffer->failed || st_result_failed(result);
}
