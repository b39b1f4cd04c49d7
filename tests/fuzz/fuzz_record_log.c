/* SPDX-License-Identifier: Apache-2.0 */
/* Logs of recorded programs from any bytes: what is accepted has known kinds and texts that end. */
#include "fuzz.h"

#include "record/log.h"

#include <string.h>

static FILE *stream_of(const uint8_t *data, size_t size)
{
    FILE *stream = tmpfile();
    FUZZ_REQUIRE(stream != NULL);
    FUZZ_REQUIRE(fwrite(data, 1, size, stream) == size);
    rewind(stream);
    return stream;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    st_errors *errors = st_errors_create();
    st_log *log = NULL;
    FUZZ_REQUIRE(errors != NULL);
    st_status status = st_log_open_stream(stream_of(data, size), "input", &log, errors);
    FUZZ_REQUIRE((status == ST_OK) == (log != NULL));
    uint64_t records = 0;
    for (bool more = true; status == ST_OK && more; records += more) {
        st_log_record record;
        status = st_log_read(log, &record, &more, errors);
        FUZZ_REQUIRE(status != ST_OK || !more || record.kind < ST_LOG_KINDS);
        if (status == ST_OK && more)
            FUZZ_REQUIRE(strlen(st_log_text(log, record.call)) <= UINT16_MAX);
    }
    FUZZ_REQUIRE(records * sizeof(st_log_record) <= size);
    fuzz_check_errors(status, errors);
    st_log_destroy(log);
    st_errors_destroy(errors);
    return 0;
}
