/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A space of any bytes. What is accepted says where each of its options stands, joins keys that
 * vary, and a message about any option gets a place in the file.
 */
#include "fuzz.h"

#include "search/space_file.h"

#include <string.h>

static bool varies(const st_space_file *space, const char *key)
{
    size_t length = strlen(key);
    for (size_t i = 0; i < space->varies.count; i++) {
        const char *text = space->varies.items[i];
        if (strncmp(text, key, length) == 0 && (text[length] == '=' || text[length] == '\0'))
            return true;
    }
    return false;
}

static void check_places(const st_space_file *space)
{
    st_error_scope scope = {.edit = st_space_file_place, .context = space};
    st_errors *told = st_errors_create();
    FUZZ_REQUIRE(told != NULL);
    st_errors_enter(told, &scope);
    for (size_t i = 0; i < space->place_count; i++) {
        const st_space_place *one = &space->places[i];
        st_place place = {.file = one->option, .column = one->condition != NULL ? 3 : 0};
        FUZZ_REQUIRE(one->place.line > 0 && one->place.column > 0);
        (void)st_errors_add(
            told, &(st_error){.status = ST_ERR_VALUE, .place = place, .message = "wrong"});
    }
    st_errors_leave(told, &scope);
    for (size_t i = 0; i < st_errors_size(told); i++)
        FUZZ_REQUIRE(strcmp(st_errors_at(told, i)->place.file, "space.yaml") == 0 &&
                     st_errors_at(told, i)->place.line > 0);
    st_errors_destroy(told);
}

static void check_space(const st_space_file *space, st_arena *arena)
{
    st_search_request request = {0};
    FUZZ_REQUIRE(space->title != NULL && space->title[0] != '\0');
    for (size_t i = 0; i < space->joined_count; i++)
        FUZZ_REQUIRE(varies(space, space->joined[i].key) && varies(space, space->joined[i].with));
    FUZZ_REQUIRE(st_space_file_add(space, arena, &request, NULL) == ST_OK);
    FUZZ_REQUIRE(request.vary_count == space->varies.count);
    FUZZ_REQUIRE(request.space.set_count == space->sets.count);
    FUZZ_REQUIRE(request.space.where_count == space->wheres.count);
    check_places(space);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    st_space_file space;
    st_arena *arena = st_arena_create();
    st_errors *errors = st_errors_create();
    FUZZ_REQUIRE(arena != NULL && errors != NULL);
    st_status status =
        st_space_file_parse("space.yaml", (const char *)data, size, arena, &space, errors);
    fuzz_check_errors(status, errors);
    if (status == ST_OK)
        check_space(&space, arena);
    st_errors_destroy(errors);
    st_arena_destroy(arena);
    return 0;
}
