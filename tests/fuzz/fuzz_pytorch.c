/* SPDX-License-Identifier: Apache-2.0 */
/* Execution traces of PyTorch from any bytes: what is accepted waits for earlier nodes alone. */
#include "fuzz.h"
#include "workload/pytorch.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    st_arena *arena = st_arena_create();
    st_errors *errors = st_errors_create();
    st_bytes *bytes = NULL;
    st_pytorch operators;
    st_execution rank;
    FUZZ_REQUIRE(arena != NULL && errors != NULL);
    st_bytes_from_memory("input", (const char *)data, size, &bytes);
    st_status status = st_pytorch_read(bytes, arena, &operators, errors);
    if (status == ST_OK)
        status = st_pytorch_execution(&operators, arena, &rank, errors);
    fuzz_check_errors(status, errors);
    for (size_t i = 0; status == ST_OK && i < rank.count; i++) {
        for (size_t j = 0; j < rank.nodes[i].dep_count; j++)
            FUZZ_REQUIRE(rank.deps[rank.nodes[i].dep_first + j] < i);
        FUZZ_REQUIRE((rank.nodes[i].shape != NULL) == (rank.nodes[i].type == ST_CHAKRA_COMP));
    }
    st_bytes_close(bytes);
    st_errors_destroy(errors);
    st_arena_destroy(arena);
    return 0;
}
