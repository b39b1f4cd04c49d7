/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What a framework asserts at its start: the checks of configs/launches/FRAMEWORK-rules.yaml, a
 * sheet whose inputs are keys of the job and what this file adds as constants.
 */
#include "launch/frameworks/settings.h"

#include "steptime/keys.h"
#include "steptime/sheet.h"
#include "steptime/tool/pattern.h"
#include "steptime/tool/programs.h"

#include <stdlib.h>
#include <string.h>

static st_status read_rules(void *context, const char *name, st_place place, st_arena *arena,
                            st_source *source, st_errors *errors)
{
    const fw_start *start = context;
    return st_paths_read(start->paths, ST_FOLDER_LAUNCHES, name, place, arena, source, errors);
}

/* 1600 for "0.16", 202 for "0.2.2". */
static double release_number(const char *version)
{
    double number = 0;
    for (long weight = 10000; weight >= 1; weight /= 100) {
        char *end = NULL;
        number += (double)weight * (double)strtol(version, &end, 10);
        version = *end == '.' ? end + 1 : end;
    }
    return number;
}

/* A layout has chunks of its own. */
static double chunks_of(const st_job *job, st_arena *arena)
{
    const st_layout_needs needs = {.pp = st_job_number(job, ST_KEY_PARALLEL_PP),
                                   .layers = st_job_number(job, ST_KEY_MODEL_LAYERS),
                                   .mtp = st_job_number(job, ST_KEY_MODEL_MTP)};
    st_layout layout = {0};
    if (fw_is(job, ST_KEY_PARALLEL_LAYOUT, "*") &&
        st_layout_read(st_job_value_of(job, ST_KEY_PARALLEL_LAYOUT)->text, &needs, arena, &layout,
                       NULL) == ST_OK)
        return (double)layout.virtual_stages;
    return st_job_number(job, ST_KEY_PARALLEL_VIRTUAL_STAGES);
}

static double added(const st_job *job, st_framework framework, const fw_release *release,
                    const char *name, st_arena *arena)
{
    if (strcmp(name, "release") == 0)
        return release_number(release->version);
    if (strcmp(name, "chunks") == 0)
        return chunks_of(job, arena);
    if (strcmp(name, "has_layout") == 0)
        return fw_is(job, ST_KEY_PARALLEL_LAYOUT, "*") || fw_ends_layout(job, arena) != NULL;
    if (strcmp(name, "yarn") == 0)
        return strncmp(st_job_text(job, ST_KEY_MODEL_ROPE_SCALING), "yarn ", 5) == 0 &&
               st_job_number(job, ST_KEY_MODEL_KV_LORA) == 0;
    return fw_is(job, ST_KEY_MODEL_HYBRID, "true") && framework == ST_MEGATRON &&
           fw_release_has(release, "hybrid-layer-pattern");
}

/* The value of an input: of the job, or of the sheet where the job is silent. */
static double value_of(const st_job *job, const st_sheet_input *input)
{
    const st_job_value *value = st_job_value_of(job, input->from);
    if (value == NULL || value->origin == ST_ORIGIN_NONE)
        return input->default_value;
    if (input->type.kind != ST_TYPE_ENUM)
        return value->number;
    double number = 0;
    while ((size_t)number < input->type.enumeration->count &&
           !fw_is(job, input->from, input->type.enumeration->values[(size_t)number]))
        number++;
    return number;
}

static double word_of(const st_sheet_input *input, const char *word)
{
    size_t i = 0;
    while (i < input->type.enumeration->count &&
           strcmp(input->type.enumeration->values[i], st_or_none(word)) != 0)
        i++;
    return (double)i;
}

static st_status verify(st_framework framework, const fw_start *start, st_arena *arena,
                        st_errors *found)
{
    static const char *const none[] = {NULL};
    const st_program_options options = {.outputs = none};
    fw_start context = *start;
    const st_sheet_reader reader = {.read = read_rules, .context = &context};
    const st_sheet *sheet = NULL;
    const st_program *program = NULL;
    const char *name = st_arena_printf(arena, "%s-rules", st_framework_name(framework));
    st_status status =
        name != NULL ? st_sheet_load(&reader, name, arena, &sheet, found) : st_out_of_memory(found);
    if (status == ST_OK)
        status = st_program_compile(sheet, &options, arena, &program, found);
    if (status != ST_OK)
        return status;
    size_t count = 0;
    const st_sheet_input *inputs = st_sheet_inputs(sheet, &count);
    double *values = st_arena_alloc(arena, count + 1, sizeof *values);
    if (values == NULL)
        return st_out_of_memory(found);
    const size_t prefix = strlen(ST_KEY_CONSTANTS ".");
    for (size_t i = 0; i < count; i++)
        if (strcmp(inputs[i].from, ST_KEY_CONSTANTS ".family") == 0)
            values[i] = word_of(&inputs[i], start->family);
        else
            values[i] =
                strncmp(inputs[i].from, ST_KEY_CONSTANTS ".", prefix) == 0
                    ? added(start->job, framework, start->release, inputs[i].from + prefix, arena)
                    : value_of(start->job, &inputs[i]);
    return st_program_verify(program, values, found);
}

st_status fw_check_start(st_framework framework, const fw_start *start, st_errors *errors)
{
    st_arena *arena = st_arena_create();
    st_errors *found = st_errors_create();
    st_status status = arena != NULL && found != NULL ? verify(framework, start, arena, found)
                                                      : st_out_of_memory(errors);
    for (size_t i = 0; found != NULL && i < st_errors_size(found) && status != ST_OK; i++) {
        const st_error *error = st_errors_at(found, i);
        if (error->severity != ST_SEVERITY_ERROR)
            continue;
        if (status == ST_ERR_CHECK)
            (void)st_fail(errors, ST_ERR_VALUE, (st_place){0}, "%s cannot run %s",
                          fw_title(framework), error->message);
        else
            (void)st_errors_add(errors, error);
    }
    st_errors_destroy(found);
    st_arena_destroy(arena);
    return status == ST_ERR_CHECK ? ST_ERR_VALUE : status;
}
