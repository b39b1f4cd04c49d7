/* SPDX-License-Identifier: Apache-2.0 */
/* Tables of measured products and their nearest shapes; see shapes.h. */
#include "shapes.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { COLUMNS_MOST = 24, FIELD_BYTES = 80, PRODUCTS_MOST = 200000 };

enum { COLUMN_M, COLUMN_N, COLUMN_K, COLUMN_US, COLUMN_GPU, COLUMN_DTYPE, COLUMN_SOURCE, COLUMNS };

static const char *const column_names[COLUMNS] = {"m", "n", "k", "us", "gpu", "dtype", "source"};

typedef struct table_reader {
    const char *at;
    size_t line;
    size_t fields; /* of the heading */
    int places[COLUMNS];
    char row[COLUMNS_MOST][FIELD_BYTES];
    char *reason;
} table_reader;

/* ---- CSV ---- */

/* A line of fields without quotes; false at the end of the text. *count is 0 for one that is none.
 */
static int next_row(table_reader *own, size_t *count)
{
    while (*own->at == '#' || *own->at == '\n') {
        own->at += strcspn(own->at, "\n");
        own->at += *own->at == '\n';
        own->line++;
    }
    own->line++;
    *count = 0;
    if (*own->at == '\0')
        return 0;
    for (;;) {
        size_t length = strcspn(own->at, ",\r\n");
        if (*count == COLUMNS_MOST || length >= FIELD_BYTES) {
            *count = 0;
            return 1;
        }
        memcpy(own->row[*count], own->at, length);
        own->row[(*count)++][length] = '\0';
        own->at += length;
        if (*own->at != ',')
            break;
        own->at++;
    }
    own->at += *own->at == '\r';
    own->at += *own->at == '\n';
    return 1;
}

static const char *read_heading(table_reader *own)
{
    if (!next_row(own, &own->fields) || own->fields == 0) {
        (void)snprintf(own->reason, ST_SHAPES_REASON, "the table has no heading");
        return own->reason;
    }
    for (size_t i = 0; i < COLUMNS; i++) {
        own->places[i] = -1;
        for (size_t k = 0; k < own->fields; k++)
            if (strcmp(own->row[k], column_names[i]) == 0)
                own->places[i] = (int)k;
        if (i <= COLUMN_US && own->places[i] < 0) {
            (void)snprintf(own->reason, ST_SHAPES_REASON, "the table has no column '%s'",
                           column_names[i]);
            return own->reason;
        }
    }
    return NULL;
}

static const char *field_of(const table_reader *own, size_t column)
{
    return own->places[column] >= 0 ? own->row[own->places[column]] : "";
}

static const char *read_number(table_reader *own, size_t column, double *value)
{
    char *end = NULL;
    const char *text = field_of(own, column);
    *value = strtod(text, &end);
    if (end != text && *end == '\0' && isfinite(*value) && *value > 0)
        return NULL;
    (void)snprintf(own->reason, ST_SHAPES_REASON,
                   "line %zu of the table: column %s: found '%.40s', expected a number above 0",
                   own->line, column_names[column], text);
    return own->reason;
}

/* ---- rows ---- */

static int is_wanted(const table_reader *own, const st_shapes_filter *filter)
{
    const char *const wanted[] = {filter->gpu, filter->dtype, filter->source};
    for (size_t i = 0; i < 3; i++)
        if (wanted[i][0] != '\0' && strcmp(field_of(own, COLUMN_GPU + i), wanted[i]) != 0)
            return 0;
    return 1;
}

static const char *add_row(table_reader *own, st_shapes *shapes)
{
    double values[4];
    for (size_t i = 0; i < 4; i++)
        if (read_number(own, i, &values[i]) != NULL)
            return own->reason;
    shapes->products[shapes->count] =
        (st_product){values[0], values[1], values[2], values[3] * 1e-6};
    for (size_t i = 0; i < 3; i++)
        shapes->logs[shapes->count][i] = log(values[i]);
    shapes->count++;
    return NULL;
}

/* Times of two GPUs beside each other would be the times of none. */
static const char *check_gpu(table_reader *own, char *gpu)
{
    const char *found = field_of(own, COLUMN_GPU);
    if (gpu[0] == '\0')
        (void)snprintf(gpu, FIELD_BYTES, "%s", found);
    if (strcmp(gpu, found) == 0)
        return NULL;
    (void)snprintf(own->reason, ST_SHAPES_REASON,
                   "the table has rows of %.40s and %.40s; name one with the option gpu", gpu,
                   found);
    return own->reason;
}

static const char *read_rows(table_reader *own, st_shapes *shapes, const st_shapes_filter *filter)
{
    char gpu[FIELD_BYTES] = "";
    size_t count = 0;
    while (next_row(own, &count)) {
        if (count != own->fields) {
            (void)snprintf(own->reason, ST_SHAPES_REASON,
                           "line %zu of the table has %zu fields and the heading %zu", own->line,
                           count, own->fields);
            return own->reason;
        }
        if (!is_wanted(own, filter))
            continue;
        if (shapes->count == PRODUCTS_MOST) {
            (void)snprintf(own->reason, ST_SHAPES_REASON, "the table has more than %d rows",
                           PRODUCTS_MOST);
            return own->reason;
        }
        if (check_gpu(own, gpu) != NULL || add_row(own, shapes) != NULL)
            return own->reason;
    }
    if (shapes->count > 0)
        return NULL;
    (void)snprintf(own->reason, ST_SHAPES_REASON, "no row of the table is left");
    return own->reason;
}

static size_t line_count(const char *text)
{
    size_t count = 1;
    for (; *text != '\0'; text++)
        count += *text == '\n';
    return count < PRODUCTS_MOST ? count : PRODUCTS_MOST;
}

const char *st_shapes_read(st_shapes *shapes, const char *text, const st_shapes_filter *filter,
                           char *reason)
{
    table_reader own = {.at = text, .reason = reason};
    size_t most = line_count(text);
    *shapes = (st_shapes){.products = calloc(most, sizeof *shapes->products),
                          .logs = calloc(most, sizeof *shapes->logs)};
    const char *fault = shapes->products != NULL && shapes->logs != NULL ? NULL : "out of memory";
    if (fault == NULL)
        fault = read_heading(&own);
    if (fault == NULL)
        fault = read_rows(&own, shapes, filter);
    if (fault != NULL)
        st_shapes_free(shapes);
    return fault;
}

void st_shapes_free(st_shapes *shapes)
{
    free(shapes->products);
    free(shapes->logs);
    *shapes = (st_shapes){0};
}

/* ---- answers ---- */

double st_product_formula(const st_product *product, const st_rates *rates)
{
    double arithmetic = 2.0 * product->m * product->n * product->k / rates->rate;
    double numbers = product->m * product->k + product->n * product->k + product->m * product->n;
    double memory = rates->bandwidth > 0 ? rates->width * numbers / rates->bandwidth : 0;
    double larger = arithmetic > memory ? arithmetic : memory;
    double smaller = arithmetic > memory ? memory : arithmetic;
    double share = larger > 0 ? smaller / larger : 0;
    if (!isnan(rates->corner))
        return rates->constant_s + larger + rates->corner * smaller;
    /* the fourth root of the sum of fourth powers, without their overflow */
    return rates->constant_s + larger * sqrt(sqrt(1.0 + share * share * share * share));
}

typedef struct nearest_shapes {
    double distances[ST_SHAPES_NEAREST]; /* squares */
    size_t places[ST_SHAPES_NEAREST];
    size_t count;
} nearest_shapes;

static void insert(nearest_shapes *own, double distance, size_t place)
{
    size_t at = own->count;
    if (at == ST_SHAPES_NEAREST && distance >= own->distances[at - 1])
        return;
    if (at == ST_SHAPES_NEAREST)
        at--;
    else
        own->count++;
    for (; at > 0 && own->distances[at - 1] > distance; at--) {
        own->distances[at] = own->distances[at - 1];
        own->places[at] = own->places[at - 1];
    }
    own->distances[at] = distance;
    own->places[at] = place;
}

static void find_nearest(const st_shapes *shapes, const st_product *product, nearest_shapes *own)
{
    const double logs[3] = {log(product->m), log(product->n), log(product->k)};
    for (size_t i = 0; i < shapes->count; i++) {
        double sum = 0;
        for (size_t k = 0; k < 3; k++) {
            double step = shapes->logs[i][k] - logs[k];
            sum += step * step;
        }
        insert(own, sum, i);
    }
}

double st_shapes_ratio(const st_shapes *shapes, const st_product *product, const st_rates *rates,
                       double reach, double *nearest)
{
    static const double softening = 0.01; /* of a square: an equal shape does not rule alone */
    nearest_shapes own = {.count = 0};
    double weights = 1.0 / (reach * reach + softening);
    double sum = weights; /* the formula as it is */
    find_nearest(shapes, product, &own);
    *nearest = own.count > 0 ? sqrt(own.distances[0]) : (double)INFINITY;
    for (size_t i = 0; i < own.count && isfinite(own.distances[i]); i++) {
        const st_product *known = &shapes->products[own.places[i]];
        double weight = 1.0 / (own.distances[i] + softening);
        weights += weight;
        sum += weight * known->time_s / st_product_formula(known, rates);
    }
    return sum / weights;
}
