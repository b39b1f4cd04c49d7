/* SPDX-License-Identifier: Apache-2.0 */
/* See ends_layout.h. */
#include "launch/import/ends_layout.h"

#include <string.h>

/* Stages whose layers are not given. */
static size_t others_of(const st_ends *ends)
{
    size_t given = (ends->first > 0 ? 1U : 0U) + (ends->last > 0 ? 1U : 0U);
    return ends->stages > given ? ends->stages - given : 0;
}

/* Stages between the ends share what these leave as evenly as can be. */
static size_t layers_of_stage(const st_ends *ends, size_t stage)
{
    bool at_first = stage == 0 && ends->first > 0;
    bool at_last = stage + 1 == ends->stages && ends->last > 0;
    size_t others = others_of(ends);
    size_t place = stage - (ends->first > 0 ? 1 : 0);
    size_t rest = ends->layers - ends->first - ends->last;
    if (at_first || at_last)
        return at_first ? ends->first : ends->last;
    return others > 0 ? (place + 1) * rest / others - place * rest / others : 0;
}

const char *st_ends_layout(const st_ends *ends, st_arena *arena)
{
    st_buffer text = {0};
    size_t others = others_of(ends);
    bool given = ends->first > 0 || ends->last > 0;
    if (!given || ends->stages < 2 || ends->first + ends->last > ends->layers)
        return NULL;
    if (ends->first % ends->chunks == 0 && ends->last % ends->chunks == 0 &&
        (others <= 0 || (ends->layers - ends->first - ends->last) % others == 0))
        return NULL;
    st_buffer_text(&text, "E");
    for (size_t i = 0; i < ends->stages * ends->chunks; i++) {
        st_buffer_text(&text, i > 0 ? "|" : "");
        /* Of the first stage the last chunks have one more than others, else the first ones. */
        const size_t stage = i % ends->stages;
        const size_t chunk = i / ends->stages;
        size_t chunk_layers = layers_of_stage(ends, stage);
        size_t place = stage == 0 ? ends->chunks - 1 - chunk : chunk;
        const size_t layers =
            chunk_layers / ends->chunks + (place < chunk_layers % ends->chunks ? 1 : 0);
        if (layers > 0)
            st_buffer_printf(&text, layers > 1 ? "t*%zu" : "t", layers);
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
    const char *made = st_ends_layout(ends, arena);
    return made != NULL && strcmp(made, text) == 0;
}
