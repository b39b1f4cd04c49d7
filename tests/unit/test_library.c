/* SPDX-License-Identifier: Apache-2.0 */
/* Grids and searches as another program calls them, through steptime/search.h alone. */
#include "job_support.h"

#include <math.h>

static const char *const sets[] = {"overlap.tp=0.2385"};
static const char *const cells[] = {"step_time", "memory"};

static st_job_request job_request(void)
{
    return (st_job_request){
        .job = "gpt3-175b-64xa100", .sets = sets, .set_count = 1, .cells = cells, .cell_count = 2};
}

/* --- grids ----------------------------------------------------------------------------------- */

static const st_grid *open_grid(fixture *own, const st_grid_request *request)
{
    const st_grid *grid = NULL;
    if (st_grid_open(own->paths, request, own->arena, &grid, own->errors) != ST_OK)
        fail_msg("%s", said(own));
    return grid;
}

TEST_OF(test_a_grid_tells_its_shape, fixture *own, set_up, tear_down)
{
    const char *axes[] = {"cluster.nic_bandwidth=100..300+100 Gbit/s", "batch.micro=1,2,3"};
    const st_grid_request request = {.job = job_request(), .axes = axes, .axis_count = 2};
    const st_grid *grid = open_grid(own, &request);
    char text[64];
    assert_int_equal(st_grid_row_count(grid), 9);
    assert_int_equal(st_grid_axis_count(grid), 2);
    assert_string_equal(st_grid_axis_key(grid, 0), "cluster.nic_bandwidth");
    assert_string_equal(st_grid_axis_text(grid, 0, 5, text, sizeof text), "25");
    assert_string_equal(st_grid_axis_text(grid, 1, 5, text, sizeof text), "3");
    assert_int_equal(st_grid_cell_count(grid), 2);
    assert_string_equal(st_grid_cell_name(grid, 1), "memory");
    assert_string_equal(st_grid_cell_type(grid, 0)->unit.text, "s");
    assert_string_equal(st_grid_reason_text(grid, 0), "");
    assert_true(st_grid_reason_count(grid) > 3);
}

/* A row alone has the bits that it has among all, and values of a search are those of the grid. */
TEST_WITH(test_rows_are_read_in_pieces, set_up, tear_down)
{
    enum { ROWS = 2385 };
    fixture *own = *state;
    const char *axes[] = {"batch.micro=1..2385"};
    const st_grid_request request = {.job = job_request(), .axes = axes, .axis_count = 1};
    const st_grid *grid = open_grid(own, &request);
    st_grid_reader *reader = st_grid_reader_create(grid);
    static double times[ROWS];
    static double memories[ROWS];
    static uint32_t reasons[ROWS];
    double *values[] = {times, memories};
    assert_non_null(reader);
    assert_int_equal(st_grid_row_count(grid), ROWS);
    assert_int_equal(st_grid_read(reader, 0, ROWS, values, reasons), ST_OK);
    size_t kept = 0;
    for (size_t row = 0; row < ROWS; row += 7) {
        double one[2];
        double *ones[] = {&one[0], &one[1]};
        uint32_t reason = 0;
        assert_int_equal(st_grid_read(reader, row, 1, ones, &reason), ST_OK);
        assert_int_equal(reason, reasons[row]);
        assert_memory_equal(&one[0], &times[row], sizeof(double));
        assert_memory_equal(&one[1], &memories[row], sizeof(double));
        kept += reason == 0 ? 1 : 0;
    }
    assert_true(kept > 0 && kept < ROWS / 7);
    assert_int_equal(st_grid_read(reader, ROWS - 1, 2, values, reasons), ST_ERR_USAGE);
    assert_int_equal(st_grid_read(reader, UINT64_MAX, 1, values, reasons), ST_ERR_USAGE);
    assert_int_equal(st_grid_read(reader, ROWS, 0, values, reasons), ST_OK);
    st_grid_reader_destroy(reader);
    st_grid_reader_destroy(NULL);
}

TEST_OF(test_faults_of_a_grid_come_together, fixture *own, set_up, tear_down)
{
    const char *axes[] = {"parallel.tpp=1,2", "batch.micro="};
    const char *conditions[] = {"memory < 7[s]"};
    st_grid_request request = {.job = job_request(), .axes = axes, .axis_count = 2};
    const st_grid *grid = NULL;
    assert_int_equal(st_grid_open(own->paths, &request, own->arena, &grid, own->errors),
                     ST_ERR_USAGE);
    const char *text = said(own);
    assert_non_null(strstr(text, "unknown key 'parallel.tpp'; did you mean 'parallel.tp'?"));
    assert_non_null(strstr(text, "the axis over batch.micro is empty"));
    request.axis_count = 0;
    request.job.conditions = conditions;
    request.job.condition_count = 1;
    assert_int_not_equal(st_grid_open(own->paths, &request, own->arena, &grid, own->errors), ST_OK);
    assert_non_null(strstr(said(own), "cannot compare 'memory' (B) and '7[s]' (s)"));
    assert_null(grid);
}

/* --- searches -------------------------------------------------------------------------------- */

static st_best_request search_request(void)
{
    return (st_best_request){.job = job_request(), .gpus = "64", .top = 4};
}

static st_best find(fixture *own, const st_best_request *request)
{
    st_best best;
    if (st_best_find(own->paths, request, own->arena, &best, own->errors) != ST_OK)
        fail_msg("%s", said(own));
    return best;
}

/* The values of a plan are those of a grid of one row with its keys. */
static void expect_grid(fixture *own, const st_best_plan *plan)
{
    const char *all[40] = {sets[0]};
    st_grid_request request = {.job = job_request()};
    double values[2];
    double *columns[] = {&values[0], &values[1]};
    uint32_t reason = 1;
    assert_true(plan->set_count < 39);
    memcpy(all + 1, plan->sets, plan->set_count * sizeof *all);
    request.job.sets = all;
    request.job.set_count = plan->set_count + 1;
    st_grid_reader *reader = st_grid_reader_create(open_grid(own, &request));
    assert_non_null(reader);
    assert_int_equal(st_grid_read(reader, 0, 1, columns, &reason), ST_OK);
    assert_int_equal(reason, 0);
    assert_memory_equal(&values[0], &plan->goal, sizeof(double));
    assert_memory_equal(values, plan->values, sizeof values);
    st_grid_reader_destroy(reader);
}

TEST_OF(test_methods_agree, fixture *own, set_up, tear_down)
{
    st_best_request request = search_request();
    st_best every = find(own, &request);
    assert_int_equal(every.plan_count, 4);
    assert_string_equal(every.goal, "step_time");
    assert_int_equal(every.computed, every.total);
    assert_true(every.gap == 0);
    assert_true(every.passed > 0 && every.reason_count > 0 && every.nearest == NULL);
    expect_grid(own, &every.plans[0]);
    expect_grid(own, &every.plans[3]);
#ifndef STEPTIME_HAVE_GUIDED
    skip(); /* other methods were left out of this build */
#endif
    request.method = ST_METHOD_BOUND;
    request.pruning = ST_PRUNING_PROVEN;
    st_best bound = find(own, &request);
    assert_true(bound.gap == 0 && bound.computed < every.computed / 100);
    for (size_t i = 0; i < 4; i++) {
        assert_memory_equal(&bound.plans[i].goal, &every.plans[i].goal, sizeof(double));
        for (size_t k = 0; k < bound.plans[i].set_count; k++)
            assert_string_equal(bound.plans[i].sets[k], every.plans[i].sets[k]);
    }
    request.method = ST_METHOD_CMAES;
    request.trials = 23;
    st_best walk = find(own, &request);
    assert_true(walk.computed <= 23);
    assert_true(walk.plans[0].goal >= every.plans[0].goal);
    assert_true(walk.plans[0].goal * (1 - walk.gap) <= every.plans[0].goal);
}

/* Picked rows may differ in axes that stand still in rows that follow each other. */
TEST_OF(test_a_sample_has_the_values_of_its_plans, fixture *own, set_up, tear_down)
{
    const char *varies[] = {"batch.micro=1", "cluster.nic_bandwidth=100..400+100 Gbit/s",
                            "cluster.price=1..3+0.01 $/h"};
    st_best_request request = search_request();
    request.gpus = NULL;
    request.only = varies;
    request.only_count = 3;
    request.sample = 300;
    request.top = 300;
    st_best best = find(own, &request);
    assert_int_equal(best.plan_count, 300);
    assert_true(isnan(best.gap) && best.total == 804);
    for (size_t i = 0; i < best.plan_count; i++)
        assert_memory_equal(&best.plans[i].goal, &best.plans[i].values[0], sizeof(double));
}

TEST_OF(test_where_nothing_fits_the_nearest_is_told, fixture *own, set_up, tear_down)
{
    const char *conditions[] = {"memory < 2.385[GiB]"};
    st_best_request request = search_request();
    request.job.conditions = conditions;
    request.job.condition_count = 1;
    st_best best = find(own, &request);
    assert_int_equal(best.plan_count, 0);
    assert_non_null(best.nearest);
    assert_true(best.nearest->values[1] > 2.385 * 1073741824);
    assert_true(isfinite(best.nearest->goal) && best.nearest->goal == best.nearest->values[0]);
    bool told = false;
    for (size_t i = 0; i < best.reason_count; i++)
        told = told || strcmp(best.reasons[i].text, "not: memory < 2.385[GiB]") == 0;
    assert_true(told);
}

static bool stop_at_once(void *context, uint64_t done, uint64_t plans)
{
    unsigned *calls = context;
    (*calls)++;
    return done > plans;
}

TEST_OF(test_a_search_can_be_stopped, fixture *own, set_up, tear_down)
{
    unsigned calls = 0;
    st_best_request request = search_request();
    request.gpus = "512";
    request.threads = 1;
    request.progress = stop_at_once;
    request.context = &calls;
    st_best best = find(own, &request);
    assert_true(calls > 0 && best.interrupted && best.computed < best.total);
    assert_true(isnan(best.gap));
}

TEST_OF(test_senseless_searches_are_refused, fixture *own, set_up, tear_down)
{
    st_best best = {.plan_count = 77};
    st_best_request request = search_request();
    request.top = 0;
    assert_int_equal(st_best_find(own->paths, &request, own->arena, &best, own->errors),
                     ST_ERR_USAGE);
    assert_non_null(strstr(said(own), "expected 1 to 1000"));
    request.top = 3;
    request.gpus = "none";
    assert_int_not_equal(st_best_find(own->paths, &request, own->arena, &best, own->errors), ST_OK);
    (void)said(own);
    request.gpus = NULL;
    request.method = ST_METHOD_BOUND;
#ifndef STEPTIME_HAVE_GUIDED
    assert_int_equal(st_best_find(own->paths, &request, own->arena, &best, own->errors),
                     ST_ERR_USAGE);
    assert_non_null(strstr(said(own), "steptime was built without guided search"));
    skip();
#endif
    request.sample = 5;
    assert_int_equal(st_best_find(own->paths, &request, own->arena, &best, own->errors),
                     ST_ERR_USAGE);
    assert_non_null(strstr(said(own), "--sample computes all of its plans"));
    request.sample = 0;
    request.bound = "memory";
    assert_int_equal(st_best_find(own->paths, &request, own->arena, &best, own->errors),
                     ST_ERR_USAGE);
    assert_non_null(strstr(said(own), "'memory' has another unit or type than 'step_time'"));
    assert_int_equal(best.plan_count, 77);
}

TEST_OF(test_axes_are_columns, fixture *own, set_up, tear_down)
{
    const char *axes[] = {"cluster.nic_bandwidth=100..300+100 Gbit/s", "batch.micro=1,4",
                          "recompute=none,full"};
    const st_grid_request request = {.job = job_request(), .axes = axes, .axis_count = 3};
    const st_grid *grid = open_grid(own, &request);
    uint32_t places[12];
    int64_t counts[12];
    double numbers[12];
    const st_axis_columns all = {.places = places, .numbers = numbers, .counts = counts};
    const st_axis_columns words = {.places = places};
    char text[64];
    assert_int_equal(st_grid_axis_read(grid, 0, 0, 12, &all), ST_OK);
    assert_true(numbers[3] == 12.5e9 && numbers[4] == 25e9 && places[11] == 2);
    assert_int_equal(st_grid_axis_read(grid, 1, 3, 9, &all), ST_OK);
    assert_true(counts[0] == 4 && counts[1] == 1);
    assert_null(st_grid_axis_type(grid, 2));
    assert_int_equal(st_grid_axis_read(grid, 2, 0, 12, &all), ST_ERR_USAGE);
    assert_int_equal(st_grid_axis_read(grid, 2, 0, 12, &words), ST_OK);
    assert_int_equal(st_grid_axis_value_count(grid, 2), 2);
    assert_string_equal(st_grid_axis_value_text(grid, 2, places[1], text, sizeof text), "full");
    assert_int_equal(st_grid_axis_read(grid, 1, 4, 9, &all), ST_ERR_USAGE);
}

TESTS(library);
