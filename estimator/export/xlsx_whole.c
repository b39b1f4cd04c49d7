/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Whether a workbook is whole; see xlsx_whole.h. The layout of ZIP files is that of PKWARE's
 * APPNOTE.TXT, sections 4.3.7 (local header), 4.3.12 (central directory) and 4.3.16 (its end).
 */
#define ZLIB_CONST /* zlib only reads what it unpacks */

#include "export/xlsx_whole.h"

#include <stdint.h>
#include <string.h>
#include <zlib.h>

enum {
    END_BYTES = 22,
    ENTRY_BYTES = 46,
    LOCAL_BYTES = 30,
    NAME_BYTES = 64, /* of a root element, and of the tail that is looked at */
    BLOCK_BYTES = 16384
};

typedef struct archive {
    const unsigned char *data;
    size_t length;
} archive;

static uint32_t number_at(const archive *zip, size_t at, unsigned bytes)
{
    uint32_t value = 0;
    for (unsigned i = bytes; i-- > 0;)
        value = value << 8 | zip->data[at + i];
    return value;
}

/* The first and the last bytes of a part. */
typedef struct ends {
    char head[2 * NAME_BYTES];
    size_t head_length;
    char tail[NAME_BYTES];
    size_t tail_length;
} ends;

static void keep_ends(ends *kept, const char *data, size_t length)
{
    size_t room = sizeof kept->head - kept->head_length;
    size_t taken = length < room ? length : room;
    memcpy(kept->head + kept->head_length, data, taken);
    kept->head_length += taken;
    if (length >= sizeof kept->tail) {
        memcpy(kept->tail, data + length - sizeof kept->tail, sizeof kept->tail);
        kept->tail_length = sizeof kept->tail;
        return;
    }
    size_t stays = sizeof kept->tail - length;
    stays = kept->tail_length < stays ? kept->tail_length : stays;
    memmove(kept->tail, kept->tail + kept->tail_length - stays, stays);
    memcpy(kept->tail + stays, data, length);
    kept->tail_length = stays + length;
}

/* The end tag of the root element, or of an element without contents. */
static bool is_closed(const ends *kept)
{
    size_t at = 0;
    while (at + 1 < kept->head_length && (kept->head[at] != '<' || kept->head[at + 1] == '?'))
        at++;
    size_t name = at + 1;
    size_t end = name;
    while (end < kept->head_length && strchr(" />\r\n", kept->head[end]) == NULL)
        end++;
    size_t length = end - name;
    size_t tail = kept->tail_length;
    while (tail > 0 && strchr("\r\n", kept->tail[tail - 1]) != NULL)
        tail--;
    if (end >= kept->head_length || tail < length + 3)
        return false;
    const char *last = kept->tail + tail - length - 3;
    bool named = memcmp(last, "</", 2) == 0 && memcmp(last + 2, kept->head + name, length) == 0;
    return kept->tail[tail - 1] == '>' && (named || kept->tail[tail - 2] == '/');
}

/* A part as the central directory describes it. */
typedef struct part {
    size_t at;
    size_t packed;
    size_t size;
    uint32_t sum;
} part;

/* Unpacks a part; false where it is damaged or has another size. */
static bool unpack(const archive *zip, const part *packed, ends *kept)
{
    char block[BLOCK_BYTES];
    z_stream stream = {0};
    size_t total = 0;
    uLong sum = 0;
    if (inflateInit2(&stream, -MAX_WBITS) != Z_OK)
        return false;
    stream.next_in = zip->data + packed->at;
    stream.avail_in = (uInt)packed->packed;
    int state = Z_OK;
    while (state == Z_OK) {
        stream.next_out = (Bytef *)block;
        stream.avail_out = sizeof block;
        state = inflate(&stream, Z_NO_FLUSH);
        size_t made = sizeof block - stream.avail_out;
        keep_ends(kept, block, made);
        sum = crc32(sum, (const Bytef *)block, (uInt)made);
        total += made;
    }
    (void)inflateEnd(&stream);
    return state == Z_STREAM_END && total == packed->size && sum == packed->sum;
}

/* `at`: an entry of the central directory. */
static bool is_whole_part(const archive *zip, size_t at)
{
    part entry = {.packed = number_at(zip, at + 20, 4),
                  .size = number_at(zip, at + 24, 4),
                  .sum = number_at(zip, at + 16, 4)};
    size_t local = number_at(zip, at + 42, 4);
    ends kept = {.head_length = 0};
    if (number_at(zip, at + 10, 2) != Z_DEFLATED || local > zip->length - LOCAL_BYTES)
        return false;
    entry.at = local + LOCAL_BYTES + number_at(zip, local + 26, 2) + number_at(zip, local + 28, 2);
    if (entry.at > zip->length || entry.packed > zip->length - entry.at)
        return false;
    return unpack(zip, &entry, &kept) && is_closed(&kept);
}

bool st_xlsx_is_whole(const char *data, size_t length)
{
    const archive zip = {(const unsigned char *)data, length};
    if (length < END_BYTES + LOCAL_BYTES || memcmp(data + length - END_BYTES, "PK\5\6", 4) != 0)
        return false;
    size_t count = number_at(&zip, length - END_BYTES + 10, 2);
    size_t at = number_at(&zip, length - END_BYTES + 16, 4);
    bool whole = count > 0;
    for (size_t i = 0; i < count && whole; i++) {
        if (at > length - ENTRY_BYTES || memcmp(data + at, "PK\1\2", 4) != 0)
            return false;
        whole = is_whole_part(&zip, at);
        at += ENTRY_BYTES + number_at(&zip, at + 28, 2) + number_at(&zip, at + 30, 2) +
              number_at(&zip, at + 32, 2);
    }
    return whole;
}
