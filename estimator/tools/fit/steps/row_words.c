/* SPDX-License-Identifier: Apache-2.0 */
/* See row_words.h. */
#include "fit/steps/row_words.h"

#include "fit/steps/row_fields.h"
#include "steptime/keys.h"
#include "steptime/tool/job_keys.h"

#include <string.h>

const st_words *st_words_of(const st_words *list, size_t count, const char *path)
{
    size_t i = ST_FIND(list, count, path, path);
    return i < count ? &list[i] : NULL;
}

const char *st_words_meaning(const st_words *words, const char *field)
{
    for (size_t i = 0; words != NULL && i < words->count; i++)
        if (st_text_matches(field, words->items[i].name))
            return words->items[i].theirs;
    return field;
}

st_status st_words_refuse(const st_words *words, const char *word, const char *column,
                          st_place place, st_errors *errors)
{
    const char *names[ST_SOURCE_ITEMS_MAX];
    const char *expected = "";
    size_t count = words->count < ST_SOURCE_ITEMS_MAX ? words->count : ST_SOURCE_ITEMS_MAX;
    for (size_t i = 0; i < count; i++) {
        names[i] = words->items[i].name;
        expected = st_errors_text(errors, "%s%s%s", expected, i > 0 ? ", " : "", names[i]);
    }
    return st_fail(errors, ST_ERR_NAME, place,
                   "column %s" ST_FOUND "'%s'" ST_EXPECTED "%s" ST_HINT "%s", column, word,
                   expected, st_or_none(st_errors_nearest(errors, word, names, count)));
}

bool st_next_word(const char **field, char *word)
{
    const char *start = *field + strspn(*field, "+ ");
    size_t length = strcspn(start, "+");
    *field = start + length;
    while (length > 0 && start[length - 1] == ' ')
        length--;
    if (length >= ST_WORD_BYTES)
        length = ST_WORD_BYTES - 1;
    memcpy(word, start, length);
    word[length] = '\0';
    return length > 0;
}

/* ---- columns that nothing reads ---- */

static bool when_reads(const st_when *when, const char *column)
{
    return ST_HAS(when->conditions, when->condition_count, column, column);
}

static bool conditions_read(const st_table_source *source, const char *column)
{
    bool read = when_reads(&source->match, column);
    for (size_t i = 0; i < source->assumption_count; i++)
        read = read || when_reads(&source->assumptions[i].when, column);
    for (size_t i = 0; i < source->omission_count; i++)
        read = read || when_reads(&source->omissions[i].when, column);
    for (size_t i = 0; i < source->group_count; i++)
        read = read || when_reads(&source->groups[i].when, column);
    return read;
}

static bool names_read(const st_table_source *source, const char *column)
{
    for (size_t i = 0; i < source->formulas->column_count; i++)
        if (strcmp(source->formulas->columns[i], column) == 0)
            return true;
    for (size_t i = 0; i < source->ignored_count; i++)
        if (st_text_matches(column, source->ignored[i]))
            return true;
    for (size_t i = 0; i < source->column_count; i++)
        if (strcmp(source->columns[i].theirs, column) == 0)
            return true;
    for (size_t i = 0; i < source->extraction_count; i++)
        if (strcmp(source->extractions[i].from, column) == 0)
            return true;
    return st_words_of(source->lists, source->list_count, column) != NULL;
}

static bool is_path(const char *column)
{
    return st_key_find(column) != NULL ||
           strncmp(column, ST_KEY_CONSTANTS ".", sizeof ST_KEY_CONSTANTS) == 0;
}

void st_columns_tell_unread(const st_csv *csv, const st_table_source *source, const char *measured,
                            st_errors *errors)
{
    const char *names = "";
    size_t count = 0;
    for (size_t i = 0; i < csv->column_count; i++) {
        const char *column = csv->columns[i];
        if (strcmp(column, measured) == 0 || st_is_standard_column(column) || is_path(column) ||
            (source != NULL && (conditions_read(source, column) || names_read(source, column))))
            continue;
        names = st_errors_text(errors, "%s%s%s", names, count++ > 0 ? ", " : "", column);
    }
    if (count > 0)
        st_report(errors, ST_SEVERITY_WARNING, ST_ERR_NAME, (st_place){csv->file, 1, 0},
                  "column%s that nothing reads: %s", count == 1 ? "" : "s", names);
}
