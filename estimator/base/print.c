/* SPDX-License-Identifier: Apache-2.0 */
/* Formats of texts and whole numbers; see print.h. */
#include "base/print.h"

#include <limits.h>
#include <stdio.h>
#include <string.h>

typedef enum directive { PLAIN_TEXT, CUT_TEXT, CHARACTER, INTEGER, SIZE, PERCENT, OTHER } directive;

/* What was put out and what would have been; `text` has room for `room` bytes beside the NUL. */
typedef struct printed {
    char *text;
    size_t room;
    size_t length;
} printed;

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

/* What stands at `*at`, which is moved behind it. */
static directive read_directive(const char **at)
{
    const char *text = *at;
    *at = text + 1;
    switch (text[0]) {
    case 's':
        return PLAIN_TEXT;
    case 'd':
        return INTEGER;
    case 'c':
        return CHARACTER;
    case '%':
        return PERCENT;
    case 'z':
        *at = text + 2;
        return text[1] == 'u' ? SIZE : OTHER;
    case '.':
        *at = text + 3;
        return text[1] == '*' && text[2] == 's' ? CUT_TEXT : OTHER;
    default:
        return OTHER;
    }
}

static bool is_known(const char *format)
{
    for (const char *at = strchr(format, '%'); at != NULL; at = strchr(at, '%')) {
        at++;
        if (read_directive(&at) == OTHER)
            return false;
    }
    return true;
}

/* The list goes through a pointer: it may be an array, which calls change or not as they like. */
typedef struct argument_list {
    va_list list;
} argument_list;

static void put_cut(printed *out, argument_list *arguments)
{
    int most = va_arg(arguments->list, int);
    const char *text = va_arg(arguments->list, const char *);
    size_t length = most < 0 ? strlen(text) : strnlen(text, (size_t)most);
    put(out, text, length);
}

static void put_directive(printed *out, directive kind, argument_list *arguments)
{
    const char *text;
    int number;
    char one = '%';
    switch (kind) {
    case PLAIN_TEXT:
        text = va_arg(arguments->list, const char *);
        put(out, text, strlen(text));
        return;
    case CUT_TEXT:
        put_cut(out, arguments);
        return;
    case INTEGER:
        number = va_arg(arguments->list, int);
        put_whole(out, number < 0 ? 0 - (size_t)number : (size_t)number, number < 0);
        return;
    case SIZE:
        put_whole(out, va_arg(arguments->list, size_t), false);
        return;
    case CHARACTER:
        one = (char)va_arg(arguments->list, int);
        put(out, &one, 1);
        return;
    default:
        put(out, &one, 1);
    }
}

static size_t print_known(printed *out, const char *format, argument_list *arguments)
{
    for (;;) {
        const char *percent = strchr(format, '%');
        if (percent == NULL)
            break;
        put(out, format, (size_t)(percent - format));
        format = percent + 1;
        put_directive(out, read_directive(&format), arguments);
    }
    put(out, format, strlen(format));
    return out->length;
}

int st_vprint(char *text, size_t size, const char *format, va_list arguments)
{
    if (!is_known(format))
        return vsnprintf(text, size, format, arguments);
    argument_list list;
    va_copy(list.list, arguments);
    printed out = {.text = text, .room = size > 0 ? size - 1 : 0};
    size_t length = print_known(&out, format, &list);
    va_end(list.list);
    if (size > 0)
        text[length < out.room ? length : out.room] = '\0';
    return length <= INT_MAX ? (int)length : -1;
}
