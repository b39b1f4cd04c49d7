/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Units: a recursive parser over the grammar in quantity.h. Scales stay a quotient of two whole
 * numbers as long as doubles hold them, so that a conversion rounds once.
 */
#include "base/unit_names.h"

#include "base/number.h"
#include "base/utf8.h"
#include "base/lists.h"

#include <math.h>
#include <string.h>

enum { KNOWN_UNITS = 32, MOST_FACTORS = 16, LARGEST_EXPONENT = INT16_MAX / ST_EXPONENT_ONE };

typedef struct reader {
    const char *text;
    size_t length;
    size_t at;
    size_t factors;
    st_place place;
    st_errors *errors;
} reader;

st_unit st_unit_one(void)
{
    return (st_unit){.multiplier = 1, .divisor = 1, .text = "1"};
}

double st_unit_to_base(const st_unit *unit, double value)
{
    return value * unit->multiplier / unit->divisor;
}

double st_unit_from_base(const st_unit *unit, double base_value)
{
    return base_value * unit->divisor / unit->multiplier;
}

static char next(const reader *in)
{
    return in->at < in->length ? in->text[in->at] : '\0';
}

static st_place place_at(const reader *in, size_t at)
{
    return st_utf8_advance(in->place, in->text, at);
}

static st_status refuse_size(const reader *in)
{
    return st_fail(in->errors, ST_ERR_LIMIT, place_at(in, 0),
                   "unit is out of range" ST_FOUND "'%.*s'" ST_EXPECTED
                   "exponents and prefixes whose product fits a double",
                   (int)in->length, in->text);
}

/* unit *= factor^exponent; false on overflow. Whole scales are reduced to lowest terms. */
static bool multiply(st_unit *unit, const st_unit *factor, int exponent)
{
    int sign = exponent < 0 ? -1 : 1;
    for (int i = 0; i < exponent * sign; i++) {
        for (int d = 0; d < ST_DIMENSIONS; d++) {
            int sum = unit->dimension.exponent[d] + sign * factor->dimension.exponent[d];
            if (sum > INT16_MAX || sum < -INT16_MAX)
                return false;
            unit->dimension.exponent[d] = (int16_t)sum;
        }
        unit->multiplier *= sign > 0 ? factor->multiplier : factor->divisor;
        unit->divisor *= sign > 0 ? factor->divisor : factor->multiplier;
        if (!isfinite(unit->multiplier) || !isfinite(unit->divisor))
            return false;
        double common = st_common_divisor(unit->multiplier, unit->divisor);
        unit->multiplier /= common;
        unit->divisor /= common;
    }
    return true;
}

static st_status refuse_name(const reader *in, size_t at, size_t size)
{
    const char *name = in->text + at;
    if (size == 0) {
        bool is_end = at >= in->length;
        return st_fail(
            in->errors, ST_ERR_SYNTAX, place_at(in, at),
            "%s" ST_FOUND "'%.*s'" ST_EXPECTED "the name of a unit such as B, FLOP, s, W or $",
            is_end ? "unit ends too early" : "malformed unit", (int)in->length, in->text);
    }
    bool is_count = st_unit_is_count(name, size);
    const char *suggestion = st_unit_suggest(in->text, in->length, at, size, in->errors);
    const char *message =
        is_count ? st_errors_text(in->errors, "'%.*s' is a count, and counts have no unit",
                                  (int)size, name)
                 : st_errors_text(in->errors, "unknown unit '%.*s'", (int)size, name);
    return st_fail(
        in->errors, ST_ERR_UNIT, place_at(in, at), "%s" ST_FOUND "%s" ST_EXPECTED "%s" ST_HINT "%s",
        message,
        size == in->length ? "" : st_errors_text(in->errors, "'%.*s'", (int)in->length, in->text),
        suggestion != NULL || is_count ? ""
                                       : "B, bit, FLOP, s, min, h, day, J, W, Wh or $ with "
                                         "a prefix, joined by *, / and ^",
        st_or_none(suggestion));
}

static st_status read_name(reader *in, st_unit *unit)
{
    size_t size = st_unit_name_length(in->text + in->at, in->length - in->at);
    const st_unit_prefix *prefix;
    const st_unit_name *name = st_unit_name_find(in->text + in->at, size, &prefix);
    if (name == NULL)
        return refuse_name(in, in->at, size);
    in->at += size;
    *unit = (st_unit){.multiplier = name->multiplier, .divisor = name->divisor};
    for (int d = 0; d < ST_DIMENSIONS; d++)
        unit->dimension.exponent[d] = (int16_t)(name->exponent[d] * ST_EXPONENT_ONE);
    if (prefix != NULL) {
        const st_unit scale = {.multiplier = prefix->multiplier, .divisor = prefix->divisor};
        (void)multiply(unit, &scale, 1); /* the tables hold nothing that could overflow */
    }
    return ST_OK;
}

static st_status read_product(reader *in, st_unit *unit);

static st_status read_parentheses(reader *in, st_unit *unit)
{
    size_t start = in->at++;
    st_status status = read_product(in, unit);
    if (status != ST_OK)
        return status;
    if (next(in) != ')')
        return st_fail(in->errors, ST_ERR_SYNTAX, place_at(in, start),
                       "unclosed parenthesis in a unit" ST_FOUND "'%.*s'" ST_EXPECTED "')'",
                       (int)in->length, in->text);
    in->at++;
    return ST_OK;
}

/* unit *= term or unit /= term */
static st_status read_term(reader *in, int sign, st_unit *unit)
{
    if (++in->factors > MOST_FACTORS)
        return st_fail(in->errors, ST_ERR_LIMIT, place_at(in, in->at),
                       "unit has too many factors" ST_FOUND "'%.*s'" ST_EXPECTED "at most 16",
                       (int)in->length, in->text);
    st_unit term = st_unit_one();
    st_status status = next(in) == '(' ? read_parentheses(in, &term) : read_name(in, &term);
    if (status != ST_OK)
        return status;
    int exponent;
    /* [ "^" integer ] */
    status = ST_OK;
    exponent = 1;
    if (next(in) == '^') {
        in->at++;
        size_t start = in->at;
        bool is_negative = next(in) == '-';
        if (is_negative)
            in->at++;
        size_t digits = in->at;
        int value = 0;
        while (next(in) >= '0' && next(in) <= '9' && value <= LARGEST_EXPONENT)
            value = value * 10 + (in->text[in->at++] - '0');
        bool is_whole = in->at > digits && next(in) != '.';
        if (!is_whole || value == 0 || value > LARGEST_EXPONENT)
            status = st_fail(in->errors, ST_ERR_SYNTAX, place_at(in, start),
                             "malformed exponent in a unit" ST_FOUND "'%.*s'" ST_EXPECTED
                             "a whole number other than 0, up to 2730",
                             (int)in->length, in->text);
        else
            exponent = is_negative ? -value : value;
    }
    if (status != ST_OK)
        return status;
    return multiply(unit, &term, sign * exponent) ? ST_OK : refuse_size(in);
}

/* term { ("*" | "/") term }, or "1" in front of "/" */
static st_status read_product(reader *in, st_unit *unit)
{
    *unit = st_unit_one();
    bool is_reciprocal = next(in) == '1' && in->at + 1 < in->length && in->text[in->at + 1] == '/';
    if (is_reciprocal)
        in->at++;
    st_status status = is_reciprocal ? ST_OK : read_term(in, 1, unit);
    while (status == ST_OK && (next(in) == '*' || next(in) == '/')) {
        int sign = next(in) == '/' ? -1 : 1;
        in->at++;
        status = read_term(in, sign, unit);
    }
    return status;
}

/* The text without blanks and with '/' for "per", for a suggestion; NULL where that is not a unit.
 */
static const char *without_blanks(const reader *in)
{
    char tight[sizeof((st_unit *)NULL)->text];
    size_t used = 0;
    for (size_t i = 0; i < in->length; i++) {
        if (strchr(" \t\r\n", in->text[i]) == NULL) {
            tight[used++] = in->text[i];
        } else if (in->length - i > 5 && memcmp(in->text + i, " per ", 5) == 0) {
            tight[used++] = '/';
            i += 4;
        }
    }
    st_unit unit;
    bool is_unit = st_unit_parse(tight, used, (st_place){0}, &unit, NULL) == ST_OK;
    return is_unit ? st_errors_text(in->errors, "%.*s", (int)used, tight) : NULL;
}

static st_status read_unit(reader *in, st_unit *unit)
{
    if (in->length == 1 && in->text[0] == '1')
        return ST_OK;
    if (in->length == 1 && in->text[0] == '%') {
        unit->divisor = 100;
        return ST_OK;
    }
    st_status status = read_product(in, unit);
    if (status == ST_OK && in->at < in->length) {
        /* Something is left behind a whole unit. */
        if (strchr(" \t\r\n", next(in)) != NULL)
            status =
                st_fail(in->errors, ST_ERR_SYNTAX, place_at(in, in->at),
                        "blank inside a unit" ST_FOUND "'%.*s'" ST_HINT "%s", (int)in->length,
                        in->text, st_errors_full(in->errors) ? "" : st_or_none(without_blanks(in)));
        else
            status = st_fail(in->errors, ST_ERR_SYNTAX, place_at(in, in->at),
                             "malformed unit" ST_FOUND "'%.*s'" ST_EXPECTED
                             "'*', '/' or '^' between the names of units",
                             (int)in->length, in->text);
    }
    return status;
}

st_status st_unit_parse(const char *text, size_t length, st_place place, st_unit *unit,
                        st_errors *errors)
{
    reader in = {.text = text, .length = length, .place = place, .errors = errors};
    if (length == 0)
        return st_fail(errors, ST_ERR_SYNTAX, place_at(&in, 0),
                       "unit is missing" ST_EXPECTED "a unit such as GB/s, or 1 for a pure number");
    if (length >= sizeof unit->text)
        return st_fail(errors, ST_ERR_LIMIT, place_at(&in, 0),
                       "unit is too long" ST_FOUND "%zu bytes" ST_EXPECTED "at most 39 bytes",
                       length);
    /* A thread reads the same few units again and again. */
    static _Thread_local st_unit known[KNOWN_UNITS];
    const unsigned mixed = 5U * (unsigned char)text[0] + 3U * (unsigned char)text[length / 2] +
                           (unsigned char)text[length - 1] + (unsigned)length;
    st_unit *latest = &known[mixed % KNOWN_UNITS];
    if (latest->divisor == 0 || memcmp(latest->text, text, length) != 0 ||
        latest->text[length] != '\0') {
        st_unit result = st_unit_one();
        st_status status = read_unit(&in, &result);
        if (status != ST_OK)
            return status;
        memset(result.text, 0, sizeof result.text);
        memcpy(result.text, text, length);
        *latest = result;
    }
    *unit = *latest;
    return ST_OK;
}

/* ---- slips ---- */

/*
 * What people write instead of a unit, and what they mean by it. A suggestion is made only when the
 * corrected text is a unit, so that following it never leads to the next error.
 */

enum { UNIT_BYTES = sizeof((st_unit *)NULL)->text };

typedef struct slip {
    const char *written; /* lower case, unless exact */
    const char *meant;
    const char *or_meant; /* where it is ambiguous */
    bool exact;           /* the case distinguishes two meanings */
} slip;

static const slip slips[] = {
    {"bps", "bit/s", NULL, true},
    {"Bps", "B/s", NULL, true},
    {"Bs", "B/s", NULL, true},
    {"bps", "bit/s", "B/s", false},
    {"FLOPS", "FLOP/s", NULL, true},
    {"FLOPS", "FLOP", NULL, true}, /* in "TFLOPS/s" */
    {"flops", "FLOP/s", "FLOP", false},
    {"flop", "FLOP", NULL, false},
    {"B", "B", NULL, true},
    {"b", "bit", "B", false},
    {"bits", "bit", NULL, false},
    {"bit", "bit", NULL, false},
    {"bytes", "B", NULL, false},
    {"byte", "B", NULL, false},
    {"m", "min", "ms", true},
    {"seconds", "s", NULL, false},
    {"second", "s", NULL, false},
    {"secs", "s", NULL, false},
    {"sec", "s", NULL, false},
    {"s", "s", NULL, false},
    {"minutes", "min", NULL, false},
    {"minute", "min", NULL, false},
    {"mins", "min", NULL, false},
    {"min", "min", NULL, false},
    {"hours", "h", NULL, false},
    {"hour", "h", NULL, false},
    {"hrs", "h", NULL, false},
    {"hr", "h", NULL, false},
    {"h", "h", NULL, false},
    {"days", "day", NULL, false},
    {"day", "day", NULL, false},
    {"d", "day", NULL, false},
    {"hz", "1/s", NULL, false},
    {"joules", "J", NULL, false},
    {"joule", "J", NULL, false},
    {"j", "J", NULL, false},
    {"watts", "W", NULL, false},
    {"watt", "W", NULL, false},
    {"w", "W", NULL, false},
    {"wh", "Wh", NULL, false},
    {"dollars", "$", NULL, false},
    {"dollar", "$", NULL, false},
    {"usd", "$", NULL, false},
    {"percent", "%", NULL, false},
};

static const char *const counts[] = {
    "gpu",  "device",    "core", "rank",   "node",    "token",    "param", "parameter", "layer",
    "step", "iteration", "iter", "sample", "message", "sequence", "image", "batch",     "count"};

static bool is_same(const char *text, size_t length, const char *wanted, bool exact)
{
    if (strlen(wanted) != length)
        return false;
    for (size_t i = 0; i < length; i++)
        if (text[i] != wanted[i] && (exact || st_to_lower(text[i]) != st_to_lower(wanted[i])))
            return false;
    return true;
}

bool st_unit_is_count(const char *name, size_t length)
{
    for (size_t i = 0; i < ST_COUNT(counts); i++) {
        bool is_plural = length > 1 && st_to_lower(name[length - 1]) == 's';
        if (is_same(name, length, counts[i], false) ||
            (is_plural && is_same(name, length - 1, counts[i], false)))
            return true;
    }
    return false;
}

/* The text being corrected and the units that it may have meant. */
typedef struct correction {
    const char *text;
    size_t length;
    size_t at;
    size_t name_length;
    char found[2][UNIT_BYTES];
    size_t count;
} correction;

static void keep_if_unit(correction *one, const char *text, size_t length)
{
    st_unit unit;
    if (one->count == 2 || length >= UNIT_BYTES ||
        st_unit_parse(text, length, (st_place){0}, &unit, NULL) != ST_OK)
        return;
    if (one->count == 1 && strcmp(one->found[0], unit.text) == 0)
        return;
    memcpy(one->found[one->count++], unit.text, UNIT_BYTES);
}

/* Tries the whole text with the name replaced. */
static void try_name(correction *one, const char *prefix, const char *name)
{
    size_t behind = one->at + one->name_length;
    const char *rest = one->text + behind;
    size_t rest_length = one->length - behind;
    bool is_rate = strchr(name, '/') != NULL;
    bool has_time = rest_length >= 2 && rest[0] == '/' && st_to_lower(rest[1]) == 's';
    if (is_rate && has_time)
        return; /* "GFLOPS/s" means no acceleration */
    char text[3 * UNIT_BYTES];
    int length = snprintf(text, sizeof text, "%.*s%s%s%.*s", (int)one->at, one->text, prefix, name,
                          (int)rest_length, rest);
    if (length > 0 && (size_t)length < sizeof text)
        keep_if_unit(one, text, (size_t)length);
}

/* Tries every prefix that the letters or the word before a slip can mean. */
static void try_prefixes(correction *one, size_t prefix_length, const slip *meant)
{
    const char *written = one->text + one->at;
    if (prefix_length == 0) {
        try_name(one, "", meant->meant);
        if (meant->or_meant != NULL)
            try_name(one, "", meant->or_meant);
        return;
    }
    /* In its own case first: "m" is milli where that can be, mega where it cannot. */
    for (int pass = 0; pass < 2 && one->count == 0; pass++) {
        for (const st_unit_prefix *prefix = st_unit_prefixes; prefix->text != NULL; prefix++) {
            bool is_binary_k =
                prefix_length == 1 && written[0] == 'K' && strcmp(prefix->text, "Ki") == 0;
            bool is_word = is_same(written, prefix_length, prefix->word, false);
            bool is_letter =
                is_same(written, prefix_length, prefix->text, pass == 0 && written[0] != 'K');
            if (!is_binary_k && !is_word && !is_letter)
                continue;
            try_name(one, prefix->text, meant->meant);
            if (meant->or_meant != NULL && !is_binary_k)
                try_name(one, prefix->text, meant->or_meant);
        }
    }
}

const char *st_unit_suggest(const char *text, size_t length, size_t at, size_t name_length,
                            st_errors *errors)
{
    if (st_errors_full(errors))
        return NULL;
    correction one = {.text = text, .length = length, .at = at, .name_length = name_length};
    if (st_unit_is_count(text + at, name_length)) {
        /* "GB/s" for "GB/s/GPU" and "1/s" for "token/s". */
        size_t behind = one.at + one.name_length;
        size_t head = one.at > 0 ? one.at - 1 : 0;
        bool is_first = one.at == 0 && behind < one.length;
        char without_text[3 * UNIT_BYTES];
        int without_length =
            snprintf(without_text, sizeof without_text, "%.*s%s%.*s", (int)head, one.text,
                     is_first ? "1" : "", (int)(one.length - behind), one.text + behind);
        if (without_length > 0 && (size_t)without_length < sizeof without_text)
            keep_if_unit(&one, without_text, (size_t)without_length);
    }
    for (size_t i = 0; i < ST_COUNT(slips) && one.count == 0; i++) {
        size_t size = strlen(slips[i].written);
        if (size > name_length ||
            !is_same(text + at + name_length - size, size, slips[i].written, slips[i].exact))
            continue;
        try_prefixes(&one, name_length - size, &slips[i]);
    }
    if (one.count == 0)
        return NULL;
    return one.count == 1 ? st_errors_text(errors, "%s", one.found[0])
                          : st_errors_text(errors, "%s or %s", one.found[0], one.found[1]);
}
