/* SPDX-License-Identifier: Apache-2.0 */
/* See call_memo.h. A row has one place in the table, by its hash; a later row takes it over. */
#include "plugin/call_memo.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

enum { PLACES = 1 << 14, MOST_COLUMNS = 16 };

#define NOTHING UINT32_MAX

typedef struct answered {
    double columns[MOST_COLUMNS];
    double value;
    uint32_t head;  /* provider and the columns that are there, never 0; 0: nobody is here */
    uint32_t asked; /* its place among the rows that are asked now, or NOTHING */
} answered;

struct st_call_memo {
    answered *places;
    size_t rows;
    size_t asked_count;
    uint32_t place_of[ST_CALL_ROWS]; /* of an asked row, NOTHING: it has none */
    uint32_t asked_of[ST_CALL_ROWS]; /* of a row, NOTHING: it is known */
    double known[ST_CALL_ROWS];
};

st_call_memo *st_call_memo_create(void)
{
    st_call_memo *memo = calloc(1, sizeof *memo);
    if (memo != NULL && (memo->places = calloc(PLACES, sizeof *memo->places)) == NULL) {
        free(memo);
        return NULL;
    }
    return memo;
}

void st_call_memo_destroy(st_call_memo *memo)
{
    if (memo != NULL)
        free(memo->places);
    free(memo);
}

static uint64_t mix(uint64_t hash, uint64_t word)
{
    hash = (hash ^ word) * UINT64_C(0x9e3779b97f4a7c15); /* of the golden ratio */
    return hash ^ (hash >> 29);
}

/* Compares bits: 0 and -0 are two arguments, and NaN is one. */
static uint32_t place_of(const answered *row, size_t columns)
{
    uint64_t hash = row->head;
    for (size_t i = 0; i < columns; i++) {
        uint64_t bits = 0;
        memcpy(&bits, &row->columns[i], sizeof bits);
        hash = mix(hash, bits);
    }
    return (uint32_t)(hash >> 32) % PLACES;
}

size_t st_call_memo_begin(st_call_memo *memo, size_t provider, size_t column_count,
                          const double *const *columns, size_t rows, uint32_t *asked)
{
    memo->rows = rows;
    memo->asked_count = 0;
    const bool fits = column_count <= MOST_COLUMNS;
    answered row = {.head = (uint32_t)provider + 1, .asked = NOTHING};
    for (size_t i = 0; fits && i < column_count; i++)
        row.head = row.head << 1 | (columns[i] != NULL ? 1U : 0U);
    for (size_t r = 0; r < rows; r++) {
        for (size_t i = 0; fits && i < column_count; i++)
            row.columns[i] = columns[i] != NULL ? columns[i][r] : 0;
        const uint32_t number = fits ? place_of(&row, column_count) : NOTHING;
        answered *place = fits ? &memo->places[number] : NULL;
        if (fits && place->head == row.head &&
            memcmp(place->columns, row.columns, sizeof row.columns) == 0) {
            memo->asked_of[r] = place->asked;
            memo->known[r] = place->value;
            continue;
        }
        memo->asked_of[r] = (uint32_t)memo->asked_count;
        memo->place_of[memo->asked_count] = number;
        if (fits) {
            *place = row;
            place->asked = (uint32_t)memo->asked_count;
        }
        asked[memo->asked_count++] = (uint32_t)r;
    }
    return memo->asked_count;
}

void st_call_memo_end(st_call_memo *memo, const double *answers, double *values)
{
    for (size_t i = 0; i < memo->asked_count; i++) {
        answered *place = memo->place_of[i] != NOTHING ? &memo->places[memo->place_of[i]] : NULL;
        if (place == NULL || place->asked != i)
            continue; /* a later row has taken it over */
        place->asked = NOTHING;
        place->value = answers != NULL ? answers[i] : 0;
        place->head = answers != NULL ? place->head : 0;
    }
    for (size_t r = 0; r < memo->rows && answers != NULL; r++)
        values[r] = memo->asked_of[r] != NOTHING ? answers[memo->asked_of[r]] : memo->known[r];
}
