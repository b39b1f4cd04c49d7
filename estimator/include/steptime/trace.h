/* SPDX-License-Identifier: Apache-2.0 */
/* Recordings: the verbs of steptime-trace in this process. Link libsteptime-trace. */
#ifndef STEPTIME_TRACE_H
#define STEPTIME_TRACE_H

#include "steptime/answer.h"

#ifdef __cplusplus
extern "C" {
#endif

/*
 * Runs a verb: {"trace", "kernels", "run.json", "--json"}. ST_OK with exit codes 0 and 3; else
 * `errors`, which may be NULL, says why and the text is empty. Files that options name are written.
 * One call at a time in a process, which ends, with a message, when memory runs out.
 */
ST_API st_status st_trace_run(const char *const *words, size_t count, st_answer *answer,
                              st_errors *errors) ST_NODISCARD;

#ifdef __cplusplus
}
#endif

#endif
