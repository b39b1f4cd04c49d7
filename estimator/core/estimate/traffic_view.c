/* SPDX-License-Identifier: Apache-2.0 */
/* Traffic of an open estimate; see steptime/job_traffic.h. */
#include "steptime/job_traffic.h"

#include "base/memory.h"
#include "base/sized_struct.h"
#include "estimate/handle.h"
#include "estimate/messages.h"
#include "estimate/traffic.h"

#include <string.h>

static st_status find_kind(const char *name, st_group *group, st_errors *errors)
{
    const char *names[ST_GROUPS];
    for (size_t i = 0; i < ST_GROUPS; i++)
        names[i] = st_group_name((st_group)i);
    size_t found = name == NULL ? ST_GROUPS : st_text_at(names, ST_GROUPS, name);
    *group = found < ST_GROUPS ? (st_group)found : ST_GROUPS;
    if (name == NULL || found < ST_GROUPS)
        return ST_OK;
    return st_fail(errors, ST_ERR_USAGE, (st_place){0},
                   "unknown kind of traffic '%.40s'" ST_HINT "%s", name,
                   st_errors_nearest(errors, name, names, ST_GROUPS));
}

/* Of a job that was loaded for it. */
static st_status write(st_estimate *estimate, const st_traffic_request *asked,
                       const st_estimate_view *view, st_arena *arena, st_buffer *buffer,
                       st_errors *errors)
{
    st_traffic_report report;
    st_messages messages = {0};
    st_group only = ST_GROUPS;
    st_result result;
    st_status status = find_kind(asked->kind, &only, errors);
    bool lists = asked->messages && view->form <= ST_ESTIMATE_JSON;
    if (status == ST_OK && lists)
        status = st_messages_make(estimate, arena, &messages, errors);
    if (status == ST_OK)
        status = st_traffic_report_make(estimate, only, arena, &report, errors);
    if (status == ST_OK && asked->tokens != NULL)
        status = st_traffic_report_send_tokens(&report, asked->tokens, arena, errors);
    if (status == ST_OK && view->form == ST_ESTIMATE_SVG)
        return st_traffic_report_svg(&report, asked->linear, arena, buffer, errors);
    if (status == ST_OK && view->form == ST_ESTIMATE_CSV) {
        st_traffic_flows_csv(&report, buffer);
    } else if (status == ST_OK) {
        st_traffic_result(&report, arena, &result);
        if (lists)
            st_messages_result(&messages, &result);
        st_view_write(&result, view, buffer);
    }
    return status;
}

st_status st_traffic_write(st_estimate *estimate, const st_traffic_request *request,
                           const st_estimate_view *view, st_buffer *buffer, st_errors *errors)
{
    const st_estimate_handle *handle = st_estimate_handle_of(estimate);
    st_traffic_request asked;
    st_estimate_view shown;
    st_request job;
    st_estimate loaded = {0};
    st_status status = st_sized_take(request, &asked, sizeof asked, errors);
    if (status == ST_OK)
        status = st_view_read(view, &shown, errors);
    if (status != ST_OK)
        return status;
    st_arena *arena = st_arena_create();
    if (arena == NULL || !st_handle_request(handle, arena, &job))
        status = st_out_of_memory(errors);
    if (status == ST_OK)
        status = st_estimate_load(handle->paths, &job, arena, &loaded, errors);
    if (status == ST_OK)
        status = write(&loaded, &asked, &shown, arena, buffer, errors);
    st_arena_destroy(arena);
    if (status != ST_OK)
        return status;
    return buffer->failed ? st_out_of_memory(errors) : ST_OK;
}
