/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Tables of other programs, whose headings name the unit beside the column: look-up tables
 * ("size(B),count,type,time(ns),busbw(GB/s),..."), the OSU micro-benchmarks ("# Size  Avg
 * Latency(us)") and the benchmark of MSCCL++ in Python ("| Size (fp16) | Time (us) | ...").
 *
 * A heading says which columns are the size and the times; every line of as many columns below it
 * is a row, until a line of another shape ends the table.
 */
#include "nccl-whitebox/fit/nccl_read.h"

#include "steptime/quantity.h"

#include <math.h>
#include <string.h>

enum { COLUMNS = 32, WORD = 64 };

typedef enum table_form { NO_FORM, LOOK_UP, OSU, MSCCLPP } table_form;

/* One line, cut into columns. */
typedef struct named_line {
    const char *text;
    size_t length;
    char columns[COLUMNS][WORD];
    size_t count;
    int number;
} named_line;

/* What a heading says. */
typedef struct table_layout {
    table_form form;
    size_t columns; /* 0: any number */
    size_t size;
    size_t times[2]; /* by st_nccl_buffers; COLUMNS: none */
    double scale[2]; /* seconds of the unit */
} table_layout;

typedef struct named_reader {
    st_nccl_reader *own;
    const char *at;
    const char *end;
    int line;
    table_layout layout; /* of the table that is open */
} named_reader;

/* ---- lines ---- */

static bool is_blank(char c)
{
    return c == ' ' || c == '\t' || c == '\r' || c == '\0';
}

static bool next_line(named_reader *reader, named_line *line)
{
    if (reader->at >= reader->end)
        return false;
    const char *stop = memchr(reader->at, '\n', (size_t)(reader->end - reader->at));
    stop = stop != NULL ? stop : reader->end;
    line->text = reader->at;
    line->length = (size_t)(stop - reader->at);
    while (line->length > 0 && is_blank(line->text[line->length - 1]))
        line->length--;
    line->number = ++reader->line;
    line->count = 0;
    reader->at = stop < reader->end ? stop + 1 : stop;
    return true;
}

/* Columns between commas or bars, or between blanks; a column that is too long is cut short. */
static void cut(named_line *line, char separator)
{
    const char *at = line->text;
    const char *end = at + line->length;
    line->count = 0;
    while (at < end && line->count < COLUMNS) {
        const char *stop = at;
        while (stop < end && (separator != ' ' ? *stop != separator : !is_blank(*stop)))
            stop++;
        const char *first = at;
        const char *last = stop;
        while (first < last && is_blank(*first))
            first++;
        while (last > first && is_blank(last[-1]))
            last--;
        size_t length = (size_t)(last - first) < WORD - 1 ? (size_t)(last - first) : WORD - 1;
        if (separator == ',' || length > 0) {
            memcpy(line->columns[line->count], first, length);
            line->columns[line->count++][length] = '\0';
        }
        at = stop + 1;
    }
}

static bool holds(const named_line *line, const char *text)
{
    size_t length = strlen(text);
    for (size_t i = 0; i + length <= line->length; i++)
        if (memcmp(line->text + i, text, length) == 0)
            return true;
    return false;
}

static char separator_of(const named_line *line)
{
    return line->length > 0 && line->text[0] == '|'        ? '|'
           : memchr(line->text, ',', line->length) != NULL ? ','
                                                           : ' ';
}

/* ---- headings ---- */

/* Seconds of the unit in "time(ns)" or "Time (us)"; 0 where it is no such column. */
static double unit_of_time(const char *column)
{
    static const struct {
        const char *unit;
        double seconds;
    } units[] = {{"(ns)", 1e-9}, {"(us)", 1e-6}, {"(ms)", 1e-3}, {"(s)", 1}};
    const char *behind = column + 4;
    if (strncmp(column, "time", 4) != 0 && strncmp(column, "Time", 4) != 0)
        return 0;
    while (*behind == ' ')
        behind++;
    for (size_t i = 0; i < sizeof units / sizeof units[0]; i++)
        if (strcmp(behind, units[i].unit) == 0)
            return units[i].seconds;
    return 0;
}

static bool is_size(const char *column)
{
    return strcmp(column, "size(B)") == 0 || strcmp(column, "size_bytes(B)") == 0 ||
           strcmp(column, "Size") == 0 || strncmp(column, "Size (", 6) == 0;
}

/* The layout of a heading; its form is NO_FORM where the line is none. */
static table_layout layout_of(named_line *line)
{
    table_layout found = {
        .form = OSU, .times = {1, COLUMNS}, .scale = {1e-6, 0}}; /* the mean of all ranks */
    /* "# Size       Avg Latency(us)", where names have blanks in them: the first two columns
     * count. */
    named_line words = *line;
    cut(&words, ' ');
    if (words.count >= 3 && strcmp(words.columns[0], "#") == 0 &&
        strcmp(words.columns[1], "Size") == 0)
        return found;
    char separator = separator_of(line);
    cut(line, separator);
    /* Size and times by the names of the columns; of two times the first is out of place. */
    size_t times = 0;
    bool has_size = false;
    found = (table_layout){.columns = line->count, .times = {COLUMNS, COLUMNS}};
    for (size_t i = 0; i < line->count; i++) {
        double seconds = unit_of_time(line->columns[i]);
        if (!has_size && is_size(line->columns[i])) {
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
    else if (is_table && strcmp(line->columns[found.size], "size(B)") == 0)
        found.form = LOOK_UP;
    return found;
}

bool st_nccl_is_named(const st_nccl_input *input)
{
    named_reader reader = {.at = input->text, .end = input->text + input->length};
    named_line line;
    while (reader.line < 1000 && next_line(&reader, &line))
        if (layout_of(&line).form != NO_FORM)
            return true;
    return false;
}

/* "# OSU MPI-CUDA Allreduce Latency Test v7.0": the collective is the word behind "MPI-CUDA", where
 * "Latency" follows, or more words of its name ("All-to-All Personalized Exchange"). */
static void read_osu_title(named_reader *reader, const named_line *line)
{
    named_line words = *line;
    cut(&words, ' ');
    if (!holds(line, " Latency ") || words.count < 5)
        return;
    const char *name = words.columns[3];
    bool is_message = strcmp(name, "Latency") == 0;
    bool is_whole =
        strcmp(words.columns[4], "Latency") == 0 || strcmp(words.columns[4], "Personalized") == 0;
    reader->own->collective = is_message ? "send_recv"
                              : is_whole ? st_nccl_collective(name, strlen(name))
                                         : NULL;
    if (reader->own->collective == NULL)
        st_nccl_refuse(reader->own, ST_ERR_NAME, line->number,
                       "unknown collective" ST_FOUND "'%s'" ST_EXPECTED "one such as Allreduce",
                       st_nccl_text(reader->own, name, strlen(name)));
}

/* ---- rows ---- */

static bool read_number(const char *text, double *value)
{
    return text[0] != '\0' &&
           st_number_parse(text, strlen(text), (st_place){0}, value, NULL) == ST_OK;
}

/* Plain bytes, or with a unit as MSCCL++ prints them: "1.5 KiB". */
static bool read_size(const char *text, double *bytes)
{
    st_unit unit;
    if (read_number(text, bytes))
        return *bytes >= 0;
    return st_unit_parse("B", 1, (st_place){0}, &unit, NULL) == ST_OK &&
           st_quantity_parse(text, strlen(text), &unit, (st_place){0}, bytes, NULL) == ST_OK &&
           *bytes >= 0;
}

/* false: the line is no row. */
static bool take_row(named_reader *reader, named_line *line)
{
    st_nccl_row row = {.line = line->number};
    const table_layout *layout = &reader->layout;
    cut(line, layout->form == MSCCLPP ? '|' : separator_of(line));
    bool has_shape = layout->columns > 0 ? line->count == layout->columns : line->count >= 2;
    if (!has_shape || !read_size(line->columns[layout->size], &row.size_bytes))
        return false;
    for (int i = 0; i < 2; i++) {
        double value = (double)NAN;
        row.time_s[i] = row.bandwidth[i] = (double)NAN;
        if (layout->times[i] == COLUMNS)
            continue;
        if (!read_number(line->columns[layout->times[i]], &value))
            return false;
        row.time_s[i] = value * layout->scale[i];
    }
    st_nccl_add_row(reader->own, &row);
    return true;
}

static void read_line(named_reader *reader, named_line *line)
{
    table_layout found = layout_of(line);
    /* Lines between the rows of a table that say nothing: rules, remarks, what is blank. */
    if (found.form != NO_FORM) {
        bool has_time = holds(line, "Latency(us)") || holds(line, "Latency (us)");
        if (found.form == OSU && !has_time) {
            st_nccl_refuse(reader->own, ST_ERR_VALUE, line->number,
                           "a test of bandwidth, which says no time of a message" ST_EXPECTED
                           "a latency test of the OSU micro-benchmarks");
            return;
        }
        reader->layout = found;
        st_nccl_open_table(reader->own, line->number);
        if (reader->own->status == ST_OK && found.form == OSU)
            reader->own->tables[reader->own->table_count - 1].sizes_of_osu = true;
    } else if (holds(line, "# OSU ")) {
        reader->layout.form = NO_FORM;
        read_osu_title(reader, line);
    } else if (reader->layout.form != NO_FORM && line->length != 0 && line->text[0] != '#' &&
               line->text[0] != '+' && !take_row(reader, line)) {
        if (reader->layout.form == LOOK_UP && line->count > 0 && line->columns[0][0] >= '0' &&
            line->columns[0][0] <= '9')
            st_nccl_refuse(
                reader->own, ST_ERR_SYNTAX, line->number,
                "a row that is none" ST_FOUND "'%s'" ST_EXPECTED "a size and a time",
                st_nccl_text(reader->own, line->text, line->length < 60 ? line->length : 60));
        reader->layout.form = NO_FORM;
    }
}

void st_nccl_read_named(st_nccl_reader *own)
{
    named_reader reader = {
        .own = own, .at = own->input->text, .end = own->input->text + own->input->length};
    named_line line;
    while (own->status == ST_OK && next_line(&reader, &line))
        read_line(&reader, &line);
    bool has_end = own->input->length > 0 && own->input->text[own->input->length - 1] == '\n';
    if (own->status == ST_OK && !has_end)
        st_nccl_warn(own, reader.line,
                     "the file ends without a line break: its last row may be cut");
}
