/* SPDX-License-Identifier: Apache-2.0 */
/*
 * How many ranks a script starts: options of torchrun, deepspeed, mpirun, srun with #SBATCH lines
 * and accelerate launch, and variables such as WORLD_SIZE that it sets.
 */
#include "launch/import/megatron.h"

#include "base/chars.h"
#include "base/word_sets.h"

#include <inttypes.h>
#include <string.h>

/* Short options of launchers, under the names of srun's long ones. */
static const struct {
    const char *launchers;
    const char *option;
    const char *name;
} short_options[] = {
    {"mpirun mpiexec orterun horovodrun", "-np", "ntasks"},
    {"mpirun mpiexec orterun horovodrun", "--np", "ntasks"},
    {"mpirun mpiexec orterun srun prun aprun flux", "-n", "ntasks"},
    {"mpirun mpiexec orterun prun", "--n", "ntasks"},
    {"jsrun", "-n", "nrs"},
    {"jsrun", "-a", "tasks_per_rs"},
    {"deepspeed", "-i", "include"},
    {"mpirun mpiexec", "-N", "ntasks_per_node"},
    {"srun flux", "-N", "nodes"},
    {"aprun", "-N", "ntasks_per_node"},
    {"mpirun mpiexec", "-npernode", "ntasks_per_node"},
    {"mpirun mpiexec", "-ppn", "ntasks_per_node"},
};

bool megatron_is_launcher(const char *word)
{
    return st_has_word("mpirun mpiexec orterun horovodrun prun aprun flux srun jsrun deepspeed",
                       word);
}

const char *megatron_launcher_option(const char *launcher, const char *word)
{
    for (size_t i = 0; launcher != NULL && i < ST_COUNT(short_options); i++)
        if (st_has_word(short_options[i].launchers, launcher) &&
            strcmp(short_options[i].option, word) == 0)
            return short_options[i].name;
    return NULL;
}

#define VARIABLES "GPUS_PER_NODE NPROC_PER_NODE NNODES NUM_NODES WORLD_SIZE"

bool megatron_is_rank_variable(const char *name)
{
    return st_has_word(VARIABLES, name);
}

/* "#SBATCH --nodes=4", "#SBATCH -N 4", "#SBATCH --gres=gpu:h100:8". */
void megatron_read_sbatch(megatron_run *run, const char *text, size_t length, int line)
{
    static const char mark[] = "#SBATCH";
    char words[512];
    if (length < sizeof mark || strncmp(text, mark, strlen(mark)) != 0 || length >= sizeof words)
        return;
    memcpy(words, text + strlen(mark), length - strlen(mark));
    words[length - strlen(mark)] = '\0';
    char *option = words + strspn(words, " \t");
    char *value = option + strcspn(option, "= \t");
    const bool is_long = strncmp(option, "--", 2) == 0;
    const char *name = is_long ? option + 2 : NULL;
    if (*value != '\0')
        *value++ = '\0';
    value += strspn(value, " \t");
    value[strcspn(value, " \t#")] = '\0';
    if (!is_long)
        name = megatron_launcher_option("srun", option);
    if (name == NULL || *value == '\0')
        return;
    for (char *c = option; *c != '\0'; c++)
        *c = is_long && *c == '-' && c > option + 1 ? '_' : *c;
    if (st_has_word("nodes ntasks ntasks_per_node gpus_per_node gres", name))
        megatron_set(run, name, value, line);
}

/* The argument that some name gives, a number or behind the last ':' one; NULL: none does. */
static const megatron_argument *number_of(megatron_run *run, const char *names, const char **digits)
{
    char name[64];
    for (const char *word = names; *word != '\0';) {
        const size_t length = strcspn(word, " ");
        (void)snprintf(name, sizeof name, "%.*s", (int)length, word);
        const megatron_argument *argument = megatron_get(run, name);
        const char *colon = argument != NULL ? strrchr(argument->value, ':') : NULL;
        *digits = colon != NULL ? colon + 1 : argument != NULL ? argument->value : "";
        /* "1:4" are as few and as many nodes as torchrun goes on with. */
        const bool is_range = colon != NULL && st_is_digit(*argument->value);
        if (st_is_digit(**digits) && !is_range)
            return argument;
        word += length + strspn(word + length, " ");
    }
    return NULL;
}

static const struct {
    const char *variables;
    const char *names;
} slurm[] = {
    {"SLURM_NNODES SLURM_JOB_NUM_NODES", "nodes"},
    {"SLURM_NTASKS SLURM_NPROCS", "ntasks"},
    {"SLURM_NTASKS_PER_NODE SLURM_TASKS_PER_NODE", "ntasks_per_node"},
    {"SLURM_GPUS_PER_NODE SLURM_GPUS_ON_NODE", "gpus_per_node gres"},
};

const char *megatron_slurm_value(megatron_run *run, const char *name, size_t length)
{
    for (size_t i = 0; i < ST_COUNT(slurm); i++)
        if (st_has_word_of(slurm[i].variables, name, length)) {
            const char *digits = "";
            return number_of(run, slurm[i].names, &digits) != NULL ? digits : NULL;
        }
    return NULL;
}

/* Megatron-DeepSpeed has experts in every second layer, of which a token visits one, where its own
 * options are silent. */
static void settle_deepspeed_experts(megatron_run *run)
{
    static const char *const rows[][3] = {{"expert_interval", "moe_layer_freq", "2"},
                                          {"topk", "moe_router_topk", "1"}};
    if (!megatron_is_true(run, "deepspeed", false) || !megatron_is_given(run, "num_experts"))
        return;
    if (strcmp(megatron_text(run, "num_experts"), "1") == 0) {
        megatron_forget_one(run, "num_experts"); /* an MLP */
        return;
    }
    for (size_t i = 0; i < ST_COUNT(rows); i++) {
        const megatron_argument *given = megatron_get(run, rows[i][0]);
        if (!megatron_is_given(run, rows[i][1]))
            megatron_set(run, rows[i][1], given != NULL ? given->value : rows[i][2],
                         given != NULL ? given->line : 0);
    }
}

/* "localhost:0,1,2,3" and "worker-0:0,1@worker-1:0,1" of deepspeed: as many devices on each node.
 */
static void settle_include(megatron_run *run)
{
    const char *part = megatron_text(run, "include");
    const int line = megatron_line_of(run, "include");
    uint64_t nodes = 0;
    uint64_t each = 0;
    while (*part != '\0') {
        const size_t length = strcspn(part, "@");
        const char *list = memchr(part, ':', length);
        uint64_t devices = 1;
        if (list == NULL)
            return; /* all devices of a node, however many it has */
        for (const char *c = list; c < part + length; c++)
            devices += *c == ',' ? 1 : 0;
        if (nodes > 0 && devices != each)
            return;
        each = devices;
        nodes++;
        part += length + (part[length] == '@' ? 1 : 0);
    }
    if (nodes == 0 || megatron_is_given(run, "num_gpus"))
        return;
    megatron_set(run, "num_gpus", st_draft_text(run->draft, "%" PRIu64, each), line);
    megatron_set(run, "num_nodes", st_draft_text(run->draft, "%" PRIu64, nodes), line);
}

/* Resource sets of jsrun, each with a task where nothing else is said. */
static void settle_resource_sets(megatron_run *run)
{
    const uint64_t sets = megatron_count_or(run, "nrs", 0);
    const uint64_t tasks = megatron_count_or(run, "tasks_per_rs", 1);
    if (sets > 0 && sets <= 1000000 && tasks <= 1000000)
        megatron_set(run, "ntasks", st_draft_text(run->draft, "%" PRIu64, sets * tasks),
                     megatron_line_of(run, "nrs"));
}

/* What launchers and variables say, where the options of torchrun say nothing. */
void megatron_settle_ranks(megatron_run *run)
{
    static const char *const rows[][2] = {
        {"nproc_per_node", "nproc_per_node num_gpus"},
        {"nnodes", "nnodes num_nodes num_machines nodes"},
        {"world_size", "world_size ntasks num_processes"},
    };
    static const char names[] = "nodes ntasks ntasks_per_node gpus_per_node gres num_gpus "
                                "num_nodes num_machines num_processes " VARIABLES;
    const char *digits = "";
    const char *each_node = megatron_text(run, "nproc_per_node");
    settle_deepspeed_experts(run);
    settle_include(run);
    settle_resource_sets(run);
    for (size_t i = 0; i < run->count; i++)
        run->arguments[i].used =
            run->arguments[i].used || st_has_word(names, run->arguments[i].name);
    const megatron_argument *mixed = megatron_get(run, "mixed_precision"); /* of accelerate */
    if (mixed != NULL && (strcmp(mixed->value, "bf16") == 0 || strcmp(mixed->value, "fp16") == 0))
        megatron_set(run, mixed->value, "True", mixed->line);
    else if (mixed != NULL)
        megatron_set(run, "mixed_precision", mixed->value, mixed->line);
    if (st_has_word("gpu auto cpu", each_node))
        megatron_forget_one(run, "nproc_per_node");
    const bool torchrun = number_of(run, "nproc_per_node num_gpus", &digits) != NULL;
    for (size_t i = 0; i < ST_COUNT(rows); i++) {
        const megatron_argument *given = number_of(run, rows[i][1], &digits);
        /* Tasks of srun start torchrun once for each node, whose processes are the ranks. */
        if (given != NULL && !(i == 2 && torchrun))
            megatron_set(run, rows[i][0], digits, given->line);
        else if (i == 2 && torchrun)
            megatron_forget_one(run, "world_size");
    }
    if (torchrun || megatron_is_given(run, "world_size"))
        return;
    const megatron_argument *each =
        number_of(run, "ntasks_per_node gpus_per_node gres GPUS_PER_NODE NPROC_PER_NODE", &digits);
    const char *per_node = digits;
    const megatron_argument *nodes = number_of(run, "nnodes NNODES NUM_NODES", &digits);
    if (each != NULL && nodes != NULL) {
        megatron_set(run, "nproc_per_node", per_node, each->line);
        megatron_set(run, "nnodes", digits, nodes->line);
        return;
    }
    const megatron_argument *world = number_of(run, "WORLD_SIZE", &digits);
    if (world != NULL)
        megatron_set(run, "world_size", digits, world->line);
    else if (each != NULL)
        megatron_set(run, "nproc_per_node", per_node, each->line);
    if (nodes != NULL && each == NULL)
        megatron_forget_one(run, "nnodes"); /* nodes of an unknown size */
}
