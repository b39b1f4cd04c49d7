/* SPDX-License-Identifier: Apache-2.0 */
/* What-if: kernels that become one, and further kernels behind those that are there. */
#ifndef STEPTIME_TRACE_WHATIF_EDIT_H
#define STEPTIME_TRACE_WHATIF_EDIT_H

#include "trace/whatif.h"

/* What becomes of the launches of a rank's kernels, by event. */
typedef struct st_whatif_launches {
    bool *gone;        /* the kernel is part of the one before it */
    uint32_t *further; /* kernels are launched behind it */
} st_whatif_launches;

/* Reads "A,B", "A,B=385us" and "PATTERN=238.5us" of --fuse and --insert. */
st_status st_whatif_edits_parse(const st_trace_change *change, st_arena *arena,
                                st_whatif_values *values, st_errors *errors) ST_NODISCARD;
/*
 * Changes the GPU tasks of a rank (an index), whose times are those after all other changes;
 * `factors` is how much longer each event lasts because it represents more layers or micro-batches.
 */
void st_whatif_edit(st_whatif *w, size_t rank, const double *factors, st_whatif_launches *launches);
/* After all ranks: says what was changed; refuses what changed nothing. */
void st_whatif_note_edits(st_whatif *w);

#endif
