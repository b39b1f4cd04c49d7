/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A file read again by who wants the text of its events, all of them and in their order, to write
 * them anew. Events that the reader leaves out are not shown.
 */
#ifndef STEPTIME_TRACE_VISIT_H
#define STEPTIME_TRACE_VISIT_H

#include "trace/event_draft.h"
#include "trace/trace.h"

/* The member of a file of several ranks that has their other members, one map for each; processes
 * of its events are called "rank 0 25738". */
#define ST_TRACE_PARTS "steptimeRanks"

typedef struct st_visit {
    const st_draft *draft; /* with marks */
    const char *text;      /* of the event, "{...}" */
    size_t length;
    uint64_t start;     /* of the text, as spans count */
    st_trace_kind kind; /* as what the event is kept; ST_TRACE_KINDS: not at all */
} st_visit;

typedef struct st_visitor {
    void *context;
    st_status (*event)(void *context, const st_visit *visit); /* what fails ends the reading */
} st_visitor;

/* The members of the file besides its events, `"key": value` with a comma behind each, appended. */
st_status st_visit_members(const char *path, st_buffer *members, st_errors *errors) ST_NODISCARD;

#endif
