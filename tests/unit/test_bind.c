/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Binding a job to a sheet: every input gets its value in base units or a reason why not, and what
 * was given for nothing is never passed over in silence.
 */
#include "job_support.h"

#include <math.h>

#define HEAD                                                                                       \
    "sheet: s\n"                                                                                   \
    "enums:\n"                                                                                     \
    "  recompute: [full, none]\n"                                                                  \
    "  fabric: [ring, tree]\n"                                                                     \
    "inputs:\n"

/* A sheet of these inputs, each of which a check reads. */
static const st_sheet *load_sheet(fixture *own, const char *inputs)
{
    const st_sheet *sheet = NULL;
    st_sheet_reader reader = st_paths_sheet_reader(own->paths);
    write_text(own, "formulas/s.yaml",
               st_arena_printf(own->arena, "%s%scells:\n  T:\n    is: 1\n    doc: nothing\n", HEAD,
                               inputs));
    st_status status = st_sheet_load(&reader, "s", own->arena, &sheet, own->errors);
    if (status != ST_OK)
        fail_msg("%s", said(own));
    st_errors_clear(own->errors); /* warnings of unused inputs */
    return sheet;
}

static const st_job *load_job(fixture *own, const char *text, const char *const *sets, size_t count)
{
    const st_job *job = NULL;
    write_text(own, "job.yaml", text);
    st_status status =
        st_job_load(own->paths, below(own, "job.yaml"), sets, count, own->arena, &job, own->errors);
    if (status != ST_OK)
        fail_msg("%s", said(own));
    return job;
}

static const st_bound_input *bind_with(fixture *own, const char *inputs, const char *job,
                                       const char *const *sets, size_t count)
{
    const st_bound_input *bound = NULL;
    const st_sheet *sheet = load_sheet(own, inputs);
    st_status status =
        st_job_bind(load_job(own, job, sets, count), sheet, own->arena, &bound, own->errors);
    if (status != ST_OK)
        fail_msg("%s", said(own));
    return bound;
}

static void assert_fault(fixture *own, const char *inputs, const char *job, st_status status,
                         const char *message)
{
    const st_bound_input *bound = NULL;
    const st_sheet *sheet = load_sheet(own, inputs);
    assert_int_equal(
        st_job_bind(load_job(own, job, NULL, 0), sheet, own->arena, &bound, own->errors), status);
    assert_null(bound);
    assert_int_equal(st_errors_status(own->errors), status);
    assert_string_equal(said(own), message);
}

/* ---- values ---- */

TEST_OF(inputs_get_the_values_of_keys, fixture *own, set_up, tear_down)
{
    const st_bound_input *bound =
        bind_with(own,
                  "  t: {from: parallel.tp, doc: x}\n"
                  "  C: {from: cluster.bandwidth.dp, unit: Gbit/s, doc: x}\n"
                  "  mu: {from: cluster.gpu_utilization, unit: \"%\", doc: x}\n"
                  "  r: {from: recompute, unit: recompute, doc: x}\n"
                  "  d: {from: parallel.dp, doc: x}\n"
                  "  again: {from: parallel.tp, doc: x}\n",
                  "parallel: {tp: 37}\n"
                  "cluster: {gpu_utilization: 0.385, bandwidth: {dp: 23.85 GB/s}}\n"
                  "recompute: none\n",
                  NULL, 0);
    assert_string_equal(bound[0].input->name, "t");
    assert_true(bound[0].value == 37);
    assert_int_equal(bound[0].from->origin, ST_ORIGIN_FILE);
    assert_true(bound[1].value == 23.85e9);
    assert_true(bound[2].value == 0.385);
    assert_true(bound[3].value == 1); /* by name: the sheet's list has another order */
    assert_true(bound[4].value == 1);
    assert_int_equal(bound[4].from->origin, ST_ORIGIN_DEFAULT);
    assert_true(bound[5].value == 37);
    assert_string_equal(said(own), "");
}

TEST_OF(constants_get_their_unit_from_the_input, fixture *own, set_up, tear_down)
{
    static const char *const sets[] = {"constants.alpha=2.5 us", "constants.eta=62.5 %"};
    const st_bound_input *bound = bind_with(
        own,
        "  a: {from: constants.alpha, unit: ms, doc: x}\n"
        "  V: {from: constants.size, unit: GiB, doc: x}\n"
        "  eta: {from: constants.eta, doc: x}\n"
        "  low: {from: constants.low, doc: x}\n"
        "  on: {from: constants.on, unit: bool, doc: x}\n"
        "  f: {from: constants.fabric, unit: fabric, doc: x}\n",
        "constants: {alpha: 1 s, size: 25 MB, low: -0.385, on: true, fabric: tree}\n", sets, 2);
    assert_true(bound[0].value == 2.5e-6);
    assert_int_equal(bound[0].from->origin, ST_ORIGIN_SET);
    assert_true(bound[1].value == 25e6);
    assert_true(bound[2].value == 0.625);
    assert_true(bound[3].value == -0.385);
    assert_true(bound[4].value == 1);
    assert_true(bound[5].value == 1);
    assert_string_equal(bound[5].from->path, "constants.fabric");
    assert_string_equal(said(own), "");
}

TEST_OF(defaults_of_the_sheet_fill_the_gaps, fixture *own, set_up, tear_down)
{
    const st_bound_input *bound = bind_with(own,
                                            "  a: {from: constants.a, default: 2.385, doc: x}\n"
                                            "  h: {from: model.heads, default: 11, doc: x}\n"
                                            "  l: {from: model.layers, default: 5, doc: x}\n",
                                            "model: {layers: 37}\n", NULL, 0);
    assert_true(bound[0].value == 2.385);
    assert_null(bound[0].from);
    assert_true(bound[1].value == 11);
    assert_null(bound[1].from);
    assert_true(bound[2].value == 37);
    assert_non_null(bound[2].from);
    assert_string_equal(said(own), "");
}

TEST_OF(defaults_of_keys_go_before_those_of_sheets, fixture *own, set_up, tear_down)
{
    const st_bound_input *bound = bind_with(own,
                                            "  d: {from: parallel.dp, default: 4, doc: x}\n"
                                            "  t: {from: parallel.tp, default: 1, doc: x}\n",
                                            "name: n\n", NULL, 0);
    assert_true(bound[0].value == 1);
    assert_true(bound[1].value == 1);
    assert_string_equal(said(own), "@/formulas/s.yaml:6:3: warning: the default of input 'd' of "
                                   "sheet s has no effect: the default of parallel.dp is 1\n");
}

TEST_OF(the_shipped_jobs_bind_to_their_sheets, fixture *own, set_up, tear_down)
{
    const st_path_entry *entries = NULL;
    size_t count = 0;
    st_sheet_reader reader = st_paths_sheet_reader(own->paths);
    assert_int_equal(
        st_paths_list(own->paths, ST_FOLDER_JOBS, own->arena, &entries, &count, own->errors),
        ST_OK);
    assert_true(count >= 4);
    for (size_t i = 0; i < count; i++) {
        const st_job *job = NULL;
        const st_sheet *sheet = NULL;
        const st_bound_input *bound = NULL;
        size_t inputs = 0;
        assert_int_equal(
            st_job_load(own->paths, entries[i].name, NULL, 0, own->arena, &job, own->errors),
            ST_OK);
        assert_int_equal(st_sheet_load(&reader, st_job_value_of(job, "sheet")->text, own->arena,
                                       &sheet, own->errors),
                         ST_OK);
        assert_int_equal(st_job_bind(job, sheet, own->arena, &bound, own->errors), ST_OK);
        (void)st_sheet_inputs(sheet, &inputs);
        for (size_t k = 0; k < inputs; k++)
            assert_true(isfinite(bound[k].value));
        assert_string_equal(said(own), "");
    }
}

/* ---- errors ---- */

TEST_OF(all_missing_values_are_named, fixture *own, set_up, tear_down)
{
    assert_fault(own,
                 "  h: {from: model.heads, doc: attention heads}\n"
                 "  C: {from: cluster.bandwidth.dp, unit: GB/s, doc: bandwidth}\n"
                 "  a: {from: constants.alpha, unit: us, doc: latency}\n"
                 "  r: {from: recompute, unit: recompute, doc: mode}\n",
                 "stack: plain\n", ST_ERR_NAME,
                 "@/job.yaml: error: model.heads has no value for input 'h' of sheet s (attention "
                 "heads); set it in the job or with --set model.heads=VALUE\n"
                 "@/job.yaml: error: cluster.bandwidth.dp has no value for input 'C' of sheet s "
                 "(bandwidth); set it in the job or with --set 'cluster.bandwidth.dp=VALUE GB/s'\n"
                 "@/job.yaml: error: constants.alpha has no value for input 'a' of sheet s "
                 "(latency); set it in the job or with --set 'constants.alpha=VALUE us'\n"
                 "@/job.yaml: error: recompute has no value for input 'r' of sheet s (mode); set "
                 "it in the job or with --set recompute=VALUE\n");
}

static st_status load_pipes(fixture *own, const char *values, const char *formula,
                            const st_sheet **sheet)
{
    st_sheet_reader reader = st_paths_sheet_reader(own->paths);
    write_text(own, "formulas/pipes.yaml",
               st_arena_printf(own->arena,
                               "sheet: pipes\nenums:\n  pipe: %s\ninputs:\n"
                               "  s: {from: parallel.schedule, unit: pipe, doc: x}\n"
                               "cells:\n  T: {is: '%s', doc: x}\n",
                               values, formula));
    return st_sheet_load(&reader, "pipes", own->arena, sheet, own->errors);
}

TEST_OF(names_may_begin_with_digits, fixture *own, set_up, tear_down)
{
    const st_sheet *sheet = NULL;
    const st_bound_input *bound = NULL;
    assert_int_equal(load_pipes(own, "[gpipe, 1f1b]", "if(s == gpipe, 1, 2)", &sheet), ST_OK);
    assert_int_equal(st_job_bind(load_job(own, "parallel: {schedule: 1f1b}\n", NULL, 0), sheet,
                                 own->arena, &bound, own->errors),
                     ST_OK);
    assert_true(bound[0].value == 1);
    assert_int_not_equal(load_pipes(own, "[gpipe, 1f1b]", "if(s == 1f1b, 1, 2)", &sheet), ST_OK);
    assert_non_null(strstr(said(own), "text after a number: found '1f1b'"));
    assert_int_equal(load_pipes(own, "[gpipe, 11]", "if(s == gpipe, 1, 2)", &sheet), ST_ERR_NAME);
    assert_int_equal(load_pipes(own, "[gpipe, 1f-b]", "if(s == gpipe, 1, 2)", &sheet), ST_ERR_NAME);
}

TEST_OF(keys_that_do_not_exist_are_faults_of_the_sheet, fixture *own, set_up, tear_down)
{
    assert_fault(
        own,
        "  h: {from: model.hiden, doc: x}\n"
        "  c: {from: constant.mu, doc: x}\n"
        "  p: {from: parallel, doc: x}\n",
        "name: n\n", ST_ERR_NAME,
        "@/formulas/s.yaml:6:3: error: input 'h' of sheet s has an unknown key: found "
        "'model.hiden', expected a key of docs/configuration.md or constants.NAME; did you mean "
        "'model.hidden'?\n"
        "@/formulas/s.yaml:7:3: error: input 'c' of sheet s has an unknown key: found "
        "'constant.mu', expected a key of docs/configuration.md or constants.NAME; did you mean "
        "'constants'?\n"
        "@/formulas/s.yaml:8:3: error: input 'p' of sheet s has an unknown key: found 'parallel', "
        "expected a key of docs/configuration.md or constants.NAME; did you mean 'parallel.tp'?\n");
}

TEST_OF(types_must_agree, fixture *own, set_up, tear_down)
{
    assert_fault(own,
                 "  C: {from: cluster.nic_bandwidth, unit: GB, doc: x}\n"
                 "  t: {from: parallel.tp, unit: s, doc: x}\n"
                 "  u: {from: parallel.pp, unit: bool, doc: x}\n"
                 "  r: {from: recompute, doc: x}\n"
                 "  o: {from: parallel.order, doc: x}\n"
                 "  e: {from: batch.micro, unit: fabric, doc: x}\n",
                 "name: n\n", ST_ERR_UNIT,
                 "@/formulas/s.yaml:6:3: error: input 'C' of sheet s cannot hold "
                 "cluster.nic_bandwidth: found a quantity in GB, expected a quantity in GB/s\n"
                 "@/formulas/s.yaml:7:3: error: input 't' of sheet s cannot hold parallel.tp: "
                 "found a quantity in s, expected a pure number\n"
                 "@/formulas/s.yaml:8:3: error: input 'u' of sheet s cannot hold parallel.pp: "
                 "found a truth value, expected a pure number\n"
                 "@/formulas/s.yaml:9:3: error: input 'r' of sheet s cannot hold recompute: found "
                 "a pure number, expected one of the names none selective full\n"
                 "@/formulas/s.yaml:10:3: error: input 'o' of sheet s cannot hold parallel.order: "
                 "found a pure number, expected text, which formulas cannot read\n"
                 "@/formulas/s.yaml:11:3: error: input 'e' of sheet s cannot hold batch.micro: "
                 "found a value of fabric, expected a pure number\n");
}

TEST_OF(names_that_the_sheet_does_not_know_are_faults, fixture *own, set_up, tear_down)
{
    assert_fault(own, "  r: {from: recompute, unit: recompute, doc: x}\n", "recompute: selective\n",
                 ST_ERR_VALUE,
                 "@/job.yaml:1:12: error: wrong value for recompute: found 'selective', expected "
                 "full or none\n");
}

TEST_OF(constants_of_the_wrong_kind_are_faults, fixture *own, set_up, tear_down)
{
    assert_fault(own,
                 "  a: {from: constants.a, unit: us, doc: x}\n"
                 "  b: {from: constants.b, unit: bool, doc: x}\n"
                 "  c: {from: constants.c, unit: fabric, doc: x}\n"
                 "  d: {from: constants.d, doc: x}\n",
                 "constants: {a: 3 MB, b: yes, c: rong, d: 3 MB}\n", ST_ERR_UNIT,
                 "@/job.yaml:1:18: error: constants.a: unit has the wrong dimension: found 3 MB "
                 "(B), expected a time such as 2.5 us (s)\n"
                 "@/job.yaml:1:25: error: wrong value for constants.b: found 'yes', expected true "
                 "or false; did you mean 'true'?\n"
                 "@/job.yaml:1:33: error: wrong value for constants.c: found 'rong', expected ring "
                 "or tree; did you mean 'ring'?\n"
                 "@/job.yaml:1:44: error: constants.d: unit has the wrong dimension: found 3 MB "
                 "(B), expected a pure number such as 2.5\n");
}

TEST_OF(assignments_of_the_wrong_kind_are_wrong_use, fixture *own, set_up, tear_down)
{
    static const char *const sets[] = {"constants.a=3 MB"};
    const st_bound_input *bound = NULL;
    const st_sheet *sheet = load_sheet(own, "  a: {from: constants.a, unit: us, doc: x}\n");
    const st_job *job = load_job(own, "name: n\n", sets, 1);
    assert_int_equal(st_job_bind(job, sheet, own->arena, &bound, own->errors), ST_ERR_USAGE);
    assert_int_equal(st_errors_status(own->errors), ST_ERR_USAGE);
    assert_non_null(strstr(said(own), "--set constants.a=3 MB: error: constants.a: unit has the "
                                      "wrong dimension: found 3 MB (B), expected "));
}

TEST_OF(binding_works_without_a_list_of_errors, fixture *own, set_up, tear_down)
{
    const st_bound_input *bound = NULL;
    const st_sheet *sheet = load_sheet(own, "  a: {from: constants.a, unit: us, doc: x}\n");
    const st_job *job = load_job(own, "constants: {a: 3 MB, b: 4}\nrecompute: full\n", NULL, 0);
    assert_int_equal(st_job_bind(job, sheet, own->arena, &bound, NULL), ST_ERR_UNIT);
    assert_null(bound);
}

/* ---- what nobody reads ---- */

TEST_OF(plans_without_effect_are_warned_about, fixture *own, set_up, tear_down)
{
    static const char *const sets[] = {"model.heads=11", "name=label", "parallel.pp=5",
                                       "cluster.name=label", "sheet=s"};
    (void)bind_with(own, "  t: {from: parallel.tp, doc: x}\n",
                    "parallel: {tp: 2, dp: 3, order: tp-dp}\n"
                    "batch: {micro: 7}\n"
                    "recompute: full\n"
                    "model: {layers: 37}\n"
                    "cluster: {nodes: 3}\n",
                    sets, 5);
    assert_string_equal(said(own), "@/job.yaml:3:12: warning: recompute has no effect on the "
                                   "estimate: no input of sheet s reads it\n"
                                   "--set model.heads=11: warning: model.heads has no effect on "
                                   "the estimate: no input of sheet s reads it\n"
                                   "@/job.yaml:2:16: warning: batch.micro has no effect on the "
                                   "estimate: no input of sheet s reads it\n"
                                   "--set parallel.pp=5: warning: parallel.pp has no effect on the "
                                   "estimate: no input of sheet s reads it\n"
                                   "@/job.yaml:1:23: warning: parallel.dp has no effect on the "
                                   "estimate: no input of sheet s reads it\n");
}

TEST_OF(constants_without_effect_are_warned_about, fixture *own, set_up, tear_down)
{
    static const char *const sets[] = {"constants.other=3"};
    (void)bind_with(own, "  m: {from: constants.mu, doc: x}\n",
                    "constants: {mu: 0.385, mv: 0.5, zzzzzz: 3}\n", sets, 1);
    assert_string_equal(said(own), "@/job.yaml:1:28: warning: constants.mv has no effect on the "
                                   "estimate: no input of sheet s reads it\n"
                                   "@/job.yaml:1:41: warning: constants.zzzzzz has no effect on "
                                   "the estimate: no input of sheet s reads it\n"
                                   "--set constants.other=3: warning: constants.other has no "
                                   "effect on the estimate: no input of sheet s "
                                   "reads "
                                   "it\n");
}

TEST_OF(slips_in_constants_are_faults, fixture *own, set_up, tear_down)
{
    static const char *const sets[] = {"constants.alhpa=3 us"};
    assert_fault(own, "  m: {from: constants.latency, default: 0.25, doc: x}\n",
                 "constants: {latencie: 0.385}\n", ST_ERR_NAME,
                 "@/job.yaml:1:23: error: constants.latencie has no effect on the estimate: no "
                 "input of sheet s "
                 "reads it; did you mean 'constants.latency'?\n");
    const st_bound_input *bound = NULL;
    const st_sheet *sheet =
        load_sheet(own, "  a: {from: constants.alpha, unit: us, default: 5 us, doc: x}\n");
    const st_job *job = load_job(own, "name: n\n", sets, 1);
    assert_int_equal(st_job_bind(job, sheet, own->arena, &bound, own->errors), ST_ERR_USAGE);
    assert_non_null(strstr(said(own), "did you mean 'constants.alpha'?"));
}

TESTS(bind);
