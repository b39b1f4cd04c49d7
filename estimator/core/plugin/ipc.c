/* SPDX-License-Identifier: Apache-2.0 */
/* See ipc.h. */
#include "plugin/ipc.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

void st_ipc_write(st_buffer *to, const char *text)
{
    st_buffer_append(to, text != NULL ? "+" : "-", 1);
    st_buffer_append(to, text != NULL ? text : "", (text != NULL ? strlen(text) : 0) + 1);
}

void st_ipc_write_number(st_buffer *to, double number)
{
    char text[40];
    (void)snprintf(text, sizeof text, "%a", number);
    st_ipc_write(to, text);
}

const char *st_ipc_read(st_ipc_reader *from)
{
    const char *text = from->at;
    size_t left = (size_t)(from->end - text);
    const char *end = left > 0 ? memchr(text, '\0', left) : NULL;
    if (from->broken || end == NULL || (*text != '+' && *text != '-')) {
        from->broken = true;
        return NULL;
    }
    from->at = end + 1;
    return *text == '+' ? text + 1 : NULL;
}

double st_ipc_read_number(st_ipc_reader *from)
{
    const char *text = st_ipc_read(from);
    return text != NULL ? strtod(text, NULL) : 0;
}

size_t st_ipc_read_count(st_ipc_reader *from, size_t most)
{
    double number = st_ipc_read_number(from);
    if (number >= 0 && number <= (double)most && number == floor(number))
        return (size_t)number;
    from->broken = true;
    return 0;
}
