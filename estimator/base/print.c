/* SPDX-License-Identifier: Apache-2.0 */
/* Formats of texts and whole numbers; see print.h. */
#include "base/print.h"

#include <limits.h>
#include <stdio.h>
#include <string.h>

/* What was put out and what would have been; `text` has room for `room` bytes without the NUL. */
typedef struct printed {
    char *text;
    size_t room;
    size_t length;
} printed;

/* The list goes through a pointer: it may be an array, which calls change or not as they like. */
typedef struct argument_list {
    va_list list;
} argument_list;

static void put(printed *out, const char *text, size_t length)
{
    if (out->length < out->room) {
        size_t left = out->room - out->length;
        memcpy(out->text + out->length, text, length < left ? length : left);
    }
    out->length += length;
}

static void put_whole(printed *out, size_t value, bool negative)
{
    char digits[3 * sizeof value + 2];
    char *at = digits + sizeof digits;
    do
        *--at = (char)('0' + value % 10);
    while ((value /= 10) > 0);
    if (negative)
        *--at = '-';
    put(out, at, (size_t)(digits + sizeof digits - at));
}

static void put_integer(printed *out, int value)
{
    put_whole(out, value < 0 ? 0 - (size_t)value : (size_t)value, value < 0);
}

/* At most `most` bytes of a text; all where it is negative. */
static void put_text(printed *out, const char *text, int most)
{
    put(out, text, most < 0 ? strlen(text) : strnlen(text, (size_t)most));
}

/* What begins behind a '%'; returns the text after it, NULL where it is something else. */
static const char *put_directive(printed *out, const char *at, argument_list *arguments)
{
    char one = *at;
    switch (one) {
    case 's':
        put_text(out, va_arg(arguments->list, const char *), -1);
        return at + 1;
    case '.': {
        /* "*s" or "60s"; returns the text after it, NULL where it is something else. */
        const char *cut_at = at + 1;
        int most = 0;
        if (*cut_at == '*') {
            most = va_arg(arguments->list, int);
            cut_at++;
        } else {
            for (; *cut_at >= '0' && *cut_at <= '9' && most < INT_MAX / 100; cut_at++)
                most = 10 * most + (*cut_at - '0');
        }
        if (*cut_at != 's')
            return NULL;
        put_text(out, va_arg(arguments->list, const char *), most);
        return cut_at + 1;
    }
    case 'd':
        put_integer(out, va_arg(arguments->list, int));
        return at + 1;
    case 'z':
        if (at[1] != 'u')
            return NULL;
        put_whole(out, va_arg(arguments->list, size_t), false);
        return at + 2;
    case 'c':
        one = (char)va_arg(arguments->list, int);
        put(out, &one, 1);
        return at + 1;
    case '%':
        put(out, &one, 1);
        return at + 1;
    default:
        return NULL;
    }
}

/* False where the format has something else. */
static bool print_all(printed *out, const char *format, argument_list *arguments)
{
    for (;;) {
        const char *end = strchr(format, '%');
        if (end == NULL)
            break;
        put(out, format, (size_t)(end - format));
        format = put_directive(out, end + 1, arguments);
        if (format == NULL)
            return false;
    }
    put(out, format, strlen(format));
    return true;
}

int st_vprint(char *text, size_t size, const char *format, va_list arguments)
{
    argument_list list;
    printed out = {.text = text, .room = size > 0 ? size - 1 : 0};
    va_copy(list.list, arguments);
    bool done = print_all(&out, format, &list);
    va_end(list.list);
    if (!done)
        return vsnprintf(text, size, format, arguments);
    if (size > 0)
        text[out.length < out.room ? out.length : out.room] = '\0';
    return out.length <= INT_MAX ? (int)out.length : -1;
}
