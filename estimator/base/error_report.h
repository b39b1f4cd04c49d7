/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Limits and warnings as part of a result.
 *
 * A job that exceeds a limit, such as the memory of a GPU, keeps its values. Text has a paragraph
 * for each limit above them; JSON has "fits": false and the messages.
 */
#ifndef STEPTIME_BASE_ERROR_REPORT_H
#define STEPTIME_BASE_ERROR_REPORT_H

#include "base/result.h"

void st_limits_say(const st_errors *errors, st_node *root);
void st_limits_put(const st_errors *errors, st_node *root);
/* The list of warnings, also in the text. */
void st_report_warnings(const st_errors *errors, st_node *root);
/* The list of warnings for JSON alone, unless it is empty or there already. */
void st_warnings_put(const st_errors *errors, st_node *root);

#endif
