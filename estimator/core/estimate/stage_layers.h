/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Which layers lie on which stage, where a job spells it out: model.pattern, the layers by kind,
 * and parallel.layout, those of every virtual stage. Sheets declare the open functions `layers_of`,
 * `layers_on` and `fullest_stage` with a formula for jobs that do not, and `layers_asked`, which
 * answers for every job (formulas/megatron-plan.yaml).
 */
#ifndef STEPTIME_ESTIMATE_STAGE_LAYERS_H
#define STEPTIME_ESTIMATE_STAGE_LAYERS_H

#include "steptime/job.h"
#include "steptime/tool/pattern.h"
#include "steptime/tool/providers.h"

/* What the texts of a job say. */
typedef struct st_stage_plan {
    st_pattern pattern; /* count 0: none */
    st_layout layout;   /* count 0: none */
    bool balanced;      /* each row has a layout of its own (balanced_layout.h) */
    uint64_t number;    /* which no other plan of the process has */
} st_stage_plan;

/* Kinds of layers that are counted: those of a pattern, and multi-token prediction. */
enum { ST_LAYER_PREDICTION = ST_LAYER_KINDS, ST_STAGE_KINDS };

/*
 * How the model is divided over a pipeline. Without a layout, stages are filled one after the
 * other, those just before the last with a layer less where they have more than there are. Of the
 * chunks of a stage those next to an end of the model have the layer less. In a folded schedule
 * chunks are filled one by one, and those on the way back, from the last one on, lack a layer
 * first, then those on the way there from the first one on, so that the stage with both ends of the
 * model has the fewest layers, and none more than need be.
 */
typedef struct st_division {
    size_t stages;
    size_t chunks; /* of a stage */
    bool folded;
    double layers;
    double first;            /* layers of the first stage */
    double middle;           /* of one between them that has all it may have */
    double last;             /* of the last stage */
    double leading;          /* without a pattern: dense layers before the first with experts */
    double every;            /* one in so many of the others has experts; 0: none */
    const st_layout *layout; /* NULL: none */
} st_division;

/* The numbers of a division as sheets pass them: stages, chunks, folded or not, layers, those of
 * the first, a middle and the last stage, leading dense layers, one in how many has experts, what a
 * balanced layout is made from. */
enum { ST_DIVISION_ARGUMENTS = 10 };

/* false: neither pattern nor layout divides so. */
bool st_division_read(const st_stage_plan *plan, const double *arguments, st_division *division);

/* Layers by kind; those of multi-token prediction are counted where a layout has them, else not at
 * all. */
typedef struct st_place_counts {
    double of[ST_STAGE_KINDS];
} st_place_counts;

/* The chunks of the model, its places, one after the other. */
typedef struct st_place_walk {
    const st_stage_plan *plan;
    const st_division *division;
    size_t place; /* the next one, from 0 */
    size_t first; /* its first layer */
} st_place_walk;

/* Goes to the next place and adds its layers to `counts` unless that is NULL. */
void st_place_walk_next(st_place_walk *walk, st_place_counts *counts);
/* The place of a chunk of a stage, and the stage of a place. */
size_t st_division_place(const st_division *division, size_t stage, size_t chunk);
size_t st_division_stage(const st_division *division, size_t place);

/* The most places of a division. */
enum { ST_MOST_PLACES = 4096 };

typedef struct st_stage_providers {
    const st_provider *items;
    size_t count;
} st_stage_providers;

/* What the job's pattern and layout say; a text that is wrong, or a layout of other virtual stages
 * than the job's, is reported. Lives in `arena`. */
st_status st_stage_plan_read(const st_job *job, const st_sheet *sheet, st_arena *arena,
                             const st_stage_plan **plan, st_errors *errors) ST_NODISCARD;

/*
 * The sheet's cells of plans whose schedule is replayed: whether a plan is one, and, as a provider
 * gives it, whether these are. NULL: the sheet has none. Programs without that provider take a
 * fraction of the time, and are right for all other plans.
 */
const char *st_replayed_plan(const st_sheet *sheet);
/* What that cell says of a plan without a closed form; more: the closed form is a lower bound. */
enum { ST_REPLAYED_ALWAYS = 1 };
const char *st_replays_given(const st_sheet *sheet);

/* The plan of such providers; NULL: none of them has one. */
const st_stage_plan *st_stage_plan_of(const st_provider *const *providers, size_t count);

/*
 * Providers of the functions that `sheet` has of them: `layers_asked` for every job, the others for
 * one with a pattern or a layout. A row of other stages than the layout's is refused. Everything
 * lives in `arena`.
 */
st_status st_stage_layer_providers(const st_stage_plan *plan, const st_sheet *sheet,
                                   st_arena *arena, st_stage_providers *providers,
                                   st_errors *errors) ST_NODISCARD;

/*
 * Without a pattern: layers with routed experts among the first `count` of a model, whose first
 * `leading` layers are dense; one in `every` of the others has experts, 0: none.
 */
double st_routed_before(double leading, double every, double count);

#endif
