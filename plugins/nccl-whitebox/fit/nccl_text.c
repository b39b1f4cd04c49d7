/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Text logs of nccl-tests (NVIDIA/nccl-tests, src/common.cu and src/util.cu of 2.0 to 2.17), of
 * rccl-tests, which prints the same, and of mscclpp-test (microsoft/mscclpp, test/mscclpp-test),
 * which has no column for the type and prints the results in place first.
 *
 * Any line may begin with what a launcher puts there, any line may belong to somebody else, and a
 * row is printed in three pieces (sizes, out of place, in place) between which other processes
 * write. So nothing is read by its column: a row is found by its tokens, counted by the names of
 * the heading, and stays open until all pieces are there.
 */
#include "nccl-whitebox/fit/nccl_read.h"

#include "steptime/quantity.h"

#include <math.h>
#include <string.h>

enum { TOKENS = 64, MEASURES = 24, BLANK_COLUMNS = 26 };

typedef struct token {
    const char *text;
    size_t length;
} token;

typedef struct log_line {
    const char *text;
    size_t length;
    int number;
    token tokens[TOKENS];
    size_t count;
    bool is_cut; /* the file ends in it */
} log_line;

typedef enum measure { TIME, ALGORITHM, OTHER } measure;

typedef struct text_reader {
    st_nccl_reader *own;
    const char *at;
    const char *end;
    int line;
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
} text_reader;

/* ---- lines and tokens ---- */

static bool is_blank(char c)
{
    return c == ' ' || c == '\t' || c == '\r' || c == '\0';
}

static bool next_line(text_reader *reader, log_line *line)
{
    if (reader->at >= reader->end)
        return false;
    const char *stop = memchr(reader->at, '\n', (size_t)(reader->end - reader->at));
    bool is_cut = stop == NULL;
    stop = stop != NULL ? stop : reader->end;
    *line = (log_line){.text = reader->at,
                       .length = (size_t)(stop - reader->at),
                       .number = ++reader->line,
                       .is_cut = is_cut};
    reader->at = stop < reader->end ? stop + 1 : stop;
    for (size_t i = 0; i < line->length && line->count < TOKENS;) {
        size_t start = i;
        while (i < line->length && !is_blank(line->text[i]))
            i++;
        if (i > start)
            line->tokens[line->count++] = (token){line->text + start, i - start};
        i++;
    }
    return true;
}

static bool is_word(token own, const char *word)
{
    return own.length == strlen(word) && memcmp(own.text, word, own.length) == 0;
}

/* The index of a word in a line; line->count where there is none. */
static size_t find_word(const log_line *line, size_t from, const char *word)
{
    while (from < line->count && !is_word(line->tokens[from], word))
        from++;
    return from;
}

static bool is_digit(char c)
{
    return c >= '0' && c <= '9';
}

static bool read_number(token own, double *value)
{
    return own.length > 0 && own.length < 40 &&
           st_number_parse(own.text, own.length, (st_place){0}, value, NULL) == ST_OK;
}

/* Digits alone; a sign in front of a root. */
static bool is_integer(token own)
{
    size_t i = own.length > 1 && own.text[0] == '-' ? 1 : 0;
    for (size_t k = i; k < own.length; k++)
        if (!is_digit(own.text[k]))
            return false;
    return own.length > 0;
}

static bool is_measure(token own)
{
    double value = 0;
    return read_number(own, &value) || is_word(own, "N/A") || is_word(own, "nan") ||
           is_word(own, "-nan") || is_word(own, "inf");
}

/* What a launcher glues in front: "[1,0]<stdout>:8589934592". */
static token without_prefix(token own)
{
    for (size_t i = own.length; i > 0; i--) {
        char c = own.text[i - 1];
        if (c == ':' || c == '>' || c == '|' || c == ']')
            return (token){own.text + i, own.length - i};
    }
    return own;
}

/* ---- the heading ---- */

/* Names the columns; false where the line is no heading. */
static bool read_heading(text_reader *reader, const log_line *line)
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
        token own = line->tokens[i];
        bool is_time = is_word(own, "time");
        if (is_word(own, "cputime")) {
            /* nccl-tests -C 1: how long the host takes to start a collective, whatever that
             * takes. */
            st_nccl_refuse(reader->own, ST_ERR_VALUE, line->number,
                           "times of the host that starts collectives (nccl-tests -C 1)" ST_FOUND
                           "cputime" ST_EXPECTED "time, as without -C");
            return false;
        }
        has_root = has_root || is_word(own, "root");
        blocks += is_time ? 1 : 0;
        if (blocks > 0 && !is_word(own, "timestamp"))
            measures[measured++] = is_time ? TIME : is_word(own, "algbw") ? ALGORITHM : OTHER;
    }
    if (blocks == 0 || blocks > 2)
        return false;
    reader->has_root = has_root;
    reader->has_type = is_word(line->tokens[first], "type");
    memcpy(reader->measures, measures, sizeof measures);
    reader->measure_count = measured;
    return true;
}

/* ---- rows ---- */

static size_t count_blocks(const text_reader *reader, size_t measures)
{
    size_t blocks = 0;
    for (size_t i = 0; i < measures; i++)
        blocks += reader->measures[i] == TIME ? 1 : 0;
    return blocks;
}

static double slack_of(token own)
{
    const char *point = memchr(own.text, '.', own.length);
    if (memchr(own.text, 'e', own.length) != NULL)
        return (double)INFINITY; /* two digits: nothing to compare with */
    return point == NULL ? 0.5e9 : 0.5e9 * pow(10.0, -(double)(own.text + own.length - point - 1));
}

/* Takes the next measure of the open row. */
static void take_measure(text_reader *reader, token own)
{
    size_t at = reader->filled++;
    size_t block = count_blocks(reader, at + 1) - 1;
    size_t buffers = reader->in_place_only ? 1 : reader->in_place_first ? 1 - block : block;
    double value = (double)NAN;
    if (!read_number(own, &value))
        value = (double)NAN;
    if (reader->measures[at] == TIME) {
        reader->row.time_s[buffers] = value * 1e-6;
    } else if (reader->measures[at] == ALGORITHM) {
        reader->row.bandwidth[buffers] = value * 1e9;
        reader->row.slack[buffers] = slack_of(own);
    }
}

/* Whether the open row has the columns of one time; mscclpp-test counts wrong results only where it
 * was told to. */
static bool has_half(const text_reader *reader)
{
    size_t half = count_blocks(reader, reader->measure_count) > 1 ? reader->measure_count / 2
                                                                  : reader->measure_count;
    return reader->filled + (reader->has_type ? 0 : 1) >= half;
}

/* Ends the open row; one that lacks both times is broken. */
static void close_row(text_reader *reader)
{
    if (!reader->is_open)
        return;
    reader->is_open = false;
    if (!has_half(reader))
        st_nccl_skip_row(reader->own, reader->row.line);
    else
        st_nccl_add_row(reader->own, &reader->row);
}

/* How many tokens from `from` on are measures. */
static size_t count_measures(const log_line *line, size_t from)
{
    size_t count = 0;
    while (from + count < line->count && is_measure(line->tokens[from + count]))
        count++;
    return count;
}

/*
 * The rest of the open row behind somebody else's words; tokens before `from` are taken. Numbers
 * that are no times, "Channel 00/24 : 0 1 2 3", are somebody else's, too.
 */
static void take_tail(text_reader *reader, const log_line *line, size_t from)
{
    size_t missing = reader->measure_count - reader->filled;
    size_t tail = 0;
    while (tail < line->count && line->count - tail > from &&
           is_measure(line->tokens[line->count - tail - 1]))
        tail++;
    if (tail != missing || tail == 0)
        return;
    const st_nccl_row row = reader->row;
    const size_t filled = reader->filled;
    for (size_t i = line->count - tail; i < line->count; i++)
        take_measure(reader, line->tokens[i]);
    if (!st_nccl_is_plausible(&reader->row)) {
        reader->row = row;
        reader->filled = filled;
    }
}

static bool is_count(token own)
{
    return own.length > 0 && is_integer(own) && own.text[0] != '-';
}

/* What stands behind size and count of a row: a type, or at least a block of numbers. */
static bool is_row_behind(const text_reader *reader, const log_line *line, size_t at)
{
    if (!reader->has_type)
        return count_measures(line, at) + 1 >= reader->measure_count / 2;
    const token type_own = line->tokens[at];
    static const char *const types[] = {"int8",     "uint8",    "int32",   "uint32",  "int64",
                                        "uint64",   "half",     "float",   "double",  "bfloat16",
                                        "fp8_e4m3", "fp8_e5m2", "f8e4m3",  "f8e5m2",  "fp8",
                                        "char",     "int",      "float16", "float32", "float64"};
    for (size_t i = 0; i < sizeof types / sizeof types[0]; i++)
        if (is_word(type_own, types[i]))
            return true;
    /* A type that is not known yet, before as many numbers as a row has. */
    token own = line->tokens[at];
    size_t next = at + 1;
    if (own.text[0] < 'a' || own.text[0] > 'z')
        return false;
    if (next < line->count && !is_measure(line->tokens[next]))
        next++; /* the operation */
    return count_measures(line, next) >= (reader->measure_count + 1) / 2;
}

/* Where a row begins in the line: a size, a count and a type; line->count where none does. */
static size_t find_row(const text_reader *reader, const log_line *line, size_t from)
{
    for (size_t i = from; i + 2 < line->count; i++)
        if (is_count(without_prefix(line->tokens[i])) && is_count(line->tokens[i + 1]) &&
            is_row_behind(reader, line, i + 2))
            return i;
    return line->count;
}

/* Begins the rows of a line: several, where the line breaks between them were lost. */
static void begin_rows(text_reader *reader, const log_line *line, size_t row)
{
    while (row < line->count) {
        size_t next = row + 3 < line->count ? find_row(reader, line, row + 3) : line->count;
        log_line part = *line;
        part.count = next;
        /* Begins a row at a token that is a size; what follows on the line is taken as far as it
         * fits. */
        size_t row_next = row + (reader->has_type ? 3 : 2);
        double size = 0;
        close_row(reader);
        (void)read_number(without_prefix(part.tokens[row]), &size);
        reader->row = (st_nccl_row){.size_bytes = size,
                                    .time_s = {(double)NAN, (double)NAN},
                                    .bandwidth = {(double)NAN, (double)NAN},
                                    .line = part.number};
        reader->is_open = true;
        reader->filled = 0;
        if (reader->has_type && row_next < part.count && !is_measure(part.tokens[row_next]))
            row_next++; /* the operation, or the beginning of somebody else's line */
        size_t measures = count_measures(&part, row_next);
        if (reader->has_root && measures > 0 && is_integer(part.tokens[row_next]) &&
            (part.tokens[row_next].text[0] == '-' || measures != reader->measure_count)) {
            row_next++;
            measures--;
        }
        /* A gap as wide as a block of columns: the results out of place were not asked for. */
        const token *before = &part.tokens[row_next - 1];
        if (measures > 0 && measures * 2 == reader->measure_count &&
            part.tokens[row_next].text - (before->text + before->length) > BLANK_COLUMNS)
            reader->filled = reader->measure_count / 2;
        for (size_t i = 0; i < measures && reader->filled < reader->measure_count; i++)
            take_measure(reader, part.tokens[row_next + i]);
        take_tail(reader, &part, row_next + measures);
        if (reader->filled == reader->measure_count)
            close_row(reader);
        row = next;
    }
}

/* The file ends in front of a row's type: a size, or size and count, and a piece of the type. */
static bool ends_in_row(const text_reader *reader, const log_line *line)
{
    if (!line->is_cut || reader->measure_count == 0 || reader->is_over ||
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

/* ---- what a log says of itself ---- */

static size_t index_after(const log_line *line, const char *word)
{
    size_t at = find_word(line, 0, word);
    return at + 1 < line->count ? at + 1 : line->count;
}

static size_t read_index(const log_line *line, size_t at)
{
    double value = 0;
    bool is_one = at < line->count && is_integer(line->tokens[at]) &&
                  read_number(line->tokens[at], &value) && value >= 0 && value < 1e9;
    return is_one ? (size_t)value : SIZE_MAX;
}

/* "#  Rank  0 Group  0 Pid 1234 on HOST device  0 [0x07] NVIDIA H100 80GB HBM3" */
static bool read_device(text_reader *reader, const log_line *line)
{
    size_t rank = index_after(line, "Rank");
    size_t host = index_after(line, "on");
    size_t device = index_after(line, "device");
    if (rank >= line->count || host >= line->count || device >= line->count || device < host)
        return false;
    st_nccl_device own = {.rank = read_index(line, rank), .gpu = ""};
    if (own.rank == SIZE_MAX)
        return false;
    size_t group = read_index(line, index_after(line, "Group"));
    own.group = group == SIZE_MAX ? 0 : group;
    own.host = st_nccl_text(reader->own, line->tokens[host].text, line->tokens[host].length);
    if (device + 2 < line->count) {
        const char *name = line->tokens[device + 2].text;
        token last = line->tokens[line->count - 1];
        own.gpu = st_nccl_text(reader->own, name, (size_t)(last.text + last.length - name));
    }
    st_nccl_add_device(reader->own, &own, line->number);
    return true;
}

static bool is_library(token own)
{
    return is_word(own, "NCCL") || is_word(own, "RCCL");
}

/* "NCCL version 2.18.3+cuda12.2", "RCCL version 2.18.6+hip6.1", "nccl-library=22203" */
static void read_version(text_reader *reader, const log_line *line)
{
    static const char library[] = "nccl-library=";
    size_t at = index_after(line, "version");
    if (at < line->count && at >= 2 && is_library(line->tokens[at - 2]) &&
        is_digit(line->tokens[at].text[0])) {
        size_t length = 0;
        token own = line->tokens[at];
        while (length < own.length && (is_digit(own.text[length]) || own.text[length] == '.'))
            length++;
        reader->own->version = st_nccl_text(reader->own, own.text, length);
    }
    for (size_t i = 0; i < line->count; i++) {
        double code = 0;
        token own = line->tokens[i];
        if (own.length <= sizeof library - 1 || memcmp(own.text, library, sizeof library - 1) != 0)
            continue;
        own.text += sizeof library - 1;
        own.length -= sizeof library - 1;
        if (read_number(own, &code))
            reader->own->version = st_nccl_version(reader->own, code);
    }
}

/* The name of a program such as "./build/all_reduce_perf". */
static void read_program(text_reader *reader, const log_line *line)
{
    for (size_t i = 0; i < line->count; i++) {
        token own = line->tokens[i];
        size_t start = own.length;
        while (start > 0 && ((own.text[start - 1] >= 'a' && own.text[start - 1] <= 'z') ||
                             own.text[start - 1] == '_'))
            start--;
        if (own.length - start < 6 || memcmp(own.text + own.length - 5, "_perf", 5) != 0)
            continue;
        const char *found = st_nccl_collective(own.text + start, own.length - start);
        if (found != NULL)
            reader->own->collective = found;
    }
}

static bool contains(const log_line *line, const char *text)
{
    size_t length = strlen(text);
    for (size_t i = 0; i + length <= line->length; i++)
        if (memcmp(line->text + i, text, length) == 0)
            return true;
    return false;
}

/* A line that is no row; what it says holds for the tables behind it. */
static void read_remark(text_reader *reader, const log_line *line)
{
    if (contains(line, "Using devices")) {
        close_row(reader);
        reader->own->device_count = 0;
    } else if (contains(line, "Out of bounds values") || contains(line, "Avg bus bandwidth")) {
        close_row(reader);
        reader->is_over = true;
        if (contains(line, "FAILED"))
            st_nccl_warn(reader->own, line->number, "nccl-tests found wrong results in this run");
    } else if (contains(line, "in-place") || contains(line, "out-of-place")) {
        reader->in_place_only = !contains(line, "out-of-place");
        /* "in-place  out-of-place" above the columns, as mscclpp-test has them. */
        size_t in_place = find_word(line, 0, "in-place");
        reader->in_place_first = find_word(line, in_place, "out-of-place") < line->count;
    } else if (!read_device(reader, line)) {
        read_version(reader, line);
        read_program(reader, line);
    }
}

static void read_line(text_reader *reader, const log_line *line)
{
    bool has_table = reader->measure_count > 0;
    size_t row = has_table ? find_row(reader, line, 0) : line->count;
    if (has_table && row == line->count && line->count > 0 && reader->behind == 0)
        reader->behind = line->number;
    if (row < line->count) {
        reader->behind = 0;
        begin_rows(reader, line, row);
    } else if (read_heading(reader, line)) {
        close_row(reader);
        reader->is_over = false;
        reader->behind = 0;
        st_nccl_open_table(reader->own, line->number);
    } else if (reader->is_open && memchr(line->text, '#', line->length) == NULL) {
        /* The next pieces of the open row, on a line of their own or before somebody else's
         * words. */
        size_t first = 0;
        if (line->count > 0 && !is_measure(line->tokens[0]))
            first = 1; /* "[1,0]<stdout>:" */
        size_t measures = count_measures(line, first);
        size_t missing = reader->measure_count - reader->filled;
        bool is_whole = first + measures == line->count;
        if (measures == 0 || measures > missing || (!is_whole && (first > 0 || measures < 3)))
            return;
        for (size_t i = 0; i < measures; i++)
            take_measure(reader, line->tokens[first + i]);
        if (reader->filled == reader->measure_count)
            close_row(reader);
    } else {
        read_remark(reader, line);
    }
}

void st_nccl_read_text(st_nccl_reader *own)
{
    text_reader reader = {
        .own = own, .at = own->input->text, .end = own->input->text + own->input->length};
    log_line line;
    bool is_cut = false;
    while (own->status == ST_OK && next_line(&reader, &line)) {
        is_cut = line.is_cut;
        read_line(&reader, &line);
        if (own->status == ST_OK && !reader.is_open && ends_in_row(&reader, &line))
            st_nccl_refuse(own, ST_ERR_SYNTAX, line.number,
                           "the log ends inside of a row" ST_FOUND "no time behind its size" ST_HINT
                           "take the whole log, or remove this row");
    }
    /* The end of a log: a row that is not whole, last words that lack. */
    st_nccl_reader *log_own = reader.own;
    bool is_whole = !is_cut && !reader.has_type && has_half(&reader);
    if (reader.is_open && is_whole)
        close_row(&reader); /* mscclpp-test has one time a row, and no last words */
    if (reader.behind > 0 && !reader.is_over && !reader.is_open && log_own->status == ST_OK)
        st_nccl_warn(log_own, reader.behind,
                     "the log goes on without the last words of nccl-tests: sizes may be missing");
    if (reader.is_open && log_own->status == ST_OK)
        st_nccl_refuse(log_own, ST_ERR_SYNTAX, reader.row.line,
                       "the log ends inside of a row" ST_FOUND "%zu of %zu values of it" ST_HINT
                       "take the whole log, or remove this row",
                       reader.filled, reader.measure_count);
}
