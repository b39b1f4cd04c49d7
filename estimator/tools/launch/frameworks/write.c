/* SPDX-License-Identifier: Apache-2.0 */
/* Settings in the syntax of a framework: a shell script, YAML, TOML, JSON. */
#include "base/text.h"
#include "base/word_sets.h"
#include "launch/frameworks/settings.h"
#include "launch/import/job_draft.h"

#include <inttypes.h>
#include <string.h>

static void write_head(const fw_file *file, st_buffer *buffer)
{
    st_comment_write(file->title, buffer);
    for (size_t i = 0; i < file->note_count; i++) {
        st_buffer_text(buffer, "#\n");
        st_comment_write(file->notes[i], buffer);
    }
    if (file->carried_count > 0)
        st_buffer_text(buffer, "#\n");
    for (size_t i = 0; i < file->carried_count; i++)
        st_buffer_printf(buffer, "# steptime: %s\n", file->carried[i]);
}

/* ---- command lines ---- */

static void write_option(const char *name, const char *value, st_buffer *buffer)
{
    st_buffer_text(buffer, " --");
    for (const char *c = name; *c != '\0'; c++)
        st_buffer_append(buffer, *c == '_' ? "-" : c, 1);
    if (strcmp(value, "True") != 0) {
        st_buffer_text(buffer, " ");
        if (megatron_is_list(name)) /* several words, each an argument of its own */
            st_buffer_text(buffer, value);
        else
            st_text_shell(value, buffer);
    }
}

bool fw_is_launcher(const char *name)
{
    return st_has_word("nproc_per_node nnodes num_gpus num_nodes launch.num_gpus launch.num_nodes",
                       name);
}

/* "#!/bin/sh", and what sbatch reads. */
static void write_start(const fw_file *file, st_buffer *buffer)
{
    st_buffer_text(buffer, "#!/bin/sh\n");
    if (file->is_batch)
        st_buffer_printf(buffer,
                         "#SBATCH --nodes=%" PRIu64 "\n#SBATCH --ntasks-per-node=1\n"
                         "#SBATCH --gpus-per-node=%" PRIu64 "\n#SBATCH --exclusive\n",
                         file->ranks.nodes, file->ranks.per_node);
}

static void write_torchrun(const fw_file *file, st_buffer *buffer)
{
    const fw_ranks ranks = file->ranks;
    if (file->is_batch)
        st_buffer_text(buffer, "MASTER_ADDR=$(scontrol show hostnames \"$SLURM_JOB_NODELIST\" | "
                               "head -n 1)\nsrun ");
    st_buffer_text(buffer, "torchrun");
    if (ranks.per_node > 0)
        st_buffer_printf(buffer, " --nproc-per-node %" PRIu64 " --nnodes %" PRIu64, ranks.per_node,
                         ranks.nodes);
    if (file->is_batch)
        st_buffer_text(buffer, " --rdzv-backend c10d --rdzv-id \"$SLURM_JOB_ID\" --rdzv-endpoint "
                               "\"$MASTER_ADDR:29500\"");
    else if (ranks.nodes > 1)
        st_buffer_text(buffer, " --node-rank \"$NODE_RANK\" --master-addr \"$MASTER_ADDR\"");
}

/* Mamba blocks have a program of their own, which asks for the layers' specification. */
#define HYBRID_SCRIPT                                                                              \
    " pretrain_mamba.py \\\n"                                                                      \
    "    --spec megatron.core.models.mamba.mamba_layer_specs mamba_stack_spec"

static void write_script(const fw_file *file, const megatron_run *settings, st_buffer *buffer)
{
    write_start(file, buffer);
    write_head(file, buffer);
    st_buffer_text(buffer, file->environment);
    write_torchrun(file, buffer);
    st_buffer_text(buffer, ST_HAS(settings->arguments, settings->count, name, "is_hybrid_model")
                               ? HYBRID_SCRIPT
                               : " pretrain_gpt.py");
    for (size_t i = 0; i < settings->count; i++) {
        const megatron_argument *setting = &settings->arguments[i];
        const char *option = megatron_option_against(setting->name, setting->value);
        if (fw_is_launcher(setting->name))
            continue;
        st_buffer_text(buffer, " \\\n   ");
        if (option != NULL)
            write_option(option, "True", buffer);
        else
            write_option(setting->name, setting->value, buffer);
    }
    st_buffer_text(buffer, " \\\n    \"$@\"\n");
}

/* ---- sections ---- */

static void write_scalar(const char *value, st_buffer *buffer)
{
    bool number = value[0] != '\0' && strspn(value, "0123456789.e+-") == strlen(value);
    if (strcmp(value, "True") == 0 || strcmp(value, "False") == 0)
        st_buffer_text(buffer, value[0] == 'T' ? "true" : "false");
    else if (strcmp(value, "None") == 0)
        st_buffer_text(buffer, "null");
    else if (number || value[0] == '[')
        st_buffer_text(buffer, value);
    else
        st_buffer_json_string(buffer, value);
}

/* "parallelism." of "parallelism.tensor_parallel_degree"; 0 without a section. */
static size_t section_of(const char *name)
{
    const char *dot = strrchr(name, '.');
    return dot != NULL ? (size_t)(dot - name) : 0;
}

static bool same_section(const char *a, const char *b)
{
    return section_of(a) == section_of(b) && memcmp(a, b, section_of(a)) == 0;
}

/* The setting is the first of its section. */
static bool is_first(const megatron_run *settings, size_t index)
{
    for (size_t i = 0; i < index; i++)
        if (same_section(settings->arguments[i].name, settings->arguments[index].name))
            return false;
    return true;
}

typedef enum section_style { AS_YAML, AS_TOML, AS_JSON } section_style;

static void write_members(const megatron_run *settings, size_t first, section_style style,
                          st_buffer *buffer)
{
    bool later = false;
    for (size_t i = first; i < settings->count; i++) {
        const megatron_argument *setting = &settings->arguments[i];
        size_t section = section_of(setting->name);
        const char *name = setting->name + section + (section > 0 ? 1 : 0);
        if (!same_section(setting->name, settings->arguments[first].name))
            continue;
        st_buffer_text(buffer, !later ? "" : style == AS_JSON ? ", " : "\n");
        later = true;
        if (style == AS_JSON)
            st_buffer_printf(buffer, "\"%s\": ", name);
        else
            st_buffer_printf(buffer, "%s%s%s", style == AS_YAML && section > 0 ? "  " : "", name,
                             style == AS_TOML ? " = " : ": ");
        if (style == AS_YAML && strcmp(setting->value, "None") != 0 &&
            (megatron_is_list(name) || strcmp(name, "window_size") == 0)) {
            /* "core_attn mlp" and "128,0" as the lists that they are. */
            const char *value = setting->value;
            bool numbers = value[0] >= '0' && value[0] <= '9';
            const char *next = "[";
            for (size_t length; (value += strspn(value, " ,"), length = strcspn(value, " ,")) > 0;
                 value += length) {
                st_buffer_printf(buffer, "%s%s%.*s%s", next, numbers ? "" : "\"", (int)length,
                                 value, numbers ? "" : "\"");
                next = ", ";
            }
            st_buffer_text(buffer, "]");
        } else {
            write_scalar(setting->value, buffer);
        }
    }
}

/* ---- DeepSpeed ---- */

static bool is_launch(const char *name)
{
    return strncmp(name, "launch.", 7) == 0;
}

static void write_arguments(const fw_file *file, const megatron_run *settings, const char *name,
                            st_buffer *line)
{
    st_buffer_text(line, "deepspeed");
    if (file->ranks.per_node > 0)
        st_buffer_printf(line, " --num_gpus %" PRIu64 " --num_nodes %" PRIu64, file->ranks.per_node,
                         file->ranks.nodes);
    st_buffer_printf(line, " pretrain_gpt.py --deepspeed --deepspeed_config %s", name);
    for (size_t i = 0; i < settings->count; i++)
        if (is_launch(settings->arguments[i].name) &&
            !fw_is_launcher(settings->arguments[i].name + 7))
            write_option(settings->arguments[i].name + 7, settings->arguments[i].value, line);
}

/* DeepSpeed's launcher reaches the nodes of a job by their names. */
static void write_deepspeed(const fw_file *file, const megatron_run *settings, st_buffer *buffer)
{
    st_buffer_printf(buffer,
                     "scontrol show hostnames \"$SLURM_JOB_NODELIST\" | sed 's/$/ slots=%" PRIu64
                     "/' >hostfile\nDLTS_HOSTFILE=hostfile; export DLTS_HOSTFILE\n",
                     file->ranks.per_node);
    write_arguments(file, settings, "ds_config.json", buffer);
    st_buffer_text(buffer, " \"$@\"\n");
}

static void write_texts(const char *const *texts, size_t count, st_buffer *buffer)
{
    st_buffer_text(buffer, "[");
    for (size_t i = 0; i < count; i++) {
        st_buffer_text(buffer, i == 0 ? "\n      " : ",\n      ");
        st_buffer_json_string(buffer, texts[i]);
    }
    st_buffer_text(buffer, count > 0 ? "\n    ]" : "]");
}

/* The recipe whose classes have such layers; overrides make it the model of the job. */
static const char *recipe_of(const fw_file *file, const megatron_run *settings)
{
    static const struct {
        const char *option;
        const char *first; /* release 0.4 */
        const char *later;
    } recipes[] = {
        {"model.is_hybrid_model", "nemotron_3_nano_pretrain_config",
         "nemotron_3_nano_pretrain_8gpu_h100_bf16_config"},
        {"model.multi_latent_attention", "deepseek_v3_pretrain_config",
         "deepseek_v3_pretrain_1024gpu_h100_bf16_config"},
        {"model.experimental_attention_variant", "qwen3_next_80b_a3b_pretrain_config",
         "qwen3_next_80b_a3b_pretrain_32gpu_h100_bf16_config"},
        {"model.softmax_type", "gpt_oss_20b_pretrain_config",
         "gpt_oss_20b_pretrain_16gpu_h100_bf16_config"},
        {"model.num_moe_experts", "qwen3_30b_a3b_pretrain_config",
         "qwen3_30b_a3b_pretrain_16gpu_h100_bf16_config"},
        {"model.num_layers", "llama3_8b_pretrain_config",
         "llama3_8b_pretrain_2gpu_h100_bf16_config"},
    };
    static const char *const off = "vanilla False None";
    for (size_t i = 0; i < ST_COUNT(recipes); i++) {
        const size_t at = ST_FIND(settings->arguments, settings->count, name, recipes[i].option);
        if (at != SIZE_MAX && !st_has_word(off, settings->arguments[at].value))
            return strcmp(file->version, "0.4") == 0 ? recipes[i].first : recipes[i].later;
    }
    return "RECIPE";
}

static void write_file(const fw_file *file, const megatron_run *settings, st_buffer *buffer)
{
    if (file->framework == ST_DEEPSPEED) {
        st_buffer_text(buffer, "{\n");
        for (size_t i = 0; i < settings->count; i++) {
            const char *name = settings->arguments[i].name;
            size_t section = section_of(name);
            if (is_launch(name) || !is_first(settings, i)) {
                if (section > 0 || is_launch(name))
                    continue;
            }
            if (section == 0) {
                st_buffer_printf(buffer, "  \"%s\": ", name);
                write_scalar(settings->arguments[i].value, buffer);
            } else {
                st_buffer_printf(buffer, "  \"%.*s\": {", (int)section, name);
                write_members(settings, i, AS_JSON, buffer);
                st_buffer_text(buffer, "}");
            }
            st_buffer_text(buffer, ",\n");
        }
        st_buffer_quoted(buffer, "  \"_steptime\": {\n    \"about\": ", file->title,
                         ",\n    \"notes\": ");
        write_texts(file->notes, file->note_count, buffer);
        st_buffer_text(buffer, ",\n    \"launch\": ");
        st_buffer line = {0};
        write_arguments(file, settings, "FILE", &line);
        if (line.data != NULL)
            st_buffer_json_string(buffer, line.data);
        st_buffer_end(&line, &buffer->failed);
        st_buffer_text(buffer, ",\n    \"carried\": ");
        write_texts(file->carried, file->carried_count, buffer);
        st_buffer_text(buffer, "\n  }\n}\n");
        return;
    }
    write_head(file, buffer);
    if (file->framework == ST_MEGATRON_BRIDGE)
        st_buffer_printf(
            buffer,
            "#\n# scripts/training/run_recipe.py --recipe %s\n# takes each of these as "
            "a word SECTION.KEY=VALUE, as steptime export --slurm writes them; in a "
            "program,\n# process_config_with_overrides(config, config_filepath=FILE) "
            "of training/utils/omegaconf_utils.py reads the file.\n",
            recipe_of(file, settings));
    /* TOML needs options without a section first. */
    const bool is_toml = file->framework == ST_TORCHTITAN;
    for (int pass = 0; pass < 2; pass++)
        for (size_t i = 0; i < settings->count; i++) {
            const char *name = settings->arguments[i].name;
            size_t section = section_of(name);
            if (!is_first(settings, i) || (section > 0) != (pass == 1))
                continue;
            if (section > 0)
                st_buffer_printf(buffer, "%s%.*s%s", is_toml ? "\n[" : "", (int)section, name,
                                 is_toml ? "]\n" : ":\n");
            write_members(settings, i, is_toml ? AS_TOML : AS_YAML, buffer);
            st_buffer_text(buffer, "\n");
        }
}

/* What starts a configuration that is written to a file of its own first. */
static void write_command(const fw_file *file, const megatron_run *settings, st_buffer *buffer)
{
    write_torchrun(file, buffer);
    if (file->framework == ST_TORCHTITAN) {
        st_buffer_text(buffer, " -m torchtitan.train --job.config_file run.toml \"$@\"\n");
        return;
    }
    st_buffer_printf(buffer, " scripts/training/run_recipe.py --recipe %s",
                     recipe_of(file, settings));
    for (size_t i = 0; i < settings->count; i++) {
        const megatron_argument *setting = &settings->arguments[i];
        const bool is_list = megatron_is_list(setting->name + section_of(setting->name) + 1);
        st_buffer word = {0};
        st_buffer_printf(&word, "%s=%s%s%s", setting->name, is_list ? "[" : "",
                         strcmp(setting->value, "None") == 0 ? "null" : setting->value,
                         is_list ? "]" : "");
        for (size_t c = 0; is_list && c < word.length; c++)
            word.data[c] = word.data[c] == ' ' ? ',' : word.data[c];
        st_buffer_text(buffer, " \\\n    ");
        if (word.data != NULL)
            st_text_shell(word.data, buffer);
        st_buffer_end(&word, &buffer->failed);
    }
    st_buffer_text(buffer, " \\\n    \"$@\"\n");
}

void fw_write(const fw_file *file, const megatron_run *settings, st_buffer *buffer)
{
    static const char *const names[] = {"", "run.yaml", "run.toml", "ds_config.json"};
    if (file->framework == ST_MEGATRON) {
        write_script(file, settings, buffer);
    } else if (!file->is_batch) {
        write_file(file, settings, buffer);
    } else {
        write_start(file, buffer);
        st_buffer_text(buffer, file->environment);
        st_buffer_printf(buffer, "cat >%s <<'END'\n", names[file->framework]);
        write_file(file, settings, buffer);
        st_buffer_text(buffer, "END\n");
        if (file->framework == ST_DEEPSPEED)
            write_deepspeed(file, settings, buffer);
        else
            write_command(file, settings, buffer);
    }
}
