/* SPDX-License-Identifier: Apache-2.0 */
/* A file of Megatron-Bridge, torchtitan and DeepSpeed of any bytes, and assignments. */
#include "launch/frameworks/frameworks.h"
#include "fuzz_import.h"

static st_status import_bridge(const st_import_request *request, st_buffer *job, st_errors *errors)
{
    return st_framework_import(ST_MEGATRON_BRIDGE, request, job, errors);
}

static st_status import_torchtitan(const st_import_request *request, st_buffer *job,
                                   st_errors *errors)
{
    return st_framework_import(ST_TORCHTITAN, request, job, errors);
}

static st_status import_deepspeed(const st_import_request *request, st_buffer *job,
                                  st_errors *errors)
{
    return st_framework_import(ST_DEEPSPEED, request, job, errors);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    fuzz_import(import_bridge, data, size);
    fuzz_import(import_torchtitan, data, size);
    fuzz_import(import_deepspeed, data, size);
    return 0;
}
