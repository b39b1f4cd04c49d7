/* SPDX-License-Identifier: Apache-2.0 */
/* Any bytes as the table of ranks that do as others: no rank beyond the world comes of it. */
#include "fuzz.h"

#include "record/twins.h"

#include <stdlib.h>
#include <unistd.h>

enum { WORLD = 64 };

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    char folder[] = "/tmp/steptime-fuzz-XXXXXX";
    char file[64];
    FUZZ_REQUIRE(mkdtemp(folder) != NULL);
    (void)snprintf(file, sizeof file, "%s/" ST_TWINS_FILE, folder);
    FILE *stream = fopen(file, "wb");
    FUZZ_REQUIRE(stream != NULL);
    FUZZ_REQUIRE(fwrite(data, 1, size, stream) == size);
    FUZZ_REQUIRE(fclose(stream) == 0);
    st_arena *arena = st_arena_create();
    st_errors *errors = st_errors_create();
    int32_t *as = NULL;
    bool found = false;
    FUZZ_REQUIRE(arena != NULL && errors != NULL);
    st_status status = st_twins_read(folder, WORLD, arena, &as, &found, errors);
    FUZZ_REQUIRE(found);
    for (size_t i = 0; status == ST_OK && i < WORLD; i++)
        FUZZ_REQUIRE(as[i] >= -1 && as[i] < WORLD);
    fuzz_check_errors(status, errors);
    st_arena_destroy(arena);
    st_errors_destroy(errors);
    FUZZ_REQUIRE(unlink(file) == 0 && rmdir(folder) == 0);
    return 0;
}
