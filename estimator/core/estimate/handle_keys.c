/* SPDX-License-Identifier: Apache-2.0 */
/* Keys of the job that an estimate has; see steptime/estimate.h. */
#include "estimate/handle.h"

#include "base/memory.h"
#include "base/sized_struct.h"
#include "job/keys.h"

#include <math.h>
#include <string.h>

/* What the sheet's input of a key got; NULL where no input reads it. */
static const st_bound_input *input_of(const st_estimate_handle *handle, const char *path)
{
    for (size_t i = 0; i < handle->estimate.input_count; i++)
        if (strcmp(handle->inputs[i].input->from, path) == 0)
            return &handle->inputs[i];
    return NULL;
}

static st_key_kind kind_of(const st_type *type)
{
    static const st_key_kind kinds[] = {[ST_TYPE_BOOL] = ST_KEY_BOOL, [ST_TYPE_ENUM] = ST_KEY_ENUM};
    if (type->kind != ST_TYPE_NUMBER)
        return kinds[type->kind];
    return strcmp(type->unit.text, "1") == 0 ? ST_KEY_NUMBER : ST_KEY_QUANTITY;
}

/* A value that the job does not have and the sheet assumes. */
static bool show_default(st_estimate_handle *handle, const st_bound_input *bound,
                         st_estimate_key *found)
{
    char text[ST_QUANTITY_TEXT];
    st_arena *arena = st_handle_results(handle);
    st_type_format(&bound->input->type, bound->value, ST_STYLE_EXACT, text, sizeof text);
    found->text = arena != NULL ? st_arena_copy(arena, text, strlen(text)) : NULL;
    return found->text != NULL;
}

st_status st_estimate_read_key(st_estimate *estimate, const char *path, st_estimate_key *key,
                               st_errors *errors)
{
    st_estimate_handle *handle = st_estimate_handle_of(estimate);
    st_target target;
    st_status status = st_target_find(path, (st_place){0}, &target, errors);
    if (status != ST_OK)
        return status;
    const st_job_value *value = st_job_value_of(estimate->job, path);
    const st_bound_input *bound = input_of(handle, path);
    const char *section = st_job_section_name(estimate->job, path);
    bool has_value = value != NULL && value->origin != ST_ORIGIN_NONE;
    if (target.key == NULL && target.section == NULL && !has_value && bound == NULL)
        return st_fail(errors, ST_ERR_USAGE, (st_place){0},
                       "'%.100s' is neither in the job nor in sheet %s", path,
                       st_sheet_name(estimate->sheet));
    st_estimate_key found = {
        .path = path, .doc = "", .unit = "", .text = "", .value = (double)NAN, .kind = ST_KEY_TEXT};
    if (target.section != NULL && section != NULL) {
        found.text = section;
        found.is_given = true;
    }
    if (target.key != NULL) {
        found.kind = target.key->kind;
        found.doc = st_or_none(target.key->doc);
        found.unit = found.kind == ST_KEY_QUANTITY ? target.key->unit : "";
    } else if (bound != NULL) {
        found.kind = kind_of(&bound->input->type);
        found.doc = st_or_none(bound->input->doc);
        found.unit = found.kind == ST_KEY_QUANTITY ? bound->input->type.unit.text : "";
    }
    if (has_value) {
        found.text = st_or_none(value->text);
        found.is_given = !value->assumption;
        found.value = value->number;
    }
    if (bound != NULL)
        found.value = bound->value;
    if (found.kind == ST_KEY_TEXT || found.kind == ST_KEY_ENUM)
        found.value = (double)NAN;
    if (bound != NULL && !has_value && !show_default(handle, bound, &found))
        return st_out_of_memory(errors);
    return st_sized_give(&found, sizeof found, key, errors);
}
