/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Properties of numbers, units and quantities: what is printed reads back, what is read means what
 * its parts mean, and no mangled text is more than refused.
 */
#include "property.h"

#include "steptime/quantity.h"

enum { ROUNDS = DRAWS(20000) };

static const st_place here = {"f", 1, 1};

static const char *const units[] = {
    "1",      "%",      "B",       "GB",         "KiB",       "EiB", "bit",   "Gbit/s", "GB/s",
    "MiB/ms", "kB/min", "s",       "ms",         "us",        "ns",  "ps",    "min",    "h",
    "day",    "FLOP",   "TFLOP",   "TFLOP/s",    "FLOP/B",    "J",   "mJ",    "kWh",    "W",
    "mW",     "$",      "k$",      "$/h",        "$/kWh",     "1/s", "1/min", "us/GB",  "B*s",
    "s^2",    "ms/s",   "B^2/day", "FLOP/(B*s)", "(kB/ms)^2",
};

static st_unit unit_of(const char *text)
{
    st_unit unit = {.text = ""};
    if (st_unit_parse(text, strlen(text), here, &unit, NULL) != ST_OK)
        fail_msg("%s is no unit", text);
    return unit;
}

static st_unit random_unit(property_random *random)
{
    return unit_of(units[random_below(random, sizeof units / sizeof units[0])]);
}

/* Significant digits of a printed number. */
static int count_digits(const char *text)
{
    int digits = 0;
    int zeros = 0; /* that count only when another digit follows */
    for (; *text != '\0' && *text != 'e' && *text != ' '; text++) {
        if (*text < '0' || *text > '9')
            continue;
        if (*text != '0') {
            digits += zeros + 1;
            zeros = 0;
        } else if (digits > 0) {
            zeros++;
        }
    }
    return digits;
}

TEST_OF(every_number_reads_back_from_its_shortest_text, property_random *random, NULL, NULL)
{
    for (int round = 0; round < ROUNDS; round++) {
        double value = round % 2 == 0 ? random_double(random) : random_magnitude(random, 20);
        char text[ST_QUANTITY_TEXT];
        double again = 0;
        (void)st_number_format(value, text, sizeof text);
        assert_int_equal(st_number_parse(text, strlen(text), here, &again, NULL), ST_OK);
        if (!same_bits(again, value))
            fail_msg("%.17g printed as %s", value, text);
        int digits = count_digits(text);
        if (digits < 2)
            continue;
        char shorter[64];
        (void)snprintf(shorter, sizeof shorter, "%.*e", digits - 2, value);
        if (strtod(shorter, NULL) == value)
            fail_msg("%s is shorter than %s", shorter, text);
    }
}

TEST_OF(every_quantity_reads_back_from_its_exact_text, property_random *random, NULL, NULL)
{
    for (int round = 0; round < ROUNDS; round++) {
        st_unit unit = random_unit(random);
        double value = round % 8 == 0 ? random_double(random) : random_magnitude(random, 25);
        char text[ST_QUANTITY_TEXT];
        double again = 0;
        (void)st_quantity_format(value, &unit, ST_STYLE_EXACT, text, sizeof text);
        if (st_quantity_parse(text, strlen(text), &unit, here, &again, NULL) != ST_OK ||
            !same_bits(again, value))
            fail_msg("%.17g in %s printed as %s", value, unit.text, text);
    }
}

TEST_OF(what_was_written_briefly_prints_briefly, property_random *random, NULL, NULL)
{
    for (int round = 0; round < ROUNDS; round++) {
        st_unit unit = random_unit(random);
        char written[ST_QUANTITY_TEXT];
        char printed[ST_QUANTITY_TEXT];
        double value = 0;
        const char *name = strcmp(unit.text, "1") == 0 ? "" : unit.text;
        (void)snprintf(written, sizeof written, "%d.%d1e%d %s", random_between(random, 1, 9),
                       random_between(random, 0, 99999), random_between(random, -12, 12), name);
        assert_int_equal(st_quantity_parse(written, strlen(written), &unit, here, &value, NULL),
                         ST_OK);
        (void)st_quantity_format(value, &unit, ST_STYLE_EXACT, printed, sizeof printed);
        if (count_digits(printed) > count_digits(written))
            fail_msg("%s printed as %s", written, printed);
    }
}

/* The printed text means the value up to a rounding in its last digit. */
static void assert_close(double value, const st_unit *unit, st_style style, double tolerance)
{
    char text[ST_QUANTITY_TEXT];
    double again = 0;
    (void)st_quantity_format(value, unit, style, text, sizeof text);
    if (st_quantity_parse(text, strlen(text), unit, here, &again, NULL) != ST_OK ||
        !(fabs(again - value) <= tolerance * fabs(value)))
        fail_msg("%.17g in %s printed as %s", value, unit->text, text);
}

TEST_OF(printed_texts_are_close_to_the_value, property_random *random, NULL, NULL)
{
    for (int round = 0; round < ROUNDS; round++) {
        st_unit unit = random_unit(random);
        double value = random_magnitude(random, 25);
        assert_close(value, &unit, ST_STYLE_SCALED, 5.1e-4);
        assert_close(value, &unit, ST_STYLE_UNIT, 5.1e-6);
    }
}

TEST(scaled_numbers_are_easy_to_read)
{
    static const struct {
        const char *unit;
        double smallest; /* base values that a prefix brings between 1 and `limit` */
        double largest;
        double limit;
    } families[] = {
        {"GB", 1, 9.99e20, 1000},      {"bit", 0.125, 1e20, 1000},      {"MiB/s", 1, 1e21, 1024},
        {"TFLOP/s", 1, 9.99e20, 1000}, {"J", 1e-3, 9.99e20, 1000},      {"kWh", 3600, 1e24, 1000},
        {"us", 1e-12, 9.99e2, 1000},   {"$/h", 1.0 / 3600, 1e17, 1000},
    };
    property_random *random = *state;
    for (int round = 0; round < ROUNDS; round++) {
        size_t i = random_below(random, sizeof families / sizeof families[0]);
        st_unit unit = unit_of(families[i].unit);
        double reach = log(families[i].largest / families[i].smallest);
        double value = families[i].smallest * exp(reach * random_unit_interval(random));
        char text[ST_QUANTITY_TEXT];
        (void)st_quantity_format(value, &unit, ST_STYLE_SCALED, text, sizeof text);
        double shown = strtod(text, NULL);
        if (!(shown >= 1 && shown <= families[i].limit) || count_digits(text) > 4 ||
            (shown == families[i].limit && families[i].limit == 1000.0))
            fail_msg("%.17g in %s printed as %s", value, unit.text, text);
    }
}

/* A unit that is written while its meaning is added up. */
typedef struct written_unit {
    char text[256];
    int exponent[ST_DIMENSIONS];
    double log2_scale;
    int factors;
} written_unit;

static void write_name(property_random *random, written_unit *unit, int sign)
{
    static const struct {
        const char *name;
        int exponent[ST_DIMENSIONS];
        double scale;
    } names[] = {
        {"B", {1, 0, 0, 0, 0}, 1},        {"GB", {1, 0, 0, 0, 0}, 1e9},
        {"KiB", {1, 0, 0, 0, 0}, 1024},   {"Mbit", {1, 0, 0, 0, 0}, 125e3},
        {"TFLOP", {0, 1, 0, 0, 0}, 1e12}, {"us", {0, 0, 1, 0, 0}, 1e-6},
        {"min", {0, 0, 1, 0, 0}, 60},     {"day", {0, 0, 1, 0, 0}, 86400},
        {"kW", {0, 0, -1, 1, 0}, 1000},   {"kWh", {0, 0, 0, 1, 0}, 3.6e6},
        {"$", {0, 0, 0, 0, 1}, 1},        {"ps", {0, 0, 1, 0, 0}, 1e-12},
    };
    size_t i = random_below(random, sizeof names / sizeof names[0]);
    char power[16] = "";
    int exponent = random_between(random, -3, 3);
    if (exponent != 0)
        (void)snprintf(power, sizeof power, "^%d", exponent);
    else
        exponent = 1;
    size_t length = strlen(unit->text);
    (void)snprintf(unit->text + length, sizeof unit->text - length, "%s%s", names[i].name, power);
    for (int d = 0; d < ST_DIMENSIONS; d++)
        unit->exponent[d] += sign * exponent * names[i].exponent[d];
    unit->log2_scale += sign * exponent * log2(names[i].scale);
    unit->factors++;
}

static void append_letter(written_unit *unit, char letter)
{
    size_t length = strlen(unit->text);
    unit->text[length] = letter;
    unit->text[length + 1] = '\0';
}

/* `depth` bounds the parentheses, so that the buffer holds every text. */
static void write_product(property_random *random, written_unit *unit, int sign, int depth)
{
    int terms = random_between(random, 1, 3);
    int term_sign = sign;
    for (int i = 0; i < terms; i++) {
        if (i > 0) {
            bool is_quotient = random_bits(random) % 2 == 0;
            append_letter(unit, is_quotient ? '/' : '*');
            term_sign = is_quotient ? -sign : sign;
        }
        if (depth > 0 && random_below(random, 4) == 0) {
            append_letter(unit, '(');
            write_product(random, unit, term_sign, depth - 1);
            append_letter(unit, ')');
            unit->factors++; /* a parenthesis is a factor, too */
        } else {
            write_name(random, unit, term_sign);
        }
    }
}

TEST_OF(a_unit_means_what_its_parts_mean, property_random *random, NULL, NULL)
{
    int read = 0;
    for (int round = 0; round < ROUNDS; round++) {
        written_unit written = {.text = ""};
        write_product(random, &written, 1, 2);
        st_unit unit = {.text = ""};
        size_t length = strlen(written.text);
        st_status status = st_unit_parse(written.text, length, here, &unit, NULL);
        if (length >= sizeof unit.text || written.factors > 16) {
            assert_int_equal(status, ST_ERR_LIMIT);
            continue;
        }
        if (status != ST_OK)
            fail_msg("%s is refused", written.text);
        read++;
        for (int d = 0; d < ST_DIMENSIONS; d++)
            if (unit.dimension.exponent[d] != written.exponent[d] * ST_EXPONENT_ONE)
                fail_msg("%s has a wrong dimension", written.text);
        double log2_scale = log2(unit.multiplier) - log2(unit.divisor);
        if (fabs(log2_scale - written.log2_scale) > 1e-9)
            fail_msg("%s has the scale %.17g / %.17g", written.text, unit.multiplier, unit.divisor);
    }
    assert_true(read > ROUNDS / 4);
}

/* One letter deleted, doubled or changed. */
static void mangle(property_random *random, char *text)
{
    static const char letters[] = "kMGTsBbhW$%()^*/. 019-eEx\xC2\xB5";
    size_t length = strlen(text);
    size_t at = random_below(random, length);
    switch (random_below(random, 3)) {
    case 0:
        memmove(text + at, text + at + 1, length - at);
        break;
    case 1:
        memmove(text + at + 1, text + at, length - at + 1);
        break;
    default:
        text[at] = letters[random_below(random, sizeof letters - 1)];
        break;
    }
}

TEST_OF(mangled_quantities_are_read_or_refused, property_random *random, NULL, NULL)
{
    st_errors *errors = st_errors_create();
    assert_non_null(errors);
    for (int round = 0; round < ROUNDS; round++) {
        st_unit unit = random_unit(random);
        char text[ST_QUANTITY_TEXT + 16];
        (void)snprintf(text, sizeof text - 16, "%d.%02d %s", random_between(random, -99, 99),
                       random_between(random, 0, 99), unit.text);
        for (int i = random_between(random, 1, 3); i > 0; i--)
            mangle(random, text);
        double value = 2.385;
        st_status status = st_quantity_parse(text, strlen(text), &unit, here, &value, errors);
        if (status == ST_OK ? !isfinite(value) || st_errors_size(errors) != 0
                            : value != 2.385 || st_errors_size(errors) != 1)
            fail_msg("'%s': status %d, value %g", text, (int)status, value);
        st_errors_clear(errors);
    }
    st_errors_destroy(errors);
}

TEST(a_slip_of_the_pen_is_found_again)
{
    static const char *const names[] = {"hidden",      "layers",         "attention_heads",
                                        "vocabulary",  "gradient_bytes", "gpus_per_node",
                                        "micro_batch", "sequence_length"};
    const size_t count = sizeof names / sizeof names[0];
    property_random *random = *state;
    for (int round = 0; round < ROUNDS; round++) {
        const char *name = names[random_below(random, count)];
        char text[40];
        (void)snprintf(text, sizeof text, "%s", name);
        size_t at = random_below(random, strlen(text) - 1);
        char letter = text[at];
        switch (random_below(random, 3)) {
        case 0:
            memmove(text + at, text + at + 1, strlen(text + at + 1) + 1);
            break;
        case 1:
            text[at] = text[at + 1];
            text[at + 1] = letter;
            break;
        default:
            text[at] = 'q';
            break;
        }
        const char *nearest = st_nearest(text, names, count);
        if (nearest != name)
            fail_msg("'%s' for %s is near %s", text, name, nearest != NULL ? nearest : "nothing");
    }
}

TESTS_WITH(quantities, property_setup, NULL);
