/* SPDX-License-Identifier: Apache-2.0 */
/* Plans that are as good as each other. */
#ifndef STEPTIME_SEARCH_TIES_H
#define STEPTIME_SEARCH_TIES_H

#include "search/search_state.h"

/* Equal, both nothing, or apart by no more than a share of the greater one. */
bool st_search_is_near(double a, double b, double share);
/* Whether two plans of the ranking tie but for their replays; notes by which keys they differ. */
bool st_search_are_tied(const st_search_view *view, size_t one, size_t other,
                        bool differs[ST_PARAMS]);

#endif
