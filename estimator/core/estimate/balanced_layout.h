/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The layout of parallel.layout: auto, which deals a model out so that the busiest pipeline rank
 * has as little to do as can be. It follows from what layers and ends of the model cost in a row,
 * in whole steps of the dearest, packed into one number that sheets pass on
 * (docs/decisions/0075-balanced-layouts.md).
 */
#ifndef STEPTIME_ESTIMATE_BALANCED_LAYOUT_H
#define STEPTIME_ESTIMATE_BALANCED_LAYOUT_H

#include "estimate/stage_layers.h"

/* What packs: depths of multi-token prediction; costs of the embedding, of the output layer with
 * its loss, of one depth and of a layer of each kind, all in one unit. */
enum { ST_BALANCE_ARGUMENTS = 4 + ST_LAYER_KINDS, ST_BALANCE_DEPTHS = 15 /* at most */ };

/* NAN: more depths than there is room for. */
double st_balance_code(const st_stage_plan *plan, const double *arguments);

/* The depths of multi-token prediction in a layer count. */
double st_balance_depths(double code);

/* The layout of a division for such a number, 0: all layers cost the same. Lives until this thread
 * asks for another one. NULL: some place would be empty, or out of memory. */
const st_layout *st_balance_find(const st_stage_plan *plan, const st_division *division,
                                 double code);

/* The numbers of a division that no balanced layout can do without, in the order of the parts of
 * ST_ROLE_BALANCED_LAYOUT: stages, chunks, folded, layers, leading, every, costs. */
enum { ST_BALANCE_NUMBERS = 7 };
/* The layout as Megatron writes it. */
st_status st_balance_text(const st_stage_plan *plan, const double numbers[ST_BALANCE_NUMBERS],
                          st_arena *arena, const char **text, st_errors *errors) ST_NODISCARD;

/* The most chunks of each of `stages` stages that leave none empty; 0: even one does. */
double st_balance_most_chunks(double layers, double mtp, double stages);

#endif
