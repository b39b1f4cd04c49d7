/* SPDX-License-Identifier: Apache-2.0 */
/*
 * From the work of a stage to rows of SimAI: one for each layer of a pass of a micro-batch, forward
 * and backward side by side, and one for each message of data parallelism.
 */
#include "workload/simai.h"

#include "base/memory.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define TICKS_PER_NS (ST_TICKS_PER_S / 1e9)

/* Collectives of a pass. */
enum { MESSAGE_TP, MESSAGE_EP, MESSAGES };

/* A layer of a pass; gradients of weights send nothing of their own. */
typedef struct layer {
    int64_t ticks[ST_SIMAI_COLUMNS];
    uint64_t bytes[ST_SIMAI_WEIGHTS][MESSAGES];
} layer;

typedef struct maker {
    const st_workload *workload;
    const st_work_stage *stage;
    st_arena *arena;
    st_errors *errors;
    st_simai *simai;
    size_t chunks;
    size_t micros;
    size_t depth;                   /* layers of a pass, at most */
    uint32_t *forward_layers;       /* by pass */
    uint32_t *seen;                 /* by pass and column: layers that have begun */
    layer *layers;                  /* by pass and layer */
    double ticks[ST_SIMAI_COLUMNS]; /* of all rows before */
    uint64_t tied_bytes;
} maker;

/* Which pass a node belongs to, by its name: "F 3", or "B 3.1" with the chunk. */
typedef struct pass_name {
    st_simai_column column;
    size_t micro; /* from 0, as the chunk */
    size_t chunk;
} pass_name;

static bool read_pass(const st_work_node *node, pass_name *pass)
{
    static const char letters[] = "FBW";
    const char *letter = strchr(letters, node->name[0]);
    if (letter == NULL || *letter == '\0' || node->name[1] != ' ')
        return false;
    char *end = NULL;
    unsigned long micro = strtoul(node->name + 2, &end, 10);
    unsigned long chunk = *end == '.' ? strtoul(end + 1, &end, 10) : 1;
    *pass = (pass_name){(st_simai_column)(letter - letters), micro - 1, chunk - 1};
    return *end == '\0' && micro > 0 && chunk > 0;
}

/* A layer begins with the computation of the pass itself. */
static bool begins_layer(const st_work_node *node)
{
    return node->type == ST_CHAKRA_COMP && node->is_pass;
}

static size_t place_of(const maker *make, const pass_name *pass)
{
    return pass->micro * make->chunks + pass->chunk;
}

/* ---- rows ---- */

/* Rounded from the begin of all rows to the end of this one, so that no sum is off by more than 1.
 */
static uint64_t whole_ns(maker *make, st_simai_column column, int64_t ticks)
{
    double before = make->ticks[column];
    make->ticks[column] += (double)ticks;
    return (uint64_t)(llround(make->ticks[column] / TICKS_PER_NS) - llround(before / TICKS_PER_NS));
}

/* Data parallelism, the optimizer and other work outside passes. */
static void append_end(maker *make, const st_work_node *node)
{
    static const st_simai_kind kinds[] = {[ST_CHAKRA_ALL_REDUCE] = ST_SIMAI_ALL_REDUCE,
                                          [ST_CHAKRA_ALL_GATHER] = ST_SIMAI_ALL_GATHER,
                                          [ST_CHAKRA_ALL_TO_ALL] = ST_SIMAI_ALL_TO_ALL,
                                          [ST_CHAKRA_REDUCE_SCATTER] = ST_SIMAI_REDUCE_SCATTER};
    const st_placement *placement = &make->workload->placement;
    char *name = st_arena_printf(make->arena, "%s", node->name);
    st_simai_row row = {.name = name};
    st_simai_work *work = &row.work[ST_SIMAI_WEIGHTS];
    for (char *at = name; *at != '\0'; at++)
        *at = *at == ' ' ? '_' : *at;
    if (node->type == ST_CHAKRA_COMP) {
        work->compute_ns = whole_ns(make, ST_SIMAI_WEIGHTS, node->duration);
    } else {
        bool experts = node->group == ST_GROUP_EXPERT_DP && !placement->experts_unfolded;
        work->kind = kinds[node->collective];
        work->group = experts ? ST_GROUP_EXPERT_DP : ST_GROUP_DP;
        bool gathers = work->kind == ST_SIMAI_ALL_GATHER;
        work->bytes = node->bytes * (gathers ? placement->size[work->group] : 1);
    }
    if (work->compute_ns > 0 || work->kind != ST_SIMAI_NONE)
        (void)ST_APPEND(make->arena, make->simai->rows, make->simai->count, row);
}

static void add_node(maker *make, const st_work_node *node)
{
    pass_name pass;
    if (node->type == ST_CHAKRA_SEND && node->bytes > make->simai->pp_bytes)
        make->simai->pp_bytes = node->bytes;
    if (node->type == ST_CHAKRA_SEND || node->type == ST_CHAKRA_RECV)
        return;
    if (read_pass(node, &pass)) {
        /* The layer of a node; the backward pass meets them from the last to the first. */
        size_t place = place_of(make, &pass);
        uint32_t *seen = &make->seen[place * ST_SIMAI_COLUMNS + pass.column];
        uint32_t count = make->forward_layers[place] > 0 ? make->forward_layers[place] : 1;
        *seen += begins_layer(node) ? 1 : 0;
        uint32_t at = *seen > 0 ? *seen - 1 : 0;
        at = at < count ? at : count - 1;
        layer *totals = &make->layers[place * make->depth +
                                      (pass.column == ST_SIMAI_FORWARD ? at : count - 1 - at)];
        st_simai_column column =
            pass.column == ST_SIMAI_FORWARD ? ST_SIMAI_FORWARD : ST_SIMAI_INPUT;
        if (node->type == ST_CHAKRA_COMP)
            totals->ticks[pass.column] += node->duration;
        if (node->type == ST_CHAKRA_COLL)
            totals->bytes[column][node->group == ST_GROUP_EP ? MESSAGE_EP : MESSAGE_TP] +=
                node->bytes;
    } else if (node->type == ST_CHAKRA_COLL && node->group == ST_GROUP_EMBEDDING) {
        make->tied_bytes += node->bytes;
    } else {
        append_end(make, node);
    }
}

/* ---- the whole ---- */

static st_status check(const maker *make)
{
    const size_t *size = make->workload->placement.size;
    if (size[ST_GROUP_CP] > 1)
        return st_fail(make->errors, ST_ERR_VALUE, (st_place){0},
                       "SimAI has no groups for context parallelism" ST_FOUND
                       "cp of %zu" ST_EXPECTED "parallel.cp: 1",
                       size[ST_GROUP_CP]);
    if (size[ST_GROUP_EP] > 1 && !make->workload->placement.experts_unfolded &&
        size[ST_GROUP_EP] * size[ST_GROUP_EXPERT_DP] != size[ST_GROUP_DP])
        return st_fail(make->errors, ST_ERR_VALUE, (st_place){0},
                       "SimAI cuts experts as it cuts dense layers" ST_FOUND
                       "%zu ranks with the same experts, ep of %zu" ST_EXPECTED
                       "a product of %zu, as many as reduce gradients",
                       size[ST_GROUP_EXPERT_DP], size[ST_GROUP_EP], size[ST_GROUP_DP]);
    if (make->simai->pp_bytes > INT32_MAX)
        return st_fail(make->errors, ST_ERR_LIMIT, (st_place){0},
                       "a transfer between stages is too large for SimAI" ST_FOUND
                       "%llu B" ST_EXPECTED "at most %ld B",
                       (unsigned long long)make->simai->pp_bytes, (long)INT32_MAX);
    if (make->tied_bytes > 0)
        st_report(make->errors, ST_SEVERITY_WARNING, ST_ERR_VALUE, (st_place){0},
                  "%.4g MB of '%s' are left out: SimAI has no group of the first and last stage",
                  (double)make->tied_bytes / 1e6, st_group_name(ST_GROUP_EMBEDDING));
    return ST_OK;
}

st_status st_simai_make(const st_workload *workload, size_t stage, st_arena *arena, st_simai *simai,
                        st_errors *errors)
{
    const size_t *size = workload->placement.size;
    maker make = {.workload = workload,
                  .stage = &workload->stages[stage],
                  .arena = arena,
                  .errors = errors,
                  .simai = simai};
    *simai = (st_simai){.size = {[ST_SIMAI_TP] = size[ST_GROUP_TP],
                                 [ST_SIMAI_EP] = size[ST_GROUP_EP],
                                 [ST_SIMAI_PP] = size[ST_GROUP_PP],
                                 [ST_SIMAI_VPP] = workload->chunks,
                                 [ST_SIMAI_GA] = workload->micros,
                                 [ST_SIMAI_GPUS] = workload->placement.ranks}};
    pass_name pass;
    for (size_t i = 0; i < make.stage->count; i++) {
        if (!read_pass(&make.stage->nodes[i], &pass))
            continue;
        make.chunks = pass.chunk >= make.chunks ? pass.chunk + 1 : make.chunks;
        make.micros = pass.micro >= make.micros ? pass.micro + 1 : make.micros;
    }
    size_t passes = make.chunks * make.micros;
    make.forward_layers = st_arena_alloc(make.arena, passes + 1, sizeof *make.forward_layers);
    make.seen = st_arena_alloc(make.arena, passes * ST_SIMAI_COLUMNS + 1, sizeof *make.seen);
    make.depth = 1;
    for (size_t i = 0; i < make.stage->count; i++) {
        const st_work_node *node = &make.stage->nodes[i];
        if (!read_pass(node, &pass) || pass.column != ST_SIMAI_FORWARD || !begins_layer(node))
            continue;
        uint32_t count = ++make.forward_layers[place_of(&make, &pass)];
        make.depth = count > make.depth ? count : make.depth;
    }
    make.layers = st_arena_alloc(make.arena, passes * make.depth + 1, sizeof *make.layers);
    for (size_t i = 0; i < make.stage->count; i++)
        add_node(&make, &make.stage->nodes[i]);
    st_status status = check(&make);
    if (status != ST_OK)
        return status;
    /* Rows run up in the backward pass: the end of a step comes first. */
    for (size_t i = 0; i < simai->count / 2; i++) {
        st_simai_row row = simai->rows[i];
        simai->rows[i] = simai->rows[simai->count - 1 - i];
        simai->rows[simai->count - 1 - i] = row;
    }
    for (size_t place = 0; place < make.chunks * make.micros; place++)
        for (size_t depth = 0; depth < make.forward_layers[place]; depth++) {
            static const st_simai_kind kinds[] = {ST_SIMAI_ALL_REDUCE, ST_SIMAI_ALL_TO_ALL};
            static const st_group groups[] = {ST_GROUP_TP, ST_GROUP_EP};
            const layer *totals = &make.layers[place * make.depth + depth];
            bool first = true;
            for (int i = 0; i < MESSAGES; i++) {
                bool sends =
                    totals->bytes[ST_SIMAI_FORWARD][i] + totals->bytes[ST_SIMAI_INPUT][i] > 0;
                bool silent = i + 1 == MESSAGES && first;
                if (!sends && !silent)
                    continue;
                st_simai_row row = {
                    .name = st_arena_printf(make.arena, "micro%zu.chunk%zu.layer%zu%s",
                                            place / make.chunks + 1, place % make.chunks + 1,
                                            depth + 1, first ? "" : ".experts")};
                for (int j = 0; j < ST_SIMAI_COLUMNS && first; j++)
                    row.work[j].compute_ns = whole_ns(&make, (st_simai_column)j, totals->ticks[j]);
                for (int j = 0; j < ST_SIMAI_WEIGHTS; j++) {
                    row.work[j].bytes = totals->bytes[j][i];
                    row.work[j].group = groups[i];
                    row.work[j].kind = totals->bytes[j][i] > 0 ? kinds[i] : ST_SIMAI_NONE;
                }
                (void)ST_APPEND(arena, simai->rows, simai->count, row);
                first = false;
            }
        }
    return ST_OK;
}
