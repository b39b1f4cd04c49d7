/* SPDX-License-Identifier: Apache-2.0 */
/* Two estimates side by side: whose value stands where, and what only one of them has. */
#include "megatron_support.h"

#include "base/result.h"
#include "estimate/compare.h"

static const st_compared *row_of(const st_comparison *comparison, const char *name)
{
    for (size_t i = 0; i < comparison->count; i++)
        if (strcmp(comparison->rows[i].name, name) == 0)
            return &comparison->rows[i];
    return NULL;
}

static st_comparison comparison_of(fixture *own, const st_estimate *a, const st_estimate *b,
                                   bool all)
{
    st_comparison comparison;
    assert_int_equal(st_comparison_make(a, b, all, own->arena, &comparison, own->errors), ST_OK);
    return comparison;
}

TEST_OF(values_stand_on_their_side, fixture *own, set_up, tear_down)
{
    st_estimate a = estimate_of(own, "gpt3-175b-64xa100", "constants.site_factor=1.125");
    st_estimate b = estimate_of(own, "gpt3-175b-64xa100", "constants.site_factor=1.375");
    st_comparison comparison = comparison_of(own, &a, &b, false);
    const st_compared *step = row_of(&comparison, "step_time");
    assert_non_null(step);
    assert_true(step->in_a && step->in_b && !step->is_input);
    assert_true(step->a == cell(&a, "step_time") && step->b == cell(&b, "step_time"));
    assert_true(step->a < step->b);
    assert_null(row_of(&comparison, "memory"));
    comparison = comparison_of(own, &a, &b, true);
    const st_compared *memory = row_of(&comparison, "memory");
    assert_non_null(memory);
    assert_true(memory->a == memory->b && memory->a == cell(&a, "memory"));
}

/* The sheets megatron and ddp share few cells. */
TEST_OF(cells_of_one_side_are_told_once, fixture *own, set_up, tear_down)
{
    st_estimate a = estimate_of(own, "gpt3-175b-64xa100", "");
    st_estimate b = estimate_of(own, "resnet152-128xa100", "");
    st_comparison comparison = comparison_of(own, &a, &b, true);
    const st_compared *first = row_of(&comparison, "mfu");
    const st_compared *second = row_of(&comparison, "message_largest");
    assert_non_null(first);
    assert_non_null(second);
    assert_true(first->in_a && !first->in_b && first->a == cell(&a, "mfu"));
    assert_true(!second->in_a && second->in_b && second->b == cell(&b, "message_largest"));
    size_t found = 0;
    for (size_t i = 0; i < comparison.count; i++)
        found += strcmp(comparison.rows[i].name, "step_time") == 0 ? 1 : 0;
    assert_int_equal(found, 1);
}

/* The line of the report that begins with a name. */
static const char *line_of(fixture *own, const st_estimate *a, const st_estimate *b,
                           const char *name)
{
    static const st_paint plain = {.color = false};
    st_comparison comparison = comparison_of(own, a, b, false);
    st_result result;
    st_buffer text = {0};
    char start[80];
    st_comparison_report(&comparison, own->arena, &result);
    st_result_write_text(&result, &plain, &text);
    (void)snprintf(start, sizeof start, "\n  %s ", name);
    const char *found = text.data != NULL ? strstr(text.data, start) : NULL;
    if (found == NULL)
        fail_msg("no line '%s' in\n%s", name, text.data != NULL ? text.data : "");
    const char *line = st_arena_copy(own->arena, found + 1, strcspn(found + 1, "\n"));
    st_buffer_free(&text);
    assert_non_null(line);
    return line;
}

static void expect_in(const char *line, const char *words)
{
    if (strstr(line, words) == NULL)
        fail_msg("'%s' is not in '%s'", words, line);
}

/* B over A, less one; of nothing there is no ratio. */
TEST_OF(changes_are_shares_of_the_first, fixture *own, set_up, tear_down)
{
    st_estimate a = estimate_of(own, "gpt3-175b-64xa100", "constants.site_factor=1");
    st_estimate b = estimate_of(own, "gpt3-175b-64xa100", "constants.site_factor=1.375");
    st_estimate c = estimate_of(own, "gpt3-175b-64xa100", "overlap.tp=0.385");
    expect_in(line_of(own, &a, &b, "site_factor"), "+37.5 %");
    expect_in(line_of(own, &a, &b, "step_time"), "+37.5 %");
    expect_in(line_of(own, &b, &a, "step_time"), "-27.27 %");
    assert_null(strstr(line_of(own, &a, &c, "hide_tp"), "inf"));
    assert_null(strstr(line_of(own, &a, &c, "hide_tp"), "+"));
    expect_in(line_of(own, &c, &a, "hide_tp"), "-100 %");
}

/* Words are compared as words, not as the numbers that they are kept as. */
TEST_OF(words_that_are_the_same_are_no_row, fixture *own, set_up, tear_down)
{
    st_estimate none = estimate_of(own, "gpt3-175b-64xa100", "recompute=none");
    st_estimate full = estimate_of(own, "gpt3-175b-64xa100", "recompute=full");
    st_estimate selective = estimate_of(own, "gpt3-175b-64xa100", "recompute=selective");
    const st_estimate *const pairs[][2] = {
        {&none, &full}, {&full, &selective}, {&none, &selective}};
    size_t input = 0;
    while (input < none.input_count && strcmp(none.inputs[input].input->from, "recompute") != 0)
        input++;
    assert_true(input < none.input_count);
    const char *name = none.inputs[input].input->name;
    for (size_t i = 0; i < COUNT(pairs); i++) {
        st_comparison comparison = comparison_of(own, pairs[i][0], pairs[i][1], false);
        const st_compared *row = row_of(&comparison, name);
        assert_non_null(row);
        assert_true(row->is_input && row->in_a && row->in_b);
        assert_true(row->a == pairs[i][0]->input_values[input]);
        assert_true(row->b == pairs[i][1]->input_values[input]);
        comparison = comparison_of(own, pairs[i][0], pairs[i][0], false);
        assert_null(row_of(&comparison, name));
        comparison = comparison_of(own, pairs[i][1], pairs[i][1], false);
        assert_null(row_of(&comparison, name));
    }
}

TESTS(compare);
