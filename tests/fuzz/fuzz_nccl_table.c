/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Output of nccl-tests from any bytes: what is accepted has rows with sizes and times that a fit
 * can use.
 */
#include "fuzz.h"

#include "nccl-whitebox/fit/nccl_table.h"

#include <stdlib.h>

static void check_table(const st_nccl_table *table)
{
    FUZZ_REQUIRE(table->collective != NULL && table->gpu != NULL && table->fabric != NULL);
    FUZZ_REQUIRE(table->ranks > 1 && table->nodes > 0 && table->ranks % table->nodes == 0);
    FUZZ_REQUIRE(table->row_count > 0 && table->buffers != ST_NCCL_ANY);
    for (size_t i = 0; i < table->row_count; i++) {
        double time_s = st_nccl_time(table, &table->rows[i]);
        FUZZ_REQUIRE(time_s > 0 && time_s < 1e6);
        FUZZ_REQUIRE(table->rows[i].size_bytes > 0 &&
                     table->rows[i].size_bytes <= ST_NCCL_MAX_BYTES);
        FUZZ_REQUIRE(table->rows[i].line >= table->line);
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    char *text = fuzz_copy((const char *)data, size);
    st_arena *arena = st_arena_create();
    st_errors *errors = st_errors_create();
    FUZZ_REQUIRE(arena != NULL && errors != NULL);
    st_nccl_request request = {.buffers = ST_NCCL_ANY};
    st_nccl_input input = {"input", text, size};
    st_nccl_table *tables = NULL;
    size_t count = 0;
    if (size > 0 && data[0] == '!') /* also what the command line may say */
        request = (st_nccl_request){
            .collective = "all_gather", .ranks = 16, .nodes = 4, .buffers = ST_NCCL_IN_PLACE};
    st_status status = st_nccl_read(&request, &input, arena, &tables, &count, errors);
    fuzz_check_errors(status, errors);
    FUZZ_REQUIRE((status == ST_OK) == (count > 0));
    for (size_t i = 0; i < count; i++)
        check_table(&tables[i]);
    st_errors_destroy(errors);
    st_arena_destroy(arena);
    free(text);
    return 0;
}
