/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What-if on another GPU: kernels that compute take the ratio that was measured for their class and
 * duration, or that a sheet has for their shapes. Copies, the host, launches and collectives stay
 * as recorded, which is said.
 */
#include "trace/whatif.h"

#include <math.h>

double st_whatif_move(st_whatif *w, size_t rank, size_t index)
{
    const st_trace_event *event = &w->graph->set->ranks[rank]->events[index];
    st_trace_class class_ = (st_trace_class)event->class_;
    if (w->ratios == NULL || event->kind != ST_TRACE_KERNEL || class_ == ST_TRACE_COMMUNICATION ||
        event->duration_ns <= 0)
        return 1;
    st_whatif_moved *moved = &w->moved[class_];
    double ratio = w->ratios->ratio(w->ratios->context, rank, index, &moved->taken);
    moved->known = !isnan(ratio);
    moved->kernels++;
    moved->recorded_ns = st_add_ns(moved->recorded_ns, event->duration_ns);
    return moved->known ? ratio : 1;
}

void st_whatif_note_moved(st_whatif *w)
{
    size_t known = 0;
    if (w->ratios == NULL)
        return;
    for (st_trace_class i = 0; i < ST_TRACE_CLASSES; i++)
        known += w->moved[i].known ? w->moved[i].kernels : 0;
    if (known == 0)
        st_whatif_refuse(w, "no kernel of the trace has a ratio on %s", w->ratios->to);
    st_whatif_note(w,
                   "%zu kernels take %s %s; copies, launches, the host and collectives "
                   "stay as recorded",
                   known, w->ratios->by, w->ratios->to);
    for (size_t i = 0; i < w->ratios->note_count; i++)
        st_whatif_note(w, "%s", w->ratios->notes[i]);
    for (st_trace_class i = 0; i < ST_TRACE_CLASSES; i++) {
        const st_whatif_moved *moved = &w->moved[i];
        double recorded_ms = (double)moved->recorded_ns / 1e6;
        if (moved->kernels == 0 || (moved->known && moved->taken == i))
            continue;
        if (moved->known)
            st_whatif_note(
                w,
                "%zu kernels of class %s, %.3f ms, take the ratios of %s: there are none "
                "of their own",
                moved->kernels, st_trace_class_name(i), recorded_ms,
                st_trace_class_name(moved->taken));
        else
            st_whatif_note(w,
                           "%zu kernels of class %s, %.3f ms, last as recorded: the ratios know "
                           "none that are like them",
                           moved->kernels, st_trace_class_name(i), recorded_ms);
    }
}
