/* SPDX-License-Identifier: Apache-2.0 */
/* Two estimates side by side: whose value stands where, and what only one of them has. */
#include "megatron_support.h"

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

static void values_stand_on_their_side(void **state)
{
    fixture *own = *state;
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
static void cells_of_one_side_are_told_once(void **state)
{
    fixture *own = *state;
    st_estimate a = estimate_of(own, "gpt3-175b-64xa100", "");
    st_estimate b = estimate_of(own, "resnet152-128xa100", "");
    st_comparison comparison = comparison_of(own, &a, &b, true);
    const st_compared *first = row_of(&comparison, "memory");
    const st_compared *second = row_of(&comparison, "message_largest");
    assert_non_null(first);
    assert_non_null(second);
    assert_true(first->in_a && !first->in_b && first->a == cell(&a, "memory"));
    assert_true(!second->in_a && second->in_b && second->b == cell(&b, "message_largest"));
    size_t found = 0;
    for (size_t i = 0; i < comparison.count; i++)
        found += strcmp(comparison.rows[i].name, "step_time") == 0 ? 1 : 0;
    assert_int_equal(found, 1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        WITH_FILES(values_stand_on_their_side),
        WITH_FILES(cells_of_one_side_are_told_once),
    };
    return cmocka_run_group_tests_name("compare", tests, NULL, NULL);
}
