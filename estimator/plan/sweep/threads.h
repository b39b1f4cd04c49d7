/* SPDX-License-Identifier: Apache-2.0 */
/* OpenMP if available, else a single thread. */
#ifndef STEPTIME_SWEEP_THREADS_H
#define STEPTIME_SWEEP_THREADS_H

#ifdef STEPTIME_HAVE_OPENMP
#include <omp.h>
#endif

enum { ST_THREADS_MAX = 1024 };

/* How many threads to use where `wanted` are asked for; 0: one per core. */
static inline int st_threads(int wanted)
{
#ifdef STEPTIME_HAVE_OPENMP
    int most = omp_get_max_threads();
    int count = wanted > 0 ? wanted : most;
    return count < ST_THREADS_MAX ? count : ST_THREADS_MAX;
#else
    (void)wanted;
    return 1;
#endif
}

static inline int st_thread_number(void)
{
#ifdef STEPTIME_HAVE_OPENMP
    return omp_get_thread_num();
#else
    return 0;
#endif
}

#endif
