/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Exports of profiles from any bytes: all entries are stored or none, and what was stored exports
 * to a text that stores the same.
 */
#include "fuzz.h"
#include "steptime/tool/profiles.h"

#include <stdlib.h>
#include <unistd.h>

static const st_profile *find_all(st_profiles *profiles, st_arena *arena, size_t *count)
{
    const st_profile *entries = NULL;
    FUZZ_REQUIRE(
        st_profiles_find(profiles, &(st_profile_filter){0}, arena, &entries, count, NULL) == ST_OK);
    return entries;
}

static st_status import_text(st_profiles *profiles, st_profile_text text, st_arena *arena,
                             size_t *stored, st_errors *errors)
{
    const st_profile *entries = NULL;
    st_status status = st_profiles_read(&text, arena, &entries, stored, errors);
    return status == ST_OK ? st_profiles_put(profiles, entries, *stored, true, errors) : status;
}

static void check_again(st_profiles *profiles, st_arena *arena)
{
    size_t count = 0;
    size_t again = 0;
    size_t stored = 0;
    st_buffer text = {0};
    const st_profile *entries = find_all(profiles, arena, &count);
    st_profiles_export(entries, count, &text);
    FUZZ_REQUIRE(!text.failed);
    FUZZ_REQUIRE(import_text(profiles, (st_profile_text){"again", text.data, text.length}, arena,
                             &stored, NULL) == ST_OK);
    FUZZ_REQUIRE(stored == count);
    (void)find_all(profiles, arena, &again);
    FUZZ_REQUIRE(again == count);
    st_buffer_free(&text);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    char file[] = "/tmp/steptime-fuzz-XXXXXX";
    size_t stored = 0;
    size_t count = 0;
    st_profiles *profiles = NULL;
    if (!st_profiles_available())
        return 0;
    char *text = fuzz_copy((const char *)data, size);
    st_arena *arena = st_arena_create();
    st_errors *errors = st_errors_create();
    FUZZ_REQUIRE(arena != NULL && errors != NULL);
    int descriptor = mkstemp(file); /* an empty file becomes a database */
    FUZZ_REQUIRE(descriptor >= 0 && close(descriptor) == 0);
    FUZZ_REQUIRE(st_profiles_open(file, ST_PROFILES_WRITE, &profiles, errors) == ST_OK);
    st_status status =
        import_text(profiles, (st_profile_text){"input", text, size}, arena, &stored, errors);
    fuzz_check_errors(status, errors);
    (void)find_all(profiles, arena, &count);
    FUZZ_REQUIRE(count == (status == ST_OK ? stored : 0));
    if (count > 0)
        check_again(profiles, arena);
    st_profiles_close(profiles);
    FUZZ_REQUIRE(unlink(file) == 0);
    st_errors_destroy(errors);
    st_arena_destroy(arena);
    free(text);
    return 0;
}
