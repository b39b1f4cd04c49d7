/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Roles: what the rest of steptime may ask a sheet for, whatever the sheet calls it.
 *
 * A sheet's `roles:` say which of its cells or inputs fills which role. The table below is the only
 * list of them: docs/sheet-language.md shows it, loading checks names and units against it.
 */
#ifndef STEPTIME_TOOL_ROLES_H
#define STEPTIME_TOOL_ROLES_H

#include "steptime/sheet.h"

typedef enum st_role {
    /* what a step takes and costs */
    ST_ROLE_STEP,
    ST_ROLE_MEMORY,
    ST_ROLE_FITS,
    ST_ROLE_MFU,
    ST_ROLE_HFU,
    ST_ROLE_COMMUNICATION,
    ST_ROLE_TOKENS,
    ST_ROLE_PRICE,
    ST_ROLE_COST,
    ST_ROLE_ENERGY,
    /* groups and their place */
    ST_ROLE_TP,
    ST_ROLE_CP,
    ST_ROLE_DP,
    ST_ROLE_PP,
    ST_ROLE_EP,
    ST_ROLE_EXPERT_TP,
    ST_ROLE_GPUS_PER_NODE,
    ST_ROLE_TP_PER_NODE,
    ST_ROLE_CP_PER_NODE,
    ST_ROLE_DP_PER_NODE,
    ST_ROLE_EP_PER_NODE,
    ST_ROLE_EXPERT_DP_PER_NODE,
    ST_ROLE_STAGES_CROSSING,
    ST_ROLE_SENT,
    ST_ROLE_HANDED,
    ST_ROLE_MESSAGES,
    ST_ROLE_MESSAGE_BYTES,
    ST_ROLE_STAGE_ASKED,
    ST_ROLE_CHUNK_ASKED,
    ST_ROLE_EXPERT_LOAD,
    ST_ROLE_EXPERT_JOINED,
    /* a step laid out: how many of what */
    ST_ROLE_MICRO_BATCHES,
    ST_ROLE_CHUNKS,
    ST_ROLE_LAYERS,
    ST_ROLE_MOE_LAYERS,
    ST_ROLE_STAGE_LAYERS,
    ST_ROLE_PLACED_LAYERS,
    ST_ROLE_LAYERS_GIVEN,
    ST_ROLE_BALANCED_LAYOUT,
    ST_ROLE_REPLAYED_PLAN,
    /* passes of a micro-batch by what they consist of, as in st_schedule_part */
    ST_ROLE_LAYER_FORWARD,
    ST_ROLE_LAYER_BACKWARD,
    ST_ROLE_LAYER_WEIGHTS,
    ST_ROLE_MOE_LAYER_FORWARD,
    ST_ROLE_MOE_LAYER_BACKWARD,
    ST_ROLE_MOE_LAYER_WEIGHTS,
    ST_ROLE_EMBEDDING_FORWARD,
    ST_ROLE_EMBEDDING_BACKWARD,
    ST_ROLE_EMBEDDING_WEIGHTS,
    ST_ROLE_HEAD_FORWARD,
    ST_ROLE_HEAD_BACKWARD,
    ST_ROLE_HEAD_WEIGHTS,
    /* what surrounds the passes */
    ST_ROLE_SITE_FACTOR,
    ST_ROLE_TRANSFER,
    ST_ROLE_GRADIENTS_SPLIT,
    ST_ROLE_REDUCE_PER_PASS,
    ST_ROLE_GATHER_PER_PASS,
    ST_ROLE_REDUCE_AT_END,
    ST_ROLE_GATHER_AT_END,
    ST_ROLE_PREFETCH,
    ST_ROLE_TIED,
    ST_ROLE_OPTIMIZER,
    ST_ROLE_OVERHEAD,
    ST_ROLE_SLOWDOWN_AT_END,
    ST_ROLE_SLOWED,
    ST_ROLE_DATA_RATE,
    ST_ROLE_HELD_FOR_WEIGHTS,
    ST_ROLE_BUCKET_BYTES,
    ST_ROLE_BUCKET_SIZES,
    ST_ROLE_BUCKET_TIMES,
    ST_ROLE_BUCKETS,
    ST_ROLE_UNIT_BYTES,
    ST_ROLE_UNIT_SIZES,
    ST_ROLE_UNIT_TIMES,
    ST_ROLE_UNIT_COLLECTIVES,
    /* a layer, for what grows with it */
    ST_ROLE_LAYER_WORK,
    ST_ROLE_LAYER_COUNTS,
    ST_ROLE_LAYER_PARAMETERS,
    ST_ROLE_PARAMETERS,
    /* what the sheet's own step consists of */
    ST_ROLE_STEP_TERMS,
    ST_ROLE_SPENT,
    ST_ROLE_SPENT_HIDDEN,
    ST_ROLE_HIDDEN_IN_PASSES,
    /* a layer, for what was measured of it */
    ST_ROLE_LAYER_SHAPE,
    ST_ROLE_MOE_SHAPE,
    ST_ROLE_WEIGHT_BYTES,
    ST_ROLE_LAYER_TIME,
    ST_ROLE_LAYER_PARTS,
    ST_ROLE_UPDATED,
    ST_ROLE_PEAK_RATE,
    ST_ROLE_MEMORY_BANDWIDTH,
    /* memory through a step */
    ST_ROLE_HELD_WEIGHTS,
    ST_ROLE_HELD_GRADIENTS,
    ST_ROLE_HELD_OPTIMIZER,
    ST_ROLE_HELD_BUFFERS,
    ST_ROLE_HELD_GATHERED,
    ST_ROLE_HELD_BY_PASS,
    ST_ROLE_HELD_EMBEDDING,
    ST_ROLE_FORWARD_MEMORY,
    ST_ROLE_BACKWARD_MEMORY,
    ST_ROLE_STAGE_MEMORY,
    ST_ROLE_IN_FLIGHT,
    ST_ROLE_ALLOCATION,
    ST_ROLE_FRAGMENTATION,
    ST_ROLE_FRAMEWORK_MEMORY,
    ST_ROLE_GPU_MEMORY,
    /* ranks that are not alike */
    ST_ROLE_VARIANCE,
    ST_ROLE_EXPECTED_STEP,
    ST_ROLES
} st_role;

enum { ST_ROLE_PARTS = 24 };

typedef struct st_role_row {
    const char *name;
    const char *unit;         /* a cell of any unit of that dimension can fill it; "bool" */
    const char *const *parts; /* what it consists of, ends with NULL; the first where one name fills
                                 it */
    const char *doc;
} st_role_row;

const st_role_row *st_role_describe(st_role role);
size_t st_role_part_count(st_role role);

/* The cell or input that fills a part of a role; NULL: none does. Roles without parts have one. */
const char *st_sheet_role_part(const st_sheet *sheet, st_role role, size_t part);
const char *st_sheet_role(const st_sheet *sheet, st_role role);

/* What reports show of a cell: NaN for a price or cost of 0, which says that it is not known. */
double st_sheet_known(const st_sheet *sheet, const char *cell, double value);

typedef struct st_role_part {
    st_role role;
    size_t part;
} st_role_part;

/* What somebody asks a sheet for. */
typedef struct st_role_list {
    const st_role_part *items;
    size_t count;
    const char *user; /* "a timeline needs" */
} st_role_list;

/* names[i]: the cell or input that fills an item; reports all items that the sheet does not fill.
 */
st_status st_sheet_need_roles(const st_sheet *sheet, const st_role_list *wanted, const char **names,
                              st_errors *errors) ST_NODISCARD;

#endif
