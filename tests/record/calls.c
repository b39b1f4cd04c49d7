/* SPDX-License-Identifier: Apache-2.0 */
/* What a recorded call costs: medians over batches of a few calls, which pages of the log that are
 * made meanwhile do not move. */
#include "cuda_own.h"

#include <stdio.h>
#include <stdlib.h>
#include <time.h>

enum { BATCHES = 20001, CALLS = 20 };

static const char kernel[1];
static double times[BATCHES];

static double now_ns(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return 1e9 * (double)now.tv_sec + (double)now.tv_nsec;
}

static int order(const void *left, const void *right)
{
    double a = *(const double *)left;
    double b = *(const double *)right;
    return (a > b) - (a < b);
}

static void tell(const char *what)
{
    qsort(times, BATCHES, sizeof times[0], order);
    fprintf(stderr, "%-30s %6.1f ns median, %6.1f ns at best\n", what, times[BATCHES / 2],
            times[0]);
}

int main(void)
{
    float *to = NULL, *from = NULL;
    stream_t stream = NULL;
    void *arguments[] = {&to, &from};
    void **binary = register_binary(NULL);
    register_function(binary, kernel, NULL, "_Z4geluPfPKf", -1, NULL, NULL, NULL, NULL, NULL);
    if (cudaMalloc((void **)&to, 1 << 20) != 0 || cudaMalloc((void **)&from, 1 << 20) != 0 ||
        cudaStreamCreate(&stream) != 0)
        return 1;
    for (int i = 0; i < BATCHES; i++) {
        double begin = now_ns();
        for (int k = 0; k < CALLS; k++)
            (void)cudaStreamSynchronize(stream);
        times[i] = (now_ns() - begin) / CALLS;
    }
    tell("cudaStreamSynchronize");
    for (int i = 0; i < BATCHES; i++) {
        double begin = now_ns();
        for (int k = 0; k < CALLS; k++)
            (void)cudaLaunchKernel(kernel, (dim3){10, 1, 1}, (dim3){256, 1, 1}, arguments, 0,
                                   stream);
        times[i] = (now_ns() - begin) / CALLS;
    }
    tell("cudaLaunchKernel, two arguments");
    return 0;
}
