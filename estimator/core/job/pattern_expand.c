/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Repeats spelled out in one pass: an open bracket remembers where its letters begin, and a count
 * copies what was written last as often as it says.
 */
#include "job/pattern_expand.h"

#include "base/memory.h"
#include "steptime/tool/pattern.h"

#include <string.h>

enum { DEPTH = 8 };

typedef struct speller {
    const st_expanded *spelled;
    const char *text;
    size_t next; /* character of the text */
    st_place place;
    st_arena *arena;
    st_errors *errors;
    char *letters;
    uint32_t *at;
    size_t count;
    size_t room; /* of letters */
    size_t at_room;
    size_t open[DEPTH];    /* where the letters of open brackets begin */
    size_t open_at[DEPTH]; /* their brackets in the text */
    size_t depth;
    size_t last; /* where the letters begin that a count repeats */
    bool repeatable;
} speller;

static st_status push(speller *expansion, char letter, uint32_t at)
{
    if (expansion->count >= ST_PATTERN_LAYERS)
        return st_fail(expansion->errors, ST_ERR_LIMIT, expansion->place,
                       "the %s expands to more than %d letters", expansion->spelled->noun,
                       ST_PATTERN_LAYERS);
    expansion->letters = st_arena_grow(expansion->arena, expansion->letters, sizeof(char),
                                       expansion->count + 1, &expansion->room);
    expansion->at = st_arena_grow(expansion->arena, expansion->at, sizeof(uint32_t),
                                  expansion->count + 1, &expansion->at_room);
    if (expansion->letters == NULL || expansion->at == NULL)
        return st_out_of_memory(expansion->errors);
    expansion->letters[expansion->count] = letter;
    expansion->at[expansion->count++] = at;
    return ST_OK;
}

static st_status letter(speller *expansion)
{
    expansion->last = expansion->count;
    expansion->repeatable = true;
    size_t at = expansion->next++;
    return push(expansion, expansion->text[at], (uint32_t)at + 1);
}

static st_status step(speller *expansion)
{
    char c = expansion->text[expansion->next];
    if (strchr(expansion->spelled->ignored, c) != NULL) {
        expansion->next++;
        return ST_OK;
    }
    if (c == '*' && (st_is_digit(expansion->text[expansion->next + 1]) ||
                     !expansion->spelled->star_is_letter)) {
        size_t star = expansion->next++;
        if (!expansion->repeatable)
            return st_fail(expansion->errors, ST_ERR_SYNTAX, expansion->place,
                           "nothing to repeat before the '*' at character %zu of the %s" ST_EXPECTED
                           "a letter or a group in brackets",
                           star + 1, expansion->spelled->noun);
        if (!st_is_digit(expansion->text[expansion->next]))
            return st_fail(expansion->errors, ST_ERR_SYNTAX, expansion->place,
                           "missing count after the '*' at character %zu of the %s", star + 1,
                           expansion->spelled->noun);
        /* The count behind a `*`, which is at most one more than any text may hold. */
        size_t times = 0;
        while (st_is_digit(expansion->text[expansion->next])) {
            times = 10 * times + (size_t)(expansion->text[expansion->next++] - '0');
            if (times > ST_PATTERN_LAYERS)
                times = ST_PATTERN_LAYERS + 1;
        }
        expansion->repeatable = false;
        if (times == 0)
            return st_fail(expansion->errors, ST_ERR_VALUE, expansion->place,
                           "zero repeats in the %s" ST_FOUND "'*0' at character %zu" ST_EXPECTED
                           "at least 1",
                           expansion->spelled->noun, star + 1);
        size_t length = expansion->count - expansion->last;
        if (length > 0 && times > ST_PATTERN_LAYERS / length)
            return st_fail(expansion->errors, ST_ERR_LIMIT, expansion->place,
                           "the %s expands to more than %d letters", expansion->spelled->noun,
                           ST_PATTERN_LAYERS);
        st_status status = ST_OK;
        for (size_t i = length; i < times * length && status == ST_OK; i++)
            status = push(expansion, expansion->letters[expansion->last + i - length],
                          expansion->at[expansion->last + i - length]);
        return status;
    }
    if (c == '(' || c == ')') {
        size_t at = expansion->next++;
        expansion->repeatable = false;
        if (expansion->text[at] == '(') {
            if (expansion->depth == DEPTH)
                return st_fail(expansion->errors, ST_ERR_LIMIT, expansion->place,
                               "the %s nests more than %d brackets", expansion->spelled->noun,
                               DEPTH);
            expansion->open_at[expansion->depth] = at;
            expansion->open[expansion->depth++] = expansion->count;
            return ST_OK;
        }
        if (expansion->depth == 0)
            return st_fail(expansion->errors, ST_ERR_SYNTAX, expansion->place,
                           "unmatched closing bracket in the %s" ST_FOUND "')' at character %zu",
                           expansion->spelled->noun, at + 1);
        expansion->last = expansion->open[--expansion->depth];
        if (expansion->last == expansion->count)
            return st_fail(expansion->errors, ST_ERR_SYNTAX, expansion->place,
                           "empty brackets in the %s" ST_FOUND "'()' at character %zu",
                           expansion->spelled->noun, expansion->open_at[expansion->depth] + 1);
        expansion->repeatable = true;
        return ST_OK;
    }
    return letter(expansion);
}

st_status st_pattern_expand(const char *text, st_place place, st_arena *arena, st_expanded *spelled,
                            st_errors *errors)
{
    speller expansion = {
        .spelled = spelled, .text = text, .place = place, .arena = arena, .errors = errors};
    st_status status = ST_OK;
    while (text[expansion.next] != '\0' && status == ST_OK)
        status = step(&expansion);
    if (status == ST_OK && expansion.depth > 0)
        status = st_fail(errors, ST_ERR_SYNTAX, place,
                         "unclosed bracket in the %s" ST_FOUND "'(' at character %zu",
                         spelled->noun, expansion.open_at[expansion.depth - 1] + 1);
    if (status == ST_OK && expansion.count == 0)
        status = st_fail(errors, ST_ERR_SYNTAX, place, "the %s is empty", spelled->noun);
    spelled->letters = expansion.letters;
    spelled->at = expansion.at;
    spelled->count = expansion.count;
    return status;
}

st_status st_expanded_fail(const st_expanded *spelled, size_t index, st_place place,
                           const char *expected, st_errors *errors)
{
    unsigned char letter = (unsigned char)spelled->letters[index];
    if (letter >= 0x80)
        return st_fail(errors, ST_ERR_VALUE, place,
                       "unknown letter in the %s" ST_FOUND
                       "one outside ASCII at character %u" ST_EXPECTED "%s",
                       spelled->noun, spelled->at[index], expected);
    return st_fail(errors, ST_ERR_VALUE, place,
                   "unknown letter in the %s" ST_FOUND "'%c' at character %u" ST_EXPECTED "%s",
                   spelled->noun, letter, spelled->at[index], expected);
}
