/* SPDX-License-Identifier: Apache-2.0 */
/* Shortest ways by breadth-first search, which ends at the rank that is looked for. */
#include "fabric/network.h"

#include <stdlib.h>

struct st_router {
    const st_topology *topology;
    uint32_t *seen;  /* by vertex: the search that has reached it */
    uint32_t *by;    /* by vertex: the link on which it was reached */
    uint32_t *queue; /* of vertices */
    uint32_t *way;
    uint32_t search;
};

st_router *st_router_create(const st_topology *topology)
{
    st_router *router = calloc(1, sizeof *router);
    size_t count = topology->vertices + 1;
    if (router == NULL)
        return NULL;
    router->topology = topology;
    router->seen = calloc(count, sizeof *router->seen);
    router->by = calloc(count, sizeof *router->by);
    router->queue = calloc(count, sizeof *router->queue);
    router->way = calloc(count, sizeof *router->way);
    if (router->seen != NULL && router->by != NULL && router->queue != NULL && router->way != NULL)
        return router;
    st_router_destroy(router);
    return NULL;
}

void st_router_destroy(st_router *router)
{
    if (router == NULL)
        return;
    free(router->seen);
    free(router->by);
    free(router->queue);
    free(router->way);
    free(router);
}

static bool search(st_router *router, uint32_t from, uint32_t to)
{
    const st_topology *topology = router->topology;
    size_t head = 0;
    size_t tail = 0;
    router->search++;
    router->seen[from] = router->search;
    router->queue[tail++] = from;
    while (head < tail) {
        uint32_t at = router->queue[head++];
        for (uint32_t i = topology->first[at]; i < topology->first[at + 1]; i++) {
            uint32_t next = topology->links[i].to;
            if (router->seen[next] == router->search)
                continue;
            router->seen[next] = router->search;
            router->by[next] = i;
            if (next == to)
                return true;
            router->queue[tail++] = next;
        }
    }
    return false;
}

size_t st_router_way(st_router *router, uint32_t from, uint32_t to, const uint32_t **links)
{
    size_t count = 0;
    *links = router->way;
    if (from == to || !search(router, from, to))
        return 0;
    for (uint32_t at = to; at != from; at = router->topology->links[router->by[at]].from)
        router->way[count++] = router->by[at];
    return count;
}
