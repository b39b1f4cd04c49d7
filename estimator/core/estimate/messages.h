/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Messages of a rank in one step by size, as Li et al. 2024 count them (Table 3, Figures 1a, 1b).
 *
 * Counts and sizes are a sheet's roles 'messages' and 'message_bytes'; where gradients are sent in
 * buckets of a layer list, every bucket is a message of its own.
 */
#ifndef STEPTIME_ESTIMATE_MESSAGES_H
#define STEPTIME_ESTIMATE_MESSAGES_H

#include "base/result.h"
#include "estimate/estimate_internal.h"

/* Messages of one kind and size. */
typedef struct st_message_size {
    const char *kind; /* "tp", "gather", ... */
    uint64_t count;
    double bytes; /* of one */
} st_message_size;

typedef struct st_messages {
    const st_message_size *sizes; /* by kind; buckets in the order of sending */
    size_t count;
} st_messages;

/*
 * Runs the sheet of a loaded estimate; the rank is one of the stage parallel.stage. A sheet without
 * messages is refused. Everything lives in `arena`.
 */
st_status st_messages_make(st_estimate *estimate, st_arena *arena, st_messages *messages,
                           st_errors *errors) ST_NODISCARD;

/* Their list and their histogram by powers of two, behind what the result has. */
void st_messages_result(const st_messages *messages, st_result *result);

#endif
