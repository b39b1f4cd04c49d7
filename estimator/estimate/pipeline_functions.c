/* SPDX-License-Identifier: Apache-2.0 */
/* A table of functions over the numbers of a plan; see pipeline_functions.h. */
#include "estimate/pipeline_functions.h"

#include "base/memory.h"
#include "estimate/node_fill.h"
#include "estimate/open_functions.h"
#include "schedule/pipeline_time.h"

#include <math.h>
#include <string.h>

/* Arguments of pipeline_replay. */
enum {
    REACH, /* 0 passes, 1 with transfers, 2 with tied embeddings */
    KIND,  /* of the list below; 0: nothing to replay */
    STAGES,
    MICROS,
    FORWARD,                      /* of the first, a middle and the last stage */
    BACKWARD = FORWARD + ST_ENDS, /* gradients of activations */
    WEIGHTS = BACKWARD + ST_ENDS, /* gradients of weights */
    FORWARD_ALONE = WEIGHTS + ST_ENDS,
    BACKWARD_ALONE = FORWARD_ALONE + ST_ENDS,
    TRANSFER = BACKWARD_ALONE + ST_ENDS,
    TIED,
    HELD,
    SHORTER,
    SHORTER_SHARE
};

static double pipeline_replay(const void *over, const double *arguments)
{
    (void)over;
    static const st_schedule_kind kinds[] = {ST_SCHEDULES,
                                             ST_SCHEDULE_ZERO_BUBBLE,
                                             ST_SCHEDULE_ZERO_BUBBLE_2,
                                             ST_SCHEDULE_ZERO_BUBBLE_V,
                                             ST_SCHEDULE_V_HALF,
                                             ST_SCHEDULE_V_MIN,
                                             ST_SCHEDULE_DUALPIPE};
    enum { KINDS = ST_COUNT(kinds) };
    double kind = arguments[KIND];
    if (kind == 0)
        return 0;
    st_pipeline pipeline = {.transfer = arguments[TRANSFER],
                            .tied = arguments[TIED],
                            .shorter = arguments[SHORTER],
                            .shorter_share = arguments[SHORTER_SHARE],
                            .held_for_weights = arguments[HELD],
                            .stages = arguments[STAGES],
                            .micros = arguments[MICROS],
                            .kind = kind > 0 && kind < KINDS ? kinds[(int)kind] : ST_SCHEDULES};
    for (int end = 0; end < ST_ENDS; end++) {
        pipeline.pass[ST_PASS_FORWARD][end] = arguments[FORWARD + end];
        pipeline.pass[ST_PASS_BACKWARD][end] = arguments[BACKWARD + end];
        pipeline.pass[ST_PASS_WEIGHTS][end] = arguments[WEIGHTS + end];
        pipeline.alone[ST_PASS_FORWARD][end] = arguments[FORWARD_ALONE + end];
        pipeline.alone[ST_PASS_BACKWARD][end] = arguments[BACKWARD_ALONE + end];
    }
    st_pipeline_times times = st_pipeline_replay(&pipeline);
    return arguments[REACH] < 1   ? times.passes
           : arguments[REACH] < 2 ? times.with_transfers
                                  : times.with_tied;
}

/* arguments: GPUs of the plan, those of a node, tensor-parallel ranks; 0: no share suits */
static double node_share(const void *over, const double *arguments)
{
    enum { MOST = 1 << 24, USUAL = 8 }; /* ranks that share a node anyway */
    (void)over;
    double group = arguments[2] > USUAL ? arguments[2] : 0;
    const st_node_counts counts = {
        .gpus = arguments, .count = 1, .node = arguments[1], .group = group};
    if (!(arguments[0] >= 1 && arguments[1] >= 1 && arguments[1] <= MOST))
        return 0;
    return st_node_fill(&counts);
}

static const st_open_function entries[] = {
    {"node_share", {"1", "1", "1", NULL}, "1", node_share},
    {"pipeline_replay",
     {"1", "1", "1", "1", "s", "s", "s", "s", "s", "s", "s", "s", "s",
      "s", "s", "s", "s", "s", "s", "s", "s", "1", "1", "1", NULL},
     "s",
     pipeline_replay},
};
enum { ENTRIES = ST_COUNT(entries) };

static st_status explain_replay(void *context, const double *const *arguments, st_arena *arena,
                                st_provider_account *account)
{
    double value = 0;
    st_provider_term *term = st_arena_alloc(arena, 1, sizeof *term);
    if (term == NULL)
        return ST_ERR_MEMORY;
    (void)st_open_evaluate(context, 1, arguments, &value);
    if (!isfinite(value)) {
        account->refusal = "the pipeline has too many passes to replay, or times that no step has";
        return ST_OK;
    }
    *term = (st_provider_term){.name = "origin",
                               .doc = "the schedule's order of passes, gone through once",
                               .text = "replayed",
                               .unit = st_unit_one()};
    account->terms = term;
    account->count = 1;
    return ST_OK;
}

st_status st_pipeline_providers(const st_sheet *sheet, st_arena *arena,
                                st_cell_providers *providers, st_errors *errors)
{
    st_provider *made = st_arena_alloc(arena, ENTRIES, sizeof *made);
    *providers = (st_cell_providers){.items = made};
    if (made == NULL)
        return st_out_of_memory(errors);
    st_status status = ST_OK;
    for (size_t i = 0; i < ENTRIES && status == ST_OK; i++) {
        st_provider *own = &made[providers->count];
        const st_sheet_function *function = st_open_function_find(sheet, entries[i].name);
        if (function == NULL)
            continue;
        status = st_open_provider(&entries[i], NULL, arena, own, errors);
        bool replays = entries[i].value == pipeline_replay;
        own->source = replays ? "a replay of the schedule" : "GPUs divided over nodes";
        own->fallback = replays;
        own->explain = replays ? explain_replay : NULL;
        providers->count += own->argument_count == function->argument_count ? 1 : 0;
    }
    return status;
}
