/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A name of the wrong kind: a model in the place of a job, a GPU in
 * that of a cluster. Reports what was meant, and what to write.
 *
 * Circle: with job/paths, because a name that is not found is looked for once more elsewhere.
 */
#include "job/files.h"
#include "job/roots.h"

#include <string.h>

enum { SHOWN_CLUSTERS = 6 };

/* "dgx-h100, llama3-h100"; "" where no cluster has the GPU. */
static const char *clusters_with(const st_paths *paths, const char *gpu, st_arena *arena,
                                 st_errors *errors)
{
    const st_path_entry *entries = NULL;
    size_t count = 0;
    size_t found = 0;
    const char *text = "";
    if (st_paths_list(paths, ST_FOLDER_CLUSTERS, arena, &entries, &count, NULL) != ST_OK)
        return text;
    for (size_t i = 0; i < count && found <= SHOWN_CLUSTERS; i++) {
        const st_yaml_node *root = NULL;
        if (st_paths_read_yaml(paths, ST_FOLDER_CLUSTERS, entries[i].name, arena, &root, NULL) !=
            ST_OK)
            continue;
        const st_yaml_node *named = st_yaml_get(root, "gpu");
        if (named != NULL && named->kind == ST_YAML_MAP)
            named = st_yaml_get(named, "base");
        if (named == NULL || named->kind != ST_YAML_SCALAR || strcmp(named->text, gpu) != 0)
            continue;
        text = st_errors_text(errors, "%s%s%s", text, found > 0 ? ", " : "",
                              found == SHOWN_CLUSTERS ? "..." : entries[i].name);
        found++;
    }
    return text;
}

const char *st_mistaken_name(const st_paths *paths, st_folder wanted, const char *name,
                             st_arena *arena, st_errors *errors)
{
    static const st_folder kinds[] = {ST_FOLDER_MODELS, ST_FOLDER_CLUSTERS, ST_FOLDER_GPUS,
                                      ST_FOLDER_JOBS,   ST_FOLDER_SHEETS,   ST_FOLDER_CONSTANTS};
    for (size_t i = 0; i < ST_COUNT(kinds); i++) {
        st_folder kind = kinds[i];
        if (kind == wanted)
            continue;
        const st_path_entry *entries = NULL;
        size_t count = 0;
        st_arena *there_arena = st_arena_create();
        bool found = false;
        if (there_arena != NULL &&
            st_paths_list(paths, kind, there_arena, &entries, &count, NULL) == ST_OK)
            for (size_t j = 0; j < count && !found; j++)
                found = strcmp(entries[j].name, name) == 0;
        st_arena_destroy(there_arena);
        if (!found)
            continue;
        bool in_place = wanted == ST_FOLDER_JOBS || wanted == ST_FOLDER_CLUSTERS;
        const char *clusters =
            kind == ST_FOLDER_GPUS && in_place ? clusters_with(paths, name, arena, errors) : "";
        if (clusters[0] != '\0')
            return st_errors_text(errors, "%s is a GPU; clusters with it: %s", name, clusters);
        if (wanted == ST_FOLDER_JOBS && (kind == ST_FOLDER_MODELS || kind == ST_FOLDER_CLUSTERS)) {
            /* For a job, which needs all of them. */
            if (kind == ST_FOLDER_MODELS)
                return st_errors_text(
                    errors,
                    "%s is a model: steptime estimate --model %s --cluster dgx-h100 --gpus 64",
                    name, name);
            return st_errors_text(
                errors,
                "%s is a cluster: steptime estimate --model llama3-70b --cluster %s --gpus 64",
                name, name);
        }
        return st_errors_text(errors, "%s is a %s", name, st_folder_shape_of(kind)->noun);
    }
    return NULL;
}
