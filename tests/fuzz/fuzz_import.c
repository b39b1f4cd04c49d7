/* SPDX-License-Identifier: Apache-2.0 */
/* See fuzz_import.h. */
#include "fuzz_import.h"
#include "launch/import/import.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static const st_paths *get_paths(void)
{
    static st_paths *paths;
    if (paths == NULL)
        FUZZ_REQUIRE(st_paths_create(NULL, 0, &paths, NULL) == ST_OK);
    return paths;
}

static void check_text(const st_buffer *job)
{
    FUZZ_REQUIRE(job->length > 0 && job->data[job->length - 1] == '\n');
    for (size_t i = 0; i < job->length; i++) {
        unsigned char c = (unsigned char)job->data[i];
        FUZZ_REQUIRE(c == '\n' || (c >= ' ' && c != 0x7F));
    }
}

/* A job that was written is one that can be read. */
static void check_job(const st_buffer *job, st_arena *arena)
{
    char path[] = "/tmp/steptime-fuzz-XXXXXX";
    const st_job *loaded = NULL;
    st_errors *errors = st_errors_create();
    int descriptor = mkstemp(path);
    FUZZ_REQUIRE(errors != NULL && descriptor >= 0);
    FUZZ_REQUIRE(write(descriptor, job->data, job->length) == (ssize_t)job->length);
    FUZZ_REQUIRE(close(descriptor) == 0);
    st_status status = st_job_load(get_paths(), path, NULL, 0, arena, &loaded, errors);
    FUZZ_REQUIRE(unlink(path) == 0);
    if (status != ST_OK)
        st_errors_write(errors, stderr);
    FUZZ_REQUIRE(status == ST_OK);
    st_errors_destroy(errors);
}

void fuzz_import(fuzz_importer *importer, const uint8_t *data, size_t size)
{
    fuzz_part parts[FUZZ_PARTS];
    const char *sets[FUZZ_PARTS];
    st_buffer job = {0};
    st_arena *arena = st_arena_create();
    st_errors *errors = st_errors_create();
    FUZZ_REQUIRE(arena != NULL && errors != NULL);
    size_t count = fuzz_split(data, size, parts);
    char *source = fuzz_copy(parts[0].text, parts[0].length);
    for (size_t i = 1; i < count; i++) {
        sets[i - 1] = st_arena_copy(arena, parts[i].text, strnlen(parts[i].text, parts[i].length));
        FUZZ_REQUIRE(sets[i - 1] != NULL);
    }
    st_import_request request = {.paths = get_paths(),
                                 .file = "input.json",
                                 .text = source,
                                 .length = parts[0].length,
                                 .cluster = "dgx-h100",
                                 .sets = sets,
                                 .set_count = count - 1};
    if (count > 1 && strcmp(sets[count - 2], "--strict") == 0) {
        request.strict = true;
        request.set_count--;
    }
    st_status status = importer(&request, &job, errors);
    fuzz_check_errors(status, errors);
    FUZZ_REQUIRE((status == ST_OK) == (job.length > 0));
    if (status == ST_OK) {
        check_text(&job);
        check_job(&job, arena);
    }
    st_buffer_free(&job);
    free(source);
    st_errors_destroy(errors);
    st_arena_destroy(arena);
}
