/* SPDX-License-Identifier: Apache-2.0 */
/* Small traces whose answers are known, for views and exports. */
#ifndef STEPTIME_TESTS_TRACE_VIEW_SUPPORT_H
#define STEPTIME_TESTS_TRACE_VIEW_SUPPORT_H

#include "trace_support.h"

/* A kernel that follows its launch, a gap after a wait of the host, one without, and one behind a
 * collective of another stream. */
#define CALL(name, ts, dur, corr)                                                                  \
    "{\"ph\":\"X\",\"cat\":\"cuda_runtime\",\"name\":\"" name "\",\"pid\":4,\"tid\":2,\"ts\":" ts  \
    ",\"dur\":" dur ",\"args\":{\"correlation\":" corr "}},"
#define TASK(name, stream, ts, dur, corr)                                                          \
    "{\"ph\":\"X\",\"cat\":\"kernel\",\"name\":\"" name "\",\"pid\":0,\"tid\":" stream             \
    ",\"ts\":" ts ",\"dur\":" dur ",\"args\":{\"device\":0,\"stream\":" stream                     \
    ",\"correlation\":" corr "}},"
#define STEP(number, ts, dur)                                                                      \
    "{\"ph\":\"X\",\"cat\":\"user_annotation\",\"name\":\"ProfilerStep#" number                    \
    "\",\"pid\":4,\"tid\":2,\"ts\":" ts ",\"dur\":" dur "},"

static const char idle_trace[] = "{\"traceEvents\":[" STEP("3", "100", "110") STEP("4", "210", "80")
    CALL("cudaLaunchKernel", "102.385", "5",
         "31") TASK("ampere_sgemm_128x64_nn", "7", "110.385", "20.615",
                    "31") CALL("cudaLaunchKernel", "108", "4",
                               "32") TASK("ampere_sgemm_128x64_nn", "7", "131", "9.5",
                                          "32") CALL("cudaStreamSynchronize", "113", "29.25", "40")
        CALL("cudaLaunchKernel", "150.125", "5", "33") TASK("vectorized_elementwise_kernel", "7",
                                                            "158.5", "30", "33")
            CALL("cudaLaunchKernel", "195.75", "5",
                 "34") TASK("ampere_sgemm_128x64_nn", "7", "203", "40", "34")
                CALL("cudaLaunchKernel", "205", "5",
                     "35") TASK("ncclDevKernel_AllReduce_Sum_f32_RING_LL", "20", "212", "50", "35")
                    CALL("cudaEventRecord", "211", "1", "41")
                        CALL("cudaStreamWaitEvent", "213", "1", "42")
                            CALL("cudaLaunchKernel", "215", "5", "36")
                                TASK("vectorized_elementwise_kernel", "7", "265.5", "4.5",
                                     "36") "{\"ph\":\"M\",\"name\":\"process_name\",\"pid\":0}]}";

/* Two ranks meet in an all-reduce. */
#define MET(rank, ts, dur)                                                                         \
    "{\"distributedInfo\":{\"rank\":" rank ",\"world_size\":2},\"traceEvents\":["                  \
    "{\"ph\":\"X\",\"cat\":\"cuda_runtime\",\"name\":\"cudaLaunchKernel\",\"pid\":4,\"tid\":2,"    \
    "\"ts\":80.5,\"dur\":6,\"args\":{\"correlation\":52}},"                                        \
    "{\"ph\":\"X\",\"cat\":\"kernel\",\"name\":\"ncclDevKernel_AllReduce_Sum_f32_RING_LL\","       \
    "\"pid\":0,\"tid\":20,\"ts\":" ts ",\"dur\":" dur ",\"args\":{\"device\":0,\"stream\":20,"     \
    "\"correlation\":52,\"Collective name\":\"allreduce\",\"In msg nelems\":238500,"               \
    "\"Out msg nelems\":238500,\"Group size\":2,\"dtype\":\"Float\",\"Process Group Name\":\"3\"," \
    "\"Process Group Ranks\":\"[0, 1]\",\"Seq\":19}}]}"

static inline st_trace_set set_of(st_trace **ranks, size_t count)
{
    return (st_trace_set){.ranks = ranks, .count = count, .world_size = (int64_t)count};
}

#endif
