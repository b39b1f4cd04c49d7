/* SPDX-License-Identifier: Apache-2.0 */
/* Tables from files, packed by gzip or not; see csv_file.h. */
#include "base/csv_file.h"

#include "base/memory.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <zlib.h>

static st_status fail(const char *path, const char *message, const char *reason, st_errors *errors)
{
    return st_fail(errors, ST_ERR_IO, (st_place){.file = path}, "%s%s%s", message,
                   reason != NULL ? ": " : "", reason != NULL ? reason : "");
}

/* All of the file, unpacked, up to the most that a table may have. */
static st_status read_all(gzFile file, const char *path, char *text, size_t *length,
                          st_errors *errors)
{
    int code = Z_OK;
    int got = 1;
    *length = 0;
    while (got > 0 && *length <= ST_CSV_MAX_BYTES) {
        got = gzread(file, text + *length, 1 << 20);
        *length += got > 0 ? (size_t)got : 0;
    }
    const char *reason = gzerror(file, &code);
    if (got < 0 || (code != Z_OK && code != Z_STREAM_END))
        return fail(path, "cannot unpack the table", reason, errors);
    return *length <= ST_CSV_MAX_BYTES
               ? ST_OK
               : fail(path, "the unpacked table exceeds 64 MiB", NULL, errors);
}

st_status st_commented_csv_parse(const st_source *source, st_arena *arena, const st_csv **csv,
                                 st_errors *errors)
{
    /* Behind the lines of comments in front of the heading. */
    size_t comment_start = 0;
    while (comment_start < source->length && source->text[comment_start] == '#') {
        const char *end =
            memchr(source->text + comment_start, '\n', source->length - comment_start);
        comment_start = end != NULL ? (size_t)(end - source->text) + 1 : source->length;
    }
    const st_csv_input input = {.file = source->file,
                                .text = source->text,
                                .length = source->length,
                                .start = comment_start};
    return st_csv_read(&input, arena, csv, errors);
}

st_status st_packed_csv_read(const char *path, st_arena *arena, const st_csv **csv,
                             st_errors *errors)
{
    struct stat found;
    if (stat(path, &found) != 0)
        return fail(path, "cannot read the table", strerror(errno), errors);
    if (!S_ISREG(found.st_mode) && !S_ISFIFO(found.st_mode))
        return fail(path, "cannot read the table", "not a regular file", errors);
    gzFile file = gzopen(path, "rb");
    if (file == NULL)
        return fail(path, "cannot read the table", strerror(errno), errors);
    size_t length = 0;
    char *text = malloc((size_t)ST_CSV_MAX_BYTES + (1 << 20) + 1);
    st_status status =
        text != NULL ? read_all(file, path, text, &length, errors) : st_out_of_memory(errors);
    (void)gzclose(file);
    if (status == ST_OK)
        status = st_commented_csv_parse(&(st_source){.file = path, .text = text, .length = length},
                                        arena, csv, errors);
    free(text);
    return status;
}
