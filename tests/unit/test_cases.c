/* SPDX-License-Identifier: Apache-2.0 */
/* Validation cases: reading with all errors at once, running, comparing, and the three forms. */
#include "report_support.h"

#include "fit/steps/cases.h"

#include <math.h>

#define HEAD "source: book\ntitle: A book\ncite: book2024\ncases:\n"

static st_status load_cases(fixture *own, const char *text, st_case_source *source)
{
    write_text(own, "validation/book/cases.yaml", text);
    return st_cases_load(own->paths, "book", own->arena, source, own->errors);
}

static void write_cases(const fixture *own, const st_case_source *sources, size_t count,
                        st_form form, st_buffer *buffer)
{
    st_result result;
    st_cases_put(sources, count, st_result_begin(&result, own->arena));
    st_result_write(&result, form, &plain, buffer);
}

static void run_cases(fixture *own, const char *text, st_case_source *source)
{
    write_pump(own);
    if (load_cases(own, text, source) != ST_OK)
        fail_msg("%s", said(own));
    assert_int_equal(st_cases_run(own->paths, own->arena, source, own->errors), ST_OK);
}

TEST_OF(a_source_is_read_whole, fixture *own, set_up, tear_down)
{
    st_case_source source;
    assert_int_equal(load_cases(own,
                                HEAD "  - name: one\n    job: station\n    sheet: pump\n"
                                     "    set: [parallel.dp=7, recompute=full]\n    values:\n"
                                     "      - {cell: T, published: 9.1 ms, tolerance: 0.5 %}\n"
                                     "      - {cell: V, published: '571.3 MB', tolerance: '0',"
                                     " note: p. 3}\n"
                                     "  - {name: two, job: station, values: []}\n",
                                &source),
                     ST_OK);
    assert_string_equal(source.name, "book");
    assert_string_equal(source.title, "A book");
    assert_string_equal(source.cite, "book2024");
    assert_int_equal(source.case_count, 2);
    const st_case *item = &source.cases[0];
    assert_string_equal(item->name, "one");
    assert_string_equal(item->job, "station");
    assert_string_equal(item->sheet, "pump");
    assert_int_equal(item->set_count, 2);
    assert_string_equal(item->sets[1], "recompute=full");
    assert_int_equal(item->value_count, 2);
    assert_string_equal(item->values[0].published, "9.1 ms");
    assert_true(item->values[0].tolerance_frac == 0.005);
    assert_true(item->values[1].tolerance_frac == 0);
    assert_string_equal(item->values[1].note, "p. 3");
    assert_int_equal(item->values[1].published_place.line, 11);
    assert_int_equal(source.cases[1].value_count, 0);
    assert_null(source.cases[1].sheet);
}

TEST_OF(every_fault_of_a_file_is_told_at_once, fixture *own, set_up, tear_down)
{
    st_case_source source;
    assert_int_not_equal(
        load_cases(own,
                   "source: buch\ntitel: A book\ncite: ''\nnotes: x\ncases:\n"
                   "  - name: one\n    jobb: station\n    values: 3\n"
                   "  - name: two\n    job: [a]\n    set: parallel.dp=7\n    values:\n"
                   "      - {cell: T, published: 9.1 ms, tolerance: -0.5 %}\n"
                   "      - {cell: T, published: 9.1 ms, tolerance: 2 ms}\n"
                   "      - {cell: T, publish: 9.1 ms, tolerance: 1x}\n"
                   "      - 17\n"
                   "  - seven\n"
                   "  - {name: two, job: station, values: [], set: [[a]]}\n",
                   &source),
        ST_OK);
    const char *text = said(own);
    static const char *const parts[] = {
        ":2:1: error: unknown key 'titel' in the validation cases; did you mean 'title'?",
        ":4:1: error: unknown key 'notes' in the validation cases",
        ": error: missing key 'title' in the validation cases",
        ":3:7: error: 'cite' is empty",
        ":1:9: error: 'source' is not the folder's name: found 'buch', expected 'book'",
        ":7:5: error: unknown key 'jobb' in a case; did you mean 'job'?",
        ":6:5: error: missing key 'job' in a case",
        ":8:13: error: 'values' must be a list",
        ":10:10: error: 'job' must be text",
        ":11:10: error: 'set' must be a list",
        ":13:49: error: negative tolerance: found -0.5 %",
        ":14:51: error: unit has the wrong dimension",
        ":15:19: error: unknown key 'publish' in a value of a case; did you mean 'published'?",
        ":15:9: error: missing key 'published' in a value of a case",
        ":15:48: error:",
        ":16:9: error: a value of a case is not a map",
        ":17:5: error: a case is not a map",
        ": error: an entry of 'set' must be text",
        ":18:5: error: two cases are named 'two'",
    };
    for (size_t i = 0; i < COUNT(parts); i++)
        assert_contains(text, parts[i]);
}

TEST_OF(what_is_no_map_is_no_source, fixture *own, set_up, tear_down)
{
    st_case_source source;
    assert_int_equal(load_cases(own, "- a\n- b\n", &source), ST_ERR_VALUE);
    assert_contains(said(own), "validation cases are not a map");
    assert_int_not_equal(load_cases(own, "", &source), ST_OK);
    assert_contains(said(own), "cases.yaml");
    assert_int_not_equal(st_cases_load(own->paths, "bok", own->arena, &source, own->errors), ST_OK);
    assert_contains(said(own), "book");
}

TEST_OF(too_many_cases_are_refused, fixture *own, set_up, tear_down)
{
    st_case_source source;
    st_buffer text = {0};
    st_buffer_text(&text, HEAD);
    for (int i = 0; i <= ST_CASES_MAX; i++)
        st_buffer_text(&text, " - 1\n");
    assert_int_equal(load_cases(own, text.data, &source), ST_ERR_LIMIT);
    st_buffer_free(&text);
    assert_contains(said(own), "'cases' has 10001 items: expected at most 10000");
}

TEST_OF(a_difference_is_relative_to_what_was_published, fixture *own, set_up, tear_down)
{
    st_case_source source;
    run_cases(own,
              HEAD "  - name: one\n    job: station\n    values:\n"
                   "      - {cell: V, published: '571300000 B', tolerance: '0'}\n"
                   "      - {cell: V, published: '571.4 MB', tolerance: '0'}\n"
                   "      - {cell: V, published: '500 MB', tolerance: '14.26 %'}\n"
                   "      - {cell: V, published: '500 MB', tolerance: '14.25 %'}\n"
                   "      - {cell: V, published: '600 MB', tolerance: '0.05'}\n"
                   "      - {cell: V, published: '-571.3 MB', tolerance: '100 %'}\n"
                   "      - {cell: V, published: '0 MB', tolerance: '100 %'}\n",
              &source);
    static const struct {
        double difference;
        bool ok;
    } expected[] = {
        {0, true},
        {571.3 / 571.4 - 1, false},
        {0.1426, true},
        {0.1426, false},
        {-28.7 / 600, true},
        {2, false},
        {(double)INFINITY, false},
    };
    for (size_t i = 0; i < COUNT(expected); i++) {
        const st_case_value *value = &source.cases[0].values[i];
        assert_true(value->compared);
        assert_int_equal(value->ok, expected[i].ok);
        if (isfinite(expected[i].difference))
            assert_true(fabs(value->difference_frac - expected[i].difference) < 1e-14);
        else
            assert_true(isinf(value->difference_frac));
    }
    assert_int_equal(source.compared, 7);
    assert_int_equal(source.failed, 4);
    assert_int_equal(source.missed, 0);
    assert_string_equal(said(own), "");
}

TEST_OF(a_case_that_cannot_run_leaves_the_others_alone, fixture *own, set_up, tear_down)
{
    st_case_source source;
    run_cases(own,
              HEAD
              "  - {name: a, job: statoin, values: [{cell: T, published: 1 s, tolerance: 0}]}\n"
              "  - {name: b, job: station, values: [{cell: TT, published: 1 s, tolerance: 0}]}\n"
              "  - {name: c, job: station, values: [{cell: T, published: 1 B, tolerance: 0}]}\n"
              "  - {name: d, job: station, values: [{cell: gear, published: 1, tolerance: 0}]}\n"
              "  - {name: e, job: station, set: [parallel.dp=101],"
              " values: [{cell: T, published: 1 s, tolerance: 0}]}\n"
              "  - {name: f, job: station, values: [{cell: n, published: 3, tolerance: 0}]}\n",
              &source);
    assert_int_equal(source.compared, 1);
    assert_int_equal(source.failed, 0);
    assert_int_equal(source.missed, 5);
    assert_true(source.cases[5].ran && source.cases[5].values[0].ok);
    assert_false(source.cases[0].ran);
    const char *text = said(own);
    static const char *const parts[] = {
        "statoin",
        "cases.yaml:5:5: error: case 'a' cannot run",
        "cases.yaml:6:45: error: unknown cell 'TT' in sheet pump; did you mean 'T'?",
        "cases.yaml:6:5: error: case 'b' cannot run",
        "cases.yaml:7:61: error:",
        "cases.yaml:7:5: error: case 'c' cannot run",
        "cases.yaml:8:45: error: cell 'gear' is not a number and cannot be compared",
        "101 pumps are too many",
        "cases.yaml:9:5: error: case 'e' cannot run",
    };
    for (size_t i = 0; i < COUNT(parts); i++)
        assert_contains(text, parts[i]);
    assert_lacks(text, "case 'f'");
}

TEST_OF(the_warnings_of_a_case_are_not_repeated, fixture *own, set_up, tear_down)
{
    st_case_source source;
    run_cases(own,
              HEAD "  - {name: a, job: station, set: [cluster.nic_bandwidth=1 MB/s],"
                   " values: [{cell: T, published: 217.6 s, tolerance: 1 %}]}\n",
              &source);
    assert_int_equal(source.failed + source.missed, 0);
    assert_string_equal(said(own), "");
}

TEST_OF(a_job_beside_the_cases_is_found, fixture *own, set_up, tear_down)
{
    st_case_source source;
    write_text(own, "validation/book/own.yaml", pump_job);
    run_cases(own,
              HEAD "  - {name: a, job: own.yaml,"
                   " values: [{cell: n, published: 3, tolerance: 0}]}\n"
                   "  - {name: b, job: ./own.yaml,"
                   " values: [{cell: n, published: 3, tolerance: 0}]}\n",
              &source);
    assert_string_equal(said(own), "");
    assert_int_equal(source.compared, 2);
}

static const char two_values[] =
    HEAD "  - name: one\n    job: station\n    values:\n"
         "      - {cell: V, published: '571.4 MB', tolerance: '1 %', note: 'p. 3, ~571'}\n"
         "      - {cell: T, published: '9.5 ms', tolerance: '0', note: ''}\n"
         "  - {name: two, job: station, values: [{cell: TT, published: 1 s, tolerance: 1 %}]}\n";

TEST_OF(the_three_forms_say_the_same, fixture *own, set_up, tear_down)
{
    st_case_source source;
    st_buffer buffer = {0};
    char copy[sizeof two_values];
    (void)snprintf(copy, sizeof copy, "%s", two_values);
    char *empty_note = strstr(copy, ", note: ''");
    assert_non_null(empty_note);
    memmove(empty_note, empty_note + 10, strlen(empty_note + 10) + 1);
    run_cases(own, copy, &source);
    write_cases(own, &source, 1, ST_FORM_TEXT, &buffer);
    assert_text(
        &buffer,
        "book: A book [book2024]\n"
        "  case  cell  published                  ours  difference  tolerance              "
        "in the source\n"
        "  one   V      571.4 MB              571.3 MB   -0.0175 %        1 %  ok          p. "
        "3, ~571\n"
        "        T        9.5 ms  9.125287012079465 ms    -3.944 %      equal  FAIL\n"
        "  two   TT          1 s                     -           -        1 %  cannot run\n"
        "book: 2 values compared, 1 FAILED, 1 not compared\n");
}

/* Ours is said in the unit of the source, of a pure number in none. */
TEST_OF(values_are_said_in_the_unit_of_the_source, fixture *own, set_up, tear_down)
{
    st_case_source source;
    st_buffer buffer = {0};
    run_cases(own,
              HEAD "  - name: one\n    job: station\n    values:\n"
                   "      - {cell: V, published: '0.5714 GB', tolerance: '1 %'}\n"
                   "      - {cell: V, published: '+5.714e5 kB', tolerance: '1 %'}\n"
                   "      - {cell: n, published: '2.4', tolerance: '100 %'}\n",
              &source);
    write_cases(own, &source, 1, ST_FORM_TEXT, &buffer);
    assert_contains(buffer.data,
                    "  one   V       0.5714 GB  0.5713 GB   -0.0175 %        1 %  ok\n");
    assert_contains(buffer.data,
                    "        V     +5.714e5 kB  571300 kB   -0.0175 %        1 %  ok\n");
    assert_contains(buffer.data,
                    "        n             2.4          3       +25 %      100 %  ok\n");
    st_buffer_free(&buffer);
}

TEST_OF(json_and_csv_have_every_digit, fixture *own, set_up, tear_down)
{
    st_case_source source;
    st_buffer buffer = {0};
    run_cases(own,
              HEAD
              "  - name: one\n    job: station\n    values:\n"
              "      - {cell: V, published: '0.5714 GB', tolerance: '1 %', note: 'p. 3, ~571'}\n"
              "      - {cell: V, published: '0 B', tolerance: '1 %'}\n"
              "  - {name: two, job: station, values: [{cell: TT, published: 1 s,"
              " tolerance: 0.25}]}\n",
              &source);
    write_cases(own, &source, 1, ST_FORM_JSON, &buffer);
    assert_contains(buffer.data, "\"compared\": 2,\n      \"failed\": 1,\n      \"told\": 0,\n"
                                 "      \"missed\": 1,\n");
    assert_contains(buffer.data,
                    "{\"cell\": \"V\", \"published\": 571.4, \"value\": 571.3, \"unit\": \"MB\", "
                    "\"difference\": -0.00017500875043752187, \"tolerance\": 0.01, \"ok\": true, "
                    "\"note\": \"p. 3, ~571\", \"missed\": null}");
    assert_contains(buffer.data, "\"difference\": null, \"tolerance\": 0.01, \"ok\": false");
    assert_contains(buffer.data, "{\"cell\": \"TT\", \"published\": \"1 s\", \"value\": null, "
                                 "\"unit\": null, \"difference\": null, \"tolerance\": 0.25");
    st_buffer_free(&buffer);
    write_cases(own, &source, 1, ST_FORM_CSV, &buffer);
    assert_text(&buffer,
                "source,case,cell,published,value,unit,difference,tolerance,check,note\n"
                "book,one,V,571.4,571.3,MB,-0.00017500875043752187,0.01,ok,\"p. 3, ~571\"\n"
                "book,one,V,0,571.3,MB,,0.01,FAIL,\n"
                "book,two,TT,,,,,0.25,cannot run,\n");
}

TEST_OF(several_sources_close_with_their_sum, fixture *own, set_up, tear_down)
{
    st_case_source sources[2];
    st_buffer buffer = {0};
    run_cases(own,
              HEAD "  - {name: a, job: station,"
                   " values: [{cell: n, published: 3, tolerance: 0}]}\n",
              &sources[0]);
    sources[1] = sources[0];
    sources[1].failed = 1;
    write_cases(own, sources, 2, ST_FORM_TEXT, &buffer);
    assert_contains(buffer.data, "\nall sources: 2 values compared, 1 FAILED\n");
    assert_contains(buffer.data, "\nbook: 1 value compared, none exceed tolerance\n");
    st_buffer_free(&buffer);
}

/* A miss that is told is no failure; a reason for a miss that there is not is one. */
TEST_OF(misses_with_a_reason_are_told_apart, fixture *own, set_up, tear_down)
{
    st_case_source source;
    run_cases(own,
              HEAD
              "  - name: one\n    job: station\n    sheet: pump\n    values:\n"
              "      - {cell: T, published: 77 s, tolerance: 0.5 %, missed: too large a pump}\n"
              "      - {cell: T, published: 78 s, tolerance: 0.5 %, missed: too large a pump}\n"
              "      - {cell: T, published: 79 s, tolerance: 0.5 %}\n"
              "      - {cell: T, published: 80 s, tolerance: 9999 %, missed: stale}\n",
              &source);
    assert_int_equal(source.compared, 4);
    assert_int_equal(source.explained, 2);
    assert_int_equal(source.failed, 2);
    st_buffer text = {0};
    write_cases(own, &source, 1, ST_FORM_TEXT, &text);
    const char *reason = strstr(text.data, "missed: too large a pump");
    assert_non_null(reason);
    assert_null(strstr(reason + 1, "missed: too large a pump"));
    assert_non_null(strstr(text.data, "2 FAILED"));
    st_buffer_free(&text);
}

TESTS(cases);
