/* SPDX-License-Identifier: Apache-2.0 */
/* From a job to its traffic, and the tables of it. */
#include "estimate/traffic.h"

#include "base/memory.h"
#include "steptime/keys.h"
#include "steptime/tool/estimates.h"
#include "job/files.h"
#include "steptime/tool/roles.h"

#include <math.h>
#include <string.h>

/* --- the plan -------------------------------------------------------------------------------- */

static size_t count_of(const st_job *job, const char *path, size_t missing)
{
    const st_job_value *value = st_job_value_of(job, path);
    return value == NULL || value->origin == ST_ORIGIN_NONE ? missing : (size_t)value->number;
}

/* GPUs of a node that the plan uses: what the sheet makes of the job's. */
static st_status node_gpus(st_estimate *estimate, st_arena *arena, size_t *gpus, st_errors *errors)
{
    const char *cell = st_sheet_role(estimate->sheet, ST_ROLE_GPUS_PER_NODE);
    double value = 0;
    *gpus = count_of(estimate->job, ST_KEY_CLUSTER_GPUS_PER_NODE, 0);
    if (*gpus == 0)
        return st_fail(errors, ST_ERR_NAME, (st_place){.file = st_job_file(estimate->job)},
                       "the job does not set the GPUs per node" ST_EXPECTED
                       "cluster.gpus_per_node");
    if (cell == NULL)
        return ST_OK;
    const st_stage_question question = {&cell, 1, 1, 0};
    st_status status = st_estimate_by_stage(estimate, &question, arena, &value, errors);
    if (status == ST_OK && value >= 1)
        *gpus = (size_t)value;
    return status;
}

static const char *order_of(const st_job *job, st_place *place)
{
    const st_job_value *order = st_job_value_of(job, ST_KEY_PARALLEL_ORDER);
    if (order == NULL || order->origin == ST_ORIGIN_NONE)
        return ST_PLACEMENT_ORDER;
    *place = order->place;
    return order->text;
}

st_status st_traffic_place(const st_job *job, size_t gpus_per_node, st_placement *placement,
                           st_errors *errors)
{
    st_placement_plan plan = {
        .size = {count_of(job, ST_KEY_PARALLEL_TP, 1), count_of(job, ST_KEY_PARALLEL_CP, 1),
                 count_of(job, ST_KEY_PARALLEL_EP, 1), count_of(job, ST_KEY_PARALLEL_DP, 1),
                 count_of(job, ST_KEY_PARALLEL_PP, 1)},
        .expert_tp = count_of(job, ST_KEY_PARALLEL_EXPERT_TP, 0),
        .gpus_per_node = gpus_per_node};
    plan.order = order_of(job, &plan.place);
    return st_placement_create(&plan, placement, errors);
}

static st_status place_job(const st_job *job, size_t node, st_traffic_report *report,
                           st_errors *errors)
{
    const st_job_value *order = st_job_value_of(job, ST_KEY_PARALLEL_ORDER);
    report->order_is_default = order == NULL || order->origin == ST_ORIGIN_NONE;
    report->order = report->order_is_default ? ST_PLACEMENT_ORDER : order->text;
    st_status status = st_traffic_place(job, node, &report->placement, errors);
    size_t nodes = count_of(job, ST_KEY_CLUSTER_NODES, 0);
    if (status == ST_OK && nodes > 0 && report->placement.ranks > nodes * node)
        status = st_fail(errors, ST_ERR_CHECK, (st_place){.file = st_job_file(job)},
                         "the plan has %zu ranks, but the cluster has %zu GPUs",
                         report->placement.ranks, nodes * node);
    return status;
}

/* --- volumes --------------------------------------------------------------------------------- */

static bool count_crossing(void *context, const st_flow *flow)
{
    st_traffic_report *report = context;
    size_t per_node = report->placement.gpus_per_node;
    if (flow->source / per_node != flow->target / per_node)
        report->crossing_bytes[flow->group] += flow->bytes;
    return true;
}

/* The sheet's cells by kind, and those without a kind. */
enum { AROUND = ST_GROUPS, EXCHANGED, FORWARDED, LOAD, JOINED, ASKED };

typedef struct traffic_cells {
    const char *names[ASKED];
    int what[ASKED];
    size_t count;
} traffic_cells;

static void ask_for(traffic_cells *cells, const char *name, int what)
{
    if (name == NULL)
        return;
    cells->names[cells->count] = name;
    cells->what[cells->count++] = what;
}

static void read_stage(st_traffic_report *report, const traffic_cells *cells, const double *values,
                       uint64_t *sent, st_token_bytes *tokens)
{
    st_traffic *traffic = &report->traffic;
    for (size_t i = 0; i < cells->count; i++) {
        int what = cells->what[i];
        if (what == LOAD)
            traffic->expert_load = values[i];
        else if (what == JOINED)
            traffic->experts_joined = (size_t)values[i];
        else if (what == AROUND && report->wanted[ST_GROUP_PP])
            traffic->around_bytes = (uint64_t)llround(values[i]);
        else if (what == EXCHANGED && report->wanted[ST_GROUP_EP])
            tokens->exchanged = (uint64_t)llround(values[i]);
        else if (what == FORWARDED && report->wanted[ST_GROUP_EP])
            tokens->forwarded = (uint64_t)llround(values[i]);
        else if (what < ST_GROUPS)
            sent[what] = (uint64_t)llround(values[i]);
    }
}

static st_status ask_stages(st_estimate *estimate, st_traffic_report *report,
                            const traffic_cells *cells, st_arena *arena, st_errors *errors)
{
    size_t stages = report->placement.size[ST_GROUP_PP];
    uint64_t(*sent)[ST_GROUPS] = st_arena_alloc(arena, stages, sizeof *sent);
    st_token_bytes *tokens = st_arena_alloc(arena, stages, sizeof *tokens);
    double *values = st_arena_alloc(arena, stages * cells->count, sizeof *values);
    if (sent == NULL || tokens == NULL || values == NULL)
        return st_out_of_memory(errors);
    const st_stage_question question = {cells->names, cells->count, stages, 0};
    st_status status = st_estimate_by_stage(estimate, &question, arena, values, errors);
    for (size_t stage = 0; stage < stages && status == ST_OK; stage++)
        read_stage(report, cells, &values[stage * cells->count], sent[stage], &tokens[stage]);
    report->traffic.sent_bytes = (const uint64_t(*)[ST_GROUPS])sent;
    if (st_sheet_role_part(estimate->sheet, ST_ROLE_SENT, EXCHANGED) != NULL ||
        st_sheet_role_part(estimate->sheet, ST_ROLE_SENT, FORWARDED) != NULL)
        report->traffic.token_bytes = tokens;
    return status;
}

static void count_crossings(st_traffic_report *report)
{
    memset(report->crossing_bytes, 0, sizeof report->crossing_bytes);
    st_traffic_visit(&report->placement, &report->traffic, count_crossing, report);
}

st_status st_traffic_report_make(st_estimate *estimate, st_group only, st_arena *arena,
                                 st_traffic_report *report, st_errors *errors)
{
    size_t node = 0;
    *report = (st_traffic_report){.estimate = estimate};
    st_status status = node_gpus(estimate, arena, &node, errors);
    if (status == ST_OK)
        status = place_job(estimate->job, node, report, errors);
    if (status != ST_OK)
        return status;
    const st_sheet *sheet = report->estimate->sheet;
    traffic_cells cells = {.count = 0};
    for (st_group group = ST_GROUP_TP; group < ST_GROUPS; group++) {
        report->wanted[group] = only == ST_GROUPS || only == group;
        report->cells[group] = st_sheet_role_part(sheet, ST_ROLE_SENT, group);
        if (report->wanted[group])
            ask_for(&cells, report->cells[group], (int)group);
    }
    if (cells.count > 0) {
        ask_for(&cells, st_sheet_role_part(sheet, ST_ROLE_SENT, AROUND), AROUND);
        ask_for(&cells, st_sheet_role_part(sheet, ST_ROLE_SENT, EXCHANGED), EXCHANGED);
        ask_for(&cells, st_sheet_role_part(sheet, ST_ROLE_SENT, FORWARDED), FORWARDED);
        ask_for(&cells, st_sheet_role(sheet, ST_ROLE_EXPERT_LOAD), LOAD);
        ask_for(&cells, st_sheet_role(sheet, ST_ROLE_EXPERT_JOINED), JOINED);
    }
    if (cells.count == 0)
        return st_fail(errors, ST_ERR_USAGE, (st_place){0},
                       "sheet '%s' has no traffic to show" ST_EXPECTED
                       "a role 'sent' with cells by group, such as 'sent: {tp: CELL, dp: CELL}'",
                       st_sheet_name(estimate->sheet));
    status = ask_stages(estimate, report, &cells, arena, errors);
    if (status == ST_OK)
        count_crossings(report);
    return status;
}

st_status st_estimate_placement(st_estimate *estimate, st_arena *arena, st_placement *placement,
                                st_errors *errors)
{
    st_traffic_report *report = st_arena_alloc(arena, 1, sizeof *report);
    if (report == NULL)
        return st_out_of_memory(errors);
    st_status status = st_traffic_report_make(estimate, ST_GROUPS, arena, report, errors);
    if (status == ST_OK)
        *placement = report->placement;
    return status;
}

st_status st_traffic_report_send_tokens(st_traffic_report *report, const char *file,
                                        st_arena *arena, st_errors *errors)
{
    const st_job *job = report->estimate->job;
    st_token_group group = {.ranks = report->placement.size[ST_GROUP_EP],
                            .experts = count_of(job, ST_KEY_MODEL_EXPERTS, 0)};
    st_source source = {0};
    if (group.ranks == 1)
        return st_fail(errors, ST_ERR_USAGE, (st_place){.file = file},
                       "the job's experts do not exchange tokens" ST_EXPECTED
                       "parallel.ep above 1");
    if (st_traffic_gathers_tokens(&report->placement, &report->traffic))
        return st_fail(errors, ST_ERR_USAGE, (st_place){.file = file},
                       "all ranks of the job's expert groups gather all tokens" ST_EXPECTED
                       "a dispatcher that sends tokens only to their experts "
                       "(parallel.dispatcher)");
    st_status status = st_file_read_table(file, (st_place){0}, arena, &source, errors);
    if (status == ST_OK)
        status = st_token_shares_read(&(st_token_text){source.file, source.text, source.length},
                                      &group, arena, &report->tokens, errors);
    if (status == ST_OK) {
        report->tokens_file = file;
        report->traffic.tokens = &report->tokens;
        count_crossings(report);
    }
    return status;
}

/* --- the result ------------------------------------------------------------------------------ */

/* A group of a kind on the nodes, as it is shown. */
typedef struct shown_group {
    st_group_shape shape;
    size_t ranks, groups, stride;
    size_t sharing;
    bool is_even;
} shown_group;

static shown_group group_of(const st_placement *placement, st_group group)
{
    return (shown_group){.shape = st_placement_shape(placement, group, 0),
                         .ranks = placement->size[group],
                         .groups = st_placement_group_count(placement, group),
                         .stride = placement->stride[group],
                         .sharing = st_placement_sharing(placement, group),
                         .is_even = st_placement_is_even(placement, group)};
}

/* The first of the groups that reduce gradients, of the ranks of `inner` times those of `outer`. */
static st_group_shape count_reducers(const st_placement *placement, st_group inner, st_group outer)
{
    st_group_shape shape = {.ranks = placement->size[inner] * placement->size[outer]};
    size_t last_node = SIZE_MAX;
    size_t on_node = 0;
    for (size_t i = 0; i < shape.ranks; i++) {
        size_t rank = i / placement->size[inner] * placement->stride[outer] +
                      i % placement->size[inner] * placement->stride[inner];
        size_t node = rank / placement->gpus_per_node;
        shape.nodes += node != last_node ? 1 : 0;
        on_node = node != last_node ? 1 : on_node + 1;
        last_node = node;
        shape.most_per_node = on_node > shape.most_per_node ? on_node : shape.most_per_node;
    }
    return shape;
}

/* Gradients are reduced over the data- and context-parallel ranks together. */
static shown_group reducers_of(const st_placement *placement)
{
    bool data_outside = placement->stride[ST_GROUP_DP] >= placement->stride[ST_GROUP_CP];
    st_group inner = data_outside ? ST_GROUP_CP : ST_GROUP_DP;
    st_group outer = data_outside ? ST_GROUP_DP : ST_GROUP_CP;
    size_t span = placement->stride[inner] * placement->size[inner];
    if (placement->size[outer] == 1)
        return group_of(placement, inner);
    if (placement->stride[outer] == span || placement->size[inner] == 1) {
        st_placement joined = *placement; /* one progression of ranks */
        joined.size[outer] *= placement->size[inner];
        if (placement->size[inner] > 1)
            joined.stride[outer] = placement->stride[inner];
        return group_of(&joined, outer);
    }
    shown_group shown = {.shape = count_reducers(placement, inner, outer),
                         .stride = placement->stride[inner],
                         .is_even = st_placement_is_even(placement, inner) &&
                                    st_placement_is_even(placement, outer)};
    shown.ranks = shown.shape.ranks;
    shown.groups = placement->ranks / shown.ranks;
    shown.sharing =
        shown.shape.nodes > 1 ? placement->gpus_per_node / shown.shape.most_per_node : 0;
    return shown;
}

static void put_group(const st_traffic_report *report, st_group group, st_node *list, st_node *root)
{
    const st_placement *placement = &report->placement;
    shown_group shown = group == ST_GROUP_DP ? reducers_of(placement) : group_of(placement, group);
    const char *cell = report->cells[group];
    uint64_t sent = st_traffic_sent_bytes(placement, &report->traffic, group, 0);
    uint64_t total = st_traffic_total_bytes(placement, &report->traffic, group);
    char texts[3][ST_QUANTITY_TEXT];
    st_node *node = st_put_line_map(list, NULL);
    st_put_text(node, "kind", st_group_name(group));
    st_put_count(node, "ranks", shown.ranks);
    st_put_count(node, "groups", shown.groups);
    st_put_count(node, "stride", shown.stride);
    st_put_count(node, "most_per_node", shown.shape.most_per_node);
    st_put_count(node, "nodes", shown.shape.nodes);
    st_put_count(node, "sharing", shown.sharing);
    st_put_bool(node, "even", shown.is_even);
    st_put_text(node, "cell", cell);
    st_put_count(node, "sent_bytes", sent);
    st_node *stages = st_put_list(node, "sent_bytes_by_stage");
    for (size_t stage = 0; stage < placement->size[ST_GROUP_PP]; stage++)
        st_put_count(stages, NULL,
                     st_traffic_sent_bytes(placement, &report->traffic, group, stage));
    st_put_count(node, "total_bytes", total);
    st_put_count(node, "crossing_bytes", report->crossing_bytes[group]);
    st_say(root, "  %-9s %7zu %9zu %9zu %7zu %10zu  %12s %12s %12s  %s%s\n", st_group_name(group),
           shown.ranks, shown.groups, shown.shape.most_per_node, shown.shape.nodes, shown.sharing,
           st_quantity_text((double)sent, "GB", texts[0]),
           st_quantity_text((double)total, "GB", texts[1]),
           st_quantity_text((double)report->crossing_bytes[group], "GB", texts[2]),
           cell == NULL ? "(no cell)" : cell, shown.is_even ? "" : "  (uneven groups)");
}

/* How the shares change as training goes on: all of it as data, some of it as text. */
static void put_iterations(const st_token_shares *tokens, st_node *parent, st_node *root)
{
    enum { MOST_LINES = 20 };
    size_t every = (tokens->load_count + MOST_LINES - 1) / MOST_LINES;
    if (tokens->load_count == 0)
        return;
    st_node *list = st_put_list(parent, "iterations");
    st_say(root, "\n  iteration  busiest   idlest      gap\n");
    for (size_t i = 0; i < tokens->load_count; i++) {
        const st_token_load *load = &tokens->loads[i];
        double gap = load->busiest - load->idlest;
        st_node *node = st_put_line_map(list, NULL);
        st_put_number(node, "iteration", load->iteration);
        st_put_number(node, "busiest", load->busiest);
        st_put_number(node, "idlest", load->idlest);
        st_put_number(node, "nonuniform_factor", gap);
        if (i % every == 0 || i + 1 == tokens->load_count)
            st_say(root, "  %9.0f %8.4g %8.4g %8.4g\n", load->iteration, load->busiest,
                   load->idlest, gap);
    }
}

void st_traffic_result(const st_traffic_report *report, st_arena *arena, st_result *result)
{
    const st_placement *placement = &report->placement;
    const char *job = st_job_name(report->estimate->job);
    const char *sheet = st_sheet_name(report->estimate->sheet);
    st_node *root = st_result_begin(result, arena);
    st_put_text(root, "job", job);
    st_put_text(root, "sheet", sheet);
    st_put_count(root, "ranks", placement->ranks);
    st_put_count(root, "gpus_per_node", placement->gpus_per_node);
    st_put_text(root, "order", report->order);
    st_put_bool(root, "order_is_default", report->order_is_default);
    st_say(root, "job      %s\nsheet    %s\nranks    %zu on %zu nodes of %zu\n", job, sheet,
           placement->ranks,
           (placement->ranks + placement->gpus_per_node - 1) / placement->gpus_per_node,
           placement->gpus_per_node);
    st_say(root, "order    %s%s\n\n", report->order,
           report->order_is_default ? "  (an assumption: parallel.order is not given)" : "");
    st_say(root, "  kind        ranks    groups  per node   nodes  share NICs    a rank sends"
                 "        total  cross nodes  cell\n");
    st_node *groups = st_put_list(root, "groups");
    for (st_group group = ST_GROUP_TP; group < ST_GROUPS; group++)
        if (report->wanted[group] && (group != ST_GROUP_EXPERT_DP || report->cells[group] != NULL))
            put_group(report, group, groups, root);
    /* Li's non-uniform factor is the gap between the busiest and the idlest rank (Figure 5). */
    const st_token_shares *tokens = &report->tokens;
    const st_token_load *load = &tokens->load;
    char when[48] = "";
    if (tokens->ranks != 0) {
        if (tokens->load_count > 0)
            (void)snprintf(when, sizeof when, ", iteration %.0f (the last)", load->iteration);
        st_node *node = st_put_line_map(root, "tokens");
        st_put_text(node, "file", report->tokens_file);
        st_put_number(node, "busiest", load->busiest);
        st_put_number(node, "idlest", load->idlest);
        st_put_number(node, "nonuniform_factor", load->busiest - load->idlest);
        st_say(
            root,
            "\ntokens   %s%s: the busiest rank gets %.4g times the mean, the idlest %.4g, a gap of "
            "%.4g\n         to price the imbalance, estimate with model.imbalance=%.4g\n",
            report->tokens_file, when, load->busiest, load->idlest, load->busiest - load->idlest,
            fmax(load->busiest, 1));
        put_iterations(tokens, node, root);
    }
    st_say(root, "\nOne step. 'a rank sends' is for a rank of the first stage; 'total' sums over "
                 "all ranks.\n");
}

/* --- flows, written as they come: a large job has millions ------------------------------------ */

typedef struct st_flow_writer {
    const st_traffic_report *report;
    st_buffer *buffer;
} st_flow_writer;

static bool write_flow(void *context, const st_flow *flow)
{
    const st_flow_writer *writer = context;
    if (writer->report->wanted[flow->group])
        st_buffer_printf(writer->buffer, "%zu,%zu,%s,%llu\n", flow->source, flow->target,
                         st_group_name(flow->group), (unsigned long long)flow->bytes);
    return !writer->buffer->failed;
}

void st_traffic_flows_csv(const st_traffic_report *report, st_buffer *buffer)
{
    st_flow_writer writer = {.report = report, .buffer = buffer};
    st_buffer_text(buffer, "source,target,kind,bytes\n");
    st_traffic_visit(&report->placement, &report->traffic, write_flow, &writer);
}
