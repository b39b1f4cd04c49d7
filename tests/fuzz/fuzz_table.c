/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A table of any bytes, as CSV and as measured rows with a filter and an assignment. What CSV takes
 * can be written down again and reads as the same fields; what stands in a row that is compared is
 * a positive time and a finite estimate.
 */
#include "fuzz.h"

#include "base/csv_file.h"
#include "fit/steps/accuracy.h"
#include "fit/steps/table_csv.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static void write_field(st_buffer *text, const char *field)
{
    st_buffer_text(text, "\"");
    for (const char *c = field; *c != '\0'; c++)
        st_buffer_printf(text, *c == '"' ? "\"\"" : "%c", *c);
    st_buffer_text(text, "\"");
}

static void write_table(const st_csv *csv, st_buffer *text)
{
    for (size_t i = 0; i < csv->column_count; i++) {
        st_buffer_text(text, i > 0 ? "," : "");
        write_field(text, csv->columns[i]);
    }
    st_buffer_text(text, "\n");
    for (size_t row = 0; row < csv->row_count; row++) {
        for (size_t i = 0; i < csv->column_count; i++) {
            st_buffer_text(text, i > 0 ? "," : "");
            write_field(text, st_csv_field(csv, row, i));
        }
        st_buffer_text(text, "\n");
    }
    FUZZ_REQUIRE(!text->failed);
}

static void check_again(const st_csv *csv, st_arena *arena)
{
    st_buffer text = {0};
    const st_csv *again = NULL;
    write_table(csv, &text);
    FUZZ_REQUIRE(st_csv_parse("again", text.data, text.length, arena, &again, NULL) == ST_OK);
    FUZZ_REQUIRE(again->row_count == csv->row_count && again->column_count == csv->column_count);
    for (size_t row = 0; row < csv->row_count; row++)
        for (size_t i = 0; i < csv->column_count; i++)
            FUZZ_REQUIRE(strcmp(st_csv_field(csv, row, i), st_csv_field(again, row, i)) == 0);
    st_buffer_free(&text);
}

static void check_csv(const fuzz_part *part, st_arena *arena, st_errors *errors)
{
    const st_csv *csv = NULL;
    char *text = fuzz_copy(part->text, part->length);
    st_status status = st_csv_parse("input", text, part->length, arena, &csv, errors);
    fuzz_check_errors(status, errors);
    FUZZ_REQUIRE((status == ST_OK) == (csv != NULL));
    for (size_t i = 0; csv != NULL && i < csv->column_count; i++) {
        FUZZ_REQUIRE(csv->columns[i][0] != '\0' && st_csv_column(csv, csv->columns[i]) == i);
        FUZZ_REQUIRE(csv->row_count == 0 || st_csv_place(csv, 0, i).line >= 1);
    }
    if (csv != NULL)
        check_again(csv, arena);
    st_errors_clear(errors);
    free(text);
}

static void check_rows(const st_measured *measured, st_arena *arena)
{
    st_accuracy accuracy;
    size_t compared = 0;
    for (size_t i = 0; i < measured->row_count; i++) {
        const st_row *row = &measured->rows[i];
        if (row->left_out != NULL)
            continue;
        FUZZ_REQUIRE(isfinite(row->measured) && row->measured > 0 && isfinite(row->estimate));
        FUZZ_REQUIRE(row->variant == 0 || row->variant < measured->variant_count);
        compared++;
    }
    FUZZ_REQUIRE(st_accuracy_of(measured, arena, &accuracy) == ST_OK);
    FUZZ_REQUIRE(accuracy.compared == compared);
}

static void check_measured(const char *file, const char *filter, const char *set, st_arena *arena,
                           st_errors *errors)
{
    static st_paths *paths;
    if (paths == NULL)
        FUZZ_REQUIRE(st_paths_create(NULL, 0, &paths, NULL) == ST_OK);
    const char *const sets[] = {"cluster=dgx-a100", set};
    const st_csv *csv = NULL; /* packed or not */
    FUZZ_REQUIRE((st_packed_csv_read(file, arena, &csv, errors) == ST_OK) == (csv != NULL));
    st_errors_clear(errors);
    const st_measured_request request = {
        .paths = paths, .sheet = FUZZ_SHEET, .sets = sets, .set_count = set != NULL ? 2 : 1};
    const st_measured_table table = {.file = file, .filter = filter};
    st_measured *rows = NULL;
    size_t count = 0;
    st_status status = st_measured_read(&request, &table, arena, &rows, &count, errors);
    for (size_t i = 0; i < count && status == ST_OK; i++) {
        status = st_measured_run(&rows[i], arena, errors);
        if (status == ST_OK)
            check_rows(&rows[i], arena);
    }
    fuzz_check_errors(status, errors);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    char path[] = "/tmp/steptime-fuzz-XXXXXX";
    fuzz_part parts[FUZZ_PARTS];
    const char *options[FUZZ_PARTS] = {NULL};
    size_t count = fuzz_split(data, size, parts);
    st_arena *arena = st_arena_create();
    st_errors *errors = st_errors_create();
    int descriptor = mkstemp(path);
    FUZZ_REQUIRE(arena != NULL && errors != NULL && descriptor >= 0);
    check_csv(&parts[0], arena, errors);
    for (size_t i = 1; i < count; i++) {
        options[i] = st_arena_copy(arena, parts[i].text, strnlen(parts[i].text, parts[i].length));
        FUZZ_REQUIRE(options[i] != NULL);
    }
    FUZZ_REQUIRE(write(descriptor, parts[0].text, parts[0].length) == (ssize_t)parts[0].length);
    FUZZ_REQUIRE(close(descriptor) == 0);
    const char *filter = options[1] != NULL && options[1][0] != '\0' ? options[1] : NULL;
    check_measured(path, filter, options[2], arena, errors);
    FUZZ_REQUIRE(unlink(path) == 0);
    st_errors_destroy(errors);
    st_arena_destroy(arena);
    return 0;
}
