/* SPDX-License-Identifier: Apache-2.0 */
/* Words of SimAI's workload files, for their writer and their reader. */
#ifndef STEPTIME_WORKLOAD_SIMAI_WORDS_H
#define STEPTIME_WORKLOAD_SIMAI_WORDS_H

#include "workload/simai.h"

/* The one policy that AICB writes: rows down, and up again. */
#define ST_SIMAI_POLICY "HYBRID_TRANSFORMER_FWD_IN_BCKWD"

extern const char *const st_simai_kind_words[ST_SIMAI_KINDS];
extern const char *const st_simai_size_words[ST_SIMAI_SIZES];

#endif
