/* SPDX-License-Identifier: Apache-2.0 */
/* Memory over time as a result, and as a picture. */
#include "base/number.h"
#include "base/svg.h"
#include "trace/view_memory.h"

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
        st_put_text(part, "name", st_memory_category_name((st_memory_category)i));
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
        st_put_text(row, "category", st_memory_category_name(block->category));
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
        keys[i] =
            (st_svg_key){st_svg_color(hues[i]), st_memory_category_name((st_memory_category)i)};
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
