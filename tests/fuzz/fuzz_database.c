/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Databases of profiles of any bytes: what opens gives entries that the rest of the program may
 * rely on, reading leaves the file as it was, and nothing in the file runs.
 */
#include "fuzz.h"
#include "calibrate/store/profile.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static void check_entries(st_profiles *profiles, st_arena *arena, st_errors *errors)
{
    const st_profile *entries = NULL;
    size_t count = 0;
    st_status status =
        st_profiles_find(profiles, &(st_profile_filter){0}, arena, &entries, &count, errors);
    fuzz_check_errors(status, errors);
    for (size_t i = 0; status == ST_OK && i < count; i++) {
        const st_profile *entry = &entries[i];
        FUZZ_REQUIRE(entry->name != NULL && entry->kind != NULL && entry->plugin != NULL);
        FUZZ_REQUIRE(entry->cluster != NULL && entry->fabric != NULL && entry->nccl != NULL);
        FUZZ_REQUIRE(entry->collective != NULL && entry->provenance != NULL);
        FUZZ_REQUIRE(entry->payload != NULL);
    }
}

static void check_unchanged(const char *file, const uint8_t *data, size_t size)
{
    char *now = malloc(size + 1);
    FILE *stream = fopen(file, "rb");
    FUZZ_REQUIRE(now != NULL && stream != NULL);
    FUZZ_REQUIRE(fread(now, 1, size + 1, stream) == size);
    FUZZ_REQUIRE(size == 0 || memcmp(now, data, size) == 0);
    (void)fclose(stream);
    free(now);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    char file[] = "/tmp/steptime-fuzz-XXXXXX";
    st_profiles *profiles = NULL;
    if (!st_profiles_available())
        return 0;
    st_arena *arena = st_arena_create();
    st_errors *errors = st_errors_create();
    FUZZ_REQUIRE(arena != NULL && errors != NULL);
    int descriptor = mkstemp(file);
    FUZZ_REQUIRE(descriptor >= 0 && write(descriptor, data, size) == (ssize_t)size);
    FUZZ_REQUIRE(close(descriptor) == 0);
    st_status status = st_profiles_open(file, ST_PROFILES_READ, &profiles, errors);
    fuzz_check_errors(status, errors);
    if (status == ST_OK)
        check_entries(profiles, arena, errors);
    st_profiles_close(profiles);
    check_unchanged(file, data, size);
    (void)unlink(file);
    st_errors_destroy(errors);
    st_arena_destroy(arena);
    return 0;
}
