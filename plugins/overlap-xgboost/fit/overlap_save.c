/* SPDX-License-Identifier: Apache-2.0 */
/* A model of slowdowns as a profile of the plugin overlap-xgboost, and where it is from. */
#include "overlap-xgboost/fit/overlap_data.h"

#include "base/result.h"
#include "base/memory.h"
#include "steptime/tool/profiles.h"

#include <string.h>

static void put_errors(st_node *map, const char *split, const st_slowdown_errors *errors)
{
    const struct {
        const char *name;
        double value;
    } figures[] = {{"within_5", errors->within_5},   {"within_10", errors->within_10},
                   {"within_15", errors->within_15}, {"rmse", errors->rmse},
                   {"rmse_10us", errors->rmse_10us}, {"bias", errors->bias}};
    for (size_t i = 0; i < ST_COUNT(figures); i++)
        st_put_number(map, st_arena_printf(map->result->arena, "%s_%s", split, figures[i].name),
                      figures[i].value);
}

st_status st_overlap_save(const st_overlap_profile *profile, const st_overlap_report *report,
                          st_arena *arena, st_errors *errors)
{
    st_profiles *profiles = NULL;
    const char *date = profile->date;
    static const char *const splits[ST_SPLITS] = {"by_rows", "by_kernel_name"};
    st_result result;
    st_node *map = st_result_begin_plain(&result, arena);
    st_put_text(map, "date", date);
    st_put_text(map, "steptime", STEPTIME_VERSION);
    st_put_text(map, "kernels_of", report->kernels->file);
    st_put_count(map, "kernels", report->kernels->count);
    st_put_count(map, "faster_with_communication", report->kernels->faster);
    st_put_text(map, "recipe", report->recipe->name);
    for (size_t i = 0; i < report->trials->recipe_count; i++) {
        const st_trial *trial = &report->trials->items[i];
        for (size_t k = 0; k < ST_SPLITS && trial->recipe == report->recipe; k++)
            put_errors(map, splits[k], &trial->held_out[k][ST_SLOWDOWN_ALL]);
    }
    const char *provenance_text = st_node_line(map);
    if (provenance_text == NULL)
        return st_out_of_memory(errors);
    st_profile entry = {.name = profile->name,
                        .kind = ST_PROFILE_MODEL,
                        .plugin = "overlap-xgboost",
                        .cluster = profile->cluster != NULL ? profile->cluster : "",
                        .fabric = "",
                        .nccl = "",
                        .collective = "",
                        .payload = profile->model,
                        .payload_bytes = strlen(profile->model),
                        .provenance = provenance_text};
    st_status status = st_profiles_open(profile->database, ST_PROFILES_WRITE, &profiles, errors);
    if (status == ST_OK) {
        /* A job names a profile, not the cluster of one: two models of a name would be one too
         * many. */
        const st_profile *found = NULL;
        size_t count = 0;
        st_profile_filter filter = {.name = entry.name, .plugin = entry.plugin};
        status = st_profiles_find(profiles, &filter, arena, &found, &count, errors);
        for (size_t i = 0; i < count && status == ST_OK; i++)
            if (strcmp(found[i].kind, entry.kind) != 0 ||
                strcmp(found[i].cluster, entry.cluster) != 0)
                status = st_fail(errors, ST_ERR_NAME, (st_place){.file = "--save"},
                                 "profile '%s' already has a model, of cluster '%s'" ST_HINT
                                 "choose another name, or remove it first",
                                 entry.name, found[i].cluster);
    }
    if (status == ST_OK)
        status = st_profiles_put(profiles, &entry, 1, true, errors);
    st_profiles_close(profiles);
    return status;
}
