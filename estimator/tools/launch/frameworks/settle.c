/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Settings as the framework itself settles them before they are arguments: recipes of precision and
 * lengths that must agree (Megatron-Bridge: mixed_precision.py, config.py), the batch equation and
 * values that the HF Trainer fills in (DeepSpeed: runtime/config.py).
 */
#include "launch/frameworks/settings.h"

#include "base/chars.h"
#include "base/text.h"
#include "base/word_sets.h"
#include "steptime/keys.h"

#include <ctype.h>
#include <inttypes.h>
#include <string.h>

static megatron_argument *find(megatron_run *settings, const char *name)
{
    size_t i = ST_FIND(settings->arguments, settings->count, name, name);
    return i < settings->count ? &settings->arguments[i] : NULL;
}

static void drop(megatron_run *settings, const char *name)
{
    size_t i = ST_FIND(settings->arguments, settings->count, name, name);
    if (settings->arguments == NULL || i >= settings->count)
        return;
    settings->count--;
    memmove(&settings->arguments[i], &settings->arguments[i + 1],
            (settings->count - i) * sizeof *settings->arguments);
}

static bool is_true(megatron_run *settings, const char *name)
{
    const megatron_argument *argument = find(settings, name);
    return argument != NULL && strcmp(argument->value, "True") == 0;
}

static void refuse_two(megatron_run *settings, const char *what, const megatron_argument *a,
                       const megatron_argument *b)
{
    ST_NOTE(settings->draft, ST_ERR_VALUE, megatron_place(settings, b),
            "two %s contradict each other" ST_FOUND "%s %.60s and %s %.60s" ST_EXPECTED "one", what,
            a->name, a->value, b->name, b->value);
}

/* ---- Megatron-Bridge: values of Python ---- */

/* "model.params_dtype._target_: torch.bfloat16" is the value bfloat16 of model.params_dtype. */
static void fold_objects(megatron_run *settings)
{
    static const char mark[] = "._target_";
    static const char *const backends[] = {"", "flash", "fused", "unfused", "local", "auto"};
    for (size_t i = settings->count; i > 0; i--) {
        const megatron_argument target = settings->arguments[i - 1];
        if (!st_ends_in(target.name, mark))
            continue;
        const char *owner = st_draft_text(settings->draft, "%.*s",
                                          (int)(strlen(target.name) - strlen(mark)), target.name);
        if (strchr(owner, '.') == NULL)
            continue;
        const char *dot = strrchr(target.value, '.');
        const char *value = dot != NULL ? dot + 1 : target.value;
        const char *list = st_draft_text(settings->draft, "%s._args_", owner);
        const megatron_argument *arguments = find(settings, list);
        if (arguments != NULL && strcmp(value, "AttnBackend") == 0) {
            const size_t number = (size_t)(arguments->value[1] - '0');
            value = number < ST_COUNT(backends) ? backends[number] : value;
        }
        megatron_set(settings, owner, value, target.line);
        drop(settings, target.name);
        drop(settings, list);
        i = settings->count + 1; /* indices have changed */
    }
}

/* ---- Megatron-Bridge: precision ---- */

/* Recipes, behind "bf16_with_" or "fp16_with_" and the name of a model. */
static const struct {
    const char *name;
    const char *format; /* of FP8; NULL: of FP4 */
    const char *recipe;
    const char *ends; /* layers at each end in 16 bits */
    const char *gather;
} recipes[] = {
    {"fp8_delayed_scaling", "hybrid", "delayed", NULL, "True"},
    {"fp8_current_scaling", "hybrid", "tensorwise", "1", "True"},
    {"fp8_subchannel_scaling", "hybrid", "blockwise", NULL, NULL},
    {"mxfp8", "e4m3", "mxfp8", NULL, "True"},
    {"nvfp4", NULL, NULL, NULL, NULL},
};

static void put(megatron_run *settings, const char *name, const char *value, int line)
{
    if (value != NULL && find(settings, name) == NULL)
        megatron_set(settings, name, value, line);
}

static void read_recipe(megatron_run *settings, const megatron_argument *argument)
{
    char name[128];
    size_t length = 0;
    for (const char *c = argument->value; *c != '\0' && length + 1 < sizeof name; c++)
        name[length++] = *c == '-' ? '_' : *c;
    name[length] = '\0';
    const char *type = strstr(name, "bf16") != NULL ? "bf16" : "fp16";
    const char *with = strstr(name, "_with_");
    const int line = argument->line;
    const bool known = strstr(name, type) != NULL || strcmp(name, "16_mixed") == 0;
    const bool plain = with == NULL && known && st_ends_in(name, "_mixed");
    size_t row = 0;
    while (with != NULL && known && row < ST_COUNT(recipes) &&
           strncmp(with + strlen("_with_"), recipes[row].name, strlen(recipes[row].name)) != 0)
        row++;
    if (!plain && (with == NULL || !known || row == ST_COUNT(recipes))) {
        ST_NOTE(settings->draft, ST_ERR_VALUE, megatron_place(settings, argument),
                "unknown recipe of mixed_precision" ST_FOUND "'%.60s'" ST_EXPECTED
                "one such as bf16_mixed or bf16_with_mxfp8_mixed" ST_HINT
                "write its values under mixed_precision: bf16, fp8, fp8_recipe",
                argument->value);
        return;
    }
    put(settings, type, "True", line);
    if (plain)
        return;
    const bool model = strncmp(name, type, strlen(type)) != 0; /* "nanov2_bf16_with_..." */
    put(settings, recipes[row].format != NULL ? "fp8_format" : "fp4_format",
        recipes[row].format != NULL ? recipes[row].format : "e2m1", line);
    put(settings, "fp8_recipe", strncmp(name, "nanov2", 6) == 0 ? "blockwise" : recipes[row].recipe,
        line);
    if (settings->draft->request->carried_count > 1)
        return; /* an exported file says the rest itself */
    put(settings, "fp8_param_gather", recipes[row].gather, line);
    if (recipes[row].ends == NULL)
        return;
    put(settings, "first_last_layers_bf16", "True", line);
    put(settings, "num_layers_at_start_in_bf16", model ? "2" : recipes[row].ends, line);
    put(settings, "num_layers_at_end_in_bf16", model ? "2" : recipes[row].ends, line);
}

/* A map of mixed_precision goes before the others, as Megatron-Bridge writes it over them. */
static void merge_fields(megatron_run *settings)
{
    static const char *const parts[] = {"mixed_precision", "model", "optimizer"};
    static const char *const fields[] = {"bf16",
                                         "fp16",
                                         "fp8",
                                         "fp8_recipe",
                                         "fp4",
                                         "fp8_param_gather",
                                         "fp8_dot_product_attention",
                                         "fp8_multi_head_attention",
                                         "first_last_layers_bf16",
                                         "num_layers_at_start_in_bf16",
                                         "num_layers_at_end_in_bf16"};
    const bool is_map = find(settings, "mixed_precision.bf16") != NULL;
    for (size_t i = 0; i < ST_COUNT(fields); i++)
        for (size_t part = 0; part < ST_COUNT(parts); part++) {
            const char *name = st_draft_text(settings->draft, "%s.%s", parts[part], fields[i]);
            const megatron_argument *given = find(settings, name);
            const megatron_argument *known = find(settings, fields[i]);
            if (given == NULL)
                continue;
            const bool was_off = known == NULL || megatron_is_off(known->value);
            if (!was_off && !megatron_is_off(given->value) &&
                strcmp(known->value, given->value) != 0)
                refuse_two(settings, "precisions", known, given);
            const bool recipe = find(settings, "mixed_precision") != NULL || is_map;
            if (part == 2 && known != NULL && !recipe && was_off != megatron_is_off(given->value))
                refuse_two(settings, "precisions", known, given);
            if (known == NULL || (was_off && part == 1 && !is_map))
                megatron_set(settings, fields[i], given->value, given->line);
            drop(settings, name);
        }
}

/* The type of PyTorch that parameters have, as a flag of Megatron; NULL where it is not of 16 bits.
 */
static const char *parameter_type(megatron_run *settings)
{
    static const char *const names[] = {"mixed_precision.params_dtype", "model.params_dtype"};
    const char *type = NULL;
    for (size_t i = 0; i < ST_COUNT(names); i++) {
        const megatron_argument *given = find(settings, names[i]);
        const char *value = given != NULL ? given->value : "";
        if (type == NULL && (strstr(value, "16") != NULL || strcmp(value, "half") == 0))
            type = strstr(value, "bf") != NULL ? "bf16" : "fp16";
        drop(settings, names[i]);
    }
    return type;
}

static void settle_recipe(megatron_run *settings)
{
    const megatron_argument *mixed = find(settings, "mixed_precision");
    if (mixed != NULL && strcmp(mixed->value, "None") != 0) {
        const megatron_argument recipe = *mixed;
        const bool bf16 = strstr(recipe.value, "bf16") != NULL;
        const char *same = bf16 ? "bf16" : "fp16";
        const char *other = bf16 ? "fp16" : "bf16";
        if (is_true(settings, other))
            refuse_two(settings, "precisions", &recipe, find(settings, other));
        if (!is_true(settings, same))
            drop(settings, same);
        read_recipe(settings, &recipe);
    }
    drop(settings, "mixed_precision");
}

static void settle_precision(megatron_run *settings)
{
    merge_fields(settings);
    const char *type = parameter_type(settings);
    settle_recipe(settings);
    const bool bf16 = is_true(settings, "bf16");
    const bool fp16 = is_true(settings, "fp16");
    const char *set = bf16 ? "bf16" : fp16 ? "fp16" : NULL;
    if (bf16 && fp16)
        refuse_two(settings, "precisions", find(settings, "bf16"), find(settings, "fp16"));
    if (set == NULL && type != NULL)
        megatron_set(settings, type, "True", 0);
    else if (set != NULL && type != NULL && strcmp(set, type) != 0)
        ST_NOTE(settings->draft, ST_ERR_VALUE, megatron_place(settings, find(settings, set)),
                "two precisions contradict each other" ST_FOUND
                "%s True and params_dtype of %s" ST_EXPECTED "one",
                set, type);
    const megatron_argument *reduce = find(settings, "mixed_precision.grad_reduce_in_fp32");
    if (reduce != NULL)
        megatron_set(settings, "ddp.grad_reduce_in_fp32", reduce->value, reduce->line);
}

/* ---- Megatron-Bridge: the rest ---- */

static void settle_length(megatron_run *settings)
{
    static const char *const names[] = {"dataset.seq_length", "dataset.sequence_length"};
    for (size_t i = 0; i < ST_COUNT(names); i++) {
        const megatron_argument *data = find(settings, names[i]);
        const megatron_argument *model = find(settings, "model.seq_length");
        if (data == NULL || strcmp(data->value, "None") == 0)
            continue;
        if (model != NULL && strcmp(model->value, data->value) != 0 &&
            !st_draft_is_given(settings->draft, ST_KEY_BATCH_SEQUENCE))
            refuse_two(settings, "sequence lengths", model, data);
        else if (model == NULL)
            megatron_set(settings, "model.seq_length", data->value, data->line);
        drop(settings, names[i]);
    }
}

/* Adapters on frozen weights: of the modules that target_modules names, all where it is absent. */
static void settle_adapters(megatron_run *settings)
{
    static const char *const modules[][2] = {
        {"linear_qkv", ST_KEY_TRAIN_LORA_QKV},
        {"linear_proj", ST_KEY_TRAIN_LORA_PROJECTION},
        {"linear_fc1", ST_KEY_TRAIN_LORA_FC1},
        {"linear_fc2", ST_KEY_TRAIN_LORA_FC2},
    };
    const megatron_argument *kind = find(settings, "peft._target_");
    const megatron_argument *rank = find(settings, "peft.dim");
    const megatron_argument *targets = find(settings, "peft.target_modules");
    const megatron_argument *first = kind != NULL ? kind : rank;
    if (first == NULL || (kind != NULL && !st_ends_in(kind->value, ".LoRA")))
        return; /* other kinds of adapters stop the import */
    st_draft_put(settings->draft, ST_KEY_TRAIN_TASK, first->line, "lora", "peft");
    if (rank != NULL)
        st_draft_put_count(settings->draft, ST_KEY_TRAIN_LORA_RANK, rank->line,
                           megatron_count_or(settings, "peft.dim", 0), "peft.dim");
    for (size_t i = 0; targets != NULL && i < ST_COUNT(modules); i++)
        if (strstr(targets->value, modules[i][0]) == NULL)
            st_draft_put_bool(settings->draft, modules[i][1], false, "peft.target_modules");
    drop(settings, "peft._target_");
    drop(settings, "peft.dim");
}

/* A field of the model that is an argument of Megatron under its own name. */
static void settle_fields(megatron_run *settings)
{
    const fw_names *names = fw_names_of(ST_MEGATRON_BRIDGE);
    const size_t prefix = strlen("model.");
    for (size_t i = 0; i < settings->count; i++) {
        const megatron_argument field = settings->arguments[i];
        bool known = strncmp(field.name, "model.", prefix) != 0;
        for (size_t row = 0; row < names->row_count && !known; row++)
            known = strcmp(names->rows[row].option, field.name) == 0;
        if (!known && find(settings, field.name + prefix) == NULL)
            settings->arguments[i].name = field.name + prefix;
    }
}

/* ---- DeepSpeed ---- */

#define TRAIN "train_batch_size"
#define MICRO "train_micro_batch_size_per_gpu"
#define STEPS "gradient_accumulation_steps"

static uint64_t count_of(megatron_run *settings, const char *name)
{
    const megatron_argument *argument = find(settings, name);
    return argument == NULL || strcmp(argument->value, "auto") == 0
               ? 0
               : megatron_count_or(settings, name, 0);
}

static uint64_t ranks_of(megatron_run *settings)
{
    const uint64_t given = st_draft_count(settings->draft, ST_KEY_PARALLEL_DP);
    static const char *const others[] = {
        "launch.tensor_model_parallel_size", "launch.pipeline_model_parallel_size",
        "launch.context_parallel_size", "tensor_parallel.autotp_size"};
    const uint64_t nodes = count_of(settings, "launch.num_nodes");
    uint64_t ranks = count_of(settings, "launch.num_gpus") * (nodes > 0 ? nodes : 1);
    ranks = ranks > 0 ? ranks : count_of(settings, "world_size");
    for (size_t i = 0; i < ST_COUNT(others) && ranks > 0; i++) {
        const uint64_t size = count_of(settings, others[i]);
        ranks = size > 1 ? ranks / size : ranks;
    }
    return given > 0 ? given : ranks;
}

static void set_count(megatron_run *settings, const char *name, uint64_t value)
{
    const megatron_argument *argument = find(settings, name);
    megatron_set(settings, name, st_draft_text(settings->draft, "%" PRIu64, value),
                 argument != NULL ? argument->line : 0);
}

/* train_batch_size = micro x steps x ranks; 0 is what is missing. */
typedef struct batch_terms {
    uint64_t train, micro, steps, dp;
} batch_terms;

static uint64_t at_least_1(uint64_t value)
{
    return value > 0 ? value : 1;
}

/* What is missing follows from the others. */
static void complete_batch(megatron_run *settings, batch_terms *batch)
{
    const uint64_t rank = batch->micro * batch->steps;
    if (batch->train > 0 && rank > 0 && batch->dp == 0 && batch->train % rank == 0) {
        batch->dp = batch->train / rank;
        st_draft_put_count(settings->draft, ST_KEY_PARALLEL_DP, 0, batch->dp,
                           TRAIN " over micro-batch and accumulation");
    }
    const uint64_t times = batch->dp * at_least_1(batch->steps);
    if (batch->train == 0)
        batch->train = batch->micro * times;
    if (batch->micro == 0 && times > 0 && batch->train % times == 0)
        batch->micro = batch->train / times;
}

static void check_batch(megatron_run *settings, const batch_terms *batch,
                        const megatron_argument *place)
{
    const uint64_t dp = at_least_1(batch->dp);
    const uint64_t unit = batch->micro * dp;
    const uint64_t steps = batch->steps > 0 ? batch->steps : unit > 0 ? batch->train / unit : 1;
    const bool open = batch->train == 0 || (batch->dp == 0 && batch->steps > 0);
    if (!open && unit > 0 && batch->train != unit * steps)
        ST_NOTE(settings->draft, ST_ERR_VALUE, megatron_place(settings, place),
                TRAIN " %" PRIu64
                      " is not micro-batch x accumulation x data-parallel ranks" ST_FOUND "%" PRIu64
                      " x %" PRIu64 " x %" PRIu64 ST_HINT
                      "correct one of them, or set batch.global, batch.micro or parallel.dp",
                batch->train, batch->micro, steps, dp);
    else if (!open && unit == 0 && batch->dp > 0)
        ST_NOTE(settings->draft, ST_ERR_VALUE, megatron_place(settings, place),
                TRAIN " %" PRIu64 " has no whole micro-batch on %" PRIu64
                      " data-parallel ranks with %" PRIu64 " accumulation steps" ST_HINT
                      "set batch.micro",
                batch->train, dp, at_least_1(batch->steps));
    if (batch->train == 0 && batch->micro > 0 && batch->steps > 1)
        st_draft_note(settings->draft,
                      "batch.global is %" PRIu64 " samples (%s times %s) on each data-parallel "
                      "rank: it follows from --set parallel.dp=...",
                      batch->micro * batch->steps, MICRO, STEPS);
}

static void settle_batch(megatron_run *settings)
{
    st_draft *draft = settings->draft;
    const uint64_t set_train = st_draft_count(draft, ST_KEY_BATCH_GLOBAL);
    const uint64_t set_micro = st_draft_count(draft, ST_KEY_BATCH_MICRO);
    batch_terms batch = {.train = set_train > 0 ? set_train : count_of(settings, TRAIN),
                         .micro = set_micro > 0 ? set_micro : count_of(settings, MICRO),
                         .steps = set_train > 0 ? 0 : count_of(settings, STEPS),
                         .dp = ranks_of(settings)};
    const megatron_argument *given = find(settings, set_train > 0 ? MICRO : TRAIN);
    const megatron_argument place = given != NULL ? *given : (megatron_argument){0};
    const uint64_t most = 1000000;
    if (batch.train > most * most || batch.micro > most || batch.steps > most || batch.dp > most) {
        ST_NOTE(draft, ST_ERR_LIMIT, megatron_place(settings, given),
                "batch sizes are too large" ST_EXPECTED "at most 1e6 samples, steps and ranks");
        return;
    }
    complete_batch(settings, &batch);
    check_batch(settings, &batch, &place);
    drop(settings, STEPS);
    drop(settings, TRAIN);
    drop(settings, MICRO);
    if (batch.train > 0)
        set_count(settings, TRAIN, batch.train);
    if (batch.micro > 0)
        set_count(settings, MICRO, batch.micro);
}

/* The HF Trainer writes its own arguments in the place of "auto". */
static void settle_auto(megatron_run *settings)
{
    st_buffer names = {0};
    const bool open = find(settings, "bf16.enabled") != NULL &&
                      strcmp(find(settings, "bf16.enabled")->value, "auto") == 0 &&
                      !is_true(settings, "fp16.enabled");
    for (size_t i = settings->arguments != NULL ? settings->count : 0; i > 0; i--) {
        const megatron_argument argument = settings->arguments[i - 1];
        if (strcmp(argument.value, "auto") != 0)
            continue;
        st_buffer_printf(&names, "%s%.60s", names.length > 0 ? ", " : "", argument.name);
        drop(settings, argument.name);
    }
    const char *list = st_draft_keep(settings->draft, &names);
    if (list[0] != '\0')
        st_draft_note(settings->draft,
                      "The HF Trainer fills these in from arguments of its own, which are not in "
                      "the file: %.1500s.",
                      list);
    if (!open || st_draft_is_given(settings->draft, ST_KEY_PRECISION_WEIGHTS))
        return;
    megatron_set(settings, "bf16.enabled", "True", 0);
    st_draft_note(settings->draft, "bf16.enabled and fp16.enabled are 'auto': bf16 is assumed. "
                                   "--set precision.weights=... says otherwise.");
}

/* ---- accelerate ---- */

/* Options of its plugins (accelerate/utils/dataclasses.py), and settings that say the same. */
static const struct {
    const char *option;
    const char *value; /* NULL: any */
    const char *setting;
    const char *meaning; /* NULL: the value itself */
} accelerate[] = {
    {"mixed_precision", "bf16", "bf16.enabled", "True"},
    {"mixed_precision", "fp16", "fp16.enabled", "True"},
    {"mixed_precision", "no", "bf16.enabled", "False"},
    {"num_processes", NULL, "world_size", NULL},
    {"num_machines", NULL, "nodes", NULL},
    {"deepspeed_config.zero_stage", NULL, "zero_optimization.stage", NULL},
    {"deepspeed_config.gradient_accumulation_steps", NULL, STEPS, NULL},
    {"deepspeed_config.offload_optimizer_device", NULL,
     "zero_optimization.offload_optimizer.device", NULL},
    {"deepspeed_config.offload_param_device", NULL, "zero_optimization.offload_param.device", NULL},
    {"gradient_accumulation_steps", NULL, STEPS, NULL},
    {"fsdp_config.fsdp_sharding_strategy", "FULL_SHARD", "zero_optimization.stage", "3"},
    {"fsdp_config.fsdp_sharding_strategy", "1", "zero_optimization.stage", "3"},
    {"fsdp_config.fsdp_sharding_strategy", "SHARD_GRAD_OP", "zero_optimization.stage", "2"},
    {"fsdp_config.fsdp_sharding_strategy", "2", "zero_optimization.stage", "2"},
    {"fsdp_config.fsdp_sharding_strategy", "NO_SHARD", "zero_optimization.stage", "0"},
    {"fsdp_config.fsdp_sharding_strategy", "3", "zero_optimization.stage", "0"},
    {"fsdp_config.fsdp_sharding_strategy", "HYBRID_SHARD", "zero_optimization.stage", "3"},
    {"fsdp_config.fsdp_sharding_strategy", "4", "zero_optimization.stage", "3"},
    {"fsdp_config.fsdp_sharding_strategy", "HYBRID_SHARD_ZERO2", "zero_optimization.stage", "2"},
    {"fsdp_config.fsdp_sharding_strategy", "5", "zero_optimization.stage", "2"},
    {"fsdp_config.fsdp_reshard_after_forward", "True", "zero_optimization.stage", "3"},
    {"fsdp_config.fsdp_reshard_after_forward", "False", "zero_optimization.stage", "2"},
    {"fsdp_config.fsdp_reshard_after_forward", "FULL_SHARD", "zero_optimization.stage", "3"},
    {"fsdp_config.fsdp_reshard_after_forward", "SHARD_GRAD_OP", "zero_optimization.stage", "2"},
    {"fsdp_config.fsdp_activation_checkpointing", "True", "launch.recompute_granularity", "full"},
    {"megatron_lm_config.megatron_lm_tp_degree", NULL, "launch.tensor_model_parallel_size", NULL},
    {"megatron_lm_config.megatron_lm_pp_degree", NULL, "launch.pipeline_model_parallel_size", NULL},
    {"megatron_lm_config.megatron_lm_num_micro_batches", NULL, STEPS, NULL},
    {"megatron_lm_config.megatron_lm_sequence_parallelism", NULL, "launch.sequence_parallel", NULL},
    {"megatron_lm_config.megatron_lm_recompute_activations", "True", "launch.recompute_granularity",
     "selective"},
    {"megatron_lm_config.megatron_lm_use_distributed_optimizer", "True", "zero_optimization.stage",
     "1"},
    {"parallelism_config.parallelism_config_tp_size", NULL, "launch.tensor_model_parallel_size",
     NULL},
    {"parallelism_config.parallelism_config_cp_size", NULL, "launch.context_parallel_size", NULL},
};

/* Copies of groups that share the weights; all of them together are the data-parallel ranks. */
static void settle_shards(megatron_run *settings)
{
    static const char copies_name[] = "parallelism_config.parallelism_config_dp_replicate_size";
    static const char shards_name[] = "parallelism_config.parallelism_config_dp_shard_size";
    const uint64_t copies = count_of(settings, copies_name);
    const uint64_t shards = count_of(settings, shards_name);
    drop(settings, copies_name);
    drop(settings, shards_name);
    if (copies == 0 && shards == 0)
        return;
    st_draft_put_count(settings->draft, ST_KEY_PARALLEL_DP, 0,
                       at_least_1(copies) * at_least_1(shards),
                       "dp_replicate_size and dp_shard_size");
    if (copies > 1 && shards > 1)
        st_draft_put_count(settings->draft, ST_KEY_PARALLEL_SHARD, 0, shards, "dp_shard_size");
}

/* accelerate computes in FP8 with Transformer Engine (delayed scaling) or torchao. */
static void settle_fp8(megatron_run *settings)
{
    const megatron_argument *mixed = find(settings, "mixed_precision");
    const megatron_argument *backend = find(settings, "fp8_config.backend");
    const char *name = backend != NULL ? backend->value : "";
    const bool engine = strcmp(name, "T"
                                     "E") == 0; /* Transformer Engine */
    if (mixed == NULL || strcmp(mixed->value, "fp8") != 0 || (!engine && strcmp(name, "AO") != 0))
        return;
    st_draft_put(settings->draft, ST_KEY_PRECISION_RECIPE, mixed->line,
                 engine ? "fp8_delayed" : "fp8_current", "fp8_config.backend");
    put(settings, "bf16.enabled", "True", mixed->line);
    drop(settings, "mixed_precision");
    for (size_t i = settings->count; i > 0; i--)
        if (strncmp(settings->arguments[i - 1].name, "fp8_config.", 11) == 0)
            drop(settings, settings->arguments[i - 1].name);
}

static void settle_accelerate(megatron_run *settings)
{
    if (find(settings, "distributed_type") == NULL)
        return;
    const megatron_argument *kind = find(settings, "distributed_type");
    const megatron_argument *cpu = find(settings, "use_cpu");
    if (!st_has_word("NO MULTI_GPU FSDP DEEPSPEED MEGATRON_LM", kind->value))
        ST_NOTE(settings->draft, ST_ERR_VALUE, megatron_place(settings, kind),
                "this distributed_type has no model" ST_FOUND "'%.40s'" ST_EXPECTED
                "NO, MULTI_GPU, FSDP, DEEPSPEED or MEGATRON_LM",
                kind->value);
    if (cpu != NULL && !megatron_is_off(cpu->value))
        ST_NOTE(settings->draft, ST_ERR_VALUE, megatron_place(settings, cpu),
                "training on CPUs has no model" ST_FOUND "use_cpu %.40s" ST_EXPECTED "false",
                cpu->value);
    const megatron_argument *strategy = find(settings, "fsdp_config.fsdp_sharding_strategy");
    const char *sharding = strategy != NULL ? strategy->value : "";
    const bool hybrid = strncmp(sharding, "HYBRID_SHARD", 12) == 0 || strcmp(sharding, "4") == 0 ||
                        strcmp(sharding, "5") == 0;
    const megatron_argument *file = find(settings, "deepspeed_config.deepspeed_config_file");
    if (file != NULL && !megatron_is_off(file->value))
        ST_NOTE(settings->draft, ST_ERR_VALUE, megatron_place(settings, file),
                "the configuration of DeepSpeed is another file" ST_FOUND "'%.80s'" ST_HINT
                "import that file",
                file->value);
    for (size_t i = settings->count; i > 0; i--) {
        const megatron_argument option = settings->arguments[i - 1];
        for (size_t row = 0; row < ST_COUNT(accelerate); row++) {
            const char *value = accelerate[row].value;
            if (strcmp(accelerate[row].option, option.name) != 0 ||
                (value != NULL && strcmp(value, option.value) != 0))
                continue;
            const char *meaning = accelerate[row].meaning;
            put(settings, accelerate[row].setting, meaning != NULL ? meaning : option.value,
                option.line);
            drop(settings, option.name);
            break;
        }
    }
    settle_shards(settings);
    settle_fp8(settings);
    if (strcmp(find(settings, "distributed_type")->value, "DEEPSPEED") != 0)
        put(settings, "data_types.grad_accum_dtype", "fp32", 0); /* shards are fp32 */
    drop(settings, "distributed_type");
    drop(settings, "use_cpu");
    const uint64_t nodes = count_of(settings, "nodes");
    const uint64_t ranks = count_of(settings, "world_size");
    drop(settings, "nodes");
    if (nodes > 0 && ranks > 0 && ranks % nodes == 0) {
        set_count(settings, "launch.num_nodes", nodes);
        set_count(settings, "launch.num_gpus", ranks / nodes);
        if (hybrid && nodes > 1)
            st_draft_put_count(settings->draft, ST_KEY_PARALLEL_SHARD, 0, ranks / nodes,
                               "ranks of a machine, fsdp_sharding_strategy");
    }
}

/* Old spellings of DeepSpeed. */
static void settle_old_names(megatron_run *settings)
{
    static const char *const offloads[][2] = {
        {"zero_optimization.cpu_offload", "zero_optimization.offload_optimizer.device"},
        {"zero_optimization.cpu_offload_params", "zero_optimization.offload_param.device"},
        {"zero_optimization.cpu_offload_param", "zero_optimization.offload_param.device"},
    };
    const megatron_argument *bf16 = find(settings, "bfloat16.enabled");
    const megatron_argument *zero = find(settings, "zero_optimization");
    if (bf16 != NULL)
        put(settings, "bf16.enabled", bf16->value, bf16->line);
    drop(settings, "bfloat16.enabled");
    for (size_t i = 0; i < ST_COUNT(offloads); i++) {
        const megatron_argument *old = find(settings, offloads[i][0]);
        if (old != NULL && strcmp(old->value, "True") == 0)
            put(settings, offloads[i][1], "cpu", old->line);
        drop(settings, offloads[i][0]);
    }
    if (zero != NULL)
        put(settings, "zero_optimization.stage", strcmp(zero->value, "True") == 0 ? "1" : "0",
            zero->line);
    drop(settings, "zero_optimization");
}

/* Types of gradients and messages, as engine.py chooses them where the file is silent. */
static void settle_types(megatron_run *settings)
{
    static const char name[] = "communication_data_type";
    const megatron_argument *message = find(settings, name);
    const megatron_argument *stage = find(settings, "zero_optimization.stage");
    if (message != NULL && !megatron_is_off(message->value))
        put(settings, "megatron_fsdp_grad_comm_dtype", message->value, message->line);
    drop(settings, name);
    if (is_true(settings, "bf16.enabled") && stage != NULL && strcmp(stage->value, "0") != 0)
        put(settings, "data_types.grad_accum_dtype", "bf16", 0);
}

/* Adam of any kind is Adam; the others differ in their states or in what they send. */
static void settle_optimizer(megatron_run *settings)
{
    const megatron_argument *type = find(settings, "optimizer.type");
    char name[32] = "";
    if (type == NULL)
        return;
    for (size_t i = 0; type->value[i] != '\0' && i + 1 < sizeof name; i++)
        name[i] = (char)tolower((unsigned char)type->value[i]);
    if (strcmp(name, "muon") == 0)
        st_draft_put(settings->draft, ST_KEY_OPTIMIZER, type->line, "muon", type->name);
    else if (name[0] != '\0' && !st_has_word("adam adamw muadam muadamw fusedadam "
                                             "deepspeedcpuadam",
                                             name))
        st_draft_note(settings->draft, "The optimizer %.40s is estimated as Adam%s.", type->value,
                      strstr(name, "one") != NULL
                          ? "; the compression of its messages is left out, which overestimates "
                            "their time"
                          : "");
}

/* Ulysses: heads and tokens change places between the ranks of a sequence. */
static void settle_sequence(megatron_run *settings)
{
    const megatron_argument *size = find(settings, "sequence_parallel_size");
    if (size == NULL)
        return;
    if (!megatron_is_off(size->value) && strcmp(size->value, "1") != 0) {
        megatron_set(settings, "launch.context_parallel_size", size->value, size->line);
        st_draft_put(settings->draft, ST_KEY_PARALLEL_CP_METHOD, size->line, "alltoall",
                     size->name);
    }
    drop(settings, "sequence_parallel_size");
}

/* MiCS: groups of so many ranks hold the weights. */
static void settle_groups(megatron_run *settings)
{
    static const char name[] = "zero_optimization.mics_shard_size";
    const megatron_argument *size = find(settings, name);
    if (size != NULL && size->value[0] != '-' && !megatron_is_off(size->value))
        st_draft_put(settings->draft, ST_KEY_PARALLEL_SHARD, size->line, size->value, name);
    drop(settings, name);
}

static void settle_deepspeed(megatron_run *settings)
{
    settle_accelerate(settings);
    settle_old_names(settings);
    settle_optimizer(settings);
    settle_sequence(settings);
    settle_groups(settings);
    const megatron_argument *bf16 = find(settings, "bf16.enabled");
    const megatron_argument *fp16 = find(settings, "fp16.enabled");
    if (is_true(settings, "bf16.enabled") && is_true(settings, "fp16.enabled"))
        refuse_two(settings, "precisions", bf16, fp16);
    settle_batch(settings);
    settle_auto(settings);
    settle_types(settings);
    const megatron_argument *tp = find(settings, "tensor_parallel.autotp_size");
    if (tp != NULL)
        megatron_set(settings, "launch.tensor_model_parallel_size", tp->value, tp->line);
    drop(settings, "tensor_parallel.autotp_size");
    const megatron_argument *device = find(settings, "zero_optimization.offload_optimizer.device");
    const megatron_argument *share = find(settings, "zero_optimization.offload_optimizer.ratio");
    if (device != NULL && !megatron_is_off(device->value)) {
        const char *ratio = share != NULL ? share->value : "1";
        megatron_set(settings, "optimizer_offload_fraction", ratio, device->line);
        megatron_set(settings, "optimizer_cpu_offload", "True", device->line);
        if (strcmp(device->value, "nvme") == 0)
            st_draft_note(settings->draft,
                          "Optimizer states on NVMe are estimated as in host memory, which leaves "
                          "the time of the disks out.");
    }
    drop(settings, "zero_optimization.offload_optimizer.device");
    drop(settings, "zero_optimization.offload_optimizer.ratio");
    device = find(settings, "zero_optimization.offload_param.device");
    if (device != NULL && !megatron_is_off(device->value))
        st_draft_note(settings->draft,
                      "Left out: parameters in host memory (offload_param.device %.20s), whose "
                      "transfers over PCIe slow a step; the estimate is without them.",
                      device->value);
    drop(settings, "zero_optimization.offload_param.device");
}

/* ---- torchtitan ---- */

void fw_check_values(megatron_run *settings, const fw_row *rows, size_t count)
{
    for (size_t i = 0; i < count && !settings->is_export; i++) {
        const megatron_argument *option = find(settings, rows[i].option);
        bool known = option == NULL || rows[i].value == NULL || megatron_is_off(option->value) ||
                     st_draft_is_given(settings->draft, rows[i].key) ||
                     (i > 0 && strcmp(rows[i - 1].option, rows[i].option) == 0);
        for (size_t j = 0; j < count && !known; j++)
            known = strcmp(rows[j].option, option->name) == 0 &&
                    (rows[j].value == NULL || strcmp(rows[j].value, option->value) == 0);
        if (!known)
            ST_NOTE(settings->draft, ST_ERR_VALUE, megatron_place(settings, option),
                    "value of '%.60s' is not understood" ST_FOUND "'%.60s'" ST_EXPECTED
                    "'%s'" ST_HINT "settle it with --set %s=...",
                    option->name, option->value, rows[i].value, rows[i].key);
    }
}

/* Options of a quantization that no converter applies say nothing; names of 0.1 have a new one. */
static void settle_converters(megatron_run *settings)
{
    const megatron_argument *converters = find(settings, "model.converters");
    const char *list = converters != NULL ? converters->value : "";
    const int line = converters != NULL ? converters->line : 0;
    for (size_t i = settings->count; settings->arguments != NULL && i > 0; i--) {
        const char *name = settings->arguments[i - 1].name;
        const char *rest = strncmp(name, "quantize.", 9) == 0 ? strrchr(name, '.') : NULL;
        const char *kind =
            rest == NULL ? NULL : st_draft_text(settings->draft, "%.*s", (int)(rest - name), name);
        if (kind != NULL && strstr(list, kind) == NULL)
            drop(settings, name);
    }
    if (strstr(list, "mx") != NULL) {
        st_draft_put(settings->draft, ST_KEY_PRECISION_RECIPE, line, "mxfp8", "model.converters");
        drop(settings, "model.converters");
    } else if (strstr(list, "float8") != NULL) {
        megatron_set(settings, "model.converters", "[\"quantize.linear.float8\"]", line);
    }
}

/* Where torchtitan 0.1 and before had an option; a new one goes before it. */
static void rename_old(megatron_run *settings)
{
    static const char *const names[][2] = {
        {"training.batch_size", "training.local_batch_size"},
        {"training.tensor_parallel_degree", "parallelism.tensor_parallel_degree"},
        {"training.data_parallel_degree", "parallelism.data_parallel_shard_degree"},
        {"training.data_parallel_shard_degree", "parallelism.data_parallel_shard_degree"},
        {"training.data_parallel_replicate_degree", "parallelism.data_parallel_replicate_degree"},
        {"experimental.context_parallel_degree", "parallelism.context_parallel_degree"},
        {"experimental.pipeline_parallel_degree", "parallelism.pipeline_parallel_degree"},
        {"experimental.pipeline_parallel_schedule", "parallelism.pipeline_parallel_schedule"},
    };
    for (size_t i = 0; i < ST_COUNT(names); i++) {
        const megatron_argument *old = find(settings, names[i][0]);
        if (old != NULL)
            put(settings, names[i][1], old->value, old->line);
        drop(settings, names[i][0]);
    }
}

/* What torchtitan's classes have where a file is silent (job_config.py). */
static void settle_torchtitan(megatron_run *settings)
{
    static const char *const defaults[][2] = {
        {"training.seq_len", "2048"},
        {"training.mixed_precision_param", "bfloat16"},
        {"training.mixed_precision_reduce", "float32"},
        {"activation_checkpoint.mode", "selective"},
        {"activation_checkpoint.selective_ac_option", "2"},
    };
    const megatron_argument *batch = find(settings, "training.global_batch_size");
    const megatron_argument *type = find(settings, "training.dtype");
    rename_old(settings);
    settle_converters(settings);
    const megatron_argument *stages = find(settings, "parallelism.pipeline_parallel_degree");
    if (stages == NULL || strcmp(stages->value, "1") == 0)
        drop(settings, "parallelism.pipeline_parallel_schedule");
    for (size_t i = 0; i < ST_COUNT(defaults); i++)
        put(settings, defaults[i][0], defaults[i][1], 0);
    if (type != NULL && strcmp(type->value, "float32") == 0)
        drop(settings, "training.dtype");
    if (batch != NULL && batch->value[0] == '-')
        drop(settings, "training.global_batch_size");
}

void fw_settle(st_framework framework, megatron_run *settings)
{
    if (framework == ST_TORCHTITAN) {
        settle_torchtitan(settings);
    } else if (framework == ST_DEEPSPEED) {
        settle_deepspeed(settings);
    } else if (framework == ST_MEGATRON_BRIDGE) {
        fold_objects(settings);
        settle_precision(settings);
        settle_length(settings);
        settle_adapters(settings);
        settle_fields(settings);
    }
}
