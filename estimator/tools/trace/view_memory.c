/* SPDX-License-Identifier: Apache-2.0 */
#include "base/chars.h"
#include "base/number.h"
#include "base/svg.h"
#include "trace/view.h"
#include "trace/xalloc.h"

#include <stdlib.h>
#include <string.h>

enum { MOST_SAMPLES = 500 };

/* An event of a device: a block is taken, or given back. */
typedef struct step {
    const st_trace_allocation *event;
    uint32_t place; /* in the order of time */
    uint32_t frees; /* of what is taken: the step that gives it back; ST_TRACE_NONE: none */
    uint8_t category;
} step;

typedef struct keeper {
    const st_trace *trace;
    st_arena *arena;
    st_memory_device *device;
    st_sweep categories;
    st_sweep operators; /* frames */
    step *steps;        /* by time */
    size_t count;
    int64_t start_ns;
} keeper;

static const char *memory_category_name(st_memory_category category)
{
    static const char *const names[ST_MEMORY_CATEGORIES] = {"before", "forward", "backward",
                                                            "optimizer", "other"};
    return names[category];
}

/* ---- where memory is taken ---- */

static st_status category_value(void *context, uint32_t outer, const st_trace_frame *frame,
                                uint32_t *value)
{
    const st_trace *trace = ((const keeper *)context)->trace;
    const char *name = trace->names[frame->name];
    *value = outer;
    if (outer == ST_MEMORY_OPTIMIZER || outer == ST_MEMORY_BACKWARD)
        return ST_OK;
    if (st_begins(name, "Optimizer."))
        *value = ST_MEMORY_OPTIMIZER;
    else if (frame->kind == ST_FRAME_OPERATOR &&
             (frame->is_backward || st_begins(name, "autograd::engine::evaluate_function")))
        *value = ST_MEMORY_BACKWARD;
    else if (frame->kind == ST_FRAME_MODULE ||
             (frame->kind == ST_FRAME_OPERATOR && !st_begins(name, "ProfilerStep")))
        *value = ST_MEMORY_FORWARD;
    return ST_OK;
}

static st_status find_places(keeper *k, st_errors *errors)
{
    size_t all = 0;
    uint32_t *frames = st_xmalloc((k->trace->frame_count + 1) * sizeof *frames);
    for (uint32_t i = 0; i < k->trace->frame_count; i++)
        frames[all++] = i;
    st_status status =
        st_sweep_make(&(st_sweep_ask){k->trace, frames, all, ST_MEMORY_OTHER, category_value, k},
                      &k->categories, errors);
    all = 0;
    for (uint32_t i = 0; i < k->trace->frame_count; i++)
        if (k->trace->frames[i].kind == ST_FRAME_OPERATOR)
            frames[all++] = i;
    if (status == ST_OK)
        status = st_sweep_make(&(st_sweep_ask){k->trace, frames, all, ST_TRACE_NONE, NULL, NULL},
                               &k->operators, errors);
    free(frames);
    return status;
}

/* ---- what gives back what ---- */

ST_COMPARE(compare_times, step, ST_RISING(event->at_ns) ST_RISING(event));

static int compare_addresses(const void *left, const void *right)
{
    const step *a = *(step *const *)left;
    const step *b = *(step *const *)right;
    if (a->event->address != b->event->address)
        return ST_ORDER(a->event->address, b->event->address);
    return ST_ORDER(a->place, b->place);
}

static void list_steps(keeper *k)
{
    const st_trace *trace = k->trace;
    st_memory_device *device = k->device;
    size_t count = 0;
    k->steps = st_xcalloc(trace->allocation_count + 1, sizeof *k->steps);
    device->has_addresses = true;
    for (size_t i = 0; i < trace->allocation_count; i++) {
        const st_trace_allocation *event = &trace->allocations[i];
        if (event->device != device->device)
            continue;
        device->has_addresses = device->has_addresses && event->address >= 0;
        if (event->reserved_bytes > device->reserved_bytes)
            device->reserved_bytes = event->reserved_bytes;
        k->steps[count++] =
            (step){.event = event, .frees = ST_TRACE_NONE, .category = ST_MEMORY_OTHER};
    }
    k->count = count;
    st_sort(k->steps, count, sizeof *k->steps, compare_times);
    for (uint32_t i = 0; i < count; i++)
        k->steps[i].place = i;
    device->events = count;
    if (!device->has_addresses)
        return;
    step **order = st_xmalloc((count + 1) * sizeof(step *));
    step *taken = NULL;
    for (size_t i = 0; i < count; i++)
        order[i] = &k->steps[i];
    st_sort(order, count, sizeof(step *), compare_addresses);
    for (size_t i = 0; i < count; i++) {
        step *one = order[i];
        bool same = taken != NULL && taken->event->address == one->event->address;
        if (one->event->bytes >= 0) {
            one->category =
                (uint8_t)st_sweep_at(&k->categories, one->event->track, one->event->at_ns);
            taken = one;
            continue;
        }
        one->category = same ? taken->category : ST_MEMORY_BEFORE;
        if (same)
            taken->frees = one->place;
        taken = NULL;
    }
    free(order);
}

/* ---- over time ---- */

static int64_t total_of(const st_memory_sample *sample)
{
    int64_t sum = 0;
    for (int i = 0; i < ST_MEMORY_CATEGORIES; i++)
        sum += sample->bytes[i];
    return sum;
}

static void follow(keeper *k)
{
    st_memory_device *device = k->device;
    st_memory_sample now = {0};
    const st_trace_allocation *first = k->steps[0].event;
    int64_t from_ns = first->at_ns - k->start_ns;
    int64_t part_ns = (k->steps[k->count - 1].event->at_ns - first->at_ns) / (MOST_SAMPLES - 2) + 1;
    device->knows_start = first->allocated_bytes >= 0;
    if (device->knows_start)
        device->start_bytes = first->allocated_bytes - first->bytes;
    now.bytes[ST_MEMORY_BEFORE] = device->start_bytes;
    now.at_ns = from_ns;
    device->peak = now;
    device->peak_bytes = device->start_bytes;
    for (size_t i = 0; i < k->count; i++) {
        const st_trace_allocation *event = k->steps[i].event;
        now.at_ns = event->at_ns - k->start_ns;
        now.bytes[k->steps[i].category] += event->bytes;
        int64_t total = total_of(&now);
        int64_t off = event->allocated_bytes < 0 ? 0 : llabs(total - event->allocated_bytes);
        device->difference_bytes = off > device->difference_bytes ? off : device->difference_bytes;
        if (total > device->peak_bytes) {
            device->peak_bytes = total;
            device->peak = now;
        }
        /* Of each part of time the moment that has most. */
        st_memory_sample *samples = device->samples;
        size_t count = device->sample_count;
        bool is_next = count == 0 || now.at_ns / part_ns != samples[count - 1].at_ns / part_ns;
        if (is_next && count < MOST_SAMPLES)
            samples[device->sample_count++] = now;
        else if (total_of(&now) > total_of(&samples[count - 1]))
            samples[count - 1] = now;
    }
}

ST_COMPARE(compare_blocks, st_memory_block, ST_FALLING(bytes) ST_RISING(at_ns));

/* What was taken by the peak and is given back after it. */
static void list_blocks(keeper *k)
{
    st_memory_device *device = k->device;
    int64_t peak_ns = device->peak.at_ns + k->start_ns;
    device->blocks = st_xalloc(k->arena, k->count + 1, sizeof *device->blocks);
    for (size_t i = 0; device->has_addresses && i < k->count; i++) {
        const step *one = &k->steps[i];
        const st_trace_allocation *event = one->event;
        bool goes = one->frees != ST_TRACE_NONE && k->steps[one->frees].event->at_ns <= peak_ns;
        if (event->bytes <= 0 || event->at_ns > peak_ns || goes)
            continue;
        uint32_t frame = st_sweep_at(&k->operators, event->track, event->at_ns);
        device->blocks[device->block_count++] = (st_memory_block){
            .bytes = event->bytes,
            .at_ns = event->at_ns - k->start_ns,
            .category = (st_memory_category)one->category,
            .name = frame == ST_TRACE_NONE ? NULL : k->trace->names[k->trace->frames[frame].name]};
    }
    st_sort(device->blocks, device->block_count, sizeof *device->blocks, compare_blocks);
}

/* ---- all devices ---- */

/* The next device of a trace above `after`, -1: none. */
static int64_t next_device(const st_trace *trace, int64_t after)
{
    int64_t next = -1;
    for (size_t i = 0; i < trace->allocation_count; i++) {
        int64_t device = trace->allocations[i].device;
        if (device > after && (next < 0 || device < next))
            next = device;
    }
    return next;
}

st_status st_view_memory(const st_trace_set *set, st_arena *arena, st_memory_view *view,
                         st_errors *errors)
{
    st_status status = ST_OK;
    *view = (st_memory_view){0};
    for (size_t i = 0; i < set->count; i++) {
        const st_trace *trace = set->ranks[i];
        for (int64_t d = next_device(trace, -1); d >= 0 && status == ST_OK;
             d = next_device(trace, d)) {
            st_memory_device device;
            st_trace_summary summary;
            keeper k = {.trace = trace, .arena = arena, .device = &device};
            device = (st_memory_device){.trace = trace, .device = d, .reserved_bytes = -1};
            device.samples = st_xalloc(arena, MOST_SAMPLES, sizeof *device.samples);
            st_trace_summarize(trace, arena, &summary);
            k.start_ns = summary.window_start_ns;
            status = find_places(&k, errors);
            if (status == ST_OK) {
                list_steps(&k);
                if (k.count > 0) {
                    follow(&k);
                    list_blocks(&k);
                }
                ST_XAPPEND(arena, view->devices, view->count, device);
            }
            free(k.steps);
            st_sweep_free(&k.categories);
            st_sweep_free(&k.operators);
        }
    }
    if (status == ST_OK && view->count == 0)
        return st_fail(errors, ST_ERR_VALUE, (st_place){.file = set->ranks[0]->file},
                       "the trace has no memory events of GPUs" ST_HINT
                       "record with torch.profiler.profile(profile_memory=True)");
    return status;
}

/* Memory over time as a result, and as a picture. */

enum { TEXT = 48, LEFT = 90, TOP = 70, WIDTH = 1100, HEIGHT = 260, GAP = 80 };

static const st_svg_hue hues[ST_MEMORY_CATEGORIES] = {ST_SVG_GREY, ST_SVG_SKY, ST_SVG_GREEN,
                                                      ST_SVG_BROWN, ST_SVG_ORANGE};

static const char *mib_text(int64_t bytes, char *text)
{
    char number[TEXT];
    (void)snprintf(text, TEXT, "%s MiB",
                   st_number_print('f', 1, (double)bytes / 1048576, number, sizeof number));
    return text;
}

static void put_mib(st_node *node, const char *key, int64_t bytes)
{
    char text[TEXT];
    st_put_text(node, key, mib_text(bytes, text));
}

static void put_sample(const st_memory_sample *sample, st_node *node)
{
    static const char *const keys[ST_MEMORY_CATEGORIES] = {
        "before_bytes", "forward_bytes", "backward_bytes", "optimizer_bytes", "other_bytes"};
    int64_t total = 0;
    st_put_ns(node, "at_ns", sample->at_ns);
    for (int i = 0; i < ST_MEMORY_CATEGORIES; i++) {
        st_put_number(node, keys[i], (double)sample->bytes[i]);
        total += sample->bytes[i];
    }
    st_put_number(node, "total_bytes", (double)total);
}

static void put_device(const st_memory_device *device, size_t top, st_node *node)
{
    char texts[2][TEXT];
    st_put_text(node, "file", device->trace->file);
    st_put_known(node, "rank", device->trace->rank);
    st_put_ns(node, "device", device->device);
    st_put_count(node, "events", device->events);
    st_put_bool(node, "has_addresses", device->has_addresses);
    st_put_known(node, "start_bytes", device->knows_start ? device->start_bytes : -1);
    st_put_number(node, "peak_bytes", (double)device->peak_bytes);
    st_put_known(node, "reserved_bytes", device->reserved_bytes);
    st_put_number(node, "difference_bytes", (double)device->difference_bytes);
    put_sample(&device->peak, st_put_line_map(node, "peak"));
    st_say(node, "%s, GPU %lld: peak %s at %s%s\n", device->trace->file, (long long)device->device,
           mib_text(device->peak_bytes, texts[0]), st_ms_text(device->peak.at_ns, texts[1], TEXT),
           device->knows_start ? "" : ", without memory allocated before, which is unknown");
    if (!device->has_addresses)
        st_say(node, "  no addresses are recorded: frees cannot be matched with allocations\n");
    if (device->difference_bytes > 0)
        st_say(node, "  up to %s off the recorded total: events are missing\n",
               mib_text(device->difference_bytes, texts[0]));
    st_table *table = st_say_columns(node, "*|>|>|");
    st_node *list = st_put_list(node, ".parts");
    for (int i = 0; i < ST_MEMORY_CATEGORIES; i++) {
        int64_t bytes = device->peak.bytes[i];
        st_node *part = st_put_map(list, NULL);
        st_put_text(part, "name", memory_category_name((st_memory_category)i));
        put_mib(part, ".bytes", bytes);
        st_put_share(part, ".share", bytes, device->peak_bytes);
    }
    st_table_show(table, list, "name,.bytes,.share,");
    st_node *blocks = st_put_list(node, "blocks");
    for (size_t i = 0; i < device->block_count && i < top; i++) {
        const st_memory_block *block = &device->blocks[i];
        const char *name = block->name != NULL ? block->name : "outside of operators";
        st_node *row = st_put_line_map(blocks, NULL);
        st_put_number(row, "bytes", (double)block->bytes);
        st_put_text(row, "category", memory_category_name(block->category));
        st_put_text(row, "operator", block->name);
        st_put_ns(row, "at_ns", block->at_ns);
        st_put_short(row, ".name", name, false);
        put_mib(row, ".bytes", block->bytes);
    }
    if (device->block_count > 0 && top > 0)
        st_table_title(table, "Largest at the peak, without those from before");
    st_table_show(table, blocks, ".name,.bytes,,category");
    st_node *samples = st_put_list(node, "samples");
    for (size_t i = 0; i < device->sample_count; i++)
        put_sample(&device->samples[i], st_put_line_map(samples, NULL));
}

void st_view_memory_result(const st_memory_view *view, size_t top, st_arena *arena,
                           st_result *result)
{
    st_node *root = st_result_begin(result, arena);
    st_node *devices = st_put_list(root, "devices");
    for (size_t i = 0; i < view->count; i++) {
        st_node *device = st_put_map(devices, NULL);
        if (i > 0)
            st_say(device, "\n");
        put_device(&view->devices[i], top, device);
    }
    st_result_csv(result, "devices/samples",
                  "file,rank,device,at_ns,before_bytes,forward_bytes,backward_bytes,"
                  "optimizer_bytes,other_bytes,total_bytes");
}

/* ---- the picture ---- */

void st_view_memory_svg(const st_memory_view *view, st_buffer *svg)
{
    enum { MOST_DRAWN = 16 };
    static const char title[] = "Memory of GPUs by where it was allocated";
    size_t count = view->count < MOST_DRAWN ? view->count : MOST_DRAWN;
    st_svg_key keys[ST_MEMORY_CATEGORIES];
    for (int i = 0; i < ST_MEMORY_CATEGORIES; i++)
        keys[i] = (st_svg_key){st_svg_color(hues[i]), memory_category_name((st_memory_category)i)};
    st_svg_begin(svg, LEFT + WIDTH + 30, TOP + 30 + (HEIGHT + GAP) * (int)count, title);
    st_svg_text(svg, (st_svg_point){LEFT, 28}, "large", title);
    (void)st_svg_legend(svg, keys, ST_MEMORY_CATEGORIES, (st_svg_box){LEFT, 38, WIDTH, 20});
    for (size_t i = 0; i < count; i++) {
        const st_memory_device *device = &view->devices[i];
        const double top = TOP + 30 + (HEIGHT + GAP) * (double)i;
        char text[TEXT];
        char device_title[128];
        const char *end = mib_text(device->peak_bytes, text);
        (void)snprintf(device_title, sizeof device_title, "rank %lld, GPU %lld",
                       (long long)(device->trace->rank < 0 ? 0 : device->trace->rank),
                       (long long)device->device);
        st_svg_box_write(svg, (st_svg_box){LEFT, top, WIDTH, HEIGHT}, "panel");
        for (size_t j = 0; j < device->sample_count; j++) {
            /* One sample up to the next: its categories on top of each other. */
            const st_memory_sample *first = &device->samples[0];
            const st_memory_sample *sample = &device->samples[j];
            const st_memory_sample *last = &device->samples[device->sample_count - 1];
            double span_ns = (double)(last->at_ns - first->at_ns);
            int64_t next_ns = sample == last ? last->at_ns : (sample + 1)->at_ns;
            double scale = span_ns > 0 ? WIDTH / span_ns : 0;
            double high = device->peak_bytes > 0 ? HEIGHT / (double)device->peak_bytes : 0;
            double y = top + HEIGHT;
            for (int k = 0; k < ST_MEMORY_CATEGORIES; k++) {
                double height = high * (double)sample->bytes[k];
                if (height <= 0)
                    continue;
                y -= height;
                st_svg_box_write(
                    svg,
                    (st_svg_box){.x = LEFT + scale * (double)(sample->at_ns - first->at_ns),
                                 .y = y,
                                 .width = scale * (double)(next_ns - sample->at_ns) + 0.5,
                                 .height = height},
                    st_svg_color(hues[k]));
            }
        }
        st_svg_text(svg, (st_svg_point){LEFT, top - 8}, "", device_title);
        st_svg_text(svg, (st_svg_point){LEFT - 6, top + 10}, "end", end);
        st_svg_text(svg, (st_svg_point){LEFT - 6, top + HEIGHT}, "end", "0");
        if (device->sample_count == 0)
            continue;
        st_svg_text(svg, (st_svg_point){LEFT, top + HEIGHT + 18}, "",
                    st_ms_text(device->samples[0].at_ns, text, sizeof text));
        st_svg_text(svg, (st_svg_point){LEFT + WIDTH, top + HEIGHT + 18}, "end",
                    st_ms_text(device->samples[device->sample_count - 1].at_ns, text, sizeof text));
    }
    st_svg_end(svg);
}
