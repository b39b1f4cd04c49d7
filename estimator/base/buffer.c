/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Text buffer: grows by doubling and remembers a failed allocation, so that writers can append a
 * whole report and look once at the end.
 */
#include "steptime/arena.h"

#include "base/oom_flag.h"
#include "base/print.h"
#include "base/utf8.h"

#include <stdlib.h>
#include <string.h>

/* Makes room for `extra` bytes and the closing NUL. */
static bool reserve(st_buffer *buffer, size_t extra)
{
    if (buffer->failed)
        return false;
    if (extra < buffer->capacity - buffer->length)
        return true;
    bool fits = extra <= SIZE_MAX / 2 - buffer->length - 1;
    size_t wanted = buffer->capacity < 64 ? 64 : buffer->capacity * 2;
    if (wanted < buffer->length + extra + 1)
        wanted = buffer->length + extra + 1;
    char *data = fits ? realloc(buffer->data, wanted) : NULL;
    if (data == NULL) {
        st_oom_note();
        buffer->failed = true;
        return false;
    }
    buffer->data = data;
    buffer->capacity = wanted;
    return true;
}

void st_buffer_append(st_buffer *buffer, const char *text, size_t length)
{
    if (!reserve(buffer, length))
        return;
    if (length > 0)
        memcpy(buffer->data + buffer->length, text, length);
    buffer->length += length;
    buffer->data[buffer->length] = '\0';
}

void st_buffer_text(st_buffer *buffer, const char *text)
{
    st_buffer_append(buffer, text, strlen(text));
}

/* Into what room there is; false, with more room made, where that is too little. */
static bool print_at_end(st_buffer *buffer, const char *format, va_list arguments) ST_PRINTF(2, 0);

static bool print_at_end(st_buffer *buffer, const char *format, va_list arguments)
{
    size_t room = buffer->data == NULL ? 0 : buffer->capacity - buffer->length;
    char *end = room > 0 ? buffer->data + buffer->length : NULL;
    int length = st_vprint(end, room, format, arguments);
    if (length < 0)
        buffer->failed = true;
    else if ((size_t)length >= room)
        return !reserve(buffer, (size_t)length);
    else
        buffer->length += (size_t)length;
    return true;
}

void st_buffer_printf(st_buffer *buffer, const char *format, ...)
{
    bool done = buffer->failed;
    while (!done) {
        va_list arguments;
        va_start(arguments, format);
        done = print_at_end(buffer, format, arguments);
        va_end(arguments);
    }
}

static void append_json_character(st_buffer *buffer, const char *text, size_t size, uint32_t code)
{
    static const char letters[] = "\b\t\n\f\r\"\\";
    static const char *const escapes[] = {"\\b", "\\t", "\\n", "\\f", "\\r", "\\\"", "\\\\"};
    const char *letter = code != 0 && code < 0x80 ? strchr(letters, (int)code) : NULL;
    if (letter != NULL)
        st_buffer_text(buffer, escapes[letter - letters]);
    else if (code < 0x20 || code == 0x7F)
        st_buffer_printf(buffer, "\\u%04x", (unsigned)code);
    else
        st_buffer_append(buffer, text, size);
}

void st_buffer_json_string(st_buffer *buffer, const char *text)
{
    size_t length = strlen(text);
    st_buffer_append(buffer, "\"", 1);
    for (size_t i = 0; i < length;) {
        /* How many bytes JSON needs not escape: nearly all, so that they are appended at once. */
        const char *byte_text = text + i;
        size_t plain = 0;
        while (byte_text[plain] >= 0x20 && byte_text[plain] < 0x7F && byte_text[plain] != '"' &&
               byte_text[plain] != '\\')
            plain++;
        st_buffer_append(buffer, text + i, plain);
        i += plain;
        if (i == length)
            break;
        uint32_t code = 0;
        size_t size = st_utf8_decode(text + i, length - i, &code);
        if (size == 0)
            st_buffer_text(buffer, "\\ufffd");
        else
            append_json_character(buffer, text + i, size, code);
        i += size > 0 ? size : 1;
    }
    st_buffer_append(buffer, "\"", 1);
}

void st_buffer_csv_field(st_buffer *buffer, const char *text)
{
    size_t length = strlen(text);
    bool blank_end = length > 0 && (text[0] == ' ' || text[length - 1] == ' ');
    if (!blank_end && strpbrk(text, ",\"\r\n\t;") == NULL) {
        st_buffer_append(buffer, text, length);
        return;
    }
    st_buffer_text(buffer, "\"");
    for (const char *quote; (quote = strchr(text, '"')) != NULL; text = quote + 1) {
        st_buffer_append(buffer, text, (size_t)(quote - text));
        st_buffer_text(buffer, "\"\"");
    }
    st_buffer_text(buffer, text);
    st_buffer_text(buffer, "\"");
}

void st_buffer_free(st_buffer *buffer)
{
    free(buffer->data);
    *buffer = (st_buffer){0};
}
