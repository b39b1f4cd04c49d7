/* SPDX-License-Identifier: Apache-2.0 */
/* Single values that are wrong: what they cost, by default and with --partial. */
#include "trace_support.h"

#include <stdio.h>

static const char kernel_head[] = "{\"ph\":\"X\",\"cat\":\"kernel\",\"name\":\"k\",\"pid\":0,"
                                  "\"tid\":7,";

/* Two sound kernels around an event of the given text. */
static st_trace *around(const char *event, bool partial, st_errors *errors)
{
    char text[1024];
    (void)snprintf(text, sizeof text, "[%s\"ts\":10,\"dur\":2.385},\n%s,\n%s\"ts\":20,\"dur\":3}]",
                   kernel_head, event, kernel_head);
    return trace_of(text, partial, errors);
}

/* Values that no view needs cost nothing but themselves: the file opens, and says so. */
TEST_WITH(odd_values_are_left_out, make_errors, drop_errors)
{
    static const struct {
        const char *members;
        const char *said;
        int64_t correlation;
    } cases[] = {
        {"\"args\":{\"memory bandwidth (GB/s)\":inf,\"correlation\":31}", "1 values without", 31},
        {"\"args\":{\"x\":[-Infinity,{\"y\":NaN}],\"correlation\":31}", "2 values without", 31},
        {"\"args\":{\"correlation\":-inf}", "1 values without a valid", -1},
        {"\"args\":{\"correlation\":nan,\"device\":Inf}", "2 values without a valid", -1},
        {"\"args\":{\"correlation\":\"none\"}", "1 values without a valid", -1},
        {"\"args\":{\"correlation\":1e3}", "1 values without", -1},
        {"\"args\":{\"correlation\":99999999999999999999}", "1 values without", -1},
        {"\"args\":{\"x\":\"a\tb\nc\"},\"y\":1", "2 control characters in strings", -1},
    };
    for (size_t i = 0; i < COUNT(cases); i++) {
        char event[512];
        (void)snprintf(event, sizeof event, "%s\"ts\":12.5,\"dur\":1,%s}", kernel_head,
                       cases[i].members);
        st_trace *trace = around(event, false, *state);
        if (trace == NULL)
            fail_msg("%s: %s", cases[i].members, said(*state));
        assert_int_equal(trace->event_count, 3);
        assert_int_equal(trace->events[1].link, cases[i].correlation);
        assert_int_equal(trace->left_out, 0);
        const char *heard = said(*state);
        assert_contains(heard, cases[i].said);
        assert_contains(heard, "t.json:2:");
        st_trace_destroy(trace);
    }
}

/* Events that cannot be placed are refused with their place; --partial uses the others. */
TEST_WITH(impossible_events_are_left_out_when_asked, make_errors, drop_errors)
{
    static const struct {
        const char *event;
        const char *refusal;
    } cases[] = {
        {"\"ts\":inf,\"dur\":1}", "t.json:2:58: error: invalid time"},
        {"\"ts\":NaN,\"dur\":1}", "invalid time"},
        {"\"ts\":true,\"dur\":1}", "invalid time"},
        {"\"ts\":[12],\"dur\":1}", "invalid time"},
        {"\"ts\":12,\"dur\":-Infinity}", "invalid time"},
        {"\"ts\":7452172800000000,\"dur\":1}", "a time is too large"},
        {"\"ts\":12,\"dur\":1152921504606847}", "a duration is too large"},
        {"\"ts\":700000000000000,\"dur\":1}", "more than 18 years apart"},
    };
    for (size_t i = 0; i < COUNT(cases); i++) {
        char event[512];
        (void)snprintf(event, sizeof event, "%s%s", kernel_head, cases[i].event);
        assert_null(around(event, false, *state));
        const char *heard = said(*state);
        assert_contains(heard, cases[i].refusal);
        assert_contains(heard, "--partial leaves");
        st_trace *trace = around(event, true, *state);
        if (trace == NULL)
            fail_msg("%s: %s", cases[i].event, said(*state));
        assert_int_equal(trace->event_count, 2);
        assert_int_equal(trace->kind_counts[ST_TRACE_KERNEL], 2);
        assert_int_equal(trace->left_out, 1);
        assert_true(trace->partial);
        st_trace_destroy(trace);
    }
    static const char *const others[] = {"5", "null", "[3]", "\"x\"",
                                         "{\"ph\":7,\"cat\":\"kernel\"}"};
    for (size_t i = 0; i < COUNT(others); i++) {
        assert_null(around(others[i], false, *state));
        st_trace *trace = around(others[i], true, *state);
        assert_non_null(trace);
        assert_int_equal(trace->event_count, 2);
        assert_int_equal(trace->left_out, 1);
        st_trace_destroy(trace);
    }
}

/* Values about the file that cannot be. */
TEST_WITH(members_are_left_out_when_asked, make_errors, drop_errors)
{
    static const char *const members[] = {
        "\"baseTimeNanoseconds\":-2385", "\"baseTimeNanoseconds\":2305843009213693952",
        "\"baseTimeNanoseconds\":1.5", "\"distributedInfo\":{\"rank\":\"two\"}"};
    for (size_t i = 0; i < COUNT(members); i++) {
        char text[256];
        (void)snprintf(text, sizeof text, "{%s,\"traceEvents\":[]}", members[i]);
        assert_null(trace_of(text, false, *state));
        st_trace *trace = trace_of(text, true, *state);
        assert_non_null(trace);
        assert_int_equal(trace->base_ns, -1);
        assert_int_equal(trace->rank, -1);
        assert_contains(said(*state), "1 values about the file are left out");
        st_trace_destroy(trace);
    }
}

/* Two calls of one number matter where a GPU task has it. */
TEST_WITH(numbers_given_twice_matter_to_tasks_alone, make_errors, drop_errors)
{
    static const char call[] = "{\"ph\":\"X\",\"cat\":\"cuda_runtime\",\"name\":\"synchronize\","
                               "\"pid\":1,\"tid\":2,\"ts\":5,\"dur\":1,"
                               "\"args\":{\"correlation\":31}}";
    for (int task = 0; task < 2; task++) {
        char text[1024];
        (void)snprintf(text, sizeof text,
                       "[%s,%s,%s\"ts\":10,\"dur\":1,\"args\":{\"correlation\":%d}}]", call, call,
                       kernel_head, 30 + task);
        st_trace *trace = trace_of(text, false, *state);
        assert_int_equal(trace != NULL, task == 0);
        st_trace_destroy(trace);
    }
}

#define ROCPROF_NAMES                                                                              \
    "\"agents\":[{\"type\":1,\"id\":{\"handle\":8},\"product_name\":\"EPYC\",\"cu_count\":96},"    \
    "{\"type\":2,\"id\":{\"handle\":9},\"name\":\"gfx942\",\"product_name\":\"AMD Instinct "       \
    "MI300X\",\"cu_count\":304,\"logical_node_type_id\":3}],"                                      \
    "\"strings\":{\"buffer_records\":[{\"kind\":\"NONE\",\"operations\":[]},"                      \
    "{\"kind\":\"HIP_RUNTIME_API\",\"operations\":[\"hipInit\",\"hipLaunchKernel\"]},"             \
    "{\"kind\":\"MEMORY_COPY\",\"operations\":[\"MEMORY_COPY_NONE\","                              \
    "\"MEMORY_COPY_HOST_TO_DEVICE\"]}],\"marker_api\":[{\"key\":77,\"value\":\"forward\"}]},"      \
    "\"kernel_symbols\":[{\"kernel_id\":5,\"kernel_name\":\"_Z\",\"formatted_kernel_name\":"       \
    "\"Cijk_Alik_MT64\"}],"

#define ROCPROF_RECORD(kind, operation, correlation, times, more)                                  \
    "{\"kind\":" kind ",\"operation\":" operation ",\"thread_id\":401,\"correlation_id\":"         \
    "{\"internal\":" correlation "}," times more "}"
#define ROCPROF_TIMES(start, end) "\"start_timestamp\":" start ",\"end_timestamp\":" end
#define ROCPROF_KERNEL(number, times)                                                              \
    ROCPROF_RECORD("11", "2", "31", times,                                                         \
                   ",\"dispatch_info\":{\"agent_id\":{\"handle\":9},\"queue_id\":{\"handle\":2},"  \
                   "\"kernel_id\":" number "},\"stream_id\":{\"handle\":6}")
#define ROCPROF_CALL   ROCPROF_RECORD("1", "1", "31", ROCPROF_TIMES("90385", "91000"), "")
#define ROCPROF_MARKER ROCPROF_RECORD("7", "1", "77", ROCPROF_TIMES("80000", "400000"), "")
#define ROCPROF_COPY                                                                               \
    ROCPROF_RECORD("2", "1", "32", ROCPROF_TIMES("300000", "302385"),                              \
                   ",\"src_agent_id\":{\"handle\":8},"                                             \
                   "\"dst_agent_id\":{\"handle\":9},\"stream_id\":{\"handle\":6}")
#define ROCPROF_LIST(name, records) "\"" name "\":[" records "]"
#define ROCPROF_COPIES              ROCPROF_LIST("memory_copy", ROCPROF_COPY)
#define ROCPROF_MARKERS             ROCPROF_LIST("marker_api", ROCPROF_MARKER)
#define ROCPROF_OTHERS              "\"hsa_api\":[{\"x\":1}]," ROCPROF_COPIES "," ROCPROF_MARKERS
#define ROCPROF_TASKS(kernels, calls)                                                              \
    ROCPROF_LIST("kernel_dispatch", kernels) "," ROCPROF_LIST("hip_api", calls) ","
#define ROCPROF_RECORDS(kernels, calls)                                                            \
    "\"buffer_records\":{" ROCPROF_TASKS(kernels, calls) ROCPROF_OTHERS "}"
#define ROCPROF(kernels)                                                                           \
    "{\"rocprofiler-sdk-tool\":[{" ROCPROF_NAMES ROCPROF_RECORDS(kernels, ROCPROF_CALL) "}]}"

#define GOOD_KERNEL ROCPROF_KERNEL("5", ROCPROF_TIMES("100385", "202770"))

TEST_WITH(rocprofv3_is_read, make_errors, drop_errors)
{
    st_trace *trace = trace_of(ROCPROF(GOOD_KERNEL), false, *state);
    if (trace == NULL)
        fail_msg("%s", said(*state));
    const st_trace_event *kernel = event_of(trace, ST_TRACE_KERNEL, 0);
    const st_trace_event *call = event_of(trace, ST_TRACE_CALL, 0);
    const st_trace_event *copy = event_of(trace, ST_TRACE_MEMCPY, 0);
    assert_string_equal(st_trace_name(trace, trace->gpu), "AMD Instinct MI300X");
    assert_int_equal(trace->sm_count, 304);
    assert_string_equal(st_trace_name(trace, kernel->name), "Cijk_Alik_MT64");
    assert_int_equal(kernel->class_, ST_TRACE_GEMM);
    assert_int_equal(kernel->start_ns, 100385);
    assert_int_equal(kernel->duration_ns, 102385);
    assert_int_equal(kernel->link, 31);
    assert_int_equal(trace->tracks[kernel->track].process, 3);
    assert_int_equal(trace->tracks[kernel->track].number, 6);
    assert_string_equal(st_trace_name(trace, call->name), "hipLaunchKernel");
    assert_int_equal(call->class_, ST_CALL_LAUNCH);
    assert_int_equal(trace->tracks[call->track].number, 401);
    assert_string_equal(st_trace_name(trace, copy->name), "Memcpy HtoD");
    assert_int_equal(copy->track, kernel->track);
    assert_string_equal(st_trace_name(trace, event_of(trace, ST_TRACE_OPERATOR, 0)->name),
                        "forward");
    assert_int_equal(st_errors_size(*state), 0);
    st_trace_destroy(trace);
}

TEST_WITH(rocprofv3_events_are_left_out_when_asked, make_errors, drop_errors)
{
    static const struct {
        const char *text;
        const char *refusal;
    } cases[] = {
        {ROCPROF(GOOD_KERNEL "," ROCPROF_KERNEL("5", ROCPROF_TIMES("202770", "100385"))),
         "a record has an impossible time"},
        {ROCPROF(GOOD_KERNEL "," ROCPROF_KERNEL("5", ROCPROF_TIMES("inf", "100385"))),
         "a record has an impossible time"},
        {ROCPROF(GOOD_KERNEL "," ROCPROF_KERNEL("6", ROCPROF_TIMES("300000", "400000"))),
         "a kernel's number is not among the kernel_symbols"},
        {ROCPROF(GOOD_KERNEL "," ROCPROF_KERNEL("[]", ROCPROF_TIMES("300000", "400000"))),
         "a kernel's number is not among the kernel_symbols"},
    };
    for (size_t i = 0; i < COUNT(cases); i++) {
        assert_null(trace_of(cases[i].text, false, *state));
        assert_contains(said(*state), cases[i].refusal);
        st_trace *trace = trace_of(cases[i].text, true, *state);
        assert_non_null(trace);
        assert_int_equal(trace->kind_counts[ST_TRACE_KERNEL], 1);
        assert_int_equal(trace->left_out, 1);
        st_trace_destroy(trace);
    }
}

/* Cut at every byte, as traces of Kineto are. */
TEST_WITH(rocprofv3_may_be_cut, make_errors, drop_errors)
{
    static const char whole[] = ROCPROF(GOOD_KERNEL);
    char text[sizeof whole];
    for (size_t length = 1; length < sizeof whole - 1; length++) {
        memcpy(text, whole, length);
        text[length] = '\0';
        assert_null(trace_of(text, false, *state));
        st_trace_destroy(trace_of(text, true, *state));
    }
}

/* Several processes are ranks; without calls the remedy is named. */
TEST_WITH(rocprofv3_processes_are_parts, make_errors, drop_errors)
{
    static const char process[] = ROCPROF_NAMES ROCPROF_RECORDS(GOOD_KERNEL, "");
    char text[4096];
    (void)snprintf(text, sizeof text, "{\"rocprofiler-sdk-tool\":[{%s},{%s}]}", process, process);
    st_trace *trace = trace_of(text, false, *state);
    assert_non_null(trace);
    assert_int_equal(trace->parts, 2);
    assert_int_equal(trace->event_count, 3);
    assert_contains(said(*state), "rocprofv3 --hip-trace");
    st_trace_destroy(trace);
}

TESTS(trace_values);
