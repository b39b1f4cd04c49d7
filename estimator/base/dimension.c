/* SPDX-License-Identifier: Apache-2.0 */
/* Dimensions: exponents of the five base units, in twelfths. */
#include "base/number.h"
#include "base/dimension.h"

#include <math.h>
#include <string.h>

bool st_dimension_equal(st_dimension a, st_dimension b)
{
    return memcmp(a.exponent, b.exponent, sizeof a.exponent) == 0;
}

bool st_dimension_is_number(st_dimension dimension)
{
    return st_dimension_equal(dimension, (st_dimension){0});
}

st_dimension st_dimension_multiply(st_dimension a, st_dimension b, int sign_of_b)
{
    st_dimension result;
    for (int i = 0; i < ST_DIMENSIONS; i++) {
        int sum = a.exponent[i] + (sign_of_b < 0 ? -b.exponent[i] : b.exponent[i]);
        if (sum > INT16_MAX)
            sum = INT16_MAX;
        if (sum < -INT16_MAX)
            sum = -INT16_MAX;
        result.exponent[i] = (int16_t)sum;
    }
    return result;
}

st_status st_dimension_power(st_dimension base, double exponent, st_dimension *result)
{
    if (!isfinite(exponent))
        return ST_ERR_UNIT;
    st_dimension power;
    for (int i = 0; i < ST_DIMENSIONS; i++) {
        double twelfths = base.exponent[i] * exponent;
        double whole = round(twelfths);
        /* A third is not a binary fraction: 1/3 as a double must still give a cube root. */
        if (fabs(twelfths - whole) > 1e-9 || fabs(whole) > INT16_MAX)
            return ST_ERR_UNIT;
        power.exponent[i] = (int16_t)whole;
    }
    *result = power;
    return ST_OK;
}

/* The factors whose exponents have this sign, joined by '*'; returns how many there are. */
static int print_side(st_dimension dimension, int sign, char *text, size_t size)
{
    static const char *const names[ST_DIMENSIONS] = {"B", "FLOP", "s", "J", "$"};
    int count = 0;
    text[0] = '\0';
    for (int i = 0; i < ST_DIMENSIONS; i++) {
        int twelfths = sign * dimension.exponent[i];
        if (twelfths <= 0)
            continue;
        if (count++ > 0)
            (void)snprintf(text + strlen(text), size - strlen(text), "*");
        /* "B", "s^2", "B^0.5", "FLOP^(1/3)" */
        const char *name = names[i];
        size_t used = strlen(text);
        char number[24];
        int hundredths = twelfths * 100 / ST_EXPONENT_ONE;
        if (twelfths == ST_EXPONENT_ONE) {
            (void)snprintf(text + used, size - used, "%s", name);
        } else if (hundredths * ST_EXPONENT_ONE == twelfths * 100) {
            (void)st_number_significant(hundredths / 100.0, 9, number, sizeof number);
            (void)snprintf(text + used, size - used, "%s^%s", name, number);
        } else {
            int divisor = twelfths % 4 == 0 ? 4 : twelfths % 2 == 0 ? 2 : 1;
            (void)snprintf(text + used, size - used, "%s^(%d/%d)", name, twelfths / divisor,
                           ST_EXPONENT_ONE / divisor);
        }
    }
    return count;
}

const char *st_dimension_text(st_dimension dimension, char *text, size_t size)
{
    char above[96];
    char below[96];
    int above_count = print_side(dimension, 1, above, sizeof above);
    int below_count = print_side(dimension, -1, below, sizeof below);
    if (above_count == 0 && below_count == 0)
        (void)snprintf(text, size, "1 (a pure number)");
    else if (below_count == 0)
        (void)snprintf(text, size, "%s", above);
    else
        (void)snprintf(text, size, below_count > 1 ? "%s/(%s)" : "%s/%s",
                       above_count > 0 ? above : "1", below);
    return text;
}
