/* SPDX-License-Identifier: Apache-2.0 */
/* Layer times as profiles and as files; see layer_fit.h. */
#include "kernel-times/fit/layer_fit.h"

#include "base/output.h"
#include "base/result.h"
#include "steptime/tool/profiles.h"

#include <string.h>

static const char plugin[] = "kernel-times";

static st_status make_entry(const st_layer_fit *fit, size_t index, st_times_cell cell,
                            st_profile *entry)
{
    st_buffer payload = {0};
    st_times_write(&fit->models[index], fit->sets, &payload);
    const char *payload_text = st_buffer_keep(&payload, fit->arena);
    st_result result;
    st_node *map = st_result_begin_plain(&result, fit->arena);
    const st_time_models *models = &fit->models[index];
    const st_time_set *set = models->set;
    size_t repeats = 0;
    for (size_t i = 0; i < set->count; i++)
        repeats += set->samples[i].repeats;
    st_put_text(map, "date", fit->asked->date);
    st_put_text(map, "steptime", STEPTIME_VERSION);
    st_put_text(map, "gpu", fit->sets->gpu);
    /* The files that the times come from, the first few of many. */
    st_buffer files = {0};
    enum { SHOWN = 20 };
    size_t count = 0;
    for (size_t i = 0; i < fit->asked->file_count && count < SHOWN; i++)
        st_buffer_printf(&files, "%s%s", count++ > 0 ? ", " : "", fit->asked->files[i]);
    for (size_t i = 0; i < fit->asked->table_count && count < SHOWN; i++)
        st_buffer_printf(&files, "%s%s%s%s", count++ > 0 ? ", " : "", fit->asked->tables[i].file,
                         fit->asked->tables[i].filter != NULL ? " rows " : "",
                         fit->asked->tables[i].filter != NULL ? fit->asked->tables[i].filter : "");
    st_put_buffer(map, "files", &files);
    st_put_count(map, "measurements", repeats);
    st_put_count(map, "shapes", set->count);
    for (size_t i = 0; i < set->piece_count; i++) {
        st_times_form form = models->times.models[i].form;
        const st_error_summary *held_out = &models->held_out[i][form];
        st_put_text(map, st_times_piece_names[set->pieces[i]], st_times_form_names[form]);
        if (held_out->count > 0)
            st_put_number(map,
                          st_arena_printf(fit->arena, "%s_error_held_out",
                                          st_times_piece_names[set->pieces[i]]),
                          held_out->mean_absolute);
    }
    const char *provenance_text = st_node_line(map);
    if (payload_text == NULL || provenance_text == NULL)
        return ST_ERR_MEMORY;
    *entry = (st_profile){.name = fit->asked->profile,
                          .kind = ST_PROFILE_TIMES,
                          .plugin = plugin,
                          .cluster = fit->sets->gpu,
                          .fabric = "",
                          .nccl = "",
                          .collective = st_times_cell_names[cell],
                          .payload = payload_text,
                          .payload_bytes = strlen(payload_text),
                          .provenance = provenance_text};
    return ST_OK;
}

static bool has_set(const st_layer_fit *fit, st_times_cell cell)
{
    bool found = false;
    for (size_t i = 0; i < fit->sets->count; i++)
        found = found || fit->sets->sets[i].cell == cell;
    return found;
}

/* Otherwise the profile would keep old entries of other cells. */
static st_status remove_old(const st_layer_fit *fit, st_profiles *profiles, const char *name)
{
    const st_profile *found = NULL;
    size_t count = 0;
    st_profile_filter filter = {.name = name};
    st_status status = st_profiles_find(profiles, &filter, fit->arena, &found, &count, fit->errors);
    for (size_t i = 0; i < count && status == ST_OK; i++)
        if (strcmp(found[i].plugin, plugin) != 0)
            return st_fail(fit->errors, ST_ERR_NAME, (st_place){.file = "--save"},
                           "profile '%s' belongs to plugin %s" ST_HINT "choose another name", name,
                           found[i].plugin);
    return status == ST_OK && count > 0 ? st_profiles_remove(profiles, name, &count, fit->errors)
                                        : status;
}

/* Whether forward times have pieces, whose products give the weight gradients. */
static bool has_products(const st_time_set *set)
{
    bool found = false;
    for (size_t i = 0; i < set->piece_count; i++)
        found = found || st_times_is_product(set->pieces[i]);
    return found;
}

/* One entry for each cell; forward times answer for the backward pass and the weight gradients
 * where these have none of their own. */
static st_status save(const st_layer_fit *fit)
{
    static const st_times_cell answered[][2] = {{ST_TIMES_OF_FORWARD, ST_TIMES_OF_BACKWARD},
                                                {ST_TIMES_OF_FORWARD_MOE, ST_TIMES_OF_BACKWARD_MOE},
                                                {ST_TIMES_OF_FORWARD, ST_TIMES_OF_WGRAD}};
    enum { ANSWERED = ST_COUNT(answered) };
    st_profile entries[ST_TIME_SETS + ANSWERED] = {{.ranks = 0}};
    st_profiles *profiles = NULL;
    size_t count = 0;
    st_status status = ST_OK;
    for (size_t i = 0; i < fit->sets->count && status == ST_OK; i++) {
        const st_time_set *set = &fit->sets->sets[i];
        status = make_entry(fit, i, set->cell, &entries[count++]);
        for (size_t k = 0; k < ANSWERED && status == ST_OK; k++)
            if (set->cell == answered[k][0] && !has_set(fit, answered[k][1]) &&
                (answered[k][1] != ST_TIMES_OF_WGRAD || has_products(set)))
                status = make_entry(fit, i, answered[k][1], &entries[count++]);
    }
    if (status == ST_OK)
        status = st_profiles_open(fit->asked->database, ST_PROFILES_WRITE, &profiles, fit->errors);
    if (status == ST_OK)
        status = remove_old(fit, profiles, entries[0].name);
    if (status == ST_OK)
        status = st_profiles_put(profiles, entries, count, true, fit->errors);
    st_profiles_close(profiles);
    return status;
}

st_status st_layer_fit_save(const st_layer_fit *fit)
{
    st_status status = fit->asked->profile != NULL ? save(fit) : ST_OK;
    if (status != ST_OK)
        return status;
    const char *file = fit->asked->output;
    st_buffer buffer = {0};
    if (file == NULL)
        return ST_OK;
    if (fit->sets->count != 1)
        return st_fail(fit->errors, ST_ERR_USAGE, (st_place){0},
                       "--output writes the times of one cell, but these belong to several" ST_HINT
                       "use --save");
    st_times_write(&fit->models[0], fit->sets, &buffer);
    st_status file_status = buffer.failed
                                ? ST_ERR_MEMORY
                                : st_output_write(file, buffer.data, buffer.length, fit->errors);
    st_buffer_free(&buffer);
    return file_status;
}
