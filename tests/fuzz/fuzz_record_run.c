/* SPDX-License-Identifier: Apache-2.0 */
/* Runs of any bytes as a log: what is accepted is walked to its end, and its trace reads back. */
#include "fuzz.h"

#include "record/price/imported.h"

#include <string.h>
#include <unistd.h>

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

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    char folder[] = "/tmp/steptime-fuzz-XXXXXX";
    char file[64];
    FUZZ_REQUIRE(mkdtemp(folder) != NULL);
    (void)snprintf(file, sizeof file, "%s/1-1%s", folder, ST_LOG_SUFFIX);
    FILE *stream = fopen(file, "wb");
    FUZZ_REQUIRE(stream != NULL);
    FUZZ_REQUIRE(fwrite(data, 1, size, stream) == size);
    FUZZ_REQUIRE(fclose(stream) == 0);
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
    FUZZ_REQUIRE(unlink(file) == 0 && rmdir(folder) == 0);
    return 0;
}
