/* SPDX-License-Identifier: Apache-2.0 */
/* What the tests of reports share that are made by hand: a result as text and as JSON. */
#ifndef STEPTIME_TESTS_FORMS_SUPPORT_H
#define STEPTIME_TESTS_FORMS_SUPPORT_H

#include "base_support.h"

#include "base/result.h"

typedef struct fixture {
    st_arena *arena;
    st_result result;
    st_buffer text; /* runs of blanks are one */
    st_buffer json;
    st_buffer svg;
} fixture;

static inline int set_up(void **state)
{
    fixture *own = calloc(1, sizeof *own);
    own->arena = st_arena_create();
    *state = own;
    return 0;
}

static inline int tear_down(void **state)
{
    fixture *own = *state;
    st_arena_destroy(own->arena);
    st_buffer_free(&own->text);
    st_buffer_free(&own->json);
    st_buffer_free(&own->svg);
    free(own);
    return 0;
}

static inline void write_forms(fixture *own)
{
    st_buffer table = {0};
    st_result_write_text(&own->result, &(st_paint){false, 0}, &table);
    st_result_write_json(&own->result, &own->json);
    assert_false(table.failed || own->json.failed);
    for (const char *c = st_buffer_read(&table); *c != '\0'; c++)
        if (c[0] != ' ' || c[1] != ' ')
            st_buffer_append(&own->text, c, 1);
    st_buffer_free(&table);
}

static inline void assert_says(fixture *own, const char *const *parts)
{
    for (; *parts != NULL; parts++)
        assert_contains(st_buffer_read(&own->text), *parts);
}

static inline void assert_has(fixture *own, const char *const *parts)
{
    for (; *parts != NULL; parts++)
        assert_contains(st_buffer_read(&own->json), *parts);
}

#define SAYS(own, ...) assert_says(own, (const char *const[]){__VA_ARGS__, NULL})
#define HAS(own, ...)  assert_has(own, (const char *const[]){__VA_ARGS__, NULL})

static inline void assert_silent(fixture *own, const char *part)
{
    if (strstr(st_buffer_read(&own->text), part) != NULL)
        fail_msg("'%s' contains '%s'", st_buffer_read(&own->text), part);
}

#endif
