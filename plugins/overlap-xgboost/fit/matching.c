/* SPDX-License-Identifier: Apache-2.0 */
/*
 * See matching.h. Two runs of one program differ little, so that the greedy algorithm, whose time
 * grows with the length times the differences, is nearly linear.
 */
#include "overlap-xgboost/fit/matching.h"

#include <stdlib.h>

typedef struct matcher {
    st_sequence left; /* without what both begin and end with */
    st_sequence right;
    size_t *matches;  /* of `left` */
    size_t before;    /* items that both begin with */
    int32_t *reached; /* for each number of edits d, the furthest left item on diagonals -d to d */
    size_t rows;
} matcher;

/* Row d begins at d * d, for the rows before it have 1, 3, 5, ... diagonals. */
static int32_t *row_of(const matcher *own, int32_t edits)
{
    return own->reached + (size_t)edits * (size_t)edits + (size_t)edits;
}

/* Whether a diagonal is best reached from the one above it, by an item of `right` alone. */
static bool is_down(const matcher *own, int32_t edits, int32_t diagonal)
{
    const int32_t *last = row_of(own, edits - 1);
    return diagonal == -edits || (diagonal != edits && last[diagonal - 1] < last[diagonal + 1]);
}

/* The best start on a diagonal with one edit more than the row before. */
static int32_t step(const matcher *own, int32_t edits, int32_t diagonal)
{
    if (edits == 0)
        return 0;
    const int32_t *last = row_of(own, edits - 1);
    return is_down(own, edits, diagonal) ? last[diagonal + 1] : last[diagonal - 1] + 1;
}

/* Fills rows until the end of both is reached; the number of edits, -1 beyond the limit. */
static int32_t advance(matcher *own)
{
    int32_t left_count = (int32_t)own->left.count;
    int32_t right_count = (int32_t)own->right.count;
    for (int32_t edits = 0; edits < (int32_t)own->rows; edits++) {
        int32_t *row = row_of(own, edits);
        for (int32_t diagonal = -edits; diagonal <= edits; diagonal += 2) {
            int32_t x = step(own, edits, diagonal);
            while (x < left_count && x - diagonal >= 0 && x - diagonal < right_count &&
                   own->left.items[x] == own->right.items[x - diagonal])
                x++;
            row[diagonal] = x;
            if (x >= left_count && x - diagonal >= right_count)
                return edits;
        }
    }
    return -1;
}

/* Walks back from the end: whatever lies on a diagonal is a match. */
static void trace_back(const matcher *own, int32_t edits)
{
    int32_t x = (int32_t)own->left.count;
    int32_t diagonal = x - (int32_t)own->right.count;
    for (; edits >= 0; edits--) {
        int32_t start = step(own, edits, diagonal);
        for (; x > start; x--)
            own->matches[x - 1] = own->before + (size_t)(x - 1 - diagonal);
        if (edits > 0) {
            diagonal += is_down(own, edits, diagonal) ? 1 : -1;
            x = row_of(own, edits - 1)[diagonal];
        }
    }
}

static st_sequence inner(st_sequence whole, size_t before, size_t after)
{
    return (st_sequence){whole.items + before, whole.count - before - after};
}

st_status st_matching(st_sequence left, st_sequence right, size_t *matches)
{
    size_t least = left.count < right.count ? left.count : right.count;
    size_t before = 0;
    size_t after = 0;
    while (before < least && left.items[before] == right.items[before]) {
        matches[before] = before;
        before++;
    }
    while (after < least - before &&
           left.items[left.count - 1 - after] == right.items[right.count - 1 - after]) {
        matches[left.count - 1 - after] = right.count - 1 - after;
        after++;
    }
    matcher own = {.left = inner(left, before, after),
                   .right = inner(right, before, after),
                   .matches = matches + before,
                   .before = before};
    size_t most = own.left.count + own.right.count;
    for (size_t i = 0; i < own.left.count; i++)
        own.matches[i] = SIZE_MAX;
    if (own.left.count == 0 || own.right.count == 0)
        return ST_OK;
    if (own.left.count > INT32_MAX / 2 || own.right.count > INT32_MAX / 2)
        return ST_ERR_LIMIT;
    own.rows = (most < ST_MATCHING_MAX_APART ? most : ST_MATCHING_MAX_APART) + 1;
    own.reached = calloc(own.rows * own.rows, sizeof *own.reached);
    if (own.reached == NULL)
        return ST_ERR_MEMORY;
    int32_t edits = advance(&own);
    if (edits >= 0)
        trace_back(&own, edits);
    free(own.reached);
    return edits >= 0 ? ST_OK : ST_ERR_LIMIT;
}
