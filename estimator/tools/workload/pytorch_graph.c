/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Operators of PyTorch as nodes: which of them run kernels, and what waits for what.
 *
 * An operator runs a kernel itself where it has tensors of a GPU and calls no other that does, so
 * that functions of libraries count, too; only their tensors are known. Views and
 * allocations run none.
 */
#include "workload/pytorch.h"

#include "base/lists.h"
#include "base/memory.h"
#include "base/chars.h"
#include "base/text.h"
#include "base/word_sets.h"

#include <string.h>

/* Operators of ATen that only make another view of a tensor, allocate, or ask. */
static const char without_kernel[] =
    "view _unsafe_view reshape _reshape_alias view_as as_strided t transpose permute expand "
    "expand_as slice select narrow split split_with_sizes chunk unsqueeze squeeze detach detach_ "
    "alias empty empty_like empty_strided resize_ set_ lift_fresh contiguous to unbind flatten "
    "unflatten movedim diagonal dropout record_stream result_type broadcast_tensors type_as "
    "requires_grad_ is_nonzero numpy_T mT item new_empty new_empty_strided conj resolve_conj "
    "resolve_neg unsafe_chunk unsafe_split unfold swapaxes ravel _version size stride sym_size "
    "zeros_like";

/* Prefixes of the names that wrap operators. */
static const char *const around[] = {"autograd::engine::", "torch::autograd::", "nccl:", "c10d::",
                                     "ProfilerStep",       "[pytorch|",         "## "};

static bool may_work(const st_pytorch *all, const st_pytorch_operator *one)
{
    static const char aten[] = "aten::";
    bool on_gpu = st_begins(one->name, "triton_"); /* until 2.3 without their tensors */
    for (size_t i = 0; i < one->tensor_count; i++)
        on_gpu = on_gpu || all->tensors[one->tensor_first + i].on_gpu;
    if (!on_gpu)
        return false;
    /* "MmBackward0": calls operators of ATen; a library function lacks a number. */
    const char *name = one->name;
    size_t end = strlen(name);
    while (end > 0 && st_is_digit(name[end - 1]))
        end--;
    if (name[end] != '\0' && end >= 8 && memcmp(name + end - 8, "Backward", 8) == 0)
        return false;
    for (size_t i = 0; i < ST_COUNT(around); i++)
        if (st_begins(one->name, around[i]))
            return false;
    return !st_begins(one->name, aten) || !st_has_word(without_kernel, one->name + sizeof aten - 1);
}

/* ---- what waits for what ---- */

/* Who touched a storage last, or had a number last. */
typedef struct touched {
    int64_t key;     /* the storage or the number */
    uint32_t kernel; /* place of the node + 1, 0: none */
    uint32_t collective;
} touched;

typedef struct touched_map {
    touched *slots;
    size_t count; /* a power of two, more than there are keys */
} touched_map;

typedef struct maker {
    const st_pytorch *all;
    st_arena *arena;
    st_execution *made;
    touched_map storages;
    touched_map numbers; /* of collectives */
    uint32_t *waiters;   /* by place + 1: the last node that waits for it, likewise; 0: none */
    uint32_t last_kernel;
    uint32_t last_collective;
    uint32_t awaited; /* collective that the next kernel waits for; place + 1, 0: none */
} maker;

static touched_map make_map(st_arena *arena, size_t keys)
{
    touched_map map = {.count = 64};
    while (map.count < 2 * keys)
        map.count *= 2;
    map.slots = st_arena_alloc(arena, map.count, sizeof *map.slots);
    return map;
}

static touched *find_key(const touched_map *map, int64_t key)
{
    size_t mask = map->count - 1;
    uint64_t mixed = (uint64_t)key * UINT64_C(0x9E3779B97F4A7C15);
    size_t slot = (size_t)(mixed >> 32) & mask;
    while ((map->slots[slot].kernel != 0 || map->slots[slot].collective != 0) &&
           map->slots[slot].key != key)
        slot = (slot + 1) & mask;
    map->slots[slot].key = key;
    return &map->slots[slot];
}

static void wait_for(maker *make, st_execution_node *node, uint32_t place)
{
    st_execution *made = make->made;
    const uint64_t dep = place - 1;
    const uint32_t own = (uint32_t)made->count + 1;
    if (place == 0 || make->waiters[place] == own)
        return;
    make->waiters[place] = own;
    node->dep_count++;
    (void)ST_APPEND(make->arena, made->deps, made->dep_count, dep);
}

static void add_waits(maker *make, const st_pytorch_operator *one, st_execution_node *node)
{
    bool collective = node->type == ST_CHAKRA_COLL;
    uint32_t place = (uint32_t)make->made->count + 1;
    bool known = false;
    for (size_t i = 0; i < one->tensor_count; i++) {
        const st_pytorch_tensor *tensor = &make->all->tensors[one->tensor_first + i];
        if (!tensor->on_gpu)
            continue;
        touched *last = find_key(&make->storages, tensor->storage);
        known = true;
        if (last->collective != place)
            wait_for(make, node, last->collective);
        if (collective)
            wait_for(make, node, last->kernel);
        *(collective ? &last->collective : &last->kernel) = place;
    }
    if (!collective) {
        make->last_kernel = place;
        wait_for(make, node, make->awaited);
        make->awaited = 0;
        return;
    }
    make->last_collective = place;
    if (!known)
        wait_for(make, node, make->last_kernel);
}

/* ---- nodes ---- */

typedef struct collective_name {
    const char *name; /* what it begins with, without lines */
    st_chakra_collective kind;
} collective_name;

static st_chakra_collective kind_of(const char *text)
{
    static const collective_name names[] = {
        {"allreduce", ST_CHAKRA_ALL_REDUCE},
        {"allgather", ST_CHAKRA_ALL_GATHER},
        {"reducescatter", ST_CHAKRA_REDUCE_SCATTER},
        {"alltoall", ST_CHAKRA_ALL_TO_ALL},
        {"broadcast", ST_CHAKRA_BROADCAST},
        {"gather", ST_CHAKRA_GATHER},
        {"scatter", ST_CHAKRA_SCATTER},
        {"barrier", ST_CHAKRA_BARRIER},
        {"reduce", ST_CHAKRA_REDUCE},
    };
    char plain[64];
    size_t length = 0;
    for (const char *at = text; *at != '\0' && length + 1 < sizeof plain; at++)
        if (*at != '_')
            plain[length++] = *at;
    plain[length] = '\0';
    for (size_t i = 0; i < ST_COUNT(names); i++)
        if (st_begins(plain, names[i].name))
            return names[i].kind;
    return ST_CHAKRA_COLLECTIVES;
}

/* The bytes that a rank hands over. */
static double message_of(const st_pytorch *all, const st_pytorch_operator *one)
{
    double bytes = 0;
    if (one->in_elements >= 0 && one->type_bytes > 0)
        return (double)one->in_elements * one->type_bytes;
    for (size_t i = 0; i < one->tensor_count; i++)
        if (!all->tensors[one->tensor_first + i].is_output)
            bytes += all->tensors[one->tensor_first + i].bytes;
    return bytes;
}

static void add_node(maker *make, const st_pytorch_operator *one)
{
    st_execution *made = make->made;
    if (one->collective != NULL && strcmp(one->collective, "wait") == 0) {
        /* The stream of the kernels waits for a collective, by its number, or for the last one. */
        uint32_t found =
            one->first_number >= 0 ? find_key(&make->numbers, one->first_number)->collective : 0;
        make->awaited = found > 0 ? found : make->last_collective;
        return;
    }
    bool transfers = one->collective != NULL && kind_of(one->collective) == ST_CHAKRA_COLLECTIVES;
    st_execution_node node = st_execution_node_at(one->place, made->dep_count);
    node.id = one->id;
    node.name = one->name;
    node.type = transfers ? ST_CHAKRA_METADATA : ST_CHAKRA_COMP;
    if (transfers) {
        made->transfers++;
        return;
    }
    if (one->collective != NULL) {
        double bytes = message_of(make->all, one);
        node.type = ST_CHAKRA_COLL;
        node.tag = one->first_number;
        node.collective = kind_of(one->collective);
        node.bytes = bytes < 9e18 ? (int64_t)bytes : INT64_MAX;
        node.group_stride = one->group_stride > 0 ? one->group_stride : 1;
        node.group_size = one->group_size > 0    ? one->group_size
                          : one->last_number > 0 ? one->last_number
                                                 : -1;
        if (one->group != NULL)
            node.group = one->group;
        else if (node.group_size < 0)
            node.group = "an unknown number of ranks";
        else
            node.group = st_arena_printf(make->arena, "%lld ranks", (long long)node.group_size);
        if (node.tag >= 0)
            find_key(&make->numbers, node.tag)->collective = (uint32_t)make->made->count + 1;
    } else {
        st_task_shape *shape = st_arena_alloc(make->arena, 1, sizeof *shape);
        st_pytorch_shape(make->all, one, shape);
        node.shape = shape;
    }
    add_waits(make, one, &node);
    (void)ST_APPEND(make->arena, made->nodes, made->count, node);
}

/* Shapes of a line, as "[2385,100] [99,10]". */
static const char *shapes_text(st_arena *arena, const st_pytorch_operator *one)
{
    st_buffer text = {0};
    for (size_t i = 0; i < ST_PYTORCH_SHAPES; i++) {
        if (one->dim_counts[i] > 0)
            st_buffer_text(&text, text.length > 0 ? " [" : "[");
        for (size_t k = 0; k < one->dim_counts[i]; k++)
            st_buffer_printf(&text, "%s%lld", k > 0 ? "," : "", (long long)one->dims[i][k]);
        if (one->dim_counts[i] > 0)
            st_buffer_text(&text, "]");
    }
    return st_buffer_keep(&text, arena);
}

static st_status check_shapes(const maker *make, const st_pytorch_operator *one, st_errors *errors)
{
    const char *expected = st_pytorch_contradiction(one);
    if (expected == NULL)
        return ST_OK;
    return st_fail(errors, ST_ERR_VALUE, (st_place){.file = make->all->file},
                   "byte %zu: the shapes of node %llu '%.80s' do not match" ST_FOUND
                   "%s" ST_EXPECTED "%s",
                   one->place, (unsigned long long)one->id, one->name,
                   shapes_text(make->arena, one), expected);
}

st_status st_pytorch_execution(st_pytorch *operators, st_arena *arena, st_execution *execution,
                               st_errors *errors)
{
    maker make = {.all = operators, .arena = arena, .made = execution};
    size_t collectives = 0;
    *execution = (st_execution){.file = operators->file, .rank = -1, .needs_prices = true};
    for (size_t i = 0; i < operators->count; i++)
        collectives += operators->items[i].collective != NULL;
    make.waiters = st_arena_alloc(arena, operators->count + 2, sizeof *make.waiters);
    make.storages = make_map(arena, operators->tensor_count);
    make.numbers = make_map(arena, collectives);
    /* What is called begins later, so that its number is larger. */
    for (size_t i = operators->count; i-- > 0;) {
        st_pytorch_operator *one = &operators->items[i];
        one->is_work =
            !one->has_work_below && (one->collective != NULL || may_work(operators, one));
        if (!one->is_work && !one->has_work_below)
            continue;
        const st_pytorch_operator *end = operators->items + i;
        size_t low = 0;
        ST_BISECT(low, i, operators->items[middle].id < one->parent);
        if (operators->items + low < end && operators->items[low].id == one->parent)
            operators->items[low].has_work_below = true;
    }
    for (size_t i = 0; i < operators->count; i++)
        if (operators->items[i].is_work && operators->items[i].collective == NULL &&
            check_shapes(&make, &operators->items[i], errors) != ST_OK)
            return ST_ERR_VALUE;
    for (size_t i = 0; i < operators->count; i++)
        if (operators->items[i].is_work)
            add_node(&make, &operators->items[i]);
    if (execution->count == 0)
        return st_fail(errors, ST_ERR_NAME, (st_place){.file = operators->file},
                       "no operator of the trace runs on a GPU");
    if (execution->transfers > 0)
        st_report(errors, ST_SEVERITY_WARNING, ST_ERR_NAME, (st_place){.file = operators->file},
                  "%zu sends and receives do not name their peer: they take no time",
                  execution->transfers);
    return ST_OK;
}
