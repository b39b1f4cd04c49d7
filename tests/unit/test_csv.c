/* SPDX-License-Identifier: Apache-2.0 */
/* CSV: what is read, where it stands, and everything that is refused. */
#include "base_support.h"
#include "../support/fixture.h"

#include "../support/text_cases.h"

#include "base/csv.h"

#include <time.h>

FIXTURE(const st_csv *csv;, );

static st_status parse_bytes(fixture *own, const char *text, size_t length)
{
    own->csv = NULL;
    /* exactly these bytes, so that a sanitizer sees what lies beyond */
    char *bytes = malloc(length > 0 ? length : 1);
    assert_non_null(bytes);
    memcpy(bytes, text, length);
    st_status status = st_csv_parse("f.csv", bytes, length, own->arena, &own->csv, own->errors);
    free(bytes);
    assert_true((status == ST_OK) == (own->csv != NULL));
    assert_int_equal(st_errors_count(own->errors, ST_SEVERITY_ERROR) > 0, status != ST_OK);
    return status;
}

static void parse(fixture *own, const char *text)
{
    if (parse_bytes(own, text, strlen(text)) != ST_OK)
        fail_msg("%s", said(own->errors));
}

static void assert_field(const fixture *own, size_t row, size_t column, const char *text)
{
    assert_string_equal(st_csv_field(own->csv, row, column), text);
}

/* ---- what is read ---- */

TEST_OF(columns_and_rows, fixture *own, set_up, tear_down)
{
    parse(own, "id,tp,time\nrow-7,2,1.385\nrow-9,16,0.731\n");
    assert_string_equal(own->csv->file, "f.csv");
    assert_int_equal(own->csv->column_count, 3);
    assert_int_equal(own->csv->row_count, 2);
    assert_string_equal(own->csv->columns[1], "tp");
    assert_field(own, 0, 0, "row-7");
    assert_field(own, 0, 2, "1.385");
    assert_field(own, 1, 1, "16");
    assert_field(own, 1, 2, "0.731");
    assert_int_equal(st_csv_column(own->csv, "time"), 2);
    assert_true(st_csv_column(own->csv, "tim") == SIZE_MAX);
    assert_true(st_csv_column(own->csv, "Time") == SIZE_MAX);
}

TEST_OF(line_ends_of_all_systems, fixture *own, set_up, tear_down)
{
    static const char *const texts[] = {"a,b\n1,2\n3,4\n", "a,b\n1,2\n3,4", "a,b\r\n1,2\r\n3,4\r\n",
                                        "a,b\r\n1,2\n3,4\r\n"};
    for (size_t i = 0; i < COUNT(texts); i++) {
        parse(own, texts[i]);
        assert_int_equal(own->csv->row_count, 2);
        assert_field(own, 0, 1, "2");
        assert_field(own, 1, 0, "3");
        assert_field(own, 1, 1, "4");
    }
}

TEST_OF(quoted_fields, fixture *own, set_up, tear_down)
{
    parse(own, "\"a\",\"b, and \"\"c\"\"\"\n"
               "\"x\"\"y\",\"two\nlines\"\n"
               "\"\",\"\"\"\"\n"
               "last,\"no line end\"");
    assert_string_equal(own->csv->columns[0], "a");
    assert_string_equal(own->csv->columns[1], "b, and \"c\"");
    assert_field(own, 0, 0, "x\"y");
    assert_field(own, 0, 1, "two\nlines");
    assert_field(own, 1, 0, "");
    assert_field(own, 1, 1, "\"");
    assert_field(own, 2, 0, "last");
    assert_field(own, 2, 1, "no line end");
}

TEST_OF(blank_fields_stay_blank, fixture *own, set_up, tear_down)
{
    parse(own, "a,b,c\n,,\n, ,x\n");
    for (size_t i = 0; i < 3; i++)
        assert_field(own, 0, i, "");
    assert_field(own, 1, 1, " ");
    assert_field(own, 1, 2, "x");
}

TEST_OF(one_column_may_have_blank_rows, fixture *own, set_up, tear_down)
{
    parse(own, "a\n7\n\n9\n");
    assert_int_equal(own->csv->row_count, 3);
    assert_field(own, 1, 0, "");
    assert_field(own, 2, 0, "9");
}

TEST_OF(places_are_those_of_the_file, fixture *own, set_up, tear_down)
{
    parse(own, "näme,b\n\"two\nlines\",x\nüü,\"y\"\n");
    st_place place = st_csv_place(own->csv, 0, 0);
    assert_string_equal(place.file, "f.csv");
    assert_int_equal(place.line, 2);
    assert_int_equal(place.column, 2); /* behind its quote */
    place = st_csv_place(own->csv, 0, 1);
    assert_int_equal(place.line, 3);
    assert_int_equal(place.column, 8);
    place = st_csv_place(own->csv, 1, 1);
    assert_int_equal(place.line, 4);
    assert_int_equal(place.column, 5); /* characters, not bytes */
}

TEST_OF(the_text_is_copied, fixture *own, set_up, tear_down)
{
    char text[] = "a,b\nfirst,second\n";
    assert_int_equal(st_csv_parse("f.csv", text, strlen(text), own->arena, &own->csv, own->errors),
                     ST_OK);
    memset(text, 'z', sizeof text - 1);
    assert_field(own, 0, 1, "second");
    assert_int_equal(st_csv_place(own->csv, 0, 1).line, 2);
}

/* ---- what is refused ---- */

static const char *answer(void *context, const char *section, char *given, size_t length)
{
    fixture *own = context;
    (void)section;
    (void)parse_bytes(own, given, length);
    return said(own->errors);
}

TEST_OF(faults_are_those_of_the_cases, fixture *own, set_up, tear_down)
{
    run_text_rows("tests/unit/cases/csv.txt", answer, own, own->arena);
}

/* ---- limits ---- */

/* `count` times `piece` behind `head`. */
static st_status parse_repeated(fixture *own, const char *head, const char *piece, size_t count)
{
    size_t head_bytes = strlen(head);
    size_t bytes = strlen(piece);
    char *text = malloc(head_bytes + bytes * count + 1);
    assert_non_null(text);
    memcpy(text, head, head_bytes);
    for (size_t i = 0; i < count; i++)
        memcpy(text + head_bytes + i * bytes, piece, bytes);
    own->csv = NULL;
    st_status status =
        st_csv_parse("f.csv", text, head_bytes + bytes * count, own->arena, &own->csv, own->errors);
    free(text);
    return status;
}

TEST_OF(too_many_rows, fixture *own, set_up, tear_down)
{
    assert_int_equal(parse_repeated(own, "a\n", "7\n", ST_CSV_MAX_ROWS), ST_OK);
    assert_int_equal(own->csv->row_count, ST_CSV_MAX_ROWS);
    assert_int_equal(parse_repeated(own, "a\n", "7\n", ST_CSV_MAX_ROWS + 1), ST_ERR_LIMIT);
    assert_string_equal(said(own->errors), "f.csv:1000002:1: error: too many rows: expected at "
                                           "most 1000000 rows of 1 fields\n");
}

TEST_OF(too_many_columns, fixture *own, set_up, tear_down)
{
    assert_int_equal(parse_repeated(own, "a", ",", ST_CSV_MAX_COLUMNS), ST_ERR_LIMIT);
    assert_contains(said(own->errors), "error: 1001 columns: expected at most 1000\n");
}

TEST_OF(too_long_a_field, fixture *own, set_up, tear_down)
{
    assert_int_equal(parse_repeated(own, "a,b\n1,", "x", ST_CSV_MAX_FIELD_BYTES), ST_OK);
    assert_int_equal(parse_repeated(own, "a,b\n1,", "x", ST_CSV_MAX_FIELD_BYTES + 1), ST_ERR_LIMIT);
    assert_string_equal(said(own->errors),
                        "f.csv:2:3: error: field has 65537 bytes: expected at most 65536\n");
}

TEST_OF(too_many_bytes, fixture *own, set_up, tear_down)
{
    assert_int_equal(parse_repeated(own, "a\n", "x", ST_CSV_MAX_BYTES), ST_ERR_LIMIT);
    assert_contains(said(own->errors), "error: the table is too large: found 67108866 bytes");
}

/* A file that is wrong everywhere is read once, and its places are found for what is shown only. */
TEST_OF(many_faults_are_no_slower, fixture *own, set_up, tear_down)
{
    clock_t start = clock();
    assert_int_equal(parse_repeated(own, "a,b\n", "7\n", 900000), ST_ERR_SYNTAX);
    assert_true(clock() - start < 5 * CLOCKS_PER_SEC);
    assert_contains(said(own->errors), "899950 more errors");
}

TEST_OF(without_a_list_of_errors, fixture *own, set_up, tear_down)
{
    static const char text[] = "a,a\n1\n";
    assert_int_equal(st_csv_parse("f.csv", text, strlen(text), own->arena, &own->csv, NULL),
                     ST_ERR_NAME);
}

TESTS(csv);
