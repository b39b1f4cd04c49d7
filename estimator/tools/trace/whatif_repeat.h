/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Layers and micro-batches that a recorded step has more of: the tasks of a recorded one, on the
 * host and on the GPU, are in the graph once more for each, right before it, and depend on each
 * other as the recorded ones do.
 */
#ifndef STEPTIME_TRACE_WHATIF_REPEAT_H
#define STEPTIME_TRACE_WHATIF_REPEAT_H

#include "trace/whatif.h"

/*
 * What of a rank is repeated, by the replay as recorded: host tasks that end later than `from_ns`
 * and not later than `to_ns`, and GPU tasks whose calls begin from `from_ns` on and before `to_ns`.
 */
struct st_repeat_unit {
    size_t rank;
    int64_t from_ns;
    int64_t to_ns;
    uint32_t copies; /* 0: it only counts in the mean of its kind */
    uint32_t kind;   /* units of one kind on a rank do the same */
    bool reduces;    /* its collectives are of the step: they are not repeated */
};

/*
 * Finds what is repeated, in w->units; w->repeats_layers and w->repeats_micros say for which of the
 * keys, the others stretch. Refuses micro-batches that cannot be distinguished.
 */
void st_whatif_plan_repeats(st_whatif *w);

/* Builds the graph anew with the copies, and a replay for it. Nothing happens without units. */
void st_whatif_repeat(st_whatif *w);

#endif
