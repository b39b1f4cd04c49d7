/* SPDX-License-Identifier: Apache-2.0 */
/* Tables of kernels from any bytes: what is accepted has times, shares and features in their
 * ranges. */
#include "fuzz.h"

#include "overlap-xgboost/fit/kernel_table.h"

#include <math.h>
#include <stdlib.h>

static void check_kernel(const st_kernel *kernel)
{
    FUZZ_REQUIRE(kernel->name != NULL && kernel->name[0] != '\0');
    FUZZ_REQUIRE((int)kernel->class >= 0 && kernel->class < ST_KERNEL_CLASSES);
    FUZZ_REQUIRE(kernel->isolated_ns > 0 && kernel->overlapped_ns > 0);
    FUZZ_REQUIRE(kernel->share >= 0 && kernel->share <= 1);
    for (size_t i = 0; i < ST_FEATURES; i++)
        FUZZ_REQUIRE(!isinf(kernel->features[i]));
    float gpu = kernel->features[ST_FEATURE_GPU];
    FUZZ_REQUIRE(isnan(gpu) || (gpu >= 0 && gpu < ST_MOST_GPUS));
}

/* What is enough to learn from is told, and each kernel gets a GPU. */
static void check_use(st_kernels *kernels, st_errors *errors)
{
    FUZZ_REQUIRE(st_kernels_check_like(kernels, kernels, errors) == ST_OK);
    st_status status = st_kernels_check(kernels, errors);
    fuzz_check_errors(status, errors);
    st_errors_clear(errors);
    status = st_kernels_name_gpu(kernels, "a100", errors);
    fuzz_check_errors(status, errors);
    for (size_t i = 0; i < kernels->count && status == ST_OK; i++)
        FUZZ_REQUIRE(!isnan(kernels->rows[i].features[ST_FEATURE_GPU]));
    for (st_feature i = 0; i < ST_FEATURES; i++)
        FUZZ_REQUIRE(st_feature_name(i)[0] != '\0');
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    char *text = fuzz_copy((const char *)data, size);
    st_arena *arena = st_arena_create();
    st_errors *errors = st_errors_create();
    const st_csv *csv = NULL;
    st_kernels kernels = {0};
    FUZZ_REQUIRE(arena != NULL && errors != NULL);
    st_status status = st_csv_parse("input", text, size, arena, &csv, errors);
    if (status == ST_OK)
        status = st_kernels_read(csv, arena, &kernels, errors);
    fuzz_check_errors(status, errors);
    for (size_t i = 0; i < kernels.count && status == ST_OK; i++)
        check_kernel(&kernels.rows[i]);
    for (size_t i = 0; i < kernels.unused_count && status == ST_OK; i++)
        FUZZ_REQUIRE(kernels.unused[i] != NULL);
    if (status == ST_OK)
        check_use(&kernels, errors);
    st_errors_destroy(errors);
    st_arena_destroy(arena);
    free(text);
    return 0;
}
