/* SPDX-License-Identifier: Apache-2.0 */
/* Estimates from a request, and their end; see steptime/estimate.h. */
#include "estimate/handle.h"

#include "base/memory.h"
#include "base/sized_struct.h"
#include "estimate/report.h"
#include "job/files.h"

#include <stdlib.h>
#include <string.h>

const char *st_version(void)
{
    return STEPTIME_VERSION;
}

/* Copies of texts, so that a caller may free its own; NULL where memory is out. */
static const char **copy_texts(st_arena *arena, const char *const *texts, size_t count)
{
    const char **copies = st_arena_alloc(arena, count + 1, sizeof *copies);
    for (size_t i = 0; i < count && copies != NULL; i++) {
        copies[i] = st_arena_copy(arena, texts[i], strlen(texts[i]));
        if (copies[i] == NULL)
            return NULL;
    }
    return copies;
}

static const char *copy_text(st_arena *arena, const char *text, bool *failed)
{
    const char *copy = text != NULL ? st_arena_copy(arena, text, strlen(text)) : NULL;
    *failed = *failed || (text != NULL && copy == NULL);
    return copy;
}

static st_status create(const st_estimate_request *request, bool alone, st_estimate **estimate,
                        st_errors *errors)
{
    st_estimate_request asked;
    st_status status = st_sized_take(request, &asked, sizeof asked, errors);
    if (status != ST_OK)
        return status;
    st_estimate_handle *handle = calloc(1, sizeof *handle);
    st_arena *texts = st_arena_create();
    if (handle == NULL || texts == NULL) {
        st_arena_destroy(texts);
        free(handle);
        return st_out_of_memory(errors);
    }
    handle->texts = texts;
    bool failed = false;
    const char **providers = copy_texts(handle->texts, asked.providers, asked.provider_count);
    const char **sets = copy_texts(handle->texts, asked.sets, asked.set_count);
    handle->cells = copy_texts(handle->texts, asked.cells, asked.cell_count);
    handle->cell_count = asked.cell_count;
    handle->all = asked.all;
    handle->request = (st_request){.checks_warn = asked.checks_warn,
                                   .job = copy_text(handle->texts, asked.job, &failed),
                                   .sheet = copy_text(handle->texts, asked.sheet, &failed),
                                   .refine = providers,
                                   .refine_count = asked.provider_count,
                                   .alone = alone};
    failed = failed || providers == NULL || sets == NULL || handle->cells == NULL ||
             !st_settings_begin(handle, sets, asked.set_count);
    status = failed ? st_out_of_memory(errors) : ST_OK;
    if (status == ST_OK)
        status = st_paths_create(asked.folders, asked.folder_count, &handle->paths, errors);
    if (status == ST_OK)
        st_paths_set_isolation(handle->paths, asked.isolate);
    if (status == ST_OK && asked.profiles != NULL) {
        /* The texts of a request outlive it in the handle. */
        const char *kept = copy_text(handle->texts, asked.profiles, &failed);
        if (failed)
            status = st_out_of_memory(errors);
        else
            st_paths_set_profiles(handle->paths, kept);
    }
    if (status == ST_OK)
        status = st_handle_load(handle, sets, asked.set_count, errors);
    if (status == ST_OK)
        *estimate = &handle->estimate;
    else
        st_estimate_destroy(&handle->estimate);
    return status;
}

st_status st_estimate_create(const st_estimate_request *request, st_estimate **estimate,
                             st_errors *errors)
{
    return create(request, false, estimate, errors);
}

st_status st_estimate_create_alone(const st_estimate_request *request, st_estimate **estimate,
                                   st_errors *errors)
{
    return create(request, true, estimate, errors);
}

void st_estimate_destroy(st_estimate *estimate)
{
    if (estimate == NULL)
        return;
    st_estimate_handle *handle = st_estimate_handle_of(estimate);
    st_handle_drop_programs(handle);
    st_settings_end(handle);
    st_arena_destroy(handle->results);
    st_arena_destroy(handle->shown);
    st_arena_destroy(handle->arena);
    st_paths_destroy(handle->paths);
    st_arena_destroy(handle->texts);
    free(handle);
}
