/* SPDX-License-Identifier: Apache-2.0 */
/* Bytes that leave nodes over time as a result and as a picture; see nic.h. */
#include "timeline/nic.h"

#include "base/text.h"
#include "base/svg.h"

#include <math.h>

enum { LEVELS = 60, MOST_CURVES = 8, LEFT = 90, TOP = 60, WIDTH = 900, HEIGHT = 320 };

/* --- numbers ---------------------------------------------------------------------------------- */

static double peak_rate(const st_nic_usage *usage, const st_nic_class *class)
{
    double most = 0;
    for (size_t i = 0; i < usage->bins; i++)
        most = fmax(most, class->bytes[i]);
    return usage->bin_s > 0 ? most / usage->bin_s : 0;
}

/* Share of the step in which something is sent. */
static double on_share(const st_nic_usage *usage, const st_nic_class *class)
{
    size_t on = 0;
    for (size_t i = 0; i < usage->bins; i++)
        on += class->bytes[i] > 0 ? 1 : 0;
    return (double)on / (double)usage->bins;
}

static const char *rate_text(double rate, char *text)
{
    return st_quantity_text(rate, "GB/s", text);
}

/* --- the result ------------------------------------------------------------------------------- */

/* A row for each class and bin. */
static void fill_bin(const void *context, size_t index, st_node *node)
{
    const st_nic_usage *usage = context;
    const st_nic_class *class = &usage->classes[index / usage->bins];
    size_t bin = index % usage->bins;
    st_put_count(node, "node", class->first_node);
    st_put_number(node, "from_s", usage->bin_s * (double)bin);
    st_put_number(node, "until_s", usage->bin_s * (double)(bin + 1));
    st_put_number(node, "bytes", class->bytes[bin]);
    st_put_number(node, "bytes_per_s", usage->bin_s > 0 ? class->bytes[bin] / usage->bin_s : 0);
}

void st_nic_report(const st_nic_usage *usage, st_arena *arena, st_result *result)
{
    const st_timeline_plan *plan = &usage->timeline->plan;
    char text[ST_QUANTITY_TEXT];
    double step_s = (double)usage->timeline->end / ST_TICKS_PER_S;
    st_node *root = st_result_begin(result, arena);
    st_put_text(root, "job", plan->job);
    st_put_text(root, "sheet", plan->sheet);
    st_refine_put(&plan->refinements, root);
    st_put_number(root, "step_time_s", step_s);
    st_put_count(root, "bins", usage->bins);
    st_put_number(root, "bin_s", usage->bin_s);
    if (usage->rate > 0)
        st_put_number(root, "capacity_bytes_per_s", usage->rate);
    else
        st_put_null(root, "capacity_bytes_per_s");
    st_say(root, "job        %s\nsheet      %s\nstep time  %s\n\n", plan->job, plan->sheet,
           st_quantity_text(step_s, "s", text));
    st_node *list = st_put_list(root, "nodes");
    char classe_text[ST_QUANTITY_TEXT];
    st_say(root, "Bytes that leave a node%s%s\n", usage->rate > 0 ? "; its cards have " : "",
           usage->rate > 0 ? rate_text(usage->rate, classe_text) : "");
    st_say(root, "    node   alike         sent    in passes      delayed         mean         "
                 "peak   sending\n");
    for (size_t i = 0; i < usage->class_count; i++) {
        const st_nic_class *class = &usage->classes[i];
        char texts[5][ST_QUANTITY_TEXT];
        double class_step_s = usage->bin_s * (double)usage->bins;
        double mean = class_step_s > 0 ? class->sent_bytes / class_step_s : 0;
        st_node *node = st_put_line_map(list, NULL);
        st_put_count(node, "first_node", class->first_node);
        st_put_count(node, "nodes", class->nodes);
        st_put_number(node, "sent_bytes", class->sent_bytes);
        st_put_number(node, "hidden_bytes", class->hidden_bytes);
        st_put_number(node, "delayed_bytes", class->delayed_bytes);
        st_put_number(node, "mean_bytes_per_s", mean);
        st_put_number(node, "peak_bytes_per_s", peak_rate(usage, class));
        st_put_number(node, "on_share", on_share(usage, class));
        st_say(root, "  %6zu %7zu %12s %12s %12s %12s %12s %7.1f %%\n", class->first_node,
               class->nodes, st_quantity_text(class->sent_bytes, "GB", texts[0]),
               st_quantity_text(class->hidden_bytes, "GB", texts[1]),
               st_quantity_text(class->delayed_bytes, "GB", texts[2]), rate_text(mean, texts[3]),
               rate_text(peak_rate(usage, class), texts[4]), 100 * on_share(usage, class));
    }
    st_say(root, "\n    node  the step, each line by its own most\n");
    for (size_t i = 0; i < usage->class_count; i++) {
        /* The step in columns of text, by the mean of their bins; a bin may be wider than a column.
         */
        const st_nic_class *class = &usage->classes[i];
        static const char *const marks[] = {" ", "▁", "▂", "▃", "▄", "▅", "▆", "▇", "█"};
        double most = 0;
        double level[LEVELS] = {0};
        for (size_t j = 0; j < LEVELS; j++) {
            size_t first = j * usage->bins / LEVELS;
            size_t behind = (j + 1) * usage->bins / LEVELS;
            behind = behind > first ? behind : first + 1;
            for (size_t bin = first; bin < behind; bin++)
                level[j] += class->bytes[bin] / (double)(behind - first);
            most = fmax(most, level[j]);
        }
        st_say(root, "  %6zu  |", class->first_node);
        for (size_t j = 0; j < LEVELS && most > 0; j++)
            st_say(root, "%s", marks[(int)ceil(8 * level[j] / most)]);
        st_say(root, "|\n");
    }
    (void)st_put_rows(root, "series", fill_bin, usage, usage->class_count * usage->bins);
    st_result_csv(result, "series", "node,from_s,until_s,bytes,bytes_per_s");
}

/* --- the picture ------------------------------------------------------------------------------ */

void st_nic_svg(const st_nic_usage *usage, st_buffer *svg)
{
    size_t drawn = usage->class_count < MOST_CURVES ? usage->class_count : MOST_CURVES;
    double most = usage->rate;
    st_buffer title = {0};
    for (size_t i = 0; i < drawn; i++)
        most = fmax(most, peak_rate(usage, &usage->classes[i]));
    most = most > 0 ? most : 1;
    st_buffer_printf(&title, "Bytes that leave a node in one step of %s",
                     usage->timeline->plan.job);
    const char *words = st_buffer_read(&title);
    st_svg_begin(svg, LEFT + WIDTH + 40, TOP + HEIGHT + 90, words);
    st_svg_text(svg, (st_svg_point){LEFT, 26}, "large", words);
    if (usage->rate > 0)
        st_svg_text(svg, (st_svg_point){LEFT, 46}, "faint",
                    "the scale ends at the rate of the node's network cards");
    double ticks[ST_SVG_TICKS];
    char text[ST_QUANTITY_TEXT];
    double step_s = usage->bin_s * (double)usage->bins;
    size_t count = st_svg_ticks(0, most, ticks);
    st_svg_box_write(svg, (st_svg_box){LEFT, TOP, WIDTH, HEIGHT}, "panel");
    for (size_t i = 0; i < count; i++) {
        double y = TOP + HEIGHT * (1 - ticks[i] / most);
        st_svg_line(svg, (st_svg_point){LEFT, y}, (st_svg_point){LEFT + WIDTH, y}, "grid");
        st_svg_text(svg, (st_svg_point){LEFT - 8, y + 4}, "end", rate_text(ticks[i], text));
    }
    count = st_svg_ticks(0, step_s, ticks);
    for (size_t i = 0; i < count; i++) {
        double x = LEFT + WIDTH * ticks[i] / step_s;
        st_svg_line(svg, (st_svg_point){x, TOP + HEIGHT}, (st_svg_point){x, TOP + HEIGHT + 5},
                    "ink");
        st_svg_text(svg, (st_svg_point){x, TOP + HEIGHT + 20}, "middle",
                    st_quantity_text(ticks[i], "s", text));
    }
    for (size_t i = 0; i < drawn && usage->bin_s > 0; i++) {
        const st_nic_class *class = &usage->classes[i];
        for (size_t j = 0; j < usage->bins; j++) {
            double x = LEFT + (double)WIDTH * (double)j / (double)usage->bins;
            double next = LEFT + (double)WIDTH * (double)(j + 1) / (double)usage->bins;
            double y = TOP + HEIGHT * (1 - class->bytes[j] / usage->bin_s / most);
            double before = j == 0 ? 0 : class->bytes[j - 1];
            const st_svg_point corner[] = {
                {x, TOP + HEIGHT * (1 - before / usage->bin_s / most)}, {x, y}, {next, y}};
            st_svg_line(svg, corner[0], corner[1], st_svg_color(i));
            st_svg_line(svg, corner[1], corner[2], st_svg_color(i));
        }
    }
    st_svg_key keys[MOST_CURVES];
    char texts[MOST_CURVES][48];
    for (size_t i = 0; i < drawn; i++) {
        (void)snprintf(texts[i], sizeof texts[i], "node %zu, %zu alike",
                       usage->classes[i].first_node, usage->classes[i].nodes);
        keys[i] = (st_svg_key){.color = st_svg_color(i), .text = texts[i]};
    }
    (void)st_svg_legend(svg, keys, drawn, (st_svg_box){LEFT, TOP + HEIGHT + 36, WIDTH, 0});
    st_svg_end(svg);
    st_buffer_end(&title, &svg->failed);
}
