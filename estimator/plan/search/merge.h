/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Plans that tie: where a key of the plan has hardly an effect, all its values give the same
 * results, and a ranking of them would say one thing many times.
 */
#ifndef STEPTIME_SEARCH_MERGE_H
#define STEPTIME_SEARCH_MERGE_H

#include "search/search_state.h"

/*
 * Picks what is shown of a ranking whose cells are computed (view->ranking): the first of plans
 * that tie, and how many tie with it. Plans tie that take as many GPUs and differ in no shown cell
 * and not in their memory by more than the share `tie_frac` of the request; their parts may. False
 * when out of memory.
 */
bool st_search_merge(st_search_view *view);

#endif
