/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Exporting and importing. An export reads its own settings back before it writes them: what
 * comes out otherwise than in the job is carried, or is a plan that the framework cannot run.
 */
#include "launch/frameworks/settings.h"

#include "base/memory.h"
#include "base/word_sets.h"
#include "steptime/keys.h"
#include "steptime/tool/job_keys.h"
#include "steptime/tool/job_values.h"
#include "steptime/tool/value_text.h"

#include <string.h>

enum { MAX_CARRIED = 512, MAX_NOTES = 8, MAX_FILES = 16 };

typedef struct exporter {
    st_framework framework;
    const st_paths *paths;
    const st_job *job;
    const st_job *plain; /* of the files alone that the carried sections name */
    st_arena *arena;
    st_errors *errors;
    st_draft draft; /* of what comes back */
    megatron_run settings;
    const char *carried[MAX_CARRIED];
    size_t carried_count;
    const char *notes[MAX_NOTES];
    size_t note_count;
    st_status status;
    const st_export_options *options;
    fw_release release;
    fw_flavor flavor; /* of torchtitan */
} exporter;

/* ---- back to keys ---- */

static void put_keys(st_framework framework, megatron_run *settings)
{
    megatron_run arguments = {.draft = settings->draft, .is_export = settings->is_export};
    if (framework == ST_TORCHTITAN) {
        fw_torchtitan_keys(settings);
        return;
    }
    if (framework == ST_MEGATRON) {
        megatron_put_all(settings);
        return;
    }
    fw_restore_arguments(framework, settings, &arguments);
    megatron_put_all(&arguments);
}

static st_status import_file(st_framework framework, const st_import_request *request,
                             st_arena *arena, st_buffer *job, st_errors *errors)
{
    st_draft draft;
    megatron_run settings = {.draft = &draft};
    st_import_request with = *request;
    const size_t known = st_errors_size(errors);
    if (framework != ST_MEGATRON && !fw_take_script(&with, arena))
        return st_out_of_memory(errors);
    const char **carried = fw_read_carried(framework, &with, arena, &with.carried_count, errors);
    if (carried == NULL)
        return st_errors_size(errors) > known ? ST_ERR_VALUE : st_out_of_memory(errors);
    /* The stack that a framework's own file implies, where the search path has it. An exported
     * file carries the one of its job. */
    const char *stack = fw_implied_stack(framework, request);
    const st_job *stack_job = NULL;
    if (with.carried_count == 0 && stack != NULL &&
        st_job_load(with.paths, NULL, &stack, 1, arena, &stack_job, NULL) == ST_OK)
        carried[with.carried_count++] = stack;
    for (size_t i = 0; i < request->carried_count && with.carried_count < MAX_CARRIED; i++)
        carried[with.carried_count++] = request->carried[i];
    with.carried = carried;
    if (framework == ST_MEGATRON)
        return st_import_megatron(&with, job, errors);
    st_status status = st_draft_start(&draft, &with, arena, errors);
    if (status == ST_OK)
        fw_read(framework, &settings);
    if (status != ST_OK || draft.status != ST_OK)
        return status != ST_OK ? status : draft.status;
    if (settings.count == 0)
        return st_fail(errors, ST_ERR_NAME, (st_place){.file = request->file},
                       "no options of %s found", fw_title(framework));
    megatron_remember_keys(&settings);
    fw_settle(framework, &settings);
    if (draft.status != ST_OK)
        return draft.status;
    put_keys(framework, &settings);
    if (framework == ST_TORCHTITAN)
        megatron_account(&settings);
    if (request->log != NULL) {
        megatron_read_times(&settings, request->log);
        megatron_warn_of_times(&settings);
        megatron_put_time(&settings);
    }
    if (draft.status != ST_OK)
        return draft.status;
    return st_draft_write(&draft,
                          st_draft_text(&draft,
                                        "From %.200s, %s of %s, by steptime import %s. The "
                                        "comment after each value names its option.",
                                        st_draft_source(&draft),
                                        request->log != NULL ? "the log" : "a file",
                                        fw_title(framework), st_framework_name(framework)),
                          job);
}

st_status st_framework_import(st_framework framework, const st_import_request *request,
                              st_buffer *job, st_errors *errors)
{
    st_arena *arena = st_arena_create();
    if (arena == NULL)
        return st_out_of_memory(errors);
    st_status status = import_file(framework, request, arena, job, errors);
    st_arena_destroy(arena);
    return status;
}

/* ---- comparing what comes back ---- */

static void carry(exporter *export, const char *key, const char *value)
{
    const char *text = st_arena_printf(export->arena, "%s=%s", key, value);
    if (export->carried_count < MAX_CARRIED && text != NULL)
        export->carried[export->carried_count++] = text;
    else
        st_note(&export->status, st_out_of_memory(export->errors));
}

typedef struct key_values {
    const st_key *key;
    const st_job_value *wanted;
    bool has_back; /* something comes back, or the key has a default */
    double back;
    const char *back_text;
} key_values;

static key_values values_of(exporter *export, const st_key *key)
{
    key_values values = {.key = key, .wanted = st_job_value_of(export->job, key->path)};
    values.back_text = export->draft.values[st_key_index(key)].text;
    if (values.back_text == NULL)
        values.back_text = key->default_text;
    if (values.back_text == NULL)
        return values;
    st_value_text text = {.text = values.back_text, .length = strlen(values.back_text)};
    values.has_back = st_value_parse(key, &text, &values.back, NULL) == ST_OK;
    return values;
}

static bool same(const key_values *values)
{
    if (!values->has_back)
        return false;
    return values->key->kind == ST_KEY_TEXT ? strcmp(values->back_text, values->wanted->text) == 0
                                            : values->back == values->wanted->number;
}

/* The key makes no difference where another one has this value. */
static bool is_without_effect(const st_job *job, const char *key)
{
    static const struct {
        const char *key;
        const char *other;
        double value;
    } idle[] = {
        {ST_KEY_PARALLEL_SEQUENCE_PARALLEL, ST_KEY_PARALLEL_TP, 1},
        {ST_KEY_PARALLEL_SCATTER_GATHER, ST_KEY_PARALLEL_TP, 1},
        {ST_KEY_PARALLEL_EP, ST_KEY_MODEL_EXPERTS, 0},
        {ST_KEY_PARALLEL_EXPERT_TP, ST_KEY_MODEL_EXPERTS, 0},
        {ST_KEY_PARALLEL_DISPATCHER, ST_KEY_MODEL_EXPERTS, 0},
        {ST_KEY_PARALLEL_CP_METHOD, ST_KEY_PARALLEL_CP, 1},
        {ST_KEY_MODEL_MAMBA_GROUPS, ST_KEY_MODEL_MAMBA_HEADS, 0},
        {ST_KEY_MODEL_MTP_SHARED, ST_KEY_MODEL_MTP, 0},
        {ST_KEY_MODEL_QKV_BIAS, ST_KEY_MODEL_BIAS, 1}, /* which all projections have */
        {ST_KEY_TRAIN_LORA_RANK, ST_KEY_TRAIN_TASK, 0},
    };
    for (size_t i = 0; i < ST_COUNT(idle); i++)
        if (strcmp(idle[i].key, key) == 0 && st_job_number(job, idle[i].other) == idle[i].value)
            return true;
    if (strcmp(key, ST_KEY_PARALLEL_ZERO) == 0)
        return st_job_number(job, ST_KEY_PARALLEL_DP) * st_job_number(job, ST_KEY_PARALLEL_CP) == 1;
    if (strcmp(key, ST_KEY_PARALLEL_DP) == 0) /* no cluster, so no number of ranks */
        return fw_ranks_of(job).per_node == 0;
    return false;
}

/* Delayed scaling has two names; the type of the weights is not a recipe. */
static bool is_same_recipe(const exporter *export)
{
    const st_draft_value *fp8 =
        &export->draft.values[st_key_index(st_key_find(ST_KEY_PRECISION_FP8))];
    bool back = fp8->text != NULL && strcmp(fp8->text, "true") == 0;
    return (fw_is(export->job, ST_KEY_PRECISION_RECIPE, "fp8_delayed") && back) ||
           (fw_is(export->job, ST_KEY_PRECISION_RECIPE, "bf16") && !back &&
            fw_is(export->job, ST_KEY_PRECISION_WEIGHTS, "bf16"));
}

/* The key is overruled by another one of the job. */
static bool is_overruled(const st_job *job, const char *key)
{
    if (strcmp(key, ST_KEY_PRECISION_FP8) == 0)
        return !fw_is(job, ST_KEY_PRECISION_RECIPE, "default");
    if (strcmp(key, ST_KEY_PARALLEL_VIRTUAL_STAGES) == 0 ||
        strcmp(key, ST_KEY_PARALLEL_SCHEDULE) == 0)
        return fw_is(job, ST_KEY_PARALLEL_LAYOUT, "*");
    if (strcmp(key, ST_KEY_RECOMPUTED_LAYERS) == 0)
        return !fw_is(job, ST_KEY_RECOMPUTE, "full");
    return strncmp(key, ST_KEY_RECOMPUTED ".", 11) == 0 &&
           !fw_is(job, ST_KEY_RECOMPUTE, "selective");
}

/* Two values that run the same: two words for one thing, or no difference here. */
static bool runs_the_same(const exporter *export, const key_values *values)
{
    const char *key = values->key->path;
    if (values->has_back && values->key->kind != ST_KEY_TEXT &&
        fw_meaning(fw_number_in_job, export->job, key, values->back) ==
            fw_meaning(fw_number_in_job, export->job, key, values->wanted->number))
        return true;
    if (strcmp(key, ST_KEY_MODEL_PATTERN) == 0 || strcmp(key, ST_KEY_MODEL_DENSE_LAYERS) == 0 ||
        strcmp(key, ST_KEY_MODEL_MOE_EVERY) == 0)
        return fw_same_layers(export->job, &export->draft);
    /* What the framework takes without an option. */
    if ((strcmp(key, ST_KEY_MODEL_ACTIVATION) == 0 && !values->has_back &&
         fw_is(export->job, ST_KEY_MODEL_GATED, "false") && fw_is(export->job, key, "gelu")) ||
        (strcmp(key, ST_KEY_MODEL_ROUTER_SCORE) == 0 && export->framework == ST_DEEPSPEED &&
         fw_is(export->job, key, "softmax")))
        return true;
    if (is_overruled(export->job, key) ||
        (strcmp(key, ST_KEY_PRECISION_RECIPE) == 0 && is_same_recipe(export)))
        return true;
    if (strcmp(key, ST_KEY_PARALLEL_SCHEDULE) == 0) {
        /* The number of chunks implies interleaving; a single stage needs no schedule. */
        const st_job *job = export->job;
        const bool chunks = st_job_number(job, ST_KEY_PARALLEL_VIRTUAL_STAGES) > 1;
        return st_job_number(job, ST_KEY_PARALLEL_PP) == 1 ||
               (chunks && (fw_is(job, ST_KEY_PARALLEL_SCHEDULE, "1f1b") ||
                           fw_is(job, ST_KEY_PARALLEL_SCHEDULE, "interleaved")));
    }
    if (strcmp(key, ST_KEY_PARALLEL_ORDER) == 0)
        return fw_is(export->job, key, "tp-cp-ep-dp-pp");
    return is_without_effect(export->job, key);
}

/* What the files that are named give; the launch may have put another number in its place. */
static bool comes_from_file(const exporter *export, const st_key *key, const st_job_value *wanted)
{
    const st_job_value *plain =
        export->plain != NULL ? st_job_value_of(export->plain, key->path) : NULL;
    return plain != NULL && plain->text != NULL && wanted->text != NULL &&
           strcmp(plain->text, wanted->text) == 0 &&
           export->draft.values[st_key_index(key)].text == NULL;
}

/* Files that the search path has fill sections of the job again; `sets` are those that do so far.
 */
static void carry_files(exporter *export)
{
    size_t count = 0;
    const st_key_section *sections = st_key_sections(&count);
    const char *sets[MAX_FILES];
    size_t set_count = 0;
    for (size_t i = 0; i < count && set_count < MAX_FILES; i++) {
        const char *path = sections[i].path;
        const char *name = st_job_section_name(export->job, path);
        const char *plain = export->plain != NULL ? st_job_section_name(export->plain, path) : NULL;
        const st_job *with = NULL;
        if (!sections[i].is_file || name == NULL || strcmp(name, "inline") == 0 ||
            strcmp(path, ST_KEY_MODEL) == 0 || strcmp(path, ST_KEY_CONSTANTS) == 0 ||
            (plain != NULL && strcmp(plain, name) == 0))
            continue;
        sets[set_count] = st_arena_printf(export->arena, "%s=%s", path, name);
        if (sets[set_count] != NULL && st_job_load(export->paths, NULL, sets, set_count + 1,
                                                   export->arena, &with, NULL) == ST_OK) {
            export->plain = with;
            export->carried[export->carried_count++] = sets[set_count++];
        }
    }
}

static void compare_all(exporter *export)
{
    size_t count = 0;
    const st_key *keys = st_keys(&count);
    carry_files(export);
    for (size_t i = 0; i < count; i++)
        if (strncmp(keys[i].path, ST_KEY_CLUSTER ".", 8) == 0) {
            const st_key *key = &keys[i];
            const st_job_value *wanted = st_job_value_of(export->job, key->path);
            if (wanted->origin != ST_ORIGIN_NONE && wanted->origin != ST_ORIGIN_DEFAULT &&
                !comes_from_file(export, key, wanted))
                carry(export, key->path, wanted->text);
        } else {
            const st_key *key = &keys[i];
            key_values values = values_of(export, key);
            bool is_model = strncmp(key->path, ST_KEY_MODEL ".", 6) == 0;
            bool is_given =
                values.wanted->origin == ST_ORIGIN_FILE || values.wanted->origin == ST_ORIGIN_SET;
            bool is_shape = export->framework == ST_TORCHTITAN && is_model && is_given;
            if (values.wanted->origin == ST_ORIGIN_NONE || strcmp(key->path, ST_KEY_REFINE) == 0 ||
                comes_from_file(export, key, values.wanted) || (same(&values) && !is_shape))
                continue;
            if (is_shape || runs_the_same(export, &values) ||
                fw_is_carried(export->framework, key->path)) {
                carry(export, key->path, values.wanted->text);
                continue;
            }
            const char *wanted = st_arena_printf(
                export->arena, "%s=%s", key->path,
                fw_text_of(&export->draft, key, values.wanted->number, values.wanted->text));
            const char *nearest = values.has_back ? st_arena_printf(export->arena, "%s=%s",
                                                                    key->path, values.back_text)
                                                  : "";
            (void)fw_refuse(export->errors, export->framework, st_or_none(wanted),
                            fw_reason(export->framework, key->path),
                            nearest != NULL ? nearest : "");
            st_note(&export->status, ST_ERR_VALUE);
        }
    size_t refinement_count = 0;
    size_t constant_count = 0;
    const st_job_value *constants = st_job_constants(export->job, &constant_count);
    (void)st_job_refinements(export->job, &refinement_count);
    for (size_t i = 0; i < constant_count; i++)
        carry(export, constants[i].path, constants[i].text);
    if (refinement_count > 0 && export->note_count < MAX_NOTES)
        export->notes[export->note_count++] = "Left out: the plugins under refine.";
}

/* ---- exporting ---- */

/* Options of older releases for the same, and those that a release no longer has. */
static void adapt(exporter *export)
{
    static const struct {
        const char *option; /* that the release lacks */
        const char *argument;
        const char *value;
        const char *instead; /* NULL: left out */
    } rows[] = {
        {"moe-flex-dispatcher-backend", "moe_flex_dispatcher_backend", "deepep",
         "moe_enable_deepep"},
        {"cuda-graph-impl", "cuda_graph_impl", "local", "enable_cuda_graph"},
        {"no-scatter-gather-tensors-in-pipeline", "scatter_gather_tensors_in_pipeline", "False",
         NULL},
    };
    megatron_run *settings = &export->settings;
    for (size_t i = 0; export->framework == ST_MEGATRON && i < ST_COUNT(rows); i++) {
        size_t kept = 0;
        for (size_t k = 0; !fw_release_has(&export->release, rows[i].option) && k < settings->count;
             k++) {
            megatron_argument argument = settings->arguments[k];
            const bool is_row = strcmp(argument.name, rows[i].argument) == 0 &&
                                strcmp(argument.value, rows[i].value) == 0;
            if (is_row && rows[i].instead != NULL)
                argument = (megatron_argument){.name = rows[i].instead, .value = "True"};
            if (!is_row || rows[i].instead != NULL)
                settings->arguments[kept++] = argument;
        }
        if (!fw_release_has(&export->release, rows[i].option))
            settings->count = kept;
    }
}

static void add_notes(exporter *export)
{
    static const char *const launches[][2] = {
        {"Options of Megatron-LM, core ",
         ". \"$@\" takes your own: data, tokenizer, learning rate, "
         "training length, checkpoints."},
        {"Overrides for a recipe of Megatron-Bridge ",
         " (ConfigContainer). Data, tokenizer, optimizer "
         "and checkpoints are the recipe's."},
        {"Options of torchtitan ",
         " (job_config.py). Add data, tokenizer, optimizer and checkpoints."},
        {"Options of the JSON of DeepSpeed ",
         "; the model and the sizes of its groups are arguments "
         "of Megatron-DeepSpeed (launch). Add data, tokenizer, optimizer and checkpoints."},
    };
    const char *stack = st_job_section_name(export->job, ST_KEY_STACK);
    const fw_ranks ranks = fw_ranks_of(export->job);
    const char *flavor = export->flavor.model != NULL
                             ? fw_flavor_note(&export->draft, &export->flavor, export->job)
                             : NULL;
    export->notes[export->note_count++] =
        st_draft_text(&export->draft, "%s%s%s", launches[export->framework][0],
                      export->release.version, launches[export->framework][1]);
    export->notes[export->note_count++] =
        stack != NULL ? st_draft_text(&export->draft, "Estimated with the stack %.100s.", stack)
                      : "Estimated without a stack.";
    /* What training does otherwise than the job says, and no estimate knows or no option changes.
     */
    const char *other = export->framework == ST_MEGATRON_BRIDGE &&
                                fw_is(export->job, ST_KEY_PRECISION_GRADIENTS, "bf16")
                            ? "Its recipes of mixed precision reduce gradients in FP32 over the "
                              "override ddp.grad_reduce_in_fp32: set "
                              "config.mixed_precision.grad_reduce_in_fp32 = False in a program."
                            : flavor;
    if (other != NULL) {
        export->notes[export->note_count++] = other;
        (void)st_report(export->errors, ST_SEVERITY_WARNING, ST_ERR_VALUE, (st_place){0}, "%s",
                        other);
    }
    if (ranks.per_node > 0 &&
        (export->framework == ST_TORCHTITAN || export->framework == ST_MEGATRON_BRIDGE))
        export->notes[export->note_count++] = st_draft_text(
            &export->draft, "torchrun --nproc-per-node %llu --nnodes %llu starts %llu ranks.",
            (unsigned long long)ranks.per_node, (unsigned long long)ranks.nodes,
            (unsigned long long)ranks.world);
}

/* A plan is worth what the stack says that runs it. */
static void warn_of_stack(const exporter *export)
{
    static const char *const stacks[] = {"megatron-core megatron-bridge megatron-2021 nemo-2023",
                                         "megatron-bridge megatron-core nemo-2023",
                                         "torchtitan pytorch pytorch-compiled automodel",
                                         "deepspeed"};
    const char *stack = st_job_section_name(export->job, ST_KEY_STACK);
    if (stack == NULL || !st_has_word(stacks[export->framework], stack))
        (void)st_report(export->errors, ST_SEVERITY_WARNING, ST_ERR_VALUE, (st_place){0},
                        "the plan was estimated %s%s, %s runs it" ST_HINT
                        "estimate and search with --stack %.*s",
                        stack != NULL ? "with the stack " : "without a stack", st_or_none(stack),
                        fw_title(export->framework), (int)strcspn(stacks[export->framework], " "),
                        stacks[export->framework]);
}

/* Sections with many carried keys are shown as a whole. */
static const char *shown(exporter *export, const char *carried)
{
    size_t length = strcspn(carried, "=");
    if (strncmp(carried, ST_KEY_CLUSTER, 7) == 0)
        length = 7;
    else if (export->framework == ST_TORCHTITAN && strncmp(carried, ST_KEY_MODEL ".", 6) == 0)
        length = 5;
    return st_draft_text(&export->draft, "%.*s", (int)length, carried);
}

/*
 * Megatron overlaps messages with computation in the order of a single queue of the GPU's work,
 * which its start asserts for tensor and context parallelism; its FSDP asserts the opposite.
 */
static const char *environment(const exporter *export)
{
    const st_job *job = export->job;
    const bool groups =
        st_job_number(job, ST_KEY_PARALLEL_TP) > 1 || st_job_number(job, ST_KEY_PARALLEL_CP) > 1;
    if (export->framework == ST_TORCHTITAN)
        return "export PYTORCH_CUDA_ALLOC_CONF=expandable_segments:True\n";
    if (st_job_number(job, ST_KEY_PARALLEL_ZERO) > 1 && export->framework != ST_DEEPSPEED)
        return "unset CUDA_DEVICE_MAX_CONNECTIONS\n";
    if (!groups && st_job_number(job, ST_KEY_PARALLEL_EP) > 1 &&
        st_job_number(job, ST_KEY_OVERLAP_EP) > 0)
        return "export CUDA_DEVICE_MAX_CONNECTIONS=32\n";
    return "export CUDA_DEVICE_MAX_CONNECTIONS=1\n";
}

static st_status export_job(exporter *export, st_buffer *file)
{
    st_import_request request = {.paths = export->paths, .file = "export", .text = "", .length = 0};
    /* The shape of the model comes back from the comments, if the file cannot hold it. */
    size_t keys_count = 0;
    const st_key *keys = st_keys(&keys_count);
    const char **sets = st_arena_alloc(export->arena, keys_count, sizeof *sets);
    request.carried_count = 0;
    for (size_t i = 0; sets != NULL && export->framework == ST_TORCHTITAN && i < keys_count; i++)
        if (strncmp(keys[i].path, ST_KEY_MODEL ".", 6) == 0 && fw_has(export->job, keys[i].path))
            sets[(request.carried_count)++] =
                st_arena_printf(export->arena, "%s=%s", keys[i].path,
                                st_job_value_of(export->job, keys[i].path)->text);
    request.carried = sets;
    st_status status = st_draft_start(&export->draft, &request, export->arena, export->errors);
    if (status != ST_OK)
        return status;
    export->settings.draft = &export->draft;
    megatron_run arguments = {.draft = &export->draft};
    if (export->framework == ST_TORCHTITAN) {
        fw_torchtitan_options(export->job, &export->flavor, &export->settings);
    } else if (export->framework == ST_MEGATRON) {
        fw_megatron_arguments(export->framework, export->job, &export->settings);
    } else {
        fw_megatron_arguments(export->framework, export->job, &arguments);
        fw_rename_arguments(export->framework, &arguments, &export->settings);
    }
    export->settings.is_export = true;
    adapt(export);
    if (!fw_release_check(export->framework, &export->release, &export->settings, export->errors))
        st_note(&export->status, ST_ERR_VALUE);
    put_keys(export->framework, &export->settings);
    if (export->draft.status != ST_OK)
        return export->draft.status;
    add_notes(export);
    compare_all(export);
    if (export->status != ST_OK || export->draft.status != ST_OK)
        return export->status != ST_OK ? export->status : export->draft.status;
    const fw_file parts = {
        .framework = export->framework,
        .title = st_draft_text(&export->draft, "%.120s for %s, by steptime export %s.",
                               st_job_name(export->job), fw_title(export->framework),
                               st_framework_name(export->framework)),
        .notes = export->notes,
        .note_count = export->note_count,
        .carried = export->carried,
        .carried_count = export->carried_count,
        .ranks = fw_ranks_of(export->job),
        .version = export->release.version,
        .environment = environment(export),
        .is_batch = export->options->is_batch};
    fw_write(&parts, &export->settings, file);
    /* Lists the values without an option. */
    st_buffer list = {0};
    for (size_t i = 0; i < export->carried_count; i++) {
        const char *name = shown(export, export->carried[i]);
        bool is_new = true;
        for (size_t j = 0; j < i; j++)
            is_new = is_new && strcmp(name, shown(export, export->carried[j])) != 0;
        if (is_new)
            st_buffer_printf(&list, "%s%s", list.length > 0 ? ", " : "", name);
    }
    if (!list.failed && list.length > 0)
        (void)st_report(export->errors, ST_SEVERITY_WARNING, ST_ERR_VALUE, (st_place){0},
                        "%s has no options for these; the file carries them separately: %s",
                        fw_title(export->framework), list.data);
    (void)st_report(export->errors, ST_SEVERITY_WARNING, ST_ERR_VALUE, (st_place){0},
                    "data, tokenizer, learning rate and checkpoints are left out");
    warn_of_stack(export);
    st_buffer_free(&list);
    return file->failed ? st_out_of_memory(export->errors) : ST_OK;
}

st_status st_framework_export(st_framework framework, const st_paths *paths, const st_job *job,
                              const st_export_options *options, st_buffer *file, st_errors *errors)
{
    if (!fw_check(framework, job, errors))
        return ST_ERR_VALUE;
    st_arena *arena = st_arena_create();
    exporter *export = arena != NULL ? st_arena_alloc(arena, 1, sizeof *export) : NULL;
    st_status status = ST_ERR_MEMORY;
    if (export == NULL) {
        status = st_out_of_memory(errors);
    } else {
        *export = (exporter){
            .framework = framework, .paths = paths, .job = job, .arena = arena, .errors = errors};
        export->options = options;
        status =
            fw_release_load(framework, paths, options->version, arena, &export->release, errors);
        if (status == ST_OK && framework == ST_TORCHTITAN)
            status = fw_find_flavor(job, &export->release, arena, &export->flavor, errors);
        const fw_start start = {paths, job, &export->release, export->flavor.model};
        if (status == ST_OK)
            status = fw_check_start(framework, &start, errors);
        if (status == ST_OK && framework == ST_TORCHTITAN && !fw_torchtitan_check(job, errors))
            status = ST_ERR_VALUE;
        if (status == ST_ERR_VALUE && framework <= ST_MEGATRON_BRIDGE) {
            export->status = status; /* and what else is wrong is said */
            status = ST_OK;
        }
        if (status == ST_OK)
            status = export_job(export, file);
    }
    st_arena_destroy(arena);
    return status;
}
