/* SPDX-License-Identifier: Apache-2.0 */
/* Collectives of a recording by plugins: what of the cluster they read, whose options count, and
 * which plugins are refused. */
#include "job_support.h"

#include "trace/collectives.h"

#include <math.h>

#define COUNT(table) (sizeof(table) / sizeof((table)[0]))

static int set_up_built(void **state)
{
    assert_int_equal(set_up(state), 0);
    fixture *own = *state;
    const char *tests = getenv("STEPTIME_TEST_PLUGINS");
    assert_non_null(tests);
    const char *folders[] = {own->folder, st_arena_printf(own->arena, "%s/..", tests)};
    st_paths_destroy(own->paths);
    assert_int_equal(st_paths_create(folders, 2, &own->paths, own->errors), ST_OK);
    return 0;
}

static void assert_contains(const char *text, const char *part)
{
    if (strstr(text, part) == NULL)
        fail_msg("'%s' does not contain '%s'", text, part);
}

/* The reader of jobs wants a parallel size, the plugin what the cluster is. */
static const st_job *load_job(fixture *own, const char *rest)
{
    const st_job *job = NULL;
    const char *text = st_arena_printf(own->arena, "name: run\nparallel: {dp: 16}\n%s", rest);
    write_text(own, "configs/jobs/run.yaml", text);
    if (st_job_load(own->paths, "run", NULL, 0, own->arena, &job, own->errors) != ST_OK)
        fail_msg("%s", said(own));
    return job;
}

static const char whole_cluster[] = "cluster:\n"
                                    "  gpus_per_node: {value: 8, source: data sheet}\n"
                                    "  nic_bandwidth: {value: 23.85 GB/s, source: data sheet}\n"
                                    "  gpu:\n"
                                    "    link_bandwidth: {value: 385 GB/s, source: data sheet}\n";

static st_status open_all(fixture *own, const st_job *job, const st_refinement *wishes,
                          size_t count, st_plugin_collectives **opened)
{
    const st_plugin_collectives_request request = {.paths = own->paths,
                                                   .job = job,
                                                   .refinements = wishes,
                                                   .count = count,
                                                   .place = {.file = "--refine"}};
    *opened = NULL;
    return st_plugin_collectives_open(&request, own->arena, opened, own->errors);
}

static st_trace_collective_model open_lines(fixture *own, const st_job *job)
{
    st_plugin_collectives *opened = NULL;
    if (open_all(own, job, &(st_refinement){.plugin = "alpha-beta"}, 1, &opened) != ST_OK)
        fail_msg("%s", said(own));
    assert_non_null(opened);
    return st_plugin_collectives_model(opened);
}

static void expect_time(fixture *own, const st_trace_collective_model *model,
                        const st_trace_transfer *transfer, double expected_s)
{
    double seconds = 0;
    if (model->time(model->context, transfer, &seconds, own->errors) != ST_OK)
        fail_msg("%s", said(own));
    if (fabs(seconds - expected_s) > 1e-12)
        fail_msg("%.15g s, expected %.15g s", seconds, expected_s);
}

/* 36 us and what a rank sends at 78 % of the rate, which is that of links within a node of 8 GPUs
 * and of NICs beyond it; a stride leaves fewer ranks on a node. */
TEST_WITH(groups_have_the_rate_of_their_links, set_up_built, tear_down)
{
    static const struct {
        st_trace_transfer transfer;
        double sent;
        double rate;
    } cases[] = {{{"all_reduce", 2.385e6, 4, 1, 1}, 2 * 3 / 4.0, 385e9},
                 {{"all_reduce", 2.385e6, 8, 1, 2.5}, 2 * 7 / 8.0, 385e9 * 2.5},
                 {{"all_reduce", 2.385e6, 16, 1, 1}, 2 * 15 / 16.0, 23.85e9},
                 {{"all_reduce", 2.385e6, 16, 2, 2.5}, 2 * 15 / 16.0, 23.85e9 * 2.5},
                 {{"all_gather", 2.385e6, 4, 2, 1}, 3 / 4.0, 385e9},
                 {{"all_gather", 2.385e6, 8, 2, 1}, 7 / 8.0, 23.85e9},
                 {{"broadcast", 2.385e6, 4, 8, 1}, 1, 23.85e9},
                 {{"broadcast", 2.385e6, 4, 16, 1}, 1, 23.85e9}};
    fixture *own = *state;
    st_trace_collective_model model = open_lines(own, load_job(own, whole_cluster));
    for (size_t i = 0; i < COUNT(cases); i++)
        expect_time(own, &model, &cases[i].transfer,
                    36e-6 + 2.385e6 * cases[i].sent / (cases[i].rate * 0.78));
    /* One that it does not have. */
    expect_time(own, &model, &(st_trace_transfer){"scan", 2.385e6, 4, 1, 1}, 0);
}

/* Where nobody says how many GPUs a node has, keys of the job are left, as many times as fast. */
TEST_OF(keys_of_the_job_are_read, fixture *own, set_up_built, tear_down)
{
    st_trace_collective_model model =
        open_lines(own, load_job(own, "cluster:\n  gpu:\n    link_bandwidth: {value: 385 GB/s, "
                                      "source: data sheet}\n"));
    expect_time(own, &model, &(st_trace_transfer){"all_gather", 2.385e6, 4, 1, 2.5},
                36e-6 + 2.385e6 * 3 / 4.0 / (385e9 * 2.5 * 0.78));
}

TEST_OF(what_a_plugin_cannot_tell_is_refused, fixture *own, set_up_built, tear_down)
{
    double seconds = 2.385;
    st_trace_collective_model model = open_lines(own, load_job(own, ""));
    assert_int_equal(model.time(model.context, &(st_trace_transfer){"all_reduce", 2.385e6, 4, 1, 1},
                                &seconds, own->errors),
                     ST_ERR_PROVIDER);
    assert_contains(said(own), "--refine: error: plugin 'alpha-beta' gives no time for all_reduce "
                               "of 2385000 bytes over 4 ranks: the rate of the group is unknown");
}

/* ---- options ---- */

static const char job_options[] =
    "refine:\n  - plugin: alpha-beta\n    options: {alpha: 23.85 us, share: 0.5}\n";

/* The job's options count where the wish has none. */
TEST_WITH(options_are_of_the_wish_or_the_job, set_up_built, tear_down)
{
    static const st_trace_transfer transfer = {"broadcast", 2.385e6, 4, 1, 1};
    static const st_refinement_option option = {.name = "alpha", .text = "57.1 us"};
    fixture *own = *state;
    st_plugin_collectives *opened = NULL;
    const st_job *job =
        load_job(own, st_arena_printf(own->arena, "%s%s", whole_cluster, job_options));
    st_trace_collective_model model = open_lines(own, job);
    expect_time(own, &model, &transfer, 23.85e-6 + 2.385e6 / (385e9 * 0.5));
    const st_refinement wish = {.plugin = "alpha-beta", .options = &option, .option_count = 1};
    assert_int_equal(open_all(own, job, &wish, 1, &opened), ST_OK);
    model = st_plugin_collectives_model(opened);
    expect_time(own, &model, &transfer, 57.1e-6 + 2.385e6 / (385e9 * 0.78));
    assert_int_equal(st_errors_size(own->errors), 0);
}

/* ---- which plugins ---- */

TEST_WITH(plugins_without_collectives_are_refused_or_passed_over, set_up_built, tear_down)
{
    static const st_refinement wishes[] = {{.plugin = "breadth-first"}, {.plugin = "alpha-beta"}};
    fixture *own = *state;
    st_plugin_collectives *opened = NULL;
    const st_job *job = load_job(own, whole_cluster);
    assert_int_equal(open_all(own, job, wishes, 2, &opened), ST_ERR_USAGE);
    assert_contains(said(own), "--refine: error: plugin 'breadth-first' has no collectives");
    st_plugin_collectives_request request = {
        .paths = own->paths, .job = job, .refinements = wishes, .count = 2, .passes_over = true};
    assert_int_equal(st_plugin_collectives_open(&request, own->arena, &opened, own->errors), ST_OK);
    assert_non_null(opened);
    st_trace_collective_model model = st_plugin_collectives_model(opened);
    expect_time(own, &model, &(st_trace_transfer){"broadcast", 2.385e6, 4, 1, 1},
                36e-6 + 2.385e6 / (385e9 * 0.78));
    request.count = 1;
    assert_int_equal(st_plugin_collectives_open(&request, own->arena, &opened, own->errors), ST_OK);
    assert_null(opened);
    assert_int_equal(st_errors_size(own->errors), 0);
}

TEST_WITH(profiles_and_fallbacks_are_refused, set_up_built, tear_down)
{
    static const struct {
        st_refinement wish;
        const char *words;
    } cases[] = {{{.plugin = "alpha-beta", .profile = "site"},
                  "collectives of a trace take options and no profile"},
                 {{.plugin = "alpha-beta", .fallback = true},
                  "collectives of a trace have no formula to fall back on"}};
    fixture *own = *state;
    const st_job *job = load_job(own, whole_cluster);
    for (size_t i = 0; i < COUNT(cases); i++) {
        st_plugin_collectives *opened = NULL;
        assert_int_equal(open_all(own, job, &cases[i].wish, 1, &opened), ST_ERR_USAGE);
        assert_contains(said(own), cases[i].words);
        assert_null(opened);
    }
}

TESTS(plugin_collectives);
