/* SPDX-License-Identifier: Apache-2.0 */
/*
 * How much of a calibration groups of ranks take that were not measured: all of it, less, or
 * nothing, which is the plugin as it comes. Two things say so.
 *
 * Beforehand: what nominal times are off where they were measured is in part common to all groups
 * and in part a group's own, about 8 % (docs/fits/nccl-transfer.md). Where nominal is hardly
 * further off than that, little is common, and the best estimate of another group is near nominal
 * (James and Stein 1961).
 *
 * Then what was left out: a share with which some number of ranks did worse than nominal, when it
 * was left out, is too large.
 */
#ifndef STEPTIME_CALIBRATE_COLLECTIVES_NCCL_TRANSFER_H
#define STEPTIME_CALIBRATE_COLLECTIVES_NCCL_TRANSFER_H

#include "calibrate/collectives/nccl_fit.h"

/* Shares that are tried: 1, 0.95 ... 0. */
enum { ST_NCCL_SHARES = 21 };
double st_nccl_share(size_t index);

/* Times of all points when their number of ranks was left out, by share; all NULL: nothing was. */
typedef struct st_nccl_unseen {
    double *const *times_s;
    size_t count; /* of shares */
} st_nccl_unseen;

/*
 * Fills `transfer` for groups of one node, or of several (`across`). Rows of `but` ranks say
 * nothing (0: all do). Returns the share's index, 0 where no nominal time is known.
 */
size_t st_nccl_choose_transfer(const st_nccl_fit *fit, const st_nccl_unseen *unseen, bool across,
                               double but, st_nccl_transfer *transfer);

/* "left out", "prior", "no nominal" or "all". */
const char *st_nccl_transfer_reason(const st_nccl_transfer *transfer);

#endif
