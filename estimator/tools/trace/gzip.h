/* SPDX-License-Identifier: Apache-2.0 */
/* Text as gzip. */
#ifndef STEPTIME_TRACE_GZIP_H
#define STEPTIME_TRACE_GZIP_H

#include "steptime/arena.h"

/* Replaces the contents of a buffer by its gzip form, without name and time. */
st_status st_gzip(st_buffer *buffer, st_errors *errors) ST_NODISCARD;

#endif
