/* SPDX-License-Identifier: Apache-2.0 */
/* See call_memo.h. A row has one place in the table, by its hash; a later row takes it over. */
#include "plugin/call_memo.h"

#include <pthread.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

enum { PLACES = 1 << 16, TEXT_PLACES = 1 << 9, MOST_COLUMNS = ST_CALL_COLUMNS };

#define NOTHING UINT32_MAX

typedef struct answered {
    double columns[MOST_COLUMNS];
    double value;
    const st_memo_call *asks; /* the call that asks for it now */
    uint64_t head;  /* provider and the columns that are there, never 0; 0: nobody is here */
    uint32_t asked; /* its place among the rows of that call */
} answered;

typedef struct kept_text {
    answered row;
    char *text;
    size_t length;
} kept_text;

struct st_call_memo {
    pthread_mutex_t lock;
    answered *places;
    kept_text *texts;
};

st_call_memo *st_call_memo_create(void)
{
    st_call_memo *memo = calloc(1, sizeof *memo);
    if (memo != NULL && pthread_mutex_init(&memo->lock, NULL) != 0) {
        free(memo);
        return NULL;
    }
    if (memo == NULL)
        return NULL;
    memo->places = calloc(PLACES, sizeof *memo->places);
    memo->texts = calloc(TEXT_PLACES, sizeof *memo->texts);
    if (memo->places == NULL || memo->texts == NULL) {
        st_call_memo_destroy(memo);
        return NULL;
    }
    return memo;
}

void st_call_memo_destroy(st_call_memo *memo)
{
    if (memo == NULL)
        return;
    (void)pthread_mutex_destroy(&memo->lock);
    for (size_t i = 0; memo->texts != NULL && i < TEXT_PLACES; i++)
        free(memo->texts[i].text);
    free(memo->texts);
    free(memo->places);
    free(memo);
}

static uint64_t mix(uint64_t hash, uint64_t word)
{
    hash = (hash ^ word) * UINT64_C(0x9e3779b97f4a7c15); /* of the golden ratio */
    return hash ^ (hash >> 29);
}

/* Compares bits: 0 and -0 are two arguments, and NaN is one. */
static uint32_t hash_of(const answered *row, size_t columns)
{
    uint64_t hash = row->head;
    for (size_t i = 0; i < columns; i++) {
        uint64_t bits = 0;
        memcpy(&bits, &row->columns[i], sizeof bits);
        hash = mix(hash, bits);
    }
    return (uint32_t)(hash >> 32);
}

uint64_t st_call_head(size_t provider, size_t column_count, const double *const *columns)
{
    uint64_t head = 1;
    for (size_t i = 0; i < column_count; i++)
        head = head << 1 | (columns[i] != NULL ? 1U : 0U);
    return ((uint64_t)provider + 1) << (MOST_COLUMNS + 1) | head;
}

static void take_row(answered *row, size_t column_count, const double *const *columns, size_t at)
{
    for (size_t i = 0; i < column_count; i++)
        row->columns[i] = columns[i] != NULL ? columns[i][at] : 0;
}

static bool same_row(const answered *one, const answered *other)
{
    return one->head == other->head &&
           memcmp(one->columns, other->columns, sizeof one->columns) == 0;
}

size_t st_call_memo_begin(st_call_memo *memo, st_memo_call *call, size_t provider,
                          size_t column_count, const double *const *columns, size_t rows)
{
    call->rows = rows;
    size_t unknown = 0;
    const bool fits = column_count <= MOST_COLUMNS;
    answered row = {.head = fits ? st_call_head(provider, column_count, columns) : 0, .asks = call};
    (void)pthread_mutex_lock(&memo->lock);
    for (size_t r = 0; r < rows; r++) {
        if (fits)
            take_row(&row, column_count, columns, r);
        if (call->asked_count == ST_CALL_ROWS) {
            unknown += rows - r;
            break;
        }
        uint32_t number = fits ? hash_of(&row, column_count) % PLACES : NOTHING;
        answered *place = fits ? &memo->places[number] : NULL;
        if (fits && place->asks != NULL && place->asks != call) {
            number = NOTHING; /* another thread waits for it */
        } else if (fits && same_row(place, &row)) {
            unknown += place->asks != NULL ? 1 : 0;
            call->asked_of[r] = place->asks != NULL ? place->asked : NOTHING;
            call->known[r] = place->value;
            continue;
        } else if (fits) {
            *place = row;
            place->asked = (uint32_t)call->asked_count;
        }
        unknown++;
        call->asked_of[r] = (uint32_t)call->asked_count;
        call->place_of[call->asked_count] = number;
        call->asked[call->asked_count++] = (uint32_t)r;
    }
    (void)pthread_mutex_unlock(&memo->lock);
    return unknown;
}

void st_call_memo_end(st_call_memo *memo, const st_memo_call *call, const double *answers,
                      double *values)
{
    (void)pthread_mutex_lock(&memo->lock);
    for (size_t i = 0; i < call->asked_count; i++) {
        answered *place = call->place_of[i] != NOTHING ? &memo->places[call->place_of[i]] : NULL;
        if (place == NULL || place->asked != i)
            continue; /* a later row has taken it over */
        place->asks = NULL;
        place->value = answers != NULL ? answers[i] : 0;
        place->head = answers != NULL ? place->head : 0;
    }
    (void)pthread_mutex_unlock(&memo->lock);
    for (size_t r = 0; r < call->rows && answers != NULL; r++)
        values[r] = call->asked_of[r] != NOTHING ? answers[call->asked_of[r]] : call->known[r];
}

/* Where the text about a row is, or would be; NULL for a row of too many columns. Fills the row. */
static kept_text *text_of(st_call_memo *memo, size_t provider, size_t column_count,
                          const double *const *columns, answered *row)
{
    if (column_count > MOST_COLUMNS)
        return NULL;
    *row = (answered){.head = st_call_head(provider, column_count, columns)};
    take_row(row, column_count, columns, 0);
    return &memo->texts[hash_of(row, column_count) % TEXT_PLACES];
}

void st_call_memo_keep(st_call_memo *memo, size_t provider, size_t column_count,
                       const double *const *columns, const char *text, size_t length)
{
    answered row;
    (void)pthread_mutex_lock(&memo->lock);
    kept_text *kept = text_of(memo, provider, column_count, columns, &row);
    char *copy = kept != NULL ? malloc(length + 1) : NULL;
    if (copy != NULL) {
        memcpy(copy, text, length);
        free(kept->text);
        *kept = (kept_text){row, copy, length};
    }
    (void)pthread_mutex_unlock(&memo->lock);
}

const char *st_call_memo_text(st_call_memo *memo, size_t provider, size_t column_count,
                              const double *const *columns, st_arena *arena, size_t *length)
{
    answered row;
    const char *found = NULL;
    (void)pthread_mutex_lock(&memo->lock);
    const kept_text *kept = text_of(memo, provider, column_count, columns, &row);
    if (kept != NULL && kept->text != NULL && same_row(&kept->row, &row)) {
        found = st_arena_copy(arena, kept->text, kept->length);
        *length = kept->length;
    }
    (void)pthread_mutex_unlock(&memo->lock);
    return found;
}
