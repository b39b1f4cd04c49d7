/* SPDX-License-Identifier: Apache-2.0 */
/* What a search says that does not compute every plan: what became of them, and what it promises.
 */
#include "search_support.h"

#include "search/guided/run.h"

static const char *guided_text(fixture *own, st_search_view *view, st_form form)
{
    st_result result;
    st_buffer buffer = {0};
    st_guided_put(view, st_result_begin(&result, own->arena));
    st_result_write(&result, form, &plain, &buffer);
    assert_false(buffer.failed);
    const char *text = st_arena_copy(own->arena, st_buffer_read(&buffer), buffer.length);
    assert_non_null(text);
    st_buffer_free(&buffer);
    return text;
}

/* A result as a search might have it. */
static st_search_view *guided_view(fixture *own, st_guide guide, const st_guided *guided)
{
    const st_search_request request = bread_request(NULL, 0, 2);
    st_search_view *view = view_of(own, &request);
    st_search *search = st_arena_alloc(own->arena, 1, sizeof *search);
    st_search_result *result = st_arena_alloc(own->arena, 1, sizeof *result);
    assert_non_null(search);
    assert_non_null(result);
    *search = *view->search;
    *result = *view->result;
    search->request.guide = guide;
    result->guided = *guided;
    view->search = search;
    view->result = result;
    return view;
}

TEST_WITH(plans_that_were_not_computed_are_accounted_for, set_up, tear_down)
{
    const st_guided guided = {.used = true,
                              .scanned = true,
                              .computed = 1385,
                              .best_at = 71,
                              .ruled_out = 239,
                              .cut = 58,
                              .untried = 17,
                              .rules = {{ST_RULE_PROVEN, true, 40, 0, 6},
                                        {ST_RULE_OPEN, true, 41, 0, 7},
                                        {ST_RULE_BROKEN, false, 42, 3, 0},
                                        {ST_RULE_OPEN, false, 43, 0, 0}}};
    st_guide guide = {.method = ST_METHOD_CMAES, .pruning = ST_PRUNING_PROVEN};
    st_search_view *view = guided_view(*state, guide, &guided);
    const char *text = guided_text(*state, view, ST_FORM_TEXT);
    static const char *const parts[] = {
        "Search statistics\n        1385  computed\n          71  of them up to the best one\n"
        "         239  not computed: they fail a check for any result of plugins\n"
        "          58  not computed: their bounds exclude them from the best\n"
        "           6  skipped by rule '",
        "; holds for all pairs of plans\n           7  skipped by rule '",
        "; declared: plugins may contradict it\n           0  skipped by rule '",
        "; not used: it does not hold for 3 of 42 pairs of plans\n           0  skipped",
        "; not used: it depends on plugins\n          17  not considered\n"};
    for (size_t i = 0; i < COUNT(parts); i++)
        assert_contains(text, parts[i]);
    const char *json = guided_text(*state, view, ST_FORM_JSON);
    assert_contains(json,
                    "\"state\": \"broken\", \"applied\": false, \"pairs\": 42, \"broken\": 3, "
                    "\"skipped\": 0}");
    assert_contains(json, "\"state\": \"proven\", \"applied\": true, \"pairs\": 40, \"broken\": 0, "
                          "\"skipped\": 6}");
    assert_contains(json, "\"bound\": \"proven\"");
}

/* The best takes 0.33425 s: nothing is below 0.3, and another one may be better by 10.2 %. */
TEST_WITH(a_promise_is_as_good_as_its_bound, set_up, tear_down)
{
    static const struct {
        st_guided guided;
        const char *text;
        const char *bound;
    } cases[] = {
        {{.used = true, .scanned = true, .computed = 30},
         "No other plan is better: proven\n",
         "\"proven\""},
        {{.used = true, .untried = 4, .computed = 26},
         "The gap to the best plan is unknown\n",
         "\"none\""},
        {{.used = true, .scanned = true, .untried = 4, .has_floor = true, .floor = 0.3},
         "Another plan may be up to 10.2 % better: proven\n",
         "\"proven\""},
        {{.used = true,
          .scanned = true,
          .declared = true,
          .untried = 4,
          .has_floor = true,
          .floor = 0.3},
         "Another plan may be up to 10.2 % better: from a cell that was declared to be a bound\n",
         "\"declared\""},
        {{.used = true, .scanned = true, .untried = 4, .has_floor = true, .floor = 0.35},
         "No other plan is better: proven\n",
         "\"proven\""},
    };
    for (size_t i = 0; i < COUNT(cases); i++) {
        const st_guide guide = {.method = ST_METHOD_BOUND};
        st_search_view *view = guided_view(*state, guide, &cases[i].guided);
        const char *text = guided_text(*state, view, ST_FORM_TEXT);
        assert_contains(text, cases[i].text);
        assert_lacks(text, "until the best one");
        assert_lacks(text, "skipped by rule");
        const char *json = guided_text(*state, view, ST_FORM_JSON);
        assert_contains(json, cases[i].bound);
        assert_lacks(json, "\"rules\"");
    }
}

TESTS(guided_report);
