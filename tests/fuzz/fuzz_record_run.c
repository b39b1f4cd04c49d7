/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Runs of any bytes as logs, each from where it says that it is one: what is accepted is walked to
 * its end, and its trace reads back.
 */
#include "fuzz.h"

#include "record/price/imported.h"

#include <string.h>
#include <unistd.h>

enum { LOGS = 8 };

static void check_trace(const st_imported *imported)
{
    st_buffer text = {0};
    st_trace *trace = NULL;
    st_trace_options options = {.partial = true};
    const st_worker *worker = &imported->run->workers[0];
    const st_walk_worker *walked = &imported->walk->workers[0];
    st_errors *errors = st_errors_create();
    FUZZ_REQUIRE(errors != NULL);
    for (size_t i = 0; i < walked->task_count; i++)
        FUZZ_REQUIRE(walked->tasks[i].end_ns >= walked->tasks[i].start_ns);
    st_imported_write(imported, (uint64_t)worker->rank, &text);
    st_status status =
        st_trace_read_memory("input", text.data, text.length, &options, &trace, errors);
    FUZZ_REQUIRE((status == ST_OK) == (trace != NULL));
    st_trace_destroy(trace);
    st_errors_destroy(errors);
    st_buffer_free(&text);
}

static const uint8_t *find_log(const uint8_t *data, const uint8_t *end)
{
    const size_t length = strlen(ST_LOG_MAGIC);
    for (; (size_t)(end - data) >= length; data++)
        if (memcmp(data, ST_LOG_MAGIC, length) == 0)
            return data;
    return end;
}

static void name_log(const char *folder, size_t number, char *name, size_t size)
{
    (void)snprintf(name, size, "%s/1-%zu%s", folder, number, ST_LOG_SUFFIX);
}

/* How many logs it makes of the bytes. */
static size_t write_logs(const char *folder, const uint8_t *data, size_t size)
{
    const uint8_t *end = data + size;
    size_t count = 0;
    while (count < LOGS && (count == 0 || data < end)) {
        char name[64];
        const uint8_t *next = data < end && count + 1 < LOGS ? find_log(data + 1, end) : end;
        name_log(folder, count++, name, sizeof name);
        FILE *stream = fopen(name, "wb");
        FUZZ_REQUIRE(stream != NULL);
        FUZZ_REQUIRE(fwrite(data, 1, (size_t)(next - data), stream) == (size_t)(next - data));
        FUZZ_REQUIRE(fclose(stream) == 0);
        data = next;
    }
    return count;
}

static void remove_logs(const char *folder, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        char name[64];
        name_log(folder, i, name, sizeof name);
        FUZZ_REQUIRE(unlink(name) == 0);
    }
    FUZZ_REQUIRE(rmdir(folder) == 0);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    char folder[] = "/tmp/steptime-fuzz-XXXXXX";
    FUZZ_REQUIRE(mkdtemp(folder) != NULL);
    size_t logs = write_logs(folder, data, size);
    st_arena *arena = st_arena_create();
    st_errors *errors = st_errors_create();
    st_paths *paths = NULL;
    FUZZ_REQUIRE(arena != NULL && errors != NULL);
    FUZZ_REQUIRE(st_paths_create(NULL, 0, &paths, errors) == ST_OK);
    st_imported *imported = NULL;
    st_import_request request = {
        .folder = folder, .prices = {.gpu = "a100-sxm-80gb"}, .gap_ns = -1};
    st_status status = st_imported_make(paths, &request, arena, &imported, errors);
    FUZZ_REQUIRE((status == ST_OK) == (imported != NULL));
    if (status == ST_OK)
        check_trace(imported);
    fuzz_check_errors(status, errors);
    st_arena_destroy(arena);
    st_errors_destroy(errors);
    st_paths_destroy(paths);
    remove_logs(folder, logs);
    return 0;
}
