/* SPDX-License-Identifier: Apache-2.0 */
/* An explanation that fits a screen; see explain_fold.c. */
#ifndef STEPTIME_ESTIMATE_EXPLAIN_FOLD_H
#define STEPTIME_ESTIMATE_EXPLAIN_FOLD_H

#include "estimate/report.h"

/* Writes what the root reads as a tree of at most so many lines. */
void st_explanation_fold(const st_estimate *estimate, const st_explanation *root, size_t lines,
                         st_node *node);

#endif
