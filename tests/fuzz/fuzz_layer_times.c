/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The text of a profile of layer times from any bytes: it is refused with a line and a reason, or
 * whatever shape it is asked about, every walk ends and no time is negative or infinite.
 */
#include "fuzz.h"

#include "kernel-times/model/times.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static void ask(const st_times *times, double scale)
{
    for (size_t i = 0; i < times->row_count && i < 20; i++) {
        const double *row = times->rows + i * (times->shape_count + times->piece_count);
        st_times_shape shape;
        st_times_answer answer;
        st_times_shape_of(times, row, &shape);
        for (size_t k = 0; k < ST_TIMES_FEATURES; k++) {
            shape.features[k] *= scale;
        }
        st_times_ask(times, &shape, &answer);
        FUZZ_REQUIRE(isnan(answer.sum) || (answer.sum > 0 && isfinite(answer.sum)));
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    char *text = fuzz_copy((const char *)data, size);
    char reason[200] = "";
    st_times times;
    const char *fault = st_times_read(&times, text, size, reason, sizeof reason);
    if (fault != NULL) {
        FUZZ_REQUIRE(strncmp(fault, "line ", 5) == 0 && strlen(fault) < sizeof reason);
    } else {
        ask(&times, 1);
        ask(&times, 1.0625);
        ask(&times, 2.385e9);
        st_times_free(&times);
    }
    free(text);
    return 0;
}
