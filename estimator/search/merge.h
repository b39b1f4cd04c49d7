/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Plans that are one: where a key of the plan has no effect, all its values give the very same
 * results, and a ranking of them would say one thing many times.
 */
#ifndef STEPTIME_SEARCH_MERGE_H
#define STEPTIME_SEARCH_MERGE_H

#include "search/search_state.h"

/*
 * Picks what is shown of a ranking whose cells are computed (view->ranking): the simplest of equal
 * plans, which has the least number, and those that are equal to it as a number. Plans are equal
 * that divide the GPUs alike and have the same bits in all cells. False when out of memory.
 */
bool st_search_merge(st_search_view *view);

#endif
