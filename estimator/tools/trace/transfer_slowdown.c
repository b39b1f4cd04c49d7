/* SPDX-License-Identifier: Apache-2.0 */
/*
 * How much computation slows collectives: transfers of one kind, message and group that run alone
 * give their duration, those that overlap computation how much longer they take meanwhile.
 */
#include "trace/view.h"

#include <math.h>

static const double alone_frac = 0.05; /* of a transfer: so little overlap is none */

static bool is_alone(const st_transfer_time *one)
{
    return (double)one->overlap_ns < alone_frac * (double)one->time_ns;
}

/* Work of this length alone is done during computation, in overlap_ns; below 0 where this transfer
 * is so much faster than the mean. Leaving these out would bias the sums. */
static double overlapped_work(const st_transfer_time *one, double work_ns)
{
    return work_ns - (double)(one->time_ns - one->overlap_ns);
}

/* Sums over overlapped transfers whose time alone is known. */
typedef struct sums {
    size_t alone; /* that say it */
    double overlap_ns;
    double work_ns;
    double error;      /* of what the others say */
    double error_none; /* of the time alone */
} sums;

typedef void (*visit)(const st_transfer_time *one, double work_ns, st_transfer_slowdown *found,
                      sums *all);

static void add(const st_transfer_time *one, double work_ns, st_transfer_slowdown *found, sums *all)
{
    found->overlapped++;
    all->overlap_ns += (double)one->overlap_ns;
    all->work_ns += overlapped_work(one, work_ns);
}

static void compare(const st_transfer_time *one, double work_ns, st_transfer_slowdown *found,
                    sums *all)
{
    double others_ns = all->work_ns - overlapped_work(one, work_ns);
    double others_overlap_ns = all->overlap_ns - (double)one->overlap_ns;
    double factor = others_ns > 0 ? others_overlap_ns / others_ns : 1;
    double time_ns =
        (double)(one->time_ns - one->overlap_ns) + factor * overlapped_work(one, work_ns);
    (void)found;
    all->error += fabs(time_ns / (double)one->time_ns - 1);
    all->error_none += fabs(work_ns / (double)one->time_ns - 1);
}

static void visit_all(const st_transfer_time *times, size_t count, visit see,
                      st_transfer_slowdown *found, sums *all)
{
    for (size_t first = 0, end = 0; first < count; first = end) {
        while (end < count && times[end].kind == times[first].kind)
            end++;
        size_t alone = 0;
        /* The mean of those of equal kind, message and group that run alone, `alone` of them;
         * NaN without any. */
        const st_transfer_time *n_times = &times[first];
        const size_t n_count = end - first;
        double sum = 0;
        alone = 0;
        for (size_t i = 0; i < n_count; i++)
            if (is_alone(&n_times[i])) {
                sum += (double)n_times[i].time_ns;
                ++alone;
            }
        double work_ns = alone > 0 ? sum / (double)alone : (double)NAN;
        for (size_t i = first; i < end && alone > 0; i++)
            if (!is_alone(&times[i]))
                see(&times[i], work_ns, found, all);
        all->alone += alone < end - first ? alone : 0;
    }
}

void st_transfer_slowdown_find(const st_transfer_time *times, size_t count,
                               st_transfer_slowdown *found)
{
    sums all = {0};
    *found = (st_transfer_slowdown){
        .slowdown = (double)NAN, .error_frac = (double)NAN, .error_none_frac = (double)NAN};
    visit_all(times, count, add, found, &all);
    found->alone = all.alone;
    if (found->overlapped < 2 || all.work_ns <= 0)
        return;
    found->slowdown = all.overlap_ns / all.work_ns;
    visit_all(times, count, compare, found, &all);
    found->error_frac = all.error / (double)found->overlapped;
    found->error_none_frac = all.error_none / (double)found->overlapped;
}
