/* SPDX-License-Identifier: Apache-2.0 */
/* Events in the order of one of their numbers, with four bytes for each: traces have millions. */
#ifndef STEPTIME_TRACE_EVENT_ORDER_H
#define STEPTIME_TRACE_EVENT_ORDER_H

#include "trace/trace.h"

/*
 * Sorts `order`, indices of events, by the int64_t member at `offset` of st_trace_event. Events of
 * equal numbers stay in the order in which they are. Reports nothing: ST_ERR_MEMORY.
 */
void st_event_order(const st_trace_event *events, size_t offset, uint32_t *order, size_t count);

#endif
