/* SPDX-License-Identifier: Apache-2.0 */
/* Whether what is to change is in the recording at all. */
#include "base/memory.h"
#include "trace/link.h"
#include "trace/sends.h"
#include "trace/whatif.h"

#include <math.h>
#include <string.h>

/*
 * Whether a recording is one of training: what only a backward pass or an optimizer leaves in it.
 * What repeats in a recording of inference may be layers or tokens, and no pass follows another.
 */

/* In names of operators and kernels of frameworks; "autograd::engine" runs backward passes. */
static bool tells_training(const char *name)
{
    static const char *const parts[] = {"autograd::", "Backward",       "backward", "_bwd",
                                        "bwd_",       "Optimizer.step", "wgrad",    "dgrad"};
    for (size_t i = 0; i < ST_COUNT(parts); i++)
        if (strstr(name, parts[i]) != NULL)
            return true;
    return false;
}

static bool is_trained(const st_trace *trace)
{
    for (size_t i = 0; i < trace->category_count; i++)
        if (strcmp(trace->names[trace->categories[i].name], "fwdbwd") == 0)
            return true;
    for (uint32_t i = 0; i < trace->name_count; i++)
        if (tells_training(trace->names[i]))
            return true;
    for (size_t i = 0; i < trace->event_count; i++)
        if (st_trace_is_gpu(&trace->events[i]) && trace->events[i].class_ == ST_TRACE_OPTIMIZER)
            return true;
    return false;
}

bool st_whatif_is_training(const st_whatif *w)
{
    for (size_t i = 0; i < w->graph->set->count; i++)
        if (is_trained(w->graph->set->ranks[i]))
            return true;
    return false;
}

/* With `passes`, forward and backward passes are asked for, not layers or their width alone. */
void st_whatif_check_training(st_whatif *w, bool passes)
{
    const char *file = w->graph->set->ranks[0]->file;
    if (st_whatif_is_training(w))
        return;
    if (passes)
        st_whatif_refuse(w,
                         "%s does not record a training step: without a backward pass and an "
                         "optimizer, it has no micro-batches",
                         file);
    else if (w->values.set[ST_WHATIF_LAYERS] > 0 && w->values.have[ST_WHATIF_LAYERS] <= 0)
        st_whatif_refuse(w,
                         "%s does not record a training step: it has no backward pass and no "
                         "optimizer, and its repetitions may be tokens" ST_EXPECTED
                         "--have model.layers=N",
                         file);
    else
        st_whatif_note(w, "not a training step: the trace has no backward pass and no optimizer");
}

/*
 * Whether a recording is of the job that it is said to be of. What a trace states, its ranks, is
 * refused where it contradicts the job; what is only found in it, layers and passes, is warned of.
 */

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
        const st_trace_collective *meta = st_trace_described(trace, event);
        if (!st_trace_is_gpu(event) || meta == NULL || st_message_is(trace, event, NULL))
            continue;
        int64_t size = meta->group_size;
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
    st_repeats_find(w->graph->set->ranks[0], (st_repeats_ask){0}, w->arena, &seen);
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

static bool has_class(const st_whatif *w, st_trace_class class_)
{
    for (size_t i = 0; i < w->graph->set->count; i++) {
        const st_trace *trace = w->graph->set->ranks[i];
        for (size_t k = 0; k < trace->event_count; k++)
            if (st_trace_is_gpu(&trace->events[k]) && trace->events[k].class_ == class_)
                return true;
    }
    return false;
}

/* The answer is right, as nothing changes, but hardly what was asked for. */
static void tell_missing(st_whatif *w, const char *what)
{
    st_report(w->errors, ST_SEVERITY_WARNING, ST_ERR_NAME, (st_place){0},
              "%s: it changes nothing" ST_HINT
              "'steptime trace summary' lists the classes of kernels",
              what);
    st_whatif_note(w, "%s: it changes nothing", what);
}

void st_whatif_check_kernels(st_whatif *w)
{
    /* A pattern that no kernel has would change nothing. */
    for (size_t k = 0; k < w->values.kernel_count; k++) {
        bool found = false;
        for (size_t i = 0; i < w->graph->set->count && !found; i++)
            found = st_whatif_has_kernel(w->graph->set->ranks[i], w->values.kernels[k].pattern);
        if (!found)
            st_whatif_refuse(w,
                             "no kernel is called '%s'" ST_HINT
                             "'steptime trace summary --top 20' lists kernels; * matches any text",
                             w->values.kernels[k].pattern);
    }
    if (w->status == ST_OK) {
        for (int i = 0; i < ST_TRACE_CLASSES; i++) {
            st_trace_class class_ = (st_trace_class)i;
            if (w->values.set[ST_WHATIF_SPEED + i] > 0 && !has_class(w, class_))
                tell_missing(w, st_errors_text(w->errors, "no kernel is of class '%s'",
                                               st_trace_class_name(class_)));
        }
        if (w->values.set[ST_WHATIF_BANDWIDTH] > 0 && !has_class(w, ST_TRACE_COMMUNICATION))
            tell_missing(w, "no kernel is a collective, for 'bandwidth'");
    }
}
