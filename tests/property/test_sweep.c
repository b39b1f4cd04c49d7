/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A row of a sweep has the bits of the single estimate with the same values, and is rejected where
 * and only where that estimate fails, whatever the axes are: counts, quantities, names, switches,
 * files, orders of ranks.
 */
#include "../unit/job_support.h"
#include "property.h"

#include "sweep/space.h"

enum { SPACES = DRAWS(12), ROWS_COMPARED = 12, AXES = 4, CELLS = 3 };

static const char *const pool[] = {
    "parallel.tp=1..8*2",
    "model.window=0,768,1024",
    "parallel.pp=1,2,4,8,96",
    "parallel.dp=1,2,3",
    "parallel.virtual_stages=1..3",
    "batch.micro=1..7+2",
    "batch.global=64..192+32",
    "recompute=none,selective,full",
    "parallel.sequence_parallel=true,false",
    "parallel.zero=0..3",
    "cluster.nic_bandwidth=100..400*2 Gbit/s",
    "cluster.gpu=a100-sxm-80gb,h100-sxm,v100-sxm",
    "cluster=selene,dgx-h100",
    "model=gpt3-175b,llama2-7b,nemotron-h-56b",
    "parallel.order=tp-dp-pp,tp-pp-dp,pp-tp,dp-tp-pp",
    "constants.layer_launch=2.385 ms,3100 us",
    "overlap.tp=0.05..0.95+0.3",
};
enum { POOL = sizeof pool / sizeof pool[0] };

static const char *const cells[CELLS] = {"step_time", "memory", "time_dp"};

typedef struct chosen {
    const char *overs[AXES];
    size_t count;
} chosen;

static chosen choose_axes(property_random *random)
{
    chosen axes = {.count = 0};
    size_t wanted = 1 + random_below(random, AXES);
    while (axes.count < wanted) {
        const char *axis = pool[random_below(random, POOL)];
        bool twice = false;
        for (size_t i = 0; i < axes.count; i++)
            twice = twice || axes.overs[i] == axis;
        if (!twice)
            axes.overs[axes.count++] = axis;
    }
    return axes;
}

/* The single estimate of a row; the status is ST_OK where it has every value. */
static st_status estimate_row(fixture *own, const st_space *space, uint64_t row, double *values)
{
    const char *sets[AXES];
    uint64_t pick = st_space_pick(space, row);
    for (size_t i = 0; i < space->axis_count; i++) {
        char storage[ST_AXIS_TEXT];
        const st_axis *axis = &space->axes[i].axis;
        const char *text = st_axis_text(axis, st_space_digit(space, i, pick), storage);
        sets[i] = st_arena_printf(own->arena, "%s=%s", axis->path, text);
    }
    st_request request = {.job = space->request.job,
                          .sets = sets,
                          .set_count = space->axis_count,
                          .checks_warn = space->request.checks_warn};
    st_estimate estimate;
    st_status status = st_estimate_load(own->paths, &request, own->arena, &estimate, own->errors);
    if (status == ST_OK)
        status =
            st_estimate_show_names(&estimate, cells, CELLS, (st_place){0}, own->arena, own->errors);
    if (status == ST_OK)
        status = st_estimate_run(&estimate, own->arena, own->errors);
    if (status == ST_OK && st_errors_count(own->errors, ST_SEVERITY_LIMIT) > 0)
        status = ST_ERR_CHECK; /* its values stand, and a sweep leaves the row out */
    for (size_t i = 0; status == ST_OK && i < CELLS; i++)
        values[i] = estimate.shown[i].value;
    return status;
}

static void compare_row(fixture *own, const st_space_worker *worker, uint64_t first, size_t row)
{
    double values[CELLS] = {0};
    st_status status = estimate_row(own, worker->space, first + row, values);
    bool kept = worker->reasons[row] == ST_REASON_NONE;
    if (kept != (status == ST_OK))
        fail_msg("row %llu is %s: %s", (unsigned long long)(first + row),
                 kept ? "kept, and the estimate fails" : "rejected, and the estimate does not fail",
                 kept ? said(own) : st_reason_text(worker->space, worker->reasons[row]));
    for (size_t i = 0; kept && i < CELLS; i++)
        if (!same_bits(worker->outputs[i][row], values[i]))
            fail_msg("row %llu: %s is %.17g, and alone %.17g", (unsigned long long)(first + row),
                     cells[i], worker->outputs[i][row], values[i]);
    st_errors_clear(own->errors);
}

static void check_space(property_random *random, fixture *own, const st_space_request *request)
{
    st_space *space = NULL;
    if (st_space_create(own->paths, request, own->arena, &space, own->errors) != ST_OK)
        fail_msg("%s", said(own));
    st_space_worker *worker = st_space_worker_create(space);
    assert_non_null(worker);
    uint64_t first = space->rows <= ST_SPACE_BLOCK ? 0 : random_below(random, (size_t)space->rows);
    uint64_t left = space->rows - first;
    size_t rows = left < ST_SPACE_BLOCK ? (size_t)left : ST_SPACE_BLOCK;
    /* With the values of rejected rows and without, in turn. */
    worker->kept_alone = random_below(random, 2) > 0;
    st_space_run(worker, 0, rows);
    worker->kept_alone = random_below(random, 4) > 0;
    st_space_run(worker, first, rows);
    for (size_t i = 0; i < ROWS_COMPARED; i++)
        compare_row(own, worker, first, random_below(random, rows));
    st_space_worker_destroy(worker);
}

TEST_OF(test_rows_are_single_estimates, property_random *random, NULL, NULL)
{
    for (size_t i = 0; i < SPACES; i++) {
        fixture *own = NULL;
        set_up((void **)&own);
        chosen axes = choose_axes(random);
        for (size_t k = 0; k < axes.count; k++)
            printf("# %s%s", axes.overs[k], k + 1 == axes.count ? "\n" : " ");
        st_space_request request = {.job = "gpt3-175b-64xa100",
                                    .option = "--over",
                                    .overs = axes.overs,
                                    .over_count = axes.count,
                                    .cells = cells,
                                    .cell_count = CELLS,
                                    .sample = i % 4 == 3 ? 7 : 0,
                                    .seed = random_bits(random)};
        check_space(random, own, &request);
        (void)tear_down((void **)&own);
    }
}

/* A program leaves out what its model cannot have, and here an axis gives the model experts. */
TEST(test_models_change_along_an_axis)
{
    static const char *const axes[] = {"model.experts=0,8", "parallel.ep=1"};
    const st_space_request request = {.job = "mixtral-8x7b-64xh100",
                                      .option = "--over",
                                      .overs = axes,
                                      .over_count = 2,
                                      .cells = cells,
                                      .cell_count = CELLS,
                                      .checks_warn = true};
    fixture *own = NULL;
    set_up((void **)&own);
    check_space(*state, own, &request);
    (void)tear_down((void **)&own);
}

/* Enough rows for the axes within a piece to become a product of lists, with axes outside of it and
 * without. */
TEST(test_axes_are_products)
{
    static const char *const axes[][AXES] = {{"batch.global=64..640+8", "parallel.tp=1..8*2",
                                              "parallel.pp=1,2,4,8,96", "batch.micro=1..7+2"},
                                             {"parallel.tp=1..8*2", "batch.micro=1..7+2",
                                              "batch.global=64..640+8", "parallel.pp=1,2,4,8,96"}};
    for (size_t i = 0; i < sizeof axes / sizeof axes[0]; i++) {
        const st_space_request request = {.job = "gpt3-175b-64xa100",
                                          .option = "--over",
                                          .overs = axes[i],
                                          .over_count = AXES,
                                          .cells = cells,
                                          .cell_count = CELLS};
        fixture *own = NULL;
        set_up((void **)&own);
        check_space(*state, own, &request);
        (void)tear_down((void **)&own);
    }
}

/* A sample has as many rows as asked for, in the order of the space and none twice. */
TEST_OF(test_samples_are_in_order, property_random *random, NULL, NULL)
{
    for (size_t i = 0; i < 200; i++) {
        st_space space = {.total = 1 + random_below(random, 100000),
                          .request = {.seed = random_bits(random)}};
        space.rows = 1 + random_below(random, (size_t)space.total);
        uint64_t last = 0;
        for (uint64_t row = 0; row < space.rows; row++) {
            uint64_t pick = st_space_pick(&space, row);
            assert_true(pick < space.total);
            assert_true(row == 0 || pick > last);
            last = pick;
        }
    }
}

TESTS_WITH(sweep, property_setup, NULL);
