/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Layers of the first and the last stage as a layout. Given the layers of these ends, Megatron cuts
 * stages into equal chunks; other cuts need a layout of every chunk
 * (pipeline_model_parallel_layout). The chunks next to embedding and output are the smaller ones.
 */
#ifndef STEPTIME_LAUNCH_IMPORT_ENDS_LAYOUT_H
#define STEPTIME_LAUNCH_IMPORT_ENDS_LAYOUT_H

#include "steptime/tool/pattern.h"

typedef struct st_ends {
    size_t stages;
    size_t chunks; /* of a stage, at least 1 */
    size_t layers;
    size_t first; /* 0: as the others */
    size_t last;
    size_t mtp; /* layers of multi-token prediction */
} st_ends;

/* NULL where equal chunks say it, or out of memory. */
const char *st_ends_layout(const st_ends *ends, st_arena *arena);
/* Whether a layout, as it was read, is the very one of some ends. */
bool st_ends_of_layout(const char *text, const st_layout *layout, st_arena *arena, st_ends *ends);

#endif
