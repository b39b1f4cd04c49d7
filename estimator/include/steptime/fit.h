/* SPDX-License-Identifier: Apache-2.0 */
/* Measured rows, fits and validation: the verbs of steptime-fit in this process. Link
 * libsteptime-fit. */
#ifndef STEPTIME_FIT_H
#define STEPTIME_FIT_H

#include "steptime/answer.h"

#ifdef __cplusplus
extern "C" {
#endif

/*
 * Runs a verb: {"validate", "li2024", "--json"}. ST_OK with exit codes 0 and 3; else
 * `errors`, which may be NULL, says why and the text is empty. Files that options name are written.
 * One call at a time in a process.
 */
ST_API st_status st_fit_run(const char *const *words, size_t count, st_answer *answer,
                            st_errors *errors) ST_NODISCARD;

#ifdef __cplusplus
}
#endif

#endif
