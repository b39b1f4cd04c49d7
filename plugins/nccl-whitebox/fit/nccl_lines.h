/* SPDX-License-Identifier: Apache-2.0 */
/* Lines of a file and the tokens in them; for the readers of forms. */
#ifndef STEPTIME_CALIBRATE_COLLECTIVES_NCCL_LINES_H
#define STEPTIME_CALIBRATE_COLLECTIVES_NCCL_LINES_H

#include "nccl-whitebox/fit/nccl_build.h"

#include "steptime/quantity.h"

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

static inline file_lines lines_of(const st_nccl_input *input)
{
    return (file_lines){.at = input->text, .end = input->text + input->length};
}

static inline bool is_blank(char c)
{
    return c == ' ' || c == '\t' || c == '\r' || c == '\0';
}

static inline bool next_line(file_lines *lines, file_line *line)
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
static inline void cut(file_line *line, char separator)
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

static inline bool contains(const file_line *line, const char *text)
{
    size_t length = strlen(text);
    for (size_t i = 0; i + length <= line->length; i++)
        if (memcmp(line->text + i, text, length) == 0)
            return true;
    return false;
}

static inline bool begins_with(token word, const char *text)
{
    return word.length >= strlen(text) && memcmp(word.text, text, strlen(text)) == 0;
}

static inline bool is_word(token word, const char *text)
{
    return word.length == strlen(text) && begins_with(word, text);
}

/* The index of a word in a line; line->count without it. */
static inline size_t find_word(const file_line *line, size_t from, const char *word)
{
    while (from < line->count && !is_word(line->tokens[from], word))
        from++;
    return from;
}

static inline bool is_digit(char c)
{
    return c >= '0' && c <= '9';
}

static inline bool read_number(token word, double *value)
{
    return word.length > 0 && word.length < LONGEST_NUMBER &&
           st_number_parse(word.text, word.length, (st_place){0}, value, NULL) == ST_OK;
}

/* Half of the last digit of a bandwidth in GB/s; too coarse to compare without a point or with an
 * exponent. */
static inline double slack_of(token word, double without_point)
{
    const char *point = memchr(word.text, '.', word.length);
    if (memchr(word.text, 'e', word.length) != NULL)
        return (double)INFINITY;
    return point == NULL ? without_point
                         : 0.5e9 * pow(10.0, -(double)(word.text + word.length - point - 1));
}

static inline void warn_of_cut(st_nccl_reader *reader, int line)
{
    const st_nccl_input *input = reader->input;
    if (input->length == 0 || input->text[input->length - 1] != '\n')
        st_nccl_warn(reader, line, "the file ends without a line break; its last row may be cut");
}

#endif
