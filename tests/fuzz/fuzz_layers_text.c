/* SPDX-License-Identifier: Apache-2.0 */
/* A text of layers from any bytes: what is accepted gives a list that reads, or has no parameters.
 */
#include "fuzz.h"
#include "launch/import/import.h"

#include "base/yaml.h"

#include <stdlib.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static st_paths *paths;
    char *text = fuzz_copy((const char *)data, size);
    st_arena *arena = st_arena_create();
    st_errors *errors = st_errors_create();
    st_buffer list = {0};
    const st_yaml_node *root = NULL;
    FUZZ_REQUIRE(arena != NULL && errors != NULL);
    if (paths == NULL)
        FUZZ_REQUIRE(st_paths_create(NULL, 0, &paths, NULL) == ST_OK);
    const st_import_request request = {
        .paths = paths, .file = "input", .text = text, .length = size};
    st_status status = st_import_layers(&request, &list, errors);
    fuzz_check_errors(status, errors);
    FUZZ_REQUIRE((status == ST_OK) == (list.length > 0));
    if (status == ST_OK) {
        FUZZ_REQUIRE(st_yaml_parse("list", list.data, list.length, arena, &root, errors) == ST_OK);
        FUZZ_REQUIRE(st_yaml_get(root, "list") != NULL);
    }
    st_buffer_free(&list);
    st_errors_destroy(errors);
    st_arena_destroy(arena);
    free(text);
    return 0;
}
