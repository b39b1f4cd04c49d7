/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Tables as CSV: lines "# key: value" that say what was measured, then a heading with size_bytes
 * (or size) and time_us (or time), perhaps algbw_GBps and in_place_time_us. Columns collective,
 * ranks and nodes say of each row what the lines say of all; where they change, a table begins.
 */
#include "calibrate/collectives/nccl_read.h"

#include "base/csv.h"
#include "steptime/quantity.h"

#include <math.h>
#include <string.h>

enum { KEYS = 3 }; /* collective, ranks and nodes */

static const char *const key_names[KEYS] = {"collective", "ranks", "nodes"};

typedef struct csv_columns {
    size_t size;
    size_t time[2];
    size_t bandwidth[2];
    size_t keys[KEYS];
} csv_columns;

/* ---- the lines before the heading ---- */

static void take_key(st_nccl_reader *reader, int line, const char *key, const char *value)
{
    if (strcmp(key, "ranks") == 0) {
        reader->ranks = st_nccl_count(reader, line, "ranks", value);
    } else if (strcmp(key, "nodes") == 0) {
        reader->nodes = st_nccl_count(reader, line, "nodes", value);
    } else if (strcmp(key, "gpus") == 0) {
        reader->gpu = value;
    } else if (strcmp(key, "interconnect") == 0 || strcmp(key, "fabric") == 0) {
        reader->fabric = value;
    } else if (strcmp(key, "nccl") == 0) {
        reader->version = value[0] >= '0' && value[0] <= '9' ? value : "";
    } else if (strcmp(key, "collective") == 0) {
        reader->collective = st_nccl_collective(value, strlen(value));
        if (reader->collective == NULL)
            st_note(&reader->status,
                    st_fail(reader->errors, ST_ERR_NAME, st_nccl_place(reader, line),
                            "unknown collective" ST_FOUND "'%s'" ST_EXPECTED
                            "one such as all_reduce_perf",
                            value));
    }
}

/* "# key: value"; true where it says that the times are those in place. */
static bool read_comment(st_nccl_reader *reader, const char *text, size_t length, int line)
{
    while (length > 0 && (*text == '#' || *text == ' ')) {
        text++;
        length--;
    }
    while (length > 0 && (text[length - 1] == '\r' || text[length - 1] == ' '))
        length--;
    const char *colon = memchr(text, ':', length);
    if (colon == NULL)
        return false;
    const char *value = colon + 1;
    while (value < text + length && *value == ' ')
        value++;
    const char *key = st_nccl_text(reader, text, (size_t)(colon - text));
    const char *copy = st_nccl_text(reader, value, (size_t)(text + length - value));
    take_key(reader, line, key, copy);
    return strcmp(key, "placement") == 0 && strncmp(copy, "in-place", 8) == 0;
}

/* ---- rows ---- */

static size_t find_column(const st_csv *csv, const char *name, const char *other)
{
    size_t found = st_csv_column(csv, name);
    return found != SIZE_MAX ? found : st_csv_column(csv, other);
}

static bool find_columns(st_nccl_reader *reader, const st_csv *csv, int heading, bool in_place,
                         csv_columns *columns)
{
    size_t time = find_column(csv, "time_us", "time");
    size_t bandwidth = find_column(csv, "algbw_GBps", "algbw");
    columns->size = find_column(csv, "size_bytes", "size");
    columns->time[0] = in_place ? SIZE_MAX : time;
    columns->time[1] = in_place ? time : find_column(csv, "in_place_time_us", "in_place_time");
    columns->bandwidth[0] = in_place ? SIZE_MAX : bandwidth;
    columns->bandwidth[1] = in_place ? bandwidth : st_csv_column(csv, "in_place_algbw_GBps");
    for (size_t i = 0; i < KEYS; i++)
        columns->keys[i] = st_csv_column(csv, key_names[i]);
    if (columns->size != SIZE_MAX && (columns->time[0] & columns->time[1]) != SIZE_MAX)
        return true;
    st_note(&reader->status,
            st_fail(reader->errors, ST_ERR_NAME, st_nccl_place(reader, heading),
                    "the table lacks a column" ST_EXPECTED "size_bytes and time_us"));
    return false;
}

/* NaN where the field is blank or "N/A". */
static double read_field(st_nccl_reader *reader, const st_csv *csv, size_t row, size_t column,
                         int line)
{
    if (column == SIZE_MAX)
        return (double)NAN;
    const char *text = st_csv_field(csv, row, column);
    double value = (double)NAN;
    if (text[0] == '\0' || strcmp(text, "N/A") == 0 || strcmp(text, "nan") == 0)
        return (double)NAN;
    if (st_number_parse(text, strlen(text), (st_place){0}, &value, NULL) != ST_OK)
        st_note(&reader->status,
                st_fail(reader->errors, ST_ERR_SYNTAX, st_nccl_place(reader, line),
                        "no number in column %s" ST_FOUND "'%s'", csv->columns[column], text));
    return value;
}

static double slack_of(const char *text)
{
    const char *point = strchr(text, '.');
    return point == NULL || strchr(text, 'e') != NULL
               ? (double)INFINITY
               : 0.5e9 * pow(10.0, -(double)strlen(point + 1));
}

static void read_row(st_nccl_reader *reader, const st_csv *csv, const csv_columns *columns,
                     size_t index, int line)
{
    st_nccl_row row = {.size_bytes = read_field(reader, csv, index, columns->size, line),
                       .line = line};
    for (int i = 0; i < 2; i++) {
        row.time_s[i] = read_field(reader, csv, index, columns->time[i], line) * 1e-6;
        row.bandwidth[i] = read_field(reader, csv, index, columns->bandwidth[i], line) * 1e9;
        row.slack[i] = columns->bandwidth[i] == SIZE_MAX
                           ? (double)INFINITY
                           : slack_of(st_csv_field(csv, index, columns->bandwidth[i]));
    }
    if (isnan(row.size_bytes) || row.size_bytes < 0 || row.size_bytes != floor(row.size_bytes))
        st_note(&reader->status, st_fail(reader->errors, ST_ERR_VALUE, st_nccl_place(reader, line),
                                         "the size is no whole number of bytes"));
    else
        st_nccl_add_row(reader, &row);
}

/* Whether the row is of other ranks, nodes or another collective than the one before it. */
static bool differs(const st_csv *csv, const csv_columns *columns, size_t row)
{
    for (size_t i = 0; i < KEYS; i++)
        if (columns->keys[i] != SIZE_MAX &&
            strcmp(st_csv_field(csv, row, columns->keys[i]),
                   st_csv_field(csv, row - 1, columns->keys[i])) != 0)
            return true;
    return false;
}

static void read_rows(st_nccl_reader *reader, const st_csv *csv, const csv_columns *columns,
                      int heading)
{
    for (size_t i = 0; i < csv->row_count && reader->status == ST_OK; i++) {
        int line = heading + 1 + (int)i;
        bool begins = i == 0 || differs(csv, columns, i);
        for (size_t k = 0; begins && k < KEYS; k++)
            if (columns->keys[k] != SIZE_MAX)
                take_key(reader, line, key_names[k], st_csv_field(csv, i, columns->keys[k]));
        if (begins && reader->status == ST_OK)
            st_nccl_open_table(reader, i == 0 ? heading : line);
        read_row(reader, csv, columns, i, line);
    }
}

/* Digits that are missing at the end show where a bandwidth stands beside the time, else not. */
static void warn_of_end(st_nccl_reader *reader, const csv_columns *columns, int line)
{
    const st_nccl_input *input = reader->input;
    bool has_end = input->length > 0 && input->text[input->length - 1] == '\n';
    if (!has_end && columns->bandwidth[0] == SIZE_MAX && columns->bandwidth[1] == SIZE_MAX)
        st_nccl_warn(reader, line, "the file ends without a line break: its last row may be cut");
}

/* The table behind the remarks; faults keep the lines of the whole file. */
static st_status parse(st_nccl_reader *reader, size_t at, int lines, const st_csv **csv)
{
    const st_nccl_input *input = reader->input;
    st_errors *own = st_errors_create();
    st_status status = own == NULL ? ST_ERR_MEMORY
                                   : st_csv_parse(input->file, input->text + at, input->length - at,
                                                  reader->arena, csv, own);
    for (size_t i = 0; own != NULL && i < st_errors_size(own); i++) {
        st_error fault = *st_errors_at(own, i);
        fault.place.line += fault.place.line > 0 ? lines : 0;
        (void)st_errors_add(reader->errors, &fault);
    }
    st_errors_destroy(own);
    return status;
}

void st_nccl_read_csv(st_nccl_reader *reader)
{
    const st_nccl_input *input = reader->input;
    const st_csv *csv = NULL;
    size_t at = 0;
    int line = 0;
    bool in_place = false;
    while (at < input->length &&
           (input->text[at] == '#' || input->text[at] == '\r' || input->text[at] == '\n')) {
        const char *stop = memchr(input->text + at, '\n', input->length - at);
        size_t length = stop != NULL ? (size_t)(stop - input->text) - at : input->length - at;
        in_place = read_comment(reader, input->text + at, length, ++line) || in_place;
        at += length + (stop != NULL ? 1 : 0);
    }
    if (reader->status != ST_OK)
        return;
    reader->status = parse(reader, at, line, &csv);
    csv_columns columns;
    if (reader->status != ST_OK || !find_columns(reader, csv, line + 1, in_place, &columns))
        return;
    read_rows(reader, csv, &columns, line + 1);
    if (reader->status == ST_OK)
        warn_of_end(reader, &columns, line + 1 + (int)csv->row_count);
}
