/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A layer list of any bytes. What is accepted adds up, and its gradients fill buckets without a
 * byte lost, in the order of the backward pass.
 */
#include "fuzz.h"

#include "schedule/buckets.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

typedef struct bucket_sum {
    double bytes;
    double ready_frac;
} bucket_sum;

static bool add_bucket(void *context, const st_bucket *bucket)
{
    bucket_sum *sum = context;
    FUZZ_REQUIRE(bucket->bytes > 0);
    FUZZ_REQUIRE(bucket->ready_frac >= sum->ready_frac && bucket->ready_frac <= 1 + 1e-9);
    sum->bytes += bucket->bytes;
    sum->ready_frac = bucket->ready_frac;
    return true;
}

static void check_layers(const st_layers *layers)
{
    static const st_bucket_caps caps = {1048576, 26214400, 2};
    double parameters = 0;
    double flop = 0;
    bucket_sum sum = {0};
    for (size_t i = 0; i < layers->count; i++) {
        FUZZ_REQUIRE(layers->tensors[i].parameters > 0 && layers->tensors[i].forward_flop >= 0);
        parameters += layers->tensors[i].parameters;
        flop += layers->tensors[i].forward_flop;
    }
    FUZZ_REQUIRE(layers->count > 0 && isfinite(parameters) && isfinite(flop));
    FUZZ_REQUIRE(fabs(parameters - layers->parameters) <= 1e-9 * parameters);
    FUZZ_REQUIRE(fabs(flop - layers->forward_flop) <= 1e-9 * flop);
    FUZZ_REQUIRE(st_buckets_visit(layers, &caps, add_bucket, &sum) >= 1);
    FUZZ_REQUIRE(fabs(sum.bytes - caps.width_bytes * parameters) <= 1e-9 * sum.bytes);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static st_paths *paths;
    char path[] = "/tmp/steptime-fuzz-XXXXXX";
    const st_layers *layers = NULL;
    st_arena *arena = st_arena_create();
    st_errors *errors = st_errors_create();
    int descriptor = mkstemp(path);
    FUZZ_REQUIRE(arena != NULL && errors != NULL && descriptor >= 0);
    if (paths == NULL)
        FUZZ_REQUIRE(st_paths_create(NULL, 0, &paths, NULL) == ST_OK);
    FUZZ_REQUIRE(write(descriptor, data, size) == (ssize_t)size);
    FUZZ_REQUIRE(close(descriptor) == 0);
    st_status status = st_layers_load(paths, path, (st_place){0}, arena, &layers, errors);
    FUZZ_REQUIRE(unlink(path) == 0);
    fuzz_check_errors(status, errors);
    FUZZ_REQUIRE((status == ST_OK) == (layers != NULL));
    if (layers != NULL)
        check_layers(layers);
    st_errors_destroy(errors);
    st_arena_destroy(arena);
    return 0;
}
