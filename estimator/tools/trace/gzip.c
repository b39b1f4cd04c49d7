/* SPDX-License-Identifier: Apache-2.0 */
#include "trace/gzip.h"
#include "trace/xalloc.h"

#include <zlib.h>

enum { PIECE = 1 << 16, GZIP_BITS = 15 + 16, MEMORY_LEVEL = 8 };

st_status st_gzip(st_buffer *buffer, st_errors *errors)
{
    z_stream stream = {0};
    st_buffer packed = {0};
    if (buffer->length > UINT_MAX)
        return st_fail(errors, ST_ERR_LIMIT, (st_place){0},
                       "the text is too long to be compressed" ST_EXPECTED "at most 4 GiB" ST_HINT
                       "write it without .gz");
    st_xdone(deflateInit2(&stream, Z_DEFAULT_COMPRESSION, Z_DEFLATED, GZIP_BITS, MEMORY_LEVEL,
                          Z_DEFAULT_STRATEGY) == Z_OK);
    stream.next_in = (unsigned char *)buffer->data;
    stream.avail_in = (unsigned)buffer->length;
    unsigned char piece[PIECE];
    int state = Z_OK;
    while (state == Z_OK) {
        stream.next_out = piece;
        stream.avail_out = PIECE;
        state = deflate(&stream, Z_FINISH);
        st_buffer_append(&packed, (const char *)piece, PIECE - stream.avail_out);
    }
    (void)deflateEnd(&stream);
    st_buffer_free(buffer);
    *buffer = packed;
    st_xdone(state == Z_STREAM_END && !packed.failed);
    return ST_OK;
}
