/* SPDX-License-Identifier: Apache-2.0 */
/* See visit.h: what surrounds the events of a file. */
#include "trace/visit.h"
#include "trace/xalloc.h"

#include <string.h>

static const char events[] = "traceEvents";

/* One member; the events themselves are passed over. */
static void add_member(st_scan *scan, st_scan_span key, st_buffer *members)
{
    bool is_events =
        key.length == sizeof events - 1 && memcmp(st_scan_text(scan, key), events, key.length) == 0;
    if (is_events) {
        st_scan_release(scan);
        (void)st_scan_skip(scan);
        return;
    }
    uint64_t start = key.start - 1; /* with its quote */
    if (!st_scan_skip(scan))
        return;
    st_scan_span all = {.start = start, .length = (uint32_t)(scan->base + scan->at - start)};
    st_buffer_append(members, st_scan_text(scan, all), all.length);
    st_buffer_text(members, ",\n");
}

static st_status read_members(st_bytes *bytes, st_buffer *members, st_errors *errors)
{
    st_scan scan;
    st_scan_span key;
    bool started = false;
    st_scan_init(&scan, bytes, errors);
    st_status status = ST_OK;
    if (status == ST_OK && st_scan_peek(&scan) == '{' && st_scan_enter(&scan, '{')) {
        while (st_scan_held_key(&scan, &started, &key)) {
            add_member(&scan, key, members);
            st_scan_release(&scan);
        }
    }
    status = status == ST_OK ? scan.status : status;
    st_scan_free(&scan);
    st_xdone(!members->failed);
    return status;
}

st_status st_visit_members(const char *path, st_buffer *members, st_errors *errors)
{
    st_bytes *bytes = NULL;
    st_status status = st_bytes_open(path, &bytes, errors);
    if (status == ST_OK)
        status = read_members(bytes, members, errors);
    st_bytes_close(bytes);
    return status;
}
