/* SPDX-License-Identifier: Apache-2.0 */
/* Words that a table has for values of keys, and unknown columns. */
#ifndef STEPTIME_CALIBRATE_STEPS_ROW_WORDS_H
#define STEPTIME_CALIBRATE_STEPS_ROW_WORDS_H

#include "base/csv.h"
#include "fit/steps/source.h"

/* The words of a key or of a column, NULL where there are none. */
const st_words *st_words_of(const st_words *list, size_t count, const char *path);

/* What a field means; the field itself where no word is like it. `words` may be NULL. */
const char *st_words_meaning(const st_words *words, const char *field);

/* Reports a field, or a word of it, that means nothing, with the nearest of the words. */
st_status st_words_refuse(const st_words *words, const char *word, const char *column,
                          st_place place, st_errors *errors);

/* The words that a field joins by '+', one at each call; false at its end. `word` has room for
 * ST_WORD_BYTES, and is cut there. */
enum { ST_WORD_BYTES = 128 };
bool st_next_word(const char **field, char *word);

/* Warns of the columns that neither steptime nor the source knows, once for the table. */
void st_columns_tell_unread(const st_csv *csv, const st_table_source *source, const char *measured,
                            st_errors *errors);

#endif
