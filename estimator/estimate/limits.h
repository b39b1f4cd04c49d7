/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Limits that a job exceeds, such as the memory of a GPU. Its values stand and are shown; that the
 * plan is too large is told above them.
 */
#ifndef STEPTIME_ESTIMATE_LIMITS_H
#define STEPTIME_ESTIMATE_LIMITS_H

#include "base/result.h"
#include "steptime/sheet.h"

/* As text, a paragraph for each; nothing where none is exceeded. */
void st_limits_say(const st_errors *errors, st_node *root);
/* For programs: "fits": false and the messages, where a limit is exceeded. */
void st_limits_put(const st_errors *errors, st_node *root);
/* What was reported of a check that does not hold; NULL: nothing. */
const char *st_check_message(const st_errors *errors, const st_sheet_check *check);

#endif
