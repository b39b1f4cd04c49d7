/* SPDX-License-Identifier: Apache-2.0 */
/* Layer times of a trace as samples: the shape is that of the job which was traced. */
#include "kernel-times/fit/layer_times.h"

#include "steptime/tool/estimates.h"

#include <ctype.h>
#include <math.h>
#include <string.h>

/* What is asked of the sheet behind the features of a shape; that of MoE layers comes last. */
enum {
    FORWARD = ST_TIMES_WIDTH + 1,
    BACKWARD,
    OPTIMIZER,
    PARAMETERS,
    PEAK,
    BANDWIDTH,
    LAYERS,
    MOE_LAYERS,
    FORWARD_MOE,
    BACKWARD_MOE,
    EXPERTS, /* the features of MoE layers, in their order */
    ASKED = EXPERTS + ST_TIMES_FEATURES - ST_TIMES_EXPERTS
};

static const st_role_part roles[ASKED] = {
    ST_TIME_SHAPE_ROLES,
    [FORWARD] = {ST_ROLE_LAYER_TIME, ST_LAYER_TIME_FORWARD},
    [BACKWARD] = {ST_ROLE_LAYER_TIME, ST_LAYER_TIME_BACKWARD},
    [OPTIMIZER] = {.role = ST_ROLE_OPTIMIZER},
    [PARAMETERS] = {.role = ST_ROLE_UPDATED},
    [PEAK] = {.role = ST_ROLE_PEAK_RATE},
    [BANDWIDTH] = {.role = ST_ROLE_MEMORY_BANDWIDTH},
    [LAYERS] = {.role = ST_ROLE_LAYERS},
    [MOE_LAYERS] = {.role = ST_ROLE_MOE_LAYERS},
    [FORWARD_MOE] = {ST_ROLE_LAYER_TIME, ST_LAYER_TIME_MOE_FORWARD},
    [BACKWARD_MOE] = {ST_ROLE_LAYER_TIME, ST_LAYER_TIME_MOE_BACKWARD},
    [EXPERTS] = {ST_ROLE_MOE_SHAPE, 0},
    [EXPERTS + 1] = {ST_ROLE_MOE_SHAPE, 1},
    [EXPERTS + 2] = {ST_ROLE_MOE_SHAPE, 2},
    [EXPERTS + 3] = {ST_ROLE_MOE_SHAPE, 3},
    [EXPERTS + 4] = {.role = ST_ROLE_EP},
    [EXPERTS + 5] = {.role = ST_ROLE_EXPERT_TP}};

/* A device's name in the words of the files: "NVIDIA A100-SXM4-80GB" as "a100-sxm-80gb". */
static void plain_name(const char *name, char *text, size_t size)
{
    size_t used = 0;
    name += strncmp(name, "NVIDIA ", 7) == 0 ? 7 : 0;
    for (; *name != '\0' && used + 1 < size; name++) {
        bool is_generation =
            isdigit((unsigned char)*name) && used >= 3 && strncmp(text + used - 3, "sxm", 3) == 0;
        if (!is_generation)
            text[used++] = (char)(*name == ' ' ? '-' : tolower((unsigned char)*name));
    }
    text[used] = '\0';
}

typedef struct taken_time {
    st_times_cell cell;
    double closed;
    double seconds;
} taken_time;

static st_status add(const taken_time *time, const double *values, st_arena *arena,
                     st_time_sets *sets, st_errors *errors)
{
    static const st_times_piece whole[] = {ST_TIMES_WHOLE};
    bool has[ST_TIMES_FEATURES] = {false};
    bool is_layer = time->cell != ST_TIMES_OF_OPTIMIZER;
    bool is_moe = is_layer && values[MOE_LAYERS] > 0;
    st_time_sample sample = {.repeats = 1};
    if (!(time->seconds > 1e-9))
        return ST_OK;
    for (size_t i = 0; i < ST_TIMES_FEATURES; i++) {
        has[i] = is_layer && i <= ST_TIMES_WIDTH;
        sample.shape.features[i] = has[i] ? values[i] : (double)NAN;
    }
    for (size_t i = ST_TIMES_EXPERTS; i < ST_TIMES_FEATURES && is_moe; i++) {
        has[i] = true;
        sample.shape.features[i] = values[EXPERTS + i - ST_TIMES_EXPERTS];
    }
    has[ST_TIMES_CLOSED] = true;
    has[ST_TIMES_PARAMETERS] = !is_layer;
    sample.shape.features[ST_TIMES_CLOSED] = time->closed;
    if (!is_layer)
        sample.shape.features[ST_TIMES_PARAMETERS] = values[PARAMETERS];
    sample.times[0] = time->seconds;
    st_time_set *set = st_time_set_of(sets, time->cell, has, whole, 1);
    return set != NULL ? st_time_add(set, &sample, arena, errors)
                       : st_fail(errors, ST_ERR_VALUE, (st_place){0},
                                 "a profile cannot hold both traces and tables");
}

st_status st_trace_layers_take(const st_trace_layers *layers, const st_paths *paths,
                               const char *job, st_arena *arena, st_time_sets *sets,
                               st_errors *errors)
{
    static const st_role_list wanted = {roles, ASKED, "layer times of a trace need"};
    double values[ASKED];
    const st_request request = {.job = job};
    st_status status = st_estimate_roles(paths, &request, &wanted, arena, values, errors);
    if (status == ST_OK) {
        /* The GPU is the job's; a trace that says it was another one is refused. */
        char name[ST_TIMES_NAME];
        st_time_sets named = {.count = 0};
        plain_name(layers->gpu != NULL ? layers->gpu : "", name, sizeof name);
        if (name[0] != '\0' &&
            st_time_gpu(paths, name, (st_place){0}, arena, &named, NULL) == ST_OK &&
            fabs(named.peak - values[PEAK]) > 0.02 * values[PEAK]) {
            status = st_fail(errors, ST_ERR_VALUE, (st_place){0},
                             "the trace was recorded on %s, but the job runs on another GPU" ST_HINT
                             "give the traced job with --job",
                             named.gpu);
        } else {
            sets->gpu = named.gpu != NULL ? named.gpu : name[0] != '\0' ? layers->gpu : "the job's";
            sets->peak = values[PEAK];
            sets->bandwidth = values[BANDWIDTH];
        }
    }
    if (status != ST_OK)
        return status;
    bool moe = values[MOE_LAYERS] > 0;
    if (moe && values[MOE_LAYERS] < values[LAYERS])
        return st_fail(errors, ST_ERR_VALUE, (st_place){0},
                       "the job has dense and MoE layers, and a trace does not show which of them "
                       "repeat" ST_EXPECTED "layers of one kind");
    /* A stage of a pipeline, or a chunk of one, has a part of them. */
    if (fmod(values[LAYERS], layers->layers) != 0)
        st_report(errors, ST_SEVERITY_WARNING, ST_ERR_VALUE, (st_place){.file = "--job"},
                  "the job has %.0f layers, but kernels of the trace repeat %u times; is it the "
                  "recorded job?",
                  values[LAYERS], layers->layers);
    const st_layer_runs *passes = layers->passes;
    double again = values[ST_TIMES_PASSES] > 1 ? passes[ST_LAYER_FORWARD].computation_s : 0;
    const taken_time times[] = {
        {moe ? ST_TIMES_OF_FORWARD_MOE : ST_TIMES_OF_FORWARD, values[moe ? FORWARD_MOE : FORWARD],
         passes[ST_LAYER_FORWARD].computation_s},
        {moe ? ST_TIMES_OF_BACKWARD_MOE : ST_TIMES_OF_BACKWARD,
         values[moe ? BACKWARD_MOE : BACKWARD],
         layers->pass_count == ST_LAYER_PASSES ? passes[ST_LAYER_BACKWARD].computation_s - again
                                               : 0},
        {ST_TIMES_OF_OPTIMIZER, values[OPTIMIZER],
         isnan(layers->optimizer_s) ? 0 : layers->optimizer_s}};
    for (size_t i = 0; i < ST_COUNT(times) && status == ST_OK; i++)
        status = add(&times[i], values, arena, sets, errors);
    return status;
}
