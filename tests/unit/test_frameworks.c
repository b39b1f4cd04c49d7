/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Plans written as files of frameworks and read back: every key comes back as it was, the launch
 * has the arguments that the framework's documentation names, and what it cannot run is refused.
 */
#include "job_support.h"

#include "launch/frameworks/frameworks.h"
#include "job/bind.h"

#include <math.h>

enum { MOST_SETS = 10 };

typedef struct written {
    st_framework framework;
    const char *job;
    const char *sets[MOST_SETS];
    const char *texts[7]; /* of the file, or of the refusal; behind '!': not of it */
} written;

static const st_job *load(fixture *own, const char *name, const char *const *sets)
{
    const st_job *job = NULL;
    size_t count = 0;
    while (count < MOST_SETS && sets[count] != NULL)
        count++;
    if (st_job_load(own->paths, name, sets, count, own->arena, &job, own->errors) != ST_OK)
        fail_msg("%s: %s", name, said(own));
    return job;
}

static bool same_value(const st_job_value *a, const st_job_value *b)
{
    if (a->key != NULL && a->key->kind == ST_KEY_TEXT)
        return strcmp(a->text != NULL ? a->text : "", b->text != NULL ? b->text : "") == 0;
    bool none = isnan(a->number) && isnan(b->number);
    return none || fabs(a->number - b->number) <= 1e-12 * fabs(a->number);
}

/* Layers may come back as the pattern that they are; all else as it was. */
static void expect_same_job(const written *one, const st_job *job, const st_job *back)
{
    static const char *const parts[] = {"model.hidden", "model.h",      "batch.",     "parallel.",
                                        "recompute",    "precision.",   "graphs",     "optimizer",
                                        "attention",    "train.tokens", "model.v",    "model.e",
                                        "model.top_k",  "model.delta",  "model.mamba"};
    size_t count = 0;
    const st_key *keys = st_keys(&count);
    for (size_t i = 0; i < count; i++) {
        bool asked = false;
        for (size_t k = 0; k < sizeof parts / sizeof parts[0]; k++)
            asked = asked || strncmp(keys[i].path, parts[k], strlen(parts[k])) == 0;
        const st_job_value *a = st_job_value_of(job, keys[i].path);
        const st_job_value *b = st_job_value_of(back, keys[i].path);
        if (asked && !same_value(a, b))
            fail_msg("%s for %s: %s is '%s', not '%s'", one->job, st_framework_name(one->framework),
                     keys[i].path, b->text != NULL ? b->text : "", a->text != NULL ? a->text : "");
    }
}

static void expect_texts(const written *one, const char *text)
{
    for (size_t i = 0; i < 7 && one->texts[i] != NULL; i++) {
        bool absent = one->texts[i][0] == '!';
        if ((strstr(text, one->texts[i] + absent) == NULL) != absent)
            fail_msg("%s for %s: '%s' does not hold of\n%s", one->job,
                     st_framework_name(one->framework), one->texts[i], text);
    }
}

static void comes_back(fixture *own, const written *one)
{
    st_buffer file = {0};
    st_buffer text = {0};
    const char *const none[] = {NULL};
    const st_job *job = load(own, one->job, one->sets);
    if (st_framework_export(one->framework, own->paths, job, &(st_export_options){0}, &file,
                            own->errors) != ST_OK)
        fail_msg("%s for %s: %s", one->job, st_framework_name(one->framework), said(own));
    expect_texts(one, file.data);
    st_errors_clear(own->errors);
    const st_import_request request = {
        .paths = own->paths, .file = "launch", .text = file.data, .length = file.length};
    if (st_framework_import(one->framework, &request, &text, own->errors) != ST_OK)
        fail_msg("%s for %s: %s\n%s", one->job, st_framework_name(one->framework), said(own),
                 file.data);
    st_errors_clear(own->errors);
    write_text(own, "back.yaml", text.data);
    expect_same_job(one, job, load(own, below(own, "back.yaml"), none));
    st_errors_clear(own->errors);
    st_buffer_free(&file);
    st_buffer_free(&text);
}

static void is_refused(fixture *own, const written *one)
{
    st_buffer file = {0};
    const st_job *job = load(own, one->job, one->sets);
    if (st_framework_export(one->framework, own->paths, job, &(st_export_options){0}, &file,
                            own->errors) == ST_OK)
        fail_msg("%s for %s is not refused", one->job, st_framework_name(one->framework));
    assert_int_equal(file.length, 0);
    expect_texts(one, said(own));
    st_buffer_free(&file);
}

#define LLAMA    "llama3-8b-8xh100"
#define MIXTRAL  "mixtral-8x7b-64xh100"
#define DEEPSEEK "deepseek-v3-2048xh800"

static const written megatron_plans[] = {
    {ST_MEGATRON,
     LLAMA,
     {"parallel.tp=2", "parallel.pp=2", "parallel.dp=2", "parallel.virtual_stages=4",
      "parallel.zero=1", "parallel.sequence_parallel=true"},
     {"--tensor-model-parallel-size 2", "--pipeline-model-parallel-size 2",
      "--num-virtual-stages-per-pipeline-rank 4", "--sequence-parallel",
      "--use-distributed-optimizer", "--num-query-groups 8"}},
    {ST_MEGATRON,
     LLAMA,
     {"precision.optimizer=bf16", "precision.gradients=bf16", "parallel.zero=1"},
     {"--grad-reduce-in-bf16", "--exp-avg-dtype bf16", "--exp-avg-sq-dtype bf16",
      "--use-precision-aware-optimizer"}},
    {ST_MEGATRON,
     LLAMA,
     {"recompute=full", "recomputed.layers=3", "model.ffn=0", "precision.weights=fp16",
      "precision.communication=fp16"},
     {"--recompute-granularity full", "--recompute-method block", "--recompute-num-layers 3",
      "--ffn-hidden-size 16384", "--fp16", "--accumulate-allreduce-grads-in-fp32"}},
    {ST_MEGATRON,
     LLAMA,
     {"parallel.shard=4", "parallel.zero=3", "recompute=full", "train.tokens=1.2345e12"},
     {"--num-distributed-optimizer-instances 2", "--recompute-method uniform",
      "--recompute-num-layers 1", "--data-parallel-sharding-strategy optim_grads_params"}},
    {ST_MEGATRON,
     LLAMA,
     {"parallel.cp=2", "parallel.dp=4", "parallel.cp_method=alltoall", "parallel.zero=2"},
     {"--context-parallel-size 2", "--cp-comm-type a2a",
      "--data-parallel-sharding-strategy optim_grads"}},
    {ST_MEGATRON,
     LLAMA,
     {"precision.recipe=nvfp4", "precision.first_last_bf16=2"},
     {"--fp4-format e2m1", "--first-last-layers-bf16", "--num-layers-at-start-in-bf16 2",
      "--num-layers-at-end-in-bf16 2"}},
    {ST_MEGATRON,
     LLAMA,
     {"precision.recipe=mxfp8", "optimizer=muon", "parallel.zero=1"},
     {"--fp8-recipe mxfp8", "--fp8-format e4m3", "--optimizer dist_muon"}},
    {ST_MEGATRON,
     MIXTRAL,
     {"parallel.tp=2", "parallel.dp=8", "parallel.sequence_parallel=true", "parallel.expert_tp=2"},
     {"--num-experts 8", "--moe-router-topk 2", "--expert-tensor-parallel-size 2",
      "--moe-token-dispatcher-type alltoall"}},
    {ST_MEGATRON,
     MIXTRAL,
     {"model=gpt-oss-20b", "parallel.virtual_stages=2", "parallel.dispatcher=hybridep",
      "graphs=scoped", "recompute=selective", "recomputed.activation=true",
      "recomputed.norms=true"},
     {"--moe-token-dispatcher-type flex", "--moe-flex-dispatcher-backend hybridep",
      "--cuda-graph-scope attn moe_router moe_preprocess", "--window-size 127,0",
      "--recompute-granularity selective", "--softmax-type learnable"}},
    {ST_MEGATRON,
     MIXTRAL,
     {"model=qwen3-next-80b-a3b", "parallel.virtual_stages=3", "model.mtp=1"},
     {"--experimental-attention-variant gated_delta_net", "--linear-num-value-heads 32",
      "--attention-output-gate", "--mtp-num-layers 1"}},
    {ST_MEGATRON,
     MIXTRAL,
     {"model=nemotron-3-nano-30b-a3b", "graphs=full", "parallel.virtual_stages=1",
      "parallel.dispatcher=hybridep"},
     {"--hybrid-override-pattern", "--mamba-num-heads 64", "--is-hybrid-model",
      "--cuda-graph-impl full_iteration"}},
    {ST_MEGATRON,
     DEEPSEEK,
     {"parallel.schedule=1f1b", "overlap.ep=0"},
     {"--multi-latent-attention", "--kv-lora-rank 512", "--q-lora-rank 1536",
      "--qk-pos-emb-head-dim 64", "[0]*3+[1]*58", "--expert-model-parallel-size 64"}},
};

/* What is written only beside something else, or only above a bound. */
static const written bounds_of_megatron[] = {
    {ST_MEGATRON,
     LLAMA,
     {"model.head_dim=192", "parallel.zero=1", "precision.first_last_bf16=1",
      "precision.recipe=mxfp8"},
     {"--kv-channels 192", "--num-layers-at-start-in-bf16 1", "--num-layers-at-end-in-bf16 1",
      "!--num-distributed-optimizer-instances", "!--v-head-dim", "!--qk-head-dim",
      "!--use-megatron-fsdp"}},
    {ST_MEGATRON,
     LLAMA,
     {"parallel.shard=1", "parallel.zero=1", "train.tokens=8192", "batch.global=8"},
     {"--num-distributed-optimizer-instances 8", "--train-samples 1", "--nproc-per-node 8",
      "--nnodes 1", "!--virtual", "!--num-virtual-stages"}},
    {ST_MEGATRON,
     LLAMA,
     {"parallel.zero=0", "recompute=full", "recomputed.layers=1"},
     {"--recompute-method block", "--recompute-num-layers 1", "!--use-distributed-optimizer",
      "!--overlap-param-gather", "!--sequence-parallel"}},
    /* without a width of values those of queries and keys */
    {ST_MEGATRON,
     DEEPSEEK,
     {"parallel.schedule=1f1b", "overlap.ep=0", "model.head_dim=96", "model.v_dim=0"},
     {"--qk-head-dim 96", "--v-head-dim 96", "!--kv-channels"}},
    {ST_MEGATRON,
     DEEPSEEK,
     {"parallel.schedule=1f1b", "overlap.ep=0", "model.head_dim=96", "model.v_dim=80"},
     {"--qk-head-dim 96", "--v-head-dim 80", "!--kv-channels"}},
    /* 4 micro-batches are a group of the 4 stages, and one stage has no groups */
    {ST_MEGATRON,
     LLAMA,
     {"parallel.pp=4", "parallel.dp=2", "parallel.zero=1", "parallel.virtual_stages=2",
      "batch.global=8"},
     {"--num-virtual-stages-per-pipeline-rank 2", "!--decoder-first-pipeline-num-layers"}},
    {ST_MEGATRON,
     LLAMA,
     {"parallel.pp=4", "parallel.dp=2", "parallel.zero=1", "batch.global=6"},
     {"--pipeline-model-parallel-size 4", "!--num-virtual-stages"}},
    /* 32 - 7 - 7 are two stages of 9; 32 - 6 - 7 are 9 and 10, which only a layout can say */
    {ST_MEGATRON,
     LLAMA,
     {"parallel.pp=4", "parallel.dp=2", "parallel.zero=1", "parallel.first_stage_layers=7",
      "parallel.last_stage_layers=7"},
     {"--decoder-first-pipeline-num-layers 7", "--decoder-last-pipeline-num-layers 7",
      "--tensor-model-parallel-size 1", "!--pipeline-model-parallel-layout", "!--kv-channels"}},
    {ST_MEGATRON,
     LLAMA,
     {"parallel.pp=4", "parallel.dp=2", "parallel.zero=1", "parallel.first_stage_layers=6",
      "parallel.last_stage_layers=7"},
     {"Et*6|t*9|t*10|t*7L", "!--decoder-first-pipeline-num-layers",
      "!--decoder-last-pipeline-num-layers"}},
    /* Of 15 layers in two chunks the first stage has one fewer in the first, the last one more. */
    {ST_MEGATRON,
     LLAMA,
     {"parallel.pp=2", "parallel.dp=4", "parallel.zero=1", "parallel.virtual_stages=2",
      "parallel.first_stage_layers=15", "parallel.last_stage_layers=17"},
     {"Et*7|t*9|t*8|t*8L", "!--num-virtual-stages"}},
    {ST_DEEPSPEED,
     MIXTRAL,
     {"parallel.pp=1", "parallel.dp=64", "parallel.virtual_stages=1", "parallel.zero=2"},
     {"\"stage\": 2"}},
};

TEST_WITH(bounds_of_plans_hold, set_up, tear_down)
{
    for (size_t i = 0; i < sizeof bounds_of_megatron / sizeof bounds_of_megatron[0]; i++)
        comes_back(*state, &bounds_of_megatron[i]);
}

TEST_WITH(plans_of_megatron_come_back, set_up, tear_down)
{
    for (size_t i = 0; i < sizeof megatron_plans / sizeof megatron_plans[0]; i++)
        comes_back(*state, &megatron_plans[i]);
}

static const written other_plans[] = {
    {ST_MEGATRON_BRIDGE,
     LLAMA,
     {"parallel.pp=2", "parallel.dp=4", "parallel.virtual_stages=4", "parallel.zero=1"},
     {"pipeline_model_parallel_size: 2", "use_distributed_optimizer: true"}},
    {ST_MEGATRON_BRIDGE,
     DEEPSEEK,
     {"parallel.schedule=1f1b", "overlap.ep=0", "precision.gather=weights"},
     {"moe_layer_freq: [0, 0, 0, 1"}},
    {ST_MEGATRON_BRIDGE,
     MIXTRAL,
     {"model=nemotron-3-super-120b-a12b", "parallel.virtual_stages=1"},
     {"mamba", "torchrun --nproc-per-node 8 --nnodes 8 starts 64 ranks."}},
    {ST_TORCHTITAN,
     LLAMA,
     {"parallel.dp=2", "parallel.cp=2", "parallel.tp=2", "parallel.sequence_parallel=true"},
     {"tensor_parallel_degree = 2", "context_parallel_degree = 2",
      "torchrun --nproc-per-node 8 --nnodes 1 starts 8 ranks."}},
    {ST_TORCHTITAN, LLAMA, {"parallel.zero=0"}, {"data_parallel_replicate_degree = 8"}},
    {ST_TORCHTITAN,
     LLAMA,
     {"parallel.zero=0", "parallel.tp=8", "parallel.dp=1", "parallel.sequence_parallel=true"},
     {"data_parallel_replicate_degree = 1", "data_parallel_shard_degree = 1",
      "tensor_parallel_degree = 8"}},
    {ST_TORCHTITAN,
     LLAMA,
     {"parallel.zero=3", "parallel.shard=4"},
     {"data_parallel_replicate_degree = 2", "data_parallel_shard_degree = 4"}},
    {ST_TORCHTITAN,
     LLAMA,
     {"precision.fp8=true", "recompute=selective", "overlap.tp=0.7"},
     {"selective"}},
    {ST_TORCHTITAN,
     MIXTRAL,
     {"model=qwen3-30b-a3b", "parallel.zero=2", "parallel.pp=1", "parallel.dp=64",
      "parallel.virtual_stages=1"},
     {"expert_parallel_degree", "name = \"qwen3\"", "flavor = \"30B-A3B\""}},
    /* 2 micro-batches of 3 for each of 2 data-parallel ranks; 8 of 32 layers on a stage */
    {ST_TORCHTITAN,
     LLAMA,
     {"parallel.pp=4", "parallel.dp=2", "parallel.zero=2", "batch.global=12", "batch.micro=3",
      "batch.sequence=4096", "train.tokens=49152000"},
     {"flavor = \"8B\"", "local_batch_size = 6", "pipeline_parallel_microbatch_size = 3",
      "pipeline_parallel_layers_per_stage = 8", "pipeline_parallel_first_stage_less_layers = 0",
      "steps = 1000"}},
    /* 10 layers on a stage, 7 fewer on the first one and 1 on the last: 3 + 10 + 10 + 9 */
    {ST_TORCHTITAN,
     LLAMA,
     {"parallel.pp=4", "parallel.dp=2", "parallel.zero=2", "parallel.first_stage_layers=3",
      "parallel.last_stage_layers=9"},
     {"pipeline_parallel_layers_per_stage = 10", "pipeline_parallel_first_stage_less_layers = 7",
      "pipeline_parallel_last_stage_less_layers = 1", "fsdp_reshard_after_forward = \"never\""}},
    /* 11 layers on each of six stages between 8 and 6 on the ends */
    {ST_TORCHTITAN,
     LLAMA,
     {"model=llama3-70b", "parallel.pp=8", "parallel.dp=1", "parallel.zero=0",
      "parallel.first_stage_layers=8", "parallel.last_stage_layers=6"},
     {"pipeline_parallel_layers_per_stage = 11", "pipeline_parallel_first_stage_less_layers = 3",
      "pipeline_parallel_last_stage_less_layers = 5"}},
    {ST_TORCHTITAN,
     LLAMA,
     {"parallel.pp=4", "parallel.dp=2", "parallel.zero=2", "parallel.first_stage_layers=5"},
     {"pipeline_parallel_layers_per_stage = 9", "pipeline_parallel_first_stage_less_layers = 4",
      "pipeline_parallel_last_stage_less_layers = 0"}},
    {ST_TORCHTITAN,
     LLAMA,
     {"parallel.pp=4", "parallel.dp=2", "parallel.zero=2", "parallel.last_stage_layers=2"},
     {"pipeline_parallel_layers_per_stage = 10", "pipeline_parallel_first_stage_less_layers = 0",
      "pipeline_parallel_last_stage_less_layers = 8"}},
    /* Two chunks of 11, of which the first one has 8 fewer: 14 + 22 + 22 + 22 */
    {ST_TORCHTITAN,
     LLAMA,
     {"model=llama3-70b", "parallel.pp=4", "parallel.dp=2", "parallel.zero=2",
      "parallel.virtual_stages=2", "parallel.schedule=interleaved",
      "parallel.first_stage_layers=14"},
     {"pipeline_parallel_layers_per_stage = 11", "pipeline_parallel_first_stage_less_layers = 8"}},
    /* What is too few on the last stage alone, as the refusals below say it */
    {ST_TORCHTITAN,
     LLAMA,
     {"model=deepseek-v2-lite", "parallel.pp=4", "parallel.dp=2", "parallel.zero=2",
      "parallel.first_stage_layers=0", "parallel.last_stage_layers=6"},
     {"pipeline_parallel_layers_per_stage = 7", "pipeline_parallel_first_stage_less_layers = 0",
      "pipeline_parallel_last_stage_less_layers = 1"}},
    {ST_TORCHTITAN,
     LLAMA,
     {"model=deepseek-v2-lite", "parallel.pp=2", "parallel.dp=4", "parallel.zero=2",
      "parallel.first_stage_layers=0", "parallel.last_stage_layers=13"},
     {"pipeline_parallel_layers_per_stage = 14", "pipeline_parallel_first_stage_less_layers = 0",
      "pipeline_parallel_last_stage_less_layers = 1"}},
    {ST_TORCHTITAN,
     LLAMA,
     {"parallel.pp=4", "parallel.dp=2", "parallel.zero=3", "parallel.virtual_stages=2",
      "parallel.schedule=interleaved"},
     {"pipeline_parallel_layers_per_stage = 4", "Interleaved1F1B",
      "fsdp_reshard_after_forward = \"always\""}},
    {ST_DEEPSPEED,
     LLAMA,
     {"precision.weights=fp16", "precision.communication=fp16", "parallel.zero=2"},
     {"\"stage\": 2", "\"train_micro_batch_size_per_gpu\"", "\"fp16\"", "!starts 8 ranks"}},
    {ST_DEEPSPEED,
     MIXTRAL,
     {"parallel.pp=1", "parallel.dp=64", "parallel.virtual_stages=1"},
     {"\"train_batch_size\""}},
    {ST_DEEPSPEED, "gpt3-175b-64xa100", {"parallel.virtual_stages=1"}, {"\"train_batch_size\""}},
};

TEST_WITH(plans_of_other_frameworks_come_back, set_up, tear_down)
{
    for (size_t i = 0; i < sizeof other_plans / sizeof other_plans[0]; i++)
        comes_back(*state, &other_plans[i]);
}

static const written refused_plans[] = {
    {ST_MEGATRON, "vgg16-32x3090", {NULL}, {"cannot run a model of model.layer_list"}},
    {ST_MEGATRON,
     DEEPSEEK,
     {"parallel.schedule=zero_bubble"},
     {"cannot run parallel.schedule=zero_bubble"}},
    {ST_MEGATRON_BRIDGE,
     DEEPSEEK,
     {"parallel.schedule=zero_bubble", "precision.gather=weights"},
     {"cannot run parallel.schedule=zero_bubble"}},
    {ST_MEGATRON, "llama3-405b-16384xh100", {NULL}, {"parallel.zero above 1 with pipeline"}},
    {ST_DEEPSPEED, "llama3-405b-16384xh100", {NULL}, {"parallel.zero above 1 with pipeline"}},
    {ST_DEEPSPEED, MIXTRAL, {NULL}, {"experts with pipeline stages"}},
    {ST_DEEPSPEED, LLAMA, {"parallel.cp=2", "parallel.dp=4"}, {"no ring attention"}},
    {ST_DEEPSPEED, LLAMA, {"precision.fp8=true"}, {"has no FP8 layers"}},
    {ST_TORCHTITAN, LLAMA, {"parallel.zero=1"}, {"cannot run parallel.zero=1"}},
    {ST_TORCHTITAN,
     LLAMA,
     {"parallel.zero=1", "parallel.tp=4", "parallel.dp=2", "parallel.sequence_parallel=true"},
     {"cannot run parallel.zero=1"}},
    {ST_TORCHTITAN,
     LLAMA,
     {"parallel.zero=0", "parallel.tp=4", "parallel.dp=2", "parallel.sequence_parallel=true"},
     {"its DDP does not combine with other parallelism"}},
    {ST_TORCHTITAN,
     LLAMA,
     {"parallel.zero=0", "parallel.cp=4", "parallel.dp=2"},
     {"its DDP does not combine with other parallelism"}},
    {ST_TORCHTITAN, LLAMA, {"attention=unfused"}, {"its attention is fused"}},
    {ST_TORCHTITAN, "gpt3-175b-64xa100", {NULL}, {"cannot run this model"}},
    {ST_TORCHTITAN,
     LLAMA,
     {"parallel.zero=0", "parallel.tp=2", "parallel.dp=4"},
     {"its DDP does not combine with other parallelism"}},
    {ST_TORCHTITAN,
     LLAMA,
     {"precision.weights=fp16", "precision.communication=fp16"},
     {"it computes in bfloat16 or float32"}},
    {ST_TORCHTITAN,
     LLAMA,
     {"model=llama3-405b", "parallel.pp=4", "parallel.dp=2", "parallel.zero=2"},
     {"chunks are equal except the first and the last",
      "parallel.virtual_stages=1 parallel.first_stage_layers=31 parallel.last_stage_layers=31"}},
    /* 4 stages of 7 are one layer more than 27, of 16 three more than 61; of 16 stages of 2 one
     * would be empty */
    {ST_TORCHTITAN,
     LLAMA,
     {"model=deepseek-v2-lite", "parallel.pp=4", "parallel.dp=2", "parallel.zero=2"},
     {"parallel.virtual_stages=1 parallel.first_stage_layers=0 parallel.last_stage_layers=6"}},
    {ST_TORCHTITAN,
     LLAMA,
     {"model=deepseek-v2-lite", "parallel.pp=2", "parallel.dp=4", "parallel.zero=2"},
     {"parallel.virtual_stages=1 parallel.first_stage_layers=0 parallel.last_stage_layers=13"}},
    {ST_TORCHTITAN,
     LLAMA,
     {"parallel.pp=2", "parallel.dp=4", "parallel.zero=2", "parallel.virtual_stages=3",
      "parallel.schedule=interleaved"},
     {"parallel.virtual_stages=1 parallel.first_stage_layers=0 parallel.last_stage_layers=0"}},
    {ST_TORCHTITAN,
     LLAMA,
     {"model=deepseek-v3", "model.mtp=0", "parallel.pp=4", "parallel.dp=2", "parallel.zero=2"},
     {"parallel.virtual_stages=1 parallel.first_stage_layers=15 parallel.last_stage_layers=14"}},
    {ST_TORCHTITAN,
     LLAMA,
     {"model=deepseek-v2-lite", "parallel.pp=16", "parallel.dp=1", "parallel.zero=2",
      "cluster.nodes=2"},
     {"chunks are equal except the first and the last", "!parallel.first_stage_layers"}},
    /* 2 on the first stage are 8 fewer than others, more than a chunk; 5 make no two chunks */
    {ST_TORCHTITAN,
     LLAMA,
     {"parallel.pp=4", "parallel.dp=2", "parallel.zero=2", "parallel.virtual_stages=2",
      "parallel.schedule=interleaved", "parallel.first_stage_layers=2"},
     {"chunks are equal except the first and the last"}},
    {ST_TORCHTITAN,
     LLAMA,
     {"model=llama3-70b", "parallel.pp=16", "parallel.dp=1", "parallel.zero=2",
      "parallel.virtual_stages=2", "parallel.schedule=interleaved", "cluster.nodes=2"},
     {"chunks are equal except the first and the last"}},
    /* 14 on the first stage are more than the 6 of others, which none may have */
    {ST_TORCHTITAN,
     LLAMA,
     {"parallel.pp=4", "parallel.dp=2", "parallel.zero=2", "parallel.first_stage_layers=14"},
     {"chunks are equal except the first and the last"}},
    {ST_TORCHTITAN,
     MIXTRAL,
     {"model=qwen3-next-80b-a3b", "parallel.virtual_stages=3", "parallel.zero=2"},
     {"no flavor of its models has its shape"}},
    {ST_MEGATRON, LLAMA, {"offload.activations=0.37"}, {"offload.activations"}},
    {ST_MEGATRON,
     LLAMA,
     {"parallel.shard=8", "parallel.zero=1"},
     {"cannot run parallel.shard=8", "parallel.shard=0"}},
    /* 6 micro-batches are as near to 8 as to 4, of which 8 is taken; 5 are nearer to 4 */
    {ST_MEGATRON,
     LLAMA,
     {"parallel.pp=4", "parallel.dp=2", "parallel.zero=1", "parallel.virtual_stages=2",
      "batch.global=12"},
     {"6 micro-batches with 4 interleaved stages", "batch.global=16 (8 micro-batches)"}},
    {ST_MEGATRON,
     LLAMA,
     {"parallel.pp=4", "parallel.dp=2", "parallel.zero=1", "parallel.virtual_stages=2",
      "batch.global=10"},
     {"5 micro-batches with 4 interleaved stages", "batch.global=8 (4 micro-batches)"}},
    {ST_MEGATRON,
     LLAMA,
     {"parallel.pp=2", "parallel.dp=4", "parallel.zero=2"},
     {"parallel.zero above 1 with pipeline stages"}},
    {ST_MEGATRON,
     LLAMA,
     {"parallel.pp=2", "parallel.dp=4", "parallel.zero=1", "parallel.virtual_stages=2",
      "batch.global=12"},
     {"3 micro-batches with 2 interleaved stages"}},
    {ST_DEEPSPEED,
     LLAMA,
     {"parallel.pp=2", "parallel.dp=4", "parallel.zero=2"},
     {"parallel.zero above 1 with pipeline stages"}},
    {ST_DEEPSPEED,
     MIXTRAL,
     {"parallel.pp=2", "parallel.dp=32", "parallel.virtual_stages=1"},
     {"experts with pipeline stages", "!parallel.zero above 1"}},
};

TEST_WITH(plans_that_cannot_run_are_refused, set_up, tear_down)
{
    for (size_t i = 0; i < sizeof refused_plans / sizeof refused_plans[0]; i++)
        is_refused(*state, &refused_plans[i]);
}

/* Sections that are carried are named once. */
TEST_WITH(what_is_carried_is_warned_of, set_up, tear_down)
{
    static const struct {
        st_framework framework;
        const char *job;
        const char *carried;
    } cases[] = {
        {ST_TORCHTITAN, LLAMA,
         "warning: torchtitan has no options for these; the file carries them separately: stack, "
         "cluster, name, model, constants."},
        {ST_MEGATRON, LLAMA,
         "warning: Megatron-LM has no options for these; the file carries them separately: stack, "
         "cluster, name, model.name, parallel.sequence_parallel, constants."},
    };
    fixture *own = *state;
    static const char *const none[MOST_SETS] = {NULL};
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        st_buffer file = {0};
        const st_job *job = load(own, cases[i].job, none);
        assert_int_equal(st_framework_export(cases[i].framework, own->paths, job,
                                             &(st_export_options){0}, &file, own->errors),
                         ST_OK);
        const char *text = said(own);
        if (strncmp(text, cases[i].carried, strlen(cases[i].carried)) != 0)
            fail_msg("%s", text);
        st_buffer_free(&file);
    }
}

/* ---- files as people write them -------------------------------------------------------------- */

static st_status read_file(fixture *own, st_framework framework, const char *text, st_buffer *job)
{
    const st_import_request request = {
        .paths = own->paths, .file = "launch.toml", .text = text, .length = strlen(text)};
    return st_framework_import(framework, &request, job, own->errors);
}

TEST_WITH(toml_is_read_with_blanks_quotes_and_comments, set_up, tear_down)
{
    static const char toml[] = "# a comment\n"
                               "  [model]  # another\n"
                               "name = \"llama3\"\n"
                               "flavor = '8B'\n"
                               "hf_assets_path = 'a # not one'\n"
                               "\n"
                               "[training]\n"
                               "\tseq_len\t=\t4096  # tokens\n"
                               "global_batch_size=12\n"
                               "local_batch_size = 6\n"
                               "steps = 1000\n"
                               "[parallelism]\n"
                               "pipeline_parallel_degree = 4\n"
                               "pipeline_parallel_microbatch_size = 3\n"
                               "data_parallel_shard_degree = 2\n"
                               "enable_async_tensor_parallel = false\n"
                               "tensor_parallel_degree = 2";
    static const struct {
        const char *key;
        double number;
    } expected[] = {
        {"batch.sequence", 4096}, {"batch.global", 12},       {"batch.micro", 3},
        {"parallel.pp", 4},       {"parallel.dp", 2},         {"parallel.tp", 2},
        {"parallel.zero", 2},     {"train.tokens", 49152000}, {"parallel.sequence_parallel", 1}};
    fixture *own = *state;
    static const char *const none[MOST_SETS] = {NULL};
    st_buffer text = {0};
    if (read_file(own, ST_TORCHTITAN, toml, &text) != ST_OK)
        fail_msg("%s", said(own));
    st_errors_clear(own->errors);
    write_text(own, "back.yaml", text.data);
    const st_job *job = load(own, below(own, "back.yaml"), none);
    for (size_t i = 0; i < sizeof expected / sizeof expected[0]; i++)
        if (fabs(st_job_number(job, expected[i].key) - expected[i].number) > 1e-9)
            fail_msg("%s is %g in\n%s", expected[i].key, st_job_number(job, expected[i].key),
                     text.data);
    st_buffer_free(&text);
}

TEST_WITH(what_is_no_toml_is_refused, set_up, tear_down)
{
    static const char *const cases[][2] = {
        {"[training\nseq_len = 4096\n",
         "launch.toml:1:10: error: not TOML: found the end of the line, expected ]\n"},
        {"[training]\nseq_len\n",
         "launch.toml:2:1: error: not TOML: found 'seq_len', expected [table] or key = value\n"},
        {"[training]\n\nseq_len =  # nothing\n",
         "launch.toml:3:12: error: not TOML: found '# nothing', expected a text in quotes"},
        {"seq len = 4096\n",
         "launch.toml:1:1: error: not TOML: found 'seq len = 4096', expected [table] or key"},
        {" = 4096\n", "launch.toml:1:2: error: not TOML: found '= 4096', expected a key\n"},
        {"[training]\nseq_len = 1 2\n", "launch.toml:2:13: error: not TOML: found '2', expected"},
        {"[training] seq_len = 4096\n", "launch.toml:1:12: error: not TOML: found 'seq_len"},
        {"[model]\nname = \"llama3\n", "launch.toml:2:8: error: not TOML: found"},
        {"[model]\nname = '''llama3\n\n", "launch.toml:2: error: a text that begins in this line"},
        {"[model]\nname = \"\\q\"\n", "expected an escape such as"},
        {"[model]\nname = \"a\x01z\"\n", "launch.toml:2:10: error: not TOML: found"},
        {"[model]\nname = \"a\xffz\"\n", "expected UTF-8"},
        {"[model]\nname = llama3\n", "expected a text in quotes, a number, true, false"},
        {"[training]\nseq_len = 04096\n", "found '04096', expected a text in quotes, a number"},
        {"[training]\nseq_len = [1, 2\n", "expected ',' or ']'"},
        {"[training]\nseq_len = {a = 1,}\n", "expected a key"},
        {"[training]\nseq_len = 1\nseq_len = 2\n",
         "key 'training.seq_len' is given twice, first in line 2"},
        {"[training]\n[model]\n[training]\n", "table 'training' is given twice, first in line 1"},
        {"training = 1\n[training.more]\n", "key 'training' is given twice, first in line 1"},
        {"[[training]]\n[training]\n", "'training' is given twice, first in line 1"},
        {"a-line-of-more-than-forty-letters-without-a-sign\n",
         "found 'a-line-of-more-than-forty-letters-withou', expected"},
    };
    fixture *own = *state;
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        st_buffer text = {0};
        assert_int_equal(read_file(own, ST_TORCHTITAN, cases[i][0], &text), ST_ERR_SYNTAX);
        const char *told = said(own);
        if (strstr(told, cases[i][1]) == NULL)
            fail_msg("'%s': %s", cases[i][0], told);
        st_buffer_free(&text);
    }
}

TESTS(frameworks);
