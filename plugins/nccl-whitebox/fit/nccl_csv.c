/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Tables with named columns: CSV, and the lines of JSON of rccl-tests, which become such a table.
 *
 * Lines "# key: value", then a heading with size_bytes (or size) and time_us (or time). Columns
 * collective, ranks and nodes override the lines; where they change, a table begins. A column that
 * says where the result lies makes two rows one; any other column by which rows of one size differ
 * is refused.
 */
#include "nccl-whitebox/fit/nccl_lines.h"

#include "base/error_scope.h"
#include "base/fields.h"
#include "base/json_read.h"
#include "steptime/tool/profiles.h"

#include <stdlib.h>
#include <strings.h>

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
    double bus[2];
    double wrong[2];
    double place; /* of the one time; see places */
    const char *keys[KEYS];
} csv_row;

enum {
    SIZE,
    TIMES,
    BANDWIDTHS = TIMES + 2,
    BUSES = BANDWIDTHS + 2,
    WRONGS = BUSES + 2,
    PLACE = WRONGS + 2,
    FIRST_KEY,
    FIELDS = FIRST_KEY + KEYS
};

static const st_field_unit bytes[] = {{"", 1},          {"bytes", 1},    {"b", 1},    {"kib", 1024},
                                      {"mib", 1048576}, {"gib", 0x1p30}, {"kb", 1e3}, {"mb", 1e6},
                                      {"gb", 1e9},      {NULL, 0}};
static const st_field_unit seconds[] = {{"", 1e-6},   {"us", 1e-6}, {"ns", 1e-9},
                                        {"ms", 1e-3}, {"s", 1},     {NULL, 0}};
static const st_field_unit gigas[] = {{"", 1e9},     {"gbps", 1e9}, {"gb s", 1e9},
                                      {"mbps", 1e6}, {"mb s", 1e6}, {NULL, 0}};
static const st_field_unit counts[] = {{"", 1}, {NULL, 0}};
/* As rccl-tests, nccl-tests and people spell it: out of place is 0. */
static const char places[] = "0|false|no|out-of-place|outplace|out|oop 1|true|yes|in-place|in|ip";

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
#define KEY(index, label, spelt)                                                                   \
    [FIRST_KEY + (index)] = {.name = label,                                                        \
                             .spellings = spelt,                                                   \
                             .set = st_field_text,                                                 \
                             .offset = offsetof(csv_row, keys) + (index) * sizeof(char *)}

/* Headings count without case and signs: "algBw" is algbw, "Time (ms)" is time in ms. */
static const st_field csv_fields[FIELDS] = {
    [SIZE] = {.name = "size_bytes",
              .spellings = "size|message size|msg size|bytes|nbytes",
              .units = bytes,
              .set = st_field_count,
              .flags = ST_FIELD_REQUIRED,
              .most = (double)INFINITY,
              .expected = "a whole number of bytes",
              .offset = offsetof(csv_row, size)},
    NUMBER(TIMES, "time_us", "time|latency|out of place time|oop time", seconds, time[0]),
    NUMBER(TIMES + 1, "in_place_time_us", "in place time|inplace time|ip time", seconds, time[1]),
    NUMBER(BANDWIDTHS, "algbw_GBps", "algbw|alg bw|out of place algbw|oop algbw", gigas,
           bandwidth[0]),
    NUMBER(BANDWIDTHS + 1, "in_place_algbw_GBps", "in place algbw|inplace algbw|ip algbw", gigas,
           bandwidth[1]),
    NUMBER(BUSES, "busbw_GBps", "busbw|bus bw|out of place busbw|oop busbw", gigas, bus[0]),
    NUMBER(BUSES + 1, "in_place_busbw_GBps", "in place busbw|inplace busbw|ip busbw", gigas,
           bus[1]),
    NUMBER(WRONGS, "wrong", "wrong|nwrong|out of place wrong|num wrong", counts, wrong[0]),
    NUMBER(WRONGS + 1, "in_place_wrong", "in place wrong|inplace wrong", counts, wrong[1]),
    [PLACE] = {.name = "in_place",
               .spellings = "in place|inplace|placement|buffers|place",
               .set = st_field_word,
               .words = places,
               .expected = "0 or 1, in-place or out-of-place",
               .offset = offsetof(csv_row, place)},
    KEY(0, "collective", "collective|name|coll|operation"),
    KEY(1, "ranks", "ranks|nranks|gpus|ngpus|world size|num ranks|num gpus"),
    KEY(2, "nodes", "nodes|nnodes|num nodes|hosts"),
};

bool st_nccl_is_csv(const st_nccl_input *input)
{
    static const char *const sizes[] = {
        "size",  "size_bytes", "size_b",  "size_kib", "size_mib", "message_size", "msg_size",
        "bytes", "nbytes",     "size_kb", "size_mb",  "size_gb",  "size_gib"};
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
                for (size_t k = 0; k < ST_COUNT(sizes); k++)
                    has_size = has_size || (word.length == strlen(sizes[k]) &&
                                            strncasecmp(word.text, sizes[k], word.length) == 0);
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

/* Both halves of a size are one row: the one before, or the first that still lacks this half. */
static void join_half(st_nccl_table *table, size_t *first_half, int place)
{
    const size_t last = table->row_count - 1;
    st_nccl_row *row = &table->rows[last];
    while (*first_half < last && isfinite(table->rows[*first_half].time_s[0]) &&
           isfinite(table->rows[*first_half].time_s[1]))
        ++*first_half;
    const size_t candidates[] = {last - 1, *first_half};
    for (size_t i = 0; i < ST_COUNT(candidates) && last > 0; i++) {
        st_nccl_row *other = &table->rows[candidates[i]];
        if (candidates[i] >= last || other->size_bytes != row->size_bytes ||
            isfinite(other->time_s[place]))
            continue;
        other->time_s[place] = row->time_s[place];
        other->bandwidth[place] = row->bandwidth[place];
        other->slack[place] = row->slack[place];
        other->bus[place] = row->bus[place];
        other->bus_slack[place] = row->bus_slack[place];
        other->wrong += row->wrong;
        table->row_count--;
        return;
    }
}

/* Out-of-place columns are in place where the lines before the heading say so, the file's name, or
 * the row itself. */
static void read_csv_row(st_nccl_reader *reader, st_field_reader *table, size_t index, int line,
                         size_t *first_half)
{
    const double none = (double)NAN;
    csv_row read = {.time = {none, none}, .bandwidth = {none, none}, .bus = {none, none}};
    if (!st_fields_read(table, index, &read)) {
        reader->status = table->status;
        return;
    }
    bool is_split = st_fields_have(table, PLACE);
    bool in_place = is_split ? read.place > 0 : reader->in_place;
    st_nccl_row row = {.size_bytes = read.size, .line = line};
    for (int i = 0; i < 2; i++) {
        size_t from = in_place ? 0 : (size_t)i;
        bool has = (!in_place && !(is_split && i > 0)) || (in_place && i == ST_NCCL_IN_PLACE);
        row.time_s[i] = has ? read.time[from] : none;
        row.bandwidth[i] = has ? read.bandwidth[from] : none;
        row.bus[i] = has ? read.bus[from] : none;
        row.wrong += has && read.wrong[from] > 0 ? read.wrong[from] : 0;
        const char *text = has ? st_fields_text(table, index, BANDWIDTHS + from) : "";
        row.slack[i] = slack_of((token){text, strlen(text)}, (double)INFINITY);
        text = has ? st_fields_text(table, index, BUSES + from) : "";
        row.bus_slack[i] =
            text[0] != '\0' ? slack_of((token){text, strlen(text)}, (double)INFINITY) : 0;
    }
    size_t before = reader->tables[reader->table_count - 1].row_count;
    st_nccl_add_row(reader, &row);
    st_nccl_table *last = &reader->tables[reader->table_count - 1];
    if (reader->status == ST_OK && is_split && last->row_count > before)
        join_half(last, first_half, in_place ? ST_NCCL_IN_PLACE : ST_NCCL_OUT_OF_PLACE);
}

/* ---- columns that nobody reads ---- */

typedef struct same_size {
    const char *size;
    const char *place;
    size_t row;
} same_size;

static int compare_sizes(const void *a, const void *b)
{
    const same_size *left = a;
    const same_size *right = b;
    int order = strcmp(left->size, right->size);
    order = order != 0 ? order : strcmp(left->place, right->place);
    return order != 0 ? order : left->row < right->row ? -1 : left->row > right->row ? 1 : 0;
}

/* A column of repetitions and of remarks splits nothing; nor do measured values. */
static bool may_split(const st_field_reader *table, size_t column, const char *text)
{
    static const char harmless[] = "run iter iteration repeat repetition trial sample seed date "
                                   "time timestamp hostname host comment note count job id";
    static const char labels[] = "root channels nchannels threads nthreads ctas graph cudagraph "
                                 "blocking group stream streams buffer registered ub nvls sharp";
    const char *name = table->csv->columns[column];
    double value = 0;
    bool is_number = st_number_parse(text, strlen(text), (st_place){0}, &value, NULL) == ST_OK;
    return !st_fields_use(table, column) && !st_field_is_blank(text) &&
           st_word_index(name, harmless, false) == SIZE_MAX &&
           (!is_number || st_word_index(name, labels, false) != SIZE_MAX);
}

/* Refuses a column by which rows of one size and placement differ: they are of several runs. */
static void refuse_splits(st_nccl_reader *reader, const st_field_reader *table, size_t from,
                          size_t to)
{
    same_size *rows = st_arena_alloc(reader->arena, to - from + 1, sizeof *rows);
    if (rows == NULL)
        return;
    for (size_t i = from; i < to; i++)
        rows[i - from] =
            (same_size){st_fields_text(table, i, SIZE), st_fields_text(table, i, PLACE), i};
    qsort(rows, to - from, sizeof *rows, compare_sizes);
    for (size_t i = 1; i < to - from && reader->status == ST_OK; i++) {
        if (strcmp(rows[i].size, rows[i - 1].size) != 0 ||
            strcmp(rows[i].place, rows[i - 1].place) != 0)
            continue;
        for (size_t k = 0; k < table->csv->column_count && reader->status == ST_OK; k++) {
            const char *one = st_csv_field(table->csv, rows[i - 1].row, k);
            const char *two = st_csv_field(table->csv, rows[i].row, k);
            if (strcmp(one, two) != 0 && may_split(table, k, two))
                ST_NOTE(reader, ST_ERR_VALUE, st_csv_place(table->csv, rows[i].row, k),
                        "column '%s' splits the rows of size %s" ST_FOUND
                        "'%.40s' and '%.40s'" ST_EXPECTED "one table for each" ST_HINT
                        "keep the rows of one of them",
                        table->csv->columns[k], rows[i].size, one, two);
        }
    }
}

/* Whether the row is of other ranks, nodes or another collective than the one before it. */
static bool differs(const st_field_reader *table, size_t row)
{
    for (size_t i = FIRST_KEY; i < FIELDS; i++)
        if (strcmp(st_fields_text(table, row, i), st_fields_text(table, row - 1, i)) != 0)
            return true;
    return false;
}

/* rccl-tests name the GPUs and not the nodes: as many as one node may have are on one. */
static void assume_node(st_nccl_reader *reader, const st_field_reader *table, int line)
{
    enum { RANKS = FIRST_KEY + 1, NODES = RANKS + 1, MOST_ON_A_NODE = 8 };
    if (!st_fields_have(table, RANKS) || st_fields_have(table, NODES) ||
        reader->request->nodes > 0 || reader->nodes > 0 || reader->ranks < 2 ||
        reader->ranks > MOST_ON_A_NODE ||
        strcasecmp(table->csv->columns[table->found[RANKS].column], "gpus") != 0)
        return;
    reader->nodes = 1;
    st_nccl_warn(reader, line,
                 "assuming %zu GPUs on one node, which the file does not give; override with "
                 "--nodes",
                 reader->ranks);
}

static void find_columns(st_nccl_reader *reader, st_field_reader *table)
{
    if (st_fields_find(table)) {
        bool times[] = {st_fields_have(table, TIMES), st_fields_have(table, TIMES + 1)};
        if (times[0] && times[1])
            reader->in_place = false; /* the columns say which is which */
        if (!times[0] && (reader->in_place || !times[1]))
            st_fields_missing(table, csv_fields[TIMES].name, NULL);
    }
    reader->status = table->status;
}

/* A unit that is assumed; digits that may be missing at the end, which a bandwidth next to the time
 * would show. */
static void warn_of_columns(st_nccl_reader *reader, const st_field_reader *table, int heading,
                            bool is_whole)
{
    if (st_fields_have(table, BANDWIDTHS) || st_fields_have(table, BANDWIDTHS + 1))
        return;
    const char *time =
        st_fields_have(table, TIMES) ? table->csv->columns[table->found[TIMES].column] : "";
    if (strcasecmp(time, "time") == 0)
        st_nccl_warn(reader, heading, "assuming us in column '%s'; name it time_us", time);
    if (!is_whole)
        warn_of_cut(reader, heading + (int)table->csv->row_count);
}

/* The table behind the remarks; `lines` are those of its rows where it is not the file's own. */
static void read_csv_table(st_nccl_reader *reader, const st_nccl_input *input, size_t start,
                           const int *lines)
{
    const st_csv_input text = {
        .file = input->file, .text = input->text, .length = input->length, .start = start};
    st_field_reader table = {.fields = csv_fields,
                             .count = FIELDS,
                             .loose = true,
                             .arena = reader->arena,
                             .errors = reader->errors};
    reader->status = st_csv_read(&text, reader->arena, &table.csv, reader->errors);
    if (reader->status != ST_OK)
        return;
    find_columns(reader, &table);
    int heading = lines != NULL ? lines[0] : st_csv_head_place(table.csv, 0).line;
    size_t first = 0;
    size_t first_half = 0;
    for (size_t i = 0; i < table.csv->row_count && reader->status == ST_OK; i++) {
        int line = lines != NULL ? lines[i] : heading + 1 + (int)i;
        bool begins = i == 0 || differs(&table, i);
        for (size_t k = FIRST_KEY; begins && k < FIELDS; k++)
            if (st_fields_have(&table, k))
                take_key(reader, st_nccl_place(reader, line), csv_fields[k].name,
                         st_fields_text(&table, i, k));
        if (begins && reader->status == ST_OK) {
            assume_node(reader, &table, line);
            st_nccl_open_table(reader, i == 0 ? heading : line);
            refuse_splits(reader, &table, first, i);
            first = i;
            first_half = 0;
        }
        if (reader->status == ST_OK)
            read_csv_row(reader, &table, i, line, &first_half);
    }
    if (reader->status == ST_OK)
        refuse_splits(reader, &table, first, table.csv->row_count);
    if (reader->status == ST_OK)
        warn_of_columns(reader, &table, heading, lines != NULL);
}

/* Without blanks next to commas, with which rccl-tests write theirs. */
static st_nccl_input without_blanks(st_nccl_reader *reader, size_t start)
{
    st_nccl_input input = *reader->input;
    char *text = st_arena_copy(reader->arena, input.text, input.length);
    size_t used = start;
    bool is_quoted = false;
    if (text == NULL)
        return input;
    for (size_t i = start; i < input.length; i++) {
        char c = input.text[i];
        size_t next = i;
        is_quoted = is_quoted != (c == '"');
        while (next < input.length && (input.text[next] == ' ' || input.text[next] == '\t'))
            next++;
        bool behind = used > start && (text[used - 1] == ',' || text[used - 1] == '\n');
        bool before = next < input.length && strchr(",\r\n", input.text[next]) != NULL;
        if (is_quoted || next == i || !(behind || before || used == start))
            text[used++] = c;
        else
            i = next - 1;
    }
    input.text = text;
    input.length = used;
    return input;
}

void st_nccl_read_csv(st_nccl_reader *reader)
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
    size_t start = (size_t)(lines.at - reader->input->text);
    st_nccl_input input = *reader->input;
    if (next_line(&lines, &line) && (contains(&line, ", ") || contains(&line, " ,")))
        input = without_blanks(reader, start);
    if (reader->status == ST_OK)
        read_csv_table(reader, &input, start, NULL);
}

/* ---- lines of JSON ---- */

/* An object of one result in each line, or a list of them; not the file of nccl-tests. */
bool st_nccl_is_lines(const st_nccl_input *input)
{
    file_lines lines = lines_of(input);
    file_line line = {.length = 0};
    while (line.length == 0 && next_line(&lines, &line))
        ;
    if (line.length == 0)
        return false;
    const char *end = line.text + line.length;
    const char *first = line.text;
    while (is_blank(*first)) /* a line does not end with a blank */
        first++;
    if (*first == '{')
        return end[-1] == '}' && !contains(&line, "results");
    const char *second = first + 1;
    while (second < input->text + input->length && (is_blank(*second) || *second == '\n'))
        second++;
    return *first == '[' && second < input->text + input->length && *second == '{';
}

/* Lines of what was read by itself: those of the file. */
typedef struct line_map {
    const int *lines; /* of rows behind a heading; NULL: the line of an object */
    size_t count;
    int line;
} line_map;

static bool move_line(const void *context, st_errors *errors, st_error *error)
{
    const line_map *map = context;
    (void)errors;
    if (map->lines == NULL) {
        error->place.line += map->line - 1;
    } else if (error->place.column > 0) { /* a place of the table */
        size_t row = error->place.line > 2 ? (size_t)error->place.line - 2 : 0;
        error->place.line = map->lines[row < map->count ? row : map->count - 1];
        error->place.column = 0;
    }
    return true;
}

typedef struct json_rows {
    const st_json **items;
    size_t count;
    int *lines;
    size_t line_count;
} json_rows;

static void add_item(st_nccl_reader *reader, json_rows *rows, const st_json *item, int line)
{
    if (item->kind != ST_JSON_MAP)
        st_nccl_refuse(reader, ST_ERR_SYNTAX, line, "a result that is not an object");
    else if (!ST_APPEND(reader->arena, rows->items, rows->count, item) ||
             !ST_APPEND(reader->arena, rows->lines, rows->line_count, line))
        st_nccl_refuse(reader, ST_ERR_MEMORY, line, "out of memory");
}

static void read_items(st_nccl_reader *reader, json_rows *rows)
{
    const st_nccl_input *input = reader->input;
    file_lines lines = lines_of(input);
    file_line line;
    size_t blanks = strspn(input->text, " \t\r\n");
    st_json *root = NULL;
    if (input->text[blanks] == '[') {
        reader->status = st_json_parse(input->file, input->text, input->length, reader->arena,
                                       &root, reader->errors);
        for (const st_json *item = reader->status == ST_OK ? root->first : NULL; item != NULL;
             item = item->next)
            add_item(reader, rows, item, item->line);
        return;
    }
    while (reader->status == ST_OK && next_line(&lines, &line)) {
        const line_map map = {.line = line.number};
        st_error_scope scope = {.edit = move_line, .context = &map};
        if (line.length == 0)
            continue;
        st_errors_enter(reader->errors, &scope);
        reader->status = st_json_parse(input->file, line.text, line.length, reader->arena, &root,
                                       reader->errors);
        st_errors_leave(reader->errors, &scope);
        if (reader->status == ST_OK)
            add_item(reader, rows, root, line.number);
    }
}

static void write_field(st_buffer *csv, const char *text, bool is_first)
{
    st_buffer_printf(csv, "%s\"", is_first ? "" : ",");
    for (; *text != '\0'; text++)
        st_buffer_printf(csv, *text == '"' ? "\"\"" : "%c", *text);
    st_buffer_text(csv, "\"");
}

void st_nccl_read_lines(st_nccl_reader *reader)
{
    json_rows rows = {.count = 0};
    st_buffer csv = {0};
    read_items(reader, &rows);
    if (reader->status != ST_OK || rows.count == 0)
        return;
    const st_json *names = rows.items[0]->first;
    for (const st_json *name = names; name != NULL; name = name->next)
        write_field(&csv, name->name, name == names);
    for (size_t i = 0; i < rows.count; i++) {
        st_buffer_text(&csv, "\n");
        for (const st_json *name = names; name != NULL; name = name->next) {
            const st_json *item = rows.items[i]->first;
            while (item != NULL && strcmp(item->name, name->name) != 0)
                item = item->next;
            write_field(&csv, item != NULL && item->text != NULL ? item->text : "", name == names);
        }
    }
    st_buffer_text(&csv, "\n");
    const line_map map = {.lines = rows.lines, .count = rows.count};
    st_error_scope scope = {.edit = move_line, .context = &map};
    const st_nccl_input input = {reader->input->file, csv.data, csv.length};
    st_errors_enter(reader->errors, &scope);
    if (csv.failed)
        st_nccl_refuse(reader, ST_ERR_MEMORY, 0, "out of memory");
    else
        read_csv_table(reader, &input, 0, rows.lines);
    st_errors_leave(reader->errors, &scope);
    st_buffer_free(&csv);
}
