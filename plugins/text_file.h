/* SPDX-License-Identifier: Apache-2.0 */
/* Files that a plugin reads when it is opened: measured times, a model. */
#ifndef STEPTIME_PLUGINS_TEXT_FILE_H
#define STEPTIME_PLUGINS_TEXT_FILE_H

#include <stdio.h>
#include <stdlib.h>

/* The text of a file of at most so many bytes, which the caller frees, with a zero behind it; NULL
 * where it cannot be read. */
static char *read_file(const char *path, size_t most, size_t *length)
{
    FILE *file = fopen(path, "rb");
    char *text = NULL;
    char *larger = NULL;
    size_t room = 1 << 15;
    *length = 0;
    do {
        room *= 2;
        larger = file != NULL ? realloc(text, room + 1) : NULL;
        text = larger != NULL ? larger : text;
        *length += larger != NULL ? fread(text + *length, 1, room - *length, file) : 0;
    } while (larger != NULL && *length == room && room <= most);
    if (larger == NULL || *length > most || ferror(file) != 0) {
        free(text);
        text = NULL;
    }
    if (text != NULL)
        text[*length] = '\0';
    if (file != NULL)
        (void)fclose(file);
    return text;
}

#endif
