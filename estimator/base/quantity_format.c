/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Quantities as text. A scaled text changes only the prefix of the first factor of the declared
 * unit, so that the reader meets the unit that the sheet's author chose, at a readable size.
 */
#include "base/number.h"
#include "base/text.h"
#include "base/dimension.h"
#include "base/unit_names.h"

#include <math.h>
#include <string.h>

enum { SCALED_DIGITS = 4, UNIT_DIGITS = 6, NUMBER_BYTES = 40 };

#define LARGEST_WHOLE 1e15
#define LONGEST_IN_S  1e4   /* seconds up to here stay seconds */
#define LONGEST_IN_H  3.6e5 /* 100 hours; beyond, days */

static const char *join(const char *number, const char *unit, char *text, size_t size)
{
    bool is_bare = strcmp(unit, "1") == 0;
    (void)snprintf(text, size, is_bare ? "%s" : "%s %s", number, unit);
    return text;
}

static const char *format_in_base(const char *number, const st_unit *unit, char *text, size_t size)
{
    char base[80];
    bool is_number = st_dimension_is_number(unit->dimension);
    return join(number, is_number ? "1" : st_dimension_text(unit->dimension, base, sizeof base),
                text, size);
}

static const char *format_in_unit(double base_value, const st_unit *unit, int digits, char *text,
                                  size_t size)
{
    char number[NUMBER_BYTES];
    double value = st_unit_from_base(unit, base_value);
    if (!isfinite(value) || (value == 0.0 && base_value != 0.0)) {
        (void)st_number_significant(base_value, digits, number, sizeof number);
        return format_in_base(number, unit, text, size);
    }
    /* Pure numbers are mostly counts, and of a count every digit matters. */
    const bool is_whole = value == floor(value) && fabs(value) < LARGEST_WHOLE;
    if (strcmp(unit->text, "1") == 0)
        digits = is_whole ? 15 : digits > UNIT_DIGITS ? digits : UNIT_DIGITS;
    (void)st_number_significant(value, digits, number, sizeof number);
    return join(number, unit->text, text, size);
}

/* A unit of one prefixed name, perhaps over a denominator. */
typedef struct scalable {
    const st_unit_name *name;
    const st_unit_prefix *prefix;
    const char *rest; /* "" or "/h" */
} scalable;

static bool take_apart(const st_unit *unit, scalable *parts)
{
    size_t length = strlen(unit->text);
    size_t size = st_unit_name_length(unit->text, length);
    parts->name = st_unit_name_find(unit->text, size, &parts->prefix);
    parts->rest = unit->text + size;
    if (parts->name == NULL || st_dimension_is_number(unit->dimension) ||
        (*parts->rest != '\0' && *parts->rest != '/'))
        return false;
    /* A '*' behind the '/' at the outermost level is a second numerator. */
    int depth = 0;
    for (const char *at = parts->rest; *at != '\0'; at++) {
        depth += (*at == '(') - (*at == ')');
        if (*at == '*' && depth == 0)
            return false;
    }
    return true;
}

static bool build_unit(const char *prefix, const char *name, const char *rest, st_unit *unit)
{
    char text[3 * sizeof unit->text];
    int length = snprintf(text, sizeof text, "%s%s%s", prefix, name, rest);
    return length > 0 && (size_t)length < sizeof text &&
           st_unit_parse(text, (size_t)length, (st_place){0}, unit, NULL) == ST_OK;
}

static const char *format_scaled(double base_value, const st_unit *unit, int digits, char *text,
                                 size_t size)
{
    scalable parts;
    st_unit scaled;
    bool is_percent = strcmp(unit->text, "%") == 0;
    if (!take_apart(unit, &parts))
        return format_in_unit(base_value, unit,
                              is_percent || digits > UNIT_DIGITS ? digits : UNIT_DIGITS, text,
                              size);
    bool is_built = false;
    if (strcmp(parts.name->text, "s") == 0 && *parts.rest == '\0' &&
        fabs(base_value) >= LONGEST_IN_S) {
        is_built = build_unit("", fabs(base_value) < LONGEST_IN_H ? "h" : "day", "", &scaled);
    } else if (base_value != 0.0 && build_unit("", parts.name->text, parts.rest, &scaled)) {
        double magnitude = fabs(st_unit_from_base(&scaled, base_value));
        /* The largest prefix that shows at least 1, else the smallest that there is. */
        bool is_binary = parts.prefix != NULL && parts.prefix->family == ST_PREFIX_BINARY;
        unsigned others = ~(unsigned)(is_binary ? ST_PREFIX_LARGE : ST_PREFIX_BINARY);
        const unsigned families = (parts.name->families & others) | ST_PREFIX_NONE;
        const st_unit_prefix *best = NULL;
        for (const st_unit_prefix *one = st_unit_prefixes; one->text != NULL; one++) {
            /* 999.95 has four digits as 1000, and so belongs to the next prefix. */
            bool is_shown_as_1 = magnitude * one->divisor / one->multiplier >= 0.99995;
            if ((one->family & families) != 0 && (best == NULL || is_shown_as_1))
                best = one;
        }
        const char *prefix = best != NULL ? best->text : "";
        is_built = build_unit(prefix, parts.name->text, parts.rest, &scaled);
    }
    return format_in_unit(base_value, is_built ? &scaled : unit, digits, text, size);
}

/*
 * The shortest decimal whose conversion gives exactly `base_value`. Rounding in the conversion may
 * have moved it a little away from the nearest one; a few values no decimal in the unit reaches.
 */
static bool find_exact(double base_value, const st_unit *unit, char *best, size_t size)
{
    enum { NEIGHBOURS = 3 };
    double nearest = st_unit_from_base(unit, base_value);
    if (!isfinite(nearest))
        return false;
    size_t best_length = 0;
    double candidate = nearest;
    for (int i = 0; i < NEIGHBOURS; i++)
        candidate = nextafter(candidate, -HUGE_VAL);
    for (int i = -NEIGHBOURS; i <= NEIGHBOURS; i++) {
        /* A number's text reads back as the number: no need to read it. */
        if (st_unit_to_base(unit, candidate) == base_value) {
            char number[NUMBER_BYTES];
            size_t length = strlen(st_number_format(candidate, number, sizeof number));
            if (best_length == 0 || length < best_length) {
                best_length = length;
                (void)snprintf(best, size, "%s", number);
            }
        }
        candidate = nextafter(candidate, HUGE_VAL);
    }
    return best_length > 0;
}

static const char *format_exact(double base_value, const st_unit *unit, char *text, size_t size)
{
    char number[NUMBER_BYTES];
    if (base_value == 0.0 || strcmp(unit->text, "1") == 0) {
        (void)st_number_format(base_value, number, sizeof number);
        return join(number, unit->text, text, size);
    }
    if (find_exact(base_value, unit, number, sizeof number))
        return join(number, unit->text, text, size);
    (void)st_number_format(base_value, number, sizeof number);
    return format_in_base(number, unit, text, size);
}

const char *st_quantity_format(double base_value, const st_unit *unit, st_style style, char *text,
                               size_t size)
{
    if (!isfinite(base_value))
        (void)snprintf(text, size, "not finite");
    else if (style == ST_STYLE_EXACT)
        (void)format_exact(base_value, unit, text, size);
    else if (style == ST_STYLE_UNIT)
        (void)format_in_unit(base_value, unit, UNIT_DIGITS, text, size);
    else
        (void)format_scaled(
            base_value, unit,
            style > ST_STYLE_EXACT ? (int)style - (int)ST_STYLE_EXACT : SCALED_DIGITS, text, size);
    return text;
}

const char *st_quantity_text(double base_value, const char *unit, char *text)
{
    st_unit parsed = st_unit_one();
    if (st_unit_parse(unit, strlen(unit), (st_place){0}, &parsed, NULL) != ST_OK)
        return "";
    return st_quantity_format(base_value, &parsed, ST_STYLE_SCALED, text, ST_QUANTITY_TEXT);
}
