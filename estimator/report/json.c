/* SPDX-License-Identifier: Apache-2.0 */
/* JSON as reports write it; see json.h. */
#include "report/json.h"

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

void st_json_value(st_json *json, const char *key, const st_type *type, double value)
{
    char text[ST_QUANTITY_TEXT];
    if (!isfinite(value)) {
        st_json_text(json, key, NULL);
    } else if (type->kind == ST_TYPE_BOOL) {
        st_json_bool(json, key, value != 0.0);
    } else {
        st_exact_text(type, value, text, sizeof text);
        if (type->kind == ST_TYPE_ENUM) {
            st_json_text(json, key, text);
        } else {
            start_item(json, key);
            st_buffer_text(json->buffer, text);
        }
    }
}

void st_json_unit(st_json *json, const char *key, const st_type *type)
{
    st_json_text(json, key, st_type_unit_text(type));
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

void st_exact_text(const st_type *type, double value, char *text, size_t size)
{
    if (type->kind == ST_TYPE_BOOL && isfinite(value)) {
        snprintf(text, size, "%s", value != 0.0 ? "true" : "false");
        return;
    }
    st_type_format(type, value, ST_STYLE_EXACT, text, size);
    if (type->kind != ST_TYPE_NUMBER || !isfinite(value))
        return;
    size_t length = strspn(text, "+-.0123456789eE");
    const char *unit = text + length + (text[length] == ' ' ? 1 : 0);
    bool is_declared = strcmp(*unit != '\0' ? unit : "1", type->unit.text) == 0;
    text[length] = '\0';
    /* No decimal in the declared unit is exact: the nearest one, for that is the unit we name. */
    if (!is_declared)
        (void)st_number_format(st_unit_from_base(&type->unit, value), text, size);
}

const char *st_type_unit_text(const st_type *type)
{
    switch (type->kind) {
    case ST_TYPE_BOOL:
        return "bool";
    case ST_TYPE_ENUM:
        return type->enumeration->name;
    case ST_TYPE_NUMBER:
        break;
    }
    return type->unit.text;
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
