/* SPDX-License-Identifier: Apache-2.0 */
/* Patterns of layers and layouts of pipelines: what they mean and what is wrong with them. */
#include "base_support.h"

#include "steptime/tool/pattern.h"

typedef struct fixture {
    st_arena *arena;
    st_errors *errors;
} fixture;

static int start(void **state)
{
    static fixture own;
    own = (fixture){st_arena_create(), st_errors_create()};
    *state = &own;
    return own.arena == NULL || own.errors == NULL ? -1 : 0;
}

static int stop(void **state)
{
    fixture *own = *state;
    st_arena_destroy(own->arena);
    st_errors_destroy(own->errors);
    return 0;
}

static st_pattern read_pattern(fixture *own, const char *text, double layers)
{
    st_pattern pattern;
    if (st_pattern_read(text, layers, here, own->arena, &pattern, own->errors) != ST_OK)
        fail_msg("%s: %s", text, said(own->errors));
    return pattern;
}

static void assert_letters(fixture *own, const char *text, const char *expected)
{
    st_pattern pattern = read_pattern(own, text, (double)strlen(expected));
    char letters[128] = {0};
    for (size_t i = 0; i < pattern.count; i++)
        letters[i] = st_layer_letter((st_layer_kind)pattern.kinds[i]);
    assert_string_equal(letters, expected);
}

TEST_OF(repeats_are_spelled_out, fixture *own, start, stop)
{
    assert_letters(own, "ddde", "ddde");
    assert_letters(own, "d*3e*5", "dddeeeee");
    assert_letters(own, " (ggh d)*2 x", "gghdgghdx");
}

TEST_OF(stars_repeat_before_digits_only, fixture *own, start, stop)
{
    assert_letters(own, "ME*-", "ME*-");
    assert_letters(own, "M**3-", "M***-");
    assert_letters(own, "M*3*-", "MMM*-");
    assert_letters(own, "(M*)*3E*2", "M*M*M*EE");
    assert_letters(own, "((gh)*2 d)*2 y", "ghghdghghdy");
    assert_letters(own, "(xy)d", "xyd");
}

TEST_OF(kinds_are_counted, fixture *own, start, stop)
{
    st_pattern pattern = read_pattern(own, "d*3(yyye)*5xgh", 26);
    assert_false(pattern.hybrid);
    st_layer_counts counts = st_pattern_counts(&pattern, 0, 26);
    assert_int_equal(counts.of[ST_LAYER_DENSE], 3);
    assert_int_equal(counts.of[ST_LAYER_WINDOW_MOE], 15);
    assert_int_equal(counts.of[ST_LAYER_MOE], 5);
    assert_int_equal(counts.of[ST_LAYER_WINDOW], 1);
    assert_int_equal(counts.of[ST_LAYER_DELTA], 1);
    assert_int_equal(counts.of[ST_LAYER_DELTA_MOE], 1);
    assert_int_equal(counts.of[ST_LAYER_MAMBA], 0);
    counts = st_pattern_counts(&pattern, 2, 6);
    assert_int_equal(counts.of[ST_LAYER_DENSE], 1);
    assert_int_equal(counts.of[ST_LAYER_WINDOW_MOE], 4);
    assert_int_equal(counts.of[ST_LAYER_MOE], 1);
    counts = st_pattern_counts(&pattern, 22, 5); /* one layer too many */
    for (size_t kind = 0; kind < ST_LAYER_KINDS; kind++)
        assert_int_equal(counts.of[kind], 0);
    pattern = read_pattern(own, "MEM*-", 5);
    assert_true(pattern.hybrid);
    counts = st_pattern_counts(&pattern, 0, 5);
    assert_int_equal(counts.of[ST_LAYER_MAMBA], 2);
    assert_int_equal(counts.of[ST_LAYER_EXPERTS], 1);
    assert_int_equal(counts.of[ST_LAYER_ATTENTION], 1);
    assert_int_equal(counts.of[ST_LAYER_MLP], 1);
}

TEST_WITH(faults_of_patterns_are_told, start, stop)
{
    static const struct {
        const char *text;
        double layers;
        st_status status;
        const char *said;
    } cases[] = {
        {"ddqe", 4, ST_ERR_VALUE,
         "f:3:7: error: unknown letter in the pattern: found 'q' at character 3, expected d, e, x, "
         "y, g or h, or M, *, - and E of a hybrid"},
        {"dd\xc3\xa9", 4, ST_ERR_VALUE, "found one outside ASCII at character 3"},
        {"d*3e", 7, ST_ERR_VALUE,
         "different numbers of layers: found 4 letters, expected 7 (model.layers)"},
        {"d*3M", 4, ST_ERR_VALUE, "found 'd' (attention with an MLP) and 'M' (Mamba-2)"},
        {"M*d", 3, ST_ERR_VALUE, "the pattern mixes layers of two blocks with layers of one block"},
        {"(de", 2, ST_ERR_SYNTAX, "unclosed bracket in the pattern: found '(' at character 1"},
        {"de)", 2, ST_ERR_SYNTAX,
         "unmatched closing bracket in the pattern: found ')' at character 3"},
        {"d()", 1, ST_ERR_SYNTAX, "empty brackets in the pattern: found '()' at character 2"},
        {"*3d", 4, ST_ERR_SYNTAX, "nothing to repeat before the '*' at character 1 of the pattern"},
        {"d*3*5", 15, ST_ERR_SYNTAX, "nothing to repeat before the '*' at character 4"},
        {"(*3)", 3, ST_ERR_SYNTAX, "nothing to repeat before the '*' at character 2"},
        {"d*0e", 1, ST_ERR_VALUE, "zero repeats in the pattern: found '*0' at character 2"},
        {"d*100001", 100001, ST_ERR_LIMIT, "the pattern expands to more than 100000 letters"},
        {"d*99999999999999999999", 3, ST_ERR_LIMIT, "more than 100000 letters"},
        {"((d*999)*999)*999", 3, ST_ERR_LIMIT, "more than 100000 letters"},
        {"(((((((((d)))))))))", 1, ST_ERR_LIMIT, "the pattern nests more than 8 brackets"},
        {" ", 1, ST_ERR_SYNTAX, "the pattern is empty"},
        {"", 1, ST_ERR_SYNTAX, "the pattern is empty"},
    };
    fixture *own = *state;
    for (size_t i = 0; i < COUNT(cases); i++) {
        st_pattern pattern;
        st_status status = st_pattern_read(cases[i].text, cases[i].layers, here, own->arena,
                                           &pattern, own->errors);
        assert_int_equal(status, cases[i].status);
        assert_contains(said(own->errors), cases[i].said);
        assert_int_equal(pattern.count, 0);
    }
}

TEST_WITH(patterns_are_written_short, start, stop)
{
    static const struct {
        const char *text;
        const char *letters;
    } cases[] = {
        {"ddde*5", "dddeeeee"},
        {"(xxxxxd)*3", "xxxxxdxxxxxdxxxxxd"},
        {"(x*5d)*5x*4", "xxxxxdxxxxxdxxxxxdxxxxxdxxxxxdxxxx"},
        {"(ggge)*3", "gggegggeggge"},
        {"ME*-", "ME*-"},
        {"MEME*EMEMEM*", "MEME*EMEMEM*"},
        {"e*7", "eeeeeee"},
        {"M**4E", "M****E"},
    };
    fixture *own = *state;
    for (size_t i = 0; i < COUNT(cases); i++) {
        st_buffer buffer = {0};
        st_pattern_write(cases[i].letters, strlen(cases[i].letters), &buffer);
        assert_letters(own, buffer.data, cases[i].letters);
        if (i != 1) /* both ways are as short */
            assert_string_equal(buffer.data, cases[i].text);
        st_buffer_free(&buffer);
    }
}

static st_layout read_layout(fixture *own, const char *text, double pp, double layers, double mtp)
{
    st_layout layout;
    st_layout_needs needs = {.place = here, .pp = pp, .layers = layers, .mtp = mtp};
    if (st_layout_read(text, &needs, own->arena, &layout, own->errors) != ST_OK)
        fail_msg("%s: %s", text, said(own->errors));
    return layout;
}

static void assert_stage(const st_layout *layout, size_t index, st_layout_stage expected)
{
    const st_layout_stage *stage = &layout->stages[index];
    assert_int_equal(stage->first, expected.first);
    assert_int_equal(stage->layers, expected.layers);
    assert_int_equal(stage->mtp, expected.mtp);
    assert_int_equal(stage->embedding, expected.embedding);
    assert_int_equal(stage->loss, expected.loss);
}

TEST_OF(layouts_are_read_as_megatron_does, fixture *own, start, stop)
{
    st_layout layout = read_layout(own, "Et*4|(t*4|)*14tmL", 4, 61, 1);
    assert_int_equal(layout.count, 16);
    assert_int_equal(layout.virtual_stages, 4);
    assert_stage(&layout, 0, (st_layout_stage){0, 4, 0, true, false});
    assert_stage(&layout, 1, (st_layout_stage){4, 4, 0, false, false});
    assert_stage(&layout, 14, (st_layout_stage){56, 4, 0, false, false});
    assert_stage(&layout, 15, (st_layout_stage){60, 1, 1, false, true});
    layout = read_layout(own, "Ettt|(tt|)*29,m|L", 16, 61, 1);
    assert_int_equal(layout.count, 32);
    assert_int_equal(layout.virtual_stages, 2);
    assert_stage(&layout, 30, (st_layout_stage){61, 0, 1, false, false});
    assert_stage(&layout, 31, (st_layout_stage){61, 0, 0, false, true});
    layout = read_layout(own, " E t*3 , L ", 1, 3, 0);
    assert_int_equal(layout.count, 1);
    assert_stage(&layout, 0, (st_layout_stage){0, 3, 0, true, true});
    layout = read_layout(own, "Etmm,L", 1, 1, 2);
    assert_stage(&layout, 0, (st_layout_stage){0, 1, 2, true, true});
}

TEST_WITH(faults_of_layouts_are_told, start, stop)
{
    static const struct {
        const char *text;
        double pp;
        double layers;
        double mtp;
        const char *said;
    } cases[] = {
        {"Et*3|t*3L", 2, 7, 0, "found 6 't', expected 7 (model.layers)"},
        {"Et*3|t*3mL", 2, 6, 2, "found 1 'm', expected 2 (model.mtp)"},
        {"Et|t|tL", 2, 3, 0, "found 3 stages, expected a multiple of parallel.pp (2), such as 4"},
        {"Et||tL", 3, 2, 0, "the layout has an empty stage: found nothing in stage 2 of 3"},
        {"tE|tL", 2, 2, 0, "found 1 'E', and 't' first, expected one 'E' at the beginning"},
        {"Et|EtL", 2, 2, 0, "found 2 'E', and 'E' first"},
        {"Et|Lt", 2, 2, 0, "found 1 'L', and 't' last, expected one 'L' at the end"},
        {"Et|tL|", 3, 2, 0, "found 1 'L', and '|' last"},
        {"Et|tLL", 2, 2, 0, "found 2 'L', and 'L' last"},
        {"Et|t|tm|L", 2, 3, 1, "multi-token prediction on the first rank: found 'm' in stage 3"},
        {"Et|tm|t|L", 2, 3, 1, "not in the last stage of its rank: found 'm' in stage 2 of 4"},
        {"Et|t|tm|mL", 4, 3, 2, "found 1 of 2 'm' in stage 3, expected all of them in one stage"},
        {"Et|t|m|tL", 4, 3, 1, "layers follow multi-token prediction"},
        {"Et|dL", 2, 2, 0, "found 'd' at character 4, expected E, t, m, L or |"},
        {"Et*|tL", 2, 2, 0, "missing count after the '*' at character 3 of the layout"},
        {"E(t|L", 2, 2, 0, "unclosed bracket in the layout"},
        {"", 2, 2, 0, "the layout is empty"},
    };
    fixture *own = *state;
    for (size_t i = 0; i < COUNT(cases); i++) {
        st_layout layout;
        st_layout_needs needs = {here, cases[i].pp, cases[i].layers, cases[i].mtp};
        assert_int_not_equal(
            st_layout_read(cases[i].text, &needs, own->arena, &layout, own->errors), ST_OK);
        assert_contains(said(own->errors), cases[i].said);
        assert_int_equal(layout.count, 0);
    }
}

/* A text of up to `most` of the characters, the same for the same seed. */
static void random_text(uint32_t *seed, const char *characters, size_t most, char *text)
{
    size_t kinds = strlen(characters);
    *seed = *seed * 1664525u + 1013904223u;
    size_t length = (*seed >> 16) % most;
    for (size_t i = 0; i < length; i++) {
        *seed = *seed * 1664525u + 1013904223u;
        text[i] = characters[(*seed >> 16) % kinds];
    }
    text[length] = '\0';
}

TEST_WITH(any_text_is_read_or_refused, start, stop)
{
    enum { TEXTS = 20000, MOST = 24 };
    fixture *own = *state;
    uint32_t seed = 2385;
    for (size_t i = 0; i < TEXTS; i++) {
        char text[MOST];
        st_pattern pattern;
        st_layout layout;
        st_layout_needs needs = {here, 2, 5, 1};
        random_text(&seed, i % 2 == 0 ? "dexygh()*123 q" : "ME*-()*23", MOST, text);
        if (st_pattern_read(text, 5, here, own->arena, &pattern, own->errors) == ST_OK)
            assert_int_equal(pattern.count, 5);
        random_text(&seed, "EtttmL||()*23,", MOST, text);
        if (st_layout_read(text, &needs, own->arena, &layout, own->errors) == ST_OK)
            assert_int_equal(layout.count % 2, 0);
        st_errors_clear(own->errors);
    }
}

TEST_WITH(what_is_written_is_read_again, start, stop)
{
    enum { TEXTS = 5000, MOST = 60 };
    fixture *own = *state;
    uint32_t seed = 977;
    for (size_t i = 0; i < TEXTS; i++) {
        char letters[MOST];
        random_text(&seed, i % 2 == 0 ? "de" : "M*E", MOST, letters);
        if (letters[0] == '\0')
            continue;
        st_buffer buffer = {0};
        st_pattern_write(letters, strlen(letters), &buffer);
        assert_letters(own, buffer.data, letters);
        st_buffer_free(&buffer);
    }
}

TESTS(pattern);
