/* SPDX-License-Identifier: Apache-2.0 */
/* Plugins from the host's side: loading, settings, calls, and the way into a sheet. */
#include "job_support.h"
#include "plugin/module.h"
#include "plugin/plugins.h"
#include "steptime/in_process.h"
#include "steptime/tool/providers.h"

#include "estimate/estimate_internal.h"

#include <math.h>

#define COUNT(array) (sizeof(array) / sizeof((array)[0]))

static int set_up_plugins(void **state)
{
    assert_int_equal(set_up(state), 0);
    fixture *own = *state;
    const char *built = getenv("STEPTIME_TEST_PLUGINS");
    assert_non_null(built);
    const char *folders[] = {own->folder, built};
    st_paths_destroy(own->paths);
    assert_int_equal(st_paths_create(folders, 2, &own->paths, own->errors), ST_OK);
    return 0;
}

static void assert_contains(const char *text, const char *part)
{
    if (strstr(text, part) == NULL)
        fail_msg("'%s' is not in '%s'", part, text);
}

static const st_plugin_module *load(fixture *own)
{
    const st_plugin_module *module = NULL;
    if (st_plugin_load(own->paths, "template", (st_place){0}, own->arena, &module, own->errors) !=
        ST_OK)
        fail_msg("%s", said(own));
    return module;
}

static st_plugin_instance *open_with(fixture *own, const st_plugin_given *given, size_t count)
{
    st_plugin_instance *instance = NULL;
    if (st_plugin_open(load(own), given, count, (st_place){0}, &instance, own->errors) != ST_OK)
        fail_msg("%s", said(own));
    return instance;
}

TEST_OF(a_block_is_evaluated, fixture *own, set_up_plugins, tear_down)
{
    const st_plugin_given given[] = {{.name = "latency", .number = 2.385e-6},
                                     {.name = "efficiency", .text = "75 %"}};
    st_plugin_instance *instance = open_with(own, given, COUNT(given));
    const double size[] = {1.25e6, 7.5e7, 3e3};
    const double ranks[] = {7, 1, 24};
    const double rate[] = {3.1e9, 3.1e9, 0};
    const double *columns[] = {size, ranks, rate};
    double values[3];
    assert_int_equal(st_plugin_find_provider(load(own), "all_gather"), SIZE_MAX);
    assert_int_equal(st_plugin_evaluate(instance, 0, 3, columns, values), ST_OK);
    assert_true(fabs(values[0] - (12 * 2.385e-6 + 12.0 / 7 * 1.25e6 / (3.1e9 * 0.75))) < 1e-15);
    assert_true(values[1] == 0);
    assert_true(isnan(values[2]));
    st_plugin_close(instance);
}

static int twice(void *instance, size_t rows, const double *const *columns, double *values)
{
    (void)instance;
    for (size_t i = 0; i < rows; i++)
        values[i] = 2 * columns[0][i];
    return ST_PLUGIN_OK;
}

TEST_OF(a_program_offers_a_plugin_of_its_own, fixture *own, set_up_plugins, tear_down)
{
    const st_plugin_argument size = {sizeof size, 0, "size", "B", "bytes"};
    const st_plugin_argument *const arguments[] = {&size};
    st_plugin_provider provider = {.struct_size = sizeof provider,
                                   .name = "all_reduce",
                                   .unit = "s",
                                   .doc = "twice",
                                   .arguments = arguments,
                                   .argument_count = 1,
                                   .evaluate = twice};
    const st_plugin_provider *const providers[] = {&provider};
    /* The id of one that a folder of the search path has. */
    st_plugin plugin = {.struct_size = sizeof plugin,
                        .abi = ST_PLUGIN_ABI,
                        .id = "template",
                        .version = "2.385",
                        .licence = "MIT",
                        .summary = "twice",
                        .providers = providers,
                        .provider_count = 1};
    st_plugin other = plugin;
    other.abi = ST_PLUGIN_ABI + 1;
    assert_int_equal(st_plugin_offer(&other, own->errors), ST_ERR_PROVIDER);
    assert_contains(said(own), "it uses plugin ABI 2");
    assert_int_equal(st_plugin_offer(&plugin, own->errors), ST_OK);
    assert_string_equal(st_plugin_descriptor(load(own))->version, "2.385");
    st_plugin_instance *instance = open_with(own, NULL, 0);
    const double sizes[] = {2.385, 3};
    const double *columns[] = {sizes};
    double values[2];
    assert_int_equal(st_plugin_evaluate(instance, 0, 2, columns, values), ST_OK);
    assert_true(values[0] == 4.77 && values[1] == 6);
    st_plugin_close(instance);
    other.abi = ST_PLUGIN_ABI;
    assert_int_equal(st_plugin_offer(&other, own->errors), ST_OK); /* in its place */
    st_plugin_withdraw(&plugin);                                   /* which is gone already */
    st_plugin_withdraw(&other);
    assert_string_not_equal(st_plugin_descriptor(load(own))->version, "2.385");
}

TEST_OF(explanations_have_terms_or_reasons, fixture *own, set_up_plugins, tear_down)
{
    st_plugin_instance *instance = open_with(own, NULL, 0);
    const double size = 1.25e6;
    const double ranks = 7;
    double rate = 3.1e9;
    const double *columns[] = {&size, &ranks, &rate};
    st_provider_account account;
    double value = 0;
    assert_int_equal(st_plugin_evaluate(instance, 0, 1, columns, &value), ST_OK);
    assert_int_equal(st_plugin_explain(instance, 0, columns, own->arena, &account), ST_OK);
    assert_int_equal(account.count, 2);
    assert_string_equal(account.terms[0].name, "start");
    assert_true(account.terms[0].value + account.terms[1].value == value);
    rate = -1;
    assert_int_equal(st_plugin_explain(instance, 0, columns, own->arena, &account), ST_OK);
    assert_int_equal(account.count, 0);
    assert_string_equal(account.refusal, "needs a rank, a size and a bandwidth above zero");
    st_plugin_close(instance);
}

TEST_OF(faulty_settings_are_told_at_once, fixture *own, set_up_plugins, tear_down)
{
    const st_place place = {.file = "job.yaml", .line = 3, .column = 5};
    const st_plugin_given given[] = {
        {.name = "latancy", .text = "3 us", .name_place = place, .place = place},
        {.name = "latency", .text = "3 GB", .name_place = place, .place = place},
        {.name = "efficiency", .text = "1.5", .name_place = place, .place = place},
        {.name = "efficiency", .number = 0, .name_place = place, .place = place}};
    st_plugin_instance *instance = NULL;
    assert_int_equal(st_plugin_open(load(own), given, COUNT(given), place, &instance, own->errors),
                     ST_ERR_NAME);
    assert_null(instance);
    const char *text = said(own);
    assert_contains(text, "job.yaml:3:5: error: plugin 'template' has no option 'latancy'; did you "
                          "mean 'latency'?");
    assert_contains(text, "option 'latency': unit has the wrong dimension: found 3 GB (B)");
    assert_contains(text, "option 'efficiency' is out of range: found 1.5, expected 0.01 to 1");
    assert_contains(text, "option 'efficiency' is out of range: found 0, expected 0.01 to 1");
}

TEST_WITH(files_that_are_no_plugins_are_told, set_up_plugins, tear_down)
{
    static const struct {
        const char *name, *text;
        size_t length;
        st_status status;
        const char *message;
    } cases[] = {
        {"text.so", "no shared object", 16, ST_ERR_PROVIDER, "not a shared object (not ELF)"},
        {"short.so",
         "\x7F"
         "EL",
         3, ST_ERR_PROVIDER, "not a shared object (not ELF)"},
        {"head.so",
         "\x7F"
         "ELF",
         4, ST_ERR_PROVIDER, "@/p/head.so cannot be used: "},
        {"folder.so/file", "x", 1, ST_ERR_IO, "not a regular file"},
        {"none.so", NULL, 0, ST_ERR_IO, "@/p/none.so cannot be used: it does not exist"},
    };
    fixture *own = *state;
    for (size_t i = 0; i < COUNT(cases); i++) {
        const st_plugin_module *module = NULL;
        const char *file = st_arena_printf(own->arena, "p/%s", cases[i].name);
        if (cases[i].text != NULL)
            write_bytes(own, file, cases[i].text, cases[i].length);
        const char *path = st_arena_printf(own->arena, "%s/p/%.*s", own->folder,
                                           (int)strcspn(cases[i].name, "/"), cases[i].name);
        assert_int_equal(
            st_plugin_load(own->paths, path, (st_place){0}, own->arena, &module, own->errors),
            cases[i].status);
        assert_null(module);
        assert_contains(said(own), cases[i].message);
    }
}

/* The file, its folder, and what that lies in, where a sticky folder keeps others' files safe. */
TEST_WITH(who_may_write_a_plugin_is_warned_of, set_up_plugins, tear_down)
{
    static const struct {
        mode_t file, folder, above;
        const char *said;
    } cases[] = {
        {0644, 0755, 0755, ""},
        {0666, 0755, 0755, "f: warning: everyone can write to the file @/a/b/x.so of a plugin\n"},
        {0602, 0755, 0755, "f: warning: everyone can write to the file @/a/b/x.so of a plugin\n"},
        {0644, 0757, 0755, "f: warning: everyone can write to the folder @/a/b of a plugin\n"},
        {0644, 01757, 0755, "f: warning: everyone can write to the folder @/a/b of a plugin\n"},
        {0644, 0755, 0757, "f: warning: everyone can write to the folder @/a of a plugin\n"},
        {0644, 0755, 01757, ""},
        {0666, 0757, 0757,
         "f: warning: everyone can write to the file @/a/b/x.so of a plugin\n"
         "f: warning: everyone can write to the folder @/a/b of a plugin\n"
         "f: warning: everyone can write to the folder @/a of a plugin\n"},
    };
    fixture *own = *state;
    write_text(own, "a/b/x.so", "x");
    for (size_t i = 0; i < COUNT(cases); i++) {
        assert_int_equal(chmod(below(own, "a/b/x.so"), cases[i].file), 0);
        assert_int_equal(chmod(below(own, "a/b"), cases[i].folder), 0);
        assert_int_equal(chmod(below(own, "a"), cases[i].above), 0);
        for (int turn = 0; turn < 2; turn++) /* what was said is not said again */
            st_plugin_warn_if_open(below(own, "a/b/x.so"), (st_place){.file = "f"}, own->arena,
                                   own->errors);
        const char *text = said(own);
        if (strcmp(text, cases[i].said) != 0)
            fail_msg("case %zu: %s", i, text);
    }
}

TEST_OF(unknown_plugins_are_told_with_the_nearest, fixture *own, set_up_plugins, tear_down)
{
    const st_plugin_module *module = NULL;
    assert_int_equal(
        st_plugin_load(own->paths, "tamplate", (st_place){0}, own->arena, &module, own->errors),
        ST_ERR_NAME);
    assert_string_equal(said(own), "error: no plugin 'tamplate' on the search path; did "
                                   "you mean 'template'?\n");
}

/* ---- in a sheet ---- */

static const char sheet[] =
    "sheet: ring\n"
    "inputs:\n"
    "  n: {from: constants.ranks}\n"
    "  V: {from: constants.volume, unit: MB}\n"
    "  bandwidth: {from: cluster.nic_bandwidth, unit: GB/s}\n"
    "functions:\n"
    "  all_reduce: {open: true, args: {size: B, ranks: 1}, unit: us, is: '7.25[us]*ranks'}\n"
    "cells:\n"
    "  half: {unit: MB, is: V/2}\n"
    "  T: {unit: us, is: 'all_reduce(half, n)'}\n"
    "report:\n"
    "  - {section: Time, cells: [T]}\n";

static void write_job(const fixture *own, const char *refine)
{
    const char *job = st_arena_printf(own->arena,
                                      "cluster: {nic_bandwidth: 3.1 GB/s}\nconstants: {ranks: 7, "
                                      "volume: 2.5 MB}\nsheet: ring\n%s",
                                      refine);
    write_text(own, "formulas/ring.yaml", sheet);
    write_text(own, "configs/jobs/j.yaml", job);
}

static st_status run(fixture *own, const char *set, st_estimate *estimate)
{
    const st_request request = {.job = "j", .sets = &set, .set_count = set == NULL ? 0 : 1};
    st_status status = st_estimate_load(own->paths, &request, own->arena, estimate, own->errors);
    if (status == ST_OK)
        status = st_estimate_show_report(estimate, false, own->arena);
    return status == ST_OK ? st_estimate_run(estimate, own->arena, own->errors) : status;
}

TEST_OF(a_job_is_refined, fixture *own, set_up_plugins, tear_down)
{
    st_estimate estimate;
    write_job(own, "refine:\n  - plugin: template\n    options: {latency: 2.385 us}\n");
    if (run(own, NULL, &estimate) != ST_OK)
        fail_msg("%s", said(own));
    assert_true(fabs(estimate.shown[0].value -
                     (12 * 2.385e-6 + 12.0 / 7 * 1.25e6 / (3.1e9 * 0.92))) < 1e-15);
    assert_int_equal(run(own, "refine=none", &estimate), ST_OK);
    assert_true(estimate.shown[0].value == 7 * 7.25e-6);
    assert_int_equal(run(own, "refine=template", &estimate), ST_OK);
    assert_true(fabs(estimate.shown[0].value - (12 * 4.5e-6 + 12.0 / 7 * 1.25e6 / (3.1e9 * 0.92))) <
                1e-15);
}

TEST_OF(refusals_fall_back_only_where_the_job_allows_it, fixture *own, set_up_plugins, tear_down)
{
    st_estimate estimate;
    write_job(own, "refine: [template]\n");
    assert_int_equal(run(own, "constants.ranks=0.5", &estimate), ST_ERR_PROVIDER);
    assert_contains(said(own), "cell 'T' has no value: provider 'template' refuses: needs a rank, "
                               "a size and a bandwidth above zero in 'all_reduce(half, n)'");
    write_job(own, "refine: [{plugin: template, fallback: formula}]\n");
    assert_int_equal(run(own, "constants.ranks=0.5", &estimate), ST_OK);
    assert_true(estimate.shown[0].value == 0.5 * 7.25e-6);
    assert_contains(said(own), "warning: cell 'T' keeps its formula for 'all_reduce': provider "
                               "'template' fails: needs a rank");
}

TEST_OF(faults_of_refine_have_places, fixture *own, set_up_plugins, tear_down)
{
    st_estimate estimate;
    static const struct {
        const char *refine, *message;
    } cases[] = {
        {"refine: [template, template]\n",
         "j.yaml:4:20: error: duplicate plugin 'template' in refine"},
        {"refine: [templat]\n", "j.yaml:4:10: error: no plugin 'templat'"},
        {"refine: [Big]\n", "j.yaml:4:10: error: invalid plugin name: found 'Big'"},
        {"refine: {plugin: template, optoins: {}}\n",
         "j.yaml:4:28: error: unknown key 'optoins' in refine; did you mean 'options'?"},
        {"refine: {plugin: template, fallback: maybe}\n",
         "j.yaml:4:38: error: wrong value for fallback: found 'maybe', expected formula or error"},
        {"refine: {plugin: template, options: {latency: 2.385}}\n", "j.yaml:4:47: error:"},
        {"refine: {fallback: formula}\n", "expected the name of a plugin, or a map"},
        {"refine: {plugin: template, options: [3]}\n", "a map from names to values"},
        {"refine: [[template]]\n", "j.yaml:4:10: error: wrong value for refine"},
    };
    for (size_t i = 0; i < COUNT(cases); i++) {
        write_job(own, cases[i].refine);
        assert_int_not_equal(run(own, NULL, &estimate), ST_OK);
        assert_contains(said(own), cases[i].message);
    }
}

/* What the plugin needs and the sheet does not give is told where the job names the plugin. */
TEST_OF(sheets_that_do_not_fit_are_refused, fixture *own, set_up_plugins, tear_down)
{
    st_estimate estimate;
    static const struct {
        const char *functions, *message;
    } cases[] = {
        {"  reduce: {open: true, args: {size: B, ranks: 1}, unit: us, is: '7.25[us]*ranks'}\n",
         "j.yaml:4:10: error: plugin 'template' cannot refine sheet bare: it provides all_reduce, "
         "but the sheet has no open function or cell with that name\n"},
        {"  all_reduce: {args: {size: B, ranks: 1}, unit: us, is: '7.25[us]*ranks'}\n",
         "plugin 'template' cannot refine sheet bare"},
        {"  all_reduce: {open: true, args: {size: B, ranks: 1}, unit: us, is: '7.25[us]*ranks'}\n",
         "j.yaml:4:10: error: plugin 'template' for 'all_reduce' of sheet bare reads 'bandwidth', "
         "which is neither an argument of the function nor a cell or input of the sheet\n"},
    };
    for (size_t i = 0; i < COUNT(cases); i++) {
        write_text(own, "configs/jobs/j.yaml",
                   "cluster: {nic_bandwidth: 3.1 GB/s}\nconstants: {ranks: 7}\n"
                   "sheet: bare\nrefine: [template]\n");
        write_text(own, "formulas/bare.yaml",
                   st_arena_printf(own->arena,
                                   "sheet: bare\ninputs:\n  n: {from: constants.ranks}\n"
                                   "functions:\n%s"
                                   "cells:\n  T: {unit: us, is: '7.25[us]*n'}\n"
                                   "report:\n  - {section: Time, cells: [T]}\n",
                                   cases[i].functions));
        assert_int_equal(run(own, NULL, &estimate), ST_ERR_PROVIDER);
        assert_contains(said(own), cases[i].message);
    }
}

/* Arguments may be cells and inputs of the sheet; a cell counts before the job. */
TEST_OF(cells_stand_for_arguments, fixture *own, set_up_plugins, tear_down)
{
    st_estimate estimate;
    write_job(own, "refine: [template]\n");
    write_text(own, "formulas/ring.yaml",
               "sheet: ring\n"
               "inputs:\n"
               "  n: {from: constants.ranks}\n"
               "  V: {from: constants.volume, unit: MB}\n"
               "  rate: {from: cluster.nic_bandwidth, unit: GB/s}\n"
               "functions:\n"
               "  all_reduce: {open: true, args: {size: B, ranks: 1}, unit: us, is: "
               "'7.25[us]*ranks'}\n"
               "cells:\n"
               "  bandwidth: {unit: GB/s, is: rate/2}\n"
               "  T: {unit: us, is: 'all_reduce(V, n)'}\n"
               "report:\n"
               "  - {section: Time, cells: [T]}\n");
    if (run(own, NULL, &estimate) != ST_OK)
        fail_msg("%s", said(own));
    assert_true(fabs(estimate.shown[0].value - (12 * 4.5e-6 + 12.0 / 7 * 2.5e6 / (1.55e9 * 0.92))) <
                1e-12);
}

TESTS(plugins);
