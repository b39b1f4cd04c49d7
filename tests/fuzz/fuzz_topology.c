/* SPDX-License-Identifier: Apache-2.0 */
/* NCCL's topology XML from any bytes: what is accepted gives a cluster as YAML that reads. */
#include "fuzz.h"
#include "launch/import/import.h"

#include "base/yaml.h"

#include <stdlib.h>
#include <string.h>

static void check_cluster(const st_buffer *cluster, st_arena *arena, st_errors *errors)
{
    const st_yaml_node *root = NULL;
    FUZZ_REQUIRE(st_yaml_parse("cluster", cluster->data, cluster->length, arena, &root, errors) ==
                 ST_OK);
    const st_yaml_node *gpus = st_yaml_get(root, "gpus_per_node");
    FUZZ_REQUIRE(gpus != NULL && strtol(gpus->text, NULL, 10) > 0);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    fuzz_part parts[FUZZ_PARTS];
    char gpu[64] = "";
    size_t count = fuzz_split(data, size, parts);
    char *text = fuzz_copy(parts[0].text, parts[0].length);
    st_arena *arena = st_arena_create();
    st_errors *errors = st_errors_create();
    st_buffer cluster = {0};
    FUZZ_REQUIRE(arena != NULL && errors != NULL);
    if (count > 1)
        memcpy(gpu, parts[1].text,
               strnlen(parts[1].text, parts[1].length < 63 ? parts[1].length : 63));
    st_topology_request request = {.file = "input",
                                   .text = text,
                                   .length = parts[0].length,
                                   .gpu = count > 1 ? gpu : NULL,
                                   .nodes = count > 2 ? parts[2].length : 0};
    st_status status = st_import_nccl_topology(&request, &cluster, errors);
    fuzz_check_errors(status, errors);
    FUZZ_REQUIRE((status == ST_OK) == (cluster.length > 0));
    if (status == ST_OK)
        check_cluster(&cluster, arena, errors);
    st_buffer_free(&cluster);
    st_errors_destroy(errors);
    st_arena_destroy(arena);
    free(text);
    return 0;
}
