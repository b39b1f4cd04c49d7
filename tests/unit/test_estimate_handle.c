/* SPDX-License-Identifier: Apache-2.0 */
/* Estimates as another program makes them, through steptime/estimate.h alone. */
#include "job_support.h"

#include "estimate/handle.h"

#include <malloc.h>
#include <math.h>

static const char sheet[] = "sheet: gear\n"
                            "inputs:\n"
                            "  n: {from: model.layers, unit: 1, doc: layers}\n"
                            "  b: {from: batch.micro, unit: 1, doc: sequences, default: 3}\n"
                            "cells:\n"
                            "  T: {unit: s, doc: a step, cite: '[here]', is: "
                            "'n * b * 2.385[ms]'}\n"
                            "  half: {unit: s, doc: half of it, is: T / 2}\n"
                            "  rest: {unit: s, doc: what is left, is: '1[s] / (b - 7)'}\n"
                            "checks:\n"
                            "  - {that: n < 40, else: 'too many layers: {n}'}\n"
                            "  - {that: b < 5, else: many sequences, level: warning}\n"
                            "report:\n"
                            "  - {section: Times, cells: [T]}\n"
                            "roles: {step: T}\n";

static st_estimate *open_gear(fixture *own, const char *const *sets, size_t count)
{
    st_estimate_request request = ST_ESTIMATE_REQUEST_INIT;
    st_estimate *estimate = NULL;
    write_text(own, "gear.yaml", sheet);
    request.sheet = below(own, "gear.yaml");
    request.sets = sets;
    request.set_count = count;
    if (st_estimate_create(&request, &estimate, own->errors) != ST_OK)
        fail_msg("%s", said(own));
    return estimate;
}

static double read_value(fixture *own, st_estimate *estimate, const char *name)
{
    st_estimate_cell cell = ST_ESTIMATE_CELL_INIT;
    if (st_estimate_read(estimate, name, &cell, own->errors) != ST_OK)
        fail_msg("%s", said(own));
    assert_string_equal(cell.name, name);
    return cell.value;
}

static void assert_close(double value, double expected)
{
    assert_true(fabs(value - expected) <= 1e-12 * fabs(expected));
}

TEST_OF(test_a_cell_is_read_by_name_and_by_role, fixture *own, set_up, tear_down)
{
    const char *sets[] = {"model.layers=17", "batch.micro=2"};
    st_estimate *estimate = open_gear(own, sets, 2);
    st_estimate_cell cell = ST_ESTIMATE_CELL_INIT;
    assert_int_equal(st_estimate_read_role(estimate, "step", &cell, own->errors), ST_OK);
    assert_string_equal(cell.name, "T");
    assert_string_equal(cell.unit, "s");
    assert_string_equal(cell.doc, "a step");
    assert_string_equal(cell.section, "Times");
    assert_string_equal(cell.formula, "n * b * 2.385[ms]");
    assert_string_equal(cell.text, "81.09 ms");
    assert_true(cell.is_computed && !cell.is_input && !cell.is_assumed);
    assert_close(cell.value, 17 * 2 * 2.385e-3);
    /* No section shows this one. */
    assert_close(read_value(own, estimate, "half"), 17 * 2385e-6);
    assert_close(read_value(own, estimate, "T"), 17 * 2 * 2.385e-3);
    st_estimate_destroy(estimate);
}

TEST_OF(test_all_cells_are_listed, fixture *own, set_up, tear_down)
{
    const char *sets[] = {"model.layers=17"};
    st_estimate *estimate = open_gear(own, sets, 1);
    static const char *const names[] = {"n", "b", "T", "half", "rest"};
    assert_int_equal(st_estimate_cell_count(estimate), 5);
    for (size_t i = 0; i < 5; i++) {
        st_estimate_cell cell = ST_ESTIMATE_CELL_INIT;
        assert_int_equal(st_estimate_cell_at(estimate, i, &cell, own->errors), ST_OK);
        assert_string_equal(cell.name, names[i]);
        assert_int_equal(cell.is_input, i < 2);
        assert_int_equal(cell.is_computed, i < 2);
        assert_int_equal(cell.is_assumed, i == 1);
        assert_true(isnan(cell.value) == (i >= 2));
    }
    st_estimate_cell none = ST_ESTIMATE_CELL_INIT;
    assert_int_equal(st_estimate_cell_at(estimate, 5, &none, own->errors), ST_ERR_USAGE);
    assert_string_equal(said(own),
                        "error: cell index 5 is out of range: expected an index below 5\n");
    st_estimate_destroy(estimate);
}

TEST_OF(test_keys_are_set_and_kept, fixture *own, set_up, tear_down)
{
    const char *sets[] = {"model.layers=17"};
    st_estimate *estimate = open_gear(own, sets, 1);
    assert_close(read_value(own, estimate, "T"), 17 * 3 * 2.385e-3);
    assert_int_equal(st_estimate_set(estimate, "batch.micro=4", own->errors), ST_OK);
    assert_close(read_value(own, estimate, "T"), 17 * 4 * 2.385e-3);
    assert_int_equal(st_estimate_set(estimate, "batch.mikro=2", own->errors), ST_ERR_USAGE);
    assert_non_null(strstr(said(own), "batch.micro"));
    assert_int_equal(st_estimate_set(estimate, "model.layers=19", own->errors), ST_OK);
    assert_close(read_value(own, estimate, "T"), 19 * 4 * 2.385e-3);
    st_estimate_destroy(estimate);
}

TEST_OF(test_several_keys_are_set_or_none, fixture *own, set_up, tear_down)
{
    const char *sets[] = {"model.layers=17"};
    const char *good[] = {"batch.micro=4", "model.layers=19", "batch.micro=2"};
    const char *faulty[] = {"model.layers=23", "batch.micro=2.385", "batch.mikro=3"};
    const char *file[] = {"model.layers=23", "model=nothing-of-this-name"};
    st_estimate *estimate = open_gear(own, sets, 1);
    assert_close(read_value(own, estimate, "half"), 17 * 3 * 1.1925e-3);
    assert_int_equal(st_estimate_set_many(estimate, good, 3, own->errors), ST_OK);
    assert_close(read_value(own, estimate, "T"), 19 * 2 * 2.385e-3);
    assert_close(read_value(own, estimate, "half"), 19 * 1.1925e-3 * 2);
    assert_int_equal(st_estimate_set_many(estimate, faulty, 3, own->errors), ST_ERR_USAGE);
    const char *text = said(own);
    assert_non_null(strstr(text, "--set batch.micro=2.385: error: wrong value for batch.micro"));
    assert_non_null(strstr(text, "unknown key 'batch.mikro'; did you mean 'batch.micro'?"));
    assert_int_equal(st_estimate_set_many(estimate, file, 2, own->errors), ST_ERR_USAGE);
    assert_non_null(strstr(said(own), "nothing-of-this-name"));
    assert_int_equal(st_estimate_set(estimate, NULL, own->errors), ST_ERR_USAGE);
    assert_string_equal(said(own), "error: missing assignment: expected key=value\n");
    assert_close(read_value(own, estimate, "T"), 19 * 2 * 2.385e-3);
    assert_int_equal(st_estimate_set_many(estimate, good, 0, own->errors), ST_OK);
    assert_close(read_value(own, estimate, "n"), 19);
    st_estimate_destroy(estimate);
}

TEST_OF(test_several_cells_are_read_at_once, fixture *own, set_up, tear_down)
{
    const char *sets[] = {"model.layers=17", "batch.micro=2"};
    const char *names[] = {"half", "n", "T", "rest"};
    const char *unknown[] = {"T", "hafl"};
    double values[] = {0, 0, 0, 0};
    st_estimate *estimate = open_gear(own, sets, 2);
    assert_int_equal(st_estimate_read_many(estimate, unknown, 2, values, own->errors), ST_ERR_NAME);
    assert_string_equal(said(own),
                        "error: unknown cell 'hafl' in sheet gear; did you mean 'half'?\n");
    assert_true(values[0] == 0);
    assert_int_equal(st_estimate_read_many(estimate, names, 4, values, own->errors), ST_OK);
    assert_close(values[0], 17 * 2.385e-3);
    assert_close(values[1], 17);
    assert_close(values[2], 17 * 2 * 2.385e-3);
    assert_close(values[3], -1. / 5);
    assert_int_equal(st_estimate_set(estimate, "batch.micro=7", own->errors), ST_OK);
    assert_int_equal(st_estimate_read_many(estimate, names, 4, values, own->errors), ST_ERR_MATH);
    const char *text = said(own);
    assert_non_null(strstr(text, "cell 'rest' has no value: division by zero"));
    assert_close(values[2], 17 * 7 * 2.385e-3);
    assert_true(isnan(values[3]));
    /* Nobody asks for that cell: a report has no place for it. */
    assert_int_equal(st_estimate_compute(estimate, own->errors), ST_OK);
    st_estimate_destroy(estimate);
}

/* Bytes on the heap, as the C library counts them. */
static size_t heap_bytes(void)
{
    const struct mallinfo2 info = mallinfo2();
    return info.uordblks + info.hblkhd;
}

/* Programs take most of the time of a new estimate: the one for the other form of the plan, whose
 * providers differ, is compiled where a setting asks for it. */
TEST_OF(test_the_program_of_the_other_form_waits, fixture *own, set_up, tear_down)
{
    static const struct {
        const char *job;
        const char *set;
        size_t form;
    } cases[] = {{"gpt3-175b-64xa100", "batch.micro=1", ST_CLOSED_FORM},
                 {"gpt3-175b-64xa100", "parallel.schedule=zero_bubble", ST_REPLAYED},
                 {"mixtral-8x7b-64xh100", "model=nemotron-3-nano-30b-a3b", ST_REPLAYED}};
    for (size_t i = 0; i < ST_COUNT(cases); i++) {
        const char *sets[] = {cases[i].set, "parallel.virtual_stages=1"};
        st_estimate_request request = ST_ESTIMATE_REQUEST_INIT;
        st_estimate *estimate = NULL;
        request.job = cases[i].job;
        request.sets = sets;
        request.set_count = 2;
        assert_int_equal(st_estimate_create(&request, &estimate, own->errors), ST_OK);
        (void)read_value(own, estimate, "step_time");
        const st_estimate_handle *handle = st_estimate_handle_of(estimate);
        for (size_t form = 0; form < ST_FORMS; form++)
            assert_int_equal(handle->reports[form].arena != NULL, form == cases[i].form);
        st_estimate_destroy(estimate);
    }
}

TEST_OF(test_settings_keep_no_memory, fixture *own, set_up, tear_down)
{
    enum { WARM = 100, REST = 4000 };
    st_estimate_request request = ST_ESTIMATE_REQUEST_INIT;
    st_estimate *estimate = NULL;
    size_t before = 0;
    request.job = "gpt3-175b-1024xa100";
    assert_int_equal(st_estimate_create(&request, &estimate, own->errors), ST_OK);
    for (int i = 0; i < WARM + REST; i++) {
        st_estimate_cell cell = ST_ESTIMATE_CELL_INIT;
        char sets[2][64];
        const char *both[] = {sets[0], sets[1]};
        (void)snprintf(sets[0], sizeof sets[0], "cluster.nic_bandwidth=%d.385 Gbit/s", 100 + i);
        (void)snprintf(sets[1], sizeof sets[1], "overlap.tp=0.%d385", 1 + i % 8);
        assert_int_equal(st_estimate_set_many(estimate, both, 2, own->errors), ST_OK);
        assert_int_equal(st_estimate_read_role(estimate, "step", &cell, own->errors), ST_OK);
        st_errors_clear(own->errors);
        before = i == WARM ? heap_bytes() : before;
    }
    assert_true(heap_bytes() <= before + 4096);
    st_estimate_destroy(estimate);
}

TEST_OF(test_checks_that_fail_are_told_and_values_stay, fixture *own, set_up, tear_down)
{
    const char *sets[] = {"model.layers=41", "batch.micro=6"};
    st_estimate *estimate = open_gear(own, sets, 2);
    st_estimate_check check = ST_ESTIMATE_CHECK_INIT;
    assert_int_equal(st_estimate_check_count(estimate), 2);
    assert_int_equal(st_estimate_check_at(estimate, 0, &check, own->errors), ST_ERR_USAGE);
    assert_non_null(strstr(said(own), "before the estimate is computed"));
    assert_int_equal(st_estimate_compute(estimate, own->errors), ST_ERR_CHECK);
    assert_non_null(strstr(said(own), "too many layers: 41"));
    assert_int_equal(st_estimate_check_at(estimate, 0, &check, own->errors), ST_OK);
    assert_string_equal(check.formula, "n < 40");
    assert_true(!check.holds && !check.is_warning);
    assert_int_equal(st_estimate_check_at(estimate, 1, &check, own->errors), ST_OK);
    assert_true(!check.holds && check.is_warning);
    assert_int_equal(st_estimate_check_at(estimate, 2, &check, own->errors), ST_ERR_USAGE);
    (void)said(own);
    assert_close(read_value(own, estimate, "T"), 41 * 6 * 2.385e-3);
    st_estimate_destroy(estimate);
}

TEST_OF(test_a_cell_without_a_value_leaves_the_others, fixture *own, set_up, tear_down)
{
    const char *sets[] = {"model.layers=17", "batch.micro=7"};
    st_estimate *estimate = open_gear(own, sets, 2);
    st_estimate_cell cell = ST_ESTIMATE_CELL_INIT;
    assert_int_equal(st_estimate_read(estimate, "rest", &cell, own->errors), ST_ERR_MATH);
    assert_false(cell.is_computed);
    assert_string_equal(cell.text, "");
    assert_true(isnan(cell.value));
    (void)said(own);
    assert_close(read_value(own, estimate, "T"), 17 * 7 * 2.385e-3);
    assert_int_equal(st_estimate_read(estimate, "rset", &cell, own->errors), ST_ERR_NAME);
    assert_non_null(strstr(said(own), "unknown cell 'rset' in sheet gear; did you mean 'rest'?"));
    assert_int_equal(st_estimate_read_role(estimate, "stepp", &cell, own->errors), ST_ERR_NAME);
    assert_string_equal(said(own), "error: unknown role 'stepp': expected a role of "
                                   "docs/sheet-language.md; did you mean 'step'?\n");
    assert_int_equal(st_estimate_read_role(estimate, "memory", &cell, own->errors), ST_ERR_NAME);
    assert_non_null(strstr(said(own), "sheet 'gear' has no cell with the role 'memory'"));
    st_estimate_destroy(estimate);
}

TEST_OF(test_an_explanation_goes_as_deep_as_asked, fixture *own, set_up, tear_down)
{
    const char *sets[] = {"model.layers=17"};
    st_estimate *estimate = open_gear(own, sets, 1);
    st_estimate_view view = ST_ESTIMATE_VIEW_INIT;
    st_buffer deep = {0};
    st_buffer flat = {0};
    assert_int_equal(st_estimate_explain(estimate, "half", &view, &deep, own->errors), ST_OK);
    assert_non_null(strstr(deep.data, "model.layers"));
    view.levels = 1;
    view.digits = 9;
    assert_int_equal(st_estimate_explain(estimate, "half", &view, &flat, own->errors), ST_OK);
    assert_null(strstr(flat.data, "model.layers"));
    assert_non_null(strstr(flat.data, "121.635[ms]"));
    st_buffer_free(&flat);
    view.levels = 0;
    view.lines = 7;
    assert_int_equal(st_estimate_explain(estimate, "half", &view, &flat, own->errors), ST_OK);
    assert_non_null(strstr(flat.data, "--all everything"));
    assert_null(strstr(flat.data, "model.layers in"));
    view.digits = 18;
    assert_int_equal(st_estimate_explain(estimate, "half", &view, &flat, own->errors),
                     ST_ERR_USAGE);
    view.digits = 0;
    view.form = ST_ESTIMATE_CSV;
    assert_int_equal(st_estimate_explain(estimate, "half", &view, &flat, own->errors),
                     ST_ERR_USAGE);
    assert_int_equal(st_estimate_explain(estimate, "hafl", &view, &flat, own->errors),
                     ST_ERR_USAGE);
    (void)said(own);
    st_buffer_free(&deep);
    st_buffer_free(&flat);
    st_estimate_destroy(estimate);
}

TEST_OF(test_a_report_has_what_was_asked_for, fixture *own, set_up, tear_down)
{
    const char *sets[] = {"model.layers=17"};
    st_estimate *estimate = open_gear(own, sets, 1);
    st_estimate_view view = ST_ESTIMATE_VIEW_INIT;
    st_buffer text = {0};
    view.form = ST_ESTIMATE_CSV;
    assert_int_equal(st_estimate_write(estimate, &view, &text, own->errors), ST_OK);
    assert_string_equal(text.data, "section,cell,value,unit,meaning,citation\n"
                                   "Times,T,0.121635,s,a step,[here]\n");
    st_buffer_free(&text);
    st_estimate_destroy(estimate);
}

/* ---- sizes ---- */

/* What a caller with a newer header has: members that this library does not know. */
typedef struct longer_request {
    st_estimate_request known;
    const char *newer;
} longer_request;

static st_status create(fixture *own, const void *request)
{
    st_estimate *estimate = NULL;
    st_status status = st_estimate_create(request, &estimate, own->errors);
    st_estimate_destroy(estimate);
    return status;
}

TEST_OF(test_a_structure_of_another_size_is_taken_or_refused, fixture *own, set_up, tear_down)
{
    char expected[160];
    longer_request longer = {.known = ST_ESTIMATE_REQUEST_INIT};
    struct {
        size_t size;
        const char *job;
    } shorter = {sizeof shorter, "gpt-3b-32x3090"};
    assert_int_equal(create(own, &shorter), ST_OK);
    longer.known.size = sizeof longer;
    longer.known.job = "gpt-3b-32x3090";
    assert_int_equal(create(own, &longer), ST_OK);
    longer.newer = "2.385";
    assert_int_equal(create(own, &longer), ST_ERR_USAGE);
    (void)snprintf(expected, sizeof expected,
                   "error: structure has %zu bytes, this library supports %zu: expected zeros "
                   "after the supported members\n",
                   sizeof longer, sizeof longer.known);
    assert_string_equal(said(own), expected);
    longer.known.size = 0;
    assert_int_equal(create(own, &longer), ST_ERR_USAGE);
    assert_non_null(strstr(said(own), "structure has 0 bytes, this library supports "));
    longer.known.size = SIZE_MAX;
    assert_int_equal(create(own, &longer), ST_ERR_USAGE);
    assert_int_equal(create(own, NULL), ST_ERR_USAGE);
    (void)said(own);
}

TEST_OF(test_a_result_of_another_size_is_filled_as_far_as_known, fixture *own, set_up, tear_down)
{
    const char *sets[] = {"model.layers=17"};
    st_estimate *estimate = open_gear(own, sets, 1);
    struct {
        size_t size;
        const char *name;
        const char *guard;
    } shorter = {offsetof(st_estimate_cell, unit), NULL, "2.385"};
    struct {
        st_estimate_cell known;
        double newer;
    } longer = {.known = ST_ESTIMATE_CELL_INIT, .newer = 2.385};
    assert_int_equal(
        st_estimate_read(estimate, "T", (st_estimate_cell *)(void *)&shorter, own->errors), ST_OK);
    assert_string_equal(shorter.name, "T");
    assert_string_equal(shorter.guard, "2.385");
    longer.known.size = sizeof longer;
    assert_int_equal(st_estimate_read(estimate, "T", &longer.known, own->errors), ST_OK);
    assert_close(longer.known.value, 17 * 3 * 2.385e-3);
    assert_true(longer.newer == 0);
    assert_int_equal(longer.known.size, sizeof longer);
    longer.known.size = 0;
    assert_int_equal(st_estimate_read(estimate, "T", &longer.known, own->errors), ST_ERR_USAGE);
    (void)said(own);
    st_estimate_destroy(estimate);
}

static st_estimate_key read_key(fixture *own, st_estimate *estimate, const char *path)
{
    st_estimate_key key = ST_ESTIMATE_KEY_INIT;
    if (st_estimate_read_key(estimate, path, &key, own->errors) != ST_OK)
        fail_msg("%s", said(own));
    assert_string_equal(key.path, path);
    return key;
}

TEST_OF(test_a_key_is_read_as_it_is_set, fixture *own, set_up, tear_down)
{
    const char *sets[] = {"model.layers=17", "cluster.nic_bandwidth=23.85 GB/s"};
    st_estimate *estimate = open_gear(own, sets, 2);
    st_estimate_key key = read_key(own, estimate, "model.layers");
    assert_int_equal(key.kind, ST_KEY_COUNT);
    assert_true(key.is_given && key.value == 17);
    key = read_key(own, estimate, "batch.micro");
    assert_true(!key.is_given && key.value == 3);
    assert_string_equal(key.text, "3");
    assert_int_equal(st_estimate_set(estimate, "batch.micro=4", own->errors), ST_OK);
    key = read_key(own, estimate, "batch.micro");
    assert_true(key.is_given && key.value == 4);
    key = read_key(own, estimate, "cluster.nic_bandwidth");
    assert_string_equal(key.text, "23.85 GB/s");
    assert_true(key.kind == ST_KEY_QUANTITY && key.value == 23.85e9);
    key = read_key(own, estimate, "parallel.order");
    assert_true(key.kind == ST_KEY_TEXT && isnan(key.value));
    assert_int_equal(st_estimate_read_key(estimate, "batch.mirco", &key, own->errors),
                     ST_ERR_USAGE);
    assert_non_null(strstr(said(own), "did you mean 'batch.micro'"));
    assert_int_equal(st_estimate_read_key(estimate, "constants.mu", &key, own->errors),
                     ST_ERR_USAGE);
    assert_non_null(strstr(said(own), "'constants.mu' is neither in the job nor in sheet gear"));
    assert_int_equal(st_estimate_read_key(estimate, "parallel", &key, own->errors), ST_ERR_USAGE);
    (void)said(own);
    st_estimate_destroy(estimate);
}

TESTS(estimate_handle);
