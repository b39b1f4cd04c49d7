/* SPDX-License-Identifier: Apache-2.0 */
/* Work of layers and of their pieces, and times looked up and predicted, worked out by hand. */
#include "base_support.h"

#include "kernel-times/fit/samples.h"

/* A feature that is known. */
typedef struct given {
    st_times_feature feature;
    double value;
} given;

static st_times_shape shape_of(const given *list, size_t count)
{
    st_times_shape shape;
    for (size_t i = 0; i < ST_TIMES_FEATURES; i++)
        shape.features[i] = NOT_A_NUMBER;
    for (size_t i = 0; i < count; i++)
        shape.features[list[i].feature] = list[i].value;
    return shape;
}

#define SHAPE(...) shape_of((const given[]){__VA_ARGS__}, COUNT(((const given[]){__VA_ARGS__})))

static void assert_near(double value, double expected)
{
    if (!(fabs(value - expected) <= 1e-12 * fabs(expected)))
        fail_msg("%.17g is not %.17g", value, expected);
}

static void assert_work(st_times_piece piece, const st_times_shape *shape, double flop,
                        double bytes)
{
    double own[2];
    st_times_work(piece, shape, &own[0], &own[1]);
    if (own[0] != flop || own[1] != bytes)
        fail_msg("%s: %g FLOP and %g bytes, not %g and %g", st_times_piece_names[piece], own[0],
                 own[1], flop, bytes);
}

/* ---- work ---- */

/*
 * Weights 8*(8*(2 + 2*2/4) + 3*20) = 672; FLOP 2*13*(672 + 2*11*8)/2; bytes 2*(672/2 +
 * 13*(10*8 + 4*8/2 + 3*20/2)). By defaults: weights 8*(8*4 + 2*32) = 768, 2*13*768 and
 * 2*(768 + 13*(80 + 32 + 64)).
 */
TEST(a_layer_has_its_matrices_and_attention)
{
    const st_times_shape whole =
        SHAPE({ST_TIMES_TOKENS, 13}, {ST_TIMES_HIDDEN, 8}, {ST_TIMES_INNER, 20}, {ST_TIMES_UP, 2},
              {ST_TIMES_TENSOR, 2}, {ST_TIMES_HEADS, 4}, {ST_TIMES_KV_HEADS, 2},
              {ST_TIMES_SEQUENCE, 11}, {ST_TIMES_WIDTH, 2});
    const st_times_shape plain = SHAPE({ST_TIMES_TOKENS, 13}, {ST_TIMES_HIDDEN, 8});
    const st_times_shape narrow =
        SHAPE({ST_TIMES_TOKENS, 13}, {ST_TIMES_HIDDEN, 8}, {ST_TIMES_WIDTH, 1});
    (void)state;
    assert_work(ST_TIMES_LAYER, &whole, 11024, 3948);
    assert_work(ST_TIMES_LAYER, &plain, 19968, 6112);
    assert_work(ST_TIMES_LAYER, &narrow, 19968, 3056);
}

/*
 * Experts of 3*10/5 = 6 columns, 13/2*3*5 = 97.5 copies, shared ones 3*8*5 = 120, attention
 * 64*(2 + 2*2/4) = 192: 2*13/2*(192 + 120 + 6*8 + 2*11*8) + 2*97.5*8*6 FLOP and
 * 2*((192 + 120)/2 + 6/3*8*6 + 13*(10 + 4/2)*8 + 97.5*(2*8 + 6)) bytes. Without what has a
 * default: 15 columns, 39 copies: 13*(192 + 48) + 2*39*8*15 and
 * 2*(192/2 + 6*8*15 + 1248 + 39*31).
 */
TEST(experts_have_copies_of_tokens)
{
    st_times_shape shape =
        SHAPE({ST_TIMES_TOKENS, 13}, {ST_TIMES_HIDDEN, 8}, {ST_TIMES_UP, 2}, {ST_TIMES_TENSOR, 2},
              {ST_TIMES_HEADS, 4}, {ST_TIMES_KV_HEADS, 2}, {ST_TIMES_SEQUENCE, 11},
              {ST_TIMES_EXPERTS, 6}, {ST_TIMES_EXPERT_INNER, 10}, {ST_TIMES_TOP, 3},
              {ST_TIMES_SHARED_INNER, 5}, {ST_TIMES_EXPERT_RANKS, 3}, {ST_TIMES_EXPERT_TENSOR, 5});
    (void)state;
    assert_work(ST_TIMES_MOE, &shape, 16328, 7290);
    static const st_times_feature optional[] = {ST_TIMES_SEQUENCE, ST_TIMES_SHARED_INNER,
                                                ST_TIMES_EXPERT_RANKS, ST_TIMES_EXPERT_TENSOR};
    for (size_t i = 0; i < COUNT(optional); i++)
        shape.features[optional[i]] = NOT_A_NUMBER;
    assert_work(ST_TIMES_MOE, &shape, 12480, 6546);
}

/* A rank has 4 heads of 48/4/2 = 6 columns, one of them of keys, and 20 columns of the MLP; norms
 * are split over 3 ranks. */
TEST(pieces_have_dimensions_of_their_own)
{
    static const struct {
        st_times_piece piece;
        double dimensions[3];
        double flop, bytes;
    } cases[] = {
        {ST_TIMES_NORM_1, {4, 48, 0}, 0, 2 * 2 * 4 * 48},
        {ST_TIMES_NORM_2, {4, 48, 0}, 0, 2 * 2 * 4 * 48},
        {ST_TIMES_QKV, {12, 36, 48}, 2 * 12 * 36 * 48, 2 * (12 * 48 + 48 * 36 + 12 * 36)},
        {ST_TIMES_ROPE, {12, 30, 0}, 0, 2 * 2 * 12 * 30},
        {ST_TIMES_PROJECTION, {12, 48, 24}, 2 * 12 * 48 * 24, 2 * (12 * 24 + 24 * 48 + 12 * 48)},
        {ST_TIMES_MLP_UP, {12, 40, 48}, 2 * 12 * 40 * 48, 2 * (12 * 48 + 48 * 40 + 12 * 40)},
        {ST_TIMES_ACTIVATION, {12, 20, 0}, 0, 3 * 2 * 12 * 20},
        {ST_TIMES_MLP_DOWN, {12, 48, 20}, 2 * 12 * 48 * 20, 2 * (12 * 20 + 20 * 48 + 12 * 48)},
        {ST_TIMES_ADD, {4, 48, 0}, 0, 3 * 2 * 4 * 48},
    };
    st_times_shape shape = SHAPE({ST_TIMES_TOKENS, 12}, {ST_TIMES_HIDDEN, 48}, {ST_TIMES_INNER, 40},
                                 {ST_TIMES_UP, 2}, {ST_TIMES_TENSOR, 2}, {ST_TIMES_HEADS, 4},
                                 {ST_TIMES_KV_HEADS, 1}, {ST_TIMES_SPLIT, 3});
    double found[3];
    (void)state;
    for (size_t i = 0; i < COUNT(cases); i++) {
        assert_true(st_times_dimensions(cases[i].piece, &shape, found));
        for (size_t k = 0; k < 3; k++)
            assert_near(found[k], cases[i].dimensions[k]);
        assert_work(cases[i].piece, &shape, cases[i].flop, cases[i].bytes);
    }
    shape.features[ST_TIMES_SPLIT] = NOT_A_NUMBER;
    assert_work(ST_TIMES_NORM_1, &shape, 0, 2 * 2 * 12 * 48);
    shape.features[ST_TIMES_WIDTH] = 1;
    assert_work(ST_TIMES_ADD, &shape, 0, 3 * 12 * 48);
}

TEST(what_is_a_whole_has_no_dimensions)
{
    const st_times_shape shape =
        SHAPE({ST_TIMES_TOKENS, 12}, {ST_TIMES_HIDDEN, 48}, {ST_TIMES_TENSOR, 2},
              {ST_TIMES_VOCABULARY, 100}, {ST_TIMES_PARAMETERS, 2385}, {ST_TIMES_WIDTH, 4},
              {ST_TIMES_CLOSED, 0.385});
    static const bool all[ST_TIMES_PIECES] = {
        [ST_TIMES_WHOLE] = true,     [ST_TIMES_LAYER] = true, [ST_TIMES_LOGITS] = true,
        [ST_TIMES_OPTIMIZER] = true, [ST_TIMES_MOE] = true,
    };
    static const bool products[ST_TIMES_PIECES] = {[ST_TIMES_QKV] = true,
                                                   [ST_TIMES_PROJECTION] = true,
                                                   [ST_TIMES_MLP_UP] = true,
                                                   [ST_TIMES_MLP_DOWN] = true};
    double found[3];
    (void)state;
    for (size_t i = 0; i < ST_TIMES_PIECES; i++) {
        st_times_piece piece = (st_times_piece)i;
        assert_int_equal(st_times_dimensions(piece, &shape, found), !all[i]);
        assert_int_equal(st_times_is_all(piece), all[i]);
        assert_int_equal(st_times_is_product(piece), products[i]);
        assert_near(st_times_repeats(piece), piece == ST_TIMES_ADD ? 2 : 1);
    }
    assert_work(ST_TIMES_WHOLE, &shape, 0.385, 0);
    assert_work(ST_TIMES_OPTIMIZER, &shape, 0, 4 * 2385);
    assert_work(ST_TIMES_LOGITS, &shape, 2 * 12 * 50 * 48, 4 * (12 * 48 + 48 * 50 + 12 * 50));
}

TEST(a_roofline_has_a_round_corner)
{
    const st_times_roofline line = {.floor = 0.5, .per_flop = 2, .per_byte = 3};
    (void)state;
    assert_near(st_times_roofline_time(&line, 4, 2), 0.5 + pow(4096 + 1296, 0.25));
    assert_near(st_times_roofline_time(&line, 3, 8.0 / 3), 0.5 + pow(1296 + 4096, 0.25));
    assert_near(st_times_roofline_time(&line, 4, 0), 8.5);
    assert_near(st_times_roofline_time(&line, 0, 0), 0.5);
}

/* ---- what was measured ---- */

/* Tokens, hidden size, the sheet's own time; seconds of one addition, and of QKV. */
static double measured[] = {100, 48, 1.5, 2, 5, /**/ 200, 48, 9.5, 3, 7, /**/
                            200, 64, 2.5, 4, 6, /**/ 400, 64, 3.5, 8, 10, 401, 48, 4.5, 9, 11};

static void make(st_times *times)
{
    *times = (st_times){.shape = {ST_TIMES_TOKENS, ST_TIMES_HIDDEN, ST_TIMES_CLOSED},
                        .shape_count = 3,
                        .pieces = {ST_TIMES_ADD, ST_TIMES_QKV},
                        .piece_count = 2,
                        .rows = measured,
                        .row_count = 5};
    st_times_note_ranges(times);
}

TEST(times_are_looked_up_over_a_doubling_of_tokens)
{
    static const struct {
        double tokens, hidden;
        st_times_origin origin;
        double sum; /* two additions and QKV; 0: not known */
        st_times_feature outside;
    } cases[] = {
        {100, 48, ST_TIMES_MEASURED, 9, ST_TIMES_FEATURES},
        {400, 64, ST_TIMES_MEASURED, 26, ST_TIMES_FEATURES},
        {150, 48, ST_TIMES_BETWEEN, 11, ST_TIMES_FEATURES},
        {125, 48, ST_TIMES_BETWEEN, 10, ST_TIMES_FEATURES},
        {250, 64, ST_TIMES_BETWEEN, 17, ST_TIMES_FEATURES},  /* 400 is twice 200 */
        {300, 48, ST_TIMES_PREDICTED, 0, ST_TIMES_FEATURES}, /* 401 is more */
        {150, 64, ST_TIMES_PREDICTED, 0, ST_TIMES_FEATURES},
        {401, 64, ST_TIMES_PREDICTED, 0, ST_TIMES_FEATURES},
        {150, 56, ST_TIMES_PREDICTED, 0, ST_TIMES_FEATURES},
        {99, 48, ST_TIMES_OUTSIDE, 0, ST_TIMES_TOKENS},
        {402, 48, ST_TIMES_OUTSIDE, 0, ST_TIMES_TOKENS},
        {150, 47, ST_TIMES_OUTSIDE, 0, ST_TIMES_HIDDEN},
        {150, 65, ST_TIMES_OUTSIDE, 0, ST_TIMES_HIDDEN},
        {99, 65, ST_TIMES_OUTSIDE, 0, ST_TIMES_TOKENS}, /* the first of both */
    };
    st_times times;
    (void)state;
    make(&times);
    for (size_t i = 0; i < COUNT(cases); i++) {
        /* the sheet's own time tells no shapes apart, and is in no range */
        const st_times_shape shape =
            SHAPE({ST_TIMES_TOKENS, cases[i].tokens}, {ST_TIMES_HIDDEN, cases[i].hidden},
                  {ST_TIMES_CLOSED, 77});
        st_times_answer answer;
        st_times_ask(&times, &shape, &answer);
        if (answer.origin != cases[i].origin || answer.outside != cases[i].outside)
            fail_msg("case %zu: origin %d, outside %d", i, (int)answer.origin, (int)answer.outside);
        assert_int_equal(isnan(answer.sum), cases[i].sum == 0);
        if (cases[i].sum > 0)
            assert_near(answer.sum, cases[i].sum);
    }
}

/* Of an addition 3*2*300*48 bytes, of a layer two of them. */
TEST(what_was_not_measured_is_predicted)
{
    const st_times_shape shape = SHAPE({ST_TIMES_TOKENS, 300}, {ST_TIMES_HIDDEN, 48});
    st_times times;
    st_times_answer answer;
    (void)state;
    make(&times);
    times.models[0] = (st_times_model){
        .given = true, .form = ST_TIMES_ROOFLINE, .roofline = {.floor = 0.25, .per_byte = 1e-5}};
    st_times_ask(&times, &shape, &answer);
    assert_near(answer.pieces[0], 2 * (0.25 + 3 * 2 * 300 * 48 * 1e-5));
    assert_true(isnan(answer.pieces[1]));
    assert_false(st_times_is_whole(&times));
    times.models[0].roofline.floor = -1; /* no time is below 0 */
    assert_true(isnan(st_times_predict(&times, 0, &shape)));
    const st_times_shape unknown = SHAPE({ST_TIMES_TOKENS, 300});
    times.models[0].roofline.floor = 0.25;
    assert_true(isnan(st_times_predict(&times, 0, &unknown)));
}

/* A tree of two leaves, by the tokens' logarithm. Within, it holds between 100 and 401 rows of 48
 * to 64 columns, whatever the layer is. */
TEST(trees_are_asked_by_form)
{
    static st_times_node nodes[] = {
        {.feature = ST_TIMES_TOKENS, .threshold = 5.5F, .left = 1, .right = 2},
        {.feature = -1, .threshold = 0.25F},
        {.feature = -1, .threshold = 0.5F}};
    static size_t starts[] = {0};
    static const struct {
        st_times_form form;
        double tokens, hidden;
        bool over_line;
        double logarithm;
    } cases[] = {
        {ST_TIMES_TREES, 240, 48, false, 0.125 + 0.25}, /* ln 240 = 5.48 */
        {ST_TIMES_TREES, 250, 48, false, 0.125 + 0.5},  /* ln 250 = 5.52 */
        {ST_TIMES_TREES, 900, 48, false, 0.125 + 0.5},
        {ST_TIMES_BOTH, 240, 48, true, 0.125 + 0.25},
        {ST_TIMES_BOTH, 900, 48, true, 0.125 + 0.5},
        {ST_TIMES_WITHIN, 250, 64, true, 0.125 + 0.5},
        {ST_TIMES_WITHIN, 401, 48, true, 0.125 + 0.5},
        {ST_TIMES_WITHIN, 402, 48, true, 0},
        {ST_TIMES_WITHIN, 99, 48, true, 0},
        {ST_TIMES_WITHIN, 250, 65, true, 0},
        {ST_TIMES_WITHIN, 250, 47, true, 0},
        {ST_TIMES_ROOFLINE, 250, 48, true, 0},
    };
    st_times times;
    (void)state;
    make(&times);
    for (size_t i = 0; i < COUNT(cases); i++) {
        const st_times_shape shape =
            SHAPE({ST_TIMES_TOKENS, cases[i].tokens}, {ST_TIMES_HIDDEN, cases[i].hidden});
        double line = 0.25 + 3 * 2 * cases[i].tokens * cases[i].hidden * 1e-5;
        times.models[0] = (st_times_model){.given = true,
                                           .form = cases[i].form,
                                           .roofline = {.floor = 0.25, .per_byte = 1e-5},
                                           .base = 0.125,
                                           .starts = starts,
                                           .tree_count = 1,
                                           .nodes = nodes,
                                           .node_count = 3};
        assert_near(st_times_predict(&times, 0, &shape),
                    (cases[i].over_line ? line : 1) * exp(cases[i].logarithm));
    }
}

/* Of 2 tokens once 10 s and twice 16 s, in the sheet 1 s and 7 s: 14 s and 5 s. */
TEST(equal_shapes_become_their_mean)
{
    static const struct {
        double tokens, hidden, closed, time;
        size_t repeats;
    } rows[] = {{2, 48, 1, 10, 1},
                {3, 48, 9, 30, 1},
                {1, 48, 3, 20, 4},
                {2, 48, 7, 16, 2},
                {2, 47, 2, 50, 1}},
      merged[] = {{1, 48, 3, 20, 4}, {2, 47, 2, 50, 1}, {2, 48, 5, 14, 3}, {3, 48, 9, 30, 1}};
    st_time_sample samples[COUNT(rows)];
    st_time_set set = {.piece_count = 1, .samples = samples, .count = COUNT(rows)};
    (void)state;
    for (size_t i = 0; i < COUNT(rows); i++)
        samples[i] = (st_time_sample){.shape = SHAPE({ST_TIMES_TOKENS, rows[i].tokens},
                                                     {ST_TIMES_HIDDEN, rows[i].hidden},
                                                     {ST_TIMES_CLOSED, rows[i].closed}),
                                      .times = {rows[i].time},
                                      .repeats = rows[i].repeats};
    st_time_merge(&set);
    assert_int_equal(set.count, COUNT(merged));
    for (size_t i = 0; i < COUNT(merged); i++) {
        assert_near(samples[i].shape.features[ST_TIMES_TOKENS], merged[i].tokens);
        assert_near(samples[i].shape.features[ST_TIMES_HIDDEN], merged[i].hidden);
        assert_near(samples[i].shape.features[ST_TIMES_CLOSED], merged[i].closed);
        assert_near(samples[i].times[0], merged[i].time);
        assert_int_equal(samples[i].repeats, merged[i].repeats);
    }
}

TESTS(times);
