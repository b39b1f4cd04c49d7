/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What searches and scaling studies show is what an estimate of the shown plan says, and plans that
 * tie are merged as the words say: the first of them is listed, the others are counted.
 */
#include "../unit/job_support.h"
#include "property.h"

#include "search/scale.h"
#include "steptime/estimate.h"

#include <math.h>

enum { MOST_SETS = 40, SEARCHES = 3 };

static const char job_name[] = "llama3-8b-8xh100";

/* A cell of the job with so many sets, and those of a plan, "KEY=VALUE KEY=VALUE ...". */
static double estimate_of(fixture *own, const char *const *sets, size_t count, const char *plan,
                          const char *cell)
{
    st_estimate_request request = ST_ESTIMATE_REQUEST_INIT;
    st_estimate *estimate = NULL;
    st_estimate_cell read = ST_ESTIMATE_CELL_INIT;
    const char *all[MOST_SETS];
    char *words = st_arena_copy(own->arena, plan, strlen(plan));
    assert_non_null(words);
    memcpy(all, sets, count * sizeof *sets);
    for (char *word = strtok(words, " "); word != NULL; word = strtok(NULL, " ")) {
        assert_in_range(count, 0, MOST_SETS - 1);
        all[count++] = word;
    }
    request.job = job_name;
    request.sets = all;
    request.set_count = count;
    if (st_estimate_create(&request, &estimate, own->errors) != ST_OK ||
        st_estimate_read(estimate, cell, &read, own->errors) != ST_OK)
        fail_msg("%s: %s", plan, said(own));
    double value = read.value;
    st_estimate_destroy(estimate);
    st_errors_clear(own->errors);
    return value;
}

static void expect_number(const char *what, double value, double wanted)
{
    if (!(fabs(value - wanted) <= 1e-11 * fabs(wanted)) && !(isnan(value) && isnan(wanted)))
        fail_msg("%s is %.17g, not %.17g", what, value, wanted);
}

/* ---- scaling ---- */

static void expect_row(fixture *own, const st_scale_row *row, const char *const *sets,
                       size_t set_count)
{
    static const struct {
        size_t value;
        const char *cell;
    } cells[] = {{ST_SCALE_EXPOSED, "time_exposed"},
                 {ST_SCALE_MFU, "mfu"},
                 {ST_SCALE_MEMORY, "memory"},
                 {ST_SCALE_TOKENS, "tokens"}};
    const char *all[4];
    memcpy(all, sets, set_count * sizeof *sets);
    all[set_count++] = st_arena_printf(own->arena, "batch.global=%.0f", row->batch);
    all[set_count++] = st_arena_printf(own->arena, "cluster.nodes=%.0f", fmax(row->gpus / 8, 1));
    expect_number("gpus", estimate_of(own, all, set_count, row->plan, "gpus"), row->gpus);
    expect_number("step_time", row->time, estimate_of(own, all, set_count, row->plan, "step_time"));
    for (size_t i = 0; i < sizeof cells / sizeof cells[0]; i++)
        expect_number(cells[i].cell, row->values[cells[i].value],
                      estimate_of(own, all, set_count, row->plan, cells[i].cell));
}

static st_scale study(fixture *own, const st_scale_request *request)
{
    st_search_watch watch = {.progress = NULL};
    st_scale scale;
    if (st_scale_run(own->paths, request, &watch, own->arena, &scale, own->errors) != ST_OK)
        fail_msg("%s", said(own));
    st_errors_clear(own->errors);
    return scale;
}

/* Sequences per second and GPU, over those of the first row with a plan. */
static void expect_efficiency(const st_scale *scale)
{
    double first = 0;
    for (size_t i = 0; i < scale->count; i++) {
        const st_scale_row *row = &scale->rows[i];
        if (!row->found)
            continue;
        double rate = row->batch / row->time / row->gpus;
        first = first > 0 ? first : rate;
        expect_number("efficiency", row->efficiency, rate / first);
    }
}

TEST_OF(rows_of_a_study_are_estimates, property_random *random, NULL, NULL)
{
    static const char *const gpus[] = {"8..64*2", "16..32*2", "8,24,48"};
    for (size_t i = 0; i < SEARCHES; i++) {
        fixture *own = NULL;
        set_up((void **)&own);
        int each = random_between(random, 2, 5);
        const char *sets[] = {st_arena_printf(own->arena, "batch.global=%d", 48 * each),
                              "cluster.nodes=8"};
        st_scale_request request = {
            .search = {.space = {.job = job_name, .sets = sets, .set_count = 2},
                       .gpus = gpus[i],
                       .threads = 1},
            .weak = random_below(random, 2) == 0,
            .fixed = i == 1};
        st_scale scale = study(own, &request);
        assert_string_equal(scale.job, job_name);
        assert_string_equal(scale.goal, "step_time");
        assert_int_equal(scale.weak, request.weak);
        size_t found = 0;
        for (size_t k = 0; k < scale.count; k++) {
            const st_scale_row *row = &scale.rows[k];
            double grown = floor(48 * each * row->gpus / 8 + 0.5); /* the job has 8 GPUs */
            expect_number("batch", row->batch, request.weak ? grown : 48 * each);
            found += row->found ? 1 : 0;
            if (row->found)
                expect_row(own, row, sets, 0);
            else
                assert_true(row->miss != NULL && row->miss[0] != '\0');
        }
        assert_int_equal(scale.found, found);
        assert_true(found > 0);
        expect_efficiency(&scale);
        (void)tear_down((void **)&own);
    }
}

/* ---- ties ---- */

typedef struct shown {
    st_search *search;
    st_search_result result;
    st_search_view view;
} shown;

static shown find(fixture *own, const char *const *sets, size_t top, bool merges, double tie)
{
    static const char *const cells[] = {"step_time", "gpus", "t_tp[dense]"};
    shown made;
    st_search_watch watch = {.progress = NULL};
    st_search_request request = {.space = {.job = job_name, .sets = sets, .set_count = 2},
                                 .gpus = "8",
                                 .cells = cells,
                                 .cell_count = 3,
                                 .top = top,
                                 .merges = merges,
                                 .tie_frac = tie,
                                 .threads = 1};
    if (st_search_create(own->paths, &request, own->arena, &made.search, own->errors) != ST_OK ||
        st_search_run(made.search, &st_one_process, &watch, &made.result, own->errors) != ST_OK)
        fail_msg("%s", said(own));
    return made;
}

static void view(fixture *own, shown *one)
{
    if (st_search_view_make(own->paths, one->search, &one->result, &one->view, own->errors) !=
        ST_OK)
        fail_msg("%s", said(own));
    st_errors_clear(own->errors);
}

static bool is_tied(const shown *one, const double *a, const double *b, double share)
{
    const st_space *space = one->view.detail.space;
    for (size_t i = 0; i < space->cell_count; i++) {
        bool is_part = i >= one->view.part_from && i < one->view.part_from + one->view.part_count;
        double most = space->types[i]->kind == ST_TYPE_NUMBER ? share : 0;
        if (!is_part && a[i] != b[i] && !(fabs(a[i] - b[i]) <= most * fmax(fabs(a[i]), fabs(b[i]))))
            return false;
    }
    return true;
}

/* Every plan that is ranked without merging ties with one that is listed before it, or is listed.
 */
static void expect_merged(const shown *all, const shown *merged, double share)
{
    size_t cells = all->view.detail.space->cell_count;
    size_t kept[ST_SEARCH_MAX_TOP];
    uint64_t equals[ST_SEARCH_MAX_TOP] = {0};
    size_t count = 0;
    uint64_t others = 0;
    for (size_t i = 0; i < all->view.ranked_count; i++) {
        size_t k = 0;
        while (k < count && !is_tied(all, all->view.ranking + kept[k] * cells,
                                     all->view.ranking + i * cells, share))
            k++;
        if (k < count) {
            equals[k]++;
            others++;
        } else {
            kept[count++] = i;
        }
    }
    assert_int_equal(merged->view.ranked_count, count);
    assert_true(merged->view.merged == others);
    for (size_t k = 0; k < count; k++) {
        assert_true(merged->view.ranked[k].row == all->view.ranked[kept[k]].row);
        assert_true(merged->view.equals[k] == equals[k]);
        for (size_t i = 0; i < cells; i++)
            expect_number("a merged cell", merged->view.ranking[k * cells + i],
                          all->view.ranking[kept[k] * cells + i]);
    }
    assert_true(share <= 0 || others > 0);
}

TEST_OF(plans_that_tie_are_listed_once, property_random *random, NULL, NULL)
{
    static const double shares[] = {0, 0.002, 0.03};
    for (size_t i = 0; i < SEARCHES; i++) {
        fixture *own = NULL;
        set_up((void **)&own);
        const char *sets[] = {
            st_arena_printf(own->arena, "batch.global=%d", 16 * random_between(random, 1, 3)),
            "parallel.cp=1"};
        shown all = find(own, sets, ST_SEARCH_MAX_TOP, false, 0);
        shown merged = find(own, sets, ST_SEARCH_MAX_TOP, true, shares[i]);
        view(own, &all);
        view(own, &merged);
        assert_in_range(all.result.found.ranking_count, 10, ST_SEARCH_MAX_TOP - 1);
        assert_int_equal(all.view.ranked_count, all.result.found.ranking_count);
        expect_merged(&all, &merged, shares[i]);
        assert_true(!merged.view.more_ties);
        (void)tear_down((void **)&own);
    }
}

/* The job file of a ranked plan is a job with that plan's results. */
TEST(a_written_plan_has_the_results_that_were_shown)
{
    fixture *own = NULL;
    (void)state;
    set_up((void **)&own);
    const char *sets[] = {"batch.global=32", "parallel.cp=1"};
    shown one = find(own, sets, 5, false, 0);
    view(own, &one);
    for (size_t rank = 1; rank <= one.view.ranked_count; rank++) {
        st_buffer file = {0};
        st_estimate_request request = ST_ESTIMATE_REQUEST_INIT;
        st_estimate *estimate = NULL;
        st_estimate_cell read = ST_ESTIMATE_CELL_INIT;
        assert_int_equal(st_search_write_plan(own->paths, &one.view, rank, &file, own->errors),
                         ST_OK);
        write_bytes(own, "plan.yaml", file.data, file.length);
        request.job = below(own, "plan.yaml");
        if (st_estimate_create(&request, &estimate, own->errors) != ST_OK ||
            st_estimate_read(estimate, "step_time", &read, own->errors) != ST_OK)
            fail_msg("%s\n%s", said(own), file.data);
        expect_number("step_time", read.value, one.view.ranked[rank - 1].goal);
        st_estimate_destroy(estimate);
        st_buffer_free(&file);
    }
    (void)tear_down((void **)&own);
}

TESTS_WITH(search_shown, property_setup, NULL);
