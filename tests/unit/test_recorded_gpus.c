/* SPDX-License-Identifier: Apache-2.0 */
/* Kernels of a recording on another GPU, by the shapes of the operators that launched them. */
#include "base_support.h"

#include "trace/trace.h"
#include "trace/gpu_ratios.h"

/* A recording and the prices of two GPUs. */
typedef struct fixture {
    st_arena *arena;
    st_errors *errors;
    st_paths *paths;
    st_prices *before;
    st_prices *after;
    st_trace *trace;
    st_trace_set set;
    st_trace_kernel_ratios ratios;
} fixture;

static st_prices *prices_of(fixture *self, const char *gpu)
{
    const st_prices_request request = {.gpu = gpu};
    st_prices *prices = NULL;
    if (st_prices_open(self->paths, &request, self->arena, &prices, self->errors) != ST_OK)
        fail_msg("%s", said(self->errors));
    return prices;
}

static int setup(void **state)
{
    fixture *self = calloc(1, sizeof *self);
    self->arena = st_arena_create();
    self->errors = st_errors_create();
    *state = self;
    if (st_paths_create(NULL, 0, &self->paths, self->errors) != ST_OK)
        return -1;
    self->before = prices_of(self, "a100-sxm-80gb");
    self->after = prices_of(self, "h100-sxm");
    return 0;
}

static int teardown(void **state)
{
    fixture *self = *state;
    st_trace_destroy(self->trace);
    st_arena_destroy(self->arena);
    st_errors_destroy(self->errors);
    st_paths_destroy(self->paths);
    free(self);
    return 0;
}

/* An operator that launches a kernel; "" for dims: without shapes. */
typedef struct launched {
    const char *name;
    const char *dims;
    const char *types;
    const char *kernel;
    int duration_us;
} launched;

static const char *events_of(fixture *self, const launched *all, size_t count)
{
    st_buffer text = {0};
    st_buffer_text(&text, "{\"traceEvents\":[");
    for (size_t i = 0; i < count; i++) {
        const launched *one = &all[i];
        const int at = 1000 * (int)(i + 1);
        st_buffer_printf(&text,
                         "{\"ph\":\"X\",\"cat\":\"cpu_op\",\"name\":\"%s\",\"pid\":4,\"tid\":2,"
                         "\"ts\":%d,\"dur\":50,\"args\":{\"External id\":%zu",
                         one->name, at, i + 1);
        if (one->dims[0] != '\0')
            st_buffer_printf(&text, ",\"Input Dims\":%s,\"Input type\":%s", one->dims, one->types);
        st_buffer_printf(&text,
                         "}},{\"ph\":\"X\",\"cat\":\"cuda_runtime\",\"name\":\"cudaLaunchKernel\","
                         "\"pid\":4,\"tid\":2,\"ts\":%d,\"dur\":5,\"args\":{\"correlation\":%zu}},",
                         at + 10, i + 31);
        st_buffer_printf(&text,
                         "{\"ph\":\"X\",\"cat\":\"kernel\",\"name\":\"%s\",\"pid\":0,\"tid\":7,"
                         "\"ts\":%d,\"dur\":%d,\"args\":{\"device\":0,\"stream\":7,"
                         "\"correlation\":%zu}},",
                         one->kernel, at + 20, one->duration_us, i + 31);
    }
    st_buffer_text(&text, "{\"ph\":\"M\",\"name\":\"process_name\",\"pid\":0}]}");
    const char *copy = st_arena_copy(self->arena, text.data, text.length);
    st_buffer_free(&text);
    return copy;
}

static st_status ask(fixture *self, const launched *all, size_t count)
{
    const st_trace_options options = {.details = true};
    const char *text = events_of(self, all, count);
    st_trace_destroy(self->trace);
    self->trace = NULL;
    if (st_trace_read_memory("t.json", text, strlen(text), &options, &self->trace, self->errors) !=
        ST_OK)
        fail_msg("%s", said(self->errors));
    self->set = (st_trace_set){.ranks = &self->trace, .count = 1, .world_size = 1};
    const st_recorded_gpus gpus = {&self->set, self->before, self->after, "h100-sxm"};
    return st_recorded_ratios(&gpus, self->arena, &self->ratios, self->errors);
}

/* What the sheet says of a shape on both GPUs, the other over the recorded one. */
static double shape_ratio(fixture *self, const st_task_shape *shape)
{
    st_price before;
    st_price after;
    assert_int_equal(st_prices_of_task(self->before, shape, &before, self->errors), ST_OK);
    assert_int_equal(st_prices_of_task(self->after, shape, &after, self->errors), ST_OK);
    assert_true(before.time_s > 0 && after.time_s > 0);
    return after.time_s / before.time_s;
}

/* The ratio of the i-th kernel, and the class that it is of. */
static double ratio_of(const fixture *self, size_t i, st_trace_class *taken)
{
    for (size_t k = 0; k < self->trace->event_count; k++)
        if (self->trace->events[k].kind == ST_TRACE_KERNEL && i-- == 0)
            return self->ratios.ratio(self->ratios.context, 0, k, taken);
    fail_msg("no kernel %zu", i);
    return 0;
}

static void assert_ratio(const fixture *self, size_t i, double expected, st_trace_class class_)
{
    st_trace_class taken = ST_TRACE_OTHER;
    double ratio = ratio_of(self, i, &taken);
    if (!(fabs(ratio - expected) <= 1e-12 * expected))
        fail_msg("kernel %zu: %.17g is not %.17g", i, ratio, expected);
    assert_int_equal(taken, class_);
}

static st_task_shape moves(const char *kernel, const char *type, double bytes, double m, double n)
{
    st_task_shape shape = {.form = ST_FORM_KERNEL, .name = kernel, .type = type};
    shape.sizes[ST_SIZE_BYTES] = bytes;
    shape.sizes[ST_SIZE_M] = m;
    shape.sizes[ST_SIZE_N] = n;
    return shape;
}

#define MM_KERNEL   "ampere_sgemm_128x64_nn"
#define TF32_KERNEL "cutlass_tensorop_tf32_gemm"
#define MUL_KERNEL  "vectorized_elementwise_kernel"
#define NORM_KERNEL "vectorized_layer_norm_kernel"
#define ADAM_KERNEL "multi_tensor_apply_kernel"
#define CONV_KERNEL "implicit_convolve_sgemm"

static const launched mm = {"aten::mm", "[[2385, 512], [512, 1238]]",
                            "[\"c10::BFloat16\", \"c10::BFloat16\"]", MM_KERNEL, 70};

TEST_WITH(products_take_what_their_shapes_take, setup, teardown)
{
    const launched all[] = {
        mm,
        {"aten::mm", "[[385, 5120], [5120, 38]]", "[\"float\", \"float\"]", TF32_KERNEL, 30},
        {"aten::mm", "[[385, 5120], [5120, 38]]", "[\"float\", \"float\"]", MM_KERNEL, 40},
    };
    fixture *self = *state;
    st_task_shape shape = {.form = ST_FORM_PRODUCT, .name = "aten::mm", .type = "bf16"};
    assert_int_equal(ask(self, all, COUNT(all)), ST_OK);
    shape.sizes[ST_SIZE_M] = 2385;
    shape.sizes[ST_SIZE_N] = 1238;
    shape.sizes[ST_SIZE_K] = 512;
    shape.sizes[ST_SIZE_PRODUCTS] = 1;
    double first = shape_ratio(self, &shape);
    assert_ratio(self, 0, first, ST_TRACE_GEMM);
    shape.sizes[ST_SIZE_M] = 385;
    shape.sizes[ST_SIZE_N] = 38;
    shape.sizes[ST_SIZE_K] = 5120;
    shape.type = "tf32";
    double second = shape_ratio(self, &shape);
    assert_ratio(self, 1, second, ST_TRACE_GEMM);
    shape.type = "fp32";
    double third = shape_ratio(self, &shape);
    assert_ratio(self, 2, third, ST_TRACE_GEMM);
    assert_true(first != second && second != third);
    /* Weighted by 70, 30 and 40 us. */
    assert_int_equal(self->ratios.note_count, 1);
    assert_string_equal(self->ratios.notes[0],
                        st_arena_printf(self->arena,
                                        "gemm: %.3f of the recorded time, 3 kernels by shape",
                                        (70 * first + 30 * second + 40 * third) / 140));
    assert_string_equal(self->ratios.to, "h100-sxm");
}

/* Their tensors and a result as large as the largest of them. */
TEST_WITH(other_kernels_move_the_bytes_of_their_operators, setup, teardown)
{
    static const launched all[] = {
        {"aten::mul", "[[2385, 1000], [2385, 1000], []]", "[\"float\", \"float\", \"Scalar\"]",
         MUL_KERNEL, 20},
        {"aten::native_layer_norm", "[[4, 2385, 768], [], [768], [768], []]",
         "[\"c10::BFloat16\", \"ScalarList\", \"c10::BFloat16\", \"c10::BFloat16\", \"Scalar\"]",
         NORM_KERNEL, 30},
        {"aten::_foreach_add_", "[[[100, 10], [3085, 10]], []]", "[\"TensorList\", \"Scalar\"]",
         ADAM_KERNEL, 40},
        {"aten::add", "[[38, 5], [2385, 1000]]", "[\"long int\", \"bool\"]", MUL_KERNEL, 10},
    };
    fixture *self = *state;
    assert_int_equal(ask(self, all, COUNT(all)), ST_OK);
    st_task_shape shape = moves(MUL_KERNEL, "fp32", 3 * 4 * 2385000.0, 2385, 1000);
    assert_ratio(self, 0, shape_ratio(self, &shape), ST_TRACE_ELEMENTWISE);
    shape = moves(NORM_KERNEL, "bf16", 2 * (2 * 7326720.0 + 2 * 768), 4 * 2385, 768);
    shape.sizes[ST_SIZE_REDUCTIONS] = 1;
    assert_ratio(self, 1, shape_ratio(self, &shape), ST_TRACE_NORM);
    shape = moves(ADAM_KERNEL, NULL, 2 * 4 * 31850.0, 3185, 10);
    assert_ratio(self, 2, shape_ratio(self, &shape), ST_TRACE_OPTIMIZER);
    shape = moves(MUL_KERNEL, NULL, 2 * 2385000.0 + 8 * 190, 2385, 1000);
    assert_ratio(self, 3, shape_ratio(self, &shape), ST_TRACE_ELEMENTWISE);
    assert_int_equal(self->ratios.note_count, 3);
}

/* A convolution does not tell its result, which is taken as of a stride of 1. */
TEST_WITH(convolutions_are_taken_as_of_stride_1, setup, teardown)
{
    static const launched all[] = {{"aten::cudnn_convolution", "[[8, 32, 56, 56], [96, 32, 3, 3]]",
                                    "[\"float\", \"float\"]", CONV_KERNEL, 70}};
    fixture *self = *state;
    assert_int_equal(ask(self, all, COUNT(all)), ST_OK);
    assert_int_equal(self->ratios.note_count, 1);
    assert_contains(self->ratios.notes[0], "1 kernels by shape; convolutions as of stride 1");
}

TEST_WITH(kernels_without_shapes_take_the_mean_of_their_class, setup, teardown)
{
    const launched all[] = {
        mm,
        {"aten::mul", "[[2385, 1000]]", "[\"float\"]", MUL_KERNEL, 20},
        {"aten::mm", "", "", MM_KERNEL, 30},
        {"aten::attention", "", "", "flash_fwd_kernel", 40},
        {"aten::norm", "", "", NORM_KERNEL, 17},
    };
    fixture *self = *state;
    st_trace_class taken = ST_TRACE_OTHER;
    assert_int_equal(ask(self, all, COUNT(all)), ST_OK);
    double gemm = ratio_of(self, 0, &taken);
    double moved = ratio_of(self, 1, &taken);
    assert_true(gemm != moved);
    assert_ratio(self, 2, gemm, ST_TRACE_GEMM);
    assert_ratio(self, 3, gemm, ST_TRACE_GEMM);
    assert_ratio(self, 4, moved, ST_TRACE_ELEMENTWISE);
    assert_contains(self->ratios.notes[0], "1 kernels by shape, 1 without shapes by the mean");
    assert_string_equal(self->ratios.notes[1],
                        st_arena_printf(self->arena,
                                        "elementwise: %.3f of the recorded time, 1 kernels by "
                                        "shape",
                                        moved));
    assert_int_equal(ask(self, &mm, 1), ST_OK); /* and nothing is known of norms */
    assert_int_equal(self->ratios.note_count, 1);
}

TEST_WITH(kernels_of_unlike_classes_have_no_ratio, setup, teardown)
{
    const launched all[] = {mm, {"aten::norm", "", "", NORM_KERNEL, 17}};
    fixture *self = *state;
    st_trace_class taken = ST_TRACE_OTHER;
    assert_int_equal(ask(self, all, COUNT(all)), ST_OK);
    assert_true(isnan(ratio_of(self, 1, &taken)));
    assert_int_equal(taken, ST_TRACE_ELEMENTWISE);
}

TEST_WITH(recordings_without_fitting_shapes_are_refused, setup, teardown)
{
    static const launched silent = {"aten::mm", "", "", MM_KERNEL, 70};
    static const launched torn = {"aten::mm", "[[2385, 512], [513, 1238]]",
                                  "[\"c10::BFloat16\", \"c10::BFloat16\"]", MM_KERNEL, 70};
    fixture *self = *state;
    assert_int_equal(ask(self, &silent, 1), ST_ERR_VALUE);
    assert_contains(said(self->errors), "no kernel has an operator with shapes");
    assert_int_equal(ask(self, &torn, 1), ST_ERR_VALUE);
    assert_contains(said(self->errors), "the shapes of 'aten::mm' do not fit each other: found "
                                        "[[2385, 512], [513, 1238]], expected");
}

TESTS(recorded_gpus);
