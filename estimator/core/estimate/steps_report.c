/* SPDX-License-Identifier: Apache-2.0 */
/* What `steptime steps check` says of a table of steps: that it holds, and what it costs. */
#include "estimate/report.h"

#include "base/memory.h"
#include "fabric/price.h"

#include <math.h>
#include <stdlib.h>

enum { MOST_GROUPS = 64, SIZES = 3 };

/* A number of ranks that the table was followed for. */
typedef struct followed {
    st_steps_group group;
    uint32_t rounds;
    size_t messages;
    double sent;           /* of the message, by the rank that sends the most */
    double times_s[SIZES]; /* NaN: no topology */
} followed;

typedef struct steps_run {
    const st_paths *paths;
    const st_steps_request *request;
    st_arena *arena;
    st_errors *errors;
    const st_steps *steps;
    const st_topology *topology;
    followed groups[MOST_GROUPS];
    size_t count;
} steps_run;

static const double sizes[SIZES] = {1048576, 67108864, 1073741824};

static st_status price_group(steps_run *report, const st_transfers *transfers, followed *group)
{
    st_price price;
    const st_steps_group *at = &group->group;
    uint32_t inside = at->per_node < at->ranks ? at->per_node : at->ranks;
    uint32_t given = (uint32_t)report->request->gpus_per_node;
    uint32_t of_node = report->topology != NULL ? report->topology->node_gpus : 0;
    uint32_t gpus = given > 0 ? given : of_node > 0 ? of_node : inside;
    const st_site site = {at->ranks, at->per_node, gpus, gpus};
    for (size_t i = 0; i < SIZES; i++)
        group->times_s[i] = (double)NAN;
    if (report->topology == NULL)
        return ST_OK;
    const char *fault = st_site_error(report->topology, &site, report->arena);
    if (fault != NULL)
        return st_fail(report->errors, ST_ERR_VALUE, (st_place){.file = report->request->topology},
                       "cannot place %u ranks: %s", at->ranks, fault);
    st_status status =
        st_price_transfers(report->topology, &site, transfers, report->arena, &price);
    for (size_t i = 0; i < SIZES && status == ST_OK; i++)
        group->times_s[i] = st_price_at(&price, sizes[i]);
    return status;
}

/* The requested number, else the GPUs of a node of the topology, else all. */
static uint32_t per_node_of(const steps_run *report, uint32_t ranks)
{
    uint32_t of_node = report->topology != NULL ? report->topology->node_gpus : 0;
    return report->request->per_node > 0    ? (uint32_t)report->request->per_node
           : of_node > 0 && of_node < ranks ? of_node
                                            : ranks;
}

static st_status follow(steps_run *report, uint32_t ranks)
{
    st_transfers transfers = {0};
    followed *group = &report->groups[report->count];
    *group = (followed){.group = {ranks, per_node_of(report, ranks)}};
    if (ranks > group->group.per_node && ranks % group->group.per_node != 0)
        return st_fail(report->errors, ST_ERR_VALUE, (st_place){0},
                       "%u ranks cannot be spread evenly over nodes of %u" ST_HINT "use %s", ranks,
                       group->group.per_node,
                       report->request->per_node > 0 ? "a --per-node that divides the ranks"
                                                     : "--per-node");
    st_status status = st_steps_follow(report->steps, &group->group, &transfers, report->errors);
    if (status == ST_OK) {
        group->rounds = transfers.rounds;
        group->messages = transfers.count;
        double most = 0;
        for (uint32_t rank = 0; rank < ranks; rank++) {
            double sent = 0;
            for (size_t i = 0; i < transfers.count; i++)
                sent += transfers.items[i].from == rank ? transfers.items[i].share : 0;
            most = fmax(most, sent);
        }
        group->sent = most;
        status = price_group(report, &transfers, group);
        report->count++;
    }
    free(transfers.items);
    return status;
}

/* Numbers from 2 on that the table says it holds for; powers of two of one that takes multiples. */
static st_status follow_some(steps_run *report)
{
    st_status status = ST_OK;
    for (uint32_t ranks = 2; ranks <= 16 && status == ST_OK; ranks++) {
        const st_steps_group group = {ranks, ranks};
        if (st_steps_fit(report->steps, &group) && ranks % per_node_of(report, ranks) == 0)
            status = follow(report, ranks);
    }
    if (status == ST_OK && report->count == 0)
        return st_fail(report->errors, ST_ERR_VALUE, (st_place){0},
                       "the table supports %s" ST_HINT "use --ranks",
                       st_steps_ranks(report->steps, report->arena));
    return status;
}

static st_status load(steps_run *report)
{
    st_source source = {0};
    const st_steps_request *request = report->request;
    st_status status = st_paths_read(report->paths, ST_FOLDER_STEPS, request->steps, (st_place){0},
                                     report->arena, &source, report->errors);
    if (status == ST_OK)
        status = st_steps_read(&source, report->arena, &report->steps, report->errors);
    if (status != ST_OK || request->topology == NULL)
        return status;
    status = st_paths_read(report->paths, ST_FOLDER_TOPOLOGIES, request->topology, (st_place){0},
                           report->arena, &source, report->errors);
    return status == ST_OK
               ? st_topology_read(&source, report->arena, &report->topology, report->errors)
               : status;
}

static void fill_group(const void *context, size_t index, st_node *row)
{
    const followed *group = &((const steps_run *)context)->groups[index];
    st_put_count(row, "ranks", group->group.ranks);
    st_put_count(row, "per_node", group->group.per_node);
    st_put_count(row, "rounds", group->rounds);
    st_put_count(row, "messages", group->messages);
    st_put_number(row, "sent", round(1e4 * group->sent) / 1e4);
    st_put_seconds(row, "time_1_mib", group->times_s[0]);
    st_put_seconds(row, "time_64_mib", group->times_s[1]);
    st_put_seconds(row, "time_1_gib", group->times_s[2]);
}

st_status st_steps_report(const st_paths *paths, const st_steps_request *request, st_arena *arena,
                          st_result *result, st_errors *errors)
{
    steps_run *report = st_arena_alloc(arena, 1, sizeof *report);
    if (report == NULL)
        return st_out_of_memory(errors);
    report->paths = paths;
    report->request = request;
    report->arena = arena;
    report->errors = errors;
    st_status status = load(report);
    if (status == ST_OK)
        status =
            request->ranks > 0 ? follow(report, (uint32_t)request->ranks) : follow_some(report);
    if (status == ST_OK) {
        const char *name = report->request->steps;
        static const st_table_column columns[] = {
            {.title = "ranks", .right = true},  {.title = "on a node", .right = true},
            {.title = "rounds", .right = true}, {.title = "messages", .right = true},
            {.title = "sent", .right = true},   {.title = "1 MiB", .right = true},
            {.title = "64 MiB", .right = true}, {.title = "1 GiB", .right = true}};
        bool priced = report->topology != NULL;
        st_node *root = st_result_begin(result, report->arena);
        st_put_text(root, "steps", name);
        st_put_text(root, "collective", st_collective_name(st_steps_collective(report->steps)));
        st_put_text_or_null(root, "topology", priced ? report->topology->name : "");
        st_say(root, "%s: %s, for %s; every rank has the result\n\n", name,
               st_collective_name(st_steps_collective(report->steps)),
               st_steps_ranks(report->steps, report->arena));
        st_node *rows = st_put_rows(root, "groups", fill_group, report, report->count);
        st_table *table = st_say_table(root, columns, priced ? 8 : 5, 0);
        st_table_show(table, rows,
                      priced
                          ? "ranks,per_node,rounds,messages,sent,time_1_mib,time_64_mib,time_1_gib"
                          : "ranks,per_node,rounds,messages,sent");
        st_result_csv(result, "groups",
                      "ranks,per_node,rounds,messages,sent,time_1_mib=time_1_mib_s,"
                      "time_64_mib=time_64_mib_s,time_1_gib=time_1_gib_s");
    }
    return status;
}
