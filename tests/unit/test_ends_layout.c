/* SPDX-License-Identifier: Apache-2.0 */
/* Layers of the first and the last stage as a layout, and back. */
#include "job_support.h"

#include "launch/import/ends_layout.h"

TEST_OF(ends_are_laid_out_and_found_again, fixture *own, set_up, tear_down)
{
    for (size_t stages = 2; stages <= 7; stages++) {
        for (size_t chunks = 1; chunks <= 4; chunks++) {
            for (size_t first = chunks; first <= 9; first++) {
                const st_ends ends = {.stages = stages,
                                      .chunks = chunks,
                                      .layers = stages * 8 + 3,
                                      .first = first,
                                      .last = chunks + 2,
                                      .mtp = stages > 2 ? 1 : 0};
                const char *text = st_ends_layout(&ends, own->arena);
                bool equal = first % chunks == 0 && (chunks + 2) % chunks == 0 &&
                             (stages == 2 || (ends.layers - first - ends.last) % (stages - 2) == 0);
                assert_true((text == NULL) == equal);
                if (text == NULL || (stages == 2 && first + ends.last != ends.layers))
                    continue;
                const st_layout_needs needs = {
                    .pp = (double)stages, .layers = (double)ends.layers, .mtp = (double)ends.mtp};
                st_layout layout;
                st_ends back;
                assert_int_equal(st_layout_read(text, &needs, own->arena, &layout, own->errors),
                                 ST_OK);
                assert_int_equal(layout.virtual_stages, chunks);
                assert_true(st_ends_of_layout(text, &layout, own->arena, &back));
                assert_int_equal(back.first, first);
                assert_int_equal(back.last, ends.last);
                assert_int_equal(back.layers, ends.layers);
                assert_int_equal(back.mtp, ends.mtp);
            }
        }
    }
}

/* Llama 3 405B: the first chunk has the embedding alone, the last one the output. */
TEST_OF(chunks_of_the_ends_may_be_without_layers, fixture *own, set_up, tear_down)
{
    const st_ends ends = {.stages = 3, .chunks = 2, .layers = 6, .first = 1, .last = 1};
    assert_string_equal(st_ends_layout(&ends, own->arena), "E|t*2|t|t|t*2|L");
}

TEST_OF(other_layouts_stay_layouts, fixture *own, set_up, tear_down)
{
    const char *text = "Ett|t|t*3L";
    const st_layout_needs needs = {.pp = 3, .layers = 6, .mtp = 0};
    st_layout layout;
    st_ends ends;
    assert_int_equal(st_layout_read(text, &needs, own->arena, &layout, own->errors), ST_OK);
    assert_false(st_ends_of_layout(text, &layout, own->arena, &ends));
}

TESTS(ends_layout);
