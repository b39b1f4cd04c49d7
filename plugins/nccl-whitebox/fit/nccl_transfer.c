/* SPDX-License-Identifier: Apache-2.0 */
/* Shares of a calibration; see nccl_transfer.h. */
#include "nccl-whitebox/fit/nccl_transfer.h"

#include <gsl/gsl_cdf.h>
#include <math.h>

static const double own_error = 0.08;  /* of a group, as a logarithm; docs/fits/nccl-transfer.md */
static const double certainty = 0.9;   /* that a further group is not worse than nominal */
static const double gain_spread = 0.2; /* of gains between groups, as shares of nominal's error */
static const double gain_groups =
    2; /* that are as good as known; both docs/fits/nccl-transfer.md */

enum { MEGABYTE = 1 << 20 };

const st_nccl_range st_nccl_ranges[ST_NCCL_RANGES] = {
    {"all sizes", "all", 0, 1e300},
    {"below 1 MiB", "below_1_mib", 0, MEGABYTE - 1},
    {"from 1 MiB", "from_1_mib", MEGABYTE, 1e300},
    {"4 to 256 MiB", "4_to_256_mib", 4.0 * MEGABYTE, 256.0 * MEGABYTE},
};

typedef struct chooser {
    const st_nccl_fit *fit;
    st_nccl_kind_of_group kind;
} chooser;

/* Means over groups, one for each number of ranks, and over the rows of a group. */
typedef struct moments {
    size_t count;
    double mean;
    double squares; /* sum of squares around the mean */
} moments;

static void add(moments *sums, double value)
{
    double away = value - sums->mean;
    sums->count++;
    sums->mean += away / (double)sums->count;
    sums->squares += away * (value - sums->mean);
}

double st_nccl_share(size_t index)
{
    return 1 - (double)index / (ST_NCCL_SHARES - 1);
}

static double ranks_of(const st_nccl_fit *fit, size_t point)
{
    return (double)fit->tables[fit->model.points[point].table]->ranks;
}

/* Whether a point says something, with a nominal time to compare. */
static bool counts(const chooser *choice, size_t point)
{
    const st_nccl_fit *fit = choice->fit;
    size_t table = fit->model.points[point].table;
    bool large = fit->model.points[point].row->size_bytes >= MEGABYTE;
    /* Pairs reach each other directly over PCIe: they say nothing of more GPUs. */
    return (fit->tables[table]->nodes > 1) == choice->kind.across && large == choice->kind.large &&
           ranks_of(fit, point) != choice->kind.but &&
           (fit->tables[table]->ranks > 2 || fit->tables[table]->nodes != 1 ||
            !st_nccl_is_over_pcie(&fit->model.group_rates[table])) &&
           isfinite(fit->times_s[ST_NCCL_NOMINAL][point]);
}

/* Whether no earlier point has the same number of ranks. */
static bool is_first(const chooser *choice, size_t point)
{
    for (size_t i = 0; i < point; i++)
        if (counts(choice, i) && ranks_of(choice->fit, i) == ranks_of(choice->fit, point))
            return false;
    return counts(choice, point);
}

/* Of a number of ranks: logarithms of estimated over measured, and the mean relative error. */
static moments measure(const chooser *choice, const double *times_s, double ranks, double *error)
{
    const st_nccl_fit *fit = choice->fit;
    moments logs = {.count = 0};
    moments errors = {.count = 0};
    for (size_t i = 0; i < fit->model.point_count; i++) {
        double ratio = times_s[i] / fit->model.points[i].measured_s;
        if (!counts(choice, i) || ranks_of(fit, i) != ranks || !isfinite(ratio))
            continue;
        add(&logs, log(ratio));
        add(&errors, fabs(ratio - 1));
    }
    *error = errors.mean;
    return logs;
}

/* What is common to sizes and groups of what nominal times are off, as a share of all of it. */
static double share_beforehand(const chooser *choice, st_nccl_transfer *transfer)
{
    const double *nominal = choice->fit->times_s[ST_NCCL_NOMINAL];
    moments groups = {.count = 0};
    moments roughness = {.count = 0};
    for (size_t i = 0; i < choice->fit->model.point_count; i++) {
        double error = 0;
        if (!is_first(choice, i))
            continue;
        moments logs = measure(choice, nominal, ranks_of(choice->fit, i), &error);
        add(&groups, logs.mean);
        add(&roughness, logs.squares / (double)logs.count);
    }
    transfer->groups = groups.count;
    if (groups.count == 0)
        return 1;
    double number = (double)groups.count;
    double between = groups.count > 1 ? groups.squares / (number - 1) : 0;
    double apart = fmax(own_error * own_error, between) + roughness.mean;
    double common = groups.mean * groups.mean;
    transfer->common = groups.mean;
    transfer->apart = sqrt(apart);
    /* What is a group's own is in the one that is estimated, and by 1/number in what was measured.
     */
    return common / (common + apart * (1 + 1 / number) / 2);
}

/*
 * What a further group gains of nominal's error at least, nine times out of ten, and the mean of
 * those that were left out. NaN: fewer than two were. How gains scatter is known from other
 * tables too, as if so many more groups had been left out.
 */
static double least_gain(const chooser *choice, const double *times_s, double *mean)
{
    moments gains = {.count = 0};
    for (size_t i = 0; i < choice->fit->model.point_count; i++) {
        double error[2];
        if (!is_first(choice, i))
            continue;
        double ranks = ranks_of(choice->fit, i);
        (void)measure(choice, choice->fit->times_s[ST_NCCL_NOMINAL], ranks, &error[0]);
        if (measure(choice, times_s, ranks, &error[1]).count > 0)
            add(&gains, 1 - error[1] / error[0]);
    }
    if (gains.count < 2)
        return (double)NAN;
    double number = (double)gains.count;
    double freedom = gain_groups + number - 1;
    double variance = (gain_groups * gain_spread * gain_spread + gains.squares) / freedom;
    *mean = gains.mean;
    return gains.mean - gsl_cdf_tdist_Pinv(certainty, freedom) * sqrt(variance * (1 + 1 / number));
}

size_t st_nccl_choose_transfer(const st_nccl_fit *fit, const st_nccl_unseen *unseen,
                               st_nccl_kind_of_group kind, st_nccl_transfer *transfer)
{
    const chooser choice = {.fit = fit, .kind = kind};
    double mean = (double)NAN;
    *transfer = (st_nccl_transfer){.common = (double)NAN,
                                   .apart = (double)NAN,
                                   .gain = (double)NAN,
                                   .least_gain = (double)NAN};
    double share = share_beforehand(&choice, transfer);
    size_t index = (size_t)ceil((1 - share) * (ST_NCCL_SHARES - 1) - 0.5);
    if (unseen->count > 0 && !isnan(least_gain(&choice, unseen->times_s[0], &mean)))
        index = 0; /* what was left out knows better than what was thought beforehand */
    while (index + 1 < unseen->count) {
        double least = least_gain(&choice, unseen->times_s[index], &mean);
        if (!(least < 0))
            break;
        transfer->gain = mean;
        transfer->least_gain = least;
        index++;
    }
    transfer->share = st_nccl_share(index);
    return index;
}

const char *st_nccl_transfer_reason(const st_nccl_transfer *transfer)
{
    return transfer->groups == 0            ? "no nominal"
           : isfinite(transfer->least_gain) ? "left out"
           : transfer->share < 1            ? "prior"
                                            : "all";
}
