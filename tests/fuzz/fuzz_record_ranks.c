/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Any bytes as the table of ranks that do as others: no rank beyond the world comes of it, and what
 * was read is written and read again as it was.
 */
#include "fuzz.h"

#include "record/rank_dedup.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { WORLD = 64 };

static void write_file(const char *file, const void *data, size_t size)
{
    FILE *stream = fopen(file, "wb");
    FUZZ_REQUIRE(stream != NULL);
    FUZZ_REQUIRE(fwrite(data, 1, size, stream) == size && fclose(stream) == 0);
}

static void check_again(const char *folder, const char *file, int32_t *as, st_arena *arena)
{
    st_buffer text = {0};
    int32_t *again = NULL;
    bool found = false;
    st_errors *errors = st_errors_create();
    FUZZ_REQUIRE(errors != NULL);
    st_rank_dedup_write(&(st_rank_dedup){.world = WORLD, .as = as}, &text);
    FUZZ_REQUIRE(!text.failed);
    write_file(file, text.data, text.length);
    FUZZ_REQUIRE(st_rank_dedup_read(folder, WORLD, arena, &again, &found, errors) == ST_OK &&
                 found);
    FUZZ_REQUIRE(memcmp(as, again, WORLD * sizeof *as) == 0);
    st_errors_destroy(errors);
    st_buffer_free(&text);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    char folder[] = "/tmp/steptime-fuzz-XXXXXX";
    char file[64];
    FUZZ_REQUIRE(mkdtemp(folder) != NULL);
    (void)snprintf(file, sizeof file, "%s/" ST_RANK_DEDUP_FILE, folder);
    write_file(file, data, size);
    st_arena *arena = st_arena_create();
    st_errors *errors = st_errors_create();
    int32_t *as = NULL;
    bool found = false;
    FUZZ_REQUIRE(arena != NULL && errors != NULL);
    st_status status = st_rank_dedup_read(folder, WORLD, arena, &as, &found, errors);
    FUZZ_REQUIRE(found);
    for (size_t i = 0; status == ST_OK && i < WORLD; i++)
        FUZZ_REQUIRE(as[i] >= -1 && as[i] < WORLD);
    if (status == ST_OK)
        check_again(folder, file, as, arena);
    fuzz_check_errors(status, errors);
    st_arena_destroy(arena);
    st_errors_destroy(errors);
    FUZZ_REQUIRE(unlink(file) == 0 && rmdir(folder) == 0);
    return 0;
}
