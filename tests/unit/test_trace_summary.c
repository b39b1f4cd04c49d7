/* SPDX-License-Identifier: Apache-2.0 */
/* What is added up of a recording: classes and names, calls and records, streams, steps, the share
 * of each millisecond; and what its values are read as. */
#include "trace_view_support.h"
#include "../support/fixture.h"

#include "trace/scan.h"
#include "base/numbered_texts.h"

FIXTURE(st_trace *trace; st_trace_summary made;, st_trace_destroy(own->trace););

#define END "{\"ph\":\"M\",\"name\":\"process_name\",\"pid\":0}]}"
#define SYNC(name, ts, corr, record)                                                               \
    "{\"ph\":\"X\",\"cat\":\"cuda_sync\",\"name\":\"" name "\",\"pid\":0,\"tid\":7,\"ts\":" ts     \
    ",\"dur\":0,\"args\":{\"stream\":7,\"correlation\":" corr                                      \
    ",\"wait_on_stream\":20,\"wait_on_cuda_event_record_corr_id\":" record "}},"

static void summarize(fixture *own, const char *text)
{
    own->trace = trace_of(text, false, own->errors);
    if (own->trace == NULL)
        fail_msg("%s", said(own->errors));
    st_trace_summarize(own->trace, own->arena, &own->made);
}

static void assert_tally(const st_trace_tally *tally, const char *name, uint64_t count,
                         int64_t total_ns)
{
    assert_string_equal(tally->name, name);
    assert_int_equal(tally->count, count);
    assert_int_equal(tally->total_ns, total_ns);
}

/* Two GEMMs, of which the second begins before the first ends, a fill as long as one of them, a
 * kernel that a graph launched with another one, and one without a call. */
static const char mixed_trace[] = "{\"traceEvents\":[" STEP("7", "100", "60")
    CALL("cudaLaunchKernel", "102", "5", "31") TASK("sgemm", "7", "110", "20", "31")
        CALL("cudaLaunchKernel", "108", "4", "32") TASK("sgemm", "7", "125", "2.385", "32")
            TASK("gelu", "7", "129", "10", "33") CALL("cudaGraphLaunch", "113", "4", "34")
                TASK("relu", "20", "120", "6", "34") TASK("relu", "20", "126", "6", "34")
                    TASK("fill", "21", "150", "10", "99") CALL("cudaEventRecord", "140", "1", "40")
                        CALL("cudaEventRecord", "141", "1", "41")
                            CALL("cudaStreamWaitEvent", "142", "1", "42")
                                CALL("cudaStreamSynchronize", "143", "3", "43")
                                    CALL("cudaDeviceSynchronize", "146", "2", "44")
                                        CALL("cudaEventSynchronize", "148", "4", "45")
                                            CALL("cudaEventQuery", "152", "9", "46")
                                                SYNC("Stream Wait Event", "142", "42", "40")
                                                    SYNC("Stream Sync", "143", "43", "-1")
                                                        SYNC("Stream Sync", "144", "47", "-1") END;

TEST_OF(tasks_are_counted_by_class_and_name, fixture *own, set_up, tear_down)
{
    summarize(own, mixed_trace);
    const st_trace_summary *made = &own->made;
    assert_int_equal(made->gpu_tasks, 6);
    assert_int_equal(made->kernel_count, 4);
    assert_tally(&made->kernels[0], "sgemm", 2, 22385);
    assert_tally(&made->kernels[1], "relu", 2, 12000);
    assert_tally(&made->kernels[2], "fill", 1, 10000); /* of equal ones by name */
    assert_tally(&made->kernels[3], "gelu", 1, 10000);
    assert_int_equal(made->kernels[0].class_, ST_TRACE_GEMM);
    assert_tally(&made->classes[ST_TRACE_GEMM], "gemm", 2, 22385);
    assert_tally(&made->classes[ST_TRACE_ELEMENTWISE], "elementwise", 3, 22000);
    assert_tally(&made->classes[ST_TRACE_ATTENTION], "attention", 0, 0);
    assert_int_equal(made->collectives, 0);
    assert_int_equal(made->described_collectives, 0);
}

TEST_OF(calls_and_records_are_counted, fixture *own, set_up, tear_down)
{
    summarize(own, mixed_trace);
    const st_trace_summary *made = &own->made;
    assert_int_equal(made->records, 2);
    assert_int_equal(made->waits, 1);
    assert_int_equal(made->exact_waits, 1);
    assert_int_equal(made->launches_linked, 3);
    assert_int_equal(made->unlaunched, 2);
    assert_int_equal(made->sync_call_count, 3);
    assert_tally(&made->sync_calls[0], "cudaEventSynchronize", 1, 4000);
    assert_tally(&made->sync_calls[1], "cudaStreamSynchronize", 1, 3000);
    assert_tally(&made->sync_calls[2], "cudaDeviceSynchronize", 1, 2000);
    assert_int_equal(made->sync_record_count, 2);
    assert_tally(&made->sync_records[0], "Stream Sync", 2, 0);
    assert_tally(&made->sync_records[1], "Stream Wait Event", 1, 0);
}

/* Of stream 7 two begin before the first has ended, the second of which after the one before it; on
 * stream 20 each begins where the one before it ends. */
TEST_OF(overlaps_on_streams_are_counted, fixture *own, set_up, tear_down)
{
    summarize(own, mixed_trace);
    assert_int_equal(own->made.streams, 3);
    assert_int_equal(own->made.overlaps, 2);
}

/* The window begins with the first call, at 102 us, and ends with the last question, at 161. The
 * GPU works from 110 to 139 us and from 150 to 160. */
TEST_OF(steps_are_clipped_and_periods_have_shares, fixture *own, set_up, tear_down)
{
    summarize(own, mixed_trace);
    const st_trace_summary *made = &own->made;
    assert_int_equal(made->window_start_ns, 102000);
    assert_int_equal(made->time.window_ns, 59000);
    assert_int_equal(made->time.exposed_compute_ns, 39000);
    assert_int_equal(made->time.idle_ns, 20000);
    assert_int_equal(made->step_count, 1);
    assert_string_equal(made->steps[0].name, "ProfilerStep#7");
    assert_int_equal(made->steps[0].start_ns, -2000);
    assert_int_equal(made->steps[0].duration_ns, 60000);
    assert_int_equal(made->steps[0].time.window_ns, 60000);
    assert_int_equal(made->steps[0].time.exposed_compute_ns, 39000);
    assert_int_equal(made->period_ns, 1000000);
    assert_int_equal(made->period_count, 1);
    assert_true(fabs(made->utilization_frac[0] - 39.0 / 59) < 1e-12);
}

/* 2.385 ms: two whole periods and a part. */
TEST_OF(the_last_period_may_be_short, fixture *own, set_up, tear_down)
{
    summarize(own, "{\"traceEvents\":[" CALL("cudaLaunchKernel", "100", "5", "31")
                       TASK("sgemm", "7", "600", "750", "31")
                           CALL("cudaDeviceSynchronize", "110", "2375", "44") END);
    assert_int_equal(own->made.period_count, 3);
    assert_true(fabs(own->made.utilization_frac[0] - 0.5) < 1e-12);
    assert_true(fabs(own->made.utilization_frac[1] - 0.25) < 1e-12);
    assert_true(own->made.utilization_frac[2] == 0);
}

/* A million periods are the most: of as many milliseconds each has ten. */
TEST_WITH(long_recordings_have_longer_periods, set_up, tear_down)
{
    static const struct {
        const char *duration_us;
        int64_t period_ns;
        size_t count;
    } cases[] = {{"999999999", 1000000, 1000000}, {"1000000000", 10000000, 100000}};
    fixture *own = *state;
    for (size_t i = 0; i < COUNT(cases); i++) {
        char text[512];
        (void)snprintf(text, sizeof text,
                       "{\"traceEvents\":[{\"ph\":\"X\",\"cat\":\"kernel\",\"name\":\"sgemm\","
                       "\"pid\":0,\"tid\":7,\"ts\":100,\"dur\":%s,\"args\":{\"device\":0,"
                       "\"stream\":7,\"correlation\":31}}]}",
                       cases[i].duration_us);
        st_trace_destroy(own->trace);
        summarize(own, text);
        assert_int_equal(own->made.period_ns, cases[i].period_ns);
        assert_int_equal(own->made.period_count, cases[i].count);
        assert_true(fabs(own->made.utilization_frac[cases[i].count - 1] - 1) < 1e-9);
    }
}

/* ---- values ---- */

/* Whole numbers, which some tools spell with a fraction of zeros. */
TEST_WITH(whole_values_may_end_in_zeros, set_up, tear_down)
{
    static const struct {
        const char *text;
        bool is_whole;
        int64_t value;
    } cases[] = {{"17", true, 17},
                 {"17.0", true, 17},
                 {"17.000", true, 17},
                 {"170", true, 170},
                 {"100", true, 100},
                 {"-17.0", true, -17},
                 {"0", true, 0},
                 {"0.0", true, 0},
                 {"-0", true, 0},
                 {"1.70", false, 0},
                 {"17.", false, 0},
                 {"1.7", false, 0},
                 {"", false, 0},
                 {"-", false, 0},
                 {"17x", false, 0},
                 {"1e3", false, 0},
                 {"00", true, 0},
                 {"9223372036854775790", true, INT64_C(9223372036854775790)},
                 {"92233720368547758000", false, 0}};
    (void)state;
    for (size_t i = 0; i < COUNT(cases); i++) {
        int64_t value = 2385;
        if (st_whole_value(cases[i].text, strlen(cases[i].text), &value) != cases[i].is_whole)
            fail_msg("'%s' is %s", cases[i].text, cases[i].is_whole ? "none" : "one");
        assert_int_equal(value, cases[i].is_whole ? cases[i].value : 2385);
    }
}

/* Digits beyond a nanosecond are cut, however many there are. */
TEST_WITH(times_are_cut_to_nanoseconds, set_up, tear_down)
{
    static const struct {
        const char *text;
        int64_t time_ns;
    } cases[] = {{"23.8509", 23850},          {"23.85099", 23850}, {"0.00099", 0},
                 {"0.0109999999", 10},        {"2385e-5", 23},     {"-0.0019", -1},
                 {"1.2345678901e4", 12345678}};
    (void)state;
    for (size_t i = 0; i < COUNT(cases); i++) {
        int64_t time_ns = 0;
        bool decimals = false;
        assert_true(st_time_ns(cases[i].text, strlen(cases[i].text), &time_ns, &decimals));
        assert_int_equal(time_ns, cases[i].time_ns);
        assert_true(decimals);
    }
}

/* Escapes become what they stand for, in one to three bytes; controls, halves of pairs and bytes
 * that are no UTF-8 become question marks. */
TEST_WITH(names_are_decoded, set_up, tear_down)
{
    static const struct {
        const char *text;
        bool escaped;
        const char *name;
    } cases[] = {{"sgemm", false, "sgemm"},
                 {"f<\\u0041>", true, "f<A>"},
                 {"\\u00e9", true, "\xC3\xA9"},
                 {"\\u07FF", true, "\xDF\xBF"},
                 {"\\u0800", true, "\xE0\xA0\x80"},
                 {"x\\u4e2Dy", true, "x\xE4\xB8\xADy"},
                 {"\\uFFfD", true, "\xEF\xBF\xBD"},
                 {"\\u007f", true, "?"},
                 {"\\u001f\\u0020", true, "? "},
                 {"\\ud83d\\ude00", true, "??"},
                 {"\\ud7ff\\ue000", true, "\xED\x9F\xBF\xEE\x80\x80"},
                 {"a\\nb\\t\\r\\f\\bc", true, "a b    c"},
                 {"a\\/b\\\\c\\\"d", true, "a/b\\c\"d"},
                 {"caf\xC3\xA9", false, "caf\xC3\xA9"},
                 {"caf\xC3", false, "caf?"},
                 {"a\x7F\x01z", false, "a??z"},
                 {"~ ", false, "~ "}};
    st_names names;
    (void)state;
    assert_int_equal(st_names_init(&names), ST_OK);
    for (size_t i = 0; i < COUNT(cases); i++) {
        uint32_t number = 0;
        size_t length = strlen(cases[i].text);
        assert_int_equal(st_names_add(&names, cases[i].text, length, cases[i].escaped, &number),
                         ST_OK);
        assert_string_equal(names.texts[number], cases[i].name);
    }
    st_names_free(&names);
}

/* However it is spelled, and beside others of which it is the beginning. */
TEST_WITH(equal_names_have_one_number, set_up, tear_down)
{
    static const struct {
        const char *text;
        bool escaped;
        uint32_t number;
    } cases[] = {{"sgemm_128x64", false, 0},
                 {"sgemm", false, 1},
                 {"sgemm_128", false, 2},
                 {"sgemm", false, 1},
                 {"s\\u0067emm", true, 1},
                 {"", false, 3},
                 {"", false, 3},
                 {"sgemm_128x64", false, 0},
                 {"caf\xC3\xA9", false, 4},
                 {"caf\\u00e9", true, 4},
                 {"sgemm_128x64 ", false, 5},
                 {"sgemm_128", true, 2}};
    st_names names;
    (void)state;
    assert_int_equal(st_names_init(&names), ST_OK);
    for (size_t i = 0; i < COUNT(cases); i++) {
        uint32_t number = 2385;
        size_t length = strlen(cases[i].text);
        assert_int_equal(st_names_add(&names, cases[i].text, length, cases[i].escaped, &number),
                         ST_OK);
        assert_int_equal(number, cases[i].number);
    }
    assert_int_equal(names.count, 6);
    assert_int_equal(names.bytes, 12 + 5 + 9 + 0 + 5 + 13);
    st_names_free(&names);
}

/* Tracks that differ in one thing alone are apart: the process, the number, what they are. */
TEST_OF(tracks_are_told_apart, fixture *own, set_up, tear_down)
{
    own->trace = trace_of(
        "{\"traceEvents\":[" CALL("cudaLaunchKernel", "102", "5", "31") TASK(
            "sgemm", "2", "110", "20",
            "31") "{\"ph\":\"X\",\"cat\":\"kernel\",\"name\":\"sgemm\",\"pid\":4,\"tid\":2,"
                  "\"ts\":140,\"dur\":5,\"args\":{\"device\":4,\"stream\":2,\"correlation\":32}},"
                  "{\"ph\":\"X\",\"cat\":\"cuda_runtime\",\"name\":\"cudaLaunchKernel\",\"pid\":0,"
                  "\"tid\":2,\"ts\":130,\"dur\":5,\"args\":{\"correlation\":32}},"
                  "{\"ph\":\"X\",\"cat\":\"cpu_op\",\"name\":\"x\",\"pid\":4,\"tid\":\"main\","
                  "\"ts\":130,\"dur\":5}," END,
        false, own->errors);
    assert_non_null(own->trace);
    assert_int_equal(own->trace->track_count, 5);
}

TESTS(trace_summary);
