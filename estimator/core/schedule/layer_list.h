/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Layer lists: the parameter tensors of a network in the order of its forward pass.
 *
 * A list is a YAML file in configs/layers. Groups may be repeated, so that ResNet-152 is as short
 * as its table in the paper:
 *
 *   layers: NAME
 *   title: ...
 *   source: ...
 *   unit: sample            # or token: what the FLOP of a layer are counted for
 *   list:
 *     - {name: conv1, parameters: [9408], flop: 236027904}
 *     - {name: relu1, kept: 802816, output: 802816, moved: [1605632, 0], kernels: [1, 0]}
 *     - repeat: 3
 *       list: [...]
 */
#ifndef STEPTIME_SCHEDULE_LAYER_LIST_H
#define STEPTIME_SCHEDULE_LAYER_LIST_H

#include "steptime/paths.h"

enum { ST_UNCOMPILED, ST_COMPILED, ST_COMPILATIONS };

/*
 * A parameter tensor. The work and activations of a layer belong to its first tensor, per unit;
 * layers without parameters count with the one before them, or with the first.
 */
typedef struct st_tensor {
    double parameters;
    double forward_flop;
    double kept;                     /* values for the backward pass */
    double output;                   /* values passed to the next layer */
    double moved[ST_COMPILATIONS];   /* values that kernels without products read and write */
    double kernels[ST_COMPILATIONS]; /* that the host launches, whatever the unit */
    bool begins;                     /* first tensor of its layer */
} st_tensor;

typedef struct st_layers {
    const char *name;
    const char *title;
    const char *source;
    bool per_token;     /* FLOP are per token, else per sample */
    st_tensor *tensors; /* forward order */
    size_t count;
    double parameters;
    double forward_flop;
    double moved[ST_COMPILATIONS];
    double kernels[ST_COMPILATIONS];
} st_layers;

/* Reads a list by name or path; reports all errors with their places. */
st_status st_layers_load(const st_paths *paths, const char *name, st_place place, st_arena *arena,
                         const st_layers **layers, st_errors *errors) ST_NODISCARD;

#endif
