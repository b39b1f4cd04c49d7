/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Keys of what-if questions from any bytes: lines of --have, a form feed, lines of --set, another
 * one, lines of --remove. What is accepted is finite and not below 0.
 */
#include "fuzz.h"

#include "trace/whatif.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { MOST_LINES = 80 };

/* An option cannot hold a zero byte: it ends there. */
static size_t cut_lines(char *text, const char *lines[MOST_LINES])
{
    size_t count = 0;
    char *rest = NULL;
    for (char *line = strtok_r(text, "\n", &rest); line != NULL && count < MOST_LINES;
         line = strtok_r(NULL, "\n", &rest))
        lines[count++] = line;
    return count;
}

static void check_values(const st_whatif_values *values)
{
    for (size_t i = 0; i < ST_WHATIF_KEYS; i++) {
        FUZZ_REQUIRE(st_whatif_key_name((st_whatif_key)i) != NULL);
        FUZZ_REQUIRE(isfinite(values->have[i]) && values->have[i] >= 0);
        FUZZ_REQUIRE(isfinite(values->set[i]) && values->set[i] >= 0);
    }
    FUZZ_REQUIRE(values->kernel_count <= ST_WHATIF_PATTERNS);
    for (size_t i = 0; i < values->kernel_count; i++) {
        FUZZ_REQUIRE(values->kernels[i].pattern != NULL);
        FUZZ_REQUIRE(isfinite(values->kernels[i].speed) && values->kernels[i].speed >= 0);
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    fuzz_part parts[FUZZ_PARTS] = {0};
    const char *lines[3][MOST_LINES];
    char *texts[3] = {NULL};
    size_t counts[3] = {0};
    size_t count = fuzz_split(data, size, parts);
    for (size_t i = 0; i < count && i < 3; i++) {
        texts[i] = strndup(parts[i].text, parts[i].length);
        FUZZ_REQUIRE(texts[i] != NULL);
        counts[i] = cut_lines(texts[i], lines[i]);
    }
    st_trace_change change = {.have = lines[0],
                              .have_count = counts[0],
                              .sets = lines[1],
                              .set_count = counts[1],
                              .removed = lines[2],
                              .removed_count = counts[2]};
    st_whatif_values values;
    st_arena *arena = st_arena_create();
    st_errors *errors = st_errors_create();
    FUZZ_REQUIRE(arena != NULL && errors != NULL);
    st_status status = st_whatif_parse(&change, arena, &values, errors);
    fuzz_check_errors(status, errors);
    if (status == ST_OK)
        check_values(&values);
    st_errors_destroy(errors);
    st_arena_destroy(arena);
    for (size_t i = 0; i < 3; i++)
        free(texts[i]);
    return 0;
}
