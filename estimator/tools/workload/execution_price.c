/* SPDX-License-Identifier: Apache-2.0 */
/* Nodes of execution traces priced for a GPU; see execution.h. */
#include "workload/execution.h"

#include "base/memory.h"

#include <math.h>
#include <string.h>

/* A group of ranks. */
typedef struct group {
    const char *name;
    int64_t members; /* ranks of the set that are in it */
    size_t last;     /* of them */
} group;

typedef struct pricer {
    st_prices *prices;
    st_execution_prices *made;
    uint64_t world;
    group *groups;
    size_t group_count;
    st_arena *arena;
    st_errors *errors;
} pricer;

static int64_t in_ns(double time_s)
{
    return (int64_t)llround(time_s * 1e9);
}

/* ---- what runs on the GPU ---- */

static st_status price_kernel(const pricer *pricing, st_execution_node *node)
{
    st_price price = {0};
    bool has_work = node->num_ops > 0 || node->tensor_size > 0;
    st_status status = ST_OK;
    if (node->shape != NULL) {
        status = st_prices_of_task(pricing->prices, node->shape, &price, pricing->errors);
    } else if (has_work && node->duration_us == 0) {
        /* A node of Chakra gives operations and bytes: as one product of equal sides, and as a
         * kernel that memory bounds, whichever takes longer. */
        st_task_shape product = {.form = ST_FORM_PRODUCT, .name = node->name, .type = "bf16"};
        st_task_shape moved = {.form = ST_FORM_KERNEL, .name = node->name};
        st_price other = {0};
        if (node->num_ops > 0) {
            double side = cbrt((double)node->num_ops / 2);
            product.sizes[ST_SIZE_M] = product.sizes[ST_SIZE_N] = product.sizes[ST_SIZE_K] = side;
            status = st_prices_of_task(pricing->prices, &product, &price, pricing->errors);
        }
        if (status == ST_OK && node->tensor_size > 0) {
            moved.sizes[ST_SIZE_BYTES] = (double)node->tensor_size;
            status = st_prices_of_task(pricing->prices, &moved, &other, pricing->errors);
        }
        if (other.time_s > price.time_s)
            price = other;
        price.unknown = true;
    } else {
        pricing->made->kept++;
        return ST_OK;
    }
    if (status != ST_OK)
        return status;
    node->price_ns = in_ns(price.time_s);
    pricing->made->nodes++;
    pricing->made->time_ns += node->price_ns;
    pricing->made->unknown += price.unknown;
    pricing->made->refined += price.refined;
    pricing->made->untimed += price.unknown && node->price_ns == 0;
    pricing->made->unknown_ns += price.unknown ? node->price_ns : 0;
    return ST_OK;
}

/* ---- collectives ---- */

static const char *group_name(const st_execution_node *node)
{
    return node->group != NULL ? node->group : "";
}

/* The group of a collective, which is added where it is new. */
static group *find_group(pricer *pricing, const char *name)
{
    for (size_t i = pricing->group_count; i-- > 0;)
        if (strcmp(pricing->groups[i].name, name) == 0)
            return &pricing->groups[i];
    const group made = {.name = name, .last = SIZE_MAX};
    (void)ST_APPEND(pricing->arena, pricing->groups, pricing->group_count, made);
    return &pricing->groups[pricing->group_count - 1];
}

static st_status price_collective(pricer *pricing, st_execution_node *node)
{
    static const char *const names[ST_CHAKRA_COLLECTIVES] = {
        [ST_CHAKRA_ALL_REDUCE] = "all_reduce",
        [ST_CHAKRA_REDUCE] = "reduce",
        [ST_CHAKRA_ALL_GATHER] = "all_gather",
        [ST_CHAKRA_BROADCAST] = "broadcast",
        [ST_CHAKRA_ALL_TO_ALL] = "all_to_all",
        [ST_CHAKRA_REDUCE_SCATTER] = "reduce_scatter",
        [ST_CHAKRA_REDUCE_SCATTER_BLOCK] = "reduce_scatter",
    };
    /* How many ranks it has; if the trace lacks it, as many as have its group. One alone is one of
     * a group that the files do not show. */
    const int64_t ranks = node->group_size > 0 ? node->group_size
                          : pricing->world > 0 ? (int64_t)pricing->world
                                               : find_group(pricing, group_name(node))->members;
    st_price price = {0};
    bool gathers = node->collective == ST_CHAKRA_ALL_GATHER;
    const st_trace_transfer transfer = {
        .collective = names[node->collective],
        .size_bytes = (double)node->bytes * (gathers ? (double)ranks : 1),
        .ranks = (double)ranks,
        .stride = (double)node->group_stride,
        .bandwidth_factor = 1,
    };
    pricing->made->collectives++;
    if (node->collective == ST_CHAKRA_BARRIER || transfer.collective == NULL ||
        (ranks < 2 && node->group_size < 0)) {
        node->price_ns = node->duration_us > 0 ? -1 : 0;
        pricing->made->unpriced += node->collective != ST_CHAKRA_BARRIER && node->price_ns == 0;
        return ST_OK;
    }
    st_status status = st_prices_of_transfer(pricing->prices, &transfer, &price, pricing->errors);
    if (status != ST_OK)
        return status;
    if (price.unknown && node->duration_us > 0)
        return ST_OK;
    pricing->made->unpriced += price.unknown;
    node->price_ns = in_ns(price.time_s);
    return ST_OK;
}

st_status st_execution_price(st_execution_set *set, st_prices *prices, uint64_t world,
                             st_arena *arena, st_execution_prices *made, st_errors *errors)
{
    pricer pricing = {
        .prices = prices, .made = made, .world = world, .arena = arena, .errors = errors};
    st_status status = ST_OK;
    *made = (st_execution_prices){.plugins = st_prices_plugins(prices)};
    for (size_t i = 0; i < set->count; i++) {
        st_execution *rank = &set->ranks[i];
        for (size_t k = 0; k < rank->count; k++) {
            st_execution_node *node = &rank->nodes[k];
            if (node->type != ST_CHAKRA_COLL)
                continue;
            /* Groups that files name by their size alone meet only where all of their ranks are
             * given; others get the rank into their name. */
            if (rank->needs_prices && (uint64_t)node->group_size != set->count)
                node->group =
                    st_arena_printf(arena, "%s of rank %lld", node->group, (long long)rank->rank);
            /* How many ranks of the set have each group in their traces. */
            group *found = find_group(&pricing, group_name(node));
            found->members += found->last != i;
            found->last = i;
        }
    }
    for (size_t i = 0; i < set->count && status == ST_OK; i++) {
        st_execution *rank = &set->ranks[i];
        for (size_t j = 0; j < rank->count && status == ST_OK; j++) {
            st_execution_node *node = &rank->nodes[j];
            if (node->type == ST_CHAKRA_COLL)
                status = price_collective(&pricing, node);
            else if (node->type == ST_CHAKRA_COMP && !node->host)
                status = price_kernel(&pricing, node);
        }
    }
    return status;
}
