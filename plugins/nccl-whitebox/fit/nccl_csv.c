/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Tables as CSV: lines "# key: value" that say what was measured, then a heading with size_bytes
 * (or size) and time_us (or time), perhaps algbw_GBps and in_place_time_us. Columns collective,
 * ranks and nodes say of each row what the lines say of all; where they change, a table begins.
 */
#include "nccl-whitebox/fit/nccl_read.h"

#include "base/fields.h"
#include "steptime/tool/profiles.h"

#include <math.h>
#include <string.h>

enum { KEYS = 3 /* collective, ranks and nodes */, SAID = 7 };

/* A line before the heading. */
typedef struct said_line {
    const char *value;
    int line; /* 0: none */
} said_line;

/* What a row says. */
typedef struct csv_row {
    double size;
    double time[2];
    double bandwidth[2];
    const char *keys[KEYS];
} csv_row;

enum { SIZE, TIMES, BANDWIDTHS = TIMES + 2, FIRST_KEY = BANDWIDTHS + 2, FIELDS = FIRST_KEY + KEYS };

static const st_field_unit micros[] = {{"", 1e-6}, {NULL, 0}};
static const st_field_unit gigas[] = {{"", 1e9}, {NULL, 0}};

#define NUMBER(index, label, spelt, unit, member)                                                  \
    [index] = {.name = label,                                                                      \
               .spellings = spelt,                                                                 \
               .units = unit,                                                                      \
               .set = st_field_number,                                                             \
               .flags = ST_FIELD_BLANK,                                                            \
               .least = -(double)INFINITY,                                                         \
               .most = (double)INFINITY,                                                           \
               .expected = "a number",                                                             \
               .offset = offsetof(csv_row, member)}
#define KEY(index, label)                                                                          \
    [FIRST_KEY + (index)] = {.name = label,                                                        \
                             .set = st_field_text,                                                 \
                             .offset = offsetof(csv_row, keys) + (index) * sizeof(char *)}

static const st_field fields[FIELDS] = {
    [SIZE] = {.name = "size_bytes",
              .spellings = "size_bytes|size",
              .set = st_field_count,
              .flags = ST_FIELD_REQUIRED,
              .most = (double)INFINITY,
              .expected = "a whole number of bytes",
              .offset = offsetof(csv_row, size)},
    NUMBER(TIMES, "time_us", "time_us|time", micros, time[0]),
    NUMBER(TIMES + 1, "in_place_time_us", "in_place_time_us|in_place_time", micros, time[1]),
    NUMBER(BANDWIDTHS, "algbw_GBps", "algbw_GBps|algbw", gigas, bandwidth[0]),
    NUMBER(BANDWIDTHS + 1, "in_place_algbw_GBps", NULL, gigas, bandwidth[1]),
    KEY(0, "collective"),
    KEY(1, "ranks"),
    KEY(2, "nodes"),
};

/* ---- the lines before the heading ---- */

static const char *take_version(st_nccl_reader *reader, int line, const char *value)
{
    bool is_number = value[0] >= '0' && value[0] <= '9';
    if (is_number && isnan(st_nccl_version_code(value)))
        st_nccl_warn(reader, line,
                     st_errors_text(reader->errors,
                                    "the version of NCCL is none: found '%.40s', expected one such "
                                    "as 2.27.3",
                                    value));
    return is_number ? value : "";
}

static void take_placement(st_nccl_reader *reader, st_place at, const char *value)
{
    static const char *const words[] = {"out-of-place", "out of place", "in-place", "in place"};
    const size_t count = sizeof words / sizeof words[0];
    size_t found = 0;
    while (found < count && strncmp(value, words[found], strlen(words[found])) != 0)
        found++;
    reader->in_place = found >= 2;
    if (found == count)
        ST_NOTE(reader, ST_ERR_VALUE, at,
                "unknown placement" ST_FOUND "'%.40s'" ST_EXPECTED "in-place or out-of-place",
                value);
}

static void take_key(st_nccl_reader *reader, st_place at, const char *key, const char *value)
{
    int line = at.line;
    if (strcmp(key, "ranks") == 0) {
        reader->ranks = st_nccl_count(reader, line, "ranks", value);
    } else if (strcmp(key, "nodes") == 0) {
        reader->nodes = st_nccl_count(reader, line, "nodes", value);
    } else if (strcmp(key, "gpus") == 0) {
        reader->gpu = value;
    } else if (strcmp(key, "interconnect") == 0 || strcmp(key, "fabric") == 0) {
        reader->fabric = value;
        reader->fabric_at = at;
    } else if (strcmp(key, "source") == 0) {
        reader->source = value;
    } else if (strcmp(key, "nccl") == 0) {
        reader->version = take_version(reader, line, value);
    } else if (strcmp(key, "placement") == 0) {
        take_placement(reader, at, value);
    } else if (strcmp(key, "collective") == 0) {
        reader->collective = st_nccl_collective(value, strlen(value));
        if (reader->collective == NULL)
            st_nccl_refuse(reader, ST_ERR_NAME, line,
                           "unknown collective" ST_FOUND "'%s'" ST_EXPECTED
                           "one such as all_reduce_perf",
                           value);
    }
}

/* "# key: value" */
static void read_comment(st_nccl_reader *reader, const char *text, size_t length, said_line *said,
                         int line)
{
    const char *begin = text;
    while (length > 0 && (*text == '#' || *text == ' ')) {
        text++;
        length--;
    }
    while (length > 0 && (text[length - 1] == '\r' || text[length - 1] == ' '))
        length--;
    const char *colon = memchr(text, ':', length);
    if (colon == NULL)
        return;
    const char *value = colon + 1;
    while (value < text + length && *value == ' ')
        value++;
    const char *key = st_nccl_text(reader, text, (size_t)(colon - text));
    const char *copy = st_nccl_text(reader, value, (size_t)(text + length - value));
    st_place at = st_nccl_place(reader, line);
    at.column = (int)(value - begin) + 1;
    /* Refuses two lines that contradict each other: of two rates nobody knows which holds. */
    static const char *const keys[SAID] = {"ranks", "nodes",     "gpus",      "interconnect",
                                           "nccl",  "placement", "collective"};
    const char *name = strcmp(key, "fabric") == 0 ? "interconnect" : key;
    for (size_t i = 0; i < SAID; i++) {
        if (strcmp(keys[i], name) != 0)
            continue;
        if (said[i].line > 0 && strcmp(said[i].value, copy) != 0)
            ST_NOTE(reader, ST_ERR_VALUE, at,
                    "a second '%s'" ST_FOUND "'%.60s'" ST_EXPECTED "'%.60s' of line %d", key, copy,
                    said[i].value, said[i].line);
        said[i] = (said_line){copy, at.line};
    }
    take_key(reader, at, key, copy);
}

/* ---- rows ---- */

/* Whether the row is of other ranks, nodes or another collective than the one before it. */
static bool differs(const st_field_reader *table, size_t row)
{
    for (size_t i = FIRST_KEY; i < FIELDS; i++)
        if (strcmp(st_fields_text(table, row, i), st_fields_text(table, row - 1, i)) != 0)
            return true;
    return false;
}

static void read_rows(st_nccl_reader *reader, st_field_reader *table, int heading)
{
    for (size_t i = 0; i < table->csv->row_count && reader->status == ST_OK; i++) {
        int line = heading + 1 + (int)i;
        bool begins = i == 0 || differs(table, i);
        for (size_t k = FIRST_KEY; begins && k < FIELDS; k++)
            if (st_fields_have(table, k))
                take_key(reader, st_nccl_place(reader, line), fields[k].name,
                         st_fields_text(table, i, k));
        if (begins && reader->status == ST_OK)
            st_nccl_open_table(reader, i == 0 ? heading : line);
        /* What stands out of place is in place where the lines before the heading say so, or the
         * file's name. */
        const double none = (double)NAN;
        bool in_place = reader->in_place;
        csv_row own = {.time = {none, none}, .bandwidth = {none, none}};
        if (!st_fields_read(table, i, &own)) {
            reader->status = table->status;
            continue;
        }
        st_nccl_row row = {.size_bytes = own.size, .line = line};
        for (int j = 0; j < 2; j++) {
            int from = in_place ? 0 : j;
            bool has = !in_place || j == ST_NCCL_IN_PLACE;
            row.time_s[j] = has ? own.time[from] : none;
            row.bandwidth[j] = has ? own.bandwidth[from] : none;
            const char *text = has ? st_fields_text(table, i, BANDWIDTHS + (size_t)from) : "";
            const char *point = strchr(text, '.');
            row.slack[j] = point == NULL || strchr(text, 'e') != NULL
                               ? (double)INFINITY
                               : 0.5e9 * pow(10.0, -(double)strlen(point + 1));
        }
        st_nccl_add_row(reader, &row);
    }
}

/* The table behind the remarks. */
static void read_table(st_nccl_reader *reader, size_t start)
{
    const st_nccl_input *input = reader->input;
    const st_csv_input text = {
        .file = input->file, .text = input->text, .length = input->length, .start = start};
    st_field_reader table = {
        .fields = fields, .count = FIELDS, .arena = reader->arena, .errors = reader->errors};
    reader->status = st_csv_read(&text, reader->arena, &table.csv, reader->errors);
    if (reader->status != ST_OK)
        return;
    bool found = st_fields_find(&table);
    if (found && st_fields_have(&table, TIMES) && st_fields_have(&table, TIMES + 1))
        reader->in_place = false; /* the columns say which is which */
    if (found && !st_fields_have(&table, TIMES) &&
        (reader->in_place || !st_fields_have(&table, TIMES + 1)))
        st_fields_missing(&table, fields[TIMES].name, NULL);
    reader->status = table.status;
    int heading = st_csv_head_place(table.csv, 0).line;
    read_rows(reader, &table, heading);
    if (reader->status == ST_OK) {
        /* Digits that are missing at the end show where a bandwidth stands beside the time, else
         * not. */
        const int line = heading + (int)table.csv->row_count;
        const st_nccl_input *end_input = reader->input;
        bool has_end = end_input->length > 0 && end_input->text[end_input->length - 1] == '\n';
        bool shows_cuts =
            st_fields_have(&table, BANDWIDTHS) || st_fields_have(&table, BANDWIDTHS + 1);
        if (!has_end && !shows_cuts)
            st_nccl_warn(reader, line,
                         "the file ends without a line break: its last row may be cut");
    }
}

void st_nccl_read_csv(st_nccl_reader *reader)
{
    const st_nccl_input *input = reader->input;
    said_line said[SAID] = {0};
    size_t at = 0;
    int line = 0;
    reader->in_place = st_nccl_path_in_place(input->file);
    while (at < input->length &&
           (input->text[at] == '#' || input->text[at] == '\r' || input->text[at] == '\n')) {
        const char *stop = memchr(input->text + at, '\n', input->length - at);
        size_t length = stop != NULL ? (size_t)(stop - input->text) - at : input->length - at;
        read_comment(reader, input->text + at, length, said, ++line);
        at += length + (stop != NULL ? 1 : 0);
    }
    if (reader->status == ST_OK)
        read_table(reader, at);
}
