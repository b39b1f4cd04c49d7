/* SPDX-License-Identifier: Apache-2.0 */
/* NCCL: communicators, groups and collectives. */
#include "record/library/handlers.h"
#include "base/hash.h"
#include "record/library/device_blocks.h"
#include "record/library/objects.h"
#include "record/split.h"

#include <fcntl.h>
#include <stdlib.h>
#include <unistd.h>

enum { NCCL_SYSTEM = 2, NCCL_INVALID_ARGUMENT = 4 };

static uint32_t group_depth;
static uint32_t group_count;

static uint64_t hash_words(const uint64_t *words, size_t count, uint64_t hash)
{
    for (size_t i = 0; i < count; i++) {
        hash = st_hash_word(hash, words[i] & UINT32_MAX);
        hash = st_hash_word(hash, words[i] >> 32);
    }
    return hash;
}

/* The same in every run: of the rank that asks, and how often it asked before. With NCCL_COMM_ID
 * every rank asks, and all get the same. */
uint64_t st_do_unique_id(st_call *call)
{
    static uint32_t asked;
    const char *address = getenv("NCCL_COMM_ID");
    struct {
        char text[128];
    } id = {{0}};
    uint32_t who = st_now.header.rank >= 0 ? (uint32_t)st_now.header.rank : st_now.header.pid;
    if (address != NULL)
        (void)snprintf(id.text, sizeof id.text, "steptime record: %s", address);
    else
        (void)snprintf(id.text, sizeof id.text, "steptime record: id %u of rank %u", ++asked, who);
    return st_put_bytes(st_pointer(call, 0), &id, sizeof id) != 0 ? NCCL_INVALID_ARGUMENT : 0;
}

static st_object *make_comm(st_call *call, uint64_t id, int32_t ranks, int32_t rank)
{
    if (!st_memory_charge(call->thread->device, st_now.comm_bytes)) {
        (void)st_memory_exhausted(call, st_now.comm_bytes, st_now.comm_bytes);
        return NULL;
    }
    st_object *comm = st_object_make(ST_OBJECT_COMM);
    if (comm == NULL)
        return NULL;
    comm->device = call->thread->device;
    comm->comm.id = id;
    comm->comm.rank = rank;
    comm->comm.ranks = ranks;
    call->draft.kind = ST_LOG_COMM;
    call->draft.comm = (st_log_comm){.comm = id, .rank = rank, .ranks = ranks};
    return comm;
}

/* A communicator of ids of 16 words each, NULL: there are none. */
static uint64_t init_comm(st_call *call, const uint64_t *ids, int32_t count)
{
    int32_t ranks = st_int(call, 1);
    int32_t rank = st_int(call, 2);
    if (st_word(call, 0) == 0 || ranks < 1 || rank < 0 || rank >= ranks || count < 1 || ids == NULL)
        return st_misuse(call, NCCL_INVALID_ARGUMENT, "rank is out of range of its communicator");
    st_object *comm =
        make_comm(call, hash_words(ids, 16 * (size_t)count, ST_HASH_BEGIN), ranks, rank);
    return comm != NULL ? ST_PUT(call, 0, uint64_t, comm->handle) : NCCL_SYSTEM;
}

/* ncclCommInitRank(comm *, ranks, id by value, rank), also with a configuration behind */
uint64_t st_do_comm_init(st_call *call)
{
    return init_comm(call, call->stack, 1);
}

/* ncclCommInitRankScalable(comm *, ranks, rank, how many ids, ids *, configuration) */
uint64_t st_do_comm_init_scalable(st_call *call)
{
    return init_comm(call, st_pointer(call, 4), st_int(call, 3));
}

/* ncclCommInitAll(comm *, devices, list): all ranks in one process */
uint64_t st_do_comm_init_all(st_call *call)
{
    uint64_t *into = st_pointer(call, 0);
    int32_t ranks = st_int(call, 1);
    const int32_t *devices = st_pointer(call, 2);
    static uint32_t count;
    if (into == NULL || ranks < 1 || (uint32_t)ranks > st_now.header.device_count || ranks > 16)
        return st_misuse(call, NCCL_INVALID_ARGUMENT, "more ranks than devices");
    uint32_t before = call->thread->device;
    const uint64_t name[] = {st_now.header.pid, ++count};
    uint64_t id = hash_words(name, 2, ST_HASH_BEGIN);
    for (int32_t i = 0; i < ranks; i++) {
        call->thread->device = (uint32_t)(devices != NULL ? devices[i] : i);
        st_object *comm = make_comm(call, id, ranks, i);
        if (comm == NULL)
            return NCCL_SYSTEM;
        into[i] = comm->handle;
        if (i > 0)
            st_extra(call, ST_LOG_COMM)->comm = call->draft.comm;
    }
    call->draft.comm.rank = 0;
    call->device = (uint32_t)(devices != NULL ? devices[0] : 0);
    call->thread->device = before;
    return 0;
}

/* ncclCommSplit(comm, color, key, comm *, configuration) */
uint64_t st_do_comm_split(st_call *call)
{
    st_object *parent = call->taken[0];
    st_split_member asked = {.color = st_int(call, 1), .key = st_int(call, 2)};
    uint64_t parent_id = parent->comm.id;
    uint32_t splits = parent->comm.splits++;
    asked.rank = parent->comm.rank;
    st_split split = {.ranks = parent->comm.ranks, .node = (int32_t)st_now.header.device_count};
    /* Leaves what this rank wants of a split for the others, and reads what they left. Where all
     * ranks run, it waits for them, as NCCL does. */
    enum { WAIT_MS = 2, MOST_WAITS = 5000 };
    char path[sizeof st_now.folder + 64];
    st_split_path(path, sizeof path, st_now.folder, parent->comm.id, splits);
    st_split_member *members = st_split_read(path, &split.count);
    bool known = false;
    for (size_t i = 0; i < split.count && !known; i++)
        known = members[i].rank == asked.rank;
    int file = known ? -1 : open(path, O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC, 0666);
    bool written = file >= 0 && write(file, &asked, sizeof asked) == (ssize_t)sizeof asked;
    if (file >= 0)
        close(file);
    bool waits = written && st_now.complete && group_depth == 0;
    int32_t ranks = parent->comm.ranks;
    for (int i = 0; i < MOST_WAITS; i++) {
        free(members);
        members = st_split_read(path, &split.count);
        if (!waits || (int64_t) * &split.count >= ranks)
            break;
        st_pause(WAIT_MS);
    }
    split.members = members;
    st_split_place place = st_split_find(&split, &asked);
    free(members);
    if (asked.color < 0) /* NCCL_SPLIT_NOCOLOR: this rank is in none */
        return ST_PUT(call, 3, uint64_t, 0);
    const uint64_t name[] = {splits, (uint32_t)asked.color};
    uint64_t id = hash_words(name, 2, parent_id);
    st_object *comm = make_comm(call, id, place.ranks, place.rank);
    if (comm == NULL)
        return NCCL_SYSTEM;
    call->draft.comm = (st_log_comm){.comm = id,
                                     .parent = parent_id,
                                     .rank = place.certain ? place.rank : -1,
                                     .ranks = place.certain ? place.ranks : -1,
                                     .color = asked.color,
                                     .key = asked.key,
                                     .splits = splits};
    return ST_PUT(call, 3, uint64_t, comm->handle);
}

uint64_t st_do_comm_destroy(st_call *call)
{
    st_object *comm = call->taken[0];
    st_memory_discharge(comm->device, st_now.comm_bytes);
    st_object_drop(comm);
    return 0;
}

/* ncclCommCount (constant 0), ncclCommUserRank (1), ncclCommCuDevice (2) */
uint64_t st_do_comm_get(st_call *call)
{
    const st_object *comm = call->taken[0];
    const int32_t values[] = {comm->comm.ranks, comm->comm.rank, (int32_t)comm->device};
    return ST_PUT(call, 1, int32_t, values[call->entry->constant]);
}

uint64_t st_do_group_start(st_call *call)
{
    (void)call;
    if (group_depth++ == 0)
        group_count++;
    return 0;
}

uint64_t st_do_group_end(st_call *call)
{
    if (group_depth == 0)
        return st_misuse(call, 5, "group ends without a start");
    group_depth--;
    return 0;
}

/* ncclDataType_t in the log's types: int8, uint8, int32, uint32, int64, uint64, half, float,
 * double, bfloat16, two forms of 8 bits */
static uint8_t type_of(uint64_t type)
{
    static const uint8_t types[] = {ST_LOG_INT8,  ST_LOG_UINT8,  ST_LOG_INT32,    ST_LOG_UINT32,
                                    ST_LOG_INT64, ST_LOG_UINT64, ST_LOG_FP16,     ST_LOG_FP32,
                                    ST_LOG_FP64,  ST_LOG_BF16,   ST_LOG_FP8_E4M3, ST_LOG_FP8_E5M2};
    return type < sizeof types ? types[type] : ST_LOG_TYPE_UNKNOWN;
}

/*
 * What a rank would read back, from its own data: what it sends is in every place that it receives
 * into, so that ranks which compare sizes agree. A sum is the rank's own part.
 */
static void move_data(const st_call *call, const st_object *comm)
{
    const st_log_collective *did = &call->draft.collective;
    uint64_t from = st_role(call, 'f', 0);
    uint64_t to = st_role(call, 't', 0);
    uint64_t bytes = did->count * st_log_type_bytes(did->type);
    bool gathers = did->operation == ST_LOG_ALL_GATHER || did->operation == ST_LOG_GATHER;
    bool scatters = did->operation == ST_LOG_REDUCE_SCATTER || did->operation == ST_LOG_SCATTER;
    bool exchanges = did->operation == ST_LOG_ALL_TO_ALL;
    if (from == 0 || to == 0 || bytes == 0 || bytes > ST_SHADOW_BYTES)
        return;
    uint64_t places = gathers || exchanges ? (uint64_t)comm->comm.ranks : 1;
    if (scatters)
        from += (uint64_t)comm->comm.rank * bytes;
    for (uint64_t i = 0; i < places; i++) {
        uint64_t source = from + (exchanges ? i * bytes : 0);
        if (source != to + i * bytes)
            st_memory_copy(to + i * bytes, source, bytes);
    }
}

/* Operations: f from, t to, n count, y type, r reduction, g root or peer, its communicator and
 * stream; the constant is a st_log_operation. */
uint64_t st_do_collective(st_call *call)
{
    st_object *comm = call->taken[0];
    uint32_t type = (uint32_t)st_role(call, 'y', ST_LOG_TYPE_UNKNOWN);
    if (type_of(type) == ST_LOG_TYPE_UNKNOWN)
        return st_misuse(call, NCCL_INVALID_ARGUMENT, "invalid NCCL data type");
    int32_t peer = (int32_t)(uint32_t)st_role(call, 'g', UINT64_MAX);
    if (peer >= comm->comm.ranks || (int64_t)st_role(call, 'n', 0) < 0)
        return st_misuse(call, NCCL_INVALID_ARGUMENT, "rank or count is out of range");
    call->device = comm->device; /* also where one thread drives several GPUs */
    call->draft.kind = ST_LOG_COLLECTIVE;
    call->draft.collective = (st_log_collective){.comm = comm->comm.id,
                                                 .count = st_role(call, 'n', 0),
                                                 .sequence = comm->comm.sequence++,
                                                 .stream = call->stream->number,
                                                 .group = group_depth > 0 ? group_count : 0,
                                                 .peer = peer,
                                                 .operation = (uint8_t)call->entry->constant,
                                                 .type = type_of(type),
                                                 .reduction = (uint8_t)st_role(call, 'r', 255)};
    /* In each stream, the operations of a group are one kernel. */
    uint32_t *group = &call->stream->stream.group;
    bool is_further = group_depth > 0 && call->stream->stream.capture != 0 && *group == group_count;
    if (is_further)
        call->draft.flags |= ST_LOG_CAPTURED | ST_LOG_SAME_NODE;
    else
        st_enqueue(call, call->stream);
    *group = group_depth > 0 ? group_count : 0;
    if ((call->draft.flags & ST_LOG_CAPTURED) == 0)
        move_data(call, comm);
    /* The communicator and the distance of the other rank distinguish ranks. */
    const st_log_collective *collective = &call->draft.collective;
    int64_t ranks = comm->comm.ranks;
    int64_t apart = 0;
    bool pair = collective->operation == ST_LOG_SEND || collective->operation == ST_LOG_RECEIVE;
    if (pair)
        apart = ((int64_t)collective->peer - comm->comm.rank + ranks) % ranks;
    else if (collective->peer >= 0)
        apart = collective->peer == comm->comm.rank;
    st_mix((uint64_t)collective->operation << 8 | collective->type);
    st_mix((uint64_t)comm->number << 32 | (uint32_t)ranks);
    st_mix((uint32_t)apart);
    st_mix_size(collective->count);
    return 0;
}
