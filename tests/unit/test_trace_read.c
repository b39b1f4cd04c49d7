/* SPDX-License-Identifier: Apache-2.0 */
/* Reading traces: every generation of the format, and every way in which a file can be wrong. */
#include "trace_support.h"
#include "../support/text_cases.h"
#include "trace/same_job.h"
#include "trace/trace.h"

#include "trace/scan.h"

#include <sys/resource.h>
#include <unistd.h>
#include <zlib.h>

TEST_WITH(test_oldest, make_errors, drop_errors)
{
    st_trace *trace = trace_of(oldest_trace, false, *state);
    assert_non_null(trace);
    assert_true(trace->is_array);
    assert_false(trace->has_decimals);
    assert_int_equal(trace->file_events, 6);
    assert_int_equal(trace->complete_events, 4);
    assert_int_equal(trace->event_count, 4);
    const st_trace_event *kernel = event_of(trace, ST_TRACE_KERNEL, 0);
    const st_trace_event *call = event_of(trace, ST_TRACE_CALL, 0);
    assert_int_equal(kernel->start_ns, 1610000000000020000);
    assert_int_equal(kernel->duration_ns, 13000);
    assert_int_equal(st_trace_correlation(trace, kernel), 77);
    assert_int_equal(kernel->class_, ST_TRACE_GEMM);
    assert_int_equal(trace->tracks[kernel->track].number, 7);
    assert_true(trace->tracks[kernel->track].is_stream);
    assert_int_equal(call->class_, ST_CALL_LAUNCH);
    assert_int_equal(trace->tracks[call->track].number, 25738);
    assert_false(trace->tracks[call->track].is_stream);
    assert_string_equal(st_trace_name(trace, event_of(trace, ST_TRACE_STEP, 0)->name),
                        "ProfilerStep#5");
    assert_int_equal(trace->rank, -1);
    assert_int_equal(trace->base_ns, -1);
    st_trace_destroy(trace);
}

TEST_WITH(test_newer, make_errors, drop_errors)
{
    st_trace *trace = trace_of(newer_trace, false, *state);
    assert_non_null(trace);
    assert_false(trace->is_array);
    assert_true(trace->has_decimals);
    assert_int_equal(trace->rank, 1);
    assert_int_equal(trace->world_size, 2);
    assert_int_equal(trace->sm_count, 132);
    assert_string_equal(st_trace_name(trace, trace->gpu), "NVIDIA H100");
    assert_string_equal(st_trace_name(trace, trace->unit), "ms");
    assert_int_equal(trace->base_ns, 1711964646000000000);
    assert_int_equal(trace->event_count, 3);
    const st_trace_event *kernel = event_of(trace, ST_TRACE_KERNEL, 0);
    assert_int_equal(kernel->start_ns, 4212936054940001);
    assert_int_equal(kernel->duration_ns, 12034);
    assert_int_equal(kernel->class_, ST_TRACE_COMMUNICATION);
    const st_trace_collective *meta = st_trace_described(trace, kernel);
    assert_string_equal(st_trace_name(trace, meta->name), "allreduce");
    assert_string_equal(st_trace_name(trace, meta->dtype), "BFloat16");
    assert_string_equal(st_trace_name(trace, meta->group), "3");
    assert_string_equal(st_trace_name(trace, meta->ranks), "[0, 1]");
    assert_int_equal(meta->in_elements, 385);
    assert_int_equal(meta->group_size, 2);
    assert_int_equal(meta->sequence, 19);
    const st_trace_wait *wait = &trace->waits[st_trace_detail(event_of(trace, ST_TRACE_SYNC, 0))];
    assert_int_equal(wait->stream, 20);
    assert_int_equal(wait->on_stream, 7);
    assert_int_equal(wait->record_correlation, 52);
    assert_int_equal(trace->category_count, 6);
    st_trace_destroy(trace);
}

static void check_time(const char *text, bool fits, int64_t expected, bool decimals)
{
    int64_t time = 2385;
    bool seen = false;
    assert_int_equal(st_time_ns(text, strlen(text), &time, &seen), fits);
    assert_int_equal(time, fits ? expected : 2385);
    assert_int_equal(seen && fits, decimals);
}

TEST(test_times)
{
    check_time("0", true, 0, false);
    check_time("1712164731093877", true, 1712164731093877000, false);
    check_time("1712164731093877.593", true, 1712164731093877593, true); /* no double holds it */
    check_time("4212936054935.31", true, 4212936054935310, true);
    check_time("0.0019", true, 1, true);
    check_time("-3.25", true, -3250, true);
    check_time("1.2385e3", true, 1238500, true);
    check_time("2385e-1", true, 238500, true);
    check_time("7E+2", true, 700000, false);
    check_time("0.00000000000000000000000000000000001", true, 0, true);
    check_time("99999999999999999999", false, 0, false);
    check_time("1e300", false, 0, false);
    check_time("1e-300", true, 0, true);
    check_time("0e9999999", true, 0, false);
    check_time("3074457345618258", true, 3074457345618258000, false);
    check_time("3074457345618259", false, 0, false);
}

/* One event with `members` in it. */
static const char *with_event(const char *members)
{
    static char text[1024];
    (void)snprintf(text, sizeof text, "{\"traceEvents\":[{\"ph\":\"X\",%s}]}", members);
    return text;
}

static void check_refused(const char *text, const char *message, st_errors *errors)
{
    assert_null(trace_of(text, false, errors));
    const char *heard = said(errors);
    if (strstr(heard, message) == NULL)
        fail_msg("'%s' says '%s', not '%s'", text, heard, message);
}

static const char *answer(void *context, const char *section, char *given, size_t length)
{
    st_errors *errors = st_errors_create();
    (void)section;
    (void)length;
    assert_null(trace_of(given, false, errors));
    const char *text = said(errors);
    st_errors_destroy(errors);
    return st_arena_copy(context, text, strlen(text));
}

TEST(test_refusals)
{
    st_arena *arena = st_arena_create();
    run_text_rows("tests/unit/cases/trace_read.txt", answer, arena, arena);
    st_arena_destroy(arena);
}

/* Values that are passed as one may have many lines; what is wrong behind them has its place. */
TEST_WITH(test_places_behind_lines, make_errors, drop_errors)
{
    check_refused(
        "{\"traceEvents\": [\n  {\"ph\": \"X\", \"cat\": \"cpu_op\",\n    \"args\": {\n"
        "      \"Dims\": [[32, 64],\n [], [2.385, -1e3]], \"of\": {}\n    },\n    \"ts\": 07}]}",
        "t.json:7:11: error: this is not JSON", *state);
    check_refused("{\"traceEvents\": [\n  {\"ph\": \"X\", \"cat\": \"cpu_op\", \"args\": {\n"
                  "      \"Dims\": [[32, 64],\n [1, ]], \"of\": {}}}]}",
                  "t.json:4:6: error: this is not JSON", *state);
}

TEST(test_classes)
{
    static const struct {
        const char *name;
        st_trace_class class_;
    } kernels[] = {
        {"ncclDevKernel_AllReduce_Sum_f16_RING_LL(ncclDevComm*)", ST_TRACE_COMMUNICATION},
        {"void deep_ep::internode::dispatch<false, 8>()", ST_TRACE_COMMUNICATION},
        {"kuserbuffers_pushsendrecv_multiatomic(int*, int*, int4*)", ST_TRACE_COMMUNICATION},
        {"void userbuffers_fp16_sum_inplace_gpu_mc_rs_oop<8>(int, int)", ST_TRACE_COMMUNICATION},
        {"void hybrid_ep::permute_kernel<unsigned char>()", ST_TRACE_COMMUNICATION},
        {"nvshmemi_barrier_all_on_stream_kernel", ST_TRACE_COMMUNICATION},
        {"allreduce_fusion_kernel_oneshot_lamport<kARResidualRMSNorm>", ST_TRACE_COMMUNICATION},
        {"void softmax_block<BlockAllReduce<SumOp, float>>", ST_TRACE_ATTENTION},
        {"bmm_MxE4m3_MxE2m1MxE4m3_Fp32_t128x16x512_s4_et128x16_swiGlu_sm100f", ST_TRACE_GEMM},
        {"fused_moe_kernel", ST_TRACE_GEMM},
        {"triton_tem_fused_addmm_0", ST_TRACE_GEMM},
        {"void moe::topkGatingSoftmax<4, 16>(float const*)", ST_TRACE_ELEMENTWISE},
        {"sage_fwd", ST_TRACE_ATTENTION},
        {"void at::native::RowwiseMomentsCUDAKernel<c10::BFloat16, float>", ST_TRACE_NORM},
        {"void transformer_engine::cast_transpose_kernel<fp8e4m3>", ST_TRACE_ELEMENTWISE},
        {"ampere_fp16_s16816gemm_fp16_128x128_ldg8_f2f_stages_32x5_tn", ST_TRACE_GEMM},
        {"Cijk_Alik_Bljk_SB_Bias_AS_SAV_UserArgs_MT64x16x32", ST_TRACE_GEMM},
        {"nvjet_hsh_128x256_64x4_2x1_v_bz_coopA_NNT", ST_TRACE_GEMM},
        {"void cutlass::Kernel2<cutlass_80_tensorop_f16_s16816gemm>(", ST_TRACE_GEMM},
        {"pytorch_flash::flash_fwd_kernel<Flash_fwd_kernel_traits<128>>", ST_TRACE_ATTENTION},
        {"fmha_cutlassB_bf16_aligned_64x64_k64_sm80(PyTorchMemEffAttention)", ST_TRACE_ATTENTION},
        {"void (anonymous namespace)::softmax_warp_forward<float>", ST_TRACE_ATTENTION},
        {"void at::native::(anonymous namespace)::vectorized_layer_norm_kernel", ST_TRACE_NORM},
        {"void cudnn::bn_bw_1C11_kernel_new<float>", ST_TRACE_NORM},
        {"void multi_tensor_apply_kernel<TensorListMetadata<4>, AdamFunctor<float>>",
         ST_TRACE_OPTIMIZER},
        {"void at::native::vectorized_elementwise_kernel<4, at::native::sqrt_kernel_cuda("
         "at::TensorIteratorBase&)::{lambda()#2}>",
         ST_TRACE_ELEMENTWISE},
        {"void at::native::elementwise_kernel<at::native::direct_copy_kernel_cuda()::{lambda()}>",
         ST_TRACE_MEMORY},
        {"Memcpy HtoD (Pinned -> Device)", ST_TRACE_MEMORY},
        {"triton_poi_fused_add_0", ST_TRACE_ELEMENTWISE},
        {"spin_kernel(long)", ST_TRACE_OTHER},
        {"", ST_TRACE_OTHER},
    };
    (void)state;
    for (size_t i = 0; i < COUNT(kernels); i++) {
        if (st_trace_classify(kernels[i].name) != kernels[i].class_)
            fail_msg("%s: %s", kernels[i].name,
                     st_trace_class_name(st_trace_classify(kernels[i].name)));
    }
    assert_string_equal(st_trace_class_name(ST_TRACE_CLASSES), "");
}

/* A window of 2.2 ms: the last of its periods is a fifth as long. */
TEST_WITH(test_periods, make_errors, drop_errors)
{
    static const double shares[] = {0.3, 0.4, 1};
    st_trace *trace =
        trace_of("[{\"ph\":\"X\",\"cat\":\"kernel\",\"name\":\"k\",\"ts\":1000,\"dur\":300,"
                 "\"args\":{\"stream\":7}},{\"ph\":\"X\",\"cat\":\"kernel\",\"name\":\"k\","
                 "\"ts\":2600,\"dur\":600,\"args\":{\"stream\":7}}]",
                 false, *state);
    st_arena *arena = st_arena_create();
    st_trace_summary summary;
    assert_non_null(arena);
    assert_non_null(trace);
    st_trace_summarize(trace, arena, &summary);
    assert_int_equal(summary.period_count, 3);
    for (size_t i = 0; i < 3; i++)
        if (fabs(summary.utilization_frac[i] - shares[i]) > 1e-9)
            fail_msg("period %zu: %g", i, summary.utilization_frac[i]);
    st_arena_destroy(arena);
    st_trace_destroy(trace);
}

TEST_WITH(test_depth, make_errors, drop_errors)
{
    char text[256];
    size_t used = (size_t)snprintf(text, sizeof text, "{\"a\":");
    memset(text + used, '[', 61);
    text[used + 61] = '\0';
    check_refused(text, "values are nested too deeply", *state);
    memset(text + used + 60, ']', 60);
    (void)snprintf(text + used + 120, 64, ",\"traceEvents\":[]}");
    st_trace *trace = trace_of(text, false, *state);
    assert_non_null(trace);
    st_trace_destroy(trace);
}

/* Values of the right kind spelled in other ways are taken, others are reported with their place.
 */
TEST_WITH(test_spelling, make_errors, drop_errors)
{
    st_trace *trace =
        trace_of(with_event("\"cat\":\"kernel\",\"name\":\"k\",\"ts\":\"4212936054935.31\","
                            "\"dur\":\"2.385\",\"args\":{\"correlation\":31.0,\"stream\":7.00,"
                            "\"device\":1.5}"),
                 false, *state);
    assert_non_null(trace);
    assert_int_equal(trace->events[0].start_ns, 4212936054935310);
    assert_int_equal(trace->events[0].duration_ns, 2385);
    assert_int_equal(trace->events[0].link, 31);
    assert_int_equal(trace->tracks[trace->events[0].track].number, 7);
    st_trace_destroy(trace);
}

/* Nothing is made up for an event without name, time or duration. */
TEST_WITH(test_incomplete, make_errors, drop_errors)
{
    static const struct {
        const char *members;
        const char *lacks;
    } cases[] = {
        {"\"cat\":\"kernel\",\"name\":\"k\",\"ts\":2.5", "has no 'dur'"},
        {"\"cat\":\"kernel\",\"name\":\"k\",\"ts\":2.5,\"dur\":null", "has no 'dur'"},
        {"\"cat\":\"cuda_runtime\",\"name\":\"k\",\"dur\":2.5", "has no 'ts'"},
        {"\"cat\":\"gpu_memcpy\",\"ts\":1.5,\"dur\":2.5", "'gpu_memcpy' has no 'name'"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        const char *text = with_event(cases[i].members);
        check_refused(text, cases[i].lacks, *state);
        st_trace *trace = trace_of(text, true, *state);
        assert_non_null(trace);
        assert_true(trace->partial);
        assert_int_equal(trace->left_out, 1);
        assert_int_equal(trace->event_count, 0);
        assert_non_null(strstr(said(*state), "without a name, time or duration are left out"));
        st_trace_destroy(trace);
    }
    /* what is of no use may lack what it likes */
    st_trace *trace = trace_of(with_event("\"cat\":\"overhead\",\"name\":\"k\""), false, *state);
    assert_non_null(trace);
    st_trace_destroy(trace);
}

/* Who and when the file says it is: nothing that cannot be read is taken as not given. */
TEST_WITH(test_identity, make_errors, drop_errors)
{
    st_trace *trace = trace_of("{\"distributedInfo\":{\"rank\":-1,\"world_size\":-1},"
                               "\"baseTimeNanoseconds\":\"2385\",\"traceEvents\":[]}",
                               false, *state);
    assert_non_null(trace);
    assert_int_equal(trace->rank, -1);
    assert_int_equal(trace->base_ns, 2385);
    st_trace_destroy(trace);
}

TEST_WITH(test_unknown_values, make_errors, drop_errors)
{
    st_trace *trace = trace_of(
        with_event("\"cat\":\"kernel\",\"name\":\"a\\u00e9\\\"\\n\\ud800z\",\"pid\":null,\"tid\":1."
                   "5,\"ts\":1.5,\"dur\":0,\"args\":[{\"correlation\":3}],\"x\":{\"y\":[true,false,"
                   "null]}"),
        false, *state);
    assert_non_null(trace);
    assert_string_equal(st_trace_name(trace, trace->events[0].name), "a\xC3\xA9\" ?z");
    assert_int_equal(trace->events[0].link, -1);
    assert_int_equal(trace->events[0].duration_ns, 0);
    st_trace_destroy(trace);
    trace =
        trace_of(with_event("\"cat\":\"kernel\",\"name\":\"\xFFz\",\"ts\":1,\"dur\":0,\"args\":{"
                            "\"correlation\":\"x\",\"dtype\":7,\"stream\":true}"),
                 false, *state);
    assert_non_null(trace);
    assert_string_equal(st_trace_name(trace, trace->events[0].name), "?z");
    st_trace_destroy(trace);
    trace = trace_of(with_event("\"cat\":7,\"name\":8,\"ph\":\"XX\""), false, *state);
    assert_non_null(trace);
    assert_int_equal(trace->event_count, 0);
    st_trace_destroy(trace);
}

/* Cut at every byte, a file is refused with a reason, and never read beyond its end. */
TEST_WITH(test_cut, make_errors, drop_errors)
{
    size_t whole = sizeof newer_trace - 1;
    for (size_t length = 0; length < whole; length++) {
        char *copy = malloc(length + 1);
        st_trace *trace = NULL;
        assert_non_null(copy);
        memcpy(copy, newer_trace, length);
        assert_int_not_equal(st_trace_read_memory("t.json", copy, length, NULL, &trace, *state),
                             ST_OK);
        assert_null(trace);
        assert_non_null(strstr(said(*state), "t.json:1:"));
        free(copy);
    }
    char text[sizeof newer_trace];
    memcpy(text, newer_trace, sizeof text);
    strstr(text, "\"Seq\"")[0] = '\0';
    check_refused(text, "the file ends in the middle, after 1 events; --partial", *state);
    st_trace *trace = trace_of(text, true, *state);
    assert_non_null(trace);
    assert_true(trace->partial);
    assert_int_equal(trace->event_count, 1);
    st_trace_destroy(trace);
}

static size_t compress_text(const char *text, size_t length, unsigned char *out, size_t capacity)
{
    z_stream stream = {0};
    assert_int_equal(deflateInit2(&stream, 6, Z_DEFLATED, 31, 8, Z_DEFAULT_STRATEGY), Z_OK);
    unsigned char *copy = malloc(length);
    assert_non_null(copy);
    memcpy(copy, text, length);
    stream.next_in = copy;
    stream.avail_in = (uInt)length;
    stream.next_out = out;
    stream.avail_out = (uInt)capacity;
    assert_int_equal(deflate(&stream, Z_FINISH), Z_STREAM_END);
    size_t used = capacity - stream.avail_out;
    assert_int_equal(deflateEnd(&stream), Z_OK);
    free(copy);
    return used;
}

TEST_WITH(test_gzip, make_errors, drop_errors)
{
    unsigned char packed[4096];
    st_trace *trace = NULL;
    st_trace_options partial = {.partial = true};
    size_t half = sizeof newer_trace / 2;
    size_t first = compress_text(newer_trace, half, packed, sizeof packed);
    size_t used = first + compress_text(newer_trace + half, sizeof newer_trace - 1 - half,
                                        packed + first, sizeof packed - first);
    const char *data = (const char *)packed;
    assert_int_equal(st_trace_read_memory("t.gz", data, used, NULL, &trace, *state), ST_OK);
    assert_int_equal(trace->event_count, 3);
    assert_false(trace->partial);
    st_trace_destroy(trace);
    trace = NULL;
    assert_int_equal(st_trace_read_memory("t.gz", data, used - 1, NULL, &trace, *state),
                     ST_ERR_SYNTAX);
    assert_non_null(strstr(said(*state), "the gzip data end in the middle, after 6 events"));
    assert_int_equal(st_trace_read_memory("t.gz", data, 30, NULL, &trace, *state), ST_ERR_SYNTAX);
    assert_non_null(strstr(said(*state), "the gzip data end before the first event"));
    assert_int_equal(st_trace_read_memory("t.gz", data, used - 1, &partial, &trace, *state), ST_OK);
    assert_true(trace->partial);
    st_trace_destroy(trace);
    trace = NULL;
    packed[40] ^= 0x55;
    assert_int_equal(st_trace_read_memory("t.gz", data, used, &partial, &trace, *state),
                     ST_ERR_SYNTAX);
    assert_non_null(strstr(said(*state), "the gzip data are damaged"));
}

TEST_WITH(test_two_times, make_errors, drop_errors)
{
    static const char *const times[] = {"\"ts\":1,\"dur\":2,\"dur\":2.385",
                                        "\"ts\":23.85,\"dur\":2,\"ts\":1"};
    for (size_t i = 0; i < 2; i++) {
        char members[128];
        (void)snprintf(members, sizeof members, "\"cat\":\"kernel\",\"name\":\"k\",%s", times[i]);
        const char *text = with_event(members);
        check_refused(text, "two times under one key: expected one", *state);
        st_trace *trace = trace_of(text, true, *state);
        assert_int_equal(trace->left_out, 1);
        st_trace_destroy(trace);
    }
    st_trace *trace = trace_of(with_event("\"cat\":\"kernel\",\"name\":\"k\",\"ts\":1,\"ts\":1.0,"
                                          "\"dur\":2.385"),
                               false, *state);
    assert_int_equal(trace->event_count, 1);
    st_trace_destroy(trace);
}

TEST_WITH(test_negative, make_errors, drop_errors)
{
    const char *text = with_event("\"cat\":\"kernel\",\"name\":\"k\",\"ts\":1,\"dur\":-2.385");
    check_refused(text, "the event 'k' has a negative duration: found -2.385 us", *state);
    st_trace *trace = trace_of(text, true, *state);
    assert_non_null(trace);
    assert_int_equal(trace->left_out, 1);
    assert_int_equal(trace->event_count, 0);
    assert_true(trace->partial);
    st_trace_destroy(trace);
}

/* Of one kind alone, or both. */
TEST_WITH(test_left_out, make_errors, drop_errors)
{
    static const char negative[] = "{\"ph\":\"X\",\"cat\":\"kernel\",\"name\":\"k\",\"pid\":0,"
                                   "\"tid\":7,\"ts\":1,\"dur\":-2}";
    static const char nameless[] =
        "{\"ph\":\"X\",\"cat\":\"kernel\",\"pid\":0,\"tid\":7,\"ts\":1,\"dur\":2}";
    static const struct {
        const char *events[2];
        const char *words;
    } cases[] = {{{negative, negative}, "2 events of negative duration are left out"},
                 {{nameless, nameless}, "2 events without a name, time or duration are left out"},
                 {{negative, nameless}, "1 events of negative duration are left out"}};
    for (size_t i = 0; i < ST_COUNT(cases); i++) {
        char text[512];
        (void)snprintf(text, sizeof text, "[%s,%s]", cases[i].events[0], cases[i].events[1]);
        st_trace *trace = trace_of(text, true, *state);
        assert_non_null(trace);
        assert_int_equal(trace->left_out, 2);
        assert_int_equal(st_errors_size(*state), i < 2 ? 1 : 2);
        assert_contains(said(*state), cases[i].words);
        st_trace_destroy(trace);
    }
}

/* Messages have 100 characters of a name at most. */
TEST_WITH(test_long_name, make_errors, drop_errors)
{
    char members[256];
    char name[102];
    memset(name, 'k', 101);
    name[101] = '\0';
    for (int length = 100; length <= 101; length++) {
        char expected[160];
        (void)snprintf(members, sizeof members,
                       "\"cat\":\"kernel\",\"name\":\"%.*s\",\"ts\":1,\"dur\":-2", length, name);
        (void)snprintf(expected, sizeof expected, "the event '%.100s' has a negative", name);
        check_refused(with_event(members), expected, *state);
    }
}

/* Ranges of no length are kept, of a negative one only their event is told. */
TEST_WITH(test_ranges, make_errors, drop_errors)
{
    static const char text[] =
        "[{\"ph\":\"X\",\"cat\":\"user_annotation\",\"name\":\"a\",\"pid\":1,\"tid\":2,\"ts\":1,"
        "\"dur\":0},{\"ph\":\"X\",\"cat\":\"user_annotation\",\"name\":\"b\",\"pid\":1,\"tid\":2,"
        "\"ts\":1,\"dur\":-1},{\"ph\":\"X\",\"cat\":\"user_annotation\",\"name\":\"c\",\"pid\":1,"
        "\"tid\":2,\"ts\":3,\"dur\":7},{\"ph\":\"B\",\"cat\":\"user_annotation\",\"name\":\"d\","
        "\"pid\":1,\"tid\":2,\"ts\":3,\"dur\":7}]";
    st_trace *trace = NULL;
    const st_trace_options options = {.details = true, .partial = true};
    assert_int_equal(st_trace_read_memory("t.json", text, strlen(text), &options, &trace, *state),
                     ST_OK);
    assert_int_equal(trace->frame_count, 2);
    assert_string_equal(st_trace_name(trace, trace->frames[0].name), "a");
    assert_string_equal(st_trace_name(trace, trace->frames[1].name), "c");
    assert_int_equal(trace->frames[1].duration_ns, 7000);
    assert_int_equal(trace->frames[1].kind, ST_FRAME_ANNOTATION);
    st_trace_destroy(trace);
    st_errors_clear(*state);
}

/* Two calls, and a kernel of the second. */
static const char *with_calls(int first_us, int first_id, int second_us, int second_id,
                              int kernel_us)
{
    static char text[2048];
    (void)snprintf(
        text, sizeof text,
        "[{\"ph\":\"X\",\"cat\":\"cuda_runtime\",\"name\":\"cudaLaunchKernel\",\"pid\":1,"
        "\"tid\":2,\"ts\":%d,\"dur\":3,\"args\":{\"correlation\":%d}},"
        "{\"ph\":\"X\",\"cat\":\"cuda_runtime\",\"name\":\"cudaLaunchKernel\",\"pid\":1,"
        "\"tid\":2,\"ts\":%d,\"dur\":3,\"args\":{\"correlation\":%d}},"
        "{\"ph\":\"X\",\"cat\":\"kernel\",\"name\":\"k\",\"pid\":0,\"tid\":7,\"ts\":%d,"
        "\"dur\":3,\"args\":{\"correlation\":%d}}]",
        first_us, first_id, second_us, second_id, kernel_us, second_id);
    return text;
}

static void check_doubtful(const char *text, const char *message, st_errors *errors)
{
    check_refused(text, message, errors);
    st_trace *trace = trace_of(text, true, errors);
    assert_non_null(trace);
    assert_non_null(strstr(said(errors), "warning"));
    st_trace_destroy(trace);
}

TEST_WITH(test_doubtful, make_errors, drop_errors)
{
    st_trace *trace = trace_of(with_calls(100, 41, 200, 42, 190), false, *state);
    assert_non_null(trace); /* clocks of host and GPU differ a little */
    st_trace_destroy(trace);
    trace = trace_of(with_calls(100, -5, 200, 1, 210), false, *state);
    st_trace_destroy(trace);
    check_doubtful(with_calls(100, 42, 200, 42, 210),
                   "several calls have one correlation id: 1 times", *state);
    check_doubtful(with_calls(5100, 41, 100, 42, 110),
                   "a clock jumps backwards: call 42 of a thread is recorded 5.000 ms before call "
                   "41",
                   *state);
    check_doubtful(with_calls(100, 41, 5200, 42, 200), "begins 5.000 ms before the call", *state);
}

TEST_WITH(test_streams, make_errors, drop_errors)
{
    st_buffer text = {0};
    st_buffer_text(&text, "[");
    for (int i = 0; i <= ST_TRACE_MAX_STREAMS; i++)
        st_buffer_printf(&text,
                         "%s{\"ph\":\"X\",\"cat\":\"kernel\",\"name\":\"k\",\"pid\":0,\"tid\":%d,"
                         "\"ts\":%d,\"dur\":1}",
                         i > 0 ? ",\n" : "", i, i);
    st_buffer_text(&text, "]");
    assert_false(text.failed);
    assert_null(trace_of(text.data, false, *state));
    const char *heard = said(*state);
    assert_non_null(strstr(heard, "t.json:4097:"));
    assert_non_null(strstr(heard, "too many streams"));
    st_buffer_free(&text);
}

/* Memory is for what is kept: a file of which nothing is kept takes no more the longer it is. */
TEST_WITH(test_bounded, make_errors, drop_errors)
{
    enum { EVENTS = 40000, TEXT = 700, MOST_KIB = 8192 };
    char path[] = "/tmp/steptime-trace-XXXXXX";
    char stack[TEXT + 1];
    struct rusage before;
    struct rusage after;
    int descriptor = mkstemp(path);
    assert_true(descriptor >= 0);
    FILE *file = fdopen(descriptor, "w");
    assert_non_null(file);
    memset(stack, 'x', TEXT);
    stack[TEXT] = '\0';
    fputs("[", file);
    for (int i = 0; i < EVENTS; i++)
        fprintf(file,
                "{\"ph\":\"X\",\"cat\":\"python_function\",\"name\":\"f\",\"pid\":1,\"tid\":2,"
                "\"ts\":%d,\"dur\":1,\"args\":{\"stack\":\"%s\"}},\n",
                i, stack);
    fputs("{\"ph\":\"X\",\"cat\":\"kernel\",\"name\":\"k\",\"pid\":0,\"tid\":7,\"ts\":23,"
          "\"dur\":85}]",
          file);
    assert_int_equal(fclose(file), 0);
    st_trace *trace = NULL;
    assert_int_equal(getrusage(RUSAGE_SELF, &before), 0);
    assert_int_equal(st_trace_read(path, &(st_trace_options){0}, &trace, *state), ST_OK);
    assert_int_equal(getrusage(RUSAGE_SELF, &after), 0);
    assert_int_equal(remove(path), 0);
    assert_int_equal(trace->event_count, 1);
    assert_int_equal(trace->file_events, EVENTS + 1);
    assert_true(after.ru_maxrss - before.ru_maxrss < MOST_KIB); /* of 32 MB */
    st_trace_destroy(trace);
}

/* Events larger than the window, and a text that is longer than a hold may be. */
TEST_WITH(test_large, make_errors, drop_errors)
{
    size_t size = 3 * ST_SCAN_WINDOW_BYTES;
    char *name = malloc(size + 1);
    st_buffer text = {0};
    assert_non_null(name);
    memset(name, 'n', size);
    name[size] = '\0';
    st_buffer_text(&text, "[");
    for (int i = 0; i < 3; i++)
        st_buffer_printf(
            &text, "%s{\"name\":\"%d%s\",\"ph\":\"X\",\"cat\":\"kernel\",\"ts\":%d,\"dur\":2}",
            i > 0 ? "," : "", i, name, 3 - i);
    st_buffer_text(&text, "]");
    assert_false(text.failed);
    st_trace *trace = trace_of(text.data, false, *state);
    assert_non_null(trace);
    assert_int_equal(trace->event_count, 3);
    for (size_t i = 0; i < 3; i++) {
        const char *found = st_trace_name(trace, trace->events[i].name);
        assert_int_equal(strlen(found), size + 1);
        assert_int_equal(found[0], '2' - (int)i); /* by start */
    }
    st_trace_destroy(trace);
    st_buffer_free(&text);
    free(name);
}

/* Keys in every order and with any blanks between them, more than the reader keeps; a process and
 * thread like those before it but for one digit, and keys that other objects have. */
TEST_WITH(test_shapes_of_events, make_errors, drop_errors)
{
    enum { EVENTS = 3000, KEYS = 8 };
    static const char *const blanks[] = {"", " ", "\n", "\n    ", "  ", "\t"};
    st_buffer text = {0};
    uint64_t seed = 2385;
    st_buffer_text(&text, "[");
    for (int i = 0; i < EVENTS; i++) {
        char keys[KEYS][128];
        (void)snprintf(keys[0], sizeof keys[0], "\"ph\":\"X\"");
        (void)snprintf(keys[1], sizeof keys[1], "\"cat\": \"kernel\"");
        (void)snprintf(keys[2], sizeof keys[2], "\"name\":\"spin\"");
        (void)snprintf(keys[3], sizeof keys[3], "\"pid\": %d", i % 7 == 0 ? 12345 : 12346);
        (void)snprintf(keys[4], sizeof keys[4], "\"tid\":%d", 1234567 + i % 5);
        (void)snprintf(keys[5], sizeof keys[5], "\"ts\": 1712195495%06d.385", 2 * i);
        (void)snprintf(keys[6], sizeof keys[6], "\"dur\":%d.%d", i % 13, i % 10);
        (void)snprintf(keys[7], sizeof keys[7],
                       "\"args\": {%s\"key of more than forty bytes, which %d\": [%d], "
                       "\"ts\": 1,%s\"correlation\": %d%s}",
                       blanks[i % 6], i, i, blanks[i % 5], i, blanks[i % 4]);
        for (int k = KEYS - 1; k > 0; k--) { /* in an order of its own */
            char other[sizeof keys[0]];
            seed = seed * UINT64_C(6364136223846793005) + 1442695040888963407;
            int with = i % 2 == 0 ? k : (int)(seed >> 33) % (k + 1);
            memcpy(other, keys[k], sizeof other);
            memmove(keys[k], keys[with], sizeof other);
            memcpy(keys[with], other, sizeof other);
        }
        st_buffer_text(&text, i > 0 ? ",\n{" : "{");
        for (int k = 0; k < KEYS; k++)
            st_buffer_printf(&text, "%s%s%s", k > 0 ? "," : "", blanks[(i / 100 + k) % 6], keys[k]);
        st_buffer_text(&text, "}");
    }
    st_buffer_text(&text, "]");
    st_trace *trace = NULL;
    assert_int_equal(st_trace_read_memory("t.json", text.data, text.length, NULL, &trace, *state),
                     ST_OK);
    assert_int_equal(trace->event_count, EVENTS);
    for (int i = 0; i < EVENTS; i++) {
        const st_trace_event *event = &trace->events[i];
        assert_int_equal(event->link, i);
        assert_int_equal(event->start_ns, INT64_C(1712195495000000385) + INT64_C(2000) * i);
        assert_int_equal(event->duration_ns, i % 13 * 1000 + i % 10 * 100);
        assert_int_equal(trace->tracks[event->track].process, i % 7 == 0 ? 12345 : 12346);
        assert_int_equal(trace->tracks[event->track].number, 1234567 + i % 5);
    }
    st_trace_destroy(trace);
    st_buffer_free(&text);
}

TEST_WITH(test_sorted, make_errors, drop_errors)
{
    st_buffer text = {0};
    uint32_t random = 2385;
    st_buffer_text(&text, "[");
    for (int i = 0; i < 1000; i++) {
        random = random * 1664525 + 1013904223;
        st_buffer_printf(&text,
                         "%s{\"ph\":\"X\",\"cat\":\"cpu_op\",\"name\":\"%d\",\"ts\":%u,\"dur\":2}",
                         i > 0 ? "," : "", i, random >> 24);
    }
    st_buffer_text(&text, "]");
    st_trace *trace = trace_of(text.data, false, *state);
    assert_non_null(trace);
    for (size_t i = 1; i < trace->event_count; i++) {
        const st_trace_event *a = &trace->events[i - 1];
        const st_trace_event *b = &trace->events[i];
        assert_true(a->start_ns < b->start_ns || (a->start_ns == b->start_ns && a->name < b->name));
    }
    st_trace_destroy(trace);
    st_buffer_free(&text);
}

/* Memory of large recordings is that of their events. */
TEST_WITH(test_operators, make_errors, drop_errors)
{
    static const char text[] =
        "[{\"ph\":\"X\",\"cat\":\"cpu_op\",\"name\":\"aten::mm\",\"ts\":4.5,\"dur\":%d},"
        "{\"ph\":\"X\",\"cat\":\"cuda_runtime\",\"name\":\"cudaLaunchKernel\",\"ts\":3,\"dur\":2}]";
    st_trace_options options = {.without_operators = true};
    for (int duration = -7; duration <= 7; duration += 14) {
        char file[sizeof text + 8];
        st_trace *trace = NULL;
        int length = snprintf(file, sizeof file, text, duration);
        st_status status =
            st_trace_read_memory("t.json", file, (size_t)length, &options, &trace, *state);
        assert_int_equal(status, duration < 0 ? ST_ERR_VALUE : ST_OK);
        if (trace == NULL)
            continue;
        assert_int_equal(trace->event_count, 1);
        assert_int_equal(trace->complete_events, 2);
        assert_true(trace->has_decimals);
        st_trace_destroy(trace);
    }
    assert_true(sizeof(st_trace_event) <= 32);
}

typedef struct collective {
    int64_t sequence;
    const char *group;
    const char *name;
    int elements;
} collective;

/* Rank `rank` of two, with these collectives one after the other. */
static st_trace *rank_with(int rank, const collective *list, size_t count, st_errors *errors)
{
    st_buffer text = {0};
    st_buffer_printf(&text, "{\"distributedInfo\":{\"rank\":%d,\"world_size\":2},\"traceEvents\":[",
                     rank);
    for (size_t i = 0; i < count; i++)
        st_buffer_printf(
            &text,
            "%s{\"ph\":\"X\",\"cat\":\"kernel\",\"name\":\"ncclDevKernel_x\",\"pid\":0,"
            "\"tid\":20,\"ts\":%zu,\"dur\":23,\"args\":{\"device\":0,\"stream\":20,"
            "\"Collective name\":\"%s\",\"In msg nelems\":%d,\"Group size\":2,"
            "\"Process Group Name\":\"%s\",\"Process Group Ranks\":\"[0, 1]\","
            "\"Seq\":%lld}}",
            i > 0 ? "," : "", 4100 + 31 * i, list[i].name, list[i].elements, list[i].group,
            (long long)list[i].sequence);
    st_buffer_text(&text, "]}");
    st_trace *trace = trace_of(text.data, false, errors);
    assert_non_null(trace);
    assert_int_equal(trace->collective_count, count);
    st_buffer_free(&text);
    return trace;
}

/* Two groups count their collectives each by itself: the same numbers, in any order of time. */
TEST_WITH(test_groups, make_errors, drop_errors)
{
    static const collective first[] = {{7, "a", "allreduce", 385}, {7, "b", "allgather", 2385},
                                       {8, "a", "allreduce", 387}, {8, "b", "allgather", 2387},
                                       {9, "a", "allreduce", 389}, {9, "b", "allgather", 2389}};
    static const collective alike[] = {{7, "b", "allgather", 2385}, {8, "b", "allgather", 2387},
                                       {7, "a", "allreduce", 385},  {8, "a", "allreduce", 387},
                                       {9, "a", "allreduce", 389},  {9, "b", "allgather", 2389}};
    static const collective other[] = {{7, "b", "allreduce", 2385}, {8, "b", "allreduce", 2387},
                                       {7, "a", "allgather", 385},  {8, "a", "allgather", 387},
                                       {9, "a", "allgather", 389},  {9, "b", "allreduce", 2389}};
    st_trace *one = rank_with(0, first, COUNT(first), *state);
    st_trace *two = rank_with(1, alike, COUNT(alike), *state);
    st_trace *three = rank_with(1, other, COUNT(other), *state);
    st_trace *const same[] = {one, two};
    st_trace *const mixed[] = {one, three};
    assert_int_equal(st_trace_check_job(same, 2, false, *state), ST_OK);
    assert_int_equal(st_trace_check_job(mixed, 2, false, *state), ST_ERR_VALUE);
    assert_non_null(
        strstr(st_errors_at(*state, 0)->message, "6 of 6 collectives are not those of"));
    st_trace_destroy(one);
    st_trace_destroy(two);
    st_trace_destroy(three);
}

TESTS(trace_read);
