/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A table of layer times from any bytes: what is accepted becomes a profile's text that the plugin
 * reads, and every measured shape has its measured time there.
 */
#include "fuzz.h"

#include "kernel-times/fit/predict.h"

#include <math.h>
#include <stdlib.h>

static void check_set(const st_time_sets *sets, st_time_set *set, st_arena *arena)
{
    st_time_models models;
    st_buffer text = {0};
    st_times times;
    char reason[200];
    st_errors *errors = st_errors_create();
    st_time_merge(set);
    FUZZ_REQUIRE(errors != NULL && set->count > 0 && set->piece_count > 0);
    if (set->count > 50) {
        set->count = 50; /* a fit takes its time */
    }
    FUZZ_REQUIRE(st_times_learn(set, NULL, ST_TIMES_ROOFLINE, arena, &models, errors) == ST_OK);
    st_times_write(&models, sets, &text);
    FUZZ_REQUIRE(!text.failed);
    FUZZ_REQUIRE(st_times_read(&times, text.data, text.length, reason, sizeof reason) == NULL);
    for (size_t i = 0; i < set->count; i++) {
        st_times_answer answer;
        st_times_ask(&times, &set->samples[i].shape, &answer);
        FUZZ_REQUIRE(answer.sum > 0 && isfinite(answer.sum));
        for (size_t k = 0; k < set->piece_count; k++) {
            double wanted = set->samples[i].times[k] * st_times_repeats(set->pieces[k]);
            FUZZ_REQUIRE(fabs(answer.pieces[k] - wanted) <= 1e-6 * wanted);
        }
    }
    st_times_free(&times);
    st_buffer_free(&text);
    st_errors_destroy(errors);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    char *text = fuzz_copy((const char *)data, size);
    st_arena *arena = st_arena_create();
    st_errors *errors = st_errors_create();
    st_paths *paths = NULL;
    const st_csv *csv = NULL;
    FUZZ_REQUIRE(arena != NULL && errors != NULL);
    FUZZ_REQUIRE(st_paths_create(NULL, 0, &paths, NULL) == ST_OK);
    st_time_sets *sets = st_arena_alloc(arena, 1, sizeof *sets);
    FUZZ_REQUIRE(sets != NULL);
    st_status status = st_csv_parse("input", text, size, arena, &csv, errors);
    if (status == ST_OK) {
        status =
            st_time_table_read(csv, paths, size % 2 == 0 ? "h100-sxm" : NULL, arena, sets, errors);
    }
    fuzz_check_errors(status, errors);
    for (size_t i = 0; status == ST_OK && i < sets->count; i++) {
        check_set(sets, &sets->sets[i], arena);
    }
    st_paths_destroy(paths);
    st_errors_destroy(errors);
    st_arena_destroy(arena);
    free(text);
    return 0;
}
