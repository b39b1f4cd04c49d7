/* SPDX-License-Identifier: Apache-2.0 */
/* Making a search, from the inside; see search_state.h. */
#ifndef STEPTIME_SEARCH_SEARCH_MAKE_H
#define STEPTIME_SEARCH_SEARCH_MAKE_H

#include "search/search_state.h"

/* One --vary, split. */
typedef struct st_varied {
    const char *key;
    const char *text;    /* KEY=VALUES; NULL: KEY alone */
    st_plan_param param; /* ST_PARAMS: an axis of the space */
} st_varied;

/* search_plans.c: the plans of a search whose space is made; as many of `varies` as requested. */
st_status st_search_make_plans(st_search *search, const st_varied *varies,
                               st_errors *errors) ST_NODISCARD;
/* The first input of a sheet that reads a key; NULL: none does. */
const st_sheet_input *st_search_input(const st_sheet *sheet, const char *key);
/* The cell that is minimised where none is named: the step time, by the name it has. */
const char *st_search_default_goal(const st_sheet *sheet);

#endif
