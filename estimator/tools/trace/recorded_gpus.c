/* SPDX-License-Identifier: Apache-2.0 */
/* Shapes of a recording's operators, priced on two GPUs; see gpu_ratios.h. */
#include "trace/gpu_ratios.h"

#include "base/lists.h"
#include "base/memory.h"
#include "base/chars.h"
#include "steptime/keys.h"
#include "trace/captures.h"
#include "trace/classes.h"
#include "trace/link.h"
#include "trace/store.h"
#include "trace/view.h"
#include "trace/pytorch_shape.h"
#include "trace/xalloc.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { RESULT = ST_PYTORCH_SHAPES - 1, MOST_TENSORS = 64 };

/* A kernel and what determines its price: equal ones are priced once. */
typedef struct asked {
    uint32_t operator_;
    uint32_t shapes;
    uint32_t types;
    uint32_t kernel; /* its name */
    uint32_t event;
} asked;

ST_COMPARE(compare_asked, asked,
           ST_RISING(operator_) ST_RISING(shapes) ST_RISING(types) ST_RISING(kernel)
               ST_RISING(event));

/* What the kernels of a class take. */
typedef struct pool {
    size_t priced;
    size_t refined;
    int64_t priced_ns;
    double after_ns;
} pool;

typedef struct recorded {
    const st_trace_set *set;
    st_prices *before;
    st_prices *after;
    double **ratios; /* by rank and event; 0: no shapes */
    pool pools[ST_TRACE_CLASSES];
    size_t convolutions; /* whose result is not recorded */
    size_t lacks_fp8;    /* kernels of types that the other GPU does not multiply */
    size_t lacks_bf16;
    st_arena *arena;
    st_errors *errors;
} recorded;

/* --- shapes ----------------------------------------------------------------------------------- */

/* The tensors of an operator: sizes of each, bytes of all. */
typedef struct tensors {
    double elements[MOST_TENSORS]; /* by argument; 0: it is none */
    double widths[MOST_TENSORS];   /* its last size */
    size_t count;
    double bytes;
    double largest; /* bytes of one argument */
    size_t at;      /* which is that one */
} tensors;

/* "[[8192, 4096], [], [[2, 3], [4]]]": a list of tensors, the last one here, has
 * only its elements. */
static void read_shapes(const char *text, st_pytorch_operator *one, tensors *found)
{
    size_t depth = 0;
    double size = 1; /* of the tensor that is being read */
    bool empty = true;
    for (const char *c = text; *c != '\0' && found->count < MOST_TENSORS; c++) {
        size_t argument = found->count;
        if (*c == '[') {
            depth++;
            size = 1;
            empty = true;
        } else if (*c == ']') {
            found->elements[argument] += depth > 1 && !empty ? size : 0;
            found->count += depth == 2;
            empty = true;
            depth -= depth > 0;
        } else if (st_is_digit(*c)) {
            char *end = NULL;
            double number = strtod(c, &end);
            size *= number;
            found->widths[argument] = number;
            empty = false;
            if (depth == 2 && argument < RESULT && one->dim_counts[argument] < ST_PYTORCH_DIMS)
                one->dims[argument][one->dim_counts[argument]++] = (int64_t)fmin(number, 1e15);
            c = end - 1;
        }
    }
}

static bool is_bound_by_memory(st_trace_class class_)
{
    return class_ == ST_TRACE_NORM || class_ == ST_TRACE_ELEMENTWISE ||
           class_ == ST_TRACE_OPTIMIZER || class_ == ST_TRACE_MEMORY;
}

/* Products whose operator does not say their sizes: its bytes are not what they take. */
static bool lacks_sizes(st_trace_class class_, const st_task_shape *shape)
{
    return class_ == ST_TRACE_GEMM && shape->form == ST_FORM_KERNEL;
}

/* --- prices ----------------------------------------------------------------------------------- */

/* What the kernel does: the operator's product or attention, or it moves the operator's bytes. */
static st_status shape_of(recorded *r, const st_trace *trace, const asked *one,
                          st_task_shape *shape, tensors *tensors_of)
{
    const char *kernel = trace->names[one->kernel];
    st_trace_class class_ = (st_trace_class)trace->events[one->event].class_;
    st_pytorch_operator operator_ = {.name = trace->names[one->operator_]};
    const st_pytorch no_tensors = {0};
    tensors found = {0};
    read_shapes(trace->names[one->shapes], &operator_, &found);
    if (one->types != ST_TRACE_NONE) {
        /* Types of the arguments, in the same order; a list of tensors has none of its own and
         * counts as the first. */
        const char *at = trace->names[one->types];
        double first = 0;
        for (size_t i = 0; i < found.count && (at = strchr(at, '"')) != NULL; i++) {
            const char *end = strchr(++at, '"');
            double bytes = 0;
            if (end == NULL)
                break;
            const char *type = st_pytorch_type(at, (size_t)(end - at), &bytes);
            operator_.type = operator_.type == NULL ? type : operator_.type;
            first = first > 0 ? first : bytes;
            bool is_list = (size_t)(end - at) > 4 && memcmp(end - 4, "List", 4) == 0;
            double all = found.elements[i] * (is_list ? fmax(first, 4) : bytes);
            found.bytes += all;
            found.at = all > found.largest ? i : found.at;
            found.largest = fmax(found.largest, all);
            at = end + 1;
        }
    }
    if (tensors_of != NULL)
        *tensors_of = found;
    const char *expected = st_pytorch_contradiction(&operator_);
    if (expected != NULL)
        return st_fail(r->errors, ST_ERR_VALUE, (st_place){.file = trace->file},
                       "the shapes of '%.80s' do not fit each other" ST_FOUND "%.200s" ST_EXPECTED
                       "%s",
                       operator_.name, trace->names[one->shapes], expected);
    if (!is_bound_by_memory(class_)) {
        /* What a recording lacks of a convolution: its result, here as of a stride of 1. */
        bool is_guess = true;
        st_pytorch_operator *result_one = &operator_;
        bool is_forward = strstr(result_one->name, "conv") != NULL &&
                          strstr(result_one->name, "backward") == NULL;
        if (!is_forward || result_one->dim_counts[0] < 3 || result_one->dim_counts[1] < 3) {
            is_guess = false;
        } else {
            result_one->dim_counts[RESULT] = result_one->dim_counts[0];
            memcpy(result_one->dims[RESULT], result_one->dims[0], sizeof result_one->dims[0]);
            result_one->dims[RESULT][1] = result_one->dims[1][0];
        }
        st_pytorch_shape(&no_tensors, &operator_, shape);
        if (shape->form == ST_FORM_PRODUCT || shape->form == ST_FORM_ATTENTION ||
            shape->form == ST_FORM_ATTENTION_BACKWARD) {
            bool is_tf32 = shape->type != NULL && strcmp(shape->type, "fp32") == 0 &&
                           strstr(kernel, "tf32") != NULL;
            shape->type = is_tf32 ? "tf32" : shape->type;
            r->convolutions += is_guess;
            return ST_OK;
        }
    }
    *shape = (st_task_shape){.form = ST_FORM_KERNEL, .name = kernel, .type = operator_.type};
    shape->sizes[ST_SIZE_BYTES] = found.bytes + found.largest; /* a result of the largest's size */
    shape->sizes[ST_SIZE_REDUCTIONS] = class_ == ST_TRACE_NORM;
    shape->sizes[ST_SIZE_N] = found.widths[found.at];
    if (found.widths[found.at] > 0)
        shape->sizes[ST_SIZE_M] = found.elements[found.at] / found.widths[found.at];
    return ST_OK;
}

static double gpu_value(const st_prices *prices, const char *key)
{
    const st_job_value *value = st_job_value_of(st_prices_job(prices), key);
    return value != NULL && value->origin != ST_ORIGIN_NONE ? value->number : 0;
}

/* A type that the GPU multiplies: the recorded one, else the nearest wider one. */
static const char *type_on(recorded *r, const st_prices *prices, const char *type)
{
    if (type == NULL)
        return type;
    if (strcmp(type, "fp8") == 0 && !(gpu_value(prices, ST_KEY_CLUSTER_GPU_PEAK_FP8) > 0)) {
        r->lacks_fp8++;
        return gpu_value(prices, ST_KEY_CLUSTER_GPU_PEAK_BF16) > 0 ? "bf16" : "fp16";
    }
    bool lacks =
        strcmp(type, "bf16") == 0 && !(gpu_value(prices, ST_KEY_CLUSTER_GPU_PEAK_BF16) > 0);
    r->lacks_bf16 += lacks;
    return lacks ? "fp16" : type;
}

static st_status price_all(recorded *r, size_t rank, const asked *items, size_t count)
{
    const st_trace *trace = r->set->ranks[rank];
    double ratio = 0;
    bool refined = false;
    for (size_t i = 0; i < count; i++) {
        asked before = i > 0 ? items[i - 1] : (asked){0};
        before.event = items[i].event;
        if (i == 0 || compare_asked(&before, &items[i]) != 0) {
            /* 0: the kernel has no price on one of them. */
            const asked *one = &items[i];
            st_task_shape shape = {0};
            st_price one_before = {0};
            st_price after = {0};
            st_trace_class class_ = (st_trace_class)trace->events[one->event].class_;
            ratio = 0;
            st_status status = shape_of(r, trace, one, &shape, NULL);
            if (status == ST_OK)
                status = st_prices_of_task(r->before, &shape, &one_before, r->errors);
            if (shape.form == ST_FORM_PRODUCT || shape.form == ST_FORM_ATTENTION ||
                shape.form == ST_FORM_ATTENTION_BACKWARD)
                shape.type = type_on(r, r->after, shape.type);
            if (status == ST_OK)
                status = st_prices_of_task(r->after, &shape, &after, r->errors);
            bool is_guess = lacks_sizes(class_, &shape) ||
                            ((one_before.unknown || after.unknown) && !is_bound_by_memory(class_));
            if (status == ST_OK && !is_guess && one_before.time_s > 0 && after.time_s > 0)
                ratio = after.time_s / one_before.time_s;
            refined = one_before.refined || after.refined;
            if (status != ST_OK)
                return status;
        }
        const st_trace_event *event = &trace->events[items[i].event];
        pool *own = &r->pools[event->class_];
        r->ratios[rank][items[i].event] = ratio;
        if (ratio <= 0)
            continue;
        own->priced++;
        own->refined += refined;
        own->priced_ns = st_add_ns(own->priced_ns, event->duration_ns);
        own->after_ns += ratio * (double)event->duration_ns;
    }
    return ST_OK;
}

/* --- a rank ----------------------------------------------------------------------------------- */

/* Operators with shapes, and in which of them each moment of a thread is. */
static st_status sweep_operators(recorded *r, st_trace *trace, st_sweep *sweep)
{
    uint32_t *frames = st_xmalloc((trace->frame_count + 1) * sizeof *frames);
    size_t count = 0;
    for (uint32_t i = 0; i < trace->frame_count; i++)
        if (trace->frames[i].kind == ST_FRAME_OPERATOR && trace->frames[i].shapes != ST_TRACE_NONE)
            frames[count++] = i;
    st_status status = st_sweep_make(
        &(st_sweep_ask){trace, frames, count, ST_TRACE_NONE, NULL, NULL}, sweep, r->errors);
    free(frames);
    return status;
}

static bool computes(const st_trace_event *event)
{
    return event->kind == ST_TRACE_KERNEL && event->class_ != ST_TRACE_COMMUNICATION &&
           event->duration_ns > 0;
}

/* The calls that launch GPU tasks, and those whose operators they are of, both by event. */
typedef struct rank_calls {
    uint32_t *launches;
    uint32_t *operators;
} rank_calls;

static void find_calls(const st_trace *trace, const st_sweep *sweep, rank_calls *calls)
{
    const size_t bytes = (trace->event_count + 1) * sizeof(uint32_t);
    st_links links = {0};
    *calls = (rank_calls){st_xmalloc(bytes), st_xmalloc(bytes)};
    st_links_make(trace, ST_TRACE_CALL, &links);
    for (uint32_t i = 0; i < trace->event_count; i++) {
        const st_trace_event *event = &trace->events[i];
        calls->launches[i] = st_trace_is_gpu(event) ? st_links_call(&links, event) : ST_TRACE_NONE;
    }
    st_links_free(&links);
    memcpy(calls->operators, calls->launches, bytes);
    st_captured_calls(trace, sweep, calls->operators);
}

static void free_calls(rank_calls *calls)
{
    free(calls->launches);
    free(calls->operators);
}

static st_status price_rank(recorded *r, size_t rank)
{
    st_trace *trace = r->set->ranks[rank];
    rank_calls calls = {0};
    st_sweep sweep = {0};
    asked *items = st_xmalloc((trace->event_count + 1) * sizeof *items);
    r->ratios[rank] = st_xalloc(r->arena, trace->event_count + 1, sizeof(double));
    st_status status = sweep_operators(r, trace, &sweep);
    if (status == ST_OK) {
        size_t count = 0;
        find_calls(trace, &sweep, &calls);
        for (uint32_t i = 0; i < trace->event_count; i++) {
            const st_trace_event *event = &trace->events[i];
            uint32_t call = computes(event) ? calls.operators[i] : ST_TRACE_NONE;
            if (call == ST_TRACE_NONE)
                continue;
            uint32_t frame =
                st_sweep_at(&sweep, trace->events[call].track, trace->events[call].start_ns);
            if (frame == ST_TRACE_NONE)
                continue;
            const st_trace_frame *launches = &trace->frames[frame];
            items[count++] =
                (asked){launches->name, launches->shapes, launches->types, event->name, i};
        }
        st_sort(items, count, sizeof *items, compare_asked);
        status = price_all(r, rank, items, count);
    }
    st_sweep_free(&sweep);
    free_calls(&calls);
    free(items);
    return status;
}

/* --- work of operators ------------------------------------------------------------------------ */

typedef struct launched {
    uint32_t frame;
    uint32_t graph; /* its launch; ST_TRACE_NONE: the operator launched the kernel itself */
    uint32_t event;
} launched;

ST_COMPARE(compare_launched, launched, ST_RISING(frame) ST_RISING(graph) ST_RISING(event));

/* Peak rate of products of a type of numbers. */
static double peak_of(const recorded *r, const char *type)
{
    double peak_16 = gpu_value(r->before, ST_KEY_CLUSTER_GPU_PEAK_BF16);
    bool is_16 = type == NULL || strcmp(type, "bf16") != 0;
    if (peak_16 <= 0 && is_16)
        peak_16 = gpu_value(r->before, ST_KEY_CLUSTER_GPU_PEAK_FP16);
    if (type != NULL && strcmp(type, "fp32") == 0)
        return gpu_value(r->before, ST_KEY_CLUSTER_GPU_PEAK_FP32);
    if (type != NULL && strcmp(type, "tf32") == 0)
        return peak_16 / 2;
    return type != NULL && strcmp(type, "fp8") == 0
               ? gpu_value(r->before, ST_KEY_CLUSTER_GPU_PEAK_FP8)
               : peak_16;
}

/* Operands and the result, as far as the form says how large it is. */
static double bytes_of(const tensors *found, const st_task_shape *shape)
{
    double result = found->largest;
    if (shape->form == ST_FORM_PRODUCT && found->elements[found->at] > 0) {
        double products = fmax(shape->sizes[ST_SIZE_PRODUCTS], 1);
        double width = found->largest / found->elements[found->at];
        result = width * products * shape->sizes[ST_SIZE_M] * shape->sizes[ST_SIZE_N];
    }
    return found->bytes + result;
}

static st_status price_work(recorded *r, const st_trace *trace, const asked *one,
                            st_trace_work *made)
{
    st_task_shape shape = {0};
    st_price price = {0};
    tensors found = {0};
    const bool is_bound = is_bound_by_memory((st_trace_class)made->class_);
    made->achievable_ns = -1;
    made->roof_ns = -1;
    st_errors *errors = r->errors;
    st_errors *ignored = st_xmemory(st_errors_create());
    r->errors = ignored;
    bool fits = shape_of(r, trace, one, &shape, &found) == ST_OK;
    r->errors = errors;
    st_errors_destroy(ignored);
    st_status status = fits ? st_prices_of_task(r->before, &shape, &price, r->errors) : ST_OK;
    if (status != ST_OK || !fits || (price.unknown && !is_bound) ||
        lacks_sizes((st_trace_class)made->class_, &shape) || !(price.time_s > 0) ||
        (shape.form == ST_FORM_KERNEL &&
         st_trace_looks_up(((const st_store *)trace->owner)->kernel_classes,
                           trace->names[one->operator_])))
        return status;
    double bandwidth = gpu_value(r->before, ST_KEY_CLUSTER_GPU_MEMORY_BANDWIDTH);
    double peak = peak_of(r, shape.type);
    /* Of products that the GPU has no unit for, the recording's type or its GPU is not the one that
     * ran: no share of a peak says anything. */
    if (price.work_flop > 0 && !(peak > 0))
        return status;
    made->type = shape.type;
    made->flop = price.work_flop;
    made->bytes = bytes_of(&found, &shape);
    made->achievable_ns = (int64_t)(1e9 * price.time_s);
    if (bandwidth > 0 && (peak > 0 || made->flop <= 0))
        made->roof_ns =
            (int64_t)(1e9 * fmax(made->flop > 0 ? made->flop / peak : 0, made->bytes / bandwidth));
    return status;
}

/* One row for each call of an operator: `kernels` are those of all calls, by their operators. */
static st_status fold_work(recorded *r, const st_trace *trace, const launched *kernels,
                           size_t count, st_trace_work *works, size_t *work_count)
{
    st_status status = ST_OK;
    for (size_t i = 0; i < count && status == ST_OK;) {
        const st_trace_frame *frame = &trace->frames[kernels[i].frame];
        st_trace_work *made = &works[(*work_count)++];
        const st_trace_event *longest = &trace->events[kernels[i].event];
        *made = (st_trace_work){.start_ns = longest->start_ns,
                                .operator_ = frame->name,
                                .shapes = frame->shapes,
                                .captured = kernels[i].graph != ST_TRACE_NONE,
                                .kernel = kernels[i].event};
        const launched own = kernels[i];
        for (; i < count && kernels[i].frame == own.frame && kernels[i].graph == own.graph; i++) {
            const st_trace_event *event = &trace->events[kernels[i].event];
            made->kernels++;
            made->duration_ns = st_add_ns(made->duration_ns, event->duration_ns);
            if (event->duration_ns > longest->duration_ns) {
                longest = event;
                made->kernel = kernels[i].event;
            }
        }
        made->class_ = longest->class_;
        const asked one = {frame->name, frame->shapes, frame->types, longest->name, made->kernel};
        status = price_work(r, trace, &one, made);
    }
    return status;
}

static st_status work_of_rank(recorded *r, st_trace_set *set, size_t rank, size_t *without)
{
    st_trace *trace = set->ranks[rank];
    rank_calls calls = {0};
    st_sweep sweep = {0};
    size_t count = 0;
    launched *kernels = st_xmalloc((trace->event_count + 1) * sizeof *kernels);
    st_status status = sweep_operators(r, trace, &sweep);
    if (status == ST_OK)
        find_calls(trace, &sweep, &calls);
    for (uint32_t i = 0; i < trace->event_count && status == ST_OK; i++) {
        const st_trace_event *event = &trace->events[i];
        uint32_t call = computes(event) ? calls.operators[i] : ST_TRACE_NONE;
        bool is_captured = call != ST_TRACE_NONE && call != calls.launches[i];
        uint32_t frame = call != ST_TRACE_NONE ? st_sweep_at(&sweep, trace->events[call].track,
                                                             trace->events[call].start_ns)
                                               : ST_TRACE_NONE;
        if (frame != ST_TRACE_NONE)
            kernels[count++] =
                (launched){frame, is_captured ? calls.launches[i] : ST_TRACE_NONE, i};
        else
            *without += computes(event);
    }
    st_sort(kernels, count, sizeof *kernels, compare_launched);
    set->works[rank] = st_xalloc(set->arena, count + 1, sizeof **set->works);
    if (status == ST_OK)
        status = fold_work(r, trace, kernels, count, set->works[rank], &set->work_counts[rank]);
    st_sweep_free(&sweep);
    free_calls(&calls);
    free(kernels);
    return status;
}

st_status st_recorded_work(st_trace_set *set, st_prices *prices, size_t *without, st_errors *errors)
{
    recorded r = {.set = set, .before = prices, .arena = set->arena, .errors = errors};
    st_status status = ST_OK;
    *without = 0;
    set->works = st_xalloc(set->arena, set->count, sizeof *set->works);
    set->work_counts = st_xalloc(set->arena, set->count, sizeof *set->work_counts);
    for (size_t i = 0; i < set->count && status == ST_OK; i++)
        status = work_of_rank(&r, set, i, without);
    return status;
}

/* --- answers ---------------------------------------------------------------------------------- */

/* The class whose mean a kernel without a price of its own takes. */
static st_trace_class pool_of(const recorded *r, st_trace_class class_)
{
    st_trace_class alike = class_ == ST_TRACE_ATTENTION ? ST_TRACE_GEMM : ST_TRACE_ELEMENTWISE;
    return r->pools[class_].priced > 0 ? class_ : alike;
}

static double ratio_of(const void *context, size_t rank, size_t event, st_trace_class *taken)
{
    const recorded *r = context;
    st_trace_class class_ = (st_trace_class)r->set->ranks[rank]->events[event].class_;
    const pool *own = &r->pools[pool_of(r, class_)];
    *taken = pool_of(r, class_);
    if (r->ratios[rank][event] > 0)
        return r->ratios[rank][event];
    return own->priced > 0 ? own->after_ns / (double)own->priced_ns : (double)NAN;
}

static const char *class_note(const recorded *r, st_trace_class class_)
{
    const pool *own = &r->pools[class_];
    size_t others = 0;
    for (size_t i = 0; i < r->set->count; i++)
        for (size_t k = 0; k < r->set->ranks[i]->event_count; k++) {
            const st_trace_event *event = &r->set->ranks[i]->events[k];
            others += computes(event) && event->class_ == class_ && !(r->ratios[i][k] > 0);
        }
    const char *plugins = st_prices_plugins(r->after);
    return st_xprintf(
        r->arena, "%s: %.3f of the recorded time, %zu kernels by shape%s%s%s",
        st_trace_class_name(class_), own->after_ns / (double)own->priced_ns, own->priced,
        own->refined > 0 ? st_xprintf(r->arena, " (%zu by %s)", own->refined, plugins) : "",
        others > 0 ? st_xprintf(r->arena, ", %zu without shapes by the mean", others) : "",
        class_ == ST_TRACE_GEMM && r->convolutions > 0 ? "; convolutions as of stride 1" : "");
}

st_status st_recorded_ratios(const st_recorded_gpus *gpus, st_arena *arena,
                             st_trace_kernel_ratios *ratios, st_errors *errors)
{
    recorded *r = st_xalloc(arena, 1, sizeof *r);
    *r = (recorded){.set = gpus->set,
                    .before = gpus->before,
                    .after = gpus->after,
                    .ratios = st_xalloc(arena, gpus->set->count, sizeof *r->ratios),
                    .arena = arena,
                    .errors = errors};
    st_status status = ST_OK;
    for (size_t i = 0; i < gpus->set->count && status == ST_OK; i++)
        status = price_rank(r, i);
    *ratios = (st_trace_kernel_ratios){.context = r,
                                       .to = gpus->to,
                                       .by = "what the shapes of their operators take on",
                                       .ratio = ratio_of};
    if (status != ST_OK)
        return status;
    const char **notes = st_xalloc(r->arena, ST_TRACE_CLASSES + 2, sizeof *notes);
    const char *wide = gpu_value(r->after, ST_KEY_CLUSTER_GPU_PEAK_BF16) > 0 ? "BF16" : "FP16";
    if (r->lacks_fp8 > 0)
        notes[ratios->note_count++] =
            st_xprintf(r->arena, "%s does not multiply FP8: its %zu products are priced as %s",
                       gpus->to, r->lacks_fp8, wide);
    if (r->lacks_bf16 > 0)
        notes[ratios->note_count++] =
            st_xprintf(r->arena, "%s does not multiply BF16: its %zu products are priced as FP16",
                       gpus->to, r->lacks_bf16);
    const size_t said = ratios->note_count;
    for (st_trace_class i = 0; i < ST_TRACE_CLASSES; i++)
        if (r->pools[i].priced > 0)
            notes[ratios->note_count++] = class_note(r, i);
    ratios->notes = notes;
    if (ratios->note_count > said)
        return ST_OK;
    return st_fail(r->errors, ST_ERR_VALUE, (st_place){.file = r->set->ranks[0]->file},
                   "no kernel has an operator with shapes, by which it could be priced" ST_HINT
                   "record with torch.profiler.profile(record_shapes=True), or take --ratios");
}
