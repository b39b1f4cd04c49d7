/* SPDX-License-Identifier: Apache-2.0 */
/* What more of an input would change, and what reports make of it. */
#include "report_support.h"

#include "estimate/effects.h"

#include <math.h>

static const st_effect *effect_of(const st_estimate *estimate, const char *name)
{
    for (size_t i = 0; i < estimate->input_count; i++)
        if (strcmp(estimate->inputs[i].input->name, name) == 0)
            return &estimate->effects[i];
    fail_msg("no input %s", name);
    return NULL;
}

static void run_effects(fixture *own, const char *set, st_estimate *estimate)
{
    run_station(own, set, false, estimate);
    assert_null(estimate->effects);
    assert_int_equal(st_estimate_find_effects(estimate, true, own->arena), ST_OK);
    assert_non_null(estimate->effects);
}

static void assert_change(const st_estimate *estimate, const char *name, double change)
{
    double found = effect_of(estimate, name)->change;
    if (fabs(found - change) > 1e-12)
        fail_msg("%s changes the headline by %.17g, not by %.17g", name, found, change);
}

TEST_OF(every_number_is_raised_by_a_tenth, fixture *own, set_up, tear_down)
{
    st_estimate estimate;
    write_pump(own);
    run_effects(own, NULL, &estimate);
    assert_change(&estimate, "C", 1 / 1.1 - 1);
    assert_change(&estimate, "V", 1.1 - 1);
    assert_change(&estimate, "n", 1 / 1.1 - 1);
    assert_change(&estimate, "loss", (1 - 0.125) / (1 - 0.1375) - 1);
    assert_change(&estimate, "gear", 0);
}

TEST_OF(the_estimate_stays_as_it_was, fixture *own, set_up, tear_down)
{
    st_estimate estimate;
    write_pump(own);
    run_station(own, NULL, false, &estimate);
    double before = estimate.shown[0].value;
    double input = estimate.input_values[1];
    assert_int_equal(st_estimate_find_effects(&estimate, true, own->arena), ST_OK);
    assert_true(estimate.shown[0].value == before);
    assert_true(estimate.input_values[1] == input);
}

TEST_OF(names_and_truth_values_are_changed_for_others, fixture *own, set_up, tear_down)
{
    st_estimate estimate;
    write_pump(own);
    run_effects(own, NULL, &estimate);
    assert_true(effect_of(&estimate, "gear")->anywhere); /* `shifted` turns over */
    write_text(own, "formulas/pump.yaml",
               "sheet: pump\nenums:\n  gear: [none, full]\ninputs:\n"
               "  n: {from: parallel.dp, doc: pumps}\n"
               "  gear: {from: recompute, unit: gear, default: none, doc: gear}\n"
               "  wet: {from: constants.wet, unit: bool, default: true, doc: wet}\n"
               "  dry: {from: constants.dry, unit: bool, default: false, doc: dry}\n"
               "cells:\n  T: {is: 'if(dry and n > 2, 7.5, n)', doc: time}\n"
               "  U: {is: 'if(wet and gear == full, 1, 0)', doc: other}\n"
               "report:\n  - {section: S, cells: [T]}\n");
    write_text(own, "configs/jobs/station.yaml", "parallel: {dp: 3}\nsheet: pump\n");
    run_effects(own, NULL, &estimate);
    assert_true(effect_of(&estimate, "dry")->anywhere);
    assert_false(effect_of(&estimate, "wet")->anywhere); /* U is not shown */
    assert_false(effect_of(&estimate, "gear")->anywhere);
    assert_change(&estimate, "dry", 0);
}

/* Shares of 0.75 and of 1; the second cannot grow. */
TEST_OF(a_share_of_one_has_no_more, fixture *own, set_up, tear_down)
{
    st_estimate estimate;
    write_pump(own);
    write_text(own, "formulas/pump.yaml",
               "sheet: pump\ninputs:\n"
               "  all: {from: overlap.parameters, default: 0.5, doc: hidden}\n"
               "  some: {from: constants.some, default: 0.75, doc: hidden}\n"
               "cells:\n  T: {is: 8.5 - 2*all - some, doc: time}\n"
               "report:\n  - {section: S, cells: [T]}\n");
    write_text(own, "configs/jobs/station.yaml", "sheet: pump\n");
    run_effects(own, "overlap.parameters=1", &estimate);
    assert_change(&estimate, "all", 0);
    assert_true(effect_of(&estimate, "all")->anywhere);
    assert_change(&estimate, "some", -0.075 / 5.75);
}

TEST_OF(constants_of_cluster_and_sheet_are_constants, fixture *own, set_up, tear_down)
{
    st_estimate estimate;
    write_pump(own);
    run_effects(own, NULL, &estimate);
    assert_true(effect_of(&estimate, "C")->constant);
    assert_true(effect_of(&estimate, "V")->constant);  /* a constant of the sheet */
    assert_false(effect_of(&estimate, "n")->constant); /* a count of the plan */
}

TEST_OF(counts_of_the_cluster_are_not_for_sale, fixture *own, set_up, tear_down)
{
    st_estimate estimate;
    write_text(own, "formulas/pump.yaml",
               "sheet: pump\ninputs:\n  n: {from: cluster.nodes, doc: pumps}\n"
               "  mu: {from: cluster.gpu_utilization, doc: share}\n"
               "cells:\n  T: {is: n/mu, doc: time}\n");
    write_text(own, "configs/jobs/station.yaml",
               "cluster: {nodes: 3, gpu_utilization: 0.385}\nsheet: pump\n");
    run_effects(own, NULL, &estimate);
    assert_false(effect_of(&estimate, "n")->constant);
    assert_true(effect_of(&estimate, "mu")->constant);
    assert_change(&estimate, "mu", 1 / 1.1 - 1);
}

TEST_OF(what_stays_zero_or_has_no_headline_changes_nothing, fixture *own, set_up, tear_down)
{
    st_estimate estimate;
    write_text(own, "formulas/pump.yaml",
               "sheet: pump\ninputs:\n  n: {from: parallel.dp, doc: pumps}\n"
               "  z: {from: constants.z, default: 0, doc: zero}\n"
               "cells:\n  many: {unit: bool, is: n > 3.2, doc: many}\n  T: {is: n+z, doc: time}\n");
    write_text(own, "configs/jobs/station.yaml", "parallel: {dp: 3}\nsheet: pump\n");
    run_effects(own, NULL, &estimate);
    assert_change(&estimate, "n", 0); /* the first value shown is no number */
    assert_true(effect_of(&estimate, "n")->anywhere);
    assert_change(&estimate, "z", 0);
    assert_false(effect_of(&estimate, "z")->anywhere);
}

TEST_OF(values_that_stop_to_exist_have_changed, fixture *own, set_up, tear_down)
{
    st_estimate estimate;
    write_text(own, "formulas/pump.yaml",
               "sheet: pump\ninputs:\n  n: {from: parallel.dp, doc: pumps}\n"
               "  x: {from: constants.x, doc: x}\n"
               "cells:\n  T: {is: n + log(1.05 - x), doc: time}\n");
    write_text(own, "configs/jobs/station.yaml",
               "parallel: {dp: 3}\nconstants: {x: 1}\nsheet: pump\n");
    run_effects(own, NULL, &estimate);
    assert_true(effect_of(&estimate, "x")->anywhere);
    assert_true(isnan(effect_of(&estimate, "x")->change));
}

/* The others are not even tried, since a trial may replay a schedule. */
TEST_OF(brief_reports_ask_for_what_they_show, fixture *own, set_up, tear_down)
{
    st_estimate estimate;
    write_pump(own);
    run_station(own, NULL, false, &estimate);
    assert_int_equal(st_estimate_find_effects(&estimate, false, own->arena), ST_OK);
    assert_change(&estimate, "C", 1 / 1.1 - 1);
    assert_change(&estimate, "loss", (1 - 0.125) / (1 - 0.1375) - 1);
    assert_change(&estimate, "n", 0);
    assert_false(effect_of(&estimate, "gear")->anywhere);
    assert_false(st_effect_is_brief(effect_of(&estimate, "n")));
    assert_true(st_effect_is_brief(effect_of(&estimate, "loss")));
}

/* More inputs than a block has rows. */
TEST_OF(every_input_has_its_row, fixture *own, set_up, tear_down)
{
    enum { INPUTS = 300 };
    st_estimate estimate;
    st_buffer text = {0};
    st_buffer_text(&text, "sheet: pump\ninputs:\n");
    for (int i = 0; i < INPUTS; i++)
        st_buffer_printf(&text, "  x%d: {from: constants.x%d, default: %d.385, doc: x}\n", i, i,
                         i + 2);
    st_buffer_text(&text, "cells:\n  T: {is: 'x0");
    for (int i = 1; i < INPUTS; i++)
        st_buffer_printf(&text, " + x%d", i);
    st_buffer_text(&text, "', doc: sum}\n");
    write_text(own, "formulas/pump.yaml", st_buffer_read(&text));
    write_text(own, "configs/jobs/station.yaml", "sheet: pump\n");
    st_buffer_free(&text);
    run_effects(own, NULL, &estimate);
    double sum = INPUTS * (INPUTS - 1) / 2.0 + INPUTS * 2.385;
    for (size_t i = 0; i < INPUTS; i++) {
        double change = 0.1 * ((double)i + 2.385) / sum;
        if (fabs(estimate.effects[i].change - change) > 1e-12)
            fail_msg("input %zu: %.17g, not %.17g", i, estimate.effects[i].change, change);
    }
}

TEST_OF(the_report_says_what_more_buys, fixture *own, set_up, tear_down)
{
    st_estimate estimate;
    st_buffer buffer = {0};
    write_pump(own);
    run_effects(own, NULL, &estimate);
    write_estimate(&estimate, own->errors, own->arena, ST_FORM_TEXT, &buffer);
    assert_contains(buffer.data, "\nWhat 10 % more of a constant changes\n  V        +10.0 %  ");
    assert_contains(buffer.data, "\n  C ");
    assert_contains(buffer.data, "-9.1 %");
    st_buffer_free(&buffer);
    write_estimate(&estimate, own->errors, own->arena, ST_FORM_JSON, &buffer);
    assert_contains(buffer.data,
                    "\n    {\"name\": \"C\", \"key\": \"cluster.nic_bandwidth\", \"factor\": 1.1, "
                    "\"cell\": \"T\", \"change\": -0.0909090909");
    st_buffer_free(&buffer);
}

TEST_OF(without_effects_reports_are_as_before, fixture *own, set_up, tear_down)
{
    st_estimate estimate;
    st_buffer buffer = {0};
    write_pump(own);
    run_station(own, NULL, false, &estimate);
    write_estimate(&estimate, own->errors, own->arena, ST_FORM_TEXT, &buffer);
    assert_lacks(buffer.data, "What 10 % more of a constant changes");
    st_buffer_free(&buffer);
    write_estimate(&estimate, own->errors, own->arena, ST_FORM_JSON, &buffer);
    assert_lacks(buffer.data, "sensitivity");
    st_buffer_free(&buffer);
}

TEST_OF(larger_effects_stand_first, fixture *own, set_up, tear_down)
{
    st_estimate estimate;
    st_buffer buffer = {0};
    write_text(own, "formulas/pump.yaml",
               "sheet: pump\ninputs:\n"
               "  M: {from: cluster.gpu.memory_bandwidth, unit: GB/s, doc: memory}\n"
               "  N: {from: cluster.nic_bandwidth, unit: GB/s, doc: network}\n"
               "  P: {from: cluster.gpu.power, unit: W, doc: power}\n"
               "cells:\n  T: {unit: s, is: '300[GB]/M + 9[GB]/N', doc: time}\n"
               "  E: {unit: J, is: P*T, doc: energy}\n");
    write_text(own, "configs/jobs/station.yaml",
               "cluster: {nic_bandwidth: 23.85 GB/s, gpu: {memory_bandwidth: 2385 GB/s, "
               "power: 385 W}}\nsheet: pump\n");
    run_effects(own, NULL, &estimate);
    write_estimate(&estimate, own->errors, own->arena, ST_FORM_TEXT, &buffer);
    const char *network = strstr(buffer.data, "changes\n  N ");
    assert_non_null(network);
    assert_non_null(strstr(network, "\n  M "));
    assert_null(strstr(network, "\n  P ")); /* it does not change the headline */
    st_buffer_free(&buffer);
}

TEST_OF(defaults_that_change_nothing_are_counted_alone, fixture *own, set_up, tear_down)
{
    st_estimate estimate;
    st_buffer buffer = {0};
    write_text(own, "formulas/pump.yaml",
               "sheet: pump\ninputs:\n  n: {from: parallel.dp, doc: pumps}\n"
               "  z: {from: constants.z, default: 0, doc: zero}\n"
               "  y: {from: constants.y, default: 2.385, doc: idle}\n"
               "  x: {from: constants.x, default: 7.5, doc: busy}\n"
               "  w: {from: constants.w, doc: marked}\n"
               "cells:\n  T: {is: n + z + x + 0*w, doc: time}\n  U: {is: y, doc: other}\n"
               "report:\n  - {section: S, cells: [T]}\n");
    write_text(own, "configs/jobs/station.yaml",
               "parallel: {dp: 3}\nsheet: pump\n"
               "constants: {w: {value: 3.5, source: seen, assumption: true}}\n");
    run_effects(own, NULL, &estimate);
    write_estimate(&estimate, own->errors, own->arena, ST_FORM_TEXT, &buffer);
    assert_contains(buffer.data, "\n  x ");
    assert_contains(buffer.data, "\n  w "); /* whoever marks a value wants it seen */
    assert_lacks(buffer.data, "\n  y ");
    assert_lacks(buffer.data, "\n  z ");
    assert_contains(buffer.data,
                    "\n  2 more defaults are 0 or without effect; list all with --json\n");
    st_buffer_free(&buffer);
    write_estimate(&estimate, own->errors, own->arena, ST_FORM_JSON, &buffer);
    assert_contains(buffer.data, "\"name\": \"y\"");
    st_buffer_free(&buffer);
}

/* Whatever its sign; equal ones as the sheet has them. */
TEST(effects_have_an_order)
{
    static const st_effect effects[] = {{.change = 0.385}, {.change = -0.75}, {.change = -0.385}};
    static const struct {
        size_t left;
        size_t right;
        int order;
    } cases[] = {{0, 1, 1}, {1, 0, -1}, {1, 2, -1}, {2, 1, 1}, {0, 2, -1}, {2, 0, 1}};
    for (size_t i = 0; i < COUNT(cases); i++) {
        const st_effect *left = &effects[cases[i].left];
        const st_effect *right = &effects[cases[i].right];
        assert_int_equal(st_effects_compare(&left, &right), cases[i].order);
    }
}

TESTS(effects);
