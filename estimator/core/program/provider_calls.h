/* SPDX-License-Identifier: Apache-2.0 */
/* What providers do for the cells of a session's row. */
#ifndef STEPTIME_PROGRAM_PROVIDER_CALLS_H
#define STEPTIME_PROGRAM_PROVIDER_CALLS_H

#include "program/session.h"

/* See st_program_refined. ST_ERR_MEMORY is not reported. */
st_status st_session_refined(st_session *session, st_arena *arena, const st_refined **list,
                             size_t *count) ST_NODISCARD;

#endif
