/* SPDX-License-Identifier: Apache-2.0 */
/* Rows estimated by those that are like them: which columns are given up, and which row is nearest.
 */
#include "base_support.h"

#include "fit/steps/calibrate.h"

enum { ROWS = 7 };

#define LONG "kkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkk" /* 63 letters */

static const char table[] = "id,gpu,experts,kind\n"
                            "0,h100,,x\n1,h100,64,x\n2,a100,,y\n3,h100,8,y\n4,a100,8,x\n5,h100,,x\n"
                            "6,mi300x,,z\n";

/* The fourth has no rate that is known; the last two are not seen. */
static const double rates[ROWS] = {0.31, 0.37, 0.43, 0.59, (double)NAN, 0.97, 0.91};

static double ask(st_naive naive, const char *const *columns, size_t count, size_t row)
{
    st_used_row used[ROWS] = {{.set = 0}};
    bool seen[ROWS] = {true, true, true, true, true, false, false};
    double scratch[ROWS];
    const st_csv *csv = NULL;
    st_arena *arena = st_arena_create();
    assert_int_equal(st_csv_parse("t.csv", table, strlen(table), arena, &csv, NULL), ST_OK);
    st_row lines[ROWS];
    for (size_t i = 0; i < ROWS; i++) {
        used[i].row = i;
        lines[i] = (st_row){.line = i};
    }
    const st_measured set = {.csv = csv, .rows = lines, .row_count = ROWS};
    st_calibration calibration = {.sets = &set, .set_count = 1, .rows = used, .row_count = ROWS};
    calibration.alike[naive] = (st_alike){columns, count};
    seen[row] = false; /* no row tells of itself */
    double found = st_naive_mfu(&calibration, naive, row, rates, seen, scratch);
    st_arena_destroy(arena);
    return found;
}

static void assert_near(size_t index, double value, double expected)
{
    if (!(fabs(value - expected) <= 1e-12))
        fail_msg("case %zu: %.17g is not %.17g", index, value, expected);
}

TEST(columns_are_given_up_from_the_first_on)
{
    static const struct {
        const char *columns[2];
        size_t row;
        double rate;
    } cases[] = {
        {{"gpu", "experts?"}, 0, 0.43},              /* the GPU is given up */
        {{"experts?", "gpu"}, 0, (0.37 + 0.59) / 2}, /* the experts are */
        {{"gpu", "experts?"}, 1, 0.59},              /* 8 experts are some, as 64 are */
        {{"gpu", "experts"}, 1, 0.43},               /* both are: of 0.31, 0.43 and 0.59 */
        {{"gpu", "kind"}, 6, (0.37 + 0.43) / 2},     /* of all four */
        {{"gpu", LONG}, 0, (0.37 + 0.59) / 2},       /* blank in all rows */
        {{"gpu", LONG "?"}, 0, (0.37 + 0.59) / 2},
        {{"gpu", LONG "k"}, 0, 0.43}, /* too long to be a column: no two rows agree */
        {{"gpu", LONG "k?"}, 0, 0.43},
    };
    (void)state;
    for (size_t i = 0; i < COUNT(cases); i++)
        assert_near(i, ask(ST_NAIVE_MFU, cases[i].columns, 2, cases[i].row), cases[i].rate);
}

TEST(the_nearest_row_agrees_in_the_last_column)
{
    static const struct {
        const char *columns[2];
        size_t row;
        double rate;
    } cases[] = {
        {{"gpu", "kind"}, 0, 0.37},      {{"gpu", "kind"}, 2, 0.59}, {{"gpu", "kind"}, 3, 0.43},
        {{"kind", "gpu"}, 3, 0.31}, /* the first of two of the GPU */
        {{"gpu", "kind"}, 5, 0.31},      {{"gpu", "kind"}, 6, 0.31}, /* the first, though not alike
                                                                      */
        {{"experts?", "kind"}, 4, 0.37},
    };
    (void)state;
    for (size_t i = 0; i < COUNT(cases); i++)
        assert_near(i, ask(ST_NAIVE_NEAREST, cases[i].columns, 2, cases[i].row), cases[i].rate);
}

TEST(without_columns_nothing_is_estimated)
{
    assert_true(isnan(ask(ST_NAIVE_MFU, NULL, 0, 0)));
    assert_true(isnan(ask(ST_NAIVE_NEAREST, NULL, 0, 0)));
}

TESTS(naive);
