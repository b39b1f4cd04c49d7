/* SPDX-License-Identifier: Apache-2.0 */
/* What the tests of estimator/base share: a list of errors per test, and its contents as text. */
#ifndef STEPTIME_TESTS_BASE_SUPPORT_H
#define STEPTIME_TESTS_BASE_SUPPORT_H

#include "steptime/quantity.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#define NOT_A_NUMBER ((double)NAN) /* the macro is a float */
#define COUNT(table) (sizeof(table) / sizeof(table)[0])

/* Where the texts of these tests pretend to stand. */
static const st_place here = {"f", 3, 7};

static inline int make_errors(void **state)
{
    *state = st_errors_create();
    return *state == NULL ? -1 : 0;
}

static inline int drop_errors(void **state)
{
    st_errors_destroy(*state);
    return 0;
}

/* Everything that `errors` prints, in static memory; the list is empty afterwards. */
static inline const char *said(st_errors *errors)
{
    static char text[16384];
    text[0] = '\0'; /* closing an empty stream writes nothing */
    FILE *stream = fmemopen(text, sizeof text, "w");
    assert_non_null(stream);
    st_errors_write(errors, stream);
    assert_int_equal(fclose(stream), 0);
    st_errors_clear(errors);
    return text;
}

/* One error, as st_errors_write prints it. */
static inline const char *printed(const st_error *error)
{
    static char text[16384];
    text[0] = '\0'; /* closing an empty stream writes nothing */
    FILE *stream = fmemopen(text, sizeof text, "w");
    assert_non_null(stream);
    st_error_write(error, stream);
    assert_int_equal(fclose(stream), 0);
    return text;
}

static inline void assert_contains(const char *text, const char *part)
{
    if (strstr(text, part) == NULL)
        fail_msg("'%s' does not contain '%s'", text, part);
}

/* Bit by bit: 0.0 is not -0.0, and what is not a number equals itself. */
static inline void assert_same_double(double value, double expected)
{
    if (memcmp(&value, &expected, sizeof value) != 0)
        fail_msg("%.17g is not %.17g", value, expected);
}

static inline st_unit unit_of(const char *text)
{
    st_unit unit = {.text = ""};
    assert_int_equal(st_unit_parse(text, strlen(text), here, &unit, NULL), ST_OK);
    return unit;
}

#endif
