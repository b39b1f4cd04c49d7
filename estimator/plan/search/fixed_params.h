/* SPDX-License-Identifier: Apache-2.0 */
/* What a search varies, and what it holds fixed by whose word: the head of its report. */
#ifndef STEPTIME_SEARCH_FIXED_PARAMS_H
#define STEPTIME_SEARCH_FIXED_PARAMS_H

#include "search/search_state.h"

/*
 * Puts "held" and "varied"; `without` is a key that the caller reports itself (NULL: none).
 * Text follows labels of `width`.
 */
void st_search_put_fixed_params(const st_search *search, const char *without, size_t width,
                                st_node *root);

#endif
