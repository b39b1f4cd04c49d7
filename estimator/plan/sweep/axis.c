/* SPDX-License-Identifier: Apache-2.0 */
/* Reading axes; see axis.h. */
#include "sweep/axis.h"
#include "job/sections.h"

#include "base/memory.h"
#include "base/number.h"
#include "base/text.h"
#include "job/keys.h"

#include <math.h>
#include <string.h>

enum { DIGITS = 15, UNIT_TEXT = 40 };

/* Whole numbers up to here are exact and need no text. */
static const double most_exact = 9007199254740992.0;

typedef struct reader {
    st_axis *axis;
    st_arena *arena;
    st_errors *errors;
} reader;

/* Whether so many more fit. */
static st_status make_room(const reader *self, double count)
{
    return (double)self->axis->count + count <= ST_AXIS_MAX_VALUES
               ? ST_OK
               : st_fail(self->errors, ST_ERR_LIMIT, self->axis->place,
                         "%s has too many values" ST_EXPECTED "at most 1000000", self->axis->path);
}

static st_status add_text(reader *self, const char *text)
{
    st_axis *axis = self->axis;
    st_status status = make_room(self, 1);
    if (status != ST_OK)
        return status;
    return ST_APPEND(self->arena, axis->texts, axis->count, text) ? ST_OK
                                                                  : st_out_of_memory(self->errors);
}

/* --- ranges ---------------------------------------------------------------------------------- */

typedef enum range_kind { RANGE_STEPS, RANGE_FACTORS } range_kind;

typedef struct range {
    double start;
    double end;
    double step; /* what is added or what is multiplied with */
    range_kind kind;
    char unit[UNIT_TEXT];
} range;

/* What is left of an item while it is read. */
typedef struct rest {
    const char *text;
    size_t length;
} rest;

static void skip(rest *from, size_t count)
{
    from->text += count;
    from->length -= count;
    st_trim(&from->text, &from->length);
}

static st_status read_number(const reader *self, rest *from, size_t length, double *number)
{
    size_t digits = st_number_scan(from->text, length);
    st_status status = st_number_parse(from->text, digits > 0 ? digits : length, self->axis->place,
                                       number, self->errors);
    if (status == ST_OK)
        skip(from, digits);
    return status;
}

/* Where a unit ends: before a step, that is '+', or '*' with a number behind it. */
static size_t unit_length(const rest *from)
{
    for (size_t i = 0; i < from->length; i++) {
        if (from->text[i] == '+')
            return i;
        size_t next = i + 1;
        while (next < from->length && strchr(" \t", from->text[next]) != NULL)
            next++;
        if (from->text[i] == '*' && next < from->length &&
            strchr("0123456789.-", from->text[next]) != NULL)
            return i;
    }
    return from->length;
}

/* One unit applies to a whole range, at any position. */
static st_status take_unit(const reader *self, const char *text, size_t length, range *into)
{
    st_trim(&text, &length);
    if (length == 0)
        return ST_OK;
    bool same = strlen(into->unit) == length && memcmp(into->unit, text, length) == 0;
    if ((into->unit[0] != '\0' && !same) || length >= UNIT_TEXT)
        return st_fail(self->errors, ST_ERR_UNIT, self->axis->place,
                       "a range of %s has two units: '%s' and '%.*s'" ST_EXPECTED
                       "one unit for the whole range",
                       self->axis->path, into->unit, (int)(length < 40 ? length : 40), text);
    memcpy(into->unit, text, length);
    into->unit[length] = '\0';
    return ST_OK;
}

static st_status read_step(const reader *self, rest *from, range *into)
{
    if (from->length == 0)
        return ST_OK;
    into->kind = from->text[0] == '*' ? RANGE_FACTORS : RANGE_STEPS;
    skip(from, 1);
    st_status status = read_number(self, from, from->length, &into->step);
    if (status == ST_OK)
        status = take_unit(self, from->text, from->length, into);
    if (status == ST_OK && into->kind == RANGE_FACTORS && into->step <= 1)
        status = st_fail(self->errors, ST_ERR_VALUE, self->axis->place,
                         "the factor of a range must be above 1" ST_EXPECTED
                         "a factor above 1, as in 1..64*2");
    if (status == ST_OK && into->step <= 0)
        status = st_fail(self->errors, ST_ERR_VALUE, self->axis->place,
                         "the step of a range must be above 0" ST_EXPECTED
                         "a step above 0, as in 1..9+2");
    return status;
}

static size_t find_dots(const char *item, size_t length)
{
    for (size_t i = 0; i + 1 < length; i++)
        if (item[i] == '.' && item[i + 1] == '.')
            return i;
    return length;
}

/* "100..400*2 Gbit/s": `dots` is the position of "..". */
static st_status read_range(const reader *self, const char *item, size_t length, size_t dots,
                            range *into)
{
    *into = (range){.step = 1, .kind = RANGE_STEPS};
    rest left = {item, dots};
    rest right = {item + dots + 2, length - dots - 2};
    st_trim(&left.text, &left.length);
    st_trim(&right.text, &right.length);
    if (find_dots(right.text, right.length) < right.length)
        return st_fail(self->errors, ST_ERR_VALUE, self->axis->place,
                       "the range '%.*s' of %s has two '..'" ST_EXPECTED
                       "a start and an end, as in 1..64*2",
                       (int)(length < 80 ? length : 80), item, self->axis->path);
    st_status status = read_number(self, &left, left.length, &into->start);
    if (status == ST_OK)
        status = take_unit(self, left.text, left.length, into);
    if (status == ST_OK)
        status = read_number(self, &right, right.length, &into->end);
    if (status != ST_OK)
        return status;
    size_t unit = unit_length(&right);
    status = take_unit(self, right.text, unit, into);
    skip(&right, unit);
    if (status == ST_OK)
        status = read_step(self, &right, into);
    if (status == ST_OK && into->end < into->start)
        status = st_fail(self->errors, ST_ERR_VALUE, self->axis->place,
                         "the range '%.*s' of %s is empty" ST_EXPECTED
                         "an end that is not below the start",
                         (int)(length < 80 ? length : 80), item, self->axis->path);
    if (status == ST_OK && into->kind == RANGE_FACTORS && into->start <= 0)
        status = st_fail(self->errors, ST_ERR_VALUE, self->axis->place,
                         "a range with a factor must start above 0" ST_EXPECTED
                         "a start above 0, as in 1..64*2");
    return status;
}

static bool is_whole(double value)
{
    return value == floor(value) && fabs(value) <= most_exact;
}

static double steps_of(const range *from)
{
    double steps = (from->end - from->start) / from->step;
    if (is_whole(from->start) && is_whole(from->end) && is_whole(from->step))
        return floor(steps) + 1;
    /* A step such as 0.1 is never exact: the end belongs to the range all the same. */
    return floor(steps * (1 + 1e-12) + 1e-9) + 1;
}

static st_status add_value(reader *self, double value, const char *unit)
{
    char number[ST_AXIS_TEXT];
    (void)st_number_significant(value, DIGITS, number, sizeof number);
    return add_text(
        self, st_arena_printf(self->arena, "%s%s%s", number, unit[0] != '\0' ? " " : "", unit));
}

/* --- lists ----------------------------------------------------------------------------------- */

static bool is_numeric(const st_axis *axis)
{
    if (axis->key != NULL)
        return axis->key->kind == ST_KEY_COUNT || axis->key->kind == ST_KEY_NUMBER ||
               axis->key->kind == ST_KEY_QUANTITY;
    return axis->section == NULL;
}

static st_status add_item(reader *self, const char *item, size_t length, bool alone)
{
    size_t dots = is_numeric(self->axis) ? find_dots(item, length) : length;
    if (dots == length)
        return add_text(self, st_arena_copy(self->arena, item, length));
    range read;
    st_status status = read_range(self, item, length, dots, &read);
    if (status != ST_OK)
        return status;
    /* The only item of an axis, and whole numbers: computed when asked for, however many. */
    if (alone && read.kind == RANGE_STEPS && read.unit[0] == '\0' && is_whole(read.start) &&
        is_whole(read.end) && is_whole(read.step)) {
        self->axis->start = read.start;
        self->axis->step = read.step;
        self->axis->count = (size_t)steps_of(&read);
        return ST_OK;
    }
    st_status range_status = ST_OK;
    double value = read.start;
    if (read.kind == RANGE_FACTORS) {
        double slack = read.end * (1 + 1e-12);
        while (value <= slack && range_status == ST_OK) {
            range_status = add_value(self, value, read.unit);
            value *= read.step;
        }
        return range_status;
    }
    double count = steps_of(&read);
    range_status = make_room(self, count);
    for (size_t i = 0; (double)i < count && range_status == ST_OK; i++)
        range_status = add_value(self, read.start + (double)i * read.step, read.unit);
    return range_status;
}

st_status st_axis_parse_values(const char *values, st_arena *arena, st_axis *axis,
                               st_errors *errors)
{
    reader self = {.axis = axis, .arena = arena, .errors = errors};
    const char *text = values;
    size_t length = strlen(values);
    st_trim(&text, &length);
    if (length == 0)
        return st_fail(self.errors, ST_ERR_USAGE, self.axis->place,
                       "the axis over %s is empty" ST_EXPECTED "values, as in 1,2,4 or 1..8",
                       axis->path);
    st_status status = ST_OK;
    bool alone = memchr(text, ',', length) == NULL;
    for (size_t number = 1;; number++) {
        const char *comma = memchr(text, ',', length);
        size_t item_length = comma != NULL ? (size_t)(comma - text) : length;
        const char *item = text;
        size_t whole = item_length;
        st_trim(&item, &item_length);
        if (item_length == 0)
            return st_fail(self.errors, ST_ERR_USAGE, self.axis->place,
                           "value %zu of %s is empty" ST_EXPECTED "values, as in 1,2,4 or 1..8",
                           number, axis->path);
        status = add_item(&self, item, item_length, alone);
        if (status != ST_OK || comma == NULL)
            return status;
        text += whole + 1;
        length -= whole + 1;
    }
}

/* --- the whole ------------------------------------------------------------------------------- */

/* A bare key means all its values if they are few and known; else NULL. */
static const char *all_values(const st_key *key, st_arena *arena)
{
    if (key == NULL || (key->kind != ST_KEY_BOOL && key->kind != ST_KEY_ENUM))
        return NULL;
    char *values =
        st_arena_printf(arena, "%s", key->kind == ST_KEY_BOOL ? "false true" : key->values);
    for (char *at = values; at != NULL && *at != '\0'; at++)
        *at = *at == ' ' ? ',' : *at;
    return values;
}

st_status st_axis_parse(const char *option, const char *text, st_arena *arena, st_axis *axis,
                        st_errors *errors)
{
    reader self = {.axis = axis, .arena = arena, .errors = errors};
    *axis = (st_axis){.place = {.file = st_arena_printf(arena, "%s %.200s", option, text)}};
    if (axis->place.file == NULL)
        return st_out_of_memory(self.errors);
    if (!st_text_is_clean(text, ST_AXIS_MAX_BYTES)) {
        axis->place.file = option;
        return st_fail(self.errors, ST_ERR_USAGE, self.axis->place,
                       "invalid or too many characters" ST_EXPECTED
                       "at most 65536 bytes of UTF-8 without control characters");
    }
    st_assignment read;
    if (!st_assignment_read(text, arena, &read))
        return st_out_of_memory(self.errors);
    axis->path = read.key;
    st_target target;
    st_status status = st_target_find(axis->path, axis->place, &target, errors);
    axis->key = target.key;
    axis->section = target.section;
    const char *values = read.value != NULL ? read.value : all_values(axis->key, arena);
    if (status == ST_OK && values == NULL)
        return st_fail(self.errors, ST_ERR_USAGE, self.axis->place,
                       "missing '='" ST_EXPECTED "KEY=VALUES, as in parallel.tp=1,2");
    return status == ST_OK ? st_axis_parse_values(values, arena, axis, errors) : status;
}

const char *st_axis_text(const st_axis *axis, size_t index, char *storage)
{
    if (axis->texts != NULL)
        return axis->texts[index];
    (void)st_number_significant(axis->start + (double)index * axis->step, 17, storage,
                                ST_AXIS_TEXT);
    return storage;
}

st_status st_axes_check(const st_axis *axes, size_t count, st_errors *errors)
{
    st_status status = ST_OK;
    for (size_t i = 1; i < count; i++) {
        for (size_t j = 0; j < i; j++) {
            if (strcmp(axes[i].path, axes[j].path) != 0)
                continue;
            status = st_fail(errors, ST_ERR_USAGE, axes[i].place,
                             "%s has two axes" ST_EXPECTED "all values in one list", axes[i].path);
        }
    }
    return status;
}
