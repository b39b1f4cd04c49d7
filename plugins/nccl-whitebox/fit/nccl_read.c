/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The forms of measured collectives, in the table of formats at the end; see nccl_table.h.
 *
 * JSON of `all_reduce_perf -J FILE` (NVIDIA/nccl-tests, src/util.cu, version 2.16 and later).
 * CSV: lines "# key: value", then a heading with size_bytes (or size) and time_us (or time).
 * Columns collective, ranks and nodes override the lines; where they change, a table begins.
 * Tables whose headings name units: look-up tables ("size(B),count,type,time(ns),..."), the OSU
 * micro-benchmarks ("# Size  Avg Latency(us)") and MSCCL++ in Python ("| Size (fp16) | Time (us)").
 *
 * Text logs of nccl-tests (src/common.cu and src/util.cu of 2.0 to 2.17), of rccl-tests, and of
 * mscclpp-test, which has no types and prints in-place results first. Launchers prefix lines, other
 * processes write between and into rows. So a row is found by its tokens, counted by the names of
 * the heading, and stays open until all pieces are there.
 */
#include "nccl-whitebox/fit/nccl_build.h"

#include "base/fields.h"
#include "base/json_read.h"
#include "steptime/quantity.h"
#include "steptime/tool/profiles.h"

#include <math.h>
#include <string.h>

/* ---- lines and their columns ---- */

enum { TOKENS = 64, LONGEST_NUMBER = 64 };

typedef struct token {
    const char *text;
    size_t length;
} token;

typedef struct file_line {
    const char *text; /* without blanks at its end */
    size_t length;
    int number;
    token tokens[TOKENS]; /* see cut */
    size_t count;
    bool is_cut; /* the file ends in it */
} file_line;

typedef struct file_lines {
    const char *at;
    const char *end;
    int number;
} file_lines;

static file_lines lines_of(const st_nccl_input *input)
{
    return (file_lines){.at = input->text, .end = input->text + input->length};
}

static bool is_blank(char c)
{
    return c == ' ' || c == '\t' || c == '\r' || c == '\0';
}

static bool next_line(file_lines *lines, file_line *line)
{
    if (lines->at >= lines->end)
        return false;
    const char *stop = memchr(lines->at, '\n', (size_t)(lines->end - lines->at));
    line->is_cut = stop == NULL;
    stop = stop != NULL ? stop : lines->end;
    line->text = lines->at;
    line->length = (size_t)(stop - lines->at);
    while (line->length > 0 && is_blank(line->text[line->length - 1]))
        line->length--;
    line->number = ++lines->number;
    line->count = 0;
    lines->at = stop < lines->end ? stop + 1 : stop;
    return true;
}

/* Columns between commas or bars, or between blanks; only between commas one may be empty. */
static void cut(file_line *line, char separator)
{
    const char *at = line->text;
    const char *end = at + line->length;
    line->count = 0;
    while (at < end && line->count < TOKENS) {
        const char *stop = at;
        while (stop < end && (separator != ' ' ? *stop != separator : !is_blank(*stop)))
            stop++;
        const char *first = at;
        const char *last = stop;
        while (first < last && is_blank(*first))
            first++;
        while (last > first && is_blank(last[-1]))
            last--;
        if (separator == ',' || last > first)
            line->tokens[line->count++] = (token){first, (size_t)(last - first)};
        at = stop + 1;
    }
}

static bool contains(const file_line *line, const char *text)
{
    size_t length = strlen(text);
    for (size_t i = 0; i + length <= line->length; i++)
        if (memcmp(line->text + i, text, length) == 0)
            return true;
    return false;
}

static bool begins_with(token word, const char *text)
{
    return word.length >= strlen(text) && memcmp(word.text, text, strlen(text)) == 0;
}

static bool is_word(token word, const char *text)
{
    return word.length == strlen(text) && begins_with(word, text);
}

/* The index of a word in a line; line->count without it. */
static size_t find_word(const file_line *line, size_t from, const char *word)
{
    while (from < line->count && !is_word(line->tokens[from], word))
        from++;
    return from;
}

static bool is_digit(char c)
{
    return c >= '0' && c <= '9';
}

static bool read_number(token word, double *value)
{
    return word.length > 0 && word.length < LONGEST_NUMBER &&
           st_number_parse(word.text, word.length, (st_place){0}, value, NULL) == ST_OK;
}

/* Half of the last digit of a bandwidth in GB/s; too coarse to compare without a point or with an
 * exponent. */
static double slack_of(token word, double without_point)
{
    const char *point = memchr(word.text, '.', word.length);
    if (memchr(word.text, 'e', word.length) != NULL)
        return (double)INFINITY;
    return point == NULL ? without_point
                         : 0.5e9 * pow(10.0, -(double)(word.text + word.length - point - 1));
}

static void warn_of_cut(st_nccl_reader *reader, int line)
{
    const st_nccl_input *input = reader->input;
    if (input->length == 0 || input->text[input->length - 1] != '\n')
        st_nccl_warn(reader, line, "the file ends without a line break; its last row may be cut");
}

static const char wrong_results[] = "nccl-tests found wrong results in this run";

/* ---- JSON ---- */

static bool is_json(const st_nccl_input *input)
{
    size_t at = 0;
    while (at < input->length && strchr(" \t\r\n", input->text[at]) != NULL && input->text[at] != 0)
        at++;
    return at < input->length && input->text[at] == '{';
}

static const st_json *member(const st_json *map, const char *name)
{
    for (const st_json *item = map != NULL && map->kind == ST_JSON_MAP ? map->first : NULL;
         item != NULL; item = item->next)
        if (strcmp(item->name, name) == 0)
            return item;
    return NULL;
}

static const st_json *items(const st_json *map, const char *name)
{
    const st_json *list = member(map, name);
    return list != NULL && list->kind == ST_JSON_LIST ? list->first : NULL;
}

/* NaN if it is not a number: null, "nan", absent. */
static double json_number(const st_json *item)
{
    double value = 0;
    bool is_number =
        item != NULL && item->kind == ST_JSON_NUMBER &&
        st_number_parse(item->text, strlen(item->text), (st_place){0}, &value, NULL) == ST_OK;
    return is_number ? value : (double)NAN;
}

static const char *json_text(const st_json *item)
{
    return item != NULL && item->kind == ST_JSON_STRING ? item->text : "";
}

static void read_program_name(st_nccl_reader *reader, const char *text)
{
    const char *base = strrchr(text, '/') != NULL ? strrchr(text, '/') + 1 : text;
    size_t length = strlen(base);
    if (reader->collective == NULL && length > 5 && strcmp(base + length - 5, "_perf") == 0)
        reader->collective = st_nccl_collective(base, length);
}

static void read_json_devices(st_nccl_reader *reader, const st_json *root)
{
    const st_json *config = member(root, "config");
    const st_json *device = items(config, "devices");
    device = device != NULL ? device : items(root, "devices");
    for (; device != NULL && reader->status == ST_OK; device = device->next) {
        double rank = json_number(member(device, "rank"));
        double group = json_number(member(device, "group"));
        const char *host = json_text(member(device, "hostname"));
        const char *gpu = json_text(member(device, "device_info"));
        if (!(rank >= 0 && rank < ST_NCCL_MAX_RANKS)) {
            st_nccl_refuse(reader, ST_ERR_VALUE, device->line, "a device without a rank");
            return;
        }
        st_nccl_device found = {.rank = (size_t)rank,
                                .group = group >= 0 && group < 1e9 ? (size_t)group : 0,
                                .host = st_nccl_text(reader, host, strlen(host)),
                                .gpu = st_nccl_text(reader, gpu, strlen(gpu))};
        st_nccl_add_device(reader, &found, device->line);
    }
}

static void read_block(const st_json *result, const char *name, int buffers, st_nccl_row *row)
{
    const st_json *block = member(result, name);
    const st_json *time = member(block, "time");
    row->time_s[buffers] = json_number(time != NULL ? time : member(block, "cpu_time")) * 1e-6;
    row->bandwidth[buffers] = json_number(member(block, "alg_bw")) * 1e9;
    row->slack[buffers] = 0.5e3; /* six digits behind the point of GB/s */
}

static void read_json(st_nccl_reader *reader)
{
    st_json *root = NULL;
    const st_nccl_input *input = reader->input;
    reader->status = st_json_parse(input->file, input->text, input->length, reader->arena, &root,
                                   reader->errors);
    if (reader->status != ST_OK)
        return;
    const st_json *results = member(root, "results");
    const st_json *arguments = items(root, "args");
    if (results == NULL || results->kind != ST_JSON_LIST)
        return; /* no table */
    reader->version = st_nccl_version(reader, json_number(member(root, "nccl_version")));
    read_program_name(reader, json_text(arguments));
    read_program_name(reader, json_text(member(results->first, "experiment_name")));
    read_json_devices(reader, root);
    if (reader->status == ST_OK) {
        st_nccl_open_table(reader, results->line);
        for (const st_json *item = results->first; item != NULL && reader->status == ST_OK;
             item = item->next) {
            st_nccl_row row = {.size_bytes = json_number(member(item, "size")), .line = item->line};
            if (isnan(row.size_bytes) || row.size_bytes < 0) {
                st_nccl_refuse(reader, ST_ERR_VALUE, item->line, "a result without a size");
                break;
            }
            read_block(item, "out_of_place", ST_NCCL_OUT_OF_PLACE, &row);
            read_block(item, "in_place", ST_NCCL_IN_PLACE, &row);
            st_nccl_add_row(reader, &row);
        }
    }
    const st_json *okay = member(member(root, "out_of_bounds"), "okay");
    if (reader->status == ST_OK && okay != NULL && okay->kind == ST_JSON_BOOL &&
        strcmp(okay->text, "false") == 0)
        st_nccl_warn(reader, okay->line, wrong_results);
}

/* ---- CSV ---- */

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

static const st_field csv_fields[FIELDS] = {
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

static bool is_csv(const st_nccl_input *input)
{
    file_lines lines = lines_of(input);
    file_line line;
    while (next_line(&lines, &line))
        if (*line.text != '#' && *line.text != '\r' && *line.text != '\n') {
            /* A line of several fields with the size among them, perhaps in quotes. */
            bool has_size = false;
            cut(&line, ',');
            for (size_t i = 0; i < line.count; i++) {
                token word = line.tokens[i];
                bool is_quoted =
                    word.length > 1 && word.text[0] == '"' && word.text[word.length - 1] == '"';
                word.text += is_quoted ? 1 : 0;
                word.length -= is_quoted ? 2 : 0;
                has_size = has_size || is_word(word, "size") || is_word(word, "size_bytes");
            }
            return has_size && line.count > 1;
        }
    return false;
}

/* The lines before the heading. */

static const char *take_version(st_nccl_reader *reader, int line, const char *value)
{
    bool is_number = value[0] >= '0' && value[0] <= '9';
    if (is_number && isnan(st_nccl_version_code(value)))
        st_nccl_warn(reader, line, "invalid version of NCCL '%.40s', expected one such as 2.27.3",
                     value);
    return is_number ? value : "";
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
    } else if (strcmp(key, "collective") == 0) {
        reader->collective = st_nccl_collective(value, strlen(value));
        if (reader->collective == NULL)
            st_nccl_refuse(reader, ST_ERR_NAME, line,
                           "unknown collective" ST_FOUND "'%s'" ST_EXPECTED
                           "one such as all_reduce_perf",
                           value);
    }
}

/* Out-of-place columns are in place where the lines before the heading say so, or the file's
 * name. */
static void read_csv_row(st_nccl_reader *reader, st_field_reader *table, size_t index, int line)
{
    const double none = (double)NAN;
    bool in_place = reader->in_place;
    csv_row read = {.time = {none, none}, .bandwidth = {none, none}};
    if (!st_fields_read(table, index, &read)) {
        reader->status = table->status;
        return;
    }
    st_nccl_row row = {.size_bytes = read.size, .line = line};
    for (int i = 0; i < 2; i++) {
        int from = in_place ? 0 : i;
        bool has = !in_place || i == ST_NCCL_IN_PLACE;
        row.time_s[i] = has ? read.time[from] : none;
        row.bandwidth[i] = has ? read.bandwidth[from] : none;
        const char *text = has ? st_fields_text(table, index, BANDWIDTHS + (size_t)from) : "";
        row.slack[i] = slack_of((token){text, strlen(text)}, (double)INFINITY);
    }
    st_nccl_add_row(reader, &row);
}

/* Whether the row is of other ranks, nodes or another collective than the one before it. */
static bool differs(const st_field_reader *table, size_t row)
{
    for (size_t i = FIRST_KEY; i < FIELDS; i++)
        if (strcmp(st_fields_text(table, row, i), st_fields_text(table, row - 1, i)) != 0)
            return true;
    return false;
}

/* The table behind the remarks. */
static void read_csv_table(st_nccl_reader *reader, size_t start)
{
    const st_nccl_input *input = reader->input;
    const st_csv_input text = {
        .file = input->file, .text = input->text, .length = input->length, .start = start};
    st_field_reader table = {
        .fields = csv_fields, .count = FIELDS, .arena = reader->arena, .errors = reader->errors};
    reader->status = st_csv_read(&text, reader->arena, &table.csv, reader->errors);
    if (reader->status != ST_OK)
        return;
    bool found = st_fields_find(&table);
    if (found && st_fields_have(&table, TIMES) && st_fields_have(&table, TIMES + 1))
        reader->in_place = false; /* the columns say which is which */
    if (found && !st_fields_have(&table, TIMES) &&
        (reader->in_place || !st_fields_have(&table, TIMES + 1)))
        st_fields_missing(&table, csv_fields[TIMES].name, NULL);
    reader->status = table.status;
    int heading = st_csv_head_place(table.csv, 0).line;
    for (size_t i = 0; i < table.csv->row_count && reader->status == ST_OK; i++) {
        int line = heading + 1 + (int)i;
        bool begins = i == 0 || differs(&table, i);
        for (size_t k = FIRST_KEY; begins && k < FIELDS; k++)
            if (st_fields_have(&table, k))
                take_key(reader, st_nccl_place(reader, line), csv_fields[k].name,
                         st_fields_text(&table, i, k));
        if (begins && reader->status == ST_OK)
            st_nccl_open_table(reader, i == 0 ? heading : line);
        read_csv_row(reader, &table, i, line);
    }
    /* A bandwidth next to the time shows digits that are missing at the end. */
    bool shows_cuts = st_fields_have(&table, BANDWIDTHS) || st_fields_have(&table, BANDWIDTHS + 1);
    if (reader->status == ST_OK && !shows_cuts)
        warn_of_cut(reader, heading + (int)table.csv->row_count);
}

static void read_csv(st_nccl_reader *reader)
{
    file_lines lines = lines_of(reader->input);
    file_line line;
    said_line said[SAID] = {0};
    reader->in_place = st_nccl_path_in_place(reader->input->file);
    while (lines.at < lines.end && (*lines.at == '#' || *lines.at == '\r' || *lines.at == '\n') &&
           next_line(&lines, &line)) {
        /* "# key: value" */
        const char *text = line.text;
        const char *end = text + line.length;
        while (text < end && (*text == '#' || *text == ' '))
            text++;
        const char *colon = memchr(text, ':', (size_t)(end - text));
        if (colon == NULL)
            continue;
        const char *value = colon + 1;
        while (value < end && *value == ' ')
            value++;
        const char *key = st_nccl_text(reader, text, (size_t)(colon - text));
        const char *copy = st_nccl_text(reader, value, (size_t)(end - value));
        st_place at = st_nccl_place(reader, line.number);
        at.column = (int)(value - line.text) + 1;
        /* Refuses two lines that contradict each other: of two rates nobody knows which holds. */
        static const char *const keys[SAID] = {"ranks", "nodes",     "gpus",      "interconnect",
                                               "nccl",  "placement", "collective"};
        const char *name = strcmp(key, "fabric") == 0 ? "interconnect" : key;
        for (size_t i = 0; i < SAID; i++) {
            if (strcmp(keys[i], name) != 0)
                continue;
            if (said[i].line > 0 && strcmp(said[i].value, copy) != 0)
                ST_NOTE(reader, ST_ERR_VALUE, at,
                        "a second '%s'" ST_FOUND "'%.60s'" ST_EXPECTED "'%.60s' of line %d", key,
                        copy, said[i].value, said[i].line);
            said[i] = (said_line){copy, at.line};
        }
        take_key(reader, at, key, copy);
    }
    if (reader->status == ST_OK)
        read_csv_table(reader, (size_t)(lines.at - reader->input->text));
}

/* ---- tables whose headings name units ---- */

typedef enum table_form { NO_FORM, LOOK_UP, OSU, MSCCLPP } table_form;

/* What a heading says. */
typedef struct table_layout {
    table_form form;
    size_t columns; /* 0: any number */
    size_t size;
    size_t times[2]; /* by st_nccl_buffers; TOKENS: none */
    double scale[2]; /* seconds of the unit */
} table_layout;

typedef struct named_reader {
    st_nccl_reader *table;
    table_layout layout; /* of the table that is open */
} named_reader;

static char separator_of(const file_line *line)
{
    return line->length > 0 && line->text[0] == '|'        ? '|'
           : memchr(line->text, ',', line->length) != NULL ? ','
                                                           : ' ';
}

/* Seconds of the unit in "time(ns)" or "Time (us)"; 0 for other columns. */
static double unit_of_time(token column)
{
    static const struct {
        const char *unit;
        double seconds;
    } units[] = {{"(ns)", 1e-9}, {"(us)", 1e-6}, {"(ms)", 1e-3}, {"(s)", 1}};
    if (!begins_with(column, "time") && !begins_with(column, "Time"))
        return 0;
    token unit = {column.text + 4, column.length - 4};
    while (unit.length > 0 && *unit.text == ' ') {
        unit.text++;
        unit.length--;
    }
    for (size_t i = 0; i < sizeof units / sizeof units[0]; i++)
        if (is_word(unit, units[i].unit))
            return units[i].seconds;
    return 0;
}

static bool is_size(token column)
{
    return is_word(column, "size(B)") || is_word(column, "size_bytes(B)") ||
           is_word(column, "Size") || begins_with(column, "Size (");
}

/* The layout of a heading; its form is NO_FORM where the line is none. */
static table_layout layout_of(file_line *line)
{
    table_layout found = {
        .form = OSU, .times = {1, TOKENS}, .scale = {1e-6, 0}}; /* the mean of all ranks */
    /* "# Size       Avg Latency(us)", where names have blanks in them: the first two columns
     * count. */
    file_line words = *line;
    cut(&words, ' ');
    if (words.count >= 3 && is_word(words.tokens[0], "#") && is_word(words.tokens[1], "Size"))
        return found;
    char separator = separator_of(line);
    cut(line, separator);
    /* Size and times by the names of the columns; of two times the first is out of place. */
    size_t times = 0;
    bool has_size = false;
    found = (table_layout){.columns = line->count, .times = {TOKENS, TOKENS}};
    for (size_t i = 0; i < line->count; i++) {
        double seconds = unit_of_time(line->tokens[i]);
        if (!has_size && is_size(line->tokens[i])) {
            found.size = i;
            has_size = true;
        } else if (seconds > 0 && times < 2) {
            found.times[times] = i;
            found.scale[times++] = seconds;
        }
    }
    bool is_table = has_size && times > 0;
    if (is_table && separator == '|')
        found.form = MSCCLPP;
    else if (is_table && is_word(line->tokens[found.size], "size(B)"))
        found.form = LOOK_UP;
    return found;
}

static bool is_named(const st_nccl_input *input)
{
    file_lines lines = lines_of(input);
    file_line line;
    while (lines.number < 1000 && next_line(&lines, &line))
        if (layout_of(&line).form != NO_FORM)
            return true;
    return false;
}

/* "# OSU MPI-CUDA Allreduce Latency Test v7.0": the collective is the word behind "MPI-CUDA", where
 * "Latency" follows, or more words of its name ("All-to-All Personalized Exchange"). */
static void read_osu_title(named_reader *named, const file_line *line)
{
    file_line words = *line;
    cut(&words, ' ');
    if (!contains(line, " Latency ") || words.count < 5)
        return;
    token name = words.tokens[3];
    bool is_message = is_word(name, "Latency");
    bool is_whole = is_word(words.tokens[4], "Latency") || is_word(words.tokens[4], "Personalized");
    named->table->collective = is_message ? "send_recv"
                               : is_whole ? st_nccl_collective(name.text, name.length)
                                          : NULL;
    if (named->table->collective == NULL)
        st_nccl_refuse(named->table, ST_ERR_NAME, line->number,
                       "unknown collective" ST_FOUND "'%s'" ST_EXPECTED "one such as Allreduce",
                       st_nccl_text(named->table, name.text, name.length));
}

/* Plain bytes, or with a unit as MSCCL++ prints them: "1.5 KiB". */
static bool read_size(token text, double *bytes)
{
    st_unit unit;
    if (read_number(text, bytes))
        return *bytes >= 0;
    return st_unit_parse("B", 1, (st_place){0}, &unit, NULL) == ST_OK &&
           st_quantity_parse(text.text, text.length, &unit, (st_place){0}, bytes, NULL) == ST_OK &&
           *bytes >= 0;
}

/* false: the line is not a row. */
static bool read_named_row(named_reader *named, file_line *line)
{
    st_nccl_row row = {.line = line->number};
    const table_layout *layout = &named->layout;
    cut(line, layout->form == MSCCLPP ? '|' : separator_of(line));
    bool has_shape = layout->columns > 0 ? line->count == layout->columns : line->count >= 2;
    if (!has_shape || !read_size(line->tokens[layout->size], &row.size_bytes))
        return false;
    for (int i = 0; i < 2; i++) {
        double value = (double)NAN;
        row.time_s[i] = row.bandwidth[i] = (double)NAN;
        if (layout->times[i] == TOKENS)
            continue;
        if (!read_number(line->tokens[layout->times[i]], &value))
            return false;
        row.time_s[i] = value * layout->scale[i];
    }
    st_nccl_add_row(named->table, &row);
    return true;
}

static void read_named(st_nccl_reader *reader)
{
    named_reader named = {.table = reader};
    file_lines lines = lines_of(reader->input);
    file_line line;
    while (reader->status == ST_OK && next_line(&lines, &line)) {
        table_layout found = layout_of(&line);
        /* Lines between the rows of a table that say nothing: rules, remarks, what is blank. */
        if (found.form != NO_FORM) {
            bool has_time = contains(&line, "Latency(us)") || contains(&line, "Latency (us)");
            if (found.form == OSU && !has_time) {
                st_nccl_refuse(named.table, ST_ERR_VALUE, line.number,
                               "a bandwidth test, which has no time of a message" ST_EXPECTED
                               "a latency test of the OSU micro-benchmarks");
                continue;
            }
            named.layout = found;
            st_nccl_open_table(named.table, line.number);
            if (named.table->status == ST_OK && found.form == OSU)
                named.table->tables[named.table->table_count - 1].sizes_of_osu = true;
        } else if (contains(&line, "# OSU ")) {
            named.layout.form = NO_FORM;
            read_osu_title(&named, &line);
        } else if (named.layout.form != NO_FORM && line.length != 0 && line.text[0] != '#' &&
                   line.text[0] != '+' && !read_named_row(&named, &line)) {
            if (named.layout.form == LOOK_UP && line.count > 0 && line.tokens[0].length > 0 &&
                is_digit(*line.tokens[0].text))
                st_nccl_refuse(
                    named.table, ST_ERR_SYNTAX, line.number,
                    "invalid row" ST_FOUND "'%s'" ST_EXPECTED "a size and a time",
                    st_nccl_text(named.table, line.text, line.length < 60 ? line.length : 60));
            named.layout.form = NO_FORM;
        }
    }
    if (reader->status == ST_OK)
        warn_of_cut(reader, lines.number);
}

/* ---- text logs ---- */

enum { MEASURES = 24, BLANK_COLUMNS = 26 };

typedef enum measure { TIME, ALGORITHM, OTHER } measure;

typedef struct log_reader {
    st_nccl_reader *table;
    bool has_root;
    bool has_type;
    bool in_place_first;        /* of two blocks of columns */
    measure measures[MEASURES]; /* of a row, by the heading */
    size_t measure_count;
    bool in_place_only; /* one block of columns, and it is that of the results in place */
    bool is_over;       /* the words below the table have come */
    int behind;         /* first line of somebody else's behind the last row; 0: none */
    /* the row that is not complete yet */
    bool is_open;
    st_nccl_row row;
    size_t filled; /* measures of it that are there */
} log_reader;

/* Digits alone; a sign in front of a root. */
static bool is_integer(token word)
{
    size_t i = word.length > 1 && word.text[0] == '-' ? 1 : 0;
    for (size_t k = i; k < word.length; k++)
        if (!is_digit(word.text[k]))
            return false;
    return word.length > 0;
}

static bool is_measure(token word)
{
    double value = 0;
    return read_number(word, &value) || is_word(word, "N/A") || is_word(word, "nan") ||
           is_word(word, "-nan") || is_word(word, "inf");
}

/* What a launcher glues in front: "[1,0]<stdout>:8589934592". */
static token without_prefix(token word)
{
    for (size_t i = word.length; i > 0; i--) {
        char c = word.text[i - 1];
        if (c == ':' || c == '>' || c == '|' || c == ']')
            return (token){word.text + i, word.length - i};
    }
    return word;
}

/* Names the columns; false if the line is not a heading. */
static bool read_heading(log_reader *log, const file_line *line)
{
    measure measures[MEASURES];
    size_t measured = 0;
    size_t blocks = 0;
    bool has_root = false;
    /* Where "size count type", or of mscclpp-test "size count time", ends in a line; 0: nowhere. */
    size_t first = 0;
    size_t size = find_word(line, 0, "size");
    size_t count = find_word(line, size, "count");
    if (count + 1 < line->count && count == size + 1) {
        token next = line->tokens[count + 1];
        first = is_word(next, "type") || is_word(next, "time") ? count + 1 : 0;
    }
    if (first == 0)
        return false;
    for (size_t i = first; i < line->count && measured < MEASURES; i++) {
        token word = line->tokens[i];
        bool is_time = is_word(word, "time");
        if (is_word(word, "cputime")) {
            /* nccl-tests -C 1: how long the host takes to start a collective, whatever that
             * takes. */
            st_nccl_refuse(log->table, ST_ERR_VALUE, line->number,
                           "times of the host that starts collectives (nccl-tests -C 1)" ST_FOUND
                           "cputime" ST_EXPECTED "time, without -C");
            return false;
        }
        has_root = has_root || is_word(word, "root");
        blocks += is_time ? 1 : 0;
        if (blocks > 0 && !is_word(word, "timestamp"))
            measures[measured++] = is_time ? TIME : is_word(word, "algbw") ? ALGORITHM : OTHER;
    }
    if (blocks == 0 || blocks > 2)
        return false;
    log->has_root = has_root;
    log->has_type = is_word(line->tokens[first], "type");
    memcpy(log->measures, measures, sizeof measures);
    log->measure_count = measured;
    return true;
}

static size_t count_blocks(const log_reader *log, size_t measures)
{
    size_t blocks = 0;
    for (size_t i = 0; i < measures; i++)
        blocks += log->measures[i] == TIME ? 1 : 0;
    return blocks;
}

/* Takes the next measure of the open row. */
static void take_measure(log_reader *log, token word)
{
    size_t at = log->filled++;
    size_t block = count_blocks(log, at + 1) - 1;
    size_t buffers = log->in_place_only ? 1 : log->in_place_first ? 1 - block : block;
    double value = (double)NAN;
    if (!read_number(word, &value))
        value = (double)NAN;
    if (log->measures[at] == TIME) {
        log->row.time_s[buffers] = value * 1e-6;
    } else if (log->measures[at] == ALGORITHM) {
        log->row.bandwidth[buffers] = value * 1e9;
        log->row.slack[buffers] = slack_of(word, 0.5e9);
    }
}

/* Whether the open row has the columns of one time; mscclpp-test counts wrong results only where it
 * was told to. */
static bool has_half(const log_reader *log)
{
    size_t half =
        count_blocks(log, log->measure_count) > 1 ? log->measure_count / 2 : log->measure_count;
    return log->filled + (log->has_type ? 0 : 1) >= half;
}

/* Ends the open row; one that lacks both times is broken. */
static void close_row(log_reader *log)
{
    if (!log->is_open)
        return;
    log->is_open = false;
    if (!has_half(log))
        st_nccl_skip_row(log->table, log->row.line);
    else
        st_nccl_add_row(log->table, &log->row);
}

/* How many tokens from `from` on are measures. */
static size_t count_measures(const file_line *line, size_t from)
{
    size_t count = 0;
    while (from + count < line->count && is_measure(line->tokens[from + count]))
        count++;
    return count;
}

/*
 * The rest of the open row behind somebody else's words; tokens before `from` are taken. Numbers
 * that are not times, "Channel 00/24 : 0 1 2 3", are somebody else's, too.
 */
static void take_tail(log_reader *log, const file_line *line, size_t from)
{
    size_t missing = log->measure_count - log->filled;
    size_t tail = 0;
    while (tail < line->count && line->count - tail > from &&
           is_measure(line->tokens[line->count - tail - 1]))
        tail++;
    if (tail != missing || tail == 0)
        return;
    const st_nccl_row row = log->row;
    const size_t filled = log->filled;
    for (size_t i = line->count - tail; i < line->count; i++)
        take_measure(log, line->tokens[i]);
    if (!st_nccl_is_plausible(&log->row)) {
        log->row = row;
        log->filled = filled;
    }
}

static bool is_count(token word)
{
    return is_integer(word) && word.text[0] != '-';
}

/* What follows the size and count of a row: a block of numbers, a known type, or an unknown one
 * before as many numbers as a row has. */
static bool is_row_behind(const log_reader *log, const file_line *line, size_t at)
{
    size_t next = at + 1;
    if (!log->has_type)
        return count_measures(line, at) + 1 >= log->measure_count / 2;
    const token word = line->tokens[at];
    static const char *const types[] = {"int8",     "uint8",    "int32",   "uint32",  "int64",
                                        "uint64",   "half",     "float",   "double",  "bfloat16",
                                        "fp8_e4m3", "fp8_e5m2", "f8e4m3",  "f8e5m2",  "fp8",
                                        "char",     "int",      "float16", "float32", "float64"};
    for (size_t i = 0; i < sizeof types / sizeof types[0]; i++)
        if (is_word(word, types[i]))
            return true;
    if (line->tokens[at].text[0] < 'a' || line->tokens[at].text[0] > 'z')
        return false;
    if (next < line->count && !is_measure(line->tokens[next]))
        next++; /* the operation */
    return count_measures(line, next) >= (log->measure_count + 1) / 2;
}

/* Where a row begins in the line: a size, a count and a type; line->count where none does. */
static size_t find_row(const log_reader *log, const file_line *line, size_t from)
{
    for (size_t i = from; i + 2 < line->count; i++)
        if (is_count(without_prefix(line->tokens[i])) && is_count(line->tokens[i + 1]) &&
            is_row_behind(log, line, i + 2))
            return i;
    return line->count;
}

/* Begins the rows of a line: several, where the line breaks between them were lost. */
static void begin_rows(log_reader *log, const file_line *line, size_t row)
{
    while (row < line->count) {
        size_t next = row + 3 < line->count ? find_row(log, line, row + 3) : line->count;
        file_line part = *line;
        part.count = next;
        /* Begins a row at a token that is a size; what follows on the line is taken as far as it
         * fits. */
        size_t row_next = row + (log->has_type ? 3 : 2);
        double size = 0;
        close_row(log);
        (void)read_number(without_prefix(part.tokens[row]), &size);
        log->row = (st_nccl_row){.size_bytes = size,
                                 .time_s = {(double)NAN, (double)NAN},
                                 .bandwidth = {(double)NAN, (double)NAN},
                                 .line = part.number};
        log->is_open = true;
        log->filled = 0;
        if (log->has_type && row_next < part.count && !is_measure(part.tokens[row_next]))
            row_next++; /* the operation, or the beginning of somebody else's line */
        size_t measures = count_measures(&part, row_next);
        if (log->has_root && measures > 0 && is_integer(part.tokens[row_next]) &&
            (part.tokens[row_next].text[0] == '-' || measures != log->measure_count)) {
            row_next++;
            measures--;
        }
        /* A gap as wide as a block of columns: the results out of place were not asked for. */
        const token *before = &part.tokens[row_next - 1];
        if (measures > 0 && measures * 2 == log->measure_count &&
            part.tokens[row_next].text - (before->text + before->length) > BLANK_COLUMNS)
            log->filled = log->measure_count / 2;
        for (size_t i = 0; i < measures && log->filled < log->measure_count; i++)
            take_measure(log, part.tokens[row_next + i]);
        take_tail(log, &part, row_next + measures);
        if (log->filled == log->measure_count)
            close_row(log);
        row = next;
    }
}

/* The file ends in front of a row's type: a size, or size and count, and a piece of the type. */
static bool ends_in_row(const log_reader *log, const file_line *line)
{
    if (!line->is_cut || log->measure_count == 0 || log->is_over ||
        memchr(line->text, '#', line->length) != NULL)
        return false;
    size_t counts = 0;
    size_t at = line->count;
    if (at > 2 && !is_count(line->tokens[at - 1]) && is_count(line->tokens[at - 2]))
        at--; /* "floa" */
    while (counts < 2 && at > 0 && is_count(without_prefix(line->tokens[at - 1]))) {
        counts++;
        at--;
    }
    return counts == 2 || (counts == 1 && at + 1 == line->count);
}

static size_t index_after(const file_line *line, const char *word)
{
    size_t at = find_word(line, 0, word);
    return at + 1 < line->count ? at + 1 : line->count;
}

static size_t read_index(const file_line *line, size_t at)
{
    double value = 0;
    bool is_one = at < line->count && is_integer(line->tokens[at]) &&
                  read_number(line->tokens[at], &value) && value >= 0 && value < 1e9;
    return is_one ? (size_t)value : SIZE_MAX;
}

/* "#  Rank  0 Group  0 Pid 1234 on HOST device  0 [0x07] NVIDIA H100 80GB HBM3" */
static bool read_device(log_reader *log, const file_line *line)
{
    size_t rank = index_after(line, "Rank");
    size_t host = index_after(line, "on");
    size_t device = index_after(line, "device");
    if (rank >= line->count || host >= line->count || device >= line->count || device < host)
        return false;
    st_nccl_device found = {.rank = read_index(line, rank), .gpu = ""};
    if (found.rank == SIZE_MAX)
        return false;
    size_t group = read_index(line, index_after(line, "Group"));
    found.group = group == SIZE_MAX ? 0 : group;
    found.host = st_nccl_text(log->table, line->tokens[host].text, line->tokens[host].length);
    if (device + 2 < line->count) {
        const char *name = line->tokens[device + 2].text;
        token last = line->tokens[line->count - 1];
        found.gpu = st_nccl_text(log->table, name, (size_t)(last.text + last.length - name));
    }
    st_nccl_add_device(log->table, &found, line->number);
    return true;
}

/* The name of a program such as "./build/all_reduce_perf". */
static void read_program(log_reader *log, const file_line *line)
{
    for (size_t i = 0; i < line->count; i++) {
        token word = line->tokens[i];
        size_t start = word.length;
        while (start > 0 && ((word.text[start - 1] >= 'a' && word.text[start - 1] <= 'z') ||
                             word.text[start - 1] == '_'))
            start--;
        if (word.length - start < 6 || memcmp(word.text + word.length - 5, "_perf", 5) != 0)
            continue;
        const char *found = st_nccl_collective(word.text + start, word.length - start);
        if (found != NULL)
            log->table->collective = found;
    }
}

/* A line other than a row; what it says holds for the tables after it. */
static void read_remark(log_reader *log, const file_line *line)
{
    if (contains(line, "Using devices")) {
        close_row(log);
        log->table->device_count = 0;
    } else if (contains(line, "Out of bounds values") || contains(line, "Avg bus bandwidth")) {
        close_row(log);
        log->is_over = true;
        if (contains(line, "FAILED"))
            st_nccl_warn(log->table, line->number, wrong_results);
    } else if (contains(line, "in-place") || contains(line, "out-of-place")) {
        log->in_place_only = !contains(line, "out-of-place");
        /* "in-place  out-of-place" above the columns, as mscclpp-test has them. */
        size_t in_place = find_word(line, 0, "in-place");
        log->in_place_first = find_word(line, in_place, "out-of-place") < line->count;
    } else if (!read_device(log, line)) {
        /* "NCCL version 2.18.3+cuda12.2", "RCCL version 2.18.6+hip6.1", "nccl-library=22203" */
        static const char library[] = "nccl-library=";
        size_t at = index_after(line, "version");
        if (at < line->count && at >= 2 &&
            (is_word(line->tokens[at - 2], "NCCL") || is_word(line->tokens[at - 2], "RCCL")) &&
            is_digit(line->tokens[at].text[0])) {
            size_t length = 0;
            token word = line->tokens[at];
            while (length < word.length &&
                   (is_digit(word.text[length]) || word.text[length] == '.'))
                length++;
            log->table->version = st_nccl_text(log->table, word.text, length);
        }
        for (size_t i = 0; i < line->count; i++) {
            double code = 0;
            token word = line->tokens[i];
            if (word.length <= sizeof library - 1 ||
                memcmp(word.text, library, sizeof library - 1) != 0)
                continue;
            word.text += sizeof library - 1;
            word.length -= sizeof library - 1;
            if (read_number(word, &code))
                log->table->version = st_nccl_version(log->table, code);
        }
        read_program(log, line);
    }
}

static void read_log_line(log_reader *log, const file_line *line)
{
    bool has_table = log->measure_count > 0;
    size_t row = has_table ? find_row(log, line, 0) : line->count;
    if (has_table && row == line->count && line->count > 0 && log->behind == 0)
        log->behind = line->number;
    if (row < line->count) {
        log->behind = 0;
        begin_rows(log, line, row);
    } else if (read_heading(log, line)) {
        close_row(log);
        log->is_over = false;
        log->behind = 0;
        st_nccl_open_table(log->table, line->number);
    } else if (log->is_open && memchr(line->text, '#', line->length) == NULL) {
        /* The next pieces of the open row, on a line of their word or before somebody else's
         * words. */
        size_t first = 0;
        if (line->count > 0 && !is_measure(line->tokens[0]))
            first = 1; /* "[1,0]<stdout>:" */
        size_t measures = count_measures(line, first);
        size_t missing = log->measure_count - log->filled;
        bool is_whole = first + measures == line->count;
        if (measures == 0 || measures > missing || (!is_whole && (first > 0 || measures < 3)))
            return;
        for (size_t i = 0; i < measures; i++)
            take_measure(log, line->tokens[first + i]);
        if (log->filled == log->measure_count)
            close_row(log);
    } else {
        read_remark(log, line);
    }
}

static void read_log(st_nccl_reader *reader)
{
    log_reader log = {.table = reader};
    file_lines lines = lines_of(reader->input);
    file_line line = {.is_cut = false};
    while (reader->status == ST_OK && next_line(&lines, &line)) {
        cut(&line, ' ');
        read_log_line(&log, &line);
        if (reader->status == ST_OK && !log.is_open && ends_in_row(&log, &line))
            st_nccl_refuse(reader, ST_ERR_SYNTAX, line.number,
                           "the log ends inside a row" ST_FOUND "no time after its size" ST_HINT
                           "use the whole log, or remove this row");
    }
    if (log.is_open && !line.is_cut && !log.has_type && has_half(&log))
        close_row(&log); /* mscclpp-test has one time a row, and no final lines */
    if (reader->status != ST_OK)
        return;
    if (log.is_open)
        st_nccl_refuse(reader, ST_ERR_SYNTAX, log.row.line,
                       "the log ends inside a row" ST_FOUND "%zu of its %zu values" ST_HINT
                       "use the whole log, or remove this row",
                       log.filled, log.measure_count);
    else if (log.behind > 0 && !log.is_over)
        st_nccl_warn(
            reader, log.behind,
            "the log continues without the final lines of nccl-tests; sizes may be missing");
}

/* ---- all formats ---- */

static const struct {
    bool (*recognizes)(const st_nccl_input *input); /* NULL: any */
    void (*read)(st_nccl_reader *reader);
} formats[] = {{is_json, read_json}, {is_csv, read_csv}, {is_named, read_named}, {NULL, read_log}};

st_status st_nccl_read(const st_nccl_request *request, const st_nccl_input *input, st_arena *arena,
                       st_nccl_table **tables, size_t *count, st_errors *errors)
{
    static const char mark[] = "\xEF\xBB\xBF"; /* of UTF-8, as some editors put it in front */
    st_nccl_input text = *input;
    if (text.length >= 3 && memcmp(text.text, mark, 3) == 0) {
        text.text += 3;
        text.length -= 3;
    }
    st_nccl_reader reader = {.request = request,
                             .input = &text,
                             .arena = arena,
                             .errors = errors,
                             .version = "",
                             .gpu = "",
                             .fabric = "",
                             .source = ""};
    size_t format = 0;
    while (formats[format].recognizes != NULL && !formats[format].recognizes(&text))
        format++;
    formats[format].read(&reader);
    if (reader.status == ST_OK)
        st_nccl_finish(&reader);
    if (reader.status == ST_OK) {
        *tables = reader.tables;
        *count = reader.table_count;
    }
    return reader.status;
}
