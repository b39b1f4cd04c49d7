/* SPDX-License-Identifier: Apache-2.0 */
/* See ends_layout.h. */
#include "launch/import/ends_layout.h"

#include <string.h>

/* Stages whose layers are not given. */
static size_t others_of(const st_ends *own)
{
    size_t ends = (own->first > 0 ? 1U : 0U) + (own->last > 0 ? 1U : 0U);
    return own->stages > ends ? own->stages - ends : 0;
}

static bool needs_layout(const st_ends *own)
{
    size_t others = others_of(own);
    bool given = own->first > 0 || own->last > 0;
    if (!given || own->stages < 2 || own->first + own->last > own->layers)
        return false;
    return own->first % own->chunks != 0 || own->last % own->chunks != 0 ||
           (others > 0 && (own->layers - own->first - own->last) % others != 0);
}

/* Stages between the ends share what these leave as evenly as can be. */
static size_t layers_of_stage(const st_ends *own, size_t stage)
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
static size_t layers_of_chunk(const st_ends *own, size_t stage, size_t chunk)
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

const char *st_ends_layout(const st_ends *ends, st_arena *arena)
{
    st_buffer text = {0};
    if (!needs_layout(ends))
        return NULL;
    st_buffer_text(&text, "E");
    for (size_t i = 0; i < ends->stages * ends->chunks; i++) {
        st_buffer_text(&text, i > 0 ? "|" : "");
        write_layers(layers_of_chunk(ends, i % ends->stages, i / ends->stages), &text);
    }
    for (size_t i = 0; i < ends->mtp; i++)
        st_buffer_text(&text, "m");
    st_buffer_text(&text, "L");
    const char *layout = text.failed ? NULL : st_arena_copy(arena, text.data, text.length);
    st_buffer_free(&text);
    return layout;
}

bool st_ends_of_layout(const char *text, const st_layout *layout, st_arena *arena, st_ends *ends)
{
    *ends = (st_ends){.chunks = layout->virtual_stages,
                      .stages = layout->count / layout->virtual_stages};
    for (size_t i = 0; i < layout->count; i++) {
        size_t stage = i % ends->stages;
        ends->layers += layout->stages[i].layers;
        ends->mtp += layout->stages[i].mtp;
        ends->first += stage == 0 ? layout->stages[i].layers : 0;
        ends->last += stage + 1 == ends->stages ? layout->stages[i].layers : 0;
    }
    const char *own = st_ends_layout(ends, arena);
    return own != NULL && strcmp(own, text) == 0;
}
