/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Values by kind. Every message says what was found and the whole of what would have been accepted,
 * so that one look is enough to mend a file.
 */
#include "job/value.h"

#include "base/error_scope.h"
#include "base/utf8.h"
#include "job/keys.h"
#include "steptime/keys.h"

#include <float.h>
#include <math.h>
#include <string.h>

enum { MAX_TEXT_BYTES = 4096, NUMBER_TEXT = 32 };

static const char *quote(const st_value_text *value, st_errors *errors)
{
    int length = value->length > 200 ? (int)st_utf8_cut(value->text, value->length, 200)
                                     : (int)value->length;
    return st_errors_text(errors, value->quoted ? "the text '%.*s'%s" : "'%.*s'%s", length,
                          value->text, (size_t)length < value->length ? "..." : "");
}

static st_status refuse(const char *name, const st_value_text *value, const char *expected,
                        const char *suggestion, st_errors *errors)
{
    return st_fail(errors, ST_ERR_VALUE, value->place,
                   "wrong value for %s" ST_FOUND "%s" ST_EXPECTED "%s" ST_HINT "%s", name,
                   quote(value, errors), st_or_none(expected), st_or_none(suggestion));
}

static const char *plain_number(double number, char *text, size_t size)
{
    if (number == floor(number) && fabs(number) < 1e15)
        (void)snprintf(text, size, "%.0f", number);
    else
        (void)st_number_format(number, text, size);
    return text;
}

/* "from 1 to 1000000", "above 0", "above 0 and at most 1", "" where nothing is bounded. */
static void describe_range(const st_key *key, char *text, size_t size)
{
    char least[NUMBER_TEXT];
    char most[NUMBER_TEXT];
    bool positive = key->minimum == st_above_zero; /* an exact mark in the table */
    bool bounded = key->maximum < DBL_MAX;
    (void)plain_number(positive ? 0 : key->minimum, least, sizeof least);
    (void)plain_number(key->maximum, most, sizeof most);
    if (positive && bounded)
        (void)snprintf(text, size, " above 0 and at most %s", most);
    else if (positive)
        (void)snprintf(text, size, " above 0");
    else if (bounded)
        (void)snprintf(text, size, " from %s to %s", least, most);
    else
        (void)snprintf(text, size, " of at least %s", least);
}

/* Splits "none selective full" into at most ST_VALUES_MAX names, held in `storage`. */
size_t st_key_values(const st_key *key, char *storage, const char **names)
{
    size_t count = 0;
    (void)snprintf(storage, ST_VALUES_TEXT, "%s", key->values);
    for (char *rest = storage; *rest != '\0' && count < ST_VALUES_MAX;) {
        names[count++] = rest;
        rest += strcspn(rest, " ");
        if (*rest == ' ')
            *rest++ = '\0';
    }
    return count;
}

static const char *join_names(const char *const *names, size_t count, char *text, size_t size)
{
    size_t used = 0;
    text[0] = '\0';
    for (size_t i = 0; i < count && used < size; i++) {
        const char *joint = i == 0 ? "" : i + 1 == count ? " or " : ", ";
        int length = snprintf(text + used, size - used, "%s%s", joint, names[i]);
        used += length > 0 ? (size_t)length : 0;
    }
    return text;
}

static bool is_version(const st_key *key)
{
    return strcmp(key->path, ST_KEY_CLUSTER_NCCL_VERSION) == 0;
}

/* "2.27.3" as NCCL's header counts it: 22703. */
static bool read_version(const st_value_text *value, double *number)
{
    double parts[3] = {0};
    size_t part = 0;
    size_t digits = 0;
    for (size_t i = 0; i < value->length; i++) {
        char c = value->text[i];
        bool next = c == '.' && digits > 0 && part < 2;
        if (!next && (c < '0' || c > '9' || digits == 2))
            return false;
        if (next)
            part++;
        else
            parts[part] = 10 * parts[part] + (c - '0');
        digits = next ? 0 : digits + 1;
    }
    *number = 10000 * parts[0] + 100 * parts[1] + parts[2];
    return part == 2 && digits > 0;
}

const char *st_key_expectation(const st_key *key, char *text, size_t size)
{
    char range[ST_EXPECTATION_TEXT] = "";
    char storage[ST_VALUES_TEXT];
    const char *names[ST_VALUES_MAX];
    switch (key->kind) {
    case ST_KEY_COUNT:
        describe_range(key, range, sizeof range);
        (void)snprintf(text, size, "a whole number%s%s", range,
                       is_version(key) ? ", or a version such as 2.27.3" : "");
        break;
    case ST_KEY_NUMBER:
        describe_range(key, range, sizeof range);
        (void)snprintf(text, size, "a number%s", range);
        break;
    case ST_KEY_QUANTITY:
        describe_range(key, range, sizeof range);
        (void)snprintf(text, size, "a number%s with a unit, e.g. %s", range, key->unit);
        break;
    case ST_KEY_BOOL:
        (void)snprintf(text, size, "true or false");
        break;
    case ST_KEY_ENUM:
        (void)join_names(names, st_key_values(key, storage, names), text, size);
        break;
    case ST_KEY_TEXT:
        (void)snprintf(text, size, "text on one line");
        break;
    }
    return text;
}

static st_status refuse_for_key(const st_key *key, const st_value_text *value, st_errors *errors)
{
    char expected[ST_EXPECTATION_TEXT];
    return refuse(key->path, value, st_key_expectation(key, expected, sizeof expected), NULL,
                  errors);
}

static bool is_in_range(const st_key *key, double number)
{
    return number >= key->minimum && number <= key->maximum;
}

st_status st_value_parse_quantity(const char *name, const st_value_text *value, const st_unit *unit,
                                  double *number, st_errors *errors)
{
    st_status status =
        st_quantity_parse(value->text, value->length, unit, value->place, number, NULL);
    if (status == ST_OK)
        return ST_OK;
    st_error_scope named = {st_error_name, name, NULL};
    st_errors_enter(errors, &named);
    status = st_quantity_parse(value->text, value->length, unit, value->place, number, errors);
    st_errors_leave(errors, &named);
    return status;
}

static bool is_word(const st_value_text *value, const char *word)
{
    return value->length == strlen(word) && memcmp(value->text, word, value->length) == 0;
}

st_status st_value_parse_bool(const char *name, const st_value_text *value, double *number,
                              st_errors *errors)
{
    static const char *const spellings[][2] = {
        {"yes", "true"},  {"no", "false"},    {"on", "true"},  {"off", "false"}, {"y", "true"},
        {"n", "false"},   {"1", "true"},      {"0", "false"},  {"True", "true"}, {"False", "false"},
        {"TRUE", "true"}, {"FALSE", "false"}, {"Yes", "true"}, {"No", "false"},
    };
    const char *suggestion = NULL;
    if (!value->quoted && (is_word(value, "true") || is_word(value, "false"))) {
        *number = is_word(value, "true") ? 1 : 0;
        return ST_OK;
    }
    for (size_t i = 0; i < ST_COUNT(spellings); i++)
        if (is_word(value, spellings[i][0]))
            suggestion = spellings[i][1];
    if (value->quoted && (is_word(value, "true") || is_word(value, "false")))
        suggestion = "write it without quotes";
    return refuse(name, value, "true or false", suggestion, errors);
}

st_status st_value_parse_name(const char *name, const st_value_text *value,
                              const char *const *values, size_t count, double *number,
                              st_errors *errors)
{
    char expected[ST_EXPECTATION_TEXT];
    for (size_t i = 0; i < count; i++)
        if (is_word(value, values[i])) {
            *number = (double)i;
            return ST_OK;
        }
    char word[16];
    (void)snprintf(word, sizeof word, "%.*s", (int)value->length, value->text);
    const bool is_narrow = strcmp(name, ST_KEY_PRECISION_WEIGHTS) == 0 &&
                           (strstr(word, "fp8") != NULL || strstr(word, "fp4") != NULL);
    return refuse(name, value, join_names(values, count, expected, sizeof expected),
                  is_narrow ? "set FP8 and FP4 with precision.recipe"
                            : st_nearest(value->text, values, count),
                  errors);
}

bool st_value_is_laid_out(const st_key *key, const st_value_text *value)
{
    if (strcmp(key->path, ST_KEY_PARALLEL_SCHEDULE) != 0)
        return false;
    /* "PLUGIN:NAME", whose meaning only the plugin knows; a path may name the plugin. */
    const char *colon = NULL;
    for (size_t i = 0; i < value->length; i++) {
        char c = value->text[i];
        bool word = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
                    strchr("-_./:", c) != NULL;
        if (!word || (colon != NULL && c == ':'))
            return false;
        colon = c == ':' ? &value->text[i] : colon;
    }
    return colon != NULL && colon > value->text && colon + 1 < value->text + value->length;
}

/* ---- texts ---- */

static st_status check_order(const st_value_text *value, st_errors *errors)
{
    static const char *const groups[] = {"tp", "cp", "ep", "dp", "pp"};
    enum { GROUPS = ST_COUNT(groups) };
    bool seen[GROUPS] = {false};
    for (const char *rest = value->text;; rest++) {
        size_t length = strcspn(rest, "-");
        size_t group = 0;
        while (group < GROUPS && (length != 2 || strncmp(rest, groups[group], 2) != 0))
            group++;
        char name[24];
        (void)snprintf(name, sizeof name, "%.*s", length < 20 ? (int)length : 20, rest);
        if (group == GROUPS)
            return st_fail(errors, ST_ERR_VALUE, value->place,
                           "unknown group in parallel.order" ST_FOUND "'%s'" ST_EXPECTED
                           "some of tp, cp, ep, dp and pp, joined by '-', each at most once" ST_HINT
                           "%s",
                           name, st_errors_nearest(errors, name, groups, GROUPS));
        if (seen[group])
            return st_fail(errors, ST_ERR_VALUE, value->place,
                           "duplicate group in parallel.order" ST_FOUND "'%s'" ST_EXPECTED
                           "some of tp, cp, ep, dp and pp, joined by '-', each at most once",
                           name);
        seen[group] = true;
        rest += length;
        if (*rest == '\0')
            return ST_OK;
    }
}

static st_status parse_text(const st_key *key, const st_value_text *value, double *number,
                            st_errors *errors)
{
    bool clean = value->length <= MAX_TEXT_BYTES;
    for (size_t i = 0; i < value->length && clean;) {
        uint32_t code = 0;
        size_t size = st_utf8_decode(value->text + i, value->length - i, &code);
        clean = size > 0 && !st_utf8_is_control(code);
        i += size;
    }
    if (!clean)
        return refuse_for_key(key, value, errors);
    st_status status =
        strcmp(key->path, ST_KEY_PARALLEL_ORDER) == 0 ? check_order(value, errors) : ST_OK;
    if (status == ST_OK)
        *number = 0;
    return status;
}

st_status st_value_parse(const st_key *key, const st_value_text *value, double *number,
                         st_errors *errors)
{
    switch (key->kind) {
    case ST_KEY_COUNT: {
        double parsed = 0;
        st_status status =
            is_version(key) && read_version(value, &parsed)
                ? ST_OK
                : st_number_parse(value->text, value->length, value->place, &parsed, NULL);
        if (status != ST_OK || parsed != floor(parsed) || !is_in_range(key, parsed))
            return refuse_for_key(key, value, errors);
        *number = parsed;
        return ST_OK;
    }
    case ST_KEY_NUMBER:
    case ST_KEY_QUANTITY: {
        /* A share may be written in per cent; other pure numbers have no unit to be written in. */
        st_unit unit = st_unit_one();
        double parsed = 0;
        st_status status = ST_OK;
        if (key->kind == ST_KEY_QUANTITY)
            status = st_unit_parse(key->unit, strlen(key->unit), (st_place){.file = key->path},
                                   &unit, errors);
        if (status == ST_OK)
            status = st_value_parse_quantity(key->path, value, &unit, &parsed, errors);
        if (status != ST_OK)
            return status;
        if (!is_in_range(key, parsed))
            return refuse_for_key(key, value, errors);
        *number = parsed;
        return ST_OK;
    }
    case ST_KEY_BOOL:
        return st_value_parse_bool(key->path, value, number, errors);
    case ST_KEY_ENUM: {
        /* A schedule that no formula knows counts as the default one wherever a sheet wants a
         * number. */
        char storage[ST_VALUES_TEXT];
        char expected[ST_EXPECTATION_TEXT];
        const char *names[ST_VALUES_MAX];
        size_t count = st_key_values(key, storage, names);
        if (st_value_is_laid_out(key, value)) {
            const st_value_text standard = {.text = key->default_text,
                                            .length = strlen(key->default_text),
                                            .place = value->place};
            return st_value_parse_name(key->path, &standard, names, count, number, errors);
        }
        if (strcmp(key->path, ST_KEY_PARALLEL_SCHEDULE) != 0)
            return st_value_parse_name(key->path, value, names, count, number, errors);
        if (st_value_parse_name(key->path, value, names, count, number, NULL) == ST_OK)
            return ST_OK;
        names[count++] = "PLUGIN:NAME";
        return refuse(key->path, value, join_names(names, count, expected, sizeof expected),
                      st_nearest(value->text, names, count - 1), errors);
    }
    case ST_KEY_TEXT:
        return parse_text(key, value, number, errors);
    }
    return ST_ERR_VALUE;
}

st_status st_value_parse_typed(const char *name, const st_type *type, const st_value_text *value,
                               double *number, st_errors *errors)
{
    switch (type->kind) {
    case ST_TYPE_NUMBER:
        return st_value_parse_quantity(name, value, &type->unit, number, errors);
    case ST_TYPE_BOOL:
        return st_value_parse_bool(name, value, number, errors);
    case ST_TYPE_ENUM:
        return st_value_parse_name(name, value, type->enumeration->values, type->enumeration->count,
                                   number, errors);
    }
    return ST_ERR_VALUE;
}
