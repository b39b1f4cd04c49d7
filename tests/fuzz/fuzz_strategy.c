/* SPDX-License-Identifier: Apache-2.0 */
/* Strategy files of any bytes: what is accepted has stages, ranges that rise and known passes. */
#include "fuzz.h"

#include "timeline/strategy.h"

#include <stdlib.h>

static void check_spans(const st_strategy_spans *spans)
{
    FUZZ_REQUIRE(spans->count > 0);
    for (size_t i = 0; i < spans->count; i++) {
        FUZZ_REQUIRE(spans->items[i].first <= spans->items[i].last);
        FUZZ_REQUIRE(spans->items[i].last <= ST_STRATEGY_NUMBER);
        FUZZ_REQUIRE(spans->items[i].place.line > 0);
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    char *text = fuzz_copy((const char *)data, size);
    st_arena *arena = st_arena_create();
    st_errors *errors = st_errors_create();
    const st_yaml_node *root = NULL;
    st_strategy strategy = {0};
    FUZZ_REQUIRE(arena != NULL && errors != NULL);
    st_status status = st_yaml_parse("input", text, size, arena, &root, errors);
    if (status == ST_OK)
        status = st_strategy_read(root, arena, &strategy, errors);
    fuzz_check_errors(status, errors);
    FUZZ_REQUIRE(status != ST_OK || strategy.count > 0);
    for (size_t i = 0; i < strategy.count && status == ST_OK; i++) {
        const st_strategy_stage *stage = &strategy.stages[i];
        check_spans(&stage->devices);
        check_spans(&stage->layers);
        for (size_t k = 0; k < stage->pass_count; k++)
            FUZZ_REQUIRE(stage->order[k].slot.pass < ST_PASSES);
    }
    st_errors_destroy(errors);
    st_arena_destroy(arena);
    free(text);
    return 0;
}
