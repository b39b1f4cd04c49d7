/* SPDX-License-Identifier: Apache-2.0 */
/* Importing a text and looking at the job that comes out, as text and as a job that loads. */
#ifndef STEPTIME_TESTS_IMPORTS_H
#define STEPTIME_TESTS_IMPORTS_H

#include "launch/import/import.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

typedef st_status importer(const st_import_request *request, st_buffer *job, st_errors *errors);

typedef struct import_case {
    st_paths *paths;
    st_arena *arena;
    st_errors *errors;
    st_buffer text;
    st_status status;
    const st_job *job;
    st_import_request request;
} import_case;

static inline import_case *import_begin(void)
{
    import_case *with = calloc(1, sizeof *with);
    assert_non_null(with);
    with->arena = st_arena_create();
    with->errors = st_errors_create();
    assert_int_equal(st_paths_create(NULL, 0, &with->paths, with->errors), ST_OK);
    with->request = (st_import_request){.paths = with->paths, .file = "source"};
    return with;
}

static inline void import_end(import_case *with)
{
    st_buffer_free(&with->text);
    st_paths_destroy(with->paths);
    st_errors_destroy(with->errors);
    st_arena_destroy(with->arena);
    free(with);
}

static inline void import_run(import_case *with, importer *run, const char *source)
{
    with->request.text = source;
    with->request.length = strlen(source);
    with->status = run(&with->request, &with->text, with->errors);
}

/* Every error on a line; for messages of failed tests too. */
static inline const char *import_faults(const import_case *with)
{
    char *all = st_arena_copy(with->arena, "", 0);
    for (size_t i = 0; i < st_errors_size(with->errors); i++) {
        const st_error *error = st_errors_at(with->errors, i);
        all = st_arena_printf(with->arena, "%s%s:%d: %s; found %s; expected %s; %s\n", all,
                              error->place.file != NULL ? error->place.file : "", error->place.line,
                              error->message, error->found != NULL ? error->found : "",
                              error->expected != NULL ? error->expected : "",
                              error->suggestion != NULL ? error->suggestion : "");
    }
    return all;
}

/* Imports, and loads what came out through the ordinary loader. */
static inline import_case *import_good(importer *run, const char *source)
{
    char path[] = "/tmp/steptime-import-XXXXXX.yaml";
    import_case *with = import_begin();
    import_run(with, run, source);
    if (with->status != ST_OK)
        fail_msg("%s", import_faults(with));
    int descriptor = mkstemps(path, 5);
    assert_true(descriptor >= 0);
    assert_int_equal(write(descriptor, with->text.data, with->text.length),
                     (ssize_t)with->text.length);
    assert_int_equal(close(descriptor), 0);
    st_status status =
        st_job_load(with->paths, path, NULL, 0, with->arena, &with->job, with->errors);
    assert_int_equal(unlink(path), 0);
    if (status != ST_OK)
        fail_msg("%s\n%s", import_faults(with), with->text.data);
    return with;
}

static inline void expect_key(const import_case *with, const char *path, const char *text)
{
    const st_job_value *value = st_job_value_of(with->job, path);
    assert_non_null(value);
    bool is_given = value->origin != ST_ORIGIN_NONE && value->origin != ST_ORIGIN_DEFAULT;
    if (text == NULL && is_given)
        fail_msg("%s is %s, expected none", path, value->text);
    if (text != NULL && (!is_given || strcmp(value->text, text) != 0))
        fail_msg("%s is %s, expected %s", path, is_given ? value->text : "missing", text);
}

static inline void expect_words(const import_case *with, const char *words)
{
    if (with->text.data == NULL || strstr(with->text.data, words) == NULL)
        fail_msg("no '%s' in\n%s", words, with->text.data);
}

/* The import is refused with these words, and nothing is written. */
static inline void expect_refusal(importer *run, const char *source, st_status status,
                                  const char *words)
{
    import_case *with = import_begin();
    import_run(with, run, source);
    if (with->status != status || strstr(import_faults(with), words) == NULL)
        fail_msg("status %d, expected %d with '%s':\n%s", with->status, status, words,
                 import_faults(with));
    assert_int_equal(with->text.length, 0);
    import_end(with);
}

#endif
