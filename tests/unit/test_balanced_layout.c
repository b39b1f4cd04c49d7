/* SPDX-License-Identifier: Apache-2.0 */
/* Layouts that balance a pipeline by what layers and ends of the model cost. */
#include "base_support.h"

#include "estimate/balanced_layout.h"
#include "steptime/arena.h"

#include <math.h>

/* Costs as sheets give them: depths of prediction, embedding, loss, a depth, kinds of layers. */
typedef struct costs {
    double depths, first, last, depth, dense, moe;
} costs;

typedef struct shape {
    double stages, chunks, folded, layers, leading;
} shape;

static st_stage_plan plan_of(void)
{
    static uint64_t plans;
    return (st_stage_plan){.balanced = true, .number = ++plans};
}

static double code_of(const st_stage_plan *plan, const costs *own)
{
    const double arguments[ST_BALANCE_ARGUMENTS] = {own->depths, own->first, own->last,
                                                    own->depth,  own->dense, own->moe};
    return st_balance_code(plan, arguments);
}

/* The layout's text; NULL: there is none. */
static const char *layout_of(st_arena *arena, const shape *x, const costs *own)
{
    const st_stage_plan plan = plan_of();
    const double numbers[ST_BALANCE_NUMBERS] = {
        x->stages, x->chunks, x->folded, x->layers, x->leading, 1, code_of(&plan, own)};
    const char *text = NULL;
    return st_balance_text(&plan, numbers, arena, &text, NULL) == ST_OK ? text : NULL;
}

TEST(published_layouts_are_found)
{
    /* DeepSeek-V3 in Megatron-Core, passes as estimates on H800 have them, in ms */
    const costs deepseek = {1, 0.142, 46.44, 83.04, 24.61, 32.96};
    st_arena *arena = st_arena_create();
    (void)state;
    assert_string_equal(layout_of(arena, &(shape){16, 2, 0, 61, 3}, &deepseek), "Et*3|(tt|)*29m|L");
    assert_string_equal(layout_of(arena, &(shape){8, 4, 0, 61, 3}, &deepseek), "Et*3|(tt|)*29m|L");
    /* four ranks of four chunks: prediction and loss take the room of three layers */
    assert_string_equal(layout_of(arena, &(shape){4, 4, 0, 61, 3}, &deepseek), "Et*5|(t*4|)*14mL");
    st_arena_destroy(arena);
}

TEST(ends_without_cost_leave_layers_even)
{
    const costs same = {0, 0, 0, 0, 2.385, 2.385};
    const costs none = {0};
    st_arena *arena = st_arena_create();
    (void)state;
    assert_string_equal(layout_of(arena, &(shape){4, 3, 0, 24, 5}, &same), "Ett|(tt|)*10ttL");
    assert_string_equal(layout_of(arena, &(shape){4, 3, 0, 24, 5}, &none), "Ett|(tt|)*10ttL");
    assert_string_equal(layout_of(arena, &(shape){1, 1, 0, 7, 0}, &same), "Et*7L");
    st_arena_destroy(arena);
}

/* A loss as dear as three layers: the last stage has so many fewer, whichever way chunks go. */
TEST(dear_losses_take_layers_places)
{
    const costs dear = {0, 0, 7.5, 0, 2.5, 2.5};
    st_arena *arena = st_arena_create();
    (void)state;
    assert_string_equal(layout_of(arena, &(shape){4, 1, 0, 21, 0}, &dear), "Et*6|(t*6|)*2t*3L");
    assert_string_equal(layout_of(arena, &(shape){3, 2, 1, 33, 0}, &dear), "Et*6|(t*6|)*4t*3L");
    st_arena_destroy(arena);
}

TEST(no_place_is_empty)
{
    const costs dear = {2, 1.5, 9.25, 4.5, 1.25, 2.75};
    st_arena *arena = st_arena_create();
    (void)state;
    assert_string_equal(layout_of(arena, &(shape){3, 3, 0, 6, 1}, &dear), "E|(t|)*6mm|L");
    assert_null(layout_of(arena, &(shape){5, 2, 0, 6, 1}, &dear));
    assert_true(st_balance_most_chunks(6, 2, 3) == 3);
    assert_true(st_balance_most_chunks(6, 0, 3) == 2);
    /* of two stages the last but one is the first rank's, which has no prediction */
    assert_string_equal(layout_of(arena, &(shape){2, 4, 0, 6, 1}, &dear), "E|(t|)*6mmL");
    assert_true(st_balance_most_chunks(7, 1, 2) == 4);
    assert_true(st_balance_most_chunks(61, 1, 128) == 0);
    st_arena_destroy(arena);
}

TEST(depths_that_no_number_holds_are_none)
{
    const st_stage_plan plan = plan_of();
    (void)state;
    assert_true(isnan(code_of(&plan, &(costs){16, 1, 1, 1, 1, 1})));
    assert_true(isnan(code_of(&plan, &(costs){16, 0, 0, 0, 0, 0})));
    assert_true(st_balance_depths(code_of(&plan, &(costs){15, 1.25, 2, 3, 4, 5})) == 15);
    assert_true(st_balance_depths(code_of(&plan, &(costs){3, 0, 0, 0, 0, 0})) == 3);
}

/* Whatever the costs, all layers are there, no rank has more than the parts make it have, and the
 * text that is written says the same when it is read. */
TEST(random_layouts_are_whole)
{
    uint64_t seed = 20637;
    st_arena *arena = st_arena_create();
    (void)state;
    for (size_t i = 0; i < 300; i++) {
        double draws[9];
        for (size_t k = 0; k < 9; k++) {
            seed = seed * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
            draws[k] = (double)(seed >> 40) / (double)(1 << 24);
        }
        const shape x = {2 + floor(7 * draws[0]), 1 + floor(4 * draws[1]), 0,
                         40 + floor(40 * draws[2]), floor(4 * draws[3])};
        const costs own = {floor(3 * draws[4]), draws[5], 5 * draws[6],
                           2 + draws[7],        1,        1 + 2 * draws[8]};
        const char *text = layout_of(arena, &x, &own);
        st_layout read;
        const st_layout_needs needs = {.pp = x.stages, .layers = x.layers, .mtp = own.depths};
        assert_non_null(text);
        if (st_layout_read(text, &needs, arena, &read, NULL) != ST_OK)
            fail_msg("%s does not fit %g layers on %g ranks", text, x.layers, x.stages);
        assert_int_equal(read.virtual_stages, (size_t)x.chunks);
        assert_string_equal(st_layout_text(&read, arena), text);
    }
    st_arena_destroy(arena);
}

TESTS(balanced_layout);
