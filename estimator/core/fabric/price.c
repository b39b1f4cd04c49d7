/* SPDX-License-Identifier: Apache-2.0 */
/* Rounds one after the other; one that repeats the round before it is not looked at again. */
#include "fabric/price.h"

#include "base/lists.h"

#include <stdlib.h>
#include <string.h>

#define MOST_WAYS ((size_t)8 << 20)

typedef struct pricer {
    const st_topology *topology;
    const st_site *site;
    st_arena *arena;
    st_price *price;
    st_router *router;
    double *loads;     /* by link: bytes per byte of the message */
    uint32_t *touched; /* links with a load */
    size_t touched_count;
    uint32_t *summed; /* by link: 1 + the last group whose sums cross it */
    size_t ways;
    st_status status;
} pricer;

/* ---- places ---- */

static uint32_t node_gpus(const st_site *site)
{
    return site->node_gpus > 0 ? site->node_gpus : site->gpus_per_node;
}

/* Groups of the same shape in the nodes that one of them is on. */
static uint32_t group_count(const st_site *site)
{
    uint32_t inside = site->ranks > site->per_node ? site->per_node : site->ranks;
    uint32_t count = inside > 0 ? site->gpus_per_node / inside : 0;
    return count > 0 ? count : 1;
}

/* The rank of the cluster that is a member of the n-th such group: neighbours inside of a node,
 * those of several nodes as far apart as there are groups. */
static uint32_t place_of(const st_site *site, uint32_t group, uint32_t member)
{
    if (site->ranks <= site->per_node)
        return group * site->ranks + member;
    uint32_t node = member / site->per_node;
    uint32_t local = member % site->per_node;
    return node * node_gpus(site) + local * group_count(site) + group;
}

const char *st_site_error(const st_topology *topology, const st_site *site, st_arena *arena)
{
    if (topology->node_gpus > 0 && node_gpus(site) != topology->node_gpus)
        return st_arena_printf(arena,
                               "nodes of %u GPUs do not match the nodes of %u GPUs of the topology",
                               node_gpus(site), topology->node_gpus);
    if (site->gpus_per_node > node_gpus(site))
        return st_arena_printf(arena, "%u GPUs per node exceed the %u GPUs of a node",
                               site->gpus_per_node, node_gpus(site));
    if (site->per_node == 0 || site->ranks == 0 || site->gpus_per_node < 1 ||
        (site->ranks > site->per_node && site->ranks % site->per_node != 0))
        return "the ranks are not spread evenly over the nodes";
    uint32_t inside = site->ranks > site->per_node ? site->per_node : site->ranks;
    if (inside > site->gpus_per_node)
        return "the group has more ranks on a node than the node has GPUs";
    uint32_t last = place_of(site, group_count(site) - 1, site->ranks - 1);
    return last < topology->ranks ? NULL : "the topology has fewer ranks";
}

/* ---- one round ---- */

static size_t find_way(pricer *pricing, uint32_t from, uint32_t to, const uint32_t **links)
{
    if (++pricing->ways > MOST_WAYS)
        pricing->status = ST_ERR_LIMIT;
    return pricing->status == ST_OK ? st_router_way(pricing->router, from, to, links) : 0;
}

static void load_link(pricer *pricing, uint32_t link, double share)
{
    if (pricing->loads[link] == 0)
        pricing->touched[pricing->touched_count++] = link;
    pricing->loads[link] += share;
}

static void add_way(pricer *pricing, uint32_t from, uint32_t to, double share)
{
    const uint32_t *links = NULL;
    size_t count = find_way(pricing, from, to, &links);
    for (size_t i = 0; i < count; i++)
        load_link(pricing, links[i], share);
}

/* Keeps a line that is the longest at some size. */
static void add_line(pricer *pricing, st_price_round *round, size_t *capacity, st_price_line line)
{
    size_t kept = 0;
    for (size_t i = 0; i < round->count; i++) {
        const st_price_line *other = &round->lines[i];
        if (other->fixed_s >= line.fixed_s && other->s_per_byte >= line.s_per_byte)
            return;
    }
    for (size_t i = 0; i < round->count; i++) {
        const st_price_line other = round->lines[i];
        if (!(other.fixed_s <= line.fixed_s && other.s_per_byte <= line.s_per_byte))
            round->lines[kept++] = other;
    }
    round->count = kept;
    if (!st_arena_append(pricing->arena, &round->lines, &round->count, capacity, &line,
                         sizeof line))
        pricing->status = ST_ERR_MEMORY;
}

static void price_way(pricer *pricing, uint32_t from, uint32_t to, st_price_round *round,
                      size_t *capacity)
{
    const uint32_t *links = NULL;
    st_price_line line = {0};
    size_t count = find_way(pricing, from, to, &links);
    for (size_t i = 0; i < count; i++) {
        const st_link *link = &pricing->topology->links[links[i]];
        double slope = pricing->loads[links[i]] / link->rate_bytes_per_s;
        line.fixed_s += link->latency_s;
        line.s_per_byte = slope > line.s_per_byte ? slope : line.s_per_byte;
    }
    add_line(pricing, round, capacity, line);
}

static void end_round(pricer *pricing, const st_price_round *round)
{
    for (size_t i = 0; i < pricing->touched_count; i++)
        pricing->loads[pricing->touched[i]] = 0;
    pricing->touched_count = 0;
    if (pricing->status == ST_OK &&
        !ST_APPEND(pricing->arena, pricing->price->rounds, pricing->price->round_count, *round))
        pricing->status = ST_ERR_MEMORY;
}

static void price_round(pricer *pricing, const st_transfer *items, size_t count, double times)
{
    st_price_round round = {.times = times};
    size_t capacity = 0;
    uint32_t groups = group_count(pricing->site);
    for (uint32_t group = 0; group < groups; group++)
        for (size_t i = 0; i < count && pricing->status == ST_OK; i++)
            add_way(pricing, place_of(pricing->site, group, items[i].from),
                    place_of(pricing->site, group, items[i].to), items[i].share);
    for (uint32_t group = 0; group < groups; group++)
        for (size_t i = 0; i < count && pricing->status == ST_OK; i++)
            price_way(pricing, place_of(pricing->site, group, items[i].from),
                      place_of(pricing->site, group, items[i].to), &round, &capacity);
    end_round(pricing, &round);
}

/*
 * Sums on the way: the ways from all members to the first one are a tree; each of its links
 * carries the message once up and once down.
 */
static void price_summed(pricer *pricing)
{
    st_price_round round = {.times = 1};
    size_t capacity = 0;
    st_price_line line = {0};
    for (uint32_t group = 0; group < group_count(pricing->site); group++)
        for (uint32_t member = 1; member < pricing->site->ranks && pricing->status == ST_OK;
             member++) {
            /* A link carries the sums of a group once, whoever sent what is in them; returns the
             * way's latency. */
            const uint32_t *links = NULL;
            double latency_s = 0;
            size_t count = find_way(pricing, place_of(pricing->site, group, member),
                                    place_of(pricing->site, group, 0), &links);
            for (size_t i = 0; i < count; i++) {
                if (pricing->summed[links[i]] != group + 1)
                    load_link(pricing, links[i], 1);
                pricing->summed[links[i]] = group + 1;
                latency_s += pricing->topology->links[links[i]].latency_s;
            }
            line.fixed_s = latency_s > line.fixed_s ? latency_s : line.fixed_s;
        }
    for (size_t i = 0; i < pricing->touched_count; i++) {
        double slope = pricing->loads[pricing->touched[i]] /
                       pricing->topology->links[pricing->touched[i]].rate_bytes_per_s;
        line.s_per_byte = slope > line.s_per_byte ? slope : line.s_per_byte;
    }
    add_line(pricing, &round, &capacity, line);
    end_round(pricing, &round);
}

/* ---- the whole ---- */

static bool begin(pricer *pricing, const st_topology *topology, const st_site *site,
                  st_arena *arena, st_price *price)
{
    *pricing = (pricer){
        .topology = topology, .site = site, .arena = arena, .price = price, .status = ST_OK};
    *price = (st_price){.start_s = topology->start_s};
    pricing->router = st_router_create(topology);
    pricing->loads = calloc(topology->link_count + 1, sizeof *pricing->loads);
    pricing->touched = calloc(topology->link_count + 1, sizeof *pricing->touched);
    pricing->summed = calloc(topology->link_count + 1, sizeof *pricing->summed);
    return pricing->router != NULL && pricing->loads != NULL && pricing->touched != NULL &&
           pricing->summed != NULL;
}

static st_status finish(pricer *pricing, bool good)
{
    st_router_destroy(pricing->router);
    free(pricing->loads);
    free(pricing->touched);
    free(pricing->summed);
    return good ? pricing->status : ST_ERR_MEMORY;
}

static bool same_round(const st_transfer *a, const st_transfer *b, size_t count)
{
    for (size_t i = 0; i < count; i++)
        if (a[i].from != b[i].from || a[i].to != b[i].to || a[i].share != b[i].share)
            return false;
    return true;
}

st_status st_price_transfers(const st_topology *topology, const st_site *site,
                             const st_transfers *transfers, st_arena *arena, st_price *price)
{
    pricer pricing;
    bool good = begin(&pricing, topology, site, arena, price);
    if (good) {
        const st_transfer *items = transfers->items;
        size_t last_first = 0;
        size_t last_count = 0;
        for (size_t first = 0; first < transfers->count && pricing.status == ST_OK;) {
            size_t end = first;
            while (end < transfers->count && items[end].round == items[first].round)
                end++;
            if (end - first == last_count &&
                same_round(items + first, items + last_first, last_count)) {
                pricing.price->rounds[pricing.price->round_count - 1].times++;
            } else {
                price_round(&pricing, items + first, end - first, 1);
                last_first = first;
                last_count = end - first;
            }
            first = end;
        }
    }
    return finish(&pricing, good);
}

st_status st_price_pattern(const st_topology *topology, const st_site *site,
                           const st_pattern *pattern, st_arena *arena, st_price *price)
{
    pricer pricing;
    size_t count = 0;
    st_transfer *items = NULL;
    bool good = begin(&pricing, topology, site, arena, price);
    if (good && pattern->way == ST_WAY_SUMMED) {
        price_summed(&pricing);
    } else if (good) {
        /* The messages of one round of a pattern; free(). */
        size_t n = site->ranks;
        size_t each = pattern->way == ST_WAY_DIRECT ? n - 1 : 1;
        count = pattern->way == ST_WAY_PAIR ? 1 : n * each;
        st_transfer *pattern_items = calloc(count + 1, sizeof *pattern_items);
        for (size_t i = 0; pattern_items != NULL && i < count; i++) {
            size_t from = i / each;
            pattern_items[i] = (st_transfer){.from = (uint32_t)from,
                                             .to = (uint32_t)((from + 1 + i % each) % n),
                                             .share = pattern->share};
        }
        items = pattern_items;
        good = items != NULL;
        if (good)
            price_round(&pricing, items, count, pattern->rounds);
        free(items);
    }
    return finish(&pricing, good);
}

double st_price_at(const st_price *price, double bytes)
{
    double time_s = price->start_s;
    for (size_t i = 0; i < price->round_count; i++) {
        const st_price_round *round = &price->rounds[i];
        double longest = 0;
        for (size_t k = 0; k < round->count; k++) {
            double own = round->lines[k].fixed_s + bytes * round->lines[k].s_per_byte;
            longest = own > longest ? own : longest;
        }
        time_s += round->times * longest;
    }
    return time_s;
}
