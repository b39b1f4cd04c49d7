/* SPDX-License-Identifier: Apache-2.0 */
/* A workbook on its way to a file; see xlsx_file.h. */
#define _XOPEN_SOURCE 700 /* mkdtemp, newlocale; NOLINT(bugprone-reserved-identifier) */

#include "export/xlsx_file.h"

#include "base/memory.h"
#include "base/scratch.h"
#include "base/source_date.h"
#include "export/xlsx_whole.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum {
    CELL_TEXT = 32767, /* characters, and bytes here: the library counts both alike */
    READ_BYTES = 65536,
    EPOCH = 315532800 /* 1980-01-01, where the time of ZIP files begins */
};

static st_status cannot(const st_xlsx *file, const char *reason, st_errors *errors)
{
    return st_fail(errors, ST_ERR_IO, (st_place){.file = file->target},
                   "cannot make the workbook in the folder %s: %s",
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
    file->failed = file->failed || errno == ENOMEM; /* the library does not tell all of its own */
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
    st_status status = st_xlsx_library_open(&file->lxw, errors);
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
        errno = 0;
        lxw_error workbook_fault = file->lxw.workbook_close(workbook);
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
            status = cannot(file, "it is not whole; is the disk full?", errors);
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
    st_xlsx_library_close(&file->lxw);
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
