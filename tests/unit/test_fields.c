/* SPDX-License-Identifier: Apache-2.0 */
/* Declared fields: spellings and units of headings, what may stand below them, and its errors. */
#include "base_support.h"
#include "../support/fixture.h"

#include "base/fields.h"

typedef struct record {
    const char *name;
    double time;
    double count;
    double kind;
} record;

static const st_field_unit seconds[] = {{"us", 1e-6}, {"s", 1}, {NULL, 0}};

enum { NAME, TIME, COUNT_OF, KIND, FIELDS };

static const st_field fields[FIELDS] = {
    [NAME] = {.name = "name",
              .set = st_field_text,
              .flags = ST_FIELD_REQUIRED,
              .offset = offsetof(record, name)},
    [TIME] = {.name = "running time",
              .spellings = "running time|duration",
              .units = seconds,
              .set = st_field_number,
              .flags = ST_FIELD_REQUIRED,
              .least = 1e-6,
              .most = 23.85,
              .offset = offsetof(record, time)},
    [COUNT_OF] = {.name = "count",
                  .set = st_field_count,
                  .flags = ST_FIELD_BLANK,
                  .least = 1,
                  .most = 2385,
                  .offset = offsetof(record, count)},
    [KIND] = {.name = "kind",
              .set = st_field_word,
              .words = "none|no full|all",
              .flags = ST_FIELD_INSIDE,
              .offset = offsetof(record, kind)},
};

FIXTURE(st_field_reader reader;, );

static bool find(fixture *own, const char *text)
{
    own->reader =
        (st_field_reader){.fields = fields, .count = FIELDS, .loose = true, .arena = own->arena};
    own->reader.errors = own->errors;
    st_errors_clear(own->errors);
    assert_int_equal(st_csv_parse("f.csv", text, strlen(text), own->arena, &own->reader.csv, NULL),
                     ST_OK);
    return st_fields_find(&own->reader);
}

TEST_OF(rows_fill_structs, fixture *own, set_up, tear_down)
{
    record row = {.count = 7, .kind = 4};
    assert_true(find(own, "Running-Time [us],NAME,other,count\n2385.5,a b,x,n/a\n17,c,y,41\n"));
    assert_true(!st_fields_have(&own->reader, KIND));
    assert_true(st_fields_use(&own->reader, 0) && !st_fields_use(&own->reader, 2));
    assert_true(st_fields_read(&own->reader, 0, &row));
    assert_string_equal(row.name, "a b");
    assert_true(row.time == 2385.5 * 1e-6);
    assert_true(row.count == 7 && row.kind == 4); /* blank, and without a column */
    assert_true(st_fields_read(&own->reader, 1, &row));
    assert_true(row.count == 41);
}

TEST_OF(words_have_more_than_one_spelling, fixture *own, set_up, tear_down)
{
    record row = {0};
    assert_true(find(own, "name,duration_s,kind\na,1.5,recompute ALL of it\nb,2,NO\n"));
    assert_true(st_fields_read(&own->reader, 0, &row));
    assert_true(row.kind == 1);
    assert_true(st_fields_read(&own->reader, 1, &row));
    assert_true(row.kind == 0);
    assert_int_equal(st_word_index("half", "none|no full|all", false), SIZE_MAX);
    assert_int_equal(st_word_index("c", "a|b c d", false), 1);
}

TEST_WITH(wrong_columns_are_refused, set_up, tear_down)
{
    static const struct {
        const char *text;
        const char *says;
    } faults[] = {
        {"nane,duration_s\na,1\n", "f.csv:1:1: error: no column 'name'; did you mean 'nane'?"},
        {"name,running time\na,1\n", "no column 'running time'"},
        {"name,running time min\na,1\n", "no column 'running time'"},
        {"name,duration_s,duration_us\na,1,2\n",
         "f.csv:1:17: error: columns duration_s and duration_us give the same quantity"},
    };
    fixture *own = *state;
    for (size_t i = 0; i < COUNT(faults); i++) {
        assert_true(!find(own, faults[i].text));
        assert_non_null(strstr(said(own->errors), faults[i].says));
        assert_int_equal(own->reader.status, ST_ERR_NAME);
    }
}

TEST_WITH(wrong_fields_are_refused, set_up, tear_down)
{
    static const struct {
        const char *row;
        const char *says;
    } faults[] = {
        {"a,24,3,none", "f.csv:2:3: error: column duration_s: found '24', expected a number from"},
        {"a,fast,3,none", "column duration_s: found 'fast', expected a number from 1e-06 to 23.85"},
        {"a,2.385,3.5,none", "column count: found '3.5', expected a whole number from 1 to 2385"},
        {"a,2.385,2386,none", "f.csv:2:9: error: column count: found '2386'"},
        {"a,2.385,3,half", "column kind: found 'half', expected one of none|no full|all"},
    };
    fixture *own = *state;
    for (size_t i = 0; i < COUNT(faults); i++) {
        record row = {0};
        const char *text =
            st_arena_printf(own->arena, "name,duration_s,count,kind\n%s\n", faults[i].row);
        assert_true(find(own, text));
        assert_true(!st_fields_read(&own->reader, 0, &row));
        assert_non_null(strstr(said(own->errors), faults[i].says));
        assert_int_equal(own->reader.status, ST_ERR_VALUE);
    }
}

TEST_OF(slips_are_warned_of, fixture *own, set_up, tear_down)
{
    assert_true(find(own, "name,duration_s,cuont,colour\na,1,2,3\n"));
    st_fields_warn_of_slips(&own->reader);
    assert_int_equal(st_errors_size(own->errors), 1);
    assert_non_null(
        strstr(said(own->errors),
               "f.csv:1:17: warning: ignored unknown column 'cuont'; did you mean 'count'?"));
    assert_int_equal(own->reader.status, ST_OK);
}

/* A table among other lines: remarks, rows that end early, marks of editors. */
TEST_WITH(logs_hold_tables, set_up, tear_down)
{
    static const char text[] = "\xef\xbb\xbf==PROF== connected\na,\"b,\nname,duration_s\",c\r\n"
                               "x,name,duration_s,count\n==WARN== a, b\nremark\n1,k,2.5,3\n2,l\n";
    fixture *own = *state;
    record row = {0};
    const st_csv_input input = {
        .file = "f.log", .text = text, .length = sizeof text - 1, .mark = "name"};
    own->reader = (st_field_reader){.fields = fields, .count = FIELDS, .arena = own->arena};
    own->reader.errors = own->errors;
    assert_int_equal(st_csv_read(&input, own->arena, &own->reader.csv, own->errors), ST_OK);
    assert_int_equal(own->reader.csv->row_count, 2);
    assert_int_equal(st_csv_head_place(own->reader.csv, 1).line, 4);
    assert_int_equal(st_csv_width(own->reader.csv, 1), 2);
    assert_true(st_fields_find(&own->reader));
    assert_true(!st_fields_read(&own->reader, 1, &row));
    assert_non_null(
        strstr(said(own->errors),
               "f.log:8:1: error: row has too few fields: found 2 fields, expected 4 or more"));
}

TESTS(fields);
