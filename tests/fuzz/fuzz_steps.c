/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A table of steps of any bytes: what is read is followed for some groups, and what is followed
 * without an error has messages between ranks of the group, in rounds that rise.
 */
#include "fuzz.h"

#include "fabric/step_table.h"

#include <stdlib.h>

static void follow(const st_steps *steps, uint32_t ranks, uint32_t per_node)
{
    const st_steps_group group = {ranks, per_node};
    st_errors *errors = st_errors_create();
    st_transfers transfers = {0};
    FUZZ_REQUIRE(errors != NULL);
    st_status status = st_steps_follow(steps, &group, &transfers, errors);
    fuzz_check_errors(status, errors);
    for (size_t i = 0; i < transfers.count; i++) {
        const st_transfer *own = &transfers.items[i];
        FUZZ_REQUIRE(own->from < ranks && own->to < ranks && own->from != own->to);
        FUZZ_REQUIRE(own->share > 0 && own->round < transfers.rounds);
        FUZZ_REQUIRE(i == 0 || own->round >= own[-1].round);
    }
    FUZZ_REQUIRE(status == ST_OK || transfers.items == NULL);
    free(transfers.items);
    st_errors_destroy(errors);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    char *text = fuzz_copy((const char *)data, size);
    st_arena *arena = st_arena_create();
    st_errors *errors = st_errors_create();
    const st_steps *steps = NULL;
    const st_source source = {.file = "input", .text = text, .length = size};
    FUZZ_REQUIRE(arena != NULL && errors != NULL);
    st_status status = st_steps_read(&source, arena, &steps, errors);
    fuzz_check_errors(status, errors);
    if (status == ST_OK) {
        follow(steps, 2, 2);
        follow(steps, 6, 3);
    }
    st_errors_destroy(errors);
    st_arena_destroy(arena);
    free(text);
    return 0;
}
