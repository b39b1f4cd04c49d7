/* SPDX-License-Identifier: Apache-2.0 */
/* When which bytes leave a node; see nic.h. */
#include "timeline/nic.h"

#include "base/memory.h"
#include "base/svg.h"
#include "base/text.h"
#include "steptime/keys.h"

#include <math.h>
#include <string.h>

/* What tasks can send: each kind of traffic in its own, and all that hides in the passes. */
enum { IN_PASSES = ST_GROUPS, LANES };

static const char *const lane_category[ST_GROUPS] = {
    [ST_GROUP_TP] = "tp",       [ST_GROUP_CP] = "cp", [ST_GROUP_EP] = "ep",
    [ST_GROUP_DP] = "dp",       [ST_GROUP_PP] = "pp", [ST_GROUP_EMBEDDING] = "tied",
    [ST_GROUP_EXPERT_DP] = "dp"};

/* --- when a stage sends ----------------------------------------------------------------------- */

/* Time that the tasks of a lane run, in each bin; in ticks. */
typedef struct nic_lane {
    double *ticks;
    double all;
} nic_lane;

typedef struct nic_builder {
    const st_timeline *timeline;
    const st_traffic_report **traffic; /* by stage */
    const st_traffic_report *visited;  /* of the stages whose flows are being added */
    size_t gpus_per_node;
    st_arena *arena;
    size_t bins;
    size_t stages;
    nic_lane *lanes; /* stage by stage */
    double *sent;    /* node by node, stage by stage, kind by kind */
    double rate;
} nic_builder;

static void add_time(nic_lane *lane, const nic_builder *builder, st_task_time time)
{
    double width = (double)builder->timeline->end / (double)builder->bins;
    double at = (double)time.start_ns;
    double end = (double)time.end_ns;
    if (width <= 0)
        return; /* a step without time */
    lane->all += end - at;
    for (size_t bin = (size_t)(at / width); at < end && bin < builder->bins; bin++) {
        double until = bin + 1 == builder->bins ? end : fmin(end, width * (double)(bin + 1));
        lane->ticks[bin] += fmax(until - at, 0);
        at = fmax(until, at);
    }
}

/* The row of a stage, the first where every rank has one; SIZE_MAX: not its first. */
static size_t stage_of_rank(const st_timeline *timeline, uint32_t rank)
{
    for (size_t i = 0; i < timeline->row_count; i++) {
        if (timeline->rows[i].rank != rank)
            continue;
        for (size_t k = 0; k < i; k++)
            if (timeline->rows[k].stage == timeline->rows[i].stage)
                return SIZE_MAX;
        return timeline->rows[i].stage;
    }
    return SIZE_MAX;
}

static st_status fill_lanes(nic_builder *builder, st_errors *errors)
{
    const st_timeline *timeline = builder->timeline;
    size_t resources = st_graph_resource_count(timeline->graph);
    size_t *stages = st_arena_alloc(builder->arena, resources + 1, sizeof *stages);
    builder->lanes = st_arena_alloc(builder->arena, builder->stages * LANES, sizeof(nic_lane));
    if (stages == NULL || builder->lanes == NULL)
        return st_out_of_memory(errors);
    for (size_t i = 0; i < builder->stages * LANES; i++)
        builder->lanes[i].ticks = st_arena_alloc(builder->arena, builder->bins, sizeof(double));
    if (st_arena_failed(builder->arena))
        return st_out_of_memory(errors);
    for (size_t i = 0; i < resources; i++)
        stages[i] = stage_of_rank(timeline, st_graph_resource_rank(timeline->graph, (uint32_t)i));
    for (size_t i = 0; i < st_graph_task_count(timeline->graph); i++) {
        size_t stage = stages[st_graph_task(timeline->graph, (st_task_id)i).resource];
        if (stage < builder->stages) {
            const st_task_id task = (st_task_id)i;
            st_task_view view = st_graph_task(builder->timeline->graph, task);
            nic_lane *lanes = &builder->lanes[stage * LANES];
            st_task_time time = st_replay_task(builder->timeline->replay, task);
            for (int group = 0; group < ST_GROUPS; group++)
                if (strcmp(view.category_name, lane_category[group]) == 0)
                    add_time(&lanes[group], builder, time);
            if (st_is_pass(view.category_name))
                add_time(&lanes[IN_PASSES], builder, time);
        }
    }
    return ST_OK;
}

/* --- what a node sends ------------------------------------------------------------------------ */

static size_t sent_index(const nic_builder *builder, size_t node, size_t stage, size_t group)
{
    return (node * builder->stages + stage) * ST_GROUPS + group;
}

/*
 * A rank of the traffic as a rank of the job. Where stages have groups of their own, their traffic
 * is that of a job of such stages: its ranks represent those at the same place of the stage.
 */
static size_t rank_of(const nic_builder *builder, size_t rank)
{
    const st_placement *placement = &builder->visited->placement;
    size_t at[ST_GROUPS] = {0};
    if (!builder->timeline->plan.splits_differ)
        return rank;
    for (int group = ST_GROUP_TP; group <= ST_GROUP_PP; group++)
        at[group] = rank / placement->stride[group] % placement->size[group];
    const st_own_stage *stage = &builder->timeline->plan.own_stages[at[ST_GROUP_PP]];
    size_t tp = at[ST_GROUP_TP] * stage->tp / placement->size[ST_GROUP_TP];
    size_t cp = at[ST_GROUP_CP] * stage->cp / placement->size[ST_GROUP_CP];
    size_t dp = at[ST_GROUP_DP] * stage->dp / placement->size[ST_GROUP_DP];
    return stage->ranks[(dp * stage->cp + cp) * stage->tp + tp];
}

static bool add_flow(void *context, const st_flow *flow)
{
    nic_builder *builder = context;
    const st_placement *placement = &builder->visited->placement;
    size_t stage = flow->source / placement->stride[ST_GROUP_PP] % builder->stages;
    if (builder->traffic[stage] != builder->visited)
        return true;
    size_t node = rank_of(builder, flow->source) / builder->gpus_per_node;
    if (node != rank_of(builder, flow->target) / builder->gpus_per_node)
        builder->sent[sent_index(builder, node, stage, flow->group)] += (double)flow->bytes;
    return true;
}

static st_status fill_class(const nic_builder *builder, st_nic_class *class, st_errors *errors)
{
    double *bins = st_arena_alloc(builder->arena, builder->bins, sizeof *bins);
    if (bins == NULL)
        return st_out_of_memory(errors);
    class->bytes = bins;
    for (size_t stage = 0; stage < builder->stages; stage++)
        for (size_t group = 0; group < ST_GROUPS; group++) {
            double bytes = builder->sent[sent_index(builder, class->first_node, stage, group)];
            if (bytes > 0) {
                /* Bytes of a stage's kind on a node go into the time of its messages, as far as the
                 * cards allow, and the rest into the passes. */
                const nic_lane *lanes = &builder->lanes[stage * LANES];
                double room = builder->rate > 0 ? builder->rate * lanes[group].all / ST_TICKS_PER_S
                                                : (double)INFINITY;
                double own = lanes[group].all > 0 ? fmin(bytes, room) : 0;
                if (lanes[IN_PASSES].all == 0)
                    own = bytes;
                const nic_lane *lane = &lanes[group];
                for (size_t i = 0; i < builder->bins && own > 0 && lane->all > 0; i++)
                    bins[i] += own * lane->ticks[i] / lane->all;
                lane = &lanes[IN_PASSES];
                for (size_t i = 0; i < builder->bins && bytes > own; i++)
                    bins[i] += (bytes - own) * lane->ticks[i] / lane->all;
                class->sent_bytes += bytes;
                class->hidden_bytes += bytes - own;
            }
        }
    /* What kinds or directions would send at once above the rate of the cards waits until these
     * are free, or leaves before where the step ends first. */
    double room =
        builder->rate * (double)builder->timeline->end / ST_TICKS_PER_S / (double)builder->bins;
    double waiting = 0;
    if (!(builder->rate <= 0) && !(class->sent_bytes > room * (double)builder->bins)) {
        for (size_t turn = 0; turn < 2 * builder->bins; turn++) {
            size_t bin = turn < builder->bins ? turn : 2 * builder->bins - 1 - turn;
            double all = bins[bin] + waiting;
            double above = fmax(bins[bin] - room, 0);
            class->delayed_bytes += above;
            bins[bin] = fmin(all, room);
            waiting = all - bins[bin];
        }
    }
    return ST_OK;
}

static st_status fill_classes(nic_builder *builder, st_nic_usage *usage, st_errors *errors)
{
    /* Nodes up to the one of the last rank. */
    const st_timeline_plan *plan = &builder->timeline->plan;
    size_t ranks = plan->splits_differ ? st_own_ranks(plan->own_stages, builder->stages)
                                       : builder->traffic[0]->placement.ranks;
    size_t nodes = (ranks + builder->gpus_per_node - 1) / builder->gpus_per_node;
    st_nic_class *classes = st_arena_alloc(builder->arena, nodes, sizeof *classes);
    builder->sent =
        st_arena_alloc(builder->arena, nodes * builder->stages * ST_GROUPS, sizeof(double));
    if (classes == NULL || builder->sent == NULL)
        return st_out_of_memory(errors);
    for (size_t i = 0; i < builder->stages; i++) {
        size_t first = 0;
        while (builder->traffic[first] != builder->traffic[i])
            first++;
        if (first < i)
            continue;
        builder->visited = builder->traffic[i];
        st_traffic_visit(&builder->visited->placement, &builder->visited->traffic, add_flow,
                         builder);
    }
    for (size_t node = 0; node < nodes; node++) {
        /* Nodes that send the same by stage and kind are one class; there are few. */
        size_t bytes = builder->stages * ST_GROUPS * sizeof(double);
        const double *own = &builder->sent[sent_index(builder, node, 0, 0)];
        size_t i = 0;
        while (i < usage->class_count &&
               memcmp(own, &builder->sent[sent_index(builder, classes[i].first_node, 0, 0)],
                      bytes) != 0)
            i++;
        if (i == usage->class_count)
            classes[(usage->class_count)++] = (st_nic_class){.first_node = node};
        classes[i].nodes++;
    }
    usage->classes = classes;
    for (size_t i = 0; i < usage->class_count; i++) {
        st_status status = fill_class(builder, &classes[i], errors);
        if (status != ST_OK)
            return status;
    }
    return ST_OK;
}

/* The traffic of every stage: the job's, or that of its own estimate, made once for each. */
static st_status read_traffic(nic_builder *builder, st_estimate *estimate, st_errors *errors)
{
    const st_own_stage *own = builder->timeline->plan.own_stages;
    for (size_t i = 0; i < builder->stages; i++) {
        size_t same = 0;
        while (own != NULL && own[same].estimate != own[i].estimate)
            same++;
        if (same < i) {
            builder->traffic[i] = builder->traffic[same];
            continue;
        }
        st_traffic_report *report = st_arena_alloc(builder->arena, 1, sizeof *report);
        if (report == NULL)
            return st_out_of_memory(errors);
        st_status status = st_traffic_report_make(own != NULL ? own[i].estimate : estimate,
                                                  ST_GROUPS, builder->arena, report, errors);
        if (status != ST_OK)
            return status;
        builder->traffic[i] = report;
    }
    builder->gpus_per_node = builder->traffic[0]->placement.gpus_per_node;
    return ST_OK;
}

st_status st_nic_usage_make(st_estimate *estimate, const st_timeline *timeline, size_t bins,
                            st_arena *arena, st_nic_usage *usage, st_errors *errors)
{
    const st_job_value *rate = st_job_value_of(estimate->job, ST_KEY_CLUSTER_NIC_BANDWIDTH);
    nic_builder builder = {.timeline = timeline,
                           .arena = arena,
                           .bins = bins,
                           .stages = timeline->plan.schedule.shape.stages};
    if (rate != NULL && rate->origin != ST_ORIGIN_NONE)
        builder.rate = rate->number;
    *usage = (st_nic_usage){.timeline = timeline,
                            .bins = bins,
                            .bin_s = (double)timeline->end / ST_TICKS_PER_S / (double)bins,
                            .rate = builder.rate};
    builder.traffic = st_arena_alloc(arena, builder.stages, sizeof *builder.traffic);
    if (builder.traffic == NULL)
        return st_out_of_memory(errors);
    st_status status = read_traffic(&builder, estimate, errors);
    if (status == ST_OK)
        status = fill_lanes(&builder, errors);
    if (status == ST_OK)
        status = fill_classes(&builder, usage, errors);
    return status;
}

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
    st_say(root, "Bytes that leave a node%s%s\n", usage->rate > 0 ? "; its NICs have " : "",
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
    st_say(root, "\n    node  the step, each line relative to its maximum\n");
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
