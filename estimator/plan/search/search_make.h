/* SPDX-License-Identifier: Apache-2.0 */
/* Making a search, from the inside; see search_state.h. */
#ifndef STEPTIME_SEARCH_SEARCH_MAKE_H
#define STEPTIME_SEARCH_SEARCH_MAKE_H

#include "search/search_state.h"

/* search_plans.c: the plans of a search whose space is made. */
/* A plan has values of its own, whatever a stack that varies beside it says of them. */
void st_search_keep_own(st_space *space);

st_status st_search_make_plans(st_search *search, st_errors *errors) ST_NODISCARD;
/* Whether the job's own value of a plan parameter is another, or there is none. */
bool st_search_is_other(const st_search *search, st_plan_param param, double value);
/* Where a key that is to vary stands: "--vary KEY=VALUES". */
static inline st_place st_varied_place(const st_varied *given, st_errors *errors)
{
    return (st_place){.file = st_errors_text(errors, "%s %.200s", given->option, given->given)};
}
/* Whether the user's own sets give a key. */
bool st_search_is_set(const st_search *search, const char *key);
/* The cell that is minimised where none is named: the step time, by the name it has. */
const char *st_search_default_goal(const st_sheet *sheet);

/* The numbers of GPUs that a request gives; before its space is made. */
st_status st_search_read_gpus(st_search *search, st_arena *arena, st_errors *errors) ST_NODISCARD;

#endif
