/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The nearest name to a misspelt one: optimal string alignment (insertion, deletion, exchange,
 * transposition of neighbours), with prefixes and last parts of dotted names as second best.
 */
#include "steptime/status.h"

#include "base/chars.h"

#include <limits.h>
#include <string.h>

enum {
    LONGEST_NAME = 64, /* longer names are data, not slips */
    EDIT = 64,         /* price of an edit. */
    LIKENESS = 1       /* of another case, or '-' for '_' : too small to add up to an edit */
};

/* What holds the words of a name together. */
static bool is_joint(char letter)
{
    return letter == '-' || letter == '_' || letter == '.';
}

static bool is_alike(char a, char b)
{
    return (is_joint(a) && is_joint(b)) || st_to_lower(a) == st_to_lower(b);
}

static int least(int a, int b)
{
    return a < b ? a : b;
}

static size_t common_prefix(const char *a, const char *b)
{
    size_t length = 0;
    while (a[length] != '\0' && is_alike(a[length], b[length]))
        length++;
    return length;
}

/* How much one name adds to the other: "lay" to "layers", "tp" to "parallel.tp"; -1: not at all. */
static int part_price(const char *name, size_t name_length, const char *other, size_t other_length)
{
    if (other_length > name_length + 1 && name_length >= 2 &&
        other[other_length - name_length - 1] == '.' &&
        common_prefix(name, other + other_length - name_length) == name_length)
        return (int)(other_length - name_length);
    size_t shared = common_prefix(name, other);
    if (shared >= 3 && shared == name_length)
        return (int)(other_length - name_length);
    if (shared >= 3 && shared == other_length && is_joint(name[shared]))
        return (int)(name_length - other_length);
    return -1;
}

static int price_of(const char *name, size_t name_length, const char *other, size_t other_length)
{
    size_t edits = name_length <= 4 ? 1 : name_length <= 8 ? 2 : name_length / 3;
    int allowed = (int)edits * EDIT + EDIT - 1; /* likenesses may come on top */
    size_t longer = name_length > other_length ? name_length : other_length;
    size_t shorter = name_length > other_length ? other_length : name_length;
    if ((int)(longer - shorter) * EDIT <= allowed) {
        int rows[3][LONGEST_NAME + 1];
        int *before = rows[0];
        int *above = rows[1];
        int *row = rows[2];
        for (size_t j = 0; j <= other_length; j++)
            above[j] = (int)j * EDIT;
        for (size_t i = 1; i <= name_length; i++) {
            row[0] = (int)i * EDIT;
            for (size_t j = 1; j <= other_length; j++) {
                int exchange_price = 0;
                const char a = name[i - 1];
                const char b = other[j - 1];
                if (a != b)
                    exchange_price = is_alike(a, b) ? LIKENESS : EDIT;
                int distance_price = above[j - 1] + exchange_price;
                distance_price = least(distance_price, least(above[j], row[j - 1]) + EDIT);
                if (i > 1 && j > 1 && is_alike(name[i - 1], other[j - 2]) &&
                    is_alike(name[i - 2], other[j - 1]))
                    distance_price = least(distance_price, before[j - 2] + EDIT);
                row[j] = distance_price;
            }
            int *oldest = before;
            before = above;
            above = row;
            row = oldest;
        }
        int price = above[other_length];
        /* More than half the name exchanged is another name, not a slip. */
        if (price <= allowed && (size_t)(price / EDIT) * 2 <= longer)
            return price;
    }
    int part = part_price(name, name_length, other, other_length);
    return part < 0 ? INT_MAX : allowed + 1 + part;
}

const char *st_nearest(const char *name, const char *const *candidates, size_t count)
{
    size_t name_length = strlen(name);
    if (name_length == 0 || name_length > LONGEST_NAME)
        return NULL;
    const char *nearest = NULL;
    int best = INT_MAX;
    for (size_t i = 0; i < count; i++) {
        size_t length = candidates[i] != NULL ? strlen(candidates[i]) : 0;
        if (length == 0 || length > LONGEST_NAME)
            continue;
        int price = price_of(name, name_length, candidates[i], length);
        if (price < best) {
            best = price;
            nearest = candidates[i];
        }
    }
    return nearest;
}

const char *st_errors_nearest(const st_errors *errors, const char *name,
                              const char *const *candidates, size_t count)
{
    const char *nearest = st_errors_full(errors) ? NULL : st_nearest(name, candidates, count);
    return nearest != NULL ? nearest : "";
}
