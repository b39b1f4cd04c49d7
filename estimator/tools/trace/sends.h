/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Messages between two ranks: sends and the receives that take them. A receive ends when what was
 * sent is there; a send ends together with it, or, where the sender's data are buffered, as soon as
 * they are copied.
 */
#ifndef STEPTIME_TRACE_SENDS_H
#define STEPTIME_TRACE_SENDS_H

#include "trace/link.h"

typedef struct st_messages {
    st_trace_message *items; /* by sender, receiver and order */
    size_t count;
    size_t unmatched; /* sends and receives whose partner is not in the recording of its rank */
    size_t outside;   /* those whose partner is on a rank that is not recorded */
    bool exact;       /* all by sequence numbers */
} st_messages;

/* Whether a kernel sends or receives one; `sends` may be NULL. */
bool st_message_is(const st_trace *trace, const st_trace_event *event, bool *sends);

/* `orders`: one per rank; `offsets_ns`: what to add to the times of a rank, which are changed for
 * ranks that only messages join, if `known` is false for them. */
void st_messages_find(const st_order *orders, size_t count, bool *known, int64_t *offsets_ns,
                      st_arena *arena, st_messages *messages);

#endif
