/* SPDX-License-Identifier: Apache-2.0 */
/* Which reader a file needs; see formats.h. */
#include "trace/formats.h"

#include "trace/link.h"

#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

static st_trace_format format_of(const char *path)
{
    static const char database[16] = "SQLite format 3";
    char begin[sizeof database] = {0};
    struct stat info;
    if (st_ends_in(path, ".xplane.pb") || st_ends_in(path, ".xplane.pb.gz"))
        return ST_FORMAT_XPLANE;
    /* A pipe could be read only once. */
    FILE *file = stat(path, &info) == 0 && S_ISREG(info.st_mode) ? fopen(path, "rb") : NULL;
    if (file == NULL)
        return ST_FORMAT_KINETO;
    size_t got = fread(begin, 1, sizeof begin, file);
    (void)fclose(file);
    return got == sizeof begin && memcmp(begin, database, sizeof begin) == 0 ? ST_FORMAT_NSYS
                                                                             : ST_FORMAT_KINETO;
}

st_status st_trace_parts(const char *path, size_t *count, st_errors *errors)
{
    *count = 1;
    switch (format_of(path)) {
    case ST_FORMAT_NSYS:
        return st_nsys_count(path, count, errors);
    case ST_FORMAT_XPLANE:
        return st_xplane_count(path, count, errors);
    case ST_FORMAT_KINETO:
        break;
    }
    return ST_OK;
}

st_status st_trace_read_part(const st_trace_part *part, const st_trace_options *options,
                             st_trace **trace, st_errors *errors)
{
    bool partial = options != NULL && options->partial;
    st_store *store = NULL;
    st_trace_format format = format_of(part->path);
    if (format == ST_FORMAT_KINETO)
        return st_trace_read(part->path, options, trace, errors);
    st_store_create(part->path, &store);
    st_status status = format == ST_FORMAT_NSYS ? st_nsys_read(part, partial, store, errors)
                                                : st_xplane_read(part, partial, store, errors);
    if (status == ST_OK)
        st_store_finish(store);
    if (status == ST_OK)
        status = st_trace_check(&store->trace, partial, errors);
    if (status == ST_OK)
        *trace = &store->trace;
    else
        st_store_destroy(store);
    return status;
}
