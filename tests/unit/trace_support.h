/* SPDX-License-Identifier: Apache-2.0 */
/* What the tests of traces share: small traces, written as every generation of the profiler does.
 */
#ifndef STEPTIME_TESTS_TRACE_SUPPORT_H
#define STEPTIME_TESTS_TRACE_SUPPORT_H

#include "base_support.h"

#include "trace/link.h"

/* Reads a text; NULL where it is refused, and then `errors` say why. */
static inline st_trace *trace_of(const char *text, bool partial, st_errors *errors)
{
    st_trace *trace = NULL;
    st_trace_options options = {.partial = partial};
    st_status status = st_trace_read_memory("t.json", text, strlen(text), &options, &trace, errors);
    assert_int_equal(status == ST_OK, trace != NULL);
    return trace;
}

/* The i-th kept event of a kind. */
static inline const st_trace_event *event_of(const st_trace *trace, st_trace_kind kind, size_t i)
{
    for (size_t k = 0; k < trace->event_count; k++) {
        if (trace->events[k].kind == kind && i-- == 0)
            return &trace->events[k];
    }
    fail_msg("no event %zu of kind %d", i, (int)kind);
    return NULL;
}

/* 2020: a bare list, capitalised categories, threads as text, whole microseconds. */
static const char oldest_trace[] =
    "[{\"ph\":\"M\",\"name\":\"process_name\",\"pid\":0},\n"
    "{\"ph\":\"X\",\"cat\":\"Operator\",\"name\":\"aten::mm\",\"pid\":9,\"tid\":\"25738\","
    "\"ts\":1610000000000001,\"dur\":31,\"args\":{\"Device\":9,\"External id\":3}},\n"
    "{\"ph\":\"X\",\"cat\":\"Operator\",\"name\":\"ProfilerStep#5\",\"pid\":9,\"tid\":\"25738\","
    "\"ts\":1610000000000000,\"dur\":97},\n"
    "{\"ph\":\"X\",\"cat\":\"Runtime\",\"name\":\"cudaLaunchKernel\",\"pid\":9,\"tid\":\"25738\","
    "\"ts\":1610000000000005,\"dur\":7,\"args\":{\"cbid\":211,\"correlation\":77,"
    "\"external id\":\"3\",\"external ts\":\"1\"}},\n"
    "{\"ph\":\"X\",\"cat\":\"Kernel\",\"name\":\"volta_sgemm_128x32_nt\",\"pid\":0,"
    "\"tid\":\"stream 7\",\"ts\":1610000000000020,\"dur\":13,\"args\":{\"device\":0,\"stream\":7,"
    "\"correlation\":77,\"external id\":\"3\"}},\n"
    "{\"name\":\"no phase\"}]\n";

/* 2024: relative decimals, metadata of collectives; the base behind the events. */
static const char newer_trace[] =
    "{\"schemaVersion\":1,\"deviceProperties\":[{\"id\":0,\"name\":\"NVIDIA H100\",\"numSms\":132},"
    "{\"id\":1,\"name\":\"other\"}],\"distributedInfo\":{\"backend\":\"nccl\",\"rank\":1,"
    "\"world_size\":2,\"pg_config\":[{\"ranks\":[0,1]}]},\"displayTimeUnit\":\"ms\","
    "\"traceEvents\":["
    "{\"ph\":\"X\",\"cat\":\"cuda_runtime\",\"name\":\"cudaLaunchKernelExC\",\"pid\":4,\"tid\":11,"
    "\"ts\":4212936054935.310,\"dur\":6.125,\"args\":{\"correlation\":52,\"External id\":8}},"
    "{\"ph\":\"X\",\"cat\":\"kernel\",\"name\":\"ncclDevKernel_AllReduce_Sum_bf16_RING_LL\","
    "\"pid\":0,\"tid\":20,\"ts\":4212936054940.001,\"dur\":12.034,\"args\":{\"device\":0,"
    "\"stream\":20,\"correlation\":52,\"External id\":8,\"Collective name\":\"allreduce\","
    "\"In msg nelems\":385,\"Out msg nelems\":385,\"Group size\":2,\"dtype\":\"BFloat16\","
    "\"In split size\":\"[]\",\"Process Group Name\":\"3\",\"Process Group Ranks\":\"[0, 1]\","
    "\"Seq\":19}},"
    "{\"ph\":\"X\",\"cat\":\"gpu_user_annotation\",\"name\":\"ProfilerStep#2\",\"pid\":0,"
    "\"tid\":20,\"ts\":4212936054939.0,\"dur\":20},"
    "{\"ph\":\"X\",\"cat\":\"cuda_sync\",\"name\":\"Stream Wait Event\",\"pid\":0,\"tid\":20,"
    "\"ts\":4212936054950.5,\"dur\":0,\"args\":{\"stream\":20,\"correlation\":60,"
    "\"wait_on_stream\":7,\"wait_on_cuda_event_record_corr_id\":52,\"wait_on_cuda_event_id\":1}},"
    "{\"ph\":\"s\",\"id\":52,\"cat\":\"ac2g\",\"name\":\"ac2g\",\"pid\":4,\"tid\":11,"
    "\"ts\":4212936054935.310},"
    "{\"ph\":\"X\",\"cat\":\"Trace\",\"name\":\"PyTorch Profiler (0)\",\"pid\":\"Spans\","
    "\"tid\":\"PyTorch Profiler\",\"ts\":4212936054900.000,\"dur\":200}"
    "],\"traceName\":\"x.json\",\"baseTimeNanoseconds\":1711964646000000000}";

#endif
