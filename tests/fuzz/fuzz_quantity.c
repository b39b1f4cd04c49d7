/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Numbers, units and quantities from any bytes. What is accepted is finite, prints, and reads back
 * to the same bits; what is refused leaves the result untouched.
 */
#include "fuzz.h"
#include "base/dimension.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static const st_place place = {"fuzz", 1, 1};

static void check_number(const char *text, size_t length, st_errors *errors)
{
    double value = 2.385;
    st_status status = st_number_parse(text, length, place, &value, errors);
    fuzz_check_errors(status, errors);
    if (status == ST_OK) {
        char printed[ST_QUANTITY_TEXT];
        double again = 0;
        st_number_format(value, printed, sizeof printed);
        FUZZ_REQUIRE(isfinite(value));
        FUZZ_REQUIRE(st_number_parse(printed, strlen(printed), place, &again, errors) == ST_OK);
        FUZZ_REQUIRE(memcmp(&again, &value, sizeof value) == 0);
    } else {
        FUZZ_REQUIRE(value == 2.385);
    }
    st_errors_clear(errors);
}

/* Quantities of a pure number are written bare or with "%", whatever unit a sheet gave them
 * ("s/s"). */
static bool reads_back(const st_unit *unit)
{
    return !st_dimension_is_number(unit->dimension) || strcmp(unit->text, "1") == 0 ||
           strcmp(unit->text, "%") == 0;
}

/* A value that was read in a unit: every style prints, the exact one reads back. */
static void check_printing(double value, const st_unit *unit, st_errors *errors)
{
    char text[ST_QUANTITY_TEXT];
    double again = 0;
    FUZZ_REQUIRE(isfinite(value));
    FUZZ_REQUIRE(st_quantity_format(value, unit, ST_STYLE_SCALED, text, sizeof text)[0] != '\0');
    FUZZ_REQUIRE(st_quantity_format(value, unit, ST_STYLE_UNIT, text, sizeof text)[0] != '\0');
    st_quantity_format(value, unit, ST_STYLE_EXACT, text, sizeof text);
    FUZZ_REQUIRE(strlen(text) + 1 < sizeof text);
    if (reads_back(unit) && isfinite(st_unit_from_base(unit, value))) {
        FUZZ_REQUIRE(st_quantity_parse(text, strlen(text), unit, place, &again, errors) == ST_OK);
        FUZZ_REQUIRE(again == value);
    }
}

static void check_quantity(const char *text, size_t length, const st_unit *unit, st_errors *errors)
{
    double value = 2.385;
    st_status status = st_quantity_parse(text, length, unit, place, &value, errors);
    fuzz_check_errors(status, errors);
    if (status == ST_OK) {
        check_printing(value, unit, errors);
    } else {
        FUZZ_REQUIRE(value == 2.385);
    }
    st_errors_clear(errors);
}

static void check_unit(const char *text, size_t length, st_errors *errors)
{
    st_unit unit = st_unit_one();
    st_status status = st_unit_parse(text, length, place, &unit, errors);
    fuzz_check_errors(status, errors);
    st_errors_clear(errors);
    if (status == ST_OK) {
        char printed[ST_QUANTITY_TEXT];
        st_unit again = st_unit_one();
        FUZZ_REQUIRE(isfinite(unit.multiplier) && unit.multiplier > 0);
        FUZZ_REQUIRE(isfinite(unit.divisor) && unit.divisor > 0);
        FUZZ_REQUIRE(st_dimension_text(unit.dimension, printed, sizeof printed)[0] != '\0');
        FUZZ_REQUIRE(st_unit_parse(unit.text, strlen(unit.text), place, &again, errors) == ST_OK);
        FUZZ_REQUIRE(st_dimension_equal(unit.dimension, again.dimension));
        FUZZ_REQUIRE(again.multiplier == unit.multiplier && again.divisor == unit.divisor);
        check_printing(2.385, &unit, errors);
        st_errors_clear(errors);
    }
}

static void check_nearest(const char *text, size_t length)
{
    static const char *const names[] = {"hidden", "layers", "heads", "GB/s", "vocabulary"};
    char *name = malloc(length + 1);
    FUZZ_REQUIRE(name != NULL);
    if (length > 0) {
        memcpy(name, text, length);
    }
    name[length] = '\0';
    (void)st_nearest(name, names, sizeof names / sizeof names[0]);
    free(name);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static const char *const expected[] = {"1", "B", "GB/s", "us", "TFLOP/s", "$/h", "kWh"};
    st_errors *errors = st_errors_create();
    FUZZ_REQUIRE(errors != NULL);
    char *text = fuzz_copy((const char *)data, size);

    check_number(text, size, errors);
    check_unit(text, size, errors);
    check_nearest(text, size);
    for (size_t i = 0; i < sizeof expected / sizeof expected[0]; i++) {
        st_unit unit = st_unit_one();
        FUZZ_REQUIRE(st_unit_parse(expected[i], strlen(expected[i]), place, &unit, errors) ==
                     ST_OK);
        check_quantity(text, size, &unit, errors);
    }
    free(text);
    st_errors_destroy(errors);
    return 0;
}
