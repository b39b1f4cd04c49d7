/* SPDX-License-Identifier: Apache-2.0 */
/* Whether what is to change is in the recording at all. */
#include "trace/whatif.h"

#include "trace/whatif_host.h"

static bool has_class(const st_whatif *w, st_trace_class class_)
{
    for (size_t i = 0; i < w->graph->set->count; i++) {
        const st_trace *trace = w->graph->set->ranks[i];
        for (size_t k = 0; k < trace->event_count; k++)
            if (st_trace_is_gpu(&trace->events[k]) && trace->events[k].class_ == class_)
                return true;
    }
    return false;
}

/* The answer is right, as nothing changes, but hardly what was asked for. */
static void tell_missing(st_whatif *w, const char *what)
{
    st_report(w->errors, ST_SEVERITY_WARNING, ST_ERR_NAME, (st_place){0},
              "%s: it changes nothing" ST_HINT
              "'steptime trace summary' lists the classes of kernels",
              what);
    st_whatif_note(w, "%s: it changes nothing", what);
}

void st_whatif_check_kernels(st_whatif *w)
{
    /* A pattern that no kernel has would change nothing. */
    for (size_t k = 0; k < w->values.kernel_count; k++) {
        bool found = false;
        for (size_t i = 0; i < w->graph->set->count && !found; i++)
            found = st_whatif_has_kernel(w->graph->set->ranks[i], w->values.kernels[k].pattern);
        if (!found)
            st_whatif_refuse(w,
                             "no kernel is called '%s'" ST_HINT
                             "'steptime trace summary --top 20' lists kernels; * matches any text",
                             w->values.kernels[k].pattern);
    }
    if (w->status == ST_OK) {
        for (int i = 0; i < ST_TRACE_CLASSES; i++) {
            st_trace_class class_ = (st_trace_class)i;
            if (w->values.set[ST_WHATIF_SPEED + i] > 0 && !has_class(w, class_))
                tell_missing(w, st_errors_text(w->errors, "no kernel is of class '%s'",
                                               st_trace_class_name(class_)));
        }
        if (w->values.set[ST_WHATIF_BANDWIDTH] > 0 && !has_class(w, ST_TRACE_COMMUNICATION))
            tell_missing(w, "no kernel is a collective, for 'bandwidth'");
    }
}
