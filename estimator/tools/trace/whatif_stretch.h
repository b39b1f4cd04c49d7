/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Parts of a recorded step that are to be done less often, or so often as no copies make it
 * (whatif_repeat.h): layers within a pass, micro-batches within a step. What the host and the GPU
 * do in such a part lasts longer or shorter in proportion; who waits for whom stays.
 */
#ifndef STEPTIME_TRACE_WHATIF_STRETCH_H
#define STEPTIME_TRACE_WHATIF_STRETCH_H

#include "trace/whatif.h"

/*
 * Finds what of a rank (an index) is stretched by model.layers and, unless the pipeline changes,
 * too, by batch.micro_batches, and stretches the host's part of it. Reads the replay as recorded
 * that ran last. Refuses micro-batches whose passes cannot be distinguished. By event: how much
 * longer a GPU task lasts, and what it was late; 1 for most.
 */
const double *st_whatif_stretch(st_whatif *w, size_t rank);

#endif
