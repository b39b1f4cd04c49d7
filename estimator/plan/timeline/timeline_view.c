/* SPDX-License-Identifier: Apache-2.0 */
/* The timeline of an open estimate; see steptime/job_timeline.h. */
#include "steptime/job_timeline.h"

#include "base/memory.h"
#include "estimate/handle.h"
#include "timeline/timeline_request.h"

static st_status write(const st_timeline_request *request, const st_estimate_view *view,
                       st_arena *arena, st_buffer *buffer, st_errors *errors)
{
    st_estimate estimate = {0};
    st_timeline_plan plan = {0};
    st_timeline timeline = {0};
    st_result result;
    st_status status = st_timeline_load(request, arena, &estimate, &plan, errors);
    if (status == ST_OK)
        status = st_timeline_make(&plan, false, arena, &timeline, errors);
    if (status == ST_OK && view->form == ST_ESTIMATE_SVG) {
        status = st_timeline_write_svg(&timeline, buffer, errors);
    } else if (status == ST_OK) {
        st_timeline_report(&timeline, arena, &result);
        st_view_write(&result, view, buffer);
    }
    st_timeline_free(&timeline);
    return status;
}

st_status st_timeline_write(st_estimate *estimate, const st_estimate_view *view, st_buffer *buffer,
                            st_errors *errors)
{
    const st_estimate_handle *handle = st_estimate_handle_of(estimate);
    st_timeline_request request = {.paths = handle->paths};
    st_estimate_view shown;
    st_status status = st_view_read(view, &shown, errors);
    if (status != ST_OK)
        return status;
    st_arena *arena = st_arena_create();
    if (arena == NULL || !st_handle_request(handle, arena, &request.job))
        status = st_out_of_memory(errors);
    if (status == ST_OK)
        status = write(&request, &shown, arena, buffer, errors);
    st_arena_destroy(arena);
    if (status != ST_OK)
        return status;
    return buffer->failed ? st_out_of_memory(errors) : ST_OK;
}
