/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Whether a recording is of the job that it is said to be of. What a trace states, its ranks, is
 * refused where it contradicts the job; what is only found in it, layers and passes, is warned of.
 */
#include "base/memory.h"
#include "trace/link.h"
#include "trace/whatif.h"

#include <math.h>

static double size_of(const st_whatif *w, st_whatif_key key)
{
    return w->values.have[key] > 0 ? w->values.have[key] : 1;
}

/* Model chunks of a rank: a single stage has no virtual ones. */
static double chunks_of(const st_whatif *w)
{
    return size_of(w, ST_WHATIF_PP) > 1 ? fmax(w->job->virtual_stages, 1) : 1;
}

double st_whatif_job_layers(const st_whatif *w)
{
    double layers = w->job != NULL ? w->job->layers / size_of(w, ST_WHATIF_PP) / chunks_of(w) : 0;
    return fmod(layers, 1) == 0 ? layers : 0;
}

/* Micro-batches of a step; 0: unknown. */
static double micros_of(const st_whatif *w)
{
    double given = w->values.have[ST_WHATIF_MICROS];
    double replica = size_of(w, ST_WHATIF_DP) * w->values.have[ST_WHATIF_MICRO_BATCH];
    double micros = given > 0 ? given : replica > 0 ? w->job->global_batch / replica : 0;
    return fmod(micros, 1) == 0 ? micros : 0;
}

static void contradict(st_whatif *w, const char *option, const char *sentence)
{
    st_report(w->errors, ST_SEVERITY_WARNING, ST_ERR_VALUE, (st_place){.file = option}, "%s",
              sentence);
    st_whatif_note(w, "%s", sentence);
}

/* Tensor-parallel collectives may hide in kernels of another name, as they do in fused products. */
static void check_shards(st_whatif *w)
{
    const st_trace *trace = w->graph->set->ranks[0];
    double tp = size_of(w, ST_WHATIF_TP);
    int64_t seen = 0;
    for (size_t i = 0; i < trace->event_count; i++) {
        const st_trace_event *event = &trace->events[i];
        if (!st_trace_is_gpu(event) || event->detail == ST_TRACE_NONE)
            continue;
        int64_t size = trace->collectives[event->detail].group_size;
        if ((double)size == tp)
            return;
        seen = size > 0 && (seen == 0 || size < seen) ? size : seen;
    }
    if (tp >= 2 && seen != 0)
        contradict(w, "--job",
                   st_errors_text(w->errors,
                                  "the job has tensor-parallel size %.0f, and no collective of "
                                  "the trace is of %.0f ranks: the smallest groups have %lld",
                                  tp, tp, (long long)seen));
}

/* Held against what repeats most. Where that may be no layers, or tokens, any repetition of the
 * number is right. */
static void check_layers(st_whatif *w)
{
    double given = w->values.have[ST_WHATIF_LAYERS];
    double layers = given > 0 ? given : st_whatif_job_layers(w);
    st_repeats seen;
    if (layers <= 0)
        return;
    st_repeats_find(w->graph->set->ranks[0], 0, w->arena, &seen);
    bool are_layers = st_repeats_are_layers(&seen);
    bool is_sure = are_layers && (given <= 0 || st_whatif_is_training(w));
    bool found = !is_sure && (double)w->repeats[0].layers == layers;
    if (found || (double)seen.layers == layers || (seen.layers == 0 && given <= 0))
        return;
    /* Doubts about repetitions, and about given layers where nothing repeats. */
    const char *repeats;
    if (seen.layers == 0)
        repeats = "nothing in the trace repeats";
    else
        repeats =
            are_layers
                ? st_errors_text(w->errors, "kernels of the trace repeat %u times", seen.layers)
                : st_errors_text(w->errors, "no kernels of the trace repeat so often: %s",
                                 st_repeats_doubt(&seen, w->errors));
    if (given > 0)
        contradict(w, "--have",
                   st_errors_text(w->errors, "model.layers gives %.0f on a rank, but %s", layers,
                                  repeats));
    else
        contradict(w, "--job",
                   st_errors_text(w->errors,
                                  "the job has %.0f layers in a row on a rank, but %s; use --have "
                                  "model.layers=N to give the recorded number",
                                  layers, repeats));
}

void st_whatif_check_job(st_whatif *w)
{
    if (w->job != NULL) {
        double tp = size_of(w, ST_WHATIF_TP);
        double pp = size_of(w, ST_WHATIF_PP);
        double dp = size_of(w, ST_WHATIF_DP);
        double cp = fmax(w->job->cp, 1);
        long long ranks = (long long)w->graph->set->world_size;
        if (ranks > 0 && tp * pp * dp * cp != (double)ranks)
            ST_NOTE(w, ST_ERR_VALUE, (st_place){.file = "--job"},
                    "job '%s' is not the recorded one" ST_FOUND "%.0f GPUs (tp %.0f, pp %.0f, dp "
                    "%.0f, cp %.0f)" ST_EXPECTED "%lld, including %s" ST_HINT
                    "give the recorded values with --have parallel.dp=N and the like",
                    w->job->name, tp * pp * dp * cp, tp, pp, dp, cp, ranks,
                    w->graph->set->ranks[0]->file);
    }
    if (w->job != NULL && w->status == ST_OK)
        check_shards(w);
    if (w->status == ST_OK)
        check_layers(w);
    if (w->job != NULL && w->status == ST_OK) {
        /* Without marks of steps there may be several in the trace. */
        double each = micros_of(w) * chunks_of(w);
        double steps = (double)w->graph->ranks[0].step_count;
        if (each <= 0 || !st_repeats_are_layers(&w->repeats[0]))
            return;
        double passes =
            (double)st_whatif_forward_passes(&w->repeats[0], w->graph->set->ranks[0], false);
        bool fits = steps > 0 ? passes == each * steps : fmod(passes, each) == 0;
        if (!fits && passes > 0)
            contradict(
                w, "--job",
                st_errors_text(
                    w->errors,
                    "forward passes of a step: the job has %.0f, the trace %.0f "
                    "in %.0f steps; use --have batch.micro_batches=N to give the recorded number",
                    each, passes, fmax(steps, 1)));
    }
}
