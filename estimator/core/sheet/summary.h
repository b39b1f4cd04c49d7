/* SPDX-License-Identifier: Apache-2.0 */
/*
 * `summary:` of a sheet: what a report says first. Its answer is lines of cells, each with words
 * behind it, and its bars show what a cell consists of, by names of cells, inputs or families.
 */
#ifndef STEPTIME_SHEET_SUMMARY_H
#define STEPTIME_SHEET_SUMMARY_H

#include "steptime/sheet.h"

typedef struct st_summary_part {
    const char *label;
    const char *cell;   /* or an input, or a family */
    const char *hidden; /* what runs alongside, and takes no time of its own; NULL: nothing */
    /* Of an answer only. */
    const char *inner;     /* the cell whose value the label has in braces; NULL: none */
    const char *given;     /* the input by which a user sets the cell; NULL: none */
    const char *otherwise; /* what is assumed if nobody does */
    size_t line;
    st_place place;
} st_summary_part;

typedef struct st_summary_bar {
    const char *title;
    const char *total; /* that the parts add up to */
    const char *limit; /* that the total may reach; NULL: none */
    const char
        *member; /* a cell that says which member of families is meant; NULL: there are none */
    st_summary_part *parts;
    size_t count;
    st_place place;
} st_summary_bar;

typedef struct st_summary {
    st_summary_part *answer; /* a cell with the words behind it */
    size_t answer_count;
    st_summary_bar *bars;
    size_t bar_count;
    /* What should rest on measurements: parts are inputs (`given`) and, before them, the sizes of
     * what they price, families over one enumeration (`cell`). Without inputs, sizes above 0 are
     * those that nobody measured. */
    st_summary_bar *rests;
    size_t rest_count;
} st_summary;

/* Empty where the sheet says nothing. */
const st_summary *st_sheet_summary(const st_sheet *sheet);

/*
 * The cell that a part names: itself, or of a family the member of this value of its enumeration;
 * NULL where there is no such member.
 */
const char *st_summary_cell(const st_sheet *sheet, const char *name, size_t value, st_arena *arena);
/* The enumeration over which the families of a bar run; NULL: it has none. */
const st_enum *st_summary_members(const st_sheet *sheet, const st_summary_bar *bar);

#endif
