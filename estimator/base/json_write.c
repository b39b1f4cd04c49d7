/* SPDX-License-Identifier: Apache-2.0 */
/* JSON as reports write it; see json_write.h. */
#include "base/json_write.h"

#include "base/number.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

static void start_item(st_json *json, const char *key)
{
    bool in_line = json->line_depth > 0;
    if (json->has_items)
        st_buffer_text(json->buffer, in_line ? ", " : ",");
    if (!in_line && json->depth > 0)
        st_buffer_printf(json->buffer, "\n%*s", 2 * json->depth, "");
    json->has_items = true;
    if (key != NULL) {
        st_buffer_json_string(json->buffer, key);
        st_buffer_text(json->buffer, ": ");
    }
}

void st_json_open(st_json *json, const char *key, char bracket)
{
    start_item(json, key);
    st_buffer_append(json->buffer, &bracket, 1);
    json->depth++;
    json->has_items = false;
}

void st_json_open_line(st_json *json, const char *key, char bracket)
{
    st_json_open(json, key, bracket);
    if (json->line_depth == 0)
        json->line_depth = json->depth;
}

void st_json_close(st_json *json, char bracket)
{
    bool in_line = json->line_depth > 0;
    if (json->line_depth == json->depth)
        json->line_depth = 0;
    json->depth--;
    if (!in_line && json->has_items)
        st_buffer_printf(json->buffer, "\n%*s", 2 * json->depth, "");
    st_buffer_append(json->buffer, &bracket, 1);
    json->has_items = true;
    if (json->depth == 0)
        st_buffer_text(json->buffer, "\n");
}

void st_json_text(st_json *json, const char *key, const char *text)
{
    start_item(json, key);
    if (text == NULL) {
        st_buffer_text(json->buffer, "null");
    } else {
        st_buffer_json_string(json->buffer, text);
    }
}

void st_json_text_or_null(st_json *json, const char *key, const char *text)
{
    st_json_text(json, key, text != NULL && text[0] != '\0' ? text : NULL);
}

void st_json_bool(st_json *json, const char *key, bool value)
{
    start_item(json, key);
    st_buffer_text(json->buffer, value ? "true" : "false");
}

void st_json_count(st_json *json, const char *key, size_t value)
{
    start_item(json, key);
    st_buffer_printf(json->buffer, "%zu", value);
}

void st_json_number(st_json *json, const char *key, double value)
{
    char text[ST_QUANTITY_TEXT];
    start_item(json, key);
    st_buffer_text(json->buffer,
                   isfinite(value) ? st_number_format(value, text, sizeof text) : "null");
}

void st_json_texts(st_json *json, const char *key, const char *const *texts, size_t count)
{
    if (count == 0) {
        return;
    }
    st_json_open_line(json, key, '[');
    for (size_t i = 0; i < count; i++) {
        st_json_text(json, NULL, texts[i]);
    }
    st_json_close(json, ']');
}

void st_json_literal(st_json *json, const char *key, const char *text)
{
    start_item(json, key);
    st_buffer_text(json->buffer, text);
}

void st_json_place(st_json *json, const char *key, st_place place)
{
    if (place.file == NULL) {
        st_json_text(json, key, NULL);
        return;
    }
    st_buffer text = {0};
    st_place_text(place, &text);
    st_json_text(json, key, text.data);
    json->buffer->failed = json->buffer->failed || text.failed;
    st_buffer_free(&text);
}

void st_place_text(st_place place, st_buffer *buffer)
{
    if (place.file == NULL)
        return;
    st_buffer_text(buffer, place.file);
    if (place.line > 0)
        st_buffer_printf(buffer, ":%d", place.line);
    if (place.line > 0 && place.column > 0)
        st_buffer_printf(buffer, ":%d", place.column);
}
