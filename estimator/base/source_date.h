/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The time that results bear: SOURCE_DATE_EPOCH, in seconds since 1970, where the environment has
 * it, so that a result can be made again to the byte (reproducible-builds.org/specs).
 */
#ifndef STEPTIME_BASE_SOURCE_DATE_H
#define STEPTIME_BASE_SOURCE_DATE_H

#include <steptime/status.h>

#include <time.h>

/* Leaves `seconds` as it is where the variable is unset or empty; ST_ERR_VALUE where it is not a
 * time.
 */
st_status st_source_date(time_t *seconds, st_errors *errors) ST_NODISCARD;

#endif
