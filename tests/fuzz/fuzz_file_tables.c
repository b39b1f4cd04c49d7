/* SPDX-License-Identifier: Apache-2.0 */
/* Readers of measured tables, of what is fitted to them and of manifests; see fuzz_file.h. */
#include "fuzz_file.h"

#include "operator-times/fit/operators.h"
#include "fit/steps/fit_spec.h"
#include "plugin/kit/manifest.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>

static st_status read_made(void *context, const char *name, st_place place, st_arena *arena,
                           st_source *source, st_errors *errors)
{
    static const char made[] =
        "sheet: made\n"
        "enums: {kinds: [fast, slow]}\n"
        "inputs:\n"
        "  a: {from: constants.factor, doc: a share}\n"
        "  b: {from: constants.latency, unit: s, doc: a time}\n"
        "  c: {from: constants.kind, unit: kinds, doc: a word}\n"
        "cells:\n"
        "  t: {unit: s, doc: all of them, is: 'if(c == slow, 2, 1) * a * b'}\n";
    (void)context;
    (void)place;
    (void)errors;
    *source = (st_source){.file = name,
                          .text = st_arena_copy(arena, made, sizeof made - 1),
                          .length = sizeof made - 1};
    return source->text != NULL ? ST_OK : ST_ERR_MEMORY;
}

/* What is accepted moves constants of the sheet within bounds above 0. */
st_status fuzz_read_fit_spec(const fuzz_given *own)
{
    st_fit_spec spec = {0};
    st_measured set = {.sheet = NULL};
    const st_sheet_reader reader = {read_made, NULL};
    FUZZ_REQUIRE(st_sheet_load(&reader, "made", own->arena, &set.sheet, own->errors) == ST_OK);
    st_calibration calibration = {.sets = &set, .set_count = 1, .scale = 0.1};
    st_status status = st_fit_spec_load(own->path, own->arena, &spec, own->errors);
    if (status == ST_OK)
        status = st_fit_spec_apply(&spec, &calibration, own->arena, own->errors);
    for (size_t i = 0; status == ST_OK && i < calibration.varied_count; i++) {
        const st_varied *varied = &calibration.varied[i];
        FUZZ_REQUIRE(varied->low > 0 && varied->low < varied->high && varied->type != NULL);
        FUZZ_REQUIRE(!(varied->prior > 0) || varied->sd > 0);
    }
    FUZZ_REQUIRE(status != ST_OK || (calibration.scale > 0 && calibration.noise > 0));
    return status;
}

/* The sources of all tables, which take far longer to read than a table does. */
static void load_sources(const fuzz_given *own, st_measured_request *request)
{
    static st_arena *arena;
    static const st_table_source *sources;
    static size_t count;
    if (arena == NULL) {
        arena = st_arena_create();
        FUZZ_REQUIRE(arena != NULL);
        FUZZ_REQUIRE(st_table_sources_load(own->paths, arena, &sources, &count, own->errors) ==
                     ST_OK);
    }
    request->sources = sources;
    request->source_count = count;
}

st_status fuzz_read_operators(const fuzz_given *own)
{
    st_operator_fit fit = {.request = {.paths = own->paths},
                           .files = (const char *const[]){own->path},
                           .file_count = 1,
                           .arena = own->arena,
                           .errors = own->errors};
    load_sources(own, &fit.request);
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
