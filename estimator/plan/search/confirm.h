/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Confirming: the best plans of a search in closed form are replayed as 'steptime timeline' replays
 * them, and ranked by that.
 *
 * Plans that tie with one that is replayed wait until as many others are as were asked for. Where
 * the closed form of a plan that has no replay yet is below the best replay, less what replays have
 * been below their closed forms, the search goes on, up to ST_CONFIRM_MOST plans.
 */
#ifndef STEPTIME_SEARCH_CONFIRM_H
#define STEPTIME_SEARCH_CONFIRM_H

#include "search/rank.h"
#include "timeline/timeline.h"

/* Plans at most, and those of a long list that are replayed because they are listed. */
enum { ST_CONFIRM_MOST = 400, ST_CONFIRM_LISTED = 50 };

/* A plan and its replay. */
typedef struct st_replayed {
    bool tried; /* whether it was to be replayed */
    bool known; /* it has been */
    double closed_s;
    double step_s;              /* of the replay; without one that of the closed form */
    bool has_terms;             /* of listed plans whose times differ */
    double term_s[2][ST_TERMS]; /* closed form, replay */
    const char *why;            /* why it has no replay; NULL: it has one, or none was tried */
} st_replayed;

/* What was done of it. */
typedef struct st_confirmation {
    bool ranks;        /* plans are ranked by their replays */
    uint64_t replayed; /* plans */
    uint64_t open;     /* not replayed, although one may be faster; 0: none */
    double margin;     /* by which share replays have been below closed forms, at most */
} st_confirmation;

#endif
