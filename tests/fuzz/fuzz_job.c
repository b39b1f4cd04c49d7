/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Jobs and assignments from any bytes. The first part of the input is the job's file, every further
 * one a --set. What loads is bound to the sheet that it names and estimated.
 */
#include "fuzz.h"
#include "job/sections.h"
#include "program/program.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* Writes the job beside other temporary files; jobs are read by path. */
static void write_job(char *path, fuzz_part part)
{
    int descriptor = mkstemp(path);
    FUZZ_REQUIRE(descriptor >= 0);
    while (part.length > 0) {
        ssize_t written = write(descriptor, part.text, part.length);
        FUZZ_REQUIRE(written > 0);
        part.text += written;
        part.length -= (size_t)written;
    }
    FUZZ_REQUIRE(close(descriptor) == 0);
}

static void check_value(const st_job_value *value, const st_key *key)
{
    FUZZ_REQUIRE(value != NULL && value->key == key);
    if (value->origin == ST_ORIGIN_NONE) {
        return;
    }
    FUZZ_REQUIRE(value->text != NULL);
    if (key->kind == ST_KEY_COUNT || key->kind == ST_KEY_NUMBER || key->kind == ST_KEY_QUANTITY) {
        FUZZ_REQUIRE(isfinite(value->number));
        FUZZ_REQUIRE(value->number >= key->minimum && value->number <= key->maximum);
    }
    if (key->kind == ST_KEY_COUNT) {
        FUZZ_REQUIRE(value->number == floor(value->number));
    }
}

static void check_keys(const st_job *job)
{
    size_t count = 0;
    const st_key *keys = st_keys(&count);
    for (size_t i = 0; i < count; i++) {
        check_value(st_job_value_of(job, keys[i].path), &keys[i]);
    }
    const st_key_section *sections = st_key_sections(&count);
    for (size_t i = 0; i < count; i++) {
        (void)st_job_section_name(job, sections[i].path);
    }
    FUZZ_REQUIRE(st_job_name(job) != NULL && st_job_file(job) != NULL);
}

static void estimate(const st_job *job, const st_sheet *sheet, st_arena *arena)
{
    const st_bound_input *inputs = NULL;
    const st_program *program = NULL;
    st_errors *errors = st_errors_create();
    FUZZ_REQUIRE(errors != NULL);
    st_status status = st_job_bind(job, sheet, arena, &inputs, errors);
    fuzz_check_errors(status, errors);
    if (status == ST_OK) {
        size_t count = 0;
        (void)st_sheet_inputs(sheet, &count);
        double *values = st_arena_alloc(arena, count + 1, sizeof *values);
        FUZZ_REQUIRE(values != NULL);
        for (size_t i = 0; i < count; i++) {
            FUZZ_REQUIRE(isfinite(inputs[i].value));
            values[i] = inputs[i].value;
        }
        FUZZ_REQUIRE(st_program_compile(sheet, &(st_program_options){0}, arena, &program, errors) ==
                     ST_OK);
        fuzz_check_errors(st_program_verify(program, values, errors), errors);
    }
    st_errors_destroy(errors);
}

/* Loaded once: the same for every input, and no error of a job. */
typedef struct shared {
    st_paths *paths;
    const st_sheet *sheet;
} shared;

static const shared *get_shared(void)
{
    static shared common;
    static st_arena *arena;
    if (!common.sheet) {
        st_errors *errors = st_errors_create();
        arena = st_arena_create();
        FUZZ_REQUIRE(errors != NULL && arena != NULL);
        FUZZ_REQUIRE(st_paths_create(NULL, 0, &common.paths, errors) == ST_OK);
        st_sheet_reader reader = st_paths_sheet_reader(common.paths);
        FUZZ_REQUIRE(st_sheet_load(&reader, "li2024", arena, &common.sheet, errors) == ST_OK);
        st_errors_destroy(errors);
    }
    return &common;
}

/* The texts behind the first part, as the command line would hand them over. */
static size_t make_sets(const fuzz_part *parts, size_t count, const char **sets, st_arena *arena)
{
    for (size_t i = 0; i < count; i++) {
        sets[i] = st_arena_copy(arena, parts[i].text, strnlen(parts[i].text, parts[i].length));
        FUZZ_REQUIRE(sets[i] != NULL);
    }
    return count;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    char path[] = "/tmp/steptime-fuzz-XXXXXX";
    const char *sets[FUZZ_PARTS] = {0};
    fuzz_part parts[FUZZ_PARTS];
    const st_job *job = NULL;
    st_errors *errors = st_errors_create();
    st_arena *arena = st_arena_create();
    FUZZ_REQUIRE(errors != NULL && arena != NULL);

    size_t count = fuzz_split(data, size, parts);
    size_t set_count = make_sets(parts + 1, count - 1, sets, arena);
    write_job(path, parts[0]);
    st_status status = st_job_load(get_shared()->paths, path, sets, set_count, arena, &job, errors);
    FUZZ_REQUIRE(unlink(path) == 0);
    fuzz_check_errors(status, errors);
    if (status == ST_OK) {
        check_keys(job);
        estimate(job, get_shared()->sheet, arena);
    }
    st_arena_destroy(arena);
    st_errors_destroy(errors);
    return 0;
}
