/* SPDX-License-Identifier: Apache-2.0 */
/* The model that the options ask for, and the table that one of them needs. */
#ifndef ST_NCCL_ANSWER_H
#define ST_NCCL_ANSWER_H

#include "settings.h"

/* Time in parts; NaN where the model has nothing to say. */
st_nccl_answer st_nccl_answer_for(const st_nccl_settings *settings, const st_nccl_plan *plan,
                                  double bytes);

/* Reads the table of Echo from the plugin's folder; false: the host has the reason. */
bool st_nccl_load_table(st_nccl_settings *settings);

#endif
