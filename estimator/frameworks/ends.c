/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Layers of the first and the last stage as a layout. Megatron cuts stages into equal chunks where
 * it is told the layers of their ends; other cuts it takes as a layout of every chunk
 * (pipeline_model_parallel_layout). What the ends lack, the chunks beside embedding and output go
 * without.
 */
#include "frameworks/settings.h"

#include "job/keys.h"

#include <string.h>

typedef struct ends_plan {
    size_t stages;
    size_t chunks;
    size_t layers;
    size_t first; /* 0: as the others */
    size_t last;
} ends_plan;

static size_t count_of(const st_job *job, const char *key)
{
    return (size_t)st_job_number(job, key);
}

/* Stages whose layers are not given. */
static size_t others_of(const ends_plan *own)
{
    size_t ends = (own->first > 0 ? 1U : 0U) + (own->last > 0 ? 1U : 0U);
    return own->stages > ends ? own->stages - ends : 0;
}

static bool needs_layout(const ends_plan *own)
{
    size_t others = others_of(own);
    bool given = own->first > 0 || own->last > 0;
    if (!given || own->stages < 2 || own->first + own->last > own->layers)
        return false;
    return own->first % own->chunks != 0 || own->last % own->chunks != 0 ||
           (others > 0 && (own->layers - own->first - own->last) % others != 0);
}

/* Stages between the ends share what these leave as evenly as can be. */
static size_t layers_of_stage(const ends_plan *own, size_t stage)
{
    bool at_first = stage == 0 && own->first > 0;
    bool at_last = stage + 1 == own->stages && own->last > 0;
    size_t others = others_of(own);
    size_t place = stage - (own->first > 0 ? 1 : 0);
    size_t rest = own->layers - own->first - own->last;
    if (at_first || at_last)
        return at_first ? own->first : own->last;
    return others > 0 ? (place + 1) * rest / others - place * rest / others : 0;
}

/* Of the first stage the last chunks have one more than others, else the first ones. */
static size_t layers_of_chunk(const ends_plan *own, size_t stage, size_t chunk)
{
    size_t layers = layers_of_stage(own, stage);
    size_t place = stage == 0 ? own->chunks - 1 - chunk : chunk;
    return layers / own->chunks + (place < layers % own->chunks ? 1 : 0);
}

static void write_layers(size_t layers, st_buffer *text)
{
    if (layers > 0)
        st_buffer_printf(text, layers > 1 ? "t*%zu" : "t", layers);
}

const char *fw_ends_layout(const st_job *job, st_arena *arena)
{
    const size_t chunks = count_of(job, "parallel.virtual_stages");
    const ends_plan own = {.stages = count_of(job, "parallel.pp"),
                           .chunks = chunks > 0 ? chunks : 1,
                           .layers = count_of(job, "model.layers"),
                           .first = count_of(job, "parallel.first_stage_layers"),
                           .last = count_of(job, "parallel.last_stage_layers")};
    st_buffer text = {0};
    if (!needs_layout(&own) || fw_has(job, "parallel.layout"))
        return NULL;
    st_buffer_text(&text, "E");
    for (size_t i = 0; i < own.stages * own.chunks; i++) {
        st_buffer_text(&text, i > 0 ? "|" : "");
        write_layers(layers_of_chunk(&own, i % own.stages, i / own.stages), &text);
    }
    for (size_t i = 0; i < count_of(job, "model.mtp"); i++)
        st_buffer_text(&text, "m");
    st_buffer_text(&text, "L");
    const char *layout = text.failed ? NULL : st_arena_copy(arena, text.data, text.length);
    st_buffer_free(&text);
    return layout;
}

bool fw_same_ends(const st_job *job, const st_draft *draft)
{
    const char *wanted = fw_ends_layout(job, draft->arena);
    const char *back = draft->values[st_key_index(st_key_find("parallel.layout"))].text;
    return wanted != NULL && back != NULL && strcmp(wanted, back) == 0;
}
