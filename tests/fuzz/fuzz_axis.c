/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Axes from any bytes. What is accepted has values, and each of them is a text that is an axis of
 * one value again.
 */
#include "fuzz.h"

#include "sweep/axis.h"

#include <stdlib.h>
#include <string.h>

static void check_values(const st_axis *axis, st_arena *arena, st_errors *errors)
{
    size_t step = axis->count / 16 + 1;
    for (size_t i = 0; i < axis->count; i += step) {
        char storage[ST_AXIS_TEXT];
        const char *text = st_axis_text(axis, i, storage);
        st_axis alone;
        FUZZ_REQUIRE(text[0] != '\0' && strchr(text, ',') == NULL);
        const char *again = st_arena_printf(arena, "%s=%s", axis->path, text);
        FUZZ_REQUIRE(again != NULL);
        FUZZ_REQUIRE(st_axis_parse("--over", again, arena, &alone, errors) == ST_OK);
        FUZZ_REQUIRE(alone.count == 1 && strcmp(alone.texts[0], text) == 0);
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    st_errors *errors = st_errors_create();
    st_arena *arena = st_arena_create();
    FUZZ_REQUIRE(errors != NULL && arena != NULL);
    char *text = st_arena_copy(arena, (const char *)data, size);
    st_axis axis;
    FUZZ_REQUIRE(text != NULL);
    st_status status = st_axis_parse("--over", text, arena, &axis, errors);
    fuzz_check_errors(status, errors);
    st_errors_clear(errors);
    if (status == ST_OK) {
        FUZZ_REQUIRE(axis.count >= 1);
        check_values(&axis, arena, errors);
    }
    st_arena_destroy(arena);
    st_errors_destroy(errors);
    return 0;
}
