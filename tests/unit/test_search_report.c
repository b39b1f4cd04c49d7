/* SPDX-License-Identifier: Apache-2.0 */
/* What a search says: its ranking, ties, parts, what is fixed, what is nearest, maps of plans. */
#include "search_support.h"

#include "sweep/fit_map.h"

#include <math.h>

/*
 * 0.3 x 1.05 + 0.0385 / 2, 0.3 x 1.1 + 0.0385 / 2, 0.315 + 0.0385, 0.3 x 1.15 + 0.0385 / 4, of
 * which there are two, 1 by 4 and 2 by 2.
 */
TEST_WITH(a_ranking_has_parts_and_settings, set_up, tear_down)
{
    const st_search_request request = bread_request(NULL, 0, 4);
    const char *text = form_of(*state, view_of(*state, &request), ST_FORM_TEXT);
    static const char *const parts[] = {
        "job       bread\nsheet     oven\nGPUs      8\n"
        "fixed     batch.global=8 (bread.yaml:3), 1 more of bread.yaml\n"
        "varied    tp pp dp micro\n"
        "plans     30, of which 25 pass all checks\nerror     not known",
        "\nminimise  T, exhaustive\n\nRanking\n"
        "  rank  ties         T        M  tp  pp  dp  micro\n"
        "     1     0  334.2 ms    7 GiB   1   2   4      2\n"
        "     2     0  349.2 ms    7 GiB   2   1   4      2\n"
        "     3     0  353.5 ms  6.5 GiB   1   2   4      1\n"
        "     4     1  354.6 ms    5 GiB   1   4   2      4\n"
        "  ties 1 plan within 0.1 % of these, by other tp, pp (--tie 0 lists them)\n\n"
        "Parts of T\n"
        "  rank  T_bake    T_rise\n"
        "     1  315 ms  19.25 ms\n"
        "     2  330 ms  19.25 ms\n"
        "     3  315 ms   38.5 ms\n"
        "     4  345 ms  9.625 ms\n\n"
        "The second plan: T +15 ms, of which T_bake +15 ms\n\n"
        "Settings\n"
        "     1  --set parallel.pp=2 --set parallel.dp=4 --set batch.micro=2\n"
        "     2  --set parallel.tp=2 --set parallel.dp=4 --set batch.micro=2\n",
        "\nrejected 5 of 30 rows\n"
        "         4  not: t <= 4 - too wide\n"
        "         1  not: M <= room - too hot\n"};
    for (size_t i = 0; i < COUNT(parts); i++)
        assert_contains(text, parts[i]);
    assert_lacks(text, "fits");
    assert_lacks(text, "Pareto");
    assert_lacks(text, "Nearest");
    assert_lacks(text, "searched");
}

/* What all plans share is said once, settings of the first alone, and nothing of parts. */
TEST_WITH(a_brief_report_fits_a_screen, set_up, tear_down)
{
    st_search_request request = bread_request(NULL, 0, 4);
    request.detailed = false;
    const char *text = form_of(*state, view_of(*state, &request), ST_FORM_TEXT);
    static const char *const parts[] = {
        "\nminimise  T, exhaustive\n\n"
        "  rank  ties         T        M  tp  pp  dp  micro\n"
        "     1     0  334.2 ms    7 GiB   1   2   4      2\n",
        "  The second plan: T +15 ms, of which T_bake +15 ms\n"
        "  plan 1  --set parallel.pp=2 --set parallel.dp=4 --set batch.micro=2\n"
        "rejected  5: 4 not: t <= 4; 1 not: M <= room\n"};
    for (size_t i = 0; i < COUNT(parts); i++)
        assert_contains(text, parts[i]);
    assert_lacks(text, "Parts");
    assert_lacks(text, "Settings");
    request.top = 2;
    request.space.sets = (const char *const[]){"parallel.pp=2"};
    request.space.set_count = 1;
    text = form_of(*state, view_of(*state, &request), ST_FORM_TEXT);
    assert_contains(text, "  rank         T        M  micro\n");
    assert_contains(text, "\n  all: tp 1, dp 4\n");
    for (const char *line = text; *line != '\0'; line += strcspn(line, "\n") + 1)
        assert_in_range(strcspn(line, "\n"), 0, ST_SEARCH_COLUMNS);
}

TEST_WITH(programs_get_all_of_a_plan, set_up, tear_down)
{
    const st_search_request request = bread_request(NULL, 0, 4);
    const st_search_view *view = view_of(*state, &request);
    const char *json = form_of(*state, view, ST_FORM_JSON);
    static const char *const parts[] = {
        "\"minimise\": \"T\",\n  \"exhaustive\": true,\n  \"limited\": false,\n  \"method\": "
        "\"exhaustive\",\n  \"plans\": 30,\n  \"kept\": 25,\n  \"merged\": 1,",
        "\"tie\": 0.001,",
        "\"held\": [\n    {\"key\": \"batch.global\", \"value\": \"8\", \"by\": "
        "\"bread.yaml:3\"},\n"
        "    {\"key\": \"constants.work\", \"value\": \"2.4 s\", \"by\": \"bread.yaml:4\"}\n  ]",
        "\"varied\": [\"parallel.tp\", \"parallel.pp\", \"parallel.dp\", \"batch.micro\"]",
        "{\"plan\": {\"parallel.tp\": \"2\", \"parallel.pp\": \"1\", \"parallel.dp\": \"4\", "
        "\"batch.micro\": \"2\"}, \"set\": [\"parallel.tp=2\", \"parallel.dp=4\", "
        "\"batch.micro=2\"], \"equal\": 0, \"fits\": true, \"cells\": {\"T\": 0.34925, \"M\": 7",
        "\"rejected\": [\n    {\"reason\": \"t <= 4\", \"plans\": 4},\n    {\"reason\": \"M <= "
        "room\", \"plans\": 1}\n  ]"};
    for (size_t i = 0; i < COUNT(parts); i++)
        assert_contains(json, parts[i]);
    const char *csv = form_of(*state, view, ST_FORM_CSV);
    assert_contains(csv, "rank,parallel.tp,parallel.pp,parallel.dp,batch.micro,T [s],M [GiB],"
                         "T_bake [s],T_rise [s]\n1,1,2,4,2,0.33425,7,0.315,0.01925\n");
    assert_contains(csv, "\n3,1,2,4,1,0.3535,6.5,0.315,0.0385\n");
}

/* Each plan by itself: the two that tie follow each other, and are as long. */
TEST_WITH(ties_are_listed_where_they_are_wanted, set_up, tear_down)
{
    static const char *const sets[] = {"parallel.dp=2", "batch.micro=4"};
    st_search_request request = bread_request(sets, 2, 3);
    request.merges = false;
    const char *text = form_of(*state, view_of(*state, &request), ST_FORM_TEXT);
    assert_contains(text, "     1  354.6 ms  5 GiB   1   4\n"
                          "     2  354.6 ms  5 GiB   2   2\n"
                          "     3  399.6 ms  5 GiB   4   1\n");
    assert_lacks(text, "ties");
    assert_contains(text, "minimise  T, all 3 plans of the limited space\n");
    assert_contains(text, "fixed     parallel.dp=2, batch.micro=4 (--set), batch.global=8 "
                          "(bread.yaml:3), 1 more of bread.yaml\nvaried    tp pp\n");
    assert_contains(form_of(*state, view_of(*state, &request), ST_FORM_JSON), "\"tie\": 0,");
    /* A wider measure takes these three for one, of which two are not listed. */
    request.merges = true;
    request.tie_frac = 0.2;
    text = form_of(*state, view_of(*state, &request), ST_FORM_TEXT);
    assert_contains(text, "     1     2  354.6 ms  5 GiB   1   4\n  ties 2 plans within 20 % of "
                          "these, by other");
    assert_lacks(text, "second plan");
}

/* What is too hot is ranked, too, and said to be. */
TEST_WITH(plans_that_exceed_a_limit_may_be_ranked, set_up, tear_down)
{
    static const char *const sets[] = {"cluster.gpu.memory=6.9 GiB"};
    st_search_request request = bread_request(sets, 1, 3);
    request.all = true;
    const st_search_view *view = view_of(*state, &request);
    const char *text = form_of(*state, view, ST_FORM_TEXT);
    assert_contains(text, "     1  TOO LARGE  334.2 ms     7 GiB   1   2   4      2\n"
                          "     2  TOO LARGE  338.5 ms  12.5 GiB   1   1   8      1\n"
                          "     3  TOO LARGE  349.2 ms     7 GiB   2   1   4      2\n");
    assert_contains(text, "plans     30, of which 23 pass all checks\n"); /* of 25 */
    assert_contains(text,
                    "The second plan: T +4.25 ms, of which T_rise +19.25 ms, T_bake -15 ms\n");
    assert_contains(form_of(*state, view, ST_FORM_JSON), "\"equal\": 0, \"fits\": false");
    assert_contains(form_of(*state, view, ST_FORM_CSV), "rank,fits,parallel.tp,");
}

/* Longer and cooler, one after the other, and no plan that another one beats in both. */
TEST_WITH(a_front_has_what_no_plan_beats, set_up, tear_down)
{
    st_search_request request = bread_request(NULL, 0, 2);
    request.front[0] = "T";
    request.front[1] = "M";
    const char *text = form_of(*state, view_of(*state, &request), ST_FORM_TEXT);
    assert_contains(text, "\nPareto front of T and M: 7 plans\n"
                          "         T        M  tp  pp  dp  micro\n"
                          "  334.2 ms    7 GiB   1   2   4      2\n"
                          "  353.5 ms  6.5 GiB   1   2   4      1\n"
                          "  354.6 ms    5 GiB   1   4   2      4\n"
                          "  364.2 ms    4 GiB   1   4   2      2\n"
                          "  383.5 ms  3.5 GiB   1   4   2      1\n"
                          "  394.2 ms  2.5 GiB   2   4   1      2\n"
                          "  413.5 ms    2 GiB   2   4   1      1\n");
    static const char *const sets[] = {"parallel.dp=2", "batch.micro=4"}; /* of as much heat */
    request.space.sets = sets;
    request.space.set_count = 2;
    text = form_of(*state, view_of(*state, &request), ST_FORM_TEXT);
    assert_contains(text, "\nPareto front of T and M: 1 plans\n"
                          "         T      M  tp  pp\n"
                          "  354.6 ms  5 GiB   1   4\n");
}

/* Of another goal the parts of the step are shown, too. */
TEST_WITH(another_goal_may_be_great, set_up, tear_down)
{
    st_search_request request = bread_request(NULL, 0, 2);
    request.goal = "M";
    request.maximise = true;
    const char *text = form_of(*state, view_of(*state, &request), ST_FORM_TEXT);
    assert_contains(text, "\nmaximise  M, exhaustive\n");
    assert_contains(text, "     1  7 GiB  334.2 ms   1   2   4      2\n"
                          "     2  7 GiB  349.2 ms   2   1   4      2\n");
    assert_contains(text, "\nParts of T\n  rank  T_bake    T_rise\n     1  315 ms  19.25 ms\n");
    assert_lacks(text, "Parts of M");
    assert_contains(text, "\nThe second plan has the same M\n");
    assert_contains(form_of(*state, view_of(*state, &request), ST_FORM_JSON),
                    "\"maximise\": \"M\"");
}

TEST_WITH(columns_are_those_that_were_asked_for, set_up, tear_down)
{
    static const char *const columns[] = {"loaves", "T_rise"};
    st_search_request request = bread_request(NULL, 0, 2);
    request.cells = columns;
    request.cell_count = 2;
    const char *text = form_of(*state, view_of(*state, &request), ST_FORM_TEXT);
    assert_contains(text, "  rank         T  loaves    T_rise  tp  pp  dp  micro\n"
                          "     1  334.2 ms       4  19.25 ms   1   2   4      2\n");
    const char *csv = form_of(*state, view_of(*state, &request), ST_FORM_CSV);
    assert_contains(csv, "batch.micro,T [s],loaves,T_rise [s],T_bake [s]");
}

/* ---- where nothing is found ---- */

TEST_WITH(the_nearest_plan_says_what_it_lacks, set_up, tear_down)
{
    static const char *const sets[] = {"cluster.gpu.memory=1.9 GiB"};
    const st_search_request request = bread_request(sets, 1, 3);
    const st_search_view *view = view_of(*state, &request);
    const char *text = form_of(*state, view, ST_FORM_TEXT);
    assert_contains(text, "plans     30, of which 0 pass all checks\n");
    assert_contains(text, "\nNearest to fitting, TOO LARGE\n"
                          "         T      M  tp  pp  dp  micro\n"
                          "  443.5 ms  2 GiB   1   8   1      1\n"
                          "  --set 'cluster.gpu.memory=1.9 GiB' --set parallel.pp=8 --set "
                          "batch.micro=1\n  lacks: too hot\n");
    assert_contains(text, "rejected 30 of 30 rows\n         4  not: t <= 4 - too wide\n"
                          "        26  not: M <= room - too hot\n");
    assert_lacks(text, "Ranking");
    assert_contains(form_of(*state, view, ST_FORM_JSON), "\"lacks\": \"too hot\"");
}

TEST_WITH(another_check_is_no_limit, set_up, tear_down)
{
    static const char *const sets[] = {"parallel.tp=8"};
    const st_search_request request = bread_request(sets, 1, 3);
    const char *text = form_of(*state, view_of(*state, &request), ST_FORM_TEXT);
    assert_contains(text, "\nNearest to fitting\n");
    assert_contains(text, "\n  lacks: too wide\n");
}

TEST_WITH(what_divides_nothing_is_told, set_up, tear_down)
{
    static const char *const sets[] = {"parallel.dp=8", "batch.global=7"};
    const st_search_request request = bread_request(sets, 2, 3);
    const char *text = form_of(*state, view_of(*state, &request), ST_FORM_TEXT);
    assert_contains(text, "plans     0, of which 0 pass all checks\n");
    assert_contains(text, "\nNothing divides\n  lacks: no value of batch.micro times 8 "
                          "data-parallel ranks divides the 7 sequences of a step\n");
}

/* ---- what is fixed ---- */

TEST_WITH(the_last_of_several_sets_is_told, set_up, tear_down)
{
    static const char *const sets[] = {"batch.micro=4", "batch.global=16", "batch.micro=2"};
    const st_search_request request = bread_request(sets, 3, 2);
    const char *text = form_of(*state, view_of(*state, &request), ST_FORM_TEXT);
    assert_contains(text, "\nfixed     batch.global=16, batch.micro=2 (--set), 1 more of "
                          "bread.yaml\nvaried    tp pp dp\n");
}

TEST_WITH(what_nobody_gave_is_assumed, set_up, tear_down)
{
    static const char *const only[] = {"parallel.pp", "parallel.dp"};
    st_search_request request = bread_request(NULL, 0, 2);
    request.only = only;
    request.only_count = 2;
    request.limited = true;
    const char *text = form_of(*state, view_of(*state, &request), ST_FORM_TEXT);
    assert_contains(text, "\nfixed     batch.global=8 (bread.yaml:3), parallel.tp=1 (default), "
                          "batch.micro=1 (assumed), 1 more of\n          bread.yaml\n"
                          "varied    pp dp\n");
    assert_contains(text, "minimise  T, all 4 plans of the limited space\n");
    assert_contains(form_of(*state, view_of(*state, &request), ST_FORM_JSON), "\"limited\": true");
}

/* Three divides no batch of eight; of one and two both do. */
TEST_WITH(values_without_a_plan_are_told, set_up, tear_down)
{
    static const char *const varies[] = {"batch.micro=1,2,3"};
    st_search_request request = bread_request(NULL, 0, 2);
    request.varies = varies;
    request.vary_count = 1;
    const st_search_view *view = view_of(*state, &request);
    assert_contains(form_of(*state, view, ST_FORM_TEXT),
                    "\nunused    batch.micro=3 (no plan of these sizes)\n");
    assert_contains(form_of(*state, view, ST_FORM_JSON), "\"unused\": \"batch.micro=3\"");
}

TEST_WITH(further_keys_vary_beside_the_plan, set_up, tear_down)
{
    static const char *const varies[] = {"constants.work=2.4 s,1.2 s"};
    st_search_request request = bread_request(NULL, 0, 1);
    request.varies = varies;
    request.vary_count = 1;
    const char *text = form_of(*state, view_of(*state, &request), ST_FORM_TEXT);
    assert_contains(text, "\nfixed     batch.global=8 (bread.yaml:3)\n"
                          "varied    tp pp dp micro constants.work\n"
                          "plans     60, of which 50 pass all checks\n");
    assert_contains(text, "     1  176.8 ms  7 GiB   1   2   4      2"); /* 0.1575 + 0.01925 */
}

static void write_stack(const fixture *own, const char *runs)
{
    char text[400];
    (void)snprintf(text, sizeof text,
                   "name: Shop\ndoc: d\nsource: s\nruns:\n%s  source: its manual\n", runs);
    write_text(own, "configs/stacks/shop.yaml", text);
    write_text(own, "formulas/shop.yaml",
               "sheet: shop\ninclude: oven\ninputs:\n  z: {from: parallel.zero, doc: z}\n");
}

/*
 * With one stage two values of ZeRO for the six plans of several data-parallel ranks (12 plans) and
 * none for the four of one; with several stages two for eight (16), none for twelve.
 */
TEST_WITH(what_the_stack_cannot_run_is_no_plan, set_up, tear_down)
{
    static const char *const sets[] = {"stack=shop"};
    st_search_request request = bread_request(sets, 1, 1);
    request.space.sheet = "shop";
    write_stack(*state, "  zero: [1, 3]\n  zero_with_stages: [0, 2]\n");
    const st_search_view *view = view_of(*state, &request);
    assert_contains(form_of(*state, view, ST_FORM_TEXT),
                    "\nlimits    zero 1 3, with pipeline stages 0 2, as Shop runs (its manual)\n"
                    "plans     44, of which ");
    assert_contains(
        form_of(*state, view, ST_FORM_JSON),
        "\"limits\": \"zero 1 3, with pipeline stages 0 2, as Shop runs (its manual)\"");
    write_stack(*state, "  zero_with_stages: [0, 1]\n");
    assert_contains(form_of(*state, view_of(*state, &request), ST_FORM_TEXT),
                    "\nlimits    zero with pipeline stages 0 1, as Shop runs (its manual)\n");
    const st_search_request other = bread_request(NULL, 0, 1);
    assert_lacks(form_of(*state, view_of(*state, &other), ST_FORM_TEXT), "limits");
}

/* A found plan is a job, with the goal of its own rank. */
TEST_OF(a_plan_is_a_file_of_its_own, fixture *own, set_up, tear_down)
{
    st_buffer file = {0};
    const st_search_request request = bread_request(NULL, 0, 4);
    const st_search_view *view = view_of(own, &request);
    assert_int_equal(st_search_write_plan(own->paths, view, 2, &file, own->errors), ST_OK);
    const char *text = st_buffer_read(&file);
    assert_contains(text, "# Plan 2 of 'steptime search bread', T 349.2 ms: the estimate");
    assert_contains(text, "tp: 2");
    assert_contains(text, "dp: 4");
    assert_lacks(text, "pp: 2");
    st_buffer_free(&file);
}

/* ---- maps ---- */

/* Four columns and three rows: of tp 8 there is no plan. Hot is 1 by 1 alone, by 4.5 GiB. */
TEST_OF(maps_have_the_best_plan_of_every_pair, fixture *own, set_up, tear_down)
{
    static const char *const keys[2] = {"tp", "parallel.pp"};
    static const struct {
        double seconds; /* 0: none */
        double gib;
    } best[3][4] = {{{0.3385, 12.5}, {0.33425, 7}, {0.354625, 5}, {0.4098125, 5.5}},
                    {{0.34925, 7}, {0.354625, 5}, {0.3798125, 5.5}},
                    {{0.399625, 5}, {0.4098125, 5.5}}};
    const st_search_request request = bread_request(NULL, 0, 2);
    const st_search *search = search_of(own, &request);
    st_fit_map map;
    assert_int_equal(st_search_map_make(own->paths, search, keys, &map, own->errors), ST_OK);
    assert_string_equal(map.keys[0], "parallel.tp");
    assert_int_equal(map.count[0], 3);
    assert_int_equal(map.count[1], 4);
    assert_string_equal(map.texts[0][2], "4");
    assert_string_equal(map.texts[1][3], "8");
    assert_int_equal(map.plans, 30);
    assert_string_equal(map.goal, "T");
    for (size_t row = 0; row < 3; row++)
        for (size_t column = 0; column < 4; column++) {
            const st_map_cell *cell = &map.cells[row * 4 + column];
            bool fits = row + column > 0;
            assert_int_equal(cell->tried, best[row][column].seconds > 0);
            if (!cell->tried)
                continue;
            assert_int_equal(cell->fits, fits);
            assert_true(fabs(cell->goal - best[row][column].seconds) < 1e-12);
            assert_true(fabs(cell->memory_bytes / 1073741824 - best[row][column].gib) < 1e-9);
            assert_true(fabs(cell->missing_bytes / 1073741824 - (fits ? 0 : 4.5)) < 1e-9);
        }
}

TEST_OF(maps_are_over_two_keys_of_plans, fixture *own, set_up, tear_down)
{
    static const char *const cases[][3] = {
        {"tp", "qq",
         "'qq' is not a key that the search varies: expected two keys of plans, such as tp,pp"},
        {"parallel.tq", "pp", "did you mean 'parallel.tp'?"},
        {"tp", "parallel.tp", "both keys are parallel.tp: expected two keys, such as tp,pp"}};
    const st_search_request request = bread_request(NULL, 0, 2);
    const st_search *search = search_of(own, &request);
    for (size_t i = 0; i < COUNT(cases); i++) {
        st_fit_map map;
        assert_int_equal(st_search_map_make(own->paths, search, cases[i], &map, own->errors),
                         ST_ERR_USAGE);
        assert_contains(said(own), cases[i][2]);
    }
}

TESTS(search_report);
