/* SPDX-License-Identifier: Apache-2.0 */
/* The table of roles, and what fills them in a sheet; see roles.h. */
#include "steptime/tool/roles.h"

#include "sheet/internal.h"

#include <math.h>
#include <string.h>

static const char *const alone[] = {"cell", NULL};
static const char *const hiding[] = {"exposed", "hidden", "slowdown", NULL};

static const char *const split[] = {"exposed", "hidden", NULL};
static const char *const stages[] = {"first", "middle", "last", NULL};
static const char *const groups[] = {"tp",           "cp",           "ep",        "dp",
                                     "pp",           "emb",          "expert_dp", "around",
                                     "ep_exchanged", "ep_forwarded", NULL};
static const char *const variances[] = {"slow", "jitter", "distribution", "together", NULL};
static const char *const lifetimes[] = {"passes", "step", NULL};
static const char *const allocations[] = {"block", "segment", NULL};
static const char *const handed[] = {
    "tp",         "cp", "ep", "pp", "emb", "reduce", "gather", "expert_reduce", "expert_gather",
    "all_reduce", NULL};
static const char *const messages[] = {
    "tp", "cp", "ep", "dp", "pp", "emb", "expert_dp", "gather", "expert_gather", NULL};
static const char *const placed[] = {"all", "experts", NULL};
static const char *const given[] = {"pattern", "layout", NULL};
static const char *const divided[] = {"stages",  "chunks", "folded", "layers",
                                      "leading", "every",  "costs",  NULL};
static const char *const replayed_plan[] = {"plan", "replayed", NULL};
static const char *const contents[] = {"work", "slowdown", "launch", "tp",
                                       "cp",   "ep",       "alone",  NULL};
static const char *const passes[] = {"forward", "backward", "inputs", "weights", "rest", NULL};
static const char *const concurrent[] = {"forward", "backward", "pp", NULL};
static const char *const buckets[] = {"first", "others", "value", "all", NULL};
static const char *const units[] = {"cap", "value", NULL};
static const char *const collectives[] = {"gathers", "scatter", NULL};
static const char *const places[] = {"k1",  "k2",  "k3",  "k4",  "k5",  "k6",  "k7",  "k8",  "k9",
                                     "k10", "k11", "k12", "k13", "k14", "k15", "k16", "k17", "k18",
                                     "k19", "k20", "k21", "k22", "k23", "k24", NULL};
static const char *const counts[] = {"weights", "biases",         "kept",    "output",
                                     "moved",   "moved_compiled", "kernels", "kernels_compiled",
                                     NULL};
static const char *const layer_parts[] = {"products", "attention", "elementwise", "logits", NULL};
static const char *const shape[] = {"tokens",   "sequence", "hidden", "ffn",   "heads",
                                    "kv_heads", "matrices", "passes", "split", NULL};
static const char *const moe_shape[] = {"experts", "top_k", "ffn", "shared_ffn", NULL};
static const char *const times[] = {"all",         "forward",      "backward",
                                    "moe_forward", "moe_backward", NULL};
static const char *const terms[] = {"steady",   "bubble",    "transfers", "data", "tied",
                                    "slowdown", "optimizer", "overhead",  NULL};

static const char *const spent[] = {"products", "attention", "memory", "optimizer", "tp",
                                    "cp",       "ep",        "dp",     "pp",        NULL};

static const st_role_row rows[ST_ROLES] = {
    [ST_ROLE_STEP] = {"step", "s", alone, "time of a training step"},
    [ST_ROLE_MEMORY] = {"memory", "B", alone, "peak memory of a GPU"},
    [ST_ROLE_FITS] = {"fits", "bool", alone, "the memory of a GPU suffices"},
    [ST_ROLE_MFU] = {"mfu", "1", alone, "model FLOPs utilization"},
    [ST_ROLE_HFU] = {"hfu", "1", alone, "hardware FLOPs utilization"},
    [ST_ROLE_COMMUNICATION] = {"communication", "s", hiding,
                               "exposed and hidden communication of a step, and the slowdown of "
                               "computation that it causes"},
    [ST_ROLE_TOKENS] = {"tokens", "1", alone, "tokens of the whole training"},
    [ST_ROLE_PRICE] = {"price", "$/h", alone, "price of a GPU; 0: unknown"},
    [ST_ROLE_COST] = {"cost", "$", alone, "price of the whole training; 0: unknown"},
    [ST_ROLE_ENERGY] = {"energy", "J", alone, "energy of the whole training"},
    [ST_ROLE_TP] = {"tp", "1", alone, "tensor-parallel size"},
    [ST_ROLE_CP] = {"cp", "1", alone, "context-parallel size"},
    [ST_ROLE_DP] = {"dp", "1", alone, "data-parallel size"},
    [ST_ROLE_PP] = {"pp", "1", alone, "pipeline stages"},
    [ST_ROLE_EP] = {"ep", "1", alone, "expert-parallel size"},
    [ST_ROLE_EXPERT_TP] = {"expert_tp", "1", alone, "tensor-parallel size inside an expert"},
    [ST_ROLE_GPUS_PER_NODE] = {"gpus_per_node", "1", alone, "GPUs of a node"},
    [ST_ROLE_TP_PER_NODE] = {"tp_per_node", "1", alone,
                             "ranks of a tensor-parallel group on one node; open"},
    [ST_ROLE_CP_PER_NODE] = {"cp_per_node", "1", alone,
                             "ranks of a context-parallel group on one node; open"},
    [ST_ROLE_DP_PER_NODE] = {"dp_per_node", "1", alone,
                             "ranks of a gradient reduction on one node; open"},
    [ST_ROLE_EP_PER_NODE] = {"ep_per_node", "1", alone,
                             "ranks of an expert-parallel group on one node; open"},
    [ST_ROLE_EXPERT_DP_PER_NODE] = {"expert_dp_per_node", "1", alone,
                                    "ranks on one node of the reduction of experts' gradients; "
                                    "open"},
    [ST_ROLE_STAGES_CROSSING] = {"stages_crossing", "1", alone,
                                 "share of the boundaries between stages that cross nodes; "
                                 "open"},
    [ST_ROLE_SENT] =
        {"sent", "B", groups,
         "bytes that a rank of the stage that is asked for sends in a step, by group; pp "
         "over the boundary behind it each way, around from the last to the first stage and back; "
         "ep_exchanged between the groups of expert_joined, ep_forwarded inside of them, both with "
         "what stays: where both are 0, ep goes around a ring, where the sheet has neither, ep is "
         "an all-to-all with what stays"},
    [ST_ROLE_HANDED] =
        {"handed", "B", handed,
         "bytes that a rank of that stage hands to collectives in a step: its share to "
         "all-gathers, "
         "which are cp and gather, its whole message to others; pp those of one transfer to the "
         "next "
         "stage; reduce is a reduce-scatter where weights are gathered, all_reduce never"},
    [ST_ROLE_MESSAGES] = {"messages", "1", messages,
                          "messages of a rank of that stage in a step, by purpose; gather and "
                          "expert_gather are all-gathers of weights"},
    [ST_ROLE_MESSAGE_BYTES] = {"message_bytes", "B", messages, "bytes of one message"},
    [ST_ROLE_STAGE_ASKED] = {"stage_asked", "1", alone, "that stage, an input"},
    [ST_ROLE_CHUNK_ASKED] = {"chunk_asked", "1", alone,
                             "chunk of that stage, an input, counted from 1; 0 for all of them"},
    [ST_ROLE_EXPERT_LOAD] = {"expert_load", "1", alone,
                             "tokens of the busiest expert rank over the mean"},
    [ST_ROLE_EXPERT_JOINED] =
        {"expert_joined", "1", alone,
         "ranks of an expert group that forward tokens among each other; 1 where nothing fills it"},
    [ST_ROLE_MICRO_BATCHES] = {"micro_batches", "1", alone, "micro-batches of a step"},
    [ST_ROLE_CHUNKS] = {"chunks", "1", alone, "model chunks of a pipeline stage"},
    [ST_ROLE_LAYERS] = {"layers", "1", alone, "layers of the model"},
    [ST_ROLE_MOE_LAYERS] = {"moe_layers", "1", alone, "layers with routed experts"},
    [ST_ROLE_STAGE_LAYERS] = {"stage_layers", "1", stages, "layers of a stage"},
    [ST_ROLE_PLACED_LAYERS] =
        {"placed_layers", "1", placed,
         "layers of the requested stage or chunk, and how many of them have routed "
         "experts; one a stage where nothing fills it, or it is -1"},
    [ST_ROLE_LAYERS_GIVEN] =
        {"layers_given", "1", given,
         "1 where the job says which layers lie where, by model.pattern and by parallel.layout; "
         "open"},
    [ST_ROLE_BALANCED_LAYOUT] =
        {"balanced_layout", "1", divided,
         "what the layout follows from that balances a pipeline (parallel.layout auto): stages, "
         "chunks of each, 1 where these are folded, layers, leading dense ones, one in how many of "
         "the others has experts, and what layers and ends cost, as layout_code packs it"},
    [ST_ROLE_REPLAYED_PLAN] =
        {"replayed_plan", "1", replayed_plan,
         "1 for a plan whose schedule is replayed, since no closed form has it; 1 where such plans "
         "are, which is open: programs for all other plans go without"},
    [ST_ROLE_LAYER_FORWARD] = {"layer_forward", "s", contents,
                               "forward pass of a layer, or of a stage without layers"},
    [ST_ROLE_LAYER_BACKWARD] = {"layer_backward", "s", contents,
                                "backward pass of a layer, or of a stage without layers, with "
                                "recomputation, without gradients of weights"},
    [ST_ROLE_LAYER_WEIGHTS] = {"layer_weights", "s", contents,
                               "gradients of weights of a layer, or of a stage without layers"},
    [ST_ROLE_MOE_LAYER_FORWARD] = {"moe_layer_forward", "s", contents,
                                   "forward pass of a layer with routed experts"},
    [ST_ROLE_MOE_LAYER_BACKWARD] = {"moe_layer_backward", "s", contents,
                                    "backward pass of a layer with routed experts, with "
                                    "recomputation, without gradients of weights"},
    [ST_ROLE_MOE_LAYER_WEIGHTS] = {"moe_layer_weights", "s", contents,
                                   "gradients of weights of a layer with routed experts"},
    [ST_ROLE_EMBEDDING_FORWARD] = {"embedding_forward", "s", contents,
                                   "forward pass of the embedding"},
    [ST_ROLE_EMBEDDING_BACKWARD] =
        {"embedding_backward", "s", contents,
         "backward pass of the embedding, with recomputation, without gradients of weights"},
    [ST_ROLE_EMBEDDING_WEIGHTS] = {"embedding_weights", "s", contents,
                                   "gradients of weights of the embedding"},
    [ST_ROLE_HEAD_FORWARD] = {"head_forward", "s", contents,
                              "forward pass of the output layer with the loss"},
    [ST_ROLE_HEAD_BACKWARD] = {"head_backward", "s", contents,
                               "backward pass of the output layer with the loss, with "
                               "recomputation, without gradients of weights"},
    [ST_ROLE_HEAD_WEIGHTS] = {"head_weights", "s", contents,
                              "gradients of weights of the output layer with the loss"},
    [ST_ROLE_SITE_FACTOR] = {"site_factor", "1", alone,
                             "factor on all times of a schedule and on step_terms"},
    [ST_ROLE_TRANSFER] = {"transfer", "s", alone, "exposed part of a transfer between stages"},
    [ST_ROLE_GRADIENTS_SPLIT] = {"gradients_split", "bool", alone,
                                 "gradients are reduced with each pass, layer by layer"},
    [ST_ROLE_REDUCE_PER_PASS] = {"reduce_per_pass", "s", split,
                                 "reduction of a chunk's gradients with each backward pass"},
    [ST_ROLE_GATHER_PER_PASS] = {"gather_per_pass", "s", split,
                                 "all-gather of a chunk's weights with each pass"},
    [ST_ROLE_REDUCE_AT_END] = {"reduce_at_end", "s", split, "reduction of gradients once per step"},
    [ST_ROLE_GATHER_AT_END] = {"gather_at_end", "s", split, "all-gather of weights once per step"},
    [ST_ROLE_PREFETCH] = {"prefetch", "1", alone, "layers whose weights are gathered ahead"},
    [ST_ROLE_TIED] = {"tied", "s", alone,
                      "sum of the tied embedding's gradients of first and last stage"},
    [ST_ROLE_OPTIMIZER] = {"optimizer", "s", alone, "optimizer step"},
    [ST_ROLE_OVERHEAD] = {"overhead", "s", alone, "time of a step outside of its kernels"},
    [ST_ROLE_SLOWDOWN_AT_END] = {"slowdown_at_end", "s", alone,
                                 "time that communication outside of the schedule adds to a step"},
    [ST_ROLE_SLOWED] = {"slowed", "1", passes,
                        "slowdown of a pass alongside communication in the schedule"},
    [ST_ROLE_DATA_RATE] = {"data_rate", "1", concurrent,
                           "rate of hidden gradients and weights, of their rate alone, during "
                           "passes of the requested chunk and transfers between stages"},
    [ST_ROLE_HELD_FOR_WEIGHTS] =
        {"held_for_weights", "1", alone,
         "share of a layer's activations that gradients of its weights need"},
    [ST_ROLE_BUCKET_BYTES] = {"bucket_bytes", "B", buckets,
                              "size at which the first and the other buckets of gradients are "
                              "sent, of a gradient, of all of them"},
    [ST_ROLE_BUCKET_SIZES] = {"bucket_sizes", "B", places,
                              "sizes of buckets, rising; 0 behind the last"},
    [ST_ROLE_BUCKET_TIMES] = {"bucket_times", "s", places, "all-reduce of a bucket of that size"},
    [ST_ROLE_BUCKETS] = {"buckets", "1", alone, "number of buckets where the layers are unknown"},
    [ST_ROLE_UNIT_BYTES] =
        {"unit_bytes", "B", units,
         "size at which a unit of a layer list's split weights is full, and of a "
         "weight, gathered"},
    [ST_ROLE_UNIT_SIZES] = {"unit_sizes", "B", places,
                            "sizes of gathered units, rising; 0 behind the last"},
    [ST_ROLE_UNIT_TIMES] = {"unit_times", "s", places, "all-gather of a unit of that size"},
    [ST_ROLE_UNIT_COLLECTIVES] = {"unit_collectives", "1", collectives,
                                  "all-gathers of a unit and micro-batch, and its reduce-scatter's "
                                  "time over one's"},
    [ST_ROLE_LAYER_WORK] = {"layer_work", "FLOP", alone, "GEMMs of a layer for a token, forward"},
    [ST_ROLE_LAYER_COUNTS] = {"layer_counts", "1", counts,
                              "a layer of a list: parameters, values that it keeps, passes on and "
                              "moves, kernels, without and with a compiler"},
    [ST_ROLE_LAYER_PARAMETERS] = {"layer_parameters", "1", alone, "parameters of a layer"},
    [ST_ROLE_PARAMETERS] = {"parameters", "1", alone, "parameters of the model"},
    [ST_ROLE_STEP_TERMS] = {"step_terms", "s", terms, "terms of the step time"},
    [ST_ROLE_SPENT] = {"spent", "s", spent,
                       "what a GPU spends in a step: matrix products, attention, kernels bound by "
                       "memory, the optimizer, exposed communication by group"},
    [ST_ROLE_SPENT_HIDDEN] = {"spent_hidden", "s", spent, "the same behind computation"},
    [ST_ROLE_HIDDEN_IN_PASSES] = {"hidden_in_passes", "s", alone,
                                  "hidden communication within the passes"},
    [ST_ROLE_LAYER_SHAPE] = {"layer_shape", "1", shape,
                             "distinguishes layers, with tp and cp: tokens of a micro-batch, MLP "
                             "matrices into its width, forward passes, ranks that split norms"},
    [ST_ROLE_MOE_SHAPE] = {"moe_shape", "1", moe_shape,
                           "distinguishes layers with routed experts, with ep and expert_tp"},
    [ST_ROLE_WEIGHT_BYTES] = {"weight_bytes", "B", alone, "bytes of a weight and of an activation"},
    [ST_ROLE_LAYER_TIME] =
        {"layer_time", "s", times,
         "layer times that measurements replace: all passes, the two passes alone"},
    [ST_ROLE_LAYER_PARTS] = {"layer_parts", "s", layer_parts,
                             "forward times by kinds of kernels, of a layer in the mean and of the "
                             "output layer"},
    [ST_ROLE_UPDATED] = {"updated_parameters", "1", alone, "parameters that a GPU updates"},
    [ST_ROLE_PEAK_RATE] = {"peak_rate", "FLOP/s", alone, "peak rate of a GPU in FP16"},
    [ST_ROLE_MEMORY_BANDWIDTH] = {"memory_bandwidth", "B/s", alone, "memory bandwidth of a GPU"},
    [ST_ROLE_HELD_WEIGHTS] = {"held_weights", "B", stages, "weights on a stage"},
    [ST_ROLE_HELD_GRADIENTS] = {"held_gradients", "B", stages, "gradients on a stage"},
    [ST_ROLE_HELD_OPTIMIZER] = {"held_optimizer", "B", stages,
                                "optimizer state on a stage, and adapters"},
    [ST_ROLE_HELD_BUFFERS] = {"held_buffers", "B", alone, "buckets for communication"},
    [ST_ROLE_HELD_GATHERED] = {"held_gathered", "B", lifetimes,
                               "gathered weights, while a pass runs and through the step"},
    [ST_ROLE_HELD_BY_PASS] = {"held_by_pass", "B", stages,
                              "activations of a micro-batch that stay in GPU memory on a stage of "
                              "stage_layers until its backward pass"},
    [ST_ROLE_HELD_EMBEDDING] = {"held_embedding", "B", alone,
                                "its activations of the embedding on the first stage"},
    [ST_ROLE_FORWARD_MEMORY] = {"forward_memory", "B", stages,
                                "working set of a forward pass without those activations"},
    [ST_ROLE_BACKWARD_MEMORY] = {"backward_memory", "B", stages, "working set of a backward pass"},
    [ST_ROLE_STAGE_MEMORY] = {"stage_memory", "B", stages, "peak on a stage in closed form"},
    [ST_ROLE_IN_FLIGHT] = {"in_flight", "1", stages,
                           "micro-batches in flight on a stage in closed form"},
    [ST_ROLE_ALLOCATION] = {"allocation", "B", allocations,
                            "allocator granularities for allocated and reserved memory"},
    [ST_ROLE_FRAGMENTATION] = {"fragmentation", "1", alone,
                               "reserved over allocated memory of the allocator"},
    [ST_ROLE_FRAMEWORK_MEMORY] = {"framework_memory", "B", alone,
                                  "memory outside of the tensor allocator"},
    [ST_ROLE_GPU_MEMORY] = {"gpu_memory", "B", alone, "memory of a GPU"},
    [ST_ROLE_VARIANCE] =
        {"variance", "1", variances,
         "computation of the slowest rank over the others, relative standard deviation of a "
         "rank's, number of the distribution, data-parallel ranks that synchronise in every pass"},
    [ST_ROLE_EXPECTED_STEP] = {"expected_step", "s", alone,
                               "expected step time with unequal ranks"},
};

const st_role_row *st_role_describe(st_role role)
{
    return &rows[role];
}

size_t st_role_part_count(st_role role)
{
    size_t count = 0;
    while (rows[role].parts[count] != NULL)
        count++;
    return count;
}

const char *st_sheet_role_part(const st_sheet *sheet, st_role role, size_t part)
{
    return sheet->roles[role].cells[part];
}

const char *st_sheet_role(const st_sheet *sheet, st_role role)
{
    return sheet->roles[role].cells[0];
}

static bool fills(const st_sheet *sheet, st_role role, const char *cell)
{
    const char *own = st_sheet_role(sheet, role);
    return own != NULL && strcmp(own, cell) == 0;
}

double st_sheet_known(const st_sheet *sheet, const char *cell, double value)
{
    bool is_unknown =
        value == 0 && (fills(sheet, ST_ROLE_PRICE, cell) || fills(sheet, ST_ROLE_COST, cell));
    return is_unknown ? (double)NAN : value;
}

st_status st_sheet_need_roles(const st_sheet *sheet, const st_role_list *wanted, const char **names,
                              st_errors *errors)
{
    st_status status = ST_OK;
    for (size_t i = 0; i < wanted->count; i++) {
        const st_role_part *part = &wanted->items[i];
        const st_role_row *row = &rows[part->role];
        names[i] = st_sheet_role_part(sheet, part->role, part->part);
        if (names[i] != NULL)
            continue;
        const char *of = part->part > 0 ? row->parts[part->part] : NULL;
        const char *cell = of != NULL ? st_errors_text(errors, "{%s: CELL}", of) : "CELL";
        status =
            st_fail(errors, ST_ERR_USAGE, (st_place){0},
                    "sheet '%s' lacks role '%s%s%s', which %s" ST_EXPECTED
                    "'%s: %s' under 'roles' in %s (%s)",
                    st_sheet_name(sheet), row->name, of != NULL ? "." : "", of != NULL ? of : "",
                    wanted->user, row->name, cell, st_sheet_file(sheet), row->doc);
    }
    return status;
}
