/* SPDX-License-Identifier: Apache-2.0 */
/* What must hold of an entry, whoever brings it: shared by the database and the reader of exports.
 */
#ifndef STEPTIME_CALIBRATE_STORE_DATABASE_H
#define STEPTIME_CALIBRATE_STORE_DATABASE_H

#include "steptime/tool/profiles.h"

/* What the texts of an entry are called, by their place. */
extern const char *const st_profile_names[ST_PROFILE_TEXTS];

/* "profile 'x' of nccl-whitebox for all_reduce on 2 nodes": for messages; lives in `errors`. */
const char *st_profile_describe(const st_profile *entry, st_errors *errors);

#endif
