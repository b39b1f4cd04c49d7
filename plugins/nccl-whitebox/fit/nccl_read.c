/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The forms of measured collectives, in the table of formats at the end; see nccl_table.h.
 *
 * JSON of `all_reduce_perf -J FILE` (NVIDIA/nccl-tests, src/util.cu, version 2.16 and later).
 * CSV and the lines of JSON of rccl-tests: nccl_csv.c.
 * Tables whose headings name units: look-up tables ("size(B),count,type,time(ns),..."), the OSU
 * micro-benchmarks ("# Size  Avg Latency(us)") and MSCCL++ in Python ("| Size (fp16) | Time (us)").
 *
 * Text logs of nccl-tests (src/common.cu and src/util.cu of 2.0 to 2.17), of rccl-tests, and of
 * mscclpp-test, which has no types and prints in-place results first. Launchers prefix lines, other
 * processes write between and into rows. So a row is found by its tokens, counted by the names of
 * the heading, and stays open until all pieces are there.
 */
#include "nccl-whitebox/fit/nccl_lines.h"

#include "base/json_read.h"

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
        double index = json_number(member(device, "device"));
        const char *host = json_text(member(device, "hostname"));
        const char *gpu = json_text(member(device, "device_info"));
        if (!(rank >= 0 && rank < ST_NCCL_MAX_RANKS)) {
            st_nccl_refuse(reader, ST_ERR_VALUE, device->line, "a device without a rank");
            return;
        }
        st_nccl_device found = {.rank = (size_t)rank,
                                .device = index >= 0 && index < 1e9 ? (size_t)index : SIZE_MAX,
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
    row->bus[buffers] = json_number(member(block, "bus_bw")) * 1e9;
    /* Six digits behind the point of GB/s, or as many as the number has. */
    row->slack[buffers] = row->bus_slack[buffers] = 0.5e3;
    const st_json *digits[] = {member(block, "alg_bw"), member(block, "bus_bw")};
    double *slack[] = {&row->slack[buffers], &row->bus_slack[buffers]};
    for (size_t i = 0; i < 2; i++)
        if (digits[i] != NULL && digits[i]->kind == ST_JSON_NUMBER)
            *slack[i] = fmax(*slack[i], slack_of((token){digits[i]->text, strlen(digits[i]->text)},
                                                 (double)INFINITY));
    double wrong = json_number(member(block, "nwrong"));
    row->wrong += wrong > 0 ? wrong : 0;
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

typedef enum measure { TIME, ALGORITHM, BUS, WRONG, OTHER } measure;

typedef struct log_reader {
    st_nccl_reader *table;
    token prefix; /* the last word of what a launcher puts in front of the heading: "0:" */
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
            measures[measured++] = is_time                   ? TIME
                                   : is_word(word, "algbw")  ? ALGORITHM
                                   : is_word(word, "busbw")  ? BUS
                                   : is_word(word, "#wrong") ? WRONG
                                                             : OTHER;
    }
    if (blocks == 0 || blocks > 2)
        return false;
    token before = line->tokens[0];
    const char *sign = memchr(line->text, '#', line->length);
    log->prefix = (token){.length = 0};
    for (size_t i = 0; sign != NULL && i < size && line->tokens[i].text < sign; i++)
        before = line->tokens[i];
    if (sign != NULL && before.text < sign) {
        size_t rest = (size_t)(sign - before.text);
        log->prefix = (token){before.text, rest < before.length ? rest : before.length};
    }
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
    } else if (log->measures[at] == BUS) {
        log->row.bus[buffers] = value * 1e9;
        log->row.bus_slack[buffers] = slack_of(word, 0.5e9);
    } else if (log->measures[at] == WRONG && value > 0) {
        log->row.wrong += value;
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
    st_nccl_device found = {
        .rank = read_index(line, rank), .device = read_index(line, device), .gpu = ""};
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

/* Blanks in place of a launcher's prefix inside a row: "sum -1[0]  366.5", "-1[1,0]<stdout>: 8". */
static void drop_prefixes(log_reader *log, file_line *line)
{
    const token prefix = log->prefix;
    char *copy = NULL;
    bool is_whole = prefix.length > 1 && strchr(":>|]", prefix.text[prefix.length - 1]) != NULL;
    for (size_t i = 0; is_whole && i + prefix.length <= line->length; i++) {
        if (memcmp(line->text + i, prefix.text, prefix.length) != 0)
            continue;
        if (copy == NULL)
            copy = st_arena_copy(log->table->arena, line->text, line->length);
        if (copy == NULL)
            return;
        memset(copy + i, ' ', prefix.length);
        i += prefix.length - 1;
    }
    if (copy != NULL) {
        line->text = copy;
        cut(line, ' ');
    }
}

static void read_log(st_nccl_reader *reader)
{
    log_reader log = {.table = reader};
    file_lines lines = lines_of(reader->input);
    file_line line = {.is_cut = false};
    while (reader->status == ST_OK && next_line(&lines, &line)) {
        cut(&line, ' ');
        if (log.measure_count > 0 && memchr(line.text, '#', line.length) == NULL)
            drop_prefixes(&log, &line);
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
} formats[] = {{st_nccl_is_lines, st_nccl_read_lines},
               {is_json, read_json},
               {st_nccl_is_csv, st_nccl_read_csv},
               {is_named, read_named},
               {NULL, read_log}};

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
