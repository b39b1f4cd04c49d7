/* SPDX-License-Identifier: Apache-2.0 */
/* Layers by kind as keys of a job; see layer_kinds.h. */
#include "launch/import/layer_kinds.h"

#include "base/text.h"
#include "steptime/keys.h"
#include "steptime/tool/pattern.h"

#include <string.h>

st_layer_kinds st_layer_kinds_create(st_draft *draft, uint64_t layers)
{
    st_layer_kinds kinds = {0};
    if (layers == 0 || layers > ST_PATTERN_LAYERS)
        return kinds;
    kinds.mixers = st_draft_alloc(draft, layers + 1, sizeof(char));
    kinds.moe = st_draft_alloc(draft, layers + 1, sizeof(bool));
    if (kinds.mixers == NULL || kinds.moe == NULL)
        return kinds;
    memset(kinds.mixers, 'd', layers);
    kinds.count = layers;
    return kinds;
}

size_t st_layer_kinds_of(const st_layer_kinds *layers, char mixer)
{
    size_t count = 0;
    for (size_t i = 0; i < layers->count; i++)
        count += layers->mixers[i] == mixer ? 1 : 0;
    return count;
}

/* Leading dense layers, or one layer with experts in so many. */
static bool put_plain(st_draft *draft, const st_layer_kinds *layers, const char *origin)
{
    size_t dense = 0;
    while (dense < layers->count && !layers->moe[dense])
        dense++;
    size_t rest = dense;
    while (rest < layers->count && layers->moe[rest])
        rest++;
    if (dense == layers->count)
        return st_draft_count(draft, ST_KEY_MODEL_EXPERTS) ==
               0; /* else it has them and uses none */
    if (rest == layers->count) {
        if (dense > 0)
            st_draft_put_count(draft, ST_KEY_MODEL_DENSE_LAYERS, 0, dense, origin);
        return true;
    }
    for (size_t i = 0; i < layers->count; i++)
        if (layers->moe[i] != ((i + 1) % (dense + 1) == 0))
            return false;
    st_draft_put_count(draft, ST_KEY_MODEL_MOE_EVERY, 0, dense + 1, origin);
    return true;
}

void st_draft_put_layers(st_draft *draft, const st_layer_kinds *layers, const char *dense_origin,
                         const char *pattern_origin)
{
    if (layers->count == 0 ||
        (st_layer_kinds_of(layers, 'd') == layers->count && put_plain(draft, layers, dense_origin)))
        return;
    char *letters = st_draft_alloc(draft, layers->count + 1, sizeof(char));
    for (size_t i = 0; letters != NULL && i < layers->count; i++) {
        char mixer = layers->mixers[i];
        char with_experts = mixer == 'x' ? 'y' : mixer == 'g' ? 'h' : 'e';
        letters[i] = layers->moe[i] ? with_experts : mixer;
    }
    if (letters != NULL)
        st_draft_put_pattern(draft, letters, pattern_origin);
}

void st_draft_put_pattern(st_draft *draft, const char *letters, const char *origin)
{
    st_buffer text = {0};
    st_pattern_write(letters, strlen(letters), &text);
    st_draft_put(draft, ST_KEY_MODEL_PATTERN, 0, st_draft_keep(draft, &text), origin);
}
