/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A topology of any bytes: in what is accepted every rank reaches every other over links that have
 * a rate, one behind the other.
 */
#include "fuzz.h"

#include "fabric/network.h"

#include <stdlib.h>

static void check_way(const st_topology *topology, st_router *router, uint32_t from, uint32_t to)
{
    const uint32_t *links = NULL;
    size_t count = st_router_way(router, from, to, &links);
    uint32_t at = to;
    FUZZ_REQUIRE(from == to || count > 0);
    for (size_t i = 0; i < count; i++) {
        const st_link *link = &topology->links[links[i]];
        FUZZ_REQUIRE(link->to == at && link->rate_bytes_per_s > 0 && link->latency_s >= 0);
        at = link->from;
    }
    FUZZ_REQUIRE(at == from);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    char *text = fuzz_copy((const char *)data, size);
    st_arena *arena = st_arena_create();
    st_errors *errors = st_errors_create();
    const st_topology *topology = NULL;
    const st_source source = {.file = "input", .text = text, .length = size};
    FUZZ_REQUIRE(arena != NULL && errors != NULL);
    st_status status = st_topology_read(&source, arena, &topology, errors);
    fuzz_check_errors(status, errors);
    if (status == ST_OK) {
        st_router *router = st_router_create(topology);
        FUZZ_REQUIRE(router != NULL);
        for (size_t i = 0; i < 20 && i < topology->ranks; i++)
            check_way(topology, router, (uint32_t)(i * 7 % topology->ranks),
                      (uint32_t)(topology->ranks - 1 - i));
        st_router_destroy(router);
    }
    st_errors_destroy(errors);
    st_arena_destroy(arena);
    free(text);
    return 0;
}
