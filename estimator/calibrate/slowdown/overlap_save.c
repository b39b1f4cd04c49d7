/* SPDX-License-Identifier: Apache-2.0 */
/* A model of slowdowns as a profile of the plugin overlap-xgboost, and where it is from. */
#include "calibrate/slowdown/overlap_data.h"

#include "base/json_write.h"
#include "base/memory.h"
#include "calibrate/store/profile.h"

#include <string.h>

static void put_errors(st_json *json, const char *split, const st_slowdown_errors *errors)
{
    const struct {
        const char *name;
        double value;
    } figures[] = {{"within_5", errors->within_5},   {"within_10", errors->within_10},
                   {"within_15", errors->within_15}, {"rmse", errors->rmse},
                   {"rmse_10us", errors->rmse_10us}, {"bias", errors->bias}};
    char key[64];
    for (size_t i = 0; i < sizeof figures / sizeof *figures; i++) {
        (void)snprintf(key, sizeof key, "%s_%s", split, figures[i].name);
        st_json_number(json, key, figures[i].value);
    }
}

static void write_provenance(const st_overlap_report *report, const char *date, st_buffer *buffer)
{
    static const char *const splits[ST_SPLITS] = {"by_rows", "by_kernel_name"};
    st_json json = {.buffer = buffer};
    st_json_open_line(&json, NULL, '{');
    st_json_text(&json, "date", date);
    st_json_text(&json, "steptime", STEPTIME_VERSION);
    st_json_text(&json, "kernels_of", report->kernels->file);
    st_json_count(&json, "kernels", report->kernels->count);
    st_json_count(&json, "faster_beside_communication", report->kernels->faster);
    st_json_text(&json, "recipe", report->recipe->name);
    for (size_t i = 0; i < report->trials->recipe_count; i++) {
        const st_trial *trial = &report->trials->items[i];
        for (size_t k = 0; k < ST_SPLITS && trial->recipe == report->recipe; k++)
            put_errors(&json, splits[k], &trial->held_out[k]);
    }
    st_json_close(&json, '}');
}

/* The text of a buffer for the rest of the run; NULL when out of memory. */
static const char *keep(st_arena *arena, st_buffer *buffer)
{
    const char *text = buffer->failed ? NULL : st_arena_copy(arena, buffer->data, buffer->length);
    st_buffer_free(buffer);
    return text;
}

/* A job names a profile, not the cluster of one: two models of a name would be one too many. */
static st_status check_others(st_profiles *profiles, const st_profile *entry, st_arena *arena,
                              st_errors *errors)
{
    const st_profile *found = NULL;
    size_t count = 0;
    st_profile_filter filter = {.name = entry->name, .plugin = entry->plugin};
    st_status status = st_profiles_find(profiles, &filter, arena, &found, &count, errors);
    for (size_t i = 0; i < count && status == ST_OK; i++)
        if (strcmp(found[i].kind, entry->kind) != 0 ||
            strcmp(found[i].cluster, entry->cluster) != 0)
            status = st_fail(errors, ST_ERR_NAME, (st_place){.file = "--save"},
                             "profile '%s' has another model, of cluster '%s'" ST_HINT
                             "take another name, or remove it first",
                             entry->name, found[i].cluster);
    return status;
}

st_status st_overlap_save(const st_overlap_profile *profile, const st_overlap_report *report,
                          st_arena *arena, st_errors *errors)
{
    st_profiles *profiles = NULL;
    st_buffer provenance = {0};
    write_provenance(report, profile->date, &provenance);
    const char *provenance_text = keep(arena, &provenance);
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
    if (status == ST_OK)
        status = check_others(profiles, &entry, arena, errors);
    if (status == ST_OK)
        status = st_profiles_put(profiles, &entry, 1, true, errors);
    st_profiles_close(profiles);
    return status;
}
