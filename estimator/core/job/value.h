/* SPDX-License-Identifier: Apache-2.0 */
/* From the text of a value to its number, by the kind of its key. */
#ifndef STEPTIME_JOB_VALUE_H
#define STEPTIME_JOB_VALUE_H

#include "steptime/job.h"
#include "steptime/tool/value_text.h"

/* What a key accepts: "a whole number from 1 to 1000000", "a quantity above 0 GB/s, ..."; returns
 * `text`. Used in messages and in docs/configuration.md. */
enum { ST_EXPECTATION_TEXT = 160 };
const char *st_key_expectation(const st_key *key, char *text, size_t size);

#endif
