/* SPDX-License-Identifier: Apache-2.0 */
/* Colour and wrapped text; see text.h. */
#include "base/text.h"

#include "base/print.h"
#include "base/utf8.h"

#include <string.h>

static const char *const ink_codes[] = {
    [ST_INK_PLAIN] = "",        [ST_INK_STRONG] = "\033[1m", [ST_INK_NAME] = "\033[36m",
    [ST_INK_FAINT] = "\033[2m", [ST_INK_GOOD] = "\033[32m",  [ST_INK_BAD] = "\033[1;31m",
};

/* Appends at most `length` bytes; blanks shrink to one, what a terminal acts on becomes '?'. */
static void append_shown(const char *text, size_t length, st_buffer *buffer)
{
    for (size_t i = 0; i < length;) {
        if (st_is_blank(text[i])) {
            st_buffer_append(buffer, " ", 1);
            while (i < length && st_is_blank(text[i]))
                i++;
            continue;
        }
        uint32_t code = 0;
        size_t size = st_utf8_decode(text + i, length - i, &code);
        bool shown = size > 0 && !st_utf8_is_control(code);
        st_buffer_append(buffer, shown ? text + i : "?", shown ? size : 1);
        i += size > 0 ? size : 1;
    }
}

void st_paint_span(const st_paint *paint, st_ink ink, const char *text, size_t length,
                   st_buffer *buffer)
{
    bool colored = paint->color && ink != ST_INK_PLAIN && length > 0;
    if (colored)
        st_buffer_text(buffer, ink_codes[ink]);
    append_shown(text, length, buffer);
    if (colored)
        st_buffer_text(buffer, "\033[0m");
}

void st_paint_text(const st_paint *paint, st_ink ink, const char *text, st_buffer *buffer)
{
    st_paint_span(paint, ink, text, strlen(text), buffer);
}

void st_paint_wrapped(const st_paint *paint, const char *text, size_t column, size_t indent,
                      st_buffer *buffer)
{
    bool first = true;
    for (;;) {
        while (st_is_blank(*text))
            text++;
        size_t length = strcspn(text, " \t\r\n");
        if (length == 0)
            return;
        size_t shown = st_utf8_count(text, length);
        if (!first && paint->width > 0 && column + 1 + shown > paint->width) {
            st_buffer_printf(buffer, "\n%*s", (int)indent, "");
            column = indent;
        } else if (!first) {
            st_buffer_text(buffer, " ");
            column++;
        }
        append_shown(text, length, buffer);
        column += shown;
        text += length;
        first = false;
    }
}

void st_split_unit(char *text, const char **number, const char **unit)
{
    char *blank = strchr(text, ' ');
    *number = text;
    *unit = "";
    if (blank != NULL && strchr("+-.0123456789", text[0]) != NULL) {
        *blank = '\0';
        *unit = blank + 1;
    }
}

void st_text_xml(const char *text, st_buffer *buffer)
{
    for (const char *next = text; *next != '\0'; next++) {
        const char *named = *next == '<'   ? "&lt;"
                            : *next == '>' ? "&gt;"
                            : *next == '&' ? "&amp;"
                            : *next == '"' ? "&quot;"
                                           : NULL;
        if (named != NULL)
            st_buffer_text(buffer, named);
        else
            st_buffer_append(buffer, next, 1);
    }
}

void st_text_add(st_arena *arena, const char **text, const char *separator, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    const char *more = st_arena_vprintf(arena, format, arguments);
    va_end(arguments);
    if (*text != NULL)
        *text = more == NULL ? NULL
                             : st_arena_printf(arena, "%s%s%s", *text,
                                               (*text)[0] != '\0' ? separator : "", more);
}

const char *st_buffer_keep(st_buffer *buffer, st_arena *arena)
{
    const char *text =
        buffer->failed ? NULL : st_arena_copy(arena, st_buffer_read(buffer), buffer->length);
    st_buffer_free(buffer);
    return text;
}

void st_buffer_quoted(st_buffer *buffer, const char *before, const char *text, const char *behind)
{
    st_buffer_text(buffer, before);
    st_buffer_json_string(buffer, text);
    st_buffer_text(buffer, behind);
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

void st_trim(const char **text, size_t *length)
{
    while (*length > 0 && st_is_blank((*text)[0])) {
        (*text)++;
        (*length)--;
    }
    while (*length > 0 && st_is_blank((*text)[*length - 1]))
        (*length)--;
}

static const char *trimmed(const char *text, size_t length, st_arena *arena)
{
    st_trim(&text, &length);
    return st_arena_copy(arena, text, length);
}

bool st_assignment_read(const char *text, st_arena *arena, st_assignment *into)
{
    size_t length = strcspn(text, "=");
    const char *value = text[length] == '=' ? text + length + 1 : NULL;
    into->key = trimmed(text, length, arena);
    into->value = value != NULL ? trimmed(value, strlen(value), arena) : NULL;
    return into->key != NULL && (value == NULL || into->value != NULL);
}

const char **st_text_split(const char *text, const char *separator, st_arena *arena, size_t *count)
{
    const char **parts = NULL;
    *count = 0;
    for (const char *end = text; end != NULL; text = end + strlen(separator)) {
        end = strstr(text, separator);
        const char *part =
            st_arena_copy(arena, text, end != NULL ? (size_t)(end - text) : strlen(text));
        if (part == NULL || !ST_APPEND(arena, parts, *count, part))
            return NULL;
        if (end == NULL)
            break;
    }
    return parts;
}

bool st_text_is_clean(const char *text, size_t most_bytes)
{
    size_t length = strlen(text);
    for (size_t i = 0; i < length;) {
        if (text[i] >= ' ' && text[i] <= '~') { /* most are */
            i++;
            continue;
        }
        uint32_t code = 0;
        size_t size = st_utf8_decode(text + i, length - i, &code);
        if (size == 0 || (st_utf8_is_control(code) && code != '\t'))
            return false;
        i += size;
    }
    return length <= most_bytes;
}

void st_buffer_base64(st_buffer *buffer, const unsigned char *bytes, size_t length)
{
    static const char digits[] = ST_BASE64_DIGITS;
    for (size_t i = 0; i < length; i += 3) {
        size_t left = length - i;
        unsigned group = (unsigned)bytes[i] << 16 | (left > 1 ? (unsigned)bytes[i + 1] << 8 : 0) |
                         (left > 2 ? (unsigned)bytes[i + 2] : 0);
        char four[4] = {digits[group >> 18], digits[group >> 12 & 63],
                        left > 1 ? digits[group >> 6 & 63] : '=',
                        left > 2 ? digits[group & 63] : '='};
        st_buffer_append(buffer, four, sizeof four);
    }
}

void st_text_shell(const char *text, st_buffer *buffer)
{
    static const char plain[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789"
                                "_.,:=/+-@%";
    if (text[0] != '\0' && strspn(text, plain) == strlen(text)) {
        st_buffer_text(buffer, text);
        return;
    }
    st_buffer_text(buffer, "'");
    for (const char *at = text; *at != '\0'; at++) {
        st_buffer_append(buffer, at, *at == '\'' ? 0 : 1);
        st_buffer_text(buffer, *at == '\'' ? "'\\''" : "");
    }
    st_buffer_text(buffer, "'");
}
