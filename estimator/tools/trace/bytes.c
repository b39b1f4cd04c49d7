/* SPDX-License-Identifier: Apache-2.0 */
/* See bytes.h. Gzip members may follow each other, as `cat a.gz b.gz` leaves them. */
#include "trace/bytes.h"

#include "base/memory.h"
#include "trace/xalloc.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include <zlib.h>

enum { CHUNK = 1 << 17, GZIP_WINDOW = 15 + 16 };
/* Far beyond any trace: a bomb of a few megabytes must not keep a reader busy for a day. */
static const uint64_t MOST_INFLATED_BYTES = UINT64_C(1) << 36;
/* Traces shrink to a tenth or a twentieth. What shrinks far more is made up, and takes memory that
 * nobody would expect of such a file: beyond this much text it is refused. */
static const uint64_t UNSUSPECTED_BYTES = UINT64_C(1) << 28;
enum { MOST_GROWTH = 100 };

struct st_bytes {
    const char *name;
    int file; /* -1: memory */
    const char *text;
    size_t length;
    bool probed;
    bool gzip;
    bool member; /* inside of a gzip member */
    bool ended;  /* of the raw bytes */
    bool cut;
    bool inflating; /* `stream` is to be ended */
    uint64_t packed_bytes;
    uint64_t inflated_bytes;
    z_stream stream;
    unsigned char chunk[CHUNK];
};

static st_status io_error(const char *name, const char *reason, st_errors *errors)
{
    return st_fail(errors, ST_ERR_IO, (st_place){.file = name}, "cannot read the trace: %s",
                   reason);
}

static void create(const char *name, st_bytes **bytes)
{
    *bytes = st_xcalloc(1, sizeof **bytes);
    (*bytes)->name = name;
    (*bytes)->file = -1;
}

st_status st_bytes_open(const char *path, st_bytes **bytes, st_errors *errors)
{
    struct stat info;
    int file = open(path, O_RDONLY | O_CLOEXEC | O_NOCTTY);
    if (file < 0)
        return io_error(path, strerror(errno), errors);
    st_status status = ST_OK;
    if (fstat(file, &info) != 0)
        status = io_error(path, strerror(errno), errors);
    else if (S_ISDIR(info.st_mode))
        status = io_error(path, "the path is a folder", errors);
    else if (!S_ISREG(info.st_mode) && !S_ISFIFO(info.st_mode))
        status = io_error(path, "it is neither a file nor a pipe", errors);
    if (status == ST_OK)
        create(path, bytes);
    if (status == ST_OK)
        (*bytes)->file = file;
    else
        (void)close(file);
    return status;
}

void st_bytes_from_memory(const char *name, const char *text, size_t length, st_bytes **bytes)
{
    create(name, bytes);
    (*bytes)->text = text;
    (*bytes)->length = length;
}

void st_bytes_close(st_bytes *bytes)
{
    if (bytes == NULL)
        return;
    if (bytes->inflating)
        (void)inflateEnd(&bytes->stream);
    if (bytes->file >= 0)
        (void)close(bytes->file);
    free(bytes);
}

static st_status read_raw(st_bytes *bytes, char *into, size_t capacity, size_t *got,
                          st_errors *errors)
{
    if (bytes->file < 0) {
        *got = bytes->length < capacity ? bytes->length : capacity;
        if (*got > 0)
            memcpy(into, bytes->text, *got);
        bytes->text += *got;
        bytes->length -= *got;
        return ST_OK;
    }
    ssize_t count = 0;
    do {
        count = read(bytes->file, into, capacity);
    } while (count < 0 && errno == EINTR);
    if (count < 0)
        return io_error(bytes->name, strerror(errno), errors);
    *got = (size_t)count;
    return ST_OK;
}

static st_status refill(st_bytes *bytes, st_errors *errors)
{
    size_t got = 0;
    if (bytes->ended || bytes->stream.avail_in > 0)
        return ST_OK;
    st_status status = read_raw(bytes, (char *)bytes->chunk, CHUNK, &got, errors);
    if (status != ST_OK)
        return status;
    bytes->ended = got == 0;
    bytes->stream.next_in = bytes->chunk;
    bytes->stream.avail_in = (uInt)got;
    bytes->packed_bytes += got;
    return ST_OK;
}

/* The first two bytes decide; they may come one by one out of a pipe. */
static st_status probe(st_bytes *bytes, st_errors *errors)
{
    size_t have = 0;
    while (have < 2 && !bytes->ended) {
        size_t got = 0;
        st_status status = read_raw(bytes, (char *)bytes->chunk + have, CHUNK - have, &got, errors);
        if (status != ST_OK)
            return status;
        have += got;
        bytes->ended = got == 0;
    }
    bytes->probed = true;
    bytes->gzip = have >= 2 && bytes->chunk[0] == 0x1F && bytes->chunk[1] == 0x8B;
    bytes->stream.next_in = bytes->chunk;
    bytes->stream.avail_in = (uInt)have;
    bytes->packed_bytes = have;
    if (!bytes->gzip)
        return ST_OK;
    st_xdone(inflateInit2(&bytes->stream, GZIP_WINDOW) == Z_OK);
    bytes->inflating = true;
    bytes->member = true;
    return ST_OK;
}

static st_status inflate_fault(const st_bytes *bytes, int code, st_errors *errors)
{
    st_xdone(code != Z_MEM_ERROR);
    const char *reason = bytes->stream.msg != NULL ? bytes->stream.msg : "not gzip";
    return st_fail(errors, ST_ERR_SYNTAX, (st_place){.file = bytes->name},
                   "the gzip data are damaged: %s", reason);
}

/* One step of zlib; *done: the text is over. */
static st_status inflate_some(st_bytes *bytes, bool *done, st_errors *errors)
{
    st_status status = refill(bytes, errors);
    if (status != ST_OK)
        return status;
    if (bytes->stream.avail_in == 0 && bytes->ended) {
        bytes->cut = bytes->member;
        *done = true;
        return ST_OK;
    }
    if (!bytes->member) {
        if (inflateReset(&bytes->stream) != Z_OK)
            return inflate_fault(bytes, Z_STREAM_ERROR, errors);
        bytes->member = true;
    }
    int code = inflate(&bytes->stream, Z_NO_FLUSH);
    if (code == Z_STREAM_END)
        bytes->member = false;
    else if (code != Z_OK && code != Z_BUF_ERROR)
        return inflate_fault(bytes, code, errors);
    return ST_OK;
}

st_status st_bytes_read(st_bytes *bytes, char *into, size_t capacity, size_t *got,
                        st_errors *errors)
{
    *got = 0;
    st_status status = bytes->probed ? ST_OK : probe(bytes, errors);
    if (status != ST_OK)
        return status;
    if (bytes->gzip) {
        uInt room = capacity < UINT32_MAX / 2 ? (uInt)capacity : UINT32_MAX / 2;
        bool done = false;
        bytes->stream.next_out = (unsigned char *)into;
        bytes->stream.avail_out = room;
        while (!done && bytes->stream.avail_out == room) {
            st_status gzip_status = inflate_some(bytes, &done, errors);
            if (gzip_status != ST_OK)
                return gzip_status;
        }
        *got = room - bytes->stream.avail_out;
        bytes->inflated_bytes += *got;
        if (bytes->inflated_bytes > MOST_INFLATED_BYTES)
            return st_fail(errors, ST_ERR_LIMIT, (st_place){.file = bytes->name},
                           "the gzip data hold too much text" ST_FOUND
                           "more than 64 GiB" ST_EXPECTED "at most 64 GiB");
        if (bytes->inflated_bytes > UNSUSPECTED_BYTES &&
            bytes->inflated_bytes / MOST_GROWTH > bytes->packed_bytes)
            return st_fail(
                errors, ST_ERR_LIMIT, (st_place){.file = bytes->name},
                "the gzip data grow to more than %d times their size, as no recording does" ST_FOUND
                "%.0f MiB of the first %.1f MiB" ST_HINT "gunzip the file first if that is right",
                MOST_GROWTH, (double)bytes->inflated_bytes / 1048576,
                (double)bytes->packed_bytes / 1048576);
        return ST_OK;
    }
    size_t have = bytes->stream.avail_in;
    if (have == 0)
        return bytes->ended ? ST_OK : read_raw(bytes, into, capacity, got, errors);
    *got = have < capacity ? have : capacity;
    memcpy(into, bytes->stream.next_in, *got);
    bytes->stream.next_in += *got;
    bytes->stream.avail_in -= (uInt)*got;
    return ST_OK;
}

/* What a hole of a sparse file reads as, and a copy that was never written. No message begins so.
 */
static bool is_hole(const char *piece, size_t length)
{
    enum { LEAST = 512 };
    return length >= LEAST && piece[0] == '\0' && memcmp(piece, piece + 1, LEAST - 1) == 0;
}

static bool is_larger(const st_bytes *bytes, uint64_t most)
{
    struct stat info;
    return !bytes->gzip && bytes->file >= 0 && fstat(bytes->file, &info) == 0 && info.st_size > 0 &&
           (uint64_t)info.st_size > most;
}

st_status st_bytes_read_messages(st_bytes *bytes, const char *what, unsigned most_gib,
                                 st_buffer *into, st_errors *errors)
{
    enum { PIECE = 1 << 16 };
    const uint64_t most = (uint64_t)most_gib << 30;
    char piece[PIECE];
    size_t got = 1;
    bool first = true;
    st_status status = ST_OK;
    while (status == ST_OK && got > 0) {
        status = st_bytes_read(bytes, piece, sizeof piece, &got, errors);
        if (status == ST_OK && first && is_hole(piece, got))
            status = st_fail(errors, ST_ERR_SYNTAX, (st_place){.file = bytes->name},
                             "the file begins with zeros, as one that was never written");
        if (status == ST_OK)
            st_buffer_append(into, piece, got);
        if (status == ST_OK && (into->length > most || (first && is_larger(bytes, most))))
            status = st_fail(errors, ST_ERR_LIMIT, (st_place){.file = bytes->name},
                             "%s is too large" ST_EXPECTED "at most %u GiB", what, most_gib);
        first = false;
    }
    st_xdone(!into->failed);
    return status;
}

bool st_bytes_cut(const st_bytes *bytes)
{
    return bytes->cut;
}

const char *st_bytes_name(const st_bytes *bytes)
{
    return bytes->name;
}

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
