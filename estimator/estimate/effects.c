/* SPDX-License-Identifier: Apache-2.0 */
/* See effects.h. A run takes a microsecond or two, so that nothing is spared. */
#include "estimate/effects.h"

#include <math.h>
#include <string.h>

typedef struct trial {
    const st_estimate *estimate;
    st_workspace *workspace;
    double *inputs;
    double *outputs;
} trial;

/* Something of the cluster that money buys more of, as against a count or a name. */
static bool is_of_cluster(const st_bound_input *bound)
{
    const st_key *key = st_key_find(bound->input->from);
    return key != NULL && strncmp(key->path, "cluster.", 8) == 0 &&
           (key->kind == ST_KEY_QUANTITY || key->kind == ST_KEY_NUMBER);
}

static bool differs(double before, double after)
{
    return !(before == after) && !(isnan(before) && isnan(after));
}

/* Runs with another value of one input. */
static st_status try_value(const trial *own, size_t index, double value, st_effect *effect)
{
    const st_estimate *estimate = own->estimate;
    double kept = own->inputs[index];
    own->inputs[index] = value;
    st_status status =
        st_program_run_one(estimate->program, own->workspace, own->inputs, own->outputs, NULL);
    own->inputs[index] = kept;
    for (size_t i = 0; status == ST_OK && i < estimate->shown_count; i++)
        effect->anywhere = effect->anywhere || differs(estimate->shown[i].value, own->outputs[i]);
    return status;
}

static st_status try_number(const trial *own, size_t index, st_effect *effect)
{
    const st_estimate *estimate = own->estimate;
    double value = own->inputs[index];
    if (value == 0.0)
        return ST_OK;
    st_status status = try_value(own, index, value * ST_EFFECT_FACTOR, effect);
    bool has_headline =
        estimate->shown_count > 0 && estimate->shown[0].type->kind == ST_TYPE_NUMBER;
    if (status == ST_OK && has_headline && estimate->shown[0].value != 0.0)
        effect->change = own->outputs[0] / estimate->shown[0].value - 1;
    return status;
}

static st_status try_input(const trial *own, size_t index, st_effect *effect)
{
    const st_type *type = &effect->input->input->type;
    if (type->kind == ST_TYPE_NUMBER)
        return try_number(own, index, effect);
    size_t values = type->kind == ST_TYPE_BOOL ? 2 : type->enumeration->count;
    st_status status = ST_OK;
    for (size_t i = 0; i < values && status == ST_OK; i++)
        status = try_value(own, index, (double)i, effect);
    return status;
}

st_status st_estimate_find_effects(st_estimate *estimate, st_arena *arena)
{
    size_t count = estimate->input_count;
    st_effect *list = st_arena_alloc(arena, count + 1, sizeof *list);
    trial own = {
        .estimate = estimate,
        .workspace = st_workspace_create(estimate->program),
        .inputs = st_arena_alloc(arena, count + 1, sizeof *own.inputs),
        .outputs = st_arena_alloc(arena, estimate->shown_count + 1, sizeof *own.outputs),
    };
    st_status status = ST_ERR_MEMORY;
    if (list == NULL || own.workspace == NULL || own.inputs == NULL || own.outputs == NULL)
        goto cleanup;
    status = ST_OK;
    for (size_t i = 0; i < count; i++)
        own.inputs[i] = estimate->input_values[i];
    for (size_t i = 0; i < count && status == ST_OK; i++) {
        list[i].input = &estimate->inputs[i];
        list[i].is_cluster = is_of_cluster(&estimate->inputs[i]);
        status = try_input(&own, i, &list[i]);
    }
    if (status == ST_OK)
        estimate->effects = list;
cleanup:
    st_workspace_destroy(own.workspace);
    return status;
}
