/* SPDX-License-Identifier: Apache-2.0 */
/* Validation cases and tables of sources from any bytes: read, or refused with a place. */
#include "fuzz.h"

#include "fit/steps/cases.h"
#include "fit/steps/source.h"

#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

static const char *const files[] = {"cases.yaml", "table.yaml"};

static char root[] = "/tmp/steptime-fuzz-XXXXXX";
static char folder[sizeof root + 32];

static void remove_folders(void)
{
    char parent[sizeof root + 16];
    (void)snprintf(parent, sizeof parent, "%s/validation", root);
    (void)rmdir(folder);
    (void)rmdir(parent);
    (void)rmdir(root);
}

/* validation/input below a folder of its own, once. */
static void make_folders(void)
{
    if (folder[0] != '\0')
        return;
    FUZZ_REQUIRE(mkdtemp(root) != NULL);
    (void)snprintf(folder, sizeof folder, "%s/validation", root);
    FUZZ_REQUIRE(mkdir(folder, 0700) == 0);
    (void)snprintf(folder, sizeof folder, "%s/validation/input", root);
    FUZZ_REQUIRE(mkdir(folder, 0700) == 0);
    FUZZ_REQUIRE(atexit(remove_folders) == 0);
}

/* True for a file that the reader of the kind accepts. */
static st_status load(size_t kind, const st_paths *paths, st_arena *arena, st_errors *errors)
{
    st_case_source cases = {0};
    st_table_source table = {0};
    if (kind > 0)
        return st_table_source_load(paths, "input", arena, &table, errors);
    st_status status = st_cases_load(paths, "input", arena, &cases, errors);
    for (size_t i = 0; status == ST_OK && i < cases.case_count; i++)
        FUZZ_REQUIRE(cases.cases[i].name != NULL && cases.cases[i].value_count > 0);
    return status;
}

static void try_kind(size_t kind, const uint8_t *data, size_t size)
{
    char path[sizeof folder + 16];
    const char *const roots[] = {root};
    st_paths *paths = NULL;
    st_arena *arena = st_arena_create();
    st_errors *errors = st_errors_create();
    FUZZ_REQUIRE(arena != NULL && errors != NULL);
    (void)snprintf(path, sizeof path, "%s/%s", folder, files[kind]);
    FILE *stream = fopen(path, "wb");
    FUZZ_REQUIRE(stream != NULL && fwrite(data, 1, size, stream) == size && fclose(stream) == 0);
    FUZZ_REQUIRE(st_paths_create(roots, 1, &paths, errors) == ST_OK);
    fuzz_check_errors(load(kind, paths, arena, errors), errors);
    (void)unlink(path);
    st_paths_destroy(paths);
    st_errors_destroy(errors);
    st_arena_destroy(arena);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    make_folders();
    for (size_t kind = 0; kind < 2; kind++)
        try_kind(kind, data, size);
    return 0;
}
