/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A row of a sweep that plugins refine has the bits of the single estimate with the same values,
 * and is told to be refused where and only where that estimate says that a plugin refuses: also
 * where an axis moves what the plugin alone reads of the job.
 */
#include "../unit/job_support.h"
#include "property.h"

#include "sweep/space.h"

enum { SPACES = DRAWS(16), ROWS_COMPARED = 12, AXES = 4, CELLS = 3 };

static const char *const pool[] = {
    "parallel.tp=1,2,3,4,6,8,12,16",
    "parallel.pp=1..8*2",
    "parallel.dp=1,2,3,5",
    "batch.micro=1..4",
    "cluster.gpus_per_node=4,6,8",
    "cluster.gpu=a100-sxm-80gb,h100-sxm,v100-sxm",
    "cluster.gpu.compute_capability=7,8,9",
    "cluster.nic_bandwidth=100..400*2 Gbit/s",
    "cluster=selene,dgx-h100",
    "model=gpt3-175b,llama2-7b",
    "parallel.order=tp-dp-pp,tp-pp-dp,pp-tp,dp-tp-pp",
    "overlap.gradients=0.05..0.95+0.3",
};
enum { POOL = sizeof pool / sizeof pool[0] };

static const char *const refinements[] = {
    "nccl-whitebox",
    "nccl-whitebox:nvls=off,offset=2.385 us",
    "nccl-whitebox:algorithm=nvls",
    "nccl-whitebox:algorithm=nvls,fallback=formula",
    "alpha-beta+overlap-constant",
    "nccl-tuning:fallback=formula+overlap-constant",
};
enum { REFINEMENTS = sizeof refinements / sizeof refinements[0] };

static const char *const cells[CELLS] = {"step_time", "time_exposed", "time_dp"};

typedef struct drawn {
    const char *refine;
    const char *overs[AXES];
    size_t count;
} drawn;

static int set_up_plugins(fixture **own)
{
    int status = set_up((void **)own);
    const char *tests = getenv("STEPTIME_TEST_PLUGINS"); /* tests/ of the build folder */
    assert_int_equal(status, 0);
    assert_non_null(tests);
    const char *folder = st_arena_printf((*own)->arena, "%s/..", tests);
    const char *folders[] = {(*own)->folder, folder};
    st_paths_destroy((*own)->paths);
    return st_paths_create(folders, 2, &(*own)->paths, (*own)->errors) == ST_OK ? 0 : 1;
}

static drawn draw(property_random *random)
{
    drawn made = {.refine = refinements[random_below(random, REFINEMENTS)]};
    size_t wanted = 1 + random_below(random, AXES);
    while (made.count < wanted) {
        const char *axis = pool[random_below(random, POOL)];
        bool twice = false;
        for (size_t i = 0; i < made.count; i++)
            twice = twice || made.overs[i] == axis;
        if (!twice)
            made.overs[made.count++] = axis;
    }
    printf("# --refine %s", made.refine);
    for (size_t i = 0; i < made.count; i++)
        printf(" --over %s", made.overs[i]);
    printf("\n");
    return made;
}

/* The single estimate of a row; the status is ST_OK where it has every value. */
static st_status estimate_row(fixture *own, const st_space *space, uint64_t row, double *values)
{
    const char *sets[AXES];
    for (size_t i = 0; i < space->axis_count; i++) {
        char storage[ST_AXIS_TEXT];
        const st_axis *axis = &space->axes[i].axis;
        const char *text = st_axis_text(axis, st_space_digit(space, i, row), storage);
        sets[i] = st_arena_printf(own->arena, "%s=%s", axis->path, text);
    }
    st_request request = {.job = "gpt3-175b-64xa100",
                          .sets = sets,
                          .set_count = space->axis_count,
                          .refine = space->request.refine,
                          .refine_count = space->request.refine_count};
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

/* Whether a row is told to be refused; then the estimate must say so, too. */
static bool compare_row(fixture *own, const st_space_worker *worker, size_t row)
{
    double values[CELLS] = {0};
    const st_space *space = worker->space;
    st_status status = estimate_row(own, space, row, values);
    uint32_t reason = worker->reasons[row];
    bool refused = reason >= st_reason_refused(space, 0);
    if ((reason == ST_REASON_NONE) != (status == ST_OK))
        fail_msg("row %zu is %s: %s", row,
                 reason == ST_REASON_NONE ? "kept, and the estimate fails"
                                          : "rejected, and the estimate does not fail",
                 reason == ST_REASON_NONE ? said(own) : st_reason_text(space, reason));
    if (refused && strstr(said(own), "refuses") == NULL)
        fail_msg("row %zu: %s, and alone: %s", row, st_reason_text(space, reason), said(own));
    if (reason == st_reason_no_value(space) && strstr(said(own), "refuses") != NULL)
        fail_msg("row %zu: no value, and alone: %s", row, said(own));
    for (size_t i = 0; reason == ST_REASON_NONE && i < CELLS; i++)
        if (!same_bits(worker->outputs[i][row], values[i]))
            fail_msg("row %zu: %s is %.17g, and alone %.17g", row, cells[i],
                     worker->outputs[i][row], values[i]);
    st_errors_clear(own->errors);
    return refused;
}

/* How many of the compared rows are refused. */
static size_t check_space(property_random *random, fixture *own, const drawn *from)
{
    st_space *space = NULL;
    size_t refused = 0;
    const st_space_request request = {.job = "gpt3-175b-64xa100",
                                      .refine = &from->refine,
                                      .refine_count = 1,
                                      .option = "--over",
                                      .overs = from->overs,
                                      .over_count = from->count,
                                      .cells = cells,
                                      .cell_count = CELLS};
    if (st_space_create(own->paths, &request, own->arena, &space, own->errors) != ST_OK)
        fail_msg("%s", said(own));
    st_space_worker *worker = st_space_worker_create(space);
    assert_non_null(worker);
    size_t rows = space->rows < ST_SPACE_BLOCK ? (size_t)space->rows : ST_SPACE_BLOCK;
    st_errors_clear(own->errors);
    st_space_run(worker, 0, rows);
    for (size_t i = 0; i < ROWS_COMPARED; i++)
        refused += compare_row(own, worker, random_below(random, rows)) ? 1 : 0;
    st_space_worker_destroy(worker);
    return refused;
}

TEST_OF(test_rows_are_refined_single_estimates, property_random *random, NULL, NULL)
{
    for (size_t i = 0; i < SPACES; i++) {
        fixture *own = NULL;
        assert_int_equal(set_up_plugins(&own), 0);
        drawn from = draw(random);
        (void)check_space(random, own, &from);
        (void)tear_down((void **)&own);
    }
}

/* NVLS alone, on machines that have none: rows are refused, and it is the plugin that they name. */
TEST_OF(test_refusals_are_told, property_random *random, NULL, NULL)
{
    fixture *own = NULL;
    const drawn from = {
        .refine = "nccl-whitebox:algorithm=nvls",
        .overs = {"cluster.gpu=a100-sxm-80gb,v100-sxm", "parallel.tp=8", "parallel.dp=1,2,4"},
        .count = 3};
    assert_int_equal(set_up_plugins(&own), 0);
    assert_true(check_space(random, own, &from) > 0);
    (void)tear_down((void **)&own);
}

TESTS_WITH(refine, property_setup, NULL);
