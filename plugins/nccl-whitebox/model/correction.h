/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What measurements leave over when the factors are fitted: for measured groups of ranks a factor
 * of the time by size. The text of the option is
 *
 *     RANKS/NODES SIZE=FACTOR SIZE=FACTOR ...; RANKS/NODES~large SIZE=FACTOR ...
 *
 * with sizes in bytes that rise. Between sizes the logarithm of the factor is a straight line over
 * that of the size, beyond the first and the last it stays. Between a group with ~small, ~large or
 * ~all and the next larger one the times of such messages are interpolated.
 */
#ifndef ST_NCCL_CORRECTION_H
#define ST_NCCL_CORRECTION_H

#include "model.h"

#define ST_NCCL_MOST_CURVES 256

/* Of one measured group: the logarithm of the factor at 2^k bytes. */
typedef struct st_nccl_curve {
    double ranks;
    double nodes;
    bool between[2]; /* to the next larger group, times of small messages, of large ones */
    double logs[ST_NCCL_OCTAVES];
} st_nccl_curve;

typedef struct st_nccl_correction {
    size_t count;
    st_nccl_curve *curves;
} st_nccl_correction;

/* How many curves a text has room for, at most; 0 for a blank one. */
size_t st_nccl_correction_count(const char *text);

/*
 * Fills `curves`, of which there are as many as the text has room for. NULL, or what is wrong;
 * `*at` is then how many bytes of the text came before.
 */
const char *st_nccl_correction_parse(const char *text, st_nccl_correction *correction, size_t *at);

/*
 * Makes the plan follow the curves of groups like its own: the same one, or the next smaller and
 * larger ones of the same kind (inside of a machine, or of several; over PCIe pairs, or others) at
 * as many bytes per rank, whose say fades with the distance and is `share` of that. A finished plan
 * without such a curve stays as it is. The time may fall with the bytes where the curves do:
 * measured times do so where NCCL goes over to a faster protocol late.
 */
void st_nccl_correct(st_nccl_plan *plan, const st_nccl_correction *correction, double share);

/*
 * Whether the times of an unmeasured group lie between those of the next smaller and the next
 * larger one, for small messages (range 0) or large ones (1).
 */
bool st_nccl_between(const st_nccl_group *group, const st_nccl_correction *correction, int range,
                     const st_nccl_curve *ends[2]);

/* Makes the plan's times the straight line, over the logarithm of the ranks, between those of two
 * finished plans of the same collective; the plan is finished, too. */
void st_nccl_interpolate(st_nccl_plan *plan, const st_nccl_plan ends[2]);

/*
 * How much of the factors a group takes of which the curves are known: all where it was measured,
 * else `share`, which fades with the octaves between its ranks on a machine and those of the
 * nearest measured group of its kind. All where there are no curves of groups inside of a node, or
 * of several, as this one; none where those are of another kind: over PCIe pairs and others differ.
 */
double st_nccl_closeness(const st_nccl_group *group, const st_nccl_correction *correction,
                         double share);

/*
 * Where a group lies among those that were measured, for a reader, and how much of the calibration
 * it takes, of which `shares` are what groups take that were not measured, of small messages and
 * of large ones: "measured", "interpolated between 4 and 16 ranks, with 35 % of the calibration";
 * "" without curves. Writes at most `size` bytes.
 */
void st_nccl_verdict(const st_nccl_group *group, const st_nccl_correction *correction,
                     const double shares[2], int range, char *text, size_t size);

/* The time after correction of a time without. */
double st_nccl_corrected_us(const st_nccl_plan *plan, double bytes, double plain_us);

#endif
