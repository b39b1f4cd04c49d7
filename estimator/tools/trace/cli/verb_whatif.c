/* SPDX-License-Identifier: Apache-2.0 */
/* steptime trace whatif */
#include "trace/cli/verbs.h"
#include "trace/cli/traces.h"

#include "trace/gpu_ratios.h"
#include "base/csv_file.h"
#include "steptime/keys.h"
#include "steptime/tool/estimates.h"
#include "base/memory.h"
#include "steptime/tool/gpus.h"
#include "trace/collectives.h"
#include "steptime/tool/refine_words.h"
#include "trace/trace_replay.h"
#include "trace/xalloc.h"

#include <stdlib.h>
#include <string.h>

typedef struct whatif_options {
    cli_texts have;
    cli_texts removed;
    cli_texts fused;
    cli_texts inserted;
    const char *job;
    const char *trace;
    const char *ratios;
    bool approximate;
} whatif_options;

static const cli_option option_rows[] = {
    CLI_TEXTS(cli_common, sets, "set", "KEY=VALUE",
              "what to change: parallel.dp, parallel.pp, batch.micro_batches, model.layers, "
              "model.hidden, model.ffn, model.heads, batch.micro, parallel.tp, speed.CLASS, "
              "speed.kernel:PATTERN, speed.host, "
              "speed.launch, bandwidth, bandwidth.tp, bandwidth.dp, "
              "overlap.slowdown, overlap.communication_slowdown, pipeline.schedule, "
              "pipeline.transfer_us, cluster.gpu; may be repeated",
              .word = CLI_WORD_KEY, .common = true),
    CLI_TEXTS(whatif_options, have, "have", "KEY=VALUE",
              "value that the recorded job had, if the trace lacks it, or refine=PLUGIN... for the "
              "recorded GPU; may be repeated",
              .word = CLI_WORD_KEY),
    CLI_TEXTS(
        whatif_options, removed, "remove", "PATTERN",
        "kernels that are not launched, by their names, with * for any text; may be repeated"),
    CLI_TEXTS(whatif_options, fused, "fuse", "A,B[=TIME]",
              "kernels that match A and are followed on their stream by one that matches B become "
              "one, of the time of both or of TIME; may be repeated"),
    CLI_TEXTS(whatif_options, inserted, "insert", "PATTERN=TIME",
              "a further kernel of this time after each match; may be repeated"),
    CLI_TEXT(whatif_options, job, "job", "JOB",
             "the recorded job: its sizes and its cluster; --have wins", .word = CLI_WORD_JOB),
    CLI_TEXTS(cli_common, refine, "refine", "PLUGIN[:NAME=VALUE,...]",
              "new times of collectives from this plugin, in place of rings, and of kernels of "
              "another shape or on another GPU; may be repeated",
              .common = true),
    CLI_ROW_DB,
    CLI_FILE(whatif_options, ratios, "ratios",
             "what the kernels take on another GPU, as 'steptime fit ratios -o FILE' wrote it"),
    CLI_FLAG(whatif_options, approximate, "approximate",
             "another parallel.tp without --job: times divided by the number of shards"),
    CLI_RESULT(whatif_options, trace, "trace",
               "write the new step into FILE for ui.perfetto.dev; compressed if it ends in .gz"),
    CLI_ROW_PARTIAL,
    CLI_ROWS_FORMS,
    CLI_END,
};

static const cli_example examples[] = {
    {"steptime trace whatif traces/ --set speed.gemm=2", "GEMMs twice as fast"},
    {"steptime trace whatif traces/ --set 'speed.kernel:*layer_norm*=3' --set speed.launch=10",
     "one kernel faster, and launches that cost a tenth"},
    {"steptime trace whatif traces/ --fuse '*add*,*layer_norm*' --insert '*gemm*=238.5us'",
     "two kernels in one, and a further one behind each GEMM"},
    {"steptime trace whatif traces/ --set bandwidth=2 --trace new.json.gz",
     "the new step as a trace"},
    {"steptime trace whatif traces/ --set model.layers=48", "more layers; their number is found"},
    {"steptime trace whatif traces/ --have parallel.dp=4 --set parallel.dp=16",
     "gradients over more ranks"},
    {"steptime trace whatif traces/ --job gpt3-175b-64xa100 --refine nccl-whitebox --set "
     "parallel.dp=8",
     "the same with times of NCCL's algorithms and protocols"},
    {"steptime trace whatif traces/ --job gpt3-175b-64xa100 --have parallel.tp=8 --set "
     "parallel.tp=4",
     "kernels of other shards, priced by the sheet"},
    {"steptime trace whatif traces/ --set cluster.gpu=h100-sxm",
     "on another GPU, by the shapes of the operators"},
    {"steptime trace whatif traces/ --ratios a100-h100.csv",
     "the same by kernels measured on both"},
    {"steptime trace whatif traces/ --have batch.micro_batches=8 --set parallel.pp=4",
     "a pipeline of four stages with a rebuilt schedule"},
    {NULL, NULL},
};

/* ---- the recorded job ---- */

/* What is asked, and what it needs. */
typedef struct whatif {
    cli_run *run;
    const st_job *job; /* NULL: not needed */
    st_trace_job said; /* what the recorded job was */
    st_trace_change change;
    st_trace_collective_model model;
    st_ratios measured; /* of --ratios */
    st_trace_kernel_ratios ratios;
    st_trace_kernel_ratios shapes; /* by the shapes of operators, which `ratios` scales */
    double band;                   /* of these; 0: none */
    double scale;
    const st_trace_set *set;
    cli_texts gpu_sets;   /* "cluster.gpu=NAME" and the like, of the GPU that is asked for */
    cli_texts gpu_have;   /* the same of the recorded one */
    cli_texts gpu_refine; /* plugins of the recorded one */
} whatif;

/* "cluster=selene-a100", "cluster.nic_bandwidth=25 GB/s" */
static bool is_of_cluster(const char *text)
{
    return strncmp(text, "cluster", 7) == 0 && (text[7] == '=' || text[7] == '.');
}

/* "cluster.gpu=h100-sxm", "cluster.gpu.memory_bandwidth=3.9 TB/s" */
static bool is_of_gpu(const char *text)
{
    return strncmp(text, ST_KEY_CLUSTER_GPU, 11) == 0 && (text[11] == '=' || text[11] == '.');
}

/* "cluster.gpu=AMD Instinct MI300X" is "cluster.gpu=mi300x": what a device calls itself, too. */
static st_status add_gpu_text(whatif *own, cli_texts *texts, const char *text)
{
    static const char key[] = ST_KEY_CLUSTER_GPU "=";
    st_gpus gpus = {0};
    st_status status = st_gpus_list(own->run->paths, own->run->arena, &gpus, own->run->errors);
    const char *file = strncmp(text, key, sizeof key - 1) == 0
                           ? st_gpus_of_device(&gpus, text + sizeof key - 1)
                           : NULL;
    if (file != NULL)
        text = st_xprintf(own->run->arena, "%s%s", key, file);
    return status == ST_OK ? cli_add_text(own->run, texts, text) : status;
}

/* A size of the job as "key=value", behind what the user has given, which wins. */
static void add_size(whatif *own, const char *key, const char **have, size_t *count)
{
    const st_job_value *value = st_job_value_of(own->job, key);
    size_t length = strlen(key);
    if (value == NULL || value->origin == ST_ORIGIN_NONE || !(value->number >= 1))
        return;
    for (size_t i = 0; i < *count; i++)
        if (strncmp(have[i], key, length) == 0 && have[i][length] == '=')
            return;
    have[(*count)++] = st_xprintf(own->run->arena, "%s=%.0f", key, value->number);
}

/* A size that the job has; 0: none. */
static double size_of(const st_job *job, const char *key)
{
    const st_job_value *value = st_job_value_of(job, key);
    return value != NULL && value->origin != ST_ORIGIN_NONE ? value->number : 0;
}

/* Loads the job and takes its sizes. */
static st_status take_job(whatif *own)
{
    static const char *const sizes[] = {ST_KEY_PARALLEL_TP,  ST_KEY_PARALLEL_DP, ST_KEY_PARALLEL_PP,
                                        ST_KEY_MODEL_HIDDEN, ST_KEY_MODEL_FFN,   ST_KEY_MODEL_HEADS,
                                        ST_KEY_BATCH_MICRO};
    enum { SIZES = ST_COUNT(sizes) };
    cli_run *run = own->run;
    const whatif_options *options = run->options;
    const char *name = options->job;
    const cli_texts *given = &options->have;
    const char **have = st_xalloc(run->arena, given->count + SIZES, sizeof *have);
    const char **sets = st_xalloc(run->arena, given->count + 1, sizeof *sets);
    size_t set_count = 0;
    /* Parts --have into what a trace is asked with, the cluster of the job, and what prices the
     * recorded GPU. */
    static const char refine[] = ST_KEY_REFINE "=";
    st_status status = ST_OK;
    for (size_t i = 0; i < options->have.count && status == ST_OK; i++) {
        const char *text = options->have.items[i];
        if (is_of_gpu(text))
            status = add_gpu_text(own, &own->gpu_have, text);
        if (is_of_cluster(text))
            sets[set_count++] = text;
        else if (strncmp(text, refine, sizeof refine - 1) == 0)
            status = cli_add_text(own->run, &own->gpu_refine, text + sizeof refine - 1);
        else
            have[own->change.have_count++] = text;
    }
    if (status == ST_OK && (name != NULL || set_count > 0 || run->common.refine.count > 0))
        status =
            st_job_load(own->run->paths, name, sets, set_count, run->arena, &own->job, run->errors);
    for (size_t i = 0; i < SIZES && name != NULL && status == ST_OK; i++)
        add_size(own, sizes[i], have, &own->change.have_count);
    own->change.have = have;
    if (name != NULL && status == ST_OK) {
        own->said =
            (st_trace_job){.name = name,
                           .cp = size_of(own->job, ST_KEY_PARALLEL_CP),
                           .layers = size_of(own->job, ST_KEY_MODEL_LAYERS),
                           .virtual_stages = size_of(own->job, ST_KEY_PARALLEL_VIRTUAL_STAGES),
                           .global_batch = size_of(own->job, ST_KEY_BATCH_GLOBAL)};
        own->change.job = &own->said;
    }
    return status;
}

/* A key that changes shapes, which the sheet of the job reads. */
static bool is_of_shape(const char *text)
{
    return (strncmp(text, ST_KEY_MODEL ".", 6) == 0 &&
            strncmp(text, ST_KEY_MODEL_LAYERS "=", 13) != 0) ||
           strncmp(text, ST_KEY_PARALLEL_TP "=", 12) == 0 ||
           strncmp(text, ST_KEY_BATCH_MICRO "=", 12) == 0;
}

static bool is_of_replicas(const char *text)
{
    return strncmp(text, ST_KEY_PARALLEL_DP "=", 12) == 0;
}

/* A job's number by the last "key=value" of the sets over its own; 1 where one is not known. */
static double set_over_own(const st_job *job, const st_request *request, const char *key)
{
    const st_job_value *value = st_job_value_of(job, key);
    size_t length = strlen(key);
    double set = 0;
    for (size_t i = 0; i < request->set_count; i++)
        if (strncmp(request->sets[i], key, length) == 0 && request->sets[i][length] == '=')
            set = strtod(request->sets[i] + length + 1, NULL);
    bool known = value != NULL && value->origin != ST_ORIGIN_NONE && value->number > 0 && set > 0;
    return known ? set / value->number : 1;
}

/* Refuses a plan that an estimate would refuse. There are as many micro-batches as were recorded,
 * so that the global batch follows from their size and the number of replicas. */
static st_status check_plan(whatif *own, bool asked)
{
    cli_run *run = own->run;
    const whatif_options *options = run->options;
    const cli_texts *const given[] = {&options->have, &run->common.sets};
    size_t room = options->have.count + run->common.sets.count + 1;
    const char **sets = st_xalloc(run->arena, room, sizeof *sets);
    st_request request = {.job = options->job,
                          .sets = sets,
                          .refine = run->common.refine.items,
                          .refine_count = run->common.refine.count};
    const st_job_value *global = st_job_value_of(own->job, ST_KEY_BATCH_GLOBAL);
    for (size_t list = 0; list < (asked ? 2 : 1); list++)
        for (size_t i = 0; i < given[list]->count; i++) {
            const char *text = given[list]->items[i];
            if (is_of_cluster(text) || is_of_shape(text) || is_of_replicas(text))
                sets[request.set_count++] = text;
        }
    double growth = set_over_own(own->job, &request, ST_KEY_BATCH_MICRO) *
                    set_over_own(own->job, &request, ST_KEY_PARALLEL_DP);
    if (growth != 1 && global != NULL && global->origin != ST_ORIGIN_NONE) {
        sets[request.set_count] =
            st_xprintf(run->arena, ST_KEY_BATCH_GLOBAL "=%.0f", global->number * growth);
        request.set_count++;
    }
    st_status status = st_estimate_check_plan(run->paths, &request, run->arena, run->errors);
    if (status == ST_OK)
        return ST_OK;
    return st_fail(run->errors, status, (st_place){.file = asked ? "--set" : "--job"},
                   "the sheet of job '%s' refuses %s", options->job,
                   asked ? "the plan that is asked for" : "it as the recorded plan");
}

/* Times and parameters before or after; what divides by 0 is not known. */
enum { GROWTHS = 6 };

static const st_role_part growth_roles[GROWTHS] = {
    {ST_ROLE_LAYER_PARTS, 0}, {ST_ROLE_LAYER_PARTS, 1},      {ST_ROLE_LAYER_PARTS, 2},
    {ST_ROLE_LAYER_PARTS, 3}, {ST_ROLE_LAYER_PARAMETERS, 0}, {ST_ROLE_UPDATED, 0}};

/* Another number of replicas changes no shape but what of the optimizer's work a rank has. */
static st_status take_updated(whatif *own, st_request *request, size_t had)
{
    static const st_role_list wanted = {&growth_roles[GROWTHS - 1], 1, "another parallel.dp needs"};
    cli_run *run = own->run;
    st_estimate *estimate = st_xmemory(st_estimate_new(run->arena));
    double before = 0;
    double after = 0;
    size_t asked = request->set_count;
    st_errors *found = st_xmemory(st_errors_create());
    st_status status = st_estimate_open(run->paths, request, run->arena, estimate, found);
    if (st_xstatus(status) != ST_OK)
        st_report(run->errors, ST_SEVERITY_WARNING, status, (st_place){.file = "--job"},
                  "the parameters that a rank's optimizer updates are unknown; it keeps its "
                  "recorded duration: %s",
                  st_errors_at(found, 0)->message);
    st_errors_destroy(found);
    if (status != ST_OK)
        return ST_OK;
    if (st_sheet_role(st_estimate_parts_of(estimate).sheet, ST_ROLE_UPDATED) == NULL)
        return ST_OK; /* a sheet that splits no optimizers */
    request->set_count = had;
    status = st_estimate_roles(run->paths, request, &wanted, run->arena, &before, run->errors);
    request->set_count = asked;
    if (status == ST_OK)
        status = st_estimate_roles(run->paths, request, &wanted, run->arena, &after, run->errors);
    own->change.growth.updated = before > 0 && after > 0 ? after / before : 0;
    return status;
}

/* What changes of kernels, as the sheet of the job and its plugins have it. */
static st_status take_growth(whatif *own)
{
    cli_run *run = own->run;
    const whatif_options *options = run->options;
    const cli_texts *have = &options->have;
    const cli_texts *set = &run->common.sets;
    const char **sets = st_xalloc(run->arena, have->count + set->count + 1, sizeof *sets);
    st_request request = {.job = options->job,
                          .sets = sets,
                          .refine = run->common.refine.items,
                          .refine_count = run->common.refine.count};
    size_t shapes = 0;
    for (size_t i = 0; i < have->count; i++) {
        const char *text = have->items[i];
        if (is_of_cluster(text) || is_of_shape(text) || is_of_replicas(text))
            sets[request.set_count++] = text;
    }
    size_t had = request.set_count;
    for (size_t i = 0; i < set->count; i++) {
        shapes += is_of_shape(set->items[i]);
        if (is_of_shape(set->items[i]) || is_of_replicas(set->items[i]))
            sets[request.set_count++] = set->items[i];
    }
    if (request.job == NULL || request.set_count == had || (shapes > 0 && options->approximate))
        return ST_OK;
    if (shapes == 0)
        return take_updated(own, &request, had);
    /* How kernels of another shape last; the request has `had` sets of the recorded job. */
    static const st_role_list wanted = {growth_roles, GROWTHS, "this change of shapes needs"};
    double before[GROWTHS];
    double after[GROWTHS];
    size_t asked = request.set_count;
    request.set_count = had;
    st_status status =
        st_estimate_roles(run->paths, &request, &wanted, run->arena, before, run->errors);
    if (status == ST_OK)
        status = check_plan(own, false);
    if (status == ST_OK)
        status = check_plan(own, true);
    request.set_count = asked;
    if (status == ST_OK)
        status = st_estimate_roles(run->paths, &request, &wanted, run->arena, after, run->errors);
    if (status == ST_OK) {
        st_trace_growth *growth = &own->change.growth;
        double *const members[GROWTHS] = {&growth->products,    &growth->attention,
                                          &growth->elementwise, &growth->logits,
                                          &growth->parameters,  &growth->updated};
        for (size_t i = 0; i < GROWTHS; i++)
            *members[i] = before[i] > 0 && after[i] > 0 ? after[i] / before[i] : 1;
    }
    return status;
}

static double ask_ratios(const void *context, size_t rank, size_t event, st_trace_class *taken)
{
    const whatif *own = context;
    const st_trace_event *kernel = &own->set->ranks[rank]->events[event];
    return st_ratios_ask(&own->measured, (st_trace_class)kernel->class_,
                         1e-9 * (double)kernel->duration_ns, taken);
}

static st_status take_ratios(whatif *own)
{
    cli_run *run = own->run;
    const whatif_options *options = run->options;
    const st_csv *csv = NULL;
    if (options->ratios == NULL)
        return ST_OK;
    st_status status = st_packed_csv_read(options->ratios, run->arena, &csv, run->errors);
    if (status == ST_OK)
        status = st_ratios_read(csv, run->arena, &own->measured, run->errors);
    own->ratios = (st_trace_kernel_ratios){
        .context = own, .to = own->measured.to, .by = "what was measured on", .ratio = ask_ratios};
    own->change.ratios = &own->ratios;
    return status;
}

/* A trace without the name of its GPU passes. */
static st_status check_gpu(const whatif *own, const st_trace_set *set)
{
    cli_run *run = own->run;
    st_gpus gpus = {0};
    if (own->change.ratios == NULL && own->change.job == NULL)
        return ST_OK;
    st_status status = st_gpus_list(run->paths, run->arena, &gpus, run->errors);
    for (size_t i = 0; i < set->count && status == ST_OK; i++)
        if (set->ranks[i]->gpu != ST_TRACE_NONE) {
            /* Ratios are of two GPUs, and the trace is to be of the first, as it is to be of the
             * job's GPU. */
            status = ST_OK;
            const st_trace *trace = set->ranks[i];
            st_errors *errors = own->run->errors;
            const whatif_options *options = own->run->options;
            const char *device = trace->names[trace->gpu];
            const char *file = st_gpus_of_device(&gpus, device);
            /* The GPU of the recorded job, by the name of its file. */
            const st_job_value *name =
                own->change.job != NULL ? st_job_value_of(own->job, ST_KEY_CLUSTER_GPU_NAME) : NULL;
            bool known = name != NULL && name->origin != ST_ORIGIN_NONE && name->text != NULL;
            const char *said = known ? st_gpus_of_device(&gpus, name->text) : NULL;
            if (file != NULL && said != NULL && strcmp(file, said) != 0) {
                status = st_fail(errors, ST_ERR_VALUE, (st_place){.file = "--job"},
                                 "the job is of another GPU" ST_FOUND "%s" ST_EXPECTED
                                 "%s, on which %s was recorded" ST_HINT
                                 "name another cluster with --have cluster=NAME",
                                 said, file, trace->file);
            } else if (own->change.ratios != NULL &&
                       (file == NULL || strcmp(file, own->measured.from) != 0)) {
                status = st_fail(errors, ST_ERR_VALUE, (st_place){.file = options->ratios},
                                 "the ratios are of kernels recorded on another GPU" ST_FOUND
                                 "%s" ST_EXPECTED "%s, on which %s was recorded",
                                 own->measured.from, file != NULL ? file : device, trace->file);
            }
        }
    return status;
}

/* ---- another GPU ---- */

/* The last "cluster.gpu=NAME"; NULL: there is none. */
static const char *gpu_named(const cli_texts *texts)
{
    static const char key[] = ST_KEY_CLUSTER_GPU "=";
    const char *name = NULL;
    for (size_t i = 0; i < texts->count; i++)
        if (strncmp(texts->items[i], key, sizeof key - 1) == 0)
            name = texts->items[i] + sizeof key - 1;
    return name;
}

static st_status open_prices(whatif *own, const char *gpu, const cli_texts *sets,
                             const cli_texts *refine, st_prices **prices)
{
    const st_prices_request request = {.gpu = gpu,
                                       .sets = sets->items,
                                       .set_count = sets->count,
                                       .refine = refine->items,
                                       .refine_count = refine->count};
    return st_prices_open(own->run->paths, &request, own->run->arena, prices, own->run->errors);
}

static double scaled_ratio(const void *context, size_t rank, size_t event, st_trace_class *taken)
{
    const whatif *own = context;
    return own->scale * own->shapes.ratio(own->shapes.context, rank, event, taken);
}

/* The step where all kernels are faster, then slower, than their shapes say. */
static st_status find_band(whatif *own, st_trace_outcome *outcome)
{
    st_status status = ST_OK;
    st_errors *errors = st_xmemory(st_errors_create()); /* those of the step itself are enough */
    for (int i = 0; i < 2 && own->band > 0 && status == ST_OK; i++) {
        st_trace_graph *graph = NULL;
        st_trace_outcome one = {0};
        own->scale = i == 0 ? 1 / (1 + own->band) : 1 + own->band;
        status = st_trace_graph_make(own->set, &graph, errors);
        if (status == ST_OK)
            status = st_trace_whatif(graph, &own->change, own->run->arena, &one, errors);
        outcome->band_ns[i] = one.after_ns;
        st_trace_graph_destroy(graph);
    }
    st_errors_destroy(errors);
    return status;
}

/* Ratios of what operators take on the GPU that is asked for and on the recorded one. */
static st_status take_gpu(whatif *own)
{
    cli_run *run = own->run;
    st_recorded_gpus gpus = {.set = own->set};
    const char *from = NULL;
    if (own->gpu_sets.count == 0 && own->gpu_refine.count == 0)
        return ST_OK;
    if (own->gpu_sets.count == 0)
        return cli_wrong_use(run, "refine= of --have is of kernels on another GPU",
                             "--set cluster.gpu=NAME asks for one");
    if (own->change.ratios != NULL)
        return cli_wrong_use(run, "--ratios and cluster.gpu of --set both move kernels",
                             "take one of them");
    st_status status = cli_recorded_gpu(own->run, own->set, gpu_named(&own->gpu_have),
                                        "--have cluster.gpu=NAME", &from);
    if (status == ST_OK)
        status = open_prices(own, from, &own->gpu_have, &own->gpu_refine, &gpus.before);
    gpus.to = gpu_named(&own->gpu_sets) != NULL ? gpu_named(&own->gpu_sets) : from;
    if (status == ST_OK)
        status = open_prices(own, gpus.to, &own->gpu_sets, &run->common.refine, &gpus.after);
    if (status != ST_OK)
        return status;
    if ((st_prices_plugins(gpus.before) == NULL) != (st_prices_plugins(gpus.after) == NULL))
        st_report(run->errors, ST_SEVERITY_WARNING, ST_ERR_VALUE, (st_place){.file = "--refine"},
                  "a plugin prices one of the two GPUs and formulas the other, so that their "
                  "errors do not cancel" ST_HINT "--have refine=PLUGIN... is of %s",
                  from);
    status = st_recorded_ratios(&gpus, run->arena, &own->shapes, run->errors);
    own->band = st_prices_band(gpus.after);
    own->scale = 1;
    own->ratios = own->shapes;
    own->ratios.context = own;
    own->ratios.ratio = scaled_ratio;
    own->change.ratios = &own->ratios;
    return status;
}

static st_status take_change(whatif *own)
{
    cli_run *run = own->run;
    const whatif_options *options = run->options;
    own->change.approximate = options->approximate;
    own->change.keep_times = options->trace != NULL;
    own->change.removed = options->removed.items;
    own->change.removed_count = options->removed.count;
    own->change.fused = options->fused.items;
    own->change.fused_count = options->fused.count;
    own->change.inserted = options->inserted.items;
    own->change.inserted_count = options->inserted.count;
    st_status status = cli_paths(run);
    if (status == ST_OK) {
        /* What is set of the GPU is priced, all else is the trace's. */
        const cli_texts *all = &run->common.sets;
        cli_texts others = {0};
        for (size_t i = 0; i < all->count && status == ST_OK; i++)
            status = is_of_gpu(all->items[i]) ? add_gpu_text(own, &own->gpu_sets, all->items[i])
                                              : cli_add_text(run, &others, all->items[i]);
        own->change.sets = others.items;
        own->change.set_count = others.count;
    }
    if (status == ST_OK)
        status = take_job(own);
    if (status == ST_OK)
        status = take_growth(own);
    if (status == ST_OK)
        status = take_ratios(own);
    if (status != ST_OK)
        return status;
    st_plugin_collectives_request request = {.paths = own->run->paths,
                                             .job = own->job,
                                             .passes_over = own->change.growth.products > 0 ||
                                                            own->gpu_sets.count > 0,
                                             .place = {.file = "--refine"}};
    st_plugin_collectives *opened = NULL;
    const st_words words = {run->common.refine.items, run->common.refine.count};
    st_status model_status = ST_OK;
    if (words.count > 0)
        model_status = st_refine_parse(own->run->paths, &words, run->arena, &request.refinements,
                                       &request.count, run->errors);
    if (model_status != ST_OK || request.count == 0)
        return model_status;
    model_status = st_plugin_collectives_open(&request, run->arena, &opened, run->errors);
    if (model_status == ST_OK && opened != NULL) {
        own->model = st_plugin_collectives_model(opened);
        own->change.model = &own->model;
    }
    return model_status;
}

static st_status write_trace(cli_run *run, const st_trace_graph *graph,
                             const st_trace_outcome *outcome)
{
    const whatif_options *options = run->options;
    st_trace_export asked = {.set = graph->set,
                             .graph = graph,
                             .before = &outcome->times_before,
                             .after = &outcome->times_after,
                             .critical = true,
                             .partial = run->common.partial};
    if (outcome->times_after.tasks == NULL)
        return st_fail(run->errors, ST_ERR_VALUE, (st_place){.file = "--trace"},
                       CLI_NO_NEW_THREADS);
    return cli_make_trace(run, &asked, options->trace, cli_make_file(run, options->trace));
}

static int run_whatif(cli_run *run)
{
    const whatif_options *options = run->options;
    whatif own = {.run = run};
    st_trace_set *set = NULL;
    st_trace_graph *graph = NULL;
    st_trace_outcome outcome = {0};
    st_trace_options reading = {0};
    st_status status = take_change(&own);
    reading.details = own.gpu_sets.count > 0;
    if (status == ST_OK)
        status = cli_read_set(run, run->arguments, run->argument_count, &reading, &set);
    own.set = set;
    if (status == ST_OK)
        status = check_gpu(&own, set);
    if (status == ST_OK)
        status = take_gpu(&own);
    if (status == ST_OK)
        status = st_trace_graph_make(set, &graph, run->errors);
    if (status == ST_OK)
        status = find_band(&own, &outcome);
    own.scale = 1;
    const int64_t band_ns[] = {outcome.band_ns[0], outcome.band_ns[1]};
    if (status == ST_OK)
        status = st_trace_whatif(graph, &own.change, run->arena, &outcome, run->errors);
    memcpy(outcome.band_ns, band_ns, sizeof band_ns);
    if (status == ST_OK && options->trace != NULL)
        status = write_trace(run, graph, &outcome);
    if (status == ST_OK) {
        st_result result;
        st_trace_whatif_result(graph, &outcome, run->arena, &result);
        cli_show(run, &result);
    }
    st_trace_graph_destroy(graph);
    st_trace_set_destroy(set);
    return cli_exit_code(run, status);
}

const cli_verb cli_verb_trace_whatif = {
    .name = "trace whatif",
    CLI_TAKES_TRACES,
    .summary = "replay a recorded step as it would be in another job",
    .doc =
        "Changes the times of tasks in the graph of a recorded step and replays it: another "
        "data-parallel size, more or fewer layers or micro-batches, another width, faster kernels "
        "or links. For another pipeline, the schedule is rebuilt from the passes of the replay. "
        "With --refine, collectives with a recorded message size scale as the times of the plugin, "
        "on the cluster of --job or of --have cluster=NAME; others scale as rings. Assumptions are "
        "printed. docs/traces.md lists the keys. speed.CLASS "
        "is one of gemm, attention, norm, elementwise, optimizer, memory, communication, other.",
    .examples = examples,
    CLI_OPTIONS(option_rows, whatif_options),
    .run = run_whatif,
};
