/* SPDX-License-Identifier: Apache-2.0 */
/* See planned_ranks.h. */
#include "record/cli/planned_ranks.h"

#include "base/memory.h"
#include "steptime/tool/rank_groups.h"

st_status cli_planned_ranks_of(cli_run *run, const char *job, cli_planned_ranks *planned)
{
    const st_job *loaded = NULL;
    st_placement placed = {0};
    st_status status = cli_paths(run);
    if (status == ST_OK)
        status = st_job_load(run->paths, job, NULL, 0, run->arena, &loaded, run->errors);
    if (status == ST_OK)
        status = st_traffic_place(loaded, 1, &placed, run->errors);
    if (status == ST_OK && placed.ranks > CLI_MOST_GIVEN)
        status = st_fail(run->errors, ST_ERR_LIMIT, (st_place){.file = "--plan"},
                         "the job has too many ranks" ST_FOUND "%zu" ST_EXPECTED "at most %llu",
                         placed.ranks, (unsigned long long)CLI_MOST_GIVEN);
    if (status != ST_OK)
        return status;
    static const st_group groups[] = {ST_GROUP_TP, ST_GROUP_CP, ST_GROUP_DP};
    size_t stages = placed.size[ST_GROUP_PP];
    size_t apart = placed.stride[ST_GROUP_PP] > 0 ? placed.stride[ST_GROUP_PP] : 1;
    size_t second = 0;
    planned->world = placed.ranks;
    planned->count = stages;
    planned->ranks = st_arena_alloc(run->arena, stages, sizeof *planned->ranks);
    planned->as = st_arena_alloc(run->arena, placed.ranks, sizeof *planned->as);
    for (size_t i = 0; i < ST_COUNT(groups); i++)
        second += placed.size[groups[i]] > 1 ? placed.stride[groups[i]] : 0;
    for (size_t i = 0; i < stages; i++)
        planned->ranks[i] = (int32_t)(second + i * apart);
    for (size_t i = 0; i < placed.ranks; i++)
        planned->as[i] = planned->ranks[stages > 1 ? i / apart % stages : 0];
    return ST_OK;
}
