/* SPDX-License-Identifier: Apache-2.0 */
/* Files of frameworks: the verbs of steptime-launch in this process. Link libsteptime-launch. */
#ifndef STEPTIME_LAUNCH_H
#define STEPTIME_LAUNCH_H

#include "steptime/answer.h"

#ifdef __cplusplus
extern "C" {
#endif

/*
 * Runs a verb: {"import", "hf", "config.json", "--cluster", "dgx-h100"}. ST_OK with exit codes 0
 * and 3; else `errors`, which may be NULL, says why and the text is empty. Files that options name
 * are written. One call at a time in a process.
 */
ST_API st_status st_launch_run(const char *const *words, size_t count, st_answer *answer,
                               st_errors *errors) ST_NODISCARD;

#ifdef __cplusplus
}
#endif

#endif
