/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Several processes that share a guided search. What is computed next depends on all that was found
 * before, so that every process walks the same way; but each computes only its share of every batch
 * and of the scan, and tells the others. They also agree on interrupts, which reach one before
 * another.
 */
#include "search/guided/run.h"

#include <stdlib.h>
#include <string.h>

/* Bytes of every process, one behind the other; NULL when out of memory or out of touch. */
static unsigned char *gather(const st_guided_run *run, const void *own, size_t bytes,
                             st_status *status)
{
    const st_processes *processes = run->processes;
    unsigned char *all = calloc((size_t)processes->count, bytes);
    *status = all != NULL ? ST_OK : ST_ERR_MEMORY;
    if (all != NULL && processes->gather(processes->context, own, bytes, all) != 0) {
        *status = ST_ERR_IO;
        free(all);
        all = NULL;
    }
    return all;
}

/* --- batches --------------------------------------------------------------------------------- */

typedef struct batch_message {
    uint64_t interrupted;
    st_trial trials[ST_GUIDED_BATCH];
} batch_message;

st_status st_guided_share_batch(st_guided_run *run, size_t chunk)
{
    st_status status = ST_OK;
    batch_message own = {.interrupted = st_guided_is_interrupted(run) ? 1 : 0};
    if (run->processes->count == 1)
        return ST_OK;
    memcpy(own.trials, run->trials, run->trial_count * sizeof *own.trials);
    unsigned char *all = gather(run, &own, sizeof own, &status);
    for (int i = 0; all != NULL && i < run->processes->count; i++) {
        batch_message one;
        memcpy(&one, all + (size_t)i * sizeof one, sizeof one);
        run->interrupted = run->interrupted || one.interrupted != 0;
        for (size_t k = 0; k < run->trial_count; k++)
            if (st_guided_owner(run, k / chunk) == i)
                run->trials[k] = one.trials[k];
    }
    free(all);
    return status;
}

/* --- the scan -------------------------------------------------------------------------------- */

/* What is known of one row, packed without gaps. */
enum { ROW_BYTES = 2 * sizeof(double) + 1, TURNS = 32 };

static void pack_row(const st_plan_states *states, uint64_t row, unsigned char *to)
{
    memcpy(to, &states->low[row], sizeof(double));
    memcpy(to + sizeof(double), &states->high[row], sizeof(double));
    to[ROW_BYTES - 1] = states->marks[row];
}

static void unpack_row(st_plan_states *states, uint64_t row, const unsigned char *from)
{
    memcpy(&states->low[row], from, sizeof(double));
    memcpy(&states->high[row], from + sizeof(double), sizeof(double));
    states->marks[row] = from[ROW_BYTES - 1];
}

/* Rows of the blocks from `first` on that one process scanned, in its message or out of it. */
static void copy_blocks(st_plan_states *states, const st_guided_run *run, uint64_t first, int rank,
                        unsigned char *message, bool pack)
{
    uint64_t step = (uint64_t)run->processes->count;
    for (uint64_t turn = 0; turn < TURNS; turn++) {
        uint64_t start = (first + turn * step + (uint64_t)rank) * ST_SPACE_BLOCK;
        for (uint64_t row = 0; row < ST_SPACE_BLOCK && start + row < states->rows; row++) {
            unsigned char *at = message + (turn * ST_SPACE_BLOCK + row) * ROW_BYTES;
            if (pack)
                pack_row(states, start + row, at);
            else
                unpack_row(states, start + row, at);
        }
    }
}

st_status st_guided_share_states(st_guided_run *run)
{
    const size_t bytes = (size_t)TURNS * ST_SPACE_BLOCK * ROW_BYTES;
    const int count = run->processes->count;
    uint64_t blocks = (run->states.rows + ST_SPACE_BLOCK - 1) / ST_SPACE_BLOCK;
    unsigned char *own = count > 1 ? calloc(1, bytes) : NULL;
    st_status status = count > 1 && own == NULL ? ST_ERR_MEMORY : ST_OK;
    for (uint64_t first = 0; count > 1 && first < blocks && status == ST_OK;
         first += (uint64_t)count * TURNS) {
        copy_blocks(&run->states, run, first, run->processes->rank, own, true);
        unsigned char *all = gather(run, own, bytes, &status);
        for (int i = 0; all != NULL && i < count; i++)
            copy_blocks(&run->states, run, first, i, all + (size_t)i * bytes, false);
        free(all);
    }
    free(own);
    return status;
}

typedef struct scan_head {
    uint64_t interrupted;
    uint64_t ruled_out;
} scan_head;

st_status st_guided_share_scan(st_guided_run *run)
{
    st_results *found = &run->result->found;
    size_t bytes = sizeof(scan_head) + st_results_bytes(found);
    st_status status = ST_OK;
    if (run->processes->count == 1)
        return ST_OK;
    scan_head head = {.interrupted = run->interrupted ? 1 : 0,
                      .ruled_out = run->result->guided.ruled_out};
    unsigned char *own = calloc(1, bytes);
    if (own == NULL)
        return ST_ERR_MEMORY;
    memcpy(own, &head, sizeof head);
    st_results_pack(found, own + sizeof head);
    unsigned char *all = gather(run, own, bytes, &status);
    st_results_clear(found);
    run->result->guided.ruled_out = 0;
    for (int i = 0; all != NULL && i < run->processes->count; i++) {
        unsigned char *one = all + (size_t)i * bytes;
        memcpy(&head, one, sizeof head);
        run->interrupted = run->interrupted || head.interrupted != 0;
        run->result->guided.ruled_out += head.ruled_out;
        st_results_merge_packed(found, one + sizeof head);
    }
    free(all);
    free(own);
    return status;
}
