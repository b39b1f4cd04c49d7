/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Patterns of layers. Repeats are spelled out first, into a text of letters with the place of each
 * in the source, so that what is wrong with a letter can be pointed at.
 */
#include "steptime/tool/pattern.h"

#include "base/memory.h"
#include "job/pattern_expand.h"

#include <math.h>
#include <string.h>

static const struct {
    char letter;
    const char *noun;
} kinds[ST_LAYER_KINDS] = {
    {'d', "attention with an MLP"},
    {'e', "attention with experts"},
    {'x', "windowed attention with an MLP"},
    {'y', "windowed attention with experts"},
    {'g', "gated delta net with an MLP"},
    {'h', "gated delta net with experts"},
    {'M', "Mamba-2"},
    {'*', "attention"},
    {'-', "MLP"},
    {'E', "experts"},
};

static const char ordinary[] = "d, e, x, y, g or h, or M, *, - and E of a hybrid";

char st_layer_letter(st_layer_kind kind)
{
    return kinds[kind].letter;
}

static st_layer_kind kind_of(char letter)
{
    unsigned kind = 0;
    while (kind < ST_LAYER_KINDS && kinds[kind].letter != letter)
        kind++;
    return (st_layer_kind)kind;
}

st_status st_pattern_read(const char *text, double layers, st_place place, st_arena *arena,
                          st_pattern *pattern, st_errors *errors)
{
    *pattern = (st_pattern){0};
    st_expanded spelled = {.noun = "pattern", .ignored = " \t", .star_is_letter = true};
    st_status status = st_pattern_expand(text, place, arena, &spelled, errors);
    if (status != ST_OK)
        return status;
    unsigned char *of = st_arena_alloc(arena, spelled.count + 1, sizeof *of);
    st_layer_counts *before = st_arena_alloc(arena, spelled.count + 1, sizeof *before);
    if (of == NULL || before == NULL)
        return st_out_of_memory(errors);
    status = ST_OK;
    st_layer_kind first = ST_LAYER_KINDS;
    for (size_t i = 0; i < spelled.count; i++) {
        st_layer_kind kind = kind_of(spelled.letters[i]);
        if (kind == ST_LAYER_KINDS) {
            status = st_expanded_fail(&spelled, i, place, ordinary, errors);
            break;
        }
        if (i == 0)
            first = kind;
        if ((kind >= ST_LAYER_MAMBA) != (first >= ST_LAYER_MAMBA)) {
            status = st_fail(
                errors, ST_ERR_VALUE, place,
                "the pattern mixes layers of two blocks with layers of one block" ST_FOUND
                "'%c' (%s) and '%c' (%s)" ST_EXPECTED
                "letters of d, e, x, y, g and h alone, or of M, *, - and E",
                kinds[first].letter, kinds[first].noun, kinds[kind].letter, kinds[kind].noun);
            break;
        }
        of[i] = (unsigned char)kind;
    }
    if (status != ST_OK)
        return status;
    if (!isnan(layers) && (double)spelled.count != layers) {
        (void)st_fail(errors, ST_ERR_VALUE, place,
                      "the pattern and the model have different numbers of layers" ST_FOUND
                      "%zu letters" ST_EXPECTED "%.15g (model.layers)",
                      spelled.count, layers);
        return ST_ERR_VALUE;
    }
    const size_t count = spelled.count;
    for (size_t i = 0; i < count; i++) {
        before[i + 1] = before[i];
        before[i + 1].of[of[i]]++;
    }
    *pattern = (st_pattern){
        .count = spelled.count, .kinds = of, .before = before, .hybrid = of[0] >= ST_LAYER_MAMBA};
    return ST_OK;
}

st_layer_counts st_pattern_counts(const st_pattern *pattern, size_t first, size_t count)
{
    st_layer_counts counts = {{0}};
    if (first > pattern->count || count > pattern->count - first)
        return counts;
    for (size_t kind = 0; kind < ST_LAYER_KINDS; kind++)
        counts.of[kind] = pattern->before[first + count].of[kind] - pattern->before[first].of[kind];
    return counts;
}

/* ---- writing ---- */

/* Runs of one letter: d*4e*58. A lone `*` before a digit would be read as a repeat, but
 * no letter is a digit. */
static void write_runs(const char *letters, size_t count, st_buffer *buffer)
{
    for (size_t i = 0; i < count;) {
        size_t run = 1;
        while (i + run < count && letters[i + run] == letters[i])
            run++;
        if (run > 3)
            st_buffer_printf(buffer, "%c*%zu", letters[i], run);
        else
            st_buffer_append(buffer, letters + i, run);
        i += run;
    }
}

/* Letters of the shortest part whose repeats are the first `count`. */
static size_t period_of(const char *letters, size_t count)
{
    for (size_t period = 1; period <= count / 2; period++)
        if (count % period == 0 && memcmp(letters, letters + period, count - period) == 0)
            return period;
    return count;
}

void st_pattern_write(const char *letters, size_t count, st_buffer *buffer)
{
    size_t rest = 0; /* behind the repeats, as Gemma's 34 layers of 6 have one */
    size_t best = count;
    for (size_t last = 0; last < count && last < 16; last++) {
        size_t period = period_of(letters, count - last);
        if (period < count - last && 2 * (period + last) <= count + 2 && period + last < best) {
            best = period + last;
            rest = last;
        }
    }
    size_t period = period_of(letters, count - rest);
    if (period > 1 && period < count - rest) {
        st_buffer_text(buffer, "(");
        write_runs(letters, period, buffer);
        st_buffer_printf(buffer, ")*%zu", (count - rest) / period);
        write_runs(letters + (count - rest), rest, buffer);
    } else {
        write_runs(letters, count, buffer);
    }
}
