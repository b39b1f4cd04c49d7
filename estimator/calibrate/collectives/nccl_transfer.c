/* SPDX-License-Identifier: Apache-2.0 */
/* Shares of a calibration; see nccl_transfer.h. */
#include "calibrate/collectives/nccl_transfer.h"

#include "base/lists.h"

#include <math.h>

static const double own_error = 0.08;   /* of a group, as a logarithm; docs/fits/nccl-transfer.md */
static const double tolerated = 1.05;   /* of nominal's cost on a group that was left out */
static const double loss_scale = 0.045; /* that of the fit */

enum { MEGABYTE = 1 << 20 };

const st_nccl_range st_nccl_ranges[ST_NCCL_RANGES] = {
    {"all sizes", "all", 0, 1e300},
    {"below 1 MiB", "below_1_mib", 0, MEGABYTE - 1},
    {"from 1 MiB", "from_1_mib", MEGABYTE, 1e300},
    {"4 to 256 MiB", "4_to_256_mib", 4.0 * MEGABYTE, 256.0 * MEGABYTE},
};

/* Small messages and large ones are judged apart: latencies and rates transfer apart. */
static const size_t judged[] = {ST_NCCL_SMALL, ST_NCCL_LARGE};

typedef struct chooser {
    const st_nccl_fit *fit;
    bool across;
    double but;
} chooser;

double st_nccl_share(size_t index)
{
    return 1 - (double)index / (ST_NCCL_SHARES - 1);
}

static double ranks_of(const st_nccl_fit *fit, size_t point)
{
    return (double)fit->tables[fit->model.points[point].table]->ranks;
}

/* Whether a point says something, with a nominal time to compare. */
static bool counts(const chooser *own, size_t point)
{
    const st_nccl_fit *fit = own->fit;
    bool across = fit->tables[fit->model.points[point].table]->nodes > 1;
    return across == own->across && ranks_of(fit, point) != own->but &&
           isfinite(fit->times_s[ST_NCCL_NOMINAL][point]);
}

/* Whether no earlier point has the same number of ranks. */
static bool is_first(const chooser *own, size_t point)
{
    for (size_t i = 0; i < point; i++)
        if (counts(own, i) && ranks_of(own->fit, i) == ranks_of(own->fit, point))
            return false;
    return true;
}

/* Means over the points of a number of ranks in a range of sizes; NaN where there are none. */
static void measure(const chooser *own, const double *times_s, double ranks,
                    const st_nccl_range *range, double mean[2])
{
    const st_nccl_fit *fit = own->fit;
    double errors = 0;
    double costs = 0;
    size_t count = 0;
    for (size_t i = 0; i < fit->model.point_count; i++) {
        const st_nccl_point *point = &fit->model.points[i];
        double away = log(times_s[i] / point->measured_s);
        double size = point->row->size_bytes;
        if (!counts(own, i) || ranks_of(fit, i) != ranks || !isfinite(away) ||
            size < range->from_bytes || size > range->to_bytes)
            continue;
        errors += fabs(away);
        costs += sqrt(1 + away * away / (loss_scale * loss_scale)) - 1;
        count++;
    }
    mean[0] = count > 0 ? errors / (double)count : (double)NAN;
    mean[1] = count > 0 ? costs / (double)count : (double)NAN;
}

/* Whether a number of ranks that was left out did so much worse than nominal in a range, and worse
 * than `*worst` of it. */
static bool is_worse(const chooser *own, const double *times_s, double ranks, size_t range,
                     double *worst, st_nccl_transfer *transfer)
{
    double unseen[2];
    double nominal[2];
    measure(own, times_s, ranks, &st_nccl_ranges[range], unseen);
    measure(own, own->fit->times_s[ST_NCCL_NOMINAL], ranks, &st_nccl_ranges[range], nominal);
    if (!(unseen[1] > *worst * nominal[1]))
        return false;
    *worst = unseen[1] / nominal[1];
    transfer->unseen_error = unseen[0];
    transfer->unseen_nominal = nominal[0];
    transfer->range = st_nccl_ranges[range].name;
    return true;
}

/* The number of ranks that did worst beside nominal when it was left out; 0: none did worse. */
static double worse_than_nominal(const chooser *own, const double *times_s,
                                 st_nccl_transfer *transfer)
{
    double worst = tolerated;
    double found = 0;
    for (size_t i = 0; i < own->fit->model.point_count; i++)
        for (size_t k = 0; k < ST_COUNT(judged) && counts(own, i) && is_first(own, i); k++)
            if (is_worse(own, times_s, ranks_of(own->fit, i), judged[k], &worst, transfer))
                found = ranks_of(own->fit, i);
    return found;
}

/* What is common to groups among what nominal times are off, as the share of another group's. */
static double share_beforehand(const chooser *own, st_nccl_transfer *transfer)
{
    double squares = 0;
    for (size_t i = 0; i < own->fit->model.point_count; i++) {
        double mean[2];
        if (!counts(own, i) || !is_first(own, i))
            continue;
        measure(own, own->fit->times_s[ST_NCCL_NOMINAL], ranks_of(own->fit, i),
                &st_nccl_ranges[ST_NCCL_ALL_SIZES], mean);
        squares += mean[0] * mean[0];
        transfer->groups++;
    }
    if (transfer->groups == 0)
        return 1;
    double groups = (double)transfer->groups;
    double mean = squares / groups;
    transfer->nominal_error = sqrt(mean);
    /* A group's own is in the one that is estimated, and by 1/groups in those that were measured.
     */
    return mean / (mean + own_error * own_error * (1 + 1 / groups) / 2);
}

size_t st_nccl_choose_transfer(const st_nccl_fit *fit, const st_nccl_unseen *unseen, bool across,
                               double but, st_nccl_transfer *transfer)
{
    const chooser own = {.fit = fit, .across = across, .but = but};
    *transfer = (st_nccl_transfer){
        .nominal_error = (double)NAN, .unseen_error = (double)NAN, .unseen_nominal = (double)NAN};
    double share = share_beforehand(&own, transfer);
    size_t index = (size_t)ceil((1 - share) * (ST_NCCL_SHARES - 1) - 0.5);
    while (index + 1 < unseen->count) {
        double ranks = worse_than_nominal(&own, unseen->times_s[index], transfer);
        if (ranks == 0)
            break;
        transfer->vetoed_by = ranks;
        index++;
    }
    transfer->share = st_nccl_share(index);
    return index;
}

const char *st_nccl_transfer_reason(const st_nccl_transfer *transfer)
{
    return transfer->groups == 0     ? "no nominal"
           : transfer->vetoed_by > 0 ? "left out"
           : transfer->share < 1     ? "prior"
                                     : "all";
}
