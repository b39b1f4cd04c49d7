/* SPDX-License-Identifier: Apache-2.0 */
#include "calibrate/slowdown/data_columns.h"

#include <ctype.h>
#include <string.h>

enum { HEADING_BYTES = 128, WORD_BYTES = 32 };

typedef struct unit_name {
    const char *name;
    st_column_unit unit;
    double scale;
} unit_name;

/* The micro sign is there twice in Unicode. */
static const unit_name unit_names[] = {
    {"percent", ST_COLUMN_PERCENT, 1},  {"pct", ST_COLUMN_PERCENT, 1},
    {"ns", ST_COLUMN_TIME, 1},          {"us", ST_COLUMN_TIME, 1e3},
    {"\xc2\xb5s", ST_COLUMN_TIME, 1e3}, {"\xce\xbcs", ST_COLUMN_TIME, 1e3},
    {"ms", ST_COLUMN_TIME, 1e6},        {"s", ST_COLUMN_TIME, 1e9},
    {"b", ST_COLUMN_BYTES, 1},          {"bytes", ST_COLUMN_BYTES, 1},
    {"kib", ST_COLUMN_BYTES, 1024},     {"mib", ST_COLUMN_BYTES, 1048576},
    {"kb", ST_COLUMN_BYTES, 1e3},       {"mb", ST_COLUMN_BYTES, 1e6},
};

/* Letters of other alphabets are kept: a unit of their own must not become another one. */
static bool is_part(char character)
{
    return isalnum((unsigned char)character) != 0 || ((unsigned char)character & 0x80) != 0;
}

/* Lower case, all else between two words as one blank or as `gap` says; false: too long. */
static bool simplify(const char *text, size_t length, const char *gap, char *into, size_t size)
{
    size_t filled = 0;
    bool between = false;
    for (size_t i = 0; i < length; i++) {
        if (!is_part(text[i])) {
            between = filled > 0;
            continue;
        }
        if (filled + 2 >= size) {
            return false;
        }
        if (between && gap[0] != '\0') {
            into[filled++] = gap[0];
        }
        between = false;
        into[filled++] = (char)tolower((unsigned char)text[i]);
    }
    into[filled] = '\0';
    return true;
}

/* What a heading's end makes of a unit; 0: it is none. */
static double scale_of(const char *end, st_column_unit unit)
{
    if (end[0] == '\0') {
        return 1;
    }
    for (size_t i = 0; i < sizeof unit_names / sizeof *unit_names && end[0] == ' '; i++) {
        if (unit_names[i].unit == unit && strcmp(unit_names[i].name, end + 1) == 0) {
            return unit_names[i].scale;
        }
    }
    return 0;
}

st_column st_column_find(const st_csv *csv, const char *const *names, st_column_unit unit)
{
    for (; *names != NULL; names++) {
        size_t length = strlen(*names);
        for (size_t i = 0; i < csv->column_count; i++) {
            char heading[HEADING_BYTES];
            if (!simplify(csv->columns[i], strlen(csv->columns[i]), " ", heading, sizeof heading) ||
                strncmp(heading, *names, length) != 0) {
                continue;
            }
            double scale = scale_of(heading + length, unit);
            if (scale > 0) {
                return (st_column){.at = i, .scale = scale};
            }
        }
    }
    return (st_column){.at = SIZE_MAX, .scale = 1};
}

size_t st_column_word(const char *text, const char *words, bool inside)
{
    char given[HEADING_BYTES];
    size_t best = SIZE_MAX;
    size_t best_length = 0;
    if (!simplify(text, strlen(text), "", given, sizeof given)) {
        return SIZE_MAX;
    }
    const char *at = words + 1;
    for (size_t index = 0; *at != '\0'; index++) {
        char word[WORD_BYTES];
        size_t length = strcspn(at, " ");
        bool fits = simplify(at, length, "", word, sizeof word) &&
                    (inside ? strstr(given, word) != NULL : strcmp(given, word) == 0);
        if (fits && length > best_length) {
            best = index;
            best_length = length;
        }
        at += length + (at[length] == ' ' ? 1 : 0);
    }
    return best;
}
