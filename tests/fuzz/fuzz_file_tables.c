/* SPDX-License-Identifier: Apache-2.0 */
/* Readers of measured tables, of what is fitted to them and of manifests; see fuzz_file.h. */
#include "fuzz_file.h"

#include "calibrate/operators/operators.h"
#include "calibrate/steps/fit_spec.h"
#include "plugin/kit/manifest.h"

#include <stdio.h>
#include <unistd.h>

st_status fuzz_read_fit_spec(const fuzz_given *own)
{
    st_fit_spec spec = {0};
    return st_fit_spec_load(own->path, own->arena, &spec, own->errors);
}

st_status fuzz_read_operators(const fuzz_given *own)
{
    st_operator_fit fit = {.request = {.paths = own->paths},
                           .files = (const char *const[]){own->path},
                           .file_count = 1,
                           .arena = own->arena,
                           .errors = own->errors};
    return st_operators_read(&fit);
}

st_status fuzz_read_manifest(const fuzz_given *own)
{
    st_plugin_state state = {0};
    const char *module = st_arena_printf(own->arena, "%s.so", own->path);
    const char *manifest = st_arena_printf(own->arena, "%s.manifest", own->path);
    FUZZ_REQUIRE(module != NULL && manifest != NULL);
    FILE *empty = fopen(module, "wb");
    FUZZ_REQUIRE(empty != NULL && fclose(empty) == 0 && rename(own->path, manifest) == 0);
    const st_plugin_entry entry = {.id = "made", .file = module, .root = "/"};
    FUZZ_REQUIRE(st_plugin_read_manifest(&entry, own->arena, &state) == ST_OK);
    FUZZ_REQUIRE(state.reason != NULL && state.version != NULL && state.summary != NULL);
    FUZZ_REQUIRE(unlink(module) == 0 && rename(manifest, own->path) == 0);
    return ST_OK;
}
