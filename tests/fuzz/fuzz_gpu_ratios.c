/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Ratios of kernels between two GPUs from any bytes: what is accepted answers within its points,
 * and is written and read again as it was.
 */
#include "fuzz.h"

#include "kernel-times/fit/ratios.h"

#include <math.h>
#include <stdlib.h>

static void check_class(const st_ratios *ratios, st_trace_class class_)
{
    double least = HUGE_VAL;
    double most = 0;
    st_trace_class taken = class_;
    FUZZ_REQUIRE(ratios->counts[class_] <= ST_RATIOS_POINTS);
    for (size_t i = 0; i < ratios->counts[class_]; i++) {
        least = fmin(least, ratios->points[class_][i].ratio);
        most = fmax(most, ratios->points[class_][i].ratio);
    }
    for (double us = 0.1; us < 1e8 && most > 0; us *= 7.3) {
        double ratio = st_ratios_ask(ratios, class_, 1e-6 * us, &taken);
        FUZZ_REQUIRE(taken == class_);
        FUZZ_REQUIRE(ratio >= least * (1 - 1e-9) && ratio <= most * (1 + 1e-9));
    }
}

static void check_again(const st_ratios *ratios, st_arena *arena)
{
    st_buffer text = {0};
    const st_csv *csv = NULL;
    st_errors *errors = st_errors_create();
    st_ratios *again = st_arena_alloc(arena, 1, sizeof *again);
    FUZZ_REQUIRE(errors != NULL && again != NULL);
    st_ratios_write(ratios, &text);
    FUZZ_REQUIRE(!text.failed);
    FUZZ_REQUIRE(st_csv_parse("again", text.data, text.length, arena, &csv, errors) == ST_OK);
    /* Names with commas and durations that differ beyond seven digits do not survive. */
    if (st_ratios_read(csv, arena, again, errors) == ST_OK)
        for (size_t i = 0; i < ST_TRACE_CLASSES; i++)
            FUZZ_REQUIRE(again->counts[i] == ratios->counts[i]);
    st_errors_destroy(errors);
    st_buffer_free(&text);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    char *text = fuzz_copy((const char *)data, size);
    st_arena *arena = st_arena_create();
    st_errors *errors = st_errors_create();
    const st_csv *csv = NULL;
    FUZZ_REQUIRE(arena != NULL && errors != NULL);
    st_ratios *ratios = st_arena_alloc(arena, 1, sizeof *ratios);
    FUZZ_REQUIRE(ratios != NULL);
    st_status status = st_csv_parse("input", text, size, arena, &csv, errors);
    if (status == ST_OK)
        status = st_ratios_read(csv, arena, ratios, errors);
    fuzz_check_errors(status, errors);
    for (st_trace_class i = 0; i < ST_TRACE_CLASSES && status == ST_OK; i++)
        check_class(ratios, i);
    if (status == ST_OK)
        check_again(ratios, arena);
    st_errors_destroy(errors);
    st_arena_destroy(arena);
    free(text);
    return 0;
}
