/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Whether a workbook is whole; see xlsx_whole.h. The layout of ZIP files is that of PKWARE's
 * APPNOTE.TXT, sections 4.3.7 (local header), 4.3.12 (central directory) and 4.3.16 (its end).
 */
#define ZLIB_CONST /* zlib only reads what it unpacks */

#include "export/xlsx_whole.h"

#include "base/chars.h"

#include <expat.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <zlib.h>

enum {
    END_BYTES = 22,
    ENTRY_BYTES = 46,
    LOCAL_BYTES = 30,
    DEPTH = 32, /* of elements; workbooks have ten or so */
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

/* An element that is open. */
typedef struct level {
    bool counted;      /* it says how many children it has */
    unsigned expected; /* that number */
    unsigned children;
} level;

/* A part on its way through the XML reader. */
typedef struct reading {
    XML_Parser parser;
    level levels[DEPTH];
    size_t depth;
    unsigned long row;    /* of a worksheet: the last one that began */
    unsigned long column; /* of the last cell in it */
    bool declared;        /* it begins with an XML declaration, as every part does */
    bool wrong;
} reading;

/* Rows of a worksheet follow each other, and so do the cells of a row, which bear its number. */
static bool is_in_order(reading *own, const char *name, const char *place)
{
    if (place == NULL)
        return true;
    if (strcmp(name, "row") == 0) {
        unsigned long last = own->row;
        own->row = strtoul(place, NULL, 10);
        own->column = 0;
        return own->row > last;
    }
    unsigned long last = own->column;
    for (own->column = 0; *place >= 'A' && *place <= 'Z'; place++)
        own->column = own->column * 26 + (unsigned long)(*place - 'A') + 1;
    return own->column > last && strtoul(place, NULL, 10) == own->row;
}

static void XMLCALL begin_element(void *context, const XML_Char *name, const XML_Char **attributes)
{
    reading *own = context;
    const char *count = st_attribute((const char *const *)attributes, "uniqueCount");
    count = count != NULL ? count : st_attribute((const char *const *)attributes, "count");
    if (strcmp(name, "row") == 0 || strcmp(name, "c") == 0)
        own->wrong = own->wrong ||
                     !is_in_order(own, name, st_attribute((const char *const *)attributes, "r"));
    if (own->depth > 0)
        own->levels[own->depth - 1].children++;
    own->wrong = own->wrong || own->depth == DEPTH;
    if (own->depth < DEPTH)
        own->levels[own->depth++] =
            (level){.counted = count != NULL,
                    .expected = count != NULL ? (unsigned)strtoul(count, NULL, 10) : 0};
}

static void XMLCALL end_element(void *context, const XML_Char *name)
{
    (void)name;
    reading *own = context;
    if (own->depth == 0)
        return;
    const level *ended = &own->levels[--own->depth];
    own->wrong = own->wrong || (ended->counted && ended->children != ended->expected);
}

static void XMLCALL note_declaration(void *context, const XML_Char *version,
                                     const XML_Char *encoding, int standalone)
{
    (void)version;
    (void)encoding;
    (void)standalone;
    ((reading *)context)->declared = true;
}

/* A part as the central directory describes it. */
typedef struct part {
    size_t at;
    size_t packed;
    size_t size;
    uint32_t sum;
} part;

/* Unpacks a part; false where it is damaged or has another size. */
static bool unpack(const archive *zip, const part *packed, reading *text)
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
        if (XML_Parse(text->parser, block, (int)made, state == Z_STREAM_END) != XML_STATUS_OK)
            text->wrong = true;
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
    reading text;
    if (number_at(zip, at + 10, 2) != Z_DEFLATED || local > zip->length - LOCAL_BYTES)
        return false;
    entry.at = local + LOCAL_BYTES + number_at(zip, local + 26, 2) + number_at(zip, local + 28, 2);
    if (entry.at > zip->length || entry.packed > zip->length - entry.at)
        return false;
    text = (reading){.parser = XML_ParserCreate(NULL)};
    if (text.parser == NULL)
        return false;
    XML_SetUserData(text.parser, &text);
    XML_SetElementHandler(text.parser, begin_element, end_element);
    XML_SetXmlDeclHandler(text.parser, note_declaration);
    bool whole = unpack(zip, &entry, &text) && text.declared && !text.wrong;
    XML_ParserFree(text.parser);
    return whole;
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
