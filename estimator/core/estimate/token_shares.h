/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Where tokens go: the share of a rank's tokens that each rank of its expert group gets.
 *
 * A router is not even (Li et al. 2024, Figures 4 and 5). A CSV table says how it is, under one of
 * three headings: "expert,share", "rank,share" (the same for all senders) or "source,target,share"
 * (each sender's own). Shares are of what a rank sends, so that those of a sender add up to 1. A
 * column "iteration" gives them at several times of a training; tokens then go
 * where the last one sends them.
 */
#ifndef STEPTIME_ESTIMATE_TOKEN_SHARES_H
#define STEPTIME_ESTIMATE_TOKEN_SHARES_H

#include "steptime/arena.h"

/* How even the shares were in one iteration. */
typedef struct st_token_load {
    double iteration;
    double busiest; /* tokens of a rank over the mean */
    double idlest;
} st_token_load;

typedef struct st_token_shares {
    size_t ranks; /* of an expert group */
    size_t lines; /* 1: the same for all senders, else one line for each of them */
    /* By line and receiver: what this receiver and those before it get; the last of a line is 1. */
    const double *until;
    st_token_load load;         /* of these shares */
    const st_token_load *loads; /* by iteration, rising */
    size_t load_count;          /* 0: the table names no iterations */
} st_token_shares;

/* The group that a table is for; experts lie on its ranks in their order, as many on each. */
typedef struct st_token_group {
    size_t ranks;
    size_t experts; /* 0: not known */
} st_token_group;

/* `file` is only for messages. */
typedef struct st_token_text {
    const char *file;
    const char *text;
    size_t length;
} st_token_text;

/*
 * Reads a table; the shares live in `arena`. Refused, each with its place: a share outside of
 * [0, 1]; ranks or experts that the group does not have, or twice, or not at all; shares of a
 * sender that do not add up to 1 within 1e-6, as tokens would appear or vanish, all this in each
 * iteration; groups of more than
 * 4096 ranks.
 */
st_status st_token_shares_read(const st_token_text *text, const st_token_group *group,
                               st_arena *arena, st_token_shares *shares,
                               st_errors *errors) ST_NODISCARD;

#endif
