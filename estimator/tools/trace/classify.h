/* SPDX-License-Identifier: Apache-2.0 */
/* What the name of a call says; what that of a kernel says is st_trace_classify. */
#ifndef STEPTIME_TRACE_CLASSIFY_H
#define STEPTIME_TRACE_CLASSIFY_H

#include "trace/trace.h"

st_trace_call st_trace_call_of(const char *name);

#endif
