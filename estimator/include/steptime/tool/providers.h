/* SPDX-License-Identifier: Apache-2.0 */
/* Providers: functions in C that replace open functions and open cells of a sheet. */
#ifndef STEPTIME_TOOL_PROVIDERS_H
#define STEPTIME_TOOL_PROVIDERS_H

#include "steptime/sheet.h"

/* A line of what a provider says about one row. */
typedef struct st_provider_term {
    const char *name;
    const char *doc;
    const char *text; /* shown in place of the value, NULL: none */
    double value;     /* base units */
    st_unit unit;
    bool part; /* the parts sum to the provider's value */
} st_provider_term;

typedef struct st_provider_account {
    const st_provider_term *terms;
    size_t count;
    const char *refusal; /* why the row is refused; NULL: it is not, or nobody says */
} st_provider_account;

/*
 * Something that replaces an open function or cell: evaluates a block of rows from base-unit
 * arguments to base-unit values. Must be callable from several threads.
 *
 * For a cell `argument_names` are cells or inputs of the sheet. For a function they are, each,
 * an argument of the function, else a cell or an input; without names they are the function's
 * arguments in their order.
 */
typedef struct st_provider {
    const char *name;   /* the open function or cell it replaces */
    const char *source; /* who provides it, for reports */
    const char *const *argument_names;
    const st_unit *argument_units;
    size_t argument_count;
    st_unit unit;
    bool fallback; /* the formula is used for a refused row; else the row has no value */
    /* arguments[i] and values hold `rows` doubles; values that are refused are set to NaN. */
    st_status (*evaluate)(void *self, size_t rows, const double *const *arguments, double *values);
    /* What is behind the value of one row; may be NULL. `account` is all zero before. */
    st_status (*explain)(void *self, const double *const *arguments, st_arena *arena,
                         st_provider_account *account);
    /* Notes rows that `evaluate` would have to ask another process for, to ask for those of several
     * functions at once, and says whether there are any. May be NULL, as the next one then is. */
    bool (*put_off)(void *self, size_t rows, const double *const *arguments);
    /* Asks for what this thread has put off, of all providers; false: some of it has no answer in
     * this way, so that nothing is put off again. */
    bool (*catch_up)(void *self);
    void *self;
} st_provider;

#endif
