/* SPDX-License-Identifier: Apache-2.0 */
/*
 * By which collectives are slower beside computation: transfers of one kind, message and group that
 * run alone say what they take, those beside computation how much longer they take while it runs.
 */
#include "trace/view.h"

#include <math.h>

static const double alone_frac = 0.05; /* of a transfer: so little beside computation is none */

static bool is_alone(const st_transfer_time *one)
{
    return (double)one->beside_ns < alone_frac * (double)one->time_ns;
}

/* Work of this length alone is done beside computation, in beside_ns; below 0 where this transfer
 * is so much faster than the mean. Leaving these out would bias the sums. */
static double work_beside(const st_transfer_time *one, double work_ns)
{
    return work_ns - (double)(one->time_ns - one->beside_ns);
}

/* Sums over transfers beside computation whose time alone is known. */
typedef struct sums {
    size_t alone; /* that say it */
    double beside_ns;
    double work_ns;
    double error;      /* of what the others say */
    double error_none; /* of the time alone */
} sums;

typedef void (*visit)(const st_transfer_time *one, double work_ns, st_beside *beside, sums *all);

static void add(const st_transfer_time *one, double work_ns, st_beside *beside, sums *all)
{
    beside->beside++;
    all->beside_ns += (double)one->beside_ns;
    all->work_ns += work_beside(one, work_ns);
}

static void compare(const st_transfer_time *one, double work_ns, st_beside *beside, sums *all)
{
    double others_ns = all->work_ns - work_beside(one, work_ns);
    double others_beside_ns = all->beside_ns - (double)one->beside_ns;
    double factor = others_ns > 0 ? others_beside_ns / others_ns : 1;
    double time_ns = (double)(one->time_ns - one->beside_ns) + factor * work_beside(one, work_ns);
    (void)beside;
    all->error += fabs(time_ns / (double)one->time_ns - 1);
    all->error_none += fabs(work_ns / (double)one->time_ns - 1);
}

static void visit_all(const st_transfer_time *times, size_t count, visit see, st_beside *beside,
                      sums *all)
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
                see(&times[i], work_ns, beside, all);
        all->alone += alone < end - first ? alone : 0;
    }
}

void st_view_beside(const st_transfer_time *times, size_t count, st_beside *beside)
{
    sums all = {0};
    *beside = (st_beside){
        .slowdown = (double)NAN, .error_frac = (double)NAN, .error_none_frac = (double)NAN};
    visit_all(times, count, add, beside, &all);
    beside->alone = all.alone;
    if (beside->beside < 2 || all.work_ns <= 0)
        return;
    beside->slowdown = all.beside_ns / all.work_ns;
    visit_all(times, count, compare, beside, &all);
    beside->error_frac = all.error / (double)beside->beside;
    beside->error_none_frac = all.error_none / (double)beside->beside;
}
