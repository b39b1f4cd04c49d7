/* SPDX-License-Identifier: Apache-2.0 */
/* A workbook on its way to a file; see xlsx_file.h. */
#define ZLIB_CONST /* zlib only reads what it unpacks */

#include "export/xlsx_file.h"

#include "base/lists.h"
#include "base/memory.h"
#include "base/chars.h"
#include "base/scratch.h"
#include "base/source_date.h"
#include "steptime/arena.h"

#include <dlfcn.h>
#include <errno.h>
#include <expat.h>
#include <math.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <xlsxwriter.h>
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

/* The version whose header this was compiled with: others may lay structures out differently. */
#ifdef LXW_SOVERSION
static const char file_name[] = "libxlsxwriter.so." LXW_SOVERSION;
#else
static const char file_name[] = "libxlsxwriter.so";
#endif

#define ST_XLSX_ROW(name) {#name, offsetof(st_xlsx_library, name)},
static const struct {
    const char *name;
    size_t offset;
} symbols[] = {ST_XLSX_FUNCTIONS(ST_XLSX_ROW)};
#undef ST_XLSX_ROW

static st_status not_there(st_errors *errors)
{
    const char *reason = dlerror();
    return st_fail(errors, ST_ERR_IO, (st_place){0}, "workbooks require the library %s: %s",
                   file_name, reason != NULL ? reason : "not found");
}

/* Once loaded, it stays: where a later load fails for want of memory, the loader (glibc 2.36)
   leaves the libraries that it shares with others, such as libcrypto, out of all further loads. */
static st_status open_library(st_xlsx_library *library, st_errors *errors)
{
    void *handle = dlopen(file_name, RTLD_NOW | RTLD_LOCAL | RTLD_NODELETE);
    if (handle == NULL)
        return not_there(errors);
    st_status status = ST_OK;
    for (size_t i = 0; i < ST_COUNT(symbols) && status == ST_OK; i++) {
        /* ISO C knows no way from one kind of pointer to the other. */
        void *symbol = dlsym(handle, symbols[i].name);
        if (symbol == NULL)
            status = not_there(errors);
        memcpy((char *)library + symbols[i].offset, &symbol, sizeof symbol);
    }
    (void)dlclose(handle); /* counts: it is not unloaded */
    return status;
}

#define _XOPEN_SOURCE 700 /* mkdtemp, newlocale; NOLINT(bugprone-reserved-identifier) */

enum {
    CELL_TEXT = 32767, /* characters, and bytes here: the library counts both alike */
    READ_BYTES = 65536,
    EPOCH = 315532800 /* 1980-01-01, where the time of ZIP files begins */
};

static st_status cannot(const st_xlsx *file, const char *reason, st_errors *errors)
{
    return st_fail(errors, ST_ERR_IO, (st_place){.file = file->target},
                   "cannot create the workbook in the folder %s: %s",
                   file->folder != NULL ? file->folder : "for temporary files", reason);
}

void st_xlsx_enter(st_xlsx *file)
{
    st_guard_begin(&file->guard, "libxlsxwriter", "a workbook", false);
    file->locale = uselocale(file->c_locale);
    errno = 0;
}

void st_xlsx_leave(st_xlsx *file)
{
    file->failed = file->failed || errno == ENOMEM; /* the library does not report all of its own */
    (void)uselocale(file->locale);
    st_guard_end(&file->guard);
}

static st_status make_folder(st_xlsx *file, st_errors *errors)
{
    const char *parent = getenv("TMPDIR");
    char *folder = st_arena_printf(file->arena, "%s/steptime-XXXXXX",
                                   parent != NULL && parent[0] != '\0' ? parent : "/tmp");
    if (folder == NULL)
        return st_out_of_memory(errors);
    sigset_t before;
    st_signals_hold(&before);
    int fault = mkdtemp(folder) != NULL ? 0 : errno;
    if (fault == 0)
        (void)st_scratch_note(folder);
    st_signals_release(&before);
    if (fault != 0) {
        file->folder = parent != NULL && parent[0] != '\0' ? parent : "/tmp";
        st_status status = cannot(file, strerror(fault), errors);
        file->folder = NULL;
        return status;
    }
    file->folder = folder;
    file->scratch = st_arena_printf(file->arena, "%s/workbook.xlsx", folder);
    return file->scratch != NULL ? ST_OK : st_out_of_memory(errors);
}

static st_status make_workbook(st_xlsx *file, bool streaming, st_errors *errors)
{
    char *folder = st_arena_printf(file->arena, "%s", file->folder);
    if (folder == NULL)
        return st_out_of_memory(errors);
    lxw_workbook_options options = {.constant_memory = streaming ? LXW_TRUE : LXW_FALSE,
                                    .tmpdir = folder};
    file->workbook = file->lxw.workbook_new_opt(file->scratch, &options);
    if (file->workbook == NULL)
        return st_out_of_memory(errors);
    /* A time that never changes, unless one is given. */
    lxw_doc_properties properties = {.created = (time_t)EPOCH};
    st_status status = st_source_date(&properties.created, errors);
    if (status != ST_OK)
        return status;
    return file->lxw.workbook_set_properties(file->workbook, &properties) == LXW_NO_ERROR
               ? ST_OK
               : st_out_of_memory(errors);
}

st_status st_xlsx_begin(st_xlsx *file, const char *target, bool streaming, st_arena *arena,
                        st_errors *errors)
{
    *file = (st_xlsx){.arena = arena, .target = target};
    file->c_locale = newlocale(LC_ALL_MASK, "C", (locale_t)0);
    if (file->c_locale == (locale_t)0)
        return st_out_of_memory(errors);
    st_xlsx_enter(file);
    st_status status = open_library(&file->lxw, errors);
    if (status == ST_OK)
        status = make_folder(file, errors);
    if (status == ST_OK)
        status = make_workbook(file, streaming, errors);
    if (status != ST_OK)
        st_xlsx_drop(file);
    return status;
}

/* The whole scratch file; 0 or an errno. */
static int read_scratch(const char *path, st_buffer *bytes)
{
    FILE *stream = fopen(path, "rb");
    if (stream == NULL)
        return errno;
    char block[READ_BYTES];
    size_t length = 0;
    int fault = 0;
    while ((length = fread(block, 1, sizeof block, stream)) > 0)
        st_buffer_append(bytes, block, length);
    if (ferror(stream) != 0)
        fault = EIO;
    if (fclose(stream) != 0 && fault == 0)
        fault = errno;
    return fault;
}

st_status st_xlsx_pack(st_xlsx *file, st_buffer *bytes, st_errors *errors)
{
    size_t before = bytes->length;
    st_status status;
    lxw_workbook *workbook = file->workbook;
    file->workbook = NULL;
    if (file->failed || errno == ENOMEM) {
        file->lxw.lxw_workbook_free(workbook);
        status = st_out_of_memory(errors);
    } else {
        st_guard_hush(); /* it prints what it also returns */
        errno = 0;
        lxw_error workbook_fault = file->lxw.workbook_close(workbook);
        st_guard_end_hush();
        if (workbook_fault == LXW_NO_ERROR && errno != ENOMEM) {
            status = ST_OK;
        } else {
            const char *reason =
                errno != 0 ? strerror(errno) : file->lxw.lxw_strerror(workbook_fault);
            status = cannot(file, reason, errors);
        }
    }
    if (status == ST_OK) {
        int fault = read_scratch(file->scratch, bytes);
        if (fault != 0)
            status = cannot(file, strerror(fault), errors);
        else if (bytes->failed)
            status = st_out_of_memory(errors);
        else if (!st_xlsx_is_whole(bytes->data + before, bytes->length - before))
            status = cannot(file, "it is incomplete; the disk may be full", errors);
    }
    st_xlsx_drop(file);
    return status;
}

st_status st_xlsx_compare(const char *data, size_t length, const st_buffer *again,
                          st_errors *errors)
{
    bool same = length == again->length && memcmp(data, again->data, length) == 0;
    return same ? ST_OK : st_out_of_memory(errors);
}

void st_xlsx_drop(st_xlsx *file)
{
    if (file->workbook != NULL)
        file->lxw.lxw_workbook_free(file->workbook);
    file->workbook = NULL;
    if (file->scratch != NULL)
        (void)unlink(file->scratch);
    if (file->folder != NULL)
        (void)rmdir(file->folder);
    st_scratch_forget(file->folder);
    file->scratch = NULL;
    file->folder = NULL;
    if (file->c_locale != (locale_t)0) {
        st_xlsx_leave(file);
        freelocale(file->c_locale);
    }
    file->c_locale = (locale_t)0;
}

lxw_worksheet *st_xlsx_sheet(st_xlsx *file, const char *name)
{
    lxw_worksheet *sheet = file->lxw.workbook_add_worksheet(file->workbook, name);
    file->failed = file->failed || sheet == NULL;
    return sheet;
}

lxw_format *st_xlsx_format(st_xlsx *file)
{
    lxw_format *format = file->lxw.workbook_add_format(file->workbook);
    file->failed = file->failed || format == NULL;
    return format;
}

/* Bytes of a text that fit, without half a character. */
static size_t fitting(const char *text)
{
    size_t length = strnlen(text, CELL_TEXT + 1);
    if (length <= CELL_TEXT)
        return length;
    for (length = CELL_TEXT; length > 0 && ((unsigned char)text[length] & 0xC0) == 0x80;)
        length--;
    return length;
}

void st_xlsx_text(st_xlsx *file, lxw_worksheet *sheet, lxw_row_t row, lxw_col_t column,
                  const char *text, lxw_format *format)
{
    const char *fits = text;
    size_t length = fitting(text);
    if (text[length] != '\0')
        fits = st_arena_copy(file->arena, text, length);
    lxw_error fault = fits != NULL
                          ? file->lxw.worksheet_write_string(sheet, row, column, fits, format)
                          : LXW_ERROR_MEMORY_MALLOC_FAILED;
    file->failed = file->failed || fault != LXW_NO_ERROR;
}

void st_xlsx_number(st_xlsx *file, lxw_worksheet *sheet, lxw_row_t row, lxw_col_t column,
                    double value, lxw_format *format)
{
    lxw_error fault = isfinite(value)
                          ? file->lxw.worksheet_write_number(sheet, row, column, value, format)
                      : format != NULL ? file->lxw.worksheet_write_blank(sheet, row, column, format)
                                       : LXW_NO_ERROR;
    file->failed = file->failed || fault != LXW_NO_ERROR;
}
