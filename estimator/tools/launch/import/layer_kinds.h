/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Layers that were read one by one, as keys of a job: the plain ones where they say it, a pattern
 * where they do not.
 */
#ifndef STEPTIME_IMPORT_LAYER_KINDS_H
#define STEPTIME_IMPORT_LAYER_KINDS_H

#include "launch/import/job_draft.h"

typedef struct st_layer_kinds {
    size_t count;
    char *mixers; /* letter of a layer with an MLP: d, x or g */
    bool *moe;    /* experts in place of the MLP */
} st_layer_kinds;

/* All layers d, without experts; count 0 when out of memory, which the draft remembers. */
st_layer_kinds st_layer_kinds_create(st_draft *draft, uint64_t layers);

size_t st_layer_kinds_of(const st_layer_kinds *layers, char mixer);

/* Puts model.dense_layers, model.moe_every or model.pattern, with what they come from. */
void st_draft_put_layers(st_draft *draft, const st_layer_kinds *layers, const char *dense_origin,
                         const char *pattern_origin);

/* Puts model.pattern in its shortest form. */
void st_draft_put_pattern(st_draft *draft, const char *letters, const char *origin);

#endif
