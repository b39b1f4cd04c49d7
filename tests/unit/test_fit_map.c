/* SPDX-License-Identifier: Apache-2.0 */
/* A map of what fits: which plan a cell keeps, which rows and columns go, text, CSV and picture. */
#include "report_support.h"

#include "base/lists.h"
#include "sweep/fit_map.h"

static const char *const down[] = {"1", "2", "4"};
static const char *const across[] = {"8", "16", "32", "64"};

typedef struct map_case {
    st_fit_map map;
    st_type time;
    st_map_cell cells[12];
    const char *texts[2][4];
    st_arena *arena;
} map_case;

static int make_map(void **state)
{
    map_case *self = calloc(1, sizeof *self);
    if (self == NULL)
        return -1;
    self->arena = st_arena_create();
    self->time.unit = st_unit_one();
    assert_int_equal(st_unit_parse("s", 1, (st_place){0}, &self->time.unit, NULL), ST_OK);
    memcpy(self->texts[0], down, sizeof down);
    memcpy(self->texts[1], across, sizeof across);
    self->map = (st_fit_map){.job = "small",
                             .goal = "step_time",
                             .goal_type = &self->time,
                             .sign = 1,
                             .keys = {"parallel.tp", "cluster.gpus"},
                             .texts = {self->texts[0], self->texts[1]},
                             .count = {3, 4},
                             .cells = self->cells,
                             .plans = 29,
                             .arena = self->arena};
    *state = self;
    return 0;
}

static int drop_map(void **state)
{
    map_case *self = *state;
    st_arena_destroy(self->arena);
    free(self);
    return 0;
}

static st_map_cell fits(double goal)
{
    return (st_map_cell){.tried = true, .fits = true, .goal = goal, .memory_bytes = 0x1p35};
}

static st_map_cell lacks(double goal, double missing)
{
    return (st_map_cell){
        .tried = true, .goal = goal, .memory_bytes = 0x1p37, .missing_bytes = missing};
}

TEST_OF(a_cell_keeps_the_better_plan, map_case *self, make_map, drop_map)
{
    const struct {
        st_map_cell first;
        st_map_cell second;
        double sign;
        bool second_stays;
    } rows[] = {
        {fits(2.385), fits(2.384), 1, true},           {fits(2.385), fits(2.386), 1, false},
        {fits(2.385), fits(2.384), -1, false},         {fits(2.385), fits(2.386), -1, true},
        {fits(2.385), lacks(0.5, 3e9), 1, false},      {lacks(0.5, 3e9), fits(2.385), 1, true},
        {lacks(0.5, 3e9), lacks(7.25, 2e9), 1, true}, /* the goal does not matter */
        {lacks(7.25, 2e9), lacks(0.5, 3e9), 1, false},
    };
    for (size_t i = 0; i < ST_COUNT(rows); i++) {
        st_map_cell *cell = &self->cells[1 * 4 + 3];
        self->map.sign = rows[i].sign;
        *cell = (st_map_cell){0};
        st_fit_map_take(&self->map, 1, 3, &rows[i].first);
        assert_true(cell->goal == rows[i].first.goal); /* the first one stays whatever it is */
        st_fit_map_take(&self->map, 1, 3, &rows[i].second);
        double kept = rows[i].second_stays ? rows[i].second.goal : rows[i].first.goal;
        assert_true(cell->goal == kept);
    }
    st_fit_map_take(&self->map, 1, 3, &(st_map_cell){.tried = true, .fits = true, .goal = 2.25});
    for (size_t i = 0; i < ST_COUNT(self->cells); i++)
        assert_int_equal(self->cells[i].tried, i == 7);
}

/* Plans at (1, 16), (1, 64) and (4, 16); nothing of 2, 8 and 32. */
static void fill(map_case *self)
{
    const st_map_cell some[] = {fits(2.385), lacks(4.75, 0x1p34), fits(3.625)};
    st_fit_map_take(&self->map, 0, 1, &some[0]);
    st_fit_map_take(&self->map, 0, 3, &some[1]);
    st_fit_map_take(&self->map, 2, 1, &some[2]);
}

TEST_OF(rows_and_columns_without_a_plan_go, map_case *self, make_map, drop_map)
{
    assert_false(st_fit_map_fits(&self->map));
    fill(self);
    assert_true(st_fit_map_fits(&self->map));
    st_fit_map_pack(&self->map);
    assert_int_equal(self->map.count[0], 2);
    assert_int_equal(self->map.count[1], 2);
    assert_string_equal(self->map.texts[0][0], "1");
    assert_string_equal(self->map.texts[0][1], "4");
    assert_string_equal(self->map.texts[1][0], "16");
    assert_string_equal(self->map.texts[1][1], "64");
    static const double goals[] = {2.385, 4.75, 3.625};
    for (size_t i = 0; i < ST_COUNT(goals); i++)
        assert_true(self->cells[i].goal == goals[i]);
    assert_false(self->cells[3].tried);
    self->map.cells[0].fits = self->map.cells[2].fits = false;
    assert_false(st_fit_map_fits(&self->map));
}

TEST_OF(text_json_and_csv_say_the_same, map_case *self, make_map, drop_map)
{
    static const struct {
        st_form form;
        const char *said[6];
    } forms[] = {
        {ST_FORM_TEXT,
         {"job   small\ngoal  step_time of the best plan", "parallel.tp down, cluster.gpus across",
          "parallel.tp       16            64", "2.385 s", "lacks 16 GiB", "3.625 s"}},
        {ST_FORM_CSV,
         {"row,column,fits,value,memory_gib,missing_gib", "1,16,true,2.385,32,0",
          "1,64,false,4.75,128,16", "4,16,true,3.625,32,0"}},
        {ST_FORM_JSON, {"\"plans\": 29", "\"rows\": \"parallel.tp\"", "\"missing_gib\": 16"}},
    };
    fill(self);
    st_fit_map_pack(&self->map);
    for (size_t i = 0; i < ST_COUNT(forms); i++) {
        st_result result;
        st_fit_map_put(&self->map, &result);
        assert_form_has(&result, forms[i].form, forms[i].said, ST_COUNT(forms[i].said));
    }
}

TEST_OF(the_picture_has_a_box_for_each_plan, map_case *self, make_map, drop_map)
{
    static const char *const parts[] = {
        "width=\"480\"",
        "x=\"110\" y=\"70\" width=\"108\" height=\"42\"",
        "x=\"220\" y=\"70\" width=\"108\" height=\"42\"",
        "x=\"110\" y=\"114\" width=\"108\" height=\"42\"",
        "x=\"164\" y=\"88\"",
        "x=\"164\" y=\"104\"",
        "x=\"102\" y=\"96\"",
        "x=\"275\" y=\"176\"",
        "What fits: small",
    };
    st_buffer svg = {0};
    fill(self);
    st_fit_map_pack(&self->map);
    st_fit_map_svg(&self->map, &svg);
    const char *text = st_buffer_read(&svg);
    for (size_t i = 0; i < ST_COUNT(parts); i++)
        assert_contains(text, parts[i]);
    assert_null(strstr(text, "x=\"220\" y=\"114\"")); /* no plan, no box */
    st_buffer_free(&svg);
}

TESTS(fit_map);
