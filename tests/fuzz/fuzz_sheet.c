/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Whole sheets from any bytes. Form feeds cut the input into files: the first is the sheet, the
 * others answer to the names "one", "two" and "three", so that includes, overrides and circles of
 * files are within reach.
 */
#include "fuzz.h"

#include <string.h>

typedef struct files {
    fuzz_part parts[FUZZ_PARTS];
    size_t count;
} files;

static st_status read_part(void *context, const char *name, st_place place, st_arena *arena,
                           st_source *source, st_errors *errors)
{
    static const char *const names[FUZZ_PARTS] = {"main", "one", "two", "three"};
    const files *f = context;
    for (size_t i = 0; i < f->count; i++) {
        if (strcmp(name, names[i]) == 0) {
            source->file = names[i];
            source->text = st_arena_copy(arena, f->parts[i].text, f->parts[i].length);
            source->length = f->parts[i].length;
            return source->text ? ST_OK : ST_ERR_MEMORY;
        }
    }
    return st_errors_add(errors, &(st_error){.status = ST_ERR_NAME,
                                             .place = place,
                                             .message = "no such sheet",
                                             .suggestion = st_nearest(name, names, f->count)});
}

static void check_parts(const st_sheet *sheet)
{
    size_t count = 0;
    const st_sheet_cell *cells = st_sheet_cells(sheet, &count);
    FUZZ_REQUIRE(st_sheet_name(sheet)[0] != '\0');
    FUZZ_REQUIRE(st_sheet_title(sheet) != NULL && st_sheet_doc(sheet) != NULL);
    for (size_t i = 0; i < count; i++) {
        FUZZ_REQUIRE(st_sheet_find_cell(sheet, cells[i].name) == &cells[i]);
        FUZZ_REQUIRE(st_sheet_find_input(sheet, cells[i].name) == NULL);
        FUZZ_REQUIRE(cells[i].place.line > 0 && cells[i].formula_place.line > 0);
        (void)st_sheet_nearest(sheet, cells[i].name);
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    const st_sheet *sheet = NULL;
    files f = {.count = 0};
    st_errors *errors = st_errors_create();
    st_arena *arena = st_arena_create();
    FUZZ_REQUIRE(errors != NULL && arena != NULL);

    f.count = fuzz_split(data, size, f.parts);
    st_sheet_reader reader = {read_part, &f};
    st_status status = st_sheet_load(&reader, "main", arena, &sheet, errors);
    fuzz_check_errors(status, errors);
    if (status == ST_OK) {
        check_parts(sheet);
        fuzz_check_sheet(sheet, arena);
    }
    st_arena_destroy(arena);
    st_errors_destroy(errors);
    return 0;
}
