/* SPDX-License-Identifier: Apache-2.0 */
/* Output of Nsight Compute from any bytes: what is accepted has kernels with names and percents. */
#include "fuzz.h"

#include "overlap-xgboost/fit/counters.h"

#include <math.h>
#include <stdlib.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    char *text = fuzz_copy((const char *)data, size);
    st_arena *arena = st_arena_create();
    st_errors *errors = st_errors_create();
    st_counters counters = {0};
    FUZZ_REQUIRE(arena != NULL && errors != NULL);
    st_status status = st_counters_read("input", text, size, arena, &counters, errors);
    fuzz_check_errors(status, errors);
    for (size_t i = 0; i < counters.count && status == ST_OK; i++) {
        const st_counted_kernel *kernel = &counters.kernels[i];
        FUZZ_REQUIRE(kernel->name != NULL);
        for (size_t k = 0; k < ST_COUNTERS; k++)
            FUZZ_REQUIRE(isnan(kernel->values[k]) ||
                         (kernel->values[k] >= 0 && kernel->values[k] <= 200));
        for (size_t k = 0; k < 3; k++)
            FUZZ_REQUIRE(kernel->grid[k] >= 0 && kernel->block[k] >= 0);
    }
    st_errors_destroy(errors);
    st_arena_destroy(arena);
    free(text);
    return 0;
}
