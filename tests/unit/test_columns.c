/* SPDX-License-Identifier: Apache-2.0 */
/* One job under several refinements, and what plugins have a part in, beside the closed forms. */
#include "report_support.h"

#include "estimate/compare_providers.h"
#include "estimate/provider_effects.h"

#include <math.h>

/* 571.3 MB at 7/8 of 23.85 GB/s over three pumps are 9.125 ms; two more are twice as much, and in
 * another gear. */
static st_columns columns_of(fixture *own)
{
    st_columns columns = {.names = {"none", "nccl", "wide"}, .count = 3};
    write_pump(own);
    run_station(own, NULL, true, &columns.estimates[0]);
    run_station(own, "constants.volume=1142.6 MB", true, &columns.estimates[1]);
    run_station(own, "recompute=full", true, &columns.estimates[2]);
    return columns;
}

static const char *text_of(fixture *own, const st_columns *columns, st_form form)
{
    st_result result;
    st_buffer buffer = {0};
    st_columns_report(columns, own->arena, &result);
    st_result_write(&result, form, &plain, &buffer);
    assert_false(buffer.failed);
    const char *text = st_arena_copy(own->arena, st_buffer_read(&buffer), buffer.length);
    assert_non_null(text);
    st_buffer_free(&buffer);
    return text;
}

TEST_WITH(cells_that_differ_are_rows, set_up, tear_down)
{
    st_columns columns = columns_of(*state);
    const char *text = text_of(*state, &columns, ST_FORM_TEXT);
    assert_contains(text, "station by sheet pump\n\n");
    assert_contains(
        text, "Time\n  T           9.125 ms     18.25 ms  +100 %     9.125 ms          time\n");
    assert_contains(
        text, "State\n  shifted           no           no                  yes          out of "
              "neutral\n");
    assert_contains(text, "  spare ");
    assert_lacks(text, "rate");
    assert_lacks(text, "gear");    /* an input, which nobody computes */
    assert_lacks(text, "plugins"); /* nor has any a part in it */
    assert_lacks(text, "Failed");
    /* T stands in two sections, and once here. */
    assert_null(strstr(strstr(text, "  T  ") + 1, "  T  "));
    columns.all = true;
    assert_contains(text_of(*state, &columns, ST_FORM_TEXT), "  rate ");
}

TEST_OF(the_first_cell_is_always_one, fixture *own, set_up, tear_down)
{
    st_columns columns = {.names = {"none", "nccl"}, .count = 2};
    write_pump(own);
    run_station(own, NULL, true, &columns.estimates[0]);
    run_station(own, NULL, true, &columns.estimates[1]);
    const char *text = text_of(own, &columns, ST_FORM_TEXT);
    assert_contains(text, "  T ");
    assert_lacks(text, "shifted");
    assert_contains(text_of(own, &columns, ST_FORM_JSON), "\"changes\": [0, 0]");
    /* The rate, of 20.9 GB/s: last bits are no difference. */
    double rate = columns.estimates[1].shown[1].value;
    columns.estimates[1].shown[1].value = rate * (1 + 2e-13);
    assert_lacks(text_of(own, &columns, ST_FORM_TEXT), "rate");
    columns.estimates[1].shown[1].value = rate * (1 + 5e-12);
    assert_contains(text_of(own, &columns, ST_FORM_TEXT), "rate");
}

TEST_WITH(programs_get_values_and_changes, set_up, tear_down)
{
    st_columns columns = columns_of(*state);
    const char *json = text_of(*state, &columns, ST_FORM_JSON);
    assert_contains(json, "{\"name\": \"T\", \"unit\": \"ms\", \"values\": [9.1");
    assert_contains(json, "\"changes\": [0, 1, 0]}");
    assert_contains(json, "{\"name\": \"spare\", \"unit\": \"1/s\", ");
    assert_contains(json, "\"changes\": [0, -0.5, 0]}");
    assert_contains(json, "\"values\": [false, false, true], \"changes\": [null, null, null]}");
    const char *csv = text_of(*state, &columns, ST_FORM_CSV);
    assert_contains(csv, "cell,unit,none,nccl,wide,meaning\nT,ms,9.1");
}

/* Of a truth value and of zero there is no ratio. */
TEST_OF(some_values_have_no_change, fixture *own, set_up, tear_down)
{
    st_columns columns = {.names = {"full", "none"}, .count = 2};
    write_pump(own);
    run_station(own, "recompute=full", true, &columns.estimates[0]);
    run_station(own, NULL, true, &columns.estimates[1]);
    assert_contains(text_of(own, &columns, ST_FORM_JSON),
                    "\"values\": [true, false], \"changes\": [null, null]}");
    columns.estimates[0].shown[0].value = 0;
    assert_contains(text_of(own, &columns, ST_FORM_JSON),
                    "{\"name\": \"T\", \"unit\": \"ms\", \"values\": [0, 9.1");
    assert_lacks(text_of(own, &columns, ST_FORM_JSON), "\"changes\": [0");
}

/* A column that has not run has neither values nor changes; without the first there are none. */
TEST_WITH(columns_that_fail_say_why, set_up, tear_down)
{
    st_columns columns = columns_of(*state);
    columns.faults[1] = "no such table";
    const char *text = text_of(*state, &columns, ST_FORM_TEXT);
    assert_contains(text, "  T        9.125 ms  failed          9.125 ms          time\n");
    assert_contains(text, "\nFailed\n  nccl  no such table\n");
    const char *json = text_of(*state, &columns, ST_FORM_JSON);
    assert_contains(json, ", null, 9.1");
    assert_contains(json, "\"changes\": [0, null, 0]}");
    assert_contains(json, "\"refine\": \"nccl\",\n      \"error\": \"no such table\",\n");
    assert_lacks(json, "\"name\": \"spare\""); /* which differed there alone */
    columns.faults[0] = "no such plugin";
    json = text_of(*state, &columns, ST_FORM_JSON);
    assert_contains(json, "\"values\": [null, null, 9.1");
    assert_contains(json, "\"changes\": [null, null, null]}");
    assert_contains(json, "\"error\": \"no such plugin\"");
}

TEST_WITH(plugins_are_told_by_column, set_up, tear_down)
{
    st_columns columns = columns_of(*state);
    const st_type *time = columns.estimates[1].shown[0].type;
    st_refined_cell refined[] = {{.name = "T",
                                  .type = time,
                                  .value = 0.01825,
                                  .formula_value = 0.002385,
                                  .providers = "nccl for flow_time",
                                  .refusal = ""},
                                 {.name = "T2",
                                  .type = time,
                                  .value = 0.0385,
                                  .formula_value = (double)NAN,
                                  .providers = "nccl for ring",
                                  .refusal = "too small"}};
    columns.estimates[1].refined = refined;
    columns.estimates[1].refined_count = 2;
    const char *text = text_of(*state, &columns, ST_FORM_TEXT);
    assert_contains(text, "\nRefined by plugins\n  plugins  cell     value   formula  by\n"
                          "  nccl     T     18.25 ms  2.385 ms  nccl for flow_time\n"
                          "  nccl     T2     38.5 ms         -  formula in place of nccl for ring: "
                          "too small\n");
    const char *json = text_of(*state, &columns, ST_FORM_JSON);
    assert_contains(json, "\"formula_value\": 2.385, \"unit\": \"ms\", \"provider\": \"nccl for "
                          "flow_time\", \"refusal\": null}");
    assert_contains(json, "\"formula_value\": null, \"unit\": \"ms\", \"provider\": \"nccl for "
                          "ring\", \"refusal\": \"too small\"}");
}

/* ---- beside closed forms ---- */

TEST_OF(closed_forms_stand_beside_values, fixture *own, set_up, tear_down)
{
    st_estimate estimate;
    st_result result;
    st_buffer buffer = {0};
    static const st_table_column layout[4] = {{.right = false}};
    write_pump(own);
    run_station(own, NULL, true, &estimate);
    const st_type *time = estimate.shown[0].type;
    st_refined_cell refined[] = {
        {.name = "T3",
         .type = time,
         .value = 0.01825,
         .formula_value = 0.0125,
         .providers = "nccl for flow_time",
         .refusal = ""},
        {.name = "T4",
         .type = time,
         .value = 0.0385,
         .formula_value = (double)NAN,
         .providers = "nccl for ring",
         .refusal = "too small"},
        {.name = "T5", .type = time, .value = 0.0385, .providers = "nccl for tree", .refusal = ""}};
    estimate.refined = refined;
    estimate.refined_count = 3;
    estimate.plugin_count = 1;
    for (size_t i = 0; i < estimate.shown_count; i++) { /* T, in both sections, follows */
        estimate.shown[i].refined = strcmp(estimate.shown[i].name, "T") == 0;
        estimate.shown[i].formula_value = estimate.shown[i].value / 1.25;
    }
    st_node *root = st_result_begin(&result, own->arena);
    st_refined_report(&estimate, root, st_say_table(root, layout, 4, 2));
    st_result_write(&result, ST_FORM_TEXT, &plain, &buffer);
    const char *text = st_buffer_read(&buffer);
    static const char *const parts[] = {"Refined by plugins\n",
                                        "closed form 12.5 ms, +46.0 %",
                                        "nccl for flow_time\n",
                                        "no closed form",
                                        "formula: nccl for ring refuses: too small\n",
                                        "closed form 0 ms  ",
                                        "closed form 7.3 ms, +25.0 %"};
    for (size_t i = 0; i < COUNT(parts); i++)
        assert_contains(text, parts[i]);
    assert_null(strstr(strstr(text, "closed form 7.3") + 1, "closed form 7.3"));
    st_buffer_free(&buffer);
    assert_form_has(&result, ST_FORM_JSON,
                    (const char *const[]){"\"difference\": 0.45999", "\"refusal\": \"too small\"",
                                          "\"provider\": \"nccl for tree\""},
                    3);
    estimate.plugin_count = 0;
    root = st_result_begin(&result, own->arena);
    st_refined_report(&estimate, root, st_say_table(root, layout, 4, 2));
    st_result_write(&result, ST_FORM_TEXT, &plain, &buffer);
    assert_lacks(st_buffer_read(&buffer), "Refined");
    st_buffer_free(&buffer);
}

TESTS(columns);
