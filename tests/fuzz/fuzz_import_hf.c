/* SPDX-License-Identifier: Apache-2.0 */
/* A config.json of any bytes, and assignments. */
#include "fuzz_import.h"
#include "launch/import/import.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    fuzz_import(st_import_hf, data, size);
    return 0;
}
