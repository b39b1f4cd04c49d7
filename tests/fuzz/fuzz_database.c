/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Databases of profiles of any bytes: what opens gives entries that the rest of the program may
 * rely on, reading leaves the file as it was, and nothing in the file runs. What lets an entry be
 * written has it then, until it is removed.
 */
#include "fuzz.h"
#include "steptime/tool/profiles.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static st_status find_all(st_profiles *profiles, const char *name, st_arena *arena,
                          const st_profile **entries, size_t *count)
{
    st_errors *errors = st_errors_create();
    const st_profile_filter filter = {.name = name};
    FUZZ_REQUIRE(errors != NULL);
    st_status status = st_profiles_find(profiles, &filter, arena, entries, count, errors);
    fuzz_check_errors(status, errors);
    st_errors_destroy(errors);
    return status;
}

static void check_entries(st_profiles *profiles, st_arena *arena)
{
    const st_profile *entries = NULL;
    size_t count = 0;
    st_status status = find_all(profiles, NULL, arena, &entries, &count);
    for (size_t i = 0; status == ST_OK && i < count; i++) {
        const st_profile *entry = &entries[i];
        FUZZ_REQUIRE(entry->name != NULL && entry->kind != NULL && entry->plugin != NULL);
        FUZZ_REQUIRE(entry->cluster != NULL && entry->fabric != NULL && entry->nccl != NULL);
        FUZZ_REQUIRE(entry->collective != NULL && entry->provenance != NULL);
        FUZZ_REQUIRE(entry->payload != NULL);
    }
}

static void check_written(st_profiles *profiles, st_arena *arena, st_errors *errors)
{
    static const st_profile own = {.name = "fuzz.own",
                                   .kind = ST_PROFILE_OPTIONS,
                                   .plugin = "alpha-beta",
                                   .cluster = "",
                                   .fabric = "",
                                   .nccl = "",
                                   .collective = "all_reduce",
                                   .ranks = 8,
                                   .nodes = 1,
                                   .payload = "{}",
                                   .payload_bytes = 2,
                                   .provenance = "{}"};
    const st_profile *entries = NULL;
    size_t count = 0;
    size_t removed = 0;
    st_status status = st_profiles_put(profiles, &own, 1, false, errors);
    fuzz_check_errors(status, errors);
    st_errors_clear(errors);
    if (status != ST_OK)
        return;
    status = st_profiles_put(profiles, &own, 1, false, errors); /* the table may have no key */
    fuzz_check_errors(status, errors);
    st_errors_clear(errors);
    if (find_all(profiles, own.name, arena, &entries, &count) == ST_OK)
        FUZZ_REQUIRE(count > 0 && strcmp(entries[0].plugin, own.plugin) == 0);
    if (st_profiles_remove(profiles, own.name, &removed, errors) == ST_OK)
        FUZZ_REQUIRE(removed > 0 &&
                     st_profiles_remove(profiles, own.name, &removed, errors) != ST_OK);
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

static void open_for(const char *file, st_profiles_access access)
{
    st_profiles *profiles = NULL;
    st_arena *arena = st_arena_create();
    st_errors *errors = st_errors_create();
    FUZZ_REQUIRE(arena != NULL && errors != NULL);
    st_status status = st_profiles_open(file, access, &profiles, errors);
    fuzz_check_errors(status, errors);
    if (status == ST_OK && access == ST_PROFILES_READ)
        check_entries(profiles, arena);
    else if (status == ST_OK)
        check_written(profiles, arena, errors);
    st_profiles_close(profiles);
    st_errors_destroy(errors);
    st_arena_destroy(arena);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    char file[] = "/tmp/steptime-fuzz-XXXXXX";
    if (!st_profiles_available())
        return 0;
    int descriptor = mkstemp(file);
    FUZZ_REQUIRE(descriptor >= 0 && write(descriptor, data, size) == (ssize_t)size);
    FUZZ_REQUIRE(close(descriptor) == 0);
    open_for(file, ST_PROFILES_READ);
    check_unchanged(file, data, size);
    open_for(file, ST_PROFILES_WRITE);
    (void)unlink(file);
    return 0;
}
