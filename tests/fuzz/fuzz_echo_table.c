/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Tables of Echo from any bytes. What is accepted has rows in order, and every time that is looked
 * up in it is a number; what is refused has a reason.
 */
#include "fuzz.h"

#include "../../plugins/nccl-whitebox/model/echo.h"

#include <math.h>
#include <stdlib.h>

static void check_row(const st_echo_table *table, const st_echo_row *row)
{
    st_echo_symbols symbols = st_echo_look_up(table, row->chunk_bytes * 1.3);
    FUZZ_REQUIRE(symbols.beta_us > 0.0 && symbols.gamma_us > 0.0);
    symbols.eta = 3; /* rounds, which the message tells */
    const st_nccl_group group = {.ranks = 16, .nodes = 2, .per_node = 8};
    const int collectives[] = {ST_NCCL_ALL_GATHER, ST_NCCL_REDUCE_SCATTER, ST_NCCL_ALL_REDUCE};
    for (size_t i = 0; i < sizeof collectives / sizeof collectives[0]; i++)
        FUZZ_REQUIRE(st_echo_ring(&group, collectives[i], row->size_bytes, &symbols).total_us > 0);
    FUZZ_REQUIRE(st_echo_tree(&group, row->size_bytes, &symbols).total_us > 0);
    st_nccl_answer answer = st_echo_operation(table, row->size_bytes * 1.3);
    FUZZ_REQUIRE(answer.total_us > 0.0 && !isnan(answer.total_us));
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    st_echo_table table;
    size_t line = 0;
    char *text = fuzz_copy((const char *)data, size);
    const char *reason = st_echo_parse(text, size, &table, &line);
    FUZZ_REQUIRE(reason != NULL || (table.count > 0 && table.count <= ST_ECHO_ROWS));
    FUZZ_REQUIRE(line <= size + 1);
    for (size_t i = 0; !reason && i < table.count; i++) {
        FUZZ_REQUIRE(i == 0 || table.rows[i].size_bytes > table.rows[i - 1].size_bytes);
        check_row(&table, &table.rows[i]);
    }
    free(text);
    return 0;
}
