/* SPDX-License-Identifier: Apache-2.0 */
/*
 * torchtitan's configuration (0.2, job_config.py) and the keys of a job. Its models are classes in
 * Python that a name and a flavor choose: their shape is carried, and written down as the arguments
 * of a flavor where no shipped one is known to have it.
 */
#include "launch/frameworks/settings.h"

#include "steptime/keys.h"

#include <inttypes.h>
#include <string.h>

#define P "parallelism."

static const fw_row rows[] = {
    {ST_KEY_BATCH_SEQUENCE, "*", "training.seq_len", NULL},
    {ST_KEY_BATCH_GLOBAL, "*", "training.global_batch_size", NULL},
    {ST_KEY_PRECISION_WEIGHTS, "bf16", "training.mixed_precision_param", "bfloat16"},
    {ST_KEY_PRECISION_WEIGHTS, "fp32", "training.mixed_precision_param", "float32"},
    {ST_KEY_PRECISION_GRADIENTS, "fp32", "training.mixed_precision_reduce", "float32"},
    {ST_KEY_PARALLEL_TP, "*", P "tensor_parallel_degree", NULL},
    {ST_KEY_PARALLEL_PP, "*", P "pipeline_parallel_degree", NULL},
    {ST_KEY_PARALLEL_CP, "*", P "context_parallel_degree", NULL},
    {ST_KEY_PARALLEL_EP, "*", P "expert_parallel_degree", NULL},
    {ST_KEY_PARALLEL_EXPERT_TP, "*", P "expert_tensor_parallel_degree", NULL},
    {ST_KEY_PARALLEL_SCHEDULE, "1f1b", P "pipeline_parallel_schedule", "1F1B"},
    {ST_KEY_PARALLEL_SCHEDULE, "gpipe", P "pipeline_parallel_schedule", "GPipe"},
    {ST_KEY_PARALLEL_SCHEDULE, "interleaved", P "pipeline_parallel_schedule", "Interleaved1F1B"},
    {ST_KEY_RECOMPUTE, "none", "activation_checkpoint.mode", "none"},
    {ST_KEY_RECOMPUTE, "full", "activation_checkpoint.mode", "full"},
    {ST_KEY_RECOMPUTE, "selective", "activation_checkpoint.mode", "selective"},
    {ST_KEY_PRECISION_FP8, "true", "model.converters", "[\"quantize.linear.float8\"]"},
    {ST_KEY_OVERLAP_TP, "1", P "enable_async_tensor_parallel", "True"},
};

enum { ROWS = ST_COUNT(rows) };

/* ---- stages ---- */

/* Layers of a chunk, and how many fewer the first and the last one have; 0 layers: uneven. */
typedef struct chunking {
    uint64_t layers;
    uint64_t first_less;
    uint64_t last_less;
} chunking;

static uint64_t fewer(uint64_t stage, uint64_t middle)
{
    return stage > 0 && stage < middle ? middle - stage : 0;
}

static chunking chunks_of(const st_job *job)
{
    const uint64_t layers = (uint64_t)st_job_number(job, ST_KEY_MODEL_LAYERS);
    const uint64_t pp = (uint64_t)st_job_number(job, ST_KEY_PARALLEL_PP);
    const uint64_t chunks = (uint64_t)st_job_number(job, ST_KEY_PARALLEL_VIRTUAL_STAGES);
    const uint64_t first = (uint64_t)st_job_number(job, ST_KEY_PARALLEL_FIRST_STAGE_LAYERS);
    const uint64_t last = (uint64_t)st_job_number(job, ST_KEY_PARALLEL_LAST_STAGE_LAYERS);
    const uint64_t ends = (first > 0 ? 1U : 0U) + (last > 0 ? 1U : 0U);
    if (pp <= ends || first + last > layers || (layers - first - last) % (pp - ends) != 0)
        return (chunking){0};
    const uint64_t middle = (layers - first - last) / (pp - ends);
    const chunking all = {.layers = middle % chunks == 0 ? middle / chunks : 0,
                          .first_less = fewer(first, middle),
                          .last_less = fewer(last, middle)};
    const bool fits = first <= middle && last <= middle && all.first_less <= all.layers &&
                      all.last_less <= all.layers;
    return fits ? all : (chunking){0};
}

/* One chunk on a rank; the first and the last stage have what is too few, and those that lack
 * nothing are not given. */
static const char *nearest_stages(const st_job *job, st_errors *errors)
{
    const uint64_t layers = (uint64_t)st_job_number(job, ST_KEY_MODEL_LAYERS);
    const uint64_t pp = (uint64_t)st_job_number(job, ST_KEY_PARALLEL_PP);
    const uint64_t size = (layers + pp - 1) / pp;
    const uint64_t fewer = size * pp - layers;
    const uint64_t first = fewer / 2;
    if (fewer - first >= size)
        return "";
    return st_errors_text(errors,
                          "parallel.virtual_stages=1 parallel.first_stage_layers=%" PRIu64
                          " parallel.last_stage_layers=%" PRIu64,
                          first > 0 ? size - first : 0, fewer > first ? size - (fewer - first) : 0);
}

bool fw_torchtitan_check(const st_job *job, st_errors *errors)
{
    return st_job_number(job, ST_KEY_PARALLEL_PP) <= 1 || chunks_of(job).layers > 0 ||
           fw_refuse(errors, ST_TORCHTITAN, "this split of layers",
                     "chunks are equal except the first and the last, which may have fewer layers",
                     nearest_stages(job, errors));
}

/* ---- writing ---- */

static void set_count(megatron_run *options, const char *name, uint64_t count)
{
    megatron_set(options, name, st_draft_text(options->draft, "%" PRIu64, count), 0);
}

void fw_torchtitan_options(const st_job *job, const fw_flavor *flavor, megatron_run *options)
{
    megatron_set(options, "model.name", flavor->model, 0);
    megatron_set(options, "model.flavor", flavor->name, 0);
    fw_write_rows(options, job, rows, ROWS);
    const double micro = st_job_number(job, ST_KEY_BATCH_MICRO);
    const double share =
        st_job_number(job, ST_KEY_BATCH_GLOBAL) / st_job_number(job, ST_KEY_PARALLEL_DP);
    const double sequence =
        st_job_number(job, ST_KEY_BATCH_SEQUENCE) * st_job_number(job, ST_KEY_BATCH_GLOBAL);
    const bool staged = st_job_number(job, ST_KEY_PARALLEL_PP) > 1;
    set_count(options, "training.local_batch_size", (uint64_t)(staged ? share : micro));
    if (staged)
        set_count(options, P "pipeline_parallel_microbatch_size", (uint64_t)micro);
    if (st_job_number(job, ST_KEY_TRAIN_TOKENS) >= sequence)
        set_count(options, "training.steps",
                  (uint64_t)(st_job_number(job, ST_KEY_TRAIN_TOKENS) / sequence));
    const uint64_t dp = (uint64_t)st_job_number(job, ST_KEY_PARALLEL_DP);
    const double zero = st_job_number(job, ST_KEY_PARALLEL_ZERO);
    const uint64_t shard = (uint64_t)st_job_number(job, ST_KEY_PARALLEL_SHARD);
    const uint64_t groups = zero == 3 && shard > 0 && dp % shard == 0 ? dp / shard : 1;
    set_count(options, P "data_parallel_replicate_degree", zero == 0 ? dp : groups);
    set_count(options, P "data_parallel_shard_degree", zero == 0 ? 1 : dp / groups);
    if (zero > 0)
        megatron_set(options, P "fsdp_reshard_after_forward", zero == 3 ? "always" : "never", 0);
    const chunking chunks = chunks_of(job);
    if (st_job_number(job, ST_KEY_PARALLEL_PP) <= 1) {
        megatron_set(options, P "pipeline_parallel_schedule", "1F1B", 0);
    } else {
        if (st_job_number(job, ST_KEY_PARALLEL_VIRTUAL_STAGES) > 1)
            megatron_set(options, P "pipeline_parallel_schedule", "Interleaved1F1B", 0);
        set_count(options, P "pipeline_parallel_layers_per_stage", chunks.layers);
        set_count(options, P "pipeline_parallel_first_stage_less_layers", chunks.first_less);
        set_count(options, P "pipeline_parallel_last_stage_less_layers", chunks.last_less);
    }
    if (fw_is(job, ST_KEY_RECOMPUTE, "selective"))
        megatron_set(options, "activation_checkpoint.selective_ac_option", "op", 0);
}

/* ---- reading ---- */

static void read_shards(megatron_run *options)
{
    st_draft *draft = options->draft;
    const char *left = megatron_text(options, P "data_parallel_shard_degree");
    const char *policy = megatron_text(options, P "fsdp_reshard_after_forward");
    const uint64_t copies = megatron_count_or(options, P "data_parallel_replicate_degree", 1);
    const bool open = left[0] == '\0' || strcmp(left, "-1") == 0;
    const uint64_t shards =
        open ? 0 : megatron_count_or(options, P "data_parallel_shard_degree", 1);
    const bool staged = st_draft_count(draft, ST_KEY_PARALLEL_PP) > 1;
    const bool stay = strcmp(policy, "never") == 0 || (strcmp(policy, "always") != 0 && staged);
    const uint64_t zero = stay ? 2 : 3;
    if (open)
        st_draft_note(draft,
                      "data_parallel_shard_degree depends on the number of ranks: parallel.dp "
                      "is left out.");
    else
        st_draft_put_count(draft, ST_KEY_PARALLEL_DP, 0, copies * shards,
                           "data_parallel_replicate_degree and data_parallel_shard_degree");
    if (copies > 1 && shards > 1)
        st_draft_put_count(draft, ST_KEY_PARALLEL_SHARD, 0, shards, "data_parallel_shard_degree");
    st_draft_put_count(
        draft, ST_KEY_PARALLEL_ZERO, 0, open || shards > 1 || policy[0] != '\0' ? zero : 0,
        policy[0] != '\0' ? "fsdp_reshard_after_forward" : "default of fsdp_reshard_after_forward");
}

static void read_stages(megatron_run *options)
{
    st_draft *draft = options->draft;
    const uint64_t pp = st_draft_count(draft, ST_KEY_PARALLEL_PP);
    const uint64_t layers = st_draft_count(draft, ST_KEY_MODEL_LAYERS);
    const uint64_t size = megatron_count_or(options, P "pipeline_parallel_layers_per_stage", 0);
    const uint64_t first =
        megatron_count_or(options, P "pipeline_parallel_first_stage_less_layers", 1);
    const uint64_t last =
        megatron_count_or(options, P "pipeline_parallel_last_stage_less_layers", 1);
    if (pp <= 1)
        return;
    if (size == 0 && !options->is_export &&
        strcmp(megatron_text(options, P "pipeline_parallel_schedule"), "Interleaved1F1B") == 0)
        st_draft_put_count(draft, ST_KEY_PARALLEL_VIRTUAL_STAGES, 0, 2,
                           "default of an interleaved schedule");
    if (size == 0 || layers == 0) {
        st_draft_note(draft, "The layers of a stage depend on the model: equal stages are "
                             "assumed.");
        return;
    }
    const uint64_t chunks = (layers + first + last + size * pp - 1) / (size * pp);
    if (chunks > 1)
        st_draft_put_count(draft, ST_KEY_PARALLEL_VIRTUAL_STAGES, 0, chunks,
                           "pipeline_parallel_layers_per_stage");
    if (first > 0 && size * chunks > first)
        st_draft_put_count(draft, ST_KEY_PARALLEL_FIRST_STAGE_LAYERS, 0, size * chunks - first,
                           "pipeline_parallel_first_stage_less_layers");
    if (last > 0 && size * chunks > last)
        st_draft_put_count(draft, ST_KEY_PARALLEL_LAST_STAGE_LAYERS, 0, size * chunks - last,
                           "pipeline_parallel_last_stage_less_layers");
}

/* Without a global batch each rank accumulates nothing. */
static void read_batch(megatron_run *options, uint64_t local)
{
    st_draft *draft = options->draft;
    const uint64_t dp = st_draft_count(draft, ST_KEY_PARALLEL_DP);
    const uint64_t batch = st_draft_count(draft, ST_KEY_BATCH_GLOBAL);
    const megatron_argument *given = megatron_get(options, "training.global_batch_size");
    if (dp == 0 || local == 0 || local > 1000000000 || dp > 1000000000 || options->is_export)
        return;
    if (batch == 0)
        st_draft_put_count(draft, ST_KEY_BATCH_GLOBAL, 0, local * dp,
                           "local_batch_size times data-parallel ranks");
    else if (batch % (local * dp) != 0 && given != NULL)
        ST_NOTE(draft, ST_ERR_VALUE, megatron_place(options, given),
                "global_batch_size %" PRIu64 " is not a multiple of local_batch_size %" PRIu64
                " times %" PRIu64 " data-parallel ranks" ST_HINT "set batch.global, or parallel.dp",
                batch, local, dp);
}

/* "op" keeps the outputs of some operators; a number recomputes each layer in so many. */
static void read_checkpointing(megatron_run *options)
{
    st_draft *draft = options->draft;
    const char *option = megatron_text(options, "activation_checkpoint.selective_ac_option");
    uint64_t chunks = st_draft_count(draft, ST_KEY_PARALLEL_PP);
    chunks *= st_draft_count(draft, ST_KEY_PARALLEL_VIRTUAL_STAGES);
    const uint64_t layers = st_draft_count(draft, ST_KEY_MODEL_LAYERS) / (chunks > 0 ? chunks : 1);
    uint64_t each = 0;
    if (strcmp(megatron_text(options, "activation_checkpoint.mode"), "selective") != 0 ||
        strcmp(option, "op") == 0 || option[0] == '\0' || options->is_export ||
        !megatron_read_count(options, "activation_checkpoint.selective_ac_option", &each))
        return;
    st_draft_put(draft, ST_KEY_RECOMPUTE, 0, "full", "selective_ac_option, a number");
    if (each > 1 && layers < each)
        st_draft_note(draft,
                      "One layer in %" PRIu64 " is recomputed (selective_ac_option): set "
                      "recomputed.layers to those of a chunk.",
                      each);
    else if (each > 1)
        st_draft_put_count(
            draft, ST_KEY_RECOMPUTED_LAYERS, 0, layers / each,
            st_draft_text(draft, "one layer in %" PRIu64 ", selective_ac_option", each));
}

void fw_torchtitan_keys(megatron_run *options)
{
    static const char *const skipped[] = {"model.name", "model.flavor",
                                          "activation_checkpoint.selective_ac_option"};
    fw_put_flavor(options);
    fw_check_values(options, rows, ROWS);
    fw_read_rows(options, rows, ROWS);
    const uint64_t local = megatron_count_or(options, "training.local_batch_size", 8);
    const bool staged = st_draft_count(options->draft, ST_KEY_PARALLEL_PP) > 1;
    const uint64_t micro = megatron_count_or(options, P "pipeline_parallel_microbatch_size", 1);
    const uint64_t steps = megatron_count_or(options, "training.steps", 0);
    const double tokens = (double)steps *
                          (double)st_draft_count(options->draft, ST_KEY_BATCH_GLOBAL) *
                          (double)st_draft_count(options->draft, ST_KEY_BATCH_SEQUENCE);
    st_draft_put_count(options->draft, ST_KEY_BATCH_MICRO, 0, staged ? micro : local,
                       staged ? "pipeline_parallel_microbatch_size" : "local_batch_size");
    if (tokens > 0)
        st_draft_put(options->draft, ST_KEY_TRAIN_TOKENS, 0,
                     st_draft_text(options->draft, "%.0f", tokens),
                     "steps times global_batch_size times seq_len");
    read_shards(options);
    read_stages(options);
    read_batch(options, local);
    read_checkpointing(options);
    if (st_draft_count(options->draft, ST_KEY_PARALLEL_TP) > 1)
        st_draft_put_bool(options->draft, ST_KEY_PARALLEL_SEQUENCE_PARALLEL, true,
                          "tensor_parallel_degree above 1");
    for (size_t i = 0; i < ST_COUNT(skipped); i++)
        megatron_pass_over(options, skipped[i]);
}
