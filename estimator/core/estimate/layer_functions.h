/* SPDX-License-Identifier: Apache-2.0 */
/* Open functions over a layer list: its sums, buckets of its gradients, its units and stages. */
#ifndef STEPTIME_ESTIMATE_LAYER_FUNCTIONS_H
#define STEPTIME_ESTIMATE_LAYER_FUNCTIONS_H

#include "estimate/open_functions.h"

/* Each looks into an st_layers. */
const st_open_function *st_layer_functions(size_t *count);

#endif
