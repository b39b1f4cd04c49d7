/* SPDX-License-Identifier: Apache-2.0 */
/* Chakra's files from any bytes: what is accepted waits for nodes that exist, and replays or says
 * why not. */
#include "fuzz.h"
#include "workload/execution.h"

#include <stdlib.h>

static void check_replay(st_execution *rank, st_arena *arena, st_errors *errors)
{
    const st_execution_set set = {.ranks = rank, .count = 1};
    st_execution_replay replay = {0};
    st_status status = st_execution_replay_make(&set, arena, &replay, errors);
    fuzz_check_errors(status, errors);
    if (status == ST_OK) {
        const st_rank_time *time = &replay.times[0];
        FUZZ_REQUIRE(rank->count == st_graph_task_count(replay.graph));
        FUZZ_REQUIRE(rank->count == 0 || time->exposed_compute_ns + time->exposed_communication_ns +
                                                 time->overlapped_ns + time->waiting_ns +
                                                 time->idle_ns ==
                                             st_replay_end_ns(replay.replay));
    }
    st_execution_replay_free(&replay);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    for (int partial = 0; partial < 2; partial++) {
        char *copy = fuzz_copy((const char *)data, size);
        st_arena *arena = st_arena_create();
        st_errors *errors = st_errors_create();
        st_execution rank;
        FUZZ_REQUIRE(arena != NULL && errors != NULL);
        st_status status = st_execution_read_chakra(&(st_execution_text){"input", copy, size},
                                                    partial == 1, arena, &rank, errors);
        fuzz_check_errors(status, errors);
        for (size_t i = 0; status == ST_OK && i < rank.count; i++)
            for (size_t j = 0; j < rank.nodes[i].dep_count; j++)
                FUZZ_REQUIRE(rank.deps[rank.nodes[i].dep_first + j] < rank.count);
        if (status == ST_OK)
            check_replay(&rank, arena, errors);
        st_errors_destroy(errors);
        st_arena_destroy(arena);
        free(copy);
    }
    return 0;
}
