/* SPDX-License-Identifier: Apache-2.0 */
/* Who meets in a communicator, and what a collective takes; see rendezvous.h. */
#include "record/price/rendezvous.h"

#include "base/hash.h"
#include "base/memory.h"
#include "steptime/keys.h"
#include "steptime/tool/job_values.h"

#include <math.h>
#include <string.h>

const st_operation_words st_operations[ST_LOG_OPERATIONS] = {
    [ST_LOG_ALL_REDUCE] = {"all_reduce", "all_reduce", "allreduce", "AllReduce", false},
    [ST_LOG_REDUCE_SCATTER] = {"reduce_scatter", "reduce_scatter", "_reduce_scatter_base",
                               "ReduceScatter", true},
    [ST_LOG_ALL_GATHER] = {"all_gather", "all_gather", "_allgather_base", "AllGather", true},
    [ST_LOG_BROADCAST] = {"broadcast", "broadcast", "broadcast", "Broadcast", false},
    [ST_LOG_REDUCE] = {"reduce", "broadcast", "reduce", "Reduce", false},
    [ST_LOG_SEND] = {"send", "send_recv", "send", "SendRecv", false},
    [ST_LOG_RECEIVE] = {"receive", "send_recv", "recv", "SendRecv", false},
    [ST_LOG_ALL_TO_ALL] = {"all_to_all", "all_to_all", "all_to_all", "AlltoAll", true},
    [ST_LOG_GATHER] = {"gather", "all_gather", "gather", "Gather", true},
    [ST_LOG_SCATTER] = {"scatter", "broadcast", "scatter", "Scatter", true},
};

double st_collective_message(const st_log_collective *collective, int64_t ranks)
{
    double bytes = (double)st_log_collective_bytes(collective);
    return st_operations[collective->operation].all_ranks ? bytes * (double)ranks : bytes;
}

/* ---- communicators ---- */

/* Whether a distance puts all recorded ranks where this communicator of theirs, the `index`-th of
 * each, has them; of `only` alone where that is not ST_NO_INDEX. */
static bool stride_fits(const st_run *run, size_t index, const st_communicator *group,
                        int64_t stride, uint32_t only)
{
    for (size_t w = 0; w < run->worker_count; w++) {
        const st_worker *worker = &run->workers[w];
        if ((only != ST_NO_INDEX && w != only) || index >= worker->comm_count)
            continue;
        const st_worker_comm *comm = &worker->comms[index];
        bool same = comm->ranks == group->ranks && comm->rank >= 0;
        if (same && (worker->rank / stride) % group->ranks != comm->rank)
            return false;
    }
    return (int64_t)run->world % (stride * group->ranks) == 0;
}

/* The stride of ranks that are all known. */
static void measure_stride(const st_run *run, st_communicator *group)
{
    int64_t least = INT64_MAX;
    int64_t most = -1;
    for (size_t w = 0; w < run->worker_count; w++)
        for (size_t i = 0; i < run->workers[w].comm_count; i++)
            if (run->workers[w].comms[i].comm == group->comm) {
                int64_t rank = run->workers[w].rank;
                least = rank < least ? rank : least;
                most = rank > most ? rank : most;
            }
    int64_t stride = group->ranks > 1 ? (most - least) / (group->ranks - 1) : 1;
    group->base = least;
    group->stride = stride < 1 ? 1 : stride;
}

/* The workers that represent the ranks of an inferred communicator; their set is its key. */
static void find_meeting(st_groups *groups, uint64_t ordinal, st_communicator *group)
{
    const st_run *run = groups->run;
    uint64_t key = st_hash_number(st_hash_number(ST_HASH_BEGIN, ordinal), (uint64_t)group->ranks);
    uint32_t last = ST_NO_INDEX;
    uint32_t *workers = st_arena_alloc(groups->arena, (size_t)group->ranks, sizeof *workers);
    for (int64_t i = 0; i < group->ranks; i++) {
        int64_t rank = group->base + i * group->stride;
        bool inside = rank >= 0 && rank < (int64_t)run->world;
        workers[i] = inside ? run->worker_of[rank] : group->worker;
    }
    st_sort(workers, (size_t)group->ranks, sizeof *workers, st_order_indices);
    group->meets = 0;
    for (int64_t i = 0; i < group->ranks; i++) {
        if (workers[i] == last)
            continue;
        last = workers[i];
        key = st_hash_number(key, last);
        group->meets++;
    }
    group->key = key;
}

static st_status add_group(st_groups *groups, uint32_t worker, size_t index)
{
    const st_run *run = groups->run;
    const st_worker *holder = &run->workers[worker];
    const st_worker_comm *comm = &holder->comms[index];
    /* Recorded members of a communicator with this number. */
    uint32_t members = 0;
    for (size_t w = 0; w < run->worker_count; w++)
        for (size_t i = 0; i < run->workers[w].comm_count; i++)
            members += run->workers[w].comms[i].comm == comm->comm;
    st_communicator group = {.worker = worker,
                             .device = comm->device,
                             .comm = comm->comm,
                             .key = comm->comm,
                             .rank = comm->rank,
                             .ranks = comm->ranks,
                             .meets = members};
    /* A split that is only known by its color has the ranks of it that were recorded. */
    if (comm->ranks <= 0)
        group.ranks = members;
    if (comm->rank < 0) {
        group.rank = 0;
        for (size_t w = 0; w < run->worker_count; w++)
            for (size_t i = 0; i < run->workers[w].comm_count; i++) {
                const st_worker_comm *other = &run->workers[w].comms[i];
                group.rank += other->comm == comm->comm && other->key < comm->key;
            }
    }
    group.exact = (int64_t)members == group.ranks;
    if (group.ranks < 1 || group.ranks > (int64_t)run->world)
        return st_fail(groups->errors, ST_ERR_VALUE, (st_place){.file = holder->file},
                       "communicator of %lld ranks in a run of %llu ranks", (long long)group.ranks,
                       (unsigned long long)run->world);
    if (group.exact) {
        measure_stride(run, &group);
    } else {
        /* The smallest distance that fits all recorded ranks, or, where none does, this
         * worker's. */
        int64_t rank = run->workers[group.worker].rank;
        int64_t most = (int64_t)run->world / group.ranks;
        group.stride = 0;
        size_t fits = 0;
        for (int64_t stride = most; stride >= 1; stride--)
            if (stride_fits(run, index, &group, stride, ST_NO_INDEX)) {
                group.stride = stride;
                fits++;
            }
        for (int64_t stride = 1; stride <= most && group.stride == 0; stride++)
            group.stride = stride_fits(run, index, &group, stride, group.worker) ? stride : 0;
        group.stride = group.stride == 0 ? 1 : group.stride;
        group.base = rank - group.rank * group.stride;
        find_meeting(groups, index, &group);
        groups->inferred++;
        groups->ambiguous += fits != 1;
    }
    (void)ST_APPEND(groups->arena, groups->groups, groups->group_count, group);
    return ST_OK;
}

st_status st_groups_make(const st_run *run, st_prices *prices, st_arena *arena, st_groups **groups,
                         st_errors *errors)
{
    st_groups *made = st_arena_alloc(arena, 1, sizeof *made);
    size_t *firsts = st_arena_alloc(arena, run->worker_count + 2, sizeof *firsts);
    st_status status = ST_OK;
    *made = (st_groups){.run = run, .prices = prices, .arena = arena, .errors = errors};
    made->firsts = firsts;
    for (size_t w = 0; w < run->worker_count && status == ST_OK; w++) {
        for (size_t i = 0; i < run->workers[w].comm_count && status == ST_OK; i++)
            status = add_group(made, (uint32_t)w, i);
        firsts[w + 1] = made->group_count;
    }
    *groups = made;
    return status;
}

st_communicator *st_groups_find(const st_groups *groups, uint32_t worker,
                                const st_log_record *record)
{
    st_communicator *found = NULL;
    for (size_t i = groups->firsts[worker]; i < groups->firsts[worker + 1]; i++) {
        st_communicator *group = &groups->groups[i];
        if (group->comm != record->collective.comm)
            continue;
        if (found == NULL || group->device == record->device)
            found = group;
    }
    return found;
}

/* ---- collectives ---- */

static bool is_pair(uint32_t operation)
{
    return operation == ST_LOG_SEND || operation == ST_LOG_RECEIVE;
}

/* The worker that a rank of a communicator is. */
static uint32_t worker_at(const st_groups *groups, const st_communicator *group, int64_t rank)
{
    int64_t at = group->base + rank * group->stride;
    return at >= 0 && at < (int64_t)groups->run->world ? groups->run->worker_of[at] : group->worker;
}

/*
 * The key of a message and how many come to it. Where sender and receiver were both recorded, their
 * ranks identify it. Where a worker represents several ranks of a pipeline, its sender and how far
 * it goes do: the receiver waits for the sender, or for its representative, and the sender for
 * nobody. A worker that receives from its own like waits for nobody either.
 */
static void key_of_pair(st_groups *groups, const st_communicator *group,
                        const st_log_collective *collective, uint64_t *key, uint32_t *expected)
{
    bool sends = collective->operation == ST_LOG_SEND;
    uint64_t own = group->exact ? (uint64_t)group->rank : group->worker;
    uint64_t other =
        group->exact ? (uint64_t)collective->peer : worker_at(groups, group, collective->peer);
    uint64_t far = (uint64_t)(collective->peer - group->rank);
    uint64_t target = group->exact ? (sends ? other : own) : (sends ? far : -far);
    *key = st_hash_number(st_hash_number(*key, sends ? own : other), target);
    if (own == other && (group->exact || !sends))
        *key = st_hash_number(*key, collective->operation);
    *expected = group->exact && own != other ? 2 : 1;
    uint64_t counted = group->exact ? *key : st_hash_number(*key, group->worker);
    /* How many messages went from one worker to another so far, by what is done with them. */
    const uint64_t pair_key = st_hash_number(counted, collective->operation);
    size_t i = 0;
    while (i < groups->pair_count && groups->pairs[i].key != pair_key)
        i++;
    if (i == groups->pair_count)
        (void)ST_APPEND(groups->arena, groups->pairs, groups->pair_count,
                        (st_message_pair){.key = pair_key});
    *key = st_hash_number(*key, groups->pairs[i].count++);
}

bool st_groups_only_waits(const st_groups *groups, uint32_t worker, const st_log_record *record)
{
    const st_communicator *group = st_groups_find(groups, worker, record);
    return group != NULL && !group->exact && record->collective.operation == ST_LOG_RECEIVE &&
           worker_at(groups, group, record->collective.peer) != worker;
}

/* Of the two ranks of a message: 1 on a node, at least its GPUs across nodes. */
static double stride_of_pair(const st_groups *groups, const st_communicator *group, int64_t peer)
{
    const double node = st_job_number(st_prices_job(groups->prices), ST_KEY_CLUSTER_GPUS_PER_NODE);
    const double own = (double)(group->base + group->rank * group->stride);
    const double other = (double)(group->base + peer * group->stride);
    const double apart = fmax(fabs(other - own), 1);
    if (!(node > 0))
        return apart;
    return floor(own / node) == floor(other / node) ? 1 : fmax(apart, node);
}

st_status st_groups_meet(st_groups *groups, uint32_t worker, const st_log_record *record,
                         uint32_t *instance)
{
    const st_log_collective *collective = &record->collective;
    st_communicator *group = st_groups_find(groups, worker, record);
    uint64_t key = 0;
    uint32_t expected = 1;
    if (collective->operation >= ST_LOG_OPERATIONS)
        return st_fail(groups->errors, ST_ERR_SYNTAX,
                       (st_place){.file = groups->run->workers[worker].file},
                       "unknown collective in the log" ST_FOUND "%u", collective->operation);
    if (group == NULL)
        return st_fail(
            groups->errors, ST_ERR_VALUE, (st_place){.file = groups->run->workers[worker].file},
            "collective on a communicator that the log does not create" ST_FOUND "%016llx",
            (unsigned long long)collective->comm);
    /* The key of an instance, and how many come to it. */
    key = st_hash_number(ST_HASH_BEGIN, group->key);
    expected = group->meets;
    if (!is_pair(collective->operation)) {
        uint32_t count = group->counts[ST_LOG_ALL_REDUCE]++;
        key = st_hash_number(st_hash_number(key, collective->operation), count);
    } else {
        key = st_hash_number(key, UINT64_C(1) << 40);
        key_of_pair(groups, group, collective, &key, &expected);
    }
    ST_INDEX_FIND(&groups->index, key, *instance, groups->instances[*instance].key == key);
    if (*instance != ST_INDEX_NONE)
        return ST_OK;
    *instance = (uint32_t)groups->instance_count;
    (void)ST_APPEND(groups->arena, groups->instances, groups->instance_count,
                    (st_instance_of){.key = key});
    (void)st_index_add(&groups->index, groups->arena, key, *instance);
    st_instance_of *made = &groups->instances[*instance];
    made->expected = expected;
    bool pair = is_pair(collective->operation);
    st_trace_transfer transfer = {.collective = st_operations[collective->operation].collective,
                                  .size_bytes = st_collective_message(collective, group->ranks),
                                  .ranks = pair ? 2 : (double)group->ranks,
                                  .stride = (double)group->stride,
                                  .bandwidth_factor = 1};
    if (pair)
        transfer.stride = stride_of_pair(groups, group, collective->peer);
    st_status status =
        st_prices_of_transfer(groups->prices, &transfer, &made->price, groups->errors);
    made->duration_ns = (int64_t)(made->price.time_s * 1e9 + 0.5);
    return status;
}
