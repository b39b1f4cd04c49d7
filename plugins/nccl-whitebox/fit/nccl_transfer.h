/* SPDX-License-Identifier: Apache-2.0 */
/*
 * How much of a calibration groups of ranks take that were not measured: all of it, less, or
 * nothing, which is the plugin as it comes. Small messages and large ones are judged apart, since
 * latencies and rates transfer apart. Two things say how much.
 *
 * Beforehand: what nominal times are off where they were measured is in part common to all sizes
 * and all groups, and in part a size's or a group's own, the latter at least 8 %
 * (docs/fits/nccl-transfer.md). The best estimate of another group takes what is common (James and
 * Stein 1961).
 *
 * Where two or more numbers of ranks were left out, these decide instead: of each the error without
 * it, next to nominal's. A share is too large if a further group may well do worse than nominal, as
 * the prediction interval of such gains shows (Gelman et al., Bayesian Data Analysis, 3.3).
 */
#ifndef STEPTIME_CALIBRATE_COLLECTIVES_NCCL_TRANSFER_H
#define STEPTIME_CALIBRATE_COLLECTIVES_NCCL_TRANSFER_H

#include "nccl-whitebox/fit/nccl_fit.h"

/* Shares that are tried: 1, 0.95 ... 0. */
enum { ST_NCCL_SHARES = 21 };
double st_nccl_share(size_t index);

/* Times of all points when their number of ranks was left out, by share; all NULL: nothing was. */
typedef struct st_nccl_unseen {
    double *const *times_s;
    size_t count; /* of shares */
} st_nccl_unseen;

/* Which groups and messages a share is for, and who has a say in it. */
typedef struct st_nccl_kind_of_group {
    bool across; /* groups of several nodes */
    bool large;  /* messages from 1 MiB */
    double but;  /* rows of so many ranks say nothing; 0: all do */
} st_nccl_kind_of_group;

/* Fills `transfer`. Returns the share's index, 0 where no nominal time is known. */
size_t st_nccl_choose_transfer(const st_nccl_fit *fit, const st_nccl_unseen *unseen,
                               st_nccl_kind_of_group kind, st_nccl_transfer *transfer);

/* "left out", "prior", "no nominal" or "all". */
const char *st_nccl_transfer_reason(const st_nccl_transfer *transfer);

#endif
