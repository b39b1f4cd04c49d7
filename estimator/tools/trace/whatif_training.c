/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Whether a recording is one of training: what only a backward pass or an optimizer leaves in it.
 * What repeats in a recording of inference may be layers or tokens, and no pass follows another.
 */
#include "trace/whatif.h"

#include "trace/link.h"

#include <string.h>

/* In names of operators and kernels of frameworks; "autograd::engine" runs backward passes. */
static bool tells_training(const char *name)
{
    static const char *const parts[] = {"autograd::", "Backward",       "backward", "_bwd",
                                        "bwd_",       "Optimizer.step", "wgrad",    "dgrad"};
    for (size_t i = 0; i < ST_COUNT(parts); i++)
        if (strstr(name, parts[i]) != NULL)
            return true;
    return false;
}

static bool is_trained(const st_trace *trace)
{
    for (size_t i = 0; i < trace->category_count; i++)
        if (strcmp(trace->names[trace->categories[i].name], "fwdbwd") == 0)
            return true;
    for (uint32_t i = 0; i < trace->name_count; i++)
        if (tells_training(trace->names[i]))
            return true;
    for (size_t i = 0; i < trace->event_count; i++)
        if (st_trace_is_gpu(&trace->events[i]) && trace->events[i].class_ == ST_TRACE_OPTIMIZER)
            return true;
    return false;
}

bool st_whatif_is_training(const st_whatif *w)
{
    for (size_t i = 0; i < w->graph->set->count; i++)
        if (is_trained(w->graph->set->ranks[i]))
            return true;
    return false;
}

/* With `passes`, forward and backward passes are asked for, not layers or their width alone. */
void st_whatif_check_training(st_whatif *w, bool passes)
{
    const char *file = w->graph->set->ranks[0]->file;
    if (st_whatif_is_training(w))
        return;
    if (passes)
        st_whatif_refuse(w,
                         "%s does not record a training step: without a backward pass and an "
                         "optimizer, it has no micro-batches",
                         file);
    else if (w->values.set[ST_WHATIF_LAYERS] > 0 && w->values.have[ST_WHATIF_LAYERS] <= 0)
        st_whatif_refuse(w,
                         "%s does not record a training step: it has no backward pass and no "
                         "optimizer, and its repetitions may be tokens" ST_EXPECTED
                         "--have model.layers=N of this rank",
                         file);
    else
        st_whatif_note(w, "not a training step: the trace has no backward pass and no optimizer");
}
