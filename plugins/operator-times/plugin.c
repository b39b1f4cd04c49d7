/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Matrix products corrected by measured ones: the formula times what it is off at the nearest
 * shapes of a table. Products in another precision than the table's keep the formula.
 */
#include "shapes.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "steptime/plugin.h"

enum { TIMES, GPU, DTYPE, SOURCE, WIDTH, REACH, SCALE, OPTIONS };
enum { M, N, K, RATE, BANDWIDTH, NUMBER_WIDTH, CONSTANT, CORNER, ARGUMENTS };
enum { LARGEST_TEXT = 64 * 1024 * 1024 };

typedef struct operator_times {
    const st_plugin_host *host;
    st_shapes shapes;
    double width;
    double reach;
} operator_times;

#define OPTION_TEXT(id, words)                                                                     \
    {                                                                                              \
        .struct_size = sizeof(st_plugin_option), .kind = ST_PLUGIN_TEXT, .name = id, .unit = "",   \
        .default_text = "", .doc = words, .cite = "steptime docs/operators.md"                     \
    }
#define OPTION_NUMBER(id, of, initial, low, high, words)                                           \
    {                                                                                              \
        .struct_size = sizeof(st_plugin_option), .kind = ST_PLUGIN_NUMBER, .name = id, .unit = of, \
        .default_text = initial, .minimum = low, .maximum = high, .doc = words,                    \
        .cite = "steptime docs/operators.md"                                                       \
    }

static const st_plugin_option options[OPTIONS] = {
    [TIMES] = OPTION_TEXT("times", "CSV file with columns m, n, k and us, of products that were "
                                   "measured"),
    [GPU] = OPTION_TEXT("gpu", "take the rows with this word in the column gpu"),
    [DTYPE] = OPTION_TEXT("dtype", "take the rows with this word in the column dtype"),
    [SOURCE] = OPTION_TEXT("source", "take the rows with these words in the column source"),
    [WIDTH] = OPTION_NUMBER("width", "B", "2 B", 0.25, 8,
                            "bytes of a number of the table; products of other widths keep the "
                            "formula"),
    [REACH] = OPTION_NUMBER("reach", "", "1", 0.01, 100,
                            "distance in logarithms of m, n and k beyond which the formula counts "
                            "more than a measured shape"),
    [SCALE] = OPTION_NUMBER("scale", "", "1", 0.1, 10,
                            "factor on the measured times, such as 1.1 for short bursts that a "
                            "training step does not reach"),
};
static const st_plugin_option *const option_list[OPTIONS] = {
    &options[TIMES], &options[GPU],   &options[DTYPE], &options[SOURCE],
    &options[WIDTH], &options[REACH], &options[SCALE]};

#define ARGUMENT(id, of, optional, words)                                                          \
    {                                                                                              \
        .struct_size = sizeof(st_plugin_argument), .flags = optional, .name = id, .unit = of,      \
        .doc = words                                                                               \
    }

static const st_plugin_argument arguments[ARGUMENTS] = {
    [M] = ARGUMENT("m", "", 0, "rows"),
    [N] = ARGUMENT("n", "", 0, "columns"),
    [K] = ARGUMENT("k", "", 0, "width over which the product sums"),
    [RATE] = ARGUMENT("rate", "TFLOP/s", 0, "rate of large products"),
    [BANDWIDTH] = ARGUMENT("bandwidth", "GB/s", ST_PLUGIN_OPTIONAL, "memory bandwidth"),
    [NUMBER_WIDTH] = ARGUMENT("width", "B", ST_PLUGIN_OPTIONAL, "bytes of a number"),
    [CONSTANT] = ARGUMENT("constant", "us", ST_PLUGIN_OPTIONAL, "time of each product besides"),
    [CORNER] = ARGUMENT("corner", "", ST_PLUGIN_OPTIONAL,
                        "share of the shorter of arithmetic and memory that counts, too"),
};
static const st_plugin_argument *const argument_list[ARGUMENTS] = {
    &arguments[M],        &arguments[N],         &arguments[K],
    &arguments[RATE],     &arguments[BANDWIDTH], &arguments[NUMBER_WIDTH],
    &arguments[CONSTANT], &arguments[CORNER]};

/* ---- one row ---- */

typedef struct row_answer {
    double formula_s;
    double value_s;
    double nearest; /* distance of the nearest shape; NaN: none was asked for */
} row_answer;

static double column_of(const double *const *columns, size_t column, size_t row, double otherwise)
{
    return columns[column] != NULL ? columns[column][row] : otherwise;
}

static row_answer answer_row(const operator_times *own, const double *const *columns, size_t row)
{
    const st_product product = {.m = columns[M][row], .n = columns[N][row], .k = columns[K][row]};
    const st_rates rates = {.rate = columns[RATE][row],
                            .bandwidth = column_of(columns, BANDWIDTH, row, 0),
                            .width = column_of(columns, NUMBER_WIDTH, row, own->width),
                            .constant_s = column_of(columns, CONSTANT, row, 0),
                            .corner = column_of(columns, CORNER, row, (double)NAN)};
    row_answer answer = {.formula_s = st_product_formula(&product, &rates), .nearest = (double)NAN};
    answer.value_s = answer.formula_s;
    if (own->shapes.count == 0 || fabs(rates.width - own->width) > 0.1 * own->width)
        return answer;
    double ratio = st_shapes_ratio(&own->shapes, &product, &rates, own->reach, &answer.nearest);
    answer.value_s = answer.formula_s * ratio;
    return answer;
}

static int evaluate(void *instance, size_t rows, const double *const *columns, double *values)
{
    const operator_times *own = instance;
    for (size_t i = 0; i < rows; i++) {
        double value = answer_row(own, columns, i).value_s;
        values[i] = value >= 0 && isfinite(value) ? value : (double)NAN;
    }
    return ST_PLUGIN_OK;
}

static void tell(const st_plugin_sink *sink, const char *name, double value, const char *doc)
{
    st_plugin_term term = {.struct_size = sizeof term,
                           .flags = ST_PLUGIN_PART,
                           .name = name,
                           .unit = "us",
                           .value = value,
                           .doc = doc};
    sink->term(sink->context, &term);
}

static int explain(void *instance, const double *const *columns, const st_plugin_sink *sink)
{
    const operator_times *own = instance;
    char text[120];
    row_answer answer = answer_row(own, columns, 0);
    if (!(answer.value_s >= 0 && isfinite(answer.value_s))) {
        own->host->error(own->host->context, "the formula's own time is no finite one");
        return ST_PLUGIN_FAILED;
    }
    tell(sink, "formula", answer.formula_s, "the slower of arithmetic and memory");
    if (isnan(answer.nearest))
        return ST_PLUGIN_OK;
    tell(sink, "neighbours", answer.value_s - answer.formula_s,
         "what the formula is off at the nearest measured shapes");
    (void)snprintf(text, sizeof text, "corrected, nearest measured shape %.2f away (logarithms)",
                   answer.nearest);
    st_plugin_term term = {.struct_size = sizeof term,
                           .name = "origin",
                           .unit = "",
                           .text = text,
                           .doc = "of the time of this shape"};
    sink->term(sink->context, &term);
    return ST_PLUGIN_OK;
}

/* ---- opening ---- */

/* The text of a file; NULL where it cannot be read. */
static char *read_file(const char *path)
{
    FILE *file = fopen(path, "rb");
    char *text = file != NULL ? malloc((size_t)LARGEST_TEXT + 1) : NULL;
    size_t length = text != NULL ? fread(text, 1, LARGEST_TEXT, file) : 0;
    if (text != NULL && (length == LARGEST_TEXT || ferror(file))) {
        free(text);
        text = NULL;
    }
    if (text != NULL)
        text[length] = '\0';
    if (file != NULL)
        (void)fclose(file);
    return text;
}

static const char *read_shapes(operator_times *own, char *reason)
{
    const st_plugin_setting *const *settings = own->host->settings;
    const st_shapes_filter filter = {settings[GPU]->text, settings[DTYPE]->text,
                                     settings[SOURCE]->text};
    char *text = read_file(settings[TIMES]->text);
    if (text == NULL) {
        (void)snprintf(reason, ST_SHAPES_REASON, "the times '%.180s' cannot be read",
                       settings[TIMES]->text);
        return reason;
    }
    const char *fault = st_shapes_read(&own->shapes, text, &filter, reason);
    free(text);
    for (size_t i = 0; i < own->shapes.count; i++)
        own->shapes.products[i].time_s *= settings[SCALE]->number;
    return fault;
}

static int open_times(const st_plugin_host *host, void **instance)
{
    char reason[ST_SHAPES_REASON];
    operator_times *own = host->allocate(host->context, sizeof *own);
    if (own == NULL) {
        host->error(host->context, "out of memory");
        return ST_PLUGIN_FAILED;
    }
    *own = (operator_times){.host = host,
                            .width = host->settings[WIDTH]->number,
                            .reach = host->settings[REACH]->number};
    if (host->settings[TIMES]->text[0] == '\0') {
        host->log(host->context, ST_PLUGIN_LOG_WARNING,
                  "no times are given, so that all values are the formula's own");
    } else if (read_shapes(own, reason) != NULL) {
        host->error(host->context, reason);
        host->release(host->context, own);
        return ST_PLUGIN_FAILED;
    }
    *instance = own;
    return ST_PLUGIN_OK;
}

static void close_times(void *instance)
{
    operator_times *own = instance;
    st_shapes_free(&own->shapes);
    own->host->release(own->host->context, own);
}

const st_plugin *st_plugin_describe(void)
{
    static const st_plugin_provider provider = {.struct_size = sizeof(provider),
                                                .name = "gemm",
                                                .unit = "us",
                                                .doc = "matrix product, by measured neighbours",
                                                .cite = "steptime docs/operators.md",
                                                .arguments = argument_list,
                                                .argument_count = ARGUMENTS,
                                                .evaluate = evaluate,
                                                .explain = explain};
    static const st_plugin_provider *const providers[] = {&provider};
    static const st_plugin plugin = {
        .struct_size = sizeof(plugin),
        .abi = ST_PLUGIN_ABI,
        .id = "operator-times",
        .version = "1.0.0",
        .licence = "Apache-2.0",
        .summary = "matrix products corrected by measured ones of near shapes",
        .options = option_list,
        .option_count = OPTIONS,
        .providers = providers,
        .provider_count = 1,
        .open = open_times,
        .close = close_times,
    };
    return &plugin;
}
