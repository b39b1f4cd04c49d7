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

static st_status push(speller *own, char letter, uint32_t at)
{
    if (own->count >= ST_PATTERN_LAYERS)
        return st_fail(own->errors, ST_ERR_LIMIT, own->place,
                       "the %s expands to more than %d letters", own->spelled->noun,
                       ST_PATTERN_LAYERS);
    own->letters =
        st_arena_grow(own->arena, own->letters, sizeof(char), own->count + 1, &own->room);
    own->at = st_arena_grow(own->arena, own->at, sizeof(uint32_t), own->count + 1, &own->at_room);
    if (own->letters == NULL || own->at == NULL)
        return st_out_of_memory(own->errors);
    own->letters[own->count] = letter;
    own->at[own->count++] = at;
    return ST_OK;
}

static st_status repeat(speller *own)
{
    size_t star = own->next++;
    if (!own->repeatable)
        return st_fail(own->errors, ST_ERR_SYNTAX, own->place,
                       "nothing to repeat before the '*' at character %zu of the %s" ST_EXPECTED
                       "a letter or a group in brackets",
                       star + 1, own->spelled->noun);
    if (!st_is_digit(own->text[own->next]))
        return st_fail(own->errors, ST_ERR_SYNTAX, own->place,
                       "missing count after the '*' at character %zu of the %s", star + 1,
                       own->spelled->noun);
    /* The count behind a `*`, which is at most one more than any text may hold. */
    size_t times = 0;
    while (st_is_digit(own->text[own->next])) {
        times = 10 * times + (size_t)(own->text[own->next++] - '0');
        if (times > ST_PATTERN_LAYERS)
            times = ST_PATTERN_LAYERS + 1;
    }
    own->repeatable = false;
    if (times == 0)
        return st_fail(own->errors, ST_ERR_VALUE, own->place,
                       "zero repeats in the %s" ST_FOUND "'*0' at character %zu" ST_EXPECTED
                       "at least 1",
                       own->spelled->noun, star + 1);
    size_t length = own->count - own->last;
    if (length > 0 && times > ST_PATTERN_LAYERS / length)
        return st_fail(own->errors, ST_ERR_LIMIT, own->place,
                       "the %s expands to more than %d letters", own->spelled->noun,
                       ST_PATTERN_LAYERS);
    st_status status = ST_OK;
    for (size_t i = length; i < times * length && status == ST_OK; i++)
        status = push(own, own->letters[own->last + i - length], own->at[own->last + i - length]);
    return status;
}

static st_status letter(speller *own)
{
    own->last = own->count;
    own->repeatable = true;
    size_t at = own->next++;
    return push(own, own->text[at], (uint32_t)at + 1);
}

static st_status step(speller *own)
{
    char c = own->text[own->next];
    if (strchr(own->spelled->ignored, c) != NULL) {
        own->next++;
        return ST_OK;
    }
    if (c == '*' && (st_is_digit(own->text[own->next + 1]) || !own->spelled->star_is_letter))
        return repeat(own);
    if (c == '(' || c == ')') {
        size_t at = own->next++;
        own->repeatable = false;
        if (own->text[at] == '(') {
            if (own->depth == DEPTH)
                return st_fail(own->errors, ST_ERR_LIMIT, own->place,
                               "the %s nests more than %d brackets", own->spelled->noun, DEPTH);
            own->open_at[own->depth] = at;
            own->open[own->depth++] = own->count;
            return ST_OK;
        }
        if (own->depth == 0)
            return st_fail(own->errors, ST_ERR_SYNTAX, own->place,
                           "unmatched closing bracket in the %s" ST_FOUND "')' at character %zu",
                           own->spelled->noun, at + 1);
        own->last = own->open[--own->depth];
        if (own->last == own->count)
            return st_fail(own->errors, ST_ERR_SYNTAX, own->place,
                           "empty brackets in the %s" ST_FOUND "'()' at character %zu",
                           own->spelled->noun, own->open_at[own->depth] + 1);
        own->repeatable = true;
        return ST_OK;
    }
    return letter(own);
}

st_status st_pattern_expand(const char *text, st_place place, st_arena *arena, st_expanded *spelled,
                            st_errors *errors)
{
    speller own = {
        .spelled = spelled, .text = text, .place = place, .arena = arena, .errors = errors};
    st_status status = ST_OK;
    while (text[own.next] != '\0' && status == ST_OK)
        status = step(&own);
    if (status == ST_OK && own.depth > 0)
        status = st_fail(errors, ST_ERR_SYNTAX, place,
                         "unclosed bracket in the %s" ST_FOUND "'(' at character %zu",
                         spelled->noun, own.open_at[own.depth - 1] + 1);
    if (status == ST_OK && own.count == 0)
        status = st_fail(errors, ST_ERR_SYNTAX, place, "the %s is empty", spelled->noun);
    spelled->letters = own.letters;
    spelled->at = own.at;
    spelled->count = own.count;
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
