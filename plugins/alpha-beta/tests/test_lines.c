/* SPDX-License-Identifier: Apache-2.0 */
/* Lines worked out by hand, through the descriptor of three-lines. */
#include "lines.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#define COUNT(array) (sizeof(array) / sizeof((array)[0]))

typedef struct test_host {
    char error[256];
    double sum;
    int held;
    st_plugin_setting settings[6];
    const st_plugin_setting *pointers[6];
    st_plugin_host host;
} test_host;

static void keep_error(void *context, const char *message)
{
    test_host *host = context;
    snprintf(host->error, sizeof(host->error), "%s", message);
}

static void *allocate(void *context, size_t size_bytes)
{
    test_host *host = context;
    if (host->held < 0)
        return NULL;
    host->held++;
    return malloc(size_bytes);
}

static void release(void *context, void *memory)
{
    ((test_host *)context)->held--;
    free(memory);
}

/* size, ranks, ranks of a machine, bandwidth, GPUs of a machine, links, NICs */
static void evaluate(void *instance, size_t provider, const double *row, double *value)
{
    const double *columns[ST_LINES_COLUMNS];
    for (size_t i = 0; i < ST_LINES_COLUMNS; i++)
        columns[i] = isnan(row[i]) && i != ST_LINES_SIZE ? NULL : &row[i];
    assert_int_equal(st_lines_providers[provider]->evaluate(instance, 1, columns, value), 0);
}

static void assert_near(double value, double expected)
{
    if (!(fabs(value - expected) <= 1e-12 * fabs(expected)))
        fail_msg("%.17g is not %.17g", value, expected);
}

static void *open_lines(test_host *host)
{
    void *instance = NULL;
    static const double numbers[] = {2.385e-5, 0.11, 6.1e-5, 0.53, 1.07e-4, 0.79};
    memset(host, 0, sizeof(*host));
    for (size_t i = 0; i < COUNT(numbers); i++) {
        host->settings[i].number = numbers[i];
        host->pointers[i] = &host->settings[i];
    }
    host->host = (st_plugin_host){.struct_size = sizeof(st_plugin_host),
                                  .abi = ST_PLUGIN_ABI,
                                  .context = host,
                                  .error = keep_error,
                                  .allocate = allocate,
                                  .release = release,
                                  .settings = host->pointers,
                                  .setting_count = COUNT(numbers)};
    assert_int_equal(st_plugin_describe()->open(&host->host, &instance), ST_PLUGIN_OK);
    return instance;
}

TEST(the_least_line_counts)
{
    static const double none = (double)NAN;
    test_host host;
    void *instance = open_lines(&host);
    double value;
    double row[ST_LINES_COLUMNS] = {1e4, 8, 8, 240e9, none, none, none};
    evaluate(instance, 0, row, &value);
    assert_near(value, 2.385e-5 + 1e4 * 2 * 7 / 8.0 / 240e9 / 0.11);
    row[ST_LINES_SIZE] = 3e6;
    evaluate(instance, 0, row, &value);
    assert_near(value, 6.1e-5 + 3e6 * 2 * 7 / 8.0 / 240e9 / 0.53);
    row[ST_LINES_SIZE] = 5e9;
    evaluate(instance, 0, row, &value);
    assert_near(value, 1.07e-4 + 5e9 * 2 * 7 / 8.0 / 240e9 / 0.79);
    evaluate(instance, 1, row, &value);
    assert_near(value, 1.07e-4 + 5e9 * 7 / 8.0 / 240e9 / 0.79);
    evaluate(instance, 3, row, &value);
    assert_near(value, 1.07e-4 + 5e9 / 240e9 / 0.79);
    evaluate(instance, 4, row, &value);
    assert_near(value, 1.07e-4 + 5e9 / 240e9 / 0.79);
    row[ST_LINES_RANKS] = 1;
    evaluate(instance, 5, row, &value);
    assert_true(value == 0.0);
    row[ST_LINES_RANKS] = row[ST_LINES_PER_NODE] = none;
    evaluate(instance, 6, row, &value);
    assert_near(value, 1.07e-4 + 5e9 / 240e9 / 0.79);
    row[ST_LINES_SIZE] = 0.0;
    evaluate(instance, 6, row, &value);
    assert_true(value == 0.0);
    st_plugin_describe()->close(instance);
    assert_int_equal(host.held, 0);
}

TEST(rates_of_the_machine)
{
    static const double none = (double)NAN;
    test_host host;
    void *instance = open_lines(&host);
    double value;
    double row[ST_LINES_COLUMNS] = {5e9, 8, none, none, 8, 300e9, 200e9};
    evaluate(instance, 1, row, &value);
    assert_near(value, 1.07e-4 + 5e9 * 7 / 8.0 / 300e9 / 0.79);
    row[ST_LINES_RANKS] = 32;
    evaluate(instance, 1, row, &value);
    assert_near(value, 1.07e-4 + 5e9 * 31 / 32.0 / 200e9 / 0.79);
    row[ST_LINES_PER_NODE] = 2;
    evaluate(instance, 1, row, &value);
    assert_near(value, 1.07e-4 + 5e9 * 31 / 32.0 / 50e9 / 0.79);
    st_plugin_describe()->close(instance);
}

static void add_part(void *context, const st_plugin_term *term)
{
    if (term->flags & ST_PLUGIN_PART)
        ((test_host *)context)->sum += term->value;
}

TEST(parts_and_refusals)
{
    static const double bad[][ST_LINES_COLUMNS] = {
        {-1, 8, 8, 240e9, 8, 1, 1},  {1e19, 8, 8, 240e9, 8, 1, 1}, {1e6, 7.5, 7.5, 240e9, 8, 1, 1},
        {1e6, 0, 8, 240e9, 8, 1, 1}, {1e6, 12, 8, 240e9, 8, 1, 1}, {1e6, 8, 8, 0, 8, 0, 0},
    };
    static const char *const reasons[] = {"from 0 to",    "from 0 to",      "whole number",
                                          "whole number", "not a multiple", "unknown"};
    test_host host;
    void *instance = open_lines(&host);
    double good[ST_LINES_COLUMNS] = {3e6, 8, 8, 240e9, 8, 1, 1};
    const double *columns[ST_LINES_COLUMNS];
    st_plugin_sink sink = {sizeof(sink), &host, add_part};
    double value;
    for (size_t i = 0; i < ST_LINES_COLUMNS; i++)
        columns[i] = &good[i];
    evaluate(instance, 0, good, &value);
    assert_int_equal(st_lines_providers[0]->explain(instance, columns, &sink), ST_PLUGIN_OK);
    assert_near(host.sum, value);
    for (size_t k = 0; k < COUNT(bad); k++) {
        for (size_t i = 0; i < ST_LINES_COLUMNS; i++)
            columns[i] = &bad[k][i];
        evaluate(instance, 0, bad[k], &value);
        assert_true(isnan(value));
        assert_int_equal(st_lines_providers[0]->explain(instance, columns, &sink),
                         ST_PLUGIN_FAILED);
        assert_non_null(strstr(host.error, reasons[k]));
    }
    st_plugin_describe()->close(instance);
    host.held = -1;
    assert_int_equal(st_plugin_describe()->open(&host.host, &instance), ST_PLUGIN_FAILED);
    assert_string_equal(host.error, "out of memory");
}

TESTS(lines);
