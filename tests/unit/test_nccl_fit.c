/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Fits of plugins to tables: options that made the tables are found again, what is left out stays
 * unseen, and what cannot be fitted is refused with its reason. The plugins are the project's own.
 */
#include "job_support.h"
#include "plugin/plugins.h"

#include "job/files.h"
#include "nccl-whitebox/fit/nccl_transfer.h"

#include <math.h>
#include <unistd.h>

enum { SIZES = 21, MOST_TABLES = 3 };

typedef struct measured {
    st_nccl_table tables[MOST_TABLES];
    st_nccl_row rows[MOST_TABLES][SIZES];
    const st_nccl_table *pointers[MOST_TABLES];
    size_t count;
    bool published; /* the files say what the machine is */
} measured;

/* 87.3 us and 61 % of 200 GB/s: what alpha-beta would say of a ring inside of a machine. */
static double line_s(double size, double ranks)
{
    return 87.3e-6 + 2 * (ranks - 1) / ranks * size / (0.61 * 200e9);
}

static void add_table(measured *own, size_t ranks, size_t nodes)
{
    st_nccl_table *table = &own->tables[own->count];
    *table = (st_nccl_table){.file = "some.log",
                             .line = 13,
                             .collective = "all_reduce",
                             .ranks = ranks,
                             .nodes = nodes,
                             .gpu = "",
                             .fabric = "",
                             .version = "",
                             .rows = own->rows[own->count],
                             .row_count = SIZES,
                             .buffers = ST_NCCL_OUT_OF_PLACE};
    for (size_t i = 0; i < SIZES; i++) {
        double size = ldexp(1024, (int)i);
        table->rows[i] = (st_nccl_row){.size_bytes = size,
                                       .time_s = {line_s(size, (double)ranks), (double)NAN},
                                       .line = (int)i + 14};
    }
    own->pointers[own->count++] = table;
}

static int set_up_fit(void **state)
{
    char built[4096];
    assert_int_equal(set_up(state), 0);
    fixture *own = *state;
    const char *tests = getenv("STEPTIME_TEST_PLUGINS");
    assert_non_null(tests);
    snprintf(built, sizeof built, "%s/..", tests);
    const char *folders[] = {own->folder, built};
    st_paths_destroy(own->paths);
    assert_int_equal(st_paths_create(folders, 2, &own->paths, own->errors), ST_OK);
    return 0;
}

static st_status run(fixture *own, const measured *tables, const char *plugin,
                     const st_plugin_given *given, st_nccl_fit *fit)
{
    static const char *const sets[] = {"cluster.gpu.link_bandwidth=200 GB/s",
                                       "cluster.gpu.compute_capability=8.0"};
    st_nccl_source source = {.paths = own->paths,
                             .plugin = plugin,
                             .given = given,
                             .given_count = given != NULL ? 1 : 0,
                             .sets = sets,
                             .set_count = tables->published ? 0 : 2};
    *fit = (st_nccl_fit){.tables = tables->pointers,
                         .table_count = tables->count,
                         .plugin = plugin,
                         .wants_fit = true};
    st_status status = st_nccl_model_load(&source, fit->tables, fit->table_count, own->arena,
                                          &fit->model, own->errors);
    return status == ST_OK ? st_nccl_fit_run(fit, own->arena, own->errors) : status;
}

static void run_well(fixture *own, const measured *tables, const char *plugin,
                     const st_plugin_given *given, st_nccl_fit *fit)
{
    if (run(own, tables, plugin, given, fit) != ST_OK)
        fail_msg("%s", said(own));
}

static double mean_error(const st_nccl_fit *fit, st_nccl_kind kind, size_t range)
{
    st_error_summary summary;
    assert_int_equal(st_nccl_fit_errors(fit, kind, range, SIZE_MAX, &summary), ST_OK);
    return summary.count > 0 ? summary.mean_absolute : (double)NAN;
}

static void assert_contains(const char *text, const char *part)
{
    if (strstr(text, part) == NULL)
        fail_msg("'%s' is not in '%s'", part, text);
}

/* ---- what fits ---- */

TEST_WITH(options_are_found_again, set_up_fit, tear_down)
{
    measured tables = {.count = 0};
    st_nccl_fit fit;
    add_table(&tables, 8, 1);
    run_well(*state, &tables, "alpha-beta", NULL, &fit);
    assert_null(fit.correction);
    assert_null(fit.times_s[ST_NCCL_NO_RANKS]);
    assert_int_equal(fit.refused, 0);
    assert_true(mean_error(&fit, ST_NCCL_NOMINAL, 0) > 0.05);
    assert_true(mean_error(&fit, ST_NCCL_FITTED, 0) < 0.002);
    assert_true(mean_error(&fit, ST_NCCL_NO_SIZE, 0) < 0.004);
    for (size_t i = 0; i < SIZES; i++)
        assert_true(fabs(fit.times_s[ST_NCCL_FITTED][i] / tables.rows[0][i].time_s[0] - 1) < 0.01);
}

TEST_WITH(a_number_of_ranks_is_foretold, set_up_fit, tear_down)
{
    measured tables = {.count = 0};
    st_nccl_fit fit;
    add_table(&tables, 2, 1);
    add_table(&tables, 4, 1);
    add_table(&tables, 8, 1);
    run_well(*state, &tables, "alpha-beta", NULL, &fit);
    assert_non_null(fit.times_s[ST_NCCL_NO_RANKS]);
    assert_true(mean_error(&fit, ST_NCCL_NO_RANKS, 0) < 0.02);
}

TEST_WITH(ranges_and_tables, set_up_fit, tear_down)
{
    measured tables = {.count = 0};
    st_nccl_fit fit;
    st_error_summary summary;
    add_table(&tables, 4, 1);
    add_table(&tables, 8, 1);
    run_well(*state, &tables, "alpha-beta", NULL, &fit);
    static const size_t counts[ST_NCCL_RANGES] = {21, 10, 11, 7};
    for (size_t range = 0; range < ST_NCCL_RANGES; range++) {
        assert_int_equal(st_nccl_fit_errors(&fit, ST_NCCL_FITTED, range, 1, &summary), ST_OK);
        assert_int_equal(summary.count, counts[range]);
        assert_int_equal(st_nccl_fit_errors(&fit, ST_NCCL_FITTED, range, SIZE_MAX, &summary),
                         ST_OK);
        assert_int_equal(summary.count, 2 * counts[range]);
    }
    assert_string_equal(st_nccl_kind_texts[ST_NCCL_NO_RANKS], "ranks left out");
    assert_string_equal(st_nccl_kind_keys[ST_NCCL_NO_SIZE], "leave_one_size_out");
}

/* ---- corrections ---- */

/* A bump around 1 MiB that no line has. */
static void add_bump(measured *tables)
{
    for (size_t i = 0; i < SIZES; i++)
        tables->rows[0][i].time_s[0] *= 1 + 0.24 * exp(-pow(((double)i - 10) / 2.5, 2));
}

TEST_WITH(what_is_left_over_becomes_a_correction, set_up_fit, tear_down)
{
    measured tables = {.count = 0};
    st_nccl_fit with;
    st_nccl_fit without;
    const st_plugin_given none = {.name = "correction", .text = ""};
    add_table(&tables, 8, 1);
    add_bump(&tables);
    run_well(*state, &tables, "nccl-whitebox", NULL, &with);
    run_well(*state, &tables, "nccl-whitebox", &none, &without);
    assert_non_null(with.correction);
    assert_int_equal(strncmp(with.correction, "8/1 ", 4), 0);
    assert_null(without.correction);
    assert_true(mean_error(&with, ST_NCCL_FITTED, 0) < mean_error(&without, ST_NCCL_FITTED, 0));
    assert_true(mean_error(&with, ST_NCCL_NO_SIZE, 0) < mean_error(&without, ST_NCCL_NO_SIZE, 0));
    assert_true(mean_error(&with, ST_NCCL_FITTED, 0) < 0.015);
    for (size_t i = 0; i < with.model.varied_count; i++)
        assert_true(with.values[i] == without.values[i]);
}

/* The times with an option are those that the fit has shown. */
TEST_OF(a_correction_gives_the_times_again, fixture *own, set_up_fit, tear_down)
{
    measured tables = {.count = 0};
    double times_s[SIZES];
    st_nccl_fit fit;
    add_table(&tables, 8, 1);
    add_bump(&tables);
    run_well(own, &tables, "nccl-whitebox", NULL, &fit);
    const st_nccl_trial trial = {.values = fit.values, .correction = fit.correction};
    assert_int_equal(st_nccl_model_run(&fit.model, &trial, times_s, own->errors), ST_OK);
    for (size_t i = 0; i < SIZES; i++)
        assert_true(times_s[i] == fit.times_s[ST_NCCL_FITTED][i]);
}

/* ---- what is left out ---- */

/* Whatever a number of ranks has measured, the fit without it says the same of it. */
TEST_WITH(ranks_left_out_are_not_seen, set_up_fit, tear_down)
{
    measured tables = {.count = 0};
    st_nccl_fit fit;
    st_nccl_fit other;
    add_table(&tables, 4, 1);
    add_table(&tables, 8, 1);
    add_bump(&tables);
    run_well(*state, &tables, "nccl-whitebox", NULL, &fit);
    for (size_t i = 0; i < SIZES; i++)
        tables.rows[1][i].time_s[0] *= 1.7 + 0.03 * (double)i;
    run_well(*state, &tables, "nccl-whitebox", NULL, &other);
    for (size_t i = SIZES; i < (size_t)2 * SIZES; i++)
        assert_true(fit.times_s[ST_NCCL_NO_RANKS][i] == other.times_s[ST_NCCL_NO_RANKS][i]);
    assert_true(fit.times_s[ST_NCCL_FITTED][SIZES] != other.times_s[ST_NCCL_FITTED][SIZES]);
}

/* Tables of 2, 4 and 8 ranks that take so many times as long as the plugin says as it comes. */
static void run_beside_nominal(fixture *own, const double times[3], st_nccl_fit *fit)
{
    static measured tables;
    tables = (measured){.count = 0};
    for (size_t k = 0; k < 3; k++)
        add_table(&tables, (size_t)2 << k, 1);
    run_well(own, &tables, "nccl-whitebox", NULL, fit);
    for (size_t k = 0; k < 3; k++)
        for (size_t i = 0; i < SIZES; i++)
            tables.rows[k][i].time_s[0] = times[k] * fit->times_s[ST_NCCL_NOMINAL][k * SIZES + i];
    run_well(own, &tables, "nccl-whitebox", NULL, fit);
}

/* What is common to all numbers of ranks is taken over, what is one's own is not. */
TEST_WITH(a_share_of_the_calibration_transfers, set_up_fit, tear_down)
{
    st_nccl_fit fit;
    run_beside_nominal(*state, (const double[3]){1.437, 1.452, 1.448}, &fit);
    const st_nccl_transfer *small = &fit.transfers[st_nccl_share_slot(false, false)];
    const st_nccl_transfer *large = &fit.transfers[st_nccl_share_slot(false, true)];
    assert_true(small->share > 0.9 && large->share > 0.9);
    assert_string_equal(st_nccl_transfer_reason(large), "all");
    assert_int_equal(large->groups, 3);
    assert_true(mean_error(&fit, ST_NCCL_NO_RANKS, 0) < 0.1);
    assert_int_equal(fit.transfers[st_nccl_share_slot(true, true)].groups, 0);

    run_beside_nominal(*state, (const double[3]){1.437, 0.713, 1.382}, &fit);
    assert_true(small->share < 0.3 && large->share < 0.3);
    assert_true(large->least_gain < 0 && large->gain > large->least_gain);
    assert_string_equal(st_nccl_transfer_reason(large), "left out");
}

/* One number of ranks alone is believed by how much of it is common to its sizes. */
TEST_WITH(one_number_of_ranks_transfers_by_what_is_common, set_up_fit, tear_down)
{
    measured tables = {.count = 0};
    double waves[2][SIZES];
    st_nccl_fit fit;
    add_table(&tables, 4, 1);
    run_well(*state, &tables, "nccl-whitebox", NULL, &fit);
    for (size_t i = 0; i < SIZES; i++) {
        waves[0][i] = 1.437 * fit.times_s[ST_NCCL_NOMINAL][i];
        waves[1][i] = (i / 3 % 2 == 0 ? 1.437 : 0.691) * fit.times_s[ST_NCCL_NOMINAL][i];
    }
    for (size_t wave = 0; wave < 2; wave++) {
        for (size_t i = 0; i < SIZES; i++)
            tables.rows[0][i].time_s[0] = waves[wave][i];
        run_well(*state, &tables, "nccl-whitebox", NULL, &fit);
        const st_nccl_transfer *large = &fit.transfers[st_nccl_share_slot(false, true)];
        assert_string_equal(st_nccl_transfer_reason(large), "prior");
        assert_true(wave == 0 ? large->share > 0.9 : large->share < 0.2);
    }
}

/* Small messages may be known where large ones are not, and the other way round. */
TEST_WITH(sizes_transfer_apart, set_up_fit, tear_down)
{
    static measured tables;
    st_nccl_fit fit;
    tables = (measured){.count = 0};
    for (size_t k = 0; k < 3; k++)
        add_table(&tables, (size_t)2 << k, 1);
    run_well(*state, &tables, "nccl-whitebox", NULL, &fit);
    for (size_t k = 0; k < 3; k++)
        for (size_t i = 0; i < SIZES; i++) {
            bool large = tables.rows[k][i].size_bytes >= 1 << 20;
            double times = large ? (k == 1 ? 0.713 : 1.382) : 1.452;
            tables.rows[k][i].time_s[0] = times * fit.times_s[ST_NCCL_NOMINAL][k * SIZES + i];
        }
    run_well(*state, &tables, "nccl-whitebox", NULL, &fit);
    assert_true(fit.transfers[st_nccl_share_slot(false, false)].share > 0.7);
    assert_true(fit.transfers[st_nccl_share_slot(false, true)].share < 0.3);
}

/* A size that is measured wrong is foretold as if it were right. */
TEST_WITH(a_size_left_out_is_not_seen, set_up_fit, tear_down)
{
    measured tables = {.count = 0};
    st_nccl_fit fit;
    st_nccl_fit other;
    add_table(&tables, 8, 1);
    run_well(*state, &tables, "nccl-whitebox", NULL, &fit);
    tables.rows[0][12].time_s[0] *= 1.83;
    run_well(*state, &tables, "nccl-whitebox", NULL, &other);
    double right = line_s(tables.rows[0][12].size_bytes, 8);
    double before = fit.times_s[ST_NCCL_NO_SIZE][12] / right - 1;
    double after = other.times_s[ST_NCCL_NO_SIZE][12] / right - 1;
    if (fabs(before) > 0.25 || fabs(after - before) > 0.01)
        fail_msg("%g before, %g after", before, after);
}

/* ---- published tables ---- */

typedef struct published {
    const char *file;
    double most[ST_NCCL_RANGES]; /* mean error at sizes left out; 0: not looked at */
} published;

static bool read_published(fixture *own, const char *name, st_nccl_table **tables, size_t *count)
{
    const char *data = getenv("STEPTIME_DATA");
    const char *path = st_arena_printf(own->arena, "%s/nccl_tests/%s.csv",
                                       data != NULL ? data : "../shared/data", name);
    st_source source = {0};
    assert_non_null(path);
    if (access(path, R_OK) != 0) {
        print_message("no table %s: set STEPTIME_DATA\n", path);
        return false;
    }
    st_nccl_request request = {.buffers = ST_NCCL_ANY};
    assert_int_equal(st_file_read_foreign(path, (st_place){0}, own->arena, &source, own->errors),
                     ST_OK);
    st_nccl_input input = {source.file, source.text, source.length};
    assert_int_equal(st_nccl_read(&request, &input, own->arena, tables, count, own->errors), ST_OK);
    return true;
}

/* One of each kind: a machine, InfiniBand, EFA; a fit that loses its hold shows here first. */
TEST_WITH(published_tables, set_up_fit, tear_down)
{
    static const published known[] = {
        {"snellius_h100_1n4g_allreduce", {0, 0.02, 0.06, 0.025}},
        {"superbench_a100_1n8g_allreduce", {0, 0.02, 0.085, 0.11}},
        {"echo_azure_a100_2n16g_allreduce", {0, 0.06, 0.045, 0.07}},
        {"aws_p5_h100_2n16g_allreduce_readme", {0, 0.08, 0.045, 0.045}},
    };
    fixture *own = *state;
    for (size_t i = 0; i < sizeof known / sizeof known[0]; i++) {
        st_nccl_table *read = NULL;
        size_t count = 0;
        st_nccl_fit fit;
        if (!read_published(own, known[i].file, &read, &count))
            skip();
        measured tables = {.pointers = {read}, .count = 1, .published = true};
        run_well(own, &tables, "nccl-whitebox", NULL, &fit);
        for (size_t range = 1; range < ST_NCCL_RANGES; range++) {
            double error = mean_error(&fit, ST_NCCL_NO_SIZE, range);
            print_message("%s, %s: %.1f %%\n", known[i].file, st_nccl_ranges[range].name,
                          100 * error);
            if (!(error <= known[i].most[range]))
                fail_msg("more than %g", known[i].most[range]);
        }
    }
}

/* ---- what does not fit ---- */

TEST_WITH(a_plugin_without_options, set_up_fit, tear_down)
{
    measured tables = {.count = 0};
    st_nccl_fit fit;
    add_table(&tables, 8, 1);
    assert_int_equal(run(*state, &tables, "nccl-tuning", NULL, &fit), ST_ERR_VALUE);
    assert_contains(said(*state), "some.log:13: error: plugin 'nccl-tuning' has no option to fit");
}

TEST_WITH(a_plugin_without_the_collective, set_up_fit, tear_down)
{
    measured tables = {.count = 0};
    st_nccl_fit fit;
    add_table(&tables, 8, 1);
    tables.tables[0].collective = "gather";
    assert_int_equal(run(*state, &tables, "alpha-beta", NULL, &fit), ST_ERR_NAME);
    assert_contains(said(*state), "plugin 'alpha-beta' has no model of gather");
}

TEST_WITH(rows_that_are_all_refused, set_up_fit, tear_down)
{
    measured tables = {.count = 0};
    st_nccl_fit fit;
    const st_plugin_given pat = {.name = "algorithm", .text = "pat"};
    add_table(&tables, 8, 1);
    assert_int_equal(run(*state, &tables, "nccl-whitebox", &pat, &fit), ST_ERR_PROVIDER);
    assert_contains(said(*state), "some.log:13: error: plugin 'nccl-whitebox' rejects all rows");
}

TEST_WITH(a_correction_that_is_none, set_up_fit, tear_down)
{
    measured tables = {.count = 0};
    st_nccl_fit fit;
    const st_plugin_given broken = {.name = "correction", .text = "8/3 1024=1.1"};
    add_table(&tables, 8, 1);
    assert_int_not_equal(run(*state, &tables, "nccl-whitebox", &broken, &fit), ST_OK);
    assert_contains(said(*state),
                    "expected whole numbers of ranks and of machines that divide them");
}

TESTS(nccl_fit);
