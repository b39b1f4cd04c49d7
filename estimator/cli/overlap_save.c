/* SPDX-License-Identifier: Apache-2.0 */
/* A model of slowdowns as a profile of the plugin overlap-xgboost, and where it is from. */
#include "cli/overlap_data.h"

#include "job/files.h"
#include "base/json_write.h"
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

static void write_provenance(const st_overlap_report *report, st_buffer *buffer)
{
    static const char *const splits[ST_SPLITS] = {"by_rows", "by_kernel_name"};
    st_json json = {.buffer = buffer};
    char date[16];
    cli_today(date);
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
static const char *keep(cli_run *run, st_buffer *buffer)
{
    const char *text =
        buffer->failed ? NULL : st_arena_copy(run->arena, buffer->data, buffer->length);
    st_buffer_free(buffer);
    return text;
}

/* A job names a profile, not the cluster of one: two models of a name would be one too many. */
static st_status check_others(st_profiles *profiles, const st_profile *entry, cli_run *run)
{
    const st_profile *found = NULL;
    size_t count = 0;
    st_profile_filter filter = {.name = entry->name, .plugin = entry->plugin};
    st_status status = st_profiles_find(profiles, &filter, run->arena, &found, &count, run->errors);
    for (size_t i = 0; i < count && status == ST_OK; i++)
        if (strcmp(found[i].kind, entry->kind) != 0 ||
            strcmp(found[i].cluster, entry->cluster) != 0)
            status = st_fail(run->errors, ST_ERR_NAME, (st_place){.file = "--save"},
                             "profile '%s' has another model, of cluster '%s'" ST_HINT
                             "take another name, or remove it first",
                             entry->name, found[i].cluster);
    return status;
}

st_status cli_overlap_save(cli_run *run, const st_overlap_report *report, const char *model)
{
    const cli_overlap_options *asked = run->options;
    const char *cluster = asked->cluster;
    st_profiles *profiles = NULL;
    st_buffer provenance = {0};
    write_provenance(report, &provenance);
    const char *provenance_text = keep(run, &provenance);
    if (provenance_text == NULL)
        return st_out_of_memory(run->errors);
    st_profile entry = {.name = asked->save,
                        .kind = ST_PROFILE_MODEL,
                        .plugin = "overlap-xgboost",
                        .cluster = cluster != NULL ? cluster : "",
                        .fabric = "",
                        .nccl = "",
                        .collective = "",
                        .payload = model,
                        .payload_bytes = strlen(model),
                        .provenance = provenance_text};
    st_status status = st_profiles_open(run->common.db, ST_PROFILES_WRITE, &profiles, run->errors);
    if (status == ST_OK)
        status = check_others(profiles, &entry, run);
    if (status == ST_OK)
        status = st_profiles_put(profiles, &entry, 1, true, run->errors);
    st_profiles_close(profiles);
    return status;
}
