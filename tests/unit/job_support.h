/* SPDX-License-Identifier: Apache-2.0 */
/* What the tests of jobs and paths share: files in a folder of their own, and messages as text. */
#ifndef STEPTIME_TESTS_JOB_SUPPORT_H
#define STEPTIME_TESTS_JOB_SUPPORT_H

#include "steptime/steptime.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

/* A search path over one folder, and the lists that every test needs. */
typedef struct fixture {
    char folder[64];
    st_arena *arena;
    st_errors *errors;
    st_paths *paths;
} fixture;

/* Makes all folders on the way to `file` and the file itself, below the fixture's folder. */
static inline void write_bytes(const fixture *own, const char *file, const char *bytes,
                               size_t length)
{
    char path[512];
    (void)snprintf(path, sizeof path, "%s/%s", own->folder, file);
    for (char *slash = strchr(path + 1, '/'); slash != NULL; slash = strchr(slash + 1, '/')) {
        *slash = '\0';
        (void)mkdir(path, 0700);
        *slash = '/';
    }
    FILE *stream = fopen(path, "wb");
    assert_non_null(stream);
    assert_int_equal(fwrite(bytes, 1, length, stream), length);
    assert_int_equal(fclose(stream), 0);
}

static inline void write_text(const fixture *own, const char *file, const char *text)
{
    write_bytes(own, file, text, strlen(text));
}

static inline const char *below(const fixture *own, const char *file)
{
    const char *path = st_arena_printf(own->arena, "%s/%s", own->folder, file);
    assert_non_null(path);
    return path;
}

/* Everything that `errors` says, with the fixture's folder as "@"; the list is empty afterwards. */
static inline const char *said(fixture *own)
{
    char *text = NULL;
    size_t length = 0;
    FILE *stream = open_memstream(&text, &length);
    assert_non_null(stream);
    st_errors_write(own->errors, stream);
    assert_int_equal(fclose(stream), 0);
    char *short_text = st_arena_copy(own->arena, text, length);
    assert_non_null(short_text);
    size_t folder_length = strlen(own->folder);
    for (char *at = strstr(short_text, own->folder); at != NULL; at = strstr(at, own->folder)) {
        *at = '@';
        memmove(at + 1, at + folder_length, strlen(at + folder_length) + 1);
    }
    free(text);
    st_errors_clear(own->errors);
    return short_text;
}

static inline int set_up(void **state)
{
    fixture *created = calloc(1, sizeof *created);
    assert_non_null(created);
    (void)snprintf(created->folder, sizeof created->folder, "/tmp/steptime-test-XXXXXX");
    assert_non_null(mkdtemp(created->folder));
    created->arena = st_arena_create();
    created->errors = st_errors_create();
    assert_non_null(created->arena);
    assert_non_null(created->errors);
    /* Nothing of the user's, and nothing of the test before. */
    char none[80];
    (void)snprintf(none, sizeof none, "%s/none", created->folder);
    /* tests/mutate.py has changed sheets there. */
    const char *changed = getenv("STEPTIME_TEST_PATH");
    setenv("STEPTIME_PATH", changed != NULL ? changed : "", 1);
    setenv("XDG_CONFIG_HOME", none, 1);
    const char *folders[] = {created->folder};
    assert_int_equal(st_paths_create(folders, 1, &created->paths, created->errors), ST_OK);
    *state = created;
    return 0;
}

static inline int tear_down(void **state)
{
    fixture *own = *state;
    char command[128];
    st_paths_destroy(own->paths);
    st_arena_destroy(own->arena);
    st_errors_destroy(own->errors);
    (void)snprintf(command, sizeof command, "rm -rf -- '%s'", own->folder);
    assert_int_equal(system(command), 0);
    free(own);
    return 0;
}

#endif
