/* SPDX-License-Identifier: Apache-2.0 */
/* Descriptions of networks: four shapes, each made of links; see docs/topologies.md. */
#include "fabric/network.h"

#include "base/memory.h"
#include "base/yaml_read.h"
#include "steptime/quantity.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { MAX_LEVELS = 8, MAX_AXES = 6 };

typedef struct network_reader {
    st_topology *topology;
    st_arena *arena;
    st_errors *errors;
    const char *file;
    bool good;
} network_reader;

static ST_PRINTF(3, 4) void fail(network_reader *reader, st_place place, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    (void)st_vfail(reader->errors, ST_ERR_VALUE, place, format, arguments);
    va_end(arguments);
    reader->good = false;
}

/* ---- values ---- */

static const st_yaml_node *need(network_reader *reader, const st_yaml_node *map, const char *key,
                                st_yaml_kind kind)
{
    static const char *const kinds[] = {"a value", "a list", "a map"};
    const st_yaml_node *node = st_yaml_get(map, key);
    if (node == NULL || node->kind != kind) {
        fail(reader, node != NULL ? node->place : map->place, "missing '%s'" ST_EXPECTED "%s", key,
             kinds[kind]);
        return NULL;
    }
    return node;
}

static void check_keys(network_reader *reader, const st_yaml_node *map, const char *what,
                       const char *const *known, size_t count)
{
    st_yaml_reader keys = {.errors = reader->errors};
    st_read_keys(&keys, map, what, known, count, 0);
    reader->good = reader->good && keys.status == ST_OK;
}

static double quantity(network_reader *reader, const st_yaml_node *map, const char *key,
                       const char *unit)
{
    st_unit parsed;
    double value = 0;
    const st_yaml_node *node = need(reader, map, key, ST_YAML_SCALAR);
    if (node == NULL || st_unit_parse(unit, strlen(unit), (st_place){0}, &parsed, NULL) != ST_OK)
        return 1;
    if (st_quantity_parse(node->text, node->length, &parsed, st_yaml_place_at(node, 0), &value,
                          reader->errors) != ST_OK) {
        reader->good = false;
        return 1;
    }
    return value;
}

/* The rate of a link, above zero. */
static double rate_of(network_reader *reader, const st_yaml_node *map, const char *key)
{
    double rate = quantity(reader, map, key, "GB/s");
    const st_yaml_node *node = st_yaml_get(map, key);
    if (node != NULL && !(rate > 0))
        fail(reader, node->place,
             "a link has no bandwidth" ST_FOUND "'%.40s'" ST_EXPECTED "more than 0 GB/s",
             node->kind == ST_YAML_SCALAR ? node->text : "");
    return rate;
}

static double latency_of(network_reader *reader, const st_yaml_node *map)
{
    double latency = quantity(reader, map, "latency", "us");
    const st_yaml_node *node = st_yaml_get(map, "latency");
    if (node != NULL && !(latency >= 0 && latency <= 1))
        fail(reader, node->place,
             "latency is out of range" ST_FOUND "'%.40s'" ST_EXPECTED "from 0 to 1 s",
             node->kind == ST_YAML_SCALAR ? node->text : "");
    return latency;
}

static size_t count_at(network_reader *reader, const st_yaml_node *node)
{
    double value = 0;
    if (node == NULL || node->kind != ST_YAML_SCALAR ||
        st_number_parse(node->text, node->length, (st_place){0}, &value, NULL) != ST_OK ||
        !(value >= 1 && value <= ST_TOPOLOGY_MAX_RANKS) || value != floor(value)) {
        fail(reader, node != NULL ? node->place : (st_place){.file = reader->file},
             "invalid count" ST_EXPECTED "a whole number from 1 to 65536");
        return 1;
    }
    return (size_t)value;
}

static size_t count_of(network_reader *reader, const st_yaml_node *map, const char *key)
{
    const st_yaml_node *node = need(reader, map, key, ST_YAML_SCALAR);
    return node != NULL ? count_at(reader, node) : 1;
}

/* ---- links ---- */

static void add_link(network_reader *reader, st_place place, const st_link *link)
{
    st_topology *topology = reader->topology;
    st_link both[2] = {*link, *link};
    both[1].from = link->to;
    both[1].to = link->from;
    if (link->from == link->to) {
        fail(reader, place, "a link from '%s%u' to itself closes a loop",
             link->from < topology->ranks ? "r" : "s",
             link->from < topology->ranks ? link->from : link->from - (unsigned)topology->ranks);
        return;
    }
    for (size_t i = 0; i < 2; i++) {
        if (topology->link_count >= ST_TOPOLOGY_MAX_LINKS) {
            if (reader->good)
                fail(reader, place, "the topology has more than 1048576 links");
            return;
        }
        if (!ST_APPEND(reader->arena, topology->links, topology->link_count, both[i])) {
            fail(reader, place, "out of memory");
            return;
        }
    }
}

/* ---- a tree of levels ---- */

typedef struct level {
    size_t holds; /* of the level below */
    size_t rails; /* switches that every rank of a group below has a link of its own to; 0: none */
    double rate;  /* of a link up to it */
    double latency;
    st_place place;
} level;

/* Only a level of that name says what a node is: another may be a rack, one NVLink domain. */
static bool is_node(const st_yaml_node *node)
{
    const st_yaml_node *name = st_yaml_get(node, "name");
    return name != NULL && name->kind == ST_YAML_SCALAR && strcmp(name->text, "node") == 0;
}

/* A level without a bandwidth has that of all links below it over its oversubscription. */
static void complete_rate(network_reader *reader, const st_yaml_node *node, level *levels,
                          size_t at)
{
    level *current = &levels[at];
    const st_yaml_node *over = st_yaml_get(node, "oversubscription");
    if (current->rate > 0 && over != NULL)
        fail(reader, over->place,
             "a level has both 'bandwidth' and 'oversubscription'" ST_EXPECTED "one of them");
    if (current->rate > 0)
        return;
    double factor = 1;
    if (at == 0 || over == NULL || over->kind != ST_YAML_SCALAR ||
        st_number_parse(over->text, over->length, (st_place){0}, &factor, NULL) != ST_OK ||
        !(factor > 0)) {
        fail(reader, node->place,
             "a level has no 'bandwidth'" ST_EXPECTED
             "the bandwidth of an uplink, or an oversubscription above 0");
        current->rate = 1;
        return;
    }
    current->rate = levels[at - 1].rate * (double)levels[at - 1].holds / factor;
}

/* Every rank of a group has a link to the switch of its rail, which all groups of this one share.
 */
static uint32_t link_rails(network_reader *reader, const level *current, size_t group_ranks,
                           uint32_t next)
{
    size_t ranks = reader->topology->ranks;
    size_t span = group_ranks * current->holds;
    for (size_t rank = 0; rank < ranks; rank++) {
        size_t rail = rank % group_ranks % current->rails;
        size_t vertex = next + rank / span * current->rails + rail;
        add_link(reader, current->place,
                 &(st_link){.from = (uint32_t)rank,
                            .to = (uint32_t)vertex,
                            .rate_bytes_per_s = current->rate,
                            .latency_s = current->latency});
    }
    return next + (uint32_t)(ranks / span * current->rails);
}

/* Links of one level; returns the number behind its last switch. */
static uint32_t link_level(network_reader *reader, const level *current, size_t below,
                           size_t below_count, uint32_t next)
{
    for (size_t i = 0; i < below_count; i++)
        add_link(reader, current->place,
                 &(st_link){.from = (uint32_t)(below + i),
                            .to = next + (uint32_t)(i / current->holds),
                            .rate_bytes_per_s = current->rate,
                            .latency_s = current->latency});
    return next + (uint32_t)(below_count / current->holds);
}

static void read_levels(network_reader *reader, const st_yaml_node *list)
{
    st_topology *topology = reader->topology;
    level levels[MAX_LEVELS];
    if (list->count == 0 || list->count > MAX_LEVELS) {
        fail(reader, list->place, "wrong number of levels" ST_FOUND "%zu" ST_EXPECTED "from 1 to 8",
             list->count);
        return;
    }
    topology->ranks = 1;
    for (size_t i = 0; i < list->count; i++) {
        const st_yaml_node *node = list->items[i];
        level *current = &levels[i];
        static const char *const keys[] = {"name",  "holds",  "bandwidth", "oversubscription",
                                           "rails", "latency"};
        *current = (level){.holds = 1, .place = node->place};
        if (node->kind != ST_YAML_MAP) {
            fail(reader, node->place,
                 "a level must be a map" ST_EXPECTED
                 "{name: leaf, holds: 4, bandwidth: 400 GB/s, latency: 1 us}");
        } else {
            check_keys(reader, node, "a level", keys, ST_COUNT(keys));
            current->holds = count_of(reader, node, "holds");
            current->latency = latency_of(reader, node);
            current->rails =
                st_yaml_get(node, "rails") != NULL ? count_of(reader, node, "rails") : 0;
            if (st_yaml_get(node, "bandwidth") != NULL)
                current->rate = rate_of(reader, node, "bandwidth");
        }
        if (list->items[i]->kind == ST_YAML_MAP)
            complete_rate(reader, list->items[i], levels, i);
        topology->ranks *= levels[i].holds;
        if (topology->ranks > ST_TOPOLOGY_MAX_RANKS) {
            fail(reader, list->items[i]->place, "more than 65536 ranks");
            return;
        }
        if (levels[i].rails > 0 && i == 0)
            fail(reader, levels[i].place, "the lowest level cannot have rails");
    }
    if (reader->good && is_node(list->items[0]))
        topology->node_gpus = (uint32_t)levels[0].holds;
    uint32_t next = (uint32_t)topology->ranks;
    size_t below = 0;
    size_t count = topology->ranks;
    size_t group = 1; /* ranks below a vertex of the level below */
    for (size_t i = 0; i < list->count && reader->good; i++) {
        uint32_t first = next;
        next = levels[i].rails > 0 ? link_rails(reader, &levels[i], group, next)
                                   : link_level(reader, &levels[i], below, count, next);
        group *= levels[i].holds;
        below = first;
        count = next - first;
        if (levels[i].rails > 0 && i + 1 < list->count)
            levels[i + 1].holds *= levels[i].rails;
    }
    topology->vertices = next;
}

/* ---- a torus ---- */

static void read_torus(network_reader *reader, const st_yaml_node *map)
{
    static const char *const keys[] = {"size", "bandwidth", "latency"};
    st_topology *topology = reader->topology;
    size_t size[MAX_AXES];
    check_keys(reader, map, "a torus", keys, ST_COUNT(keys));
    const st_yaml_node *list = need(reader, map, "size", ST_YAML_LIST);
    st_link link = {.rate_bytes_per_s = rate_of(reader, map, "bandwidth"),
                    .latency_s = latency_of(reader, map)};
    if (list == NULL || list->count == 0 || list->count > MAX_AXES) {
        fail(reader, map->place, "a torus has a wrong 'size'" ST_EXPECTED "one to six numbers");
        return;
    }
    topology->ranks = 1;
    for (size_t axis = 0; axis < list->count; axis++) {
        size[axis] = count_at(reader, list->items[axis]);
        topology->ranks *= size[axis];
        if (topology->ranks > ST_TOPOLOGY_MAX_RANKS) {
            fail(reader, list->items[axis]->place, "more than 65536 ranks");
            return;
        }
    }
    size_t stride = 1;
    for (size_t axis = 0; axis < list->count; stride *= size[axis++])
        for (size_t rank = 0; rank < topology->ranks && stride > 0 && size[axis] > 1; rank++) {
            size_t at = rank / stride % size[axis];
            link.axis = (uint32_t)axis;
            if (size[axis] == 2 && at == 1)
                continue; /* the way around is the same link */
            link.from = (uint32_t)rank;
            link.to =
                (uint32_t)(at + 1 < size[axis] ? rank + stride : rank - (size[axis] - 1) * stride);
            add_link(reader, map->place, &link);
        }
    topology->vertices = topology->ranks;
}

/* ---- a dragonfly ---- */

/*
 * Groups of routers, all with all inside of a group; one link between any two groups, spread over
 * their routers (Kim et al., Technology-Driven, Highly-Scalable Dragonfly Topology, 2008).
 */
static void read_dragonfly(network_reader *reader, const st_yaml_node *map)
{
    static const char *const keys[] = {"groups",         "routers", "ranks",
                                       "rank_bandwidth", "latency", "router_bandwidth",
                                       "group_bandwidth"};
    st_topology *topology = reader->topology;
    check_keys(reader, map, "a dragonfly", keys, ST_COUNT(keys));
    size_t groups = count_of(reader, map, "groups");
    size_t routers = count_of(reader, map, "routers");
    size_t ranks = count_of(reader, map, "ranks");
    st_link link = {.latency_s = latency_of(reader, map)};
    double down = rate_of(reader, map, "rank_bandwidth");
    double local = rate_of(reader, map, "router_bandwidth");
    double global = rate_of(reader, map, "group_bandwidth");
    if (groups * routers > ST_TOPOLOGY_MAX_RANKS ||
        groups * routers * ranks > ST_TOPOLOGY_MAX_RANKS) {
        fail(reader, map->place, "more than 65536 ranks");
        return;
    }
    topology->ranks = groups * routers * ranks;
    topology->vertices = topology->ranks + groups * routers;
    uint32_t first = (uint32_t)topology->ranks;
    for (size_t rank = 0; rank < topology->ranks; rank++) {
        link.from = (uint32_t)rank;
        link.to = first + (uint32_t)(rank / ranks);
        link.rate_bytes_per_s = down;
        add_link(reader, map->place, &link);
    }
    for (size_t group = 0; group < groups; group++)
        for (size_t a = 0; a < routers; a++)
            for (size_t b = a + 1; b < routers && reader->good; b++) {
                link.from = first + (uint32_t)(group * routers + a);
                link.to = first + (uint32_t)(group * routers + b);
                link.rate_bytes_per_s = local;
                add_link(reader, map->place, &link);
            }
    for (size_t a = 0; a < groups; a++)
        for (size_t b = a + 1; b < groups && reader->good; b++) {
            link.from = first + (uint32_t)(a * routers + (b - 1) % routers);
            link.to = first + (uint32_t)(b * routers + a % routers);
            link.rate_bytes_per_s = global;
            add_link(reader, map->place, &link);
        }
}

/* ---- links one by one ---- */

/* "r3" is a rank, "s0" a switch. */
static bool read_vertex(network_reader *reader, const st_yaml_node *map, const char *key,
                        size_t switches, uint32_t *vertex)
{
    const st_yaml_node *node = need(reader, map, key, ST_YAML_SCALAR);
    size_t ranks = reader->topology->ranks;
    double number = 0;
    if (node == NULL)
        return false;
    bool is_rank = node->text[0] == 'r';
    if ((is_rank || node->text[0] == 's') && node->length > 1 &&
        st_number_parse(node->text + 1, node->length - 1, (st_place){0}, &number, NULL) == ST_OK &&
        number >= 0 && number == floor(number) && number < (double)(is_rank ? ranks : switches)) {
        *vertex = (uint32_t)number + (is_rank ? 0 : (uint32_t)ranks);
        return true;
    }
    fail(reader, node->place, "invalid link endpoint" ST_FOUND "'%.40s'" ST_EXPECTED "r0 to r%zu%s",
         node->text, ranks - 1,
         switches > 0 ? st_errors_text(reader->errors, " or s0 to s%zu", switches - 1) : "");
    return false;
}

/* ---- what must hold of the whole ---- */

ST_COMPARE(compare_links, st_link, ST_RISING(from) ST_RISING(axis) ST_RISING(to));

static const char *vertex_name(network_reader *reader, uint32_t vertex)
{
    size_t ranks = reader->topology->ranks;
    return st_errors_text(reader->errors, "%s%zu", vertex < ranks ? "r" : "s",
                          vertex < ranks ? (size_t)vertex : vertex - ranks);
}

/* Every rank can be reached from the first; links go both ways. */
static void check_reach(network_reader *reader, st_place place)
{
    st_topology *topology = reader->topology;
    bool *seen = st_arena_alloc(reader->arena, topology->vertices + 1, sizeof *seen);
    uint32_t *queue = st_arena_alloc(reader->arena, topology->vertices + 1, sizeof *queue);
    size_t head = 0;
    size_t tail = 0;
    if (seen == NULL || queue == NULL) {
        fail(reader, place, "out of memory");
        return;
    }
    seen[0] = true;
    queue[tail++] = 0;
    while (head < tail) {
        uint32_t at = queue[head++];
        for (uint32_t i = topology->first[at]; i < topology->first[at + 1]; i++) {
            uint32_t next = topology->links[i].to;
            if (!seen[next])
                queue[tail++] = next;
            seen[next] = true;
        }
    }
    for (size_t rank = 0; rank < topology->ranks; rank++)
        if (!seen[rank]) {
            fail(reader, place, "rank r%zu cannot be reached from r0", rank);
            return;
        }
    if (topology->reduces && topology->link_count / 2 + 1 != tail)
        fail(reader, place,
             "the links form a loop" ST_FOUND "%zu links of %zu ranks and switches" ST_EXPECTED
             "a tree, which 'reduces: true' requires",
             topology->link_count / 2, tail);
}

static void read_shape(network_reader *reader, const st_yaml_node *root)
{
    const st_yaml_node *shapes[] = {st_yaml_get(root, "levels"), st_yaml_get(root, "torus"),
                                    st_yaml_get(root, "dragonfly"), st_yaml_get(root, "links")};
    static const st_yaml_kind kinds[] = {ST_YAML_LIST, ST_YAML_MAP, ST_YAML_MAP, ST_YAML_LIST};
    static const char *const names[] = {"levels", "torus", "dragonfly", "links"};
    size_t found = 0;
    size_t shape = 0;
    for (size_t i = 0; i < 4; i++)
        if (shapes[i] != NULL) {
            shape = i;
            found++;
        }
    if (found != 1) {
        fail(reader, root->place,
             "wrong number of shapes" ST_FOUND "%zu" ST_EXPECTED
             "one of 'levels', 'torus', 'dragonfly' and 'links'",
             found);
        return;
    }
    if (need(reader, root, names[shape], kinds[shape]) == NULL)
        return;
    if (shape == 0)
        read_levels(reader, shapes[0]);
    else if (shape == 1)
        read_torus(reader, shapes[1]);
    else if (shape == 2)
        read_dragonfly(reader, shapes[2]);
    else {
        const st_yaml_node *list = shapes[3];
        static const char *const keys[] = {"from", "to", "bandwidth", "latency"};
        st_topology *topology = reader->topology;
        topology->ranks = count_of(reader, root, "ranks");
        size_t switches =
            st_yaml_get(root, "switches") != NULL ? count_of(reader, root, "switches") : 0;
        topology->vertices = topology->ranks + switches;
        for (size_t i = 0; i < list->count; i++) {
            const st_yaml_node *node = list->items[i];
            st_link link = {0};
            if (node->kind != ST_YAML_MAP) {
                fail(reader, node->place,
                     "a link must be a map" ST_EXPECTED
                     "{from: r0, to: s0, bandwidth: 50 GB/s, latency: 1 us}");
                continue;
            }
            check_keys(reader, node, "a link", keys, ST_COUNT(keys));
            link.rate_bytes_per_s = rate_of(reader, node, "bandwidth");
            link.latency_s = latency_of(reader, node);
            if (read_vertex(reader, node, "from", switches, &link.from) &&
                read_vertex(reader, node, "to", switches, &link.to))
                add_link(reader, node->place, &link);
        }
    }
}

/* What does not depend on the shape. */
static void read_head(network_reader *reader, const st_yaml_node *root)
{
    st_topology *topology = reader->topology;
    const st_yaml_node *name = need(reader, root, "topology", ST_YAML_SCALAR);
    const st_yaml_node *reduces = st_yaml_get(root, "reduces");
    topology->name = name != NULL ? name->text : "";
    topology->start_s = quantity(reader, root, "start", "us");
    topology->reduces =
        reduces != NULL && reduces->kind == ST_YAML_SCALAR && strcmp(reduces->text, "true") == 0;
    if (reduces != NULL && !topology->reduces &&
        (reduces->kind != ST_YAML_SCALAR || strcmp(reduces->text, "false") != 0))
        fail(reader, reduces->place, "'reduces' must be true or false" ST_EXPECTED "true or false");
    if (!(topology->start_s >= 0 && topology->start_s <= 1))
        fail(reader, root->place, "'start' is out of range" ST_EXPECTED "from 0 to 1 s");
}

st_status st_topology_read(const st_source *source, st_arena *arena, const st_topology **topology,
                           st_errors *errors)
{
    static const char *const keys[] = {"topology", "doc",    "source",  "start",
                                       "reduces",  "levels", "torus",   "dragonfly",
                                       "links",    "ranks",  "switches"};
    const st_yaml_node *root = NULL;
    st_status status = st_yaml_read(source, arena, &root, errors);
    st_topology *read = st_arena_alloc(arena, 1, sizeof *read);
    if (status != ST_OK)
        return status;
    if (read == NULL)
        return st_out_of_memory(errors);
    network_reader reader = {
        .topology = read, .arena = arena, .errors = errors, .file = source->file, .good = true};
    if (root->kind != ST_YAML_MAP) {
        fail(&reader, root->place,
             "a topology must be a map" ST_EXPECTED "a map with 'topology', 'start' and a shape");
        return ST_ERR_VALUE;
    }
    check_keys(&reader, root, "a topology", keys, ST_COUNT(keys));
    read_head(&reader, root);
    read_shape(&reader, root);
    if (reader.good) {
        const st_place place = root->place;
        st_topology *link_topology = reader.topology;
        link_topology->first =
            st_arena_alloc(reader.arena, link_topology->vertices + 2, sizeof(uint32_t));
        if (link_topology->first == NULL) {
            fail(&reader, place, "out of memory");
        } else {
            if (link_topology->link_count > 0)
                qsort(link_topology->links, link_topology->link_count, sizeof *link_topology->links,
                      compare_links);
            for (size_t i = 0; i < link_topology->link_count; i++) {
                const st_link *link = &link_topology->links[i];
                link_topology->first[link->from + 1] = (uint32_t)i + 1;
                if (i > 0 && compare_links(link - 1, link) == 0 && reader.good)
                    fail(&reader, place,
                         "duplicate link from %s to %s" ST_EXPECTED
                         "one link with the total bandwidth",
                         vertex_name(&reader, link->from), vertex_name(&reader, link->to));
            }
            for (size_t i = 1; i <= link_topology->vertices; i++)
                if (link_topology->first[i] < link_topology->first[i - 1])
                    link_topology->first[i] = link_topology->first[i - 1];
        }
    }
    if (reader.good)
        check_reach(&reader, root->place);
    if (!reader.good)
        return ST_ERR_VALUE;
    *topology = read;
    return ST_OK;
}
