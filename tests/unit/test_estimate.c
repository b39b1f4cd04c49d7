/* SPDX-License-Identifier: Apache-2.0 */
/* Estimates: loading, choosing and computing cells, and what the writers make of them. */
#include "report_support.h"
#include "program/program.h"

#include <math.h>

/* 571.3 MB over 23.85 GB/s less 12.5 %, by three pumps. */
static const double station_time_s = 571.3e6 / (23.85e9 * 0.875) / 3;

static const st_shown *shown_of(const st_estimate *estimate, const char *name)
{
    for (size_t i = 0; i < estimate->shown_count; i++) {
        if (strcmp(estimate->shown[i].name, name) == 0)
            return &estimate->shown[i];
    }
    fail_msg("no cell %s", name);
    return NULL;
}

TEST_OF(a_report_is_computed_in_its_order, fixture *own, set_up, tear_down)
{
    st_estimate estimate;
    write_pump(own);
    run_station(own, NULL, false, &estimate);
    static const char *const names[] = {"T", "rate", "shifted", "gear", "T"};
    static const char *const sections[] = {"Time", "Time", "State", "State", "State"};
    assert_int_equal(estimate.shown_count, COUNT(names));
    for (size_t i = 0; i < COUNT(names); i++) {
        assert_string_equal(estimate.shown[i].name, names[i]);
        assert_string_equal(estimate.shown[i].section, sections[i]);
    }
    assert_true(fabs(estimate.shown[0].value / station_time_s - 1) < 1e-14);
    assert_true(estimate.shown[4].value == estimate.shown[0].value);
    assert_true(fabs(estimate.shown[1].value - 23.85e9 * 0.875) < 1e-3);
    assert_string_equal(estimate.shown[0].cite, "handbook p. 8");
    assert_string_equal(estimate.shown[1].cite, "");
    assert_true(estimate.checks[0] == 1 && estimate.checks[1] == 1);
    assert_string_equal(said(own), "");
}

TEST_OF(all_adds_the_cells_that_no_section_shows, fixture *own, set_up, tear_down)
{
    st_estimate estimate;
    write_pump(own);
    run_station(own, NULL, true, &estimate);
    assert_int_equal(estimate.shown_count, 6);
    assert_string_equal(estimate.shown[5].name, "spare");
    assert_string_equal(estimate.shown[5].section, "");
    assert_true(fabs(estimate.shown[5].value * station_time_s - 1) < 1e-14);
}

TEST_OF(a_sheet_without_a_report_shows_every_cell, fixture *own, set_up, tear_down)
{
    st_estimate estimate;
    write_text(own, "formulas/pump.yaml",
               "sheet: pump\ninputs:\n  n: {from: parallel.dp, doc: pumps}\ncells:\n"
               "  a: {is: n*2.5, doc: first}\n  b: {is: a+n, doc: second}\n");
    write_text(own, "configs/jobs/station.yaml", "parallel: {dp: 3}\nsheet: pump\n");
    run_station(own, NULL, false, &estimate);
    assert_int_equal(estimate.shown_count, 2);
    assert_true(shown_of(&estimate, "b")->value == 10.5);
    st_buffer buffer = {0};
    write_estimate(&estimate, own->errors, own->arena, ST_FORM_TEXT, &buffer);
    assert_contains(buffer.data, "\nCells\n  a   7.5  first\n  b  10.5  second\n");
    assert_contains(buffer.data, "\nfirst (a): 7.5\n");
    assert_lacks(buffer.data, "Assumptions");
    st_buffer_free(&buffer);
}

TEST_OF(only_what_is_shown_can_fail, fixture *own, set_up, tear_down)
{
    st_estimate estimate;
    write_text(own, "formulas/pump.yaml",
               "sheet: pump\ninputs:\n  n: {from: parallel.dp, doc: pumps}\ncells:\n"
               "  good: {is: n*2.5, doc: first}\n  bad: {is: 1/(n-3), doc: second}\n"
               "report:\n  - {section: S, cells: [good]}\n");
    write_text(own, "configs/jobs/station.yaml", "parallel: {dp: 3}\nsheet: pump\n");
    run_station(own, NULL, false, &estimate);
    assert_int_equal(load_estimate(own, "station", NULL, &estimate), ST_OK);
    assert_int_equal(st_estimate_show_report(&estimate, true, own->arena), ST_OK);
    assert_int_equal(st_estimate_run(&estimate, own->arena, own->errors), ST_ERR_MATH);
    assert_contains(said(own), "'bad'");
}

TEST_OF(names_that_do_not_exist_are_told_with_the_nearest, fixture *own, set_up, tear_down)
{
    st_estimate estimate;
    write_pump(own);
    assert_int_equal(load_estimate(own, "station", NULL, &estimate), ST_OK);
    static const char *const names[] = {"T", "shiftd", "gear", "qqqqq"};
    assert_int_equal(st_estimate_show_names(&estimate, names, 4, (st_place){"cases.yaml", 4, 2},
                                            own->arena, own->errors),
                     ST_ERR_NAME);
    assert_string_equal(said(own),
                        "cases.yaml:4:2: error: unknown cell 'shiftd' in sheet pump; did you mean "
                        "'shifted'?\ncases.yaml:4:2: error: unknown cell 'qqqqq' in sheet pump\n");
    static const char *const good[] = {"gear", "spare"};
    assert_int_equal(
        st_estimate_show_names(&estimate, good, 2, (st_place){0}, own->arena, own->errors), ST_OK);
    assert_int_equal(st_estimate_run(&estimate, own->arena, own->errors), ST_OK);
    assert_true(fabs(estimate.shown[1].value * station_time_s - 1) < 1e-14);
}

TEST_OF(a_failing_check_is_an_error_and_a_failing_warning_is_not, fixture *own, set_up, tear_down)
{
    st_estimate estimate;
    write_pump(own);
    assert_int_equal(load_estimate(own, "station", "parallel.dp=101", &estimate), ST_OK);
    assert_int_equal(st_estimate_show_report(&estimate, false, own->arena), ST_OK);
    assert_int_equal(st_estimate_run(&estimate, own->arena, own->errors), ST_ERR_CHECK);
    assert_contains(said(own), "error: 101 pumps are too many");
    run_station(own, "cluster.nic_bandwidth=1 MB/s", false, &estimate);
    assert_int_equal(st_errors_count(own->errors, ST_SEVERITY_WARNING), 1);
    assert_int_equal(st_errors_count(own->errors, ST_SEVERITY_ERROR), 0);
    st_buffer buffer = {0};
    write_estimate(&estimate, own->errors, own->arena, ST_FORM_TEXT, &buffer);
    assert_contains(buffer.data, "\nWarnings\n  ");
    assert_contains(buffer.data, "warning: slow, 217.6 s\n");
    st_buffer_free(&buffer);
    write_estimate(&estimate, own->errors, own->arena, ST_FORM_JSON, &buffer);
    assert_contains(buffer.data, "\"level\": \"warning\", \"holds\": false, \"message\": \"slow, ");
    assert_contains(buffer.data, "warning: slow, 217.6 s\"");
    st_buffer_free(&buffer);
}

TEST_OF(what_cannot_be_loaded_is_told_where_it_is_named, fixture *own, set_up, tear_down)
{
    st_estimate estimate;
    write_pump(own);
    assert_int_equal(load_estimate(own, "statoin", NULL, &estimate), ST_ERR_NAME);
    assert_contains(said(own), "statoin");
    assert_int_equal(load_estimate(own, "station", "sheet=pmup", &estimate), ST_ERR_NAME);
    assert_contains(said(own), "--set sheet=pmup");
    write_text(own, "configs/jobs/other.yaml", "parallel: {dp: 3}\nsheet: pumpp\n");
    assert_int_equal(load_estimate(own, "other", NULL, &estimate), ST_ERR_NAME);
    assert_contains(said(own), "@/configs/jobs/other.yaml:2:8: error:");
    write_text(own, "configs/jobs/bare.yaml", "sheet: pump\n");
    assert_int_not_equal(load_estimate(own, "bare", NULL, &estimate), ST_OK);
    const char *text = said(own);
    assert_contains(text, "constants.volume");
    assert_contains(text, "cluster.nic_bandwidth");
}

TEST_OF(a_sheet_beside_the_job_is_found_and_the_callers_own_wins, fixture *own, set_up, tear_down)
{
    st_estimate estimate;
    write_pump(own);
    write_text(own, "elsewhere/pump.yaml", pump_sheet);
    write_text(own, "elsewhere/job.yaml",
               "cluster: {nic_bandwidth: 1 GB/s}\nconstants: {volume: 1 MB}\n"
               "sheet: ./pump.yaml\n");
    assert_int_equal(load_estimate(own, below(own, "elsewhere/job.yaml"), NULL, &estimate), ST_OK);
    assert_string_equal(st_sheet_file(estimate.sheet), below(own, "elsewhere/pump.yaml"));
    st_request request = {.job = below(own, "elsewhere/job.yaml"), .sheet = "pump"};
    assert_int_equal(st_estimate_load(own->paths, &request, own->arena, &estimate, own->errors),
                     ST_OK);
    assert_string_equal(st_sheet_file(estimate.sheet), below(own, "formulas/pump.yaml"));
}

static const st_bound_input *input_of(const st_estimate *estimate, const char *name)
{
    for (size_t i = 0; i < estimate->input_count; i++) {
        if (strcmp(estimate->inputs[i].input->name, name) == 0)
            return &estimate->inputs[i];
    }
    fail_msg("no input %s", name);
    return NULL;
}

TEST_OF(every_input_knows_where_it_comes_from, fixture *own, set_up, tear_down)
{
    st_estimate estimate;
    write_pump(own);
    run_station(own, "constants.loss=37 %", false, &estimate);
    static const struct {
        const char *name, *origin;
        bool assumed;
    } cases[] = {{"n", "file", false},
                 {"V", "file", true},
                 {"C", "file", false},
                 {"gear", "sheet", true},
                 {"loss", "set", false}};
    for (size_t i = 0; i < COUNT(cases); i++) {
        const st_bound_input *input = input_of(&estimate, cases[i].name);
        assert_string_equal(st_input_origin(input), cases[i].origin);
        assert_int_equal(st_input_is_assumed(input), cases[i].assumed);
    }
    assert_int_equal(st_input_place(input_of(&estimate, "n")).line, 4);
    assert_string_equal(st_input_place(input_of(&estimate, "loss")).file,
                        "--set constants.loss=37 %");
    assert_int_equal(st_input_place(input_of(&estimate, "gear")).line, 10);
    write_text(own, "configs/jobs/default.yaml",
               "cluster: {nic_bandwidth: 1 GB/s}\nconstants: {volume: 1 MB}\nsheet: pump\n");
    assert_int_equal(load_estimate(own, "default", NULL, &estimate), ST_OK);
    assert_string_equal(st_input_origin(input_of(&estimate, "n")), "default");
    assert_true(st_input_is_assumed(input_of(&estimate, "n")));
}

TEST_OF(text_fits_a_terminal, fixture *own, set_up, tear_down)
{
    st_estimate estimate;
    st_buffer buffer = {0};
    const st_paint narrow = {true, 60};
    write_pump(own);
    run_station(own, NULL, true, &estimate);
    st_result result;
    st_estimate_report(&estimate, own->errors, own->arena, &result);
    st_result_write_text(&result, &narrow, &buffer);
    assert_false(buffer.failed);
    for (const char *line = buffer.data; *line != '\0';) {
        size_t width = 0;
        const char *next = line;
        for (; *next != '\n'; next++) {
            if (*next == '\033')
                next += strcspn(next, "m");
            else
                width++;
        }
        if (width > 60)
            fail_msg("%zu characters: %.*s", width, (int)(next - line), line);
        line = next + 1;
    }
    st_buffer_free(&buffer);
}

TEST_OF(csv_has_a_line_per_cell, fixture *own, set_up, tear_down)
{
    st_estimate estimate;
    st_buffer buffer = {0};
    write_pump(own);
    run_station(own, "recompute=full", false, &estimate);
    write_estimate(&estimate, own->errors, own->arena, ST_FORM_CSV, &buffer);
    assert_text(&buffer, "section,cell,value,unit,meaning,citation\n"
                         "Time,T,9.125287012079465,ms,time,handbook p. 8\n"
                         "Time,rate,20.86875,GB/s,what arrives,\n"
                         "State,shifted,true,bool,out of neutral,\n"
                         "State,gear,full,gear,gear,\n"
                         "State,T,9.125287012079465,ms,time,handbook p. 8\n");
}

static const st_explanation *explain(fixture *own, st_estimate *estimate, const char *cell,
                                     int depth)
{
    const st_explanation *explanation = NULL;
    const char *const names[] = {cell};
    assert_int_equal(load_estimate(own, "station", NULL, estimate), ST_OK);
    assert_int_equal(
        st_estimate_show_names(estimate, names, 1, (st_place){0}, own->arena, own->errors), ST_OK);
    assert_int_equal(st_estimate_run(estimate, own->arena, own->errors), ST_OK);
    assert_int_equal(st_program_explain(estimate->program, estimate->input_values, cell, depth,
                                        own->arena, &explanation, own->errors),
                     ST_OK);
    return explanation;
}

/* The text of an explanation, with the fixture's folder as "@". */
static const char *explained(fixture *own, const st_estimate *estimate,
                             const st_explanation *explanation)
{
    st_buffer buffer = {0};
    st_result result;
    result.arena = own->arena;
    st_explanation_report(estimate, explanation, 0, own->errors, &result);
    st_result_write_text(&result, &plain, &buffer);
    assert_false(buffer.failed);
    char *text = st_arena_copy(own->arena, buffer.data, buffer.length);
    st_buffer_free(&buffer);
    assert_non_null(text);
    size_t length = strlen(own->folder);
    for (char *at = strstr(text, own->folder); at != NULL; at = strstr(at, own->folder)) {
        *at = '@';
        memmove(at + 1, at + length, strlen(at + length) + 1);
    }
    return text;
}

TEST_OF(an_explanation_goes_down_to_where_the_numbers_come_from, fixture *own, set_up, tear_down)
{
    st_estimate estimate;
    write_pump(own);
    const st_explanation *explanation = explain(own, &estimate, "T", -1);
    assert_string_equal(
        explained(own, &estimate, explanation),
        "T - time   [handbook p. 8]\n"
        "    T = flow_time(V, rate)/n\n"
        "      = flow_time(571.3[MB], 20.87[GB/s])/3\n"
        "      = 9.125 ms\n"
        "    V = 571.3 MB  volume  constants.volume in @/configs/jobs/station.yaml:6, an "
        "assumption: seen\n"
        "    n = 3         pumps   parallel.dp in @/configs/jobs/station.yaml:4\n"
        "\n"
        "    flow_time - time to move a volume   [handbook p. 9]\n"
        "        flow_time(size, rate) = size/rate\n"
        "                              = 571.3[MB]/20.87[GB/s]\n"
        "                              = 27.38 ms\n"
        "\n"
        "    rate - what arrives\n"
        "        rate = C*(1-loss)\n"
        "             = 23.85[GB/s]*(1-12.5[%])\n"
        "             = 20.87 GB/s\n"
        "        C    = 23.85 GB/s  flow  cluster.nic_bandwidth in "
        "@/configs/jobs/station.yaml:3; data sheet\n"
        "        loss = 12.5 %      loss  constants.loss, an assumption: default of sheet pump\n");
}

TEST_OF(an_explanation_ends_at_its_depth, fixture *own, set_up, tear_down)
{
    st_estimate estimate;
    write_pump(own);
    const st_explanation *explanation = explain(own, &estimate, "T", 0);
    assert_string_equal(explained(own, &estimate, explanation),
                        "T - time   [handbook p. 8]\n"
                        "    T = flow_time(V, rate)/n\n"
                        "      = flow_time(571.3[MB], 20.87[GB/s])/3\n"
                        "      = 9.125 ms\n"
                        "    (increase --depth to show more)\n");
    explanation = explain(own, &estimate, "loss", -1);
    assert_string_equal(explained(own, &estimate, explanation),
                        "loss = 12.5 %  loss  constants.loss, an assumption: default of sheet "
                        "pump\n");
}

TEST_OF(what_repeats_is_named_once_more_only, fixture *own, set_up, tear_down)
{
    st_estimate estimate;
    write_text(own, "formulas/pump.yaml",
               "sheet: pump\ninputs:\n  n: {from: parallel.dp, doc: pumps}\ncells:\n"
               "  x: {is: n*2.5, doc: first}\n  y: {is: x+n, doc: second}\n"
               "  z: {is: y*(x-n), doc: third}\n");
    write_text(own, "configs/jobs/station.yaml", "parallel: {dp: 3}\nsheet: pump\n");
    const st_explanation *explanation = explain(own, &estimate, "z", -1);
    assert_string_equal(explained(own, &estimate, explanation),
                        "z - third\n"
                        "    z = y*(x-n)\n"
                        "      = 10.5*(7.5-3)\n"
                        "      = 47.25\n"
                        "    see below: x = 7.5\n"
                        "    n = 3  pumps  parallel.dp in @/configs/jobs/station.yaml:1\n"
                        "\n"
                        "    y - second\n"
                        "        y = x+n\n"
                        "          = 7.5+3\n"
                        "          = 10.5\n"
                        "        see above: n = 3\n"
                        "\n"
                        "        x - first\n"
                        "            x = n*2.5\n"
                        "              = 3*2.5\n"
                        "              = 7.5\n"
                        "            see above: n = 3\n");
}

TEST_OF(a_providers_value_stands_beside_the_formulas, fixture *own, set_up, tear_down)
{
    st_estimate estimate;
    write_pump(own);
    (void)explain(own, &estimate, "T", 0);
    st_explanation step = {.kind = ST_EXPLAIN_CELL,
                           .name = "T",
                           .doc = "time",
                           .cite = "",
                           .formula = "V/C",
                           .numbers = "571.3[MB]/23.85[GB/s]",
                           .provider = "plugin x",
                           .refusal = "",
                           .value = 2.385e-3,
                           .formula_value = 7.1e-3};
    assert_int_equal(st_unit_parse("ms", 2, (st_place){0}, &step.type.unit, NULL), ST_OK);
    assert_string_equal(explained(own, &estimate, &step),
                        "T - time\n"
                        "    T = V/C\n"
                        "      = 571.3[MB]/23.85[GB/s]\n"
                        "      = 7.1 ms\n"
                        "      = 2.385 ms by plugin x, in place of the formula\n");
    step.formula = "";
    step.numbers = "";
    assert_contains(explained(own, &estimate, &step), "\n    T = 2.385 ms by plugin x\n");
}

TEST_OF(groups_have_every_cell_once, fixture *own, set_up, tear_down)
{
    st_estimate estimate;
    st_buffer buffer = {0};
    write_pump(own);
    assert_int_equal(load_estimate(own, "station", NULL, &estimate), ST_OK);
    st_result result;
    st_sheet_report(estimate.sheet, NULL, own->arena, &result);
    st_result_write_text(&result, &plain, &buffer);
    assert_contains(buffer.data, "\nTime\n  T [ms]  time  handbook p. 8\n"
                                 "    = flow_time(V, rate)/n\n  rate [GB/s]  what arrives\n"
                                 "    = C*(1-loss)\n\nState\n  shifted [bool]  out of neutral\n"
                                 "    = gear != none\n\nOther cells\n  spare [1/s]  strokes\n"
                                 "    = 1/T\n\nChecks\n");
    assert_contains(buffer.data, "  flow_time(size, rate) [ms] open  time to move a volume");
    assert_contains(buffer.data, "default 12.5 %");
    assert_contains(buffer.data, "    else a warning: slow, {T}\n");
    st_buffer_free(&buffer);
}

TESTS(estimate);
