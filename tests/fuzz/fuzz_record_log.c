/* SPDX-License-Identifier: Apache-2.0 */
/* Logs of recorded programs from any bytes: what is accepted has known kinds and texts that end. */
#include "fuzz.h"

#include "record/log.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static st_status read_log(const char *path, size_t size, st_errors *errors)
{
    st_log *log = NULL;
    uint64_t records = 0;
    st_status status = st_log_open(path, &log, errors);
    FUZZ_REQUIRE((status == ST_OK) == (log != NULL));
    for (bool more = true; status == ST_OK && more; records += more) {
        st_log_record record;
        status = st_log_read(log, &record, &more, errors);
        FUZZ_REQUIRE(status != ST_OK || !more || record.kind < ST_LOG_KINDS);
        if (status != ST_OK || !more)
            continue;
        FUZZ_REQUIRE(strlen(st_log_text(log, record.call)) <= UINT16_MAX);
        if (record.kind == ST_LOG_COLLECTIVE && st_log_type_bytes(record.collective.type) == 0)
            FUZZ_REQUIRE(st_log_collective_bytes(&record.collective) == 0);
    }
    FUZZ_REQUIRE(records * sizeof(st_log_record) <= size);
    st_log_destroy(log);
    return status;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    char folder[] = "/tmp/steptime-fuzz-XXXXXX";
    char file[64];
    const char *const *paths = NULL;
    size_t count = 0;
    FUZZ_REQUIRE(mkdtemp(folder) != NULL);
    (void)snprintf(file, sizeof file, "%s/1-1%s", folder, ST_LOG_SUFFIX);
    FILE *stream = fopen(file, "wb");
    FUZZ_REQUIRE(stream != NULL);
    FUZZ_REQUIRE(fwrite(data, 1, size, stream) == size && fclose(stream) == 0);
    st_arena *arena = st_arena_create();
    st_errors *errors = st_errors_create();
    FUZZ_REQUIRE(arena != NULL && errors != NULL);
    FUZZ_REQUIRE(st_log_list(folder, arena, &paths, &count, errors) == ST_OK && count == 1);
    fuzz_check_errors(read_log(paths[0], size, errors), errors);
    st_arena_destroy(arena);
    st_errors_destroy(errors);
    FUZZ_REQUIRE(unlink(file) == 0 && rmdir(folder) == 0);
    return 0;
}
