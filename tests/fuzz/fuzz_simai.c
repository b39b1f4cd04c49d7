/* SPDX-License-Identifier: Apache-2.0 */
/* SimAI's workload files from any bytes: what is accepted is written as it was read. */
#include "fuzz.h"
#include "workload/simai.h"

#include <stdlib.h>
#include <string.h>

static void check_again(const st_simai *simai, st_arena *arena, st_errors *errors)
{
    st_simai again;
    st_buffer first = {0};
    st_buffer second = {0};
    st_simai_write(simai, &first);
    const st_source source = {.file = "again", .text = first.data, .length = first.length};
    FUZZ_REQUIRE(!first.failed && st_simai_read(&source, arena, &again, errors) == ST_OK);
    st_simai_write(&again, &second);
    FUZZ_REQUIRE(again.count == simai->count && strcmp(first.data, second.data) == 0);
    st_buffer_free(&first);
    st_buffer_free(&second);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    char *copy = fuzz_copy((const char *)data, size);
    st_arena *arena = st_arena_create();
    st_errors *errors = st_errors_create();
    st_simai simai;
    FUZZ_REQUIRE(arena != NULL && errors != NULL);
    const st_source source = {.file = "input", .text = copy, .length = size};
    st_status status = st_simai_read(&source, arena, &simai, errors);
    fuzz_check_errors(status, errors);
    if (status == ST_OK)
        check_again(&simai, arena, errors);
    st_errors_destroy(errors);
    st_arena_destroy(arena);
    free(copy);
    return 0;
}
